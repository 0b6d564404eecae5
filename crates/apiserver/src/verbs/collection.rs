//! DELETE on a collection.

use super::Call;
use super::delete::{DeleteOptions, delete_object};
use super::list::{Page, list};
use crate::request::Target;
use crate::status::ApiResult;

/// Deletes what the selection finds, one by one, and returns what was there.
pub(crate) async fn delete_collection(call: &Call, body: &[u8]) -> ApiResult<Page> {
    let options = DeleteOptions::read(call, body)?;
    let page = list(call)?;
    for object in &page.objects {
        let target = Target {
            namespace: object.key.namespace().to_owned(),
            name: object.key.name().to_owned(),
            ..call.target.clone()
        };
        let one = call.retargeted(target);
        match delete_object(&one, &options).await {
            Err(error) if error.reason != "NotFound" => return Err(error),
            // Somebody else deleted it, which is what was wanted.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(page)
}
