//! Request bodies.

use apiary_semantics::{proto, strict_json};
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use crate::status::{ApiError, ApiResult};

/// The largest body that is read: upstream's limit.
pub(crate) const MAX_BODY: usize = 3 << 20;

/// Reads a body, refusing one that is too large.
pub(crate) async fn read_body(body: Body) -> ApiResult<Bytes> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {MAX_BODY}"),
        )),
        Err(error) => Err(ApiError::bad_request(format!(
            "the request body could not be read: {error}"
        ))),
    }
}

/// The media type of the body, without parameters; empty if absent.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// Reads a document in any accepted format; returns it with the paths of duplicate keys.
pub(crate) fn decode_document(media_type: &str, body: &[u8]) -> ApiResult<(Value, Vec<String>)> {
    match media_type {
        _ if proto::is_protobuf(body) => match proto::decode(body) {
            Ok(document) => Ok((document, Vec::new())),
            Err(error) => Err(ApiError::bad_request(error.to_string())),
        },
        ""
        | "application/json"
        | "application/json-patch+json"
        | "application/merge-patch+json"
        | "application/strategic-merge-patch+json" => decode_json(body),
        "application/yaml" | "application/apply-patch+yaml" => decode_yaml(body),
        _ => Err(ApiError::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

fn decode_json(body: &[u8]) -> ApiResult<(Value, Vec<String>)> {
    strict_json::parse(body).map_err(|error| {
        ApiError::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
    })
}

/// JSON is YAML, and by far the more common: it is tried first, since its reader finds duplicates.
fn decode_yaml(body: &[u8]) -> ApiResult<(Value, Vec<String>)> {
    if let Ok(found) = strict_json::parse(body) {
        return Ok(found);
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))?;
    // `y` and `on` are texts, as they are for the YAML reader of Kubernetes' own clients.
    let options = serde_saphyr::options! { strict_booleans: true };
    let document = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))?;
    Ok((document, Vec::new()))
}
