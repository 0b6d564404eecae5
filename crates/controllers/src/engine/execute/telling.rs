//! When a status is written. Nobody waits for words, and much happens in the first moments of an object: what is told a
//! moment later is told once.
//!
//! A look that leaves the status to the next one is like a look that was cut short there, which does no harm.

use std::time::Duration;

use capt_core::decision::{Decision, Desired};
use serde_json::Value;
use tokio::time::Instant;

use super::Subject;

/// How often in a row an object is looked at before its status is written, where each look writes something else.
const UNTOLD_LOOKS: u32 = 3;
/// What was written is usually seen sooner than this, and then the object is looked at again anyway.
const BEGINNING: Duration = Duration::from_millis(100);
/// How long words may wait for something that counts.
const WORDS: Duration = Duration::from_secs(1);

/// What was not told at the looks before this one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Untold {
    /// How many looks in a row these were.
    pub(crate) looks: u32,
    /// Since when something was not told.
    pub(crate) since: Option<Instant>,
}

/// How long the status can be left to the next look, if it can.
pub(super) fn may_wait<S>(
    subject: &Subject,
    decision: &Decision<S>,
    status: &Value,
    untold: Untold,
) -> Option<Duration> {
    // Something that has a status of its own is going to tell more, and so is an object that was only just taken on.
    let speaks_itself = |desired: &Desired| !matches!(desired.target.kind.as_str(), "Secret" | "ConfigMap");
    let begins = !decision.own.add_finalizers.is_empty()
        || (!subject.is_told && decision.children.iter().any(speaks_itself));
    if begins && untold.looks < UNTOLD_LOOKS {
        return Some(BEGINNING);
    }
    if !decision.events.is_empty() && !subject.is_new {
        return None;
    }
    match &subject.status {
        // Who makes several objects together makes one of them first.
        None if subject.is_new && untold.looks == 0 => Some(BEGINNING),
        Some(told) if differs_in_words(told, status) => {
            let waited = untold.since.map(|since| since.elapsed()).unwrap_or_default();
            Some(WORDS.saturating_sub(waited)).filter(|rest| !rest.is_zero())
        }
        _ => None,
    }
}

/// Whether two statuses differ only in what people read and nothing acts upon.
fn differs_in_words(told: &Value, new: &Value) -> bool {
    let is_same = |name: &str, told: &Value, new: &Value| match name {
        "message" | "reason" | "percentComplete" | "estimatedTimeRemaining" => true,
        "workspaceTemplateStatus" => {
            let others = |status: &Value| {
                let mut status = status.clone();
                if let Some(fields) = status.as_object_mut() {
                    fields.remove("state");
                }
                status
            };
            others(told) == others(new)
        }
        _ => differs_in_words(told, new),
    };
    match (told, new) {
        (Value::Object(told), Value::Object(new)) => {
            let names = told.keys().chain(new.keys());
            let mut fields = names.map(|name| (name, field(told, name), field(new, name)));
            fields.all(|(name, told, new)| is_same(name, told, new))
        }
        (Value::Array(told), Value::Array(new)) => {
            told.len() == new.len()
                && told
                    .iter()
                    .zip(new)
                    .all(|(told, new)| differs_in_words(told, new))
        }
        (told, new) => told == new,
    }
}

fn field<'a>(fields: &'a serde_json::Map<String, Value>, name: &str) -> &'a Value {
    fields.get(name).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use capt_core::decision::{Event, EventKind, Guard, OwnChange, Strip, Target};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::json;

    use super::*;

    fn subject(status: Option<&Value>) -> Subject {
        let subject = Subject::of("v1", "Thing", &ObjectMeta::default());
        subject.with_status(status).made_with_others()
    }

    fn writing(kind: &str) -> Decision<()> {
        let desired = Desired {
            target: Target {
                api_version: "v1".to_owned(),
                kind: kind.to_owned(),
                namespace: None,
                name: "x".to_owned(),
            },
            guard: Guard::Absent,
            fields: json!({}),
            strip: Strip::default(),
            rendered_from: None,
        };
        Decision {
            children: vec![desired],
            ..Decision::default()
        }
    }

    fn says(status: &str, message: &str) -> Value {
        json!({"ready": false, "conditions": [{"type": "Ready", "status": status, "message": message}]})
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_waits_only_for_what_tells_more_and_only_so_long() {
        let begun = Decision::<()> {
            own: OwnChange {
                add_finalizers: vec!["f".to_owned()],
                ..OwnChange::default()
            },
            ..Decision::default()
        };
        let quiet = Decision::<()>::default();
        let loud = Decision::<()> {
            events: vec![Event {
                kind: EventKind::Normal,
                reason: "Something".to_owned(),
                message: String::new(),
            }],
            ..Decision::default()
        };
        let told = Some(says("False", "a"));
        let looks = |looks| Untold { looks, since: None };
        let words = says("False", "b");
        let news = says("True", "b");
        let early = Untold {
            looks: 1,
            since: Some(Instant::now()),
        };
        tokio::time::advance(WORDS / 4).await;
        for (decision, told, status, untold, expected) in [
            (&begun, &told, &news, looks(0), Some(BEGINNING)),
            (&begun, &told, &news, looks(UNTOLD_LOOKS), None),
            (&writing("Workspace"), &None, &news, looks(1), Some(BEGINNING)),
            (&writing("Workspace"), &told, &news, looks(1), None),
            (&writing("Secret"), &told, &news, looks(0), None),
            (&quiet, &told, &news, looks(0), None),
            (&quiet, &told, &words, looks(0), Some(WORDS)),
            (&quiet, &told, &words, early, Some(WORDS * 3 / 4)),
            (&loud, &told, &words, looks(0), None),
            (&quiet, &None, &news, looks(0), Some(BEGINNING)),
            (&quiet, &None, &news, looks(1), None),
        ] {
            let wait = may_wait(&subject(told.as_ref()), decision, status, untold);
            assert_eq!(wait, expected, "{decision:?} {told:?} {status} {untold:?}");
        }
        tokio::time::advance(WORDS).await;
        let late = may_wait(&subject(told.as_ref()), &quiet, &words, early);
        assert_eq!(late, None);
    }

    #[test]
    fn words_are_what_nothing_acts_upon() {
        let told = json!({"ready": false, "message": "a", "workspaceTemplateStatus": {"ready": false, "state": "A"}});
        for (new, expected) in [
            (told.clone(), true),
            (
                json!({"ready": false, "message": "b", "workspaceTemplateStatus": {"ready": false, "state": "B"}}),
                true,
            ),
            (
                json!({"ready": false, "workspaceTemplateStatus": {"ready": false}}),
                true,
            ),
            (
                json!({"ready": false, "message": "a", "workspaceTemplateStatus": {"ready": true, "state": "A"}}),
                false,
            ),
            (
                json!({"ready": true, "message": "a", "workspaceTemplateStatus": {"ready": false, "state": "A"}}),
                false,
            ),
            (json!({"ready": false, "message": "a", "state": "A"}), false),
        ] {
            assert_eq!(differs_in_words(&told, &new), expected, "{new}");
        }
    }
}
