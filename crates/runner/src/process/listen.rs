//! Hearing what Terraform says, and seeing what it writes.

use capt_terraform::{
    state::{Accepted, CreatedSince, LastGood},
    stream::{Diagnostic, Event, Kind, Line, parse_line},
};
use tokio::sync::mpsc::UnboundedSender;

use crate::{engine::Told, folder::Stamp};

use super::{command::Listener, recover::StateFiles};

/// Passes on what Terraform says, and keeps what is needed to judge it.
pub(super) struct Ears {
    told: UnboundedSender<Told>,
    /// Errors and warnings.
    pub(super) said: Vec<Diagnostic>,
    /// What tells of a plan.
    pub(super) planned: Vec<Event>,
    /// What was made.
    pub(super) created: CreatedSince,
    /// The state, if it is looked after.
    pub(super) watch: Option<StateWatch>,
}

impl Ears {
    pub(super) fn new(told: UnboundedSender<Told>) -> Self {
        Self {
            told,
            said: Vec::new(),
            planned: Vec::new(),
            created: CreatedSince::default(),
            watch: None,
        }
    }

    /// Nobody may be listening any more, which changes nothing for Terraform.
    fn tell(&self, told: Told) {
        let _ = self.told.send(told);
    }
}

impl Listener for Ears {
    fn stdout(&mut self, line: &[u8]) {
        let event = match parse_line(line) {
            Line::Event(event) => event,
            Line::Text(text) | Line::Torn(text) if text.trim().is_empty() => return,
            Line::Text(text) | Line::Torn(text) => return self.tell(Told::Text(text)),
        };
        self.created.observe(&event);
        match &event.kind {
            Kind::Diagnostic(diagnostic) => self.said.push((**diagnostic).clone()),
            Kind::PlannedChange(_) | Kind::ResourceDrift(_) | Kind::Outputs(_) => {
                self.planned.push((*event).clone());
            }
            _ => {}
        }
        self.tell(Told::Event(event));
    }

    fn stderr(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if !text.trim().is_empty() {
            self.tell(Told::Text(text.into_owned()));
        }
    }

    fn tick(&mut self) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        if let Some(state) = watch.look() {
            self.tell(Told::State(state));
        }
    }
}

/// Looks after the state file while Terraform rewrites it.
pub(super) struct StateWatch {
    files: StateFiles,
    last: LastGood,
    seen: Option<Stamp>,
}

impl StateWatch {
    /// Goes on from this state.
    pub(super) fn new(files: StateFiles, last: LastGood) -> Self {
        Self {
            files,
            last,
            seen: None,
        }
    }

    /// The state that counts.
    pub(super) fn into_last(self) -> LastGood {
        self.last
    }

    /// The state, if there is a new one. A file that is not whole is looked at again.
    fn look(&mut self) -> Option<Vec<u8>> {
        let stamp = self.files.folder.stamp(&self.files.working).ok()??;
        if self.seen == Some(stamp) {
            return None;
        }
        let (state, is_whole) = self.read()?;
        self.seen = is_whole.then_some(stamp);
        state
    }

    /// The state, if there is a new one, whatever the file looks like from outside.
    pub(super) fn flush(&mut self) -> Option<Vec<u8>> {
        self.read()?.0
    }

    fn read(&mut self) -> Option<(Option<Vec<u8>>, bool)> {
        let file = self.files.folder.read(&self.files.working).ok()??;
        match self.last.offer(&file) {
            Accepted::Newer => {
                // A later write that is cut short would take this state with it.
                if let Err(error) = self.files.folder.write(&self.files.good, &file) {
                    tracing::warn!(%error, "cannot keep a copy of the state beside it");
                }
                Some((Some(file), true))
            }
            Accepted::Torn(_) => Some((None, false)),
            Accepted::Same | Accepted::Older { .. } | Accepted::Foreign { .. } => Some((None, true)),
        }
    }
}
