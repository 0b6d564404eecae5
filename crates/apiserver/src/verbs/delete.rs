//! DELETE on an object.

use apiary_semantics::{FieldError, FieldErrorKind};
use http::StatusCode;
use serde_json::{Value, json};

use super::commit::{self, Stored};
use super::metadata::{has_finalizers, set};
use super::update::{UPDATE_TRIES, current_document, held};
use super::{Call, Document, Outcome};
use crate::clock::rfc3339_seconds;
use crate::registry::Quirk;
use crate::request::{Undecodable, decode_document, delete_options_invalid};
use crate::status::{self, ApiError, ApiResult, Subject};
use crate::store::{Expect, Object};

/// Holds an owner until the dependents that block it are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Holds an owner until its dependents have been let go.
pub(crate) const ORPHAN: &str = "orphan";

/// What becomes of dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// `DeleteOptions`, from body and query.
#[derive(Debug, Clone)]
pub(crate) struct DeleteOptions {
    pub(crate) propagation: Propagation,
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    pub(crate) fn background() -> Self {
        Self {
            propagation: Propagation::Background,
            uid: None,
            revision: None,
            dry_run: false,
        }
    }

    /// From the body if there is one, else from the query: as upstream, never from both.
    pub(crate) fn read(call: &Call, body: &[u8]) -> ApiResult<Self> {
        if body.is_empty() {
            let policy = call.query.propagation_policy.as_deref();
            return Ok(Self {
                propagation: propagation(policy, call.query.orphan_dependents)?,
                uid: None,
                revision: None,
                dry_run: call.query.dry_run,
            });
        }
        let (document, _) = decode_document(&call.media_type, body).map_err(|error| match error {
            Undecodable::Malformed(why) => ApiError::bad_request(why),
            Undecodable::UnknownFormat => ApiError::unsupported_media_type("415: Unsupported Media Type"),
        })?;
        let kind = document["kind"].as_str().unwrap_or_default();
        if !document.is_object() || !matches!(kind, "" | "DeleteOptions") {
            return Err(ApiError::bad_request(format!(
                "decoded object cannot be converted to DeleteOptions: it is of kind \"{kind}\""
            )));
        }
        // An option that is not understood must not turn into a deletion without it.
        let preconditions = &document["preconditions"];
        if !(preconditions.is_null() || preconditions.is_object()) {
            return Err(mistyped("preconditions", "Preconditions"));
        }
        let orphan = match &document["orphanDependents"] {
            Value::Null => None,
            Value::Bool(orphan) => Some(*orphan),
            _ => return Err(mistyped("orphanDependents", "bool")),
        };
        Ok(Self {
            propagation: propagation(text(&document, "propagationPolicy")?, orphan)?,
            uid: text(preconditions, "uid")?.map(str::to_owned),
            revision: text(preconditions, "resourceVersion")?.map(str::to_owned),
            dry_run: dry_run(&document["dryRun"])?,
        })
    }
}

fn text<'a>(options: &'a Value, field: &str) -> ApiResult<Option<&'a str>> {
    match &options[field] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(mistyped(field, "string")),
    }
}

fn dry_run(wish: &Value) -> ApiResult<bool> {
    match wish {
        Value::Null => Ok(false),
        Value::Array(stages) if stages.is_empty() => Ok(false),
        Value::Array(stages) if stages.iter().all(|stage| stage == "All") => Ok(true),
        Value::Array(_) => Err(delete_options_invalid(FieldError::new(
            FieldErrorKind::NotSupported,
            "dryRun",
            Some(wish.clone()),
            "supported values: \"All\"",
        ))),
        _ => Err(mistyped("dryRun", "[]string")),
    }
}

fn mistyped(field: &str, expected: &str) -> Box<ApiError> {
    ApiError::bad_request(format!(
        "json: cannot unmarshal into Go struct field DeleteOptions.{field} of type {expected}"
    ))
}

fn propagation(policy: Option<&str>, orphan: Option<bool>) -> ApiResult<Propagation> {
    match (policy, orphan) {
        (None, None | Some(false)) | (Some("Background"), None) => Ok(Propagation::Background),
        (Some("Foreground"), None) => Ok(Propagation::Foreground),
        (Some("Orphan"), None) | (None, Some(true)) => Ok(Propagation::Orphan),
        (Some(policy), Some(_)) => Err(delete_options_invalid(FieldError::invalid(
            "propagationPolicy",
            json!(policy),
            "orphanDependents and deletionPropagation cannot be both set",
        ))),
        (Some(policy), None) => Err(delete_options_invalid(FieldError::new(
            FieldErrorKind::NotSupported,
            "propagationPolicy",
            Some(json!(policy)),
            "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
        ))),
    }
}

pub(crate) async fn delete(call: &Call, body: &[u8]) -> ApiResult<Outcome> {
    let options = DeleteOptions::read(call, body)?;
    delete_object(call, &options).await
}

/// Deletes the call's object, or marks it if something holds it.
pub(crate) async fn delete_object(call: &Call, options: &DeleteOptions) -> ApiResult<Outcome> {
    let resource = &*call.resource;
    let subject = resource.subject(&call.target.name);
    if let Some(why) = resource.quirk.undeletable(&call.target.name) {
        return Err(ApiError::forbidden(subject, why));
    }
    for _ in 0..UPDATE_TRIES {
        let Some(current) = call
            .server
            .store
            .accepted()
            .get(&resource.id, &call.key())
            .cloned()
        else {
            return Err(ApiError::not_found(subject));
        };
        check_preconditions(call, options, &current)?;
        let mut document = current_document(call, &current);
        mark(call, &mut document, options.propagation);
        if has_finalizers(&document) || held(resource.quirk, &document) {
            resource.store(&mut document);
            if options.dry_run || current.deleting {
                commit::settled(&call.server, &current).await?;
                let document = if options.dry_run {
                    Document::Value(document)
                } else {
                    Document::Stored(current)
                };
                return Ok(Outcome {
                    code: StatusCode::OK,
                    document,
                    warnings: Vec::new(),
                });
            }
            match commit::put(call, Expect::Revision(current.revision), &document).await? {
                Stored::Done(object) => {
                    let document = Document::Stored(object);
                    return Ok(Outcome {
                        code: StatusCode::OK,
                        document,
                        warnings: Vec::new(),
                    });
                }
                Stored::Raced | Stored::Orphaned => continue,
            }
        }
        let removed = status::deleted(subject, &current.uid);
        let outcome = Outcome {
            code: StatusCode::OK,
            document: Document::Value(removed),
            warnings: Vec::new(),
        };
        if options.dry_run {
            return Ok(outcome);
        }
        // Watchers see the object as it was, without the mark that it never carried.
        let last = current.value();
        if let Stored::Done(_) = commit::remove(call, current.revision, &last).await? {
            return Ok(outcome);
        }
    }
    Err(ApiError::modified(subject))
}

fn check_preconditions(call: &Call, options: &DeleteOptions, current: &Object) -> ApiResult<()> {
    // Upstream names the kind here, where other conflicts name the resource.
    let subject = Subject {
        resource: &call.resource.kind,
        ..call.resource.subject(&call.target.name)
    };
    let conflict = |what: &str, wanted: &str, found: &str| {
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). \
             The object might have been {}",
            if what == "UID" {
                "deleted and then recreated"
            } else {
                "modified"
            }
        );
        Err(ApiError::conflict(subject, &why))
    };
    if let Some(uid) = &options.uid
        && **uid != *current.uid
    {
        return conflict("UID", uid, &current.uid);
    }
    if let Some(revision) = &options.revision
        && *revision != current.revision.to_string()
    {
        return conflict("ResourceVersion", revision, &current.revision.to_string());
    }
    Ok(())
}

/// Sets the deletion timestamp, the finalizer that the propagation needs, and the new generation.
fn mark(call: &Call, document: &mut Value, propagation: Propagation) {
    if document["metadata"]["deletionTimestamp"].is_string() {
        return;
    }
    set(
        document,
        "deletionTimestamp",
        Some(json!(rfc3339_seconds(call.now()))),
    );
    if call.resource.quirk != Quirk::Namespace {
        set(document, "deletionGracePeriodSeconds", Some(json!(0)));
    }
    if let Some(generation) = document["metadata"]["generation"].as_i64() {
        set(document, "generation", Some(json!(generation.saturating_add(1))));
    }
    let finalizer = match propagation {
        Propagation::Background => None,
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
    };
    if let Some(finalizer) = finalizer {
        let mut finalizers = document["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if !finalizers.iter().any(|name| name == finalizer) {
            finalizers.push(json!(finalizer));
        }
        set(document, "finalizers", Some(Value::Array(finalizers)));
    }
    if call.resource.quirk == Quirk::Namespace {
        document["status"] = json!({"phase": "Terminating"});
    }
}
