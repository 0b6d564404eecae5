//! WorkspaceTemplateApplies as their owners see them.

use capt_api::{WorkspaceTemplateApply, conditions::find_condition, marks};
use capt_core::{
    owned::{OwnedSeen, Peer, RunGlance, Trouble, TroubleClass, WorkspaceGlance},
    render::WorkspaceGroup,
    wta::{owner, snapshot::WorkspaceSeen},
};
use capt_terraform::diagnostics;
use std::sync::Arc;

use super::{
    Facts,
    indexes::{self, within},
    workspace_key,
};
use crate::engine::{key::ObjectKey, wakes::Reader};

impl Facts {
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

    /// All others with a recorded owner that use a template, in all namespaces.
    pub(crate) fn peers(&self, reader: &Reader, own: Option<&OwnedSeen>, template: &ObjectKey) -> Vec<Peer> {
        let uid = own.map(OwnedSeen::uid);
        let place = within(template.namespace(), &template.name);
        self.applies
            .find(reader, indexes::TEMPLATE, &place)
            .iter()
            .filter(|(_, apply)| owner::recorded(apply).is_some())
            .filter(|(_, apply)| apply.metadata.uid.as_deref() != uid)
            .map(|(key, apply)| Peer::of(&self.owned_seen(reader, key, apply)))
            .collect()
    }

    /// The Workspace that a WorkspaceTemplateApply names in its annotation, if it exists.
    pub(crate) fn workspace_of(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        apply: &WorkspaceTemplateApply,
    ) -> Option<Arc<WorkspaceSeen>> {
        let annotations = apply.metadata.annotations.as_ref()?;
        let (group, name) = annotations.get(marks::WORKSPACE)?.split_once('/')?;
        let group = WorkspaceGroup::from_name(group)?;
        let place = workspace_key(group, key.namespace(), name);
        self.workspaces_of(group)
            .glance(reader, indexes::OBSERVED, &place)
    }

    fn owned_seen(&self, reader: &Reader, key: &ObjectKey, apply: &WorkspaceTemplateApply) -> OwnedSeen {
        let workspace = self.workspace_of(reader, key, apply);
        let run = workspace
            .as_ref()
            .and_then(|workspace| self.run(reader, workspace));
        OwnedSeen {
            wta: apply.clone(),
            trouble: trouble(apply),
            workspace: workspace.map(|workspace| WorkspaceGlance {
                name: workspace.name.clone(),
                generation: workspace.generation,
                observed_generation: workspace.status.observed_generation,
                created_at: workspace.created_at,
            }),
            run,
        }
    }

    /// What our runner tells about a Workspace.
    fn run(&self, reader: &Reader, workspace: &WorkspaceSeen) -> Option<RunGlance> {
        let told = self.reports.members(reader, indexes::RUN_OF, &workspace.uid);
        let view = self.reports.glance(reader, indexes::RUN, told.first()?)?;
        let report = &view.report;
        let operation = report.operation.as_ref();
        let plan = report.plan.as_ref();
        Some(RunGlance {
            is_running: operation.is_some_and(|operation| operation.ended_at.is_none()),
            started_at: operation.and_then(|operation| operation.started_at),
            retry_answered: report.answered.get(marks::RETRY_REQUESTED).cloned(),
            plan: plan
                .filter(|plan| plan.generation == workspace.generation)
                .map(|plan| plan.summary.clone()),
        })
    }
}

/// What went wrong with Terraform, as far as a WorkspaceTemplateApply repeats it.
fn trouble(apply: &WorkspaceTemplateApply) -> Option<Trouble> {
    let conditions = apply.status.as_ref()?.conditions.as_deref()?;
    let synced = find_condition(conditions, "Synced")
        .filter(|synced| synced.status == "False" && synced.reason == "ReconcileError")?;
    let message = diagnostics::readable(&synced.message);
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
