//! Everything that a decision about a WorkspaceTemplateApply depends on, as plain data.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capt_api::{
    WorkspaceTemplateApply,
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason,
    foreign::{
        marks as foreign_marks,
        workspace::{WorkspaceCondition, WorkspaceStatus},
    },
    workspacetemplateapply::WorkspaceProgress,
};
use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{kept::Kept, rendered::Rendered};
use crate::{
    crds::CrdObstacle,
    decision::Target,
    render::{Template, UnknownVariable, WorkspaceGroup},
};

/// What is known when it is decided about a WorkspaceTemplateApply.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The object itself.
    pub wta: WorkspaceTemplateApply,
    /// Its namespace is going away. This must be read freshly: the deletion of an object in it arrives sooner than the
    /// news about the namespace.
    pub namespace_terminating: bool,
    /// A CustomResourceDefinition stands in the way of destruction. This must be read freshly, like the namespace.
    pub crd_obstacle: Option<CrdObstacle>,
    /// The Cluster that the object's label names, if it exists.
    pub cluster: Option<ClusterSeen>,
    /// The owner that is recorded on the object (see [`super::owner::recorded`]), if it exists.
    pub owner: Option<OwnerSeen>,
    /// The template that the object refers to, if it exists.
    pub template: Option<TemplateSeen>,
    /// What rendering gave, from the template that [`super::source::choose`] names. Without one, no problems.
    pub rendering: Result<Rendered, Vec<Problem>>,
    /// Variables of the object that this template does not know (see [`super::source::unknown`]).
    pub unknown_variables: Vec<UnknownVariable>,
    /// The Secret that the last rendering is kept in, if it exists.
    pub kept: Option<KeptSeen>,
    /// Workspaces that carry our identity labels, the one that an annotation of the object names, and those whose
    /// names ours would have.
    pub workspaces: Vec<Arc<WorkspaceSeen>>,
    /// Which groups of Workspaces there are.
    pub served: Served,
    /// Secrets that are waited for.
    pub awaited_secrets: Vec<Awaited>,
    /// Workspaces that are waited for.
    pub awaited_workspaces: Vec<Awaited>,
    /// Who waits for whom, as far as it can be reached from the object in either direction.
    pub waits: WaitGraph,
    /// Inputs that the rendering refers to and that are not there: Secrets, ConfigMaps, keys of them.
    pub missing_inputs: Vec<String>,
    /// Who runs Terraform here.
    pub runner: Runner,
    /// What is known about the provider configuration that the Workspace uses, if it exists.
    pub provider_config: Option<ProviderConfigSeen>,
    /// Secrets that hold the state of the Workspace.
    pub state_secrets: Vec<StateSecretSeen>,
    /// A plan of our runner that waits for an approval.
    pub pending_plan: Option<PendingPlan>,
    /// The last approval that our runner says is used up.
    pub used_approval: Option<String>,
    /// How far our runner is.
    pub progress: Option<WorkspaceProgress>,
}

impl Snapshot {
    /// The provider configuration, if it was seen.
    #[must_use]
    pub fn readable_config(&self) -> Option<&ProviderConfigSeen> {
        self.provider_config.as_ref().filter(|config| !config.hidden)
    }
}

/// The Cluster that something belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterSeen {
    /// `spec.paused`.
    pub paused: bool,
}

/// The owner of a WorkspaceTemplateApply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerSeen {
    /// It is going away.
    pub deleting: bool,
    /// Somebody paused it by its annotation.
    pub paused: bool,
    /// Its children operate in turns.
    pub takes_turns: bool,
    /// The child whose turn it is.
    pub turn: Option<String>,
    /// The Cluster in its label.
    pub cluster: Option<String>,
}

/// The template of a WorkspaceTemplateApply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateSeen {
    /// Its namespace.
    pub namespace: String,
    /// The API does not let the controllers read it, so that nothing else is known of it.
    pub hidden: bool,
    /// Namespaces that may use it besides.
    pub shared_with: Vec<String>,
    /// Its revision now.
    pub revision: String,
    /// What it holds, read once for all who use it.
    pub spec: Option<Arc<Template>>,
    /// Its label that says that its module makes nothing real.
    pub sandbox: Option<String>,
}

/// Why there is no rendering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One word.
    pub reason: Reason,
    /// What is wrong, and what to do.
    pub message: String,
}

/// The Secret that the last rendering is kept in.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptSeen {
    /// uid of the Secret.
    pub uid: String,
    /// uid of the WorkspaceTemplateApply that owns it, if one does.
    pub owner: Option<String>,
    /// What it holds, if that can be read.
    pub kept: Option<Kept>,
}

/// A Workspace of either group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceSeen {
    /// Its group; none of the two is a default.
    pub group: Option<WorkspaceGroup>,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Generation of its spec.
    pub generation: i64,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// It is going away.
    pub deleting: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// Its whole spec.
    pub spec: Value,
    /// Its status.
    pub status: WorkspaceStatus,
    /// Whether provider-terraform runs it.
    pub used_by_provider: Usage,
}

/// Whether provider-terraform runs a Workspace: then there is a ProviderConfigUsage named by its uid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Usage {
    /// It does not.
    #[default]
    No,
    /// It does.
    Yes,
    /// Nobody lets the controllers look. It may.
    Hidden,
}

impl WorkspaceSeen {
    /// Its condition of a type.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&WorkspaceCondition> {
        self.status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == type_)
    }

    /// Whether its condition of a type is True.
    #[must_use]
    pub fn is(&self, type_: &str) -> bool {
        self.condition(type_)
            .is_some_and(|condition| condition.status == "True")
    }

    /// Whether a person paused it.
    #[must_use]
    pub fn is_paused_by_hand(&self) -> bool {
        let mark = self.annotations.get(foreign_marks::CROSSPLANE_PAUSED);
        mark.is_some_and(|mark| mark == "true")
    }

    /// Whether a condition speaks about the spec as it is now.
    #[must_use]
    pub fn is_current(&self, condition: &WorkspaceCondition) -> bool {
        condition.observed_generation.or(self.status.observed_generation) == Some(self.generation)
    }

    /// Whether nothing was ever made for it, as far as its marks tell: no creation began, or the last one failed and left
    /// nothing. Another runner than ours calls a creation failed that left something.
    #[must_use]
    pub fn made_nothing(&self) -> bool {
        let time = |mark: &str| self.annotations.get(mark)?.parse::<Timestamp>().ok();
        let failed = time(foreign_marks::EXTERNAL_CREATE_FAILED);
        let is_known = time(foreign_marks::EXTERNAL_CREATE_PENDING) <= failed;
        is_known && time(foreign_marks::EXTERNAL_CREATE_SUCCEEDED).is_none() && !self.is("Ready")
    }

    /// Names what somebody else changed and is mended when it is the turn of this one, if there is anything.
    #[must_use]
    pub fn drifted_at(&self) -> Option<String> {
        let drifted = self.condition("Drifted").filter(|told| told.status == "True")?;
        let waits = self.annotations.contains_key(capt_api::marks::MEND);
        waits.then(|| drifted.last_transition_time.0.to_string())
    }

    /// Terraform did all that the spec asks for.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let is_synced = self
            .condition("Synced")
            .is_some_and(|synced| synced.status == "True" && self.is_current(synced));
        is_synced && self.is("Ready")
    }

    /// Which object it is, if its WorkspaceTemplateApply is in this namespace.
    #[must_use]
    pub fn target(&self, namespace: &str) -> Target {
        workspace_target(
            self.group.unwrap_or(WorkspaceGroup::Namespaced),
            namespace,
            &self.name,
        )
    }
}

/// Names a Workspace.
#[must_use]
pub fn workspace_target(group: WorkspaceGroup, namespace: &str, name: &str) -> Target {
    Target {
        api_version: format!("{}/v1beta1", group.name()),
        kind: "Workspace".to_owned(),
        namespace: (group == WorkspaceGroup::Namespaced).then(|| namespace.to_owned()),
        name: name.to_owned(),
    }
}

/// Whether there are Workspaces of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Serving {
    /// There is no such group, and so there is nothing in it.
    #[default]
    No,
    /// There may be Workspaces of it, but they cannot be read. One that is not seen may well exist.
    Hidden,
    /// All of them are known.
    Yes,
}

/// Which groups of Workspaces there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Workspaces in namespaces.
    pub namespaced: Serving,
    /// Workspaces of the whole cluster.
    pub cluster_scoped: Serving,
    /// The group that is to be used for new Workspaces, whatever there is.
    pub preferred: Option<WorkspaceGroup>,
}

impl Served {
    /// Whether there is a group, and its Workspaces are known.
    #[must_use]
    pub fn has(&self, group: WorkspaceGroup) -> bool {
        self.of(group) == Serving::Yes
    }

    /// Whether there may be Workspaces of a group that cannot be read.
    #[must_use]
    pub fn hides(&self, group: WorkspaceGroup) -> bool {
        self.of(group) == Serving::Hidden
    }

    fn of(&self, group: WorkspaceGroup) -> Serving {
        match group {
            WorkspaceGroup::Namespaced => self.namespaced,
            WorkspaceGroup::ClusterScoped => self.cluster_scoped,
        }
    }
}

/// Something that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// Its namespace, if it is not the object's own.
    pub other_namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// It is in another namespace and not shared with this one, or not there: which of the two is not told.
    pub not_shared: bool,
    /// The API does not let the controllers read it, so that nothing else is known of it.
    pub hidden: bool,
    /// It exists.
    pub exists: bool,
    /// It is ready. A Secret is, if it exists.
    pub ready: bool,
    /// Why it is not ready, if it failed: [`trouble`] of a Workspace of the object's own namespace. What failed elsewhere
    /// is not told here; that it did is enough.
    pub trouble: Option<String>,
}

/// What a Workspace says that failed, in one line.
#[must_use]
pub fn trouble(workspace: &WorkspaceSeen) -> Option<String> {
    let synced = workspace.condition("Synced")?;
    let is_failed = synced.status == "False" && synced.reason != "ReconcilePaused";
    let message = synced.message.as_deref().filter(|_| is_failed)?;
    super::status::one_line(message)
}

/// Who waits for whom: WorkspaceTemplateApplies by `namespace/name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitGraph {
    /// Who waits, and for whom.
    pub waits_for: BTreeMap<String, BTreeSet<String>>,
}

/// Who runs Terraform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runner {
    /// Our runner, which acts on Workspaces with this label where it shares a cluster.
    Ours {
        /// Value of the label, if one is needed.
        label: Option<String>,
    },
    /// provider-terraform.
    Foreign,
}

/// A provider configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderConfigSeen {
    /// The API does not let the controllers read it, so that nothing else is known of it, nor whether it exists.
    pub hidden: bool,
    /// What says where state lives (see [`super::location::backend_of_config`]); none if nothing does.
    pub backend: Option<String>,
    /// Its annotation that names the namespaces that may use it.
    pub allowed_namespaces: Option<String>,
}

/// A Secret that holds state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateSecretSeen {
    /// Its name, in the object's namespace.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// It is going away.
    pub deleting: bool,
    /// It carries the label that makes clusterctl move it.
    pub moves: bool,
    /// It carries our finalizer.
    pub is_held: bool,
}

/// A plan that waits for an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingPlan {
    /// What an approval has to name.
    pub id: String,
    /// What it would destroy or replace, in words.
    pub summary: String,
}
