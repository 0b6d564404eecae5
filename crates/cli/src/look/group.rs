//! What was read, by namespace, as `capt-core` wants to see it.

use std::collections::{BTreeMap, BTreeSet};

use capt_api::{
    WorkspaceTemplate,
    foreign::{ClusterWorkspace, Workspace, marks as foreign_marks, workspace::WorkspaceStatus},
    marks,
    run::{REPORT_KEY, RunReport},
};
use capt_core::{
    graph::{SecretSeen, Snapshot, WorkspaceSeen, workspace_id},
    render::WorkspaceGroup,
};
use capt_terraform::diagnostics::readable;
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::gather::{Objects, Scope, Sort};

/// What was read, by namespace. What belongs to none stands under the empty name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) namespaces: BTreeMap<String, Part>,
    /// The API does not know our own kinds.
    pub(crate) is_without_our_kinds: bool,
    /// When it was read.
    pub(crate) now: Timestamp,
}

/// What was read in one namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) snapshot: Snapshot,
    /// What our runner tells, by the id of the Workspace in the graph.
    pub(crate) reports: BTreeMap<String, RunReport>,
    /// Secrets could not be looked at.
    pub(super) secrets_unseen: bool,
    /// Workspaces could not be looked at.
    pub(super) workspaces_unseen: bool,
    /// Templates that could not be looked at, as `namespace/name`.
    pub(super) templates_unseen: BTreeSet<String>,
}

impl From<Snapshot> for Part {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            ..Self::default()
        }
    }
}

impl Gathered {
    pub(super) fn new(objects: Objects, scope: &Scope, now: Timestamp) -> Self {
        let mut gathered = Self {
            namespaces: BTreeMap::new(),
            is_without_our_kinds: objects.absent.contains(&Sort::Applies),
            now,
        };
        if let Scope::Namespace(namespace) = scope {
            gathered.part(namespace);
        }
        let reports = reports(&objects.reports);
        for cluster in objects.clusters {
            let namespace = cluster.namespace().unwrap_or_default();
            gathered.part(&namespace).snapshot.clusters.push(cluster);
        }
        for captcluster in objects.captclusters {
            let namespace = captcluster.namespace().unwrap_or_default();
            gathered.part(&namespace).snapshot.captclusters.push(captcluster);
        }
        for control_plane in objects.control_planes {
            let namespace = control_plane.namespace().unwrap_or_default();
            let part = gathered.part(&namespace);
            part.snapshot.control_planes.push(control_plane);
        }
        let mut named = BTreeMap::new();
        for mut apply in objects.applies {
            let status = apply.status.as_mut();
            for condition in status
                .and_then(|status| status.conditions.as_mut())
                .into_iter()
                .flatten()
            {
                condition.message = readable(&condition.message).into_owned();
            }
            let namespace = apply.namespace().unwrap_or_default();
            if let Some(place) = apply.annotations().get(marks::WORKSPACE) {
                named.insert(place.clone(), namespace.clone());
            }
            gathered.part(&namespace).snapshot.applies.push(apply);
        }
        for workspace in &objects.workspaces {
            let namespace = workspace.namespace().unwrap_or_default();
            gathered.add_workspace(&namespace, namespaced(workspace), workspace.uid(), &reports);
        }
        for workspace in &objects.cluster_workspaces {
            let place = format!(
                "{}/{}",
                WorkspaceGroup::ClusterScoped.name(),
                workspace.name_any()
            );
            let by_label = workspace.labels().get(marks::WTA_NAMESPACE);
            let home = by_label
                .or_else(|| named.get(&place))
                .cloned()
                .unwrap_or_default();
            if scope.holds(&home) {
                gathered.add_workspace(&home, cluster_scoped(workspace), workspace.uid(), &reports);
            }
        }
        for secret in objects.secrets {
            let namespace = secret.namespace().unwrap_or_default();
            // Where there is nothing of capt, Secrets are nobody's business.
            if let Some(part) = gathered.namespaces.get_mut(&namespace) {
                let mut owners = secret.owner_references().iter();
                let controller = owners.find(|owner| owner.controller == Some(true));
                part.snapshot.secrets.push(SecretSeen {
                    name: secret.name_any(),
                    created_at: secret.creation_timestamp().map(|time| time.0),
                    controller: controller.map(|owner| (owner.kind.clone(), owner.name.clone())),
                });
            }
        }
        for part in gathered.namespaces.values_mut() {
            part.snapshot.templates = templates_of(&part.snapshot, &objects.templates);
            part.secrets_unseen = objects.unseen.contains(&Sort::Secrets);
            part.workspaces_unseen = objects.unseen.contains(&Sort::Workspaces)
                || objects.unseen.contains(&Sort::ClusterWorkspaces);
            part.templates_unseen.clone_from(&objects.unseen_templates);
        }
        gathered
    }

    /// What was read in a namespace.
    fn part(&mut self, namespace: &str) -> &mut Part {
        self.namespaces.entry(namespace.to_owned()).or_insert_with(|| {
            Part::from(Snapshot {
                namespace: namespace.to_owned(),
                ..Snapshot::default()
            })
        })
    }

    fn add_workspace(
        &mut self,
        namespace: &str,
        mut seen: WorkspaceSeen,
        uid: Option<String>,
        reports: &BTreeMap<String, RunReport>,
    ) {
        let part = self.part(namespace);
        if let Some(report) = uid.and_then(|uid| reports.get(&uid)) {
            let id = workspace_id(seen.group, &seen.name);
            let is_running = report
                .operation
                .as_ref()
                .is_some_and(|one| one.ended_at.is_none());
            let progress = report.progress.as_ref().filter(|_| is_running);
            seen.is_tried = progress.is_some_and(|progress| progress.attempt.is_some());
            part.reports.insert(id, report.clone());
        }
        part.snapshot.workspaces.push(seen);
    }
}

/// The templates of a namespace, and those that it uses.
fn templates_of(snapshot: &Snapshot, templates: &[WorkspaceTemplate]) -> Vec<WorkspaceTemplate> {
    let used: BTreeSet<(&str, &str)> = snapshot
        .applies
        .iter()
        .map(|apply| &apply.spec.template_ref)
        .filter_map(|reference| Some((reference.namespace.as_deref()?, reference.name.as_str())))
        .collect();
    let is_wanted = |template: &&WorkspaceTemplate| {
        let namespace = template.metadata.namespace.as_deref().unwrap_or_default();
        let name = template.metadata.name.as_deref().unwrap_or_default();
        namespace == snapshot.namespace || used.contains(&(namespace, name))
    };
    templates.iter().filter(is_wanted).cloned().collect()
}

/// What our runner tells, by the uid of the Workspace.
fn reports(maps: &[ConfigMap]) -> BTreeMap<String, RunReport> {
    let read = |map: &ConfigMap| {
        let uid = map.labels().get(marks::RUN_OF)?.clone();
        let report = serde_json::from_str(map.data.as_ref()?.get(REPORT_KEY)?).ok()?;
        Some((uid, report))
    };
    maps.iter().filter_map(read).collect()
}

pub(super) fn namespaced(workspace: &Workspace) -> WorkspaceSeen {
    seen(
        WorkspaceGroup::Namespaced,
        &workspace.metadata,
        json!(workspace.spec),
        workspace.status.as_ref(),
    )
}

fn cluster_scoped(workspace: &ClusterWorkspace) -> WorkspaceSeen {
    seen(
        WorkspaceGroup::ClusterScoped,
        &workspace.metadata,
        json!(workspace.spec),
        workspace.status.as_ref(),
    )
}

fn seen(
    group: WorkspaceGroup,
    metadata: &ObjectMeta,
    spec: Value,
    status: Option<&WorkspaceStatus>,
) -> WorkspaceSeen {
    let mut conditions = status
        .and_then(|status| status.conditions.clone())
        .unwrap_or_default();
    for message in conditions
        .iter_mut()
        .filter_map(|condition| condition.message.as_mut())
    {
        *message = readable(message).into_owned();
    }
    WorkspaceSeen {
        generation: metadata.generation,
        paused_by_hand: metadata.annotations.as_ref().is_some_and(|annotations| {
            annotations
                .get(foreign_marks::CROSSPLANE_PAUSED)
                .is_some_and(|value| value == "true")
        }),
        group,
        name: metadata.name.clone().unwrap_or_default(),
        labels: metadata.labels.clone().unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
        retained: metadata
            .annotations
            .as_ref()
            .is_some_and(|annotations| annotations.contains_key(marks::RETAINED)),
        created_at: metadata.creation_timestamp.as_ref().map(|time| time.0),
        spec,
        conditions,
        is_tried: false,
    }
}
