//! OpenAPI v3: what `kubectl explain` shows and what client-side tools learn about fields.
//! Of v2 there is only an empty document, for clients that insist.
//!
//! One document per group version, made on demand and kept as bytes until what is served changes.

use std::collections::HashMap;

use apiary_semantics::builtin;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::registry::{Origin, Registry, Resource};
use crate::status::{ApiError, ApiResult, json_response};

/// Name of the shared metadata type in every document.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// `/openapi/v2`, a document that describes nothing: kubectl asks for it when v3 does not know a kind, only as
/// protobuf, and takes a kind that is not in it for one without a schema.
pub(crate) fn second(headers: &HeaderMap) -> ApiResult<Response> {
    // Clients still ask by the name that has an `@`, which is no media type that Go can read back.
    const TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    const SUFFIX: &[u8] = b"v1.0+protobuf";
    // swagger: "2.0", info { title: "Kubernetes" }
    const DOCUMENT: &[u8] = b"\x0a\x032.0\x12\x0c\x0a\x0aKubernetes";
    let accepts = headers
        .get(header::ACCEPT)
        .is_some_and(|types| types.as_bytes().ends_with(SUFFIX));
    if !accepts {
        return Err(ApiError::not_acceptable(&[TYPE]));
    }
    let mut response = Response::new(Body::from(DOCUMENT));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(TYPE));
    Ok(response)
}

/// Documents by group version, for one generation of the registry.
#[derive(Default)]
pub(crate) struct OpenApi {
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    generation: u64,
    documents: HashMap<(String, String), Bytes>,
}

impl OpenApi {
    /// `/openapi/v3`
    pub(crate) fn index(&self, registry: &Registry) -> Response {
        let mut paths = Map::new();
        let reviews = builtin::reviews()
            .iter()
            .map(|review| (review.group.to_owned(), review.version.to_owned()));
        let versions: std::collections::BTreeSet<_> =
            registry.versions.keys().cloned().chain(reviews).collect();
        for (group, version) in versions {
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            let fingerprint = fingerprint(registry, &group, &version);
            paths.insert(
                path.clone(),
                json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={fingerprint}")}),
            );
        }
        let mut response = json_response(StatusCode::OK, json!({"paths": paths}).to_string());
        // Upstream says no type here, and Go guesses this one.
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        response
    }

    /// `/openapi/v3/api/v1` and `/openapi/v3/apis/{group}/{version}`
    pub(crate) fn document(&self, registry: &Registry, group: &str, version: &str) -> Option<Response> {
        let known = registry.serves(group, version)
            || builtin::reviews()
                .iter()
                .any(|review| review.group == group && review.version == version);
        if !known {
            return None;
        }
        let key = (group.to_owned(), version.to_owned());
        let mut cache = self.cache.lock();
        if cache.generation != registry.generation {
            *cache = Cache {
                generation: registry.generation,
                documents: HashMap::new(),
            };
        }
        let make = || Bytes::from(document(registry, group, version).to_string());
        let body = cache.documents.entry(key).or_insert_with(make).clone();
        let mut response = json_response(StatusCode::OK, body);
        let etag = format!("\"{}\"", fingerprint(registry, group, version));
        let headers = response.headers_mut();
        if let Ok(etag) = HeaderValue::from_str(&etag) {
            headers.insert(header::ETAG, etag);
        }
        headers.insert(
            header::CACHE_CONTROL,
            HeaderValue::from_static("public, immutable"),
        );
        Some(response)
    }
}

/// A hash that changes when the document does, without making the document.
fn fingerprint(registry: &Registry, group: &str, version: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(group);
    hash.update([0]);
    hash.update(version);
    for resource in registry
        .versions
        .get(&(group.to_owned(), version.to_owned()))
        .into_iter()
        .flatten()
    {
        hash.update(resource.0);
        if let Some(custom) = resource.1.custom() {
            hash.update(&custom.definition_uid);
            hash.update(custom.definition_generation.to_be_bytes());
        }
    }
    hash.finalize()
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02X}"))
        .collect()
}

fn document(registry: &Registry, group: &str, version: &str) -> Value {
    let mut schemas = builtin::openapi_components(group, version);
    let mut paths = Map::new();
    let resources = registry.versions.get(&(group.to_owned(), version.to_owned()));
    for resource in resources.into_iter().flat_map(|resources| resources.values()) {
        let type_name = match &resource.origin {
            Origin::Builtin(entry) => entry.type_name.to_owned(),
            Origin::Custom(custom) => {
                let name = custom_type_name(resource, &resource.kind);
                let lent = lend(&mut schemas);
                schemas.insert(
                    name.clone(),
                    custom_schema(resource, &custom.schema.document(), &lent),
                );
                let list_name = custom_type_name(resource, &resource.list_kind);
                schemas.insert(list_name, custom_list_schema(resource, &name, &lent));
                name
            }
        };
        add_paths(&mut paths, resource, &type_name);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": crate::dispatch::VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

/// Adds the types that custom resources refer to, and returns the properties that they share with built-in kinds.
fn lend(schemas: &mut Map<String, Value>) -> Value {
    // Every group's components hold what they refer to; leases refer to little but metadata.
    let mut lent = builtin::openapi_components("coordination.k8s.io", "v1");
    let lease = lent
        .remove("io.k8s.api.coordination.v1.Lease")
        .unwrap_or_default();
    for (name, schema) in lent {
        if name.starts_with("io.k8s.apimachinery.") {
            schemas.entry(name).or_insert(schema);
        }
    }
    lease["properties"].clone()
}

/// `io.example.stable.v1.Widget` for `stable.example.io/v1`.
fn custom_type_name(resource: &Resource, kind: &str) -> String {
    let mut parts: Vec<&str> = resource.group.split('.').collect();
    parts.reverse();
    format!("{}.{}.{kind}", parts.join("."), resource.version)
}

fn custom_schema(resource: &Resource, written: &Value, lent: &Value) -> Value {
    let mut schema = written.clone();
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    let properties = &mut schema["properties"];
    properties["apiVersion"] = lent["apiVersion"].clone();
    properties["kind"] = lent["kind"].clone();
    properties["metadata"] = json!({
        "description": format!("Standard object's metadata. More info: {CONVENTIONS}#metadata"),
        "allOf": [{"$ref": format!("#/components/schemas/{OBJECT_META}")}],
    });
    schema["x-kubernetes-group-version-kind"] = json!([group_version_kind(resource)]);
    schema
}

/// The type of a list of a custom resource.
fn custom_list_schema(resource: &Resource, type_name: &str, lent: &Value) -> Value {
    let list = json!({"group": resource.group, "version": resource.version, "kind": resource.list_kind});
    json!({
        "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": lent["apiVersion"],
            "kind": lent["kind"],
            "metadata": {
                "description": format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds"),
                "allOf": [{"$ref": format!("#/components/schemas/{LIST_META}")}],
            },
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", resource.plural),
                "type": "array",
                "items": {"$ref": format!("#/components/schemas/{type_name}")},
            },
        },
        "x-kubernetes-group-version-kind": [list],
    })
}

fn group_version_kind(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

/// Just the operations and parameters that clients look for: kubectl decides by them whether the server validates
/// fields and can do dry runs.
fn add_paths(paths: &mut Map<String, Value>, resource: &Resource, type_name: &str) {
    let prefix = if resource.group.is_empty() {
        "/api"
    } else {
        "/apis"
    };
    let scope = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{prefix}/{}{scope}/{}", resource.api_version(), resource.plural);
    let object = format!("{collection}/{{name}}");
    let mut object_operations = Map::new();
    for (method, action) in [
        ("get", "get"),
        ("put", "put"),
        ("patch", "patch"),
        ("delete", "delete"),
    ] {
        object_operations.insert(method.to_owned(), operation(resource, action, type_name));
    }
    let mut collection_operations = Map::new();
    for (method, action) in [("get", "list"), ("post", "post"), ("delete", "deletecollection")] {
        collection_operations.insert(method.to_owned(), operation(resource, action, type_name));
    }
    if resource.has_status {
        let mut status = Map::new();
        for (method, action) in [("get", "get"), ("put", "put"), ("patch", "patch")] {
            status.insert(method.to_owned(), operation(resource, action, type_name));
        }
        paths.insert(format!("{object}/status"), Value::Object(status));
    }
    paths.insert(object, Value::Object(object_operations));
    paths.insert(collection, Value::Object(collection_operations));
}

fn operation(resource: &Resource, action: &str, type_name: &str) -> Value {
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let writes = matches!(action, "put" | "patch" | "post");
    let parameters: Vec<Value> = match action {
        "put" | "post" => ["dryRun", "fieldManager", "fieldValidation"]
            .map(parameter)
            .to_vec(),
        "patch" => ["dryRun", "fieldManager", "fieldValidation", "force"]
            .map(parameter)
            .to_vec(),
        "delete" | "deletecollection" => vec![parameter("dryRun")],
        _ => Vec::new(),
    };
    let schema = json!({"$ref": format!("#/components/schemas/{type_name}")});
    let mut operation = json!({
        "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": group_version_kind(resource),
    });
    if writes && action != "patch" {
        operation["requestBody"] = json!({"content": {"application/json": {"schema": schema}}});
    }
    operation
}
