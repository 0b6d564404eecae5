//! `x-kubernetes-validations`: rules written in CEL.
//!
//! `kube-cel` brings the language and the Kubernetes functions. Walking a document, what `self` is, ratcheting and the
//! words of errors are ours, because they depend on the schema.

mod eval;
mod functions;
mod names;
mod patterns;
mod rewrite;
mod scope_check;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::cel::parser::{Expression, Parser};
use serde_json::{Value, json};

use super::node::{Additional, Cursor};
use super::raw::{flag, text};
use crate::{FieldError, FieldErrorKind};
use functions::Type;

pub(super) use eval::{Found, check};

/// A compiled rule.
#[derive(Debug)]
pub(super) struct Rule {
    source: String,
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    kind: FieldErrorKind,
    /// Where the error is reported, below the node that has the rule.
    field_path: Option<String>,
    uses_old_self: bool,
    optional_old_self: bool,
}

impl Rule {
    /// What the rule is called in errors: its message, else its text.
    fn name(&self) -> &str {
        if self.message.is_empty() {
            &self.source
        } else {
            &self.message
        }
    }
}

/// Where a rule stands, as far as it matters to its compilation.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    resource_root: bool,
    /// The list below which old and new items cannot be told to be the same one.
    uncorrelatable: Option<String>,
}

impl Scope {
    /// The root of a resource.
    pub(super) fn root() -> Self {
        Self {
            resource_root: true,
            uncorrelatable: None,
        }
    }

    /// Below this scope.
    pub(super) fn inside(&self) -> Self {
        Self {
            resource_root: false,
            uncorrelatable: self.uncorrelatable.clone(),
        }
    }

    /// Below a list without keys.
    pub(super) fn uncorrelatable(&self, list: &str) -> Self {
        let uncorrelatable = self.uncorrelatable.clone().or_else(|| Some(list.to_owned()));
        Self {
            resource_root: false,
            uncorrelatable,
        }
    }
}

/// Compiles one rule of the node at `cursor`.
pub(super) fn compile(
    rule: &Value,
    cursor: Cursor<'_>,
    scope: &Scope,
    field: &str,
) -> Result<Rule, Vec<FieldError>> {
    let mut errors = Vec::new();
    let source = text(rule, "rule").trim();
    let root = scope.resource_root || cursor.node().embedded_resource;
    let optional_old_self = flag(rule, "optionalOldSelf");
    let mut read = |key: &str, source: &str, wanted: Type| {
        let found = parse(source, wanted).and_then(|mut expression| {
            scope_check::check(&expression, source, cursor, root, optional_old_self, wanted)?;
            rewrite::optional_selects(&mut expression);
            Ok(expression)
        });
        found
            .map_err(|detail| {
                errors.push(FieldError::invalid(
                    format!("{field}.{key}"),
                    rule.clone(),
                    detail,
                ))
            })
            .ok()
    };
    let expression = read("rule", source, Type::Bool);
    let message_source = text(rule, "messageExpression").trim();
    let message_expression = if message_source.is_empty() {
        None
    } else {
        read("messageExpression", message_source, Type::String)
    };

    let uses_old_self = expression
        .as_ref()
        .is_some_and(|expression| expression.references().has_variable("oldSelf"));
    if let (true, Some(list)) = (uses_old_self, &scope.uncorrelatable) {
        errors.push(FieldError::invalid(
            format!("{field}.rule"),
            json!(source),
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"),
        ));
    } else if let (true, false, Some(value)) = (
        expression.is_some(),
        uses_old_self,
        rule.get("optionalOldSelf").filter(|value| value.is_boolean()),
    ) {
        errors.push(FieldError::invalid(
            format!("{field}.optionalOldSelf"),
            value.clone(),
            "may not be set if oldSelf is not used in rule",
        ));
    }
    let path = text(rule, "fieldPath");
    let field_path = if path.is_empty() {
        None
    } else {
        normalize(path, cursor)
    };
    if !path.is_empty() && field_path.is_none() {
        errors.push(FieldError::invalid(
            format!("{field}.fieldPath"),
            json!(path),
            "must be a valid path",
        ));
    }
    match expression {
        Some(expression) if errors.is_empty() => Ok(Rule {
            source: source.to_owned(),
            expression,
            message: text(rule, "message").trim().to_owned(),
            message_expression,
            kind: match text(rule, "reason") {
                "FieldValueForbidden" => FieldErrorKind::Forbidden,
                "FieldValueRequired" => FieldErrorKind::Required,
                "FieldValueDuplicate" => FieldErrorKind::Duplicate,
                _ => FieldErrorKind::Invalid,
            },
            field_path,
            uses_old_self,
            optional_old_self,
        }),
        _ => Err(errors),
    }
}

fn parse(source: &str, wanted: Type) -> Result<Expression, String> {
    // The parser is generated code that unwraps in places; a CRD must not stop the server.
    let parsed = catch_unwind(AssertUnwindSafe(|| {
        Parser::default().enable_optional_syntax(true).parse(source)
    }));
    let detail = match parsed {
        Ok(Ok(expression)) => return Ok(expression),
        Ok(Err(errors)) => errors.to_string().replace("\n|", "\n |"),
        Err(_) => "ERROR: <input>:1:1: Syntax error".to_owned(),
    };
    Err(format!(
        "{}compilation failed: {detail}",
        scope_check::prefix(wanted)
    ))
}

/// Turns `.spec.labels['a.b']` into `spec.labels[a.b]`; `None` if it leads nowhere.
fn normalize(path: &str, mut cursor: Cursor<'_>) -> Option<String> {
    let mut normal = String::new();
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let end = after.find("']")?;
            name = after[..end].replace("\\'", "'");
            rest = &after[end + 2..];
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            name = after[..end].to_owned();
            rest = &after[end..];
        }
        let node = cursor.node();
        if node.properties.is_empty() {
            let Additional::Node(id) = node.additional else {
                return None;
            };
            normal = format!("{normal}[{name}]");
            cursor = cursor.at(id);
        } else {
            let &id = node.properties.get(&name)?;
            normal = if normal.is_empty() {
                name
            } else {
                format!("{normal}.{name}")
            };
            cursor = cursor.at(id);
        }
    }
    (!normal.is_empty()).then_some(normal)
}
