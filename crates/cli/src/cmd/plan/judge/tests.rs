use capt_api::{
    foreign::Workspace,
    run::{Operation, PlanReport, RunReport},
};
use serde_json::json;

use super::*;

fn apply(status: &serde_json::Value) -> WorkspaceTemplateApply {
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplateApply",
        "metadata": {"name": "x", "generation": 2},
        "spec": {"templateRef": {"name": "t"}},
        "status": status,
    }))
    .unwrap()
}

fn condition(type_: &str, status: &str, reason: &str) -> serde_json::Value {
    json!({"observedGeneration": 2, "conditions": [{
        "type": type_, "status": status, "reason": reason, "message": format!("because of {reason}"),
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 2,
    }]})
}

fn workspace() -> WorkspaceView {
    let workspace: Workspace = serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1",
        "kind": "Workspace",
        "metadata": {"name": "x", "namespace": "default", "uid": "1"},
        "spec": {"forProvider": {"source": "Inline", "module": ""}},
    }))
    .unwrap();
    WorkspaceView::from(&workspace)
}

fn page(answered: &str, plan: Option<PlanReport>, operation: Option<Operation>) -> Page {
    Page {
        report: RunReport {
            answered: [(marks::PLAN_REQUESTED.to_owned(), answered.to_owned())].into(),
            plan,
            operation,
            ..RunReport::default()
        },
        ..Page::default()
    }
}

fn said(verdict: Verdict) -> String {
    match verdict {
        Verdict::Answered(_) => "answered".to_owned(),
        Verdict::Refused(Unanswered { why, problem }) => match why {
            Why::Failed => format!("failed: {problem}"),
            _ => format!("refused: {problem}"),
        },
        Verdict::Waiting(reason) => format!("waiting: {reason}"),
        Verdict::Depends(reason) => format!("depends: {reason}"),
        Verdict::Unless { problem, still_after } => {
            assert_eq!(problem.why, Why::Stuck);
            let who = if still_after == DOUBT { "blocked" } else { "nobody" };
            format!("{who}: {}", problem.problem)
        }
    }
}

#[test]
fn what_cannot_be_planned_is_refused_at_once_and_the_rest_is_waited_for() {
    for (status, expected) in [
        (
            condition("Applied", "False", "VariableMissing"),
            "refused: because of VariableMissing",
        ),
        (
            condition("Applied", "False", "TemplateInvalid"),
            "refused: because of TemplateInvalid",
        ),
        (
            condition("Applied", "False", "WorkspaceRetained"),
            "refused: because of WorkspaceRetained",
        ),
        (
            condition("Waiting", "True", "DependencyCycle"),
            "refused: because of DependencyCycle",
        ),
        (
            // Who only says that it waits says nothing of the spec as a whole.
            json!({"conditions": condition("Waiting", "True", "OwnerGone")["conditions"]}),
            "refused: because of OwnerGone",
        ),
        (
            condition("Waiting", "True", "WaitingForSecrets"),
            "depends: because of WaitingForSecrets",
        ),
        (
            condition("Waiting", "True", "WaitingForWorkspaces"),
            "depends: because of WaitingForWorkspaces",
        ),
        (
            condition("Waiting", "True", "WaitingForTurn"),
            "waiting: the Workspace has to be made",
        ),
        (condition("Paused", "True", "Paused"), "refused: it is paused"),
        (json!({"observedGeneration": 1}), "nobody: capt's controllers"),
        (serde_json::Value::Null, "nobody: capt's controllers"),
        (
            json!({"observedGeneration": 2, "message": "Waiting for Secrets"}),
            "waiting: Waiting for Secrets",
        ),
        (
            json!({"observedGeneration": 2}),
            "waiting: the Workspace has to be made",
        ),
    ] {
        let verdict = said(judge(Some(&apply(&status)), None, None, "token"));
        assert!(verdict.starts_with(expected), "{status}: {verdict}");
    }
    let mut going = apply(&json!({}));
    going.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    assert_eq!(
        said(judge(Some(&going), None, None, "token")),
        "refused: it is being deleted"
    );
    going.status = apply(&condition("Deleting", "True", "Destroying")).status;
    assert_eq!(
        said(judge(Some(&going), None, None, "token")),
        "refused: it is being deleted: because of Destroying"
    );
    let mut paused = condition("Deleting", "True", "Paused");
    paused["conditions"][0]["message"] = json!("It is being deleted, and paused");
    going.status = apply(&paused).status;
    assert_eq!(
        said(judge(Some(&going), None, None, "token")),
        "refused: It is being deleted, and paused",
        "once is enough"
    );
}

#[test]
fn what_was_said_about_an_older_spec_is_not_taken_for_the_answer() {
    let mut changed = apply(&condition("Waiting", "True", "DependencyCycle"));
    changed.metadata.generation = Some(3);
    let verdict = said(judge(Some(&changed), None, None, "token"));
    assert!(verdict.starts_with("nobody: capt's controllers"), "{verdict}");
}

#[test]
fn during_a_pause_a_plan_is_waited_for_unless_something_stands_in_its_way() {
    let paused = condition("Paused", "True", "Paused");
    let with = |reason: &str| {
        let mut status = paused.clone();
        let applied = condition("Applied", "False", reason)["conditions"][0].clone();
        status["conditions"].as_array_mut().unwrap().push(applied);
        // What is said about the spec as it is now is not said by this.
        status["observedGeneration"] = json!(1);
        status
    };
    let mut held = workspace();
    held.policies = Some(Vec::new());
    held.finalizers = vec!["finalizer.managedresource.crossplane.io".to_owned()];
    for (status, expected) in [
        (
            paused.clone(),
            "waiting: a runner has to begin with the Workspace",
        ),
        (
            with("Rendered"),
            "waiting: a runner has to begin with the Workspace",
        ),
        (with("VariableMissing"), "blocked: because of VariableMissing"),
        (
            with("StateLocationChanged"),
            "blocked: because of StateLocationChanged",
        ),
    ] {
        let verdict = said(judge(Some(&apply(&status)), Some(&held), None, "token"));
        assert_eq!(verdict, expected, "{status}");
    }
    let answer = page("token", Some(PlanReport::default()), None);
    let verdict = judge(Some(&apply(&paused)), Some(&held), Some(answer), "token");
    assert_eq!(said(verdict), "answered");
    let waits = json!({"observedGeneration": 2, "message": "Waiting for a turn"});
    let verdict = judge(Some(&apply(&waits)), Some(&held), None, "token");
    assert_eq!(said(verdict), "blocked: Waiting for a turn", "nobody paused it");
    let mut turn = condition("Waiting", "True", "WaitingForTurn");
    turn["message"] = json!("It is the turn of another");
    assert!(waits_for_turn(&apply(&turn)) && !is_paused(&apply(&turn)));
    assert!(!waits_for_turn(&apply(&paused)));
    let verdict = judge(Some(&apply(&turn)), Some(&held), None, "token");
    assert_eq!(
        said(verdict),
        "waiting: It is the turn of another",
        "turns come by themselves"
    );
    let asks = condition("ApprovalNeeded", "True", "DestructiveChange");
    let both = [&turn, &asks].map(|status| status["conditions"][0].clone());
    turn["conditions"] = json!(both);
    let answer = page("token", Some(PlanReport::default()), None);
    let verdict = judge(Some(&apply(&turn)), Some(&held), Some(answer), "token");
    assert_eq!(
        said(verdict),
        "answered",
        "whoever has to approve it has to see it"
    );
    held.finalizers.clear();
    let never = said(judge(Some(&apply(&paused)), Some(&held), None, "token"));
    assert!(
        never.starts_with("refused: the Workspace is paused and was never run"),
        "{never}"
    );
}

#[test]
fn a_plan_is_the_answer_to_one_question_only() {
    let workspace = workspace();
    let judged = |page: Option<Page>| said(judge(None, Some(&workspace), page, "token"));
    let operation = |kind: &str, outcome: Option<&str>| Operation {
        kind: kind.to_owned(),
        outcome: outcome.map(str::to_owned),
        message: Some("no credentials".to_owned()),
        ended_at: outcome.map(|_| k8s_openapi::jiff::Timestamp::UNIX_EPOCH),
        ..Operation::default()
    };
    let plan = Some(PlanReport::default());
    assert_eq!(judged(Some(page("token", plan.clone(), None))), "answered");
    assert_eq!(
        judged(Some(page(
            "token",
            plan.clone(),
            Some(operation("plan", Some("succeeded")))
        ))),
        "answered"
    );
    assert_eq!(
        judged(Some(page(
            "token",
            plan.clone(),
            Some(operation("plan", Some("failed")))
        ))),
        "failed: no credentials"
    );
    assert_eq!(
        judged(Some(page("token", None, None))),
        "failed: planning failed; see: capt logs workspace/x -n default --plan"
    );
    assert_eq!(
        judged(Some(page("older", plan, Some(operation("apply", None))))),
        "waiting: apply is running"
    );
    let nobody = judged(None);
    assert!(
        nobody.starts_with("nobody: no runner has taken the Workspace up"),
        "{nobody}"
    );
}

#[test]
fn a_runner_that_waits_for_somebody_is_not_waited_for() {
    for (reason, misses_state, expected) in [
        ("InputMissing", false, "blocked: a Secret is not there"),
        ("StateUnavailable", true, "blocked: a Secret is not there"),
        // What cannot be read now is tried, and the answer says what came of it.
        (
            "StateUnavailable",
            false,
            "waiting: a runner has to begin with the Workspace",
        ),
        (
            "Throttled",
            false,
            "waiting: a runner has to begin with the Workspace",
        ),
    ] {
        let mut workspace = workspace();
        let told = |type_: &str, status: &str, reason: &str| {
            serde_json::from_value(json!({
                "type": type_, "status": status, "reason": reason, "message": "a Secret is not there",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }))
            .unwrap()
        };
        let mut conditions = vec![told("Failing", "True", reason)];
        if misses_state {
            conditions.push(told("StateComplete", "False", "StateMissing"));
        }
        workspace.status.conditions = Some(conditions);
        assert_eq!(said(judge(None, Some(&workspace), None, "token")), expected);
        let answered = page("token", Some(PlanReport::default()), None);
        assert_eq!(
            said(judge(None, Some(&workspace), Some(answered), "token")),
            "answered"
        );
    }
}
