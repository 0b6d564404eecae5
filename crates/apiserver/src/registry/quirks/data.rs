//! ConfigMaps and Secrets: data under keys, typed secrets, and immutability on demand.

use apiary_semantics::{FieldError, FieldErrorKind, naming};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// As much as a ConfigMap or Secret may hold.
const MAX_BYTES: usize = 1 << 20;
const FROZEN: &str = "field is immutable when `immutable` is set";

/// Moves `stringData` to `data` and sets the default type.
pub(super) fn complete_secret(document: &mut Value) {
    let Some(fields) = document.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(plain)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        if data.is_null() {
            *data = json!({});
        }
        if let Some(data) = data.as_object_mut() {
            for (key, value) in plain {
                let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
                data.insert(key, Value::from(encoded));
            }
        }
    }
    let kind = fields.entry("type").or_insert(Value::Null);
    if kind.as_str().unwrap_or_default().is_empty() {
        *kind = json!("Opaque");
    }
}

pub(super) fn check_secret(document: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(old) = old
        && old["type"] != document["type"]
    {
        errors.push(FieldError::invalid(
            "type",
            document["type"].clone(),
            "field is immutable",
        ));
    }
    errors.extend(check_frozen(document, old, &["data"]));
    errors.extend(check_keys(document, "data"));
    let size: usize = entries(document, "data")
        .map(|(_, value)| decoded_size(value))
        .sum();
    if size > MAX_BYTES {
        errors.push(too_long("data"));
    }
    errors.extend(check_type(document));
    errors
}

pub(super) fn check_config_map(document: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = check_frozen(document, old, &["data", "binaryData"]);
    errors.extend(check_keys(document, "data"));
    for (key, _) in entries(document, "data") {
        if document["binaryData"].get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(format!("data[{key}]"), json!(key), why));
        }
    }
    errors.extend(check_keys(document, "binaryData"));
    let texts = entries(document, "data").map(|(_, value)| value.as_str().map_or(0, str::len));
    let bytes = entries(document, "binaryData").map(|(_, value)| decoded_size(value));
    if texts.chain(bytes).sum::<usize>() > MAX_BYTES {
        errors.push(too_long(""));
    }
    errors
}

fn entries<'a>(document: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    document[field].as_object().into_iter().flatten()
}

fn check_keys(document: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, _) in entries(document, field) {
        for why in naming::data_key_errors(key) {
            errors.push(FieldError::invalid(format!("{field}[{key}]"), json!(key), why));
        }
    }
    errors
}

/// How many bytes a base64 text stands for; it has been checked.
fn decoded_size(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.trim_end_matches('=').len() * 3 / 4
}

fn too_long(field: &str) -> FieldError {
    let detail = format!("may not be more than {MAX_BYTES} bytes");
    FieldError::new(FieldErrorKind::TooLong, field, None, detail)
}

/// What a secret of a known type must hold.
fn check_type(document: &Value) -> Vec<FieldError> {
    let empty = Map::new();
    let data = document["data"].as_object().unwrap_or(&empty);
    let missing = |keys: &[&str]| -> Vec<FieldError> {
        keys.iter()
            .filter(|key| !data.contains_key(**key))
            .map(|key| FieldError::required(format!("data[{key}]"), ""))
            .collect()
    };
    match document["type"].as_str().unwrap_or_default() {
        "kubernetes.io/service-account-token" => {
            const OWNER: &str = "kubernetes.io/service-account.name";
            let owner = document["metadata"]["annotations"][OWNER].as_str();
            match owner.unwrap_or_default() {
                "" => vec![FieldError::required(format!("metadata.annotations[{OWNER}]"), "")],
                _ => Vec::new(),
            }
        }
        "kubernetes.io/dockercfg" => check_json(data, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => check_json(data, ".dockerconfigjson"),
        "kubernetes.io/basic-auth" => match missing(&["username", "password"]) {
            both if both.len() == 2 => both,
            _ => Vec::new(),
        },
        "kubernetes.io/ssh-auth" => {
            const KEY: &str = "ssh-privatekey";
            match data.get(KEY).and_then(Value::as_str).unwrap_or_default() {
                "" => vec![FieldError::required(format!("data[{KEY}]"), "")],
                _ => Vec::new(),
            }
        }
        "kubernetes.io/tls" => missing(&["tls.crt", "tls.key"]),
        _ => Vec::new(),
    }
}

fn check_json(data: &Map<String, Value>, key: &str) -> Vec<FieldError> {
    let field = format!("data[{key}]");
    let Some(text) = data.get(key).and_then(Value::as_str) else {
        return vec![FieldError::required(field, "")];
    };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    match json_problem(&bytes) {
        None => Vec::new(),
        Some(why) => {
            let shown = json!("<secret contents redacted>");
            vec![FieldError::invalid(field, shown, why)]
        }
    }
}

/// Why bytes are no JSON object, in Go's words as far as they are common.
fn json_problem(bytes: &[u8]) -> Option<String> {
    let kind = match serde_json::from_slice(bytes) {
        Ok(Value::Object(_) | Value::Null) => return None,
        Ok(Value::Array(_)) => "array",
        Ok(Value::String(_)) => "string",
        Ok(Value::Number(_)) => "number",
        Ok(Value::Bool(_)) => "bool",
        Err(error) if error.is_eof() => return Some("unexpected end of JSON input".to_owned()),
        Err(error) => {
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
            return Some(match first {
                Some(byte) if !b"{[\"-0123456789tfn".contains(byte) => {
                    format!(
                        "invalid character '{}' looking for beginning of value",
                        char::from(*byte)
                    )
                }
                _ => error.to_string(),
            });
        }
    };
    Some(format!(
        "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    ))
}

fn check_frozen(document: &Value, old: Option<&Value>, fields: &[&str]) -> Vec<FieldError> {
    let Some(old) = old.filter(|old| old["immutable"] == json!(true)) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if document["immutable"] != json!(true) {
        errors.push(FieldError::forbidden("immutable", FROZEN));
    }
    for field in fields {
        if document[*field] != old[*field] {
            errors.push(FieldError::forbidden(*field, FROZEN));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(errors: &[FieldError]) -> Vec<&str> {
        errors.iter().map(|error| error.field.as_str()).collect()
    }

    #[test]
    fn typed_secrets_hold_what_their_type_says() {
        let secret = |kind: &str, data: Value| json!({"type": kind, "data": data, "metadata": {}});
        let cases = [
            ("Opaque", json!({"a": "eA=="}), vec![]),
            ("example.com/other", json!({}), vec![]),
            (
                "Opaque",
                json!({"a b": "", "..": "", "..a": ""}),
                vec!["data[..]", "data[..a]", "data[a b]"],
            ),
            ("kubernetes.io/tls", json!({"tls.crt": ""}), vec!["data[tls.key]"]),
            ("kubernetes.io/basic-auth", json!({"password": ""}), vec![]),
            (
                "kubernetes.io/basic-auth",
                json!({}),
                vec!["data[username]", "data[password]"],
            ),
            (
                "kubernetes.io/ssh-auth",
                json!({"ssh-privatekey": ""}),
                vec!["data[ssh-privatekey]"],
            ),
            ("kubernetes.io/dockercfg", json!({}), vec!["data[.dockercfg]"]),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "e30="}),
                vec![],
            ),
            (
                "kubernetes.io/dockerconfigjson",
                json!({".dockerconfigjson": "W10="}),
                vec!["data[.dockerconfigjson]"],
            ),
            (
                "kubernetes.io/service-account-token",
                json!({}),
                vec!["metadata.annotations[kubernetes.io/service-account.name]"],
            ),
        ];
        for (kind, data, expected) in cases {
            let secret = secret(kind, data);
            assert_eq!(fields(&check_secret(&secret, None)), expected, "{secret}");
        }
    }

    #[test]
    fn data_is_bounded_and_its_keys_are_unique() {
        let map = json!({"data": {"a": "x"}, "binaryData": {"a": "eA==", "b": "eA=="}});
        assert_eq!(fields(&check_config_map(&map, None)), ["data[a]"]);
        let full = json!({"data": {"a": "x".repeat(MAX_BYTES)}});
        assert!(check_config_map(&full, None).is_empty());
        let more = json!({"data": {"a": "x".repeat(MAX_BYTES)}, "binaryData": {"b": "eA=="}});
        assert_eq!(check_config_map(&more, None)[0].kind, FieldErrorKind::TooLong);
        let secret = json!({"data": {"a": "A".repeat(MAX_BYTES / 3 * 4 + 8)}});
        assert_eq!(check_secret(&secret, None)[0].kind, FieldErrorKind::TooLong);
    }
}
