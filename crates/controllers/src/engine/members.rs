//! Who has a value in an index.

use std::collections::{BTreeMap, BTreeSet};

use super::key::ObjectKey;

/// Objects that have the same value in an index. Most values are those of one object alone.
pub(crate) enum Members {
    /// One alone.
    One(ObjectKey),
    /// Several.
    #[expect(
        clippy::box_collection,
        reason = "there are very many of the others, which must be small"
    )]
    Many(Box<BTreeSet<ObjectKey>>),
}

impl Members {
    /// Adds an object.
    pub(crate) fn add(&mut self, key: &ObjectKey) {
        match self {
            Self::One(only) if only == key => {}
            Self::One(only) => *self = Self::Many(Box::new([only.clone(), key.clone()].into())),
            Self::Many(all) => {
                all.insert(key.clone());
            }
        }
    }

    /// Takes an object out. Says whether nobody is left.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> bool {
        match self {
            Self::One(only) => only == key,
            Self::Many(all) => {
                all.remove(key);
                all.is_empty()
            }
        }
    }

    /// The same, with the names that objects have.
    pub(crate) fn among<T>(&self, objects: &BTreeMap<ObjectKey, T>) -> Self {
        let own = |key: &ObjectKey| {
            let known = objects.get_key_value(key);
            known.map_or_else(|| key.clone(), |(known, _)| known.clone())
        };
        match self {
            Self::One(only) => Self::One(own(only)),
            Self::Many(all) => Self::Many(Box::new(all.iter().map(own).collect())),
        }
    }

    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(all) => all.len(),
        }
    }

    /// All of them, by their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ObjectKey> {
        let (one, many) = match self {
            Self::One(only) => (Some(only), None),
            Self::Many(all) => (None, Some(all.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}
