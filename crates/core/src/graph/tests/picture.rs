//! The picture as text.

use super::*;

#[test]
fn a_tree_shows_what_a_cluster_is_made_of() {
    let mut snapshot = demo();
    snapshot.control_planes[0].status = Some(read(json!({
        "state": "Provisioning",
        "conditions": [condition("Ready", "False", "Creating", "Waiting for Terraform\nand more")],
    })));
    snapshot
        .secrets
        .retain(|secret| secret.name == "net-vpc-connection");
    snapshot.applies.truncate(2);
    snapshot.workspaces.truncate(1);
    snapshot.applies[1].status = Some(read(json!({
        "conditions": [condition("Waiting", "True", "WaitingForSecrets", "Waiting for a Secret")],
    })));
    snapshot.applies[1].metadata.annotations = None;
    let drawn = tree(&build(&snapshot), "Cluster/blue", at(725));
    let expected = "\
NAME                                                        STATUS         REASON              AGE   MESSAGE
Cluster/blue                                                Available      Available           12m
├─ CAPTCluster/net                                          Ready          VPCCreated          12m
│  └─ WorkspaceTemplateApply/net-vpc                        Ready          Available           12m
│     ├─ Workspace/net-vpc                                  Ready          Available           12m
│     │  └─ Secret/net-vpc-connection                       Present                            12m
│     └─ needs WorkspaceTemplate/vpc                        Missing
└─ CAPTControlPlane/plane                                   Provisioning   Creating            12m   Waiting for Terraform
   └─ WorkspaceTemplateApply/plane-eks-controlplane-apply   Waiting        WaitingForSecrets   12m   Waiting for a Secret
      └─ needs WorkspaceTemplate/shared/eks                 Missing
";
    assert_eq!(drawn, expected, "\n{drawn}");
}

#[test]
fn nothing_is_drawn_twice_and_nothing_of_what_is_not_there() {
    let mut graph = build(&demo());
    graph.relate("CAPTCluster/net", Relation::Part, "Workspace/net-vpc");
    let drawn = tree(&graph, "Cluster/blue", at(0));
    assert_eq!(drawn.matches("Secret/net-vpc-connection").count(), 1, "{drawn}");
    assert_eq!(drawn.matches("(above)").count(), 1, "{drawn}");
    assert_eq!(tree(&graph, "Cluster/none", at(0)).lines().count(), 1);
}

#[test]
fn a_message_cannot_steer_a_terminal_or_break_a_line() {
    let mut snapshot = demo();
    let message = format!("\u{1b}[2Jgone\r{}\nsecond", "x".repeat(500));
    let status = json!({"conditions": [condition("Available", "False", "NotAvailable", &message)]});
    snapshot.clusters[0].status = Some(read(status));
    let drawn = tree(&build(&snapshot), "Cluster/blue", at(0));
    let line = drawn.lines().nth(1).expect("the Cluster");
    assert!(line.contains("[2Jgonexxx") && line.ends_with('…'), "{line}");
    assert!(!drawn.contains('\u{1b}') && !drawn.contains("second"));
}

#[test]
fn an_age_is_short() {
    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;
    for (seconds, expected) in [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (179 * 60, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 300, "3h5m"),
        (8 * HOUR + 300, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY + HOUR, "2d1h"),
        (30 * DAY, "30d"),
    ] {
        assert_eq!(age(at(0), at(seconds)), expected);
    }
}

#[test]
fn a_graph_is_drawn_for_other_programs() {
    let mut graph = build(&demo()).around("CAPTCluster/net");
    let mut odd = graph.node("CAPTCluster/net").cloned().expect("it is there");
    odd.status = "a \"b\"\n<c>".to_owned();
    graph.add("CAPTCluster/net", odd);
    let drawn = dot(&graph);
    for expected in [
        "\"CAPTCluster/net\" [label=\"CAPTCluster/net\\na \\\"b\\\"<c>\", color=darkgreen];",
        "\"CAPTCluster/net\" -> \"WorkspaceTemplateApply/net-vpc\";",
        "\"WorkspaceTemplateApply/net-vpc\" -> \"WorkspaceTemplate/vpc\" [style=dashed];",
        "\"Secret/net-vpc-connection\" -> \"Workspace/net-vpc\" [style=dotted];",
    ] {
        assert!(drawn.contains(expected), "{expected}\n{drawn}");
    }
    let drawn = mermaid(&graph);
    assert!(
        drawn.contains("  n0[\"CAPTCluster/net<br/>a #34;b#34;#60;c#62;\"]:::good\n"),
        "{drawn}"
    );
    assert_eq!(drawn.matches("-->").count(), 2, "{drawn}");
    assert_eq!(drawn.matches("-.->").count(), 2, "{drawn}");
}
