//! Everything that a decision about a CAPTControlPlane depends on, as plain data, and where each fact comes from.

use std::{collections::BTreeMap, fmt};

use capt_api::{
    CAPTCluster, CAPTControlPlane, CONTROL_PLANE_GROUP,
    conditions::find_condition,
    endpoint::ApiEndpoint,
    foreign::{Cluster, marks as foreign_marks},
    region::Region,
};
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};

use super::{fargate::ProfilesSeen, progress::Statistics};
use crate::{
    captcluster::{is_externally_managed, needs_person, serves},
    commands,
    crds::CrdObstacle,
    metadata,
    owned::{Left, OwnedSeen, Peer},
    wta::snapshot::TemplateSeen,
};

/// What is known when it is decided about a CAPTControlPlane.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The object itself, from the cache of CAPTControlPlanes.
    pub control_plane: CAPTControlPlane,
    /// A CustomResourceDefinition stands in the way of destruction. Read freshly where something of the object is to be
    /// destroyed.
    pub crd_obstacle: Option<CrdObstacle>,
    /// The Cluster that an owner reference of the object names (kind Cluster, group `cluster.x-k8s.io`, any version), or
    /// else the one that its label `cluster.x-k8s.io/cluster-name` names; in the object's namespace, from the cache of
    /// Clusters. None if there is none.
    pub cluster: Option<ClusterSeen>,
    /// Where no Cluster owns the object yet: the name of one whose `spec.controlPlaneRef` names it and that is paused, by
    /// `spec.paused` or by the annotation. It does not take anything over before its pause ends. From the cache of Clusters.
    pub paused_by: Option<String>,
    /// The CAPTCluster that the Cluster's `spec.infrastructureRef` names, from the cache of CAPTClusters. None if that
    /// names another kind or does not exist.
    pub infrastructure: Option<InfrastructureSeen>,
    /// The WorkspaceTemplate that `spec.workspaceTemplateRef` names, from the cache of WorkspaceTemplates; its namespace
    /// is the object's if the reference names none.
    pub template: Option<TemplateSeen>,
    /// All other WorkspaceTemplateApplies of all namespaces that use this template and have a recorded owner (see
    /// [`crate::wta::owner::recorded`]), each by [`Peer::of`]. Leave it empty unless [`crate::owned::needs_peers`] says
    /// so for the WorkspaceTemplateApply of the EKS cluster; who has to decide again when one of them changes is told by
    /// [`crate::owned::next_in_line`].
    pub peers: Vec<Peer>,
    /// The templates of Fargate profiles, by the names of the profiles in the spec.
    pub profiles: ProfilesSeen,
    /// WorkspaceTemplateApplies in the object's namespace that have this object as their recorded owner, and those that
    /// [`super::adoption::names`] and [`super::fargate::names`] list, whosever they are.
    pub applies: Vec<OwnedSeen>,
    /// Names of other CAPTControlPlanes in the namespace whose `spec.workspaceTemplateApplyName` is this one's.
    pub rivals: Vec<String>,
    /// The Secret with the facts about the network: of those that exist of [`super::vpc::names_to_read`] and may be used, the
    /// one that [`super::vpc::pick`] picks.
    pub vpc_secret: Option<SecretSeen>,
    /// The first of these names, if a Secret has it that may not be used.
    pub refused_vpc_secret: Option<String>,
    /// The Secret with the facts about the EKS cluster: the first that exists of [`super::connection::secret_names`].
    pub connection: Option<SecretSeen>,
    /// Where there is no WorkspaceTemplateApply for the EKS cluster, the Secret of this namespace that the Workspace writes
    /// that says by its labels that it is [`super::apply_name`]'s. From the caches of Workspaces.
    pub left_secret: Option<String>,
    /// Those of [`super::names_left`] that Workspaces say by their labels that they are theirs. From the caches of Workspaces.
    pub left: Vec<Left>,
    /// The Secret of [`super::kubeconfig::secret_name`], if it exists.
    pub kubeconfig: Option<SecretSeen>,
    /// The Secret of [`super::kubeconfig::user_secret_name`], if it exists.
    pub user_kubeconfig: Option<SecretSeen>,
    /// The Secret of [`super::kubeconfig::ca_secret_name`], if it exists.
    pub ca: Option<SecretSeen>,
    /// What a prober last saw at the endpoint that [`super::wants()`] named. None if it was not asked yet.
    pub probe: Option<Probe>,
    /// The last token that was issued for the wish that [`super::wants()`] named. None after a restart: the Secret then
    /// still has one.
    pub token: Option<Token>,
    /// Why no token could be issued, in words, if the last try failed. Never a secret.
    pub token_trouble: Option<String>,
    /// How long operations took before, from the ConfigMap of statistics of the template.
    pub statistics: Statistics,
}

/// Name of the Cluster that a control plane belongs to: its owner, or else the one that its label names.
#[must_use]
pub fn cluster_of(control_plane: &CAPTControlPlane) -> Option<&str> {
    let metadata = &control_plane.metadata;
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    metadata::cluster_owner(owners)
        .map(|owner| owner.name.as_str())
        .or_else(|| metadata::label(metadata, foreign_marks::CLUSTER_NAME))
}

/// The Cluster that a control plane belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSeen {
    /// Its name.
    pub name: String,
    /// `spec.paused`.
    pub paused: bool,
    /// The name in `spec.controlPlaneRef`, if that refers to a CAPTControlPlane.
    pub control_plane_ref: Option<String>,
    /// Kind and name in `spec.infrastructureRef`, if it has one.
    pub infrastructure_ref: Option<(String, String)>,
    /// `status.initialization.infrastructureProvisioned`.
    pub infrastructure_provisioned: bool,
    /// `spec.controlPlaneEndpoint`, if it has a host and a port.
    pub endpoint: Option<ApiEndpoint>,
}

impl ClusterSeen {
    /// What counts of a Cluster.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
        let spec = &cluster.spec;
        let reference = spec.control_plane_ref.as_ref();
        let reached = cluster
            .status
            .as_ref()
            .and_then(|status| status.initialization.as_ref());
        let endpoint = spec.control_plane_endpoint.as_ref();
        Self {
            name: cluster.metadata.name.clone().unwrap_or_default(),
            paused: spec.paused == Some(true),
            control_plane_ref: reference
                .filter(|reference| {
                    reference.kind == "CAPTControlPlane" && reference.api_group == CONTROL_PLANE_GROUP
                })
                .map(|reference| reference.name.clone()),
            infrastructure_ref: spec
                .infrastructure_ref
                .as_ref()
                .map(|reference| (reference.kind.clone(), reference.name.clone())),
            infrastructure_provisioned: reached.and_then(|reached| reached.infrastructure_provisioned)
                == Some(true),
            endpoint: endpoint.and_then(|endpoint| {
                Some(ApiEndpoint {
                    host: endpoint.host.clone().filter(|host| !host.is_empty())?,
                    port: endpoint.port.filter(|port| *port != 0)?,
                })
            }),
        }
    }
}

/// The infrastructure of the Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InfrastructureSeen {
    /// Name of the CAPTCluster.
    pub name: String,
    /// The Cluster that owns it, if one does.
    pub cluster: Option<String>,
    /// Why nothing is done about it, if that is so.
    pub left_alone: Option<LeftAlone>,
    /// `spec.region`.
    pub region: Option<Region>,
    /// `spec.existingVpcId` is set: nothing makes the network.
    pub existed_before: bool,
    /// `spec.connectionSecretName`.
    pub connection_secret_name: Option<String>,
    /// The name of the Secret that its template writes to, without holes, if it names one.
    pub template_connection_secret: Option<String>,
    /// `status.vpcId`.
    pub vpc_id: Option<String>,
    /// `status.vpcWorkspaceName`.
    pub vpc_workspace_name: Option<String>,
    /// `status.initialization.provisioned`.
    pub provisioned: bool,
    /// It serves.
    pub ready: bool,
    /// It is not made before a person does something.
    pub waits_for_person: bool,
    /// When its condition Ready last changed.
    pub ready_since: Option<Timestamp>,
    /// The message of its condition Ready.
    pub message: String,
}

/// Why capt does nothing about a CAPTCluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    /// Somebody else manages it.
    ExternallyManaged,
    /// It is being deleted.
    Deleted,
    /// It has the annotation that pauses it.
    Paused,
}

impl LeftAlone {
    fn of(metadata: &ObjectMeta) -> Option<Self> {
        if is_externally_managed(metadata) {
            Some(Self::ExternallyManaged)
        } else if metadata::is_deleting(metadata) {
            Some(Self::Deleted)
        } else {
            let paused = metadata::annotation(metadata, foreign_marks::PAUSED);
            paused.map(|_| Self::Paused)
        }
    }
}

impl InfrastructureSeen {
    /// What somebody types to end the pause of a CAPTCluster.
    pub(super) fn unpause_command(&self, namespace: Option<&str>) -> String {
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            namespace: namespace.map(str::to_owned),
            ..ObjectMeta::default()
        };
        let end = format!("{}-", foreign_marks::PAUSED);
        commands::kubectl("annotate captcluster", &metadata, &end)
    }

    /// Whether it is going to tell which Workspace makes the network, and does not yet, or somebody emptied its status.
    pub(super) fn owes_workspace(&self) -> bool {
        let is_looked_after = matches!(self.left_alone, None | Some(LeftAlone::Deleted));
        !self.existed_before && is_looked_after && self.vpc_workspace_name.is_none()
    }

    /// What counts of a CAPTCluster. `template_connection_secret` is what its template names.
    #[must_use]
    pub fn of(captcluster: &CAPTCluster, template_connection_secret: Option<String>) -> Self {
        let status = captcluster.status.clone().unwrap_or_default();
        let conditions = status.conditions.as_deref().unwrap_or_default();
        let condition = find_condition(conditions, "Ready");
        let owners = captcluster
            .metadata
            .owner_references
            .as_deref()
            .unwrap_or_default();
        Self {
            name: captcluster.metadata.name.clone().unwrap_or_default(),
            cluster: metadata::cluster_owner(owners).map(|owner| owner.name.clone()),
            left_alone: LeftAlone::of(&captcluster.metadata),
            region: Some(captcluster.spec.region.clone()),
            existed_before: captcluster.spec.existing_vpc_id.is_some(),
            connection_secret_name: captcluster.spec.connection_secret_name.clone(),
            template_connection_secret,
            vpc_id: status.vpc_id.clone(),
            vpc_workspace_name: status.vpc_workspace_name.clone(),
            provisioned: status.initialization.and_then(|reached| reached.provisioned) == Some(true),
            ready: serves(captcluster),
            waits_for_person: status.failure_reason.is_some()
                || condition.is_some_and(|ready| needs_person(&ready.reason)),
            ready_since: condition.map(|condition| condition.last_transition_time.0),
            message: condition
                .map(|condition| condition.message.clone())
                .unwrap_or_default(),
        }
    }
}

/// A Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretSeen {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Its type.
    pub type_: String,
    /// It is going away.
    pub deleting: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// `kind/name` and uid of the owner reference that says `controller`.
    pub controller: Option<(String, String)>,
    /// Its data, decoded. What is no text is left out.
    pub data: BTreeMap<String, Hidden>,
}

impl SecretSeen {
    /// What counts of a Secret.
    #[must_use]
    pub fn of(secret: &Secret) -> Self {
        let metadata = &secret.metadata;
        let owners = metadata.owner_references.iter().flatten();
        let data = secret.data.iter().flatten();
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            type_: secret.type_.clone().unwrap_or_default(),
            deleting: metadata::is_deleting(metadata),
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
            controller: owners
                .filter(|owner| owner.controller == Some(true))
                .map(|owner| (format!("{}/{}", owner.kind, owner.name), owner.uid.clone()))
                .next(),
            data: data
                .filter_map(|(key, bytes)| {
                    let text = String::from_utf8(bytes.0.clone()).ok()?;
                    Some((key.clone(), Hidden::new(text)))
                })
                .collect(),
        }
    }

    /// What it has under a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key).map(Hidden::reveal)
    }
}

/// A text that is never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for where it belongs.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// What a prober saw at an endpoint: whether the API server answers at all, with whatever status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What was asked.
    pub endpoint: ApiEndpoint,
    /// When it was asked last.
    pub seen_at: Timestamp,
    /// Since when it does not answer, and why; none if it does.
    pub silence: Option<(Timestamp, Silence)>,
}

/// Why there is no answer of an API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Nobody answers, for this reason.
    Nobody(String),
    /// Somebody answers who cannot prove to be it, for this reason.
    Stranger(String),
    /// Somebody answers with a certificate that does not count at this time, for this reason.
    Untimely(String),
    /// The certificate authority is none, so that nobody could prove to be it.
    NoAuthority,
}

/// A token for the API server of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token.
    pub value: Hidden,
    /// Until when it is honoured.
    pub expires_at: Timestamp,
}
