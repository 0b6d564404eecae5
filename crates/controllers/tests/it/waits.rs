//! What is waited for is told by watches: while it is not there, nothing is asked.

use std::time::Duration;

use capt_api::{WorkspaceTemplateApply, marks};
use capt_testkit::{Calls, Fault, Times};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::json;

use crate::{
    runner::resource,
    stage::{CAPT, Stage, User as _, apply},
};

const HOUR: Duration = Duration::from_secs(3600);

/// Lets an hour pass in which the controllers ask nothing.
async fn an_hour_without_a_question(stage: &Stage) {
    stage.settle().await;
    let mark = stage.recorder().mark();
    stage.advance(HOUR).await;
    let requests = stage.recorder().requests_since(mark);
    assert!(
        requests.iter().all(|entry| entry.call.caller != CAPT),
        "{requests:?}"
    );
}

#[tokio::test]
async fn secrets_are_waited_for_without_asking() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let mut waiting = apply("blue", "net");
    waiting["spec"]["waitForSecrets"] = json!([{"name": "vpc"}]);
    let _: WorkspaceTemplateApply = stage.create(waiting).await;
    stage
        .until_says("blue", "Waiting", "True/WaitingForSecrets")
        .await;
    an_hour_without_a_question(&stage).await;
    assert!(stage.workspace("blue").await.is_none());
    let _: Secret = stage
        .create(json!({"metadata": {"name": "vpc"}, "stringData": {"id": "1"}}))
        .await;
    stage.until_ready("blue").await;
    // It gates creation only.
    let secrets: Api<Secret> = stage.api();
    secrets.delete("vpc", &DeleteParams::default()).await.unwrap();
    stage.until_says("blue", "Waiting", "False/InputMissing").await;
    assert!(stage.ledger.destroyed().is_empty());
    stage.world.finish().await;
}

#[tokio::test]
async fn workspaces_are_waited_for_without_asking_and_destroyed_in_reverse() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    let mut waiting = apply("blue", "net");
    waiting["spec"]["waitForWorkspaces"] = json!([{"name": "vpc"}]);
    let _: WorkspaceTemplateApply = stage.create(waiting).await;
    stage
        .until_says("blue", "Waiting", "True/WaitingForWorkspaces")
        .await;
    an_hour_without_a_question(&stage).await;
    stage.make_apply("vpc-apply", "net").await;
    stage.until_ready("vpc-apply").await;
    stage.until_ready("blue").await;
    // Who is waited for goes last.
    stage.delete_apply("vpc-apply").await;
    stage
        .until_says("vpc-apply", "Deleting", "True/WaitingForDependents")
        .await;
    an_hour_without_a_question(&stage).await;
    assert!(stage.ledger.destroyed().is_empty());
    stage.delete_apply("blue").await;
    stage.until_gone("vpc-apply").await;
    let destroyed = stage.ledger.destroyed();
    assert!(
        destroyed[0].contains("blue") && destroyed[1].contains("vpc"),
        "{destroyed:?}"
    );
    stage.world.finish().await;
}

/// Controllers that look at one namespace only watch just this Workspace beside it.
#[tokio::test]
async fn a_workspace_of_another_namespace_is_waited_for_without_asking() {
    for is_forbidden_at_first in [false, true] {
        let stage = Stage::embedded().await;
        let next_door = json!({"metadata": {"name": "next-door"}});
        let namespaces: Api<Namespace> = Api::all(stage.client());
        let namespace = serde_json::from_value(next_door).unwrap();
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
        let theirs = Calls::by(CAPT).resource("workspaces").namespace("next-door");
        let forbidden =
            is_forbidden_at_first.then(|| stage.faults().inject(theirs, Times::Every, Fault::fail(403)));
        stage.make_template("net").await;
        let mut waiting = apply("blue", "net");
        waiting["spec"]["waitForWorkspaces"] = json!([{"name": "vpc", "namespace": "next-door"}]);
        let _: WorkspaceTemplateApply = stage.create(waiting).await;
        let at_first = match is_forbidden_at_first {
            true => "True/WaitingForWorkspaces",
            false => "True/WaitNotShared",
        };
        stage.until_says("blue", "Waiting", at_first).await;
        let message = stage
            .apply("blue")
            .await
            .unwrap()
            .status
            .unwrap()
            .message
            .unwrap();
        assert_eq!(
            message.contains("a Role there"),
            is_forbidden_at_first,
            "{message}"
        );
        if let Some(forbidden) = forbidden {
            forbidden.release();
        }
        stage
            .until("it to be looked for", async || {
                let status = stage.apply("blue").await.unwrap().status.unwrap();
                status.message.unwrap().contains("not shared with this namespace")
            })
            .await;
        an_hour_without_a_question(&stage).await;
        let workspaces: Api<DynamicObject> =
            Api::namespaced_with(stage.client(), "next-door", &resource("tf.m.upbound.io"));
        let vpc = serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace", "metadata": {"name": "vpc"},
            "spec": {"forProvider": {"source": "Inline", "module": "# theirs"}},
        }));
        workspaces
            .create(&PostParams::default(), &vpc.unwrap())
            .await
            .unwrap();
        an_hour_without_a_question(&stage).await;
        stage.until_says("blue", "Waiting", "True/WaitNotShared").await;
        let consent = json!({"metadata": {"annotations": {marks::SHARED_WITH: stage.namespace()}}});
        workspaces
            .patch("vpc", &PatchParams::default(), &Patch::Merge(consent))
            .await
            .unwrap();
        stage
            .until("it to be seen", async || {
                let status = stage.apply("blue").await.unwrap().status.unwrap();
                status.message.unwrap().contains("not ready")
            })
            .await;
        let ready = json!({"status": {"conditions": [{
            "type": "Ready", "status": "True", "reason": "Available",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }]}});
        workspaces
            .patch_status("vpc", &PatchParams::default(), &Patch::Merge(ready))
            .await
            .unwrap();
        stage.until_ready("blue").await;
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_circle_of_waits_is_spelled_out_and_can_be_broken() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    for (name, whom) in [("a", "b"), ("b", "c"), ("c", "a")] {
        let mut waiting = apply(name, "net");
        waiting["spec"]["waitForWorkspaces"] = json!([{"name": whom}]);
        let _: WorkspaceTemplateApply = stage.create(waiting).await;
    }
    for name in ["a", "b", "c"] {
        stage.until_says(name, "Waiting", "True/DependencyCycle").await;
    }
    let status = stage.apply("a").await.unwrap().status.unwrap();
    let namespace = stage.namespace();
    let spelled = format!("{namespace}/a -> {namespace}/b -> {namespace}/c -> {namespace}/a");
    assert!(
        status.message.as_deref().unwrap().contains(&spelled),
        "{status:?}"
    );
    let broken = json!({"spec": {"waitForWorkspaces": null}});
    let _: WorkspaceTemplateApply = stage.patch("c", broken).await;
    for name in ["a", "b", "c"] {
        stage.until_ready(name).await;
    }
    stage.world.finish().await;
}

#[tokio::test]
async fn children_of_one_owner_operate_in_turns() {
    let stage = Stage::embedded().await;
    let owner: capt_api::CAPTControlPlane = stage
        .create(json!({
            "metadata": {"name": "prod"},
            "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "net"}},
        }))
        .await;
    stage.make_template("net").await;
    for name in ["eks", "fargate"] {
        let mut owned = apply(name, "net");
        owned["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "CAPTControlPlane",
            "name": "prod", "uid": owner.metadata.uid, "controller": true,
        }]);
        let _: WorkspaceTemplateApply = stage.create(owned).await;
        stage.until_says(name, "Waiting", "True/WaitingForTurn").await;
    }
    an_hour_without_a_question(&stage).await;
    assert!(stage.ledger.exists().is_empty());
    let turn = |whose: &str| json!({"metadata": {"annotations": {marks::TURN: whose}}});
    let _: capt_api::CAPTControlPlane = stage.patch("prod", turn("eks")).await;
    stage.until_ready("eks").await;
    stage.settle().await;
    assert_eq!(stage.ledger.exists().len(), 1);
    let _: capt_api::CAPTControlPlane = stage.patch("prod", turn("fargate")).await;
    stage.until_ready("fargate").await;
    assert_eq!(stage.ledger.exists().len(), 2);
    stage.world.finish().await;
}
