//! The function `yamlencode`.

use serde_json::Value;

/// The value as YAML, in blocks. Every text is quoted, so that none is taken for something else.
pub(super) fn encode(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (at, (key, field)) in fields.iter().enumerate() {
                // What follows a dash stands on the dash's line.
                if at > 0 || out.is_empty() || out.ends_with('\n') {
                    out.push_str(&pad);
                }
                out.push_str(&format!("{}:", Value::from(key.as_str())));
                nested(field, if field.is_array() { indent } else { indent + 2 }, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&format!("{pad}- "));
                block(item, indent + 2, out);
            }
        }
        scalar => out.push_str(&format!("{scalar}\n")),
    }
}

fn nested(field: &Value, indent: usize, out: &mut String) {
    let is_block = field.as_object().is_some_and(|fields| !fields.is_empty())
        || field.as_array().is_some_and(|items| !items.is_empty());
    out.push(if is_block { '\n' } else { ' ' });
    block(field, indent, out);
}
