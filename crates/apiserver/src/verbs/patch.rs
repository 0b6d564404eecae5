//! PATCH: the three patch formats and server-side apply.

use apiary_semantics::FieldError;
use apiary_semantics::apply::{ApplyError, Writer, apply, describe};
use apiary_semantics::patch::{PatchError, json_patch, merge_patch, strategic_merge};
use http::StatusCode;
use serde_json::{Value, json};

use super::create::{Tracking, new_object};
use super::document::{check_name, check_namespace_name, odd_fields, type_error};
use super::metadata::{self, text};
use super::update::{Desired, UPDATE_TRIES, change_object, check_revision, current_document};
use super::{Call, Outcome};
use crate::clock::rfc3339_seconds;
use crate::request::{FieldValidation, Undecodable, decode_document, decode_json};
use crate::status::{ApiError, ApiResult};

/// The kinds of patch, by content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

pub(crate) async fn patch(call: &Call, body: &[u8]) -> ApiResult<Outcome> {
    match kind(call)? {
        PatchKind::Apply => server_side_apply(call, body).await,
        kind => modify(call, kind, body).await,
    }
}

fn kind(call: &Call) -> ApiResult<PatchKind> {
    let custom = call.resource.custom().is_some();
    let kind = match call.media_type.as_str() {
        "application/json-patch+json" => PatchKind::Json,
        "application/merge-patch+json" => PatchKind::Merge,
        "application/strategic-merge-patch+json" if !custom => PatchKind::Strategic,
        "application/apply-patch+yaml" => PatchKind::Apply,
        _ => {
            let known = [
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ];
            return Err(if custom {
                ApiError::new(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "UnsupportedMediaType",
                    format!(
                        "the body of the request was in an unknown format - accepted media types include: {}",
                        known.join(", ")
                    ),
                )
            } else {
                ApiError::unsupported_media_type("415: Unsupported Media Type")
            });
        }
    };
    if kind != PatchKind::Apply && call.query.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(crate::request::patch_options_invalid(&[error]));
    }
    Ok(kind)
}

async fn modify(call: &Call, kind: PatchKind, body: &[u8]) -> ApiResult<Outcome> {
    let (patch, duplicates) = decode_json(body).map_err(|why| {
        let prefix = if kind == PatchKind::Strategic {
            ""
        } else {
            "error decoding patch: "
        };
        ApiError::bad_request(format!("{prefix}{why}"))
    })?;
    let resource = &*call.resource;
    for _ in 0..UPDATE_TRIES {
        let accepted = call.server.store.accepted();
        let Some(current) = accepted.get(&resource.id, &call.key()).cloned() else {
            return Err(ApiError::not_found(resource.subject(&call.target.name)));
        };
        let old = current_document(call, &current);
        let mut document = patched(call, kind, &old, &patch)?;
        let warnings = check_patched(call, kind, &patch, &old, &mut document, &duplicates)?;
        check_revision(call, text(&document, "resourceVersion"), &current)?;
        let pinned = pins_revision(kind, &patch);
        let change = Desired {
            document,
            tracking: Tracking::Update,
        };
        match change_object(call, &current, &old, change, warnings).await? {
            Some(outcome) => return Ok(outcome),
            None if pinned => break,
            None => {}
        }
    }
    Err(ApiError::modified(resource.subject(&call.target.name)))
}

fn patched(call: &Call, kind: PatchKind, old: &Value, patch: &Value) -> ApiResult<Value> {
    let outcome = match kind {
        PatchKind::Json => json_patch(old, patch),
        PatchKind::Strategic => strategic_merge(old, patch, &call.resource.schema()),
        PatchKind::Merge | PatchKind::Apply if !patch.is_object() => {
            Err(PatchError::Malformed("the patch is not a JSON object".to_owned()))
        }
        PatchKind::Merge | PatchKind::Apply => {
            let mut document = old.clone();
            merge_patch(&mut document, patch);
            Ok(document)
        }
    };
    outcome.map_err(|error| patch_refused(kind, error))
}

/// What a patch made must still be an object of the kind, under its name; returns warnings.
fn check_patched(
    call: &Call,
    kind: PatchKind,
    patch: &Value,
    old: &Value,
    document: &mut Value,
    duplicates: &[String],
) -> ApiResult<Vec<String>> {
    let resource = &*call.resource;
    let unknown = metadata::normalise(document).map_err(|why| ApiError::invalid_patch(document, why))?;
    // Validation refuses a custom resource of another kind.
    let other_kind = resource.custom().is_none() && document["kind"] != old["kind"];
    if other_kind || document["apiVersion"] != old["apiVersion"] {
        let why = "apiVersion and kind of an object cannot be patched";
        return Err(ApiError::invalid_patch(document, why));
    }
    check_namespace_name(call, document)?;
    check_name(call, document)?;
    if text(document, "uid") != text(old, "uid") {
        let value = document["metadata"]["uid"].clone();
        let error = FieldError::invalid("metadata.uid", value, "field is immutable");
        return Err(ApiError::invalid(resource.subject(&call.target.name), &[error]));
    }
    let mut odd = odd_fields(call, document, duplicates, unknown);
    if kind == PatchKind::Json && call.query.field_validation != FieldValidation::Ignore {
        odd.extend(odd_operations(patch));
    }
    if call.query.field_validation == FieldValidation::Strict && !odd.is_empty() {
        let why = format!("strict decoding error: {}", odd.join(", "));
        return Err(ApiError::invalid_patch(document, why));
    }
    resource.schema().apply_defaults(document);
    match type_error(resource, document) {
        Some(why) => Err(ApiError::invalid_patch(document, why)),
        None => Ok(odd),
    }
}

/// Members of JSON patch operations that mean nothing.
fn odd_operations(patch: &Value) -> Vec<String> {
    const KNOWN: [&str; 4] = ["op", "path", "from", "value"];
    let operations = patch.as_array().map(Vec::as_slice).unwrap_or_default();
    let members = operations.iter().enumerate().flat_map(|(index, operation)| {
        operation
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(name, _)| (index, name))
    });
    members
        .filter(|(_, name)| !KNOWN.contains(&name.as_str()))
        .map(|(index, name)| format!("json patch unknown field \"[{index}].{name}\""))
        .collect()
}

/// Whether the patch itself says which version it is for.
fn pins_revision(kind: PatchKind, patch: &Value) -> bool {
    match kind {
        PatchKind::Json => patch.as_array().is_some_and(|operations| {
            operations
                .iter()
                .any(|operation| operation["path"] == "/metadata/resourceVersion")
        }),
        _ => patch["metadata"]["resourceVersion"].is_string(),
    }
}

fn patch_refused(kind: PatchKind, error: PatchError) -> Box<ApiError> {
    match error {
        PatchError::Unforeseen(why) => ApiError::unthought_of(why),
        PatchError::Malformed(why) if kind == PatchKind::Strategic => ApiError::bad_request(why),
        PatchError::Malformed(why) => ApiError::bad_request(format!("error decoding patch: {why}")),
        PatchError::Unprocessable(why) => {
            // Upstream stops before the colon; which operation failed, and why, is what people need.
            let mut refusal = ApiError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                format!("the server rejected our request due to an error in our request: {why}"),
            );
            refusal.details = json!({});
            refusal
        }
        PatchError::TooManyOperations { .. } => ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            error.to_string(),
        ),
    }
}

async fn server_side_apply(call: &Call, body: &[u8]) -> ApiResult<Outcome> {
    if call.query.field_manager.is_empty() {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        return Err(crate::request::patch_options_invalid(&[error]));
    }
    let (mut config, duplicates) = decode_config(body)?;
    let resource = &*call.resource;
    let api_version = resource.api_version();
    check_config_kind(call, &config)?;
    if config["metadata"]
        .get("managedFields")
        .is_some_and(|fields| !fields.is_null())
    {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    metadata::normalise(&mut config).map_err(ApiError::bad_request)?;
    let warnings = check_duplicates(call, &duplicates)?;
    let subject = resource.subject(&call.target.name);
    let now = rfc3339_seconds(call.now());
    let writer = Writer {
        manager: call.manager(),
        api_version: &api_version,
        subresource: &call.target.subresource,
        now: &now,
    };
    let force = call.query.force.unwrap_or(false);
    let wanted = text(&config, "resourceVersion").to_owned();
    let uid = text(&config, "uid").to_owned();
    for _ in 0..UPDATE_TRIES {
        let current = call
            .server
            .store
            .accepted()
            .get(&resource.id, &call.key())
            .cloned();
        let old = current.as_deref().map(|current| current_document(call, current));
        let schema = resource.schema();
        let mut document = apply(&schema, old.as_ref(), &config, writer, force, call.reset_fields())
            .map_err(|error| apply_refused(&error))?;
        if let Some(why) = type_error(resource, &mut document) {
            return Err(unconvertible(&document, &why));
        }
        let (Some(current), Some(old)) = (current, old) else {
            if call.is_status() {
                return Err(ApiError::not_found(subject));
            }
            if !uid.is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(ApiError::conflict(subject, &why));
            }
            check_name(call, &document)?;
            check_namespace_name(call, &mut document)?;
            // A version guards what is there, and nothing else: what is not there is made.
            if let Some(metadata) = document["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
            }
            metadata::normalise(&mut document).map_err(ApiError::bad_request)?;
            match new_object(call, document, warnings.clone(), Tracking::Done).await {
                Err(error) if error.reason == "AlreadyExists" => continue,
                outcome => return outcome,
            }
        };
        check_name(call, &document)?;
        check_namespace_name(call, &mut document)?;
        check_revision(call, &wanted, &current)?;
        let change = Desired {
            document,
            tracking: Tracking::Done,
        };
        match change_object(call, &current, &old, change, warnings.clone()).await? {
            Some(outcome) => return Ok(outcome),
            None if !wanted.is_empty() => break,
            None => {}
        }
    }
    Err(ApiError::modified(subject))
}

fn decode_config(body: &[u8]) -> ApiResult<(Value, Vec<String>)> {
    match decode_document("application/apply-patch+yaml", body) {
        Ok(decoded) if decoded.0.is_object() => Ok(decoded),
        Ok(_) => Err(ApiError::bad_request(
            "error decoding YAML: the body is no object",
        )),
        Err(Undecodable::Malformed(why)) => Err(ApiError::bad_request(format!(
            "error decoding YAML: error converting YAML to JSON: {why}"
        ))),
        Err(Undecodable::UnknownFormat) => {
            Err(ApiError::unsupported_media_type("415: Unsupported Media Type"))
        }
    }
}

/// An applied configuration must say what it is.
fn check_config_kind(call: &Call, config: &Value) -> ApiResult<()> {
    let said = |field: &str| config[field].as_str().unwrap_or_default();
    let (version, kind) = (said("apiVersion"), said("kind"));
    if version == call.resource.api_version() && kind == call.resource.kind {
        return Ok(());
    }
    // Upstream prints the group before the slash even where it is empty.
    let separator = if version.contains('/') { "" } else { "/" };
    Err(ApiError::bad_request(format!(
        "invalid object type: {separator}{version}, Kind={kind}"
    )))
}

/// Duplicate keys, by the request's wish. What the schema does not know is refused by the apply itself: nobody could
/// own it.
fn check_duplicates(call: &Call, duplicates: &[String]) -> ApiResult<Vec<String>> {
    let texts: Vec<String> = duplicates
        .iter()
        .map(|path| format!("duplicate field \"{path}\""))
        .collect();
    match call.query.field_validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(texts),
        FieldValidation::Strict if texts.is_empty() => Ok(texts),
        FieldValidation::Strict => Err(ApiError::bad_request(format!(
            "error strict decoding YAML: {}",
            texts.join(", ")
        ))),
    }
}

/// 500 about an applied object with values that only a typed server looks at.
fn unconvertible(document: &Value, why: &str) -> Box<ApiError> {
    let object = describe(document);
    let kind = object.split_once("; ").map_or("", |(_, kind)| kind);
    ApiError::unthought_of(format!(
        "failed to convert new object ({object}) to proper version: unable to convert unstructured object to {kind}: \
         {why}"
    ))
}

fn apply_refused(error: &ApplyError) -> Box<ApiError> {
    let message = error.status_message();
    match error {
        ApplyError::Conflicts(conflicts) => {
            let causes: Vec<Value> = conflicts
                .iter()
                .map(|conflict| {
                    json!({
                        "reason": "FieldManagerConflict",
                        "message": conflict.cause_message(),
                        "field": conflict.field,
                    })
                })
                .collect();
            let mut refusal = ApiError::new(StatusCode::CONFLICT, "Conflict", message);
            refusal.details = json!({"causes": causes});
            refusal
        }
        ApplyError::Invalid(_) => ApiError::bad_request(message),
        ApplyError::NotTyped { .. } | ApplyError::BrokenLive(_) => {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
        }
    }
}
