//! What the status says.

use capt_api::conditions::find_condition;
use serde_json::json;

use super::{
    super::{snapshot::StateSecretSeen, source},
    *,
};
use crate::decision::EventKind;

fn status(world: &World) -> &WorkspaceTemplateApplyStatus {
    world.snapshot.wta.status.as_ref().expect("a status")
}

#[test]
fn a_ready_one_says_what_it_has() {
    let mut world = living();
    let outputs = json!({"outputs": {"vpc_id": "vpc-1"}});
    world.workspace_mut().status.at_provider = serde_json::from_value(outputs).ok();
    world.calm();
    let status = status(&world);
    assert!(status.applied);
    assert_eq!(status.workspace_name.as_deref(), Some("blue"));
    assert_eq!(status.last_applied_revision.as_deref(), Some("r1"));
    assert_eq!(status.template_revision.as_deref(), Some("t1"));
    assert_eq!(status.pending_revision, None);
    assert_eq!(status.observed_generation, Some(1));
    assert_eq!(status.message, None);
    assert_eq!(status.outputs.as_ref().expect("outputs")["vpc_id"], "vpc-1");
}

#[test]
fn outputs_go_when_a_workspace_that_is_made_has_none() {
    let mut world = living();
    let outputs = json!({"outputs": {"token": "open"}});
    world.workspace_mut().status.at_provider = serde_json::from_value(outputs).ok();
    world.calm();
    let synced = world.workspace_mut().status.clone();
    world.workspace_mut().status.at_provider = None;
    world.workspace_mut().status.conditions = None;
    world.calm();
    assert!(status(&world).outputs.is_some(), "nothing is known yet");
    world.workspace_mut().status = synced;
    world.workspace_mut().status.at_provider = serde_json::from_value(json!({"checksum": "c"})).ok();
    world.calm();
    assert_eq!(status(&world).outputs, None);
}

#[test]
fn the_time_of_the_last_apply_changes_with_the_rendering_only() {
    let mut world = living();
    let before = status(&world).last_applied_time.clone();
    assert!(before.is_some());
    world.snapshot.missing_inputs = vec!["a Secret".to_owned()];
    world.calm();
    assert_eq!(status(&world).last_applied_time, before);
    world.snapshot.rendering = Ok(rendered("r2"));
    world.settle();
    assert_ne!(status(&world).last_applied_time, before);
}

#[test]
fn synced_and_ready_are_the_workspaces_as_they_are() {
    let mut world = living();
    let mut synced = condition("Synced", "False", "ReconcileError", 7);
    synced.message = Some("observe failed: x".to_owned());
    synced.last_transition_time = Time(at(77));
    let other = condition("Progressing", "True", "Applying", 7);
    world.workspace_mut().status.conditions = Some(vec![synced, other]);
    world.calm();
    let conditions = status(&world).conditions.as_deref().expect("conditions");
    let mirrored = find_condition(conditions, "Synced").expect("Synced");
    assert_eq!(
        (
            &*mirrored.status,
            &*mirrored.reason,
            &*mirrored.message,
            mirrored.observed_generation
        ),
        ("False", "ReconcileError", "observe failed: x", Some(7))
    );
    assert_eq!(mirrored.last_transition_time, Time(at(77)));
    assert!(find_condition(conditions, "Ready").is_none());
    assert!(find_condition(conditions, "Progressing").is_none());
    world.snapshot.workspaces.clear();
    world.step();
    let conditions = status(&world).conditions.as_deref().expect("conditions");
    assert!(find_condition(conditions, "Synced").is_none());
}

#[test]
fn the_message_says_why_terraform_failed_or_how_far_it_is() {
    let mut world = living();
    let progress = json!({
        "operation": "apply", "resourcesDone": 1, "resourcesTotal": 3, "currentResource": "aws_vpc.main",
    });
    world.snapshot.progress = serde_json::from_value(progress).ok();
    world.calm();
    let message = |world: &World| status(world).message.clone();
    assert_eq!(
        message(&world).as_deref(),
        Some("apply: 1 of 3 resources, now aws_vpc.main")
    );
    let begun = json!({"operation": "plan", "resourcesDone": 0, "resourcesTotal": 0});
    world.snapshot.progress = serde_json::from_value(begun).ok();
    world.calm();
    assert_eq!(
        message(&world).as_deref(),
        Some("plan"),
        "how many there are is not known yet"
    );

    let mut synced = condition("Synced", "False", "ReconcileError", 7);
    synced.message = Some("apply failed: no credentials\nand more".to_owned());
    world.workspace_mut().status.conditions = Some(vec![synced]);
    world.calm();
    assert_eq!(
        message(&world).as_deref(),
        Some("apply failed: no credentials and more")
    );

    let again = json!({"operation": "apply", "attempt": 2, "resourcesDone": 1, "resourcesTotal": 3});
    world.snapshot.progress = serde_json::from_value(again).ok();
    world.calm();
    assert_eq!(
        message(&world).as_deref(),
        Some("apply, attempt 2: 1 of 3 resources"),
        "what failed before is the past"
    );

    world.snapshot.progress = None;
    // What follows is another error. Of a long one the middle is left out; what can be done is said in any case.
    let long = format!("apply failed: {}\n\nanother", "ä ".repeat(500) + "the cause");
    let mut failing = condition("Failing", "True", "Network", 7);
    failing.message = Some(format!("{long}\nTry again."));
    let mut synced = condition("Synced", "False", "ReconcileError", 7);
    synced.message = Some(long);
    world.workspace_mut().status.conditions = Some(vec![synced, failing]);
    world.calm();
    let said = message(&world).expect("a message");
    assert!(
        said.starts_with("apply failed: ä")
            && said.contains(" … ä")
            && said.ends_with("the cause. Try again."),
        "{said}"
    );

    // What we wait for ourselves comes first.
    world.snapshot.template = None;
    world.calm();
    assert!(message(&world).is_some_and(|message| message.contains("is gone")));
}

#[test]
fn variables_that_the_template_does_not_know_are_told_once_and_keep_nobody_from_applying() {
    let template = |snapshot: &mut Snapshot, value: &str| {
        let spec = json!({
            "variables": [{"name": "declared"}],
            "template": {"spec": {"forProvider": {
                "source": "Inline", "module": "a = \"${size}\"\n",
                "vars": [{"key": "region", "value": value}],
            }}},
        });
        snapshot.template.as_mut().expect("a template").spec = read(spec);
    };
    let look = |world: &mut World, given: &[&str]| {
        let given = given.iter().map(|name| ((*name).to_owned(), "x".to_owned()));
        world.snapshot.wta.spec.variables = Some(given.collect());
        world.snapshot.rendering = source::render(&world.snapshot);
        world.snapshot.unknown_variables = source::unknown(&world.snapshot);
    };
    let mut snapshot = fresh();
    template(&mut snapshot, "${region}");
    let mut world = World::new(snapshot.clone());

    // Known by a hole in a field, by one in the module, by a declaration.
    look(&mut world, &["region", "size", "declared", "WORKSPACE_NAME"]);
    world.settle();
    assert_eq!(
        told(&world, "VariablesKnown"),
        ("True/VariablesKnown".to_owned(), String::new())
    );
    assert_eq!(status(&world).message, None);

    // A mistake that leaves a hole open: both are told, and the last rendering stays.
    look(&mut world, &["regoin", "size"]);
    let before = world.workspace().spec.clone();
    let decision = world.step();
    let events: Vec<_> = decision.events.iter().map(|event| &*event.reason).collect();
    assert_eq!(events, ["VariableUnknown", "VariableMissing"]);
    assert!(
        decision
            .events
            .iter()
            .all(|event| event.kind == EventKind::Warning)
    );
    assert_eq!(world.workspace().spec, before);
    let (said, words) = told(&world, "Applied");
    assert_eq!(said, "False/VariableMissing");
    assert!(
        words.contains("no variable fills ${region}") && words.contains("regoin (did you mean region?)"),
        "{words}"
    );
    assert_eq!(status(&world).message.as_deref(), Some(&*words));
    assert!(world.calm().is_quiet(), "no loop");

    // One that leaves none open.
    let mut world = World::new(snapshot);
    template(&mut world.snapshot, "here");
    look(&mut world, &["size", "extra", "declraed"]);
    world.settle();
    assert!(world.workspace().is_settled());
    let expected = "spec.variables has declraed (did you mean declared?), extra, which fill no hole of the template and \
                    so change nothing: correct the names, or remove them";
    assert_eq!(
        told(&world, "VariablesKnown"),
        ("False/VariableUnknown".to_owned(), expected.to_owned())
    );
    assert_eq!(told(&world, "Applied").0, "True/Applied");
    assert_eq!(status(&world).message.as_deref(), Some(expected));
    assert!(world.calm().is_quiet(), "no loop");

    // What may be lost is more than a mistake in a name.
    let mut torn = condition("StateComplete", "False", "ResourcesMissing", 1);
    torn.message = Some("aws_vpc.this may exist".to_owned());
    world
        .workspace_mut()
        .status
        .conditions
        .get_or_insert_default()
        .push(torn);
    world.settle();
    assert_eq!(status(&world).message.as_deref(), Some("aws_vpc.this may exist"));

    // Owners of our own kinds give more than every template wants; others are people, or made by people.
    own(&mut world.snapshot);
    assert_eq!(source::unknown(&world.snapshot), []);
    let owner = world
        .snapshot
        .wta
        .metadata
        .owner_references
        .as_mut()
        .expect("an owner");
    owner[0].kind = "Composition".to_owned();
    assert_eq!(source::unknown(&world.snapshot).len(), 2);
}

#[test]
fn a_hole_in_a_module_is_told_and_nothing_is_made() {
    let mut snapshot = fresh();
    let spec =
        json!({"template": {"spec": {"forProvider": {"source": "Inline", "module": "a = \"${name}\"\n"}}}});
    snapshot.template.as_mut().expect("a template").spec = read(spec);
    snapshot.rendering = source::render(&snapshot);
    let mut world = World::new(snapshot);
    let decision = world.settle();
    let (said, words) = told(&world, "Applied");
    assert_eq!(said, "False/VariableMissing");
    assert!(
        words.contains("module, line 1, column 6: no variable fills ${name}"),
        "{words}"
    );
    assert_eq!(status(&world).message.as_deref(), Some(&*words));
    assert!(
        decision
            .events
            .iter()
            .any(|event| event.reason == "VariableMissing"),
        "{decision:?}"
    );
    assert!(world.snapshot.workspaces.is_empty() && world.snapshot.kept.is_none());
}

/// Status and reason of a condition, and its message.
fn told(world: &World, type_: &str) -> (String, String) {
    let conditions = status(world).conditions.as_deref().expect("conditions");
    let found = find_condition(conditions, type_).expect("the condition");
    (
        format!("{}/{}", found.status, found.reason),
        found.message.clone(),
    )
}

#[test]
fn conditions_of_others_are_neither_kept_nor_taken_away_nor_a_reason_to_write() {
    let mut world = living();
    let conditions = world
        .snapshot
        .wta
        .status
        .as_mut()
        .and_then(|status| status.conditions.as_mut());
    let conditions = conditions.expect("conditions");
    let mut others = conditions[0].clone();
    others.type_ = "CostKnown".to_owned();
    // Wherever the API puts it.
    conditions.insert(0, others);
    conditions.rotate_left(2);
    let decision = decide(&world.snapshot, at(99));
    assert!(decision.is_quiet(), "{decision:?}");
    world.snapshot.missing_inputs = vec!["a Secret".to_owned()];
    let status = decide(&world.snapshot, at(99)).own.status.expect("news");
    assert!(find_condition(&status.conditions.expect("conditions"), "CostKnown").is_none());
}

#[test]
fn a_message_that_is_too_long_for_a_condition_is_cut() {
    let mut world = living();
    let mut synced = condition("Synced", "False", "ReconcileError", 7);
    synced.message = Some("ä".repeat(40_000));
    world.workspace_mut().status.conditions = Some(vec![synced]);
    world.calm();
    let conditions = status(&world).conditions.as_deref().expect("conditions");
    let mirrored = find_condition(conditions, "Synced").expect("Synced");
    assert_eq!(mirrored.message.chars().count(), 32_768);
}

#[test]
fn all_conditions_of_ours_are_there_and_keep_their_times() {
    let mut world = living();
    let conditions = status(&world).conditions.clone().expect("conditions");
    for type_ in [
        "Applied",
        "VariablesKnown",
        "Waiting",
        "ApprovalNeeded",
        "Paused",
        "Deleting",
    ] {
        assert!(find_condition(&conditions, type_).is_some(), "{type_}");
    }
    world.snapshot.rendering = Err(Vec::new());
    world.snapshot.template = None;
    world.calm();
    let after = status(&world).conditions.clone().expect("conditions");
    let time = |conditions: &[_]| {
        find_condition(conditions, "Applied")
            .expect("Applied")
            .last_transition_time
            .clone()
    };
    assert_eq!(time(&conditions), time(&after), "True before and after");
}

#[test]
fn a_change_is_told_once() {
    let mut world = living();
    world.snapshot.template = None;
    let first = world.step();
    assert_eq!(first.events.len(), 1);
    assert_eq!(first.events[0].reason, "TemplateGone");
    assert!(world.step().events.is_empty());
}

#[test]
fn a_problem_is_named_with_what_to_do() {
    let mut snapshot = fresh();
    snapshot.template = None;
    snapshot.rendering = Err(Vec::new());
    let decision = decide(&snapshot, at(0));
    assert_eq!(
        reason(&snapshot, &decision, "Applied"),
        "False/WorkspaceTemplateNotFound"
    );
    assert!(message(&decision).contains("spec.templateRef"));
}

#[test]
fn a_revision_is_ready_only_when_terraform_made_it_real() {
    let mut world = living();
    assert_eq!(status(&world).ready_revision.as_deref(), Some("r1"));
    world.snapshot.rendering = Ok(rendered("r2"));
    world.calm();
    assert_eq!(status(&world).last_applied_revision.as_deref(), Some("r2"));
    assert_eq!(
        status(&world).ready_revision.as_deref(),
        Some("r1"),
        "its conditions are those of r1"
    );
    world.settle();
    assert_eq!(status(&world).ready_revision.as_deref(), Some("r2"));
}

#[test]
fn a_held_change_says_where_it_is_but_never_its_values() {
    let old = json!({"forProvider": {"module": "a", "vars": [{"key": "k", "value": "secret-1"}], "source": "Inline"}});
    let new = json!({"forProvider": {"module": "a", "vars": [{"key": "k", "value": "secret-2"}], "entrypoint": "x"}});
    let said = super::super::body::differences(&old, &new);
    assert_eq!(
        said,
        "forProvider.entrypoint, forProvider.source, forProvider.vars"
    );
    let defaults = json!({"forProvider": {"entrypoint": ""}, "deletionPolicy": "Delete"});
    let plain = json!({"forProvider": {}});
    assert_eq!(super::super::body::differences(&defaults, &plain), "");
}

#[test]
fn what_another_try_would_make_a_second_time_is_told_before_the_failure_and_whole() {
    let names: Vec<String> = (0..10)
        .map(|number| format!("module.network.aws_subnet.private[{number}]"))
        .collect();
    let words = format!(
        "cut short: {}. Import or delete them before another try",
        names.join(", ")
    );
    for (reason, expected) in [
        ("ResourcesMissing", &*words),
        ("StateMissing", "apply failed: killed"),
    ] {
        let mut world = living();
        let mut synced = condition("Synced", "False", "ReconcileError", 1);
        synced.message = Some("apply failed: killed".to_owned());
        let mut torn = condition("StateComplete", "False", reason, 1);
        torn.message = Some(words.clone());
        world.workspace_mut().status.conditions = Some(vec![synced, torn]);
        world.snapshot.progress = serde_json::from_value(json!({"operation": "apply"})).ok();
        world.calm();
        assert_eq!(status(&world).message.as_deref(), Some(expected));
    }
}

#[test]
fn what_the_runner_found_or_made_up_is_told() {
    for (type_, status_, line) in [
        ("StateComplete", "False", "aws_vpc.this may exist"),
        ("Simulated", "True", "no Terraform ran"),
    ] {
        let mut world = living();
        let mut told = condition(type_, status_, "Whatever", 1);
        told.message = Some(line.to_owned());
        world
            .workspace_mut()
            .status
            .conditions
            .get_or_insert_default()
            .push(told);
        world.calm();
        assert_eq!(status(&world).message.as_deref(), Some(line));
    }
}

#[test]
fn a_missing_state_is_told_whole_as_long_as_nothing_newer_failed() {
    let words = format!(
        "observe failed: no state in {}: put it back, or: kubectl x",
        "s".repeat(500)
    );
    for (newer, expected) in [
        (words.as_str(), words.as_str()),
        ("plan failed: network", "plan failed: network"),
    ] {
        let mut world = living();
        lose_state(&mut world, &words);
        let conditions = world.workspace_mut().status.conditions.as_mut();
        conditions.expect("conditions")[0].message = Some(newer.to_owned());
        world.calm();
        assert_eq!(status(&world).message.as_deref(), Some(expected));
    }
}

fn lose_state(world: &mut World, words: &str) {
    let told = |type_: &str, status: &str, reason: &str| {
        let mut told = condition(type_, status, reason, 1);
        told.message = Some(words.to_owned());
        told
    };
    world.workspace_mut().status.conditions = Some(vec![
        told("Synced", "False", "ReconcileError"),
        told("StateComplete", "False", "StateMissing"),
    ]);
}

fn say_destroyed(world: &mut World, value: &str) {
    let annotations = world.snapshot.wta.metadata.annotations.get_or_insert_default();
    annotations.insert(marks::DESTROYED.to_owned(), value.to_owned());
}

fn is_marked(world: &World) -> bool {
    world.workspace().annotations.contains_key(marks::DESTROYED)
}

#[test]
fn that_all_is_destroyed_is_passed_down_for_the_state_that_is_missing_and_for_no_other() {
    let mut world = living();
    let healthy = world.workspace().status.clone();
    // Said while nothing is missing, it is no grant for later.
    say_destroyed(&mut world, "true");
    world.calm();
    assert!(!is_marked(&world));
    lose_state(&mut world, "no state");
    world.calm();
    assert!(!is_marked(&world));
    let said = status(&world).message.clone().expect("a message");
    assert!(
        said.contains("annotate --overwrite wtapply") && said.contains("destroyed=true/again"),
        "{said}"
    );
    // Said now, it counts until something is made again, whatever is told meanwhile.
    say_destroyed(&mut world, "true/again");
    world.calm();
    assert!(is_marked(&world));
    world.workspace_mut().status = healthy;
    world.calm();
    assert!(is_marked(&world));
    world.workspace_mut().annotations.remove(marks::DESTROYED);
    world.calm();
    assert!(!is_marked(&world), "it is used up");
    lose_state(&mut world, "no state");
    world.calm();
    assert!(!is_marked(&world));
    for value in ["false", "truest", ""] {
        say_destroyed(&mut world, value);
        world.calm();
        assert!(!is_marked(&world), "{value}");
    }
}

#[test]
fn that_all_is_destroyed_is_passed_down_to_what_goes() {
    let mut world = living();
    delete(&mut world.snapshot);
    world.calm();
    lose_state(&mut world, "no state");
    world.calm();
    let conditions = status(&world).conditions.as_deref().expect("conditions");
    let deleting = find_condition(conditions, "Deleting").expect("Deleting");
    assert!(
        !deleting.message.contains("forProvider") && deleting.message.contains("retainWorkspaceOnDelete"),
        "{}",
        deleting.message
    );
    assert!(!is_marked(&world));
    say_destroyed(&mut world, "true");
    world.calm();
    assert!(is_marked(&world));
}

#[test]
fn a_revision_that_nobody_has_is_told_to_who_asked_for_it() {
    for (mut world, words) in [
        (living(), "leave it out to follow the template"),
        (owned(), "The owner released"),
    ] {
        world.snapshot.wta.spec.template_revision = Some("deadbeef".to_owned());
        let decision = world.step();
        let said = message(&decision);
        assert!(said.contains("deadbeef") && said.contains(words), "{said}");
    }
}

#[test]
fn how_often_to_look_is_passed_down_and_never_taken_from_a_workspace() {
    let mut world = living();
    let mark = foreign_marks::POLL_INTERVAL;
    let annotations = &mut world.workspace_mut().annotations;
    annotations.insert(mark.to_owned(), "1h".to_owned());
    world.calm();
    assert_eq!(world.workspace().annotations[mark], "1h");
    let annotations = world.snapshot.wta.metadata.annotations.get_or_insert_default();
    annotations.insert(mark.to_owned(), "5m".to_owned());
    world.calm();
    assert_eq!(world.workspace().annotations[mark], "5m");
}

#[test]
fn nothing_is_kept_where_nothing_can_be_made() {
    for is_terminating in [false, true] {
        let mut world = living();
        world.snapshot.kept = None;
        world.snapshot.namespace_terminating = is_terminating;
        let decision = world.step();
        let makes = decision
            .children
            .iter()
            .any(|child| child.target.kind == "Secret");
        assert_eq!(makes, !is_terminating);
    }
}

#[test]
fn a_state_that_somebody_deleted_and_that_is_held_is_told() {
    for (deleting, is_held, is_told) in [(true, true, true), (false, true, false), (true, false, false)] {
        let mut world = living();
        world.snapshot.state_secrets = vec![StateSecretSeen {
            name: "tfstate-x-capt".to_owned(),
            uid: "u".to_owned(),
            deleting,
            is_held,
            ..StateSecretSeen::default()
        }];
        let mut warnings = 0;
        for _ in 0..3 {
            let events = world.step().events;
            warnings += events
                .iter()
                .filter(|event| event.reason == "StateDeleted")
                .count();
        }
        assert_eq!(warnings, usize::from(is_told), "people hear of it once");
        let said = status(&world).message.clone().unwrap_or_default();
        let command = "kubectl patch secret tfstate-x-capt -n team --type merge";
        assert_eq!(said.contains(command), is_told, "{said}");
        let kept = |world: &World| {
            let conditions = status(world).conditions.clone().unwrap_or_default();
            let kept = find_condition(&conditions, "StateKept").cloned();
            kept.map(|kept| (kept.status, kept.reason))
        };
        let lost = ("False".to_owned(), "StateDeleted".to_owned());
        assert_eq!(kept(&world), is_told.then_some(lost));
        // It was let go, and a copy of it was written again.
        let mut back = world.snapshot.state_secrets.split_off(0);
        world.step();
        let lost = ("False".to_owned(), "StateDeleted".to_owned());
        assert_eq!(kept(&world), is_told.then_some(lost), "nothing is kept any more");
        back[0].deleting = false;
        world.snapshot.state_secrets = back;
        world.step();
        let back = ("True".to_owned(), "StateKept".to_owned());
        assert_eq!(kept(&world), is_told.then_some(back));
    }
}

#[test]
fn that_all_goes_well_is_told_by_the_owner_and_what_does_not_here() {
    let told = |is_owned: bool| {
        let mut snapshot = fresh();
        if is_owned {
            own(&mut snapshot);
        }
        let mut world = World::new(snapshot);
        let mut told = Vec::new();
        for missing in [vec![], vec!["a Secret".to_owned()], vec![]] {
            world.snapshot.missing_inputs = missing;
            for _ in 0..6 {
                told.extend(world.step().events.into_iter().map(|event| event.reason));
                world.run();
            }
        }
        told
    };
    assert_eq!(told(false), ["Rendered", "Applied", "InputMissing", "Applied"]);
    assert_eq!(told(true), ["InputMissing", "Applied"]);
}

#[test]
fn what_terraform_got_in_between_may_be_real_until_it_is_done_with_what_there_is_now() {
    let mut world = living();
    assert_eq!(status(&world).tried_revision, None);
    world.snapshot.rendering = Ok(rendered("r2"));
    world.calm();
    assert_eq!(status(&world).tried_revision.as_deref(), Some("r2"));
    world.snapshot.rendering = Ok(rendered("r1"));
    world.calm();
    let now = status(&world);
    assert_eq!(now.last_applied_revision, now.ready_revision);
    assert_eq!(now.tried_revision.as_deref(), Some("r2"), "taken back");
    world.settle();
    let now = status(&world);
    assert_eq!(now.ready_revision.as_deref(), Some("r1"));
    assert_eq!(now.tried_revision, None);
}
