//! What Clusters refer to, of whatever kind. Kinds that are not ours are found by the label on their definitions that
//! says which version implements the contract, and are watched from the first time that somebody asks for one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_api::{
    CAPTCluster, CAPTControlPlane,
    foreign::{cluster::ContractReference, marks},
};
use capt_core::{
    cluster::{Contracted, Role},
    tenancy::WatchScope,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{
    Client,
    core::{ApiResource, GroupVersionKind, Version},
};
use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::{task::JoinSet, time::timeout};

use super::{Facts, kinds, views};
use crate::engine::{
    key::ObjectKey,
    rights::Missing,
    served::{CustomKind, Definitions, Unread, follow},
    table::{Serving, Table},
    wakes::{Reader, Wakes},
};

/// How long it is waited for a kind that nobody asked for before.
const FIRST_LOOK: Duration = Duration::from_secs(15);

/// What a reference leads to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lookup {
    /// There is no such kind, in words.
    NotServed(String),
    /// It cannot be looked up, in words.
    Unresolvable(String),
    /// It does not exist.
    Missing,
    /// It exists.
    Found(Found),
}

/// What a reference leads to that exists.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// A network of ours.
    Network(Arc<CAPTCluster>),
    /// A control plane of ours.
    ControlPlane(Arc<CAPTControlPlane>),
    /// Something of somebody else's.
    Other(Arc<Value>),
}

impl Found {
    /// What it is to a Cluster, by the contract.
    pub(crate) fn contracted(&self, role: Role) -> Option<Contracted> {
        match self {
            Self::Network(network) => Contracted::network(network, role),
            Self::ControlPlane(control_plane) => Contracted::control_plane(control_plane, role),
            Self::Other(object) => Contracted::read(object, role),
        }
    }

    /// Its owners.
    pub(crate) fn owners(&self) -> Vec<OwnerReference> {
        let of = |metadata: &ObjectMeta| metadata.owner_references.clone().unwrap_or_default();
        match self {
            Self::Network(network) => of(&network.metadata),
            Self::ControlPlane(control_plane) => of(&control_plane.metadata),
            Self::Other(object) => {
                Vec::deserialize(&object["metadata"]["ownerReferences"]).unwrap_or_default()
            }
        }
    }
}

/// Kinds that only references tell of.
pub(super) struct Others {
    client: Client,
    scopes: Vec<WatchScope>,
    definitions: Arc<Definitions>,
    wakes: Arc<Wakes>,
    missing: Missing,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By the name of the definition and the version.
    tables: HashMap<(String, String), Arc<Table<Value>>>,
    watches: JoinSet<()>,
}

impl Others {
    pub(super) fn new(
        client: Client,
        scopes: &[WatchScope],
        definitions: Arc<Definitions>,
        wakes: Arc<Wakes>,
        missing: Missing,
    ) -> Self {
        Self {
            client,
            missing,
            scopes: scopes.to_owned(),
            definitions,
            wakes,
            known: Mutex::default(),
        }
    }

    /// The table of a kind. Its names live as long as the process: there are no more of them than definitions.
    fn table(&self, resource: &ApiResource) -> Arc<Table<Value>> {
        let definition = format!("{}.{}", resource.plural, resource.group);
        let mut known = self.known.lock();
        let place = (definition, resource.version.clone());
        if let Some(table) = known.tables.get(&place) {
            return table.clone();
        }
        let forever = |text: &str| -> &'static str { String::leak(text.to_owned()) };
        let name = forever(&format!("{} {}", place.0, place.1));
        let table = Arc::new(Table::new(name, &self.wakes, &[]).of_scopes(&self.scopes));
        let kind = CustomKind {
            group: forever(&resource.group),
            versions: vec![forever(&resource.version)].leak(),
            kind: forever(&resource.kind),
            plural: forever(&resource.plural),
            is_namespaced: true,
        };
        known.watches.spawn(follow(
            self.client.clone(),
            kind,
            self.definitions.clone(),
            table.clone(),
            views::other,
            Unread {
                is_hidden: false,
                missing: self.missing.clone(),
            },
        ));
        known.tables.insert(place, table.clone());
        table
    }
}

impl Facts {
    /// What a reference of a Cluster in a namespace leads to.
    pub(crate) async fn referenced(
        &self,
        reader: &Reader,
        namespace: &str,
        reference: &ContractReference,
    ) -> Lookup {
        let place = ObjectKey::within(namespace, &reference.name);
        let is = |kind: &CustomKind| reference.api_group == kind.group && reference.kind == kind.kind;
        if is(&kinds::CAPTCLUSTER) {
            return ours(&self.captclusters, reader, &place, reference, Found::Network);
        }
        if is(&kinds::CAPTCONTROLPLANE) {
            return ours(
                &self.captcontrolplanes,
                reader,
                &place,
                reference,
                Found::ControlPlane,
            );
        }
        let resource = match self.contracted(reader, reference) {
            Ok(resource) => resource,
            Err(problem) => return problem,
        };
        let table = self.others.table(&resource);
        // Whether it is known is told by the table when it changes.
        let _ = timeout(FIRST_LOOK, table.is_known()).await;
        if !table.is_served(reader) {
            return Lookup::Unresolvable(not_readable(reference));
        }
        let found = table.get(reader, &place).map(Found::Other);
        found.map_or(Lookup::Missing, Lookup::Found)
    }

    /// The version of a kind that implements the contract.
    pub(crate) fn contracted(
        &self,
        reader: &Reader,
        reference: &ContractReference,
    ) -> Result<ApiResource, Lookup> {
        let (group, kind) = (&reference.api_group, &reference.kind);
        let guessed = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let name = format!("{}.{group}", guessed.plural);
        let place = ObjectKey::cluster_scoped(&name);
        let Some(definition) = self.definitions.get(reader, &place) else {
            return Err(Lookup::NotServed(not_served(reference)));
        };
        let label = definition.labels.get(marks::CONTRACT_V1BETA2);
        let version = label.and_then(|versions| best(versions)).ok_or_else(|| {
            Lookup::Unresolvable(format!(
                "The CustomResourceDefinition {name} has no label {} that names a version. Install a provider that \
                 implements the contract v1beta2",
                marks::CONTRACT_V1BETA2
            ))
        })?;
        Ok(ApiResource::from_gvk(&GroupVersionKind::gvk(
            group, version, kind,
        )))
    }
}

fn ours<T: PartialEq>(
    table: &Table<T>,
    reader: &Reader,
    place: &ObjectKey,
    reference: &ContractReference,
    found: fn(Arc<T>) -> Found,
) -> Lookup {
    match table.serving(reader) {
        Serving::Yes => {}
        Serving::No => return Lookup::NotServed(not_served(reference)),
        Serving::Unknown | Serving::Hidden => return Lookup::Unresolvable(not_readable(reference)),
    }
    let object = table.get(reader, place).map(found);
    object.map_or(Lookup::Missing, Lookup::Found)
}

fn not_readable(reference: &ContractReference) -> String {
    format!(
        "The kind {} of {} cannot be read. Let the controllers get, list and watch it",
        reference.kind, reference.api_group
    )
}

fn not_served(reference: &ContractReference) -> String {
    format!(
        "The API does not serve the kind {} of {}. Install its CustomResourceDefinition, or mend the reference",
        reference.kind, reference.api_group
    )
}

/// The best of several versions, with underscores between them.
fn best(versions: &str) -> Option<&str> {
    versions
        .split('_')
        .filter(|version| !version.is_empty())
        .max_by_key(|version| Version::parse(version).priority())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_version_of_a_contract_counts() {
        for (versions, expected) in [
            ("v1beta1", Some("v1beta1")),
            ("v1beta1_v1beta2", Some("v1beta2")),
            ("v1_v1beta2_v2alpha1", Some("v1")),
            ("v1alpha4_v1beta1_v1alpha3", Some("v1beta1")),
            ("", None),
        ] {
            assert_eq!(best(versions), expected, "{versions}");
        }
    }
}
