//! `metadata` as a whole: its names, labels, annotations, owners, finalizers and managed fields.

use serde_json::{Map, Value};

use super::{
    NameRule, field_manager_errors, label_key_errors, label_value_errors, name_errors, name_prefix_errors,
};
use crate::{FieldError, FieldErrorKind};

/// The most that all keys and values of `metadata.annotations` may add up to.
pub const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;

const SUBRESOURCE_MAX: usize = 256;
const ORPHAN_FINALIZER: &str = "orphan";
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";

/// Checks `metadata.{name,generateName,labels,annotations,finalizers,ownerReferences,managedFields}` of a document.
///
/// A name must already have been generated. Members of the wrong JSON type are reported too, since a custom kind's
/// schema says nothing about them.
#[must_use]
pub fn metadata_errors(rule: NameRule, object: &Value) -> Vec<FieldError> {
    let mut check = Check::default();
    let empty = Map::new();
    let metadata = match object.get("metadata") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(metadata)) => metadata,
        Some(other) => {
            check.wrong_type("metadata", other, "object");
            return check.errors;
        }
    };
    check.names(rule, metadata);
    check.generation(metadata);
    check.common(metadata);
    check.finalizers(metadata);
    check.errors
}

/// Checks an update: what `metadata` may not lose or change, and what it may not gain once deletion has begun.
///
/// The server has usually restored the immutable members from the stored object before; what still differs is an
/// attempt to change them.
#[must_use]
pub fn metadata_update_errors(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut check = Check::default();
    if !old["metadata"]["deletionTimestamp"].is_null() {
        check.no_new_finalizers(&new["metadata"], &old["metadata"]);
    }
    if new["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
    {
        check.invalid(
            "metadata.resourceVersion",
            "".into(),
            "must be specified for an update",
        );
    }
    for (name, field) in [
        ("name", "metadata.name"),
        ("namespace", "metadata.namespace"),
        ("uid", "metadata.uid"),
        ("creationTimestamp", "metadata.creationTimestamp"),
        ("deletionTimestamp", "metadata.deletionTimestamp"),
        (
            "deletionGracePeriodSeconds",
            "metadata.deletionGracePeriodSeconds",
        ),
    ] {
        let (now, before) = (&new["metadata"][name], &old["metadata"][name]);
        if now != before {
            check.invalid(field, now.clone(), "field is immutable");
        }
    }
    if let Some(metadata) = new["metadata"].as_object() {
        check.common(metadata);
    }
    check.errors
}

/// Collects what is wrong; a method per part of `metadata`.
#[derive(Default)]
struct Check {
    errors: Vec<FieldError>,
}

impl Check {
    fn invalid(&mut self, field: &str, value: Value, detail: impl Into<String>) {
        self.errors.push(FieldError::invalid(field, value, detail));
    }

    fn wrong_type(&mut self, field: &str, value: &Value, expected: &str) {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let detail = format!("{field} must be of type {expected}: \"{found}\"");
        let kind = FieldErrorKind::TypeInvalid;
        self.errors
            .push(FieldError::new(kind, field, Some(Value::from(found)), detail));
    }

    /// A string member; empty when absent, null, or reported as being something else.
    fn text<'a>(&mut self, from: &'a Map<String, Value>, name: &str, path: &str) -> &'a str {
        match from.get(name) {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            Some(other) => {
                self.wrong_type(&format!("{path}.{name}"), other, "string");
                ""
            }
        }
    }

    fn list<'a>(&mut self, metadata: &'a Map<String, Value>, name: &str) -> &'a [Value] {
        match metadata.get(name) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong_type(&format!("metadata.{name}"), other, "array");
                &[]
            }
        }
    }

    /// The string pairs of a member that maps strings to strings.
    fn pairs<'a>(
        &mut self,
        metadata: &'a Map<String, Value>,
        name: &str,
        mut each: impl FnMut(&mut Self, &'a str, &'a str),
    ) {
        match metadata.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(pairs)) => {
                for (key, value) in pairs {
                    match value {
                        Value::String(value) => each(self, key, value),
                        Value::Null => each(self, key, ""),
                        other => self.wrong_type(&format!("metadata.{name}.{key}"), other, "string"),
                    }
                }
            }
            Some(other) => self.wrong_type(&format!("metadata.{name}"), other, "object"),
        }
    }

    fn names(&mut self, rule: NameRule, metadata: &Map<String, Value>) {
        let prefix = self.text(metadata, "generateName", "metadata");
        if !prefix.is_empty() {
            for fault in name_prefix_errors(rule, prefix) {
                self.invalid("metadata.generateName", prefix.into(), fault);
            }
        }
        let name = self.text(metadata, "name", "metadata");
        if name.is_empty() {
            self.errors.push(FieldError::required(
                "metadata.name",
                "name or generateName is required",
            ));
        } else {
            for fault in name_errors(rule, name) {
                self.invalid("metadata.name", name.into(), fault);
            }
        }
    }

    fn generation(&mut self, metadata: &Map<String, Value>) {
        if let Some(generation) = metadata
            .get("generation")
            .and_then(Value::as_i64)
            .filter(|value| *value < 0)
        {
            self.invalid(
                "metadata.generation",
                generation.into(),
                "must be greater than or equal to 0",
            );
        }
    }

    /// The parts that creation and update check alike.
    fn common(&mut self, metadata: &Map<String, Value>) {
        self.pairs(metadata, "labels", |check, key, value| {
            for fault in label_key_errors(key) {
                check.invalid("metadata.labels", key.into(), fault);
            }
            for fault in label_value_errors(value) {
                check.invalid("metadata.labels", value.into(), fault);
            }
        });
        let mut bytes = 0;
        self.pairs(metadata, "annotations", |check, key, value| {
            bytes += key.len() + value.len();
            // An annotation's key differs from a label's only in that its domain may have capitals.
            for fault in label_key_errors(&key.to_lowercase()) {
                check.invalid("metadata.annotations", key.into(), fault);
            }
        });
        if bytes > ANNOTATIONS_MAX_BYTES {
            self.too_long("metadata.annotations", ANNOTATIONS_MAX_BYTES);
        }
        self.owners(metadata);
        self.managed_fields(metadata);
    }

    fn too_long(&mut self, field: &str, limit: usize) {
        let detail = format!("may not be more than {limit} bytes");
        self.errors
            .push(FieldError::new(FieldErrorKind::TooLong, field, None, detail));
    }

    fn owners(&mut self, metadata: &Map<String, Value>) {
        // Upstream does not say which of the references it means.
        const PATH: &str = "metadata.ownerReferences";
        let owners = self.list(metadata, "ownerReferences");
        let mut controller: Option<String> = None;
        for (index, owner) in owners.iter().enumerate() {
            let Some(owner) = owner.as_object() else {
                self.wrong_type(&format!("{PATH}[{index}]"), owner, "object");
                continue;
            };
            let api_version = self.text(owner, "apiVersion", PATH);
            if api_version.rsplit('/').next().unwrap_or_default().is_empty() {
                let detail = "version must not be empty";
                self.invalid("metadata.ownerReferences.apiVersion", api_version.into(), detail);
            }
            for name in ["kind", "name", "uid"] {
                if self.text(owner, name, PATH).is_empty() {
                    self.invalid(&format!("{PATH}.{name}"), "".into(), "must not be empty");
                }
            }
            let (kind, name) = (self.text(owner, "kind", PATH), self.text(owner, "name", PATH));
            if api_version == "v1" && kind == "Event" {
                let detail = "/v1, Kind=Event is disallowed from being an owner";
                self.invalid(PATH, Value::Object(owner.clone()), detail);
            }
            if owner.get("controller").and_then(Value::as_bool) == Some(true) {
                let this = format!("{kind}/{name}");
                if let Some(first) = &controller {
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                         and {this}"
                    );
                    self.invalid(PATH, Value::Array(owners.to_vec()), detail);
                } else {
                    controller = Some(this);
                }
            }
        }
    }

    fn finalizers(&mut self, metadata: &Map<String, Value>) {
        let finalizers = self.list(metadata, "finalizers");
        for (index, finalizer) in finalizers.iter().enumerate() {
            let Some(name) = finalizer.as_str() else {
                self.wrong_type(&format!("metadata.finalizers[{index}]"), finalizer, "string");
                continue;
            };
            for fault in label_key_errors(name) {
                self.invalid("metadata.finalizers", name.into(), fault);
            }
        }
        if finalizers.iter().any(|name| name == ORPHAN_FINALIZER)
            && finalizers.iter().any(|name| name == FOREGROUND_FINALIZER)
        {
            let detail =
                format!("finalizer {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot be both set");
            self.invalid("metadata.finalizers", Value::Array(finalizers.to_vec()), detail);
        }
    }

    fn no_new_finalizers(&mut self, new: &Value, old: &Value) {
        let names = |metadata: &'_ Value| -> Vec<String> {
            let list = metadata["finalizers"].as_array().map_or(&[][..], Vec::as_slice);
            list.iter()
                .filter_map(Value::as_str)
                .map(ToOwned::to_owned)
                .collect()
        };
        let before = names(old);
        let mut extra: Vec<String> = names(new)
            .into_iter()
            .filter(|name| !before.contains(name))
            .collect();
        if extra.is_empty() {
            return;
        }
        extra.sort();
        extra.dedup();
        let shown: Vec<String> = extra.iter().map(|name| format!("{name:?}")).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            shown.join(", ")
        );
        self.errors
            .push(FieldError::forbidden("metadata.finalizers", detail));
    }

    fn managed_fields(&mut self, metadata: &Map<String, Value>) {
        for (index, entry) in self.list(metadata, "managedFields").iter().enumerate() {
            let path = format!("metadata.managedFields[{index}]");
            let Some(entry) = entry.as_object() else {
                self.wrong_type(&path, entry, "object");
                continue;
            };
            let operation = self.text(entry, "operation", &path);
            if !matches!(operation, "Apply" | "Update") {
                self.invalid(
                    &format!("{path}.operation"),
                    operation.into(),
                    "must be `Apply` or `Update`",
                );
            }
            let fields_type = self.text(entry, "fieldsType", &path);
            if !matches!(fields_type, "" | "FieldsV1") {
                self.invalid(
                    &format!("{path}.fieldsType"),
                    fields_type.into(),
                    "must be `FieldsV1`",
                );
            }
            let manager = self.text(entry, "manager", &path);
            self.errors
                .extend(field_manager_errors(&format!("{path}.manager"), manager));
            if self.text(entry, "subresource", &path).len() > SUBRESOURCE_MAX {
                self.too_long(&format!("{path}.subresource"), SUBRESOURCE_MAX);
            }
        }
    }
}
