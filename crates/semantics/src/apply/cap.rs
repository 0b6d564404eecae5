//! Keeping `managedFields` short.

use std::collections::BTreeMap;

use super::managers::{ManagerKey, Managers, Operation, seconds};

/// How many entries of [`Operation::Update`] an object may have.
pub(super) const MAX_UPDATERS: usize = 10;

/// Who owns what the oldest updaters owned, once there are too many.
const ANCIENT: &str = "ancient-changes";

/// Merges the oldest updaters of each version until no more than `max` are left.
pub(super) fn cap(managers: &mut Managers, max: usize) {
    let mut updaters: Vec<ManagerKey> = managers
        .keys()
        .filter(|key| key.operation == Operation::Update)
        .cloned()
        .collect();
    let mut left = updaters.len();
    if left <= max {
        return;
    }
    updaters.sort_by_cached_key(|key| {
        (
            managers
                .get(key)
                .map_or(0, |owned| seconds(owned.time.as_deref())),
            key.clone(),
        )
    });
    let mut first_of_version: BTreeMap<String, ManagerKey> = BTreeMap::new();
    for key in updaters {
        if left <= max {
            break;
        }
        let Some(first) = first_of_version.get(&key.api_version) else {
            first_of_version.insert(key.api_version.clone(), key);
            continue;
        };
        let bucket = ManagerKey::new(ANCIENT, Operation::Update, &key.api_version, "");
        if !managers.contains_key(&bucket)
            && let Some(owned) = managers.remove(first)
        {
            managers.insert(bucket.clone(), owned);
        }
        let Some(owned) = managers.remove(&key) else {
            continue;
        };
        match managers.get_mut(&bucket) {
            Some(into) => {
                into.set = std::mem::take(&mut into.set).union(owned.set);
                into.time = owned.time;
            }
            None => {
                managers.insert(bucket, owned);
            }
        }
        left -= 1;
    }
}
