//! One step of a path into a document.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::scalar;

/// How to get from a container to one of its children.
#[derive(Debug, Clone)]
pub(super) enum PathElement {
    /// A named field of an object.
    Field(String),
    /// The item of a map list that has these key fields (sorted by name).
    Key(Vec<(String, Value)>),
    /// The item of a set that has this value.
    Value(Value),
    /// The item of an atomic list at this position.
    Index(i64),
}

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }

    /// Orders this element relative to the field `name`, without allocating one.
    pub(super) fn cmp_field(&self, name: &str) -> Ordering {
        match self {
            Self::Field(own) => own.as_str().cmp(name),
            _ => Ordering::Greater,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(l), Self::Field(r)) => l.cmp(r),
            (Self::Key(l), Self::Key(r)) => l
                .iter()
                .zip(r)
                .map(|((ln, lv), (rn, rv))| ln.cmp(rn).then_with(|| scalar::compare(lv, rv)))
                .find(|order| order.is_ne())
                .unwrap_or_else(|| l.len().cmp(&r.len())),
            (Self::Value(l), Self::Value(r)) => scalar::compare(l, r),
            (Self::Index(l), Self::Index(r)) => l.cmp(r),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

/// Prints as in conflict messages: `.name`, `[key="value"]`, `[="value"]`, `[3]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (position, (name, value)) in fields.iter().enumerate() {
                    let comma = if position == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={}", scalar::in_path(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", scalar::in_path(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Prints a whole path.
pub(super) fn display(path: &[&PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}
