//! Owners: what they grant, what they are recorded as, and what becomes of those whose owner is gone.

use capt_api::marks;
use serde_json::json;

use super::{
    super::{owner, snapshot::OwnerSeen},
    destruction::after_deletion,
    *,
};

#[test]
fn an_owned_one_is_destroyed_by_its_owners_mark_alone() {
    for (mark, is_destroyed) in [(None, false), (Some("true"), true), (Some("false"), false)] {
        let mut world = owned();
        if let Some(mark) = mark {
            annotate(&mut world.snapshot, marks::LET_GO, mark);
        }
        let (world, _) = after_deletion(world);
        assert!(world.is_gone);
        assert_eq!(world.infrastructure.is_empty(), is_destroyed, "{mark:?}");
        assert_eq!(world.snapshot.workspaces.is_empty(), is_destroyed, "{mark:?}");
    }
}

#[test]
fn a_stripped_owner_reference_changes_nothing() {
    let mut world = owned();
    world.snapshot.wta.metadata.owner_references = None;
    let (world, _) = after_deletion(world);
    assert!(world.is_gone);
    assert_eq!(world.infrastructure.len(), 1);
}

#[test]
fn an_owner_that_is_gone_or_going_without_its_mark_holds_everything() {
    for (owner, expected) in [
        (None, "True/OwnerGone"),
        (
            Some(OwnerSeen {
                deleting: true,
                ..OwnerSeen::default()
            }),
            "True/WaitingForOwner",
        ),
    ] {
        let mut world = owned();
        world.snapshot.owner = owner;
        let (mut world, decision) = after_deletion(world);
        assert!(!world.is_gone);
        assert_eq!(reason(&world.snapshot, &decision, "Deleting"), expected);
        assert_eq!(world.infrastructure.len(), 1);
        // The way out.
        annotate(&mut world.snapshot, marks::LET_GO, "true");
        world.settle();
        assert!(world.is_gone && world.infrastructure.is_empty());
    }
}

/// Something that knows nothing of capt's marks, such as a Crossplane composition, is an owner all the same.
#[test]
fn an_owner_of_another_kind_hinders_no_work_and_grants_no_destruction() {
    let of_another_kind = |is_controller: bool| {
        let mut snapshot = fresh();
        own(&mut snapshot);
        snapshot.owner = None;
        let reference = &mut snapshot.wta.metadata.owner_references.as_mut().expect("owners")[0];
        reference.api_version = "example.org/v1".to_owned();
        // As long as a name may be, so that the label has to be cut, and like one of ours at first sight.
        (reference.kind, reference.name) = ("CAPTClusterSet".to_owned(), "x".repeat(253));
        reference.controller = Some(is_controller);
        let mut world = World::new(snapshot);
        world.settle();
        assert!(world.workspace().is_settled());
        world
    };
    // Also who does not control it takes it along when it goes.
    for (is_controller, is_reference_stripped) in [(true, false), (true, true), (false, false), (false, true)]
    {
        let mut world = of_another_kind(is_controller);
        if is_reference_stripped {
            world.snapshot.wta.metadata.owner_references = None;
        }
        let (mut world, decision) = after_deletion(world);
        assert!(!world.is_gone);
        assert_eq!(
            reason(&world.snapshot, &decision, "Deleting"),
            "True/ConsentMissing"
        );
        assert_eq!(world.infrastructure.len(), 1);
        let said = world
            .snapshot
            .wta
            .status
            .as_ref()
            .and_then(|status| status.message.clone());
        let said = said.expect("a message");
        assert!(
            said.contains("CAPTClusterSet x") && said.contains(marks::LET_GO),
            "{said}"
        );
        annotate(&mut world.snapshot, marks::LET_GO, "true");
        world.settle();
        assert!(world.is_gone && world.infrastructure.is_empty());
    }
    // The consent may be there from the beginning.
    for is_controller in [true, false] {
        let mut world = of_another_kind(is_controller);
        annotate(&mut world.snapshot, marks::LET_GO, "true");
        let (world, _) = after_deletion(world);
        assert!(world.is_gone && world.infrastructure.is_empty());
    }
}

/// Who controls an object owns it; where nobody does, those that can speak come before the others.
#[test]
fn the_owner_is_who_controls_it_or_who_speaks_or_who_is_there() {
    type References = &'static [(&'static str, bool)];
    let cases: [(References, Option<&str>); 6] = [
        (&[], None),
        (&[("ConfigMap", false)], Some("ConfigMap.a")),
        (
            &[("ConfigMap", false), ("CAPTCluster", false)],
            Some("CAPTCluster.b"),
        ),
        (
            &[("CAPTCluster", false), ("Composition", true)],
            Some("Composition.b"),
        ),
        (&[("Cluster", false), ("Composition", false)], Some("Cluster.a")),
        (
            &[("CAPTCluster", true), ("ConfigMap", false)],
            Some("CAPTCluster.a"),
        ),
    ];
    for (references, expected) in cases {
        let mut wta = fresh().wta;
        let one = |(&(kind, is_controller), name): (&(&str, bool), &str)| OwnerReference {
            api_version: "example.org/v1".to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
            controller: is_controller.then_some(true),
            block_owner_deletion: None,
        };
        wta.metadata.owner_references = Some(references.iter().zip(["a", "b"]).map(one).collect());
        assert_eq!(owner::recorded(&wta).as_deref(), expected, "{references:?}");
    }
}

#[test]
fn a_workspace_that_went_too_is_made_again_before_an_object_is_left_to_its_owner() {
    let mut world = owned();
    world.snapshot.workspaces.clear();
    delete(&mut world.snapshot);
    world.step();
    assert!(!world.is_gone);
    assert_eq!(
        world.workspace().spec["managementPolicies"],
        json!([]),
        "a deleting one never unpauses"
    );
    world.step();
    assert!(world.is_gone);
    assert_eq!(world.snapshot.workspaces.len(), 1);
}

/// The one that the owner makes in place of this one would make everything a second time.
#[test]
fn what_the_next_one_would_not_find_is_not_left_to_the_owner() {
    type Change = fn(&mut World);
    let nothing_to_make_it_from: Change = |world| {
        world.snapshot.workspaces.clear();
        world.snapshot.kept = None;
        world.snapshot.template = None;
        world.snapshot.rendering = Err(Vec::new());
    };
    let no_api: Change = |world| {
        world.snapshot.workspaces.clear();
        world.snapshot.served = Served::default();
    };
    let no_name: Change = |world| {
        world.snapshot.workspaces.clear();
        annotate(&mut world.snapshot, marks::WORKSPACE, "nonsense");
    };
    let no_identity: Change = |world| world.workspace_mut().labels.clear();
    for (change, expected) in [
        (nothing_to_make_it_from, "True/RenderingLost"),
        (no_api, "True/WorkspaceApiMissing"),
        (no_name, "True/RenderingLost"),
        (no_identity, "True/WorkspaceNotOurs"),
    ] {
        let mut world = owned();
        change(&mut world);
        let (mut world, decision) = after_deletion(world);
        assert!(!world.is_gone, "{expected}");
        assert_eq!(reason(&world.snapshot, &decision, "Deleting"), expected);
        assert_eq!(world.infrastructure.len(), 1);
        // Keeping it is no way out as long as the owner would make another one.
        world.snapshot.wta.spec.retain_workspace_on_delete = Some(true);
        world.settle();
        assert!(!world.is_gone, "{expected}");
        // The way out is told, and says what it does.
        let text = message(&decision);
        assert!(
            text.contains("make everything anew") && text.contains(&format!("{}-", marks::WORKSPACE)),
            "{text}"
        );
        let annotations = world.snapshot.wta.metadata.annotations.as_mut().unwrap();
        annotations.remove(marks::WORKSPACE);
        world.settle();
        assert!(world.is_gone, "{expected}");
        assert_eq!(world.infrastructure.len(), 1);
    }
}

/// Retention says what becomes of infrastructure when its owner goes. Before that, the owner takes it up again.
#[test]
fn what_is_to_be_retained_is_left_to_a_living_owner_all_the_same() {
    let mut world = owned();
    world.snapshot.wta.spec.retain_workspace_on_delete = Some(true);
    world.settle();
    let (world, _) = after_deletion(world);
    assert!(world.is_gone);
    assert_eq!(world.infrastructure.len(), 1);
    let workspace = world.workspace();
    assert!(!workspace.annotations.contains_key(marks::RETAINED));
    assert!(workspace.labels.contains_key(marks::WTA_NAME));
}

/// A child that waits for its turn while the others have theirs.
fn queued() -> World {
    let mut snapshot = fresh();
    own(&mut snapshot);
    let turn = |name: &str| {
        Some(OwnerSeen {
            takes_turns: true,
            turn: Some(name.to_owned()),
            ..OwnerSeen::default()
        })
    };
    snapshot.owner = turn("blue-apply");
    let mut world = World::new(snapshot);
    world.calm();
    assert!(!world.workspace().is_settled());
    world.snapshot.owner = turn("other");
    world.settle();
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
    assert!(world.infrastructure.is_empty());
    world
}

/// An owner that goes makes a child again only to end what it left.
#[test]
fn nothing_is_made_or_changed_for_an_owner_that_goes() {
    let going = Some(OwnerSeen {
        deleting: true,
        ..OwnerSeen::default()
    });
    let mut snapshot = fresh();
    own(&mut snapshot);
    snapshot.owner.clone_from(&going);
    let mut world = World::new(snapshot);
    let decision = world.settle();
    assert!(world.snapshot.workspaces.is_empty());
    assert_eq!(
        reason(&world.snapshot, &decision, "Waiting"),
        "True/WaitingForOwner"
    );
    let mut world = owned();
    let before = world.workspace().spec.clone();
    world.snapshot.owner = going;
    world.snapshot.rendering = Ok(rendered("r2"));
    let decision = world.settle();
    assert_eq!(world.workspace().spec, before);
    assert_eq!(
        reason(&world.snapshot, &decision, "Applied"),
        "False/WaitingForOwner"
    );
    // What was there goes on as it was.
    assert!(world.workspace().is_settled());
}

/// If all who wait for a turn began when their owner is gone, they would be in each other's way.
#[test]
fn an_owner_that_is_gone_gives_nobody_a_turn() {
    let mut world = queued();
    world.snapshot.owner = None;
    let decision = world.settle();
    assert_eq!(
        reason(&world.snapshot, &decision, "Waiting"),
        "True/WaitingForTurn"
    );
    assert!(message(&decision).contains("owner is gone"), "{decision:?}");
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
    assert!(world.infrastructure.is_empty());
    // Nor is it owed to one that the owner made of another kind, which knows no turns.
    let labels = world.snapshot.wta.metadata.labels.get_or_insert_default();
    labels.insert(marks::OWNER.to_owned(), owner::label("CAPTCluster", "blue"));
    world.settle();
    assert!(world.workspace().is_settled());
}

#[test]
fn what_was_done_before_the_owner_was_gone_lives_on() {
    let mut world = owned();
    world.snapshot.owner = None;
    world.settle();
    assert!(world.workspace().is_settled());
    // Terraform has trouble for a while.
    let generation = world.workspace().generation;
    let trouble = condition("Synced", "False", "ReconcileError", generation);
    world.workspace_mut().status.conditions = Some(vec![trouble]);
    world.calm();
    assert_ne!(world.workspace().spec["managementPolicies"], json!([]));
    world.delete_workspace();
    world.settle();
    assert!(world.workspace().is_settled());
    assert_eq!(world.infrastructure.len(), 1);
}

/// It says where the state is.
#[test]
fn the_workspace_of_one_that_waits_in_vain_comes_back_at_rest() {
    let mut world = queued();
    world.snapshot.owner = None;
    world.snapshot.workspaces.clear();
    world.settle();
    assert_eq!(world.workspace().spec["managementPolicies"], json!([]));
    assert!(world.infrastructure.is_empty());
}

/// Nobody else could ever end that wait.
#[test]
fn who_lets_go_of_the_child_of_a_lost_owner_waits_for_no_turn() {
    let mut world = queued();
    world.snapshot.owner = None;
    annotate(&mut world.snapshot, marks::LET_GO, "true");
    let (world, _) = after_deletion(world);
    assert!(world.is_gone);
}
