//! What a document goes through between the request and the store.

use apiary_semantics::{FieldError, FieldErrorKind, naming};
use http::StatusCode;
use serde_json::{Value, json};

use super::metadata::{self, set, text};
use super::{Call, Document, Outcome};
use crate::registry::Resource;
use crate::request::FieldValidation;
use crate::status::{ApiError, ApiResult};

/// Makes sure that the document says of itself what the path says.
pub(crate) fn check_identity(call: &Call, document: &mut Value) -> ApiResult<()> {
    let resource = &*call.resource;
    let expected_version = resource.api_version();
    let said = |field: &str| document[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (said("apiVersion"), said("kind"));
    if !version.is_empty() && version != expected_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected_version})"
        )));
    }
    if !kind.is_empty() && kind != resource.kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {}: converting ({kind}) to ({}): unknown conversion",
            resource.version, resource.kind, resource.kind
        )));
    }
    document["apiVersion"] = json!(expected_version);
    document["kind"] = json!(resource.kind);
    let namespace = text(document, "namespace").to_owned();
    if resource.namespaced {
        if namespace.is_empty() {
            set(document, "namespace", Some(json!(call.target.namespace)));
        } else if namespace != call.target.namespace {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    } else {
        if !namespace.is_empty() {
            return Err(ApiError::bad_request(
                "namespace may not be set on a cluster-scoped object",
            ));
        }
        set(document, "namespace", None);
    }
    Ok(())
}

/// Refuses, reports or drops what the schema does not know, by the request's wish; returns warnings.
pub(crate) fn check_fields(
    call: &Call,
    document: &mut Value,
    duplicates: &[String],
    mut unknown: Vec<String>,
) -> ApiResult<Vec<String>> {
    if !call.is_status() || document.get("status").is_some() {
        unknown.extend(call.resource.schema().prune(document));
    }
    let problems = duplicates
        .iter()
        .map(|path| format!("duplicate field \"{path}\""))
        .chain(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
    match call.query.field_validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(problems.collect()),
        FieldValidation::Strict => {
            let problems: Vec<String> = problems.collect();
            if problems.is_empty() {
                return Ok(Vec::new());
            }
            Err(ApiError::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {}",
                problems.join(", "),
                kind = call.resource.kind,
                version = call.resource.version,
            )))
        }
    }
}

/// Wrong JSON types in a built-in kind are a decoding error, as they are for a typed server.
pub(crate) fn check_types(resource: &Resource, document: &Value) -> ApiResult<()> {
    if resource.custom().is_some() {
        return Ok(());
    }
    let errors = resource.schema().validate(document, None);
    match errors
        .iter()
        .find(|error| error.kind == FieldErrorKind::TypeInvalid)
    {
        None => Ok(()),
        Some(error) => Err(ApiError::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: json: {}: {}",
            error.field,
            error.detail,
            kind = resource.kind,
            version = resource.version,
        ))),
    }
}

/// Everything that makes a document invalid (422), with the old one on updates.
pub(crate) fn validate(resource: &Resource, document: &Value, old: Option<&Value>) -> ApiResult<()> {
    let mut errors: Vec<FieldError> = naming::metadata_errors(resource.name_rule, document);
    if let Some(old) = old {
        errors.extend(finalizer_errors(document, old));
    }
    errors.extend(resource.quirk.check(document, old));
    errors.extend(resource.schema().validate(document, old));
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(
        resource.subject(text(document, "name")),
        &errors,
    ))
}

/// Finalizers may only go once an object is being deleted.
fn finalizer_errors(document: &Value, old: &Value) -> Option<FieldError> {
    if !old["metadata"]["deletionTimestamp"].is_string() {
        return None;
    }
    let empty = Vec::new();
    let had = old["metadata"]["finalizers"].as_array().unwrap_or(&empty);
    let has = document["metadata"]["finalizers"].as_array().unwrap_or(&empty);
    let added: Vec<&str> = has
        .iter()
        .filter(|name| !had.contains(name))
        .filter_map(Value::as_str)
        .collect();
    (!added.is_empty()).then(|| {
        FieldError::forbidden(
            "metadata.finalizers",
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
            ),
        )
    })
}

/// Whether `generation` must grow: something outside `metadata` (and `status`, if it is written apart) changed.
pub(crate) fn differs_in_substance(resource: &Resource, old: &Value, new: &Value) -> bool {
    let substance = |document: &Value| -> Vec<(String, Value)> {
        let fields = document.as_object().into_iter().flatten();
        fields
            .filter(|(name, _)| *name != "metadata" && !(resource.has_status && *name == "status"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    substance(old) != substance(new)
}

/// Two documents that differ in nothing but the revision.
pub(crate) fn same_document(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old == new;
    };
    let rest = |fields: &serde_json::Map<String, Value>| -> bool {
        fields
            .iter()
            .all(|(name, value)| name == "metadata" || old.get(name) == Some(value))
    };
    if old.len() != new.len() || !rest(new) {
        return false;
    }
    let empty = serde_json::Map::new();
    let meta = |document: &serde_json::Map<String, Value>| -> serde_json::Map<String, Value> {
        let mut fields = document
            .get("metadata")
            .and_then(Value::as_object)
            .unwrap_or(&empty)
            .clone();
        fields.remove("resourceVersion");
        fields
    };
    meta(old) == meta(new)
}

/// The answer of a dry run: the document as it would be.
pub(crate) fn dry_run(code: StatusCode, document: Value, warnings: Vec<String>) -> Outcome {
    Outcome {
        code,
        document: Document::Value(document),
        warnings,
    }
}

/// Removes what only the server may set.
pub(crate) fn clear_system_fields(document: &mut Value) {
    let fields = metadata::fields_mut(document);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
    ] {
        fields.remove(field);
    }
}
