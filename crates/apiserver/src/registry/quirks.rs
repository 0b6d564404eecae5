//! The few things that some built-in kinds do differently, as data and small document transformations.
//!
//! Everything else is the same for every kind; a new difference belongs here, never into a verb.

use apiary_semantics::{FieldError, builtin};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What a kind does differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quirk {
    /// Nothing.
    None,
    /// Has a phase, `spec.finalizers` and a content that goes first.
    Namespace,
    /// `stringData`, a default type, and immutability on demand.
    Secret,
    /// Immutability on demand.
    ConfigMap,
    /// Stored as core/v1; PUT may create.
    Event,
    /// The events.k8s.io view of the same objects.
    EventView,
    /// PUT may create, and needs a resourceVersion.
    Lease,
    /// Defines other kinds.
    Definition,
}

impl Quirk {
    pub(super) fn of(group: &str, plural: &str) -> Self {
        match (group, plural) {
            ("", "namespaces") => Self::Namespace,
            ("", "secrets") => Self::Secret,
            ("", "configmaps") => Self::ConfigMap,
            ("", "events") => Self::Event,
            ("events.k8s.io", "events") => Self::EventView,
            ("coordination.k8s.io", "leases") => Self::Lease,
            ("apiextensions.k8s.io", "customresourcedefinitions") => Self::Definition,
            _ => Self::None,
        }
    }

    /// The table of another resource that this one is a view of.
    pub(super) fn shared_table(self) -> Option<&'static str> {
        (self == Self::EventView).then_some("events")
    }

    /// Whether stored documents differ from served ones.
    #[must_use]
    pub fn is_view(self) -> bool {
        self == Self::EventView
    }

    /// Whether PUT on a missing object creates it.
    #[must_use]
    pub fn creates_on_update(self) -> bool {
        matches!(self, Self::Event | Self::EventView | Self::Lease)
    }

    /// Whether PUT may leave out the resourceVersion. Custom resources may not; see the caller.
    #[must_use]
    pub fn allows_unconditional_update(self) -> bool {
        !matches!(self, Self::Lease | Self::Definition)
    }

    /// Whether a whole collection can be deleted at once.
    #[must_use]
    pub fn deletes_collections(self) -> bool {
        self != Self::Namespace
    }

    /// From the stored form to the served one.
    pub fn show(self, document: &mut Value) {
        if self == Self::EventView {
            builtin::event_from_core(document);
        }
    }

    /// From the served form to the stored one.
    pub fn store(self, document: &mut Value) {
        if self == Self::EventView {
            builtin::event_to_core(document);
        }
    }

    /// What every write of this kind goes through before validation; `old` is `None` on creation.
    pub fn complete(self, document: &mut Value, old: Option<&Value>) {
        match self {
            Self::Secret => complete_secret(document),
            Self::Namespace => complete_namespace(document, old),
            Self::Definition => super::definition::complete(document, old),
            Self::None | Self::ConfigMap | Self::Event | Self::EventView | Self::Lease => {}
        }
    }

    /// Rules that no schema states.
    #[must_use]
    pub fn check(self, document: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match self {
            Self::Secret => check_secret(document, old),
            Self::ConfigMap => check_immutable(document, old, &["data", "binaryData"]),
            Self::Definition => super::definition::check(document, old),
            Self::None | Self::Namespace | Self::Event | Self::EventView | Self::Lease => Vec::new(),
        }
    }
}

fn complete_secret(document: &mut Value) {
    let Some(fields) = document.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(plain)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        if data.is_null() {
            *data = json!({});
        }
        if let Some(data) = data.as_object_mut() {
            for (key, value) in plain {
                let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
                data.insert(key, Value::from(encoded));
            }
        }
    }
    let kind = fields.entry("type").or_insert(Value::Null);
    if kind.as_str().unwrap_or_default().is_empty() {
        *kind = json!("Opaque");
    }
}

fn check_secret(document: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(old) = old
        && old["type"] != document["type"]
    {
        errors.push(FieldError::invalid(
            "type",
            document["type"].clone(),
            "field is immutable",
        ));
    }
    errors.extend(check_immutable(document, old, &["data"]));
    errors
}

fn check_immutable(document: &Value, old: Option<&Value>, fields: &[&str]) -> Vec<FieldError> {
    let Some(old) = old.filter(|old| old["immutable"] == json!(true)) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if document["immutable"] != json!(true) {
        errors.push(FieldError::forbidden(
            "immutable",
            "field is immutable when `immutable` is set",
        ));
    }
    for field in fields {
        if document[*field] != old[*field] {
            errors.push(FieldError::forbidden(
                *field,
                "field is immutable when `immutable` is set",
            ));
        }
    }
    errors
}

fn complete_namespace(document: &mut Value, old: Option<&Value>) {
    let name = document["metadata"]["name"].clone();
    document["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    match old {
        None => {
            document["spec"]["finalizers"] = json!(["kubernetes"]);
            document["status"] = json!({"phase": "Active"});
        }
        // Only `/finalize` may change these.
        Some(old) => document["spec"]["finalizers"] = old["spec"]["finalizers"].clone(),
    }
}
