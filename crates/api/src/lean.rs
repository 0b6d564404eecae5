//! Objects as they come from the API, without what is not used of them: who wrote which field is more than half of most.

use std::{borrow::Cow, collections::BTreeMap, marker::PhantomData};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta, OwnerReference, Time};
use kube::{Resource, core::DynamicObject};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

/// An object of any kind.
pub type Document = Lean<DynamicObject>;

/// A part of an object, as the text that it came in: who needs it reads it as what it is, and most answers are not read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Part(Option<Box<RawValue>>);

impl Part {
    /// What it says, if it is there and can be read.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.0.as_ref()?.get()).ok()
    }

    /// What it says; one that is not there says null.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn try_read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.as_ref().map_or("null", |text| text.get()))
    }
}

/// The metadata of an object of a kind.
#[derive(Clone, Debug, Deserialize)]
pub struct Head<K> {
    /// The metadata, as that of a [`Lean`] object.
    #[serde(default, deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    #[serde(skip)]
    kind: PhantomData<K>,
}

/// An object of a kind, which may not be what its kind promises.
#[derive(Clone, Debug, Deserialize)]
pub struct Lean<K> {
    /// Its metadata. Of managed fields it is there who has any, and not which.
    #[serde(default, deserialize_with = "metadata")]
    pub metadata: ObjectMeta,
    /// Its spec.
    #[serde(default)]
    pub spec: Part,
    /// Its status.
    #[serde(default)]
    pub status: Part,
    #[serde(skip)]
    kind: PhantomData<K>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    managed_fields: Option<Vec<Manager>>,
    name: Option<String>,
    namespace: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    resource_version: Option<String>,
    uid: Option<String>,
}

#[derive(Deserialize)]
struct Manager {
    manager: Option<String>,
    operation: Option<String>,
    subresource: Option<String>,
}

fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let metadata = Metadata::deserialize(deserializer)?;
    let managed_fields = metadata.managed_fields.map(|managers| {
        let entries = managers.into_iter().map(|entry| ManagedFieldsEntry {
            manager: entry.manager,
            operation: entry.operation,
            subresource: entry.subresource,
            ..ManagedFieldsEntry::default()
        });
        entries.collect()
    });
    Ok(ObjectMeta {
        annotations: metadata.annotations,
        creation_timestamp: metadata.creation_timestamp,
        deletion_timestamp: metadata.deletion_timestamp,
        finalizers: metadata.finalizers,
        generation: metadata.generation,
        labels: metadata.labels,
        managed_fields,
        name: metadata.name,
        namespace: metadata.namespace,
        owner_references: metadata.owner_references,
        resource_version: metadata.resource_version,
        uid: metadata.uid,
        ..ObjectMeta::default()
    })
}

impl<K> From<ObjectMeta> for Lean<K> {
    /// One of which no more is known.
    fn from(metadata: ObjectMeta) -> Self {
        Self {
            metadata,
            spec: Part::default(),
            status: Part::default(),
            kind: PhantomData,
        }
    }
}

/// What is seen of an object of a kind is found where that kind is.
macro_rules! of_its_kind {
    ($view:ident) => {
        impl<K: Resource> Resource for $view<K> {
            type DynamicType = K::DynamicType;
            type Scope = K::Scope;

            fn kind(dynamic: &K::DynamicType) -> Cow<'_, str> {
                K::kind(dynamic)
            }

            fn group(dynamic: &K::DynamicType) -> Cow<'_, str> {
                K::group(dynamic)
            }

            fn version(dynamic: &K::DynamicType) -> Cow<'_, str> {
                K::version(dynamic)
            }

            fn plural(dynamic: &K::DynamicType) -> Cow<'_, str> {
                K::plural(dynamic)
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

of_its_kind!(Head);
of_its_kind!(Lean);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn all_that_is_used_of_an_object_is_there() {
        let time = "2026-01-02T03:04:05Z";
        let mut expected = json!({
            "annotations": {"a": "1"}, "creationTimestamp": time, "deletionTimestamp": time, "finalizers": ["f"],
            "generation": 7, "labels": {"l": "2"}, "name": "n", "namespace": "s",
            "managedFields": [{"manager": "m", "operation": "Apply", "subresource": "status"}, {"manager": "o"}],
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "p", "controller": true}],
            "resourceVersion": "8", "uid": "u",
        });
        let mut given = expected.clone();
        given["selfLink"] = json!("/x");
        given["managedFields"][0]["fieldsV1"] = json!({"f:spec": {}});
        let text = json!({
            "apiVersion": "v1", "kind": "Thing", "metadata": given, "spec": {"a": 1}, "status": {"b": 2}, "data": {},
        })
        .to_string();
        let document: Document = serde_json::from_str(&text).unwrap();
        assert_eq!(document.spec.read(), Some(json!({"a": 1})));
        assert_eq!(document.status.read(), Some(json!({"b": 2})));
        assert_eq!(document.spec.read::<bool>(), None);
        assert_eq!(serde_json::to_value(&document.metadata).unwrap(), expected);
        let head: Head<Document> = serde_json::from_str(&text).unwrap();
        assert_eq!(head.metadata, document.metadata);
        let nothing: Document = serde_json::from_str(r#"{"spec": null}"#).unwrap();
        expected = serde_json::to_value(&nothing.metadata).unwrap();
        assert_eq!(expected, json!({}));
        for part in [nothing.spec, nothing.status] {
            assert_eq!(part.read::<Value>(), None);
            assert_eq!(part.try_read::<Option<bool>>().unwrap(), None);
            assert!(part.try_read::<bool>().is_err());
        }
    }
}
