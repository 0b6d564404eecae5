//! What is different when provider-terraform runs Terraform.

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::json;

use super::{
    super::snapshot::{ProviderConfigSeen, Runner},
    *,
};

/// One whose Workspace provider-terraform keeps ready.
fn foreign() -> World {
    let mut snapshot = fresh();
    snapshot.runner = Runner::Foreign;
    snapshot.provider_config = Some(ProviderConfigSeen {
        backend: Some("backend".to_owned()),
        ..ProviderConfigSeen::default()
    });
    let mut world = World::new(snapshot);
    world.settle();
    assert!(world.workspace().is_settled());
    world
}

#[test]
fn nothing_is_made_without_durable_state() {
    for (by_config, by_module, is_made) in [(false, false, false), (true, false, true), (false, true, true)] {
        let mut snapshot = fresh();
        snapshot.runner = Runner::Foreign;
        snapshot.provider_config = Some(ProviderConfigSeen {
            backend: by_config.then(|| "backend".to_owned()),
            ..ProviderConfigSeen::default()
        });
        snapshot.rendering = Ok(Rendered {
            backend: by_module.then(|| "backend".to_owned()),
            ..rendered("r1")
        });
        let mut world = World::new(snapshot);
        let decision = world.calm();
        assert_eq!(!world.snapshot.workspaces.is_empty(), is_made);
        let is_refused = reason(&world.snapshot, &decision, "Applied") == "False/NoDurableState";
        assert_eq!(is_refused, !is_made);
    }
}

#[test]
fn a_change_waits_for_an_approval_that_names_the_rendering_once_it_was_ready() {
    let mut world = foreign();
    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "ApprovalNeeded"),
        "True/DestructiveChange"
    );
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/DestructiveChange"
    );
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r1").spec["forProvider"]
    );
    let status = world.snapshot.wta.status.as_ref().expect("a status");
    assert_eq!(status.pending_revision.as_deref(), Some("r2"));
    for (mark, value, is_applied) in [
        (marks::APPROVED, "r1", false),
        (marks::APPROVED, "r2", true),
        (marks::APPROVED, "r2/token", true),
        (marks::APPROVED, "r1/r2", false),
        (marks::ALLOW_DESTRUCTIVE, "true", true),
    ] {
        let mut world = world.clone();
        annotate(&mut world.snapshot, mark, value);
        world.settle();
        let has_it = world.workspace().spec["forProvider"] == rendered("r2").spec["forProvider"];
        assert_eq!(has_it, is_applied, "{mark} {value}");
    }
}

#[test]
fn an_approval_of_a_rendering_counts_once() {
    let mut world = foreign();
    let has = |world: &World, hash: &str| {
        world.workspace().spec["forProvider"] == rendered(hash).spec["forProvider"]
    };
    annotate(&mut world.snapshot, marks::APPROVED, "r2");
    world.snapshot.rendering = Ok(rendered("r2"));
    world.settle();
    assert!(has(&world, "r2"));
    annotate(&mut world.snapshot, marks::ALLOW_DESTRUCTIVE, "true");
    world.snapshot.rendering = Ok(rendered("r1"));
    world.settle();
    assert!(has(&world, "r1"));
    annotate(&mut world.snapshot, marks::ALLOW_DESTRUCTIVE, "false");

    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.settle();
    assert!(has(&world, "r1"), "it was approved before, not now");
    let words = message(&decision);
    assert!(
        words.contains("capt approve wtapply/") && words.contains("--plan r2") && words.contains("used up"),
        "{words}"
    );
    annotate(&mut world.snapshot, marks::APPROVED, "r2/again");
    world.settle();
    assert!(has(&world, "r2"));
}

#[test]
fn what_a_runner_says_does_not_end_the_approval_of_a_rendering_that_is_to_come() {
    let mut world = foreign();
    annotate(&mut world.snapshot, marks::APPROVED, "r2");
    world.snapshot.used_approval = Some("r2".to_owned());
    world.snapshot.rendering = Ok(rendered("r2"));
    world.settle();
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r2").spec["forProvider"]
    );
}

#[test]
fn that_it_was_ready_once_is_not_forgotten_with_the_workspace() {
    let mut world = foreign();
    world.delete_workspace();
    world.run();
    world.snapshot.rendering = Ok(rendered("r2"));
    world.settle();
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r1").spec["forProvider"]
    );
}

#[test]
fn a_change_before_it_was_ready_needs_no_approval() {
    let mut snapshot = fresh();
    snapshot.runner = Runner::Foreign;
    snapshot.rendering = Ok(Rendered {
        backend: Some("backend".to_owned()),
        ..rendered("r1")
    });
    let mut world = World::new(snapshot);
    world.calm();
    world.snapshot.rendering = Ok(Rendered {
        backend: Some("backend".to_owned()),
        ..rendered("r2")
    });
    world.calm();
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r2").spec["forProvider"]
    );
}

#[test]
fn values_of_variables_that_replace_nothing_need_no_approval() {
    let mut world = foreign();
    world.snapshot.rendering = Ok(Rendered {
        guarded_hash: rendered("r1").guarded_hash,
        ..rendered("r2")
    });
    world.settle();
    assert_eq!(
        world.workspace().spec["forProvider"],
        rendered("r2").spec["forProvider"]
    );
}

#[test]
fn remote_modules_must_be_pinned_to_be_updated() {
    let remote = |module: &str, hash: &str| Rendered {
        spec: json!({
            "forProvider": {"source": "Remote", "module": module},
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
        }),
        ..rendered(hash)
    };
    for (module, is_pinned) in [
        ("git::https://example.org/vpc.git", false),
        ("git::https://example.org/vpc.git?ref=main", false),
        ("git::https://example.org/vpc.git?ref=", false),
        ("git::https://example.org/vpc.git?depth=1&ref=v1.2.3", true),
        ("https://example.org/vpc.zip?checksum=sha256:00", true),
    ] {
        let mut world = foreign();
        annotate(&mut world.snapshot, marks::APPROVED, "r2");
        world.snapshot.rendering = Ok(remote(module, "r2"));
        let decision = world.settle();
        let has_it = world.workspace().spec["forProvider"]["module"] == module;
        assert_eq!(has_it, is_pinned, "{module}");
        if !is_pinned {
            assert_eq!(
                reason(&world.snapshot, &decision, "Applied"),
                "False/ModuleNotPinned"
            );
        }
    }
}

#[test]
fn a_creation_that_was_cut_short_is_undone_without_the_grant() {
    let mut world = foreign();
    let pending = at(10).to_string();
    let workspace = world.workspace_mut();
    workspace
        .annotations
        .insert(foreign_marks::EXTERNAL_CREATE_PENDING.to_owned(), pending);
    let mut synced = condition("Synced", "False", "ReconcileError", workspace.generation);
    synced.message = Some("cannot determine creation result - remove the annotation".to_owned());
    synced.last_transition_time = Time(at(5));
    workspace.status.conditions = Some(vec![synced.clone()]);
    let uid = workspace.uid.clone();
    assert!(
        world.decide().removals.is_empty(),
        "a creation that runs has the mark too"
    );
    synced.last_transition_time = Time(at(11));
    world.workspace_mut().status.conditions = Some(vec![synced]);

    let mut ended = world.clone();
    ended.workspace_mut().annotations.insert(
        foreign_marks::EXTERNAL_CREATE_SUCCEEDED.to_owned(),
        at(12).to_string(),
    );
    assert!(ended.decide().removals.is_empty(), "it ended");

    let infrastructure = world.infrastructure.clone();
    let decision = world.step();
    assert_eq!(decision.removals.len(), 1);
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/CreationInterrupted"
    );
    world.settle();
    assert_ne!(world.workspace().uid, uid);
    assert!(world.workspace().is_settled());
    assert_eq!(world.infrastructure, infrastructure);
}

#[test]
fn management_policies_that_are_switched_off_are_terminal() {
    let mut world = foreign();
    let mut synced = condition("Synced", "False", "ReconcileError", 1);
    synced.message = Some(
        "`spec.managementPolicies` is set to a non-default value but the feature is not enabled: [Observe]"
            .to_owned(),
    );
    world.workspace_mut().status.conditions = Some(vec![synced]);
    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/ManagementPoliciesDisabled"
    );
}

#[test]
fn what_lost_its_state_with_its_workspace_is_not_said_to_be_destroyed() {
    let mut world = foreign();
    world.snapshot.workspaces.clear();
    world.snapshot.provider_config = Some(ProviderConfigSeen::default());
    delete(&mut world.snapshot);
    let decision = world.settle();
    assert!(!world.is_gone);
    assert_eq!(
        reason(&world.snapshot, &decision, "Deleting"),
        "True/NoDurableState"
    );
}

/// What is not seen says nothing against what is remembered.
#[test]
fn a_backend_that_is_remembered_counts_where_its_configuration_is_gone_or_hidden() {
    let hidden = Some(ProviderConfigSeen {
        hidden: true,
        ..ProviderConfigSeen::default()
    });
    for config in [None, hidden.clone()] {
        let mut world = foreign();
        world.snapshot.workspaces.clear();
        world.snapshot.provider_config = config;
        delete(&mut world.snapshot);
        let decision = world.step();
        assert_eq!(reason(&world.snapshot, &decision, "Deleting"), "True/Destroying");
        assert!(written(&decision).is_some());
    }
    let mut never_seen = fresh();
    never_seen.runner = Runner::Foreign;
    never_seen.provider_config = hidden;
    let mut world = World::new(never_seen);
    let decision = world.calm();
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/NoDurableState"
    );
    assert!(
        message(&decision).contains("may not be read"),
        "{}",
        message(&decision)
    );
}

#[test]
fn only_a_retry_is_passed_down() {
    let mut world = foreign();
    annotate(&mut world.snapshot, marks::PLAN_REQUESTED, "token");
    annotate(&mut world.snapshot, marks::RETRY_REQUESTED, "token");
    world.calm();
    assert!(!world.workspace().annotations.contains_key(marks::PLAN_REQUESTED));
    assert_eq!(world.workspace().annotations[marks::RETRY_REQUESTED], "token");
}

#[test]
fn a_creation_that_was_cut_short_is_destroyed_by_making_it_again() {
    for is_late in [false, true] {
        let mut world = foreign();
        delete(&mut world.snapshot);
        if is_late {
            world.calm();
            assert!(world.workspace().deleting);
        }
        let workspace = world.workspace_mut();
        workspace.annotations.insert(
            foreign_marks::EXTERNAL_CREATE_PENDING.to_owned(),
            at(10).to_string(),
        );
        let mut synced = condition("Synced", "False", "ReconcileError", workspace.generation);
        synced.message = Some("cannot determine creation result".to_owned());
        synced.last_transition_time = Time(at(11));
        workspace.status.conditions = Some(vec![synced]);
        world.calm();
        assert!(world.workspace().deleting);
        assert!(!super::super::policy::grants_destruction(&world.workspace().spec));
        let annotations = world.snapshot.wta.metadata.annotations.as_ref();
        assert!(
            annotations.is_some_and(|marked| marked.contains_key(marks::WORKSPACE)),
            "it is not forgotten"
        );
        world.settle();
        assert!(world.is_gone && world.infrastructure.is_empty());
    }
}
