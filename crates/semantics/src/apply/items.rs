//! Telling the items of sets and map lists apart.

use serde_json::Value;

use super::path::PathElement;
use super::types::{Form, Type};
use crate::schema::ListType;

/// Why an item has no path element.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ItemError {
    /// `null` in a map list.
    #[error("associative list with keys may not have a null element")]
    NullInMap,
    /// A scalar or list in a map list.
    #[error("associative list with keys may not have non-map elements")]
    NoMapInMap,
    /// The schema's items are no objects, so a missing key has no default.
    #[error("couldn't find default value for {0}: associative list may not have non-map types")]
    NoDefault(String),
    /// All keys are missing.
    #[error(
        "associative list with keys has an element that omits all key fields [{0}] (and doesn't have default values for any key fields)"
    )]
    NoKeys(String),
    /// An object in a set.
    #[error("associative list without keys has an element that's a map type")]
    MapInSet,
    /// A list in a set.
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    /// `null` in a set.
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
    /// The list is one piece.
    #[error("invalid indexing of non-associative list")]
    Atomic,
}

/// The path element of `item` in a list of type `list`.
pub(super) fn element(list: Type<'_>, item: &Value) -> Result<PathElement, ItemError> {
    match (list.list_type(), item) {
        (ListType::Atomic, _) => Err(ItemError::Atomic),
        (ListType::Set, Value::Object(_)) => Err(ItemError::MapInSet),
        (ListType::Set, Value::Array(_)) => Err(ItemError::ListInSet),
        (ListType::Set, Value::Null) => Err(ItemError::NullInSet),
        (ListType::Set, scalar) => Ok(PathElement::Value(scalar.clone())),
        (ListType::Map(_), Value::Null) => Err(ItemError::NullInMap),
        (ListType::Map(keys), Value::Object(fields)) => {
            let items = list.items();
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                if let Some(value) = fields.get(key).or_else(|| items.field_default(key)) {
                    found.push((key.clone(), value.clone()));
                } else if items.default_form() != Form::Map {
                    return Err(ItemError::NoDefault(key.clone()));
                }
            }
            if found.is_empty() && !keys.is_empty() {
                let keys: Vec<_> = keys.iter().map(|key| super::scalar::quoted(key)).collect();
                return Err(ItemError::NoKeys(keys.join(" ")));
            }
            found.sort_by(|(a, _), (b, _)| a.cmp(b));
            Ok(PathElement::Key(found))
        }
        (ListType::Map(_), _) => Err(ItemError::NoMapInMap),
    }
}
