//! Nothing is said twice.

use serde_json::{Value, json};

use super::{describe, provisioning};
use crate::look::testing::condition;

/// A control plane whose Terraform failed.
fn failed(state: &str) -> Value {
    let mut objects = provisioning();
    let broken = condition("Synced", "False", "ReconcileError", "no subnets");
    objects["applies"][0]["status"]["conditions"] = json!([broken]);
    objects["workspaces"][0]["status"]["conditions"] =
        json!([broken, condition("Failing", "True", "Configuration", "")]);
    objects["controlPlanes"][0]["status"]["state"] = json!(state);
    objects
}

#[test]
fn each_thing_that_a_person_can_do_is_said_once() {
    let logs = "see what Terraform said about the profile web: capt logs wtapply/plane-eks -n team";
    for (objects, root, expected) in [
        (
            failed("Provisioning"),
            "WorkspaceTemplateApply/plane-eks",
            &[
                "see what Terraform said: capt logs wtapply/plane-eks -n team",
                "mend what the message names",
                "try again: capt retry wtapply/plane-eks -n team",
            ][..],
        ),
        (
            failed("Failed"),
            "CAPTControlPlane/plane",
            &[
                logs,
                "mend what the message names",
                "try again: capt retry captcontrolplane/plane -n team",
            ],
        ),
        (
            failed("Provisioning"),
            "CAPTControlPlane/plane",
            &[
                logs,
                "mend what the message names",
                "try again: capt retry workspace/plane-eks -n team",
            ],
        ),
    ] {
        assert_eq!(describe(&objects, root).advice, expected, "{root}");
    }
}
