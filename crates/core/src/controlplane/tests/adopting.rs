//! What the Go implementation left behind.

use std::collections::BTreeMap;

use capt_api::{
    WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState as State,
    endpoint::ApiEndpoint,
    marks,
    references::{SecretReference, WorkspaceTemplateReference},
    workspacetemplateapply::{WorkspaceTemplateApplySpec, WorkspaceTemplateApplyStatus},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use super::{World, at, fresh, said, world::say};
use crate::owned::OwnedSeen;

/// A WorkspaceTemplateApply as the Go implementation leaves it.
pub(super) fn old_apply(name: &str, is_owned: bool) -> OwnedSeen {
    let mut wta = WorkspaceTemplateApply::new(
        name,
        WorkspaceTemplateApplySpec {
            template_ref: WorkspaceTemplateReference {
                name: "eks".to_owned(),
                namespace: Some("team".to_owned()),
            },
            variables: Some(BTreeMap::from([
                ("cluster_name".to_owned(), "blue".to_owned()),
                ("kubernetes_version".to_owned(), "1.31".to_owned()),
                ("region".to_owned(), "eu-central-1".to_owned()),
            ])),
            template_revision: None,
            write_connection_secret_to_ref: Some(SecretReference {
                name: "blue-eks-connection".to_owned(),
                namespace: Some("team".to_owned()),
            }),
            wait_for_secrets: None,
            wait_for_workspaces: None,
            retain_workspace_on_delete: None,
        },
    );
    wta.metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("team".to_owned()),
        uid: Some(format!("old {name}")),
        resource_version: Some("1".to_owned()),
        generation: Some(3),
        finalizers: Some(vec![marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER.to_owned()]),
        owner_references: is_owned.then(|| {
            vec![OwnerReference {
                api_version: "controlplane.cluster.x-k8s.io/v1beta1".to_owned(),
                kind: "CAPTControlPlane".to_owned(),
                name: "blue".to_owned(),
                uid: "cp-1".to_owned(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]
        }),
        ..ObjectMeta::default()
    };
    wta.status = Some(WorkspaceTemplateApplyStatus {
        workspace_name: Some(name.trim_end_matches("-apply").to_owned()),
        applied: true,
        ..WorkspaceTemplateApplyStatus::default()
    });
    let mut seen = OwnedSeen {
        wta,
        trouble: None,
        workspace: None,
        run: None,
    };
    say(&mut seen, "Synced", true, "ReconcileSuccess", at(0));
    say(&mut seen, "Ready", true, "Available", at(0));
    seen
}

/// A cluster as the Go implementation leaves it.
pub(super) fn old(name: &str, is_owned: bool) -> World {
    let mut world = World::new(fresh());
    world.snapshot.applies.push(old_apply(name, is_owned));
    let control_plane = &mut world.snapshot.control_plane;
    control_plane.metadata.finalizers = Some(vec![marks::CAPTCONTROLPLANE_FINALIZER.to_owned()]);
    control_plane.spec.control_plane_endpoint = Some(ApiEndpoint {
        host: "https://abc.example.org".to_owned(),
        port: 443,
    });
    control_plane.status = serde_json::from_value(json!({
        "ready": true, "initialized": true, "phase": "Ready", "secretsReady": true,
    }))
    .ok();
    world
        .outputs
        .insert("cluster_endpoint".to_owned(), json!("https://abc.example.org"));
    world
}

#[test]
fn every_naming_scheme_is_found_referred_to_and_kept() {
    for (name, is_owned) in [
        ("blue-eks-controlplane-apply", true),
        ("blue-eks-controlplane-apply", false),
        ("blue-apply", true),
        ("blue-apply", false),
        ("demo-eks-controlplane-apply", true),
        ("demo-eks-controlplane-apply", false),
    ] {
        let mut world = old(name, is_owned);
        let first = world.step();
        let status = first.own.status.as_ref().expect("a status");
        assert!(
            status.ready && status.initialized,
            "{name}: it serves all the while"
        );
        assert_eq!(
            world
                .snapshot
                .control_plane
                .spec
                .workspace_template_apply_name
                .as_deref(),
            Some(name)
        );
        world.settle();
        assert_eq!(world.snapshot.applies.len(), 1, "{name}: nothing is made again");
        assert_eq!(world.apply().name(), name);
        assert_eq!(world.apply().label(marks::OWNER), Some("CAPTControlPlane.blue"));
        assert_eq!(world.apply().wta.spec.template_ref.name, "eks");
        assert_eq!(world.status().state, Some(State::Ready), "{name}");
        assert_eq!(world.status().endpoint.as_deref(), Some("abc.example.org:443"));
        assert!(
            !world.events.iter().any(|event| event.contains("EndpointChanged")),
            "{name}: it is the same, written otherwise"
        );
        let endpoint = world.snapshot.control_plane.spec.control_plane_endpoint.clone();
        assert_eq!(
            endpoint.map(|endpoint| endpoint.host).as_deref(),
            Some("abc.example.org")
        );
    }
}

#[test]
fn somebody_elses_object_of_such_a_name_is_not_taken() {
    let mut world = World::new(fresh());
    let mut vpc = old_apply("blue-apply", false);
    let variables = vpc.wta.spec.variables.as_mut().expect("variables");
    variables.remove("kubernetes_version");
    world.snapshot.applies.push(vpc.clone());
    world.calm();
    assert_eq!(world.snapshot.applies.len(), 2);
    assert_eq!(world.snapshot.applies[0], vpc, "it is not what it seems");
    let mut standalone = World::new(fresh());
    let mut other = old_apply("demo-eks-controlplane-apply", false);
    let variables = other.wta.spec.variables.as_mut().expect("variables");
    variables.insert("cluster_name".to_owned(), "green".to_owned());
    standalone.snapshot.applies.push(other);
    standalone.calm();
    assert_eq!(standalone.snapshot.applies.len(), 2, "it is another cluster's");
}

#[test]
fn a_name_in_the_spec_takes_over_what_is_nobodys_and_nothing_else() {
    let mut world = World::new(fresh());
    world.snapshot.applies.push(old_apply("mine", false));
    world.snapshot.control_plane.spec.workspace_template_apply_name = Some("mine".to_owned());
    world.snapshot.rivals = vec!["green".to_owned()];
    world.settle();
    assert_eq!(
        said(&world.status(), "Ready"),
        "False/WorkspaceNotOurs",
        "two claim it"
    );
    assert_eq!(world.apply().label(marks::OWNER), None);
    world.snapshot.rivals.clear();
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    let mut theirs = old_apply("theirs", true);
    let owners = theirs.wta.metadata.owner_references.as_mut().expect("owners");
    owners[0].name = "green".to_owned();
    let mut world = World::new(fresh());
    world.snapshot.applies.push(theirs.clone());
    world.snapshot.control_plane.spec.workspace_template_apply_name = Some("theirs".to_owned());
    world.calm();
    assert_eq!(said(&world.status(), "Failed"), "True/WorkspaceNotOurs");
    assert_eq!(world.apply(), &theirs);
}

#[test]
fn a_first_change_that_waits_for_a_person_does_not_stop_what_serves() {
    let mut world = old("blue-eks-controlplane-apply", true);
    world.step();
    let seen = world.apply_mut();
    seen.wta.status.get_or_insert_default().observed_generation = seen.wta.metadata.generation;
    seen.wta.status.get_or_insert_default().applied = false;
    seen.wta.status.get_or_insert_default().outputs =
        Some([("cluster_endpoint".to_owned(), json!("https://abc.example.org"))].into());
    say(seen, "Applied", false, "AdoptedChange", at(0));
    say(seen, "ApprovalNeeded", true, "AdoptedChange", at(0));
    world.snapshot.connection = Some(super::SecretSeen {
        data: [(
            "kubeconfig".to_owned(),
            super::Hidden::new("clusters: []\nusers: []\n"),
        )]
        .into(),
        ..super::SecretSeen::default()
    });
    world.calm();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(said(&world.status(), "Ready"), "True/WaitingForApproval");
    assert!(world.status().ready);
    // The same after a move, when nothing says that it ever served.
    world.snapshot.control_plane.status = None;
    for _ in 0..3 {
        world.calm();
        world.pass(0);
        world.snapshot.probe =
            super::super::wants(&world.snapshot, at(0))
                .probe
                .map(|wish| super::super::snapshot::Probe {
                    endpoint: wish.endpoint,
                    seen_at: at(0),
                    silence: None,
                });
    }
    assert!(world.status().ready);
    assert_eq!(said(&world.status(), "Ready"), "True/WaitingForApproval");
}

#[test]
fn the_role_of_the_whole_account_stays_and_the_kubeconfig_goes_before_the_cluster() {
    let mut world = old("blue-eks-controlplane-apply", true);
    for name in [
        "blue-kubeconfig-apply",
        "blue-spot-role-check",
        "blue-spot-role-create",
    ] {
        world.snapshot.applies.push(old_apply(name, true));
    }
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(world.snapshot.applies.len(), 4, "nothing of it is touched before");
    world.delete();
    world.step();
    world.step();
    assert_eq!(
        world.status().fargate_profile_statuses,
        None,
        "none of it is a Fargate profile"
    );
    world.settle();
    assert!(world.is_gone);
    assert_eq!(
        world.destroyed,
        ["blue-kubeconfig-apply", "blue-eks-controlplane-apply"]
    );
    let told = world.events.iter().find(|event| event.contains("Fargate"));
    assert_eq!(told, None);
}

#[test]
fn what_exists_keeps_its_name_in_aws() {
    let mut world = old("blue-eks-controlplane-apply", true);
    let variables = world.apply_mut().wta.spec.variables.as_mut().expect("variables");
    variables.insert("cluster_name".to_owned(), "blue-in-aws".to_owned());
    world.settle();
    assert_eq!(world.variable("cluster_name"), Some("blue-in-aws"));
    assert_eq!(world.status().state, Some(State::Ready));
}

/// What a WorkspaceTemplateApply was told is lost when somebody deletes it, and its Workspace still has it.
#[test]
fn one_that_is_made_again_writes_to_the_secret_that_its_workspace_wrote() {
    for (left, expected) in [
        (None, "blue-eks-connection"),
        (Some("eks-connection"), "eks-connection"),
    ] {
        let mut world = World::new(fresh());
        world.snapshot.left_secret = left.map(str::to_owned);
        world.calm();
        let spec = &world.snapshot.applies[0].wta.spec;
        let told = spec.write_connection_secret_to_ref.as_ref();
        assert_eq!(told.map(|reference| reference.name.as_str()), Some(expected));
    }
}
