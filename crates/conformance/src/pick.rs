//! Addresses of parts of a document: `/items[metadata.name=a]/spec/*`.
//!
//! Steps are separated by `/`.
//! `*` is every member, a number an item, and `[key=value]` keeps the items of a list whose key has that value.

use serde_json::{Map, Value};

/// The values at an address, each with the path at which it was found.
pub(crate) fn pick(document: &Value, address: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    walk(document, &split(address), String::new(), &mut |path, value| {
        found.push((path, value.clone()))
    });
    found
}

/// Keeps only the parts at the given addresses.
pub(crate) fn keep(document: &Value, addresses: &[String]) -> Value {
    let mut kept = Map::new();
    for address in addresses {
        let found = pick(document, address);
        match found.as_slice() {
            [] => {
                kept.insert(address.clone(), Value::String("<absent>".into()));
            }
            // Which item of a list it is does not matter to who looks for it by a property.
            [(_, only)] if address.contains('[') => {
                kept.insert(address.clone(), only.clone());
            }
            _ => kept.extend(found),
        }
    }
    Value::Object(kept)
}

/// Replaces the values at an address.
pub(crate) fn replace(document: &mut Value, address: &str, with: &str) {
    for (path, _) in pick(document, address) {
        if let Some(value) = document.pointer_mut(&path) {
            *value = Value::String(with.into());
        }
    }
}

fn split(address: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut step = String::new();
    let mut in_filter = false;
    for character in address.chars() {
        match character {
            '[' if !in_filter => {
                steps.push(std::mem::take(&mut step));
                in_filter = true;
                step.push('[');
            }
            ']' if in_filter => {
                steps.push(std::mem::take(&mut step));
                in_filter = false;
            }
            '/' if !in_filter => steps.push(std::mem::take(&mut step)),
            other => step.push(other),
        }
    }
    steps.push(step);
    steps.retain(|step| !step.is_empty());
    steps
}

fn walk(value: &Value, steps: &[String], path: String, found: &mut dyn FnMut(String, &Value)) {
    let Some((step, rest)) = steps.split_first() else {
        return found(path, value);
    };
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if step == "*" || *step == index.to_string() || matches(item, step) {
                    walk(item, rest, format!("{path}/{index}"), found);
                }
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                if step == "*" || *step == escaped {
                    walk(member, rest, format!("{path}/{escaped}"), found);
                }
            }
        }
        _ => {}
    }
}

fn matches(item: &Value, filter: &str) -> bool {
    let Some((key, wanted)) = filter.strip_prefix('[').and_then(|filter| filter.split_once('=')) else {
        return false;
    };
    match item.pointer(&format!("/{}", key.replace('.', "/"))) {
        Some(Value::String(text)) => text == wanted,
        Some(other) => serde_json::to_string(other).is_ok_and(|text| text == wanted),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_find_members_items_and_filtered_items() {
        let document = json!({"items": [{"name": "a", "v": 1}, {"name": "b", "v": 2}], "m": {"x/y": 3}});
        let cases = [
            ("/items[name=b]/v", vec![json!(2)]),
            ("/items/0/v", vec![json!(1)]),
            ("/items/*/v", vec![json!(1), json!(2)]),
            ("/m/x~1y", vec![json!(3)]),
            ("/absent", vec![]),
        ];
        for (address, expected) in cases {
            let found: Vec<_> = pick(&document, address)
                .into_iter()
                .map(|(_, value)| value)
                .collect();
            assert_eq!(found, expected, "{address}");
        }
    }
}
