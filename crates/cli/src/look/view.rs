//! What can be said about each object of a namespace.

use capt_api::{
    conditions::find_condition, foreign::marks as foreign_marks, run::RunReport,
    workspacetemplateapply::WorkspaceProgress,
};
use capt_core::{
    captcluster::{is_externally_managed, serves},
    graph::{Cause, Graph, Health, Node, Relation, build, workspace_id},
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
use kube::ResourceExt as _;

pub(crate) use super::object::Object;
use super::{absent::not_missing, group::Part, text};

/// The objects of a namespace, and how it is with each.
pub(crate) struct View<'a> {
    pub(crate) part: &'a Part,
    pub(crate) graph: Graph,
}

impl<'a> View<'a> {
    pub(crate) fn new(part: &'a Part) -> Self {
        let mut graph = build(&part.snapshot);
        let otherwise: Vec<(String, Node)> = graph
            .nodes()
            .filter(|(_, node)| node.status == "Missing")
            .filter_map(|(id, node)| Some((id.to_owned(), not_missing(part, &graph, id, node)?)))
            .collect();
        for (id, node) in otherwise {
            graph.add(id, node);
        }
        Self { part, graph }
    }

    /// An object of the graph.
    pub(crate) fn object(&self, id: &str) -> Option<Object<'a>> {
        let (kind, name) = id.split_once('/')?;
        let snapshot = &self.part.snapshot;
        match kind {
            "Cluster" => {
                let mut all = snapshot.clusters.iter();
                all.find(|one| one.name_any() == name).map(Object::Cluster)
            }
            "CAPTCluster" => {
                let mut all = snapshot.captclusters.iter();
                all.find(|one| one.name_any() == name).map(Object::CaptCluster)
            }
            "CAPTControlPlane" => {
                let mut all = snapshot.control_planes.iter();
                all.find(|one| one.name_any() == name).map(Object::ControlPlane)
            }
            "WorkspaceTemplateApply" => {
                let mut all = snapshot.applies.iter();
                all.find(|one| one.name_any() == name).map(Object::Apply)
            }
            "Workspace" | "ClusterWorkspace" => {
                let mut all = snapshot.workspaces.iter();
                all.find(|one| workspace_id(one.group, &one.name) == id)
                    .map(Object::Workspace)
            }
            _ => None,
        }
    }

    /// Whether it does what it is for.
    pub(crate) fn is_ready(&self, id: &str) -> Option<bool> {
        Some(match self.object(id)? {
            Object::CaptCluster(one) => serves(one),
            Object::ControlPlane(one) => one.status.as_ref().is_some_and(|status| status.ready),
            Object::Cluster(_) | Object::Apply(_) | Object::Workspace(_) => {
                self.says_ready(id).is_some_and(|(is_ready, _)| is_ready)
            }
        })
    }

    /// Since when it does what it is for, or does not.
    pub(crate) fn ready_since(&self, id: &str) -> Option<Timestamp> {
        let is_ready = self.is_ready(id)?;
        let (says, since) = self.says_ready(id)?;
        (says == is_ready).then_some(since)
    }

    /// What the condition says that is about this, and since when.
    fn says_ready(&self, id: &str) -> Option<(bool, Timestamp)> {
        let says = |conditions: Option<&Vec<Condition>>, type_: &str| {
            let found = find_condition(conditions?, type_)?;
            Some((found.status == "True", found.last_transition_time.0))
        };
        match self.object(id)? {
            Object::Cluster(one) => says(one.status.as_ref()?.conditions.as_ref(), "Available"),
            Object::CaptCluster(one) => says(one.status.as_ref()?.conditions.as_ref(), "Ready"),
            Object::ControlPlane(one) => says(one.status.as_ref()?.conditions.as_ref(), "Ready"),
            Object::Apply(one) => says(one.status.as_ref()?.conditions.as_ref(), "Ready"),
            Object::Workspace(one) => {
                let mut conditions = one.conditions.iter();
                let ready = conditions.find(|condition| condition.type_ == "Ready")?;
                Some((ready.status == "True", ready.last_transition_time.0))
            }
        }
    }

    /// How much of the running operation is done, in per cent.
    pub(crate) fn percent(&self, id: &str) -> Option<i32> {
        match self.object(id)? {
            Object::Cluster(_) | Object::CaptCluster(_) if self.is_ready(id) == Some(true) => None,
            Object::Cluster(one) => {
                let reference = one.spec.control_plane_ref.as_ref()?;
                self.percent(&format!("{}/{}", reference.kind, reference.name))
            }
            Object::CaptCluster(_) => self.graph.made_by(id).find_map(|part| self.percent(part)),
            Object::ControlPlane(one) => {
                let progress = one.status.as_ref()?.progress.as_ref()?;
                progress.current_operation.as_ref()?;
                progress.percent_complete
            }
            Object::Apply(one) => one.status.as_ref()?.progress.as_ref()?.percent_complete,
            Object::Workspace(_) => match self.running(id) {
                Some(progress) => progress.percent_complete,
                None => self.makers(id).find_map(|maker| self.percent(maker)),
            },
        }
    }

    /// How far Terraform is with a Workspace, while it is at it.
    pub(crate) fn running(&self, id: &str) -> Option<&'a WorkspaceProgress> {
        let report = self.report(id)?;
        let is_over = report.operation.as_ref().is_none_or(|one| one.ended_at.is_some());
        report.progress.as_ref().filter(|_| !is_over)
    }

    /// What our runner tells about a Workspace.
    pub(crate) fn report(&self, id: &str) -> Option<&'a RunReport> {
        self.part.reports.get(id)
    }

    /// Who made an object.
    pub(crate) fn makers<'b>(&'b self, id: &str) -> impl Iterator<Item = &'b str> + use<'a, 'b> {
        self.graph
            .needed_by(id)
            .filter(|(_, relation)| *relation == Relation::Part)
            .map(|(maker, _)| maker)
    }

    /// What an object does or waits for, and why, on one line. Nothing, if all is well and nothing is special about it.
    pub(crate) fn why(&self, id: &str) -> String {
        self.said(id, text::line)
    }

    /// The same with all lines that a message has, for programs.
    pub(crate) fn whole_why(&self, id: &str) -> String {
        self.said(id, text::whole)
    }

    fn said(&self, id: &str, shown: fn(&str) -> String) -> String {
        let Some(node) = self.graph.node(id) else {
            return String::new();
        };
        if self.is_left_alone(id) {
            return format!(
                "somebody else manages it ({}), so that it is left alone",
                foreign_marks::MANAGED_BY
            );
        }
        if node.health == Health::Good {
            if self.is_simulated(id) {
                return "simulated: nothing of it is real".to_owned();
            }
            // A Cluster is available all through what is wrong with a part of it.
            let causes = match node.kind.as_str() {
                "Cluster" => self.causes(id),
                _ => Vec::new(),
            };
            return causes.first().map_or_else(String::new, |cause| {
                format!("look at {}: {}", typed(&cause.id), self.said(&cause.id, shown))
            });
        }
        if let Some(progress) = self.running(id) {
            return words(progress);
        }
        if let Some(awaited) = self.awaited(id) {
            return awaited.to_string();
        }
        let said = match self.object(id) {
            Some(Object::Apply(apply)) if node.message.is_empty() => {
                let status = apply.status.as_ref();
                status
                    .and_then(|status| status.message.clone())
                    .unwrap_or_default()
            }
            _ => node.message.clone(),
        };
        let mut words = shown(&said);
        if words.is_empty() {
            words = text::plain(&node.reason);
        } else if !node.reason.is_empty() && node.reason != node.status {
            words = format!("{}: {words}", text::plain(&node.reason));
        }
        words
    }

    /// What a Workspace, or the one that an object made, says to be missing in its state.
    pub(crate) fn torn(&self, id: &str) -> Option<&'a str> {
        let is_run = matches!(self.object(id)?, Object::Apply(_) | Object::Workspace(_));
        let parts = self.graph.made_by(id).filter(|_| is_run);
        std::iter::once(id)
            .chain(parts)
            .find_map(|part| self.lacks(part, "ResourcesMissing"))
    }

    /// What a Workspace says that its state lacks, if it is for this reason.
    pub(crate) fn lacks(&self, id: &str, reason: &str) -> Option<&'a str> {
        let Some(Object::Workspace(workspace)) = self.object(id) else {
            return None;
        };
        let mut conditions = workspace.conditions.iter();
        let told = conditions.find(|one| one.type_ == "StateComplete" && one.reason == reason)?;
        told.message.as_deref().filter(|_| told.status == "False")
    }

    /// What an object waits for in the end; or, where it waits for nothing, what is wrong with what it is made of.
    pub(crate) fn causes(&self, id: &str) -> Vec<Cause> {
        let causes = self.graph.causes(id);
        if !causes.is_empty() {
            return causes;
        }
        let is_bad = |one: &String| {
            let node = self.graph.node(one).filter(|_| one != id);
            node.is_some_and(|node| node.health == Health::Bad || node.status == "ApprovalNeeded")
        };
        let whole = self.graph.whole(id).into_iter().filter(is_bad);
        whole
            .map(|one| Cause {
                way: vec![id.to_owned(), one.clone()],
                id: one,
            })
            .collect()
    }

    /// Somebody else manages it, and no controller of capt looks at it.
    pub(crate) fn is_left_alone(&self, id: &str) -> bool {
        matches!(self.object(id), Some(Object::CaptCluster(one)) if is_externally_managed(&one.metadata))
    }

    /// Nothing of it is real.
    pub(crate) fn is_simulated(&self, id: &str) -> bool {
        match self.object(id) {
            Some(Object::Workspace(workspace)) => workspace
                .conditions
                .iter()
                .any(|condition| condition.type_ == "Simulated" && condition.status == "True"),
            _ => false,
        }
    }
}

/// How far Terraform is, in words.
pub(crate) fn words(progress: &WorkspaceProgress) -> String {
    let mut words = vec![progress.operation.clone().unwrap_or_else(|| "at work".to_owned())];
    if let Some(attempt) = progress.attempt.filter(|attempt| *attempt > 1) {
        words.push(format!("attempt {attempt}"));
    }
    let total = progress.resources_total.filter(|total| *total > 0);
    if let (Some(done), Some(total)) = (progress.resources_done, total) {
        words.push(format!("{done} of {total} resources"));
    }
    if let Some(resource) = &progress.current_resource {
        words.push(format!("now {resource}"));
    }
    if let Some(left) = &progress.estimated_time_remaining {
        words.push(format!("about {left} left"));
    }
    text::plain(&words.join(", "))
}

/// What a person types to mean an object of the graph.
pub(crate) fn typed(id: &str) -> String {
    let (kind, name) = id.split_once('/').unwrap_or((id, ""));
    let kind = match kind {
        "WorkspaceTemplateApply" => "wtapply".to_owned(),
        "ClusterWorkspace" => "workspace".to_owned(),
        other => other.to_lowercase(),
    };
    text::plain(&format!("{kind}/{name}"))
}
