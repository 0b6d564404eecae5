//! The few things that some built-in kinds do differently, as data and small document transformations.
//!
//! Everything else is the same for every kind; a new difference belongs here, never into a verb. What takes more than a
//! few lines has a file of its own.

mod data;
mod event;
mod lease;

use apiary_semantics::{FieldError, builtin};
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
    /// Keeps only the names of secrets.
    ServiceAccount,
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
            ("", "serviceaccounts") => Self::ServiceAccount,
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

    /// What the server decides whatever the request says. Nobody owns it, so it happens after ownership is recorded.
    pub fn settle(self, document: &mut Value, old: Option<&Value>) {
        match self {
            Self::Namespace => settle_namespace(document, old),
            Self::ServiceAccount => settle_service_account(document),
            Self::Lease => lease::settle(document),
            _ => {}
        }
    }

    /// What every write of this kind goes through before validation; `old` is `None` on creation.
    pub fn complete(self, document: &mut Value, old: Option<&Value>) {
        match self {
            Self::Secret => data::complete_secret(document),
            Self::Namespace => complete_namespace(document),
            Self::Definition => super::definition::complete(document, old),
            Self::None
            | Self::ConfigMap
            | Self::ServiceAccount
            | Self::Event
            | Self::EventView
            | Self::Lease => {}
        }
    }

    /// Whether [`Quirk::check`] knows all rules of the kind, so that the schema has nothing to add.
    #[must_use]
    pub fn has_all_rules(self) -> bool {
        matches!(
            self,
            Self::Secret | Self::ConfigMap | Self::Event | Self::EventView | Self::Lease | Self::Definition
        )
    }

    /// Why an object of this name can never be deleted.
    #[must_use]
    pub fn undeletable(self, name: &str) -> Option<&'static str> {
        let is_standing = matches!(name, "default" | "kube-system" | "kube-public");
        (self == Self::Namespace && is_standing).then_some("this namespace may not be deleted")
    }

    /// What the client should know about a document that is accepted.
    #[must_use]
    pub fn warnings(self, document: &Value, old: Option<&Value>) -> Vec<String> {
        match self {
            Self::Definition => super::definition::warnings(document, old),
            _ => Vec::new(),
        }
    }

    /// Rules that no schema states.
    #[must_use]
    pub fn check(self, document: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match self {
            Self::Secret => data::check_secret(document, old),
            Self::ConfigMap => data::check_config_map(document, old),
            Self::Event => event::check(document),
            Self::EventView => event::check_view(document, old),
            Self::Lease => lease::check(document),
            Self::Definition => super::definition::check(document, old),
            Self::None | Self::Namespace | Self::ServiceAccount => Vec::new(),
        }
    }
}

fn complete_namespace(document: &mut Value) {
    let name = document["metadata"]["name"].clone();
    document["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
}

fn settle_namespace(document: &mut Value, old: Option<&Value>) {
    // Only `/finalize` may change these afterwards.
    if let Some(old) = old {
        document["spec"]["finalizers"] = old["spec"]["finalizers"].clone();
        return;
    }
    document["status"] = json!({"phase": "Active"});
    match &mut document["spec"]["finalizers"] {
        Value::Array(finalizers) => {
            if !finalizers.iter().any(|name| name == "kubernetes") {
                finalizers.push(json!("kubernetes"));
            }
        }
        unset => *unset = json!(["kubernetes"]),
    }
}

/// Of the secrets that a service account refers to only the names are kept.
fn settle_service_account(document: &mut Value) {
    let secrets = document.get_mut("secrets").and_then(Value::as_array_mut);
    let secrets = secrets.into_iter().flatten();
    for secret in secrets.filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}
