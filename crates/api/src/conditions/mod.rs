//! Conditions: their types and reasons, one closed list per kind, and how one replaces another.
//!
//! The clock is a parameter everywhere: this module never asks what time it is.

pub mod captcluster;
pub mod captcontrolplane;
pub mod cluster;
mod words;
pub mod workspace;
pub mod workspacetemplate;
pub mod workspacetemplateapply;

pub use words::Word;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

/// A type of condition, together with the reasons that it may have.
pub trait ConditionType: Word {
    /// The reasons that a condition of this kind of object may have.
    type Reason: Word;
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It cannot be told.
    Unknown,
}

impl ConditionStatus {
    /// As it is written in an object.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Makes a condition that began to hold (or not) at `now`.
pub fn condition<T: ConditionType>(
    type_: T,
    status: impl Into<ConditionStatus>,
    reason: T::Reason,
    message: impl Into<String>,
    observed_generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: type_.as_str().to_owned(),
        status: status.into().as_str().to_owned(),
        reason: reason.as_str().to_owned(),
        message: message.into(),
        observed_generation,
        last_transition_time: Time(now),
    }
}

/// Puts a condition into a list in place of the one of its type, whose transition time it keeps if the status is the
/// same.
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions.iter_mut().find(|old| old.type_ == new.type_) {
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

/// The condition of a type, by the name of the type.
#[must_use]
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

#[cfg(test)]
mod tests {
    use super::{captcluster::*, *};

    #[test]
    fn a_condition_keeps_its_transition_time_until_its_status_changes() {
        let at = |second| Timestamp::from_second(second).expect("a valid time");
        let mut conditions = Vec::new();
        let make = |status, reason, second| {
            condition(
                CAPTClusterCondition::Ready,
                status,
                reason,
                "message",
                Some(1),
                at(second),
            )
        };
        set_condition(&mut conditions, make(false, CAPTClusterReason::VpcCreating, 1));
        set_condition(
            &mut conditions,
            make(false, CAPTClusterReason::VpcCreationFailed, 2),
        );
        assert_eq!(conditions[0].last_transition_time, Time(at(1)));
        assert_eq!(conditions[0].reason, "VPCCreationFailed");
        set_condition(&mut conditions, make(true, CAPTClusterReason::VpcCreated, 3));
        assert_eq!(conditions.len(), 1);
        assert_eq!(
            find_condition(&conditions, "Ready")
                .expect("set above")
                .last_transition_time,
            Time(at(3))
        );
    }

    #[test]
    fn words_are_acceptable_to_kubernetes_and_distinct() {
        fn check<W: Word>() {
            let mut seen = std::collections::BTreeSet::new();
            for word in W::ALL {
                let text = word.as_str();
                assert!(seen.insert(text), "{text} twice");
                assert!(
                    text.starts_with(|first: char| first.is_ascii_alphabetic()),
                    "{text}"
                );
                assert!(
                    text.chars().all(|character| character.is_ascii_alphanumeric()),
                    "{text}"
                );
                assert_eq!(W::from_word(text).map(W::as_str), Some(text));
            }
            assert!(W::from_word("no such word").is_none());
        }
        check::<CAPTClusterCondition>();
        check::<CAPTClusterReason>();
        check::<captcontrolplane::CAPTControlPlaneCondition>();
        check::<captcontrolplane::CAPTControlPlaneReason>();
        check::<cluster::ClusterCondition>();
        check::<cluster::ClusterReason>();
        check::<workspace::WorkspaceConditionType>();
        check::<workspace::WorkspaceReason>();
        check::<workspacetemplate::WorkspaceTemplateCondition>();
        check::<workspacetemplate::WorkspaceTemplateReason>();
        check::<workspacetemplateapply::WorkspaceTemplateApplyCondition>();
        check::<workspacetemplateapply::WorkspaceTemplateApplyReason>();
    }

    /// People and their alerts look for one word.
    #[test]
    fn a_template_that_is_not_there_is_told_by_one_word_whoever_names_it() {
        fn says<W: Word>(word: &str) -> bool {
            W::from_word(word).is_some()
        }
        for (word, expected) in [("WorkspaceTemplateNotFound", true), ("TemplateNotFound", false)] {
            let all = [
                says::<CAPTClusterReason>(word),
                says::<captcontrolplane::CAPTControlPlaneReason>(word),
                says::<workspacetemplateapply::WorkspaceTemplateApplyReason>(word),
            ];
            assert_eq!(all, [expected; 3], "{word}");
        }
    }
}
