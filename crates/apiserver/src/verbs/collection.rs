//! DELETE on a collection.

use futures::{StreamExt, stream};

use super::Call;
use super::delete::{DeleteOptions, delete_object};
use super::list::{Page, list};
use crate::request::Target;
use crate::status::ApiResult;

/// Deletions under way at once.
const AT_A_TIME: usize = 16;

/// Deletes what the selection finds and returns what was there.
pub(crate) async fn delete_collection(call: &Call, body: &[u8]) -> ApiResult<Page> {
    let options = DeleteOptions::read(call, body)?;
    let page = list(call)?;
    let calls: Vec<Call> = page
        .objects
        .iter()
        .map(|object| {
            call.retargeted(Target {
                namespace: object.key.namespace().to_owned(),
                name: object.key.name().to_owned(),
                ..call.target.clone()
            })
        })
        .collect();
    // Several at a time, so that they share commits.
    let deletions = calls.into_iter().map(|one| {
        let options = options.clone();
        async move { delete_object(&one, &options).await }
    });
    let mut outcomes = stream::iter(deletions).buffer_unordered(AT_A_TIME);
    while let Some(outcome) = outcomes.next().await {
        match outcome {
            Err(error) if error.reason != "NotFound" => return Err(error),
            // Somebody else deleted it, which is what was wanted.
            Ok(_) | Err(_) => {}
        }
    }
    drop(outcomes);
    Ok(page)
}
