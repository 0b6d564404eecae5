//! What rules can call, and what comes of it.

use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::operators;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map, Opaque, OptionalValue};
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::patterns;

/// The types of scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    Bytes,
    Double,
    Duration,
    Int,
    Null,
    String,
    Timestamp,
    Uint,
}

impl Type {
    /// As the compiler calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Duration => "google.protobuf.Duration",
            Self::Int => "int",
            Self::Null => "null",
            Self::String => "string",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Uint => "uint",
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Double | Self::Int | Self::Uint)
    }
}

/// Names that stand for types in `type(x) == int`.
const TYPES: [&str; 9] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "uint",
];

pub(super) fn is_type(name: &str) -> bool {
    TYPES.contains(&name) || name == "google"
}

/// Functions in the language and in the libraries that Kubernetes gives to CRD rules, as far as they are implemented.
const FUNCTIONS: &[&str] = &[
    // The language and its optionals.
    "bool",
    "bytes",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "hasValue",
    "int",
    "matches",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "or",
    "orValue",
    "size",
    "startsWith",
    "string",
    "timestamp",
    "type",
    "uint",
    "value",
    // Strings, lists, sets, regular expressions, URLs.
    "charAt",
    "distinct",
    "find",
    "findAll",
    "first",
    "flatten",
    "format",
    "getEscapedPath",
    "getHost",
    "getHostname",
    "getPort",
    "getQuery",
    "getScheme",
    "indexOf",
    "isSorted",
    "isURL",
    "join",
    "last",
    "lastIndexOf",
    "lists.range",
    "lowerAscii",
    "max",
    "min",
    "replace",
    "reverse",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "slice",
    "sort",
    "split",
    "strings.quote",
    "substring",
    "sum",
    "trim",
    "upperAscii",
    "url",
    // Addresses, quantities, versions, formats, patches.
    "add",
    "asApproximateFloat",
    "asInteger",
    "cidr",
    "compareTo",
    "containsCIDR",
    "containsIP",
    "family",
    "format.byte",
    "format.date",
    "format.datetime",
    "format.dns1035Label",
    "format.dns1035LabelPrefix",
    "format.dns1123Label",
    "format.dns1123LabelPrefix",
    "format.dns1123Subdomain",
    "format.dns1123SubdomainPrefix",
    "format.labelValue",
    "format.named",
    "format.qualifiedName",
    "format.uri",
    "format.uuid",
    "ip",
    "ip.isCanonical",
    "isCIDR",
    "isCIDRv4",
    "isCIDRv6",
    "isGlobalUnicast",
    "isGreaterThan",
    "isIP",
    "isIPv4",
    "isIPv6",
    "isInteger",
    "isLessThan",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isLoopback",
    "isQuantity",
    "isSemver",
    "isUnspecified",
    "major",
    "masked",
    "minor",
    "patch",
    "prefixLength",
    "quantity",
    "semver",
    "sign",
    "sub",
    "validate",
];

pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// The type of a call's result, where the name alone tells.
pub(super) fn result_of(name: &str) -> Option<Type> {
    Some(match name {
        "size" | "int" | "indexOf" | "lastIndexOf" | "major" | "minor" | "patch" => Type::Int,
        "string" | "charAt" | "join" | "lowerAscii" | "replace" | "substring" | "trim" | "upperAscii"
        | "format" => Type::String,
        "double" => Type::Double,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "contains" | "endsWith" | "hasValue" | "isIP" | "isQuantity" | "isSorted" | "isURL" | "matches"
        | "startsWith" => Type::Bool,
        operators::EQUALS
        | operators::NOT_EQUALS
        | operators::IN
        | operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS => Type::Bool,
        _ => return None,
    })
}

/// The type of an operation on two scalars; `None` if there is no such operation.
pub(super) fn operate(operator: &str, left: Type, right: Type) -> Option<Type> {
    use Type::{Bool, Bytes, Duration, String, Timestamp, Uint};
    let same = (left == right).then_some(left);
    match operator {
        operators::LOGICAL_AND | operators::LOGICAL_OR => same.filter(|kind| *kind == Bool),
        operators::EQUALS | operators::NOT_EQUALS => same.map(|_| Bool),
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
            (same.is_some_and(|kind| kind != Type::Null) || (left.is_number() && right.is_number()))
                .then_some(Bool)
        }
        operators::ADD => match (left, right) {
            (Timestamp, Duration) | (Duration, Timestamp) => Some(Timestamp),
            _ => same.filter(|kind| kind.is_number() || matches!(kind, String | Bytes | Duration)),
        },
        operators::SUBSTRACT => match (left, right) {
            (Timestamp, Duration) => Some(Timestamp),
            (Timestamp, Timestamp) => Some(Duration),
            _ => same.filter(|kind| kind.is_number() || *kind == Duration),
        },
        operators::MULTIPLY | operators::DIVIDE => same.filter(|kind| kind.is_number()),
        operators::MODULO => same.filter(|kind| matches!(kind, Type::Int | Uint)),
        other => result_of(other).or(Some(Bool)),
    }
}

/// The value of `int` and its like.
#[derive(Debug, PartialEq, Eq)]
struct TypeValue(&'static str);

impl Opaque for TypeValue {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

fn type_value(name: &'static str) -> Value {
    Value::Opaque(Arc::new(TypeValue(name)))
}

fn type_of(value: &Value) -> Value {
    type_value(match value {
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Function(..) => "function",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Opaque(_) => "opaque",
        Value::Null => "null_type",
    })
}

/// The function that stands for `a.?b` and `a[?b]` in parsed rules; the evaluator's own is not lenient enough.
pub(super) const OPTIONAL_SELECT: &str = "@optional_select";

fn optional_select(operand: &Value, key: &Value) -> Result<Value, ExecutionError> {
    let operand = match <&OptionalValue>::try_from(operand) {
        Ok(inner) => match inner.value() {
            Some(value) => value,
            None => return Ok(optional(None)),
        },
        Err(_) => operand,
    };
    Ok(optional(match (operand, key) {
        (Value::Map(map), Value::String(key)) => map.get(&Key::String(Arc::clone(key))).cloned(),
        (Value::List(list), Value::Int(index)) => usize::try_from(*index)
            .ok()
            .and_then(|index| list.get(index))
            .cloned(),
        _ => return Err(ExecutionError::NoSuchOverload),
    }))
}

/// An optional value.
pub(super) fn optional(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(
        value.map_or_else(OptionalValue::none, OptionalValue::of),
    ))
}

thread_local! {
    /// The libraries as they come, for what we pass on to them.
    static LIBRARIES: (Context<'static>, Option<Expression>, Option<Expression>) = (
        Context::default().with_all(),
        Parser::default().parse("string(it)").ok(),
        Parser::default().parse("int(it)").ok(),
    );
}

/// What the libraries make of `string(value)` or `int(value)`.
fn pass_on(value: Value, to_string: bool) -> Result<Value, ExecutionError> {
    LIBRARIES.with(|(context, string, int)| {
        let expression = if to_string { string } else { int };
        let expression = expression.as_ref().ok_or(ExecutionError::NoSuchOverload)?;
        let mut context = context.new_inner_scope();
        context.add_variable_from_value("it", value);
        Value::resolve(expression, &context)
    })
}

fn string_of(value: Value) -> Result<Value, ExecutionError> {
    let text = match &value {
        Value::Bool(value) => value.to_string(),
        Value::Duration(value) => {
            let nanos = value.num_nanoseconds().ok_or(ExecutionError::NoSuchOverload)?;
            format!("{}s", nanos as f64 / 1e9)
        }
        Value::Timestamp(value) => {
            let text = value.to_rfc3339();
            let (seconds, zone) = match text.strip_suffix("+00:00") {
                Some(seconds) => (seconds, "Z"),
                None => text.split_at(text.len() - 6),
            };
            let seconds = if seconds.contains('.') {
                seconds.trim_end_matches('0').trim_end_matches('.')
            } else {
                seconds
            };
            format!("{seconds}{zone}")
        }
        _ => return pass_on(value, true),
    };
    Ok(Value::String(Arc::new(text)))
}

fn bool_of(value: &Value) -> Result<Value, ExecutionError> {
    match value {
        Value::Bool(value) => Ok(Value::Bool(*value)),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(ExecutionError::function_error(
                "bool",
                "type conversion error from 'string' to 'bool'",
            )),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Strings are as long as they have code points.
fn size_of(value: &Value) -> Result<i64, ExecutionError> {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    i64::try_from(size).map_err(|_| ExecutionError::NoSuchOverload)
}

/// A context that has everything a rule can name but `self` and `oldSelf`. Where the libraries fall short of
/// Kubernetes, our functions replace theirs.
pub(super) fn context() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("dyn", |value: Value| Ok::<_, ExecutionError>(value));
    context.add_function("type", |value: Value| Ok::<_, ExecutionError>(type_of(&value)));
    context.add_function("bool", |value: Value| bool_of(&value));
    context.add_function(
        "matches",
        |This(text): This<Arc<String>>, pattern: Arc<String>| patterns::matches(&text, &pattern),
    );
    context.add_function("size", |This(value): This<Value>| size_of(&value));
    context.add_function("string", |This(value): This<Value>| string_of(value));
    context.add_function("int", |value: Value| match value {
        Value::Timestamp(time) => Ok(Value::Int(time.timestamp())),
        other => pass_on(other, false),
    });
    context.add_function(OPTIONAL_SELECT, |operand: Value, key: Value| {
        optional_select(&operand, &key)
    });
    for name in TYPES {
        context.add_variable_from_value(name, type_value(name));
    }
    let space = |entries: &[(&str, Value)]| {
        let entry =
            |(name, value): &(&str, Value)| (Key::String(Arc::new((*name).to_owned())), value.clone());
        Value::Map(Map {
            map: Arc::new(entries.iter().map(entry).collect()),
        })
    };
    let protobuf = space(&[
        ("Duration", type_value("google.protobuf.Duration")),
        ("Timestamp", type_value("google.protobuf.Timestamp")),
    ]);
    context.add_variable_from_value("google", space(&[("protobuf", protobuf)]));
    context
}
