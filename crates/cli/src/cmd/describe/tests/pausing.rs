//! What is paused, and how it goes on.

use serde_json::json;

use super::{describe, provisioning, words};
use crate::look::testing::{at, condition};

#[test]
fn whatever_a_paused_cluster_has_tells_how_that_ends() {
    let mut objects = provisioning();
    objects["clusters"][0]["spec"]["paused"] = json!(true);
    objects["applies"][0]["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] = json!("blue");
    objects["controlPlanes"][0]["status"]["fargateProfileStatuses"] = json!([]);
    let because = "Nothing is done, because the Cluster has spec.paused: true";
    for list in ["clusters", "captclusters", "controlPlanes", "applies"] {
        objects[list][0]["status"]["conditions"] = json!([condition("Paused", "True", "Paused", because)]);
    }
    objects["workspaces"][0]["status"]["conditions"] =
        json!([condition("Synced", "False", "ReconcilePaused", "nothing is done")]);
    let end = "kubectl patch cluster blue -n team --type merge -p '{\"spec\":{\"paused\":false}}'";
    let destroys = "go on with the deletion of cluster/blue, which destroys its infrastructure unless that is to be kept";
    for is_deleted in [false, true] {
        let way = if is_deleted { destroys } else { "go on" };
        if is_deleted {
            objects["clusters"][0]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
        }
        for root in [
            "Cluster/blue",
            "CAPTCluster/net",
            "CAPTControlPlane/plane",
            "WorkspaceTemplateApply/plane-eks",
            "Workspace/plane-eks",
        ] {
            assert_eq!(
                describe(&objects, root).advice,
                [format!("{way}: {end}")],
                "{root}"
            );
        }
    }
}

#[test]
fn a_workspace_that_somebody_paused_is_told_by_all_that_it_is_made_for() {
    let end = "kubectl annotate workspaces.tf.m.upbound.io plane-eks -n team crossplane.io/paused-";
    let synced = condition("Synced", "False", "ReconcilePaused", "nothing is done");
    for (is_ready, is_deleted) in [(false, false), (true, false), (false, true)] {
        let mut objects = provisioning();
        objects["workspaces"][0]["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
        objects["workspaces"][0]["status"]["conditions"] = json!([synced]);
        objects["applies"][0]["status"]["conditions"] = json!([synced]);
        objects["controlPlanes"][0]["status"]["fargateProfileStatuses"] = json!([]);
        if is_ready {
            objects["controlPlanes"][0]["status"]["state"] = json!("Ready");
        }
        if is_deleted {
            for list in ["applies", "workspaces"] {
                objects[list][0]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
            }
        }
        for root in [
            "Cluster/blue",
            "CAPTControlPlane/plane",
            "WorkspaceTemplateApply/plane-eks",
            "Workspace/plane-eks",
        ] {
            let go_on = match (is_deleted, root) {
                (true, _) => {
                    "go on with the deletion of wtapply/plane-eks, which destroys its infrastructure unless that is to be kept"
                }
                (false, "Workspace/plane-eks") => "go on",
                (false, _) => "go on with workspace/plane-eks",
            };
            let advice = describe(&objects, root).advice;
            let told: Vec<&String> = advice.iter().filter(|line| line.contains("kubectl")).collect();
            assert_eq!(
                told,
                [&format!("{go_on}: {end}")],
                "{root} {is_ready} {is_deleted}"
            );
            assert!(
                !advice.iter().any(|line| line.starts_with("wait")),
                "{root}: {advice:?}"
            );
        }
    }
}

#[test]
fn a_pause_is_no_error_and_its_end_is_no_surprise() {
    let mut objects = provisioning();
    objects["applies"][0]["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    objects["applies"][0]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
    let message = "Nothing is done, because somebody said so. It is being deleted: ending the pause destroys";
    objects["applies"][0]["status"]["conditions"] = json!([
        condition("Paused", "True", "Paused", message),
        condition("Synced", "False", "ReconcilePaused", "nothing is done"),
    ]);
    objects["workspaces"][0]["status"]["conditions"] =
        json!([condition("Synced", "False", "ReconcilePaused", "nothing is done")]);
    for root in ["WorkspaceTemplateApply/plane-eks", "Workspace/plane-eks"] {
        let told = words(&objects, root);
        assert!(!told.contains("Last error"), "{told}");
        assert!(told.contains("State:        Paused"), "{told}");
    }
    let told = words(&objects, "WorkspaceTemplateApply/plane-eks");
    for expected in [
        "Why:          Nothing is done, because somebody said so. It is being deleted",
        "go on with the deletion of wtapply/plane-eks, which destroys its infrastructure unless that is to be kept: kubectl \
         annotate wtapply",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
}
