//! `kubectl get`'s tables: columns, cells, and the JSON paths they come from.

use serde_json::Value;

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
#[derive(Debug, Clone, PartialEq)]
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

/// A parsed JSON path in Kubernetes' dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {}

impl JsonPath {
    /// Reads `.status.conditions[?(@.type=="Ready")].status` and the like.
    pub fn parse(_text: &str) -> Result<Self, String> {
        todo!()
    }

    /// All values the path finds.
    #[must_use]
    pub fn find<'a>(&self, _document: &'a Value) -> Vec<&'a Value> {
        todo!()
    }
}

/// Columns of a custom kind: Name, then `additionalPrinterColumns` (or Age alone if there are none).
#[must_use]
pub fn custom_columns(_additional_printer_columns: &[Value]) -> Vec<Column> {
    todo!()
}

/// Columns of a built-in kind; Name and Age for those without columns of their own.
#[must_use]
pub fn builtin_columns(_group: &str, _kind: &str) -> Vec<Column> {
    todo!()
}

/// The `columnDefinitions` of a Table.
#[must_use]
pub fn definitions(_columns: &[Column]) -> Value {
    todo!()
}

/// The `cells` of one row. `now_seconds` is Unix time, for ages.
#[must_use]
pub fn cells(_columns: &[Column], _object: &Value, _now_seconds: i64) -> Value {
    todo!()
}
