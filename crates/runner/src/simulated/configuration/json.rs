//! Terraform's JSON syntax, turned into the native one.

use hcl::edit::{
    Ident,
    expr::{Array, Expression, Object, ObjectKey},
    structure::{Attribute, Block, BlockLabel, Body},
    template::{Element, StringTemplate, Template},
};
use serde_json::Value;

/// The blocks that we read, and how many labels each has.
const BLOCKS: [(&str, usize); 11] = [
    ("variable", 1),
    ("output", 1),
    ("locals", 0),
    ("resource", 2),
    ("data", 2),
    ("module", 1),
    ("lifecycle", 0),
    ("provisioner", 1),
    ("validation", 0),
    ("precondition", 0),
    ("postcondition", 0),
];

/// Attributes that hold expressions as text, and not templates.
const BARE: [&str; 3] = ["type", "depends_on", "ignore_changes"];

/// The same in the native syntax.
pub(super) fn body(value: &Value) -> Body {
    let mut body = Body::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        // A name that is no identifier means nothing to Terraform either, apart from comments.
        let Ok(ident) = Ident::try_new(name.as_str()) else {
            continue;
        };
        match BLOCKS.iter().find(|(block, _)| block == name) {
            Some((_, labels)) => blocks(&ident, *labels, &mut Vec::new(), value, &mut body),
            None => body.push(Attribute::new(
                ident,
                expression(value, BARE.contains(&name.as_str())),
            )),
        }
    }
    body
}

fn blocks(ident: &Ident, labels: usize, given: &mut Vec<String>, value: &Value, into: &mut Body) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| blocks(ident, labels, given, item, into)),
        Value::Object(fields) if labels > 0 => {
            for (label, field) in fields {
                given.push(label.clone());
                blocks(ident, labels - 1, given, field, into);
                given.pop();
            }
        }
        _ => {
            let mut block = Block::new(ident.clone());
            block.labels = given
                .iter()
                .map(|label| BlockLabel::from(label.as_str()))
                .collect();
            block.body = body(value);
            into.push(block);
        }
    }
}

fn expression(value: &Value, is_bare: bool) -> Expression {
    match value {
        Value::Null => Expression::null(),
        Value::Bool(flag) => Expression::from(*flag),
        Value::Number(number) => hcl::Expression::from(number.as_i64().map_or_else(
            || hcl::Value::from(number.as_f64().unwrap_or_default()),
            hcl::Value::from,
        ))
        .into(),
        Value::String(text) if is_bare => text.parse().unwrap_or_else(|_| Expression::from(text.as_str())),
        Value::String(text) => template(text),
        Value::Array(items) => Expression::from(
            items
                .iter()
                .map(|item| expression(item, is_bare))
                .collect::<Array>(),
        ),
        Value::Object(fields) => {
            let mut object = Object::new();
            for (name, field) in fields {
                object.insert(ObjectKey::Expression(template(name)), expression(field, false));
            }
            Expression::from(object)
        }
    }
}

/// Text is a template; one that is a single interpolation keeps the type of what it interpolates.
fn template(text: &str) -> Expression {
    let Ok(template) = text.parse::<Template>() else {
        return Expression::from(text);
    };
    match template.as_single_element() {
        Some(Element::Interpolation(interpolation)) => interpolation.expr.clone(),
        Some(Element::Literal(literal)) => Expression::from(literal.as_str()),
        _ if template.is_empty() => Expression::from(""),
        _ => Expression::from(StringTemplate::from(template)),
    }
}
