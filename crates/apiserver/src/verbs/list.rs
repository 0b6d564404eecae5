//! GET on a collection.
//!
//! A limited list is continued from the same revision: the token carries it, and the store rebuilds the table as it
//! was then, for as long as history is kept.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::Call;
use super::selection::Selection;
use crate::request::VersionMatch;
use crate::status::{ApiError, ApiResult};
use crate::store::{Object, ObjectKey, Table};

/// One page.
pub(crate) struct Page {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<Arc<Object>>,
    pub(crate) continue_token: String,
    pub(crate) remaining: Option<usize>,
}

pub(crate) fn list(call: &Call) -> ApiResult<Page> {
    call.query.check_list()?;
    let selection = Selection::of(call)?;
    let (table, revision, after) = snapshot(call)?;
    let mut page = Page {
        revision,
        objects: Vec::new(),
        continue_token: String::new(),
        remaining: None,
    };
    let limit = call.query.limit;
    let mut candidates = selection.candidates(&table, after.as_ref());
    for object in candidates.by_ref() {
        if !selection.matches(&call.resource, object) {
            continue;
        }
        if limit > 0 && page.objects.len() == limit {
            // `object` is the first one of the next page.
            page.remaining = (!selection.is_selective()).then(|| candidates.count() + 1);
            page.continue_token = token(revision, page.objects.last().map(|last| &last.key));
            break;
        }
        page.objects.push(object.clone());
    }
    Ok(page)
}

fn snapshot(call: &Call) -> ApiResult<(Table, u64, Option<ObjectKey>)> {
    let store = &call.server.store;
    let resource = &call.resource.id;
    if !call.query.continue_token.is_empty() {
        if !matches!(call.query.resource_version.as_str(), "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(ApiError::bad_request(why));
        }
        let (revision, after) = read_token(&call.query.continue_token)?;
        let namespace = call.target.namespace.as_str();
        if revision > store.visible().revision || !(namespace.is_empty() || after.namespace() == namespace) {
            return Err(foreign_token());
        }
        let table = store.table_at(resource, revision).map_err(|_| {
            ApiError::expired(
                "The provided continue parameter is too old to display a consistent list result. \
                 You must start a new list without the continue parameter.",
            )
        })?;
        return Ok((table, revision, Some(after)));
    }
    let state = store.visible();
    let wanted = call
        .query
        .revision()
        .map_err(|why| ApiError::bad_request(format!("invalid resource version: {why}")))?;
    match (wanted, call.query.version_match) {
        (Some(wanted), _) if wanted > state.revision => {
            Err(ApiError::revision_too_large(wanted, state.revision))
        }
        (Some(wanted), Some(VersionMatch::Exact)) => {
            let table = store.table_at(resource, wanted).map_err(|expired| {
                ApiError::expired(format!(
                    "The resourceVersion for the provided list is too old: {wanted} ({})",
                    expired.oldest
                ))
            })?;
            Ok((table, wanted, None))
        }
        _ => Ok((state.table(resource), state.revision, None)),
    }
}

fn token(revision: u64, last: Option<&ObjectKey>) -> String {
    let start = last
        .map(|key| format!("{}/{}", key.namespace(), key.name()))
        .unwrap_or_default();
    let body = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start});
    URL_SAFE_NO_PAD.encode(body.to_string())
}

fn read_token(text: &str) -> ApiResult<(u64, ObjectKey)> {
    let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
    let body: Option<Value> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let read = body.and_then(|body| {
        let (namespace, name) = body["start"].as_str()?.split_once('/')?;
        Some((body["rv"].as_u64()?, ObjectKey::new(namespace, name)))
    });
    read.ok_or_else(foreign_token)
}

fn foreign_token() -> Box<ApiError> {
    ApiError::bad_request(
        "invalid continue token: continue key is not valid: it was not issued by this server for this list",
    )
}
