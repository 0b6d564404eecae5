//! Storing a document, and what follows from it.

use std::sync::Arc;

use super::Call;
use crate::registry::Quirk;
use crate::server::Inner;
use crate::status::{ApiError, ApiResult};
use crate::store::{Change, CommitError, Draft, Expect, Object, Write};
use serde_json::Value;

/// What came of trying to store.
pub(crate) enum Stored {
    /// It is durable and visible.
    Done(Arc<Object>),
    /// Somebody else was faster.
    Raced,
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
    let change = Change {
        resource: call.resource.id.clone(),
        expect,
        write,
    };
    let outcome = call.server.store.commit(change).await;
    if outcome.is_ok() && call.resource.quirk == Quirk::Definition {
        // Before the answer, so that who made a definition can use it at once.
        call.server.refresh_registry(&call.server.store.visible());
    }
    match outcome {
        Ok(object) => Ok(Stored::Done(object)),
        Err(CommitError::Conflict) => Ok(Stored::Raced),
        Err(CommitError::Closed) => Err(closed()),
    }
}

/// Waits until what a no-op answer rests on is durable.
pub(crate) async fn settled(server: &Inner, object: &Object) -> ApiResult<()> {
    server.store.settled(object.revision).await.map_err(|_| closed())
}

fn closed() -> Box<ApiError> {
    ApiError::new(
        http::StatusCode::SERVICE_UNAVAILABLE,
        "ServiceUnavailable",
        "the server is shutting down and takes no more writes",
    )
}
