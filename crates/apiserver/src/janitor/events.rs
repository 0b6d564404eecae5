//! Events are kept for an hour, as upstream keeps them.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::work::Work;
use crate::server::Inner;

const KEPT_FOR: SignedDuration = SignedDuration::from_hours(1);

/// The events that have had their time.
pub(super) fn expired(server: &Inner) -> Vec<Work> {
    let Ok(oldest) = server.clock.now().checked_sub(KEPT_FOR) else {
        return Vec::new();
    };
    let table = server.store.visible().table("events");
    let old = table
        .values()
        .filter(|object| last_seen(&object.value()).is_some_and(|seen| seen < oldest));
    old.map(|object| Work::Expire(object.key.clone())).collect()
}

fn last_seen(event: &Value) -> Option<Timestamp> {
    let times = [
        &event["metadata"]["creationTimestamp"],
        &event["lastTimestamp"],
        &event["eventTime"],
        &event["series"]["lastObservedTime"],
    ];
    times
        .into_iter()
        .filter_map(|time| time.as_str()?.parse().ok())
        .max()
}
