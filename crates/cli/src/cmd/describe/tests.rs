//! Descriptions of objects as they are on the way.

use serde_json::{Value, json};

use super::*;
use crate::look::testing::{at, condition, part};

mod acting;
mod advising;
mod once;
mod pausing;
mod profiles;
mod tables;

fn describe(objects: &Value, root: &str) -> Description {
    described(&Gathered {
        part: part(objects),
        root: root.to_owned(),
        now: at(725),
    })
}

fn words(objects: &Value, root: &str) -> String {
    describe(objects, root).words(at(725), Style::default())
}

/// A control plane that is being made, in a network that is ready.
fn provisioning() -> Value {
    json!({
        "clusters": [{
            "metadata": {"name": "blue"},
            "spec": {
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CAPTCluster", "name": "net"},
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "plane"},
            },
            "status": {"phase": "Provisioning"},
        }],
        "captclusters": [{
            "metadata": {"name": "net"},
            "spec": {"region": "eu-central-1", "existingVpcId": "vpc-1", "connectionSecretName": "vpc"},
            "status": {"ready": true, "vpcId": "vpc-1", "conditions": [condition("Ready", "True", "ExistingVPCUsed", "")]},
        }],
        "controlPlanes": [{
            "metadata": {"name": "plane", "annotations": {"infrastructure.cluster.x-k8s.io/turn": "plane-eks"}},
            "spec": {
                "version": "1.31",
                "workspaceTemplateRef": {"name": "eks"},
                "additionalFargateProfiles": [{
                    "name": "web",
                    "selectors": [{"namespace": "web", "labels": {"runs-on": "fargate"}}, {"namespace": "edge-*"}],
                    "workspaceTemplateRef": {"name": "fargate-profile"},
                }],
            },
            "status": {
                "state": "Provisioning", "version": "1.30",
                "progress": {
                    "currentOperation": "Create", "percentComplete": 35, "estimatedTimeRemaining": "7m0s",
                    "history": [{"operation": "Create", "startTime": at(0).to_string()}],
                },
                "fargateProfileStatuses": [
                    {"name": "web", "ready": false, "phase": "Queued", "message": "Waiting for its turn",
                     "workspaceTemplateApplyName": "plane-eks", "failureMessage": "Failed to create it: no subnet"},
                ],
                "conditions": [
                    condition("Ready", "False", "WorkspaceNotReady", "Terraform is at it"),
                    condition("Paused", "False", "NotPaused", ""),
                ],
            },
        }],
        "applies": [{
            "metadata": {"name": "plane-eks", "labels": {"infrastructure.cluster.x-k8s.io/owner": "CAPTControlPlane.plane"}},
            "spec": {"templateRef": {"name": "eks"}},
            "status": {"applied": true, "workspaceName": "plane-eks", "conditions": []},
        }],
        "templates": [{
            "metadata": {"name": "eks"},
            "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": ""}}}},
        }],
        "workspaces": [{
            "metadata": {"name": "plane-eks"},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
            "status": {"conditions": [condition("Ready", "False", "Creating", "")]},
        }],
    })
}

#[test]
fn a_control_plane_is_described_with_everything_that_tells_how_it_is() {
    let told = words(&provisioning(), "CAPTControlPlane/plane");
    for expected in [
        "captcontrolplane/plane in team\n",
        "State:        Provisioning, 35% done, not ready for 11m, 12m old\n",
        "Why:          WorkspaceNotReady: Terraform is at it\n",
        "Waits for:    workspace/plane-eks (Working), Creating\n",
        "through wtapply/plane-eks\n",
        "You can:      see what Terraform said about the profile web: capt logs wtapply/plane-eks -n team\n",
        "Version:      1.31 is wanted, 1.30 runs\n",
        "Turn:         wtapply/plane-eks may operate now\n",
        "Operation:    Create, about 7m0s left\n",
        "Control plane serves   11m     30m0s   18m55s\n",
        "Workspace ready        12m     30m0s   17m55s\n",
        "web    Queued           web{runs-on=fargate} edge-*   plane-eks   Waiting for its turn\n",
        "web went wrong:\n    Failed to create it: no subnet\n",
        "Ready   False    WorkspaceNotReady   11m     Terraform is at it\n",
        "Create      Running   12m     12m\n",
        "wtapply/plane-eks   no      Working",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    assert!(!told.contains("NotPaused"), "{told}");
}

#[test]
fn a_turn_is_told_of_only_while_somebody_uses_it() {
    for (conditions, is_told) in [
        (json!([]), true),
        (json!([condition("Ready", "False", "Creating", "")]), true),
        (
            json!([
                condition("Ready", "True", "Available", ""),
                condition("Synced", "True", "Done", "")
            ]),
            false,
        ),
        (
            json!([condition("Synced", "False", "ReconcileError", "no")]),
            false,
        ),
        (json!([condition("Paused", "True", "Paused", "")]), false),
        (
            json!([condition("Waiting", "True", "WaitingForSecret", "")]),
            false,
        ),
        (
            json!([condition("ApprovalNeeded", "True", "PlanNeedsApproval", "")]),
            false,
        ),
    ] {
        let mut objects = provisioning();
        objects["applies"][0]["status"]["conditions"] = conditions.clone();
        let told = words(&objects, "CAPTControlPlane/plane");
        assert_eq!(told.contains("may operate now"), is_told, "{conditions}\n{told}");
    }
}

#[test]
fn everybody_waits_for_the_same_in_the_end() {
    let description = describe(&provisioning(), "Cluster/blue");
    let waits: Vec<(&str, &[String])> = description
        .waits_for
        .iter()
        .map(|one| (one.object.as_str(), one.through.as_slice()))
        .collect();
    let through = ["captcontrolplane/plane", "wtapply/plane-eks"].map(str::to_owned);
    assert!(
        waits.contains(&("workspace/plane-eks", &through[..])),
        "{waits:?}"
    );
}

#[test]
fn what_is_tried_now_is_told_and_an_error_only_if_it_is_of_the_same() {
    for (attempt, is_told) in [(1, false), (2, true)] {
        let mut objects = provisioning();
        objects["applies"][0]["status"] = json!({
            "applied": true, "workspaceName": "plane-eks",
            "progress": {"operation": "apply", "attempt": attempt, "percentComplete": 40},
            "conditions": [condition("Synced", "False", "ReconcileError", "apply failed: no subnet")],
        });
        let told = words(&objects, "WorkspaceTemplateApply/plane-eks");
        assert!(told.contains("State:        Working, 40% done"), "{told}");
        assert_eq!(
            told.contains("Last error:\n  apply failed: no subnet"),
            is_told,
            "{told}"
        );
        assert_eq!(told.contains("apply, attempt 2"), is_told, "{told}");
    }
}

#[test]
fn an_error_is_told_whole_and_without_what_a_terminal_obeys() {
    let mut objects = provisioning();
    objects["applies"][0]["status"]["conditions"] = json!([condition(
        "Synced",
        "False",
        "ReconcileError",
        "one\n\u{1b}[31mtwo"
    )]);
    let told = words(&objects, "WorkspaceTemplateApply/plane-eks");
    assert!(
        told.contains("Why:          ReconcileError: one\n               [31mtwo\n"),
        "{told}"
    );
    assert!(!told.contains("Last error"), "it is told once: {told}");
    assert!(!told.contains('\u{1b}'), "{told}");
}

#[test]
fn a_timeout_that_is_over_is_said_to_be() {
    let mut objects = provisioning();
    objects["controlPlanes"][0]["spec"]["controlPlaneConfig"] =
        json!({"timeouts": {"controlPlaneTimeout": 5}});
    let description = describe(&objects, "CAPTControlPlane/plane");
    assert_eq!(description.timeouts[0].left, None);
    assert!(
        description
            .words(at(725), Style::default())
            .contains("5m0s    over\n")
    );
}

#[test]
fn a_network_that_is_being_made_has_its_time() {
    let objects = json!({"captclusters": [{
        "metadata": {"name": "net"},
        "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}, "timeouts": {"vpcCreationTimeout": "20m"}},
        "status": {
            "conditions": [condition("VPCCreating", "True", "VPCCreating", "")],
            "pauses": [{"from": at(100).to_string(), "to": at(165).to_string()}],
        },
    }]});
    let timeouts = describe(&objects, "CAPTCluster/net").timeouts;
    assert_eq!(timeouts[0].left.as_deref(), Some("10m0s"));
    // A pause that goes on does not count either, although it stands nowhere yet.
    let mut paused = objects;
    let mut pause = condition("Paused", "True", "Paused", "");
    pause["lastTransitionTime"] = json!(at(165).to_string());
    let conditions = paused["captclusters"][0]["status"]["conditions"].as_array_mut();
    conditions.expect("conditions").push(pause);
    let timeouts = describe(&paused, "CAPTCluster/net").timeouts;
    assert_eq!(timeouts[0].left.as_deref(), Some("19m20s"));
}

#[test]
fn what_is_over_is_not_told_as_if_it_were_not() {
    let mut objects = provisioning();
    let well = json!([
        condition("Synced", "True", "ReconcileSuccess", ""),
        condition("Ready", "True", "Available", ""),
    ]);
    objects["applies"][0]["status"]["conditions"] = well.clone();
    objects["workspaces"][0]["status"]["conditions"] = well;
    for ready in [true, false] {
        objects["controlPlanes"][0]["status"] = json!({
            "state": "Ready", "ready": true,
            "workspaceTemplateStatus": {"ready": ready, "lastFailureMessage": "no subnets"},
            "conditions": [condition("Ready", "True", "Ready", "")],
        });
        let told = words(&objects, "CAPTControlPlane/plane");
        assert!(!told.contains("may operate now"), "{told}");
        assert_eq!(told.contains("no subnets"), !ready, "{told}");
    }
}

#[test]
fn a_workspace_that_is_being_prepared_waits_for_no_runner() {
    let mut object = json!({
        "metadata": {"name": "vpc"}, "spec": {"forProvider": {"source": "Inline", "module": ""}},
    });
    let told = words(&json!({"workspaces": [object.clone()]}), "Workspace/vpc");
    assert!(told.contains("no runner has looked at it yet"), "{told}");
    object["report"] = json!({
        "operation": {"kind": "apply"}, "progress": {"operation": "init", "percentComplete": 0},
    });
    let told = words(&json!({"workspaces": [object]}), "Workspace/vpc");
    assert!(told.contains("init"), "{told}");
    assert!(
        !told.contains("a runner runs") && !told.contains("no runner"),
        "{told}"
    );
}

#[test]
fn what_no_runner_looks_at_any_more_is_said_to_wait_for_one() {
    let ended =
        json!({"kind": "apply", "endedAt": at(600).to_string(), "outcome": "succeeded", "generation": 1});
    let object = json!({
        "metadata": {"name": "vpc", "generation": 1},
        "spec": {"forProvider": {"source": "Inline", "module": ""}},
        "status": {"conditions": [
            condition("Synced", "True", "ReconcileSuccess", ""), condition("Ready", "True", "Available", ""),
        ]},
        "report": {"operation": ended},
    });
    let advice = "see to it that a runner runs";
    let mut going = object.clone();
    going["metadata"]["deletionTimestamp"] = json!(at(700).to_string());
    let told = words(&json!({"workspaces": [going.clone()]}), "Workspace/vpc");
    assert!(
        told.contains("no runner has looked at its deletion yet"),
        "{told}"
    );
    assert!(told.contains(advice), "{told}");
    let silent = [json!({"operation": {"kind": "destroy"}}), Value::Null];
    for report in silent {
        going["report"] = report;
        let told = words(&json!({"workspaces": [going.clone()]}), "Workspace/vpc");
        assert!(!told.contains("runner"), "{told}");
    }
    // A change that nobody looks at holds up whoever wants it, although what is there is well.
    let mut objects = provisioning();
    let held = condition("ApprovalNeeded", "True", "DestructiveChange", "");
    for (generation, report, held, is_awaited) in [
        (1, &object["report"], None, false),
        (2, &object["report"], None, true),
        (2, &Value::Null, None, false),
        (2, &object["report"], Some(held), false),
    ] {
        let workspace = &mut objects["workspaces"][0];
        workspace["metadata"]["generation"] = json!(generation);
        workspace["status"] = object["status"].clone();
        let conditions = workspace["status"]["conditions"]
            .as_array_mut()
            .expect("conditions");
        conditions.extend(held);
        workspace["report"] = report.clone();
        let told = words(&objects, "CAPTControlPlane/plane");
        assert_eq!(told.contains(advice), is_awaited, "{told}");
    }
}

#[test]
fn a_cluster_that_is_paused_from_the_beginning_waits_for_no_controller() {
    let objects = json!({"clusters": [{
        "metadata": {"name": "blue"}, "spec": {"paused": true},
        "status": {"conditions": [condition("Paused", "True", "Paused", "spec.paused is true")]},
    }]});
    let told = words(&objects, "Cluster/blue");
    assert!(
        told.contains("spec.paused is true") && !told.contains("no controller"),
        "{told}"
    );
}

#[test]
fn what_somebody_else_manages_waits_for_no_controller() {
    for mark in ["labels", "annotations"] {
        let mut object = json!({"metadata": {"name": "net"}, "spec": {"region": "eu-central-1"}});
        let told = words(&json!({"captclusters": [object.clone()]}), "CAPTCluster/net");
        assert!(told.contains("no controller has looked at it yet"), "{told}");
        object["metadata"][mark] = json!({"cluster.x-k8s.io/managed-by": "others"});
        let told = words(&json!({"captclusters": [object]}), "CAPTCluster/net");
        assert!(told.contains("somebody else manages it"), "{told}");
        assert!(!told.contains("controller"), "{told}");
    }
}
