//! Time in which nothing was done, because somebody asked for that. It stands in the history, beside operations.

use capt_api::captcontrolplane::{OperationRecord, OperationResult};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::progress::{PAUSED, step_began};
use crate::timing::{self, Pause};

/// How many pauses are remembered.
pub(super) const MOST: usize = 8;

/// The pause that a record is, if it is one that is over.
pub(super) fn of(record: &OperationRecord) -> Option<Pause> {
    let end = record.end_time.as_ref().filter(|_| record.operation == PAUSED)?;
    Some((record.start_time.0, end.0))
}

/// Records that nothing was done from a time on until now. Of too many pauses two become one of the same length, so that
/// as much time is left out as before.
pub(super) fn record(history: &mut Vec<OperationRecord>, since: Timestamp, now: Timestamp) {
    history.push(OperationRecord {
        operation: PAUSED.to_owned(),
        start_time: Time(since),
        step_start_time: None,
        end_time: Some(Time(now)),
        result: Some(OperationResult::Succeeded),
        message: None,
    });
    bound(history);
}

/// Of too many pauses, joins the oldest between which nothing began: what began there would take a pause before it for one
/// of its own.
pub(super) fn bound(history: &mut Vec<OperationRecord>) {
    loop {
        let places = history.iter().enumerate();
        let pauses: Vec<(usize, Pause)> = places
            .filter_map(|(place, record)| Some((place, of(record)?)))
            .collect();
        if pauses.len() <= MOST {
            return;
        }
        let parts = |(_, earlier): &(usize, Pause), (_, later): &(usize, Pause)| {
            let between = earlier.0..later.0;
            let mut operations = history.iter().filter(|record| record.operation != PAUSED);
            operations
                .any(|record| between.contains(&record.start_time.0) || between.contains(&step_began(record)))
        };
        let mut pairs = pauses.iter().zip(pauses.iter().skip(1));
        let free = pairs.clone().find(|(earlier, later)| !parts(earlier, later));
        let Some(((gone, earlier), (kept, later))) = free.or_else(|| pairs.next()).map(|(a, b)| (*a, *b))
        else {
            return;
        };
        if let Some(record) = history.get_mut(kept) {
            record.start_time = Time(timing::joined(earlier, later).0);
        }
        history.remove(gone);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capt_api::captcontrolplane::ProgressInfo;

    use super::{
        super::{
            progress::{CREATE, Now, Statistics, advance, running},
            timeouts,
        },
        *,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).expect("a valid time")
    }

    #[test]
    fn no_number_of_pauses_changes_what_counts_or_drives_out_an_operation() {
        let begun = Now {
            operation: Some(CREATE),
            percent: 0,
            live_remaining: None,
            walk: None,
            reached: None,
            outcome: OperationResult::Succeeded,
            is_void: false,
            message: None,
            restarts: false,
            steps_on: false,
            serves: false,
            is_untold: false,
            is_open: false,
        };
        for (name, pauses_before) in [("from the beginning", 0), ("after other pauses", 5)] {
            let mut history = Vec::new();
            for one in 0..pauses_before {
                record(&mut history, at(one * 1000), at(one * 1000 + 900));
            }
            let began = 10_000;
            let old = ProgressInfo {
                history: Some(history),
                ..ProgressInfo::default()
            };
            let progress = advance(Some(&old), &begun, &Statistics::default(), at(began));
            let mut history = progress.history.expect("records");
            for count in 1..=100 {
                let since = began + 100 * count;
                record(&mut history, at(since), at(since + 60));
                let now = since + 100;
                let expected = 100 * (count + 1) - 60 * count;
                let counted = timeouts::elapsed(at(began), &history, at(now));
                assert_eq!(
                    counted,
                    Duration::from_secs(expected.unsigned_abs()),
                    "{name}: {count}"
                );
            }
            assert_eq!(history.len(), 1 + MOST, "{name}");
            assert_eq!(
                running(&history).map(|record| record.start_time.0),
                Some(at(began))
            );
        }
    }
}
