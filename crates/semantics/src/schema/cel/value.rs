//! JSON values as CEL sees them, which depends on the schema.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{self, Context};
use serde_json::Value;

use super::super::format::FormatKind;
use super::super::node::{Additional, Cursor, JsonType};
use super::functions;
use super::names::escape;

thread_local! {
    /// All functions, registered once. A context is not shared between threads.
    static FUNCTIONS: OnceCell<Context<'static>> = const { OnceCell::new() };
    static CONVERTERS: OnceCell<Option<(Expression, Expression)>> = const { OnceCell::new() };
}

/// Runs something in a context that has all functions.
pub(super) fn with_functions<T>(run: impl FnOnce(&Context<'static>) -> T) -> T {
    FUNCTIONS.with(|cell| run(cell.get_or_init(functions::context)))
}

fn text(text: &str) -> cel::Value {
    cel::Value::String(Arc::new(text.to_owned()))
}

fn map(entries: HashMap<Key, cel::Value>) -> cel::Value {
    cel::Value::Map(Map {
        map: Arc::new(entries),
    })
}

fn key(name: &str) -> Key {
    Key::String(Arc::new(name.to_owned()))
}

/// The CEL value of `value` under the schema at `cursor`. `root` marks the root of a resource, whose type and names
/// rules can always see.
pub(super) fn convert(cursor: Cursor<'_>, value: &Value, root: bool) -> cel::Value {
    let node = cursor.node();
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Number(number) => match (node.json_type, number.as_i64(), number.as_f64()) {
            (Some(JsonType::Number), _, Some(float)) => cel::Value::Float(float),
            (_, Some(int), _) => cel::Value::Int(int),
            // An integer may be written `5.0`.
            (Some(JsonType::Integer), None, Some(float)) => cel::Value::Int(float as i64),
            (_, None, float) => cel::Value::Float(float.unwrap_or(f64::NAN)),
        },
        Value::String(string) => match node.values.format().map(|format| format.kind) {
            Some(FormatKind::DateTime) => parsed(string, true),
            Some(FormatKind::Date) => parsed(&format!("{string}T00:00:00Z"), true),
            Some(FormatKind::Duration) => parsed(string, false),
            Some(FormatKind::Byte) => decoded(string),
            _ => text(string),
        },
        Value::Array(items) => {
            let inner = cursor.items();
            let items = items.iter().map(|item| match inner {
                Some(inner) => convert(inner, item, inner.node().embedded_resource),
                None => plain(item),
            });
            cel::Value::List(Arc::new(items.collect()))
        }
        Value::Object(fields) => {
            let mut entries = HashMap::with_capacity(fields.len());
            for (name, value) in fields {
                if root && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                    continue;
                }
                match (node.properties.get(name), node.additional) {
                    // A property that is null is not there.
                    (Some(_), _) if value.is_null() => {}
                    (Some(&id), _) => {
                        let inner = cursor.at(id);
                        if let Some(name) = escape(name) {
                            let value = convert(inner, value, inner.node().embedded_resource);
                            entries.insert(key(&name), value);
                        }
                    }
                    (None, Additional::Node(id)) => {
                        let inner = cursor.at(id);
                        entries.insert(key(name), convert(inner, value, inner.node().embedded_resource));
                    }
                    (None, Additional::Any) => {
                        entries.insert(key(name), plain(value));
                    }
                    (None, Additional::Unsaid) => {}
                }
            }
            if root {
                for name in ["apiVersion", "kind"] {
                    let value = fields.get(name).and_then(Value::as_str).unwrap_or_default();
                    entries.insert(key(name), text(value));
                }
                entries.insert(key("metadata"), names(fields.get("metadata")));
            }
            map(entries)
        }
    }
}

/// What rules see of metadata.
fn names(metadata: Option<&Value>) -> cel::Value {
    let mut entries = HashMap::new();
    for name in ["name", "generateName"] {
        if let Some(value) = metadata
            .and_then(|metadata| metadata.get(name))
            .and_then(Value::as_str)
        {
            entries.insert(key(name), text(value));
        }
    }
    map(entries)
}

/// A value that no schema describes.
fn plain(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(int) => cel::Value::Int(int),
            None => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(string) => text(string),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(plain).collect())),
        Value::Object(fields) => map(fields
            .iter()
            .map(|(name, value)| (key(name), plain(value)))
            .collect()),
    }
}

/// Lets CEL itself read a timestamp or a duration, so that fields and literals are read alike. What it cannot read
/// stays a string, and the format check reports it.
fn parsed(string: &str, is_timestamp: bool) -> cel::Value {
    CONVERTERS.with(|cell| {
        let converters = cell.get_or_init(|| {
            let parse = |source| Parser::default().parse(source).ok();
            Some((parse("timestamp(it)")?, parse("duration(it)")?))
        });
        let Some((timestamp, duration)) = converters else {
            return text(string);
        };
        with_functions(|functions| {
            let mut context = functions.new_inner_scope();
            context.add_variable_from_value("it", text(string));
            let expression = if is_timestamp { timestamp } else { duration };
            cel::Value::resolve(expression, &context).unwrap_or_else(|_| text(string))
        })
    })
}

fn decoded(string: &str) -> cel::Value {
    use base64::Engine as _;
    match base64::engine::general_purpose::STANDARD.decode(string) {
        Ok(bytes) => cel::Value::Bytes(Arc::new(bytes)),
        Err(_) => text(string),
    }
}
