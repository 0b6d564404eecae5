//! The fields in which two answers disagree.

use std::fmt;

use serde_json::Value;

/// One field with its two values.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where in the answer: `body.metadata.generation`.
    pub path: String,
    /// What the reference server said, unless the field is absent there.
    pub expected: Option<Value>,
    /// What the server under test said, unless the field is absent there.
    pub actual: Option<Value>,
}

/// The differences between two answers.
pub fn compare(expected: &Value, actual: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    walk(Some(expected), Some(actual), String::new(), &mut differences);
    differences
}

fn walk(expected: Option<&Value>, actual: Option<&Value>, path: String, found: &mut Vec<Difference>) {
    match (expected, actual) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for key in left
                .keys()
                .chain(right.keys().filter(|key| !left.contains_key(*key)))
            {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                walk(left.get(key), right.get(key), path, found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                walk(
                    left.get(index),
                    right.get(index),
                    format!("{path}[{index}]"),
                    found,
                );
            }
        }
        (expected, actual) if expected == actual => {}
        (expected, actual) => {
            found.push(Difference {
                path,
                expected: expected.cloned(),
                actual: actual.cloned(),
            });
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.path)?;
        writeln!(out, "    expected {}", Side(self.expected.as_ref()))?;
        write!(out, "    got      {}", Side(self.actual.as_ref()))
    }
}

struct Side<'a>(Option<&'a Value>);

impl fmt::Display for Side<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => write!(out, "{value}"),
            None => out.write_str("nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_name_the_field() {
        let left = json!({"a": 1, "b": [1, 2], "same": {"x": true}});
        let right = json!({"b": [1], "c": 3, "same": {"x": true}});
        let paths: Vec<_> = compare(&left, &right)
            .into_iter()
            .map(|difference| difference.path)
            .collect();
        assert_eq!(paths, ["a", "b[1]", "c"]);
    }
}
