//! Control planes that stand in a network that is going away.

use std::collections::BTreeSet;

use capt_api::{
    CAPTCluster, CAPTControlPlane,
    foreign::{Cluster, cluster::ContractReference, marks},
};
use capt_core::{captcluster::snapshot, decision::Target, names, owned::OwnedSeen};
use kube::{Api, api::ListParams};

use super::CaptClusters;
use crate::{
    engine::{call::within_deadline, execute::Failure, key::ObjectKey, wakes::Reader},
    facts::{
        Lookup,
        indexes::{self, within},
        kinds,
    },
};

impl CaptClusters {
    /// Control planes that exist and stand in the network, as `Kind name`, for a network that is going away. For others
    /// it does not count, and nobody is woken for it.
    ///
    /// A control plane that was made a moment ago may not be known yet. So the API is asked where nobody is known, until
    /// the end of the network has begun and cannot be taken back.
    pub(super) async fn control_planes(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        captcluster: &CAPTCluster,
        cluster: Option<&Cluster>,
        apply: Option<&OwnedSeen>,
    ) -> Result<Vec<String>, Failure> {
        if captcluster.metadata.deletion_timestamp.is_none() {
            return Ok(Vec::new());
        }
        let facts = &self.hands.facts;
        let mut found = BTreeSet::new();
        let Some(name) = snapshot::owner(captcluster) else {
            return Ok(Vec::new());
        };
        let label = names::label_value(name);
        for value in BTreeSet::from([name, &label]) {
            let place = within(key.namespace(), value);
            let members = facts.captcontrolplanes.members(reader, indexes::CLUSTER, &place);
            found.extend(
                members
                    .into_iter()
                    .map(|member| told("CAPTControlPlane", &member.name)),
            );
        }
        let reference = cluster.and_then(|cluster| cluster.spec.control_plane_ref.as_ref());
        if let Some(reference) = reference {
            match facts.referenced(reader, key.namespace(), reference).await {
                Lookup::Found(_) => {
                    found.insert(told(&reference.kind, &reference.name));
                }
                // What cannot be looked up may well be there.
                Lookup::Unresolvable(problem) => {
                    found.insert(format!("{} ({problem})", told(&reference.kind, &reference.name)));
                }
                Lookup::Missing | Lookup::NotServed(_) => {}
            }
        }
        let has_begun = apply.is_some_and(OwnedSeen::is_deleting);
        if found.is_empty() && !has_begun && facts.captcontrolplanes.is_served(reader) {
            found.extend(self.ask_for_control_planes(key, &label, reference).await?);
        }
        Ok(found.into_iter().collect())
    }

    async fn ask_for_control_planes(
        &self,
        key: &ObjectKey,
        cluster: &str,
        reference: Option<&ContractReference>,
    ) -> Result<Vec<String>, Failure> {
        let api: Api<CAPTControlPlane> = Api::namespaced(self.hands.client.clone(), key.namespace());
        let failed = |source| Failure::Call {
            action: "look for control planes in",
            target: Target {
                api_version: "infrastructure.cluster.x-k8s.io/v1beta1".to_owned(),
                kind: "CAPTCluster".to_owned(),
                namespace: key.namespace.clone(),
                name: key.name.clone(),
            },
            source,
        };
        let of_cluster = ListParams::default().labels(&format!("{}={cluster}", marks::CLUSTER_NAME));
        let labelled = within_deadline(api.list_metadata(&of_cluster))
            .await
            .map_err(failed)?;
        let mut found: Vec<String> = labelled
            .into_iter()
            .filter_map(|object| object.metadata.name)
            .map(|name| told("CAPTControlPlane", &name))
            .collect();
        let is_ours = |reference: &&ContractReference| {
            reference.kind == kinds::CAPTCONTROLPLANE.kind
                && reference.api_group == kinds::CAPTCONTROLPLANE.group
        };
        if let Some(reference) = reference.filter(is_ours) {
            let there = within_deadline(api.get_metadata_opt(&reference.name))
                .await
                .map_err(failed)?;
            found.extend(there.map(|_| told(&reference.kind, &reference.name)));
        }
        Ok(found)
    }
}

fn told(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}
