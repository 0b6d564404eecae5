//! Destruction is granted, never implied.

use capt_api::{
    foreign::{
        ClusterProviderConfig,
        marks::{CROSSPLANE_FINALIZER, RECONCILE_REQUESTED},
    },
    marks,
};
use capt_terraform::{diagnostics::Class, state::Created};
use capt_testkit::World;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    script::{Script, failure},
    support::*,
};

const ALIVE: [&str; 4] = ["Observe", "Create", "Update", "LateInitialize"];

#[tokio::test]
async fn without_the_grant_infrastructure_and_state_stay_and_are_taken_up_again() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let mut object = workspace("vpc", &["a"]);
    object["spec"]["managementPolicies"] = json!(ALIVE);
    create(&world, object.clone()).await;
    until_settled(&world, "vpc").await;

    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-capt"]);
    assert_eq!(
        script.with(|stage| stage.plans),
        1,
        "nothing is run to leave something alone"
    );

    create(&world, object).await;
    until_settled(&world, "vpc").await;
    assert_eq!(
        script.with(|stage| stage.made.len()),
        1,
        "what exists is not made again"
    );
    world.finish().await;
}

#[tokio::test]
async fn what_is_retained_and_may_do_nothing_goes_alone_when_somebody_deletes_it() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    let kept =
        json!({"metadata": {"annotations": {marks::RETAINED: "true"}}, "spec": {"managementPolicies": []}});
    patch(&world, "vpc", kept).await;
    until(&world, "vpc", "Synced", "False ReconcilePaused").await;
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-capt"]);
    world.finish().await;
}

#[tokio::test]
async fn what_was_never_made_goes_without_a_run() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.plan_failures.push_back(failure(Class::Configuration, "no")));
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until(&world, "vpc", "Failing", "True Configuration").await;
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.plans), 1);
    world.finish().await;
}

#[tokio::test]
async fn what_was_never_made_goes_although_its_inputs_are_missing() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["finalizers"] = json!([CROSSPLANE_FINALIZER]);
    object["spec"]["forProvider"]["env"] =
        json!([{"name": "PASSWORD", "secretKeyRef": {"name": "never", "key": "password"}}]);
    create(&world, object).await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.plans), 0);
    world.finish().await;
}

#[tokio::test]
async fn a_deletion_stops_a_running_apply_and_destroys_what_it_had_made() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(60));
    start(&world, &script);
    create(&world, workspace("vpc", &["a", "b", "c"])).await;
    world
        .until("something to be made", async || !script.exists("vpc").is_empty())
        .await;
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.stopped), 1);
    assert!(script.with(|stage| stage.made.len()) < 3, "the rest was not made");
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    assert_eq!(state_secrets(&world).await, Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn a_grant_that_is_taken_back_stops_a_running_destruction_and_keeps_what_is_left() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a", "b", "c"])).await;
    until_settled(&world, "vpc").await;
    script.with(|stage| stage.delay = seconds(60));
    delete(&world, "vpc").await;
    world
        .until("something to be destroyed", async || {
            script.exists("vpc").len() < 3
        })
        .await;
    patch(&world, "vpc", json!({"spec": {"managementPolicies": ALIVE}})).await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.stopped), 1);
    assert!(!script.exists("vpc").is_empty());
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-capt"]);
    world.finish().await;
}

#[tokio::test]
async fn what_failed_before_is_not_told_as_the_trouble_of_a_destruction() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    script.with(|stage| stage.plan_failures.push_back(failure(Class::Configuration, "no")));
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
    patch(&world, "vpc", more).await;
    until(&world, "vpc", "Failing", "True Configuration").await;
    script.with(|stage| stage.opening = seconds(60));
    delete(&world, "vpc").await;
    until(&world, "vpc", "Ready", "False Deleting").await;
    assert_eq!(message(&world, "vpc", "Synced").await, "");
    until(&world, "vpc", "Failing", "False NotFailing").await;
    // Its own trouble stays until it is over.
    script.with(|stage| {
        stage.plan_failures.push_back(failure(Class::Network, "gone"));
    });
    until(&world, "vpc", "Failing", "True Network").await;
    world.advance(seconds(30)).await;
    let words = message(&world, "vpc", "Synced").await;
    assert!(words.starts_with("delete failed: gone"), "{words}");
    until_gone(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn a_destruction_after_a_pause_tells_no_error() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    patch(&world, "vpc", json!({"spec": {"managementPolicies": []}})).await;
    until(&world, "vpc", "Synced", "False ReconcilePaused").await;
    delete(&world, "vpc").await;
    script.with(|stage| stage.opening = seconds(60));
    patch(&world, "vpc", json!({"spec": {"managementPolicies": ["*"]}})).await;
    until(&world, "vpc", "Ready", "False Deleting").await;
    assert_eq!(
        says(&world, "vpc", "Synced").await.as_deref(),
        Some("True ReconcileSuccess")
    );
    until_gone(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn what_no_state_has_is_told_as_left_when_everything_else_is_destroyed() {
    // What else there is: something in a state, or nothing at all.
    for others in [&["a"][..], &[]] {
        let world = World::embedded_only().await;
        let script = Script::default();
        let lost = Created {
            address: "thing.z".to_owned(),
            id: Some("z-1".to_owned()),
            ..Created::default()
        };
        start_with(&world, &script, no_polls);
        let mut object = workspace("vpc", others);
        object["spec"]["forProvider"]["module"] = json!(format!("# a module\n{}", module(others)));
        create(&world, object).await;
        until_settled(&world, "vpc").await;
        script.with(|stage| stage.missing = vec![lost]);
        annotate(&world, "vpc", RECONCILE_REQUESTED, "now").await;
        until(&world, "vpc", "StateComplete", "False ResourcesMissing").await;
        delete(&world, "vpc").await;
        until_gone(&world, "vpc").await;
        world.settle().await;
        let heard = events(&world, "vpc").await;
        let left = "thing.z [id=z-1]";
        let is_told = |(reason, note): &(String, String)| {
            let says = note.contains(left) && note.contains("delete them by hand") && !note.contains("retry");
            reason == "ResourcesLeft" && says
        };
        assert!(heard.iter().any(is_told), "{heard:?}");
        assert!(
            !heard.iter().any(|(_, note)| note == "everything was destroyed"),
            "{heard:?}"
        );
        let destroyed = heard
            .iter()
            .filter(|(reason, _)| reason == "DeletedExternalResource");
        assert!(
            destroyed.clone().all(|(_, note)| note.contains(left)),
            "{heard:?}"
        );
        assert_eq!(destroyed.count(), others.len(), "{heard:?}");
        world.finish().await;
    }
}

#[tokio::test]
async fn a_deletion_without_the_grant_lets_a_running_apply_finish() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(60));
    start(&world, &script);
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["managementPolicies"] = json!(ALIVE);
    create(&world, object).await;
    world
        .until("something to be made", async || !script.exists("vpc").is_empty())
        .await;
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.stopped), 0);
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
    world.finish().await;
}

#[tokio::test]
async fn a_change_waits_for_what_runs_and_is_applied_then() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(60));
    start(&world, &script);
    create(&world, workspace("vpc", &["a", "b"])).await;
    world
        .until("something to be made", async || !script.exists("vpc").is_empty())
        .await;
    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["a", "b", "c"])}}}),
    )
    .await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b", "thing.c"]);
    assert_eq!(script.with(|stage| (stage.stopped, stage.applies)), (0, 2));
    world.finish().await;
}

#[tokio::test]
async fn a_failed_destruction_says_what_is_left_and_others_are_waited_for() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;
    patch(
        &world,
        "vpc",
        json!({"metadata": {"finalizers": [CROSSPLANE_FINALIZER, "example.com/other"]}}),
    )
    .await;
    script.with(|stage| stage.apply_failures.push_back(failure(Class::Denied, "may not")));
    delete(&world, "vpc").await;
    until(&world, "vpc", "Ready", "False Deleting").await;
    world.advance(seconds(600)).await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"], "others hold it");

    patch(
        &world,
        "vpc",
        json!({"metadata": {"finalizers": [CROSSPLANE_FINALIZER]}}),
    )
    .await;
    until(&world, "vpc", "Failing", "True Denied").await;
    let words = message(&world, "vpc", "Synced").await;
    assert!(words.starts_with("delete failed: may not"), "{words}");
    assert!(words.contains("still there: thing.a, thing.b"), "{words}");

    annotate(&world, "vpc", capt_api::marks::RETRY_REQUESTED, "now").await;
    until_gone(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn what_a_crash_left_on_the_machine_is_kept_before_a_workspace_is_let_go() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.delay = seconds(60));
    start(&world, &script);
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["managementPolicies"] = json!(ALIVE);
    create(&world, object.clone()).await;
    world
        .until("something to be made", async || script.exists("vpc").len() == 1)
        .await;
    world.stop(RUNNER);
    // The state that was kept is older than the one on the machine.
    let secrets: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    for name in state_secrets(&world).await {
        let unheld = json!({"metadata": {"finalizers": null}});
        secrets
            .patch(&name, &PatchParams::default(), &Patch::Merge(unheld))
            .await
            .unwrap();
        secrets.delete(&name, &DeleteParams::default()).await.unwrap();
    }
    delete(&world, "vpc").await;
    start(&world, &script);
    until_gone(&world, "vpc").await;
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-capt"]);
    assert_eq!(script.with(|stage| stage.applies), 1, "nothing more is made");

    create(&world, object).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.made.len()), 2, "nothing is made twice");
    world.finish().await;
}

#[tokio::test]
async fn what_is_only_on_the_machine_is_kept_although_nobody_remembers_the_crash() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["managementPolicies"] = json!(ALIVE);
    let uid = create(&world, object.clone()).await.metadata.uid.unwrap();
    until_settled(&world, "vpc").await;
    world.stop(RUNNER);
    // Terraform wrote once more, and what is owned by a Workspace goes before it does.
    script.with(|stage| {
        let file = stage.disk.get_mut(&uid).unwrap();
        let mut state: Value = serde_json::from_slice(file).unwrap();
        state["serial"] = json!(state["serial"].as_u64().unwrap() + 1);
        let mut third = state["resources"][0].clone();
        third["name"] = json!("c");
        state["resources"].as_array_mut().unwrap().push(third);
        *file = serde_json::to_vec(&state).unwrap();
    });
    let maps: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let page = page(&world, "vpc").await.unwrap().name_any();
    maps.delete(&page, &DeleteParams::default()).await.unwrap();
    delete(&world, "vpc").await;
    start_with(&world, &script, no_polls);
    until_gone(&world, "vpc").await;
    assert!(script.with(|stage| stage.forgotten.contains(&uid)));

    object["spec"]["forProvider"]["module"] = json!(module(&["a", "b", "c"]));
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.made.len()), 2, "nothing is made twice");
    world.finish().await;
}

#[tokio::test]
async fn a_state_that_cannot_be_read_is_never_taken_for_none() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    let secrets: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let good = secrets.get("tfstate-vpc-capt").await.unwrap().data.unwrap();
    let spoil = json!({"data": {"tfstate": "bm8gc3RhdGU="}});
    secrets
        .patch("tfstate-vpc-capt", &PatchParams::default(), &Patch::Merge(spoil))
        .await
        .unwrap();
    delete(&world, "vpc").await;
    until(&world, "vpc", "Failing", "True StateUnavailable").await;
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    assert!(
        world.recorder().requests_since(mark).is_empty(),
        "nobody asks again and again"
    );
    assert!(find(&world, "vpc").await.is_some());

    let restore = json!({"data": good});
    secrets
        .patch(
            "tfstate-vpc-capt",
            &PatchParams::default(),
            &Patch::Merge(restore),
        )
        .await
        .unwrap();
    annotate(&world, "vpc", capt_api::marks::RETRY_REQUESTED, "restored").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn a_place_that_was_changed_is_not_taken_for_an_empty_one() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let configs: Api<ClusterProviderConfig> = Api::all(world.client());
    let config = |suffix: &str| {
        let namespace = world.namespace();
        let text = format!(
            "terraform {{\n  backend \"kubernetes\" {{\n    secret_suffix = \"{suffix}\"\n    namespace = \"{namespace}\"\n  }}\n}}\n"
        );
        json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "ClusterProviderConfig",
            "metadata": {"name": "default"}, "spec": {"configuration": text},
        })
    };
    let put = async |suffix: &str| {
        let params = PatchParams::apply("test").force();
        configs
            .patch("default", &params, &Patch::Apply(config(suffix)))
            .await
            .unwrap();
    };
    put("first").await;
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(state_secrets(&world).await, ["tfstate-vpc-first"]);

    put("second").await;
    until(&world, "vpc", "Failing", "True InputInvalid").await;
    delete(&world, "vpc").await;
    world.advance(seconds(600)).await;
    assert!(
        find(&world, "vpc").await.is_some(),
        "it still has to be destroyed"
    );
    assert_eq!(script.exists("vpc"), ["thing.a"]);

    put("first").await;
    until_gone(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), Vec::<String>::new());
    assert_eq!(state_secrets(&world).await, Vec::<String>::new());
    world.finish().await;
}
