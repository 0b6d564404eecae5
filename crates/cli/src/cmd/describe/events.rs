//! What happened of late.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Event;
use kube::{Api, Client, api::ListParams};

use super::description::EventLine;
use crate::{
    look::view::typed,
    objects::{CallError, call_opt},
};

/// Objects whose events are looked at.
const MANY_OBJECTS: usize = 24;
/// Events that are told.
const MANY_EVENTS: usize = 12;
/// Events of one object that are read.
const PAGE: u32 = 200;

/// The last things that happened to some objects, given with their uids as far as these are known, the latest last.
pub(super) async fn of(
    client: &Client,
    namespace: &str,
    objects: &BTreeMap<String, Option<String>>,
) -> Result<Vec<EventLine>, CallError> {
    let kinds = [
        "Cluster",
        "CAPTCluster",
        "CAPTControlPlane",
        "WorkspaceTemplateApply",
        "Workspace",
        "ClusterWorkspace",
    ];
    let looked_at = objects.iter().filter_map(|(id, uid)| {
        let (kind, name) = id.split_once('/')?;
        kinds.contains(&kind).then_some((id, uid, kind, name))
    });
    let asked = looked_at
        .take(MANY_OBJECTS)
        .map(|(id, uid, kind, name)| async move {
            // Events about what has no namespace are in this one.
            let (namespace, kind) = match kind {
                "ClusterWorkspace" => ("default", "Workspace"),
                kind => (namespace, kind),
            };
            let api: Api<Event> = Api::namespaced(client.clone(), namespace);
            let about = format!("involvedObject.kind={kind},involvedObject.name={name}");
            let params = ListParams::default().fields(&about).limit(PAGE);
            match call_opt(api.list(&params)).await {
                Ok(found) => Ok(found
                    .into_iter()
                    .flatten()
                    .filter(|event| is_about(event, uid.as_deref()))
                    .map(|event| (written(&event), line(id, &event)))
                    .collect()),
                // Who may not see events sees everything else.
                Err(CallError::Refused(_) | CallError::Forbidden(_)) => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        });
    let found: Vec<Vec<(u64, EventLine)>> = try_join_all(asked).await?;
    Ok(latest(found.into_iter().flatten().collect()))
}

/// Whether an event is about the object of this uid, and not about one before it that had the same name.
fn is_about(event: &Event, uid: Option<&str>) -> bool {
    let told = event
        .involved_object
        .uid
        .as_deref()
        .filter(|told| !told.is_empty());
    told.is_none() || uid.is_none() || told == uid
}

/// The latest, in the order in which they happened. Times are told in seconds, in which much can happen.
fn latest(mut lines: Vec<(u64, EventLine)>) -> Vec<EventLine> {
    lines.sort_by_key(|(written, line)| (line.at, *written));
    let first = lines.len().saturating_sub(MANY_EVENTS);
    lines.into_iter().skip(first).map(|(_, line)| line).collect()
}

/// When it was written, in the counting of the API server. One that counts otherwise only mixes up what happened within
/// a second.
fn written(event: &Event) -> u64 {
    let version = event.metadata.resource_version.as_deref();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}

fn line(id: &str, event: &Event) -> EventLine {
    let series = event.series.as_ref();
    let at = series
        .and_then(|series| series.last_observed_time.as_ref().map(|time| time.0))
        .or_else(|| event.last_timestamp.as_ref().map(|time| time.0))
        .or_else(|| event.event_time.as_ref().map(|time| time.0))
        .or_else(|| event.first_timestamp.as_ref().map(|time| time.0));
    EventLine {
        at,
        object: typed(id),
        reason: event.reason.clone().unwrap_or_default(),
        is_warning: event.type_.as_deref() == Some("Warning"),
        count: series
            .and_then(|series| series.count)
            .or(event.count)
            .unwrap_or(1),
        message: event.message.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn what_happened_to_another_object_of_the_same_name_is_not_told() {
        for (told, uid, expected) in [
            (Some("u-1"), Some("u-1"), true),
            (Some("u-0"), Some("u-1"), false),
            (Some("u-0"), None, true),
            (Some(""), Some("u-1"), true),
            (None, Some("u-1"), true),
        ] {
            let mut event = Event::default();
            event.involved_object.uid = told.map(str::to_owned);
            assert_eq!(is_about(&event, uid), expected, "{told:?} {uid:?}");
        }
    }

    #[test]
    fn the_latest_are_told_in_the_order_in_which_they_happened() {
        let at = |second: i64, written: u64| {
            let line = EventLine {
                at: Timestamp::from_second(second).ok(),
                object: String::new(),
                reason: written.to_string(),
                is_warning: false,
                count: 1,
                message: String::new(),
            };
            (written, line)
        };
        let mut all = vec![at(7, 11), at(7, 9), at(6, 12), at(7, 10)];
        all.extend((0..20).map(|old| at(1, old)));
        let told: Vec<String> = latest(all).into_iter().map(|line| line.reason).collect();
        assert_eq!(told.len(), MANY_EVENTS);
        assert_eq!(told[MANY_EVENTS - 4..], ["12", "9", "10", "11"]);
    }
}
