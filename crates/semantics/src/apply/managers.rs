//! `metadata.managedFields`: who owns which paths.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields_v1;
use super::scalar::quoted;
use super::set::Set;

/// How a manager writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// Server-side apply.
    Apply,
    /// Everything else.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells entries apart. Managers that apply have one entry whatever version they apply in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ManagerKey {
    /// The manager's name.
    pub(super) name: String,
    /// How it writes.
    pub(super) operation: Operation,
    /// The version it writes in; empty for [`Operation::Apply`].
    pub(super) api_version: String,
    /// The subresource it writes through.
    pub(super) subresource: String,
}

impl ManagerKey {
    /// The key of a manager that writes now.
    pub(super) fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        Self {
            name: if name.is_empty() { "unknown" } else { name }.to_owned(),
            operation,
            api_version: if operation == Operation::Apply {
                String::new()
            } else {
                api_version.to_owned()
            },
            subresource: subresource.to_owned(),
        }
    }

    /// As conflict messages name it: `"kubectl" with subresource "status" using apps/v1`.
    pub(super) fn describe(&self) -> String {
        let mut text = quoted(&self.name);
        if !self.subresource.is_empty() {
            text.push_str(" with subresource ");
            text.push_str(&quoted(&self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(" using ");
            text.push_str(&self.api_version);
        }
        text
    }
}

/// What one manager owns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Owned {
    /// The paths.
    pub(super) set: Set,
    /// The version they were written in.
    pub(super) api_version: String,
    /// When the manager last changed something.
    pub(super) time: Option<String>,
}

/// All managers of an object.
pub(super) type Managers = BTreeMap<ManagerKey, Owned>;

/// Why `managedFields` cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ManagersError {
    /// Not a list of objects.
    #[error("managedFields must be a list of objects")]
    Shape,
    /// Neither of the two operations.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No version.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// No fields type.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    /// A fields type other than `FieldsV1`.
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    FieldsType(String, usize),
    /// Unreadable fields.
    #[error("error decoding set of managed fields entry {at}")]
    Fields {
        /// The entry's position.
        at: usize,
        /// What is wrong with it.
        source: fields_v1::FieldsError,
    },
}

/// The `metadata.managedFields` of an object.
pub(super) fn raw(object: &Value) -> Option<&Value> {
    object
        .get("metadata")?
        .get("managedFields")
        .filter(|value| !value.is_null())
}

/// A copy of an object without `metadata.managedFields`, which are more than half of most objects, and without some of
/// its fields.
#[must_use]
pub fn copy_without_managers(object: &Value, left_out: &[&str]) -> Value {
    let mut copy = Map::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        let value = match (name.as_str(), value) {
            (name, _) if left_out.contains(&name) => continue,
            ("metadata", Value::Object(metadata)) => {
                let kept = metadata.iter().filter(|(name, _)| *name != "managedFields");
                kept.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            _ => value.clone(),
        };
        copy.insert(name.clone(), value);
    }
    Value::Object(copy)
}

/// Takes `metadata.managedFields` out of an object.
pub(super) fn take_raw(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Puts `metadata.managedFields` into an object, which is given `metadata` if it has none.
pub(super) fn put_raw(object: &mut Value, managed: Option<Value>) {
    let (Some(managed), Some(object)) = (managed, object.as_object_mut()) else {
        return;
    };
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), managed);
    }
}

/// Whether a client asks to forget all managers: an empty list, or one empty entry.
pub(super) fn is_reset(managed: &Value) -> bool {
    match managed.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only
            .as_object()
            .is_some_and(|entry| entry.values().all(Value::is_null)),
        _ => false,
    }
}

/// Reads the managers of an object; none if there are no entries.
pub(super) fn decode(managed: Option<&Value>) -> Result<Managers, ManagersError> {
    let mut managers = Managers::new();
    let Some(managed) = managed else {
        return Ok(managers);
    };
    let entries = managed.as_array().ok_or(ManagersError::Shape)?;
    for (at, entry) in entries.iter().enumerate() {
        let entry = entry.as_object().ok_or(ManagersError::Shape)?;
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(ManagersError::Operation),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err(ManagersError::ApiVersion);
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(ManagersError::NoFieldsType(at)),
            other => return Err(ManagersError::FieldsType(other.to_owned(), at)),
        }
        let set = match entry.get("fieldsV1") {
            Some(fields) => {
                fields_v1::decode(fields).map_err(|source| ManagersError::Fields { at, source })?
            }
            None => Set::default(),
        };
        let key = ManagerKey {
            name: text("manager").to_owned(),
            operation,
            api_version: if operation == Operation::Apply {
                String::new()
            } else {
                api_version.to_owned()
            },
            subresource: text("subresource").to_owned(),
        };
        let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
        managers.insert(
            key,
            Owned {
                set,
                api_version: api_version.to_owned(),
                time,
            },
        );
    }
    Ok(managers)
}

/// Writes the managers, appliers first and oldest first; `None` if there are none.
pub(super) fn encode(managers: &Managers) -> Option<Value> {
    if managers.is_empty() {
        return None;
    }
    let mut entries: Vec<_> = managers.iter().collect();
    entries.sort_by_cached_key(|(key, owned)| {
        (
            key.operation,
            seconds(owned.time.as_deref()),
            key.name.clone(),
            owned.api_version.clone(),
            key.subresource.clone(),
        )
    });
    let entries = entries.into_iter().map(|(key, owned)| {
        let mut entry = Map::new();
        let mut put = |name: &str, value: Value| {
            entry.insert(name.to_owned(), value);
        };
        if !key.name.is_empty() {
            put("manager", json!(key.name));
        }
        put("operation", json!(key.operation.name()));
        put("apiVersion", json!(owned.api_version));
        if let Some(time) = &owned.time {
            put("time", json!(time));
        }
        put("fieldsType", json!("FieldsV1"));
        put("fieldsV1", fields_v1::encode(&owned.set));
        if !key.subresource.is_empty() {
            put("subresource", json!(key.subresource));
        }
        Value::Object(entry)
    });
    Some(Value::Array(entries.collect()))
}

/// When that was, in seconds; nothing is oldest.
pub(super) fn seconds(time: Option<&str>) -> i64 {
    time.and_then(|time| time.parse::<Timestamp>().ok())
        .map_or(0, Timestamp::as_second)
}
