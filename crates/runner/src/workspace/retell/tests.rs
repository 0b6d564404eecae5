use capt_api::{
    foreign::Workspace,
    run::{MissingResource, PlanReport},
};
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a valid time")
}

fn view() -> WorkspaceView {
    let object: Workspace = serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
        "metadata": {"name": "vpc", "namespace": "team"},
        "spec": {"forProvider": {"source": "Inline", "module": ""}},
    }))
    .expect("a Workspace");
    WorkspaceView::from(&object)
}

fn report(kind: &str, outcome: &str) -> RunReport {
    RunReport {
        operation: Some(Operation {
            kind: kind.to_owned(),
            ended_at: Some(at(5)),
            outcome: Some(outcome.to_owned()),
            message: Some("create failed: it was killed".to_owned()),
            reason: Some("Crash".to_owned()),
            generation: 3,
            ..Operation::default()
        }),
        ..RunReport::default()
    }
}

fn with_missing(mut report: RunReport) -> RunReport {
    report.missing = vec![MissingResource {
        address: "thing.a".to_owned(),
        unfinished: true,
        ..MissingResource::default()
    }];
    report
}

/// Conditions as `type status reason generation`, and the reasons of events.
fn told(report: &RunReport, standing: &mut Standing) -> (Vec<String>, Vec<&'static str>) {
    let news = retell(report, &view(), standing, at(9));
    let conditions = Type::ALL.iter().filter_map(|type_| standing.condition(*type_));
    let conditions = conditions.map(|one| {
        let generation = one.observed_generation.unwrap_or_default();
        format!("{} {} {} {generation}", one.type_, one.status, one.reason)
    });
    let mut conditions: Vec<String> = conditions.collect();
    conditions.sort();
    (conditions, news.iter().map(|(news, _)| news.reason()).collect())
}

#[test]
fn a_failure_that_only_the_report_knows_is_told_once() {
    let report = with_missing(report("apply", outcome::FAILED));
    let mut standing = Standing::default();
    let (conditions, news) = told(&report, &mut standing);
    let expected = [
        "Failing True Crash 3",
        "StateComplete False ResourcesMissing 3",
        "Synced False ReconcileError 3",
    ];
    assert_eq!(conditions, expected);
    assert_eq!(news, ["StateIncomplete", "CannotCreateExternalResource"]);
    assert_eq!(standing.observed_generation, Some(3));
    let words = |type_: Type| {
        let condition = standing.condition(type_).expect("a condition");
        condition.message.clone().unwrap_or_default()
    };
    assert_eq!(words(Type::Synced), "create failed: it was killed");
    let failing = words(Type::Failing);
    assert!(
        failing.starts_with("create failed: it was killed\n")
            && failing.contains("thing.a (was being made, may exist)")
            && failing.ends_with("capt retry workspace/vpc -n team"),
        "{failing}"
    );
    let before = standing.clone();
    assert_eq!(told(&report, &mut standing).1, Vec::<&str>::new());
    assert_eq!(standing, before);
}

#[test]
fn a_state_that_is_nowhere_is_told_as_such() {
    let mut report = report("apply", outcome::FAILED);
    if let Some(operation) = &mut report.operation {
        operation.reason = Some("StateMissing".to_owned());
    }
    let (conditions, _) = told(&report, &mut Standing::default());
    let expected = [
        "Failing True StateUnavailable 3",
        "StateComplete False StateMissing 3",
        "Synced False ReconcileError 3",
    ];
    assert_eq!(conditions, expected);
}

#[test]
fn what_the_status_says_later_stays() {
    let synced = (Type::Synced, ConditionStatus::True, Reason::ReconcileSuccess);
    for (since, is_newer) in [(4, false), (6, true)] {
        let mut standing = Standing::default();
        standing.say(synced, "", 3, at(since));
        let (conditions, _) = told(&report("apply", outcome::FAILED), &mut standing);
        let is_kept = conditions == ["Synced True ReconcileSuccess 3"];
        assert_eq!(is_kept, is_newer, "{conditions:?}");
    }
}

#[test]
fn a_plan_that_waits_is_told() {
    let mut waiting = report("apply", outcome::SUCCEEDED);
    waiting.plan = Some(PlanReport {
        awaits_approval: true,
        ..PlanReport::default()
    });
    for (generation, synced) in [
        (2, "Synced True ReconcileSuccess 2"),
        (3, "Synced False ReconcileError 3"),
    ] {
        let mut standing = Standing::default();
        let before = (Type::Synced, ConditionStatus::True, Reason::ReconcileSuccess);
        standing.say(before, "", generation, at(1));
        let (conditions, news) = told(&waiting, &mut standing);
        assert_eq!(conditions, ["ApprovalNeeded True DestructiveChange 3", synced]);
        assert_eq!(news, ["ApprovalNeeded"]);
    }
    waiting.plan = None;
    assert_eq!(told(&waiting, &mut Standing::default()).0, Vec::<String>::new());
}

#[test]
fn what_is_over_is_taken_back() {
    let mut standing = Standing::default();
    let drifted = (Type::Drifted, ConditionStatus::True, Reason::DriftFound);
    standing.say(drifted, "", 3, at(4));
    let lacking = (
        Type::StateComplete,
        ConditionStatus::False,
        Reason::ResourcesMissing,
    );
    standing.say(lacking, "", 3, at(4));
    let (conditions, _) = told(&report("apply", outcome::SUCCEEDED), &mut standing);
    assert_eq!(
        conditions,
        ["Drifted False NoDrift 3", "StateComplete True Complete 3"]
    );
}

#[test]
fn what_a_later_operation_listed_stays_listed_although_its_report_was_not_written() {
    let mut standing = Standing::default();
    let lacking = (
        Type::StateComplete,
        ConditionStatus::False,
        Reason::ResourcesMissing,
    );
    standing.say(lacking, "thing.a", 3, at(6));
    let (conditions, _) = told(&report("apply", outcome::SUCCEEDED), &mut standing);
    assert_eq!(conditions, ["StateComplete False ResourcesMissing 3"]);
}

#[test]
fn what_is_no_news_for_conditions_is_left_out() {
    let mut running = with_missing(report("apply", outcome::FAILED));
    if let Some(operation) = &mut running.operation {
        operation.outcome = None;
    }
    for report in [
        RunReport::default(),
        running,
        report("plan", outcome::FAILED),
        report("apply", outcome::INTERRUPTED),
        report("destroy", outcome::SUCCEEDED),
    ] {
        let (conditions, news) = told(&report, &mut Standing::default());
        assert!(conditions.is_empty() && news.is_empty(), "{report:?}");
    }
}
