//! What is seen of the cluster while it comes up.

use std::time::Duration;

use capt_api::captcontrolplane::ControlPlaneState;
use k8s_openapi::jiff::Timestamp;
use kube::{Client, ResourceExt as _};

use super::{NAME, NAMESPACE};
use crate::{
    cmd,
    look::{
        Scope,
        live::Live,
        style::Style,
        tree::{self, Gathered},
    },
};

/// How often ages are drawn anew on a terminal.
const TICK: Duration = Duration::from_secs(1);

/// How showing it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It is ready.
    Ready,
    /// Somebody deleted it.
    Gone,
}

/// Shows the tree of the cluster whenever it changed, until it is ready or gone.
pub(super) async fn until_ready(client: &Client) -> anyhow::Result<Ended> {
    let mut live = Live::start(client, Scope::Namespace(NAMESPACE.to_owned())).await?;
    let mut screen = Screen::new(Style::of_stdout());
    loop {
        let seen = Gathered::of(live.gathered(), NAMESPACE, &format!("Cluster/{NAME}"));
        if !seen.is_there() {
            return Ok(Ended::Gone);
        }
        screen.show(&seen)?;
        if is_ready(&seen) {
            return Ok(Ended::Ready);
        }
        tokio::select! {
            changed = live.changed() => changed?,
            () = tokio::time::sleep(TICK), if screen.is_terminal() => {}
        }
    }
}

/// Both must say so: the Cluster learns a moment later what its control plane knows.
fn is_ready(seen: &Gathered) -> bool {
    let snapshot = &seen.part.snapshot;
    let cluster = snapshot.clusters.iter().find(|one| one.name_any() == NAME);
    let conditions = cluster.and_then(|one| one.status.as_ref()?.conditions.as_ref());
    let is_available = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Available" && condition.status == "True");
    let plane = snapshot.control_planes.iter().find(|one| one.name_any() == NAME);
    let state = plane.and_then(|one| one.status.as_ref()?.state);
    is_available && state == Some(ControlPlaneState::Ready)
}

/// Where looks are shown: over the last one on a terminal, one after the other elsewhere.
struct Screen {
    style: Style,
    last: String,
}

impl Screen {
    fn new(style: Style) -> Self {
        Self {
            style,
            last: String::new(),
        }
    }

    fn is_terminal(&self) -> bool {
        self.style.width.is_some()
    }

    fn show(&mut self, seen: &Gathered) -> anyhow::Result<()> {
        let picture = tree::render(seen, self.style);
        if let Some(width) = self.style.width {
            let over = match rows(&self.last, width) {
                0 => String::new(),
                rows => format!("\u{1b}[{rows}A\u{1b}[J"),
            };
            self.last = picture;
            return cmd::print(&format!("{over}{}", self.last));
        }
        // A picture in which only ages differ is no news.
        let ageless = Gathered {
            now: Timestamp::default(),
            ..seen.clone()
        };
        let news = tree::render(&ageless, self.style);
        if news == self.last {
            return Ok(());
        }
        self.last = news;
        cmd::print(&(picture + "\n"))
    }
}

/// How many rows of a terminal a text takes. Colours take no room, and what is too long goes on in the next row.
fn rows(text: &str, width: usize) -> usize {
    let room = |line: &str| {
        let mut is_colour = false;
        let shown = line.chars().filter(|letter| {
            let is_shown = !is_colour && *letter != '\u{1b}';
            is_colour = (is_colour || *letter == '\u{1b}') && *letter != 'm';
            is_shown
        });
        shown.count().div_ceil(width.max(1)).max(1)
    };
    text.lines().map(room).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_takes_as_many_rows_as_a_terminal_needs_for_it() {
        for (text, expected) in [
            ("", 0),
            ("short\n", 1),
            ("ten letter\n", 1),
            ("eleven let!\n", 2),
            ("one\n\nthree\n", 3),
            ("\u{1b}[32mten letter\u{1b}[0m\nx\n", 2),
        ] {
            assert_eq!(rows(text, 10), expected, "{text:?}");
        }
    }
}
