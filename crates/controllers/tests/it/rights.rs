//! Rights that are missing, or pass, and an API that forgets a kind for a moment.

use std::time::Duration;

use capt_api::{CAPTCluster, WorkspaceTemplate, WorkspaceTemplateApply, foreign::Cluster, marks};
use capt_core::{render::WorkspaceGroup, wta::snapshot::Runner};
use capt_testkit::{Call, Calls, Disturbance, Events, Fault, Process, Rule, Times, Verb, World};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Resource, ResourceExt as _,
    api::{Patch, PatchParams},
    core::DynamicObject,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{
    network::{NetworkUser as _, cluster, made_network},
    runner::{self, resource},
    stage::{CAPT, RUNNER, Setting, Stage, User as _, start_controllers, template},
};

const MINUTE: Duration = Duration::from_secs(60);

/// Nothing may be listed or watched that fits.
fn forbid(world: &World, fits: fn(&Call) -> bool) -> Rule {
    let reads = Calls::by(CAPT)
        .matching(move |call: &Call| matches!(call.verb, Verb::List | Verb::Watch) && fits(call));
    world.faults().inject(reads, Times::Every, Fault::fail(403))
}

/// Something is destroyed, and nobody goes on with it.
async fn destroying(stage: &Stage) {
    let _: WorkspaceTemplate = stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    stage.settle().await;
    stage.world.stop(RUNNER);
    stage.delete_apply("blue").await;
    stage.settle().await;
    let apply = stage.apply("blue").await.unwrap();
    let is_recorded = apply.annotations().contains_key(marks::WORKSPACE);
    assert!(!is_recorded, "only the Workspace still says so");
}

/// The runner goes on, and knows what it made.
fn start_runner_again(stage: &Stage) {
    let (book, client) = (stage.ledger.clone(), stage.world.client());
    stage.world.start(RUNNER, move |process| {
        let process = Process {
            client: client.clone(),
            ..process
        };
        runner::run(process, book.clone())
    });
}

/// Breaks a watch, by something that it should tell.
async fn break_watch<K>(stage: &Stage, kind: &str, api: Api<K>, name: &str)
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let events = Events::to(CAPT).resource(kind);
    stage.faults().disturb(events, Times::Once, Disturbance::Reset);
    let touched = json!({"metadata": {"annotations": {"example.org/touched": "true"}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(touched))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_destruction_is_not_over_because_its_workspace_may_not_be_read() {
    for restarts in [true, false] {
        let setting = Setting {
            workspace_api: Some(WorkspaceGroup::ClusterScoped),
            ..Setting::default()
        };
        let stage = Stage::set(World::embedded_only().await, &setting);
        destroying(&stage).await;
        let forbidden = forbid(&stage.world, |call| {
            call.group == "tf.upbound.io" && call.resource == "workspaces"
        });
        if restarts {
            stage.world.stop(CAPT);
            start_controllers(&stage.world, &setting);
        } else {
            let workspaces: Api<DynamicObject> = Api::all_with(stage.client(), &resource("tf.upbound.io"));
            break_watch(&stage, "workspaces", workspaces, "blue").await;
        }
        stage
            .until_says("blue", "Deleting", "True/WorkspaceApiMissing")
            .await;
        stage.advance(60 * MINUTE).await;
        assert!(stage.apply("blue").await.is_some(), "restarts: {restarts}");
        assert!(stage.ledger.destroyed().is_empty());
        forbidden.release();
        stage.until_says("blue", "Deleting", "True/Destroying").await;
        start_runner_again(&stage);
        stage.until_gone("blue").await;
        assert_eq!(stage.ledger.destroyed().len(), 1);
        stage.world.finish().await;
    }
}

/// With rights in one namespace only, the API itself is asked which kinds it serves.
#[tokio::test]
async fn a_destruction_is_not_over_because_the_api_forgets_a_kind_for_a_moment() {
    let world = World::embedded_only().await;
    forbid(&world, |call| call.namespace.is_empty());
    let stage = Stage::set(world, &Setting::default());
    destroying(&stage).await;
    let asked = Calls::by(CAPT)
        .verb(Verb::Other)
        .matching(|call: &Call| call.path.starts_with("/apis/tf.m.upbound.io"));
    let forgotten = stage.faults().inject(asked, Times::First(8), Fault::fail(404));
    stage.advance(20 * MINUTE).await;
    assert_eq!(forgotten.acted(), 8);
    assert_eq!(stage.says("blue", "Deleting").await, "True/Destroying");
    start_runner_again(&stage);
    stage.until_gone("blue").await;
    assert_eq!(stage.ledger.destroyed().len(), 1);
    stage.world.finish().await;
}

/// Whose the definition of Clusters is would not be known then, and nobody would look after them.
#[tokio::test]
async fn a_denial_of_definitions_that_passes_changes_nothing() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    stage.settle().await;
    let read = Calls::by(CAPT).resource("customresourcedefinitions");
    let denied = stage.faults().inject(read, Times::Once, Fault::fail(403));
    let definitions: Api<CustomResourceDefinition> = Api::all(stage.client());
    let name = "workspaces.tf.m.upbound.io";
    break_watch(&stage, "customresourcedefinitions", definitions, name).await;
    stage.settle().await;
    assert_eq!(denied.acted(), 1);
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.advance(2 * MINUTE).await;
    assert_eq!(stage.network_says("blue", "Ready").await, "True/VPCCreated");
    stage.world.finish().await;
}

/// An owner that sees nothing of its own would go and leave it behind.
#[tokio::test]
async fn an_owner_stays_as_long_as_what_it_owns_may_not_be_read() {
    let setting = Setting::default();
    let stage = Stage::set(World::embedded_only().await, &setting);
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    let forbidden = forbid(&stage.world, |call| call.resource == "workspacetemplateapplies");
    stage.world.stop(CAPT);
    start_controllers(&stage.world, &setting);
    stage.delete_network("blue").await;
    stage.advance(10 * MINUTE).await;
    assert!(forbidden.acted() > 0);
    assert!(stage.network("blue").await.is_some());
    assert!(stage.ledger.destroyed().is_empty());
    forbidden.release();
    stage
        .until("the network is gone", async || {
            stage.network("blue").await.is_none()
        })
        .await;
    assert_eq!(stage.ledger.destroyed().len(), 1);
    stage.world.finish().await;
}

/// Whoever sees no Workspace does not know that none is left.
#[tokio::test]
async fn an_owner_stays_as_long_as_what_may_be_left_cannot_be_read() {
    let setting = Setting {
        workspace_api: Some(WorkspaceGroup::ClusterScoped),
        ..Setting::default()
    };
    let stage = Stage::set(World::embedded_only().await, &setting);
    stage.make_template("net").await;
    let _: Cluster = stage.create(cluster("blue")).await;
    let _: CAPTCluster = stage.create(made_network("blue")).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    stage.world.stop(CAPT);
    stage.delete_apply("blue-vpc").await;
    let _: WorkspaceTemplateApply = stage
        .patch("blue-vpc", json!({"metadata": {"finalizers": null}}))
        .await;
    stage.delete_network("blue").await;
    let forbidden = forbid(&stage.world, |call| {
        call.group == "tf.upbound.io" && call.resource == "workspaces"
    });
    start_controllers(&stage.world, &setting);
    stage.advance(10 * MINUTE).await;
    assert!(stage.network("blue").await.is_some());
    assert!(stage.ledger.destroyed().is_empty());
    forbidden.release();
    stage.advance(20 * MINUTE).await;
    stage
        .until_network_says("blue", "Deleting", "True/VPCDeletionFailed")
        .await;
    stage.world.finish().await;
}

/// Whatever may be provider-terraform's is treated as if it were.
#[tokio::test]
async fn a_workspace_whose_runner_may_not_be_known_is_changed_only_with_an_approval() {
    let setting = Setting {
        runner: Runner::Ours {
            label: Some("capt".to_owned()),
        },
        workspace_api: Some(WorkspaceGroup::ClusterScoped),
        ..Setting::default()
    };
    let world = World::embedded_only().await;
    let forbidden = forbid(&world, |call| {
        call.group == "tf.upbound.io" && call.resource == "providerconfigusages"
    });
    let stage = Stage::set(world, &setting);
    let _: WorkspaceTemplate = stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    stage.settle().await;
    let spec = template("net", "other")["spec"].clone();
    let _: WorkspaceTemplate = stage.patch("net", json!({"spec": spec})).await;
    stage
        .until_says("blue", "ApprovalNeeded", "True/DestructiveChange")
        .await;
    let status = stage.apply("blue").await.unwrap().status.unwrap();
    let said = status.message.unwrap_or_default();
    assert!(said.contains("providerconfigusages.tf.upbound.io"), "{said}");
    forbidden.release();
    stage.advance(20 * MINUTE).await;
    stage.until_ready("blue").await;
    stage
        .until_says("blue", "ApprovalNeeded", "False/NotNeeded")
        .await;
    stage.world.finish().await;
}

/// Who runs a Workspace is not known then, which decisions reckon with. Everything else waits.
#[tokio::test]
async fn what_may_not_be_read_at_the_start_is_named_with_the_rule_and_only_what_is_needed_is_waited_for() {
    for (resource, rule, is_needed) in [
        (
            "providerconfigusages",
            r#"{apiGroups: ["tf.upbound.io"], resources: ["providerconfigusages"], verbs: ["get", "list", "watch"]}"#,
            false,
        ),
        (
            "secrets",
            r#"{apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"]}"#,
            true,
        ),
        (
            "captclusters",
            r#"{apiGroups: ["infrastructure.cluster.x-k8s.io"], resources: ["captclusters"], verbs: ["get", "list", "watch"]}"#,
            true,
        ),
    ] {
        let setting = Setting {
            everywhere: true,
            ..Setting::default()
        };
        let world = World::embedded_only().await;
        let fits = match resource {
            "secrets" => |call: &Call| call.resource == "secrets",
            "captclusters" => |call: &Call| call.resource == "captclusters",
            _ => |call: &Call| call.resource == "providerconfigusages",
        };
        let forbidden = forbid(&world, fits);
        let stage = Stage::set(world, &setting);
        stage.make_template("net").await;
        stage.make_apply("blue", "net").await;
        stage.advance(5 * MINUTE).await;
        assert!(forbidden.acted() > 0, "{resource}");
        let why_not = setting.readiness.why_not();
        assert_eq!(why_not.is_some(), is_needed, "{resource}: {why_not:?}");
        assert!(
            why_not.is_none_or(|why| why.contains(rule)),
            "{resource}: the rule is named"
        );
        forbidden.release();
        stage.until_ready("blue").await;
        assert_eq!(setting.readiness.why_not(), None, "{resource}");
        stage.world.finish().await;
    }
}
