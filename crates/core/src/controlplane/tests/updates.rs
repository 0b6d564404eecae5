//! Changes of a cluster that serves.

use capt_api::{
    captcontrolplane::{ControlPlanePhase as Phase, ControlPlaneState as State, OperationResult},
    marks,
    version::Version,
    workspacetemplateapply::WorkspaceTemplateApplyStatus,
};
use serde_json::json;

use super::{
    World, at, living, message, said,
    world::{Terraform, say},
};
use crate::owned::{Peer, PlanGlance, RunGlance, Trouble, TroubleClass};

fn upgrade(world: &mut World, version: &str) {
    world.edit(|spec| spec.version = Version::from(version));
}

#[test]
fn an_update_rolls_out_while_the_cluster_serves() {
    let mut world = living();
    upgrade(&mut world, "1.32");
    world.terraform = Terraform::Hangs;
    world.settle();
    let status = world.status();
    assert_eq!(
        (status.state, status.phase),
        (Some(State::Provisioning), Some(Phase::Creating))
    );
    assert!(status.ready, "it serves all the while");
    assert_eq!(said(&status, "RollingOut"), "True/RollingOut");
    assert_eq!(said(&status, "Available"), "True/Available");
    assert!(message(&status, "RollingOut").contains("upgrading 1.31 → 1.32"));
    assert_eq!(status.version.as_deref(), Some("1.31"), "what runs");
    let progress = status.progress.expect("progress");
    assert_eq!(progress.current_operation.as_deref(), Some("Update"));
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(world.status().version.as_deref(), Some("1.32"));
    assert_eq!(said(&world.status(), "RollingOut"), "False/NotRollingOut");
}

#[test]
fn the_steps_of_an_upgrade_are_told_from_the_first_to_the_last() {
    let mut world = living();
    let before = world.events.len();
    upgrade(&mut world, "1.33");
    world.settle();
    let told = &world.events[before..];
    assert!(
        told[0].contains("Ready -> Provisioning") && told[0].contains("upgrading 1.31 → 1.32 → 1.33"),
        "{told:?}"
    );
    assert!(!told.iter().any(|event| event.contains("1.31 first")), "{told:?}");
    let done = "NotRollingOut: The update is done: version 1.33 runs";
    assert_eq!(told.iter().filter(|event| *event == done).count(), 1, "{told:?}");
}

#[test]
fn what_an_update_is_about_to_do_is_told_with_its_plan() {
    let mut world = living();
    upgrade(&mut world, "1.32");
    world.terraform = Terraform::Hangs;
    world.settle();
    world.apply_mut().run = Some(RunGlance {
        is_running: true,
        plan: Some(PlanGlance {
            id: "4f2a".to_owned(),
            summary: "0 to add, 1 to change, 0 to destroy".to_owned(),
        }),
        ..RunGlance::default()
    });
    world.calm();
    let told = message(&world.status(), "RollingOut");
    assert!(
        told.ends_with("upgrading 1.31 → 1.32; plan 4f2a: 0 to add, 1 to change, 0 to destroy"),
        "{told}"
    );
}

#[test]
fn an_upgrade_is_as_far_as_its_steps_are() {
    let mut world = living();
    upgrade(&mut world, "1.34");
    let mut shown = Vec::new();
    for step in 0..3 {
        world.terraform = Terraform::Hangs;
        world.settle();
        // A plan that is made is nothing that is done.
        let status = world.apply_mut().wta.status.as_mut().expect("a status");
        let live = status.progress.as_mut().expect("progress");
        live.operation = Some("plan".to_owned());
        live.percent_complete = Some(100);
        world.calm();
        shown.push(world.status().progress.expect("progress").percent_complete);
        world.settle();
        let progress = world.status().progress.expect("progress");
        shown.push(progress.percent_complete);
        let record = progress.history.expect("records").pop().expect("a record");
        assert_eq!(
            record.message.as_deref(),
            Some("from 1.31 to 1.34"),
            "step {step}"
        );
        world.terraform = Terraform::Works;
        world.calm();
        world.act();
        world.step();
    }
    // Each step is a third, and half of it is done where it hangs.
    assert_eq!(shown, [19, 19, 50, 50, 79, 79].map(Some));
    world.settle();
    let progress = world.status().progress.expect("progress");
    assert_eq!(progress.percent_complete, Some(100));
    let last = progress.history.expect("records").pop().expect("a record");
    assert_eq!(
        (last.message.as_deref(), last.result),
        (Some("from 1.31 to 1.34"), Some(OperationResult::Succeeded))
    );
}

#[test]
fn a_failed_update_of_a_cluster_that_serves_degrades_it() {
    let mut world = living();
    upgrade(&mut world, "1.32");
    world.terraform = Terraform::Fails(TroubleClass::Terminal);
    world.settle();
    let status = world.status();
    assert_eq!(
        (status.state, status.phase),
        (Some(State::Degraded), Some(Phase::Ready))
    );
    assert!(status.ready);
    assert_eq!(said(&status, "Ready"), "True/UpdateFailed");
    assert_eq!((status.failure_reason, status.failure_message), (None, None));
    let progress = status.progress.expect("progress");
    assert_eq!(
        (progress.current_operation, progress.percent_complete),
        (None, None),
        "nothing is on its way any more"
    );
    let history = progress.history.expect("records");
    let results: Vec<_> = history
        .iter()
        .map(|one| (one.operation.as_str(), one.result))
        .collect();
    assert_eq!(
        results,
        [
            ("Create", Some(OperationResult::Succeeded)),
            ("Update", Some(OperationResult::Failed))
        ]
    );
    // The spec is changed again, which is another try.
    upgrade(&mut world, "v1.31.4");
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(
        world.status().version.as_deref(),
        Some("v1.31.4"),
        "in the form of the spec"
    );
}

#[test]
fn what_changes_no_rendering_is_no_update() {
    let mut world = living();
    let before = world.status().progress;
    let template = world.snapshot.template.as_mut().expect("a template");
    template.revision = "t2".to_owned();
    world.settle();
    assert_eq!(
        world.apply().wta.spec.template_revision.as_deref(),
        Some("t2"),
        "it was written"
    );
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(world.status().progress, before);
}

#[test]
fn several_minors_are_walked_one_at_a_time_whatever_interrupts_it() {
    for interruption in 0..4 {
        let mut world = living();
        upgrade(&mut world, "v1.34");
        let mut walked = vec!["1.31".to_owned()];
        for round in 0..20 {
            world.step();
            if round == 5 {
                match interruption {
                    // A restart remembers nothing but objects.
                    1 => world.snapshot.probe = None,
                    // A move takes no status along.
                    2 => {
                        world.snapshot.control_plane.status = None;
                        let seen = world.apply_mut();
                        seen.wta.status = seen.wta.status.take().map(|mut status| {
                            status.observed_generation = None;
                            status
                        });
                    }
                    3 => world.terraform = Terraform::Fails(TroubleClass::Transient),
                    _ => {}
                }
            } else if round == 8 {
                world.terraform = Terraform::Works;
            }
            world.act();
            let version = world
                .variable("kubernetes_version")
                .expect("a version")
                .to_owned();
            if walked.last() != Some(&version) {
                walked.push(version);
            }
        }
        world.settle();
        assert_eq!(
            walked,
            ["1.31", "1.32", "1.33", "1.34"],
            "interruption {interruption}"
        );
        assert_eq!(world.status().state, Some(State::Ready));
        assert_eq!(world.status().version.as_deref(), Some("v1.34"));
    }
}

#[test]
fn nothing_is_told_as_applied_that_cannot_be_rendered_without_its_template() {
    let mut world = living();
    let now = super::at(0);
    say(world.apply_mut(), "Applied", true, "TemplateGone", now);
    upgrade(&mut world, "1.32");
    world.calm();
    let status = world.status();
    assert_eq!((status.state, status.ready), (Some(State::Ready), true));
    assert_eq!(message(&status, "Ready"), "about Applied");
    assert_eq!(world.variable("kubernetes_version"), Some("1.31"));
}

#[test]
fn an_upgrade_that_changes_nothing_is_not_told_as_done() {
    let mut world = living();
    world.outputs.insert("cluster_version".to_owned(), json!("1.31"));
    let before = world.events.len();
    upgrade(&mut world, "1.33");
    world.settle();
    assert_eq!(
        world.variable("kubernetes_version"),
        Some("1.32"),
        "no step is left out"
    );
    let status = world.status();
    assert_eq!((status.state, status.ready), (Some(State::Degraded), true));
    assert_eq!(said(&status, "Ready"), "True/VersionNotReached");
    let told = message(&status, "Ready");
    for word in [
        "kubernetes_version 1.32",
        "cluster_version still says 1.31",
        "capt retry captcontrolplane/blue",
    ] {
        assert!(told.contains(word), "{told}");
    }
    let history = status.progress.and_then(|progress| progress.history);
    let last = history.expect("records").pop().expect("a record");
    assert_eq!(
        (last.operation.as_str(), last.result),
        ("Update", Some(OperationResult::Failed))
    );
    let events = &world.events[before..];
    assert!(
        !events.iter().any(|event| event.contains("is done")),
        "{events:?}"
    );
    // The module is mended, and the walk goes on.
    world.annotate(marks::RETRY_REQUESTED, "again");
    world.calm();
    assert_eq!(world.apply().annotation(marks::RETRY_REQUESTED), Some("again"));
    world.outputs.remove("cluster_version");
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(world.status().version.as_deref(), Some("1.33"));
}

#[test]
fn a_version_below_what_runs_is_refused_with_the_reason() {
    let mut world = living();
    upgrade(&mut world, "1.30");
    world.settle();
    assert_eq!(world.variable("kubernetes_version"), Some("1.31"), "never down");
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(said(&world.status(), "Ready"), "True/VersionTooLow");
    assert!(message(&world.status(), "Ready").contains("Write 1.31 again"));
    upgrade(&mut world, "1.31");
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
}

#[test]
fn a_cluster_that_aws_upgraded_is_reported_and_never_rendered_downwards() {
    let mut world = living();
    let status = world.apply_mut().wta.status.get_or_insert_default();
    let outputs = status.outputs.get_or_insert_default();
    outputs.insert("cluster_version".to_owned(), json!("1.32"));
    world.calm();
    assert_eq!(world.variable("kubernetes_version"), Some("1.32"));
    world.settle();
    for _ in 0..2 {
        assert_eq!(said(&world.status(), "Ready"), "True/VersionAhead");
        assert_eq!(world.status().version.as_deref(), Some("1.32"));
        world.settle();
    }
    upgrade(&mut world, "1.32");
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
}

#[test]
fn a_version_that_somebody_wrote_into_a_status_is_not_reported() {
    // What the Secret says, and what somebody wrote.
    for (in_secret, written) in [(Some("1.31"), "1.32"), (Some("1.31"), "1.30"), (None, "1.35")] {
        let mut world = living();
        let version = in_secret.map(str::to_owned);
        let hidden = version.map(|version| ("cluster_version".to_owned(), version));
        world.hidden_outputs.extend(hidden);
        world.settle();
        let before = world.status();
        assert_eq!(before.version.as_deref(), Some("1.31"));
        world.events.clear();
        let status = world.apply_mut().wta.status.get_or_insert_default();
        let outputs = status.outputs.get_or_insert_default();
        outputs.insert("cluster_version".to_owned(), json!(written));
        world.calm();
        let after = world.status();
        assert_eq!(
            (&after.version, &after.versions),
            (&before.version, &before.versions),
            "{written}"
        );
        assert_eq!(world.variable("kubernetes_version"), Some("1.31"), "{written}");
        let is_told = |event: &String| event.contains("The update is done");
        assert!(!world.events.iter().any(is_told), "{:?}", world.events);
    }
}

#[test]
fn a_change_that_waits_for_a_person_is_told_and_nothing_times_out() {
    let mut world = living();
    upgrade(&mut world, "1.32");
    world.step();
    let now = super::at(0);
    let seen = world.apply_mut();
    let generation = seen.wta.metadata.generation;
    seen.wta.status.get_or_insert_default().observed_generation = generation;
    say(seen, "ApprovalNeeded", true, "DestructiveChange", now);
    // Our runner wrote the change before it found that it destroys something.
    seen.wta.status.get_or_insert_default().last_applied_revision = Some("other".to_owned());
    world.calm();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(said(&world.status(), "Ready"), "True/WaitingForApproval");
    world.pass(600);
    world.probe();
    assert!(world.decide().is_quiet());
    say(world.apply_mut(), "ApprovalNeeded", false, "NotNeeded", now);
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
}

/// One that lived elsewhere. Status does not move, and the Workspace is made again with a change.
fn moved(is_handed_out: bool) -> World {
    let mut world = living();
    let outputs = world.apply().wta.status.clone().and_then(|status| status.outputs);
    world.snapshot.control_plane.status = None;
    world.snapshot.probe = None;
    let seen = world.apply_mut();
    let generation = seen.wta.metadata.generation;
    seen.wta.status = Some(WorkspaceTemplateApplyStatus {
        observed_generation: generation,
        applied: true,
        last_applied_revision: Some("changed".to_owned()),
        outputs: outputs.filter(|_| is_handed_out),
        ..WorkspaceTemplateApplyStatus::default()
    });
    say(seen, "Applied", true, "Applied", super::at(0));
    if is_handed_out {
        say(seen, "Ready", true, "Available", super::at(0));
    }
    world
}

#[test]
fn what_was_moved_is_used_while_its_first_run_is_tried_again() {
    for is_handed_out in [true, false] {
        let mut world = moved(is_handed_out);
        let seen = world.apply_mut();
        say(seen, "Synced", false, "ReconcileError", super::at(0));
        seen.trouble = Some(Trouble {
            class: TroubleClass::Transient,
            message: "the registry is busy".to_owned(),
        });
        for _ in 0..3 {
            world.calm();
            world.probe();
        }
        let status = world.status();
        assert_eq!(
            (status.state, status.ready, status.initialized),
            (Some(State::Provisioning), is_handed_out, is_handed_out)
        );
        let ready = said(&status, "Ready");
        assert!(ready.ends_with("/Retrying"), "{ready}");
        assert_eq!(
            said(&status, "KubeconfigReady").starts_with("True"),
            is_handed_out
        );
        // However long it takes, it serves.
        world.pass(600);
        world.probe();
        world.calm();
        let status = world.status();
        assert_eq!(status.ready, is_handed_out);
        let expected = if is_handed_out {
            State::Degraded
        } else {
            State::Failed
        };
        assert_eq!(status.state, Some(expected));
    }
}

#[test]
fn what_was_moved_while_a_change_waits_for_a_person_is_used_as_it_is() {
    for is_handed_out in [true, false] {
        let mut world = moved(is_handed_out);
        let seen = world.apply_mut();
        say(seen, "ApprovalNeeded", true, "DestructiveChange", super::at(0));
        for _ in 0..3 {
            world.calm();
            world.probe();
        }
        let status = world.status();
        let expected = if is_handed_out {
            (Some(State::Degraded), true, Some("1.31"))
        } else {
            (Some(State::Provisioning), false, None)
        };
        assert_eq!(
            (status.state, status.initialized, status.version.as_deref()),
            expected
        );
        assert_eq!(status.ready, is_handed_out);
        let ready = said(&status, "Ready");
        assert!(ready.ends_with("/WaitingForApproval"), "{ready}");
    }
}

#[test]
fn a_changed_endpoint_updates_ours_and_the_kubeconfig_and_is_reported() {
    let mut world = living();
    let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
    cluster
        .endpoint
        .clone_from(&world.snapshot.control_plane.spec.control_plane_endpoint);
    assert!(world.decide().is_quiet());
    let kubeconfig = "clusters: []\nusers: [] # new\n".to_owned();
    world
        .hidden_outputs
        .insert("kubeconfig".to_owned(), kubeconfig.clone());
    let status = world.apply_mut().wta.status.get_or_insert_default();
    let outputs = status.outputs.get_or_insert_default();
    outputs.insert("cluster_endpoint".to_owned(), json!("10.0.0.2"));
    world
        .outputs
        .insert("cluster_endpoint".to_owned(), json!("10.0.0.2"));
    world.settle();
    assert_eq!(world.status().endpoint.as_deref(), Some("10.0.0.2:443"));
    let spec = &world.snapshot.control_plane.spec;
    let endpoint = spec.control_plane_endpoint.as_ref().expect("an endpoint");
    assert_eq!((endpoint.host.as_str(), endpoint.port), ("10.0.0.2", 443));
    let secret = world.snapshot.kubeconfig.as_ref().expect("a kubeconfig");
    assert_eq!(secret.text("value"), Some(kubeconfig.as_str()));
    assert!(
        world
            .events
            .iter()
            .any(|event| event.starts_with("EndpointChanged"))
    );
    assert_eq!(
        said(&world.status(), "Ready"),
        "True/EndpointChanged",
        "the Cluster keeps the old one"
    );
    let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
    cluster.endpoint.clone_from(&spec.control_plane_endpoint);
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
}

#[test]
fn an_endpoint_that_the_cluster_has_as_the_go_implementation_wrote_it_is_told_once_with_the_fix() {
    let endpoint = |host: &str, port| capt_api::endpoint::ApiEndpoint {
        host: host.to_owned(),
        port,
    };
    for (copied, expected) in [
        (endpoint("10.0.0.1", 6443), None),
        (
            endpoint("https://10.0.0.1:6443", 443),
            Some("has the host https://10.0.0.1:6443, which is none"),
        ),
        (
            endpoint("https://10.0.0.1", 6443),
            Some("Write the host 10.0.0.1 and the port 6443, or let `capt migrate` do that"),
        ),
        (
            endpoint("https://10.0.0.2", 6443),
            Some("still says 10.0.0.2:6443"),
        ),
        (
            endpoint("what is this?", 443),
            Some("still says what is this?:443"),
        ),
    ] {
        let mut world = living();
        let before = world.events.len();
        world.snapshot.cluster.as_mut().expect("a Cluster").endpoint = Some(copied.clone());
        world.settle();
        let told = &world.events[before..];
        let Some(expected) = expected else {
            assert_eq!(world.status().state, Some(State::Ready));
            assert!(told.is_empty(), "{told:?}");
            continue;
        };
        assert_eq!(said(&world.status(), "Ready"), "True/EndpointChanged");
        assert!(message(&world.status(), "Ready").contains("spec.controlPlaneEndpoint of the Cluster blue"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(expected), "{told:?}");
        let right = world.snapshot.control_plane.spec.control_plane_endpoint.clone();
        world.snapshot.cluster.as_mut().expect("a Cluster").endpoint = right;
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready), "{copied:?}");
    }
}

#[test]
fn an_edit_of_a_shared_template_waits_its_turn() {
    let mut world = living();
    world.snapshot.peers = vec![Peer {
        key: "team/a".to_owned(),
        released: Some("t1".to_owned()),
        is_ready: true,
        was_ready: true,
        ..Peer::default()
    }];
    world.snapshot.template.as_mut().expect("a template").revision = "t2".to_owned();
    world.settle();
    assert_eq!(world.apply().wta.spec.template_revision.as_deref(), Some("t1"));
    assert_eq!(world.status().state, Some(State::Ready));
    let told = message(&world.status(), "Ready");
    assert!(
        told.starts_with("The control plane serves. Revision t2 of the template waits:"),
        "{told}"
    );
    world.snapshot.peers[0].released = Some("t2".to_owned());
    world.settle();
    assert_eq!(world.apply().wta.spec.template_revision.as_deref(), Some("t2"));
}

#[test]
fn trouble_that_passes_does_not_touch_a_cluster_that_serves() {
    let mut world = living();
    world.terraform = Terraform::Fails(TroubleClass::Transient);
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(said(&world.status(), "Ready"), "True/Retrying");
    world.terraform = Terraform::Fails(TroubleClass::Terminal);
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert_eq!(said(&world.status(), "Ready"), "True/WorkspaceError");
    world.terraform = Terraform::Works;
    world.settle();
    assert_eq!(said(&world.status(), "Ready"), "True/Ready");
}

#[test]
fn infrastructure_that_is_not_ready_any_more_degrades() {
    let mut world = living();
    let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
    infrastructure.ready = false;
    infrastructure.message = "the VPC is gone".to_owned();
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert!(message(&world.status(), "Ready").contains("the VPC is gone"));
    assert!(world.status().ready);
}

/// Terraform may have changed half of it before it failed, so that what was there before is made real again.
#[test]
fn going_back_to_what_was_real_after_a_failed_change_is_a_change_too() {
    let mut world = living();
    let seen = world.apply_mut();
    say(seen, "Synced", false, "ReconcileError", at(0));
    seen.trouble = Some(Trouble {
        class: TroubleClass::Terminal,
        message: "no subnets".to_owned(),
    });
    let workspace = seen.workspace.as_mut().expect("a Workspace");
    workspace.observed_generation = Some(workspace.generation);
    workspace.generation += 1;
    assert!(!seen.is_change(), "the same is wanted as was real");
    world.calm();
    let status = world.status();
    assert_eq!(status.state, Some(State::Provisioning));
    let progress = status.progress.expect("progress");
    assert_eq!(progress.current_operation.as_deref(), Some("Update"));
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
}

/// EKS cannot be told to stop, and what it reaches then cannot be left downwards.
#[test]
fn a_step_that_has_begun_is_not_taken_back() {
    for wanted in ["1.31", "1.30"] {
        let mut world = living();
        upgrade(&mut world, "1.33");
        world.terraform = Terraform::Hangs;
        world.settle();
        upgrade(&mut world, wanted);
        world.settle();
        assert_eq!(
            world.variable("kubernetes_version"),
            Some("1.32"),
            "lowered to {wanted}"
        );
        let status = world.status();
        assert_eq!(status.state, Some(State::Provisioning));
        assert_eq!(said(&status, "RollingOut"), "True/RollingOut");
        let told = message(&status, "RollingOut");
        assert!(told.contains("upgrading 1.31 → 1.32"), "{told}");
        world.terraform = Terraform::Works;
        world.settle();
        let status = world.status();
        assert_eq!(world.variable("kubernetes_version"), Some("1.32"));
        assert_eq!(status.version.as_deref(), Some("1.32"));
        assert_eq!(said(&status, "Ready"), "True/VersionTooLow");
        let history = status.progress.and_then(|progress| progress.history);
        let last = history.and_then(|mut history| history.pop()).expect("a record");
        assert_eq!(last.result, Some(OperationResult::Succeeded), "{last:?}");
        assert_eq!(
            last.message.as_deref(),
            Some("from 1.31 to 1.32"),
            "what came of it"
        );
    }
}

/// What Terraform was told in between may be real in part, also where nobody wants it any more.
#[test]
fn going_back_in_the_middle_of_a_change_is_a_change_too() {
    let mut world = living();
    let status = world.apply_mut().wta.status.as_mut().expect("a status");
    status.tried_revision = Some("other".to_owned());
    world.calm();
    let status = world.status();
    assert_eq!(status.state, Some(State::Provisioning));
    assert_eq!(said(&status, "RollingOut"), "True/RollingOut");
    let status = world.apply_mut().wta.status.as_mut().expect("a status");
    status.tried_revision = None;
    world.calm();
    assert_eq!(world.status().state, Some(State::Ready));
}
