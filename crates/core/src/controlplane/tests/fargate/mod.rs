//! Fargate profiles.

mod changing;
mod conditions;
mod ending;
mod identity;
mod retrying;
mod seeds;
mod turns;

use std::collections::BTreeMap;

use capt_api::{
    captcontrolplane::{
        AdditionalFargateProfile, ControlPlaneState as State, FargateProfilePhase as Phase,
        FargateProfileStatus,
    },
    marks,
};
use serde_json::json;

use super::{
    super::{fargate::ProfileSeen, snapshot::Hidden},
    World, at, fresh, message, said,
    world::{Terraform, say},
};
use crate::wta::snapshot::TemplateSeen;

fn profile(name: &str) -> AdditionalFargateProfile {
    serde_json::from_value(json!({
        "name": name,
        "selectors": [{"namespace": name}],
        "workspaceTemplateRef": {"name": "fargate-profile"},
    }))
    .expect("a profile")
}

/// A world with a control plane that asks for these profiles.
fn with(names: &[&str]) -> World {
    let mut world = World::new(fresh());
    for (key, value) in [
        ("cluster_name", "blue"),
        ("cluster_endpoint", "https://10.0.0.1:6443"),
        ("cluster_certificate_authority_data", "eA=="),
    ] {
        world.hidden_outputs.insert(key.to_owned(), value.to_owned());
    }
    want(&mut world, names);
    world
}

/// What a person does with `kubectl edit`.
fn want(world: &mut World, names: &[&str]) {
    world.edit(|spec| {
        spec.additional_fargate_profiles = Some(names.iter().copied().map(profile).collect());
    });
    let seen = ProfileSeen {
        template: Some(TemplateSeen {
            revision: "f1".to_owned(),
            ..TemplateSeen::default()
        }),
        peers: Vec::new(),
    };
    world.snapshot.profiles = names
        .iter()
        .map(|name| ((*name).to_owned(), seen.clone()))
        .collect();
}

fn of(world: &World, name: &str) -> Option<FargateProfileStatus> {
    let statuses = world.status().fargate_profile_statuses.unwrap_or_default();
    statuses.into_iter().find(|status| status.name == name)
}

fn phase(world: &World, name: &str) -> Option<Phase> {
    of(world, name)?.phase
}

fn turn(world: &World) -> Option<String> {
    let annotations = world.snapshot.control_plane.metadata.annotations.as_ref()?;
    annotations.get(marks::TURN).cloned()
}

fn variables(world: &World, apply: &str) -> BTreeMap<String, String> {
    let seen = world.snapshot.applies.iter().find(|seen| seen.name() == apply);
    seen.expect(apply).wta.spec.variables.clone().unwrap_or_default()
}

/// Lets Terraform make the EKS cluster, and nothing after that.
fn hang_when_the_cluster_is_up(world: &mut World) {
    while world.snapshot.applies.len() < 2 {
        world.calm();
        world.act();
        world.calm();
    }
    world.terraform = Terraform::Hangs;
    world.settle();
}

#[test]
fn nothing_is_made_or_listed_before_the_cluster_is_up() {
    let mut world = with(&["monitoring"]);
    world.terraform = Terraform::Hangs;
    world.settle();
    let status = world.status();
    assert_eq!(status.fargate_profile_statuses, Some(Vec::new()));
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("0/1"));
    assert_eq!(world.snapshot.applies.len(), 1, "only that of the EKS cluster");
    assert!(message(&status, "FargateProfileCreating").contains("Waiting for the EKS cluster"));
}

#[test]
fn profiles_become_ready_after_the_cluster_and_only_then_is_it_ready_as_a_whole() {
    let mut world = with(&["monitoring", "jobs"]);
    world.settle();
    let status = world.status();
    assert_eq!(status.state, Some(State::Ready), "{status:#?}");
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("2/2"));
    assert_eq!(said(&status, "FargateProfileReady"), "True/FargateProfileReady");
    assert_eq!(
        said(&status, "FargateProfileCreating"),
        "False/FargateProfileReady"
    );
    assert_eq!(said(&status, "FargateProfileFailed"), "False/FargateProfileReady");
    let one = of(&world, "monitoring").expect("it is listed");
    assert!(one.ready && one.observed_selectors_hash.is_some());
    assert_eq!(
        one.workspace_template_apply_name.as_deref(),
        Some("blue-monitoring-fargate-apply")
    );
    assert!(world.step().is_quiet(), "nothing is left to do");
    let way: Vec<&String> = world.events.iter().filter(|event| event.contains("->")).collect();
    let configuring = way.iter().position(|event| event.contains("-> Configuring"));
    let ready = way
        .iter()
        .position(|event| event.contains("Configuring -> Ready"));
    assert!(configuring.is_some() && configuring < ready, "{way:#?}");
}

#[test]
fn a_control_plane_is_ready_and_initialized_while_its_profiles_are_outstanding() {
    let mut world = with(&["monitoring"]);
    hang_when_the_cluster_is_up(&mut world);
    let status = world.status();
    assert!(status.ready && status.initialized);
    assert_eq!(status.state, Some(State::Configuring));
    assert_eq!(phase(&world, "monitoring"), Some(Phase::Creating));
}

#[test]
fn the_module_is_told_everything_that_it_needs() {
    let mut world = with(&["jobs"]);
    world.edit(|spec| {
        spec.additional_tags = Some(BTreeMap::from([
            ("team".to_owned(), "a".to_owned()),
            ("cost".to_owned(), "1".to_owned()),
        ]));
        let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
        profile.tags = Some(BTreeMap::from([("team".to_owned(), "b".to_owned())]));
        profile.pod_execution_role_arn = Some("arn:aws:iam::123456789012:role/x".to_owned());
    });
    world.settle();
    let told = variables(&world, "blue-jobs-fargate-apply");
    let expected = BTreeMap::from(
        [
            ("cluster_name", "blue"),
            ("profile_name", "jobs"),
            ("selectors", r#"[{"namespace":"jobs"}]"#),
            ("private_subnets", r#"["subnet-a"]"#),
            ("region", "eu-central-1"),
            ("pod_execution_role_arn", "arn:aws:iam::123456789012:role/x"),
            ("tags", r#"{"cost":"1","team":"b"}"#),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    assert_eq!(told, expected);
    let seen = world
        .snapshot
        .applies
        .iter()
        .find(|seen| seen.name() == "blue-jobs-fargate-apply");
    let waits = seen
        .and_then(|seen| seen.wta.spec.wait_for_secrets.clone())
        .unwrap_or_default();
    let waits: Vec<String> = waits.into_iter().map(|reference| reference.name).collect();
    assert_eq!(waits, ["blue-eks-connection", "blue-vpc-connection"]);
    world.edit(|spec| {
        let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
        profile.subnet_ids = Some(vec!["subnet-z".to_owned()]);
    });
    world.settle();
    assert_eq!(
        variables(&world, "blue-jobs-fargate-apply")["private_subnets"],
        r#"["subnet-z"]"#
    );
}

#[test]
fn what_is_missing_is_named_by_secret_and_key() {
    for key in [
        "cluster_name",
        "cluster_endpoint",
        "cluster_certificate_authority_data",
    ] {
        let mut world = with(&["jobs"]);
        world.hidden_outputs.remove(key);
        world.settle();
        let one = of(&world, "jobs").expect("it is listed");
        assert_eq!(one.phase, Some(Phase::Waiting));
        let text = one.message.unwrap_or_default();
        assert!(
            text.contains("blue-eks-connection") && text.contains(key),
            "{text}"
        );
        assert!(world.status().ready, "the cluster itself serves");
        world.hidden_outputs.insert(key.to_owned(), "x".to_owned());
        world.settle();
        assert_eq!(
            phase(&world, "jobs"),
            Some(Phase::Ready),
            "it goes on when it is there"
        );
    }
    let mut world = with(&["jobs"]);
    world.settle();
    want(&mut world, &["jobs", "later"]);
    let secret = world.snapshot.vpc_secret.as_mut().expect("a Secret");
    secret.data = BTreeMap::from([("vpc_config".to_owned(), Hidden::new("vpc_id = "))]);
    world.settle();
    let text = of(&world, "later")
        .and_then(|one| one.message)
        .unwrap_or_default();
    assert!(
        text.contains("blue-vpc-connection") && text.contains("vpc_config"),
        "{text}"
    );
    assert_eq!(
        phase(&world, "jobs"),
        Some(Phase::Ready),
        "what exists stays as it is"
    );
}
