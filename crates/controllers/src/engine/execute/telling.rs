//! When a status is written. Nobody waits for words, and much happens in the first moments of an object: what is told a
//! moment later is told once.
//!
//! A look that leaves the status to the next one is like a look that was cut short there, which does no harm.

use std::time::Duration;

use capt_core::decision::{Decision, Desired, Event, EventKind};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use super::Subject;

/// How often in a row an object is looked at before its status is written, where each look writes something else.
const UNTOLD_LOOKS: u32 = 3;
/// What was written is usually seen sooner than this, and then the object is looked at again anyway.
const BEGINNING: Duration = Duration::from_millis(100);
/// How long words may wait for something that counts, where nobody else has anything to say.
const WORDS: Duration = Duration::from_secs(1);
/// The same at most, however many have something to say.
const MANY_WORDS: Duration = Duration::from_secs(30);
/// How many objects of a kind may tell mere words in a second.
const WORDS_IN_A_SECOND: u32 = 20;

type Fields = serde_json::Map<String, Value>;

/// What was not told at the looks before this one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Untold {
    /// How many looks in a row these were.
    pub(crate) looks: u32,
    /// Since when something was not told.
    pub(crate) since: Option<Instant>,
    /// How many objects of the kind have something that was not told.
    pub(crate) objects: usize,
}

/// What of a status may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Nothing.
    None,
    /// What people read and nothing acts upon, compared with what was told before.
    Words,
    /// That something begins and how far it is, compared with what was told before: others act upon what is said of
    /// failures.
    Beginning,
}

/// How long the status can be left to the next look, if it can.
pub(super) fn may_wait<T: Serialize, S>(
    subject: &Subject,
    told: Option<&T>,
    decision: &Decision<S>,
    status: &Value,
    untold: Untold,
) -> Option<Duration> {
    // Who put the spec right does not see any more what was wrong with it.
    let is_warning = |event: &Event| event.kind == EventKind::Warning;
    if !decision.own.spec.is_empty() && decision.events.iter().any(is_warning) {
        return None;
    }
    let waited = untold.since.map(|since| since.elapsed()).unwrap_or_default();
    let rest = |limit: Duration| Some(limit.saturating_sub(waited)).filter(|rest| !rest.is_zero());
    // Something that has a status of its own is going to tell more, and so is an object that was only just taken on.
    let speaks_itself = |desired: &Desired| !matches!(desired.target.kind.as_str(), "Secret" | "ConfigMap");
    let begins = !decision.own.add_finalizers.is_empty()
        || (!subject.is_told && decision.children.iter().any(speaks_itself));
    if begins && untold.looks < UNTOLD_LOOKS {
        return Some(BEGINNING);
    }
    // Who makes several objects together makes one of them first, and whoever ties them together has many to look at.
    if subject.is_new {
        let limit = if has_nothing_to_say(status) {
            words(untold.objects)
        } else {
            BEGINNING
        };
        return rest(limit);
    }
    // Also with its events, which the next look has too. Others wait to hear that their edit was observed.
    if decision.own.tells_progress && subject.patience == Patience::Words {
        return rest(WORDS);
    }
    if begins || !decision.events.is_empty() {
        return None;
    }
    let differs: fn(&Value, &Value) -> bool = match subject.patience {
        Patience::None => return None,
        Patience::Words => differs_in_words,
        Patience::Beginning => differs_in_beginning,
    };
    // To compare takes longer than to see that the time is over.
    let rest = rest(words(untold.objects))?;
    let told = told.and_then(|told| serde_json::to_value(told).ok())?;
    differs(&told, status).then_some(rest)
}

/// How long words wait where so many have something to say.
fn words(objects: usize) -> Duration {
    let objects = u32::try_from(objects).unwrap_or(u32::MAX);
    (WORDS * (objects / WORDS_IN_A_SECOND).clamp(1, 1000)).min(MANY_WORDS)
}

/// Whether two statuses differ only in what people read and nothing acts upon.
fn differs_in_words(told: &Value, new: &Value) -> bool {
    let is_same = |name: &str, told: &Value, new: &Value| match name {
        "message" | "reason" | "percentComplete" | "estimatedTimeRemaining" => true,
        // Nobody acts upon these before something is ready, which is told at once.
        "vpcId" | "vpcWorkspaceName" => told.is_null() || told == new,
        "workspaceTemplateStatus" => without_words(told) == without_words(new),
        "conditions" => conditions_differ_in_words(told, new),
        _ => differs_in_words(told, new),
    };
    match (told, new) {
        (Value::Object(told), Value::Object(new)) => {
            fields(told, new).all(|(name, told, new)| is_same(name, told, new))
        }
        (Value::Array(told), Value::Array(new)) => {
            let mut pairs = told.iter().zip(new);
            told.len() == new.len() && pairs.all(|(told, new)| differs_in_words(told, new))
        }
        (told, new) => told == new,
    }
}

/// What is told of a Workspace, without its name and what it does. One of which nothing was told is not ready.
fn without_words(status: &Value) -> Value {
    let mut fields = status.as_object().cloned().unwrap_or_default();
    fields.remove("state");
    fields.remove("workspaceName");
    fields.entry("ready").or_insert(Value::Bool(false));
    Value::Object(fields)
}

/// Whether the same conditions are true, and nothing else is said of them than in words. One that is not there is not true
/// either.
fn conditions_differ_in_words(told: &Value, new: &Value) -> bool {
    let no_conditions = Vec::new();
    let told = told.as_array().unwrap_or(&no_conditions);
    let new = new.as_array().unwrap_or(&no_conditions);
    told.iter().chain(new).all(|one| {
        let of_type = |other: &&Value| other["type"] == one["type"];
        match (told.iter().find(of_type), new.iter().find(of_type)) {
            (Some(told), Some(new)) => {
                is_true(told) == is_true(new) && told["observedGeneration"] == new["observedGeneration"]
            }
            (only, None) | (None, only) => !only.is_some_and(is_true),
        }
    })
}

fn is_true(condition: &Value) -> bool {
    condition["status"] == "True"
}

/// Whether all that a first status says is what it waits for.
fn has_nothing_to_say(status: &Value) -> bool {
    let no_conditions = Vec::new();
    let conditions = status["conditions"].as_array().unwrap_or(&no_conditions);
    let is_waiting = |one: &&Value| {
        let type_ = one["type"].as_str();
        type_.is_some_and(|type_| type_.starts_with("Waiting"))
    };
    let mut true_ones = conditions.iter().filter(|one| is_true(one));
    status["ready"] != true && true_ones.all(|one| is_waiting(&one))
}

/// Whether all that is new is that something began to be made, how far it is, and what it says of that.
fn differs_in_beginning(told: &Value, new: &Value) -> bool {
    let is_ready = |one: &Value| one["type"] == "Ready";
    let mut before = told["conditions"].as_array().into_iter().flatten();
    let is_known = before.any(is_ready);
    let mut rest = new.clone();
    if let Some(conditions) = rest["conditions"].as_array_mut().filter(|_| !is_known) {
        conditions.retain(|one| !is_ready(one) || one["reason"] != "Creating");
    }
    if let Some(fields) = rest.as_object_mut() {
        for words in ["message", "progress"] {
            match told.get(words) {
                Some(told) => fields.insert(words.to_owned(), told.clone()),
                None => fields.remove(words),
            };
        }
    }
    rest == *told
}

/// The fields of two objects, with what each of them says. Every name comes once: what is compared twice at each level is
/// compared very often at the last.
fn fields<'a>(one: &'a Fields, other: &'a Fields) -> impl Iterator<Item = (&'a str, &'a Value, &'a Value)> {
    let names = one
        .keys()
        .chain(other.keys().filter(|name| !one.contains_key(*name)));
    names.map(|name| (name.as_str(), field(one, name), field(other, name)))
}

fn field<'a>(fields: &'a Fields, name: &str) -> &'a Value {
    fields.get(name).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use capt_core::decision::OwnChange;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::json;

    use super::{super::testing::desired, *};

    fn subject(status: Option<&Value>) -> Subject {
        let subject = Subject::of("v1", "Thing", &ObjectMeta::default());
        subject.with_status(status).made_with_others()
    }

    fn writing(kind: &str) -> Decision<()> {
        Decision {
            children: vec![desired(kind)],
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
        let under_way = Decision::<()> {
            own: OwnChange {
                tells_progress: true,
                ..OwnChange::default()
            },
            ..loud.clone()
        };
        // A name that leads nowhere is put right, which no other look sees.
        let mut put_right = begun.clone();
        put_right.own.spec.insert("name".to_owned(), json!("x"));
        put_right.events = loud.events.clone();
        let mut warned = put_right.clone();
        warned.events[0].kind = EventKind::Warning;
        let told = Some(says("False", "a"));
        let looks = |looks| Untold {
            looks,
            ..Untold::default()
        };
        let words = says("False", "b");
        let news = says("True", "b");
        let waiting =
            json!({"ready": false, "conditions": [{"type": "WaitingForCluster", "status": "True"}]});
        let early = Untold {
            looks: 1,
            since: Some(Instant::now()),
            objects: 1,
        };
        let crowded = Untold {
            objects: 200,
            ..early
        };
        tokio::time::advance(WORDS / 4).await;
        for (decision, told, status, untold, expected) in [
            (&begun, &told, &news, looks(0), Some(BEGINNING)),
            (&begun, &told, &news, looks(UNTOLD_LOOKS), None),
            (&put_right, &told, &news, looks(0), Some(BEGINNING)),
            (&warned, &told, &news, looks(0), None),
            (&warned, &None, &words, looks(0), None),
            (&writing("Workspace"), &None, &news, looks(1), Some(BEGINNING)),
            (&writing("Workspace"), &told, &news, looks(1), None),
            (&writing("Secret"), &told, &news, looks(0), None),
            (&quiet, &told, &news, looks(0), None),
            (&quiet, &told, &words, looks(0), Some(WORDS)),
            (&quiet, &told, &words, early, Some(WORDS * 3 / 4)),
            // The more have something to say, the longer words wait, but not for ever.
            (&quiet, &told, &words, crowded, Some(WORDS * 10 - WORDS / 4)),
            (&loud, &told, &words, looks(0), None),
            (&under_way, &told, &news, looks(0), Some(WORDS)),
            (&under_way, &told, &news, early, Some(WORDS * 3 / 4)),
            (&quiet, &None, &news, looks(0), Some(BEGINNING)),
            (&quiet, &None, &news, looks(1), Some(BEGINNING)),
            (&quiet, &None, &news, early, None),
            // What only waits may wait to say so.
            (&quiet, &None, &words, looks(0), Some(WORDS)),
            (&quiet, &None, &waiting, looks(0), Some(WORDS)),
            (&quiet, &None, &words, early, Some(WORDS * 3 / 4)),
        ] {
            let wait = may_wait(&subject(told.as_ref()), told.as_ref(), decision, status, untold);
            assert_eq!(wait, expected, "{decision:?} {told:?} {status} {untold:?}");
        }
        tokio::time::advance(WORDS).await;
        let late = may_wait(&subject(told.as_ref()), told.as_ref(), &quiet, &words, early);
        assert_eq!(late, None);
    }

    #[test]
    fn every_field_is_compared_once() {
        let (one, other) = (json!({"a": 1, "b": 2}), json!({"b": 3, "c": 4}));
        let fields = fields(one.as_object().unwrap(), other.as_object().unwrap());
        let fields: Vec<Value> = fields
            .map(|(name, one, other)| json!([name, one, other]))
            .collect();
        assert_eq!(
            json!(fields),
            json!([["a", 1, null], ["b", 2, 3], ["c", null, 4]])
        );
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

    #[test]
    fn a_condition_that_becomes_true_or_is_true_no_more_counts_and_another_reason_does_not() {
        let said = |status: &str, reason: &str, generation: i64| {
            let one = json!({"type": "Ready", "status": status, "reason": reason, "observedGeneration": generation});
            json!({"conditions": [one]})
        };
        let told = said("False", "Waiting", 1);
        for (new, expected) in [
            (said("False", "Making", 1), true),
            (said("Unknown", "Making", 1), true),
            (said("True", "Made", 1), false),
            (said("False", "Waiting", 2), false),
            (json!({"conditions": []}), true),
        ] {
            assert_eq!(differs_in_words(&told, &new), expected, "{new}");
        }
        let nothing = json!({});
        assert!(differs_in_words(&nothing, &told));
        assert!(!differs_in_words(&nothing, &said("True", "Made", 1)));
        assert!(!differs_in_words(&said("True", "Made", 1), &nothing));
        let known = json!({"vpcId": "a", "workspaceTemplateStatus": {"ready": false, "workspaceName": "w"}});
        assert!(differs_in_words(&nothing, &known));
        assert!(!differs_in_words(&known, &json!({"vpcId": "b"})));
    }

    #[test]
    fn that_something_begins_may_wait_and_that_it_fails_may_not() {
        let applied = json!({"type": "Applied", "status": "True", "reason": "Applied"});
        let told = json!({"applied": true, "conditions": [applied]});
        let said = |type_: &str, status: &str, reason: &str| {
            let one = json!({"type": type_, "status": status, "reason": reason});
            json!({"applied": true, "message": "a", "conditions": [applied, one]})
        };
        for (new, expected) in [
            (said("Ready", "False", "Creating"), true),
            (said("Ready", "True", "Available"), false),
            (said("Ready", "False", "Unavailable"), false),
            (said("Synced", "False", "ReconcileError"), false),
        ] {
            assert_eq!(differs_in_beginning(&told, &new), expected, "{new}");
        }
        let begun = said("Ready", "False", "Creating");
        let mut further = begun.clone();
        further["progress"] = json!({"percentComplete": 5});
        assert!(differs_in_beginning(&begun, &further));
        assert!(differs_in_beginning(&further, &begun));
        assert!(!differs_in_beginning(
            &further,
            &said("Synced", "False", "ReconcileError")
        ));
        assert!(!differs_in_beginning(&begun, &said("Ready", "True", "Available")));
        assert!(!differs_in_beginning(&begun, &told));
    }
}
