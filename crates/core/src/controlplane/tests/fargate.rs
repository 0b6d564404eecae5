//! Fargate profiles.

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
    World, fresh, message, said,
    world::Terraform,
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

#[test]
fn one_at_a_time_in_the_order_of_the_spec_and_the_others_say_their_place() {
    let mut world = with(&["a", "b", "c"]);
    let mut order = Vec::new();
    for _ in 0..40 {
        world.calm();
        let busy = ["a", "b", "c"]
            .into_iter()
            .filter(|name| phase(&world, name) == Some(Phase::Creating))
            .count();
        assert!(busy <= 1);
        if phase(&world, "a") == Some(Phase::Creating) {
            let text = of(&world, "c").and_then(|one| one.message).unwrap_or_default();
            assert!(
                text.contains("number 2") && text.contains("blue-a-fargate-apply"),
                "{text}"
            );
        }
        if let Some(holder) = turn(&world)
            && order.last() != Some(&holder)
        {
            order.push(holder);
        }
        let before = world.snapshot.clone();
        world.act();
        if before == world.snapshot {
            break;
        }
    }
    assert_eq!(
        order[1..],
        [
            "blue-a-fargate-apply",
            "blue-b-fargate-apply",
            "blue-c-fargate-apply"
        ]
    );
}

#[test]
fn one_failure_stops_only_itself_and_makes_the_control_plane_degraded() {
    let mut world = with(&["a", "b", "c"]);
    world.fails_for = vec!["blue-b-fargate-apply".to_owned()];
    world.settle();
    let status = world.status();
    assert_eq!(status.state, Some(State::Degraded));
    assert!(status.ready);
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("2/3"));
    let failed = of(&world, "b").expect("it is listed");
    assert_eq!(failed.phase, Some(Phase::Failed));
    assert_eq!(failed.failure_reason.as_deref(), Some("FargateProfileFailed"));
    assert_eq!(
        failed.failure_message.as_deref(),
        Some("Failed to create Fargate profile: no subnets")
    );
    assert!(!failed.ready);
    assert_eq!(said(&status, "FargateProfileFailed"), "True/FargateProfileFailed");
    assert!(message(&status, "FargateProfileFailed").starts_with("b: "));
    assert!(world.step().is_quiet(), "no endless tries");

    world.fails_for.clear();
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.settle();
    assert_eq!(
        world.status().state,
        Some(State::Ready),
        "{:#?} {:?}",
        of(&world, "b"),
        turn(&world)
    );
    assert_eq!(of(&world, "b").and_then(|one| one.failure_message), None);
}

#[test]
fn a_profile_that_is_not_wanted_any_more_goes_and_nothing_else_is_touched() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let before = variables(&world, "blue-b-fargate-apply");
    want(&mut world, &["b"]);
    world.calm();
    assert_eq!(phase(&world, "a"), Some(Phase::Deleting));
    world.settle();
    assert_eq!(world.destroyed, ["blue-a-fargate-apply"]);
    assert_eq!(of(&world, "a"), None);
    assert_eq!(variables(&world, "blue-b-fargate-apply"), before);
    assert_eq!(world.status().fargate_profiles_ready.as_deref(), Some("1/1"));
    want(&mut world, &[]);
    world.settle();
    let status = world.status();
    assert_eq!(status.fargate_profile_statuses, Some(Vec::new()));
    assert_eq!(said(&status, "FargateProfileReady"), "True/NoFargateProfiles");
    assert_eq!(status.state, Some(State::Ready));
    let finalizers = world
        .snapshot
        .control_plane
        .metadata
        .finalizers
        .clone()
        .unwrap_or_default();
    assert!(!finalizers.contains(&marks::FARGATE_PROFILES_FINALIZER.to_owned()));
}

#[test]
fn profiles_go_one_at_a_time_before_the_cluster() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let finalizers = world
        .snapshot
        .control_plane
        .metadata
        .finalizers
        .clone()
        .unwrap_or_default();
    assert!(finalizers.contains(&marks::FARGATE_PROFILES_FINALIZER.to_owned()));
    world.delete();
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed.len(), 3);
    assert!(world.destroyed[0].ends_with("fargate-apply") && world.destroyed[1].ends_with("fargate-apply"));
    assert!(world.destroyed[2].contains("eks"), "{:?}", world.destroyed);
}

#[test]
fn a_change_touches_only_the_profile_that_it_is_about() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let hash = of(&world, "a").and_then(|one| one.observed_selectors_hash);
    let other = world
        .snapshot
        .applies
        .iter()
        .find(|seen| seen.name() == "blue-b-fargate-apply");
    let generation = other.and_then(|seen| seen.wta.metadata.generation);
    world.edit(|spec| {
        let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
        profile.selectors[0].namespace = Some("elsewhere".to_owned());
    });
    world.calm();
    assert_eq!(phase(&world, "a"), Some(Phase::Updating));
    assert_eq!(of(&world, "a").and_then(|one| one.observed_selectors_hash), hash);
    world.settle();
    assert_ne!(of(&world, "a").and_then(|one| one.observed_selectors_hash), hash);
    let other = world
        .snapshot
        .applies
        .iter()
        .find(|seen| seen.name() == "blue-b-fargate-apply");
    assert_eq!(other.and_then(|seen| seen.wta.metadata.generation), generation);
}

#[test]
fn time_in_the_queue_does_not_count_and_late_is_told_until_it_is_there() {
    let mut world = with(&["a"]);
    hang_when_the_cluster_is_up(&mut world);
    world.pass(19);
    world.settle();
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
    world.pass(2);
    world.settle();
    let late = of(&world, "a").expect("it is listed");
    assert_eq!(late.phase, Some(Phase::Creating));
    assert!(late.failure_message.unwrap_or_default().contains("20m"));
    assert_eq!(world.status().state, Some(State::Degraded));
    assert!(world.step().is_quiet());
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
}

#[test]
fn a_name_that_somebody_else_has_is_not_taken() {
    let mut world = with(&["a"]);
    let mut other = capt_api::WorkspaceTemplateApply::new(
        "blue-a-fargate-apply",
        serde_json::from_value(json!({"templateRef": {"name": "theirs"}})).expect("a spec"),
    );
    other.metadata.uid = Some("theirs".to_owned());
    other.metadata.labels = Some(BTreeMap::from([(marks::OWNER.to_owned(), "Other.x".to_owned())]));
    world.settle();
    let mine = of(&world, "a").and_then(|one| one.workspace_template_apply_name);
    assert_eq!(mine.as_deref(), Some("blue-a-fargate-apply"));

    let mut world = with(&["a"]);
    world.snapshot.applies.push(crate::owned::OwnedSeen {
        wta: other.clone(),
        trouble: None,
        workspace: None,
        run: None,
    });
    for _ in 0..6 {
        world.calm();
        world.probe();
        world.act();
        let theirs = world
            .snapshot
            .applies
            .iter_mut()
            .find(|seen| seen.uid() == "theirs")
            .expect("it stays");
        theirs.wta = other.clone();
        theirs.workspace = None;
    }
    let mine = of(&world, "a")
        .and_then(|one| one.workspace_template_apply_name)
        .unwrap_or_default();
    assert!(
        mine != "blue-a-fargate-apply" && mine.starts_with("blue-a-"),
        "{mine}"
    );
}

#[test]
fn a_cluster_whose_role_was_changed_by_hand_is_no_profile_to_remove() {
    let mut world = with(&["a"]);
    world.settle();
    world.edit(|spec| spec.version = capt_api::version::Version::from("nonsense"));
    let role = crate::owned::Role::FargateProfile("gone".to_owned()).label();
    let labels = world.apply_mut().wta.metadata.labels.get_or_insert_default();
    labels.insert(marks::ROLE.to_owned(), role);
    world.settle();
    assert!(world.destroyed.is_empty(), "{:?}", world.destroyed);
    assert_eq!(world.apply().annotation(marks::LET_GO), None);
    assert_eq!(world.snapshot.applies.len(), 2);
}

#[test]
fn those_whose_workspaces_are_gone_take_turns_to_come_back() {
    let mut world = with(&["a", "b"]);
    world.settle();
    // As after a move: it is written down which Workspace each has, and none of them is there.
    for seen in &mut world.snapshot.applies {
        seen.workspace = None;
        let status = seen.wta.status.as_mut().expect("a status");
        status.applied = false;
        status.ready_revision = None;
        let conditions = status.conditions.get_or_insert_default();
        conditions.retain(|condition| !["Applied", "Synced", "Ready"].contains(&condition.type_.as_str()));
    }
    world.settle();
    assert!(
        world.snapshot.applies.iter().all(crate::owned::OwnedSeen::holds),
        "{:?} {:#?}",
        turn(&world),
        world.status().fargate_profile_statuses
    );
}

#[test]
fn the_turn_stays_with_the_one_that_is_given_something_new_to_do() {
    let mut world = with(&["a"]);
    world.settle();
    world.edit(|spec| spec.version = capt_api::version::Version::from("1.33"));
    // The first of two minors is done, and a profile waits.
    for _ in 0..30 {
        world.calm();
        if world.variable("kubernetes_version") == Some("1.32") {
            break;
        }
        world.act();
    }
    want(&mut world, &["a", "b"]);
    for _ in 0..40 {
        let holder = turn(&world);
        let decision = world.decide();
        let writes_eks = decision.children.iter().any(|child| {
            child.target.name == "blue-eks-controlplane-apply"
                && holder.as_deref() == Some("blue-eks-controlplane-apply")
        });
        if writes_eks {
            assert!(
                !decision.own.annotations.contains_key(marks::TURN),
                "{decision:#?}"
            );
        }
        world.carry_out(&decision, usize::MAX);
        if decision.is_quiet() {
            world.act();
        }
    }
    assert_eq!(world.status().version.as_deref(), Some("1.33"));
    assert_eq!(phase(&world, "b"), Some(Phase::Ready));
}

#[test]
fn the_name_of_a_profiles_apply_is_refused_for_the_cluster_and_nothing_is_written_twice() {
    let mut world = with(&["a"]);
    world.settle();
    let before = variables(&world, "blue-a-fargate-apply");
    world.edit(|spec| spec.workspace_template_apply_name = Some("blue-a-fargate-apply".to_owned()));
    world.settle();
    assert_eq!(said(&world.status(), "Ready"), "True/WorkspaceNotOurs");
    let text = message(&world.status(), "Ready");
    assert!(
        text.contains("blue-a-fargate-apply") && text.contains("spec.workspaceTemplateApplyName"),
        "{text}"
    );
    assert_eq!(variables(&world, "blue-a-fargate-apply"), before);
    // Not even a profile that is not wanted any more goes while it is said to be the cluster.
    want(&mut world, &[]);
    world.settle();
    assert!(world.destroyed.is_empty(), "{:?}", world.destroyed);
    // Its end still has an order: what may be the cluster goes after the others.
    want(&mut world, &["a", "b"]);
    world.edit(|spec| spec.workspace_template_apply_name = None);
    world.settle();
    world.edit(|spec| spec.workspace_template_apply_name = Some("blue-a-fargate-apply".to_owned()));
    world.delete();
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed.len(), 3);
    assert_eq!(
        world.destroyed[0], "blue-b-fargate-apply",
        "{:?}",
        world.destroyed
    );
}

#[test]
fn a_cluster_is_destroyed_after_its_profiles_also_where_the_spec_names_somebody_elses() {
    let mut world = with(&["a", "b"]);
    world.settle();
    let mut other = world.apply().clone();
    other.wta.metadata.name = Some("theirs".to_owned());
    other.wta.metadata.uid = Some("theirs".to_owned());
    other.wta.metadata.owner_references = None;
    other.wta.metadata.labels = Some(BTreeMap::from([(marks::OWNER.to_owned(), "Other.x".to_owned())]));
    world.snapshot.applies.push(other);
    world.edit(|spec| spec.workspace_template_apply_name = Some("theirs".to_owned()));
    world.delete();
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.destroyed.len(), 3, "{:?}", world.destroyed);
    assert_eq!(world.destroyed[2], "blue-eks-controlplane-apply");
}

#[test]
fn another_template_is_refused_and_its_revision_stays_away() {
    let mut world = with(&["a"]);
    world.settle();
    world.edit(|spec| {
        let profiles = spec.additional_fargate_profiles.as_mut().expect("profiles");
        profiles[0].workspace_template_ref.name = "another".to_owned();
    });
    let seen = world.snapshot.profiles.get_mut("a").expect("a profile");
    seen.template.as_mut().expect("a template").revision = "another-1".to_owned();
    world.settle();
    let apply = world
        .snapshot
        .applies
        .iter()
        .find(|seen| seen.name() == "blue-a-fargate-apply")
        .expect("it stays");
    assert_eq!(apply.wta.spec.template_ref.name, "fargate-profile");
    assert_eq!(apply.wta.spec.template_revision.as_deref(), Some("f1"));
    let told = of(&world, "a").expect("it is listed");
    assert!(told.ready, "it works as it is");
    let text = told.failure_message.unwrap_or_default();
    assert!(
        text.contains("workspaceTemplateRef") && text.contains("fargate-profile"),
        "{text}"
    );
    assert!(world.step().is_quiet());
}

#[test]
fn another_try_goes_only_to_what_is_stuck() {
    let mut world = with(&["a", "b"]);
    world.fails_for = vec!["blue-b-fargate-apply".to_owned()];
    world.settle();
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    let asked = |world: &World| -> Vec<String> {
        let applies = world.snapshot.applies.iter();
        applies
            .filter(|seen| seen.annotation(marks::RETRY_REQUESTED) == Some("again"))
            .map(|seen| seen.name().to_owned())
            .collect()
    };
    assert_eq!(asked(&world), ["blue-b-fargate-apply"]);
    let annotations = world.snapshot.control_plane.metadata.annotations.clone();
    assert!(
        !annotations
            .unwrap_or_default()
            .contains_key(marks::RETRY_REQUESTED)
    );
}

#[test]
fn a_request_for_another_try_is_kept_until_it_can_be_passed_on() {
    let mut world = with(&["a"]);
    world.fails_for = vec!["blue-a-fargate-apply".to_owned()];
    world.settle();
    let secret = world.snapshot.vpc_secret.take();
    world.fails_for.clear();
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    let is_kept = |world: &World| {
        let annotations = world.snapshot.control_plane.metadata.annotations.clone();
        annotations
            .unwrap_or_default()
            .contains_key(marks::RETRY_REQUESTED)
    };
    assert!(
        is_kept(&world),
        "nothing is known that a profile could be written by"
    );
    assert!(world.step().is_quiet(), "and nothing goes round for that");
    world.snapshot.vpc_secret = secret;
    world.settle();
    assert!(!is_kept(&world));
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));

    let mut world = with(&["a"]);
    world.terraform = Terraform::Fails(crate::owned::TroubleClass::Terminal);
    world.settle();
    let version = world.snapshot.control_plane.spec.version.clone();
    world.edit(|spec| spec.version = capt_api::version::Version::from("nonsense"));
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    assert!(
        is_kept(&world),
        "nothing is written for a spec that makes no sense"
    );
    world.terraform = Terraform::Works;
    world.edit(|spec| spec.version = version);
    world.settle();
    assert!(!is_kept(&world));
    assert_eq!(world.status().state, Some(State::Ready), "{:#?}", world.status());
}

#[test]
fn another_try_of_a_late_profile_begins_with_all_its_time() {
    let mut world = with(&["a"]);
    hang_when_the_cluster_is_up(&mut world);
    world.pass(21);
    world.settle();
    assert!(of(&world, "a").and_then(|one| one.failure_message).is_some());
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.settle();
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
    assert_eq!(phase(&world, "a"), Some(Phase::Creating));
    world.pass(19);
    world.settle();
    assert_eq!(of(&world, "a").and_then(|one| one.failure_message), None);
    world.pass(2);
    world.settle();
    assert!(of(&world, "a").and_then(|one| one.failure_message).is_some());
}

#[test]
fn a_profile_that_cannot_be_destroyed_does_not_hold_up_the_others() {
    for is_whole in [true, false] {
        let mut world = with(&["a", "b", "c"]);
        world.settle();
        world.fails_for = vec!["blue-a-fargate-apply".to_owned()];
        if is_whole {
            world.delete();
        } else {
            want(&mut world, &[]);
        }
        for _ in 0..40 {
            world.calm();
            world.act();
        }
        let mut destroyed = world.destroyed.clone();
        destroyed.sort();
        assert_eq!(
            destroyed,
            ["blue-b-fargate-apply", "blue-c-fargate-apply"],
            "{is_whole}"
        );
        let told = of(&world, "a").expect("it is listed");
        assert_eq!(told.phase, Some(Phase::Deleting));
        assert!(told.failure_message.unwrap_or_default().contains("pods are left"));
        world.fails_for.clear();
        world.settle();
        assert_eq!(world.is_gone, is_whole);
        assert!(world.destroyed.contains(&"blue-a-fargate-apply".to_owned()));
        if is_whole {
            assert_eq!(
                world.destroyed.last().map(String::as_str),
                Some("blue-eks-controlplane-apply")
            );
        }
    }
}

#[test]
fn one_hold_is_enough_to_bring_a_deletion_to_its_end() {
    for stripped in [
        marks::CAPTCONTROLPLANE_FINALIZER,
        marks::FARGATE_PROFILES_FINALIZER,
    ] {
        let mut world = with(&["a"]);
        world.settle();
        world.delete();
        world.step();
        let finalizers = world.snapshot.control_plane.metadata.finalizers.as_mut();
        finalizers.expect("it is held").retain(|name| name != stripped);
        world.settle();
        assert!(world.is_gone, "{stripped}");
        assert_eq!(
            world.destroyed,
            ["blue-a-fargate-apply", "blue-eks-controlplane-apply"],
            "{stripped}"
        );
    }
}

#[test]
fn a_change_that_cannot_be_made_is_not_told_as_done() {
    let mut world = with(&["a"]);
    world.settle();
    let hash = of(&world, "a").and_then(|one| one.observed_selectors_hash);
    let secret = world.snapshot.vpc_secret.take();
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready), "nothing else is wanted");
    world.edit(|spec| {
        let profile = &mut spec.additional_fargate_profiles.as_mut().expect("profiles")[0];
        profile.selectors[0].namespace = Some("elsewhere".to_owned());
    });
    world.settle();
    let told = of(&world, "a").expect("it is listed");
    assert_eq!(told.phase, Some(Phase::Waiting));
    assert!(told.ready, "it works as it is");
    assert_eq!(told.observed_selectors_hash, hash);
    let text = told.message.unwrap_or_default();
    assert!(text.contains("vpc-connection"), "{text}");
    world.snapshot.vpc_secret = secret;
    world.settle();
    assert_eq!(phase(&world, "a"), Some(Phase::Ready));
    assert_ne!(of(&world, "a").and_then(|one| one.observed_selectors_hash), hash);
}

#[test]
fn a_cluster_that_is_not_well_does_not_keep_the_turn_from_profiles() {
    for is_transient in [true, false] {
        let mut world = with(&["a", "b"]);
        world.settle();
        let now = super::at(world.clock);
        let eks = world.apply_mut();
        if is_transient {
            eks.trouble = Some(crate::owned::Trouble {
                class: crate::owned::TroubleClass::Transient,
                message: "throttled".to_owned(),
            });
            super::world::say(eks, "Synced", false, "ReconcileError", now);
        } else {
            super::world::say(eks, "Ready", false, "Unavailable", now);
        }
        world.annotate(marks::TURN, "blue-eks-controlplane-apply");
        want(&mut world, &["a"]);
        world.calm();
        assert_eq!(turn(&world), None, "{is_transient}: it gives it up");
        let eks = world.apply_mut();
        eks.trouble = None;
        super::world::say(eks, "Synced", false, "ReconcilePaused", now);
        world.calm();
        assert_eq!(
            turn(&world).as_deref(),
            Some("blue-b-fargate-apply"),
            "{is_transient}"
        );
    }
}

#[test]
fn only_a_change_that_may_destroy_is_told_as_a_replacement() {
    for (reason, is_told) in [("DestructiveChange", true), ("AdoptedChange", false)] {
        let mut world = with(&["a"]);
        world.settle();
        let apply = world.snapshot.applies.last_mut().expect("a profile's");
        super::world::say(apply, "ApprovalNeeded", true, reason, super::at(world.clock));
        world.calm();
        let text = of(&world, "a").and_then(|one| one.message).unwrap_or_default();
        assert_eq!(text.contains("replacement"), is_told, "{text}");
        assert!(text.contains("about ApprovalNeeded"), "{text}");
    }
}

#[test]
fn a_change_of_the_cluster_does_not_hold_up_the_end_of_its_profiles() {
    let mut world = with(&["a"]);
    world.settle();
    world.terraform = Terraform::Hangs;
    world.edit(|spec| spec.version = capt_api::version::Version::from("1.32"));
    world.settle();
    assert_eq!(turn(&world).as_deref(), Some("blue-eks-controlplane-apply"));
    world.delete();
    world.calm();
    assert_eq!(turn(&world), None, "it gives it up");
    let now = super::at(world.clock);
    super::world::say(world.apply_mut(), "Synced", false, "ReconcilePaused", now);
    world.calm();
    assert_eq!(turn(&world).as_deref(), Some("blue-a-fargate-apply"));
}
