//! Where a person has to act: that is said, what it is, and nothing tells to wait.

use serde_json::{Value, json};

use super::{super::*, describe, provisioning, words};
use crate::look::testing::{at, condition, part};

/// What is advised says all of this, and tells nobody to wait.
fn assert_somebody_acts(advice: &[String], expected: &[&str]) {
    for expected in expected {
        assert!(
            advice.iter().any(|line| line.contains(expected)),
            "{expected}: {advice:?}"
        );
    }
    assert!(
        !advice.iter().any(|line| line.contains("goes on by itself")),
        "{advice:?}"
    );
}

#[test]
fn what_does_not_get_on_by_itself_is_not_said_to() {
    let going = |reason: &str, message: &str| {
        let mut objects = provisioning();
        objects["applies"][0]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
        objects["applies"][0]["status"]["conditions"] =
            json!([condition("Deleting", "True", reason, message)]);
        objects["workspaces"] = json!([]);
        objects
    };
    let failing = |reason: &str| {
        let mut objects = going("Destroying", "It is being destroyed");
        objects["workspaces"] = json!([{
            "metadata": {"name": "plane-eks", "deletionTimestamp": at(95).to_string()},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
            "status": {"conditions": [
                condition("Synced", "False", "ReconcileError", "it broke"),
                condition("Failing", "True", reason, ""),
            ]},
        }]);
        objects
    };
    let mut network = provisioning();
    network["captclusters"][0]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
    network["captclusters"][0]["status"]["conditions"] = json!([condition(
        "Deleting",
        "True",
        "WaitingForControlPlane",
        "Waiting for plane, other to go, which need this network"
    )]);
    let mut failed = provisioning();
    failed["applies"][0]["metadata"]["annotations"] = json!({capt_api::marks::FAILED: "{}"});
    failed["applies"][0]["status"]["conditions"] = json!([condition(
        "Waiting",
        "True",
        "WaitingForTurn",
        "It failed, and leaves the turn to others"
    )]);
    failed["workspaces"] = json!([]);
    let paused = |annotations: Value| {
        json!({"workspaces": [{
            "metadata": {"name": "old", "annotations": annotations},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
            "status": {"conditions": [condition("Synced", "False", "ReconcilePaused", "nothing is done")]},
        }]})
    };
    let apply = "WorkspaceTemplateApply/plane-eks";
    for (objects, root, expected) in [
        (
            going(
                "ConsentMissing",
                "The owner is silent. To destroy it: kubectl annotate x. To keep it: set y",
            ),
            apply,
            &["to destroy it: kubectl annotate x", "to keep it: set y"][..],
        ),
        (
            going("OwnerGone", "The owner is gone. To keep it: set y"),
            apply,
            &["to keep it: set y"],
        ),
        (
            going("NamespaceTerminating", "To let it go: set y"),
            apply,
            &["to let it go: set y"],
        ),
        (
            going(
                "WorkspaceNotOurs",
                "It is not ours. If it is, give it labels. To keep it: set y",
            ),
            apply,
            &["if it is, give it labels", "to keep it: set y"],
        ),
        (
            going("RenderingLost", "It is gone. Bring back the template"),
            apply,
            &["bring back the template"],
        ),
        (
            going("WorkspaceApiMissing", "Install its CRDs"),
            apply,
            &["Install its CRDs"],
        ),
        (
            going("WaitingForDependents", "These must go first: team/app"),
            apply,
            &["delete first what waits for it, unless it goes already: team/app"],
        ),
        (
            failing("Configuration"),
            apply,
            &[
                "mend what it is destroyed with, which the template does not change any more: spec.forProvider of \
                 workspace/plane-eks",
                "or keep it: kubectl patch wtapply plane-eks -n team --type merge",
                "try again: capt retry wtapply/plane-eks -n team",
            ],
        ),
        (failing("Network"), apply, &["wait: it is tried again by itself"]),
        (
            failed,
            apply,
            &["mend what it failed with, and try again: capt retry wtapply/plane-eks -n team"],
        ),
        (
            network,
            "CAPTCluster/net",
            &["or the Cluster of both: kubectl delete captcontrolplane plane -n team"],
        ),
        (
            paused(json!({"infrastructure.cluster.x-k8s.io/retained": "true"})),
            "Workspace/old",
            &["kept on purpose; or take it back with a WorkspaceTemplateApply that has the annotation"],
        ),
        (
            paused(json!({})),
            "Workspace/old",
            &["set its spec.managementPolicies"],
        ),
    ] {
        let advice = describe(&objects, root).advice;
        assert_somebody_acts(&advice, expected);
    }
    let told = describe(&failing("Network"), apply).advice;
    assert!(!told.iter().any(|line| line.contains("forProvider")), "{told:?}");
}

#[test]
fn a_destruction_that_failed_is_an_error_wherever_it_is_looked_at() {
    let mut objects = provisioning();
    let deleted = json!(at(90).to_string());
    for list in ["clusters", "controlPlanes", "applies", "workspaces"] {
        objects[list][0]["metadata"]["deletionTimestamp"] = deleted.clone();
    }
    let failed = condition("Synced", "False", "ReconcileError", "pods are left");
    objects["clusters"][0]["status"] = json!({"phase": "Deleting", "conditions": [
        condition("Deleting", "True", "WaitingForControlPlaneDeletion", "Waiting for CAPTControlPlane plane to go: pods"),
    ]});
    objects["controlPlanes"][0]["status"] = json!({"state": "Deleting", "phase": "Deleting", "conditions": [
        condition("Deleting", "True", "DeletionFailed", "pods are left"),
    ]});
    objects["applies"][0]["status"]["conditions"] = json!([
        condition("Deleting", "True", "Destroying", "It is being destroyed"),
        failed
    ]);
    objects["workspaces"][0]["status"]["conditions"] =
        json!([failed, condition("Failing", "True", "Configuration", "")]);
    for root in ["Cluster/blue", "CAPTControlPlane/plane"] {
        let told = words(&objects, root);
        assert!(
            !told.contains("goes on by itself") && !told.contains(" left\nTurn"),
            "{told}"
        );
        for expected in [
            "pods are left",
            "see what Terraform said: capt logs workspace/plane-eks -n team",
            "capt retry ",
        ] {
            assert!(told.contains(expected), "{expected}\n{told}");
        }
    }
    let told = words(&objects, "CAPTControlPlane/plane");
    assert!(
        told.contains("try again: capt retry captcontrolplane/plane -n team"),
        "{told}"
    );
}

/// A network that serves, and waits for somebody to approve a replacement.
fn replacing() -> Value {
    let mut objects = provisioning();
    objects["clusters"][0]["status"] =
        json!({"phase": "Provisioned", "conditions": [condition("Available", "True", "Available", "")]});
    objects["captclusters"][0] = json!({
        "metadata": {"name": "net"},
        "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
        "status": {"ready": true, "vpcId": "vpc-1", "conditions": [
            condition("Ready", "True", "WaitingForApproval", "It would replace the VPC"),
        ]},
    });
    objects["applies"][0] = json!({
        "metadata": {"name": "net-vpc", "labels": {"infrastructure.cluster.x-k8s.io/owner": "CAPTCluster.net"}},
        "spec": {"templateRef": {"name": "eks"}},
        "status": {"applied": true, "conditions": [
            condition("ApprovalNeeded", "True", "DestructiveChange", "It would replace the VPC"),
        ]},
    });
    objects["controlPlanes"] = json!([]);
    objects["clusters"][0]["spec"]["controlPlaneRef"] = Value::Null;
    objects["workspaces"] = json!([]);
    objects
}

#[test]
fn an_approval_that_is_waited_for_is_told_to_the_top() {
    for root in ["CAPTCluster/net", "Cluster/blue"] {
        let told = words(&replacing(), root);
        for expected in [
            "wtapply/net-vpc (ApprovalNeeded)",
            "capt approve wtapply/net-vpc -n team --plan ID",
        ] {
            assert!(told.contains(expected), "{expected}\n{told}");
        }
    }
    let part = part(&replacing());
    let view = View::new(&part);
    assert!(
        view.why("Cluster/blue")
            .contains("wtapply/net-vpc: DestructiveChange"),
        "{}",
        view.why("Cluster/blue")
    );
    assert!(view.why("CAPTCluster/net").contains("WaitingForApproval"));
}

#[test]
fn where_nobody_plans_nobody_is_told_to_look_at_a_plan() {
    for (message, expected) in [
        (
            "The runner cannot plan, so that this change, in module, may destroy or replace infrastructure. To let it happen: \
             capt approve wtapply/net-vpc -n team --plan 12",
            vec!["to let it happen: capt approve wtapply/net-vpc -n team --plan 12"],
        ),
        (
            "The Workspace was taken over, and this would be the first change of it, in module. Its runner cannot plan, so \
             compare what it has with the WorkspaceTemplate vpc: kubectl get workspaces.tf.upbound.io net-vpc -o yaml. To let \
             it happen: capt approve wtapply/net-vpc -n team --plan 12",
            vec![
                "compare what it has with the WorkspaceTemplate vpc: kubectl get workspaces.tf.upbound.io net-vpc -o yaml",
                "to let it happen: capt approve wtapply/net-vpc -n team --plan 12",
            ],
        ),
    ] {
        let mut objects = replacing();
        objects["applies"][0]["status"]["conditions"][0]["message"] = json!(message);
        let told = words(&objects, "WorkspaceTemplateApply/net-vpc");
        assert!(!told.contains("capt plan"), "{told}");
        for line in expected {
            assert!(told.contains(line), "{line}\n{told}");
        }
    }
}

#[test]
fn who_must_act_is_not_told_to_wait() {
    let cluster = |type_: &str, reason: &str, message: &str| {
        let mut objects = provisioning();
        objects["captclusters"] = json!([]);
        objects["controlPlanes"] = json!([]);
        objects["applies"] = json!([]);
        objects["workspaces"] = json!([]);
        objects["clusters"][0]["spec"] = json!({});
        objects["clusters"][0]["status"] = json!({"phase": "Provisioning", "conditions": [
            condition("Available", "False", "NotAvailable", "* RemoteConnectionProbe: not reached"),
            condition("RemoteConnectionProbe", "False", "ProbeFailed", "not reached"),
            condition(type_, "False", reason, message),
        ]});
        objects
    };
    let plane = |state: &str, reason: &str, message: &str| {
        let mut objects = provisioning();
        objects["applies"] = json!([]);
        objects["workspaces"] = json!([]);
        objects["controlPlanes"][0]["status"] =
            json!({"state": state, "conditions": [condition("Ready", "False", reason, message)]});
        objects
    };
    let network = |reason: &str, message: &str| {
        let mut objects = provisioning();
        objects["captclusters"][0]["status"] =
            json!({"conditions": [condition("Ready", "False", reason, message)]});
        objects
    };
    for (objects, root, expected) in [
        (
            network("ClusterNotFound", "No Cluster owns this object yet; name it"),
            "CAPTCluster/net",
            &["name net in spec.infrastructureRef of a Cluster"][..],
        ),
        (
            network(
                "ClusterNotFound",
                "The Cluster blue, which owns this object, does not exist. Make it again, or delete this object, which \
                 destroys its VPC",
            ),
            "CAPTCluster/net",
            &["make it again, or delete this object, which destroys its VPC"],
        ),
        (
            network(
                "OutputInvalid",
                "The module's output vpc_id is a list. Make it a text",
            ),
            "CAPTCluster/net",
            &["mend what the message names; it is noticed"],
        ),
        (
            cluster(
                "InfrastructureReady",
                "OwnedByAnotherCluster",
                "net belongs to the Cluster red",
            ),
            "Cluster/blue",
            &["mend what the message names"],
        ),
        (
            cluster(
                "ControlPlaneAvailable",
                "InternalError",
                "No CRD serves KubeadmControlPlane",
            ),
            "Cluster/blue",
            &["mend what the message names"],
        ),
        (
            plane("Validating", "SecretError", "The Secret vpc has no key vpc_id"),
            "CAPTControlPlane/plane",
            &["see to the Secret that the message names"],
        ),
        (
            plane(
                "Configuring",
                "SecretError",
                "It is not there; to have it written again: capt retry x",
            ),
            "CAPTControlPlane/plane",
            &["or have it written again: capt retry x"],
        ),
        (
            plane(
                "Configuring",
                "EndpointNotReady",
                "The API server does not answer at x.example:443: no such host",
            ),
            "CAPTControlPlane/plane",
            &["spec.endpointCheck of the CAPTControlPlane to Optional"],
        ),
    ] {
        let description = describe(&objects, root);
        let advice = description.advice;
        assert_somebody_acts(&advice, expected);
        assert_ne!(description.reason, "NotAvailable", "the cause is told");
    }
}

#[test]
fn a_state_that_is_gone_is_told_with_the_commands_that_there_are() {
    let mut objects = provisioning();
    let message = "observe failed: there is no state in secret/team/tfstate-x-capt of what was made, so that nothing is \
                   done. Put it back; the runner notices. If nothing exists any more: kubectl annotate --overwrite wtapply \
                   plane-eks -n team infrastructure.cluster.x-k8s.io/destroyed=true/2026-01-02T03:04:05Z; then everything is \
                   made anew";
    let synced = condition("Synced", "False", "ReconcileError", message);
    objects["applies"][0]["status"]["conditions"] = json!([synced]);
    objects["workspaces"][0]["status"]["conditions"] = json!([
        synced,
        condition("Failing", "True", "StateUnavailable", message),
        condition("StateComplete", "False", "StateMissing", message),
    ]);
    for root in ["WorkspaceTemplateApply/plane-eks", "Workspace/plane-eks"] {
        let told = words(&objects, root);
        for expected in [
            "put the state back where the message says that it is missing",
            "or, if nothing exists any more: kubectl annotate --overwrite wtapply plane-eks -n team \
             infrastructure.cluster.x-k8s.io/destroyed=true/2026-01-02T03:04:05Z\n",
        ] {
            assert!(told.contains(expected), "{expected}\n{told}");
        }
    }
}

#[test]
fn what_is_in_no_namespace_is_named_without_one() {
    for (id, namespace, expected) in [
        ("Workspace/x", "team", "workspace/x -n team"),
        ("WorkspaceTemplateApply/x", "team", "wtapply/x -n team"),
        ("ClusterWorkspace/x", "team", "workspace/x"),
        ("Workspace/x", "", "workspace/x"),
    ] {
        assert_eq!(advice::placed(id, namespace), expected, "{id}");
    }
}
