//! What is read out of Workspaces that a real provider-terraform wrote (`tests/provider-terraform`).

use capt_api::foreign::workspace::WorkspaceStatus;
use serde_json::{Value, json};

use super::super::{
    foreign,
    policy::{self, Allowed},
    snapshot::{Usage, WorkspaceSeen},
};
use super::*;
use crate::render::WorkspaceGroup;

macro_rules! captured {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../tests/provider-terraform/", $name, ".json")))),*]
    };
}

/// Every Workspace that was captured, by what had happened to it.
const CAPTURED: &[(&str, &str)] = captured![
    "cluster-available",
    "cluster-pause-overwritten",
    "cluster-paused",
    "cluster-policies-off",
    "cluster-wedged",
    "namespaced-apply-failed",
    "namespaced-available",
    "namespaced-creating",
    "namespaced-locked",
    "namespaced-made-again",
    "namespaced-pause-overwritten",
    "namespaced-paused",
    "namespaced-paused-while-creating",
    "namespaced-plan-failed",
    "namespaced-policies-off",
    "namespaced-policies-off-pause-ignored",
    "namespaced-updated",
    "namespaced-wedged",
];

fn captured(name: &str) -> WorkspaceSeen {
    let (_, text) = CAPTURED
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a captured Workspace");
    let object: Value = serde_json::from_str(text).expect("JSON");
    let metadata: ObjectMeta = serde_json::from_value(object["metadata"].clone()).expect("metadata");
    let status: Option<WorkspaceStatus> = serde_json::from_value(object["status"].clone()).expect("a status");
    let group = object["apiVersion"]
        .as_str()
        .and_then(|version| version.split('/').next());
    WorkspaceSeen {
        group: group.and_then(WorkspaceGroup::from_name),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        created_at: metadata.creation_timestamp.map(|time| time.0),
        deleting: false,
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        finalizers: metadata.finalizers.unwrap_or_default(),
        spec: object["spec"].clone(),
        status: status.unwrap_or_default(),
        used_by_provider: Usage::Yes,
    }
}

/// The names of those captured Workspaces that something is true of.
fn those(is_so: impl Fn(&WorkspaceSeen) -> bool) -> Vec<&'static str> {
    CAPTURED
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| is_so(&captured(name)))
        .collect()
}

#[test]
fn a_wedge_is_told_from_everything_else() {
    assert_eq!(those(foreign::is_wedged), ["cluster-wedged", "namespaced-wedged"]);
}

#[test]
fn a_creation_that_runs_is_told_from_everything_else() {
    assert_eq!(
        those(foreign::is_creating),
        ["namespaced-creating", "namespaced-paused-while-creating"]
    );
}

#[test]
fn policies_that_are_switched_off_are_told_from_everything_else() {
    assert_eq!(
        those(foreign::has_policies_off),
        [
            "cluster-policies-off",
            "namespaced-policies-off",
            "namespaced-policies-off-pause-ignored"
        ]
    );
}

#[test]
fn what_is_settled_is_told_from_everything_else() {
    assert_eq!(
        those(WorkspaceSeen::is_settled),
        [
            "cluster-available",
            "cluster-pause-overwritten",
            "namespaced-available",
            "namespaced-made-again",
            "namespaced-pause-overwritten",
            "namespaced-policies-off-pause-ignored",
            "namespaced-updated"
        ]
    );
}

#[test]
fn rest_is_told_from_everything_else() {
    let rests = |workspace: &WorkspaceSeen| {
        let synced = workspace.condition("Synced");
        policy::is_nothing(&workspace.spec)
            && synced.is_some_and(|synced| synced.reason == "ReconcilePaused" && workspace.is_current(synced))
    };
    assert_eq!(those(rests), ["cluster-paused", "namespaced-paused"]);
}

#[test]
fn a_creation_turns_a_pause_into_the_grant() {
    for name in ["cluster-pause-overwritten", "namespaced-pause-overwritten"] {
        assert!(policy::grants_destruction(&captured(name).spec), "{name}");
    }
}

/// One whose Workspace provider-terraform works on in the way that was captured.
fn world_with(name: &str) -> World {
    let mut snapshot = fresh();
    snapshot.runner = Runner::Foreign;
    snapshot.provider_config = Some(super::super::snapshot::ProviderConfigSeen {
        backend: Some("backend".to_owned()),
        ..super::super::snapshot::ProviderConfigSeen::default()
    });
    let mut world = World::new(snapshot);
    world.settle();
    let captured = captured(name);
    let workspace = world.workspace_mut();
    workspace.generation = captured.generation;
    workspace.finalizers = captured.finalizers;
    workspace.status = captured.status;
    for (mark, value) in captured.annotations {
        workspace.annotations.entry(mark).or_insert(value);
    }
    workspace.spec["managementPolicies"] = captured.spec["managementPolicies"].clone();
    world
}

#[test]
fn a_pause_waits_until_a_creation_has_ended() {
    let mut world = world_with("namespaced-creating");
    annotate(&mut world.snapshot, foreign_marks::PAUSED, "true");
    let decision = world.calm();
    assert_eq!(reason(&world.snapshot, &decision, "Paused"), "True/Pausing");
    assert_eq!(
        world.workspace().spec["managementPolicies"],
        Allowed::Life(None).policies()
    );

    let pending = world.workspace().annotations[foreign_marks::EXTERNAL_CREATE_PENDING].clone();
    let annotations = &mut world.workspace_mut().annotations;
    annotations.insert(foreign_marks::EXTERNAL_CREATE_SUCCEEDED.to_owned(), pending);
    world.calm();
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
}

#[test]
fn a_grant_that_nobody_gave_is_taken_back() {
    let mut world = world_with("namespaced-pause-overwritten");
    annotate(&mut world.snapshot, foreign_marks::PAUSED, "true");
    world.calm();
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
}

#[test]
fn a_pause_that_is_ignored_is_said_to_be() {
    let mut world = world_with("namespaced-policies-off-pause-ignored");
    annotate(&mut world.snapshot, foreign_marks::PAUSED, "true");
    world.calm();
    let status = world.snapshot.wta.status.as_ref().expect("a status");
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let paused = find_condition(conditions, "Paused").expect("a condition");
    assert_eq!(paused.reason, "Pausing");
    assert!(
        paused.message.contains("--enable-management-policies"),
        "{}",
        paused.message
    );
}

#[test]
fn what_is_made_again_has_the_runners_finalizer_from_the_start() {
    let mut world = world_with("namespaced-available");
    world.delete_workspace();
    world.run();
    world.calm();
    let hold = foreign_marks::CROSSPLANE_FINALIZER.to_owned();
    assert_eq!(world.workspace().finalizers, [hold]);
}
