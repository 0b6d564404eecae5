//! Events are kept for an hour, as upstream keeps them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::server::Inner;
use crate::store::Object;

const KEPT_FOR: SignedDuration = SignedDuration::from_hours(1);

/// The events that have had their time.
pub(super) fn expired(server: &Inner) -> Vec<Arc<Object>> {
    let Ok(oldest) = server.clock.now().checked_sub(KEPT_FOR) else {
        return Vec::new();
    };
    let table = server.store.visible().table("events");
    let old = table
        .values()
        .filter(|object| last_seen(&object.value()).is_some_and(|seen| seen < oldest));
    old.cloned().collect()
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
