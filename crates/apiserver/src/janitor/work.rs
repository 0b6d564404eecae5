//! The janitor's single tasks. Each may be done at any time and as often as one likes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::dependents::Dependents;
use crate::registry::{CLEANUP_FINALIZER, Resource};
use crate::server::{DEFINITIONS, Inner};
use crate::status::{ApiError, ApiResult};
use crate::store::{Object, ObjectKey, OwnerRef, ResourceId};
use crate::verbs::Call;
use crate::verbs::create::Tracking;
use crate::verbs::delete::{DeleteOptions, FOREGROUND, ORPHAN, Propagation, delete_object};
use crate::verbs::metadata;
use crate::verbs::update::{Desired, change_object, current_document};

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Delete this object if all its owners are gone.
    Collect(ResourceId, ObjectKey),
    /// Take off the foreground or orphan finalizer once its work is done.
    Release(ResourceId, ObjectKey),
    /// Empty this namespace, then let it go.
    Namespace(String),
    /// Delete this definition's objects, then let it go.
    Definition(String),
    /// Delete this event.
    Expire(ObjectKey),
}

pub(super) async fn perform(server: &Arc<Inner>, dependents: &Dependents, work: &Work) -> ApiResult<()> {
    match work {
        Work::Collect(resource, key) => collect(server, resource, key).await,
        Work::Release(resource, key) => release(server, dependents, resource, key).await,
        Work::Namespace(name) => empty_namespace(server, name).await,
        Work::Definition(name) => end_definition(server, name).await,
        Work::Expire(key) => match server.store.visible().get("events", key) {
            Some(event) => delete(server, &"events".into(), event, Propagation::Background).await,
            None => Ok(()),
        },
    }
}

/// Where an owner must be: in the dependent's namespace, or cluster-wide. `None` if its kind is not served here, and
/// then nothing can be said about it.
pub(super) fn owner_place(
    server: &Inner,
    dependent: &ObjectKey,
    owner: &OwnerRef,
) -> Option<(ResourceId, ObjectKey)> {
    let registry = server.registry();
    let resource = registry.by_kind(&owner.api_version, &owner.kind)?;
    let namespace = if resource.namespaced {
        dependent.namespace()
    } else {
        ""
    };
    Some((resource.id.clone(), ObjectKey::new(namespace, &owner.name)))
}

async fn collect(server: &Arc<Inner>, resource: &ResourceId, key: &ObjectKey) -> ApiResult<()> {
    let state = server.store.visible();
    let Some(object) = state.get(resource, key) else {
        return Ok(());
    };
    if object.deleting || object.owners.is_empty() {
        return Ok(());
    }
    let is_gone = |owner: &OwnerRef| {
        // An owner of the same name but another uid is another object.
        owner_place(server, key, owner).is_some_and(|(table, place)| {
            state
                .get(&table, &place)
                .is_none_or(|found| *found.uid != *owner.uid)
        })
    };
    let gone: Vec<&str> = object
        .owners
        .iter()
        .filter(|owner| is_gone(owner))
        .map(|owner| &*owner.uid)
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    if gone.len() < object.owners.len() {
        // The others keep it, and it forgets those that are gone.
        return edit(server, resource, object, |document| {
            gone.iter().for_each(|uid| drop_owner(document, uid));
        })
        .await;
    }
    delete(server, resource, object, Propagation::Background).await
}

async fn release(
    server: &Arc<Inner>,
    dependents: &Dependents,
    resource: &ResourceId,
    key: &ObjectKey,
) -> ApiResult<()> {
    let state = server.store.visible();
    let Some(owner) = state.get(resource, key).filter(|object| object.deleting) else {
        return Ok(());
    };
    let document = owner.value();
    let has = |finalizer: &str| {
        let list = document["metadata"]["finalizers"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        list.iter().any(|name| name == finalizer)
    };
    let places = dependents.of(&owner.uid);
    if has(ORPHAN) {
        for (resource, key) in &places {
            if let Some(dependent) = state.get(resource, key) {
                let uid = owner.uid.clone();
                edit(server, resource, dependent, |document| drop_owner(document, &uid)).await?;
            }
        }
        edit(server, resource, owner, |document| {
            drop_finalizer(document, ORPHAN)
        })
        .await?;
    } else if has(FOREGROUND) {
        let mut blocked = false;
        for (resource, key) in &places {
            let Some(dependent) = state.get(resource, key) else {
                continue;
            };
            blocked |= dependent
                .owners
                .iter()
                .any(|held| *held.uid == *owner.uid && held.blocks);
            if !dependent.deleting {
                delete(server, resource, dependent, Propagation::Foreground).await?;
            }
        }
        // Who blocks comes back here by its deletion.
        if !blocked {
            edit(server, resource, owner, |document| {
                drop_finalizer(document, FOREGROUND)
            })
            .await?;
        }
    }
    Ok(())
}

async fn empty_namespace(server: &Arc<Inner>, name: &str) -> ApiResult<()> {
    let state = server.store.visible();
    let place = ObjectKey::new("", name);
    let Some(namespace) = state.get("namespaces", &place).filter(|found| found.deleting) else {
        return Ok(());
    };
    let mut waiting = false;
    for (resource, table) in state.tables() {
        let first = ObjectKey::new(name, "");
        let content = table.range(first..).map(|(_, object)| object);
        for object in content.take_while(|object| object.key.namespace() == name) {
            if !object.deleting {
                delete(server, resource, object, Propagation::Background).await?;
            }
            waiting |= server.store.visible().get(resource, &object.key).is_some();
        }
    }
    if waiting {
        return Ok(());
    }
    let finalize = |document: &mut Value| document["spec"]["finalizers"] = json!([]);
    edit_through(server, &"namespaces".into(), namespace, "finalize", finalize).await
}

async fn end_definition(server: &Arc<Inner>, name: &str) -> ApiResult<()> {
    let state = server.store.visible();
    let place = ObjectKey::new("", name);
    let Some(definition) = state.get(DEFINITIONS, &place).filter(|found| found.deleting) else {
        return Ok(());
    };
    let table: ResourceId = name.into();
    let mut waiting = false;
    for object in state.table(name).values() {
        if !object.deleting {
            delete(server, &table, object, Propagation::Background).await?;
        }
        waiting |= server.store.visible().get(&table, &object.key).is_some();
    }
    if waiting {
        return Ok(());
    }
    edit(server, &DEFINITIONS.into(), definition, |document| {
        drop_finalizer(document, CLEANUP_FINALIZER)
    })
    .await
}

fn drop_finalizer(document: &mut Value, finalizer: &str) {
    if let Some(list) = document["metadata"]["finalizers"].as_array_mut() {
        list.retain(|name| name != finalizer);
    }
}

fn drop_owner(document: &mut Value, uid: &str) {
    if let Some(list) = document["metadata"]["ownerReferences"].as_array_mut() {
        list.retain(|owner| owner["uid"] != uid);
    }
}

/// Deletes exactly this object: never one that took its place.
async fn delete(
    server: &Arc<Inner>,
    resource: &ResourceId,
    object: &Object,
    propagation: Propagation,
) -> ApiResult<()> {
    let Some(call) = call(server, resource, &object.key, "") else {
        return Ok(());
    };
    let options = DeleteOptions {
        propagation,
        uid: Some(object.uid.to_string()),
        ..DeleteOptions::background()
    };
    match delete_object(&call, &options).await {
        Err(error) if !matches!(error.reason, "NotFound" | "Conflict") => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn edit(
    server: &Arc<Inner>,
    resource: &ResourceId,
    object: &Object,
    change: impl Fn(&mut Value),
) -> ApiResult<()> {
    edit_through(server, resource, object, "", change).await
}

async fn edit_through(
    server: &Arc<Inner>,
    resource: &ResourceId,
    object: &Object,
    subresource: &str,
    change: impl Fn(&mut Value),
) -> ApiResult<()> {
    let Some(call) = call(server, resource, &object.key, subresource) else {
        return Ok(());
    };
    loop {
        let Some(current) = server.store.accepted().get(resource, &object.key).cloned() else {
            return Ok(());
        };
        if current.uid != object.uid {
            return Ok(());
        }
        let mut document = current_document(&call, &current);
        change(&mut document);
        metadata::normalise(&mut document).map_err(ApiError::internal)?;
        let desired = Desired {
            document,
            tracking: Tracking::Update,
        };
        if change_object(&call, &current, desired, Vec::new())
            .await?
            .is_some()
        {
            return Ok(());
        }
    }
}

fn call(server: &Arc<Inner>, resource: &ResourceId, key: &ObjectKey, subresource: &str) -> Option<Call> {
    let registry = server.registry();
    let served: &Arc<Resource> = registry.all().find(|served| served.id == *resource)?;
    Some(Call::internal(server.clone(), served.clone(), key, subresource))
}
