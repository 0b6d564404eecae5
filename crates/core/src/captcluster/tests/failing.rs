//! What goes wrong, how long it may take, and the way out.

use std::time::Duration;

use super::{
    world::{fail, say},
    *,
};

#[test]
fn a_spec_that_cannot_be_done_names_the_field_and_the_fix() {
    let base = json!({"region": "eu-central-1"});
    for (more, field) in [
        (json!({}), "spec.vpcTemplateRef"),
        (
            json!({"vpcTemplateRef": {"name": "vpc"}, "existingVpcId": "vpc-1"}),
            "spec.existingVpcId",
        ),
        (
            json!({"existingVpcId": "vpc-1", "retainVpcOnDelete": true}),
            "spec.retainVpcOnDelete",
        ),
        (
            json!({"vpcTemplateRef": {"name": "vpc"}, "existingSubnetIds": ["subnet-a"]}),
            "spec.existingSubnetIds",
        ),
        (
            json!({"existingVpcId": "vpc-1", "vpcConfig": {"cidr": "10.0.0.0/16"}}),
            "spec.vpcConfig",
        ),
        (
            json!({"existingVpcId": "vpc-1", "vpcConfig": {"availabilityZones": ["eu-central-1a"]}}),
            "spec.vpcConfig",
        ),
        (json!({"existingVpcId": "net"}), "spec.existingVpcId"),
        (
            json!({"existingVpcId": "vpc-1", "existingSubnetIds": ["a"]}),
            "spec.existingSubnetIds",
        ),
        (
            json!({"region": "Frankfurt", "vpcTemplateRef": {"name": "vpc"}}),
            "spec.region",
        ),
        (
            json!({"vpcTemplateRef": {"name": "vpc"}, "vpcConfig": {"availabilityZones": ["eu-west-1a"]}}),
            "spec.vpcConfig.availabilityZones",
        ),
    ] {
        let mut spec = base.clone();
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let mut snapshot = held();
        snapshot.captcluster.spec = serde_json::from_value(spec.clone()).expect("a spec");
        let decision = decide(&snapshot, at(1));
        assert!(decision.children.is_empty(), "{spec}");
        assert_eq!(
            verdict(&snapshot, &decision, "VPCFailed"),
            "True/InvalidVPCConfig",
            "{spec}"
        );
        let told = condition(&snapshot, &decision, "Ready").message;
        assert!(told.contains(field), "{spec}: {told}");
        let status = status(&snapshot, &decision);
        assert_eq!(status.failure_reason.as_deref(), Some("InvalidVPCConfig"));
        assert_eq!(status.failure_message.as_deref(), Some(told.as_str()));
        assert_eq!(decision.events[0].kind, EventKind::Warning);
    }
}

#[test]
fn what_infrastructure_was_made_of_cannot_be_changed() {
    type Change = fn(&mut Snapshot);
    let changes: [(&str, Change); 4] = [
        ("spec.region was eu-central-1", |snapshot| {
            snapshot.captcluster.spec.region = "eu-west-1".into();
        }),
        ("spec.vpcConfig.name was net-vpc", |snapshot| {
            snapshot.captcluster.spec.vpc_config =
                serde_json::from_value(json!({"name": "other"})).expect("a config");
        }),
        ("made from the WorkspaceTemplate vpc", |snapshot| {
            snapshot.captcluster.spec.vpc_template_ref =
                serde_json::from_value(json!({"name": "other"})).expect("a reference");
        }),
        ("made by the WorkspaceTemplateApply net-vpc", |snapshot| {
            snapshot.captcluster.spec.vpc_template_ref = None;
            snapshot.captcluster.spec.existing_vpc_id = Some("vpc-1".to_owned());
        }),
    ];
    for (told, change) in changes {
        let mut world = ready();
        change(&mut world.snapshot);
        world.step();
        // What is there serves on, and nothing of it failed.
        assert_eq!(world.verdict("Ready"), "True/InvalidVPCConfig", "{told}");
        assert!(world.verdict("VPCReady").starts_with("True/"), "{told}");
        assert_eq!(world.verdict("VPCFailed"), "False/InvalidVPCConfig", "{told}");
        let status = world.status();
        assert_eq!((status.ready, status.failure_reason), (true, None), "{told}");
        assert!(
            world.message("Ready").contains(told),
            "{}",
            world.message("Ready")
        );
        let last = world.history.last().expect("a decision");
        let warned = last.events.iter().find(|event| event.message.contains(told));
        assert_eq!(warned.map(|event| event.kind), Some(EventKind::Warning), "{told}");
        assert_eq!(world.apply().wta.spec.template_ref.name, "vpc", "{told}");
        assert_eq!(
            world.apply().wta.spec.variables.as_ref().expect("variables")["region"],
            "eu-central-1"
        );
    }
    let mut world = World::new(with_existing());
    world.rest();
    let template = fresh();
    world.snapshot.captcluster.spec = template.captcluster.spec;
    world.snapshot.template = template.template;
    let decision = world.step();
    assert!(decision.children.is_empty());
    let told = world.message("Ready");
    assert!(told.contains("The VPC is vpc-1, which existed before"), "{told}");
}

#[test]
fn a_secret_of_an_existing_network_that_was_written_to_is_brought_back() {
    let mut world = World::new(with_existing());
    world.rest();
    let before = world.snapshot.secrets.clone();
    for secret in &mut world.snapshot.secrets {
        secret.facts.vpc_id = Some("evil".to_owned());
    }
    let decision = world.step();
    assert!(
        decision
            .children
            .iter()
            .any(|child| child.target.kind == "Secret")
    );
    assert_eq!(world.verdict("VPCFailed"), "False/ExistingVPCUsed");
    assert_eq!(world.status().vpc_id.as_deref(), Some("vpc-1"));
    world.rest();
    assert_eq!(world.snapshot.secrets.len(), before.len());
}

#[test]
fn a_missing_template_is_waited_for_and_needed_only_once() {
    let mut world = World::new(fresh());
    world.snapshot.template = None;
    world.rest();
    for type_ in ["Ready", "VPCReady", "VPCCreating", "VPCFailed"] {
        assert_eq!(world.verdict(type_), "False/WorkspaceTemplateNotFound", "{type_}");
    }
    assert!(world.message("Ready").contains("spec.vpcTemplateRef"));
    assert!(world.snapshot.applies.is_empty());
    let status = world.status();
    assert_eq!((status.failure_reason, status.failure_message), (None, None));
    let told = world.history.iter().flat_map(|decision| &decision.events);
    let told: Vec<_> = told.map(|event| (event.kind, event.reason.as_str())).collect();
    assert_eq!(told, [(EventKind::Warning, "WorkspaceTemplateNotFound")]);
    // However long it takes.
    world.now = minute(24 * 60);
    assert!(world.step().is_quiet());
    world.snapshot.template = held().template;
    world.settle();
    assert!(world.status().ready && world.status().failure_reason.is_none());
    world.snapshot.template = None;
    world.rest();
    assert!(world.status().ready);
}

#[test]
fn a_workspacetemplateapply_of_somebody_else_is_not_taken() {
    let mut world = ready();
    let mut snapshot = held();
    snapshot.captcluster.metadata.name = Some("other".to_owned());
    snapshot.captcluster.spec.workspace_template_apply_name = Some("net-vpc".to_owned());
    snapshot.applies = vec![world.apply().clone()];
    let decision = decide(&snapshot, at(1));
    assert!(decision.children.is_empty());
    assert_eq!(verdict(&snapshot, &decision, "Ready"), "False/WorkspaceNotOurs");
    let told = condition(&snapshot, &decision, "Ready").message;
    assert!(told.contains("belongs to CAPTCluster net"), "{told}");
    delete(&mut snapshot);
    let decision = decide(&snapshot, at(1));
    assert!(
        decision.removals.is_empty() && decision.children.is_empty(),
        "nor is it ended"
    );
}

/// The Go implementation calls every message an error, and every error final.
#[test]
fn trouble_that_passes_is_no_failure() {
    let mut world = World::new(fresh());
    world.rest();
    world.make_workspace();
    fail(world.apply(), TroubleClass::Transient, at(0));
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/Retrying");
    assert_eq!(world.verdict("VPCCreating"), "True/Retrying");
    assert_eq!(world.verdict("VPCFailed"), "False/Retrying");
    assert_eq!(world.status().failure_reason, None);
    assert!(world.message("Ready").contains("no more addresses"));
    world.snapshot.applies[0].trouble = None;
    world.make_real();
    world.rest();
    assert!(world.status().ready);
}

#[test]
fn trouble_that_stays_is_a_failure_with_reason_and_message() {
    let mut world = World::new(fresh());
    world.rest();
    world.make_workspace();
    fail(world.apply(), TroubleClass::Terminal, at(0));
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/VPCCreationFailed");
    assert_eq!(world.verdict("VPCFailed"), "True/VPCCreationFailed");
    assert_eq!(world.verdict("VPCCreating"), "False/VPCCreationFailed");
    assert_eq!(
        world.status().failure_reason.as_deref(),
        Some("VPCCreationFailed")
    );
    assert_eq!(
        world.status().failure_message.as_deref(),
        Some(
            "Terraform failed: no more addresses. Change the spec, or mend what it fails with and ask for another \
             try: capt retry captcluster/net -n team"
        )
    );
    let report = world.status().workspace_template_status.expect("a report");
    assert_eq!(report.last_failure_message.as_deref(), Some("no more addresses"));
    // It ends when the Workspace recovers, by whatever hand.
    world.snapshot.applies[0].trouble = None;
    world.make_real();
    world.rest();
    assert!(world.status().ready);
    assert_eq!(world.status().failure_reason, None);
}

#[test]
fn refusals_of_the_workspacetemplateapply_are_told_in_our_words() {
    for (type_, status, reason, expected) in [
        ("Applied", "False", "TemplateNotShared", "False/TemplateNotShared"),
        (
            "Applied",
            "False",
            "WorkspaceTemplateNotFound",
            "False/WorkspaceTemplateNotFound",
        ),
        ("Applied", "False", "WorkspaceNotOurs", "False/WorkspaceNotOurs"),
        ("Applied", "False", "WorkspaceRetained", "False/WorkspaceNotOurs"),
        ("Applied", "False", "VariableMissing", "False/InvalidVPCConfig"),
        ("Applied", "False", "NoDurableState", "False/VPCCreationFailed"),
        ("Waiting", "True", "DependencyCycle", "False/InvalidVPCConfig"),
        ("Waiting", "True", "WaitingForSecrets", "False/VPCCreating"),
        (
            "ApprovalNeeded",
            "True",
            "AdoptedChange",
            "False/WaitingForApproval",
        ),
    ] {
        let mut world = World::new(fresh());
        world.rest();
        world.make_workspace();
        say(world.apply(), type_, status, reason, at(0));
        world.rest();
        assert_eq!(world.verdict("Ready"), expected, "{reason}");
        let passes =
            reason.contains("TemplateNot") || reason.starts_with("WaitingFor") || type_ == "ApprovalNeeded";
        assert_eq!(world.status().failure_reason.is_none(), passes, "{reason}");
        assert!(
            world.message("Ready").contains(&format!("about {type_}")),
            "{reason}"
        );
    }
}

#[test]
fn a_failed_change_of_what_serves_does_not_take_it_away() {
    let mut world = ready();
    fail(world.apply(), TroubleClass::Terminal, at(9));
    world.rest();
    assert!(world.status().ready);
    assert_eq!(world.verdict("Ready"), "True/VPCUpdateFailed");
    assert!(world.message("Ready").contains("Terraform failed: "));
    assert_eq!(world.verdict("VPCReady"), "True/VPCCreated");
    assert_eq!(world.verdict("VPCFailed"), "False/VPCUpdateFailed");
    assert_eq!(world.status().failure_reason, None);
    let events = world.history.iter().flat_map(|decision| &decision.events);
    let warned: Vec<&str> = events
        .filter(|event| event.kind == EventKind::Warning)
        .map(|event| event.reason.as_str())
        .collect();
    assert_eq!(warned, ["VPCUpdateFailed"], "it is told once");

    world.snapshot.applies[0].trouble = None;
    world.make_real();
    world.rest();
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
}

#[test]
fn what_was_moved_and_cannot_be_changed_serves_as_it_was() {
    for is_handed_out in [true, false] {
        let mut world = ready();
        // Status does not move, and the Workspace is made again around its state, which tells all but outputs.
        world.snapshot.captcluster.status = None;
        world.make_workspace();
        fail(world.apply(), TroubleClass::Terminal, at(9));
        if is_handed_out {
            say(world.apply(), "Ready", "True", "Available", at(9));
        }
        world.rest();
        let status = world.status();
        assert_eq!(status.ready, is_handed_out);
        assert_eq!(status.failure_reason.is_none(), is_handed_out);
        let expected = match is_handed_out {
            true => ("True/VPCUpdateFailed", "False/VPCUpdateFailed"),
            false => ("False/VPCCreationFailed", "True/VPCCreationFailed"),
        };
        assert_eq!((&*world.verdict("Ready"), &*world.verdict("VPCFailed")), expected);
        assert!(world.message("Ready").contains("no more addresses"));
    }
}

#[test]
fn what_was_moved_serves_while_its_first_run_is_tried_again() {
    for is_handed_out in [true, false] {
        let mut world = ready();
        world.snapshot.captcluster.status = None;
        world.make_workspace();
        fail(world.apply(), TroubleClass::Transient, at(9));
        if is_handed_out {
            say(world.apply(), "Ready", "True", "Available", at(9));
        }
        world.rest();
        assert_eq!(world.status().ready, is_handed_out, "at once");
        assert_eq!(world.verdict("VPCCreating").starts_with("True"), !is_handed_out);
        assert!(world.message("Ready").contains("no more addresses"));
        world.now = minute(600);
        world.rest();
        assert_eq!(world.status().ready, is_handed_out, "and however long it takes");
        assert_eq!(world.status().failure_reason.is_none(), is_handed_out);
    }
}

#[test]
fn that_it_was_ready_once_is_never_taken_back() {
    let mut world = ready();
    say(world.apply(), "Ready", "False", "Unavailable", at(9));
    world.rest();
    assert!(!world.status().ready);
    assert_eq!(
        world.status().initialization.and_then(|flags| flags.provisioned),
        Some(true)
    );
    assert_eq!(world.status().vpc_id.as_deref(), Some("vpc-7"));
    // Somebody deletes the WorkspaceTemplateApply: it is made again.
    world.snapshot.applies.clear();
    let decision = world.step();
    assert_eq!(
        written(&decision, "WorkspaceTemplateApply")
            .expect("made again")
            .target
            .name,
        "net-vpc"
    );
    assert_eq!(
        world.status().initialization.and_then(|flags| flags.provisioned),
        Some(true)
    );
}

#[test]
fn a_network_serves_while_what_looks_after_it_is_made_again() {
    let mut world = ready();
    let mut apply = world.snapshot.applies.remove(0);
    let again = "The WorkspaceTemplateApply net-vpc was gone. It is made again, and finds its Workspace";
    world.step();
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    assert_eq!(world.message("Ready"), again);
    let known = apply.wta.status.take();
    world.snapshot.applies = vec![apply];
    world.step();
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    assert_eq!(world.message("Ready"), again);
    // Where nobody says anything about its Workspace, or that says that it is made anew, the network is not taken for granted.
    let mut silent = world.clone();
    silent.apply().wta.metadata.creation_timestamp = Some(Time(silent.now));
    assert_eq!(silent.step().look_again, Some(Duration::from_secs(60)));
    assert_eq!(silent.verdict("Ready"), "True/VPCCreated");
    silent.now += Duration::from_secs(60);
    silent.step();
    assert_eq!(silent.verdict("Ready"), "False/VPCCreating");
    let mut anew = world.clone();
    say(anew.apply(), "Ready", "False", "Creating", at(9));
    anew.step();
    assert_eq!(anew.verdict("Ready"), "False/VPCCreating");
    world.apply().wta.status = known;
    world.rest();
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    assert_eq!(world.message("Ready"), "The VPC vpc-7 is there");
}

#[test]
fn a_network_serves_while_its_workspace_is_made_again() {
    let again = "The Workspace net-vpc was deleted, or its status was emptied. It finds its state, and tells again how things \
                 are";
    let mut world = ready();
    let known = world.apply().clone();
    // It goes without its infrastructure, which is told as what it is.
    world.apply().workspace = Some(WorkspaceGlance {
        deleting: true,
        ..known.workspace.clone().unwrap_or_default()
    });
    world.apply().wta.status.as_mut().unwrap().applied = false;
    let now = world.now;
    say(world.apply(), "Applied", "False", "Rendered", now);
    world.step();
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    assert_eq!(world.message("Ready"), again);
    // The new one is there before it is heard that nothing is said about it.
    let mut early = world.clone();
    early.now += Duration::from_secs(5);
    early.apply().workspace = Some(WorkspaceGlance {
        created_at: Some(early.now),
        ..WorkspaceGlance::default()
    });
    early.step();
    assert_eq!(early.verdict("Ready"), "True/VPCCreated");
    assert_eq!(early.message("Ready"), again);
    // It is gone, and nothing is said about the new one yet.
    let silence = |apply: &mut OwnedSeen| {
        let conditions = apply
            .wta
            .status
            .as_mut()
            .and_then(|status| status.conditions.as_mut());
        conditions
            .unwrap()
            .retain(|one| one.type_ != "Ready" && one.type_ != "Synced");
    };
    world.apply().workspace = None;
    silence(world.apply());
    // Its Secret goes with it.
    let secrets = std::mem::take(&mut world.snapshot.secrets);
    assert_eq!(world.step().look_again, Some(Duration::from_secs(60)));
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    assert_eq!(world.message("Ready"), again);
    // What cannot be made again is not believed for ever.
    let mut gone = world.clone();
    gone.now += Duration::from_secs(60);
    gone.step();
    assert_eq!(gone.verdict("Ready"), "False/VPCCreating");
    world.apply().workspace = Some(WorkspaceGlance {
        created_at: Some(world.now),
        ..WorkspaceGlance::default()
    });
    assert_eq!(world.step().look_again, Some(Duration::from_secs(60)));
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    // What says that it is made anew, what nobody says anything about, and what becomes something else is believed no more.
    let mut anew = world.clone();
    say(anew.apply(), "Ready", "False", "Creating", at(9));
    anew.step();
    assert_eq!(anew.verdict("Ready"), "False/VPCCreating");
    let mut silent = world.clone();
    silent.now += Duration::from_secs(60);
    silent.step();
    assert_eq!(silent.verdict("Ready"), "False/VPCCreating");
    let mut other = world.clone();
    other.apply().wta.status.as_mut().unwrap().pending_revision = Some("another".to_owned());
    other.step();
    assert_eq!(other.verdict("Ready"), "False/VPCCreating");
    world.snapshot.applies = vec![known];
    world.snapshot.secrets = secrets;
    world.rest();
    assert_eq!(world.message("Ready"), "The VPC vpc-7 is there");
}

#[test]
fn a_request_for_another_try_is_passed_on_and_then_forgotten() {
    let mut world = ready();
    annotate(&mut world.snapshot, marks::RETRY_REQUESTED, "try-1");
    let decision = world.step();
    let apply = written(&decision, "WorkspaceTemplateApply").expect("passed on");
    assert_eq!(
        apply.fields["metadata"]["annotations"][marks::RETRY_REQUESTED],
        "try-1"
    );
    assert_eq!(decision.own.annotations[marks::RETRY_REQUESTED], None);
    world.rest();
    // What a person asks of the WorkspaceTemplateApply itself afterwards is not undone.
    let annotations = world.apply().wta.metadata.annotations.get_or_insert_default();
    annotations.insert(marks::RETRY_REQUESTED.to_owned(), "try-2".to_owned());
    assert!(world.step().is_quiet());
}

#[test]
fn nothing_new_is_made_for_a_cluster_that_goes() {
    let mut world = World::new(fresh());
    if let Some(cluster) = &mut world.snapshot.cluster {
        cluster.deleting = true;
    }
    world.rest();
    assert!(world.snapshot.applies.is_empty());
    assert_eq!(world.verdict("Ready"), "False/Deleting");
    assert_eq!(world.status().failure_reason, None);
}

#[test]
fn a_request_for_another_try_is_kept_while_the_spec_makes_no_sense() {
    let mut world = ready();
    let apply = world.apply();
    apply.trouble = Some(Trouble {
        class: TroubleClass::Terminal,
        message: "no address is left".to_owned(),
    });
    world::say(apply, "Synced", "False", "ReconcileError", at(1));
    let region = world.snapshot.captcluster.spec.region.clone();
    world.snapshot.captcluster.spec.region = "nowhere".into();
    annotate(&mut world.snapshot, marks::RETRY_REQUESTED, "try-1");
    let decision = world.step();
    assert!(!decision.own.annotations.contains_key(marks::RETRY_REQUESTED));
    world.snapshot.captcluster.spec.region = region;
    let decision = world.step();
    let apply = written(&decision, "WorkspaceTemplateApply").expect("it is passed on");
    let asked = &apply.fields["metadata"]["annotations"][marks::RETRY_REQUESTED];
    assert_eq!(asked, "try-1");
    assert_eq!(decision.own.annotations[marks::RETRY_REQUESTED], None);
}

#[test]
fn another_template_is_refused_and_its_revision_stays_away() {
    let mut world = ready();
    let before = world.apply().wta.spec.clone();
    let reference = world.snapshot.captcluster.spec.vpc_template_ref.as_mut();
    reference.expect("a template").name = "another".to_owned();
    world.snapshot.template.as_mut().expect("a template").revision = "another-1".to_owned();
    world.rest();
    assert_eq!(world.apply().wta.spec, before);
    assert_eq!(world.verdict("Ready"), "True/InvalidVPCConfig");
    assert!(world.status().ready, "it serves as it is");
}

#[test]
fn a_name_that_was_written_over_is_put_right_and_told() {
    let mut world = ready();
    world.snapshot.captcluster.spec.workspace_template_apply_name = Some("zzz".to_owned());
    let decision = world.step();
    assert_eq!(decision.own.spec["workspaceTemplateApplyName"], "net-vpc");
    let told = decision.events.iter().find(|event| event.message.contains("zzz"));
    let told = told.expect("it is told");
    assert_eq!(told.kind, EventKind::Warning);
    assert!(told.message.contains("It is net-vpc again"), "{}", told.message);
}
