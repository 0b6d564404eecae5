//! Who depends on whom, by the owner's uid. Objects without owners cost nothing here.

use std::collections::{BTreeSet, HashMap};

use crate::store::{Object, ObjectKey, ResourceId};

#[derive(Debug, Default)]
pub(super) struct Dependents {
    by_owner: HashMap<Box<str>, BTreeSet<(ResourceId, ObjectKey)>>,
}

impl Dependents {
    pub(super) fn add(&mut self, resource: &ResourceId, object: &Object) {
        for owner in &object.owners {
            let place = (resource.clone(), object.key.clone());
            self.by_owner.entry(owner.uid.clone()).or_default().insert(place);
        }
    }

    pub(super) fn remove(&mut self, resource: &ResourceId, object: &Object) {
        let place = (resource.clone(), object.key.clone());
        for owner in &object.owners {
            if let Some(places) = self.by_owner.get_mut(&owner.uid) {
                places.remove(&place);
                if places.is_empty() {
                    self.by_owner.remove(&owner.uid);
                }
            }
        }
    }

    pub(super) fn of(&self, owner_uid: &str) -> Vec<(ResourceId, ObjectKey)> {
        self.by_owner
            .get(owner_uid)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// All of them; one with several owners comes more than once.
    pub(super) fn all(&self) -> impl Iterator<Item = &(ResourceId, ObjectKey)> {
        self.by_owner.values().flatten()
    }
}

/// Whether an owner's place allows dependents in the other: its own namespace, or any if it has none.
pub(super) fn reaches(owner: &ObjectKey, dependent: &ObjectKey) -> bool {
    owner.namespace().is_empty() || owner.namespace() == dependent.namespace()
}
