//! One served resource: everything the generic verbs must know about a kind.

use std::sync::Arc;

use apiary_semantics::builtin::{self, Builtin};
use apiary_semantics::naming::NameRule;
use apiary_semantics::schema::Schema;
use apiary_semantics::table::{self, Column};
use serde_json::Value;

use super::quirks::Quirk;
use super::written_schema::WrittenSchema;
use crate::status::Subject;
use crate::store::ResourceId;

/// A field that field selectors may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selectable {
    /// As selectors spell it: `spec.nodeName`.
    pub name: String,
    /// The way to it in the document.
    pub path: Vec<String>,
}

impl Selectable {
    fn dotted(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            path: name.split('.').map(str::to_owned).collect(),
        }
    }

    /// A CRD's `selectableFields` entry (`.spec.color`).
    pub(super) fn json_path(path: &str) -> Self {
        Self::dotted(path.trim_start_matches('.'))
    }
}

/// Where a resource comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// Compiled in.
    Builtin(&'static Builtin),
    /// Defined by a CustomResourceDefinition.
    Custom(Custom),
}

/// What is particular to a custom resource.
#[derive(Debug, Clone)]
pub struct Custom {
    /// The definition's uid.
    pub definition_uid: String,
    /// The revision of the definition that this was built from.
    pub definition_revision: u64,
    /// The definition's generation that this was built from.
    pub definition_generation: i64,
    /// Objects older than this revision were written under another schema and are pruned and defaulted on reading.
    pub schema_since: u64,
    /// The schema.
    pub schema: WrittenSchema,
    /// The schema of the version that objects are stored in.
    pub storage_schema: WrittenSchema,
    /// The version that objects are stored in.
    pub storage_version: String,
    /// The definition is being deleted: nothing new may be made.
    pub terminating: bool,
    /// What requests to a deprecated version are warned of.
    pub deprecation: Vec<String>,
}

/// One served resource.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its table in the store.
    pub id: ResourceId,
    /// `""` for the core group.
    pub group: String,
    /// `v1`
    pub version: String,
    /// `configmaps`
    pub plural: String,
    /// `configmap`
    pub singular: String,
    /// `ConfigMap`
    pub kind: String,
    /// `ConfigMapList`
    pub list_kind: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// Categories.
    pub categories: Vec<String>,
    /// Namespaced or cluster-wide.
    pub namespaced: bool,
    /// Whether `/status` exists.
    pub has_status: bool,
    /// Whether `metadata.generation` is kept.
    pub has_generation: bool,
    /// How names are checked.
    pub name_rule: NameRule,
    /// Fields that selectors may name, beyond name and namespace.
    pub selectable: Vec<Selectable>,
    /// Columns for people.
    pub columns: Vec<Column>,
    /// What this kind does differently.
    pub quirk: Quirk,
    /// Where it comes from.
    pub origin: Origin,
}

impl Resource {
    pub(super) fn builtin(entry: &'static Builtin) -> Self {
        let quirk = Quirk::of(entry.group, entry.plural);
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Self {
            id: quirk
                .shared_table()
                .unwrap_or(&crate::status::qualified(entry.plural, entry.group))
                .into(),
            group: entry.group.to_owned(),
            version: entry.version.to_owned(),
            plural: entry.plural.to_owned(),
            singular: entry.singular.to_owned(),
            kind: entry.kind.to_owned(),
            list_kind: format!("{}List", entry.kind),
            short_names: owned(entry.short_names),
            categories: owned(entry.categories),
            namespaced: entry.namespaced,
            has_status: entry.has_status,
            has_generation: entry.has_generation,
            name_rule: entry.name_rule,
            selectable: entry
                .selectable
                .iter()
                .map(|field| Selectable::dotted(field))
                .collect(),
            columns: table::builtin_columns(entry.group, entry.kind),
            quirk,
            origin: Origin::Builtin(entry),
        }
    }

    /// `v1` or `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        match &self.origin {
            Origin::Builtin(entry) => builtin::schema(entry),
            Origin::Custom(custom) => custom.schema.compiled(),
        }
    }

    /// The custom part, if it has one.
    #[must_use]
    pub fn custom(&self) -> Option<&Custom> {
        match &self.origin {
            Origin::Builtin(_) => None,
            Origin::Custom(custom) => Some(custom),
        }
    }

    /// Whether stored documents differ from served ones: a view of another kind, or a version that is not the stored one.
    #[must_use]
    pub fn is_view(&self) -> bool {
        let other_version = self
            .custom()
            .is_some_and(|custom| custom.storage_version != self.version);
        self.quirk.is_view() || other_version
    }

    /// From the stored form to the served one.
    pub fn show(&self, document: &mut Value) {
        self.quirk.show(document);
        if let Some(custom) = self.custom()
            && self.is_view()
            && document.is_object()
        {
            document["apiVersion"] = Value::from(self.api_version());
            fit(&custom.schema, document);
        }
    }

    /// From the served form to the stored one. There is no conversion: what the stored version does not know is dropped,
    /// and what it has a default for is filled in.
    pub fn store(&self, document: &mut Value) {
        self.quirk.store(document);
        if let Some(custom) = self.custom()
            && self.is_view()
            && document.is_object()
        {
            document["apiVersion"] = Value::from(format!("{}/{}", self.group, custom.storage_version));
            fit(&custom.storage_schema, document);
        }
    }

    /// Brings a document into the form that upstream writes: built-in kinds without empty lists and maps but with
    /// what they always have, and all with whole numbers as integers.
    pub fn tidy(&self, document: &mut Value) {
        if self.custom().is_none() {
            let schema = self.schema();
            schema.drop_empty(document);
            schema.fill_zeros(document);
        }
        apiary_semantics::schema::write_whole_numbers(document);
    }

    /// A field that selectors may name, as text; missing is empty.
    #[must_use]
    pub fn selectable_text(&self, field: &Selectable, document: &Value) -> String {
        match &self.origin {
            Origin::Builtin(_) => builtin::selectable_value(&field.name, document),
            Origin::Custom(_) => {
                let found = field.path.iter().fold(document, |at, part| &at[part.as_str()]);
                match found {
                    Value::String(text) => text.clone(),
                    Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
                    scalar => scalar.to_string(),
                }
            }
        }
    }

    /// What a broken rule is about: rules are those of the stored form.
    #[must_use]
    pub fn rule_subject<'a>(&'a self, name: &'a str) -> Subject<'a> {
        let group = if self.quirk.is_view() { "" } else { &self.group };
        Subject {
            group,
            ..self.subject(name)
        }
    }

    /// What an error about `name` is about.
    #[must_use]
    pub fn subject<'a>(&'a self, name: &'a str) -> Subject<'a> {
        Subject {
            group: &self.group,
            resource: &self.plural,
            kind: &self.kind,
            name,
        }
    }
}

/// Makes a document of one version one of another.
fn fit(schema: &WrittenSchema, document: &mut Value) {
    let schema = schema.compiled();
    schema.prune(document);
    schema.apply_defaults(document);
}
