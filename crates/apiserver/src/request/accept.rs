//! Which form of an answer a client wants.

use http::{HeaderMap, header};

use crate::status::{ApiError, ApiResult};

/// The form of an object or a list in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The documents themselves.
    Full,
    /// Table.
    Table(MetaVersion),
    /// PartialObjectMetadata.
    Metadata(MetaVersion),
}

/// The versions of `meta.k8s.io`, which differ in name only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaVersion {
    /// `v1`
    V1,
    /// `v1beta1`
    V1Beta1,
}

impl MetaVersion {
    /// As documents name it.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
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
    accept.split(',').find_map(form_of).ok_or_else(|| {
        if accept.split(',').any(is_json) {
            ApiError::no_such_form(&SUPPORTED)
        } else {
            ApiError::not_acceptable(&SUPPORTED)
        }
    })
}

fn is_json(clause: &str) -> bool {
    let kind = clause.split(';').next().unwrap_or_default().trim();
    matches!(kind, "application/json" | "application/*" | "*/*")
}

fn form_of(clause: &str) -> Option<Form> {
    if !is_json(clause) {
        return None;
    }
    let parts = clause.split(';').map(str::trim);
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let value = |name: &str| {
        parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    };
    let Some(kind) = value("as") else {
        return Some(Form::Full);
    };
    let version = match (value("g"), value("v")) {
        (Some("meta.k8s.io"), Some("v1")) => MetaVersion::V1,
        (Some("meta.k8s.io"), Some("v1beta1")) => MetaVersion::V1Beta1,
        _ => return None,
    };
    match kind {
        "Table" => Some(Form::Table(version)),
        "PartialObjectMetadata" | "PartialObjectMetadataList" => Some(Form::Metadata(version)),
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
                Some(Form::Table(MetaVersion::V1)),
            ),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                Some(Form::Table(MetaVersion::V1Beta1)),
            ),
            (
                "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
                Some(Form::Full),
            ),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
                 application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
                Some(Form::Metadata(MetaVersion::V1)),
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
