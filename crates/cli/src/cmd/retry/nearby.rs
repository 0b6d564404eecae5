//! Reading what may hold a few objects up, and nothing else: a namespace may have thousands, and people few rights.

use std::collections::BTreeSet;

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    foreign::{Cluster as CapiCluster, marks as foreign_marks},
    marks,
};
use capt_core::{
    captcluster::snapshot::owner as cluster_of_network,
    controlplane::snapshot::cluster_of,
    graph::{Snapshot, WorkspaceSeen},
    wta::owner,
};
use capt_runner::view::WorkspaceView;
use futures::future::join_all;
use kube::{Api, Resource, ResourceExt, api::ListParams, core::NamespaceResourceScope};

use crate::{
    access::Cluster,
    look::{Part, kinds, list},
    objects::{CallError, ObjectError, Subject, call_opt},
    target::{Kind, Target},
};

/// What was read around some objects.
pub(super) struct Nearby {
    pub(super) part: Part,
    /// What could not be read, in words. Another try is asked for all the same.
    pub(super) unread: BTreeSet<String>,
    /// What Terraform runs for, as it was read for this.
    pub(super) runs: Runs,
}

/// What Terraform runs for.
#[derive(Default)]
pub(super) struct Runs {
    /// Each with its Workspace, if there is one, or why that could not be read.
    pub(super) read: Vec<(WorkspaceTemplateApply, Result<Option<WorkspaceView>, ObjectError>)>,
    /// Why those could not be read that a wish is passed down to.
    pub(super) unlisted: Option<ObjectError>,
}

/// What may hold up a network, a control plane or both, of this Cluster if it is known.
pub(super) async fn of_owners(cluster: &Cluster, owners: &[Target], of: Option<&str>) -> Nearby {
    let mut reading = Reading::new(cluster, Some(&cluster.namespace));
    for owner in owners {
        reading.owner(owner).await;
    }
    match of.map(str::to_owned).or_else(|| reading.cluster_of_owners()) {
        Some(name) => reading.cluster(&name).await,
        None => reading.referrers(owners).await,
    }
    reading.finish(owners).await
}

/// What may hold up what Terraform runs for.
pub(super) async fn of_subject(cluster: &Cluster, subject: &Subject) -> Nearby {
    let mut reading = Reading::new(cluster, subject.placed().namespace.as_deref());
    if let Some(workspace) = &subject.workspace {
        let seen = seen(workspace, subject.spec.clone());
        reading.snapshot.workspaces.push(seen);
    }
    if let Some(apply) = &subject.apply {
        reading.snapshot.applies.push(apply.clone());
        if let Some(owner) = owner_of(apply) {
            reading.owner(&owner).await;
        }
        if let Some(name) = apply.labels().get(foreign_marks::CLUSTER_NAME) {
            reading.cluster(name).await;
        }
    }
    reading.finish(&[]).await
}

struct Reading<'a> {
    cluster: &'a Cluster,
    snapshot: Snapshot,
    unread: BTreeSet<String>,
    runs: Runs,
}

impl<'a> Reading<'a> {
    fn new(cluster: &'a Cluster, namespace: Option<&str>) -> Self {
        Self {
            cluster,
            snapshot: Snapshot {
                namespace: namespace.unwrap_or_default().to_owned(),
                ..Snapshot::default()
            },
            unread: BTreeSet::new(),
            runs: Runs::default(),
        }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.cluster.client.clone(), &self.snapshot.namespace)
    }

    /// What an answer brings, or that it does not.
    fn answered<T, E>(&mut self, what: &(impl ToString + ?Sized), answer: Result<Option<T>, E>) -> Option<T> {
        answer.unwrap_or_else(|_| {
            self.unread.insert(what.to_string());
            None
        })
    }

    async fn owner(&mut self, owner: &Target) {
        match owner.kind {
            Kind::CaptCluster => {
                let found = call_opt(self.api::<CAPTCluster>().get(&owner.name)).await;
                let found = self.answered(owner, found);
                self.snapshot.captclusters.extend(found);
            }
            _ => {
                let found = call_opt(self.api::<CAPTControlPlane>().get(&owner.name)).await;
                let found = self.answered(owner, found);
                self.snapshot.control_planes.extend(found);
            }
        }
    }

    async fn cluster(&mut self, name: &str) {
        let found = call_opt(self.api::<CapiCluster>().get(name)).await;
        let found = self.answered(&format!("cluster/{name}"), found);
        self.snapshot.clusters.extend(found);
    }

    /// The Cluster that has what was read.
    fn cluster_of_owners(&self) -> Option<String> {
        let networks = self.snapshot.captclusters.iter();
        let planes = self.snapshot.control_planes.iter();
        let mut names = networks
            .filter_map(cluster_of_network)
            .chain(planes.filter_map(cluster_of));
        names.next().map(str::to_owned)
    }

    /// What no Cluster owns yet is paused by one that refers to it, which only that one tells.
    async fn referrers(&mut self, owners: &[Target]) {
        let found = list::<CapiCluster>(self.api(), &ListParams::default()).await;
        let found = self.answered("the clusters", found).unwrap_or_default();
        let refers = |cluster: &CapiCluster| parts(cluster).iter().any(|part| owners.contains(part));
        self.snapshot.clusters.extend(found.into_iter().filter(refers));
    }

    /// Reads what a wish is passed down to by these, and what the end of a pause would set going.
    async fn finish(mut self, passing_down: &[Target]) -> Nearby {
        let is_paused = |one: &&CapiCluster| one.spec.paused == Some(true);
        let paused: Vec<CapiCluster> = self.snapshot.clusters.iter().filter(is_paused).cloned().collect();
        for cluster in &paused {
            for part in parts(cluster) {
                if !self.owners().contains(&part) {
                    self.owner(&part).await;
                }
            }
            let label = format!("{}={}", foreign_marks::CLUSTER_NAME, cluster.name_any());
            let whose = format!("the wtapplies of cluster/{}", cluster.name_any());
            let read = self.applies(&label).await;
            self.answered(&whose, read.map(Some));
        }
        let mut owners = passing_down.to_vec();
        if !paused.is_empty() || self.has_paused_owner() {
            let others = self.owners().into_iter();
            owners.extend(others.filter(|other| !passing_down.contains(other)));
        }
        if !owners.is_empty() {
            let names: Vec<String> = owners.iter().map(ToString::to_string).collect();
            let labels: Vec<String> = owners.iter().filter_map(label_of).collect();
            let label = format!("{} in ({})", marks::OWNER, labels.join(","));
            if let Err(error) = self.applies(&label).await {
                self.unread
                    .insert(format!("the wtapplies of {}", names.join(" and ")));
                self.runs.unlisted = Some(error.into());
            }
        }
        self.workspaces().await;
        Nearby {
            part: self.snapshot.into(),
            unread: self.unread,
            runs: self.runs,
        }
    }

    fn owners(&self) -> Vec<Target> {
        let target = |kind, name| Target { kind, name };
        let networks = self.snapshot.captclusters.iter();
        let planes = self.snapshot.control_planes.iter();
        networks
            .map(|one| target(Kind::CaptCluster, one.name_any()))
            .chain(planes.map(|one| target(Kind::ControlPlane, one.name_any())))
            .collect()
    }

    fn has_paused_owner(&self) -> bool {
        let networks = self.snapshot.captclusters.iter().map(ResourceExt::annotations);
        let planes = self.snapshot.control_planes.iter().map(ResourceExt::annotations);
        networks
            .chain(planes)
            .any(|annotations| annotations.contains_key(foreign_marks::PAUSED))
    }

    async fn applies(&mut self, label: &str) -> Result<(), CallError> {
        let params = ListParams::default().labels(label);
        let found = list::<WorkspaceTemplateApply>(self.api(), &params).await?;
        let found = found.unwrap_or_default();
        let known: BTreeSet<String> = self.snapshot.applies.iter().map(|one| one.name_any()).collect();
        let news = found.into_iter().filter(|one| !known.contains(&one.name_any()));
        self.snapshot.applies.extend(news);
        Ok(())
    }

    async fn workspaces(&mut self) {
        let known: BTreeSet<&String> = self
            .snapshot
            .workspaces
            .iter()
            .filter_map(|one| one.labels.get(marks::WTA_UID))
            .collect();
        let is_news = |one: &&WorkspaceTemplateApply| {
            let uid = one.metadata.uid.as_ref();
            uid.is_none_or(|uid| !known.contains(uid))
        };
        let news = self.snapshot.applies.iter().filter(is_news);
        let asked = news.map(|apply| async {
            let found = self.cluster.subject_of(apply.clone()).await;
            (apply.clone(), found)
        });
        for (apply, found) in join_all(asked).await {
            let workspace = match found {
                Ok(Subject { workspace, spec, .. }) => {
                    let seen = workspace.as_ref().map(|workspace| seen(workspace, spec));
                    self.snapshot.workspaces.extend(seen);
                    Ok(workspace)
                }
                Err(error) => {
                    self.unread
                        .insert(format!("the workspace of wtapply/{}", apply.name_any()));
                    Err(error)
                }
            };
            self.runs.read.push((apply, workspace));
        }
    }
}

/// The network and the control plane that a Cluster refers to, as far as they are ours.
pub(super) fn parts(cluster: &CapiCluster) -> Vec<Target> {
    let references = [&cluster.spec.infrastructure_ref, &cluster.spec.control_plane_ref];
    let ours = references.into_iter().flatten().filter_map(|reference| {
        let kind = kind_of(&reference.kind)?;
        Some(Target {
            kind,
            name: reference.name.clone(),
        })
    });
    ours.collect()
}

fn kind_of(word: &str) -> Option<Kind> {
    kinds::kind(word).filter(|kind| matches!(kind, Kind::CaptCluster | Kind::ControlPlane))
}

/// How an owner stands in the label of what it has made.
fn label_of(owner: &Target) -> Option<String> {
    let kind = kinds::shown(Some(owner.kind)).next()?;
    Some(owner::label(kind, &owner.name))
}

/// The network or control plane that a WorkspaceTemplateApply was made for. A label may have a name shortened, and then a reference
/// has all of it.
fn owner_of(apply: &WorkspaceTemplateApply) -> Option<Target> {
    let recorded = owner::recorded(apply)?;
    let references = apply.metadata.owner_references.iter().flatten();
    let referenced = references
        .filter(|one| owner::label(&one.kind, &one.name) == recorded)
        .map(|one| (one.kind.as_str(), one.name.as_str()));
    let (kind, name) = referenced.chain(recorded.split_once('.')).next()?;
    Some(Target {
        kind: kind_of(kind)?,
        name: name.to_owned(),
    })
}

/// A Workspace as a graph wants to see it.
fn seen(workspace: &WorkspaceView, spec: serde_json::Value) -> WorkspaceSeen {
    let annotation = |name: &str| workspace.annotations.get(name);
    WorkspaceSeen {
        group: workspace.group,
        name: workspace.name.clone(),
        generation: Some(workspace.generation),
        labels: workspace.labels.clone(),
        deleting: workspace.deletion.is_some(),
        retained: annotation(marks::RETAINED).is_some(),
        paused_by_hand: annotation(foreign_marks::CROSSPLANE_PAUSED).is_some_and(|value| value == "true"),
        created_at: workspace.created,
        spec,
        conditions: workspace.status.conditions.clone().unwrap_or_default(),
        is_tried: false,
    }
}

#[cfg(test)]
mod tests;
