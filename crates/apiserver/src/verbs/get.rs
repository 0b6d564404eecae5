//! GET on an object.

use http::StatusCode;

use super::{Call, Document, Outcome};
use crate::status::{ApiError, ApiResult};

pub(crate) fn get(call: &Call) -> ApiResult<Outcome> {
    let state = call.server.store.visible();
    if let Some(wanted) = call.query.revision().map_err(ApiError::unthought_of)?
        && wanted > state.revision
    {
        return Err(ApiError::revision_too_large(wanted, state.revision));
    }
    match state.get(&call.resource.id, &call.key()) {
        Some(object) => Ok(Outcome {
            code: StatusCode::OK,
            document: Document::Stored(object.clone()),
            warnings: Vec::new(),
        }),
        None => Err(ApiError::not_found(call.resource.subject(&call.target.name))),
    }
}
