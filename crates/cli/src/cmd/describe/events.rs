//! What happened of late.

use std::collections::BTreeSet;

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

/// The last things that happened to some objects, the latest last.
pub(super) async fn of(
    client: &Client,
    namespace: &str,
    ids: &BTreeSet<String>,
) -> Result<Vec<EventLine>, CallError> {
    let kinds = [
        "Cluster",
        "CAPTCluster",
        "CAPTControlPlane",
        "WorkspaceTemplateApply",
        "Workspace",
        "ClusterWorkspace",
    ];
    let looked_at = ids.iter().filter_map(|id| {
        let (kind, name) = id.split_once('/')?;
        kinds.contains(&kind).then_some((id, kind, name))
    });
    let asked = looked_at.take(MANY_OBJECTS).map(|(id, kind, name)| async move {
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
                .map(|event| line(id, &event))
                .collect()),
            // Who may not see events sees everything else.
            Err(CallError::Refused(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    });
    let found: Vec<Vec<EventLine>> = try_join_all(asked).await?;
    let mut lines: Vec<EventLine> = found.into_iter().flatten().collect();
    lines.sort_by_key(|line| line.at);
    Ok(lines.split_off(lines.len().saturating_sub(MANY_EVENTS)))
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
