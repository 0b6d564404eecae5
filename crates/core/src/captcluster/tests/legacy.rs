//! Objects as the Go implementation leaves them.

use std::collections::BTreeMap;

use capt_api::{WorkspaceTemplateApply, workspacetemplateapply::WorkspaceTemplateApplyStatus};

use super::*;

/// A CAPTCluster and its WorkspaceTemplateApply, ready, made by the Go implementation for a Cluster of the same name.
fn left_behind() -> Snapshot {
    let mut snapshot = held();
    let apply: WorkspaceTemplateApply = serde_json::from_value(json!({
        "metadata": {
            "name": "net-vpc", "namespace": "team", "uid": "old-1", "generation": 1, "resourceVersion": "5",
            "finalizers": [marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER],
            "ownerReferences": [{
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "CAPTCluster", "name": "net",
                "uid": "net-1", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "templateRef": {"name": "vpc", "namespace": "team"},
            "variables": {"cluster_name": "net", "vpc_name": "net-vpc", "environment": "staging"},
        },
    }))
    .expect("a WorkspaceTemplateApply");
    snapshot.applies = vec![OwnedSeen {
        wta: apply,
        trouble: None,
        workspace: Some(WorkspaceGlance {
            name: "net-vpc".to_owned(),
            ..WorkspaceGlance::default()
        }),
        run: None,
    }];
    let apply = &mut snapshot.applies[0];
    apply.wta.status = Some(WorkspaceTemplateApplyStatus {
        workspace_name: Some("net-vpc".to_owned()),
        applied: true,
        ..WorkspaceTemplateApplyStatus::default()
    });
    world::say(apply, "Synced", "True", "ReconcileSuccess", at(0));
    world::say(apply, "Ready", "True", "Available", at(0));
    snapshot.template = Some(TemplateSeen {
        revision: "t1".to_owned(),
        names_secret: true,
    });
    snapshot.captcluster.status = serde_json::from_value(json!({
        "ready": true, "vpcId": "vpc-7",
        "conditions": [{"type": "VPCReady", "status": "True", "reason": "VPCCreated", "message": "x",
                        "lastTransitionTime": "2024-11-04T00:00:00Z"}],
    }))
    .expect("a status");
    snapshot
}

#[test]
fn its_workspacetemplateapply_is_found_referenced_and_keeps_its_name_and_values() {
    for named in [None, Some("net-vpc".to_owned())] {
        let mut snapshot = left_behind();
        snapshot.captcluster.spec.workspace_template_apply_name = named.clone();
        let decision = decide(&snapshot, at(1));
        let apply = written(&decision, "WorkspaceTemplateApply").expect("it is taken over");
        assert_eq!(apply.target.name, "net-vpc");
        assert_eq!(
            apply.guard,
            Guard::Uid("old-1".to_owned()),
            "nothing is made again"
        );
        assert_eq!(
            apply.fields["metadata"]["labels"][marks::OWNER],
            "CAPTCluster.net"
        );
        assert_eq!(
            decision.own.spec.contains_key("workspaceTemplateApplyName"),
            named.is_none()
        );
        // What names infrastructure stays as it is, although the Cluster is called otherwise now.
        let values: BTreeMap<String, String> =
            serde_json::from_value(variables(&decision)).expect("variables");
        assert_eq!(values["cluster_name"], "net");
        assert_eq!(values["vpc_name"], "net-vpc");
        assert_eq!(values["environment"], "staging");
        assert_eq!(
            apply.fields["spec"]["templateRef"],
            json!({"name": "vpc", "namespace": "team"})
        );
        assert_eq!(
            apply.fields["spec"].get("writeConnectionSecretToRef"),
            None,
            "the template names one"
        );
    }
}

#[test]
fn a_first_rendering_that_waits_for_approval_takes_nothing_away() {
    let mut world = World::new(left_behind());
    world.rest();
    let apply = world.apply();
    let generation = apply.wta.metadata.generation;
    if let Some(status) = &mut apply.wta.status {
        status.observed_generation = generation;
        status.outputs = Some(BTreeMap::from([("vpc_id".to_owned(), json!("vpc-7"))]));
    }
    world::say(apply, "ApprovalNeeded", "True", "AdoptedChange", at(1));
    world.snapshot.secrets = vec![secret("net-vpc-vpc-connection", "vpc-7")];
    world.snapshot.workspace_secret = Some(SecretName {
        namespace: "team".to_owned(),
        name: "net-vpc-vpc-connection".to_owned(),
    });
    world.rest();
    // It serves, and whoever looks at it learns that somebody is asked.
    assert_eq!(world.verdict("Ready"), "True/WaitingForApproval");
    assert_eq!(world.verdict("VPCReady"), "True/VPCCreated");
    assert_eq!(world.verdict("VPCFailed"), "False/WaitingForApproval");
    let told = condition(&world.snapshot, &Decided::default(), "Ready").message;
    assert_eq!(told, "about ApprovalNeeded");
    assert!(world.status().ready);
    assert_eq!(
        world.status().initialization.and_then(|flags| flags.provisioned),
        Some(true)
    );
    assert_eq!(world.status().vpc_id.as_deref(), Some("vpc-7"));
}

#[test]
fn its_vpc_can_be_deleted_and_kept() {
    for is_retained in [false, true] {
        let mut world = World::new(left_behind());
        world.snapshot.captcluster.spec.retain_vpc_on_delete = Some(is_retained);
        delete(&mut world.snapshot);
        world.rest();
        assert!(world.apply().is_deleting());
        let consent = world.apply().annotation(marks::LET_GO) == Some("true");
        assert_eq!(consent, !is_retained);
        assert_eq!(
            world.apply().wta.spec.retain_workspace_on_delete == Some(true),
            is_retained
        );
        world.snapshot.applies.clear();
        assert_eq!(world.step().own.remove_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
    }
}
