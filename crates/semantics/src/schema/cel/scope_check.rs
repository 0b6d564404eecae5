//! Finds names that a rule cannot reach, when the CRD is written and not when the first object arrives.
//!
//! This is no type checker: it follows `self` and `oldSelf` through fields, items and comprehensions, and stays silent
//! about what it cannot follow.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, operators};

use super::super::node::{Additional, Cursor, JsonType};
use super::names::escape;

/// Names that begin a function's name (`math.greatest`) or name a type.
const KNOWN: [&str; 25] = [
    "base64",
    "bool",
    "bytes",
    "cel",
    "double",
    "duration",
    "dyn",
    "format",
    "google",
    "int",
    "ip",
    "jsonpatch",
    "list",
    "lists",
    "map",
    "math",
    "null_type",
    "optional",
    "optional_type",
    "sets",
    "string",
    "strings",
    "timestamp",
    "type",
    "uint",
];

/// What is known of a subexpression.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// A value that this node describes; `true` at the root of a resource.
    Node(Cursor<'a>, bool),
    /// The metadata of a resource.
    Metadata,
    Unknown,
}

/// Checks an expression; the error is what follows `compilation failed: `.
pub(super) fn check(
    expression: &IdedExpr,
    source: &str,
    cursor: Cursor<'_>,
    root: bool,
    optional_old_self: bool,
) -> Result<(), String> {
    let this = Shape::Node(cursor, root);
    let mut checker = Checker {
        source,
        variables: vec![("self", this)],
    };
    checker
        .variables
        .push(("oldSelf", if optional_old_self { Shape::Unknown } else { this }));
    checker.shape(expression).map(|_| ())
}

struct Checker<'a> {
    source: &'a str,
    variables: Vec<(&'a str, Shape<'a>)>,
}

impl<'a> Checker<'a> {
    fn shape(&mut self, expression: &'a IdedExpr) -> Result<Shape<'a>, String> {
        match &expression.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = self.shape(&select.operand)?;
                self.field(operand, &select.field)
            }
            Expr::Call(call) => {
                let target = match &call.target {
                    Some(target) => self.shape(target)?,
                    None => Shape::Unknown,
                };
                let mut arguments = Vec::with_capacity(call.args.len());
                for argument in &call.args {
                    arguments.push(self.shape(argument)?);
                }
                if call.func_name == operators::INDEX {
                    return Ok(element(arguments.first().copied().unwrap_or(target)));
                }
                Ok(Shape::Unknown)
            }
            Expr::Comprehension(comprehension) => {
                let range = self.shape(&comprehension.iter_range)?;
                self.shape(&comprehension.accu_init)?;
                let depth = self.variables.len();
                // Over a map, the variable is the key.
                let item = match range {
                    Shape::Node(cursor, _) if cursor.node().json_type == Some(JsonType::Array) => {
                        element(range)
                    }
                    _ => Shape::Unknown,
                };
                self.variables.push((&comprehension.iter_var, item));
                if let Some(second) = &comprehension.iter_var2 {
                    self.variables.push((second, Shape::Unknown));
                }
                self.variables.push((&comprehension.accu_var, Shape::Unknown));
                let inner = [
                    &comprehension.loop_cond,
                    &comprehension.loop_step,
                    &comprehension.result,
                ];
                for expression in inner {
                    self.shape(expression)?;
                }
                self.variables.truncate(depth);
                Ok(Shape::Unknown)
            }
            Expr::List(list) => {
                for element in &list.elements {
                    self.shape(element)?;
                }
                Ok(Shape::Unknown)
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.shape(&entry.key)?;
                        self.shape(&entry.value)?;
                    }
                }
                Ok(Shape::Unknown)
            }
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => Ok(Shape::Unknown),
        }
    }

    fn variable(&self, name: &str) -> Result<Shape<'a>, String> {
        if let Some((_, shape)) = self.variables.iter().rev().find(|(known, _)| *known == name) {
            return Ok(*shape);
        }
        if name.starts_with('@') || KNOWN.contains(&name) {
            return Ok(Shape::Unknown);
        }
        Err(self.at(
            name,
            &format!("undeclared reference to '{name}' (in container '')"),
        ))
    }

    fn field(&self, operand: Shape<'a>, name: &str) -> Result<Shape<'a>, String> {
        let undefined = || Err(self.at(&format!(".{name}"), &format!("undefined field '{name}'")));
        let (cursor, root) = match operand {
            Shape::Unknown => return Ok(Shape::Unknown),
            Shape::Metadata if matches!(name, "name" | "generateName") => return Ok(Shape::Unknown),
            Shape::Metadata => return undefined(),
            Shape::Node(cursor, root) => (cursor, root),
        };
        let node = cursor.node();
        match name {
            "apiVersion" | "kind" if root => return Ok(Shape::Unknown),
            "metadata" if root => return Ok(Shape::Metadata),
            _ => {}
        }
        match (node.json_type, node.additional) {
            (None, _) => Ok(Shape::Unknown),
            (Some(JsonType::Object), Additional::Node(id)) => Ok(of(cursor.at(id))),
            (Some(JsonType::Object), Additional::Any) => Ok(Shape::Unknown),
            (Some(JsonType::Object), Additional::Unsaid) => {
                let found = node
                    .properties
                    .iter()
                    .find(|(property, _)| escape(property).as_deref() == Some(name));
                match found.map(|(_, &id)| cursor.at(id)) {
                    Some(inner) if inner.node().json_type.is_some() || inner.node().int_or_string => {
                        Ok(of(inner))
                    }
                    _ => undefined(),
                }
            }
            (Some(other), _) => Err(self.at(
                &format!(".{name}"),
                &format!("type '{}' does not support field selection", type_name(other)),
            )),
        }
    }

    /// Words an error as the compiler does, with the place. The place is where the text first occurs.
    fn at(&self, text: &str, message: &str) -> String {
        let offset = self.source.find(text).unwrap_or_default();
        let before = &self.source[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count();
        let snippet = self.source[line_start..].lines().next().unwrap_or_default();
        format!(
            "ERROR: <input>:{line}:{}: {message}\n | {snippet}\n | {}^",
            column + 1,
            ".".repeat(column)
        )
    }
}

fn of(cursor: Cursor<'_>) -> Shape<'_> {
    Shape::Node(cursor, cursor.node().embedded_resource)
}

fn element(shape: Shape<'_>) -> Shape<'_> {
    let Shape::Node(cursor, _) = shape else {
        return Shape::Unknown;
    };
    match (cursor.items(), cursor.node().additional) {
        (Some(items), _) => of(items),
        (None, Additional::Node(id)) => of(cursor.at(id)),
        (None, _) => Shape::Unknown,
    }
}

fn type_name(json_type: JsonType) -> &'static str {
    match json_type {
        JsonType::Object => "map",
        JsonType::Array => "list",
        JsonType::String => "string",
        JsonType::Integer => "int",
        JsonType::Number => "double",
        JsonType::Boolean => "bool",
    }
}
