//! The embedded OpenAPI schemas: one gzip file per group version, inflated for each question and dropped again.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Group, version, and a gzipped JSON object of schemas by type name.
type Document = (&'static str, &'static str, &'static [u8]);

macro_rules! document {
    ($group:literal, $version:literal, $file:literal) => {
        (
            $group,
            $version,
            include_bytes!(concat!("../../data/openapi/", $file, ".", $version, ".json.gz")),
        )
    };
}

static DOCUMENTS: &[Document] = &[
    document!("", "v1", "core"),
    document!(
        "admissionregistration.k8s.io",
        "v1",
        "admissionregistration.k8s.io"
    ),
    document!("apiextensions.k8s.io", "v1", "apiextensions.k8s.io"),
    document!("apps", "v1", "apps"),
    document!("authentication.k8s.io", "v1", "authentication.k8s.io"),
    document!("authorization.k8s.io", "v1", "authorization.k8s.io"),
    document!("batch", "v1", "batch"),
    document!("coordination.k8s.io", "v1", "coordination.k8s.io"),
    document!("discovery.k8s.io", "v1", "discovery.k8s.io"),
    document!("events.k8s.io", "v1", "events.k8s.io"),
    document!("networking.k8s.io", "v1", "networking.k8s.io"),
    document!("rbac.authorization.k8s.io", "v1", "rbac.authorization.k8s.io"),
    document!("scheduling.k8s.io", "v1", "scheduling.k8s.io"),
    document!("storage.k8s.io", "v1", "storage.k8s.io"),
];

const REFERENCE: &str = "#/components/schemas/";

/// All schemas of a group version.
pub(super) fn components(group: &str, version: &str) -> Map<String, Value> {
    serde_json::from_str(&inflate(group, version)).unwrap_or_default()
}

/// The schema of one type and of all it refers to. The rest is skipped as text: a tree of the whole document would be
/// many times its size.
pub(super) fn reachable(group: &str, version: &str, type_name: &str) -> Map<String, Value> {
    let text = inflate(group, version);
    let schemas: BTreeMap<&str, &RawValue> = serde_json::from_str(&text).unwrap_or_default();
    let mut kept = Map::new();
    let mut waiting = vec![type_name.to_owned()];
    while let Some(name) = waiting.pop() {
        if kept.contains_key(&name) {
            continue;
        }
        let Some(schema) = schemas
            .get(name.as_str())
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
        else {
            continue;
        };
        references(&schema, &mut waiting);
        kept.insert(name, schema);
    }
    kept
}

fn inflate(group: &str, version: &str) -> String {
    let mut text = String::new();
    if let Some((_, _, bytes)) = DOCUMENTS.iter().find(|(g, v, _)| (*g, *v) == (group, version)) {
        // The bytes are part of the program and a test reads them all, so there is no failure to report.
        let _ = GzDecoder::new(*bytes).read_to_string(&mut text);
    }
    text
}

pub(super) fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference.trim_start_matches(REFERENCE).to_owned());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}
