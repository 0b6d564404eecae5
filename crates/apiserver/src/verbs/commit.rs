//! Storing a document, and what follows from it.

use std::sync::Arc;

use super::Call;
use crate::registry::Quirk;
use crate::server::{DEFINITIONS, Inner};
use crate::status::{ApiError, ApiResult};
use crate::store::{Change, CommitError, Draft, Expect, Object, ObjectKey, Requirement, Write};
use serde_json::Value;

/// What came of trying to store.
pub(crate) enum Stored {
    /// It is durable and visible.
    Done(Arc<Object>),
    /// Somebody else was faster.
    Raced,
    /// The namespace or the definition went meanwhile.
    Orphaned,
}

/// Stores a new version.
pub(crate) async fn put(call: &Call, expect: Expect, document: &Value) -> ApiResult<Stored> {
    write(call, expect, Write::Put(Draft::new(document))).await
}

/// Removes the object, telling watchers its last version.
pub(crate) async fn remove(call: &Call, revision: u64, last: &Value) -> ApiResult<Stored> {
    write(call, Expect::Revision(revision), Write::Remove(Draft::new(last))).await
}

async fn write(call: &Call, expect: Expect, write: Write) -> ApiResult<Stored> {
    let requires = if expect == Expect::Absent {
        requirements(call)
    } else {
        Vec::new()
    };
    let change = Change {
        resource: call.resource.id.clone(),
        expect,
        write,
        requires,
    };
    let outcome = call.server.store.commit(change).await;
    if outcome.is_ok() && call.resource.quirk == Quirk::Definition {
        // Before the answer, so that who made a definition can use it at once.
        call.server.refresh_registry();
    }
    match outcome {
        Ok(object) => Ok(Stored::Done(object)),
        Err(CommitError::Conflict) => Ok(Stored::Raced),
        Err(CommitError::Orphaned) => Ok(Stored::Orphaned),
        Err(error @ (CommitError::Closed | CommitError::Failed)) => Err(unavailable(error)),
    }
}

/// What a new object belongs to. It was there when the request was checked; only the commit can tell that it still is.
fn requirements(call: &Call) -> Vec<Requirement> {
    let namespace = call.resource.namespaced.then(|| Requirement {
        resource: "namespaces".into(),
        key: ObjectKey::new("", &call.target.namespace),
        uid: None,
    });
    let definition = call.resource.custom().map(|custom| Requirement {
        resource: DEFINITIONS.into(),
        key: ObjectKey::new("", &call.resource.id),
        uid: Some(custom.definition_uid.as_str().into()),
    });
    namespace.into_iter().chain(definition).collect()
}

/// Waits until what a no-op answer rests on is durable.
pub(crate) async fn settled(server: &Inner, object: &Object) -> ApiResult<()> {
    server.store.settled(object.revision).await.map_err(unavailable)
}

fn unavailable(error: CommitError) -> Box<ApiError> {
    ApiError::new(
        http::StatusCode::SERVICE_UNAVAILABLE,
        "ServiceUnavailable",
        format!("the write was not kept: {error}"),
    )
}
