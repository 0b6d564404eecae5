//! Events have two forms, `v1` and `events.k8s.io/v1`, which are two views of one stored object.

use serde_json::Value;

/// Field names in `v1`, and in `events.k8s.io/v1`.
const RENAMED: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// Who reports, in `v1`, which shows these even when they are empty.
const REPORTERS: [&str; 2] = ["reportingComponent", "reportingInstance"];

/// Turns an `events.k8s.io/v1` Event into a `v1` one.
pub fn event_to_core(event: &mut Value) {
    rename(event, "v1", RENAMED.map(|(core, new)| (new, core)));
    if let Some(fields) = event.as_object_mut() {
        for name in REPORTERS {
            fields.entry(name).or_insert_with(|| "".into());
        }
    }
}

/// Turns a `v1` Event into an `events.k8s.io/v1` one.
pub fn event_from_core(event: &mut Value) {
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|name, value| !(REPORTERS.contains(&name.as_str()) && value == ""));
    }
    rename(event, "events.k8s.io/v1", RENAMED);
}

fn rename(event: &mut Value, api_version: &str, names: [(&str, &str); 7]) {
    let Some(fields) = event.as_object_mut() else {
        return;
    };
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    fields.insert("apiVersion".to_owned(), api_version.into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_ways() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "involvedObject": {"kind": "Pod"},
            "message": "hello", "reason": "Started", "source": {"component": "me"}, "count": 1,
            "reportingComponent": "", "reportingInstance": "",
        });
        let new = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"}, "regarding": {"kind": "Pod"},
            "note": "hello", "reason": "Started", "deprecatedSource": {"component": "me"}, "deprecatedCount": 1,
        });
        let mut event = core.clone();
        event_from_core(&mut event);
        assert_eq!(event, new);
        event_to_core(&mut event);
        assert_eq!(event, core);
    }
}
