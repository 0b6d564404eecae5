//! Whoever wants to keep something may say so late, and it ends well all the same.

use super::{super::snapshot::StateSecretSeen, *};

fn keep(world: &mut World) {
    world.snapshot.wta.spec.retain_workspace_on_delete = Some(true);
}

fn says(world: &World) -> String {
    let status = world.snapshot.wta.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    let deleting = find_condition(conditions.unwrap_or_default(), "Deleting");
    deleting.map_or_else(String::new, |said| format!("{}: {}", said.reason, said.message))
}

/// One with a state, which goes along with its Cluster.
fn with_state() -> World {
    let mut world = living();
    let labels = world.snapshot.wta.metadata.labels.get_or_insert_default();
    labels.insert(foreign_marks::CLUSTER_NAME.to_owned(), "blue".to_owned());
    world.snapshot.state_secrets = vec![StateSecretSeen {
        name: "tfstate".to_owned(),
        moves: true,
        is_held: true,
        ..StateSecretSeen::default()
    }];
    world.settle();
    world
}

/// The object is gone, and everything else is there as one that is kept has it.
fn assert_kept(world: &World, case: &str) {
    assert!(world.is_gone, "{case}");
    assert_eq!(world.infrastructure.len(), 1, "{case}");
    let workspace = world.workspace();
    assert!(!workspace.deleting, "{case}");
    assert_eq!(
        workspace.annotations[marks::RETAINED],
        "team/blue-apply",
        "{case}"
    );
    for label in [marks::WTA_NAMESPACE, marks::WTA_NAME, marks::WTA_UID] {
        assert!(!workspace.labels.contains_key(label), "{case}: {label}");
    }
    let name = &workspace.annotations[foreign_marks::EXTERNAL_NAME];
    assert_eq!(std::slice::from_ref(name), world.infrastructure, "{case}");
    assert!(
        !super::super::policy::grants_destruction(&workspace.spec),
        "{case}"
    );
    let state = &world.snapshot.state_secrets[0];
    assert!(state.is_held && !state.moves, "{case}");
}

#[test]
fn what_is_to_be_kept_is_kept_at_whatever_point_of_its_deletion_that_is_said() {
    type Begin = fn(&mut World);
    let ways: [(&str, Begin); 4] = [
        ("granted", |_| {}),
        ("made calm first", |world| {
            let drifted = condition("Drifted", "True", "DriftFound", 1);
            let conditions = &mut world.workspace_mut().status.conditions;
            conditions.get_or_insert_default().push(drifted);
        }),
        ("deleted by another hand", World::delete_workspace),
        ("deleted by another hand, and gone", |world| {
            world.snapshot.workspaces.clear();
        }),
    ];
    for (way, begin) in ways {
        for steps in 0..6 {
            let mut world = with_state();
            begin(&mut world);
            delete(&mut world.snapshot);
            for _ in 0..steps {
                world.step();
            }
            keep(&mut world);
            world.settle();
            assert_kept(&world, &format!("{way}, after {steps} steps"));
        }
    }
}

#[test]
fn what_waits_in_its_deletion_for_a_word_of_its_owner_is_kept_if_a_person_says_so() {
    let mut world = with_state();
    own(&mut world.snapshot);
    world.settle();
    annotate(&mut world.snapshot, marks::LET_GO, "true");
    delete(&mut world.snapshot);
    world.calm();
    assert!(world.workspace().deleting);
    let annotations = world.snapshot.wta.metadata.annotations.get_or_insert_default();
    annotations.remove(marks::LET_GO);
    world.snapshot.owner = None;
    world.settle();
    assert!(says(&world).starts_with("OwnerGone"), "{}", says(&world));
    assert_eq!(policies(&json!({"spec": world.workspace().spec})), &json!([]));
    keep(&mut world);
    world.settle();
    assert_kept(&world, "OwnerGone");
}

/// Caches may be older than what we did ourselves.
#[test]
fn a_deletion_that_shows_only_after_the_mark_does_not_leave_a_workspace_that_goes_for_ever() {
    let mut world = with_state();
    delete(&mut world.snapshot);
    keep(&mut world);
    world.step();
    assert_eq!(world.workspace().annotations[marks::RETAINED], "team/blue-apply");
    assert!(!world.is_gone, "it waits for what it wrote to be seen");
    world.delete_workspace();
    world.settle();
    assert_kept(&world, "late");
}

#[test]
fn a_workspace_that_was_kept_before_is_not_touched_by_an_object_whose_it_never_was() {
    let mut world = with_state();
    delete(&mut world.snapshot);
    keep(&mut world);
    world.settle();
    let mut kept = world.snapshot.workspaces.clone();
    for workspace in &mut kept {
        Arc::make_mut(workspace).deleting = true;
    }
    let mut next = World::new(fresh());
    next.snapshot.workspaces.clone_from(&kept);
    next.calm();
    delete(&mut next.snapshot);
    next.calm();
    assert!(next.is_gone);
    assert_eq!(next.snapshot.workspaces, kept);
}

#[test]
fn who_keeps_late_is_told_what_began_and_what_it_waits_for() {
    let mut world = with_state();
    delete(&mut world.snapshot);
    world.calm();
    let deleting = condition("Ready", "False", "Deleting", 1);
    world.workspace_mut().status.conditions = Some(vec![deleting]);
    let paused = foreign_marks::CROSSPLANE_PAUSED.to_owned();
    world
        .workspace_mut()
        .annotations
        .insert(paused, "true".to_owned());
    keep(&mut world);
    let first = world.step();
    assert_eq!(*policies(&written(&first).expect("no grant").fields), json!([]));
    let told = says(&world);
    for expected in [
        "Retained: The Workspace blue was being deleted already",
        "destruction of its infrastructure had begun: what that leaves is kept",
        "kubectl annotate workspaces.tf.m.upbound.io blue -n team crossplane.io/paused-",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    assert!(
        first
            .events
            .iter()
            .any(|event| event.message.contains("had begun"))
    );
}

#[test]
fn what_cannot_be_made_again_does_not_hold_an_object_that_is_to_be_kept() {
    let mut world = with_state();
    delete(&mut world.snapshot);
    world.calm();
    world.snapshot.namespace_terminating = true;
    keep(&mut world);
    let last = world.settle();
    assert!(world.is_gone && world.snapshot.workspaces.is_empty());
    assert_eq!(world.infrastructure.len(), 1);
    assert!(world.snapshot.state_secrets[0].is_held);
    assert!(last.children.iter().all(|child| child.target.kind == "Secret"));
}

#[test]
fn a_state_that_would_go_with_its_workspace_keeps_that_from_going() {
    let mut world = with_state();
    delete(&mut world.snapshot);
    world.calm();
    world.snapshot.runner = Runner::Foreign;
    keep(&mut world);
    world.settle();
    assert!(world.is_gone);
    assert_eq!(world.infrastructure.len(), 1);
    assert!(world.workspace().deleting);
    assert!(says(&world).contains("stays so"), "{}", says(&world));
}

#[test]
fn what_somebody_else_took_since_it_was_kept_is_left_alone_while_it_goes() {
    let mut world = living();
    delete(&mut world.snapshot);
    let workspace = world.workspace_mut();
    workspace.deleting = true;
    workspace
        .annotations
        .insert(marks::RETAINED.to_owned(), "true".to_owned());
    workspace
        .labels
        .insert(marks::WTA_NAME.to_owned(), "another".to_owned());
    let decision = world.decide();
    assert!(decision.children.is_empty(), "{:#?}", decision.children);
    assert!(decision.removals.is_empty());
}
