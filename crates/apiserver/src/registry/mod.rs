//! What is served: the built-in resources and those that CustomResourceDefinitions add.
//!
//! The registry is an immutable value; a definition's change makes a new one. Nothing here reads or writes the store.

mod custom;
mod definition;
mod quirks;
mod resource;
mod written_schema;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use apiary_semantics::builtin;

use crate::store::Object;

pub use definition::{CLEANUP_FINALIZER, settle as settle_definition};
pub use quirks::Quirk;
pub use resource::{Custom, Origin, Resource, Selectable};
pub use written_schema::WrittenSchema;

/// A group version's resources by plural.
pub type Resources = BTreeMap<String, Arc<Resource>>;

/// Everything that is served.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// By group and version.
    pub versions: BTreeMap<(String, String), Resources>,
    /// Grows with every change of what is served.
    pub generation: u64,
    /// The revision of the definitions that it was built from.
    pub as_of: u64,
}

impl Registry {
    /// The built-in resources alone.
    #[must_use]
    pub fn builtin() -> Self {
        let mut registry = Self::default();
        for entry in builtin::all() {
            registry.add(Resource::builtin(entry));
        }
        registry
    }

    /// The built-in resources and those of all established definitions.
    #[must_use]
    pub fn with_definitions<'a>(
        previous: &Self,
        definitions: impl Iterator<Item = &'a Arc<Object>>,
        as_of: u64,
    ) -> Self {
        let mut registry = Self {
            generation: previous.generation + 1,
            as_of,
            ..Self::default()
        };
        for resource in previous.all().filter(|resource| resource.custom().is_none()) {
            registry.share(resource.clone());
        }
        let mut known: HashMap<(&str, u64), Vec<&Arc<Resource>>> = HashMap::new();
        for resource in previous.all() {
            if let Some(custom) = resource.custom() {
                let definition = (custom.definition_uid.as_str(), custom.definition_revision);
                known.entry(definition).or_default().push(resource);
            }
        }
        for object in definitions {
            match known.get(&(&*object.uid, object.revision)) {
                // Reading a definition costs more than everything else here, and most did not change.
                Some(unchanged) => unchanged
                    .iter()
                    .for_each(|resource| registry.share(Arc::clone(resource))),
                None => custom::resources(object, previous)
                    .into_iter()
                    .for_each(|resource| registry.add(resource)),
            }
        }
        registry
    }

    fn add(&mut self, resource: Resource) {
        self.share(Arc::new(resource));
    }

    fn share(&mut self, resource: Arc<Resource>) {
        let version = (resource.group.clone(), resource.version.clone());
        self.versions
            .entry(version)
            .or_default()
            .insert(resource.plural.clone(), resource);
    }

    /// All resources, in group, version and plural order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.versions.values().flat_map(BTreeMap::values)
    }

    /// One resource.
    #[must_use]
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.versions
            .get(&(group.to_owned(), version.to_owned()))?
            .get(plural)
    }

    /// The resource of a kind, as owner references name it.
    #[must_use]
    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
        self.all()
            .find(|resource| resource.group == group && resource.kind == kind)
    }

    /// Whether anything of this group version is served.
    #[must_use]
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.versions
            .contains_key(&(group.to_owned(), version.to_owned()))
    }

    /// The groups in order, each with its versions, the preferred one first.
    #[must_use]
    pub fn groups(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (group, version) in self.versions.keys() {
            groups.entry(group).or_default().push(version);
        }
        groups
    }
}
