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

/// Why a body is no document.
#[derive(Debug)]
pub(crate) enum Undecodable {
    /// Its bytes make no sense; the sentence says why.
    Malformed(String),
    /// Nobody here reads this format.
    UnknownFormat,
}

/// Reads a document in any accepted format; returns it with the paths of duplicate keys.
pub(crate) fn decode_document(media_type: &str, body: &[u8]) -> Result<(Value, Vec<String>), Undecodable> {
    match media_type {
        _ if proto::is_protobuf(body) => match proto::decode(body) {
            Ok(document) => Ok((document, Vec::new())),
            Err(error) => Err(Undecodable::Malformed(error.to_string())),
        },
        "" | "application/json" => decode_json(body).map_err(|why| {
            Undecodable::Malformed(format!("couldn't get version/kind; json parse error: {why}"))
        }),
        "application/yaml" | "application/apply-patch+yaml" => {
            decode_yaml(body).map_err(Undecodable::Malformed)
        }
        "application/vnd.kubernetes.protobuf" => Err(Undecodable::Malformed(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
                .to_owned(),
        )),
        _ => Err(Undecodable::UnknownFormat),
    }
}

/// Reads an object to be stored; a refusal names the kind it should have been. A document of a built-in kind may leave
/// the kind unsaid, which a `must_say_kind` one may not.
pub(crate) fn decode_object(
    kind: &str,
    must_say_kind: bool,
    media_type: &str,
    body: &[u8],
) -> ApiResult<(Value, Vec<String>)> {
    let unrecognised = |why: &str| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({})",
            excerpt(body)
        ))
    };
    let decoded = decode_document(media_type, body).map_err(|error| match error {
        Undecodable::Malformed(why) => unrecognised(&why),
        Undecodable::UnknownFormat => ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
    })?;
    if !decoded.0.is_object() {
        return Err(unrecognised(
            "couldn't get version/kind; json parse error: the body is no JSON object",
        ));
    }
    if must_say_kind && decoded.0["kind"].as_str().unwrap_or_default().is_empty() {
        return Err(unrecognised(&format!(
            "Object 'Kind' is missing in '{}'",
            excerpt(body)
        )));
    }
    Ok(decoded)
}

/// JSON with its duplicate keys; the error is worded as Go words the commonest case.
pub(crate) fn decode_json(body: &[u8]) -> Result<(Value, Vec<String>), String> {
    strict_json::parse(body).map_err(|error| {
        if error.is_eof() {
            "unexpected end of JSON input".to_owned()
        } else {
            error.to_string()
        }
    })
}

/// JSON is YAML, and by far the more common: it is tried first, since its reader finds duplicates.
fn decode_yaml(body: &[u8]) -> Result<(Value, Vec<String>), String> {
    if let Ok(found) = strict_json::parse(body) {
        return Ok(found);
    }
    let text = std::str::from_utf8(body).map_err(|error| format!("yaml: {error}"))?;
    // `y` and `on` are texts here, as in YAML 1.2.
    let options = serde_saphyr::options! { strict_booleans: true };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
        // The first line says what; the rest draws the input, which does not fit into a Status.
        format!("yaml: {}", error.to_string().lines().next().unwrap_or_default())
    })?;
    // Upstream reads the first document and no further.
    let first = documents.into_iter().next().unwrap_or(Value::Null);
    Ok((first, Vec::new()))
}

/// What a refusal shows of a body: a little, since the rest may be secret.
fn excerpt(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let head = &body[..body.len().min(SHOWN)];
    let rest = if body.len() > SHOWN { " ..." } else { "" };
    let shown = match head.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(head).into_owned(),
        Some(_) => head.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    shown + rest
}
