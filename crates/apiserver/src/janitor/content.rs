//! The end of what holds others: namespaces, definitions, and the hour of events.

use std::sync::Arc;

use serde_json::{Value, json};

use super::events;
use super::work::{Progress, at_once};
use super::write::{delete, drop_finalizer, edit, edit_through, resource_of};
use crate::registry::{CLEANUP_FINALIZER, Resource};
use crate::server::{DEFINITIONS, Inner};
use crate::status::ApiResult;
use crate::store::{Object, ObjectKey, ResourceId, State};
use crate::verbs::delete::Propagation;

/// So many objects go before the janitor looks around again: what followed from that, and whether it shall stop.
const PORTION: usize = 256;

type Content = Vec<(Arc<Resource>, Arc<Object>)>;

pub(super) async fn empty_namespace(server: &Arc<Inner>, name: &str) -> ApiResult<Progress> {
    let state = server.store.visible();
    let place = ObjectKey::new("", name);
    let Some(namespace) = state.get("namespaces", &place).filter(|found| found.deleting) else {
        return Ok(Progress::Done);
    };
    let content = namespace_content(server, &state, name);
    if !content.is_empty() {
        return clear(server, content).await;
    }
    let Some(namespaces) = resource_of(server, &"namespaces".into()) else {
        return Ok(Progress::Done);
    };
    let finalize = |document: &mut Value| document["spec"]["finalizers"] = json!([]);
    edit_through(server, &namespaces, namespace, "finalize", finalize).await
}

/// Everything in a namespace that anybody could see.
fn namespace_content(server: &Inner, state: &State, name: &str) -> Content {
    let mut content = Content::new();
    for (table, objects) in state.tables() {
        let inside = objects
            .range(ObjectKey::new(name, "")..)
            .map(|(_, object)| object)
            .take_while(|object| object.key.namespace() == name);
        let inside: Vec<&Arc<Object>> = inside.collect();
        if !inside.is_empty()
            && let Some(resource) = resource_of(server, table)
        {
            content.extend(
                inside
                    .into_iter()
                    .map(|object| (resource.clone(), object.clone())),
            );
        }
    }
    content
}

pub(super) async fn end_definition(server: &Arc<Inner>, name: &str) -> ApiResult<Progress> {
    let state = server.store.visible();
    let place = ObjectKey::new("", name);
    let Some(definition) = state.get(DEFINITIONS, &place).filter(|found| found.deleting) else {
        return Ok(Progress::Done);
    };
    let table: ResourceId = name.into();
    let objects = state.table(name);
    if !objects.is_empty()
        && let Some(resource) = resource_of(server, &table)
    {
        let content = objects.values().map(|object| (resource.clone(), object.clone()));
        return clear(server, content.collect()).await;
    }
    let Some(definitions) = resource_of(server, &DEFINITIONS.into()) else {
        return Ok(Progress::Done);
    };
    edit(server, &definitions, definition, |document| {
        drop_finalizer(document, CLEANUP_FINALIZER);
    })
    .await
}

pub(super) async fn expire_events(server: &Arc<Inner>) -> ApiResult<Progress> {
    let Some(resource) = resource_of(server, &"events".into()) else {
        return Ok(Progress::Done);
    };
    let expired = events::expired(server);
    let content = expired.into_iter().map(|event| (resource.clone(), event));
    clear(server, content.collect()).await
}

/// Deletes a portion of what is not being deleted yet. There is more to do unless all of it was.
async fn clear(server: &Arc<Inner>, content: Content) -> ApiResult<Progress> {
    let portion: Content = content
        .into_iter()
        .filter(|(_, object)| !object.deleting)
        .take(PORTION)
        .collect();
    if portion.is_empty() {
        return Ok(Progress::Done);
    }
    at_once(portion, |(resource, object)| async move {
        delete(server, &resource, &object, Propagation::Background).await
    })
    .await?;
    Ok(Progress::More)
}
