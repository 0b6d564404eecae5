//! POST to a collection.

use apiary_semantics::apply::{Writer, track_update};
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::commit::{self, Stored};
use super::document::{
    check_fields, check_identity, check_types, clear_system_fields, dry_run, undecodable, validate,
};
use super::metadata::{self, set, text};
use super::{Call, Document, Outcome};
use crate::clock::rfc3339_seconds;
use crate::registry::{Quirk, settle_definition};
use crate::request::decode_object;
use crate::server::DEFINITIONS;
use crate::status::{ApiError, ApiResult, Subject};
use crate::store::{Expect, ObjectKey};

/// As many tries as upstream makes for a generated name.
const NAME_TRIES: usize = 8;
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
const MAX_GENERATED_BASE: usize = 63 - SUFFIX_LENGTH;

pub(crate) async fn create(call: &Call, body: &[u8]) -> ApiResult<Outcome> {
    let is_custom = call.resource.custom().is_some();
    let (mut document, duplicates) = decode_object(&call.resource.kind, is_custom, &call.media_type, body)?;
    let unknown = metadata::normalise(&mut document).map_err(|why| undecodable(&call.resource, &why))?;
    check_identity(call, &mut document)?;
    let warnings = check_fields(call, &mut document, &duplicates, unknown)?;
    if !text(&document, "resourceVersion").is_empty() {
        return Err(ApiError::unthought_of(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let told = warnings.clone();
    new_object(call, document, warnings, Tracking::Update)
        .await
        .map_err(|error| error.warned(told))
}

/// Who is recorded as the owner of a new object's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// The writer, as of an update.
    Update,
    /// Server-side apply has recorded it already.
    Done,
}

/// Creates an object from a document that is decoded and pruned.
pub(crate) async fn new_object(
    call: &Call,
    mut document: Value,
    warnings: Vec<String>,
    tracking: Tracking,
) -> ApiResult<Outcome> {
    let resource = &*call.resource;
    check_namespace(call, text(&document, "name"))?;
    let schema = resource.schema();
    if tracking == Tracking::Done && resource.custom().is_some() {
        schema.fill_defaults(&mut document);
    } else {
        schema.apply_defaults(&mut document);
    }
    check_types(resource, &mut document)?;
    clear_system_fields(resource, &mut document);
    if resource.has_status
        && let Some(fields) = document.as_object_mut()
    {
        fields.remove("status");
    }
    resource.quirk.complete(&mut document, None);
    resource.tidy(&mut document);
    let now = rfc3339_seconds(call.now());
    set(&mut document, "creationTimestamp", Some(json!(now)));
    if resource.has_generation {
        set(&mut document, "generation", Some(json!(1)));
    }
    let generate = text(&document, "generateName").to_owned();
    let generated = text(&document, "name").is_empty() && !generate.is_empty();
    for _ in 0..NAME_TRIES {
        let mut document = document.clone();
        if generated {
            set(&mut document, "name", Some(json!(generated_name(&generate))));
        }
        set(&mut document, "uid", Some(json!(Uuid::new_v4().to_string())));
        if resource.quirk == Quirk::Definition {
            establish(call, &mut document, &now);
        }
        if tracking == Tracking::Update {
            let writer = Writer {
                manager: call.manager(),
                api_version: &resource.api_version(),
                subresource: "",
                now: &now,
            };
            track_update(&schema, None, &mut document, writer, call.reset_fields());
        }
        resource.quirk.settle(&mut document, None);
        let mut warnings = warnings.clone();
        warnings.extend(validate(call, &document, None)?);
        resource.store(&mut document);
        let name = text(&document, "name").to_owned();
        let key = ObjectKey::new(text(&document, "namespace"), &name);
        if call.query.dry_run {
            if call.server.store.accepted().get(&resource.id, &key).is_some() {
                return Err(already_exists(call, &key));
            }
            return Ok(dry_run(StatusCode::CREATED, document, warnings));
        }
        match commit::put(call, Expect::Absent, &document).await? {
            Stored::Done(object) => {
                return Ok(Outcome {
                    code: StatusCode::CREATED,
                    document: Document::Stored(object),
                    warnings,
                });
            }
            Stored::Raced if generated => {}
            Stored::Raced => return Err(already_exists(call, &key)),
            Stored::Orphaned => {
                check_namespace(call, &name)?;
                return Err(ApiError::modified(resource.subject(&name)));
            }
        }
    }
    let mut error = ApiError::already_exists(resource.subject(&generate));
    error.message = format!("{} (generateName: {NAME_TRIES} names were taken)", error.message);
    Err(error)
}

/// The name is taken, perhaps by an object that is on its way out.
fn already_exists(call: &Call, key: &ObjectKey) -> Box<ApiError> {
    let mut error = ApiError::already_exists(call.resource.subject(key.name()));
    let accepted = call.server.store.accepted();
    if accepted
        .get(&call.resource.id, key)
        .is_some_and(|found| found.deleting)
    {
        error.message.insert_str(0, "object is being deleted: ");
    }
    error
}

/// Objects can only be made in namespaces that exist and stay.
fn check_namespace(call: &Call, name: &str) -> ApiResult<()> {
    if let Some(custom) = call.resource.custom()
        && custom.terminating
    {
        return Err(ApiError::forbidden(
            call.resource.subject(name),
            "create not allowed while custom resource definition is terminating",
        ));
    }
    if !call.resource.namespaced {
        return Ok(());
    }
    let namespace = call.target.namespace.as_str();
    let subject = Subject {
        group: "",
        resource: "namespaces",
        kind: "Namespace",
        name: namespace,
    };
    match call
        .server
        .store
        .accepted()
        .get("namespaces", &ObjectKey::new("", namespace))
    {
        None => Err(ApiError::not_found(subject)),
        Some(found) if found.deleting => {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let mut error = ApiError::forbidden(call.resource.subject(name), &why);
            error.details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            }]);
            Err(error)
        }
        Some(_) => Ok(()),
    }
}

/// Decides a definition's conditions at once: there is no second party that could disagree.
pub(crate) fn establish(call: &Call, definition: &mut Value, now: &str) {
    // Names clash within a group only, and a definition's own name tells its group without reading it.
    let group = format!(".{}", definition["spec"]["group"].as_str().unwrap_or_default());
    let others: Vec<Value> = call
        .server
        .store
        .accepted()
        .table(DEFINITIONS)
        .values()
        .filter(|object| object.key.name().ends_with(&group))
        .map(|object| object.value())
        .collect();
    settle_definition(definition, &others, now);
}

fn generated_name(base: &str) -> String {
    let mut cut = base.len().min(MAX_GENERATED_BASE);
    while !base.is_char_boundary(cut) {
        cut -= 1;
    }
    let random = Uuid::new_v4().into_bytes();
    let suffix = random
        .iter()
        .take(SUFFIX_LENGTH)
        .map(|byte| char::from(SUFFIX_LETTERS[usize::from(*byte) % SUFFIX_LETTERS.len()]));
    base[..cut].chars().chain(suffix).collect()
}
