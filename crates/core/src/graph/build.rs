//! The graph of the objects that there are.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster, marks as foreign_marks, workspace::WorkspaceCondition},
    marks,
    references::SecretReference,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};
use serde_json::Value;
use std::collections::BTreeMap;

use super::{Graph, Node, Relation, health};
use crate::{metadata, names, render::WorkspaceGroup, wta::owner};

/// The objects that there are, in one namespace and in what it uses.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The namespace whose objects are called without it.
    pub namespace: String,
    /// Clusters of the namespace.
    pub clusters: Vec<Cluster>,
    /// CAPTClusters of the namespace.
    pub captclusters: Vec<CAPTCluster>,
    /// CAPTControlPlanes of the namespace.
    pub control_planes: Vec<CAPTControlPlane>,
    /// WorkspaceTemplateApplies of the namespace.
    pub applies: Vec<WorkspaceTemplateApply>,
    /// WorkspaceTemplates of the namespace, and of others that are referred to.
    pub templates: Vec<WorkspaceTemplate>,
    /// Workspaces of both groups: those of the namespace, and cluster-scoped ones whose label `wta-namespace` names it or
    /// that a WorkspaceTemplateApply of it names in its annotation `workspace`.
    pub workspaces: Vec<WorkspaceSeen>,
    /// Secrets of the namespace. Only what is known about them without reading them.
    pub secrets: Vec<SecretSeen>,
}

/// A Workspace of either group.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkspaceSeen {
    /// Its group.
    pub group: WorkspaceGroup,
    /// Its name.
    pub name: String,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// It is going away.
    pub deleting: bool,
    /// It is nobody's any more, and was kept on purpose.
    pub retained: bool,
    /// A person paused it: its annotation `crossplane.io/paused` is `true`.
    pub paused_by_hand: bool,
    /// `metadata.creationTimestamp`.
    pub created_at: Option<Timestamp>,
    /// Its spec.
    pub spec: Value,
    /// `status.conditions`.
    pub conditions: Vec<WorkspaceCondition>,
    /// Terraform tries now to make it what it should be: there is an `attempt` in the `progress` of what our runner tells.
    pub is_tried: bool,
}

/// A Secret, without what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretSeen {
    /// Its name.
    pub name: String,
    /// `metadata.creationTimestamp`.
    pub created_at: Option<Timestamp>,
    /// Kind and name of the owner that controls it.
    pub controller: Option<(String, String)>,
}

/// Builds the graph of the objects that there are, and of those that they name and that are not there.
#[must_use]
pub fn build(snapshot: &Snapshot) -> Graph {
    let mut building = Building {
        snapshot,
        graph: Graph::default(),
    };
    building.add_objects();
    for cluster in &snapshot.clusters {
        building.relate_cluster(cluster);
    }
    for control_plane in &snapshot.control_planes {
        building.relate_control_plane(control_plane);
    }
    for captcluster in &snapshot.captclusters {
        building.relate_captcluster(captcluster);
    }
    for apply in &snapshot.applies {
        building.relate_apply(apply);
    }
    for apply in &snapshot.applies {
        building.relate_future(apply);
    }
    building.graph
}

struct Building<'a> {
    snapshot: &'a Snapshot,
    graph: Graph,
}

impl Building<'_> {
    fn add_objects(&mut self) {
        let snapshot = self.snapshot;
        let mut add = |node: Node| {
            let id = id(&node.kind, &node.name);
            self.graph.add(id, node);
        };
        snapshot.clusters.iter().map(health::cluster).for_each(&mut add);
        snapshot
            .captclusters
            .iter()
            .map(health::captcluster)
            .for_each(&mut add);
        snapshot
            .control_planes
            .iter()
            .map(health::control_plane)
            .for_each(&mut add);
        snapshot.applies.iter().map(health::apply).for_each(&mut add);
        for template in &snapshot.templates {
            let node = health::template(template);
            let id = self.placed(
                "WorkspaceTemplate",
                template.metadata.namespace.as_deref(),
                &node.name,
            );
            self.graph.add(id, node);
        }
        for workspace in &snapshot.workspaces {
            let id = workspace_id(workspace.group, &workspace.name);
            self.graph.add(id, health::workspace(workspace));
        }
    }

    fn relate_cluster(&mut self, cluster: &Cluster) {
        let own = id("Cluster", name(&cluster.metadata));
        let references = [&cluster.spec.infrastructure_ref, &cluster.spec.control_plane_ref];
        for reference in references.into_iter().flatten() {
            let part = id(&reference.kind, &reference.name);
            if self.graph.node(&part).is_none() {
                let is_known = matches!(reference.kind.as_str(), "CAPTCluster" | "CAPTControlPlane");
                let node = if is_known {
                    health::missing(&reference.kind, &reference.name)
                } else {
                    health::stranger(&reference.kind, &reference.name)
                };
                self.graph.add(part.clone(), node);
            }
            self.graph.relate(&own, Relation::Part, &part);
        }
    }

    fn relate_control_plane(&mut self, control_plane: &CAPTControlPlane) {
        let own_name = name(&control_plane.metadata);
        let own = id("CAPTControlPlane", own_name);
        let infrastructure = self.infrastructure_of(control_plane);
        let named = control_plane.spec.workspace_template_apply_name.as_deref();
        let parts = self.relate_parts("CAPTControlPlane", own_name, named);
        if let Some(infrastructure) = infrastructure {
            self.graph.relate(&own, Relation::Input, &infrastructure);
            // Nothing of a control plane is made before its network is there, or goes after it.
            for part in parts {
                self.graph.relate(&part, Relation::Input, &infrastructure);
            }
        }
        if let Some(cluster) =
            self.cluster_of(&control_plane.metadata, |cluster| {
                cluster.spec.control_plane_ref.as_ref().is_some_and(|reference| {
                    reference.kind == "CAPTControlPlane" && reference.name == own_name
                })
            })
        {
            for suffix in ["kubeconfig", "user-kubeconfig", "ca"] {
                self.relate_product(&own, &format!("{cluster}-{suffix}"), false);
            }
        }
    }

    /// The network that a control plane stands in.
    fn infrastructure_of(&self, control_plane: &CAPTControlPlane) -> Option<String> {
        let own_name = name(&control_plane.metadata);
        let cluster = self.cluster_of(&control_plane.metadata, |cluster| {
            cluster
                .spec
                .control_plane_ref
                .as_ref()
                .is_some_and(|reference| reference.name == own_name)
        })?;
        let mut clusters = self.snapshot.clusters.iter();
        let cluster = clusters.find(|one| name(&one.metadata) == cluster)?;
        let reference = cluster.spec.infrastructure_ref.as_ref()?;
        Some(id(&reference.kind, &reference.name))
    }

    /// The name of the Cluster that an object belongs to: by its owner, by its label, or by who refers to it.
    fn cluster_of(&self, metadata: &ObjectMeta, refers: impl Fn(&Cluster) -> bool) -> Option<String> {
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let labels = metadata.labels.as_ref();
        metadata::cluster_owner(owners)
            .map(|owner| owner.name.clone())
            .or_else(|| labels?.get(foreign_marks::CLUSTER_NAME).cloned())
            .or_else(|| {
                let mut clusters = self.snapshot.clusters.iter();
                Some(name(&clusters.find(|cluster| refers(cluster))?.metadata).to_owned())
            })
    }

    fn relate_captcluster(&mut self, captcluster: &CAPTCluster) {
        let own_name = name(&captcluster.metadata);
        let named = captcluster.spec.workspace_template_apply_name.as_deref();
        self.relate_parts("CAPTCluster", own_name, named);
        if captcluster.spec.existing_vpc_id.is_some() {
            let own = id("CAPTCluster", own_name);
            let secret = captcluster
                .spec
                .connection_secret_name
                .clone()
                .unwrap_or_else(|| names::vpc_connection(own_name).preferred().to_owned());
            self.relate_product(&own, &secret, true);
        }
    }

    /// Relates an owner to its WorkspaceTemplateApplies, and to one that its spec names and that is not there.
    fn relate_parts(&mut self, kind: &str, owner_name: &str, named: Option<&str>) -> Vec<String> {
        let own = id(kind, owner_name);
        let label = owner::label(kind, owner_name);
        let applies = self.snapshot.applies.iter();
        let mut parts: Vec<String> = applies
            .filter(|apply| owner::recorded(apply).as_ref() == Some(&label))
            .map(|apply| id("WorkspaceTemplateApply", name(&apply.metadata)))
            .collect();
        if let Some(named) = named {
            let part = id("WorkspaceTemplateApply", named);
            if self.graph.node(&part).is_none() {
                let node = Node {
                    message: format!(
                        "spec.workspaceTemplateApplyName of {} {owner_name} names it, and it does not exist",
                        kind
                    ),
                    ..health::missing("WorkspaceTemplateApply", named)
                };
                self.graph.add(part.clone(), node);
                parts.push(part);
            }
        }
        for part in &parts {
            self.graph.relate(&own, Relation::Part, part);
        }
        parts
    }

    fn relate_apply(&mut self, apply: &WorkspaceTemplateApply) {
        let own = id("WorkspaceTemplateApply", name(&apply.metadata));
        let reference = &apply.spec.template_ref;
        let template = self.placed(
            "WorkspaceTemplate",
            reference.namespace.as_deref(),
            &reference.name,
        );
        self.add_if_missing(&template, "WorkspaceTemplate", &reference.name);
        self.graph.relate(&own, Relation::Input, &template);
        for secret in apply.spec.wait_for_secrets.iter().flatten() {
            let secret = self.secret(secret);
            self.graph.relate(&own, Relation::Input, &secret);
        }
        for awaited in apply.spec.wait_for_workspaces.iter().flatten() {
            let workspace = self.workspace_named(&awaited.name);
            self.graph.relate(&own, Relation::Input, &workspace);
        }
        let workspace = self.workspace_of(apply);
        let maker = match &workspace {
            Some(workspace) => {
                self.graph.relate(&own, Relation::Part, workspace);
                workspace.clone()
            }
            None => own,
        };
        if let Some(secret) = self.connection_secret(apply, workspace.as_deref()) {
            self.relate_product(&maker, &secret, true);
            self.tell_if_taken(&maker, &secret);
        }
        if let Some(seen) = workspace.and_then(|workspace| self.seen(&workspace)) {
            let spec = seen.spec.clone();
            for secret in secrets_read(&spec) {
                let secret = self.secret(&SecretReference {
                    name: secret,
                    namespace: None,
                });
                self.graph.relate(&maker, Relation::Input, &secret);
            }
        }
    }

    /// Relates a WorkspaceTemplateApply to the Workspace that it is going to make, if somebody waits for that one.
    fn relate_future(&mut self, apply: &WorkspaceTemplateApply) {
        let own_name = name(&apply.metadata);
        let own = id("WorkspaceTemplateApply", own_name);
        let has_one = self.workspace_of(apply).is_some();
        let future = id(
            "Workspace",
            names::workspace(&self.snapshot.namespace, own_name).preferred(),
        );
        let is_awaited = self
            .graph
            .node(&future)
            .is_some_and(|node| node.created_at.is_none());
        if !has_one && is_awaited {
            self.graph.relate(&own, Relation::Part, &future);
        }
    }

    /// The id of the Workspace of a WorkspaceTemplateApply, if it has or had one.
    fn workspace_of(&mut self, apply: &WorkspaceTemplateApply) -> Option<String> {
        let recorded = metadata::annotation(&apply.metadata, marks::WORKSPACE)
            .and_then(|text| text.split_once('/'))
            .and_then(|(group, name)| Some((WorkspaceGroup::from_name(group)?, name.to_owned())));
        if let Some((group, name)) = recorded {
            let id = workspace_id(group, &name);
            self.add_if_missing(&id, "Workspace", &name);
            return Some(id);
        }
        let own_name = names::label_value(name(&apply.metadata));
        let mut workspaces = self.snapshot.workspaces.iter();
        let labelled = workspaces.find(|workspace| {
            workspace.labels.get(marks::WTA_NAME) == Some(&own_name)
                && workspace.labels.get(marks::WTA_NAMESPACE) == Some(&self.snapshot.namespace)
        });
        if let Some(workspace) = labelled {
            return Some(workspace_id(workspace.group, &workspace.name));
        }
        let status = apply.status.as_ref()?;
        let name = status.workspace_name.clone()?;
        Some(self.workspace_named(&name))
    }

    /// The id of a Workspace that is called by its name alone.
    fn workspace_named(&mut self, name: &str) -> String {
        let mut workspaces = self.snapshot.workspaces.iter();
        let group = workspaces
            .find(|workspace| workspace.name == name)
            .map_or(WorkspaceGroup::Namespaced, |workspace| workspace.group);
        let id = workspace_id(group, name);
        self.add_if_missing(&id, "Workspace", name);
        id
    }

    fn seen(&self, id: &str) -> Option<&WorkspaceSeen> {
        let mut workspaces = self.snapshot.workspaces.iter();
        workspaces.find(|workspace| workspace_id(workspace.group, &workspace.name) == id)
    }

    /// The Secret that outputs are written to, if that is in the namespace that is looked at.
    fn connection_secret(&self, apply: &WorkspaceTemplateApply, workspace: Option<&str>) -> Option<String> {
        let by_workspace = || {
            let reference = self.seen(workspace?)?.spec.get("writeConnectionSecretToRef")?;
            let field = |name: &str| Some(reference.get(name)?.as_str()?.to_owned());
            Some((field("name")?, field("namespace")))
        };
        let by_apply = || {
            let reference = apply.spec.write_connection_secret_to_ref.as_ref()?;
            Some((reference.name.clone(), reference.namespace.clone()))
        };
        let by_template = || {
            let reference = &apply.spec.template_ref;
            let namespace = reference.namespace.as_deref().unwrap_or(&self.snapshot.namespace);
            let mut templates = self.snapshot.templates.iter();
            let template = templates.find(|template| {
                name(&template.metadata) == reference.name
                    && template.metadata.namespace.as_deref() == Some(namespace)
            })?;
            let spec = &template.spec;
            let inner = spec.template.spec.write_connection_secret_to_ref.as_ref();
            let named = spec.write_connection_secret_to_ref.as_ref().or(inner)?;
            // A name with holes is known only when it is rendered.
            (!named.name.contains("${")).then(|| (named.name.clone(), named.namespace.clone()))
        };
        let (name, namespace) = by_workspace().or_else(by_apply).or_else(by_template)?;
        namespace
            .is_none_or(|namespace| namespace == self.snapshot.namespace)
            .then_some(name)
    }

    /// Relates a Secret to who writes it. One that is not there is left out, unless it is sure to come.
    fn relate_product(&mut self, maker: &str, secret: &str, is_sure: bool) {
        let is_there = self.snapshot.secrets.iter().any(|seen| seen.name == secret);
        if is_there || is_sure {
            let secret = self.secret(&SecretReference {
                name: secret.to_owned(),
                namespace: None,
            });
            self.graph.relate(&secret, Relation::Product, maker);
        }
    }

    /// Says of a Secret that outputs should be in that it is somebody else's: whoever writes outputs controls it from then on.
    fn tell_if_taken(&mut self, maker: &str, secret: &str) {
        let mut secrets = self.snapshot.secrets.iter();
        let (Some(workspace), Some(found)) = (self.seen(maker), secrets.find(|seen| seen.name == secret))
        else {
            return;
        };
        let mut conditions = workspace.conditions.iter();
        let is_ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
        let whose = match &found.controller {
            Some((kind, name)) if kind == "Workspace" && *name == workspace.name => return,
            Some((kind, name)) => format!("It belongs to {kind}/{name}"),
            None if is_ready => "It is nobody's".to_owned(),
            None => return,
        };
        let node = health::taken(&found.name, found.created_at, &whose);
        self.graph.add(id("Secret", secret), node);
    }

    fn secret(&mut self, reference: &SecretReference) -> String {
        let id = self.placed("Secret", reference.namespace.as_deref(), &reference.name);
        let is_at_home = id == self::id("Secret", &reference.name);
        let mut secrets = self.snapshot.secrets.iter();
        match secrets.find(|seen| is_at_home && seen.name == reference.name) {
            Some(_) if self.graph.node(&id).is_some() => {}
            Some(seen) => self
                .graph
                .add(id.clone(), health::secret(&seen.name, seen.created_at)),
            None if is_at_home => self.add_if_missing(&id, "Secret", &reference.name),
            None => self
                .graph
                .add(id.clone(), health::stranger("Secret", &reference.name)),
        }
        id
    }

    fn add_if_missing(&mut self, id: &str, kind: &str, name: &str) {
        if self.graph.node(id).is_none() {
            self.graph.add(id, health::missing(kind, name));
        }
    }

    /// The id of an object that may be in another namespace.
    fn placed(&self, kind: &str, namespace: Option<&str>, name: &str) -> String {
        match namespace {
            Some(namespace) if namespace != self.snapshot.namespace => format!("{kind}/{namespace}/{name}"),
            _ => id(kind, name),
        }
    }
}

fn id(kind: &str, name: &str) -> String {
    format!("{kind}/{name}")
}

/// The id of a Workspace in the graph. Those of both groups may share a name.
#[must_use]
pub fn workspace_id(group: WorkspaceGroup, name: &str) -> String {
    match group {
        WorkspaceGroup::Namespaced => id("Workspace", name),
        WorkspaceGroup::ClusterScoped => id("ClusterWorkspace", name),
    }
}

fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// Names of the Secrets that Terraform is given.
fn secrets_read(spec: &Value) -> Vec<String> {
    let list = |name: &str| {
        let list = spec.pointer(&format!("/forProvider/{name}"));
        list.and_then(Value::as_array).into_iter().flatten()
    };
    list("varFiles")
        .chain(list("env"))
        .filter_map(|entry| entry.pointer("/secretKeyRef/name")?.as_str())
        .map(str::to_owned)
        .collect()
}
