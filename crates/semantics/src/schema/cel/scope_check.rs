//! Finds what a rule cannot mean, when the CRD is written and not when the first object arrives.
//!
//! This is a type checker with modest claims: it follows `self` and `oldSelf` through fields, items and comprehensions,
//! knows the types of scalars, and stays silent about what it cannot follow.

use std::collections::HashMap;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};

use super::super::format::FormatKind;
use super::super::node::{Additional, Cursor, JsonType};
use super::functions::{self, Type};
use super::names::escape;

/// What is known of a subexpression.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// A value that this node describes; `true` at the root of a resource.
    Node(Cursor<'a>, bool),
    /// The metadata of a resource.
    Metadata,
    Scalar(Type),
    Unknown,
}

impl Shape<'_> {
    fn scalar(self) -> Option<Type> {
        let cursor = match self {
            Self::Scalar(scalar) => return Some(scalar),
            Self::Node(cursor, _) => cursor,
            Self::Metadata | Self::Unknown => return None,
        };
        match (
            cursor.node().json_type?,
            cursor.node().values.format().map(|format| format.kind),
        ) {
            (JsonType::Boolean, _) => Some(Type::Bool),
            (JsonType::Integer, _) => Some(Type::Int),
            (JsonType::Number, _) => Some(Type::Double),
            (JsonType::String, Some(FormatKind::Byte)) => Some(Type::Bytes),
            (JsonType::String, Some(FormatKind::Duration)) => Some(Type::Duration),
            (JsonType::String, Some(FormatKind::Date | FormatKind::DateTime)) => Some(Type::Timestamp),
            (JsonType::String, _) => Some(Type::String),
            (JsonType::Object | JsonType::Array, _) => None,
        }
    }

    /// Whether this is certainly no value of that type.
    fn is_not(self, wanted: Type) -> bool {
        match self {
            Self::Metadata => true,
            Self::Node(cursor, _) if cursor.node().json_type.is_none() => false,
            Self::Unknown => false,
            other => other.scalar() != Some(wanted),
        }
    }
}

/// How errors about an expression begin: only messages yield strings.
pub(super) fn prefix(wanted: Type) -> &'static str {
    if wanted == Type::String {
        "messageExpression "
    } else {
        ""
    }
}

/// Checks an expression that must yield `wanted`; the error is upstream's text.
pub(super) fn check(
    expression: &IdedExpr,
    source: &str,
    cursor: Cursor<'_>,
    root: bool,
    optional_old_self: bool,
    wanted: Type,
) -> Result<(), String> {
    let this = Shape::Node(cursor, root);
    let old = if optional_old_self { Shape::Unknown } else { this };
    let mut checker = Checker {
        source,
        variables: vec![("self", this), ("oldSelf", old)],
        searched: HashMap::new(),
        errors: Vec::new(),
    };
    let shape = checker.shape(expression);
    let is_message = wanted == Type::String;
    if !checker.errors.is_empty() {
        checker.errors.sort();
        let texts: Vec<_> = checker.errors.into_iter().map(|(_, text)| text).collect();
        return Err(format!(
            "{}compilation failed: {}",
            prefix(wanted),
            texts.join("\n")
        ));
    }
    if shape.is_not(wanted) {
        return Err(if is_message {
            "messageExpression must evaluate to a string".to_owned()
        } else {
            "cel expression must evaluate to a bool".to_owned()
        });
    }
    Ok(())
}

struct Checker<'a> {
    source: &'a str,
    variables: Vec<(&'a str, Shape<'a>)>,
    /// Where to look next for a text that has been looked for. The parser does not tell places.
    searched: HashMap<String, usize>,
    errors: Vec<(usize, String)>,
}

impl<'a> Checker<'a> {
    fn shape(&mut self, expression: &'a IdedExpr) -> Shape<'a> {
        match &expression.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = self.shape(&select.operand);
                let field = self.field(operand, &select.field, ".");
                if select.test {
                    Shape::Scalar(Type::Bool)
                } else {
                    field
                }
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) => {
                for element in &list.elements {
                    self.shape(element);
                }
                Shape::Unknown
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.shape(&entry.key);
                        self.shape(&entry.value);
                    }
                }
                Shape::Unknown
            }
            Expr::Literal(literal) => Shape::Scalar(match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Bytes(_) => Type::Bytes,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::Null => Type::Null,
                LiteralValue::String(_) => Type::String,
                LiteralValue::UInt(_) => Type::Uint,
            }),
            Expr::Struct(_) | Expr::Unspecified => Shape::Unknown,
        }
    }

    fn variable(&mut self, name: &str) -> Shape<'a> {
        if let Some((_, shape)) = self.variables.iter().rev().find(|(known, _)| *known == name) {
            return *shape;
        }
        if !name.starts_with('@') && !functions::is_type(name) {
            self.error(
                name,
                0,
                &format!("undeclared reference to '{name}' (in container '')"),
            );
        }
        Shape::Unknown
    }

    fn call(&mut self, call: &'a CallExpr) -> Shape<'a> {
        let name = call.func_name.as_str();
        if let (operators::OPT_SELECT, [operand, field]) = (name, call.args.as_slice())
            && let Expr::Literal(LiteralValue::String(field)) = &field.expr
        {
            let operand = self.shape(operand);
            self.field(operand, field.inner(), ".?");
            return Shape::Unknown;
        }
        if let Some(Expr::Ident(space)) = call.target.as_ref().map(|target| &target.expr)
            && functions::is_function(&format!("{space}.{name}"))
        {
            for argument in &call.args {
                self.shape(argument);
            }
            return Shape::Unknown;
        }
        if let Some(target) = &call.target {
            self.shape(target);
        }
        let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_operator && !functions::is_function(name) {
            let message = format!("undeclared reference to '{name}' (in container '')");
            self.error(&format!("{name}("), name.len(), &message);
        }
        let arguments: Vec<_> = call.args.iter().map(|argument| self.shape(argument)).collect();
        match (name, arguments.as_slice()) {
            (operators::INDEX, [container, _]) => element(*container),
            (operators::CONDITIONAL, [_, yes, no]) => match (yes.scalar(), no.scalar()) {
                (Some(yes), Some(no)) if yes == no => Shape::Scalar(yes),
                _ => Shape::Unknown,
            },
            (name, [left, right]) if is_operator => self.binary(name, *left, *right),
            (operators::LOGICAL_NOT, _) => Shape::Scalar(Type::Bool),
            (name, _) => functions::result_of(name).map_or(Shape::Unknown, Shape::Scalar),
        }
    }

    fn binary(&mut self, operator: &str, left: Shape<'a>, right: Shape<'a>) -> Shape<'a> {
        let (Some(left), Some(right)) = (left.scalar(), right.scalar()) else {
            return functions::result_of(operator).map_or(Shape::Unknown, Shape::Scalar);
        };
        match functions::operate(operator, left, right) {
            Some(result) => Shape::Scalar(result),
            None => {
                let symbol = operator.trim_matches('_');
                self.error(
                    symbol,
                    0,
                    &format!(
                        "found no matching overload for '{operator}' applied to '({}, {})'",
                        left.name(),
                        right.name()
                    ),
                );
                Shape::Unknown
            }
        }
    }

    fn comprehension(&mut self, comprehension: &'a ComprehensionExpr) -> Shape<'a> {
        let range = self.shape(&comprehension.iter_range);
        let start = self.shape(&comprehension.accu_init);
        let depth = self.variables.len();
        let item = match range {
            Shape::Node(cursor, _) => match cursor.node().json_type {
                Some(JsonType::Array) => element(range),
                // Over a map, the variable is the key.
                Some(JsonType::Object) => Shape::Scalar(Type::String),
                _ => Shape::Unknown,
            },
            _ => Shape::Unknown,
        };
        self.variables.push((&comprehension.iter_var, item));
        if let Some(second) = &comprehension.iter_var2 {
            self.variables.push((second, Shape::Unknown));
        }
        self.variables.push((&comprehension.accu_var, start));
        self.shape(&comprehension.loop_cond);
        self.shape(&comprehension.loop_step);
        let result = self.shape(&comprehension.result);
        self.variables.truncate(depth);
        result
    }

    /// `marker` is what stands before the name.
    fn field(&mut self, operand: Shape<'a>, name: &str, marker: &str) -> Shape<'a> {
        let (cursor, root) = match operand {
            Shape::Metadata if matches!(name, "name" | "generateName") => return Shape::Scalar(Type::String),
            Shape::Metadata => return self.undefined(name, marker),
            Shape::Node(cursor, root) => (cursor, root),
            Shape::Scalar(_) | Shape::Unknown => return Shape::Unknown,
        };
        match name {
            "apiVersion" | "kind" if root => return Shape::Scalar(Type::String),
            "metadata" if root => return Shape::Metadata,
            _ => {}
        }
        let node = cursor.node();
        match (node.json_type, node.additional) {
            (Some(JsonType::Object), Additional::Node(id)) => of(cursor.at(id)),
            (None, _) | (Some(JsonType::Object), Additional::Any) => Shape::Unknown,
            (Some(JsonType::Object), Additional::Unsaid) => {
                let found = node
                    .properties
                    .iter()
                    .find(|(property, _)| escape(property).as_deref() == Some(name));
                match found.map(|(_, &id)| cursor.at(id)) {
                    // What has no type cannot be reached.
                    Some(inner) if inner.node().json_type.is_some() || inner.node().int_or_string => {
                        of(inner)
                    }
                    _ => self.undefined(name, marker),
                }
            }
            (Some(other), _) => {
                let kind = operand.scalar().map_or("list", Type::name);
                let kind = if other == JsonType::Array { "list" } else { kind };
                self.error(
                    &format!("{marker}{name}"),
                    0,
                    &format!("type '{kind}' does not support field selection"),
                );
                Shape::Unknown
            }
        }
    }

    fn undefined(&mut self, name: &str, marker: &str) -> Shape<'a> {
        self.error(
            &format!("{marker}{name}"),
            0,
            &format!("undefined field '{name}'"),
        );
        Shape::Unknown
    }

    /// Notes an error as the compiler words it, at the next place where the text occurs.
    fn error(&mut self, text: &str, shift: usize, message: &str) {
        let from = self.searched.get(text).copied().unwrap_or_default();
        let found = self.source[from..]
            .match_indices(text)
            .map(|(at, _)| from + at)
            .find(|at| {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let before = self.source[..*at].chars().next_back();
                let after = self.source[at + text.len()..].chars().next();
                let touches = |edge: Option<char>, neighbour: Option<char>| {
                    edge.is_some_and(is_word) && neighbour.is_some_and(is_word)
                };
                !touches(text.chars().next(), before) && !touches(text.chars().next_back(), after)
            });
        let offset = found.unwrap_or_default();
        self.searched
            .insert(text.to_owned(), (offset + text.len()).min(self.source.len()));
        let offset = offset + if found.is_some() { shift } else { 0 };
        let before = &self.source[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count();
        let snippet = self.source[line_start..].lines().next().unwrap_or_default();
        let dots = ".".repeat(column);
        let place = format!(
            "ERROR: <input>:{line}:{}: {message}\n | {snippet}\n | {dots}^",
            column + 1
        );
        self.errors.push((offset, place));
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
