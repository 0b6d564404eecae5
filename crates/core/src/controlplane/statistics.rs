//! How long operations took with one template, as a few numbers that survive: averages in which what is long past counts
//! less and less.

use std::{collections::BTreeMap, time::Duration};

use capt_api::captcontrolplane::{CAPTControlPlaneStatus, OperationResult};
use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    progress::{self, Statistics, Walk},
    timeouts,
};
use crate::decision::Decision;

/// The operations that are worth an average.
const OPERATIONS: [&str; 3] = [progress::CREATE, progress::UPDATE, progress::DELETE];
/// What an update is called here that brings a cluster to the next minor version: it takes minutes where others take seconds.
const UPGRADE: &str = "Upgrade";
/// How many of the last operations count.
const MEMORY: u32 = 10;
/// No operation takes longer, in seconds.
const LONGEST: u64 = 7 * 24 * 3600;

/// How long operations took with one template.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Averages(BTreeMap<String, Average>);

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Average {
    count: u32,
    seconds: u64,
}

impl Averages {
    /// Reads them from what a ConfigMap holds. What cannot be understood is left out: it is learned again.
    #[must_use]
    pub fn of(data: &BTreeMap<String, String>) -> Self {
        let known = OPERATIONS.into_iter().chain([UPGRADE]).filter_map(|operation| {
            let average: Average = serde_json::from_str(data.get(&key(operation))?).ok()?;
            // Whoever edits a ConfigMap may write any number.
            (average.seconds <= LONGEST).then(|| (operation.to_owned(), average))
        });
        Self(known.collect())
    }

    /// What a ConfigMap is to hold.
    #[must_use]
    pub fn data(&self) -> BTreeMap<String, String> {
        let data = self.0.iter().filter_map(|(operation, average)| {
            let text = serde_json::to_string(average).ok()?;
            Some((key(operation), text))
        });
        data.collect()
    }

    /// Learns from an operation that is over.
    pub fn learn(&mut self, lesson: &Lesson) {
        let seconds = lesson.took.as_secs().min(LONGEST);
        let average = self
            .0
            .entry(lesson.operation.to_owned())
            .or_insert(Average { count: 0, seconds });
        average.count = average.count.saturating_add(1);
        let share = u64::from(average.count.min(MEMORY));
        average.seconds = (average.seconds * (share - 1) + seconds) / share;
    }

    /// How long operations take.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let of = |operation: &str| {
            let average = self.0.get(operation)?;
            Some(Duration::from_secs(average.seconds))
        };
        Statistics {
            create: of(progress::CREATE),
            update: of(progress::UPDATE),
            upgrade: of(UPGRADE),
            delete: of(progress::DELETE),
        }
    }
}

/// An operation that is over, and succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    operation: &'static str,
    took: Duration,
}

/// What there is to learn from a decision that was carried out, given the status that was there before it.
#[must_use]
pub fn lesson(
    before: Option<&CAPTControlPlaneStatus>,
    decision: &Decision<CAPTControlPlaneStatus>,
    now: Timestamp,
) -> Option<Lesson> {
    let before = before?.progress.as_ref();
    let history = before?.history.as_deref().unwrap_or_default();
    let running = progress::running(history)?;
    let operation = OPERATIONS
        .into_iter()
        .find(|operation| *operation == running.operation)?;
    let has_ended = match &decision.own.status {
        // With its last finalizer the object goes, and nobody is left to write that down.
        None => operation == progress::DELETE && !decision.own.remove_finalizers.is_empty(),
        Some(status) => progress::just_ended(before, status.progress.as_ref()?)
            .is_some_and(|record| record.result == Some(OperationResult::Succeeded)),
    };
    let took = timeouts::elapsed(running.start_time.0, history, now);
    let steps = Walk::steps_of(running);
    has_ended.then(|| match steps {
        Some(steps) => Lesson {
            operation: UPGRADE,
            took: took / steps,
        },
        // What a person took to approve it is not to be learned.
        None => Lesson {
            operation,
            took: timeouts::elapsed(progress::step_began(running), history, now),
        },
    })
}

fn key(operation: &str) -> String {
    operation.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use capt_api::captcontrolplane::{OperationRecord, ProgressInfo};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::decision::OwnChange;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).expect("a valid time")
    }

    fn lesson_of(operation: &'static str, seconds: u64) -> Lesson {
        Lesson {
            operation,
            took: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn averages_follow_what_happens_and_survive() {
        let mut averages = Averages::default();
        assert_eq!(averages.statistics(), Statistics::default());
        for _ in 0..3 {
            averages.learn(&lesson_of(progress::CREATE, 600));
        }
        assert_eq!(averages.statistics().create, Some(Duration::from_secs(600)));
        for _ in 0..100 {
            averages.learn(&lesson_of(progress::CREATE, 900));
        }
        let learned = averages.statistics().create.expect("one").as_secs();
        assert!((880..=900).contains(&learned), "{learned}");
        averages.learn(&lesson_of(progress::DELETE, 60));
        let again = Averages::of(&averages.data());
        assert_eq!(again, averages);
        assert_eq!(averages.data().len(), 2);
    }

    #[test]
    fn what_somebody_wrote_into_it_does_no_harm() {
        let data = BTreeMap::from([
            ("create".to_owned(), "nonsense".to_owned()),
            (
                "update".to_owned(),
                format!("{{\"count\":{},\"seconds\":{}}}", u32::MAX, u64::MAX),
            ),
            ("other".to_owned(), "{\"count\":1,\"seconds\":1}".to_owned()),
        ]);
        let mut averages = Averages::of(&data);
        assert_eq!(averages.statistics().create, None);
        averages.learn(&lesson_of(progress::UPDATE, 1));
        assert_eq!(averages.data().keys().collect::<Vec<_>>(), ["update"]);
    }

    fn status(end: Option<(i64, OperationResult)>, operation: &str) -> CAPTControlPlaneStatus {
        CAPTControlPlaneStatus {
            progress: Some(ProgressInfo {
                history: Some(vec![OperationRecord {
                    operation: operation.to_owned(),
                    start_time: Time(at(0)),
                    step_start_time: None,
                    end_time: end.map(|(second, _)| Time(at(second))),
                    result: end.map(|(_, result)| result),
                    message: None,
                }]),
                ..ProgressInfo::default()
            }),
            ..CAPTControlPlaneStatus::default()
        }
    }

    #[test]
    fn only_what_ended_well_is_learned_from() {
        let deciding = |own| Decision {
            own,
            ..Decision::default()
        };
        let to = |status| {
            deciding(OwnChange {
                status: Some(status),
                ..OwnChange::default()
            })
        };
        let (create, delete) = (status(None, progress::CREATE), status(None, progress::DELETE));
        let done = to(status(Some((90, OperationResult::Succeeded)), progress::CREATE));
        let failed = to(status(Some((90, OperationResult::Failed)), progress::CREATE));
        let gone = deciding(OwnChange {
            remove_finalizers: vec!["x".to_owned()],
            ..OwnChange::default()
        });
        for (name, before, decision, expected) in [
            ("made", &create, &done, Some(lesson_of(progress::CREATE, 90))),
            ("failed", &create, &failed, None),
            ("still at it", &create, &to(create.clone()), None),
            ("nothing decided", &create, &Decision::default(), None),
            ("gone", &delete, &gone, Some(lesson_of(progress::DELETE, 90))),
            ("gone before it began", &create, &gone, None),
        ] {
            assert_eq!(lesson(Some(before), decision, at(90)), expected, "{name}");
        }
        assert_eq!(lesson(None, &done, at(90)), None);
    }

    #[test]
    fn an_upgrade_is_learned_from_by_its_steps_and_not_as_any_update() {
        let walked = |mut status: CAPTControlPlaneStatus| {
            let progress = status.progress.as_mut().expect("progress");
            let records = progress.history.as_mut().expect("records");
            records[0].message = Some("from 1.31 to 1.33".to_owned());
            status
        };
        let decision = Decision {
            own: OwnChange {
                status: Some(walked(status(
                    Some((90, OperationResult::Succeeded)),
                    progress::UPDATE,
                ))),
                ..OwnChange::default()
            },
            ..Decision::default()
        };
        let learned = lesson(Some(&walked(status(None, progress::UPDATE))), &decision, at(90));
        assert_eq!(learned, Some(lesson_of(UPGRADE, 45)));
        let mut averages = Averages::default();
        averages.learn(&learned.expect("a lesson"));
        let kept = Averages::of(&averages.data()).statistics();
        assert_eq!((kept.update, kept.upgrade), (None, Some(Duration::from_secs(45))));
    }
}
