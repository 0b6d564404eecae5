//! What may destroy, and what may not.

use std::collections::{BTreeMap, BTreeSet};

use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::json;

use super::{
    super::{
        identity,
        snapshot::{KeptSeen, OwnerSeen, StateSecretSeen},
    },
    *,
};

/// What becomes of a world whose object is deleted.
pub(super) fn after_deletion(mut world: World) -> (World, Decided) {
    delete(&mut world.snapshot);
    let decision = world.settle();
    (world, decision)
}

#[test]
fn its_own_master_destroys_by_grant_then_delete_then_wait() {
    let mut world = living();
    delete(&mut world.snapshot);
    let grant = world.step();
    assert_eq!(
        *policies(&written(&grant).expect("the grant").fields),
        json!(["*"])
    );
    assert!(
        grant.removals.is_empty(),
        "nothing is deleted that does not hold the grant yet"
    );
    let removal = world.step();
    assert_eq!(removal.removals.len(), 1);
    assert_eq!(
        removal.own.annotations[marks::WORKSPACE],
        None,
        "cleared after the last delete"
    );
    assert!(world.step().is_quiet(), "it waits");
    assert!(!world.is_gone);
    world.settle();
    assert!(world.is_gone);
    assert!(world.infrastructure.is_empty());
}

#[test]
fn a_workspace_deleted_by_another_hand_destroys_nothing_and_comes_back_with_its_state() {
    let mut world = living();
    let before = world.infrastructure.clone();
    world.delete_workspace();
    world.settle();
    assert!(world.workspace().is_settled());
    assert_eq!(world.infrastructure, before);
    let name = &world.workspace().annotations[foreign_marks::EXTERNAL_NAME];
    assert_eq!(std::slice::from_ref(name), before);
}

#[test]
fn a_grant_that_somebody_else_wrote_is_taken_back_also_while_the_workspace_goes() {
    for is_deleting in [false, true] {
        let mut world = living();
        world.workspace_mut().spec["managementPolicies"] = json!(["*"]);
        if is_deleting {
            world.delete_workspace();
        }
        world.calm();
        assert!(!super::super::policy::grants_destruction(&world.workspace().spec));
    }
}

#[test]
fn in_a_terminating_namespace_nothing_is_granted_and_grants_are_taken_back() {
    for mark in [None, Some("true")] {
        let mut world = if mark.is_some() { owned() } else { living() };
        if let Some(mark) = mark {
            annotate(&mut world.snapshot, marks::LET_GO, mark);
        }
        delete(&mut world.snapshot);
        world.step();
        assert!(super::super::policy::grants_destruction(&world.workspace().spec));
        world.snapshot.namespace_terminating = true;
        let decision = world.settle();
        assert_eq!(
            reason(&world.snapshot, &decision, "Deleting"),
            "True/NamespaceTerminating"
        );
        assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
        assert_eq!(world.infrastructure.len(), 1);
    }
}

#[test]
fn a_workspace_that_went_without_being_destroyed_is_made_again_to_destroy_it() {
    let mut world = living();
    delete(&mut world.snapshot);
    world.snapshot.workspaces.clear();
    world.snapshot.template = None;
    world.snapshot.rendering = Err(Vec::new());
    let made = world.step();
    let made = written(&made).expect("a Workspace");
    assert_eq!(*policies(&made.fields), json!([]), "it makes nothing first");
    assert_eq!(
        made.fields["metadata"]["finalizers"],
        json!([foreign_marks::CROSSPLANE_FINALIZER])
    );
    let name = made.fields["metadata"]["annotations"][foreign_marks::EXTERNAL_NAME].as_str();
    assert_eq!(name, world.infrastructure.first().map(String::as_str));
    world.step();
    assert!(world.workspace().deleting, "deleted before it may do everything");
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
    world.settle();
    assert!(world.is_gone);
    assert!(world.infrastructure.is_empty());
}

/// The runner may be done before it is written down that nothing has to be destroyed any more.
#[test]
fn what_is_already_destroyed_is_not_made_by_being_destroyed_again() {
    let mut world = living();
    delete(&mut world.snapshot);
    world.snapshot.workspaces.clear();
    world.infrastructure.clear();
    for _ in 0..10 {
        world.step();
        world.run();
        assert!(world.infrastructure.is_empty());
    }
    assert!(world.is_gone);
}

#[test]
fn a_grant_never_goes_without_the_runners_finalizer() {
    let mut world = living();
    world.workspace_mut().finalizers.clear();
    delete(&mut world.snapshot);
    world.calm();
    assert!(world.workspace().deleting, "it waits for the runner");
    world.settle();
    assert!(world.infrastructure.is_empty());
}

#[test]
fn nothing_to_make_a_lost_workspace_from_holds() {
    let mut world = living();
    world.snapshot.workspaces.clear();
    world.snapshot.kept = Some(KeptSeen {
        uid: "kept".to_owned(),
        owner: None,
        kept: None,
    });
    world.snapshot.rendering = Err(Vec::new());
    let (world, decision) = after_deletion(world);
    assert!(!world.is_gone);
    assert_eq!(
        reason(&world.snapshot, &decision, "Deleting"),
        "True/RenderingLost"
    );
}

#[test]
fn retained_means_retained() {
    let by_spec = |world: &mut World| world.snapshot.wta.spec.retain_workspace_on_delete = Some(true);
    let by_template = |world: &mut World| {
        world.snapshot.rendering = Ok(Rendered {
            retain: true,
            ..rendered("r1")
        });
        world.settle();
        // It is remembered, even if nobody can say it any more.
        world.snapshot.template = None;
        world.snapshot.rendering = Err(Vec::new());
    };
    for retain in [&by_spec as &dyn Fn(&mut World), &by_template] {
        let mut world = living();
        world.snapshot.state_secrets = vec![StateSecretSeen {
            name: "tfstate".to_owned(),
            moves: true,
            is_held: true,
            ..StateSecretSeen::default()
        }];
        world
            .snapshot
            .wta
            .metadata
            .labels
            .get_or_insert_default()
            .insert(foreign_marks::CLUSTER_NAME.to_owned(), "blue".to_owned());
        annotate(&mut world.snapshot, marks::LET_GO, "true");
        retain(&mut world);
        let (world, _) = after_deletion(world);
        assert!(world.is_gone);
        assert_eq!(world.infrastructure.len(), 1);
        let workspace = world.workspace();
        assert!(
            !workspace.labels.contains_key(marks::WTA_NAME) && !workspace.labels.contains_key(marks::WTA_UID)
        );
        assert_eq!(workspace.annotations[marks::RETAINED], "team/blue-apply");
        assert!(!workspace.deleting && !super::super::policy::grants_destruction(&workspace.spec));
        assert!(!world.snapshot.state_secrets[0].moves, "state is unlabelled");
        assert!(world.snapshot.state_secrets[0].is_held, "and still held");
    }
}

/// A deletion in the foreground takes the last rendering first, and with it the memory of what a template forbade.
#[test]
fn what_a_template_may_have_forbidden_is_not_done_because_nobody_remembers() {
    let lost = || {
        let mut world = living();
        world.snapshot.kept = None;
        world.snapshot.template = None;
        world.snapshot.rendering = Err(Vec::new());
        after_deletion(world)
    };
    let (mut world, decision) = lost();
    assert!(!world.is_gone);
    assert_eq!(
        reason(&world.snapshot, &decision, "Deleting"),
        "True/RenderingLost"
    );
    assert_eq!(world.infrastructure.len(), 1);
    // The ways out: the template is back, or a person says it.
    world.snapshot.rendering = Ok(rendered("r1"));
    world.settle();
    assert!(world.is_gone && world.infrastructure.is_empty());
    for is_retained in [true, false] {
        let (mut world, _) = lost();
        world.snapshot.wta.spec.retain_workspace_on_delete = Some(is_retained);
        world.settle();
        assert!(world.is_gone);
        assert_eq!(world.infrastructure.is_empty(), !is_retained);
    }
}

#[test]
fn retention_takes_back_a_grant() {
    let mut world = living();
    delete(&mut world.snapshot);
    world.calm();
    assert!(world.workspace().deleting);
    world.snapshot.wta.spec.retain_workspace_on_delete = Some(true);
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.infrastructure.len(), 1);
}

#[test]
fn those_that_wait_for_it_go_first() {
    let mut world = living();
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    world.snapshot.waits.waits_for = BTreeMap::from([edge("team/user", "team/blue-apply")]);
    let (mut world, decision) = after_deletion(world);
    assert_eq!(
        reason(&world.snapshot, &decision, "Deleting"),
        "True/WaitingForDependents"
    );
    assert!(message(&decision).contains("team/user"));
    assert_eq!(world.infrastructure.len(), 1);
    world.snapshot.waits.waits_for.clear();
    world.settle();
    assert!(world.is_gone && world.infrastructure.is_empty());
}

#[test]
fn those_that_wait_for_each_other_do_not_hold_each_other_up() {
    let mut world = living();
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    world.snapshot.waits.waits_for = BTreeMap::from([
        edge("team/user", "team/blue-apply"),
        edge("team/blue-apply", "team/user"),
    ]);
    let (world, _) = after_deletion(world);
    assert!(world.is_gone && world.infrastructure.is_empty());
}

#[test]
fn destruction_waits_for_its_turn() {
    let mut world = owned();
    annotate(&mut world.snapshot, marks::LET_GO, "true");
    let turn = |turn: &str| {
        Some(OwnerSeen {
            takes_turns: true,
            turn: Some(turn.to_owned()),
            ..OwnerSeen::default()
        })
    };
    world.snapshot.owner = turn("other");
    let (mut world, decision) = after_deletion(world);
    assert_eq!(
        reason(&world.snapshot, &decision, "Deleting"),
        "True/WaitingForTurn"
    );
    assert_eq!(world.infrastructure.len(), 1);
    world.snapshot.owner = turn("blue-apply");
    world.settle();
    assert!(world.is_gone && world.infrastructure.is_empty());
}

#[test]
fn what_lost_its_identity_is_not_destroyed() {
    let mut world = living();
    world.workspace_mut().labels.clear();
    let (world, decision) = after_deletion(world);
    assert!(!world.is_gone);
    assert_eq!(
        reason(&world.snapshot, &decision, "Deleting"),
        "True/WorkspaceNotOurs"
    );
    assert_eq!(world.infrastructure.len(), 1);
}

#[test]
fn what_was_never_made_goes_at_once_and_what_was_let_go_is_left_alone() {
    let mut world = World::new(fresh());
    world.snapshot.awaited_secrets = vec![super::super::snapshot::Awaited {
        name: "missing".to_owned(),
        ..Default::default()
    }];
    world.calm();
    let (world, _) = after_deletion(world);
    assert!(world.is_gone);

    let mut world = living();
    delete(&mut world.snapshot);
    world.snapshot.wta.metadata.finalizers = Some(vec!["somebody.else/finalizer".to_owned()]);
    assert_eq!(world.decide(), Decided::default());
}

#[test]
fn state_is_held_until_the_infrastructure_is_destroyed() {
    let mut world = living();
    world.snapshot.state_secrets = vec![StateSecretSeen {
        name: "tfstate".to_owned(),
        ..StateSecretSeen::default()
    }];
    world.settle();
    assert!(world.snapshot.state_secrets[0].is_held);
    delete(&mut world.snapshot);
    world.calm();
    assert!(world.snapshot.state_secrets[0].is_held);
    world.settle();
    assert!(world.is_gone);
    assert!(!world.snapshot.state_secrets[0].is_held);
}

#[test]
fn a_grant_that_is_taken_back_leaves_a_workspace_that_must_still_be_destroyed() {
    let mut world = living();
    delete(&mut world.snapshot);
    world.calm();
    let is_recorded = |world: &World| {
        let annotations = world.snapshot.wta.metadata.annotations.as_ref();
        annotations.is_some_and(|marked| marked.contains_key(marks::WORKSPACE))
    };
    assert!(!is_recorded(&world), "handed over to the runner");
    world.snapshot.namespace_terminating = true;
    world.calm();
    assert!(is_recorded(&world));
    // Somebody removes the finalizer, and the namespace stays after all.
    world.snapshot.workspaces.clear();
    world.snapshot.namespace_terminating = false;
    world.settle();
    assert!(world.is_gone && world.infrastructure.is_empty());
}

/// A destruction that runs is only known by its Workspace: the record of that is already gone.
#[test]
fn what_cannot_be_read_is_not_taken_for_destroyed() {
    type Change = fn(&mut World);
    let unseen: Change = |world| world.snapshot.workspaces.clear();
    let old: Change = |_| {};
    let without_rendering: Change = |world| {
        world.snapshot.workspaces.clear();
        world.snapshot.kept = None;
    };
    for change in [unseen, old, without_rendering] {
        let mut world = living();
        delete(&mut world.snapshot);
        world.calm();
        assert!(world.workspace().deleting);
        let recorded = identity::annotation(&world.snapshot.wta.metadata, marks::WORKSPACE);
        assert_eq!(recorded, None);
        let before = world.snapshot.clone();
        world.snapshot.served.namespaced = Serving::Hidden;
        change(&mut world);
        let decision = world.calm();
        assert!(!world.is_gone);
        assert_eq!(
            reason(&world.snapshot, &decision, "Deleting"),
            "True/WorkspaceApiMissing"
        );
        assert!(message(&decision).contains("get, list and watch of workspaces.tf.m.upbound.io"));
        assert!(decision.children.is_empty() && decision.removals.is_empty());
        assert_eq!(world.snapshot.state_secrets, before.state_secrets);
        world.snapshot.served = before.served;
        world.snapshot.workspaces = before.workspaces;
        world.settle();
        assert!(world.is_gone && world.infrastructure.is_empty());
    }
}

#[test]
fn only_the_group_that_could_hold_the_workspace_holds_a_deletion() {
    let mut world = living();
    world.snapshot.served.cluster_scoped = Serving::Hidden;
    let (world, _) = after_deletion(world);
    assert!(world.is_gone && world.infrastructure.is_empty());
    // What was never made has no group yet.
    let mut world = World::new(fresh());
    world.snapshot.served = Served {
        namespaced: Serving::Hidden,
        ..Served::default()
    };
    world.calm();
    let (world, _) = after_deletion(world);
    assert!(world.is_gone);
}

/// What a condition of the object says.
fn words(world: &World, type_: &str) -> String {
    let status = world.snapshot.wta.status.as_ref();
    let conditions = status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    let found = find_condition(conditions, type_);
    found
        .map(|found| format!("{}/{}: {}", found.status, found.reason, found.message))
        .unwrap_or_default()
}

#[test]
fn a_way_out_that_is_a_command_works_from_every_namespace() {
    let mut ownerless = owned();
    ownerless.snapshot.owner = None;
    let mut terminating = living();
    terminating.snapshot.namespace_terminating = true;
    let mut paused = living();
    annotate(&mut paused.snapshot, foreign_marks::PAUSED, "true");
    let mut lost = living();
    lost.workspace_mut().labels.clear();
    for (world, type_, expected) in [
        (ownerless, "Deleting", "True/OwnerGone"),
        (terminating, "Deleting", "True/NamespaceTerminating"),
        (paused, "Paused", "True/Paused"),
        (lost, "Deleting", "True/WorkspaceNotOurs"),
    ] {
        let (world, _) = after_deletion(world);
        let told = words(&world, type_);
        assert!(told.starts_with(expected), "{told}");
        let commands: Vec<&str> = told.split("kubectl ").skip(1).collect();
        assert!(!commands.is_empty(), "{told}");
        for command in commands {
            assert!(command.contains("wtapply blue-apply -n team "), "{command}");
        }
    }
}

#[test]
fn a_destruction_that_failed_says_how_it_is_mended_if_anybody_has_to() {
    for (advice, is_told) in [("Mend it.", true), ("It is tried again by itself.", false)] {
        let mut world = living();
        delete(&mut world.snapshot);
        world.step();
        world.step();
        let mut synced = condition("Synced", "False", "ReconcileError", 1);
        synced.message = Some("destroy failed: no".to_owned());
        let mut failing = condition("Failing", "True", "Other", 1);
        failing.message = Some(format!("destroy failed: no\n{advice}"));
        world.workspace_mut().status.conditions = Some(vec![synced, failing]);
        world.step();
        let told = words(&world, "Deleting");
        assert!(
            told.starts_with("True/Destroying: The infrastructure is being destroyed: destroy failed: no"),
            "{told}"
        );
        for way in [
            "change its spec.forProvider: kubectl edit workspaces.tf.m.upbound.io blue -n team",
            "kubectl patch wtapply blue-apply -n team --type merge",
        ] {
            assert_eq!(told.contains(way), is_told, "{told}");
        }
    }
}

#[test]
fn what_went_with_its_namespace_is_not_said_to_be_applied() {
    let mut world = living();
    assert!(words(&world, "Applied").starts_with("True/"));
    world.snapshot.workspaces.clear();
    world.snapshot.namespace_terminating = true;
    delete(&mut world.snapshot);
    world.calm();
    assert_eq!(
        words(&world, "Applied"),
        "False/NamespaceTerminating: The Workspace went with its namespace"
    );
    assert_eq!(
        world.snapshot.wta.status.as_ref().map(|status| status.applied),
        Some(false)
    );
}

#[test]
fn who_deletes_a_namespace_is_told_where_the_state_is_after_the_workspace_is_gone() {
    let mut world = living();
    delete(&mut world.snapshot);
    world.snapshot.namespace_terminating = true;
    world.snapshot.workspaces.clear();
    world.snapshot.kept = None;
    for name in ["tfstate-x-capt", "tfstate-x-capt-part-1"] {
        world.snapshot.state_secrets.push(StateSecretSeen {
            name: name.to_owned(),
            is_held: true,
            ..StateSecretSeen::default()
        });
    }
    let (world, _) = after_deletion(world);
    let told = words(&world, "Deleting");
    for expected in [
        "in the Secrets tfstate-x-capt, tfstate-x-capt-part-1 and held",
        "kubectl patch secret tfstate-x-capt tfstate-x-capt-part-1 -n team --type merge",
        "When its namespace goes",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}
