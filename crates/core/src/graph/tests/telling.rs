//! What is said about objects that are not as they should be.

use super::*;

fn node(snapshot: &Snapshot, id: &str) -> Node {
    build(snapshot).node(id).expect("it is there").clone()
}

#[test]
fn what_keeps_a_cluster_from_being_available_is_what_the_rest_follows_from() {
    let unreached = condition("RemoteConnectionProbe", "False", "ProbeFailed", "not reached yet");
    let missing = condition(
        "ControlPlaneAvailable",
        "False",
        "WorkspaceTemplateNotFound",
        "There is no WorkspaceTemplate eks",
    );
    let network = condition("InfrastructureReady", "False", "VPCCreating", "It is being made");
    for (conditions, expected) in [
        (
            vec![unreached.clone(), missing.clone()],
            "WorkspaceTemplateNotFound",
        ),
        (vec![unreached.clone(), missing, network], "VPCCreating"),
        (vec![unreached], "ProbeFailed"),
        (vec![], "NotAvailable"),
    ] {
        let mut snapshot = demo();
        let mut all = vec![condition("Available", "False", "NotAvailable", "* all of it")];
        all.extend(conditions);
        snapshot.clusters[0].status = Some(read(json!({"phase": "Provisioning", "conditions": all})));
        assert_eq!(node(&snapshot, "Cluster/blue").reason, expected);
    }
}

#[test]
fn a_destruction_that_failed_is_bad_with_everybody_whom_it_concerns() {
    let mut snapshot = demo();
    let deleted = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(90)));
    let failed = condition("Synced", "False", "ReconcileError", "pods are left");
    let mut busy = snapshot.clone();
    for (snapshot, reason, is_failed) in [
        (&mut snapshot, "DeletionFailed", true),
        (&mut busy, "Deleting", false),
    ] {
        let plane = &mut snapshot.control_planes[0];
        plane.metadata.deletion_timestamp.clone_from(&deleted);
        plane.status = Some(read(json!({
            "state": "Deleting", "conditions": [condition("Deleting", "True", reason, "why")],
        })));
        let wta = &mut snapshot.applies[1];
        wta.metadata.deletion_timestamp.clone_from(&deleted);
        let mut conditions = vec![condition("Deleting", "True", "Destroying", "why")];
        conditions.extend(is_failed.then(|| failed.clone()));
        wta.status = Some(read(
            json!({"workspaceName": "plane-eks-controlplane", "conditions": conditions}),
        ));
        snapshot.workspaces[1].deleting = true;
        if is_failed {
            snapshot.workspaces[1].conditions = read(json!([failed]));
        }
        for id in [
            "CAPTControlPlane/plane",
            "WorkspaceTemplateApply/plane-eks-controlplane-apply",
            "Workspace/plane-eks-controlplane",
        ] {
            let node = node(snapshot, id);
            assert_eq!(node.status, "Deleting", "{id}");
            assert_eq!(node.health == Health::Bad, is_failed, "{id}: {node:?}");
        }
    }
    assert_eq!(
        node(&snapshot, "Workspace/plane-eks-controlplane").message,
        "pods are left"
    );
}

#[test]
fn a_network_that_serves_says_that_a_change_of_it_waits_for_an_approval() {
    let mut snapshot = demo();
    snapshot.captclusters[0].status = Some(read(json!({
        "ready": true, "conditions": [condition("Ready", "True", "WaitingForApproval", "approve it")],
    })));
    let node = node(&snapshot, "CAPTCluster/net");
    assert_eq!((node.status.as_str(), node.health), ("Ready", Health::Busy));
    assert_eq!(node.reason, "WaitingForApproval");
}

/// What capt said before somebody else took over stays, and counts no more.
#[test]
fn a_network_that_somebody_else_manages_serves_by_the_contracts_word() {
    for (provisioned, expected) in [
        (true, ("Ready", Health::Good)),
        (false, ("NotReady", Health::Busy)),
    ] {
        let mut snapshot = demo();
        let network = &mut snapshot.captclusters[0];
        let annotations = network.metadata.annotations.get_or_insert_default();
        annotations.insert("cluster.x-k8s.io/managed-by".to_owned(), "others".to_owned());
        network.status = Some(read(json!({
            "initialization": {"provisioned": provisioned},
            "conditions": [
                condition("Ready", "False", "VPCCreating", "It is made"),
                condition("VPCFailed", "False", "VPCCreating", ""),
            ],
        })));
        let node = node(&snapshot, "CAPTCluster/net");
        assert_eq!((node.status.as_str(), node.health), expected);
    }
}

#[test]
fn a_network_that_serves_says_that_a_change_of_it_is_refused_or_failed() {
    for (reason, expected) in [
        ("InvalidVPCConfig", ("Degraded", Health::Bad)),
        ("VPCUpdateFailed", ("Degraded", Health::Bad)),
        ("VPCUpdating", ("Ready", Health::Busy)),
        ("Retrying", ("Ready", Health::Busy)),
        ("VPCCreated", ("Ready", Health::Good)),
    ] {
        let mut snapshot = demo();
        snapshot.captclusters[0].status = Some(read(json!({
            "ready": true, "conditions": [
                condition("Ready", "True", reason, "Bring it back"),
                condition("VPCFailed", "False", reason, ""),
            ],
        })));
        let node = node(&snapshot, "CAPTCluster/net");
        assert_eq!((node.status.as_str(), node.health), expected, "{reason}");
        assert_eq!(node.message, "Bring it back");
    }
}

#[test]
fn a_workspace_whose_spec_is_ahead_of_what_it_is_works() {
    for (generation, expected) in [
        (None, ("Ready", Health::Good)),
        (Some(2), ("Ready", Health::Good)),
        (Some(3), ("Working", Health::Busy)),
    ] {
        let mut snapshot = demo();
        let mut synced = condition("Synced", "True", "ReconcileSuccess", "");
        synced["observedGeneration"] = json!(2);
        let ready = condition("Ready", "True", "Available", "");
        snapshot.workspaces[0].conditions = read(json!([synced, ready]));
        snapshot.workspaces[0].generation = generation;
        let node = node(&snapshot, "Workspace/net-vpc");
        assert_eq!((node.status.as_str(), node.health), expected, "{generation:?}");
    }
}

/// Its Workspace stays behind as long as nobody approves.
#[test]
fn what_waits_for_an_approval_waits_for_nothing_else() {
    let mut snapshot = demo();
    let asks = condition(
        "ApprovalNeeded",
        "True",
        "DestructiveChange",
        "It would replace the VPC",
    );
    let mut synced = condition("Synced", "True", "ReconcileSuccess", "");
    synced["observedGeneration"] = json!(1);
    let ready = condition("Ready", "True", "Available", "");
    snapshot.applies[0].status = Some(read(
        json!({"applied": true, "conditions": [asks, synced, ready]}),
    ));
    snapshot.workspaces[0].generation = Some(2);
    snapshot.workspaces[0].conditions = read(json!([asks, synced, ready]));
    let workspace = node(&snapshot, "Workspace/net-vpc");
    assert_eq!(workspace.status, "ApprovalNeeded");
    let causes = build(&snapshot).causes("WorkspaceTemplateApply/net-vpc");
    let ids: Vec<&str> = causes.iter().map(|cause| cause.id.as_str()).collect();
    assert_eq!(ids, ["WorkspaceTemplateApply/net-vpc"]);
}

#[test]
fn what_was_kept_on_purpose_is_neither_paused_nor_broken() {
    let mut snapshot = demo();
    snapshot.workspaces[0].retained = true;
    snapshot.workspaces[0].conditions = read(json!([condition("Synced", "False", "ReconcilePaused", "")]));
    let node = node(&snapshot, "Workspace/net-vpc");
    assert_eq!((node.status.as_str(), node.health), ("Retained", Health::Good));
    assert!(node.message.contains("kept on purpose"), "{}", node.message);
}

#[test]
fn a_pause_is_the_end_of_what_is_waited_for() {
    let mut snapshot = demo();
    let paused = json!([condition("Paused", "True", "Paused", "")]);
    snapshot.clusters[0].status = Some(read(json!({"phase": "Provisioned", "conditions": paused})));
    snapshot.captclusters[0].status = Some(read(json!({"ready": true, "conditions": paused})));
    snapshot.applies[0].status = Some(read(json!({"applied": true, "conditions": paused})));
    snapshot.workspaces[0].conditions = read(json!([condition("Synced", "False", "ReconcilePaused", "")]));
    let causes = build(&snapshot).causes("Cluster/blue");
    let ids: Vec<&str> = causes.iter().map(|cause| cause.id.as_str()).collect();
    assert_eq!(ids, ["Cluster/blue"]);
}

#[test]
fn a_control_plane_is_as_it_is_since_its_last_change_was_done() {
    let record = |operation: &str, end: i64| json!({"operation": operation, "startTime": at(0).to_string(), "endTime": at(end).to_string()});
    for (history, expected) in [
        (vec![], 60),
        (vec![record("Create", 60), record("Update", 300)], 300),
        (vec![record("Create", 60), record("Paused", 300)], 60),
    ] {
        let mut snapshot = demo();
        snapshot.control_planes[0].status = Some(read(json!({
            "ready": true, "state": "Ready", "progress": {"history": history},
            "conditions": [condition("Ready", "True", "Ready", "")],
        })));
        assert_eq!(
            node(&snapshot, "CAPTControlPlane/plane").since,
            Some(at(expected))
        );
    }
}

#[test]
fn what_goes_says_so_during_a_pause_too() {
    let paused = condition("Paused", "True", "Paused", "Nothing is done, because of a mark");
    let later = condition(
        "Deleting",
        "True",
        "Paused",
        "It is being deleted, and goes when the pause ends",
    );
    let waits = condition(
        "Deleting",
        "True",
        "WaitingForControlPlane",
        "Waiting for plane to go",
    );
    for (name, conditions, is_going, expected) in [
        (
            "it stays",
            json!([paused.clone()]),
            false,
            "Nothing is done, because of a mark",
        ),
        (
            "it goes when the pause ends",
            json!([paused.clone(), later]),
            true,
            "It is being deleted, and goes when the pause ends",
        ),
        (
            "it was going before",
            json!([paused, waits]),
            true,
            "It is being deleted. Nothing is done, because of a mark",
        ),
    ] {
        let mut snapshot = demo();
        let captcluster = &mut snapshot.captclusters[0];
        captcluster.metadata.deletion_timestamp =
            is_going.then(|| k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(1)));
        captcluster.status = Some(read(json!({"conditions": conditions})));
        let node = node(&snapshot, "CAPTCluster/net");
        assert_eq!(
            (node.status.as_str(), node.message.as_str()),
            ("Paused", expected),
            "{name}"
        );
    }
}
