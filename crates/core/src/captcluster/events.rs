//! What people should hear about.

use capt_api::{
    captcluster::CAPTClusterStatus,
    conditions::{
        Word as _,
        captcluster::{CAPTClusterCondition as Type, CAPTClusterReason as Reason},
        find_condition,
    },
};

use super::deciding::holds_back;
use crate::decision::{self, Event, EventKind};

/// Why it is ready or not, for whom it waits, what failed, pauses and the end, each once.
pub(super) fn events(old: &CAPTClusterStatus, new: &CAPTClusterStatus) -> Vec<Event> {
    let of = |status: &CAPTClusterStatus, type_: Type| {
        let conditions = status.conditions.as_deref().unwrap_or_default();
        find_condition(conditions, type_.as_str()).cloned()
    };
    let mut events: Vec<Event> = Vec::new();
    for type_ in [
        Type::WaitingForCluster,
        Type::Paused,
        Type::Deleting,
        Type::Ready,
        Type::VpcFailed,
    ] {
        let Some(said) = of(new, type_) else { continue };
        let before = of(old, type_);
        let is_new = before.as_ref().is_none_or(|before| before.reason != said.reason);
        // That nothing is the matter is news only if something was; a failure is told by whoever says it first.
        let is_calm = said.status == "False" && type_ != Type::Ready;
        let is_told = events.iter().any(|event| event.reason == said.reason);
        if !is_new || is_told || (is_calm && before.is_none_or(|before| before.status == "False")) {
            continue;
        }
        let is_failure = new.failure_reason.as_deref() == Some(said.reason.as_str());
        // Also of what is not there yet: a template that is missing is for somebody to see to.
        let is_refused = (said.status == "True" || type_ == Type::Ready)
            && Reason::from_word(&said.reason).is_some_and(holds_back);
        let is_lost =
            type_ == Type::Ready && old.ready && !new.ready && said.reason != Reason::Deleting.as_str();
        events.push(Event {
            kind: if is_failure || is_refused || is_lost {
                EventKind::Warning
            } else {
                EventKind::Normal
            },
            reason: said.reason.clone(),
            message: decision::news(&said.reason, &said.message),
        });
    }
    events
}
