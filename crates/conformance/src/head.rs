//! The heads of requests and answers.

use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};

use crate::mask::Mask;

/// What of an answer's head is compared.
pub(crate) fn describe(status: StatusCode, headers: &HeaderMap, mask: &mut Mask) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("status".into(), status.as_u16().into());
    if let Some(kind) = headers.get(header::CONTENT_TYPE) {
        head.insert("type".into(), String::from_utf8_lossy(kind.as_bytes()).into());
    }
    let warnings: Vec<Value> = headers
        .get_all(header::WARNING)
        .iter()
        .map(|warning| Value::String(mask.text(&String::from_utf8_lossy(warning.as_bytes()))))
        .collect();
    if !warnings.is_empty() {
        head.insert("warnings".into(), warnings.into());
    }
    if let Some(after) = headers.get(header::RETRY_AFTER) {
        head.insert(
            "retryAfter".into(),
            String::from_utf8_lossy(after.as_bytes()).into(),
        );
    }
    head
}

/// The `Accept` header that a scenario names.
pub(crate) fn accept(name: Option<&str>) -> &str {
    match name {
        None => "application/json",
        Some("table") => "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        Some("metadata") => "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
        Some("metadata-list") => {
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
        }
        Some("discovery") => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        Some(other) => other,
    }
}

/// The type of a body that a scenario names.
pub(crate) fn media_type(name: Option<&str>) -> &str {
    match name {
        None | Some("json") => "application/json",
        Some("yaml") => "application/yaml",
        Some("json-patch") => "application/json-patch+json",
        Some("merge") => "application/merge-patch+json",
        Some("strategic") => "application/strategic-merge-patch+json",
        Some("apply") => "application/apply-patch+yaml",
        Some(other) => other,
    }
}
