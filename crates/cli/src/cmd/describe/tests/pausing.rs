//! What is paused, and how it goes on.

use serde_json::json;

use super::{describe, provisioning};
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
