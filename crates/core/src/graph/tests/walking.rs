//! In which order things go, and what a change touches.

use super::*;

#[test]
fn users_go_before_what_they_use_and_parts_before_their_makers() {
    let graph = build(&demo());
    let order = graph.deletion_order("Cluster/blue").expect("no circle");
    let step = |id: &str| {
        let place = order.iter().position(|step| step.iter().any(|one| one == id));
        place.unwrap_or_else(|| panic!("{id} goes"))
    };
    for (first, last) in [
        (
            "Workspace/plane-web-fargate",
            "WorkspaceTemplateApply/plane-web-fargate-apply",
        ),
        (
            "WorkspaceTemplateApply/plane-web-fargate-apply",
            "Secret/plane-eks-connection",
        ),
        ("Secret/plane-eks-connection", "Workspace/plane-eks-controlplane"),
        ("Workspace/plane-eks-controlplane", "Secret/net-vpc-connection"),
        (
            "WorkspaceTemplateApply/plane-eks-controlplane-apply",
            "CAPTControlPlane/plane",
        ),
        ("Secret/net-vpc-connection", "Workspace/net-vpc"),
        ("WorkspaceTemplateApply/net-vpc", "CAPTCluster/net"),
        ("CAPTControlPlane/plane", "CAPTCluster/net"),
        ("CAPTCluster/net", "Cluster/blue"),
    ] {
        assert!(step(first) < step(last), "{first} before {last}: {order:?}");
    }
    let all: Vec<&String> = order.iter().flatten().collect();
    assert!(
        !all.iter().any(|id| id.starts_with("WorkspaceTemplate/")),
        "templates stay"
    );
    assert_eq!(all.len(), graph.whole("Cluster/blue").len());
}

#[test]
fn a_circle_of_those_that_go_is_spelled_out() {
    let mut graph = build(&demo());
    graph.relate(
        "WorkspaceTemplateApply/net-vpc",
        Relation::Input,
        "WorkspaceTemplateApply/plane-web-fargate-apply",
    );
    let cycle = graph.deletion_order("Cluster/blue").expect_err("a circle");
    assert!(
        cycle.ids.len() > 2 && cycle.ids.first() == cycle.ids.last(),
        "{cycle}"
    );
}

#[test]
fn outsiders_that_use_something_are_named() {
    let mut snapshot = demo();
    let mut stranger = apply("other-apply", "CAPTControlPlane.other", &json!({}));
    stranger.spec.wait_for_workspaces = Some(read(json!([{"name": "net-vpc"}])));
    snapshot.applies.push(stranger);
    let outsiders = build(&snapshot).outsiders("Cluster/blue");
    let pair = ("WorkspaceTemplateApply/other-apply", "Workspace/net-vpc");
    assert_eq!(outsiders, [(pair.0.to_owned(), pair.1.to_owned())]);
}

#[test]
fn a_change_touches_what_follows_from_it_and_who_needs_that() {
    let graph = build(&demo());
    let touched = |origin: &str| {
        let touched = graph.impact(origin).into_iter();
        touched.map(|one| (one.id, one.touch)).collect::<BTreeMap<_, _>>()
    };
    let by_template = touched("WorkspaceTemplate/vpc");
    for (id, touch) in [
        ("WorkspaceTemplateApply/net-vpc", Some(Touch::Changes)),
        ("Workspace/net-vpc", Some(Touch::Changes)),
        ("Secret/net-vpc-connection", Some(Touch::Changes)),
        ("CAPTCluster/net", Some(Touch::Depends)),
        ("Workspace/plane-eks-controlplane", Some(Touch::Depends)),
        ("CAPTControlPlane/plane", Some(Touch::Depends)),
        ("Cluster/blue", Some(Touch::Depends)),
        ("WorkspaceTemplate/shared/eks", None),
    ] {
        assert_eq!(by_template.get(id).copied(), touch, "{id}");
    }
    let by_profile = touched("Workspace/plane-web-fargate");
    assert!(by_profile.contains_key("CAPTControlPlane/plane"));
    assert!(
        !by_profile.contains_key("CAPTCluster/net"),
        "the network does not need it"
    );
    assert_eq!(graph.impact("Workspace/none"), []);
}

#[test]
fn the_way_of_an_impact_is_told() {
    let graph = build(&demo());
    let touched = graph.impact("WorkspaceTemplate/vpc");
    let workspace = touched.iter().find(|one| one.id == "Workspace/net-vpc");
    assert_eq!(
        workspace.expect("touched").way,
        [
            "WorkspaceTemplate/vpc",
            "WorkspaceTemplateApply/net-vpc",
            "Workspace/net-vpc"
        ]
    );
    let far = touched.iter().position(|one| one.id == "Cluster/blue");
    let near = touched
        .iter()
        .position(|one| one.id == "WorkspaceTemplateApply/net-vpc");
    assert!(near < far);
}

#[test]
fn what_is_around_an_object_leaves_others_out() {
    let mut snapshot = demo();
    snapshot
        .applies
        .push(apply("other-apply", "CAPTControlPlane.other", &json!({})));
    let around = build(&snapshot).around("CAPTControlPlane/plane");
    assert!(around.node("CAPTCluster/net").is_some(), "it is needed");
    assert!(
        around.node("Workspace/net-vpc").is_some(),
        "it is needed by what is needed"
    );
    assert!(around.node("WorkspaceTemplateApply/other-apply").is_none());
    assert!(around.node("Cluster/blue").is_none());
}

#[test]
fn the_status_has_nodes_and_edges_by_id() {
    let status = build(&demo()).to_status();
    let nodes = status.nodes.expect("nodes");
    let node = &nodes["CAPTControlPlane/plane"];
    assert_eq!(
        (node.type_.as_str(), node.name.as_str()),
        ("CAPTControlPlane", "plane")
    );
    assert_eq!(node.status.as_deref(), Some("Ready"));
    let edges = status.edges.expect("edges");
    assert_eq!(edges["CAPTCluster/net"], ["WorkspaceTemplateApply/net-vpc"]);
    assert!(edges.values().flatten().all(|id| nodes.contains_key(id)));
}
