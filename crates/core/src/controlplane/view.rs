//! What a status says about how things are: every field a view of one position and one note.

use capt_api::{
    captcontrolplane::{
        CAPTControlPlaneInitialization, CAPTControlPlaneStatus, ControlPlanePhase as Phase,
        ControlPlaneState as State,
    },
    conditions::{
        ConditionStatus, Word as _,
        captcontrolplane::{CAPTControlPlaneCondition as Type, CAPTControlPlaneReason as Reason},
        condition, find_condition, set_condition,
    },
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};

use super::{
    judging::{Answer, Note},
    machine::Position,
};

/// The longest message that a condition may have.
const MAX_MESSAGE: usize = 32_768;

/// What there is to say by conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Which condition.
    pub type_: Type,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why.
    pub note: Note,
}

fn said(type_: Type, status: impl Into<ConditionStatus>, reason: Reason, message: impl Into<String>) -> Said {
    Said {
        type_,
        status: status.into(),
        note: Note::new(reason, message),
    }
}

/// Writes a position into a status.
pub fn show(status: &mut CAPTControlPlaneStatus, position: Position, note: &Note) {
    status.state = Some(position.state());
    status.phase = Some(position.phase());
    status.ready = position.is_ready();
    status.initialized = position.is_initialized();
    status.initialization = position
        .is_initialized()
        .then_some(CAPTControlPlaneInitialization {
            control_plane_initialized: Some(true),
        });
    let has_failed = has_failed(position, note);
    status.failure_reason = has_failed.then(|| note.reason.as_str().to_owned());
    status.failure_message = has_failed.then(|| note.message.clone());
}

/// Whether a person must do something: it does not serve, or cannot go.
fn has_failed(position: Position, note: &Note) -> bool {
    position.state() == State::Failed || (position.is_deleting() && note.reason == Reason::DeletionFailed)
}

/// The conditions that a position says.
#[must_use]
pub fn conditions(position: Position, note: &Note, answer: &Answer) -> Vec<Said> {
    let because = |fallback: Reason| {
        // A reason that says that all is well does not explain that it is not.
        match note.reason {
            Reason::Ready => Note::new(fallback, note.message.clone()),
            _ => note.clone(),
        }
    };
    let with = |type_, status: bool, note: Note| Said {
        type_,
        status: status.into(),
        note,
    };
    let is_ready = position.is_ready();
    let is_available = is_ready && !matches!(answer, Answer::Silent(_) | Answer::Dead(_));
    let available = if is_available {
        with(
            Type::Available,
            true,
            Note::new(Reason::Available, "The control plane can be used"),
        )
    } else if position.is_deleting() {
        said(
            Type::Available,
            false,
            Reason::Deleting,
            "The control plane is going away",
        )
    } else {
        with(Type::Available, false, because(Reason::NotAvailable))
    };
    let ready = match (is_ready, position.state()) {
        (true, State::Ready) => with(Type::Ready, true, note.clone()),
        (true, _) => with(Type::Ready, true, because(Reason::Degraded)),
        (false, _) if position.is_deleting() => said(
            Type::Ready,
            false,
            Reason::Deleting,
            "The control plane is going away",
        ),
        (false, _) => with(Type::Ready, false, because(Reason::NotReady)),
    };
    let initialized = if position.is_initialized() {
        said(
            Type::Initialized,
            true,
            Reason::Initialized,
            "The control plane served once",
        )
    } else {
        said(
            Type::Initialized,
            false,
            Reason::NotInitialized,
            "The control plane never served",
        )
    };
    let creating = match position.phase() {
        Phase::Creating => with(Type::Creating, true, because(Reason::Creating)),
        Phase::Ready => said(Type::Creating, false, Reason::Ready, "The control plane was made"),
        Phase::Failed => said(Type::Creating, false, Reason::Failed, "See the condition Failed"),
        Phase::Deleting => said(
            Type::Creating,
            false,
            Reason::Deleting,
            "The control plane is going away",
        ),
    };
    let failed = if has_failed(position, note) {
        with(Type::Failed, true, because(Reason::Failed))
    } else {
        said(Type::Failed, false, Reason::NotFailed, "")
    };
    let rolling_out = if position.is_rolling_out() {
        said(Type::RollingOut, true, Reason::RollingOut, note.message.clone())
    } else {
        said(Type::RollingOut, false, Reason::NotRollingOut, "")
    };
    vec![available, ready, initialized, creating, failed, rolling_out]
}

/// The condition about the API server.
#[must_use]
pub fn endpoint(answer: &Answer) -> Said {
    let type_ = Type::EndpointAnswers;
    match answer {
        Answer::Yes => said(type_, true, Reason::EndpointReady, "The API server answers"),
        Answer::NotChecked => said(
            type_,
            ConditionStatus::Unknown,
            Reason::EndpointNotChecked,
            "The API server need not answer from here, because spec.endpointCheck is Optional or public access is off",
        ),
        Answer::Unknown => said(
            type_,
            ConditionStatus::Unknown,
            Reason::EndpointNotReady,
            "The API server has not answered yet",
        ),
        Answer::Silent(message) | Answer::Dead(message) => {
            said(type_, false, Reason::EndpointNotReady, message.clone())
        }
    }
}

/// The condition about the kubeconfig.
#[must_use]
pub fn kubeconfig(outcome: &Result<Note, Note>) -> Said {
    let (status, note) = match outcome {
        Ok(note) => (true, note),
        Err(note) => (false, note),
    };
    Said {
        type_: Type::KubeconfigReady,
        status: status.into(),
        note: note.clone(),
    }
}

/// The condition about a pause.
#[must_use]
pub fn paused(message: Option<String>) -> Said {
    match message {
        Some(message) => said(Type::Paused, true, Reason::Paused, message),
        None => said(Type::Paused, false, Reason::NotPaused, ""),
    }
}

/// The condition about going away.
#[must_use]
pub fn deleting(note: Option<&Note>) -> Said {
    match note {
        Some(note) => said(Type::Deleting, true, note.reason, note.message.clone()),
        None => said(Type::Deleting, false, Reason::NotDeleting, ""),
    }
}

/// Puts what is said into the conditions of a status, in the order in which they are declared. What nothing is said
/// about stays.
#[must_use]
pub fn merge(old: &[Condition], said: &[Said], generation: Option<i64>, now: Timestamp) -> Vec<Condition> {
    let mut all = old.to_vec();
    for one in said {
        let message: String = one.note.message.chars().take(MAX_MESSAGE).collect();
        let new = condition(one.type_, one.status, one.note.reason, message, generation, now);
        set_condition(&mut all, new);
    }
    let known = Type::ALL
        .iter()
        .filter_map(|type_| find_condition(&all, type_.as_str()).cloned());
    known.collect()
}
