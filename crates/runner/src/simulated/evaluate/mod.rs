//! Values of expressions, as far as they can be known without Terraform.

mod attempts;
mod format;
mod functions;
mod network;
mod yaml;

use std::collections::BTreeMap;

use hcl::{
    Map, Value,
    eval::{Context, ErrorKind, Evaluate},
};

use super::configuration::Expr;

pub(super) use functions::json;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoValue {
    /// A function refused what it was given.
    Refused(String),
    /// It is more than a simulation understands.
    Unknown,
}

/// How many parts a value may have.
const MAX_PARTS: usize = 20_000;
/// How deep a value may be.
const MAX_DEPTH: usize = 64;

/// A value that is known in one place only.
pub(super) type Bound = (&'static str, Value);

/// What expressions can refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Values by where they stand: `var.x`, `local.y`, `terraform_data.z`, `data.a.b`.
    values: BTreeMap<String, Value>,
}

impl Scope {
    /// Puts a value in its place.
    pub(super) fn set(&mut self, place: impl Into<String>, value: Value) {
        self.values.insert(place.into(), value);
    }

    /// The value in a place, as text.
    pub(super) fn text(&self, place: &str) -> Option<String> {
        format::plain(self.values.get(place).filter(|value| !value.is_null())?).ok()
    }

    /// The value of an expression.
    pub(super) fn evaluate(&self, expr: &Expr) -> Result<Value, NoValue> {
        self.evaluate_with(expr, &[])
    }

    /// The value of an expression, with values that are known in one place only, such as `each`.
    pub(super) fn evaluate_with(&self, expr: &Expr, bound: &[Bound]) -> Result<Value, NoValue> {
        let context = self.context(expr, bound);
        let expression = attempts::settled(&expr.expression, &context);
        let value = expression
            .evaluate(&context)
            .map_err(|error| match error.into_kind() {
                ErrorKind::FuncCall(name, message) => NoValue::Refused(format!("{name}: {message}")),
                _ => NoValue::Unknown,
            })?;
        // Values made of values made of values could outgrow any memory, and any stack.
        let mut room = MAX_PARTS;
        if fits(&value, MAX_DEPTH, &mut room) {
            Ok(value)
        } else {
            Err(NoValue::Unknown)
        }
    }

    /// Only what the expression refers to, since there may be a lot of everything else.
    fn context(&self, expr: &Expr, bound: &[Bound]) -> Context<'static> {
        let mut roots: Map<String, Value> = bound
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        for reference in &expr.references {
            for depth in 1..=reference.len().min(3) {
                if let Some(value) = self.values.get(&reference[..depth].join(".")) {
                    place(&mut roots, &reference[..depth], value.clone());
                    break;
                }
            }
            // Nothing is known about what other modules give, but something they will give.
            if let [module, name, output, ..] = &reference[..]
                && module == "module"
            {
                let path = [module.clone(), name.clone(), output.clone()];
                place(&mut roots, &path, Value::from(placeholder(output)));
            }
        }
        let mut context = Context::new();
        for (name, definition) in functions::all() {
            context.declare_func(*name, definition.clone());
        }
        for (root, value) in roots {
            context.declare_var(root.as_str(), value);
        }
        context
    }
}

/// What stands for a value that cannot be known.
pub(super) fn placeholder(name: &str) -> String {
    format!("simulated-{name}")
}

/// Whether a value has few enough parts, none of them too deep. Texts count by their length.
fn fits(value: &Value, depth: usize, room: &mut usize) -> bool {
    let size = match value {
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    };
    let Some(left) = room.checked_sub(size) else {
        return false;
    };
    *room = left;
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, depth, room)),
        Value::Object(fields) => fields.values().all(|field| fits(field, depth, room)),
        _ => true,
    }
}

fn place(into: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => {
            into.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let next = into
                .entry(name.clone())
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(fields) = next {
                place(fields, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
