//! Which form of an answer a client wants.

use http::{HeaderMap, header};

use crate::status::{ApiError, ApiResult};

/// The form of an object or a list in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The documents themselves.
    Full,
    /// `meta.k8s.io/v1` Table.
    Table,
    /// `meta.k8s.io/v1` PartialObjectMetadata.
    Metadata,
}

/// What can be had, as a refusal lists it.
const SUPPORTED: [&str; 1] = ["application/json"];

/// The first form in the `Accept` header that this server can give. Protobuf is never given: every client that asks
/// for it also accepts JSON, or anything.
pub fn accepted_form(headers: &HeaderMap) -> ApiResult<Form> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else {
        return Ok(Form::Full);
    };
    if accept.trim().is_empty() {
        return Ok(Form::Full);
    }
    accept
        .split(',')
        .find_map(form_of)
        .ok_or_else(|| ApiError::not_acceptable(&SUPPORTED))
}

fn form_of(clause: &str) -> Option<Form> {
    let mut parts = clause.split(';').map(str::trim);
    if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
        return None;
    }
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let value = |name: &str| {
        parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    };
    match (value("as"), value("g"), value("v")) {
        (None, _, _) => Some(Form::Full),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Some(Form::Table),
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => {
            Some(Form::Metadata)
        }
        _ => None,
    }
}

/// Whether the client wants aggregated discovery (`apidiscovery.k8s.io/v2`).
#[must_use]
pub fn wants_aggregated(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    accept.split(',').any(|clause| {
        let parts: Vec<&str> = clause.split(';').map(str::trim).collect();
        parts.first() == Some(&"application/json")
            && ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
                .iter()
                .all(|wanted| parts.contains(wanted))
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_first_form_we_know_wins() {
        let cases = [
            ("", Some(Form::Full)),
            ("application/json", Some(Form::Full)),
            ("*/*", Some(Form::Full)),
            (
                "application/vnd.kubernetes.protobuf, application/json",
                Some(Form::Full),
            ),
            ("application/vnd.kubernetes.protobuf, */*", Some(Form::Full)),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Some(Form::Table),
            ),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                Some(Form::Full),
            ),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
                Some(Form::Metadata),
            ),
            ("text/html", None),
            ("application/cbor", None),
        ];
        for (accept, form) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepted_form(&headers).ok(), form, "{accept}");
        }
        assert_eq!(accepted_form(&HeaderMap::new()).ok(), Some(Form::Full));
    }
}
