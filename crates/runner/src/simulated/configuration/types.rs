//! Types of variables, and values made to fit them.

use hcl::{
    Number, Value,
    edit::expr::{Expression, ObjectKey},
};

/// The type of a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::simulated) enum Type {
    /// Any, or one that we do not know.
    #[default]
    Any,
    /// Text.
    String,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// A list or a set.
    List(Box<Type>),
    /// A map.
    Map(Box<Type>),
    /// An object: its fields, and what stands for one that is left out, if it may be left out.
    Object(Vec<(String, Type, Option<Value>)>),
}

impl Type {
    /// The type that this expression writes.
    pub(super) fn read(expression: &Expression) -> Self {
        match expression {
            Expression::Variable(name) => match name.as_str() {
                "string" => Self::String,
                "number" => Self::Number,
                "bool" => Self::Bool,
                _ => Self::Any,
            },
            Expression::FuncCall(call) => {
                let first = call.args.iter().next();
                let inner = || Box::new(first.map_or(Self::Any, Self::read));
                match call.name.name.as_str() {
                    "list" | "set" => Self::List(inner()),
                    "map" => Self::Map(inner()),
                    "object" => first.map_or(Self::Any, Self::read_object),
                    _ => Self::Any,
                }
            }
            _ => Self::Any,
        }
    }

    fn read_object(expression: &Expression) -> Self {
        let Expression::Object(object) = expression else {
            return Self::Any;
        };
        let fields = object.iter().filter_map(|(key, value)| {
            let name = match key {
                ObjectKey::Ident(name) => name.as_str().to_owned(),
                ObjectKey::Expression(key) => key.as_str()?.to_owned(),
            };
            let (type_, default) = match value.expr() {
                Expression::FuncCall(call) if call.name.name.as_str() == "optional" => {
                    let mut arguments = call.args.iter();
                    let type_ = arguments.next().map_or(Self::Any, Self::read);
                    let default = arguments.next().and_then(constant).unwrap_or_default();
                    (type_, Some(default))
                }
                other => (Self::read(other), None),
            };
            Some((name, type_, default))
        });
        Self::Object(fields.collect())
    }

    /// What this text means for a variable of this type, as on a command line.
    pub(in crate::simulated) fn parse(&self, text: &str) -> Result<Value, String> {
        let is_text = matches!(self, Self::Any | Self::String);
        if is_text {
            return Ok(Value::String(text.to_owned()));
        }
        let expression: Expression = text.parse().map_err(|_| self.wanted())?;
        self.convert(constant(&expression).ok_or_else(|| self.wanted())?)
    }

    /// The value as this type has it.
    pub(in crate::simulated) fn convert(&self, value: Value) -> Result<Value, String> {
        match (self, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Self::String, Value::Number(number)) => Ok(Value::String(number.to_string())),
            (Self::String, Value::Bool(flag)) => Ok(Value::String(flag.to_string())),
            (Self::Number, Value::String(text)) => number(&text).ok_or_else(|| self.wanted()),
            (Self::Bool, Value::String(text)) => match text.as_str() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err(self.wanted()),
            },
            (Self::List(inner), Value::Array(items)) => {
                let items = items.into_iter().map(|item| inner.convert(item));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            (Self::Map(inner), Value::Object(fields)) => {
                let fields = fields
                    .into_iter()
                    .map(|(key, field)| Ok((key, inner.convert(field)?)));
                Ok(Value::Object(fields.collect::<Result<_, String>>()?))
            }
            (Self::Object(types), Value::Object(mut fields)) => {
                let mut object = hcl::Map::new();
                for (name, type_, default) in types {
                    let field = match (fields.swap_remove(name), default) {
                        (Some(Value::Null) | None, Some(default)) => default.clone(),
                        (Some(field), _) => type_.convert(field)?,
                        (None, None) => return Err(format!("attribute {name:?} is required")),
                    };
                    object.insert(name.clone(), field);
                }
                Ok(Value::Object(object))
            }
            (Self::Any, value)
            | (Self::String, value @ Value::String(_))
            | (Self::Number, value @ Value::Number(_))
            | (Self::Bool, value @ Value::Bool(_)) => Ok(value),
            _ => Err(self.wanted()),
        }
    }

    fn wanted(&self) -> String {
        let word = match self {
            Self::Any => "any value",
            Self::String => "string",
            Self::Number => "a number",
            Self::Bool => "bool",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Object(_) => "object",
        };
        format!("{word} required")
    }
}

/// The number that this text is.
pub(in crate::simulated) fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}

/// The value of an expression that refers to nothing.
fn constant(expression: &Expression) -> Option<Value> {
    use hcl::eval::Evaluate;
    hcl::Expression::from(expression.clone())
        .evaluate(&hcl::eval::Context::new())
        .ok()
}
