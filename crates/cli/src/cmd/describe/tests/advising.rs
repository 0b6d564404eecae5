//! What a person can do, by what is the matter.

use serde_json::{Value, json};

use super::{describe, provisioning, words};
use crate::look::testing::condition;

#[test]
fn each_thing_that_a_person_can_do_is_said() {
    let changed = |path: &str, value: Value| {
        let mut objects = provisioning();
        *objects.pointer_mut(path).unwrap() = value;
        objects
    };
    let apply = |conditions: Value| changed("/applies/0/status/conditions", conditions);
    let failing = |reason: &str| {
        let mut objects = provisioning();
        objects["workspaces"][0]["status"] = json!({"conditions": [
            condition("Synced", "False", "ReconcileError", "it broke"),
            condition("Failing", "True", reason, ""),
        ]});
        objects
    };
    let paused = |list: &str, annotations: Value| {
        let mut objects = provisioning();
        objects[list][0]["metadata"]["annotations"] = annotations;
        objects[list][0]["status"]["conditions"] = json!([condition("Paused", "True", "Paused", "")]);
        objects
    };
    for (objects, root, expected) in [
        (
            apply(json!([condition(
                "ApprovalNeeded",
                "True",
                "DestructiveChange",
                ""
            )])),
            "WorkspaceTemplateApply/plane-eks",
            "capt approve wtapply/plane-eks -n team --plan ID",
        ),
        (
            failing("EngineMissing"),
            "Cluster/blue",
            "install Terraform or OpenTofu where the runner runs, and start the runner anew",
        ),
        (
            failing("Network"),
            "Cluster/blue",
            "wait: it is tried again by itself",
        ),
        (
            failing("Denied"),
            "Cluster/blue",
            "try again: capt retry workspace/plane-eks -n team",
        ),
        (
            failing("Configuration"),
            "Cluster/blue",
            "try again: capt retry workspace/plane-eks -n team",
        ),
        (
            changed("/controlPlanes/0/status/state", json!("Failed")),
            "CAPTControlPlane/plane",
            "try again: capt retry captcontrolplane/plane -n team",
        ),
        (
            paused("captclusters", json!({"cluster.x-k8s.io/paused": ""})),
            "CAPTCluster/net",
            "kubectl annotate captcluster net -n team cluster.x-k8s.io/paused-",
        ),
        (
            paused("captclusters", json!({})),
            "CAPTCluster/net",
            "end the pause of its Cluster",
        ),
        (
            changed("/workspaces/0/status/conditions", json!([])),
            "Cluster/blue",
            "see to it that a runner runs",
        ),
        (
            changed("/controlPlanes/0/status", Value::Null),
            "CAPTControlPlane/plane",
            "see to it that capt's controllers run",
        ),
        (
            changed("/templates", json!([])),
            "WorkspaceTemplateApply/plane-eks",
            "make the WorkspaceTemplate eks",
        ),
    ] {
        let advice = describe(&objects, root).advice;
        assert!(
            advice.iter().any(|line| line.contains(expected)),
            "{expected}: {advice:?}"
        );
    }
}

#[test]
fn another_try_is_offered_only_where_it_can_help() {
    let plane = |state: &str, reason: &str| {
        let mut objects = provisioning();
        objects["controlPlanes"][0]["status"] = json!({
            "state": state, "ready": state == "Degraded",
            "conditions": [
                condition("Available", "True", "Available", "The control plane can be used"),
                condition("Ready", if state == "Degraded" { "True" } else { "False" }, reason, "it says why"),
            ],
        });
        objects["workspaces"][0]["status"]["conditions"] = json!([
            condition("Synced", "True", "ReconcileSuccess", ""),
            condition("Ready", "True", "Available", ""),
        ]);
        objects["applies"][0]["status"]["conditions"] =
            objects["workspaces"][0]["status"]["conditions"].clone();
        objects
    };
    let workspace = |reason: &str| {
        let mut objects = provisioning();
        let conditions = json!([
            condition("Synced", "False", "ReconcileError", "it broke"),
            condition("Failing", "True", reason, ""),
        ]);
        objects["workspaces"][0]["status"]["conditions"] = conditions.clone();
        objects["applies"][0]["status"]["conditions"] = json!([conditions[0]]);
        objects
    };
    let mut paused = provisioning();
    paused["workspaces"][0]["status"]["conditions"] =
        json!([condition("Synced", "False", "ReconcilePaused", "nothing is done")]);
    for (objects, root, is_offered) in [
        (
            plane("Degraded", "VersionTooLow"),
            "CAPTControlPlane/plane",
            false,
        ),
        (plane("Degraded", "VersionAhead"), "CAPTControlPlane/plane", false),
        (plane("Failed", "InvalidSpec"), "CAPTControlPlane/plane", false),
        (
            plane("Failed", "ControlPlaneTimeout"),
            "CAPTControlPlane/plane",
            true,
        ),
        (plane("Degraded", "UpdateFailed"), "CAPTControlPlane/plane", true),
        (workspace("Denied"), "WorkspaceTemplateApply/plane-eks", true),
        (workspace("Network"), "WorkspaceTemplateApply/plane-eks", false),
        (
            workspace("InputInvalid"),
            "WorkspaceTemplateApply/plane-eks",
            false,
        ),
        (workspace("NothingToObserve"), "Workspace/plane-eks", false),
        (paused, "Workspace/plane-eks", false),
    ] {
        let told = words(&objects, root);
        assert_eq!(told.contains("capt retry"), is_offered, "{told}");
    }
    let told = words(&plane("Degraded", "VersionTooLow"), "CAPTControlPlane/plane");
    for expected in [
        "State:        Degraded, ready for 11m, 12m old\n",
        "Why:          VersionTooLow: it says why\n",
        "You can:      write another spec.version, as the message says\n",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
}

#[test]
fn what_another_try_would_make_a_second_time_is_named_before_it_is_offered() {
    let missing = "the state does not have terraform_data.b";
    for is_failed in [true, false] {
        let mut objects = provisioning();
        let synced = match is_failed {
            true => condition("Synced", "False", "ReconcileError", "it was killed"),
            false => condition("Synced", "True", "ReconcileSuccess", ""),
        };
        let ready = condition("Ready", "True", "Available", "");
        objects["applies"][0]["status"]["conditions"] = json!([synced, ready]);
        objects["workspaces"][0]["status"]["conditions"] = json!([
            synced,
            ready,
            condition("Failing", if is_failed { "True" } else { "False" }, "Crash", ""),
            condition("StateComplete", "False", "ResourcesMissing", missing),
        ]);
        for root in ["WorkspaceTemplateApply/plane-eks", "Workspace/plane-eks"] {
            let told = words(&objects, root);
            let why = told.find(missing).expect("why");
            let first = told
                .find("import or delete what workspace/plane-eks says")
                .expect("first");
            assert!(why < first, "{told}");
            match told.find("capt retry") {
                Some(retry) => assert!(is_failed && first < retry, "{told}"),
                None => assert!(!is_failed, "{told}"),
            }
            assert_eq!(told.matches("it was killed\n").count() > 0, is_failed, "{told}");
            assert!(!told.contains("Last error"), "{told}");
        }
        let told = words(&objects, "CAPTControlPlane/plane");
        assert!(told.contains(missing), "{told}");
    }
}
