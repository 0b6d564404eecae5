//! Values as Go prints them, for the sentences that show one.

use serde_json::{Map, Value};

/// `map[a:1 b:[x y]]`
pub(super) fn go_map(fields: &Map<String, Value>) -> String {
    let members: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}:{}", go_value(value)))
        .collect();
    format!("map[{}]", members.join(" "))
}

/// `[x y]`
pub(super) fn go_list(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(go_value).collect();
    format!("[{}]", items.join(" "))
}

fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => go_list(items),
        Value::Object(fields) => go_map(fields),
    }
}
