//! A session: Terraform, ready to run for one Workspace.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use capt_terraform::{
    diagnostics::Class,
    plan::{Plan, parse_show},
    redact::{Secrets, sensitive_in_plan},
    state::{Created, LastGood},
    stream::Action,
};
use futures::future::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    engine::{Applied, Failure, FailureKind, Goal, Phase, Planned, Session, Told},
    folder::EntryKind,
};

use super::{
    args::Arguments,
    backend,
    blame::Blame,
    command::{Exit, Runs},
    failure::{self, machine},
    listen::{Ears, StateWatch},
    recover::{APPLY_OUTPUT, StateFiles},
    workdir::PLAN,
};

/// The plan that was made last.
fn plan_file() -> PathBuf {
    Path::new(PLAN).join("plan")
}

/// Terraform, ready to run for one Workspace.
pub(super) struct ProcessSession {
    pub(super) runs: Runs,
    pub(super) told: UnboundedSender<Told>,
    pub(super) arguments: Arguments,
    /// Where values come from.
    pub(super) blame: Blame,
    /// Where the state may be.
    pub(super) files: StateFiles,
    /// The state is ours, and not in a backend of the user's.
    pub(super) is_ours: bool,
    /// The state that counts, if it is ours.
    pub(super) last: LastGood,
    /// What the plan that was made last is for; none, if there is no plan that may be applied.
    pub(super) planned: Option<Goal>,
    /// The ids of what that plan replaces, by address; empty if they are not known.
    pub(super) replaced: BTreeMap<String, String>,
}

impl Session for ProcessSession {
    fn plan(&mut self, goal: Goal) -> BoxFuture<'_, Result<Planned, Failure>> {
        Box::pin(async move {
            let planned = self.make_plan(goal).await;
            planned.map_err(|failure| self.with_state(failure))
        })
    }

    fn apply(&mut self) -> BoxFuture<'_, Result<Applied, Failure>> {
        Box::pin(self.apply_plan())
    }

    fn settle_missing(&mut self) -> BoxFuture<'_, Result<(), Failure>> {
        let done = self.files.complete();
        let done =
            done.map_err(|error| self.with_state(machine("put away the output of the last apply", &error)));
        Box::pin(async move { done })
    }

    fn state(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        Box::pin(async move {
            if self.is_ours {
                return Ok(None);
            }
            let state = backend::pull(&self.runs).await?;
            // A backend that has no state yet says nothing.
            Ok(Some(state).filter(|state| !state.trim_ascii().is_empty()))
        })
    }
}

impl ProcessSession {
    async fn make_plan(&mut self, goal: Goal) -> Result<Planned, Failure> {
        self.tell(Told::Phase(Phase::Plan));
        self.planned = None;
        let files = self.runs.folder.files.clone();
        files
            .remove(plan_file())
            .map_err(|error| machine("remove the last plan", &error))?;
        let mut ears = Ears::new(self.told.clone());
        let args = self.arguments.plan(goal, &files.path(plan_file()));
        let ended = self.runs.run(args, "plan.ndjson", &mut ears).await?;
        self.blame.put(&files, &self.runs.run_in, &mut ears.said);
        let plan = match ended.exit {
            Exit::Code(0) if !ended.cancelled => Plan::from_events(&ears.planned),
            // An interrupted plan may look like a short one, and a crash of a Go program has the same code.
            Exit::Code(2) if !ended.cancelled && self.has_plan() => self.shown().await?,
            _ => {
                files
                    .remove(plan_file())
                    .map_err(|error| machine("remove a failed plan", &error))?;
                return Err(failure::command(&self.runs.engine, "plan", &ended, ears.said));
            }
        };
        if plan.errored {
            files
                .remove(plan_file())
                .map_err(|error| machine("remove a failed plan", &error))?;
            let failure = failure::new(FailureKind::Terraform(Class::Other), "planning failed half-way");
            return Err(Failure {
                diagnostics: ears.said,
                ..failure
            });
        }
        let text = if plan.is_empty() {
            String::new()
        } else {
            self.told_to_people().await?
        };
        self.planned = Some(goal);
        let replaced = plan.changes.iter().filter(|one| one.action == Action::Replace);
        self.replaced = replaced
            .map(|one| (one.address.clone(), one.id.clone().unwrap_or_default()))
            .collect();
        Ok(Planned {
            id: plan.id(),
            plan,
            text,
            warnings: failure::warnings(ears.said),
            state: self.last.file().map(<[u8]>::to_vec),
        })
    }

    /// What is in the plan file.
    async fn shown(&mut self) -> Result<Plan, Failure> {
        let args = [OsString::from("show"), "-json".into(), self.plan_path().into()];
        let (ended, json) = self.runs.printed(args.into(), "show.json").await?;
        if ended.exit != Exit::Code(0) {
            return Err(failure::command(&self.runs.engine, "show", &ended, Vec::new()));
        }
        if let Ok(value) = serde_json::from_slice(&json) {
            let mut secrets = Secrets::default();
            sensitive_in_plan(&value, &mut secrets);
            self.tell(Told::Secrets(secrets));
        }
        parse_show(&json).map_err(|error| {
            let text = format!(
                "{error}; this version of {} may be too new for this runner",
                self.runs.engine
            );
            failure::new(FailureKind::Terraform(Class::Other), text)
        })
    }

    async fn told_to_people(&self) -> Result<String, Failure> {
        let args = [
            OsString::from("show"),
            "-no-color".into(),
            self.plan_path().into(),
        ];
        let (ended, text) = self.runs.printed(args.into(), "show.txt").await?;
        match ended.exit {
            Exit::Code(0) => Ok(String::from_utf8_lossy(&text).trim().to_owned()),
            _ => Err(failure::command(&self.runs.engine, "show", &ended, Vec::new())),
        }
    }

    async fn apply_plan(&mut self) -> Result<Applied, Failure> {
        let Some(goal) = self.planned.take() else {
            return Err(failure::invalid("there is no plan to apply"));
        };
        self.tell(Told::Phase(Phase::Apply));
        let mut ears = Ears::new(self.told.clone());
        if self.is_ours {
            ears.watch = Some(StateWatch::new(self.files.clone(), self.last.clone()));
        }
        self.files
            .note_replaced(&self.replaced)
            .map_err(|error| self.with_state(machine("write down what is replaced", &error)))?;
        let args = self.arguments.apply(goal, &self.plan_path());
        let ended = self.runs.run(args, APPLY_OUTPUT, &mut ears).await;
        // It is of no use any more, and it holds every value in the clear.
        let _ = self.runs.folder.files.remove(plan_file());
        if let Some(mut watch) = ears.watch.take() {
            if let Some(state) = watch.flush() {
                self.tell(Told::State(state));
            }
            self.last = watch.into_last();
        }
        let ended = ended.map_err(|failure| self.with_state(failure))?;
        if ended.exit != Exit::Code(0) || ended.cancelled {
            let failure = failure::command(&self.runs.engine, "apply", &ended, ears.said);
            let missing = self.missing(matches!(ended.exit, Exit::Code(_))).await;
            return Err(Failure {
                missing,
                ..self.with_state(failure)
            });
        }
        self.files
            .complete()
            .map_err(|error| self.with_state(machine("put away the output", &error)))?;
        let state = if self.is_ours {
            self.last.file().map(<[u8]>::to_vec).unwrap_or_default()
        } else {
            backend::pull(&self.runs).await?
        };
        Ok(Applied {
            state,
            warnings: failure::warnings(ears.said),
        })
    }

    /// What a failed apply made and is in no state. The state itself may have been left anywhere.
    ///
    /// A Terraform that ended by itself has written down whatever it knows of what it could not finish, unless it was told
    /// to stop twice.
    async fn missing(&mut self, by_itself: bool) -> Vec<Created> {
        let missing = match self.is_ours {
            true => self
                .gather()
                .map_err(|error| machine("look for the state that a failed run left", &error)),
            false => backend::missing(&self.runs, &self.files).await,
        };
        match missing {
            Ok(missing) => {
                if by_itself && missing.is_empty() {
                    // It can be put away later as well.
                    let _ = self.files.complete();
                }
                missing
            }
            Err(failure) => {
                // The next session looks again, so that what was printed has to stay.
                tracing::warn!(reason = %failure.message, "what a failed run left is not known yet");
                Vec::new()
            }
        }
    }

    fn gather(&mut self) -> io::Result<Vec<Created>> {
        let found = self.files.find(self.last.file(), None)?;
        if let Some((_, state)) = &found.state
            && self.last.file() != Some(state)
        {
            self.tell(Told::State(state.clone()));
        }
        self.files.settle(&found)?;
        self.last = found.last;
        Ok(found.missing)
    }

    fn with_state(&self, failure: Failure) -> Failure {
        let state = self.last.file().map(<[u8]>::to_vec);
        Failure {
            state: failure.state.or(state),
            ..failure
        }
    }

    fn plan_path(&self) -> PathBuf {
        self.runs.folder.path(plan_file())
    }

    fn has_plan(&self) -> bool {
        matches!(
            self.runs.folder.files.kind(plan_file()),
            Ok(Some(EntryKind::File))
        )
    }

    /// Nobody may be listening any more, which changes nothing for Terraform.
    fn tell(&self, told: Told) {
        let _ = self.told.send(told);
    }
}
