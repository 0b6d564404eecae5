//! Fargate profiles, from YAML to ready and away again.

use capt_api::{
    CAPTControlPlane, WorkspaceTemplate,
    captcontrolplane::{ControlPlaneState as State, FargateProfilePhase as Phase},
};
use serde_json::{Value, json};

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, start_witness},
    runner::Obstacle,
    stage::{Stage, User as _},
};

fn profile_template() -> Value {
    json!({
        "metadata": {"name": "fargate-profile"},
        "spec": {"template": {"spec": {"forProvider": {
            "source": "Inline",
            "module": "locals {\n  profile = \"${profile_name}\"\n  of = \"${cluster_name}\"\n  selectors = \
                       \"${selectors}\"\n}\n",
        }}}},
    })
}

/// Profiles of these names.
pub(crate) fn profiles(names: &[&str]) -> Value {
    let one = |name: &&str| {
        json!({
            "name": name,
            "selectors": [{"namespace": name}],
            "workspaceTemplateRef": {"name": "fargate-profile"},
        })
    };
    names.iter().map(one).collect()
}

async fn stage_with(names: &[&str]) -> Stage {
    let stage = Stage::new().await;
    let _: WorkspaceTemplate = stage.create(profile_template()).await;
    let mut plane = control_plane("blue");
    plane["spec"]["additionalFargateProfiles"] = profiles(names);
    stage.make_whole_cluster("blue", plane).await;
    stage
}

async fn phase(stage: &Stage, name: &str) -> Option<Phase> {
    let statuses = stage.status("blue").await.fargate_profile_statuses?;
    statuses.into_iter().find(|one| one.name == name)?.phase
}

#[tokio::test]
async fn profiles_are_made_after_the_cluster_one_by_one_and_go_before_it() {
    let stage = stage_with(&["jobs", "monitoring"]).await;
    start_witness(&stage);
    stage.until_state("blue", State::Ready).await;
    let status = stage.status("blue").await;
    assert_eq!(status.fargate_profiles_ready.as_deref(), Some("2/2"));
    assert_eq!(
        stage.plane_says("blue", "FargateProfileReady").await,
        "True/FargateProfileReady"
    );
    let apply = stage.apply("blue-jobs-fargate-apply").await.unwrap();
    let variables = apply.spec.variables.unwrap();
    for (name, value) in [
        ("cluster_name", "blue"),
        ("profile_name", "jobs"),
        ("selectors", r#"[{"namespace":"jobs"}]"#),
        ("private_subnets", r#"["subnet-1","subnet-2"]"#),
    ] {
        assert_eq!(variables[name], value, "{name}");
    }
    stage.delete_plane("blue").await;
    stage.until_plane_is_gone("blue").await;
    for name in ["blue-jobs-fargate-apply", "blue-monitoring-fargate-apply"] {
        assert!(stage.apply(name).await.is_none());
    }
}

#[tokio::test]
async fn one_is_added_and_one_removed_and_the_others_stay() {
    let stage = stage_with(&["a", "b"]).await;
    stage.until_state("blue", State::Ready).await;
    let before = stage.apply("blue-b-fargate-apply").await.unwrap();
    let patch = json!({"spec": {"additionalFargateProfiles": profiles(&["b", "c"])}});
    let _: CAPTControlPlane = stage.patch("blue", patch).await;
    stage.until_gone("blue-a-fargate-apply").await;
    stage
        .until("c to be ready", async || {
            phase(&stage, "c").await == Some(Phase::Ready)
        })
        .await;
    stage.until_state("blue", State::Ready).await;
    assert_eq!(phase(&stage, "a").await, None);
    let after = stage.apply("blue-b-fargate-apply").await.unwrap();
    assert_eq!(after.metadata.generation, before.metadata.generation);
}

#[tokio::test]
async fn a_profile_that_fails_is_told_and_tried_again_on_request() {
    let stage = stage_with(&[]).await;
    stage.until_state("blue", State::Ready).await;
    stage.ledger.obstruct(Some(Obstacle::TroubleWithNews(
        "InvalidParameterException: no such subnet",
    )));
    let patch = json!({"spec": {"additionalFargateProfiles": profiles(&["a"])}});
    let _: CAPTControlPlane = stage.patch("blue", patch).await;
    stage
        .until("a to fail", async || {
            phase(&stage, "a").await == Some(Phase::Failed)
        })
        .await;
    stage.until_state("blue", State::Degraded).await;
    let status = stage.status("blue").await;
    assert!(status.ready, "the cluster itself serves");
    let failure = status.fargate_profile_statuses.unwrap().remove(0);
    assert_eq!(failure.failure_reason.as_deref(), Some("FargateProfileFailed"));
    assert!(failure.failure_message.unwrap().contains("no such subnet"));
    stage.ledger.obstruct(None);
    let patch = json!({"metadata": {"annotations": {capt_api::marks::RETRY_REQUESTED: "again"}}});
    let _: CAPTControlPlane = stage.patch("blue", patch).await;
    stage.until_state("blue", State::Ready).await;
    assert_eq!(phase(&stage, "a").await, Some(Phase::Ready));
}
