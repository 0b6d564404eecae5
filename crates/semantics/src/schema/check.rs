//! The OpenAPI checks, in the order and the words of `k8s.io/kube-openapi`.
//!
//! Its sentences begin with the dotted path and `in body`. Its branches of `anyOf` and `oneOf` are compared by how many
//! checks passed, so every check here returns that count.

use serde_json::{Map, Number, Value, json};

use super::correlate::Pair;
use super::format::Format;
use super::node::{Additional, Cursor, JsonType, Node, NodeId};
use super::number::{self, Complaint};
use super::path::Path;
use super::rules::Rules;
use crate::{FieldError, FieldErrorKind};

/// Collects what is wrong.
#[derive(Default)]
pub(super) struct Check {
    errors: Vec<FieldError>,
}

/// A value's type, as upstream tells it from Go's types.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_i64().is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn expected_types(node: &Node) -> &'static [&'static str] {
    match node.json_type {
        _ if node.int_or_string => &["integer", "string"],
        _ if node.values.is_quantity() => &["string", "number", "integer"],
        Some(JsonType::Object) => &["object"],
        Some(JsonType::Array) => &["array"],
        Some(JsonType::String) => &["string"],
        Some(JsonType::Integer) => &["integer"],
        Some(JsonType::Number) => &["number"],
        Some(JsonType::Boolean) => &["boolean"],
        None => &[],
    }
}

impl Check {
    /// What was found; a sentence that several branches say is kept once.
    pub(super) fn into_errors(self) -> Vec<FieldError> {
        let mut seen = std::collections::HashSet::new();
        let mut errors = self.errors;
        if errors.len() > 1 {
            errors.retain(|error| seen.insert(error.to_string()));
        }
        errors
    }

    /// Checks a value. What is wrong with a value that equals its old one is forgiven.
    pub(super) fn value(
        &mut self,
        cursor: Cursor<'_>,
        value: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
    ) -> u32 {
        let start = self.errors.len();
        let count = self.all(cursor, value, old, path);
        if self.errors.len() > start
            && let Some(old) = old
            && (Pair {
                cursor,
                old,
                new: value,
            })
            .is_equal()
        {
            self.errors.truncate(start);
        }
        count
    }

    fn all(&mut self, cursor: Cursor<'_>, value: &Value, old: Option<&Value>, path: &Path<'_>) -> u32 {
        let node = cursor.node();
        let rules = node.values.get();
        let mut count = 0;
        if !expected_types(node).is_empty() || node.values.format().is_some() {
            let fits = self.json_type(node, value, path);
            count += u32::from(fits) + u32::from(!value.is_null());
        }
        if value.is_null() {
            self.enumeration(rules, value, path);
            return count;
        }
        // One for the junctors, one for their being checked, one for `enum`, one for the whole.
        count += 4;
        if let Some(rules) = rules {
            count += self.junctors(rules, cursor, value, path);
        }
        match value {
            Value::String(text) => {
                count += 1;
                if let Some(rules) = rules {
                    self.string(rules, text, path);
                    if let Some(format) = &rules.format {
                        count += 1;
                        self.format(format, text, path);
                    }
                }
            }
            Value::Number(number) => {
                count += 2;
                self.number(rules, node.json_type, number, path);
            }
            Value::Array(items) => count += 2 + self.array(cursor, items, old, path),
            Value::Object(_) | Value::Bool(_) | Value::Null => {}
        }
        self.enumeration(rules, value, path);
        if let Value::Object(fields) = value {
            count += 1 + self.object(cursor, fields, old, path);
        }
        count
    }

    fn push(&mut self, kind: FieldErrorKind, path: &Path<'_>, value: Value, sentence: &str) {
        let name = path.dotted();
        let detail = format!("{name} in body {sentence}");
        self.errors.push(FieldError::new(
            kind,
            name.trim_start_matches('.'),
            Some(value),
            detail,
        ));
    }

    fn invalid(&mut self, path: &Path<'_>, value: Value, sentence: &str) {
        self.push(FieldErrorKind::Invalid, path, value, sentence);
    }

    /// An error that upstream does not tie to a field.
    fn unplaced(&mut self, detail: String) {
        self.errors.push(FieldError::invalid("", json!(""), detail));
    }

    fn wrong_type(&mut self, path: &Path<'_>, wanted: &str, got: &str) {
        let sentence = format!("must be of type {wanted}: {}", quoted(got));
        self.push(FieldErrorKind::TypeInvalid, path, json!(got), &sentence);
    }

    fn json_type(&mut self, node: &Node, value: &Value, path: &Path<'_>) -> bool {
        let types = expected_types(node);
        let got = type_of(value);
        if value.is_null() {
            // A time that was never set is shown as null.
            let fits = types.is_empty() || node.nullable || node.encoding.is_some();
            if !fits {
                self.wrong_type(path, &types.join(","), got);
            }
            return fits;
        }
        let is_whole = value.as_f64().is_some_and(number::is_integer);
        let fits = types.contains(&got)
            || (got == "number" && is_whole && types.contains(&"integer"))
            || (got == "integer" && types.contains(&"number"));
        if fits {
            return true;
        }
        let is_text = matches!(value, Value::String(_) | Value::Array(_));
        match node.values.format() {
            Some(format) if !is_text => {
                let native = match got {
                    "integer" => "int64",
                    "number" => "float64",
                    _ => "",
                };
                self.wrong_type(path, &format.name, native);
            }
            // A format without a number type leaves the type of strings and lists to the format check.
            Some(_) if !types.iter().any(|name| matches!(*name, "integer" | "number")) => return true,
            _ => self.wrong_type(path, &types.join(","), got),
        }
        false
    }

    fn enumeration(&mut self, rules: Option<&Rules>, value: &Value, path: &Path<'_>) {
        let Some(rules) = rules.filter(|rules| !rules.enum_values.is_empty()) else {
            return;
        };
        let is_same = |allowed: &Value| match (allowed, value) {
            (Value::Null, _) => false,
            (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            (allowed, value) => allowed == value,
        };
        if rules.enum_values.iter().any(is_same) {
            return;
        }
        let shown = rules.enum_values.iter().map(|allowed| match allowed {
            Value::String(text) => quoted(text),
            other => quoted(&other.to_string()),
        });
        let detail = format!("supported values: {}", shown.collect::<Vec<_>>().join(", "));
        let name = path.dotted();
        let field = name.trim_start_matches('.');
        self.errors.push(FieldError::new(
            FieldErrorKind::NotSupported,
            field,
            Some(value.clone()),
            detail,
        ));
    }

    fn string(&mut self, rules: &Rules, text: &str, path: &Path<'_>) {
        let is_longer = |max: u64| text.len() as u64 > max && text.chars().count() as u64 > max;
        if let Some(max) = rules.max_length.filter(|max| is_longer(*max)) {
            let name = path.dotted();
            self.errors.push(FieldError::new(
                FieldErrorKind::TooLong,
                name.trim_start_matches('.'),
                None,
                format!(
                    "may not be more than {max} {}",
                    if max == 1 { "byte" } else { "bytes" }
                ),
            ));
        } else if let Some(min) = rules
            .min_length
            .filter(|min| (text.chars().count() as u64) < *min)
        {
            self.invalid(path, json!(text), &format!("should be at least {min} chars long"));
        } else if let Some(pattern) = rules
            .pattern
            .as_ref()
            .filter(|pattern| !pattern.regex.is_match(text))
        {
            self.invalid(path, json!(text), &format!("should match '{}'", pattern.text));
        }
    }

    fn format(&mut self, format: &Format, text: &str, path: &Path<'_>) {
        if !format.fits(text) {
            let sentence = format!("must be of type {}: {}", format.name, quoted(text));
            self.push(FieldErrorKind::TypeInvalid, path, json!(text), &sentence);
        }
    }

    fn number(
        &mut self,
        rules: Option<&Rules>,
        json_type: Option<JsonType>,
        number: &Number,
        path: &Path<'_>,
    ) {
        number::check(rules, json_type, number, |complaint| match complaint {
            Complaint::Field(value, sentence) => self.invalid(path, value, &sentence),
            Complaint::Unplaced(sentence) => self.unplaced(format!("{sentence} in {}", path.dotted())),
            Complaint::Factor(factor) => {
                let name = path.dotted();
                let detail = format!("factor MultipleOf declared for {name} must be positive: {factor}");
                self.errors.push(FieldError::invalid(name, json!(factor), detail));
            }
        });
    }

    fn array(&mut self, cursor: Cursor<'_>, items: &[Value], old: Option<&Value>, path: &Path<'_>) -> u32 {
        let mut count = 0;
        if let Some(inner) = cursor.items() {
            for (index, item) in items.iter().enumerate() {
                let old = old.and_then(|old| super::correlate::item_of(cursor.node(), old, index, item));
                count += self.value(inner, item, old, &Path::Index(path, index));
            }
        }
        let Some(rules) = cursor.node().values.get() else {
            return count;
        };
        let len = items.len() as u64;
        if let Some(min) = rules.min_items.filter(|min| len < *min) {
            self.invalid(path, json!(len), &format!("should have at least {min} items"));
        }
        if let Some(max) = rules.max_items.filter(|max| len > *max) {
            self.too_many(path, len, max);
        }
        count
    }

    fn too_many(&mut self, path: &Path<'_>, len: u64, max: u64) {
        let name = path.dotted();
        self.errors.push(FieldError::new(
            FieldErrorKind::TooMany,
            name.trim_start_matches('.'),
            Some(json!(len)),
            format!(
                "must have at most {max} {}",
                if max == 1 { "item" } else { "items" }
            ),
        ));
    }

    fn object(
        &mut self,
        cursor: Cursor<'_>,
        fields: &serde_json::Map<String, Value>,
        old: Option<&Value>,
        path: &Path<'_>,
    ) -> u32 {
        let node = cursor.node();
        let mut count = 0;
        if let Some(rules) = node.values.get() {
            let len = fields.len() as u64;
            if let Some(min) = rules.min_properties.filter(|min| len < *min) {
                self.invalid(
                    path,
                    json!(len),
                    &format!("should have at least {min} properties"),
                );
            }
            if let Some(max) = rules.max_properties.filter(|max| len > *max) {
                self.too_many(path, len, max);
            }
            if rules.no_additional {
                for key in fields.keys().filter(|key| !node.properties.contains_key(*key)) {
                    let name = path.dotted();
                    let detail = format!("{name}.{key} in body is a forbidden property");
                    self.errors.push(FieldError::invalid(
                        name.trim_start_matches('.'),
                        json!(key),
                        detail,
                    ));
                }
            }
        }
        let old_of = |name: &str| {
            // The type of a whole document is converted before comparison; its change cannot be seen.
            let is_type = matches!(path, Path::Root) && matches!(name, "apiVersion" | "kind");
            old.and_then(|old| old.get(name)).filter(|_| !is_type)
        };
        if let Additional::Node(id) = node.additional {
            for (key, value) in fields
                .iter()
                .filter(|(key, _)| !node.properties.contains_key(*key))
            {
                count += self.value(cursor.at(id), value, old_of(key), &Path::Key(path, key));
            }
        }
        if node.properties.len() <= fields.len() {
            for (name, &id) in &node.properties {
                if let Some(value) = fields.get(name) {
                    count += self.value(cursor.at(id), value, old_of(name), &Path::Field(path, name));
                }
            }
        } else {
            for (name, value) in fields {
                if let Some(&id) = node.properties.get(name) {
                    count += self.value(cursor.at(id), value, old_of(name), &Path::Field(path, name));
                }
            }
        }
        for name in node.required.iter().filter(|name| is_missing(node, fields, name)) {
            self.errors.push(FieldError::required(
                Path::Field(path, name).dotted().trim_start_matches('.'),
                "",
            ));
        }
        count
    }

    /// Checks one branch of a junctor; returns its count and what it found, which is not yet an error.
    fn branch(
        &mut self,
        id: NodeId,
        cursor: Cursor<'_>,
        value: &Value,
        path: &Path<'_>,
    ) -> (u32, Vec<FieldError>) {
        let start = self.errors.len();
        // Nothing is forgiven below a junctor: what one branch says of an old value may not be what another says.
        let count = self.all(cursor.at(id), value, None, path);
        (count, self.errors.split_off(start))
    }

    fn junctors(&mut self, rules: &Rules, cursor: Cursor<'_>, value: &Value, path: &Path<'_>) -> u32 {
        let mut count = 0;
        if !rules.any_of.is_empty() {
            let mut best: Option<(u32, Vec<FieldError>)> = None;
            let mut passed = None;
            for &id in &rules.any_of {
                let (matched, errors) = self.branch(id, cursor, value, path);
                if errors.is_empty() {
                    passed = Some(matched);
                    break;
                }
                if best.as_ref().is_none_or(|(most, _)| matched > *most) {
                    best = Some((matched, errors));
                }
            }
            match (passed, best) {
                (Some(matched), _) => count += matched,
                (None, best) => {
                    let name = quoted(&path.dotted());
                    self.unplaced(format!("{name} must validate at least one schema (anyOf)"));
                    if let Some((matched, errors)) = best {
                        count += matched;
                        self.errors.extend(errors);
                    }
                }
            }
        }
        if !rules.one_of.is_empty() {
            let mut best: Option<(u32, Vec<FieldError>)> = None;
            let mut passed = Vec::new();
            for &id in &rules.one_of {
                let (matched, errors) = self.branch(id, cursor, value, path);
                if errors.is_empty() {
                    passed.push(matched);
                    best = None;
                } else if passed.is_empty() && best.as_ref().is_none_or(|(most, _)| matched > *most) {
                    best = Some((matched, errors));
                }
            }
            if let [matched] = passed.as_slice() {
                count += matched;
            } else {
                let found = match passed.len() {
                    0 => "Found none valid".to_owned(),
                    several => format!("Found {several} valid alternatives"),
                };
                let name = quoted(&path.dotted());
                self.unplaced(format!(
                    "{name} must validate one and only one schema (oneOf). {found}"
                ));
                if let Some((matched, errors)) = best {
                    count += matched;
                    self.errors.extend(errors);
                }
            }
        }
        if !rules.all_of.is_empty() {
            let mut passed = 0;
            for &id in &rules.all_of {
                let (matched, errors) = self.branch(id, cursor, value, path);
                count += matched;
                passed += usize::from(errors.is_empty());
                self.errors.extend(errors);
            }
            if passed != rules.all_of.len() {
                let none = if passed == 0 { ". None validated" } else { "" };
                let name = quoted(&path.dotted());
                self.unplaced(format!("{name} must validate all the schemas (allOf){none}"));
            }
        }
        if let Some(id) = rules.not {
            let (_, errors) = self.branch(id, cursor, value, path);
            if errors.is_empty() {
                self.unplaced(format!(
                    "{} must not validate the schema (not)",
                    quoted(&path.dotted())
                ));
            }
        }
        count
    }
}

/// A quoted string, as Go and JSON agree to write most of them.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether a required property is missing. Where absent texts are shown as empty ones (in built-in kinds) those are
/// missing too; only a `value` may be meant to be empty.
fn is_missing(node: &Node, fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get(name) {
        None => true,
        Some(Value::String(text)) if text.is_empty() && name != "value" => {
            node.zeros.iter().any(|(zero, _)| zero == name)
        }
        Some(_) => false,
    }
}
