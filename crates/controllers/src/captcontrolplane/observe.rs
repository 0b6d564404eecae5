//! Puts everything that is known about a CAPTControlPlane into a snapshot.

use capt_api::{CAPTCluster, CAPTControlPlane, foreign::Cluster, references::WorkspaceTemplateReference};
use capt_core::{
    controlplane::{
        self, Snapshot, adoption, connection,
        fargate::{self, ProfileSeen, ProfilesSeen},
        kubeconfig,
        snapshot::{ClusterSeen, InfrastructureSeen, SecretSeen, cluster_of},
        vpc,
    },
    owned::{self, OwnedSeen},
    render::WorkspaceGroup,
    wta::{owner, snapshot::TemplateSeen},
};
use std::sync::Arc;

use super::ControlPlanes;
use crate::{
    engine::{execute::Failure, key::ObjectKey, wakes::Reader},
    facts::{
        indexes::{self, within},
        kinds,
        owned::connection_secret,
        workspace_key,
    },
    grants::crd_obstacle,
};

impl ControlPlanes {
    /// Everything that is known about an object, if there is such an object and it is ours to look after.
    pub(super) async fn observe(
        &self,
        reader: &Reader,
        key: &ObjectKey,
    ) -> Result<Option<Snapshot>, Failure> {
        let facts = &self.hands.facts;
        let found = facts.captcontrolplanes.get(reader, key);
        let Some(control_plane) = found.filter(|found| self.hands.options.are_for(&found.metadata)) else {
            return Ok(None);
        };
        let namespace = key.namespace();
        if let Some(unread) = facts.unread_applies(reader, namespace) {
            return Err(unread);
        }
        let cluster = self.cluster(reader, &control_plane);
        let paused_by = match cluster_of(&control_plane) {
            Some(_) => None,
            None => facts.paused_by(reader, indexes::CONTROL_PLANE, key),
        };
        let infrastructure = match &cluster {
            Some(cluster) => self.infrastructure(reader, namespace, cluster).await,
            None => None,
        };
        let template_key = template_key(&control_plane);
        let template = self.template(reader, &template_key).await;
        let applies = facts.owned(
            reader,
            namespace,
            &owner::label("CAPTControlPlane", key.name()),
            &[adoption::names(&control_plane), fargate::names(&control_plane)].concat(),
        );
        let apply = controlplane::apply_of(&control_plane, &applies);
        let revision = template.as_ref().map(|template| template.revision.as_str());
        let peers = if owned::needs_peers(apply, revision) {
            facts.peers(reader, namespace, apply, &template_key)
        } else {
            Vec::new()
        };
        let profiles = self.profiles(reader, &control_plane, &applies).await;
        let cluster = cluster.as_deref().map(ClusterSeen::of);
        let vpc_names = vpc::names_to_read(infrastructure.as_ref(), cluster.as_ref());
        let spec = template
            .as_ref()
            .and_then(|template| Some(template.spec.as_ref()?.spec()));
        let names = connection::secret_names(&control_plane.spec, key.name(), spec, apply);
        let vpc_id = vpc::known_id(infrastructure.as_ref(), apply);
        let mut vpc_secrets = Vec::new();
        let mut refused_vpc_secret = None;
        for name in &vpc_names {
            let found = self.secret(reader, namespace, name).await?;
            match found {
                Some(secret)
                    if vpc::tells_about(&secret, vpc_id) && vpc::belongs_to(&secret, &control_plane) =>
                {
                    vpc_secrets.push(secret);
                }
                Some(_) if vpc_names.first() == Some(name) => refused_vpc_secret = Some(name.clone()),
                _ => {}
            }
            if vpc_secrets.last().is_some_and(vpc::tells) {
                break;
            }
        }
        let vpc_secret = vpc::pick(vpc_secrets);
        let connection = self
            .first_secret(reader, namespace, &names, |secret| {
                secret.name != connection::FIXED_NAME || vpc::belongs_to(secret, &control_plane)
            })
            .await?;
        let left_secret = match apply {
            Some(_) => None,
            None => {
                let name = controlplane::apply_name(&control_plane, &applies);
                let workspace = facts.workspace_left_for(reader, namespace, &name);
                let secret = workspace
                    .as_deref()
                    .and_then(|left| connection_secret(namespace, left));
                let here = secret.filter(|(place, _)| place == namespace);
                here.map(|(_, name)| name)
            }
        };
        let mut left = Vec::new();
        for name in controlplane::names_left(&control_plane, &applies) {
            left.extend(facts.left(&self.hands, reader, namespace, &name).await?);
        }
        let of_cluster = async |name: fn(&str) -> String| match cluster_of(&control_plane) {
            Some(cluster) => self.secret(reader, namespace, &name(cluster)).await,
            None => Ok(None),
        };
        let crd_obstacle = match controlplane::may_consent(&control_plane, &applies) {
            true => crd_obstacle(&self.hands.client).await?,
            false => None,
        };
        let issued = self.issuer.issued(reader, key);
        Ok(Some(Snapshot {
            crd_obstacle,
            cluster,
            paused_by,
            infrastructure,
            template,
            peers,
            profiles,
            rivals: self.rivals(reader, key, &control_plane),
            vpc_secret,
            refused_vpc_secret,
            connection,
            left_secret,
            left,
            kubeconfig: of_cluster(kubeconfig::secret_name).await?,
            user_kubeconfig: of_cluster(kubeconfig::user_secret_name).await?,
            ca: of_cluster(kubeconfig::ca_secret_name).await?,
            probe: self.prober.seen(reader, key),
            token: issued.token,
            token_trouble: issued.trouble,
            statistics: self.statistics.of(&template_key).await,
            applies,
            control_plane: (*control_plane).clone(),
        }))
    }

    /// The templates of the Fargate profiles.
    async fn profiles(
        &self,
        reader: &Reader,
        control_plane: &CAPTControlPlane,
        applies: &[OwnedSeen],
    ) -> ProfilesSeen {
        let own = control_plane.metadata.namespace.as_deref().unwrap_or_default();
        let mut profiles = ProfilesSeen::new();
        for profile in control_plane.spec.additional_fargate_profiles.iter().flatten() {
            let place = template_place(&profile.workspace_template_ref, own);
            let template = self.template(reader, &place).await;
            let apply = fargate::apply_of(control_plane, &profile.name, applies);
            let revision = template.as_ref().map(|template| template.revision.as_str());
            let peers = if owned::needs_peers(apply, revision) {
                self.hands.facts.peers(reader, own, apply, &place)
            } else {
                Vec::new()
            };
            profiles.insert(profile.name.clone(), ProfileSeen { template, peers });
        }
        profiles
    }

    /// The Cluster that the object belongs to. Only what counts of it wakes the object.
    fn cluster(&self, reader: &Reader, control_plane: &CAPTControlPlane) -> Option<Arc<Cluster>> {
        let namespace = control_plane.metadata.namespace.as_deref().unwrap_or_default();
        let place = ObjectKey::within(namespace, cluster_of(control_plane)?);
        let clusters = &self.hands.facts.clusters;
        clusters.glance(reader, indexes::REACHED, &place);
        clusters.glance(reader, indexes::SPEC, &place)
    }

    async fn infrastructure(
        &self,
        reader: &Reader,
        namespace: &str,
        cluster: &Cluster,
    ) -> Option<InfrastructureSeen> {
        let reference = cluster.spec.infrastructure_ref.as_ref()?;
        let kind = &kinds::CAPTCLUSTER;
        if reference.kind != kind.kind || reference.api_group != kind.group {
            return None;
        }
        let place = ObjectKey::within(namespace, &reference.name);
        let captcluster = self.hands.facts.captclusters.get(reader, &place)?;
        let secret = self.network_secret(reader, namespace, &captcluster).await;
        Some(InfrastructureSeen::of(&captcluster, secret))
    }

    /// The Secret that the Workspace of the network writes, or else the one that its template names.
    async fn network_secret(
        &self,
        reader: &Reader,
        namespace: &str,
        captcluster: &CAPTCluster,
    ) -> Option<String> {
        let facts = &self.hands.facts;
        let workspace = captcluster
            .status
            .as_ref()
            .and_then(|status| status.vpc_workspace_name.as_ref());
        let written = workspace.and_then(|name| {
            [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped]
                .into_iter()
                .find_map(|group| {
                    let place = workspace_key(group, namespace, name);
                    let workspace = facts
                        .workspaces_of(group)
                        .glance(reader, indexes::OBSERVED, &place)?;
                    // Whoever wrote the name into the status may have named what belongs to another namespace.
                    let (_, name) = connection_secret(namespace, &workspace)?;
                    Some(name)
                })
        });
        if written.is_some() {
            return written;
        }
        let reference = captcluster.spec.vpc_template_ref.as_ref()?;
        let namespace = reference.namespace.as_deref().unwrap_or(namespace);
        let place = ObjectKey::within(namespace, &reference.name);
        let view = facts.readable_template(reader, &place).await?;
        let name = connection::template_name(view.template.spec())?;
        (!name.contains("${")).then(|| name.to_owned())
    }

    async fn template(&self, reader: &Reader, place: &ObjectKey) -> Option<TemplateSeen> {
        let view = self.hands.facts.readable_template(reader, place).await?;
        Some(view.seen(place.namespace()))
    }

    /// Others whose specs name the same WorkspaceTemplateApply.
    fn rivals(&self, reader: &Reader, key: &ObjectKey, control_plane: &CAPTControlPlane) -> Vec<String> {
        let Some(name) = &control_plane.spec.workspace_template_apply_name else {
            return Vec::new();
        };
        let place = within(key.namespace(), name);
        let members = self
            .hands
            .facts
            .captcontrolplanes
            .members(reader, indexes::APPLY, &place);
        members
            .into_iter()
            .filter(|member| member != key)
            .map(|member| member.name().to_owned())
            .collect()
    }

    /// The first Secret that exists. The one with a fixed name may be another cluster's.
    async fn first_secret(
        &self,
        reader: &Reader,
        namespace: &str,
        names: &[String],
        is_usable: impl Fn(&SecretSeen) -> bool,
    ) -> Result<Option<SecretSeen>, Failure> {
        for name in names {
            let found = self.secret(reader, namespace, name).await?;
            if let Some(secret) = found.filter(&is_usable) {
                return Ok(Some(secret));
            }
        }
        Ok(None)
    }

    async fn secret(
        &self,
        reader: &Reader,
        namespace: &str,
        name: &str,
    ) -> Result<Option<SecretSeen>, Failure> {
        let place = ObjectKey::within(namespace, name);
        let found = self.hands.secrets.get(reader, &place).await?;
        Ok(found.map(|secret| SecretSeen::of(&secret)))
    }
}

/// The template that an object refers to.
pub(super) fn template_key(control_plane: &CAPTControlPlane) -> ObjectKey {
    let own = control_plane.metadata.namespace.as_deref().unwrap_or_default();
    template_place(&control_plane.spec.workspace_template_ref, own)
}

fn template_place(reference: &WorkspaceTemplateReference, own: &str) -> ObjectKey {
    ObjectKey::within(reference.namespace.as_deref().unwrap_or(own), &reference.name)
}
