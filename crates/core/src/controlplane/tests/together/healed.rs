//! What somebody deletes by hand comes back, and nobody takes that for a change of the cluster.

use capt_api::captcontrolplane::{OperationRecord, OperationResult};

use super::*;

const APPLY: &str = "blue-eks-controlplane-apply";

fn living() -> Together {
    let mut all = Together::new();
    all.settle();
    assert_eq!(all.world.status().state, Some(State::Ready));
    pass(&mut all);
    all
}

/// Time passes, and the API server is asked again.
fn pass(all: &mut Together) {
    all.world.pass(1);
    all.world.probe();
}

fn history(all: &Together) -> Vec<OperationRecord> {
    let progress = all.world.status().progress.expect("progress");
    progress.history.expect("records")
}

fn results(all: &Together) -> Vec<(String, Option<OperationResult>)> {
    let records = history(all);
    records
        .into_iter()
        .map(|record| (record.operation, record.result))
        .collect()
}

/// Everybody acts until nothing changes. Gives the states that were gone through.
fn heal(all: &mut Together) -> Vec<State> {
    let mut states = Vec::new();
    for _ in 0..20 {
        pass(all);
        all.act();
        states.extend(all.world.status().state);
        let status = all.world.status();
        assert!(status.ready && status.initialized, "{status:#?}");
        assert_eq!(said(&status, "KubeconfigReady"), "True/KubeconfigGenerated");
        assert_eq!(said(&status, "EndpointAnswers"), "True/EndpointReady");
    }
    states.dedup();
    states
}

fn lose_rendering(all: &mut Together) {
    all.applies.get_mut(APPLY).expect("it is there").kept = None;
}

fn delete_apply(all: &mut Together) {
    let now = at(all.world.clock);
    let apply = all.world.apply_mut();
    apply.wta.metadata.deletion_timestamp = Some(Time(now));
}

fn delete_workspace(all: &mut Together) {
    let snapshot = all.applies.get_mut(APPLY).expect("it is there");
    Arc::make_mut(&mut snapshot.workspaces[0]).deleting = true;
}

#[test]
fn what_is_deleted_by_hand_and_made_again_is_no_update() {
    type Mishap = fn(&mut Together);
    let mishaps: [(&str, Mishap, &[State]); 4] = [
        ("the rendering", lose_rendering, &[State::Ready]),
        (
            "the WorkspaceTemplateApply",
            delete_apply,
            &[State::Degraded, State::Ready],
        ),
        (
            "the WorkspaceTemplateApply and with it the rendering",
            |all| {
                delete_apply(all);
                lose_rendering(all);
            },
            &[State::Degraded, State::Ready],
        ),
        (
            "the Workspace",
            delete_workspace,
            &[State::Ready, State::Degraded, State::Ready],
        ),
    ];
    for (name, mishap, expected) in mishaps {
        let mut all = living();
        let before = (history(&all), all.operations.clone());
        mishap(&mut all);
        let states = heal(&mut all);
        assert_eq!(states, expected, "{name}");
        let after = (history(&all), all.operations.clone());
        assert_eq!(after, before, "{name}");
        let progress = all.world.status().progress.expect("progress");
        assert_eq!(progress.percent_complete, Some(100), "{name}");
        let snapshot = &all.applies[APPLY];
        assert!(
            snapshot.kept.is_some() && !snapshot.workspaces.is_empty(),
            "{name}"
        );
        let events = &all.world.events;
        let is_told = |event: &String| event.contains("The update is done");
        assert!(!events.iter().any(is_told), "{name}: {events:#?}");
    }
}

#[test]
fn what_is_changed_while_something_is_made_again_is_an_update() {
    for mishap in [lose_rendering, delete_apply, delete_workspace] {
        let mut all = living();
        mishap(&mut all);
        all.world.edit(|spec| spec.version = Version::from("1.32"));
        heal(&mut all);
        let status = all.world.status();
        assert_eq!(
            (status.state, status.version.as_deref()),
            (Some(State::Ready), Some("1.32"))
        );
        let expected = ["Create", "Update"].map(|one| (one.to_owned(), Some(OperationResult::Succeeded)));
        assert_eq!(results(&all), expected);
    }
}

#[test]
fn an_update_goes_on_where_its_workspacetemplateapply_is_made_again() {
    let mut all = living();
    all.slow.push(APPLY.to_owned());
    all.world.edit(|spec| spec.version = Version::from("1.32"));
    heal(&mut all);
    let running = history(&all).pop().expect("a record");
    assert_eq!((running.operation.as_str(), running.result), ("Update", None));
    delete_apply(&mut all);
    heal(&mut all);
    assert_eq!(history(&all).last(), Some(&running), "it is still the same");
    all.slow.clear();
    heal(&mut all);
    let done = history(&all).pop().expect("a record");
    assert_eq!(done.start_time, running.start_time);
    assert_eq!(done.result, Some(OperationResult::Succeeded));
    assert_eq!(results(&all).len(), 2);
}
