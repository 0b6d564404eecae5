//! What became of one profile, read from its WorkspaceTemplateApply.

use capt_api::{
    captcontrolplane::FargateProfilePhase as Phase,
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as ApplyReason,
};

use super::ground::Lack;
use crate::{
    controlplane::eks,
    owned::{OwnedSeen, Standing, TroubleClass, standing},
};

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
        }
    }
}

/// One that has nothing to stand on yet.
pub(super) fn waiting(lack: &Lack) -> Reading {
    Reading {
        message: lack.to_string(),
        is_begun: *lack != Lack::Cluster,
        ..Reading::default()
    }
}

/// One that is not wanted any more.
pub(super) fn going(seen: &OwnedSeen) -> Reading {
    let (message, failure) = match standing(seen) {
        Standing::Going { message } => {
            let trouble = seen.trouble.as_ref();
            let terminal = trouble.filter(|trouble| trouble.class == TroubleClass::Terminal);
            (message, terminal.map(|trouble| trouble.message.clone()))
        }
        _ => (String::new(), None),
    };
    Reading {
        phase: Phase::Deleting,
        message: if message.is_empty() {
            "The profile goes".to_owned()
        } else {
            message
        },
        failure,
        ..Reading::default()
    }
}

/// One that is wanted. `is_written` says that its WorkspaceTemplateApply is about to be written with another rendering.
#[must_use]
pub fn read(seen: Option<&OwnedSeen>, is_written: bool) -> Reading {
    let Some(seen) = seen else {
        return Reading {
            phase: Phase::Creating,
            wants_turn: true,
            message: "The profile is about to be made".to_owned(),
            ..Reading::default()
        };
    };
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
        return at_work("The profile is about to be changed");
    }
    match standing(seen) {
        Standing::Ready => Reading {
            ready: true,
            ..with(Phase::Ready, "Pods can run on it".to_owned())
        },
        Standing::Going { message } => Reading {
            ready: false,
            ..with(
                Phase::Deleting,
                format!("The profile goes, and is made again after that. {message}"),
            )
        },
        Standing::Working => at_work("Terraform is at work, or about to be"),
        Standing::Retrying { message } => at_work(&format!("It is being tried again: {message}")),
        Standing::Waiting {
            reason: ApplyReason::WaitingForTurn,
            ..
        } => at_work("Terraform is about to be at work"),
        Standing::Waiting { message, .. } => with(Phase::Waiting, message),
        Standing::AwaitsApproval { message } => with(
            Phase::Waiting,
            format!("The change replaces or removes the profile, and its pods with it. {message}"),
        ),
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
                    format!(
                        "{clean}. Mend it, or change the profile, and ask for another try with capt retry"
                    ),
                )
            }
        }
    }
}

/// What sort of thing went wrong: what a profile depends on, or the profile itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// A Secret, the network or a role is missing or not as it should be.
    Dependency,
    /// AWS refused it, or it is not configured as it should be.
    Creation,
}

impl Category {
    /// Which sort a failure is.
    #[must_use]
    pub fn of(failure: &str) -> Self {
        let text = failure.to_lowercase();
        let is_dependency = ["secret", "vpc_config", "subnet", "iam", "role"]
            .iter()
            .any(|word| text.contains(word));
        if is_dependency {
            Self::Dependency
        } else {
            Self::Creation
        }
    }

    /// As it is written in a metric.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
            Self::Creation => "creation",
        }
    }
}
