//! Puts everything that is known about a Cluster into a snapshot.

use capt_api::foreign::cluster::ContractReference;
use capt_core::{
    cluster::{Referenced, Role, Snapshot, Worker},
    decision::Target,
};

use super::{Clusters, switch};
use crate::{
    engine::{execute::Failure, key::ObjectKey, wakes::Reader},
    facts::{
        Lookup,
        indexes::{self, within},
        kinds,
    },
    grants::crd_obstacle,
};

impl Clusters {
    /// Everything that is known about an object, if there is such an object and it is ours to look after.
    pub(super) async fn observe(
        &self,
        reader: &Reader,
        key: &ObjectKey,
    ) -> Result<Option<Snapshot>, Failure> {
        let (facts, options) = (&self.hands.facts, &self.hands.options);
        if !switch::is_on(options.cluster_controller, &facts.definitions, reader) {
            return Ok(None);
        }
        let found = facts.clusters.get(reader, key);
        let Some(cluster) = found.filter(|found| options.are_for(&found.metadata)) else {
            return Ok(None);
        };
        let crd_obstacle = match cluster.metadata.deletion_timestamp {
            Some(_) => crd_obstacle(&self.hands.client).await?,
            None => None,
        };
        let spec = &cluster.spec;
        let (infrastructure, control_plane) = (&spec.infrastructure_ref, &spec.control_plane_ref);
        let infrastructure = self
            .referenced(reader, key, infrastructure.as_ref(), Role::Infrastructure)
            .await;
        let control_plane = self
            .referenced(reader, key, control_plane.as_ref(), Role::ControlPlane)
            .await;
        Ok(Some(Snapshot {
            crd_obstacle,
            infrastructure,
            control_plane,
            workers: self.workers(reader, key).await,
            cluster: (*cluster).clone(),
        }))
    }

    async fn referenced(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        reference: Option<&ContractReference>,
        role: Role,
    ) -> Referenced {
        let Some(reference) = reference else {
            return Referenced::Unset;
        };
        match self
            .hands
            .facts
            .referenced(reader, key.namespace(), reference)
            .await
        {
            Lookup::NotServed(problem) | Lookup::Unresolvable(problem) => Referenced::Unresolvable(problem),
            Lookup::Missing => Referenced::Missing,
            Lookup::Found(object) => object.contracted(role).map_or_else(
                || {
                    let (kind, name) = (&reference.kind, &reference.name);
                    Referenced::Unresolvable(format!("The {kind} {name} cannot be read"))
                },
                |object| Referenced::Found(Box::new(object)),
            ),
        }
    }

    /// What runs workloads of the Cluster.
    async fn workers(&self, reader: &Reader, key: &ObjectKey) -> Vec<Worker> {
        let mut all = Vec::new();
        let place = within(key.namespace(), key.name());
        for (kind, table) in kinds::WORKERS.iter().zip(&self.hands.facts.workers) {
            table.is_known().await;
            let found = table.find(reader, indexes::CLUSTER, &place);
            all.extend(found.into_iter().map(|(key, worker)| Worker {
                target: Target {
                    api_version: format!("{}/{}", kind.group, kind.versions[0]),
                    kind: kind.kind.to_owned(),
                    namespace: key.own_namespace().map(str::to_owned),
                    name: key.name().to_owned(),
                },
                uid: worker.uid.clone(),
                resource_version: worker.resource_version.clone(),
                deleting: worker.deleting,
                owned_by_cluster: worker.owned_by_cluster,
            }));
        }
        all
    }
}
