//! Discovery: which groups, versions and resources there are.
//!
//! Aggregated (`apidiscovery.k8s.io/v2`, what current clients ask for) and the older one document per group version.

use std::collections::BTreeMap;

use apiary_semantics::builtin::{self, Builtin};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::registry::{Quirk, Registry, Resource};
use crate::request::wants_aggregated;
use crate::status::json_response;

const OBJECT_VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// The order in which a custom resource lists its verbs, which kubectl prints.
const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// `/api`
pub(crate) fn core(registry: &Registry, headers: &HeaderMap) -> Response {
    if wants_aggregated(headers) {
        return aggregated(registry, |group| group.is_empty());
    }
    let versions = registry.groups().remove("").unwrap_or_default();
    answer(&json!({"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": []}))
}

/// `/apis`
pub(crate) fn groups(registry: &Registry, headers: &HeaderMap) -> Response {
    if wants_aggregated(headers) {
        return aggregated(registry, |group| !group.is_empty());
    }
    let groups: Vec<Value> = all_groups(registry)
        .into_iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| api_group(&group, &versions))
        .collect();
    answer(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

/// `/apis/{group}`
pub(crate) fn group(registry: &Registry, group: &str) -> Option<Response> {
    let versions = all_groups(registry).remove(group).filter(|_| !group.is_empty())?;
    let mut document = api_group(group, &versions);
    document["kind"] = json!("APIGroup");
    document["apiVersion"] = json!("v1");
    Some(answer(&document))
}

/// `/api/v1` and `/apis/{group}/{version}`
pub(crate) fn version(registry: &Registry, group: &str, version: &str) -> Option<Response> {
    let entries = entries(registry, group, version);
    if entries.is_empty() {
        return None;
    }
    let resources: Vec<Value> = entries.iter().flat_map(Entry::legacy).collect();
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Some(answer(&json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    })))
}

fn answer(document: &Value) -> Response {
    json_response(StatusCode::OK, document.to_string())
}

/// Groups with their versions, those of the reviews included.
fn all_groups(registry: &Registry) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let served = registry
        .versions
        .keys()
        .map(|(group, version)| (group.as_str(), version.as_str()));
    let reviews = builtin::reviews()
        .iter()
        .map(|review| (review.group, review.version));
    for (group, version) in served.chain(reviews) {
        let versions = groups.entry(group.to_owned()).or_default();
        if !versions.iter().any(|known| known == version) {
            versions.push(version.to_owned());
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
    }
    groups
}

/// Kubernetes' order of versions: stable before beta before alpha, higher numbers first.
fn priority(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else {
        return (0, 0, 0);
    };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let Ok(major) = rest[..digits].parse() else {
        return (0, 0, 0);
    };
    let tail = &rest[digits..];
    let minor = |text: &str| text.parse().unwrap_or(0);
    match tail {
        "" => (3, major, 0),
        _ if tail.starts_with("beta") => (2, major, minor(&tail[4..])),
        _ if tail.starts_with("alpha") => (1, major, minor(&tail[5..])),
        _ => (0, 0, 0),
    }
}

fn api_group(group: &str, versions: &[String]) -> Value {
    let listed: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    json!({"name": group, "versions": listed, "preferredVersion": listed.first()})
}

fn aggregated(registry: &Registry, wanted: impl Fn(&str) -> bool) -> Response {
    let items: Vec<Value> = all_groups(registry)
        .into_iter()
        .filter(|(group, _)| wanted(group))
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let resources: Vec<Value> = entries(registry, &group, version)
                        .iter()
                        .map(Entry::aggregated)
                        .collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if group.is_empty() {
                json!({})
            } else {
                json!({"name": group})
            };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    let mut response = answer(&document);
    // Without the parameters a client takes the answer for the older form.
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(AGGREGATED));
    response
        .headers_mut()
        .insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// One resource as discovery sees it.
struct Entry {
    plural: String,
    singular: String,
    kind: String,
    namespaced: bool,
    short_names: Vec<String>,
    categories: Vec<String>,
    verbs: Vec<&'static str>,
    subresources: Vec<&'static str>,
    /// Tells clients whether two resources are stored as the same type.
    storage_hash: Option<String>,
    group: String,
    version: String,
    is_custom: bool,
}

fn entries(registry: &Registry, group: &str, version: &str) -> Vec<Entry> {
    let served = registry.versions.get(&(group.to_owned(), version.to_owned()));
    let resources = served
        .into_iter()
        .flat_map(|resources| resources.values().map(|resource| entry(resource)));
    let reviews = builtin::reviews()
        .iter()
        .filter(|review| review.group == group && review.version == version)
        .map(review_entry);
    let mut entries: Vec<Entry> = resources.chain(reviews).collect();
    entries.sort_by(|one, other| one.plural.cmp(&other.plural));
    entries
}

/// Events of both groups are stored as those of the core group, and upstream stores definitions as v1beta1.
fn storage_hash(resource: &Resource) -> String {
    let (group, version) = match resource.quirk {
        Quirk::EventView => ("", "v1"),
        Quirk::Definition => (resource.group.as_str(), "v1beta1"),
        _ => (resource.group.as_str(), resource.version.as_str()),
    };
    let stored = format!("{group}/{version}/{}", resource.kind);
    STANDARD.encode(&Sha256::digest(stored)[..8])
}

fn entry(resource: &Resource) -> Entry {
    let mut subresources = Vec::new();
    if resource.has_status {
        subresources.push("status");
    }
    if resource.group.is_empty() && resource.plural == "namespaces" {
        subresources.insert(0, "finalize");
    }
    let mut verbs = if resource.custom().is_some() {
        CUSTOM_VERBS.to_vec()
    } else {
        OBJECT_VERBS.to_vec()
    };
    if !resource.quirk.deletes_collections() {
        verbs.retain(|verb| *verb != "deletecollection");
    }
    Entry {
        plural: resource.plural.clone(),
        singular: resource.singular.clone(),
        kind: resource.kind.clone(),
        namespaced: resource.namespaced,
        short_names: resource.short_names.clone(),
        categories: resource.categories.clone(),
        verbs,
        subresources,
        storage_hash: Some(storage_hash(resource)),
        group: resource.group.clone(),
        version: resource.version.clone(),
        is_custom: resource.custom().is_some(),
    }
}

fn review_entry(review: &Builtin) -> Entry {
    Entry {
        plural: review.plural.to_owned(),
        singular: review.singular.to_owned(),
        kind: review.kind.to_owned(),
        namespaced: review.namespaced,
        short_names: Vec::new(),
        categories: Vec::new(),
        verbs: vec!["create"],
        subresources: Vec::new(),
        storage_hash: None,
        group: review.group.to_owned(),
        version: review.version.to_owned(),
        is_custom: false,
    }
}

impl Entry {
    fn verbs_of(subresource: &str) -> &'static [&'static str] {
        if subresource == "finalize" {
            &["update"]
        } else {
            &STATUS_VERBS
        }
    }

    fn legacy(&self) -> Vec<Value> {
        let mut main = json!({
            "name": self.plural,
            "singularName": self.singular,
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": self.verbs,
        });
        if let Some(hash) = &self.storage_hash {
            main["storageVersionHash"] = json!(hash);
        }
        if !self.short_names.is_empty() {
            main["shortNames"] = json!(self.short_names);
        }
        if !self.categories.is_empty() {
            main["categories"] = json!(self.categories);
        }
        let subresources = self.subresources.iter().map(|subresource| {
            json!({
                "name": format!("{}/{subresource}", self.plural),
                "singularName": "",
                "namespaced": self.namespaced,
                "kind": self.kind,
                "verbs": Self::verbs_of(subresource),
            })
        });
        std::iter::once(main).chain(subresources).collect()
    }

    fn aggregated(&self) -> Value {
        // Built-in kinds leave unsaid what they share with the document around them.
        let (group, version) = if self.is_custom {
            (self.group.as_str(), self.version.as_str())
        } else {
            ("", "")
        };
        let kind = json!({"group": group, "version": version, "kind": self.kind});
        let mut document = json!({
            "resource": self.plural,
            "responseKind": kind,
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular,
            "verbs": self.verbs,
        });
        if !self.short_names.is_empty() {
            document["shortNames"] = json!(self.short_names);
        }
        if !self.categories.is_empty() {
            document["categories"] = json!(self.categories);
        }
        if !self.subresources.is_empty() {
            let listed: Vec<Value> = self
                .subresources
                .iter()
                .map(|name| json!({"subresource": name, "responseKind": kind, "verbs": Self::verbs_of(name)}))
                .collect();
            document["subresources"] = Value::Array(listed);
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions = ["v1alpha1", "v10", "foo", "v2", "v1beta2", "v1beta1", "v1"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]
        );
    }
}
