//! How the janitor writes: through the same verbs as a client's request, also to kinds that clients cannot reach.

use std::iter;
use std::sync::Arc;

use serde_json::Value;

use super::work::Progress;
use crate::registry::{Registry, Resource};
use crate::server::{DEFINITIONS, Inner};
use crate::status::{ApiError, ApiResult};
use crate::store::{Draft, Object, ObjectKey, ResourceId};
use crate::verbs::Call;
use crate::verbs::create::Tracking;
use crate::verbs::delete::{DeleteOptions, Propagation, delete_object};
use crate::verbs::metadata;
use crate::verbs::update::{Desired, change_object, current_document};

/// What the objects of a table are, in the version that they are stored in, so that a write changes nothing else.
/// `None` if their definition is gone, and then nobody can see them.
pub(super) fn resource_of(server: &Inner, table: &ResourceId) -> Option<Arc<Resource>> {
    let registry = server.registry();
    let mut served = registry.all().filter(|served| served.id == *table);
    if let Some(stored) = served.find(|served| !served.is_view()) {
        return Some(stored.clone());
    }
    let state = server.store.visible();
    let definition = state.get(DEFINITIONS, &ObjectKey::new("", table))?;
    stored_version(definition).filter(|stored| stored.id == *table)
}

/// The resource that a definition would add if its stored version, and no other, were served.
fn stored_version(definition: &Object) -> Option<Arc<Resource>> {
    let mut document = definition.value();
    for version in document["spec"]["versions"].as_array_mut()? {
        version["served"] = version["storage"].clone();
    }
    let definition = Arc::new(Draft::new(&document).at(definition.revision));
    let alone = Registry::with_definitions(&Registry::default(), iter::once(&definition), 0);
    alone.all().next().cloned()
}

/// Deletes exactly this object: never one that took its place.
pub(super) async fn delete(
    server: &Arc<Inner>,
    resource: &Arc<Resource>,
    object: &Object,
    propagation: Propagation,
) -> ApiResult<Progress> {
    let options = DeleteOptions {
        propagation,
        uid: Some(object.uid.to_string()),
        ..DeleteOptions::background()
    };
    delete_with(server, resource, object, &options).await
}

/// Deletes exactly this version, because its being so is why.
pub(super) async fn delete_version(
    server: &Arc<Inner>,
    resource: &Arc<Resource>,
    object: &Object,
    propagation: Propagation,
) -> ApiResult<Progress> {
    let options = DeleteOptions {
        propagation,
        uid: Some(object.uid.to_string()),
        revision: Some(object.revision.to_string()),
        ..DeleteOptions::background()
    };
    delete_with(server, resource, object, &options).await
}

async fn delete_with(
    server: &Arc<Inner>,
    resource: &Arc<Resource>,
    object: &Object,
    options: &DeleteOptions,
) -> ApiResult<Progress> {
    let call = Call::internal(server.clone(), resource.clone(), &object.key, "");
    match delete_object(&call, options).await {
        Ok(_) => Ok(Progress::Done),
        Err(error) => {
            let state = server.store.accepted();
            let found = state.get(&resource.id, &object.key);
            after_refusal(error, found.map(|found| &*found.uid), &object.uid)
        }
    }
}

/// What a refused deletion means, given the uid that is there now.
fn after_refusal(error: Box<ApiError>, found: Option<&str>, wanted: &str) -> ApiResult<Progress> {
    match error.reason {
        _ if found != Some(wanted) => Ok(Progress::Done),
        // Somebody else was faster, perhaps many times: it is still to be done.
        "Conflict" | "NotFound" => Ok(Progress::More),
        _ => Err(error),
    }
}

/// Changes exactly this object.
pub(super) async fn edit(
    server: &Arc<Inner>,
    resource: &Arc<Resource>,
    object: &Object,
    change: impl Fn(&mut Value),
) -> ApiResult<Progress> {
    edit_through(server, resource, object, "", change).await
}

pub(super) async fn edit_through(
    server: &Arc<Inner>,
    resource: &Arc<Resource>,
    object: &Object,
    subresource: &str,
    change: impl Fn(&mut Value),
) -> ApiResult<Progress> {
    let call = Call::internal(server.clone(), resource.clone(), &object.key, subresource);
    let state = server.store.accepted();
    let current = state.get(&resource.id, &object.key);
    let Some(current) = current.filter(|current| current.uid == object.uid) else {
        return Ok(Progress::Done);
    };
    let old = current_document(&call, current);
    let mut document = old.clone();
    change(&mut document);
    metadata::normalise(&mut document).map_err(ApiError::internal)?;
    let desired = Desired {
        document,
        tracking: Tracking::Update,
    };
    let outcome = change_object(&call, current, &old, desired, Vec::new()).await?;
    Ok(match outcome {
        Some(_) => Progress::Done,
        None => Progress::More,
    })
}

pub(super) fn drop_finalizer(document: &mut Value, finalizer: &str) {
    if let Some(list) = document["metadata"]["finalizers"].as_array_mut() {
        list.retain(|name| name != finalizer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Subject;

    #[test]
    fn only_another_object_in_its_place_ends_a_deletion() {
        let subject = Subject {
            group: "",
            resource: "configmaps",
            kind: "ConfigMap",
            name: "a",
        };
        let cases = [
            (
                ApiError::conflict(subject, "other uid"),
                Some("new"),
                Some(Progress::Done),
            ),
            (ApiError::modified(subject), None, Some(Progress::Done)),
            (ApiError::not_found(subject), None, Some(Progress::Done)),
            (ApiError::modified(subject), Some("old"), Some(Progress::More)),
            (ApiError::forbidden(subject, "no"), Some("old"), None),
        ];
        for (error, found, expected) in cases {
            let told = format!("{} {found:?}", error.message);
            assert_eq!(after_refusal(error, found, "old").ok(), expected, "{told}");
        }
    }
}
