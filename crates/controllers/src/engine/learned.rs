//! Objects that are known by the answer to a write before a watch brings them.

use std::collections::HashMap;

use super::key::ObjectKey;

/// The versions that were learned, until they are seen.
#[derive(Default)]
pub(crate) struct Learned(HashMap<ObjectKey, u64>);

impl Learned {
    /// Takes note of a version.
    pub(crate) fn note(&mut self, key: &ObjectKey, version: u64) {
        self.0.insert(key.clone(), version);
    }

    /// Whether at least this version of an object was learned.
    pub(crate) fn has(&self, key: &ObjectKey, version: u64) -> bool {
        self.0.get(key).is_some_and(|learned| *learned >= version)
    }

    /// Whether exactly this version of an object was learned.
    pub(crate) fn is(&self, key: &ObjectKey, version: u64) -> bool {
        self.0.get(key) == Some(&version)
    }

    /// Whether a version of an object that is seen is older than what was learned of it. If not, what was learned has been
    /// seen.
    pub(crate) fn is_ahead_of(&mut self, key: &ObjectKey, version: u64) -> bool {
        let is_ahead = self.0.get(key).is_some_and(|learned| *learned > version);
        if !is_ahead {
            self.forget(key);
        }
        is_ahead
    }

    /// Forgets an object.
    pub(crate) fn forget(&mut self, key: &ObjectKey) {
        self.0.remove(key);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.0 = HashMap::new();
    }
}
