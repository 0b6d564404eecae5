//! Trees of objects as they are on the way.

use serde_json::{Value, json};

use super::*;
use crate::look::testing::{at, condition, part};

fn gathered(objects: &Value, root: &str) -> Gathered {
    Gathered {
        part: part(objects),
        root: root.to_owned(),
        now: at(725),
    }
}

/// A cluster whose VPC is being made.
fn beginning() -> Value {
    json!({
        "clusters": [{
            "spec": {
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CAPTCluster", "name": "net"},
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "plane"},
            },
            "metadata": {"name": "blue"},
            "status": {"phase": "Provisioning"},
        }],
        "captclusters": [{
            "metadata": {"name": "net"},
            "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
            "status": {"conditions": [condition("Ready", "False", "VPCCreating", "The VPC is being made")]},
        }],
        "controlPlanes": [{
            "metadata": {"name": "plane"},
            "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
            "status": {
                "state": "Pending",
                "progress": {"currentOperation": "Create", "percentComplete": 5},
                "conditions": [condition("Ready", "False", "WaitingForVPC", "The network is not ready")],
            },
        }],
        "applies": [{
            "metadata": {"name": "net-vpc", "labels": {"infrastructure.cluster.x-k8s.io/owner": "CAPTCluster.net"}},
            "spec": {"templateRef": {"name": "vpc"}},
            "status": {
                "applied": true, "workspaceName": "net-vpc", "progress": {"percentComplete": 40},
                "conditions": [condition("Ready", "False", "Creating", "")],
            },
        }],
        "templates": [{
            "metadata": {"name": "vpc"},
            "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": ""}}}},
        }],
        "workspaces": [{
            "metadata": {"name": "net-vpc"},
            "spec": {"forProvider": {"source": "Inline", "module": ""}, "writeConnectionSecretToRef": {"name": "net-vpc-connection"}},
            "status": {"conditions": [condition("Ready", "False", "Creating", "")]},
            "report": {
                "operation": {"kind": "apply"},
                "progress": {
                    "operation": "apply", "percentComplete": 43, "resourcesDone": 3, "resourcesTotal": 7,
                    "currentResource": "aws_vpc.this", "estimatedTimeRemaining": "2m0s",
                },
            },
        }],
    })
}

#[test]
fn a_tree_tells_what_is_going_on_and_what_is_waited_for() {
    let drawn = render(&gathered(&beginning(), "Cluster/blue"), Style::default());
    let expected = "\
NAME                                  STATE          DONE   AGE   WHY
◌ cluster/blue                        Provisioning   5%     12m
├─ ◌ captcluster/net                  NotReady       40%    12m   VPCCreating: The VPC is being made
│  └─ ◌ wtapply/net-vpc               Working        40%    12m   Creating
│     └─ ◌ workspace/net-vpc          Working        43%    12m   apply, 3 of 7 resources, now aws_vpc.this, about 2m0s left
│        └─ ◌ secret/net-vpc-connection   Pending   to be made
└─ ◌ captcontrolplane/plane           Pending        5%     12m   WaitingForVPC: The network is not ready
   └─ needs captcluster/net           NotReady

cluster/blue waits for workspace/net-vpc, which is Working: apply, 3 of 7 resources, now aws_vpc.this, about 2m0s left
";
    let squeezed = |text: &str| -> Vec<String> {
        let lines = text.lines();
        lines
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(squeezed(&drawn), squeezed(expected), "\n{drawn}");
}

#[test]
fn what_may_not_be_looked_at_is_not_called_missing() {
    let mut gathered = gathered(&beginning(), "Cluster/blue");
    gathered.part.secrets_unseen = true;
    let drawn = render(&gathered, Style::default());
    assert!(drawn.contains("? secret/net-vpc-connection"), "{drawn}");
    assert!(
        !drawn.contains("Missing") && !drawn.contains("to be made"),
        "{drawn}"
    );
}

#[test]
fn what_is_yet_to_be_made_is_not_missing() {
    let mut objects = beginning();
    objects["controlPlanes"][0]["spec"]["workspaceTemplateApplyName"] = json!("plane-eks");
    let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
    assert!(drawn.contains("◌ wtapply/plane-eks"), "{drawn}");
    objects["controlPlanes"][0]["status"]["state"] = json!("Ready");
    let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
    assert!(drawn.contains("✘ wtapply/plane-eks"), "{drawn}");

    let mut objects = beginning();
    objects["applies"][0]["metadata"]["annotations"] =
        json!({"infrastructure.cluster.x-k8s.io/workspace": "tf.m.upbound.io/net-vpc"});
    objects["workspaces"] = json!([]);
    let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
    assert!(drawn.contains("◌ workspace/net-vpc"), "{drawn}");
    assert!(!drawn.contains('✘'), "{drawn}");
}

#[test]
fn what_went_with_its_owner_is_not_missing() {
    let mut objects = beginning();
    objects["clusters"][0]["metadata"]["deletionTimestamp"] = json!(at(700).to_string());
    objects["controlPlanes"] = json!([]);
    let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
    assert!(drawn.contains("✔ captcontrolplane/plane"), "{drawn}");
    assert!(!drawn.contains("waits for captcontrolplane/plane"), "{drawn}");
}

#[test]
fn no_message_steers_the_terminal() {
    let mut objects = beginning();
    objects["captclusters"][0]["status"]["conditions"][0]["message"] = json!("\u{1b}[2Jgone\u{202e}");
    objects["captclusters"][0]["status"]["conditions"][0]["reason"] = json!("A\u{7}B");
    let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
    assert!(drawn.contains("A B: [2Jgone"), "{drawn}");
    assert!(!drawn.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{drawn}");
}

#[test]
fn a_simulation_is_never_taken_for_something_real() {
    let mut objects = beginning();
    objects["workspaces"][0]["report"] = Value::Null;
    objects["workspaces"][0]["status"]["conditions"] = json!([
        condition("Ready", "True", "Available", ""),
        condition("Synced", "True", "ReconcileSuccess", ""),
        condition("Simulated", "True", "SimulatedEngine", ""),
    ]);
    let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
    let line = drawn
        .lines()
        .find(|line| line.contains("workspace/net-vpc"))
        .unwrap();
    assert!(line.ends_with("simulated: nothing of it is real"), "{drawn}");
}

#[test]
fn what_is_wrong_with_a_part_is_said_although_the_whole_can_be_used() {
    let mut objects = beginning();
    objects["clusters"][0]["status"]["conditions"] = json!([condition("Available", "True", "Available", "")]);
    objects["controlPlanes"][0]["status"]["state"] = json!("Failed");
    let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
    assert!(
        drawn.ends_with(
            "\ncluster/blue is available.\nBut captcontrolplane/plane is Failed: WaitingForVPC: The network is not ready\n"
        ),
        "{drawn}"
    );
}

#[test]
fn a_tree_never_ends_without_a_word_on_how_it_is() {
    let paused = condition("Paused", "True", "Paused", "Nothing is done");
    let mut by_cluster = beginning();
    by_cluster["clusters"][0]["spec"]["paused"] = json!(true);
    by_cluster["clusters"][0]["status"]["conditions"] = json!([paused]);
    let mut by_part = beginning();
    by_part["captclusters"][0]["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    by_part["captclusters"][0]["status"]["conditions"] = json!([paused]);
    let mut without_parts = beginning();
    without_parts["clusters"][0]["spec"] = json!({});
    let patch = "kubectl patch cluster blue -n team --type merge -p '{\"spec\":{\"paused\":false}}'";
    for (objects, expected) in [
        (
            by_cluster,
            format!("cluster/blue is Paused, because it has spec.paused: true.\nTo go on: {patch}\n"),
        ),
        (
            by_part,
            "cluster/blue waits for captcluster/net, which is Paused: Nothing is done\n\
             To go on with captcluster/net: kubectl annotate captcluster net -n team cluster.x-k8s.io/paused-\n"
                .to_owned(),
        ),
        (without_parts, "cluster/blue is Provisioning.\n".to_owned()),
    ] {
        let drawn = render(&gathered(&objects, "Cluster/blue"), Style::default());
        let (_, summary) = drawn.split_once("\n\n").expect("a tree and a summary");
        assert_eq!(summary, expected, "\n{drawn}");
    }
}

#[test]
fn a_workspace_that_somebody_paused_is_told_below_the_tree_of_what_it_is_made_for() {
    let mut objects = beginning();
    objects["workspaces"][0]["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
    let end = "kubectl annotate workspaces.tf.m.upbound.io net-vpc -n team crossplane.io/paused-";
    for root in [
        "Cluster/blue",
        "CAPTCluster/net",
        "WorkspaceTemplateApply/net-vpc",
    ] {
        let drawn = render(&gathered(&objects, root), Style::default());
        assert!(
            drawn.ends_with(&format!("\nTo go on with workspace/net-vpc: {end}\n")),
            "{drawn}"
        );
    }
}

#[test]
fn a_command_that_ends_a_pause_of_several_is_told_once() {
    let mut objects = beginning();
    objects["captclusters"][0]["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    let mut apply = objects["applies"][0].clone();
    apply["status"]["conditions"] = json!([condition("Paused", "True", "Paused", "Nothing is done")]);
    let mut other = apply.clone();
    other["metadata"]["name"] = json!("net-dns");
    other["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    objects["applies"] = json!([apply, other]);
    let drawn = render(&gathered(&objects, "CAPTCluster/net"), Style::default());
    let ways: Vec<&str> = drawn.lines().filter(|line| line.starts_with("To ")).collect();
    let too = "when the other pause has ended too: kubectl annotate";
    assert_eq!(
        ways,
        [
            format!("To go on with wtapply/net-dns, {too} wtapply net-dns -n team cluster.x-k8s.io/paused-"),
            format!("To go on, {too} captcluster net -n team cluster.x-k8s.io/paused-"),
        ],
        "\n{drawn}"
    );
}

#[test]
fn what_is_not_there_is_said_to_be_gone() {
    let gathered = gathered(&beginning(), "Cluster/green");
    assert!(!gathered.is_there());
    assert_eq!(
        render(&gathered, Style::default()),
        "There is no cluster/green.\n"
    );
}

#[test]
fn a_tree_is_data_for_programs() {
    let tree = serde_json::to_value(data(&gathered(&beginning(), "Cluster/blue"))).unwrap();
    assert_eq!(tree["object"], "cluster/blue");
    assert_eq!(tree["made"][0]["made"][0]["made"][0]["percent"], 43);
    assert_eq!(tree["made"][1]["needs"], json!(["captcluster/net"]));
    assert_eq!(tree["made"][1]["ready"], false);
}
