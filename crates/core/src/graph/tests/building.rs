//! The graph of the objects that there are.

use super::*;
use Relation::{Input, Part, Product};

#[test]
fn both_directions_are_known() {
    let graph = build(&demo());
    let table: [(&str, &[(&str, Relation)]); 10] = [
        (
            "Cluster/blue",
            &[("CAPTCluster/net", Part), ("CAPTControlPlane/plane", Part)],
        ),
        ("CAPTCluster/net", &[("WorkspaceTemplateApply/net-vpc", Part)]),
        (
            "CAPTControlPlane/plane",
            &[
                ("CAPTCluster/net", Input),
                ("WorkspaceTemplateApply/plane-eks-controlplane-apply", Part),
                ("WorkspaceTemplateApply/plane-web-fargate-apply", Part),
            ],
        ),
        (
            "WorkspaceTemplateApply/net-vpc",
            &[("Workspace/net-vpc", Part), ("WorkspaceTemplate/vpc", Input)],
        ),
        (
            "WorkspaceTemplateApply/plane-eks-controlplane-apply",
            &[
                ("CAPTCluster/net", Input),
                ("Secret/net-vpc-connection", Input),
                ("Workspace/plane-eks-controlplane", Part),
                ("WorkspaceTemplate/shared/eks", Input),
            ],
        ),
        (
            "Workspace/plane-eks-controlplane",
            &[("Secret/net-vpc-connection", Input)],
        ),
        ("Secret/net-vpc-connection", &[("Workspace/net-vpc", Product)]),
        (
            "Secret/plane-eks-connection",
            &[("Workspace/plane-eks-controlplane", Product)],
        ),
        ("Secret/blue-kubeconfig", &[("CAPTControlPlane/plane", Product)]),
        ("Workspace/net-vpc", &[]),
    ];
    for (id, needs) in table {
        assert_eq!(ids(graph.needs(id)), needs, "{id}");
        for (needed, relation) in needs {
            assert!(
                graph.needed_by(needed).any(|pair| pair == (id, *relation)),
                "{needed} is needed by {id}"
            );
        }
    }
    assert_eq!(graph.cycle(), None);
}

#[test]
fn what_is_named_and_not_there_is_missing() {
    let mut snapshot = demo();
    snapshot.captclusters.clear();
    snapshot.workspaces.clear();
    snapshot.secrets.clear();
    snapshot.control_planes[0].spec.workspace_template_apply_name = Some("other".to_owned());
    let graph = build(&snapshot);
    for (id, status) in [
        ("CAPTCluster/net", "Missing"),
        ("Workspace/net-vpc", "Missing"),
        ("WorkspaceTemplate/vpc", "Missing"),
        ("WorkspaceTemplate/shared/eks", "Missing"),
        ("Secret/net-vpc-connection", "Missing"),
        ("WorkspaceTemplateApply/other", "Missing"),
        ("CAPTControlPlane/plane", "Ready"),
    ] {
        assert_eq!(
            graph.node(id).map(|node| node.status.as_str()),
            Some(status),
            "{id}"
        );
    }
    let told = graph.node("WorkspaceTemplateApply/other");
    let told = told.map(|node| node.message.as_str());
    let words = "spec.workspaceTemplateApplyName of CAPTControlPlane plane names it, and it does not exist";
    assert_eq!(told, Some(words));
    assert_eq!(
        graph.node("Secret/blue-kubeconfig"),
        None,
        "it is not sure to come"
    );
}

#[test]
fn a_kind_that_is_not_ours_is_not_called_missing() {
    let mut snapshot = demo();
    if let Some(reference) = &mut snapshot.clusters[0].spec.infrastructure_ref {
        "DockerCluster".clone_into(&mut reference.kind);
    }
    let graph = build(&snapshot);
    let node = graph.node("DockerCluster/net").expect("it is named");
    assert_eq!((node.status.as_str(), node.health), ("Unknown", Health::Unknown));
    assert!(
        graph
            .needs("CAPTControlPlane/plane")
            .any(|(id, _)| id == "DockerCluster/net")
    );
}

#[test]
fn a_control_plane_finds_its_network_by_owner_by_label_and_by_reference() {
    for way in ["owner", "label", "reference"] {
        let mut snapshot = demo();
        let metadata = &mut snapshot.control_planes[0].metadata;
        if way != "owner" {
            metadata.owner_references = None;
        }
        if way == "label" {
            let labels = metadata.labels.get_or_insert_default();
            labels.insert(foreign_marks::CLUSTER_NAME.to_owned(), "blue".to_owned());
            snapshot.clusters[0].spec.control_plane_ref = None;
        }
        let graph = build(&snapshot);
        assert!(
            graph
                .needs("CAPTControlPlane/plane")
                .any(|pair| pair == ("CAPTCluster/net", Input)),
            "{way}"
        );
    }
}

#[test]
fn a_workspace_is_found_by_annotation_by_labels_and_by_status() {
    for way in ["annotation", "labels", "status"] {
        let mut snapshot = demo();
        let apply = &mut snapshot.applies[0];
        if way != "annotation" {
            apply.metadata.annotations = None;
        }
        if way == "labels" {
            apply.status = None;
            snapshot.workspaces[0].labels = BTreeMap::from([
                (marks::WTA_NAME.to_owned(), "net-vpc".to_owned()),
                (marks::WTA_NAMESPACE.to_owned(), "team".to_owned()),
            ]);
        }
        let graph = build(&snapshot);
        let pair = ("Workspace/net-vpc", Part);
        let mut needs = graph.needs("WorkspaceTemplateApply/net-vpc");
        assert!(needs.any(|found| found == pair), "{way}");
    }
}

#[test]
fn workspaces_of_both_groups_may_share_a_name() {
    let mut snapshot = demo();
    let mut other = workspace("net-vpc", json!({}));
    other.group = WorkspaceGroup::ClusterScoped;
    snapshot.workspaces.push(other);
    let annotations = snapshot.applies[0].metadata.annotations.get_or_insert_default();
    annotations.insert(marks::WORKSPACE.to_owned(), "tf.upbound.io/net-vpc".to_owned());
    let graph = build(&snapshot);
    assert_eq!(
        graph
            .made_by("WorkspaceTemplateApply/net-vpc")
            .collect::<Vec<_>>(),
        ["ClusterWorkspace/net-vpc"]
    );
}

#[test]
fn the_secret_of_an_existing_network_is_its_own() {
    let mut snapshot = demo();
    let spec = &mut snapshot.captclusters[0].spec;
    spec.vpc_template_ref = None;
    spec.existing_vpc_id = Some("vpc-1".to_owned());
    snapshot.applies.remove(0);
    for (named, secret) in [(None, "net-vpc-connection"), (Some("facts"), "facts")] {
        snapshot.captclusters[0].spec.connection_secret_name = named.map(str::to_owned);
        let graph = build(&snapshot);
        let pair = ("CAPTCluster/net", Product);
        assert!(
            graph
                .needs(&format!("Secret/{secret}"))
                .any(|found| found == pair),
            "{secret}"
        );
    }
}

#[test]
fn a_connection_secret_is_known_before_there_is_a_workspace() {
    let mut snapshot = demo();
    snapshot.workspaces.clear();
    for apply in &mut snapshot.applies {
        apply.metadata.annotations = None;
        apply.status = None;
    }
    snapshot.applies[0].spec.write_connection_secret_to_ref =
        Some(read(json!({"name": "net-vpc-connection"})));
    let graph = build(&snapshot);
    assert_eq!(
        ids(graph.needs("Secret/net-vpc-connection")),
        [("WorkspaceTemplateApply/net-vpc", Product)]
    );
    snapshot.applies[0].spec.write_connection_secret_to_ref = Some(read(
        json!({"name": "net-vpc-connection", "namespace": "elsewhere"}),
    ));
    snapshot.secrets.clear();
    let missed = ids(build(&snapshot).needs("Secret/net-vpc-connection")).len();
    assert_eq!(missed, 0, "nobody misses what is in another namespace");
}

#[test]
fn how_an_object_is_stands_in_one_word() {
    let observed = |mut conditions: Value| {
        for condition in conditions.as_array_mut().into_iter().flatten() {
            condition["observedGeneration"] = json!(1);
        }
        conditions
    };
    let not = |type_: &str, reason: &str| json!([condition(type_, "False", reason, "why")]);
    let is = |type_: &str, reason: &str| json!([condition(type_, "True", reason, "why")]);
    let with = |status: Value| {
        let mut snapshot = demo();
        let metadata = metadata("net", &Value::Null);
        let spec = json!({"region": "eu-central-1", "existingVpcId": "vpc-1"});
        snapshot.captclusters[0] = read(json!({"metadata": metadata, "spec": spec, "status": status}));
        let graph = build(&snapshot);
        let node = graph.node("CAPTCluster/net").expect("it is there").clone();
        (node.status, node.health, node.reason)
    };
    let said = |status: &str, health, reason: &str| (status.to_owned(), health, reason.to_owned());
    assert_eq!(
        with(json!({"conditions": not("Ready", "VPCCreating")})),
        said("NotReady", Health::Busy, "VPCCreating")
    );
    assert_eq!(
        with(json!({"failureReason": "x", "conditions": not("Ready", "VPCCreationFailed")})),
        said("Failed", Health::Bad, "VPCCreationFailed")
    );
    let change_failed = json!([
        condition("Ready", "True", "VPCCreated", ""),
        condition("VPCFailed", "True", "VPCCreationFailed", "why"),
    ]);
    assert_eq!(
        with(json!({"failureReason": "x", "conditions": change_failed})),
        said("Degraded", Health::Bad, "VPCCreationFailed")
    );
    assert_eq!(
        with(json!({"conditions": is("Paused", "Paused")})),
        said("Paused", Health::Busy, "Paused")
    );
    let with = |status: Value| {
        let mut snapshot = demo();
        let spec = json!({"templateRef": {"name": "vpc"}});
        snapshot.applies[0] =
            read(json!({"metadata": metadata("net-vpc", &Value::Null), "spec": spec, "status": status}));
        let graph = build(&snapshot);
        let node = graph
            .node("WorkspaceTemplateApply/net-vpc")
            .expect("it is there")
            .clone();
        (node.status, node.health, node.reason)
    };
    for (status, expected) in [
        (
            json!({"conditions": is("ApprovalNeeded", "DestructiveChange")}),
            said("ApprovalNeeded", Health::Busy, "DestructiveChange"),
        ),
        (
            json!({"conditions": is("Waiting", "WaitingForSecrets")}),
            said("Waiting", Health::Busy, "WaitingForSecrets"),
        ),
        (
            json!({"conditions": is("Waiting", "DependencyCycle")}),
            said("Waiting", Health::Bad, "DependencyCycle"),
        ),
        (
            json!({"conditions": not("Applied", "WorkspaceTemplateNotFound")}),
            said("NotApplied", Health::Busy, "WorkspaceTemplateNotFound"),
        ),
        (
            json!({"applied": true, "conditions": not("Synced", "ReconcileError")}),
            said("NotSynced", Health::Bad, "ReconcileError"),
        ),
        (
            json!({"applied": true, "progress": {"operation": "plan"}, "conditions": not("Synced", "ReconcileError")}),
            said("NotSynced", Health::Bad, "ReconcileError"),
        ),
        (
            json!({
                "applied": true, "progress": {"operation": "plan", "attempt": 2},
                "conditions": not("Synced", "ReconcileError"),
            }),
            said("Working", Health::Busy, ""),
        ),
        (
            json!({"applied": true, "conditions": not("Ready", "Creating")}),
            said("Working", Health::Busy, "Creating"),
        ),
        (
            json!({"applied": true, "conditions": ready("Available")}),
            said("Ready", Health::Good, "Available"),
        ),
        (
            json!({"applied": true, "lastAppliedRevision": "2", "readyRevision": "1", "conditions": observed(ready("Available"))}),
            said("Working", Health::Busy, ""),
        ),
    ] {
        assert_eq!(with(status), expected);
    }
}

#[test]
fn the_reason_and_the_time_that_are_told_are_those_of_the_state() {
    let timed = |type_: &str, status: &str, reason: &str, second: i64| {
        let mut one = condition(type_, status, reason, "why");
        one["lastTransitionTime"] = json!(at(second).to_string());
        one
    };
    let available = || timed("Available", "True", "Available", 10);
    for (state, ready, conditions, expected) in [
        (
            "Degraded",
            true,
            json!([available(), timed("Ready", "True", "VersionTooLow", 20)]),
            ("Degraded", "VersionTooLow", None),
        ),
        (
            "Ready",
            true,
            json!([available(), timed("Ready", "True", "Ready", 20)]),
            ("Ready", "Ready", Some(at(20))),
        ),
        (
            "Failed",
            false,
            json!([
                timed("Ready", "False", "WorkspaceError", 20),
                timed("Failed", "True", "WorkspaceError", 30)
            ]),
            ("Failed", "WorkspaceError", Some(at(30))),
        ),
        (
            "Provisioning",
            true,
            json!([
                timed("Ready", "True", "RollingOut", 20),
                timed("RollingOut", "True", "RollingOut", 40)
            ]),
            ("Provisioning", "RollingOut", Some(at(40))),
        ),
        (
            "Provisioning",
            false,
            json!([
                timed("Ready", "False", "WorkspaceNotReady", 20),
                timed("RollingOut", "False", "NotRollingOut", 5)
            ]),
            ("Provisioning", "WorkspaceNotReady", None),
        ),
        (
            "Degraded",
            true,
            json!([
                timed("Paused", "True", "Paused", 50),
                timed("Ready", "True", "VersionTooLow", 20)
            ]),
            ("Paused", "Paused", Some(at(50))),
        ),
    ] {
        let mut snapshot = demo();
        let status = json!({"ready": ready, "state": state, "conditions": conditions});
        snapshot.control_planes[0].status = Some(read(status));
        let graph = build(&snapshot);
        let node = graph.node("CAPTControlPlane/plane").expect("it is there");
        assert_eq!(
            (node.status.as_str(), node.reason.as_str(), node.since),
            expected,
            "{conditions}"
        );
    }
    let mut snapshot = demo();
    snapshot.captclusters[0].metadata.deletion_timestamp = Some(read(json!(at(70).to_string())));
    let graph = build(&snapshot);
    let node = graph.node("CAPTCluster/net").expect("it is there");
    assert_eq!((node.status.as_str(), node.since), ("Deleting", Some(at(70))));
}

#[test]
fn a_workspace_that_is_waited_for_is_made_by_who_is_going_to_make_it() {
    let mut snapshot = demo();
    snapshot.applies = vec![
        apply(
            "app",
            "",
            &json!({"waitForWorkspaces": [{"name": "base"}, {"name": "nobodys"}]}),
        ),
        apply("base-apply", "", &json!({})),
    ];
    for apply in &mut snapshot.applies {
        apply.metadata.annotations = None;
        apply.status = None;
    }
    let graph = build(&snapshot);
    assert_eq!(
        ids(graph.needs("WorkspaceTemplateApply/base-apply"))
            .into_iter()
            .filter(|(_, relation)| *relation == Part)
            .collect::<Vec<_>>(),
        [("Workspace/base", Part)]
    );
    assert_eq!(
        ids(graph.needed_by("Workspace/nobodys")),
        [("WorkspaceTemplateApply/app", Input)]
    );
}

#[test]
fn a_template_that_goes_says_who_uses_it() {
    let mut snapshot = demo();
    snapshot.templates.push(read(json!({
        "metadata": {"name": "vpc", "deletionTimestamp": at(70).to_string()},
        "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": ""}}}},
        "status": {"conditions": [{
            "type": "InUse", "status": "True", "reason": "WaitingForUsers", "message": "It goes after net-vpc",
            "lastTransitionTime": at(71).to_string(),
        }]},
    })));
    let graph = build(&snapshot);
    let node = graph.node("WorkspaceTemplate/vpc").expect("it is there");
    assert_eq!(
        (&*node.status, &*node.reason, &*node.message),
        ("Deleting", "WaitingForUsers", "It goes after net-vpc")
    );
}

#[test]
fn a_secret_that_is_somebody_elses_is_not_the_one_that_outputs_are_in() {
    let is_told = |controller: Option<(&str, &str)>, is_ready: bool| {
        let mut snapshot = demo();
        snapshot.secrets[0].controller = controller.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
        if !is_ready {
            snapshot.workspaces[0].conditions.clear();
        }
        let graph = build(&snapshot);
        let node = graph.node("Secret/net-vpc-connection").expect("a Secret");
        (node.status.clone(), node.message.clone())
    };
    let present = ("Present".to_owned(), String::new());
    let foreign = |whose: &str| {
        let message = format!("{whose}, and no outputs are written to it");
        ("Foreign".to_owned(), message)
    };
    let theirs = Some(("Certificate", "web"));
    for (name, told, expected) in [
        ("its own", is_told(Some(("Workspace", "net-vpc")), true), &present),
        (
            "somebody's",
            is_told(theirs, true),
            &foreign("It belongs to Certificate/web"),
        ),
        (
            "another one's",
            is_told(Some(("Workspace", "other")), true),
            &foreign("It belongs to Workspace/other"),
        ),
        ("nobody's", is_told(None, true), &foreign("It is nobody's")),
        ("not written yet", is_told(None, false), &present),
    ] {
        assert_eq!(&told, expected, "{name}");
    }
}
