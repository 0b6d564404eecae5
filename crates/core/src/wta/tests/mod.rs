//! Each rule in a test that is named after it and fails without it, and what must hold for all of them together.

mod creation;
mod destruction;
mod ending_troubled;
mod foreign_runner;
mod keeping;
mod moving;
mod ownership;
mod pausing;
mod properties;
mod real_provider;
mod rendering;
mod reporting;
mod retention;
mod taking_over;
mod tenancy;
mod world;

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{
    WorkspaceTemplateApply,
    conditions::find_condition,
    foreign::{marks as foreign_marks, workspace::WorkspaceCondition},
    marks,
    references::WorkspaceTemplateReference,
    workspacetemplateapply::{WorkspaceTemplateApplySpec, WorkspaceTemplateApplyStatus},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use super::snapshot::{
    ClusterSeen, OwnerSeen, Runner, Served, Serving, Snapshot, TemplateSeen, WaitGraph, WorkspaceSeen,
};
use super::{Rendered, decide};
use crate::{
    decision::{Decision, Desired},
    render::Template,
};

use world::World;

type Decided = Decision<WorkspaceTemplateApplyStatus>;

/// A template as it is seen.
fn read(spec: Value) -> Option<Arc<Template>> {
    let spec = serde_json::from_value(spec).ok()?;
    Some(Arc::new(Template::read(spec)))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a valid time")
}

fn rendered(hash: &str) -> Rendered {
    Rendered {
        spec: json!({
            "forProvider": {"source": "Inline", "module": format!("output \"x\" {{ value = \"{hash}\" }}")},
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
        }),
        hash: hash.to_owned(),
        guarded_hash: format!("guarded {hash}"),
        revision: "t1".to_owned(),
        ..Rendered::default()
    }
}

/// A WorkspaceTemplateApply that was just made, without an owner, with our runner.
fn fresh() -> Snapshot {
    let mut wta = WorkspaceTemplateApply::new(
        "blue-apply",
        WorkspaceTemplateApplySpec {
            template_ref: WorkspaceTemplateReference {
                name: "vpc".to_owned(),
                namespace: None,
            },
            variables: None,
            template_revision: None,
            write_connection_secret_to_ref: None,
            wait_for_secrets: None,
            wait_for_workspaces: None,
            retain_workspace_on_delete: None,
        },
    );
    wta.metadata = ObjectMeta {
        name: Some("blue-apply".to_owned()),
        namespace: Some("team".to_owned()),
        uid: Some("wta-1".to_owned()),
        generation: Some(1),
        ..ObjectMeta::default()
    };
    Snapshot {
        wta,
        namespace_terminating: false,
        crd_obstacle: None,
        cluster: None,
        owner: None,
        template: Some(TemplateSeen {
            namespace: "team".to_owned(),
            revision: "t1".to_owned(),
            ..TemplateSeen::default()
        }),
        rendering: Ok(rendered("r1")),
        unknown_variables: Vec::new(),
        kept: None,
        workspaces: Vec::new(),
        served: Served {
            namespaced: Serving::Yes,
            ..Served::default()
        },
        awaited_secrets: Vec::new(),
        awaited_workspaces: Vec::new(),
        waits: WaitGraph::default(),
        missing_inputs: Vec::new(),
        runner: Runner::Ours { label: None },
        provider_config: None,
        state_secrets: Vec::new(),
        pending_plan: None,
        used_approval: None,
        progress: None,
    }
}

/// One whose Workspace is there and ready.
fn living() -> World {
    let mut world = World::new(fresh());
    world.settle();
    assert!(world.workspace().is_settled());
    world
}

/// One whose Workspace is there and ready, and that belongs to a control plane.
fn owned() -> World {
    let mut snapshot = fresh();
    own(&mut snapshot);
    let mut world = World::new(snapshot);
    world.settle();
    world
}

fn own(snapshot: &mut Snapshot) {
    snapshot.wta.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "controlplane.cluster.x-k8s.io/v1beta1".to_owned(),
        kind: "CAPTControlPlane".to_owned(),
        name: "blue".to_owned(),
        uid: "owner-1".to_owned(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    snapshot.owner = Some(OwnerSeen::default());
}

fn annotate(snapshot: &mut Snapshot, name: &str, value: &str) {
    snapshot
        .wta
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(name.to_owned(), value.to_owned());
}

fn delete(snapshot: &mut Snapshot) {
    snapshot.wta.metadata.deletion_timestamp = Some(Time(at(0)));
}

fn condition(type_: &str, status: &str, reason: &str, generation: i64) -> WorkspaceCondition {
    WorkspaceCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: None,
        last_transition_time: Time(at(0)),
        observed_generation: Some(generation),
    }
}

/// The Workspace that a decision writes.
fn written(decision: &Decided) -> Option<&Desired> {
    decision
        .children
        .iter()
        .find(|child| child.target.kind == "Workspace")
}

fn policies(fields: &Value) -> &Value {
    &fields["spec"]["managementPolicies"]
}

/// The reason of a condition, in the status that a decision leaves.
fn reason(snapshot: &Snapshot, decision: &Decided, type_: &str) -> String {
    let status = decision.own.status.as_ref().or(snapshot.wta.status.as_ref());
    let conditions = status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    find_condition(conditions, type_).map_or_else(String::new, |condition| {
        format!("{}/{}", condition.status, condition.reason)
    })
}

fn message(decision: &Decided) -> String {
    let status = decision.own.status.as_ref();
    status
        .and_then(|status| status.message.clone())
        .unwrap_or_default()
}

/// A Workspace that somebody else made.
fn somebody_elses(name: &str) -> WorkspaceSeen {
    WorkspaceSeen {
        group: Some(crate::render::WorkspaceGroup::Namespaced),
        name: name.to_owned(),
        uid: "other".to_owned(),
        resource_version: "1".to_owned(),
        generation: 1,
        labels: BTreeMap::from([
            (marks::WTA_NAMESPACE.to_owned(), "team".to_owned()),
            (marks::WTA_NAME.to_owned(), "other-apply".to_owned()),
        ]),
        annotations: BTreeMap::from([(foreign_marks::EXTERNAL_NAME.to_owned(), "other".to_owned())]),
        spec: json!({"forProvider": {"source": "Inline", "module": "x"}, "managementPolicies": ["*"]}),
        ..WorkspaceSeen::default()
    }
}

fn pause(snapshot: &mut Snapshot) {
    snapshot.cluster = Some(ClusterSeen { paused: true });
}

fn is_move_blocked(snapshot: &Snapshot) -> bool {
    let annotations = snapshot.wta.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(foreign_marks::BLOCK_MOVE))
}
