//! What stands in tables.

use serde_json::json;

use super::{super::*, describe, provisioning};
use crate::look::testing::{at, condition};

#[test]
fn no_message_of_a_table_is_cut() {
    let long = format!("{} the end", "some words that go on ".repeat(20).trim_end());
    let message = format!("{long}\nMend it, and ask for another try: capt retry workspace/plane-eks -n team");
    let mut objects = provisioning();
    let plane = &mut objects["controlPlanes"][0]["status"];
    plane["conditions"][1] = condition("Available", "False", "Whatever", &message);
    plane["progress"]["history"][0]["message"] = json!(message);
    plane["fargateProfileStatuses"][0]["message"] = json!(message);
    let mut description = describe(&objects, "CAPTControlPlane/plane");
    description.events.push(description::EventLine {
        at: Some(at(1)),
        object: "captcontrolplane/plane".to_owned(),
        reason: "Failed".to_owned(),
        is_warning: true,
        count: 1,
        message: message.clone(),
    });
    let of_tables = |width| {
        let mut text = String::new();
        description.tables(&mut text, at(725), Style { colour: false, width });
        text
    };
    let told = of_tables(None);
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(told.matches(&long).count(), 4, "{told}");
    for width in [None, Some(80), Some(120), Some(200)] {
        let told = of_tables(width);
        assert!(!told.contains('…'), "{told}");
        assert_eq!(
            squeezed(&told).matches(&squeezed(&message)).count(),
            4,
            "{width:?}\n{told}"
        );
        // A command is not broken, or nobody could copy it.
        let broken = told.lines().filter(|line| !line.contains("capt retry"));
        let longest = broken.map(|line| line.chars().count()).max();
        assert!(
            width.is_none_or(|width| longest <= Some(width)),
            "{width:?}\n{told}"
        );
    }
}

#[test]
fn an_error_is_printed_in_full_once() {
    let error = "create failed: no room\n\n  with aws_vpc.this\nVpcLimitExceeded: too many";
    let mut objects = provisioning();
    objects["workspaces"][0]["status"]["conditions"] = json!([
        condition("Synced", "False", "ReconcileError", error),
        condition(
            "Failing",
            "True",
            "Quota",
            &format!("{error}\nAsk for more of it")
        ),
    ]);
    objects["workspaces"][0]["report"] = json!({"operation": {"kind": "apply", "outcome": "failed", "endedAt": at(9).to_string(), "message": error}});
    let told = super::words(&objects, "Workspace/plane-eks");
    assert_eq!(told.matches("VpcLimitExceeded").count(), 1, "{told}");
    assert_eq!(
        told.matches("create failed: no room (see Why)\n").count(),
        3,
        "{told}"
    );
    assert!(told.contains("Ask for more of it\n"), "{told}");
    let json = serde_json::to_string(&describe(&objects, "Workspace/plane-eks")).unwrap();
    assert!(
        json.matches("VpcLimitExceeded").count() > 3,
        "programs get all of it"
    );
}
