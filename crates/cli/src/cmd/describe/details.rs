//! What is particular to a kind.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    captcontrolplane::OperationRecord,
    foreign::{Cluster, workspace::WorkspaceCondition},
    marks,
    run::RunReport,
    workspacestatus::WorkspaceTemplateStatus,
    workspacetemplateapply::WorkspaceProgress,
};
use capt_core::graph::{Health, WorkspaceSeen};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;

use super::{
    description::{ConditionLine, Description, Fact, OperationLine},
    profiles,
};
use crate::look::view::{Object, View, words};

/// Conditions that are about something out of the ordinary, and say nothing when it is not so.
const OUT_OF_THE_ORDINARY: [&str; 14] = [
    "ApprovalNeeded",
    "Creating",
    "Deleting",
    "Drifted",
    "Failed",
    "Failing",
    "FargateProfileCreating",
    "FargateProfileFailed",
    "Paused",
    "RollingOut",
    "VPCCreating",
    "VPCFailed",
    "Waiting",
    "WaitingForCluster",
];
/// Reasons of conditions that are about nothing.
const ABOUT_NOTHING: [&str; 2] = ["NoWorkers", "NoFargateProfiles"];
/// Operations that are told.
const MANY_OPERATIONS: usize = 8;

/// Whether a condition says something.
fn tells(type_: &str, status: &str, reason: &str) -> bool {
    let is_ordinary = OUT_OF_THE_ORDINARY.contains(&type_) && status == "False";
    !is_ordinary && !ABOUT_NOTHING.contains(&reason)
}

/// Whether something is tried that did not fail before, so that what failed before was something else.
fn is_first_try(progress: Option<&WorkspaceProgress>) -> bool {
    progress.is_some_and(|progress| progress.attempt == Some(1))
}

/// Whether a condition is about an error. A pause is none, although nothing is synced then.
fn is_error(type_: &str, status: &str, reason: &str) -> bool {
    type_ == "Synced" && status == "False" && reason != "ReconcilePaused"
}

/// Adds what is particular to the kind of the object.
pub(super) fn fill(description: &mut Description, view: &View<'_>, id: &str) {
    match view.object(id) {
        Some(Object::Cluster(one)) => cluster(description, one),
        Some(Object::CaptCluster(one)) => network(description, one),
        Some(Object::ControlPlane(one)) => control_plane(description, view, one),
        Some(Object::Apply(one)) => apply(description, one),
        Some(Object::Workspace(one)) => workspace(description, one, view.report(id)),
        None => {}
    }
}

impl Description {
    fn fact(&mut self, name: &'static str, value: Option<impl Into<String>>) {
        if let Some(value) = value.map(Into::into).filter(|value: &String| !value.is_empty()) {
            self.facts.push(Fact { name, value });
        }
    }

    fn conditions(&mut self, conditions: Option<&Vec<Condition>>) {
        let telling = conditions
            .into_iter()
            .flatten()
            .filter(|one| tells(&one.type_, &one.status, &one.reason));
        self.conditions = telling
            .map(|one| ConditionLine {
                type_: one.type_.clone(),
                status: one.status.clone(),
                reason: one.reason.clone(),
                since: one.last_transition_time.0,
                message: one.message.clone(),
            })
            .collect();
    }
}

fn cluster(description: &mut Description, cluster: &Cluster) {
    let status = cluster.status.as_ref();
    description.fact("Phase", status.and_then(|status| status.phase.clone()));
    let endpoint = cluster.spec.control_plane_endpoint.as_ref().and_then(|endpoint| {
        let host = endpoint.host.as_ref().filter(|host| !host.is_empty())?;
        Some(match endpoint.port {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        })
    });
    description.fact("Endpoint", endpoint);
    description.conditions(status.and_then(|status| status.conditions.as_ref()));
}

fn network(description: &mut Description, captcluster: &CAPTCluster) {
    let status = captcluster.status.clone().unwrap_or_default();
    description.fact("Region", Some(captcluster.spec.region.to_string()));
    description.fact("VPC", status.vpc_id);
    description.fact("Endpoint", status.endpoint);
    let zones = status.failure_domains.unwrap_or_default();
    let zones: Vec<String> = zones.into_iter().map(|zone| zone.name).collect();
    description.fact("Zones", Some(zones.join(", ")));
    description.last_error = status
        .failure_message
        .or_else(|| last_failure(status.workspace_template_status));
    description.conditions(status.conditions.as_ref());
}

fn control_plane(description: &mut Description, view: &View<'_>, control_plane: &CAPTControlPlane) {
    let spec = &control_plane.spec;
    let status = control_plane.status.clone().unwrap_or_default();
    let wanted = spec.version.to_string();
    description.fact(
        "Version",
        Some(match status.version {
            Some(runs) if runs != wanted => format!("{wanted} is wanted, {runs} runs"),
            Some(_) => wanted,
            None => format!("{wanted} is wanted"),
        }),
    );
    description.fact("Endpoint", status.endpoint);
    // Who has nothing to do, or cannot do it, keeps the turn until somebody else needs it.
    let turn = control_plane.annotations().get(marks::TURN).filter(|holder| {
        let id = format!("WorkspaceTemplateApply/{holder}");
        let node = view.graph.node(&id);
        node.is_some_and(|node| {
            node.health == Health::Busy && !["Paused", "Waiting"].contains(&node.status.as_str())
        }) && !profiles::awaits_approval(view, holder)
    });
    description.fact(
        "Turn",
        turn.map(|holder| format!("wtapply/{holder} may operate now")),
    );
    let progress = status.progress.unwrap_or_default();
    let left = progress.estimated_time_remaining.as_ref();
    description.fact(
        "Operation",
        progress.current_operation.as_ref().map(|operation| match left {
            Some(left) => format!("{operation}, about {left} left"),
            None => operation.clone(),
        }),
    );
    description.fact(
        "Profiles",
        status
            .fargate_profiles_ready
            .map(|ready| format!("{ready} ready")),
    );
    description.profiles = profiles::of(view, control_plane);
    if let Some(health) = status.health {
        description.fact("Health", health.status.map(|status| format!("{status:?}")));
    }
    let history = progress.history.unwrap_or_default();
    let first = history.len().saturating_sub(MANY_OPERATIONS);
    description.operations = history.iter().skip(first).map(operation).collect();
    description.last_error = status
        .failure_message
        .or_else(|| last_failure(status.workspace_template_status));
    description.conditions(status.conditions.as_ref());
}

/// What last went wrong with Terraform, unless it is over.
fn last_failure(status: Option<WorkspaceTemplateStatus>) -> Option<String> {
    status.filter(|status| !status.ready)?.last_failure_message
}

fn operation(record: &OperationRecord) -> OperationLine {
    OperationLine {
        operation: record.operation.clone(),
        started_at: Some(record.start_time.0),
        ended_at: record.end_time.as_ref().map(|time| time.0),
        result: match record.result {
            Some(result) => format!("{result:?}"),
            None => "Running".to_owned(),
        },
        message: record.message.clone().unwrap_or_default(),
    }
}

fn apply(description: &mut Description, apply: &WorkspaceTemplateApply) {
    let status = apply.status.clone().unwrap_or_default();
    let reference = &apply.spec.template_ref;
    let template = match &reference.namespace {
        Some(namespace) => format!("{namespace}/{}", reference.name),
        None => reference.name.clone(),
    };
    description.fact("Template", Some(template));
    let owner = apply.labels().get(marks::OWNER);
    description.fact(
        "Owner",
        owner.map(|owner| owner.replacen('.', "/", 1).to_lowercase()),
    );
    description.fact("Workspace", status.workspace_name);
    description.fact("Progress", status.progress.as_ref().map(words));
    description.fact("Applied", status.last_applied_revision);
    description.fact("Pending", status.pending_revision);
    if description.message.is_empty() {
        description.message = status.message.unwrap_or_default();
    }
    let conditions = status.conditions.as_ref();
    let failed = conditions
        .into_iter()
        .flatten()
        .find(|one| is_error(&one.type_, &one.status, &one.reason));
    description.last_error = failed
        .filter(|_| !is_first_try(status.progress.as_ref()))
        .map(|one| one.message.clone())
        .filter(|message| !message.is_empty());
    description.conditions(conditions);
}

fn workspace(description: &mut Description, workspace: &WorkspaceSeen, report: Option<&RunReport>) {
    description.fact("Group", Some(workspace.group.name()));
    let of = workspace.labels.get(marks::WTA_NAME);
    description.fact("Made for", of.map(|name| format!("wtapply/{name}")));
    if let Some(report) = report {
        description.fact("Engine", Some(report.engine.as_str()));
        description.fact("Progress", report.progress.as_ref().map(words));
        let plan = report.plan.as_ref().filter(|plan| plan.awaits_approval);
        description.fact(
            "Plan",
            plan.map(|plan| format!("{} waits for an approval: {}", plan.id, plan.summary)),
        );
        if let Some(one) = &report.operation {
            description.operations.push(OperationLine {
                operation: one.kind.clone(),
                started_at: one.started_at,
                ended_at: one.ended_at,
                result: one.outcome.clone().unwrap_or_else(|| "running".to_owned()),
                message: one.message.clone().unwrap_or_default(),
            });
        }
    }
    let telling = workspace
        .conditions
        .iter()
        .filter(|one| tells(&one.type_, &one.status, &one.reason));
    description.conditions = telling.map(line).collect();
    let failed = workspace
        .conditions
        .iter()
        .find(|one| is_error(&one.type_, &one.status, &one.reason))
        .and_then(|one| one.message.clone());
    let progress = report.and_then(|report| report.progress.as_ref());
    description.last_error = failed.filter(|message| !message.is_empty() && !is_first_try(progress));
}

fn line(condition: &WorkspaceCondition) -> ConditionLine {
    ConditionLine {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        since: condition.last_transition_time.0,
        message: condition.message.clone().unwrap_or_default(),
    }
}
