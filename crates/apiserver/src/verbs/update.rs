//! PUT on an object, and the core that every change of an object goes through.

use apiary_semantics::apply::{Writer, copy_without_managers, track_update};
use apiary_semantics::{FieldError, schema::Schema};
use http::StatusCode;
use serde_json::{Value, json};

use super::commit::{self, Stored};
use super::create::{Tracking, establish, new_object};
use super::document::{
    check_fields, check_identity, check_name, check_types, differs_in_substance, dry_run, same_document,
    undecodable, validate,
};
use super::metadata::{self, has_finalizers, set, text};
use super::{Call, Document, Outcome};
use crate::clock::rfc3339_seconds;
use crate::registry::Quirk;
use crate::request::decode_object;
use crate::status::{ApiError, ApiResult, Subject};
use crate::store::{Expect, Object};

/// Tries of a write that named no revision before the client is asked to try itself.
pub(crate) const UPDATE_TRIES: usize = 32;

pub(crate) async fn replace(call: &Call, body: &[u8]) -> ApiResult<Outcome> {
    let is_custom = call.resource.custom().is_some();
    let (mut document, duplicates) = decode_object(&call.resource.kind, is_custom, &call.media_type, body)?;
    let unknown = metadata::normalise(&mut document).map_err(|why| undecodable(&call.resource, &why))?;
    check_identity(call, &mut document)?;
    check_name(call, &document)?;
    let warnings = check_fields(call, &mut document, &duplicates, unknown)?;
    let resource = &*call.resource;
    resource.schema().apply_defaults(&mut document);
    check_types(resource, &mut document)?;
    let wanted = text(&document, "resourceVersion").to_owned();
    let unconditional = resource.custom().is_none() && resource.quirk.allows_unconditional_update();
    for _ in 0..UPDATE_TRIES {
        let Some(current) = call
            .server
            .store
            .accepted()
            .get(&resource.id, &call.key())
            .cloned()
        else {
            if resource.quirk.creates_on_update() && wanted.is_empty() {
                return new_object(call, document, warnings, Tracking::Update).await;
            }
            return Err(ApiError::not_found(resource.subject(&call.target.name)));
        };
        if wanted.is_empty() && !unconditional {
            let error = FieldError::invalid(
                "metadata.resourceVersion",
                json!(0),
                "must be specified for an update",
            );
            // Upstream names the resource here where all other such refusals name the kind.
            let subject = Subject {
                kind: &resource.plural,
                ..resource.subject(&call.target.name)
            };
            return Err(ApiError::invalid(subject, &[error]));
        }
        check_revision(call, &wanted, &current)?;
        let change = Desired {
            document: document.clone(),
            tracking: Tracking::Update,
        };
        let old = current_document(call, &current);
        match change_object(call, &current, &old, change, warnings.clone()).await? {
            Some(outcome) => return Ok(outcome),
            None if wanted.is_empty() => {}
            None => break,
        }
    }
    Err(ApiError::modified(resource.subject(&call.target.name)))
}

/// Refuses a write that is meant for another version of the object; an empty `wanted` fits every one.
pub(crate) fn check_revision(call: &Call, wanted: &str, current: &Object) -> ApiResult<()> {
    if wanted.is_empty() || wanted == current.revision.to_string() {
        return Ok(());
    }
    if wanted.parse::<u64>().is_err() {
        return Err(ApiError::unthought_of(format!(
            "strconv.ParseUint: parsing \"{wanted}\": invalid syntax"
        )));
    }
    Err(ApiError::modified(call.resource.subject(&call.target.name)))
}

/// A document that shall replace the current one.
pub(crate) struct Desired {
    pub(crate) document: Value,
    pub(crate) tracking: Tracking,
}

/// Replaces `current`, which reads as `old`; `None` if it was changed meanwhile.
pub(crate) async fn change_object(
    call: &Call,
    current: &Object,
    old: &Value,
    desired: Desired,
    mut warnings: Vec<String>,
) -> ApiResult<Option<Outcome>> {
    let resource = &*call.resource;
    let now = rfc3339_seconds(call.now());
    let mut new = match merged(call, old, desired.document)? {
        Merged::Changed(document) => document,
        Merged::Finalized(document) => {
            return remove_now(call, current, document, warnings).await;
        }
    };
    let writer = Writer {
        manager: call.manager(),
        api_version: &resource.api_version(),
        subresource: &call.target.subresource,
        now: &now,
    };
    if resource.quirk == Quirk::Definition {
        establish(call, &mut new, &now);
    }
    if resource.has_generation && differs_in_substance(resource, old, &new) && !call.is_status() {
        let generation = old["metadata"]["generation"]
            .as_i64()
            .unwrap_or(0)
            .saturating_add(1);
        set(&mut new, "generation", Some(json!(generation)));
    }
    if desired.tracking == Tracking::Update {
        track_update(
            &resource.schema(),
            Some(old),
            &mut new,
            writer,
            call.reset_fields(),
        );
    }
    set(
        &mut new,
        "resourceVersion",
        Some(json!(current.revision.to_string())),
    );
    if call.target.subresource.is_empty() {
        resource.quirk.settle(&mut new, Some(old));
    }
    match validate(call, &new, Some(old)) {
        Ok(found) => warnings.extend(found),
        Err(error) => return Err(error.warned(warnings)),
    }
    let gone = new["metadata"]["deletionTimestamp"].is_string()
        && !has_finalizers(&new)
        && !held(resource.quirk, &new);
    if !gone && same_document(old, &new) {
        commit::settled(&call.server, current).await?;
        resource.store(&mut new);
        return Ok(Some(Outcome {
            code: StatusCode::OK,
            document: Document::Value(new),
            warnings,
        }));
    }
    resource.store(&mut new);
    if call.query.dry_run {
        return Ok(Some(dry_run(StatusCode::OK, new, warnings)));
    }
    if gone {
        return remove_now(call, current, new, warnings).await;
    }
    let stored = commit::put(call, Expect::Revision(current.revision), &new).await?;
    Ok(match stored {
        Stored::Done(object) => Some(Outcome {
            code: StatusCode::OK,
            document: Document::Stored(object),
            warnings,
        }),
        Stored::Raced | Stored::Orphaned => None,
    })
}

/// The current document in the form this resource serves, brought up to the present schema.
pub(crate) fn current_document(call: &Call, current: &Object) -> Value {
    let mut document = current.value();
    call.resource.show(&mut document);
    if let Some(custom) = call.resource.custom()
        && current.revision < custom.schema_since
    {
        modernise(&custom.schema.compiled(), &mut document);
    }
    document
}

/// Prunes and defaults a document that was written under another schema.
pub(crate) fn modernise(schema: &Schema, document: &mut Value) {
    schema.prune(document);
    schema.apply_defaults(document);
}

async fn remove_now(
    call: &Call,
    current: &Object,
    last: Value,
    warnings: Vec<String>,
) -> ApiResult<Option<Outcome>> {
    if call.query.dry_run {
        return Ok(Some(dry_run(StatusCode::OK, last, warnings)));
    }
    Ok(match commit::remove(call, current.revision, &last).await? {
        // The answer has the version that was last stored; only watchers see that of the removal.
        Stored::Done(_) => Some(Outcome {
            code: StatusCode::OK,
            document: Document::Value(last),
            warnings,
        }),
        Stored::Raced | Stored::Orphaned => None,
    })
}

/// A namespace is held by `spec.finalizers`, which only `/finalize` may empty.
pub(crate) fn held(quirk: Quirk, document: &Value) -> bool {
    quirk == Quirk::Namespace
        && document["spec"]["finalizers"]
            .as_array()
            .is_some_and(|finalizers| !finalizers.is_empty())
}

enum Merged {
    Changed(Value),
    /// `/finalize` took the last hold off a namespace that is being deleted.
    Finalized(Value),
}

/// What may change through this endpoint, taken from `new`; the rest from `old`.
fn merged(call: &Call, old: &Value, mut new: Value) -> ApiResult<Merged> {
    let resource = &*call.resource;
    check_uid(call, old, &new)?;
    match call.target.subresource.as_str() {
        "finalize" => {
            let mut document = old.clone();
            document["spec"]["finalizers"] = new["spec"]["finalizers"].take();
            if document["spec"]["finalizers"].is_null() {
                document["spec"]["finalizers"] = json!([]);
            }
            let done = document["metadata"]["deletionTimestamp"].is_string()
                && !has_finalizers(&document)
                && !held(resource.quirk, &document);
            return Ok(if done {
                Merged::Finalized(document)
            } else {
                Merged::Changed(document)
            });
        }
        "status" => {
            let mut document = copy_without_managers(old, &["status"]);
            let managed = new["metadata"]["managedFields"].take();
            set(
                &mut document,
                "managedFields",
                (!managed.is_null()).then_some(managed),
            );
            if let Some(fields) = document.as_object_mut()
                && let Some(status) = new.get_mut("status").map(Value::take)
                && !status.is_null()
            {
                fields.insert("status".to_owned(), status);
            }
            new = document;
        }
        _ => {
            if resource.has_status
                && let Some(fields) = new.as_object_mut()
            {
                match old.get("status") {
                    Some(status) => fields.insert("status".to_owned(), status.clone()),
                    None => fields.remove("status"),
                };
            }
            for field in [
                "uid",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "generation",
                "generateName",
                "selfLink",
                "namespace",
                "name",
            ] {
                let kept = old["metadata"].get(field).cloned();
                set(&mut new, field, kept);
            }
            if new["metadata"].get("managedFields").is_none() {
                set(
                    &mut new,
                    "managedFields",
                    old["metadata"].get("managedFields").cloned(),
                );
            }
            resource.quirk.complete(&mut new, Some(old));
        }
    }
    if resource.custom().is_some() {
        // What was decoded has lost its nulls already; one that an apply makes is refused.
        resource.schema().fill_defaults(&mut new);
    } else {
        resource.schema().apply_defaults(&mut new);
    }
    resource.tidy(&mut new);
    Ok(Merged::Changed(new))
}

fn check_uid(call: &Call, old: &Value, new: &Value) -> ApiResult<()> {
    let (had, has) = (text(old, "uid"), text(new, "uid"));
    if has.is_empty() || has == had {
        return Ok(());
    }
    let why = format!("Precondition failed: UID in precondition: {has}, UID in object meta: {had}");
    Err(ApiError::conflict(call.resource.subject(&call.target.name), &why))
}
