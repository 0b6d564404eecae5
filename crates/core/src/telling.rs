//! Events as the API keeps them.
//!
//! An event is named after what it says, so that a repetition is counted on the one that is there, also after a restart, and
//! other words under the same reason are another event: whoever reads them reads what was said last.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event as Told, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::{SignedDuration, Timestamp},
};

use crate::decision::{Event, EventKind};

/// The API takes no longer ones, in bytes.
const MAX_NOTE: usize = 1024;
/// Where events are kept about what is in no namespace.
const NO_NAMESPACE: &str = "default";

/// Who tells something.
#[derive(Clone, Copy, Debug)]
pub struct Reporter<'a> {
    /// What it is.
    pub controller: &'a str,
    /// Which one of them.
    pub instance: &'a str,
}

/// What is to be written where this was not told before. It has a name and a namespace.
#[must_use]
pub fn told(event: &Event, about: ObjectReference, by: Reporter<'_>, now: Timestamp) -> Told {
    Told {
        metadata: ObjectMeta {
            name: Some(name(event, &about)),
            namespace: Some(about.namespace.as_deref().unwrap_or(NO_NAMESPACE).to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(by.controller.to_owned()),
        reporting_instance: Some(by.instance.to_owned()),
        action: Some("Reconcile".to_owned()),
        reason: Some(event.reason.clone()),
        note: Some(fitting(&event.message).to_owned()),
        type_: Some(
            match event.kind {
                EventKind::Normal => "Normal",
                EventKind::Warning => "Warning",
            }
            .to_owned(),
        ),
        regarding: Some(about),
        ..Told::default()
    }
}

/// How often something was told, with this time, unless it was told so short a time ago.
#[must_use]
pub fn counted(present: &Told, within: SignedDuration, now: Timestamp) -> Option<EventSeries> {
    let (count, last) = match &present.series {
        Some(series) => (series.count, Some(series.last_observed_time.0)),
        None => (1, present.event_time.as_ref().map(|time| time.0)),
    };
    let is_other = last.is_none_or(|last| now.duration_since(last) >= within);
    is_other.then(|| EventSeries {
        count: count.saturating_add(1),
        last_observed_time: MicroTime(now),
    })
}

/// As much of a message as the API takes.
fn fitting(message: &str) -> &str {
    let ends = message.char_indices().map(|(at, one)| at + one.len_utf8());
    let end = ends.take_while(|end| *end <= MAX_NOTE).last();
    &message[..end.unwrap_or(0)]
}

fn name(event: &Event, about: &ObjectReference) -> String {
    let mut hasher = DefaultHasher::new();
    let uid = about.uid.as_deref().unwrap_or_default();
    (uid, &event.reason, &event.message).hash(&mut hasher);
    let mut stem = about.name.clone().unwrap_or_default();
    stem.truncate(200);
    format!("{}.{:016x}", stem.trim_end_matches(['-', '.']), hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: Reporter<'_> = Reporter {
        controller: "someone",
        instance: "one-of-them",
    };

    fn says(reason: &str, message: &str) -> Told {
        let event = Event {
            kind: EventKind::Normal,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let about = ObjectReference {
            name: Some("thing".to_owned()),
            uid: Some("u".to_owned()),
            ..ObjectReference::default()
        };
        told(&event, about, BY, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn what_comes_again_is_counted_unless_it_was_told_a_moment_ago() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let told = |series: Option<(i32, i64)>| Told {
            event_time: Some(MicroTime(at(0))),
            series: series.map(|(count, last)| EventSeries {
                count,
                last_observed_time: MicroTime(at(last)),
            }),
            ..Told::default()
        };
        for (series, within, now, expected) in [
            (None, 1, 0, None),
            (None, 1, 2, Some(2)),
            (Some((2, 30)), 1, 32, Some(3)),
            (Some((2, 30)), 60, 32, None),
            (Some((2, 30)), 60, 90, Some(3)),
        ] {
            let within = SignedDuration::from_secs(within);
            let counted = counted(&told(series), within, at(now)).map(|series| series.count);
            assert_eq!(counted, expected, "{series:?} at {now}");
        }
    }

    #[test]
    fn other_words_and_other_reasons_are_other_events() {
        let name = |reason, message| says(reason, message).metadata.name;
        assert_eq!(name("Changed", "to 2"), name("Changed", "to 2"));
        assert_ne!(name("Changed", "to 2"), name("Changed", "to 3"));
        assert_ne!(name("Changed", "to 2"), name("Made", "to 2"));
    }

    #[test]
    fn a_note_is_as_long_as_the_api_takes_it() {
        for (message, length) in [
            ("x".repeat(MAX_NOTE), MAX_NOTE),
            ("x".repeat(MAX_NOTE + 1), MAX_NOTE),
            (format!("x{}", "é".repeat(MAX_NOTE)), MAX_NOTE - 1),
        ] {
            assert_eq!(says("Told", &message).note.unwrap().len(), length);
        }
    }
}
