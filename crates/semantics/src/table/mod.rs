//! `kubectl get`'s tables: columns, cells, and the JSON paths they come from.
//!
//! A kind's columns are built once; cells are computed for every object of a list and every event of a watch.

mod builtin;
mod duration;
mod json_path;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use builtin::builtin_columns;
pub use duration::{human_age, human_duration};
pub use json_path::JsonPath;

/// What Kubernetes says about `metadata.name`.
const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although \
    some resources may allow a client to request the generation of an appropriate name automatically. Name is \
    primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// What Kubernetes says about `metadata.creationTimestamp`.
const CREATED_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was \
    created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set \
    this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. \
    More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// One column, as it stands in a Table's `columnDefinitions`.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean`, `date`.
    pub kind: String,
    /// `name`, `int32`, `date-time`…; may be empty.
    pub format: String,
    /// Shown by `kubectl get --help`-like tools.
    pub description: String,
    /// 0 is always shown, 1 only under `-o wide`.
    pub priority: i64,
    /// Where the cell comes from.
    pub source: CellSource,
}

/// Where a cell comes from.
#[derive(Debug, Clone)]
pub enum CellSource {
    /// `metadata.name`
    Name,
    /// `metadata.creationTimestamp`, as an age.
    Age,
    /// A JSON path of a CRD's `additionalPrinterColumns`.
    Path(JsonPath),
    /// A computed cell of a built-in kind.
    Computed(fn(&Value, now_seconds: i64) -> Value),
}

impl PartialEq for CellSource {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Name, Self::Name) | (Self::Age, Self::Age) => true,
            (Self::Path(a), Self::Path(b)) => a == b,
            (Self::Computed(a), Self::Computed(b)) => std::ptr::fn_addr_eq(*a, *b),
            _ => false,
        }
    }
}

impl Column {
    /// The column that every table but that of events begins with.
    fn name() -> Self {
        Self {
            name: "Name".to_owned(),
            kind: "string".to_owned(),
            format: "name".to_owned(),
            description: NAME_DESCRIPTION.to_owned(),
            priority: 0,
            source: CellSource::Name,
        }
    }

    fn age(kind: &str) -> Self {
        Self {
            name: "Age".to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: CREATED_DESCRIPTION.to_owned(),
            priority: 0,
            source: CellSource::Age,
        }
    }

    fn custom(definition: &Value) -> Option<Self> {
        let text = |name: &str| definition[name].as_str().unwrap_or_default().to_owned();
        let path = text("jsonPath");
        let description = match text("description") {
            empty if empty.is_empty() => {
                format!("Custom resource definition column (in JSONPath format): {path}")
            }
            given => given,
        };
        Some(Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority: definition["priority"].as_i64().unwrap_or_default(),
            source: CellSource::Path(JsonPath::parse(&path).ok()?),
        })
    }

    fn cell(&self, object: &Value, now_seconds: i64) -> Value {
        match &self.source {
            CellSource::Name => object["metadata"]["name"].as_str().unwrap_or_default().into(),
            CellSource::Age => human_age(&object["metadata"]["creationTimestamp"], now_seconds).into(),
            CellSource::Computed(compute) => compute(object, now_seconds),
            CellSource::Path(path) => match path.first(object) {
                Some(found) => typed_cell(&self.kind, found, now_seconds),
                None => Value::Null,
            },
        }
    }
}

/// Columns of a custom kind: Name, then `additionalPrinterColumns` (or Age alone if there are none).
///
/// A column whose path cannot be read is left out; such a CRD is refused before it gets here.
#[must_use]
pub fn custom_columns(additional_printer_columns: &[Value]) -> Vec<Column> {
    if additional_printer_columns.is_empty() {
        return vec![Column::name(), Column::age("date")];
    }
    let additional = additional_printer_columns.iter().filter_map(Column::custom);
    std::iter::once(Column::name()).chain(additional).collect()
}

/// The `columnDefinitions` of a Table.
#[must_use]
pub fn definitions(columns: &[Column]) -> Value {
    let definition = |column: &Column| {
        json!({
            "name": column.name,
            "type": column.kind,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        })
    };
    columns.iter().map(definition).collect()
}

/// The `cells` of one row. `now_seconds` is Unix time, for ages.
#[must_use]
pub fn cells(columns: &[Column], object: &Value, now_seconds: i64) -> Value {
    columns
        .iter()
        .map(|column| column.cell(object, now_seconds))
        .collect()
}

/// What a column of a type shows for the value that its path found. A value that does not suit the type shows nothing.
fn typed_cell(kind: &str, value: &Value, now_seconds: i64) -> Value {
    match (kind, value) {
        ("string", _) => printed(value).into(),
        ("integer", Value::Number(number)) if number.is_f64() => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "an integer column cuts the fraction off"
            )]
            let whole = number.as_f64().map(|number| number as i64);
            whole.into()
        }
        ("integer" | "number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(_)) => human_age(value, now_seconds).into(),
        _ => Value::Null,
    }
}

/// A value as text: strings bare, lists and objects as JSON.
fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // This is how Go's templates print a nil.
        Value::Null => "<no value>".to_owned(),
        Value::Number(number) if number.is_f64() => printed_float(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// A float as Go prints it: the shortest digits, and an exponent only for the very large and the very small.
fn printed_float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..21).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{number}"),
    }
}
