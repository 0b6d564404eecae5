//! Evaluating the rules over a document.

use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::cel::parser::Expression;
use kube_cel::cel::{self, ExecutionError};
use serde_json::{Value, json};

use super::super::correlate::{Pair, aligned, item_of};
use super::super::node::{Additional, Cursor, JsonType};
use super::super::path::Path;
use super::Rule;
use super::functions::optional;
use super::value::{convert, with_functions};
use crate::{FieldError, FieldErrorKind};

/// A longer `messageExpression` result is not used.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// What the rules say about a document.
#[derive(Default)]
pub(in super::super) struct Found {
    pub(in super::super) errors: Vec<FieldError>,
    /// Broken rules about values that were already there.
    pub(in super::super) forgiven: Vec<FieldError>,
}

/// How a place relates to the old document, to let unchanged values pass.
#[derive(Clone, Copy, Default)]
struct Ratchet<'a> {
    current: Option<Pair<'a>>,
    /// The nearest place above that has an old value.
    nearest: Option<Pair<'a>>,
}

impl<'a> Ratchet<'a> {
    fn is_unchanged(self) -> bool {
        self.current.or(self.nearest).is_some_and(Pair::is_equal)
    }

    fn key(self, name: &str) -> Self {
        match self.current {
            None => self,
            // The old type is converted to the new one before comparison, so its change cannot be seen.
            Some(_) if self.nearest.is_none() && matches!(name, "apiVersion" | "kind") => Self::default(),
            Some(pair) => Self {
                current: pair.key(name),
                nearest: Some(pair),
            },
        }
    }

    fn index(self, index: usize) -> Self {
        match self.current {
            None => self,
            Some(pair) => Self {
                current: pair.index(index),
                nearest: Some(pair),
            },
        }
    }
}

/// Evaluates all rules at `cursor` and below. `root` marks a resource's root.
pub(in super::super) fn check(
    cursor: Cursor<'_>,
    value: &Value,
    old: Option<&Value>,
    ratcheting: bool,
    root: bool,
    path: &Path<'_>,
    found: &mut Found,
) {
    let current = old.filter(|_| ratcheting).map(|old| Pair {
        cursor,
        old,
        new: value,
    });
    let ratchet = Ratchet {
        current,
        nearest: None,
    };
    visit(cursor, value, old, ratchet, root, path, found);
}

fn visit(
    cursor: Cursor<'_>,
    value: &Value,
    old: Option<&Value>,
    ratchet: Ratchet<'_>,
    root: bool,
    path: &Path<'_>,
    found: &mut Found,
) {
    let node = cursor.node();
    if !node.values.below.cel || value.is_null() {
        return;
    }
    let rules = node
        .values
        .get()
        .map(|rules| rules.cel.as_slice())
        .unwrap_or_default();
    if !rules.is_empty() {
        evaluate(
            rules,
            cursor,
            value,
            old.filter(|old| !old.is_null()),
            ratchet,
            root,
            path,
            found,
        );
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let (inner, path) = match (node.properties.get(name), node.additional) {
                    (Some(&id), _) => (cursor.at(id), Path::Field(path, name)),
                    (None, Additional::Node(id)) => (cursor.at(id), Path::Key(path, name)),
                    (None, _) => continue,
                };
                if inner.node().values.below.cel {
                    let old = old.and_then(|old| old.get(name));
                    let root = inner.node().embedded_resource;
                    visit(inner, value, old, ratchet.key(name), root, &path, found);
                }
            }
        }
        Value::Array(items) => {
            let Some(inner) = cursor.items().filter(|inner| inner.node().values.below.cel) else {
                return;
            };
            for (index, item) in items.iter().enumerate() {
                let old = old.and_then(|old| item_of(node, old, index, item));
                let root = inner.node().embedded_resource;
                visit(
                    inner,
                    item,
                    old,
                    ratchet.index(index),
                    root,
                    &Path::Index(path, index),
                    found,
                );
            }
        }
        _ => {}
    }
}

#[allow(clippy::too_many_arguments)] // The places of one walk; a struct for them would live for one call.
fn evaluate(
    rules: &[std::sync::Arc<Rule>],
    cursor: Cursor<'_>,
    value: &Value,
    old: Option<&Value>,
    ratchet: Ratchet<'_>,
    root: bool,
    path: &Path<'_>,
    found: &mut Found,
) {
    let this = convert(cursor, value, root);
    let old_this = old
        .filter(|_| rules.iter().any(|rule| rule.uses_old_self))
        .map(|old| convert(cursor, &aligned(cursor, old, value), root));
    with_functions(|functions| {
        let mut context = functions.new_inner_scope();
        context.add_variable_from_value("self", this);
        for rule in rules {
            if rule.uses_old_self {
                match (&old_this, rule.optional_old_self) {
                    (None, false) => continue,
                    (Some(old), false) => context.add_variable_from_value("oldSelf", old.clone()),
                    (old, true) => context.add_variable_from_value("oldSelf", optional(old.clone())),
                }
            }
            let error = match resolve(&rule.expression, &context) {
                Ok(cel::Value::Bool(true)) => continue,
                Ok(_) => {
                    let error = failure(rule, &context, cursor, value, path);
                    if !rule.uses_old_self && ratchet.is_unchanged() {
                        found.forgiven.push(error);
                        continue;
                    }
                    error
                }
                Err(error) => {
                    let detail = match error {
                        ExecutionError::NoSuchOverload => format!(
                            "'no such overload': call arguments did not match a supported operator, function or \
                             macro signature for rule: {}",
                            rule.name()
                        ),
                        other => format!("{} evaluating rule: {}", lower(&other), rule.name()),
                    };
                    FieldError::invalid(path.field(), json!(type_name(cursor)), detail)
                }
            };
            found.errors.push(error);
        }
    });
}

/// Evaluates an expression. The evaluator unwraps in places; what stops it must not stop the server.
fn resolve(expression: &Expression, context: &cel::Context<'_>) -> Result<cel::Value, ExecutionError> {
    catch_unwind(AssertUnwindSafe(|| cel::Value::resolve(expression, context)))
        .unwrap_or_else(|_| Err(ExecutionError::function_error("rule", "the evaluator stopped")))
}

/// The error of a rule that is not true.
fn failure(
    rule: &Rule,
    context: &cel::Context<'_>,
    cursor: Cursor<'_>,
    value: &Value,
    path: &Path<'_>,
) -> FieldError {
    let detail = rule
        .message_expression
        .as_ref()
        .and_then(|expression| match resolve(expression, context) {
            Ok(cel::Value::String(message)) => Some(message.trim().to_owned()),
            _ => None,
        })
        .filter(|message| {
            !message.is_empty() && !message.contains('\n') && message.len() <= MAX_MESSAGE_BYTES
        })
        .unwrap_or_else(|| {
            if rule.message.is_empty() {
                format!("failed rule: {}", rule.source)
            } else {
                rule.message.clone()
            }
        });
    let mut field = path.field();
    if let Some(below) = &rule.field_path {
        if !field.is_empty() {
            field.push('.');
        }
        field.push_str(below);
    }
    // A large value helps nobody; upstream leaves it out too.
    let shown = match cursor.node().json_type {
        Some(JsonType::Object | JsonType::Array) => None,
        _ => Some(value.clone()),
    };
    match rule.kind {
        FieldErrorKind::Forbidden => FieldError::forbidden(field, detail),
        FieldErrorKind::Required => FieldError::required(field, detail),
        FieldErrorKind::Duplicate => FieldError::new(FieldErrorKind::Duplicate, field, shown, ""),
        kind => FieldError::new(kind, field, shown, detail),
    }
}

fn type_name(cursor: Cursor<'_>) -> &'static str {
    match cursor.node().json_type {
        Some(JsonType::Object) => "object",
        Some(JsonType::Array) => "array",
        Some(JsonType::String) => "string",
        Some(JsonType::Integer) => "integer",
        Some(JsonType::Number) => "number",
        Some(JsonType::Boolean) => "boolean",
        None => "",
    }
}

/// Upstream's words for the errors people meet; the evaluator begins them with a capital.
fn lower(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { function, .. } if function == "duration" => {
            "type conversion error from 'string' to 'google.protobuf.Duration'".to_owned()
        }
        ExecutionError::FunctionError { function, .. } if function == "timestamp" => {
            "type conversion error from 'string' to 'google.protobuf.Timestamp'".to_owned()
        }
        other => other.to_string(),
    }
}
