//! Retained means retained, and is taken back only with consent.

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, marks};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt as _, api::DeleteParams};
use serde_json::json;

use crate::stage::{
    CAPT, RUNNER, Setting, Stage, User as _, apply, external_name, is_of, policies, start_controllers,
    start_runner_in, template,
};

#[tokio::test]
async fn what_is_retained_stays_as_it_is_and_is_taken_back_with_consent_only() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    let mut kept = apply("blue", "net");
    kept["spec"]["retainWorkspaceOnDelete"] = json!(true);
    let _: WorkspaceTemplateApply = stage.create(kept).await;
    stage.until_ready("blue").await;
    let before = stage.workspace("blue").await.unwrap();
    stage.delete_apply("blue").await;
    stage.until_gone("blue").await;
    let left = stage.workspace("blue").await.expect("the Workspace stays");
    assert!(left.annotations().contains_key(marks::RETAINED));
    for label in [marks::WTA_NAMESPACE, marks::WTA_NAME, marks::WTA_UID] {
        assert!(!left.labels().contains_key(label), "{label}");
    }
    assert!(stage.ledger.destroyed().is_empty());

    stage.make_apply("blue", "net").await;
    stage
        .until_says("blue", "Applied", "False/WorkspaceRetained")
        .await;
    assert!(!is_of(&stage.workspace("blue").await.unwrap(), "blue"));
    stage.annotate("blue", marks::ADOPT_RETAINED, Some("blue")).await;
    stage.until_ready("blue").await;
    let now = stage.workspace("blue").await.unwrap();
    assert!(is_of(&now, "blue"));
    assert!(!now.annotations().contains_key(marks::RETAINED));
    assert_eq!(
        (now.uid(), external_name(&now)),
        (before.uid(), external_name(&before))
    );
    stage.delete_apply("blue").await;
    stage.until_gone("blue").await;
    assert_eq!(stage.ledger.destroyed(), [external_name(&before)]);
    stage.world.finish().await;
}

#[tokio::test]
async fn what_is_retained_while_its_workspace_is_being_deleted_is_kept_and_can_be_taken_back() {
    for is_granted in [true, false] {
        let stage = Stage::new().await;
        stage.make_template("net").await;
        stage.make_apply("blue", "net").await;
        stage.until_ready("blue").await;
        let before = stage.workspace("blue").await.unwrap();
        // Nobody is there who would act on it.
        stage.world.stop(RUNNER);
        match is_granted {
            true => stage.delete_apply("blue").await,
            false => {
                stage.delete_workspace("blue").await;
                stage.settle().await;
                stage.delete_apply("blue").await;
            }
        }
        stage
            .until("the Workspace to go", async || {
                let workspace = stage.workspace("blue").await.unwrap();
                workspace.metadata.deletion_timestamp.is_some()
            })
            .await;
        let _: WorkspaceTemplateApply = stage
            .patch("blue", json!({"spec": {"retainWorkspaceOnDelete": true}}))
            .await;
        stage.until_says("blue", "Deleting", "True/Retained").await;
        stage.settle().await;
        start_runner_in(&stage.world, stage.world.namespace(), &stage.ledger);
        stage.until_gone("blue").await;
        stage.settle().await;
        let left = stage.workspace("blue").await.expect("it is made again");
        assert_ne!(left.uid(), before.uid());
        assert_eq!(external_name(&left), external_name(&before));
        assert!(left.annotations().contains_key(marks::RETAINED));
        assert!(!is_of(&left, "blue") && left.metadata.deletion_timestamp.is_none());
        assert_eq!(policies(&left), json!([]));
        assert!(stage.ledger.destroyed().is_empty());

        stage.make_apply("blue", "net").await;
        stage.annotate("blue", marks::ADOPT_RETAINED, Some("blue")).await;
        stage.until_ready("blue").await;
        assert_eq!(stage.ledger.made(), [external_name(&before)]);
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn a_template_that_forbids_destruction_is_remembered() {
    let forbidding = [
        json!({"deletionPolicy": "Orphan"}),
        json!({"managementPolicies": ["Observe", "Create", "Update"]}),
    ];
    for policy in forbidding {
        let stage = Stage::new().await;
        let mut forbids = template("net", "small");
        let spec = forbids["spec"]["template"]["spec"].as_object_mut().unwrap();
        spec.extend(policy.as_object().unwrap().clone());
        let _: WorkspaceTemplate = stage.create(forbids).await;
        stage.make_apply("blue", "net").await;
        stage.until_ready("blue").await;
        stage.delete_apply("blue").await;
        stage.until_gone("blue").await;
        assert!(stage.ledger.destroyed().is_empty());
        let left = stage.workspace("blue").await.expect("the Workspace stays");
        assert_ne!(policies(&left), json!(["*"]));
        stage.world.finish().await;
    }
}

/// The garbage collector takes the last rendering before the object goes, and the template may be gone too.
#[tokio::test]
async fn a_deletion_in_the_foreground_does_not_forget_what_a_template_forbade() {
    let stage = Stage::embedded().await;
    let mut forbids = template("net", "small");
    forbids["spec"]["template"]["spec"]["managementPolicies"] = json!(["Observe", "Create", "Update"]);
    let _: WorkspaceTemplate = stage.create(forbids).await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    stage.settle().await;
    stage.world.stop(CAPT);
    let _: WorkspaceTemplate = stage
        .patch("net", json!({"metadata": {"finalizers": null}}))
        .await;
    let templates: Api<WorkspaceTemplate> = stage.api();
    templates.delete("net", &DeleteParams::default()).await.unwrap();
    let applies: Api<WorkspaceTemplateApply> = stage.api();
    applies.delete("blue", &DeleteParams::foreground()).await.unwrap();
    let kept = capt_core::names::last_rendering("blue");
    let secrets: Api<Secret> = stage.api();
    stage
        .until("the last rendering to be gone", async || {
            secrets.get_opt(kept.parted()).await.unwrap().is_none()
        })
        .await;
    start_controllers(&stage.world, &Setting::default());
    stage.until_says("blue", "Deleting", "True/RenderingLost").await;
    stage.settle().await;
    assert!(stage.ledger.destroyed().is_empty());
    assert!(
        stage
            .workspace("blue")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    stage.world.finish().await;
}
