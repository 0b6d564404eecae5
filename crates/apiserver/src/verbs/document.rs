//! What a document goes through between the request and the store.

use apiary_semantics::schema::Review;
use apiary_semantics::{FieldError, FieldErrorKind, naming};
use http::StatusCode;
use serde_json::{Value, json};

use super::metadata::{self, set, text};
use super::{Call, Document, Outcome};
use crate::registry::Resource;
use crate::request::FieldValidation;
use crate::status::{ApiError, ApiResult, Subject};

/// Makes sure that the document says of itself what the path says.
pub(crate) fn check_identity(call: &Call, document: &mut Value) -> ApiResult<()> {
    check_kind(call, document)?;
    let resource = &*call.resource;
    document["apiVersion"] = json!(resource.api_version());
    // Validation refuses a custom resource of another kind.
    if resource.custom().is_none() {
        document["kind"] = json!(resource.kind);
    }
    check_namespace_name(call, document)
}

fn check_kind(call: &Call, document: &Value) -> ApiResult<()> {
    let resource = &*call.resource;
    let expected = resource.api_version();
    let said = |field: &str| document[field].as_str().unwrap_or_default();
    let (version, kind) = (said("apiVersion"), said("kind"));
    if resource.custom().is_some() {
        if version == expected {
            return Ok(());
        }
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    let same_version = version.is_empty() || version == expected;
    let same_kind = kind.is_empty() || kind == resource.kind;
    if same_version && same_kind {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "{kind} in version \"{}\" cannot be handled as a {}: no kind \"{kind}\" is registered for version \"{version}\"",
        version.rsplit('/').next().unwrap_or_default(),
        resource.kind,
    )))
}

/// The namespace of the path is the document's; a cluster-wide object has none.
pub(crate) fn check_namespace_name(call: &Call, document: &mut Value) -> ApiResult<()> {
    if !call.resource.namespaced {
        set(document, "namespace", None);
        return Ok(());
    }
    let namespace = text(document, "namespace");
    if namespace.is_empty() {
        set(document, "namespace", Some(json!(call.target.namespace)));
    } else if namespace != call.target.namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// The name of the path is the document's, which must say it.
pub(crate) fn check_name(call: &Call, document: &Value) -> ApiResult<()> {
    let (name, wanted) = (text(document, "name"), call.target.name.as_str());
    if name.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != wanted {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

/// Drops what the schema does not know; returns what was odd about the document, in upstream's words.
pub(crate) fn odd_fields(
    call: &Call,
    document: &mut Value,
    duplicates: &[String],
    mut unknown: Vec<String>,
) -> Vec<String> {
    unknown.extend(call.resource.schema().prune(document));
    if call.query.field_validation == FieldValidation::Ignore {
        return Vec::new();
    }
    let duplicates = duplicates
        .iter()
        .map(|path| format!("duplicate field \"{path}\""));
    let unknown = unknown.iter().map(|path| format!("unknown field \"{path}\""));
    duplicates.chain(unknown).collect()
}

/// Refuses or reports what was odd, by the request's wish; returns warnings.
pub(crate) fn check_fields(
    call: &Call,
    document: &mut Value,
    duplicates: &[String],
    unknown: Vec<String>,
) -> ApiResult<Vec<String>> {
    let odd = odd_fields(call, document, duplicates, unknown);
    if call.query.field_validation != FieldValidation::Strict || odd.is_empty() {
        return Ok(odd);
    }
    Err(undecodable(
        &call.resource,
        &format!("strict decoding error: {}", odd.join(", ")),
    ))
}

/// 400 about a document that is not one of the kind.
pub(crate) fn undecodable(resource: &Resource, why: &str) -> Box<ApiError> {
    ApiError::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}",
        kind = resource.kind,
        version = resource.version,
    ))
}

/// Wrong JSON types, and times and bytes that are none, are a decoding error in a built-in kind, as they are for a typed
/// server. The error is the sentence. Good times and bytes are brought into their one form.
pub(crate) fn type_error(resource: &Resource, document: &mut Value) -> Option<String> {
    if resource.custom().is_some() {
        return None;
    }
    let schema = resource.schema();
    let errors = schema.validate(document, None);
    let mistyped = errors
        .iter()
        .find(|error| error.kind == FieldErrorKind::TypeInvalid);
    let Some(error) = mistyped else {
        return schema.canonicalise_texts(document).err();
    };
    let (wanted, got) = error.detail.rsplit_once(": ").unwrap_or((&error.detail, "value"));
    let wanted = wanted.rsplit(' ').next().unwrap_or_default();
    Some(format!(
        "json: cannot unmarshal {} into Go struct field {}.{} of type {wanted}",
        got.trim_matches('"')
            .replace("integer", "number")
            .replace("boolean", "bool"),
        resource.kind,
        error.field,
    ))
}

/// Refuses a document of a built-in kind with wrong JSON types.
pub(crate) fn check_types(resource: &Resource, document: &mut Value) -> ApiResult<()> {
    type_error(resource, document).map_or(Ok(()), |why| Err(undecodable(resource, &why)))
}

/// Everything that makes a document invalid (422), with the old one on updates; returns warnings about a valid one.
pub(crate) fn validate(call: &Call, document: &Value, old: Option<&Value>) -> ApiResult<Vec<String>> {
    let resource = &*call.resource;
    if let Some(kind) = document["kind"].as_str()
        && kind != resource.kind
    {
        let subject = Subject {
            kind,
            ..resource.subject(text(document, "name"))
        };
        let must = format!("must be {}", resource.kind);
        return Err(ApiError::invalid(
            subject,
            &[FieldError::invalid("kind", json!(kind), must)],
        ));
    }
    let mut errors: Vec<FieldError> = naming::metadata_errors(resource.name_rule, document);
    if let Some(old) = old {
        errors.extend(naming::metadata_update_errors(document, old));
    }
    if resource.group.is_empty() {
        errors.extend(naming::standard_finalizer_errors(document));
    }
    errors.extend(resource.quirk.check(document, old));
    let review = if resource.quirk.has_all_rules() {
        Review::default()
    } else {
        resource.schema().review(document, old)
    };
    // What a built-in kind's status lacks is the server's own matter.
    let lacks = |error: &FieldError| {
        error.kind == FieldErrorKind::Required
            && resource.custom().is_none()
            && error.field.starts_with("status.")
    };
    let found = review.errors.into_iter().filter(|error| !lacks(error));
    errors.extend(found.map(|mut error| {
        // A status is validated on its own upstream, and its fields are named from there.
        if call.is_status() && resource.custom().is_some() && error.detail.contains(" in body ") {
            error.detail = error.detail.replacen("status.", "", 1);
        }
        error
    }));
    let mut warnings: Vec<String> = review.forgiven.iter().map(ToString::to_string).collect();
    if errors.is_empty() {
        if resource.custom().is_some() {
            warnings.extend(naming::finalizer_warnings(document, old));
        }
        warnings.extend(resource.quirk.warnings(document, old));
        return Ok(warnings);
    }
    Err(ApiError::invalid(resource.rule_subject(text(document, "name")), &errors).warned(warnings))
}

/// Whether `generation` must grow: something outside `metadata` (and `status`, if it is written apart) changed.
pub(crate) fn differs_in_substance(resource: &Resource, old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old != new;
    };
    let counts = |name: &str| name != "metadata" && !(resource.has_status && name == "status");
    let mut names = old.keys().chain(new.keys()).filter(|name| counts(name));
    names.any(|name| old.get(name) != new.get(name))
}

/// Two documents that differ in nothing but the revision.
pub(crate) fn same_document(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old == new;
    };
    let is_same = |(name, value): (&String, &Value)| match (name.as_str(), old.get(name)) {
        ("metadata", Some(before)) => same_metadata(before, value),
        (_, before) => before == Some(value),
    };
    old.len() == new.len() && new.iter().all(is_same)
}

fn same_metadata(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old == new;
    };
    let counts = |(name, _): &(&String, &Value)| *name != "resourceVersion";
    // Fields come in the order of their names.
    old.iter().filter(counts).eq(new.iter().filter(counts))
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
pub(crate) fn clear_system_fields(resource: &Resource, document: &mut Value) {
    let fields = metadata::fields_mut(document);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        fields.remove(field);
    }
    if resource.has_generation {
        fields.remove("generation");
    }
}
