//! What is waited for in the end.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::*;

fn ways(graph: &Graph, root: &str) -> Vec<String> {
    let causes = graph.causes(root);
    causes.iter().map(|cause| cause.way.join(" > ")).collect()
}

/// The demo while its VPC is made.
fn beginning() -> Snapshot {
    let mut snapshot = demo();
    let creating = json!({"conditions": [condition("Ready", "False", "Creating", "")]});
    snapshot.clusters[0].status = Some(read(json!({"phase": "Provisioning"})));
    snapshot.captclusters[0].status = Some(read(creating));
    snapshot.control_planes[0].status = Some(read(json!({"state": "Pending"})));
    snapshot.applies.truncate(1);
    snapshot.applies[0].status = Some(read(json!({"applied": true, "workspaceName": "net-vpc"})));
    snapshot.workspaces.truncate(1);
    snapshot.workspaces[0].conditions = Vec::new();
    snapshot.secrets.clear();
    snapshot.templates.push(read(json!({
        "metadata": metadata("vpc", &Value::Null),
        "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": ""}}}},
    })));
    snapshot
}

#[test]
fn who_is_well_waits_for_nothing() {
    let mut snapshot = demo();
    // The templates are not in the picture, and would be missing.
    snapshot.applies.clear();
    assert_eq!(ways(&build(&snapshot), "Cluster/blue"), Vec::<String>::new());
    assert_eq!(ways(&build(&snapshot), "Cluster/none"), Vec::<String>::new());
}

#[test]
fn everything_waits_for_the_one_thing_that_is_under_way() {
    let graph = build(&beginning());
    let down = "CAPTCluster/net > WorkspaceTemplateApply/net-vpc > Workspace/net-vpc";
    assert_eq!(ways(&graph, "Cluster/blue"), [format!("Cluster/blue > {down}")]);
    assert_eq!(
        ways(&graph, "CAPTControlPlane/plane"),
        [format!("CAPTControlPlane/plane > {down}")]
    );
    assert_eq!(ways(&graph, "Workspace/net-vpc"), ["Workspace/net-vpc"]);
}

#[test]
fn a_secret_that_is_missing_is_waited_for_through_its_maker() {
    let mut snapshot = beginning();
    snapshot.applies.push(apply(
        "plane-eks-controlplane-apply",
        "CAPTControlPlane.plane",
        &json!({"waitForSecrets": [{"name": "net-vpc-connection"}]}),
    ));
    snapshot.applies[1].status = Some(read(json!({
        "conditions": [condition("Waiting", "True", "WaitingForSecrets", "")],
    })));
    snapshot.applies[1].metadata.annotations = None;
    let graph = build(&snapshot);
    let ways = ways(&graph, "WorkspaceTemplateApply/plane-eks-controlplane-apply");
    assert_eq!(ways.len(), 1, "{ways:?}");
    assert!(ways[0].ends_with("Workspace/net-vpc"), "{ways:?}");
}

#[test]
fn a_circle_is_walked_once() {
    let node = |name: &str| Node {
        kind: "Thing".to_owned(),
        name: name.to_owned(),
        status: "Waiting".to_owned(),
        health: Health::Busy,
        reason: String::new(),
        message: String::new(),
        created_at: None,
        since: None,
    };
    let mut graph = Graph::default();
    for name in ["a", "b", "c"] {
        graph.add(name, node(name));
    }
    for (who, whom) in [("a", "b"), ("b", "a"), ("b", "c")] {
        graph.relate(who, Relation::Input, whom);
    }
    assert_eq!(ways(&graph, "a"), ["a > b > c"]);
}

#[test]
fn who_goes_waits_for_nobodys_leave() {
    let mut snapshot = demo();
    let going = |metadata: &mut ObjectMeta| metadata.deletion_timestamp = Some(Time(at(1)));
    going(&mut snapshot.clusters[0].metadata);
    going(&mut snapshot.captclusters[0].metadata);
    snapshot.control_planes.clear();
    snapshot.applies.truncate(1);
    snapshot.applies[0].status = Some(read(
        json!({"applied": true, "workspaceName": "net-vpc", "conditions": [
            condition("ApprovalNeeded", "True", "AdoptedChange", ""),
        ]}),
    ));
    let told = ways(&build(&snapshot), "Cluster/blue");
    assert!(
        told.contains(&"Cluster/blue > CAPTCluster/net".to_owned()),
        "{told:?}"
    );
    assert!(!told.iter().any(|way| way.contains("net-vpc")), "{told:?}");
}

#[test]
fn what_nobody_made_yet_is_waited_for_in_who_makes_it() {
    let mut snapshot = demo();
    snapshot.clusters[0].status = Some(read(json!({"phase": "Provisioning"})));
    snapshot.control_planes[0].status = Some(read(json!({"state": "Validating", "conditions": [
        condition("Ready", "False", "WorkspaceTemplateNotFound", "There is no WorkspaceTemplate eks"),
    ]})));
    snapshot.control_planes[0].spec.workspace_template_apply_name = Some("plane-eks".to_owned());
    snapshot.applies.clear();
    assert_eq!(
        ways(&build(&snapshot), "Cluster/blue"),
        ["Cluster/blue > CAPTControlPlane/plane"]
    );
}

#[test]
fn who_goes_does_not_wait_for_what_it_used() {
    let mut snapshot = beginning();
    let going = |metadata: &mut ObjectMeta| metadata.deletion_timestamp = Some(Time(at(1)));
    going(&mut snapshot.clusters[0].metadata);
    going(&mut snapshot.captclusters[0].metadata);
    going(&mut snapshot.applies[0].metadata);
    going(&mut snapshot.templates[0].metadata);
    snapshot.control_planes.clear();
    snapshot.workspaces.clear();
    let told = ways(&build(&snapshot), "CAPTCluster/net");
    assert_eq!(told, ["CAPTCluster/net > WorkspaceTemplateApply/net-vpc"]);
}
