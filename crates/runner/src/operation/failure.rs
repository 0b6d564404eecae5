//! What a failure means for the object, in words and in one word.

use std::borrow::Cow;

use capt_api::{conditions::workspace::WorkspaceReason as Reason, run::RunReport};
use capt_terraform::{
    diagnostics::{self, Class},
    redact::Redactor,
    state::State,
    stream::Diagnostic,
};

use crate::{
    engine::{BROKEN_ARCHIVE, Failure, FailureKind},
    events::News,
    report::missing_words,
    view::WorkspaceView,
};

/// Bytes of a message.
const MAX_MESSAGE: usize = 4 * 1024;
/// Resources that are named as left.
const MAX_LEFT: usize = 5;

/// What was being done, in provider-terraform's words where people understand them.
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
            Self::Observe => "plan failed: ",
            Self::FindNothing => "nothing to observe: ",
            Self::Create => "create failed: ",
            Self::Update => "update failed: ",
            Self::Delete => "delete failed: ",
            Self::Publish => "cannot publish connection details: ",
        }
    }

    /// Whether it makes or changes something.
    pub(crate) fn acts(self) -> bool {
        matches!(self, Self::Create | Self::Update)
    }

    /// What was being done when this was said.
    pub(crate) fn of(message: &str) -> Option<Self> {
        const ALL: [Stage; 7] = [
            Stage::Connect,
            Stage::Observe,
            Stage::FindNothing,
            Stage::Create,
            Stage::Update,
            Stage::Delete,
            Stage::Publish,
        ];
        ALL.into_iter().find(|stage| message.starts_with(stage.prefix()))
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

/// The failure as it may leave. Its kind was decided before, from what Terraform printed.
pub(crate) fn redacted(failure: &Failure, redactor: &Redactor) -> Failure {
    let clean = |diagnostic: &Diagnostic| Diagnostic {
        summary: redactor.text(&diagnostic.summary),
        detail: redactor.text(&diagnostic.detail),
        address: diagnostic
            .address
            .as_deref()
            .map(|address| redactor.text(address)),
        ..diagnostic.clone()
    };
    Failure {
        message: redactor.text(&failure.message),
        diagnostics: failure.diagnostics.iter().map(clean).collect(),
        ..failure.clone()
    }
}

/// What went wrong, for people. As much redacted as the failure is: how it begins and what it is cut to comes after that, so
/// that [`Stage::of`] reads it back and no half of a secret is left.
pub(crate) fn message(failure: &Failure, stage: Stage) -> String {
    // Whatever was said before a crash is not why it ended.
    let is_crash = failure.kind == FailureKind::Terraform(Class::Crash);
    let said = match is_crash {
        true => None,
        false => diagnostics::message(&failure.diagnostics, MAX_MESSAGE),
    };
    let words = said.unwrap_or_else(|| diagnostics::bounded(&failure.message, MAX_MESSAGE));
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
        FailureKind::WouldRepeat => Reason::ResourcesMissing,
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

/// What went wrong together with what a person can do about it. Before anything is tried again, what another try would
/// make a second time must be seen to.
///
/// `message` and `report` are redacted; `about` is the same message as it was before, from which the advice follows.
pub(crate) fn words(
    reason: Reason,
    message: &str,
    about: &str,
    report: &RunReport,
    view: &WorkspaceView,
) -> String {
    let advice = match report.missing.is_empty() {
        true => advice(reason, about, view),
        false => Some(missing_words(report, view).into()),
    };
    match advice {
        Some(advice) => format!("{message}\n{advice}"),
        None => message.to_owned(),
    }
}

/// What a person can do about it, where that is not in the words already.
fn advice(reason: Reason, about: &str, view: &WorkspaceView) -> Option<Cow<'static, str>> {
    let advice = match reason {
        Reason::Network | Reason::Timeout if is_about_state(about) => {
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
        _ => return retry_advice(reason, about, view).map(Cow::Owned),
    };
    Some(advice.into())
}

/// The same where nothing goes on before somebody asks for it.
fn retry_advice(reason: Reason, about: &str, view: &WorkspaceView) -> Option<String> {
    let advice: Cow<'_, str> = match reason {
        Reason::ModuleUnavailable if about.contains(BROKEN_ARCHIVE) => {
            "Put a whole archive where the address leads".into()
        }
        Reason::ModuleUnavailable => {
            "Check the address of the module, and that it can be reached from where the runner runs".into()
        }
        Reason::Setup => "Check the providers and the backend that the module asks for".into(),
        Reason::Denied => "Check the credentials of the provider configuration".into(),
        Reason::Quota => "Free something or ask for more of it".into(),
        Reason::Crash => {
            let logs = view.command("logs");
            format!("Look at the end of `{logs}`, and try another version of Terraform or of the provider")
                .into()
        }
        Reason::DiskFull => "Make room on the disk that the runner works on".into(),
        Reason::Other => "Mend the cause".into(),
        _ => return None,
    };
    let retry = view.command("retry");
    Some(format!("{advice}; then ask for another try: {retry}"))
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
    use capt_api::foreign::Workspace;
    use capt_terraform::{redact::Secrets, stream::Severity};

    use super::*;

    fn view() -> WorkspaceView {
        let object: Workspace = serde_json::from_value(serde_json::json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "vpc", "namespace": "team"},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        }))
        .expect("a Workspace");
        WorkspaceView::from(&object)
    }

    fn of(reason: Reason, message: &str, view: &WorkspaceView) -> String {
        words(reason, message, message, &RunReport::default(), view)
    }

    /// These words stand in every message of ours, and may be in a Secret too.
    #[test]
    fn what_is_redacted_changes_no_decision() {
        let mut secrets = Secrets::default();
        for word in [
            "plan",
            "failed",
            "create",
            "backend",
            "error loading state",
            BROKEN_ARCHIVE,
            "retry",
            "team",
        ] {
            secrets.value(word);
        }
        let redactor = Redactor::new(&secrets);
        let state = own(Class::Network, "error loading state of the backend");
        let archive = own(Class::Other, format!("{BROKEN_ARCHIVE}: gzip failed"));
        for (failure, stage, reason, advice) in [
            (
                &state,
                Stage::Observe,
                Reason::Network,
                "Check the settings of the backend",
            ),
            (
                &archive,
                Stage::Create,
                Reason::ModuleUnavailable,
                "Put a whole archive",
            ),
        ] {
            let clean = message(&redacted(failure, &redactor), stage);
            assert!(clean.contains("(redacted)"), "{clean}");
            assert_eq!(Stage::of(&clean), Some(stage), "{clean}");
            let about = message(failure, stage);
            let words = words(reason, &clean, &about, &RunReport::default(), &view());
            assert!(words.contains(advice) && words.starts_with(&clean), "{words}");
            assert_eq!(
                words.contains("capt retry workspace/vpc -n team"),
                reason == Reason::ModuleUnavailable
            );
        }
    }

    #[test]
    fn a_message_is_cut_after_it_is_redacted() {
        let secret = "correct-horse-battery-staple";
        let mut secrets = Secrets::default();
        secrets.value(secret);
        let redactor = Redactor::new(&secrets);
        let detail = format!("{} {secret} end", "x".repeat(MAX_MESSAGE - 20));
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            summary: "s".to_owned(),
            detail: detail.clone(),
            ..Diagnostic::default()
        };
        let failure = Failure {
            diagnostics: vec![diagnostic],
            ..own(Class::Other, detail)
        };
        for failure in [own(Class::Other, failure.message.clone()), failure] {
            assert!(
                message(&failure, Stage::Create).contains("correct-h"),
                "it is cut inside of it"
            );
            let clean = message(&redacted(&failure, &redactor), Stage::Create);
            assert!(
                !clean.contains("correct") && clean.contains("x (red"),
                "{}",
                &clean[MAX_MESSAGE - 50..]
            );
        }
    }

    #[test]
    fn commands_work_from_every_namespace() {
        let retry = "then ask for another try: capt retry workspace/vpc -n team";
        for reason in [
            Reason::ModuleUnavailable,
            Reason::Setup,
            Reason::Denied,
            Reason::Quota,
            Reason::Crash,
            Reason::DiskFull,
            Reason::Other,
        ] {
            let words = of(reason, "it broke", &view());
            assert!(
                words.starts_with("it broke\n") && words.ends_with(retry),
                "{words}"
            );
        }
        let words = of(Reason::Crash, "it broke", &view());
        assert!(words.contains("`capt logs workspace/vpc -n team`"), "{words}");
        assert_eq!(of(Reason::InputInvalid, "it broke", &view()), "it broke");
        let nowhere = WorkspaceView {
            namespace: None,
            ..view()
        };
        assert_eq!(nowhere.command("retry"), "capt retry workspace/vpc");
    }

    #[test]
    fn what_cannot_be_reached_is_called_by_what_it_is_for() {
        let view = view();
        let refused = "dial tcp 127.0.0.1:1: connect: connection refused";
        for (message, is_backend) in [
            (
                format!("plan failed: error loading state: Failed to get state: {refused}"),
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
                let words = of(reason, &message, &view);
                assert!(
                    words.starts_with(&message) && words.ends_with("tried again by itself."),
                    "{words}"
                );
                assert_eq!(words.contains("settings of the backend"), is_backend, "{words}");
            }
        }
    }
}
