//! Control planes that stand in a network that is going away.

use std::collections::BTreeSet;

use capt_api::{
    CAPTCluster, CAPTControlPlane,
    foreign::{cluster::ContractReference, marks},
    marks::LET_GO,
};
use capt_core::{captcluster::snapshot, decision::Target, names, owned::OwnedSeen};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Api, api::ListParams, core::PartialObjectMeta};

use super::CaptClusters;
use crate::{
    engine::{call::within_deadline, execute::Failure, key::ObjectKey, table::Serving, wakes::Reader},
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
        apply: Option<&OwnedSeen>,
    ) -> Result<Vec<String>, Failure> {
        if captcluster.metadata.deletion_timestamp.is_none() {
            return Ok(Vec::new());
        }
        let facts = &self.hands.facts;
        // Anybody can delete the WorkspaceTemplateApply, a cascade among them; the consent is ours alone.
        let has_begun =
            apply.is_some_and(|apply| apply.is_deleting() && apply.annotation(LET_GO) == Some("true"));
        let mut found = BTreeSet::new();
        let serving = facts.captcontrolplanes.serving(reader);
        if serving == Serving::Hidden && !has_begun {
            found.insert(
                "CAPTControlPlanes, which cannot be read (let the controllers get, list and watch them)"
                    .to_owned(),
            );
        }
        let mut to_ask = Vec::new();
        for name in self.clusters_of(reader, key, captcluster, apply) {
            let label = names::label_value(&name);
            for value in BTreeSet::from([&name, &label]) {
                let place = within(key.namespace(), value);
                let members = facts.captcontrolplanes.members(reader, indexes::CLUSTER, &place);
                let members = members.into_iter();
                found.extend(members.map(|member| told("CAPTControlPlane", member.name())));
            }
            let place = ObjectKey::within(key.namespace(), &name);
            let cluster = facts.clusters.glance(reader, indexes::SPEC, &place);
            let reference = cluster
                .and_then(|cluster| cluster.spec.control_plane_ref.clone())
                .filter(snapshot::may_be_control_plane);
            if let Some(reference) = &reference {
                found.extend(self.referred_to(reader, key, &name, reference).await);
            }
            to_ask.push((name, label, reference));
        }
        for (name, label, reference) in to_ask {
            if !found.is_empty() || has_begun {
                break;
            }
            found.extend(
                self.ask_for_control_planes(reader, key, (&name, &label), reference.as_ref(), serving)
                    .await?,
            );
        }
        Ok(found.into_iter().collect())
    }

    /// Names of all Clusters whose network this may be. Anybody can strip a reference or a label.
    fn clusters_of(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        captcluster: &CAPTCluster,
        apply: Option<&OwnedSeen>,
    ) -> BTreeSet<String> {
        let place = within(key.namespace(), key.name());
        let clusters = &self.hands.facts.clusters;
        let referring = clusters.members(reader, indexes::INFRASTRUCTURE, &place);
        let labels = captcluster.metadata.labels.as_ref();
        snapshot::owner(captcluster)
            .or(labels.and_then(|labels| labels.get(marks::CLUSTER_NAME).map(String::as_str)))
            .into_iter()
            .chain(apply.and_then(|apply| apply.label(marks::CLUSTER_NAME)))
            .map(str::to_owned)
            .chain(referring.into_iter().map(|cluster| cluster.name().to_owned()))
            .collect()
    }

    /// Whether something belongs to another Cluster that is there. That one's network is another one, or it would be found
    /// by that: whoever only names the control plane of somebody else must neither wait for it nor have it deleted.
    fn is_of_another(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        cluster: &str,
        owners: &[OwnerReference],
    ) -> bool {
        let other = snapshot::owning_cluster(owners).filter(|owner| owner.name != cluster);
        other.is_some_and(|owner| {
            let place = ObjectKey::within(key.namespace(), &owner.name);
            let there = self.hands.facts.clusters.get(reader, &place);
            there.is_some_and(|there| there.metadata.uid.as_deref() == Some(&owner.uid))
        })
    }

    /// What a Cluster refers to as its control plane, unless that is known not to exist, or to be another one's.
    async fn referred_to(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        cluster: &str,
        reference: &ContractReference,
    ) -> Option<String> {
        let looked_up = self
            .hands
            .facts
            .referenced(reader, key.namespace(), reference)
            .await;
        let name = told(&reference.kind, &reference.name);
        match looked_up {
            Lookup::Found(object) => {
                (!self.is_of_another(reader, key, cluster, &object.owners())).then_some(name)
            }
            Lookup::Missing => None,
            // The API itself is asked for our own kind.
            Lookup::NotServed(_) if is_ours(reference) => None,
            // What cannot be looked up may well be there: the definition may have another name than it should have.
            Lookup::Unresolvable(problem) | Lookup::NotServed(problem) => Some(format!("{name} ({problem})")),
        }
    }

    async fn ask_for_control_planes(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        (cluster, label): (&str, &str),
        reference: Option<&ContractReference>,
        serving: Serving,
    ) -> Result<Vec<String>, Failure> {
        let api: Api<CAPTControlPlane> = Api::namespaced(self.hands.client.clone(), key.namespace());
        let failed = |source| Failure::Call {
            action: "look for control planes in",
            target: Target {
                api_version: "infrastructure.cluster.x-k8s.io/v1beta1".to_owned(),
                kind: "CAPTCluster".to_owned(),
                namespace: key.own_namespace().map(str::to_owned),
                name: key.name().to_owned(),
            },
            source,
        };
        let of_cluster = ListParams::default().labels(&format!("{}={label}", marks::CLUSTER_NAME));
        let labelled = match within_deadline(api.list_metadata(&of_cluster)).await {
            Ok(labelled) => labelled,
            // There are no control planes where nobody knows what that is. An API server that has not read its definitions yet
            // says so too.
            Err(error) if error.is_not_found() && serving == Serving::No => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut found: Vec<String> = labelled
            .into_iter()
            .filter_map(|object| object.metadata.name)
            .map(|name| told("CAPTControlPlane", &name))
            .collect();
        if let Some(reference) = reference.filter(|reference| is_ours(reference)) {
            let there = within_deadline(api.get_metadata_opt(&reference.name))
                .await
                .map_err(failed)?;
            let owners =
                |there: &PartialObjectMeta<_>| there.metadata.owner_references.clone().unwrap_or_default();
            let there = there.filter(|there| !self.is_of_another(reader, key, cluster, &owners(there)));
            found.extend(there.map(|_| told(&reference.kind, &reference.name)));
        }
        Ok(found)
    }
}

fn is_ours(reference: &ContractReference) -> bool {
    reference.kind == kinds::CAPTCONTROLPLANE.kind && reference.api_group == kinds::CAPTCONTROLPLANE.group
}

fn told(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}
