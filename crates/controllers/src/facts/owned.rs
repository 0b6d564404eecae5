//! WorkspaceTemplateApplies as their owners see them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capt_api::{
    WorkspaceTemplateApply, conditions::find_condition, foreign::marks as foreign_marks, marks,
    run::Operation,
};
use capt_core::{
    decision::Target,
    names,
    owned::{self, OwnedSeen, Peer, PlanGlance, RunGlance, Setback, Trouble, TroubleClass, WorkspaceGlance},
    render::WorkspaceGroup,
    wta::snapshot::WorkspaceSeen,
};
use capt_terraform::diagnostics;
use serde_json::Value;

use super::{
    Facts,
    indexes::{self, within},
    kinds,
    views::ReportView,
    workspace_key,
};
use crate::engine::{execute::Failure, key::ObjectKey, table::Serving, wakes::Reader};

impl Facts {
    /// The name of a paused Cluster that refers to an object which no Cluster owns yet. Whoever is owned is not woken for it.
    pub(crate) fn paused_by(&self, reader: &Reader, index: &'static str, key: &ObjectKey) -> Option<String> {
        let members = self
            .clusters
            .members(reader, index, &within(key.namespace(), key.name()));
        let mut clusters = members
            .iter()
            .filter_map(|place| self.clusters.glance(reader, indexes::SPEC, place));
        let paused = clusters
            .find(|cluster| cluster.spec.paused == Some(true) || indexes::has_pause(&cluster.metadata));
        paused.and_then(|cluster| cluster.metadata.name.clone())
    }

    /// What stands in the way where WorkspaceTemplateApplies cannot be read. An owner that sees none would go, and leave them behind.
    pub(crate) fn unread_applies(&self, reader: &Reader, namespace: &str) -> Option<Failure> {
        match self.applies.serving(reader) {
            Serving::Yes | Serving::No => None,
            Serving::Unknown | Serving::Hidden => Some(Failure::Hidden {
                target: Target {
                    api_version: format!("{}/v1beta1", kinds::APPLY.group),
                    kind: kinds::APPLY.kind.to_owned(),
                    namespace: Some(namespace.to_owned()),
                    name: String::new(),
                },
            }),
        }
    }

    /// WorkspaceTemplateApplies of a namespace that an owner with this label has, and those that have one of these
    /// names, whosever they are.
    pub(crate) fn owned(
        &self,
        reader: &Reader,
        namespace: &str,
        owner_label: &str,
        names: &[String],
    ) -> Vec<OwnedSeen> {
        let label = within(namespace, owner_label);
        let mut found = self.applies.find(reader, indexes::OWNER, &label);
        for name in names {
            let key = ObjectKey::within(namespace, name);
            if found.iter().all(|(known, _)| *known != key)
                && let Some(apply) = self.applies.get(reader, &key)
            {
                found.push((key, apply));
            }
        }
        found
            .iter()
            .map(|(key, apply)| self.owned_seen(reader, key, apply))
            .collect()
    }

    /// All others of a namespace with a recorded owner that use a template: no tenant holds up what another one gets. Whoever reads them is not woken when one
    /// of them changes: who has to look again then is found out for all of them together, by [`Facts::next_in_line`].
    pub(crate) fn peers(
        &self,
        reader: &Reader,
        namespace: &str,
        own: Option<&OwnedSeen>,
        template: &ObjectKey,
    ) -> Vec<Peer> {
        let uid = own.map(OwnedSeen::uid);
        let place = within(template.namespace(), template.name());
        let keys: Vec<ObjectKey> = if self.is_here(template) {
            self.applies.members(reader, indexes::SHARES, &place)
        } else {
            // Of a template of another namespace only its readers know, so that they have to look for themselves.
            let users = self.applies.find(reader, indexes::SHARES, &place);
            users.into_iter().map(|(key, _)| key).collect()
        };
        let peers = keys
            .iter()
            .filter(|key| key.namespace() == namespace)
            .filter_map(|key| Some((key, self.applies.peek(key)?)))
            .filter(|(_, apply)| apply.metadata.uid.as_deref() != uid);
        peers.map(|(key, apply)| self.peer(key, &apply)).collect()
    }

    /// Those who get the current revision of a template next, if there are any who do not have it.
    pub(crate) fn next_in_line(&self, template: &ObjectKey, current: &str) -> Vec<ObjectKey> {
        let place = within(template.namespace(), template.name());
        let up_to_date = indexes::released(&place, current);
        // Usually all of them have it, and nobody has to be looked at.
        if self.applies.count(indexes::SHARES, &place) == self.applies.count(indexes::RELEASED, &up_to_date) {
            return Vec::new();
        }
        let mut by_namespace: BTreeMap<String, Vec<(ObjectKey, Peer)>> = BTreeMap::new();
        for key in self.applies.peek_members(indexes::SHARES, &place) {
            let Some(apply) = self.applies.peek(&key) else {
                continue;
            };
            let peer = self.peer(&key, &apply);
            by_namespace
                .entry(key.namespace().to_owned())
                .or_default()
                .push((key, peer));
        }
        let mut next = Vec::new();
        for users in by_namespace.into_values() {
            let peers: Vec<Peer> = users.iter().map(|(_, peer)| peer.clone()).collect();
            let named: BTreeSet<&str> = owned::next_in_line(current, &peers).into_iter().collect();
            let is_next = |(_, peer): &(ObjectKey, Peer)| named.contains(peer.key.as_str());
            next.extend(users.into_iter().filter(is_next).map(|(key, _)| key));
        }
        next
    }

    /// The Workspace that a WorkspaceTemplateApply names in its annotation, if it exists and is its own.
    pub(crate) fn workspace_of(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        apply: &WorkspaceTemplateApply,
    ) -> Option<Arc<WorkspaceSeen>> {
        let (group, place) = workspace_place(key, apply)?;
        self.workspaces_of(group)
            .glance(reader, indexes::OBSERVED, &place)
            .filter(|workspace| is_within(workspace, key))
    }

    /// The Workspace that says by its labels that it belongs to a WorkspaceTemplateApply of this name, which need not exist
    /// any more. None if several say so.
    pub(crate) fn workspace_left_for(
        &self,
        reader: &Reader,
        namespace: &str,
        apply: &str,
    ) -> Option<Arc<WorkspaceSeen>> {
        let mut found = self.workspaces_left_for(reader, namespace, apply);
        (found.len() == 1).then(|| found.remove(0))
    }

    /// All Workspaces that say by their labels that they belong to a WorkspaceTemplateApply of this name.
    pub(super) fn workspaces_left_for(
        &self,
        reader: &Reader,
        namespace: &str,
        apply: &str,
    ) -> Vec<Arc<WorkspaceSeen>> {
        let identity = within(namespace, &names::label_value(apply));
        let mut found = Vec::new();
        for group in [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped] {
            let table = self.workspaces_of(group);
            let members = table.members(reader, indexes::IDENTITY, &identity);
            // Labels can be written by anybody, in any namespace.
            let is_here = |place: &&ObjectKey| place.own_namespace().is_none_or(|own| own == namespace);
            let places = members.iter().filter(is_here);
            found.extend(places.filter_map(|place| table.glance(reader, indexes::OBSERVED, place)));
        }
        found
    }

    fn owned_seen(&self, reader: &Reader, key: &ObjectKey, apply: &WorkspaceTemplateApply) -> OwnedSeen {
        // One that is being destroyed is not written down any more.
        let workspace = self.workspace_of(reader, key, apply).or_else(|| {
            apply.metadata.deletion_timestamp.as_ref()?;
            self.workspace_left_for(reader, key.namespace(), key.name())
        });
        let told = workspace.as_ref().and_then(|workspace| {
            let uid = &workspace.uid;
            let told = self.reports.members(reader, indexes::RUN_OF, uid);
            self.reports
                .glance(reader, indexes::RUN, of_namespace(&told, key)?)
        });
        seen(apply, workspace.as_deref(), told.as_deref())
    }

    /// One as a peer of others, without being woken for it.
    fn peer(&self, key: &ObjectKey, apply: &WorkspaceTemplateApply) -> Peer {
        let workspace = workspace_place(key, apply)
            .and_then(|(group, place)| self.workspaces_of(group).peek(&place))
            .filter(|workspace| is_within(workspace, key));
        let told = workspace.as_ref().and_then(|workspace| {
            let uid = &workspace.uid;
            let told = self.reports.peek_members(indexes::RUN_OF, uid);
            self.reports.peek(of_namespace(&told, key)?)
        });
        Peer::of(&seen(apply, workspace.as_deref(), told.as_deref()))
    }
}

/// The report that may be believed of several: one in the namespace of the WorkspaceTemplateApply. Labels can be written in
/// any namespace.
pub(crate) fn of_namespace<'a>(reports: &'a [ObjectKey], key: &ObjectKey) -> Option<&'a ObjectKey> {
    reports
        .iter()
        .find(|report| report.namespace() == key.namespace())
}

/// Whether a Workspace may be a WorkspaceTemplateApply's: it is in its namespace, or says by labels that no tenant can write that
/// it is.
fn is_within(workspace: &WorkspaceSeen, key: &ObjectKey) -> bool {
    let label = |name: &str| workspace.labels.get(name).map(String::as_str);
    workspace.group != Some(WorkspaceGroup::ClusterScoped)
        || (label(marks::WTA_NAMESPACE) == Some(key.namespace())
            && label(marks::WTA_NAME) == Some(names::label_value(key.name()).as_str()))
}

/// Namespace and name of the Secret that a Workspace writes, if its WorkspaceTemplateApply is in this namespace. One in
/// another namespace counts only where an administrator marked the Workspace as made by the Go implementation.
pub(crate) fn connection_secret(namespace: &str, workspace: &WorkspaceSeen) -> Option<(String, String)> {
    let reference = workspace.spec.get("writeConnectionSecretToRef")?;
    let field = |name: &str| reference.get(name).and_then(Value::as_str);
    let legacy_of = workspace.annotations.get(marks::LEGACY_OF);
    let is_legacy = legacy_of
        .and_then(|key| key.split_once('/'))
        .is_some_and(|(own, _)| own == namespace);
    let place = match workspace.group {
        Some(WorkspaceGroup::ClusterScoped) => field("namespace")?,
        _ => namespace,
    };
    (place == namespace || is_legacy).then(|| Some((place.to_owned(), field("name")?.to_owned())))?
}

/// Where the Workspace is that a WorkspaceTemplateApply names in its annotation.
fn workspace_place(key: &ObjectKey, apply: &WorkspaceTemplateApply) -> Option<(WorkspaceGroup, ObjectKey)> {
    let annotations = apply.metadata.annotations.as_ref()?;
    let (group, name) = annotations.get(marks::WORKSPACE)?.split_once('/')?;
    let group = WorkspaceGroup::from_name(group)?;
    Some((group, workspace_key(group, key.namespace(), name)))
}

fn seen(
    apply: &WorkspaceTemplateApply,
    workspace: Option<&WorkspaceSeen>,
    told: Option<&ReportView>,
) -> OwnedSeen {
    OwnedSeen {
        wta: apply.clone(),
        trouble: trouble(apply),
        workspace: workspace.map(|workspace| WorkspaceGlance {
            name: workspace.name.clone(),
            generation: workspace.generation,
            observed_generation: workspace.status.observed_generation,
            created_at: workspace.created_at,
            deleting: workspace.deleting,
            paused_by_hand: workspace
                .annotations
                .get(foreign_marks::CROSSPLANE_PAUSED)
                .is_some_and(|paused| paused == "true"),
            drift: workspace
                .condition("Drifted")
                .filter(|drifted| drifted.status == "True")
                .map(|drifted| drifted.message.clone().unwrap_or_default()),
            drifted_at: workspace.drifted_at(),
            made_nothing: workspace.made_nothing(),
        }),
        run: workspace.zip(told).map(|(workspace, told)| run(workspace, told)),
    }
}

/// What our runner tells about a Workspace.
fn run(workspace: &WorkspaceSeen, told: &ReportView) -> RunGlance {
    let report = &told.report;
    let operation = report.operation.as_ref();
    let plan = report.plan.as_ref();
    RunGlance {
        is_running: operation.is_some_and(|operation| operation.ended_at.is_none()),
        is_applying: operation
            .is_some_and(|operation| operation.ended_at.is_none() && operation.kind == "apply"),
        started_at: operation.and_then(|operation| operation.started_at),
        worked_since: operation
            .filter(|operation| operation.outcome.as_deref() == Some("succeeded") && operation.kind != "plan")
            .and_then(|operation| operation.started_at),
        retry_answered: report
            .refused_retry
            .clone()
            .or_else(|| report.answered.get(marks::RETRY_REQUESTED).cloned()),
        replaces: operation.zip(plan).is_some_and(|(operation, plan)| {
            let is_of_it = plan.planned_at >= operation.started_at && operation.kind == "apply";
            let has_ended_well = operation.outcome.as_deref() == Some("succeeded");
            plan.destructive && !plan.awaits_approval && is_of_it && !has_ended_well
        }),
        is_in_doubt: !report.missing.is_empty() || report.cut_short.is_some(),
        mended: report.answered.get(marks::MEND).cloned(),
        plan: operation
            .zip(plan)
            .filter(|(operation, plan)| {
                let is_running = operation.ended_at.is_none() && operation.kind == "apply";
                let is_of_it = plan.planned_at >= operation.started_at;
                is_running && is_of_it && plan.generation == workspace.generation
            })
            .map(|(_, plan)| PlanGlance {
                id: plan.id.clone(),
                summary: plan.summary.clone(),
            }),
        setback: operation.and_then(setback),
        failed_end: operation
            .filter(|operation| {
                let has_failed = operation.outcome.as_deref() == Some("failed") && !operation.transient;
                has_failed && operation.kind == "destroy"
            })
            .map(|operation| operation.message.clone().unwrap_or_default()),
    }
}

/// A failure that passes by itself, if the last operation ended with one.
fn setback(operation: &Operation) -> Option<Setback> {
    let has_failed = operation.outcome.as_deref() == Some("failed") && operation.transient;
    Some(Setback {
        at: operation.ended_at.filter(|_| has_failed)?,
        count: operation.failures,
        message: operation.message.clone().unwrap_or_default(),
        is_of_end: operation.kind == "destroy",
    })
}

/// What went wrong with Terraform, as far as a WorkspaceTemplateApply repeats it.
fn trouble(apply: &WorkspaceTemplateApply) -> Option<Trouble> {
    let conditions = apply.status.as_ref()?.conditions.as_deref()?;
    let synced = find_condition(conditions, "Synced")
        .filter(|synced| synced.status == "False" && synced.reason == "ReconcileError")?;
    // Who goes on after a failure or a pause takes back what was said, and is not synced before it is done.
    let message = diagnostics::readable(&synced.message);
    if message.trim().is_empty() {
        return None;
    }
    let class = if diagnostics::classify_text(&message).is_transient() {
        TroubleClass::Transient
    } else {
        TroubleClass::Terminal
    };
    Some(Trouble {
        class,
        message: message.into_owned(),
    })
}
