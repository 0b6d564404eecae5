//! Which backend a configuration asks for.
//!
//! Terraform wants constants in a backend, so that it can be read without evaluating anything.

use std::collections::BTreeMap;

use hcl_edit::{
    expr::{Expression, ObjectKey},
    structure::{Block, Body},
    template::Element,
};
use serde_json::Value;

use super::InputError;

/// A backend, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Backend {
    /// Its type, or `cloud`.
    pub kind: String,
    /// Its settings. One that is no constant is `None`.
    pub settings: BTreeMap<String, Option<Value>>,
}

/// The backend of a file in Terraform's language.
///
/// # Errors
/// If the text cannot be read and may have one. `field` says where the text is from.
pub fn of_hcl(text: &str, field: &str) -> Result<Option<Backend>, InputError> {
    // What Terraform would not read either is better explained by Terraform, unless it matters here.
    if !["backend", "cloud"].iter().any(|word| text.contains(word)) {
        return Ok(None);
    }
    let body = parse(text, field)?;
    let mut found = blocks(&body, "terraform").flat_map(|terraform| {
        let backends = blocks(&terraform.body, "backend").map(|block| Backend {
            kind: block
                .labels
                .first()
                .map_or_else(String::new, |label| label.as_str().to_owned()),
            settings: settings(&block.body),
        });
        let clouds = blocks(&terraform.body, "cloud").map(|block| Backend {
            kind: "cloud".to_owned(),
            settings: settings(&block.body),
        });
        backends.chain(clouds).collect::<Vec<_>>()
    });
    Ok(found.next())
}

/// The backend of a file in JSON.
///
/// # Errors
/// If the text cannot be read and may have one. `field` says where the text is from.
pub fn of_json(text: &str, field: &str) -> Result<Option<Backend>, InputError> {
    if !["backend", "cloud"].iter().any(|word| text.contains(word)) {
        return Ok(None);
    }
    let module: Value = serde_json::from_str(text).map_err(|error| InputError::Syntax {
        field: field.to_owned(),
        why: error.to_string(),
    })?;
    for terraform in one_or_many(&module["terraform"]) {
        let mut backends = one_or_many(&terraform["backend"])
            .into_iter()
            .filter_map(Value::as_object)
            .flatten();
        if let Some((kind, content)) = backends.next() {
            return Ok(Some(Backend {
                kind: kind.clone(),
                settings: json_settings(content),
            }));
        }
        if let Some(content) = one_or_many(&terraform["cloud"]).first() {
            return Ok(Some(Backend {
                kind: "cloud".to_owned(),
                settings: json_settings(content),
            }));
        }
    }
    Ok(None)
}

/// Settings as they stand in a file for `-backend-config`.
///
/// # Errors
/// If the text cannot be read. `field` says where the text is from.
pub fn settings_of_file(text: &str, field: &str) -> Result<BTreeMap<String, Option<Value>>, InputError> {
    parse(text, field).map(|body| settings(&body))
}

fn parse(text: &str, field: &str) -> Result<Body, InputError> {
    text.parse().map_err(|error: hcl_edit::parser::Error| {
        let at = error.location();
        InputError::Syntax {
            field: field.to_owned(),
            why: format!("line {}, column {}: {}", at.line(), at.column(), error.message()),
        }
    })
}

fn blocks<'a>(body: &'a Body, name: &'a str) -> impl Iterator<Item = &'a Block> {
    body.blocks().filter(move |block| block.ident.as_str() == name)
}

fn settings(body: &Body) -> BTreeMap<String, Option<Value>> {
    let attributes = body
        .attributes()
        .map(|attribute| (attribute.key.as_str().to_owned(), constant(&attribute.value)));
    // Nested blocks, such as exec, matter only by being there.
    let nested = body.blocks().map(|block| (block.ident.as_str().to_owned(), None));
    attributes.chain(nested).collect()
}

fn json_settings(content: &Value) -> BTreeMap<String, Option<Value>> {
    let content = one_or_many(content)
        .first()
        .and_then(|content| content.as_object());
    content
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), Some(value.clone())))
        .collect()
}

/// JSON lets a block be written as one object or as a list of them.
fn one_or_many(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().collect(),
        other => vec![other],
    }
}

/// The value of an expression that needs no evaluation.
pub(super) fn constant(expression: &Expression) -> Option<Value> {
    match expression {
        Expression::Null(_) => Some(Value::Null),
        Expression::Bool(value) => Some(Value::Bool(*value.value())),
        Expression::Number(value) => serde_json::from_str(&value.value().to_string()).ok(),
        Expression::String(text) => Some(Value::String(text.as_str().to_owned())),
        Expression::HeredocTemplate(heredoc) => text_of(heredoc.template.iter()),
        Expression::StringTemplate(template) => text_of(template.iter()),
        Expression::Array(items) => items
            .iter()
            .map(constant)
            .collect::<Option<_>>()
            .map(Value::Array),
        Expression::Object(fields) => {
            let field = |(key, value): (&ObjectKey, &hcl_edit::expr::ObjectValue)| {
                Some((key_text(key)?, constant(value.expr())?))
            };
            fields.iter().map(field).collect::<Option<_>>().map(Value::Object)
        }
        Expression::Parenthesis(inner) => constant(inner.inner()),
        _ => None,
    }
}

fn text_of<'a>(elements: impl Iterator<Item = &'a Element>) -> Option<Value> {
    let parts: Option<Vec<&str>> = elements
        .map(|element| element.as_literal().map(|literal| literal.as_str()))
        .collect();
    parts.map(|parts| Value::String(parts.concat()))
}

fn key_text(key: &ObjectKey) -> Option<String> {
    match key {
        ObjectKey::Ident(name) => Some(name.as_str().to_owned()),
        ObjectKey::Expression(Expression::Variable(name)) => Some(name.as_str().to_owned()),
        ObjectKey::Expression(expression) => match constant(expression)? {
            Value::String(text) => Some(text),
            _ => None,
        },
    }
}
