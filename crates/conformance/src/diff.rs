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
        (Some(Value::Array(left)), Some(Value::Array(right)))
            if left.iter().chain(right).all(Value::is_string) =>
        {
            lines(left, right, &path, found);
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

/// Lines of text are compared as an editor would, so that one line more does not make all later ones differ.
fn lines(left: &[Value], right: &[Value], path: &str, found: &mut Vec<Difference>) {
    let common = common_lengths(left, right);
    let (mut row, mut column) = (0, 0);
    while row < left.len() || column < right.len() {
        let (from_row, from_column) = (row, column);
        while (row < left.len() || column < right.len()) && left.get(row) != right.get(column) {
            if column == right.len()
                || (row < left.len() && common[row + 1][column] >= common[row][column + 1])
            {
                row += 1;
            } else {
                column += 1;
            }
        }
        if (row, column) != (from_row, from_column) {
            found.push(Difference {
                path: format!("{path}[{from_row}]"),
                expected: some_lines(&left[from_row..row]),
                actual: some_lines(&right[from_column..column]),
            });
        }
        row += 1;
        column += 1;
    }
}

/// For each pair of positions, how many lines the rests have in common.
fn common_lengths(left: &[Value], right: &[Value]) -> Vec<Vec<usize>> {
    let mut lengths = vec![vec![0; right.len() + 1]; left.len() + 1];
    for row in (0..left.len()).rev() {
        for column in (0..right.len()).rev() {
            lengths[row][column] = if left[row] == right[column] {
                lengths[row + 1][column + 1] + 1
            } else {
                lengths[row + 1][column].max(lengths[row][column + 1])
            };
        }
    }
    lengths
}

fn some_lines(lines: &[Value]) -> Option<Value> {
    (!lines.is_empty()).then(|| Value::Array(lines.to_vec()))
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
    fn one_more_line_is_one_difference() {
        let cases = [
            (
                json!(["a", "b", "c"]),
                json!(["a", "c"]),
                vec![("[1]", Some(json!(["b"])), None)],
            ),
            (
                json!(["a"]),
                json!(["a", "b"]),
                vec![("[1]", None, Some(json!(["b"])))],
            ),
            (
                json!(["a", "b"]),
                json!(["a", "x"]),
                vec![("[1]", Some(json!(["b"])), Some(json!(["x"])))],
            ),
            (json!(["a", "b"]), json!(["a", "b"]), vec![]),
        ];
        for (left, right, expected) in cases {
            let found = compare(&left, &right);
            let found: Vec<_> = found
                .iter()
                .map(|d| (d.path.as_str(), d.expected.clone(), d.actual.clone()))
                .collect();
            assert_eq!(found, expected, "{left} against {right}");
        }
    }

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
