//! PATCH: the three patch formats and server-side apply.

use apiary_semantics::FieldError;
use apiary_semantics::apply::{ApplyError, Writer, apply};
use apiary_semantics::patch::{PatchError, json_patch, merge_patch, strategic_merge};
use http::StatusCode;
use serde_json::{Value, json};

use super::create::{Tracking, new_object};
use super::document::{check_fields, check_identity};
use super::metadata::{self, set, text};
use super::update::{Desired, UPDATE_TRIES, change_object, current_document};
use super::{Call, Outcome};
use crate::clock::rfc3339_seconds;
use crate::request::{FieldValidation, decode_document};
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
            let mut known = vec![
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ];
            if !custom {
                known.insert(2, "application/strategic-merge-patch+json");
            }
            return Err(ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                known.join(", ")
            )));
        }
    };
    if kind != PatchKind::Apply && call.query.force.is_some() {
        let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(crate::request::patch_options_invalid(&[error]));
    }
    Ok(kind)
}

async fn modify(call: &Call, kind: PatchKind, body: &[u8]) -> ApiResult<Outcome> {
    let (patch, duplicates) = decode_document(&call.media_type, body)
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {}", error.message)))?;
    if kind != PatchKind::Json && !patch.is_object() {
        return Err(ApiError::bad_request(
            "error decoding patch: the patch is not a JSON object",
        ));
    }
    let resource = &*call.resource;
    let subject = resource.subject(&call.target.name);
    for _ in 0..UPDATE_TRIES {
        let accepted = call.server.store.accepted();
        let Some(current) = accepted.get(&resource.id, &call.key()).cloned() else {
            return Err(ApiError::not_found(subject));
        };
        let old = current_document(call, &current);
        let mut document = match kind {
            PatchKind::Json => json_patch(&old, &patch),
            PatchKind::Strategic => strategic_merge(&old, &patch, &resource.schema()),
            PatchKind::Merge | PatchKind::Apply => {
                let mut document = old.clone();
                merge_patch(&mut document, &patch);
                Ok(document)
            }
        }
        .map_err(|error| patch_refused(call, error))?;
        let unknown = metadata::normalise(&mut document)?;
        check_identity(call, &mut document)?;
        check_patched_name(call, &document)?;
        let warnings = check_fields(call, &mut document, &duplicates, unknown)?;
        let wanted = text(&document, "resourceVersion").to_owned();
        if !wanted.is_empty() && wanted != current.revision.to_string() {
            return Err(ApiError::modified(subject));
        }
        let pinned = pins_revision(kind, &patch);
        let change = Desired {
            document,
            tracking: Tracking::Update,
        };
        match change_object(call, &current, change, warnings).await? {
            Some(outcome) => return Ok(outcome),
            None if pinned => break,
            None => {}
        }
    }
    Err(ApiError::modified(subject))
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

fn check_patched_name(call: &Call, document: &Value) -> ApiResult<()> {
    let name = text(document, "name");
    if name == call.target.name {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({})",
        call.target.name
    )))
}

fn patch_refused(call: &Call, error: PatchError) -> Box<ApiError> {
    match error {
        PatchError::Malformed(why) => ApiError::bad_request(why),
        PatchError::Unprocessable(why) => {
            let mut refusal = ApiError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                format!("the server rejected our request due to an error in our request: {why}"),
            );
            refusal.details = json!({"name": call.target.name, "kind": call.resource.plural});
            if !call.resource.group.is_empty() {
                refusal.details["group"] = json!(call.resource.group);
            }
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
    let (mut config, duplicates) = decode_document("application/apply-patch+yaml", body)?;
    if config["metadata"]
        .get("managedFields")
        .is_some_and(|fields| !fields.is_null())
    {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    metadata::normalise(&mut config)?;
    check_identity(call, &mut config)?;
    if text(&config, "name").is_empty() {
        set(&mut config, "name", Some(json!(call.target.name)));
    }
    check_patched_name(call, &config)?;
    let warnings = check_duplicates(call, &duplicates)?;
    let resource = &*call.resource;
    let subject = resource.subject(&call.target.name);
    let now = rfc3339_seconds(call.now());
    let api_version = resource.api_version();
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
        if current.is_none() && (call.is_status() || !uid.is_empty() || !wanted.is_empty()) {
            return Err(if call.is_status() {
                ApiError::not_found(subject)
            } else {
                let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: ");
                if uid.is_empty() {
                    ApiError::not_found(subject)
                } else {
                    ApiError::conflict(subject, &why)
                }
            });
        }
        if let Some(current) = &current
            && !wanted.is_empty()
            && wanted != current.revision.to_string()
        {
            return Err(ApiError::modified(subject));
        }
        let schema = resource.schema();
        let document = apply(&schema, old.as_ref(), &config, writer, force, call.reset_fields())
            .map_err(|error| apply_refused(&error))?;
        let Some(current) = current else {
            let mut fresh = document;
            metadata::normalise(&mut fresh)?;
            match new_object(call, fresh, warnings.clone(), Tracking::Done).await {
                Err(error) if error.reason == "AlreadyExists" => continue,
                outcome => return outcome,
            }
        };
        let change = Desired {
            document,
            tracking: Tracking::Done,
        };
        match change_object(call, &current, change, warnings.clone()).await? {
            Some(outcome) => return Ok(outcome),
            None if !wanted.is_empty() => break,
            None => {}
        }
    }
    Err(ApiError::modified(subject))
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
