//! Garbage collection: what becomes of dependents when an owner is gone, or is going.

use std::sync::Arc;

use serde_json::{Value, json};

use super::dependents::{Dependents, reaches};
use super::work::{Progress, at_once};
use super::write::{delete_version, drop_finalizer, edit, resource_of};
use crate::server::Inner;
use crate::status::ApiResult;
use crate::store::{Object, ObjectKey, OwnerRef, ResourceId, State};
use crate::verbs::delete::{FOREGROUND, ORPHAN, Propagation};

/// What an owner means to its dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there, or nothing can be said about it: it keeps them.
    Solid,
    /// It is being deleted in the foreground and waits for them to go.
    Waiting,
    /// It is gone.
    Gone,
}

/// What is known about one owner whatever its reference says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) uid: &'a str,
    pub(super) standing: Standing,
}

/// Where an owner must be: in the dependent's namespace, or cluster-wide. `None` if its kind is not served here, or if
/// it would have a namespace that the dependent does not have, and then nothing can be said about it.
fn owner_place(server: &Inner, dependent: &ObjectKey, owner: &OwnerRef) -> Option<(ResourceId, ObjectKey)> {
    let registry = server.registry();
    let resource = registry.by_kind(&owner.api_version, &owner.kind)?;
    let namespace = match (resource.namespaced, dependent.namespace()) {
        (true, "") => return None,
        (true, namespace) => namespace,
        (false, _) => "",
    };
    Some((resource.id.clone(), ObjectKey::new(namespace, &owner.name)))
}

fn standing(server: &Inner, state: &State, dependent: &ObjectKey, owner: &OwnerRef) -> Standing {
    let Some((table, place)) = owner_place(server, dependent, owner) else {
        return Standing::Solid;
    };
    match state.get(&table, &place) {
        // One of the same name but another uid is another object.
        Some(found) if found.uid != owner.uid => Standing::Gone,
        Some(found) if is_waiting(found) => Standing::Waiting,
        Some(_) => Standing::Solid,
        None => Standing::Gone,
    }
}

fn is_waiting(object: &Object) -> bool {
    object.deleting && has_finalizer(&object.value(), FOREGROUND)
}

fn has_finalizer(document: &Value, finalizer: &str) -> bool {
    let list = document["metadata"]["finalizers"].as_array();
    list.is_some_and(|list| list.iter().any(|name| name == finalizer))
}

/// Deletes an object that no owner keeps; one that is kept forgets the others.
pub(super) async fn collect(
    server: &Arc<Inner>,
    dependents: &Dependents,
    table: &ResourceId,
    key: &ObjectKey,
    known: Option<Known<'_>>,
) -> ApiResult<Progress> {
    let state = server.store.visible();
    let Some(object) = state.get(table, key).filter(|object| !object.deleting) else {
        return Ok(Progress::Done);
    };
    let standings: Vec<(&str, Standing)> = object
        .owners
        .iter()
        .map(|owner| {
            let told = known.filter(|known| *known.uid == *owner.uid);
            let standing = told.map_or_else(|| standing(server, &state, key, owner), |told| told.standing);
            (&*owner.uid, standing)
        })
        .collect();
    let any = |wanted: Standing| standings.iter().any(|(_, standing)| *standing == wanted);
    if !any(Standing::Gone) && !any(Standing::Waiting) {
        return Ok(Progress::Done);
    }
    let Some(resource) = resource_of(server, table) else {
        return Ok(Progress::Done);
    };
    if any(Standing::Solid) {
        let keeps = |uid: &Value| {
            let of = standings.iter().find(|(owner, _)| uid == owner);
            of.is_none_or(|(_, standing)| *standing == Standing::Solid)
        };
        return edit(server, &resource, object, |document| {
            retain_owners(document, keeps)
        })
        .await;
    }
    let own: Vec<Arc<Object>> = dependents
        .of(&object.uid)
        .iter()
        .filter_map(|(table, key)| state.get(table, key).cloned())
        .collect();
    if !any(Standing::Waiting) || own.is_empty() {
        return delete_version(server, &resource, object, Propagation::Background).await;
    }
    if object.owners.iter().any(|owner| owner.blocks) && own.iter().any(|dependent| is_waiting(dependent)) {
        // It belongs to what belongs to it. If both waited for each other, neither would ever go.
        edit(server, &resource, object, stop_blocking).await?;
        return Ok(Progress::More);
    }
    delete_version(server, &resource, object, Propagation::Foreground).await
}

/// Lets an owner go that is held for its dependents' sake, once they are dealt with.
pub(super) async fn release(
    server: &Arc<Inner>,
    dependents: &Dependents,
    table: &ResourceId,
    key: &ObjectKey,
) -> ApiResult<Progress> {
    let state = server.store.visible();
    let Some(owner) = state.get(table, key).filter(|object| object.deleting) else {
        return Ok(Progress::Done);
    };
    let Some(resource) = resource_of(server, table) else {
        return Ok(Progress::Done);
    };
    let uid = &*owner.uid;
    let document = owner.value();
    let places = dependents.of(uid);
    let places: Vec<_> = places
        .into_iter()
        .filter(|(_, place)| reaches(key, place))
        .collect();
    if has_finalizer(&document, ORPHAN) {
        let orphaned = at_once(places, |(table, place)| orphan(server, table, place, uid)).await?;
        if orphaned == Progress::More {
            return Ok(orphaned);
        }
        return edit(server, &resource, owner, |document| {
            drop_finalizer(document, ORPHAN);
        })
        .await;
    }
    if !has_finalizer(&document, FOREGROUND) {
        return Ok(Progress::Done);
    }
    let known = Known {
        uid,
        standing: Standing::Waiting,
    };
    let progress = at_once(places.clone(), |(table, place)| async move {
        collect(server, dependents, &table, &place, Some(known)).await
    })
    .await?;
    let state = server.store.visible();
    let blocked = places.iter().any(|(table, place)| {
        let owners = state.get(table, place).map(|dependent| &*dependent.owners);
        let mut owners = owners.unwrap_or_default().iter();
        owners.any(|held| *held.uid == *uid && held.blocks)
    });
    // Who blocks comes back here by its deletion, or by a change of its owners.
    if blocked {
        return Ok(progress);
    }
    edit(server, &resource, owner, |document| {
        drop_finalizer(document, FOREGROUND);
    })
    .await
}

async fn orphan(
    server: &Arc<Inner>,
    table: ResourceId,
    place: ObjectKey,
    owner: &str,
) -> ApiResult<Progress> {
    let state = server.store.visible();
    let (Some(dependent), Some(resource)) = (state.get(&table, &place), resource_of(server, &table)) else {
        return Ok(Progress::Done);
    };
    edit(server, &resource, dependent, |document| {
        retain_owners(document, |uid| uid != owner);
    })
    .await
}

fn retain_owners(document: &mut Value, keeps: impl Fn(&Value) -> bool) {
    if let Some(list) = document["metadata"]["ownerReferences"].as_array_mut() {
        list.retain(|owner| keeps(&owner["uid"]));
    }
}

fn stop_blocking(document: &mut Value) {
    let owners = document["metadata"]["ownerReferences"].as_array_mut();
    for owner in owners.into_iter().flatten() {
        owner["blockOwnerDeletion"] = json!(false);
    }
}
