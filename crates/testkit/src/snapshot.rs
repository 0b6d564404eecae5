//! Everything that is in a world, in a form that two runs can be compared by.
//!
//! What differs between any two runs is masked: a uid becomes the name of its object wherever it is mentioned,
//! resource versions go, and so does every point in time.

mod diff;

use std::collections::BTreeMap;
use std::fmt;
use std::mem;

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, Client};
use serde_json::Value;

/// Kinds that say how a run went, not what it came to.
const PASSING: [(&str, &str); 4] = [
    ("", "events"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
    ("", "componentstatuses"),
];
/// Kinds that make up the stage.
const STAGE: [&str; 3] = ["customresourcedefinitions", "apiservices", "namespaces"];

/// What a uid looks like.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// The objects of a world, by `resource.group/namespace/name`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    objects: BTreeMap<String, Value>,
}

impl Snapshot {
    /// Objects, without masks.
    #[must_use]
    pub fn new(objects: BTreeMap<String, Value>) -> Self {
        Self { objects }
    }

    /// Reads all objects; if a namespace is given only those in it.
    pub(crate) async fn take(client: &Client, namespace: Option<&str>) -> Result<Self, kube::Error> {
        let discovery = Discovery::new(client.clone()).run_aggregated().await?;
        let mut objects = BTreeMap::new();
        for group in discovery.groups() {
            for (resource, capabilities) in group.recommended_resources() {
                if !capabilities.supports_operation(verbs::LIST) || is_scenery(&resource) {
                    continue;
                }
                let api: Api<DynamicObject> = match (&capabilities.scope, namespace) {
                    (Scope::Namespaced, Some(namespace)) => {
                        Api::namespaced_with(client.clone(), namespace, &resource)
                    }
                    (Scope::Cluster, Some(_)) => continue,
                    (_, None) => Api::all_with(client.clone(), &resource),
                };
                for object in api.list(&ListParams::default()).await? {
                    let value = serde_json::to_value(&object).map_err(kube::Error::SerdeError)?;
                    objects.insert(key(&resource, &value), value);
                }
            }
        }
        Ok(Self { objects })
    }

    /// The objects by key.
    #[must_use]
    pub fn objects(&self) -> &BTreeMap<String, Value> {
        &self.objects
    }

    /// The same with everything masked that differs between two runs.
    #[must_use]
    pub fn masked(&self) -> Self {
        let uids: BTreeMap<&str, &str> = self
            .objects
            .iter()
            .filter_map(|(key, object)| Some((object["metadata"]["uid"].as_str()?, key.as_str())))
            .collect();
        let mut objects = self.objects.clone();
        for object in objects.values_mut() {
            mask(object, &uids);
        }
        Self { objects }
    }

    /// The same after `edit` of every object, which is given its key.
    #[must_use]
    pub fn edited(mut self, edit: impl Fn(&str, &mut Value)) -> Self {
        for (key, object) in &mut self.objects {
            edit(key, object);
        }
        self
    }

    /// How `other` differs from this, one line for each difference.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        diff::differences(&self.objects, &other.objects)
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.objects
            .iter()
            .try_for_each(|(key, object)| writeln!(f, "{key}: {object}"))
    }
}

fn is_scenery(resource: &ApiResource) -> bool {
    let passing = PASSING.contains(&(resource.group.as_str(), resource.plural.as_str()));
    passing || STAGE.contains(&resource.plural.as_str())
}

fn key(resource: &ApiResource, object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let kind = match resource.group.as_str() {
        "" => resource.plural.clone(),
        group => format!("{}.{group}", resource.plural),
    };
    match text("namespace") {
        "" => format!("{kind}/{}", text("name")),
        namespace => format!("{kind}/{namespace}/{}", text("name")),
    }
}

fn mask(value: &mut Value, uids: &BTreeMap<&str, &str>) {
    match value {
        Value::Object(map) => {
            map.remove("resourceVersion");
            // Field ownership mentions uids in keys.
            for (key, mut value) in mem::take(map) {
                mask(&mut value, uids);
                map.insert(without_uids(&key, uids).unwrap_or(key), value);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| mask(value, uids)),
        Value::String(text) => {
            if is_time(text) {
                "<time>".clone_into(text);
            } else if let Some(masked) = without_uids(text, uids) {
                *text = masked;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with every uid in it replaced by what it is the uid of, if it has any.
fn without_uids(text: &str, uids: &BTreeMap<&str, &str>) -> Option<String> {
    let mut masked = String::new();
    let mut rest = text;
    while let Some((start, uid)) = find_uid(rest) {
        let owner = uids.get(uid).copied().unwrap_or("something gone");
        masked.push_str(&rest[..start]);
        masked.push_str(&format!("<uid of {owner}>"));
        rest = &rest[start + uid.len()..];
    }
    (rest.len() < text.len()).then(|| masked + rest)
}

fn find_uid(text: &str) -> Option<(usize, &str)> {
    let mut candidates =
        (0..text.len()).filter_map(|start| Some((start, text.get(start..start + UID.len())?)));
    candidates.find(|(_, candidate)| {
        candidate
            .bytes()
            .zip(UID.bytes())
            .all(|(byte, model)| match model {
                b'-' => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    })
}

/// Every RFC 3339 time has its `T` in the eleventh place, and looking there first is much cheaper than parsing.
fn is_time(text: &str) -> bool {
    text.as_bytes().get(10) == Some(&b'T') && text.parse::<Timestamp>().is_ok()
}

#[cfg(test)]
mod tests;
