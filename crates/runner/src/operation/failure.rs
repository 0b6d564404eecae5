//! What a failure means for the object, in words and in one word.

use capt_api::conditions::workspace::WorkspaceReason as Reason;
use capt_terraform::{
    diagnostics::{self, Class},
    state::State,
};

use crate::{
    engine::{Failure, FailureKind},
    events::News,
};

/// Bytes of a message.
const MAX_MESSAGE: usize = 4 * 1024;
/// Resources that are named as left.
const MAX_LEFT: usize = 5;

/// What was being done, in provider-terraform's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Making everything ready.
    Connect,
    /// Finding out what to do.
    Observe,
    /// Making what does not exist.
    Create,
    /// Changing what exists.
    Update,
    /// Destroying everything.
    Delete,
    /// Handing the outputs out.
    Publish,
    /// Finding out that nothing exists where nothing may be made.
    FindNothing,
}

impl Stage {
    /// How a message begins.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Connect => "connect failed: ",
            Self::Observe | Self::FindNothing => "observe failed: ",
            Self::Create => "create failed: ",
            Self::Update => "update failed: ",
            Self::Delete => "delete failed: ",
            Self::Publish => "cannot publish connection details: ",
        }
    }

    /// What people hear.
    pub(crate) fn news(self) -> News {
        match self {
            Self::Connect => News::CannotConnect,
            Self::Observe | Self::FindNothing => News::CannotObserve,
            Self::Create => News::CannotCreate,
            Self::Update => News::CannotUpdate,
            Self::Delete => News::CannotDelete,
            Self::Publish => News::CannotPublish,
        }
    }
}

/// What went wrong, for people. Not redacted.
pub(crate) fn message(failure: &Failure, stage: Stage) -> String {
    let words = diagnostics::message(&failure.diagnostics, MAX_MESSAGE)
        .unwrap_or_else(|| diagnostics::bounded(&failure.message, MAX_MESSAGE));
    format!("{}{words}", stage.prefix())
}

/// What a destruction left.
pub(crate) fn left(state: &State) -> Option<String> {
    let all: Vec<&str> = state.managed().map(|object| object.address.as_str()).collect();
    if all.is_empty() {
        return None;
    }
    let mut named: Vec<String> = all
        .iter()
        .take(MAX_LEFT)
        .map(|address| (*address).to_owned())
        .collect();
    if all.len() > named.len() {
        named.push(format!("{} more", all.len() - named.len()));
    }
    Some(format!("still there: {}", named.join(", ")))
}

/// Which sort of thing went wrong.
pub(crate) fn reason(kind: FailureKind, stage: Stage) -> Reason {
    match stage {
        Stage::Publish => return Reason::ConnectionSecretFailed,
        Stage::FindNothing => return Reason::NothingToObserve,
        _ => {}
    }
    match kind {
        FailureKind::EngineMissing => Reason::EngineMissing,
        FailureKind::EngineTooOld => Reason::EngineTooOld,
        FailureKind::Cancelled => Reason::Interrupted,
        FailureKind::InvalidInput => Reason::InputInvalid,
        FailureKind::BackendInModule => Reason::BackendInModule,
        FailureKind::StateMissing => Reason::StateUnavailable,
        FailureKind::NamespaceTerminating => Reason::NamespaceTerminating,
        FailureKind::ModuleUnavailable => Reason::ModuleUnavailable,
        FailureKind::Terraform(class) | FailureKind::Machine(class) => class_reason(class),
    }
}

fn class_reason(class: Class) -> Reason {
    match class {
        Class::Locked => Reason::StateLocked,
        Class::Throttled => Reason::Throttled,
        Class::Network => Reason::Network,
        Class::Timeout => Reason::Timeout,
        Class::Settling => Reason::Settling,
        Class::StalePlan => Reason::StalePlan,
        Class::Interrupted => Reason::Interrupted,
        Class::Crash => Reason::Crash,
        Class::PluginCache => Reason::PluginCache,
        Class::DiskFull => Reason::DiskFull,
        Class::Denied => Reason::Denied,
        Class::Quota => Reason::Quota,
        Class::Configuration => Reason::Configuration,
        Class::Setup => Reason::Setup,
        Class::Other => Reason::Other,
    }
}

/// What went wrong together with what a person can do about it, where that is not in the words already.
pub(crate) fn with_advice(reason: Reason, message: &str) -> String {
    let advice = match reason {
        Reason::Network | Reason::Timeout if is_about_state(message) => {
            "Check the settings of the backend, and that it can be reached from where the runner runs. It is tried \
             again by itself."
        }
        Reason::Network | Reason::Timeout => {
            "Check that what it names can be reached from where the runner runs. It is tried again by itself."
        }
        Reason::Throttled
        | Reason::Settling
        | Reason::StateLocked
        | Reason::StalePlan
        | Reason::Interrupted
        | Reason::PluginCache => "It is tried again by itself.",
        Reason::Configuration => "Mend the module or its variables: a change is tried at once.",
        Reason::ModuleUnavailable => {
            "Check the address of the module, and that it can be reached from where the runner runs; then ask for \
             another try with `capt retry`."
        }
        Reason::Setup => {
            "Check the providers and the backend that the module asks for; then ask for another try with `capt retry`."
        }
        Reason::Denied => {
            "Check the credentials of the provider configuration; then ask for another try with `capt retry`."
        }
        Reason::Quota => "Free something or ask for more of it; then ask for another try with `capt retry`.",
        Reason::Crash => {
            "Look at the end of `capt logs`, and try another version of Terraform or of the provider; then ask for \
             another try with `capt retry`."
        }
        Reason::DiskFull => {
            "Make room on the disk that the runner works on; then ask for another try with `capt retry`."
        }
        Reason::Other => "When the cause is mended, ask for another try with `capt retry`.",
        _ => return message.to_owned(),
    };
    format!("{message}\n{advice}")
}

/// Whether a failure is about the place where state is kept.
fn is_about_state(message: &str) -> bool {
    let message = message.to_lowercase();
    // Whole phrases: resources are called "backend" too.
    let words = [
        "configuring the backend",
        "initializing the backend",
        "backend configuration",
        "backend \"",
        "existing workspaces",
        "acquiring the state lock",
        "failed to save the state",
        "persist the state",
        "loading state",
        "load state",
        "refreshing state",
        "remote state",
    ];
    words.iter().any(|words| message.contains(words))
}

/// A failure of our own.
pub(crate) fn own(class: Class, message: impl Into<String>) -> Failure {
    Failure {
        kind: FailureKind::Terraform(class),
        message: message.into(),
        diagnostics: Vec::new(),
        state: None,
        missing: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_reached_is_called_by_what_it_is_for() {
        let refused = "dial tcp 127.0.0.1:1: connect: connection refused";
        for (message, is_backend) in [
            (
                format!("observe failed: error loading state: Failed to get state: {refused}"),
                true,
            ),
            (
                format!("connect failed: Error refreshing state: Failed to get state: {refused}"),
                true,
            ),
            (
                format!("connect failed: Failed to get existing workspaces: {refused}"),
                true,
            ),
            (format!("create failed: creating EC2 VPC: {refused}"), false),
            (
                format!("apply failed: aws_ecs_service.backend: waiting for the state change: {refused}"),
                false,
            ),
        ] {
            for reason in [Reason::Network, Reason::Timeout] {
                let words = with_advice(reason, &message);
                assert!(
                    words.starts_with(&message) && words.ends_with("tried again by itself."),
                    "{words}"
                );
                assert_eq!(words.contains("settings of the backend"), is_backend, "{words}");
            }
        }
    }
}
