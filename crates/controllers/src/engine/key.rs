//! What an object is called within its kind.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What an object is called within its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    /// Its namespace, if it has one.
    pub(crate) namespace: Option<String>,
    /// Its name.
    pub(crate) name: String,
}

impl ObjectKey {
    /// Something in a namespace.
    pub(crate) fn within(namespace: &str, name: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// Something that is in no namespace.
    pub(crate) fn cluster_scoped(name: &str) -> Self {
        Self {
            namespace: None,
            name: name.to_owned(),
        }
    }

    /// What an object says that it is called.
    pub(crate) fn of(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    /// Its namespace, or nothing.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
