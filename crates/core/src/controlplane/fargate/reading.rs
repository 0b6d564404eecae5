//! What became of one profile, read from its WorkspaceTemplateApply.

use capt_api::{
    captcontrolplane::{FargateProfilePhase as Phase, FargateProfileStatus},
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as ApplyReason,
};

use super::ground::Lack;
use crate::{
    controlplane::{eks, turns},
    owned::{OwnedSeen, Standing, TroubleClass, destruction_trouble, gave_up, standing},
};

/// What has to be known before a change that may destroy something is approved.
const REPLACEMENT: &str = "Other selectors, subnets or another role make it a replacement: AWS removes the profile, and \
                           its pods with it, and makes another one. ";

/// What is told while that happens.
const REPLACING: &str =
    "The profile is being replaced: AWS removes it and makes another one, and no pods can run on it";

/// What is told of one that goes as it should.
const GOING: &str = "The profile is being removed";

/// How the failure of one begins that cannot go.
const NOT_REMOVED: &str = "Failed to remove Fargate profile: ";

/// How our runner marks what is gone, in what it tells of a drift.
const REMOVED: &str = "(delete)";

/// What became of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// One word.
    pub phase: Phase,
    /// What it does or waits for.
    pub message: String,
    /// What went wrong, and what to do.
    pub failure: Option<String>,
    /// Pods can run on it.
    pub ready: bool,
    /// It could use the turn, and goes on only when it has it.
    pub wants_turn: bool,
    /// It took longer than it may.
    pub is_late: bool,
    /// There is anything to say about it besides that it is wanted.
    pub is_begun: bool,
    /// Something that it depends on is missing or not as it should be.
    pub is_lacking: bool,
    /// It is not wanted any more.
    pub is_going: bool,
    /// A person has to approve what is wanted of it.
    pub awaits_approval: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            phase: Phase::Waiting,
            message: String::new(),
            failure: None,
            ready: false,
            wants_turn: false,
            is_late: false,
            is_begun: true,
            is_lacking: false,
            is_going: false,
            awaits_approval: false,
        }
    }
}

impl Reading {
    /// The same, where what the spec asks for cannot be.
    pub(super) fn refused(self, why: String) -> Self {
        Self {
            phase: Phase::Failed,
            // What went wrong before has to be known too.
            failure: Some(match &self.failure {
                Some(before) => format!("{before}. Besides, {why}"),
                None => format!("Failed to change Fargate profile: {why}"),
            }),
            message: why,
            wants_turn: false,
            ..self
        }
    }

    /// The same, while it is removed and another one is made in its place.
    fn replaced(self) -> Self {
        let message = match self.phase {
            Phase::Updating if self.failure.is_none() => REPLACING.to_owned(),
            _ => self.message,
        };
        Self {
            ready: false,
            message,
            ..self
        }
    }

    /// The same, where somebody changed or removed it elsewhere, in the words of who found that.
    fn drifted(self, drift: &str) -> Self {
        let what = format!("Somebody changed or removed it elsewhere: {drift}");
        let (phase, message) = match self.phase {
            Phase::Ready => (Phase::Updating, format!("{what}. That is being mended")),
            phase => (phase, format!("{}. {what}", self.message)),
        };
        Self {
            phase,
            message,
            failure: self.failure.map(|failure| format!("{failure}. {what}")),
            // Pods cannot run on what is not there.
            ready: self.ready && !drift.contains(REMOVED),
            ..self
        }
    }

    /// The same, where it is wanted again. That mends nothing: it goes first.
    pub(super) fn made_again(self) -> Self {
        let and_then = "The profile goes, and is made again after that";
        Self {
            message: match self.message.as_str() {
                GOING => and_then.to_owned(),
                message => format!("{and_then}. {message}"),
            },
            failure: self.failure.map(|why| match why.starts_with(NOT_REMOVED) {
                true => why,
                false => format!("{NOT_REMOVED}{why}"),
            }),
            is_going: false,
            ..self
        }
    }

    /// The same, where something else is wanted of it and cannot be made yet.
    pub(super) fn held_back(self, lack: &Lack) -> Self {
        if self.failure.is_some() || self.phase != Phase::Ready {
            return self;
        }
        Self {
            phase: Phase::Waiting,
            message: format!("A change waits. {lack}"),
            ..self
        }
    }
}

/// One that has nothing to stand on yet.
pub(super) fn waiting(lack: &Lack) -> Reading {
    Reading {
        message: lack.to_string(),
        is_begun: *lack != Lack::Cluster,
        is_lacking: *lack != Lack::Cluster,
        ..Reading::default()
    }
}

/// One that is not wanted any more, and that nothing is there to remove with.
pub(super) fn left(message: String) -> Reading {
    Reading {
        phase: Phase::Failed,
        failure: Some(format!("{NOT_REMOVED}{message}")),
        message,
        ..Reading::default()
    }
}

/// One that is not wanted any more. What went wrong is remembered while others have the turn, from `before` if nobody else
/// does, or it would get in line as if nothing had been.
pub(in crate::controlplane) fn going(seen: &OwnedSeen, before: Option<&FargateProfileStatus>) -> Reading {
    let (message, failure) = match standing(seen) {
        Standing::Going { message } => {
            let deleting = seen.condition("Deleting");
            let waits = deleting.is_some_and(|deleting| deleting.reason == "WaitingForTurn");
            // A runner that tells what became of each run remembers that itself.
            let remembered = before
                .filter(|before| waits && seen.run.is_none() && before.phase == Some(Phase::Deleting))
                .and_then(|before| before.failure_message.clone());
            (message, cannot_end(seen).map(str::to_owned).or(remembered))
        }
        _ => (String::new(), None),
    };
    let reason = seen
        .condition("Deleting")
        .filter(|deleting| deleting.status == "True" && seen.is_deleting())
        .map(|deleting| deleting.reason.as_str());
    // What it says of its turn is told better by who hands that out, and what goes as it should needs no other words when
    // it has begun.
    let goes_on = matches!(reason, None | Some("WaitingForTurn"))
        || reason == Some("Destroying") && destruction_trouble(seen).is_none();
    let waits_for_others = reason == Some("WaitingForDependents");
    if seen.is_paused() && failure.is_none() {
        let why = seen.condition("Paused").map(|paused| paused.message.clone());
        let why = why
            .filter(|_| seen.is("Paused"))
            .or_else(|| seen.paused_by_hand());
        return Reading {
            message: format!("It is to be removed, and is paused. {}", why.unwrap_or_default()),
            is_going: true,
            ..Reading::default()
        };
    }
    Reading {
        phase: Phase::Deleting,
        message: match gave_up(seen) {
            Some(why) => format!(
                "It could not be removed: {}. Mend that, and ask for another try: {}",
                why.trim_end_matches(['.', '\n']),
                seen.retry_command()
            ),
            None if goes_on || message.is_empty() => GOING.to_owned(),
            None => message,
        },
        wants_turn: failure.is_none() && !waits_for_others && seen.has_workspace(),
        failure,
        is_going: true,
        ..Reading::default()
    }
}

/// Why one that goes cannot go before somebody does something.
fn cannot_end(seen: &OwnedSeen) -> Option<&str> {
    let terminal = destruction_trouble(seen).filter(|trouble| trouble.class == TroubleClass::Terminal);
    gave_up(seen)
        .or_else(|| terminal.map(|trouble| trouble.message.as_str()))
        .or(turns::cannot_go(seen))
}

/// Words for work that goes on as it should, the same from before it begins until it is done: what is told twice is written
/// twice.
fn at_work_on(was_ready: bool) -> &'static str {
    if was_ready {
        "The profile is being changed"
    } else {
        "The profile is being made"
    }
}

/// One that is wanted. `is_written` says that its WorkspaceTemplateApply is about to be written with another rendering.
#[must_use]
pub fn read(seen: Option<&OwnedSeen>, is_written: bool) -> Reading {
    let Some(seen) = seen else {
        return Reading {
            phase: Phase::Creating,
            wants_turn: true,
            message: at_work_on(false).to_owned(),
            ..Reading::default()
        };
    };
    let mut reading = read_present(seen, is_written);
    if seen.run.as_ref().is_some_and(|run| run.replaces) {
        reading = reading.replaced();
    }
    let workspace = seen.workspace.as_ref();
    match workspace.and_then(|workspace| workspace.drift.as_deref()) {
        Some(drift) => {
            let mends = reading.phase == Phase::Ready && seen.is_to_be_mended() && !seen.is_paused();
            Reading {
                wants_turn: reading.wants_turn || mends,
                ..reading.drifted(drift)
            }
        }
        None => reading,
    }
}

/// One that is there, whatever somebody did to it elsewhere.
fn read_present(seen: &OwnedSeen, is_written: bool) -> Reading {
    let was_ready = eks::was_ready(seen);
    let at_work = |message: &str| Reading {
        phase: if was_ready {
            Phase::Updating
        } else {
            Phase::Creating
        },
        message: message.to_owned(),
        wants_turn: true,
        ready: was_ready && seen.is("Ready"),
        ..Reading::default()
    };
    let with = |phase, message: String| Reading {
        phase,
        message,
        ready: was_ready && seen.is("Ready"),
        ..Reading::default()
    };
    if is_written {
        return at_work(at_work_on(was_ready));
    }
    match standing(seen) {
        Standing::Ready => Reading {
            ready: true,
            ..with(Phase::Ready, "Pods can run on it".to_owned())
        },
        Standing::Going { .. } => going(seen, None).made_again(),
        Standing::Working => at_work(at_work_on(was_ready)),
        Standing::Retrying { message } => at_work(&format!("It is being tried again: {message}")),
        Standing::Waiting {
            reason: ApplyReason::WaitingForTurn,
            ..
        } => at_work(at_work_on(was_ready)),
        Standing::Waiting { message, .. } => with(Phase::Waiting, message),
        Standing::AwaitsApproval { message } => {
            let asked = seen.condition("ApprovalNeeded");
            let may_destroy = asked.is_some_and(|asked| asked.reason == "DestructiveChange");
            let why = if may_destroy { REPLACEMENT } else { "" };
            Reading {
                awaits_approval: true,
                ..with(Phase::Waiting, format!("{why}{message}"))
            }
        }
        Standing::Refused { message, .. } => Reading {
            failure: Some(format!("Failed to apply the WorkspaceTemplateApply: {message}")),
            ..with(Phase::Failed, message)
        },
        Standing::Failed { message } => {
            let what = if was_ready { "change" } else { "create" };
            let clean = message.trim_end_matches(['.', '\n']);
            Reading {
                failure: Some(format!("Failed to {what} Fargate profile: {clean}")),
                ..with(
                    Phase::Failed,
                    format!("{clean}. {}", seen.way_out_of_failure("the profile")),
                )
            }
        }
    }
}
