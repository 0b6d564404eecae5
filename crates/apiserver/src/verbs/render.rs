//! Objects and lists in the form the client asked for.

use apiary_semantics::table;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::list::Page;
use super::update::current_document;
use super::{Call, Document, Outcome};
use crate::request::{Form, MetaVersion};
use crate::status::{add_warnings, json_response};
use crate::store::Object;

/// The answer of a verb on one object.
pub(crate) fn outcome(call: &Call, outcome: &Outcome) -> Response {
    let is_status = matches!(&outcome.document, Document::Value(value) if value["kind"] == "Status");
    let body: Body = match (&outcome.document, call.form) {
        (Document::Value(value), _) if is_status => value.to_string().into(),
        (Document::Stored(object), Form::Full) => document_bytes(call, object).into(),
        (document, form) => {
            let value = served(call, document);
            match form {
                Form::Full => value.to_string().into(),
                Form::Metadata(version) => partial_metadata(version, &value).to_string().into(),
                Form::Table(version) => {
                    let revision = value["metadata"]["resourceVersion"].clone();
                    let mut table = table_head(call, version, true);
                    table["metadata"] = json!({"resourceVersion": revision});
                    table["rows"] = json!([row(call, version, &value)]);
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
    // A list of custom resources has the field even where it says nothing.
    let always = call.resource.custom().is_some() && call.form == Form::Full;
    if always || !page.continue_token.is_empty() {
        metadata.insert("continue".to_owned(), json!(page.continue_token));
    }
    if let Some(remaining) = page.remaining {
        metadata.insert("remainingItemCount".to_owned(), json!(remaining));
    }
    let body: Bytes = match call.form {
        Form::Full => {
            let mut body = list_head(&call.resource.api_version(), &call.resource.list_kind, &metadata);
            body.push(b'[');
            for (index, object) in page.objects.iter().enumerate() {
                if index > 0 {
                    body.push(b',');
                }
                append_item(call, object, &mut body);
            }
            body.extend_from_slice(b"]}");
            body.into()
        }
        Form::Metadata(version) => {
            let mut body = list_head(version.api_version(), "PartialObjectMetadataList", &metadata);
            let items = page
                .objects
                .iter()
                .map(|object| partial_metadata(version, &current_document(call, object)))
                .collect::<Vec<_>>();
            // An empty list of metadata is null upstream, unlike every other list.
            let items = if items.is_empty() {
                Value::Null
            } else {
                items.into()
            };
            body.extend_from_slice(items.to_string().as_bytes());
            body.push(b'}');
            body.into()
        }
        Form::Table(version) => {
            let mut table = table_head(call, version, true);
            table["metadata"] = Value::Object(metadata);
            table["rows"] = page
                .objects
                .iter()
                .map(|object| row(call, version, &current_document(call, object)))
                .collect::<Vec<_>>()
                .into();
            table.to_string().into()
        }
    };
    with_warnings(call, json_response(StatusCode::OK, body), &[])
}

/// A list up to its items.
fn list_head(api_version: &str, kind: &str, metadata: &Map<String, Value>) -> Vec<u8> {
    let head = json!({"kind": kind, "apiVersion": api_version});
    let mut out = head.to_string().into_bytes();
    out.pop();
    out.extend_from_slice(b",\"metadata\":");
    out.extend_from_slice(Value::Object(metadata.clone()).to_string().as_bytes());
    out.extend_from_slice(b",\"items\":");
    out
}

/// Appends an object as it stands in a list: those of built-in kinds do not say their kind there, for the list does.
fn append_item(call: &Call, object: &Object, out: &mut Vec<u8>) {
    if call.resource.custom().is_some() {
        out.extend_from_slice(&document_bytes(call, object));
    } else if is_as_stored(call, object) {
        object
            .untyped()
            .iter()
            .for_each(|piece| out.extend_from_slice(piece));
    } else {
        let mut value = current_document(call, object);
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| name != "apiVersion" && name != "kind");
        }
        out.extend_from_slice(value.to_string().as_bytes());
    }
}

/// A document of an answer as it is served; what is not stored was just made under the present schema.
fn served(call: &Call, document: &Document) -> Value {
    match document {
        Document::Stored(object) => current_document(call, object),
        Document::Value(value) => {
            let mut value = value.clone();
            call.resource.show(&mut value);
            value
        }
    }
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
    current_document(call, object).to_string().into()
}

/// PartialObjectMetadata.
pub(crate) fn partial_metadata(version: MetaVersion, document: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version.api_version(),
        "metadata": document["metadata"],
    })
}

/// A Table without rows; a watch sends the column definitions only once.
pub(crate) fn table_head(call: &Call, version: MetaVersion, with_columns: bool) -> Value {
    let mut table = json!({"kind": "Table", "apiVersion": version.api_version(), "metadata": {}, "rows": []});
    table["columnDefinitions"] = if with_columns {
        table::definitions(&call.resource.columns)
    } else {
        Value::Null
    };
    table
}

/// One row of a Table.
pub(crate) fn row(call: &Call, version: MetaVersion, document: &Value) -> Value {
    let now = call.now().as_second();
    let mut row = json!({"cells": table::cells(&call.resource.columns, document, now)});
    row["object"] = match call.query.include_object.as_str() {
        "None" => Value::Null,
        "Object" => document.clone(),
        _ => partial_metadata(version, document),
    };
    row
}

/// Adds `Warning` headers: the request's, and that of a deprecated version.
pub(crate) fn with_warnings(call: &Call, mut response: Response, warnings: &[String]) -> Response {
    add_warnings(&mut response, warnings);
    add_warnings(&mut response, call.deprecation());
    response
}
