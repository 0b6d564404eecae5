//! Objects and lists in the form the client asked for.

use apiary_semantics::table;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::list::Page;
use super::update::modernise;
use super::{Call, Document, Outcome};
use crate::request::Form;
use crate::status::json_response;
use crate::store::Object;

/// The answer of a verb on one object.
pub(crate) fn outcome(call: &Call, outcome: &Outcome) -> Response {
    let is_status = matches!(&outcome.document, Document::Value(value) if value["kind"] == "Status");
    let body: Body = match (&outcome.document, call.form) {
        (Document::Value(value), _) if is_status => value.to_string().into(),
        (Document::Stored(object), Form::Full) => document_bytes(call, object).into(),
        (document, form) => {
            let mut value = document.value();
            present(call, &mut value);
            match form {
                Form::Full => value.to_string().into(),
                Form::Metadata => partial_metadata(&value).to_string().into(),
                Form::Table => {
                    let revision = value["metadata"]["resourceVersion"].clone();
                    let mut table = table_head(call, true);
                    table["metadata"] = json!({"resourceVersion": revision});
                    table["rows"] = json!([row(call, &value)]);
                    table.to_string().into()
                }
            }
        }
    };
    with_warnings(call, json_response(outcome.code, body), &outcome.warnings)
}

/// The answer of a list.
pub(crate) fn page(call: &Call, page: &Page) -> Response {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), json!(page.revision.to_string()));
    if !page.continue_token.is_empty() {
        metadata.insert("continue".to_owned(), json!(page.continue_token));
    }
    if let Some(remaining) = page.remaining {
        metadata.insert("remainingItemCount".to_owned(), json!(remaining));
    }
    let body: Bytes = match call.form {
        Form::Full => {
            let items = page.objects.iter().map(|object| document_bytes(call, object));
            list_body(
                &call.resource.api_version(),
                &call.resource.list_kind,
                &metadata,
                items,
            )
        }
        Form::Metadata => {
            let items = page
                .objects
                .iter()
                .map(|object| partial_metadata(&shown(call, object)).to_string().into());
            list_body("meta.k8s.io/v1", "PartialObjectMetadataList", &metadata, items)
        }
        Form::Table => {
            let mut table = table_head(call, true);
            table["metadata"] = Value::Object(metadata);
            table["rows"] = page
                .objects
                .iter()
                .map(|object| row(call, &shown(call, object)))
                .collect::<Vec<_>>()
                .into();
            table.to_string().into()
        }
    };
    with_warnings(call, json_response(StatusCode::OK, body), &[])
}

fn list_body(
    api_version: &str,
    kind: &str,
    metadata: &Map<String, Value>,
    items: impl Iterator<Item = Bytes>,
) -> Bytes {
    let head = json!({"kind": kind, "apiVersion": api_version});
    let mut out = head.to_string().into_bytes();
    out.pop();
    out.extend_from_slice(b",\"metadata\":");
    out.extend_from_slice(Value::Object(metadata.clone()).to_string().as_bytes());
    out.extend_from_slice(b",\"items\":[");
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&item);
    }
    out.extend_from_slice(b"]}");
    out.into()
}

/// Whether an object's stored bytes are what is served.
fn is_as_stored(call: &Call, object: &Object) -> bool {
    let outdated = call
        .resource
        .custom()
        .is_some_and(|custom| object.revision < custom.schema_since);
    !outdated && !call.resource.is_view()
}

/// The served bytes of an object.
pub(crate) fn document_bytes(call: &Call, object: &Object) -> Bytes {
    if is_as_stored(call, object) {
        return object.bytes.clone();
    }
    shown(call, object).to_string().into()
}

/// The served document of an object.
pub(crate) fn shown(call: &Call, object: &Object) -> Value {
    let mut value = object.value();
    present(call, &mut value);
    value
}

fn present(call: &Call, value: &mut Value) {
    call.resource.show(value);
    if let Some(custom) = call.resource.custom() {
        let revision = value["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|text| text.parse::<u64>().ok());
        if revision.is_some_and(|revision| revision < custom.schema_since) {
            modernise(&custom.schema, value);
        }
    }
}

/// `meta.k8s.io/v1` PartialObjectMetadata.
pub(crate) fn partial_metadata(document: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": document["metadata"],
    })
}

/// A Table without rows; a watch sends the column definitions only once.
pub(crate) fn table_head(call: &Call, with_columns: bool) -> Value {
    let mut table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "rows": []});
    table["columnDefinitions"] = if with_columns {
        table::definitions(&call.resource.columns)
    } else {
        Value::Null
    };
    table
}

/// One row of a Table.
pub(crate) fn row(call: &Call, document: &Value) -> Value {
    let now = call.now().as_second();
    let mut row = json!({"cells": table::cells(&call.resource.columns, document, now)});
    match call.query.include_object.as_str() {
        "None" => {}
        "Object" => row["object"] = document.clone(),
        _ => row["object"] = partial_metadata(document),
    }
    row
}

/// Adds `Warning` headers: the request's, and that of a deprecated version.
pub(crate) fn with_warnings(call: &Call, mut response: Response, warnings: &[String]) -> Response {
    let deprecation = call
        .resource
        .custom()
        .and_then(|custom| custom.deprecation.clone());
    for warning in warnings.iter().chain(deprecation.iter()) {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        let safe: String = quoted.chars().filter(|c| !c.is_control()).collect();
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{safe}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}
