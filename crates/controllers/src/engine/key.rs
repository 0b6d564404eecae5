//! What an object is called within its kind.

use std::{fmt, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What an object is called within its kind: its namespace, if it has one, and its name. Tables, queues and memories all
/// hold it, so that it is there once and nobody copies it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey(Arc<str>);

/// Is in no name.
const SEPARATOR: char = '/';

impl ObjectKey {
    /// Something in a namespace.
    pub(crate) fn within(namespace: &str, name: &str) -> Self {
        Self(format!("{namespace}{SEPARATOR}{name}").into())
    }

    /// Something that is in no namespace.
    pub(crate) fn cluster_scoped(name: &str) -> Self {
        Self(name.into())
    }

    /// What an object says that it is called.
    pub(crate) fn of(metadata: &ObjectMeta) -> Self {
        let name = metadata.name.as_deref().unwrap_or_default();
        match &metadata.namespace {
            Some(namespace) => Self::within(namespace, name),
            None => Self::cluster_scoped(name),
        }
    }

    /// The same, in another place in memory.
    pub(crate) fn copied(&self) -> Self {
        Self((*self.0).into())
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.0.split_once(SEPARATOR).map_or(&*self.0, |(_, name)| name)
    }

    /// Its namespace, if it has one.
    pub(crate) fn own_namespace(&self) -> Option<&str> {
        self.0.split_once(SEPARATOR).map(|(namespace, _)| namespace)
    }

    /// Its namespace, or nothing.
    pub(crate) fn namespace(&self) -> &str {
        self.own_namespace().unwrap_or_default()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_namespace_come_out_as_they_went_in() {
        for (key, namespace, name, text) in [
            (ObjectKey::within("n", "a.b"), Some("n"), "a.b", "n/a.b"),
            (ObjectKey::cluster_scoped("a"), None, "a", "a"),
            (ObjectKey::within("", "a"), Some(""), "a", "/a"),
        ] {
            assert_eq!((key.own_namespace(), key.name()), (namespace, name));
            assert_eq!(key.to_string(), text);
            let metadata = ObjectMeta {
                namespace: namespace.map(str::to_owned),
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            };
            assert_eq!(ObjectKey::of(&metadata), key);
        }
    }
}
