//! What people do wrong or by hand: it is told with the field and the fix, comes back, and nothing is destroyed.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState as State, conditions::find_condition, foreign::Cluster, marks,
};
use capt_testkit::{Calls, Fault, Times};
use k8s_openapi::api::{
    core::v1::{Namespace, Secret},
    events::v1::Event,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    controlplane::{
        ControlPlaneUser as _, KUBECONFIG, control_plane, eks_template, start_witness, text, whole_cluster,
    },
    network::{NetworkUser as _, made_network},
    stage::{CAPT, Setting, Stage, User as _, apply, start_controllers, template},
};

const APPLY: &str = "blue-eks-controlplane-apply";

async fn ready() -> Stage {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.settle().await;
    stage
}

/// What all conditions say.
async fn told(stage: &Stage) -> String {
    format!("{:?}", stage.status("blue").await.conditions)
}

#[tokio::test]
async fn outputs_that_are_missing_or_wrong_are_named() {
    for (output, value, words) in [
        ("cluster_endpoint", json!(null), "cluster_endpoint"),
        ("cluster_endpoint", json!(7), "cluster_endpoint"),
        (
            "cluster_endpoint",
            json!("http://wrong"),
            "reached by https, not by http",
        ),
        ("kubeconfig", json!(null), "has no output kubeconfig"),
        (
            "kubeconfig",
            json!("users:\n- user:\n    exec:\n      command: x\nclusters: []\n"),
            "runs a program",
        ),
    ] {
        let stage = Stage::embedded().await;
        start_witness(&stage);
        stage.ledger.say(output, value.clone());
        stage.make_whole_cluster("blue", control_plane("blue")).await;
        stage.until_state("blue", State::Failed).await;
        stage.settle().await;
        let told = told(&stage).await;
        assert!(told.contains(words), "{output}={value}: {told}");
        let events = stage.told_about("CAPTControlPlane", "blue").await;
        let is_told = |event: &String| event.starts_with("Warning") && event.contains(words);
        assert!(events.iter().any(is_told), "{output}={value}: {events:#?}");
        let usual = match output {
            "kubeconfig" => json!(KUBECONFIG),
            _ => json!("10.0.0.1"),
        };
        stage.ledger.say(output, usual);
        stage.until_state("blue", State::Ready).await;
        assert!(stage.ledger.destroyed().is_empty());
        stage.world.finish().await;
    }
}

#[tokio::test]
async fn what_is_deleted_by_hand_comes_back_and_nothing_is_made_twice() {
    let stage = ready().await;
    let before = stage.ledger.exists();
    stage.delete_apply(APPLY).await;
    stage.settle().await;
    stage.until_state("blue", State::Ready).await;
    assert!(stage.apply(APPLY).await.is_some());
    assert_eq!(stage.ledger.made(), before);
    assert!(stage.ledger.destroyed().is_empty());
    let secrets: Api<Secret> = stage.api();
    for name in ["blue-kubeconfig", "blue-ca"] {
        secrets.delete(name, &DeleteParams::default()).await.unwrap();
    }
    stage.settle().await;
    assert_eq!(
        text(&stage.secret("blue-kubeconfig").await.unwrap(), "value"),
        KUBECONFIG
    );
    assert!(stage.secret("blue-ca").await.is_some());
    let events: Api<Event> = stage.api();
    let events = events.list(&ListParams::default()).await.unwrap();
    let restored = events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("SecretRestored"));
    let mut told: Vec<_> = restored.filter_map(|event| event.note.as_deref()).collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "The Secret blue-ca was deleted, and is written again",
            "The Secret blue-kubeconfig was deleted, and is written again",
        ]
    );
    // The Secret of the EKS cluster, which the kubeconfig was taken from.
    secrets
        .delete("blue-eks-connection", &DeleteParams::default())
        .await
        .unwrap();
    stage.settle().await;
    assert!(stage.status("blue").await.ready, "what was known stays");
    assert!(stage.secret("blue-kubeconfig").await.is_some());
    let events = stage.told_about("CAPTControlPlane", "blue").await;
    let is_told = |event: &String| event.starts_with("Warning") && event.contains("blue-eks-connection");
    assert!(events.iter().any(is_told), "{events:#?}");
    stage.world.finish().await;
}

#[tokio::test]
async fn a_status_that_somebody_edits_is_set_right() {
    // Nobody watches here: what somebody writes tells no story.
    let stage = Stage::embedded().await;
    stage.make_whole_cluster("blue", control_plane("blue")).await;
    stage.until_state("blue", State::Ready).await;
    stage.settle().await;
    let before = stage.status("blue").await;
    let api: Api<CAPTControlPlane> = stage.api();
    for nonsense in [
        json!({"ready": false, "phase": "Failed", "state": "Failed", "failureReason": "Mood"}),
        json!({"version": "1.99", "endpoint": "nowhere:1"}),
        Value::Null,
    ] {
        api.patch_status(
            "blue",
            &PatchParams::default(),
            &Patch::Merge(json!({"status": nonsense})),
        )
        .await
        .unwrap();
        stage.settle().await;
        let after = stage.status("blue").await;
        assert_eq!(
            (after.state, after.phase, after.ready),
            (before.state, before.phase, true),
            "{nonsense}"
        );
        assert_eq!(after.endpoint, before.endpoint);
        assert_eq!(after.failure_reason, None);
    }
    assert!(stage.ledger.destroyed().is_empty());
    assert_eq!(stage.ledger.made().len(), 1);
    stage.world.finish().await;
}

#[tokio::test]
async fn what_somebody_strips_comes_back() {
    let stage = ready().await;
    let before = stage.plane("blue").await.unwrap();
    let bare = json!({"metadata": {"ownerReferences": null, "finalizers": null, "labels": null}});
    let _: CAPTControlPlane = stage.patch("blue", bare.clone()).await;
    let _: WorkspaceTemplateApply = stage.patch(APPLY, bare.clone()).await;
    let _: Secret = stage.patch("blue-kubeconfig", bare).await;
    stage.settle().await;
    let after = stage.plane("blue").await.unwrap();
    assert_eq!(after.finalizers(), before.finalizers());
    assert_eq!(after.owner_references(), before.owner_references());
    assert_eq!(after.labels(), before.labels());
    let apply = stage.apply(APPLY).await.unwrap();
    assert_eq!(apply.owner_references()[0].name, "blue");
    assert_eq!(apply.labels()[marks::OWNER], "CAPTControlPlane.blue");
    let secret = stage.secret("blue-kubeconfig").await.unwrap();
    assert_eq!(secret.labels()["cluster.x-k8s.io/cluster-name"], "blue");
    assert_eq!(secret.owner_references()[0].name, "blue");
    stage.world.finish().await;
}

#[tokio::test]
async fn two_that_claim_one_apply_are_told_so_and_neither_takes_it() {
    let stage = Stage::embedded().await;
    let _: WorkspaceTemplate = stage.create(eks_template("eks")).await;
    let mut theirs = apply("shared", "eks");
    theirs["spec"]["variables"] = json!({"cluster_name": "x", "kubernetes_version": "1.31", "vpc_id": "v"});
    let _: WorkspaceTemplateApply = stage.create(theirs).await;
    stage.until_ready("shared").await;
    // Both are there before either has a Cluster, and so before either may begin.
    for name in ["blue", "red"] {
        let mut plane = control_plane(name);
        plane["spec"]["workspaceTemplateApplyName"] = json!("shared");
        plane["spec"]["controlPlaneConfig"] = json!({"region": "eu-central-1"});
        let _: CAPTControlPlane = stage.create(plane).await;
    }
    stage.settle().await;
    for name in ["blue", "red"] {
        let mut cluster = whole_cluster(name);
        cluster["spec"]
            .as_object_mut()
            .unwrap()
            .remove("infrastructureRef");
        let _: Cluster = stage.create(cluster).await;
    }
    for name in ["blue", "red"] {
        stage
            .until_plane_says(name, "Failed", "True/WorkspaceNotOurs")
            .await;
    }
    stage.settle().await;
    for name in ["blue", "red"] {
        let events = stage.told_about("CAPTControlPlane", name).await;
        let is_told =
            |event: &String| event.starts_with("Warning WorkspaceNotOurs") && event.contains("shared");
        assert!(events.iter().any(is_told), "{name}: {events:#?}");
    }
    assert!(stage.apply("shared").await.unwrap().owner_references().is_empty());
    // One gives way. The other takes it over, as its spec says.
    stage.delete_plane("red").await;
    stage.until_plane_is_gone("red").await;
    stage.until_state("blue", State::Ready).await;
    assert_eq!(
        stage.apply("shared").await.unwrap().labels()[marks::OWNER],
        "CAPTControlPlane.blue"
    );
    assert_eq!(stage.ledger.made().len(), 1);
    assert!(stage.ledger.destroyed().is_empty());
    stage.world.finish().await;
}

#[tokio::test]
async fn a_reference_that_leads_nowhere_is_named_and_waited_for() {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    let mut lost = control_plane("blue");
    lost["spec"]["workspaceTemplateRef"] = json!({"name": "later"});
    stage.make_whole_cluster("blue", lost).await;
    stage
        .until_plane_says("blue", "Ready", "False/WorkspaceTemplateNotFound")
        .await;
    assert!(told(&stage).await.contains("no WorkspaceTemplate later"));
    let events = stage.told_about("CAPTControlPlane", "blue").await;
    let is_told =
        |event: &String| event.starts_with("Warning WorkspaceTemplateNotFound") && event.contains("later");
    assert!(events.iter().any(is_told), "{events:#?}");
    let _: WorkspaceTemplate = stage.create(eks_template("later")).await;
    stage.until_state("blue", State::Ready).await;
    stage.world.finish().await;
}

/// The next look finds the Secret that was written, and only the other one missing.
#[tokio::test]
async fn that_a_secret_was_deleted_is_told_although_another_cannot_be_written() {
    let stage = ready().await;
    stage.world.stop(CAPT);
    let secrets: Api<Secret> = stage.api();
    for name in ["blue-kubeconfig", "blue-ca"] {
        secrets.delete(name, &DeleteParams::default()).await.unwrap();
    }
    let other = Calls::by(CAPT).writes().resource("secrets").name("blue-ca");
    stage.faults().inject(other, Times::Once, Fault::fail(500));
    start_controllers(&stage.world, &Setting::default());
    stage.settle().await;
    let events = stage.told_about("CAPTControlPlane", "blue").await;
    for name in ["blue-kubeconfig", "blue-ca"] {
        let words = format!("The Secret {name} was deleted, and is written again");
        let told = events.iter().filter(|event| event.ends_with(&words));
        assert_eq!(told.count(), 1, "{name}: {events:#?}");
    }
    stage.world.finish().await;
}

#[tokio::test]
async fn a_network_that_no_captcluster_is_for_is_told_about_by_a_person() {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    let _: WorkspaceTemplate = stage.create(eks_template("eks")).await;
    let mut cluster = whole_cluster("blue");
    cluster["spec"]
        .as_object_mut()
        .unwrap()
        .remove("infrastructureRef");
    let _: Cluster = stage.create(cluster).await;
    let mut plane = control_plane("blue");
    plane["spec"]["controlPlaneConfig"] = json!({"region": "eu-central-1"});
    let _: CAPTControlPlane = stage.create(plane).await;
    stage.until_plane_says("blue", "Ready", "False/SecretError").await;
    let told = told(&stage).await;
    assert!(told.contains("the Secret vpc-connection,"), "{told}");
    let secret = json!({
        "metadata": {"name": "vpc-connection"},
        "stringData": {"vpc_id": "vpc-7", "private_subnets": "[\"subnet-a\", \"subnet-b\"]"},
    });
    let _: Secret = stage.create(secret).await;
    stage.until_state("blue", State::Ready).await;
    let variables = stage.apply(APPLY).await.unwrap().spec.variables.unwrap();
    assert_eq!(variables["vpc_id"], "vpc-7");
    stage.world.finish().await;
}

/// Templates of another namespace, which say nothing of whom they are shared with.
async fn make_library(stage: &Stage) -> Api<WorkspaceTemplate> {
    let namespaces: Api<Namespace> = Api::all(stage.client());
    let library: Namespace = serde_json::from_value(json!({"metadata": {"name": "library"}})).unwrap();
    namespaces.create(&PostParams::default(), &library).await.unwrap();
    let templates: Api<WorkspaceTemplate> = Api::namespaced(stage.client(), "library");
    for template in [template("net", "small"), eks_template("eks")] {
        let template: WorkspaceTemplate = serde_json::from_value(template).unwrap();
        templates.create(&PostParams::default(), &template).await.unwrap();
    }
    templates
}

#[tokio::test]
async fn templates_of_another_namespace_need_their_consent_and_say_where_it_is_given() {
    let stage = Stage::embedded().await;
    start_witness(&stage);
    let templates = make_library(&stage).await;
    let (mut network, mut plane) = (made_network("blue"), control_plane("blue"));
    network["spec"]["vpcTemplateRef"]["namespace"] = json!("library");
    plane["spec"]["workspaceTemplateRef"]["namespace"] = json!("library");
    let _: Cluster = stage.create(whole_cluster("blue")).await;
    let _: CAPTCluster = stage.create(network).await;
    let _: CAPTControlPlane = stage.create(plane).await;
    let shared = json!({"spec": {"sharedWith": [stage.namespace()]}});
    let share = async |name: &str| {
        let patch = Patch::Merge(&shared);
        templates
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    };
    stage
        .until_network_says("blue", "VPCReady", "False/TemplateNotShared")
        .await;
    let network = stage.network("blue").await.unwrap().status.unwrap();
    assert_eq!(network.failure_reason, None, "it passes when somebody consents");
    let conditions = network.conditions.unwrap();
    let words = &find_condition(&conditions, "VPCReady").unwrap().message;
    assert!(words.contains("spec.sharedWith"), "{words}");
    share("net").await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage
        .until_plane_says("blue", "Ready", "False/TemplateNotShared")
        .await;
    let words = told(&stage).await;
    assert!(
        words.contains("WorkspaceTemplate eks in namespace library") && words.contains("spec.sharedWith"),
        "{words}"
    );
    assert_eq!(stage.ledger.made().len(), 1, "nothing is made without it");
    share("eks").await;
    stage.until_state("blue", State::Ready).await;
    stage.world.finish().await;
}
