//! Fargate profiles: what each is, and what a person can do about it.

use serde_json::{Value, json};

use super::{describe, words};
use crate::look::testing::condition;

const ROOT: &str = "CAPTControlPlane/plane";

/// A control plane with a profile that says this of itself, and the conditions of its WorkspaceTemplateApply.
fn with(row: &Value, wanted: bool, conditions: &Value) -> Value {
    let profile = json!({
        "name": "web", "selectors": [{"namespace": "web"}], "workspaceTemplateRef": {"name": "fargate-profile"},
    });
    let wanted = if wanted { json!([profile]) } else { json!([]) };
    json!({
        "controlPlanes": [{
            "metadata": {"name": "plane", "annotations": {"infrastructure.cluster.x-k8s.io/turn": "plane-web"}},
            "spec": {
                "version": "1.31", "workspaceTemplateRef": {"name": "eks"}, "additionalFargateProfiles": wanted,
            },
            "status": {
                "state": "Configuring", "ready": true, "fargateProfileStatuses": row,
                "conditions": [condition("Ready", "True", "FargateProfileCreating", "web")],
            },
        }],
        "applies": [{
            "metadata": {"name": "plane-web", "labels": {"infrastructure.cluster.x-k8s.io/owner": "CAPTControlPlane.plane"}},
            "spec": {"templateRef": {"name": "fargate-profile"}, "variables": {
                "selectors": "[{\"namespace\":\"other\"}]", "private_subnets": "[\"subnet-a\",\"subnet-b\"]",
                "pod_execution_role_arn": "arn:aws:iam::123456789012:role/pods", "tags": "{\"team\":\"blue\"}",
            }},
            "status": {"applied": true, "conditions": conditions},
        }],
    })
}

fn row(phase: &str, failure: Option<&str>) -> Value {
    json!([{
        "name": "web", "ready": false, "phase": phase, "message": "as it is", "failureMessage": failure,
        "workspaceTemplateApplyName": "plane-web", "observedSelectorsHash": "of others",
    }])
}

#[test]
fn a_profile_is_shown_with_what_its_module_is_told_also_when_it_goes() {
    for wanted in [true, false] {
        let told = words(&with(&row("Deleting", None), wanted, &json!([])), ROOT);
        for expected in [
            "other (not yet)",
            "web has subnets subnet-a, subnet-b; role arn:aws:iam::123456789012:role/pods; tags team=blue\n",
        ] {
            assert!(told.contains(expected), "{expected}\n{told}");
        }
    }
}

#[test]
fn what_nobody_could_begin_with_is_shown_as_well() {
    let told = words(&with(&json!([]), true, &json!([])), ROOT);
    let line = told.lines().find(|line| line.trim_start().starts_with("web "));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    assert!(line.contains("Waiting for the EKS cluster"), "{line}");
}

#[test]
fn where_a_person_has_to_act_for_a_profile_that_is_said() {
    let asks = json!([condition(
        "ApprovalNeeded",
        "True",
        "DestructiveChange",
        "it is replaced"
    )]);
    for (row, conditions, expected) in [
        (
            row("Failed", Some("no subnet")),
            json!([]),
            "about the profile web: capt logs wtapply/plane-web -n team",
        ),
        (
            row("Waiting", None),
            asks,
            "capt approve wtapply/plane-web -n team --plan ID",
        ),
        (
            row("Waiting", None),
            json!([]),
            "see to what the profile web waits for",
        ),
    ] {
        let description = describe(&with(&row, true, &conditions), ROOT);
        let advice = &description.advice;
        assert!(
            advice.iter().any(|line| line.contains(expected)),
            "{expected}: {advice:?}"
        );
        assert!(
            !advice.iter().any(|line| line.contains("by itself")),
            "{advice:?}"
        );
    }
}

#[test]
fn where_nobody_plans_a_profile_nobody_is_told_to_look_at_a_plan() {
    let asks = json!([condition(
        "ApprovalNeeded",
        "True",
        "DestructiveChange",
        "The runner cannot plan. To let it happen: capt approve wtapply/plane-web -n team --plan 12"
    )]);
    let advice = describe(&with(&row("Waiting", None), true, &asks), ROOT).advice;
    let expected = "to let it happen: capt approve wtapply/plane-web -n team --plan 12";
    assert!(advice.iter().any(|line| line == expected), "{advice:?}");
    assert!(
        !advice.iter().any(|line| line.contains("capt plan")),
        "{advice:?}"
    );
}

#[test]
fn who_waits_for_an_approval_is_not_said_to_operate() {
    let says = |type_: &str| json!([condition(type_, "True", "DestructiveChange", "it is replaced")]);
    for (type_, operates) in [("ApprovalNeeded", false), ("Other", true)] {
        let told = words(&with(&row("Waiting", None), true, &says(type_)), ROOT);
        assert_eq!(told.contains("may operate now"), operates, "{told}");
    }
}
