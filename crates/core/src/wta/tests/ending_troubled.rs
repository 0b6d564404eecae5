//! What failed, or was changed elsewhere, goes without anything being begun for it.

use capt_api::marks;
use serde_json::json;

use super::{super::snapshot::OwnerSeen, *};

/// One that belongs to a control plane, has the turn and is ready.
fn with_turn() -> World {
    let mut world = owned();
    world.snapshot.owner = Some(OwnerSeen {
        takes_turns: true,
        turn: Some("blue-apply".to_owned()),
        ..OwnerSeen::default()
    });
    world.settle();
    world
}

/// Its Workspace says this of itself, as it is.
fn say(world: &mut World, type_: &str, status: &str, reason: &str) {
    let workspace = world.workspace_mut();
    let said = condition(type_, status, reason, workspace.generation);
    let conditions = workspace.status.conditions.get_or_insert_default();
    conditions.retain(|one| one.type_ != type_);
    conditions.push(said);
}

fn fail(world: &mut World) {
    say(world, "Synced", "False", "ReconcileError");
}

fn drift(world: &mut World) {
    let mark = (marks::MEND.to_owned(), marks::IN_TURN.to_owned());
    world.workspace_mut().annotations.extend([mark]);
    say(world, "Drifted", "True", "DriftFound");
}

#[test]
fn what_is_not_well_may_do_nothing_until_its_workspace_goes() {
    for (name, spoil) in [("failed", fail as fn(&mut World)), ("drifted", drift)] {
        let mut world = with_turn();
        spoil(&mut world);
        annotate(&mut world.snapshot, marks::LET_GO, "true");
        delete(&mut world.snapshot);
        for step in 0..5 {
            world.step();
            let workspace = world.workspace();
            let may_do_nothing = workspace.spec["managementPolicies"] == json!([]);
            assert!(workspace.deleting || may_do_nothing, "{name}, step {step}");
            let mend = workspace.annotations.get(marks::MEND).map(String::as_str);
            assert_eq!(mend, Some(marks::IN_TURN), "{name}: nothing is mended");
        }
        let workspace = world.workspace();
        assert!(workspace.deleting, "{name}");
        assert_eq!(workspace.spec["managementPolicies"], json!(["*"]), "{name}");
        world.settle();
        assert!(world.is_gone && world.infrastructure.is_empty(), "{name}");
    }
}

#[test]
fn who_is_about_to_be_removed_begins_nothing_with_the_turn() {
    for (mark, expected) in [
        (None, json!(["Observe", "Create", "Update", "LateInitialize"])),
        (Some("true"), json!([])),
    ] {
        let mut world = with_turn();
        world.workspace_mut().spec["managementPolicies"] = json!([]);
        fail(&mut world);
        drift(&mut world);
        if let Some(mark) = mark {
            annotate(&mut world.snapshot, marks::LET_GO, mark);
        }
        world.calm();
        let workspace = world.workspace();
        assert_eq!(workspace.spec["managementPolicies"], expected, "{mark:?}");
        let is_mended = workspace.annotations[marks::MEND] != marks::IN_TURN;
        assert_eq!(is_mended, mark.is_none(), "{mark:?}");
    }
}

#[test]
fn what_goes_does_not_tell_that_it_rests_or_of_nothing() {
    for (reason, words) in [("ReconcilePaused", "it is not its turn"), ("ReconcileError", "")] {
        let mut world = with_turn();
        annotate(&mut world.snapshot, marks::LET_GO, "true");
        delete(&mut world.snapshot);
        world.calm();
        assert!(world.workspace().deleting);
        say(&mut world, "Synced", "False", reason);
        let conditions = world.workspace_mut().status.conditions.as_mut();
        let synced = conditions.expect("conditions").last_mut().expect("Synced");
        synced.message = Some(words.to_owned());
        let decision = world.step();
        let told = decision
            .own
            .status
            .as_ref()
            .or(world.snapshot.wta.status.as_ref());
        let told = told.and_then(|status| status.message.clone());
        assert_eq!(
            told.as_deref(),
            Some("The infrastructure is being destroyed"),
            "{reason}"
        );
    }
}

#[test]
fn who_is_let_on_does_not_tell_that_it_rested() {
    for (generations_ago, expected) in [(0, true), (1, false)] {
        let mut world = with_turn();
        say(&mut world, "Synced", "False", "ReconcilePaused");
        let workspace = world.workspace_mut();
        workspace.generation += generations_ago;
        let conditions = workspace.status.conditions.as_mut();
        let synced = conditions.expect("conditions").last_mut().expect("Synced");
        synced.message = Some("it is not its turn".to_owned());
        world.calm();
        let told = world.snapshot.wta.status.as_ref();
        let told = told.and_then(|status| status.message.clone()).unwrap_or_default();
        assert_eq!(told.contains("not its turn"), expected, "{told}");
    }
}
