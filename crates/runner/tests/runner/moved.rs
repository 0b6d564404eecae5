//! What was ready on another side, and is found there by its state alone.

use capt_api::{
    foreign::{ClusterProviderConfig, marks::EXTERNAL_NAME},
    marks,
};
use capt_terraform::diagnostics::Class;
use capt_testkit::{Calls, Fault, Times, Verb, World};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    script::{Script, failure},
    support::*,
};

const CONNECTION: &str = "facts";

fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.client(), world.namespace())
}

/// A Workspace that hands its outputs out.
fn handing_out(resources: &[&str]) -> Value {
    let mut object = workspace("vpc", resources);
    object["metadata"]["annotations"] = json!({(EXTERNAL_NAME): "vpc"});
    object["spec"]["writeConnectionSecretToRef"] = json!({"name": CONNECTION});
    object
}

/// The other side of a move: nothing but the state came along, and the object is made anew.
async fn moved(script: &Script, object: Value) -> World {
    let world = gone(script).await;
    create(&world, object).await;
    start_with(&world, script, no_polls);
    world
}

/// Nothing but the state is there, and no runner yet.
async fn gone(script: &Script) -> World {
    let world = World::embedded_only().await;
    start_with(&world, script, no_polls);
    create(&world, handing_out(&["a", "b"])).await;
    until_settled(&world, "vpc").await;
    world.stop(RUNNER);
    patch(&world, "vpc", json!({"metadata": {"finalizers": null}})).await;
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    let gone = DeleteParams::default();
    let _ = secrets(&world).delete(CONNECTION, &gone).await;
    let pages: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let page = capt_core::names::run_report("tf.m.upbound.io", "vpc");
    let _ = pages.delete(&page, &gone).await;
    script.with(|stage| stage.disk.clear());
    world
}

/// Makes a Secret of somebody else's where outputs are to be written.
async fn put_theirs(world: &World) {
    let theirs: Secret = serde_json::from_value(json!({"metadata": {"name": CONNECTION, "ownerReferences": [
        {"apiVersion": "example.org/v1", "kind": "Certificate", "name": "c", "uid": "u-1", "controller": true},
    ]}}))
    .unwrap();
    secrets(world)
        .create(&PostParams::default(), &theirs)
        .await
        .unwrap();
}

/// What the connection Secret tells, if it is there.
async fn count(world: &World) -> Option<String> {
    let secret = secrets(world).get_opt(CONNECTION).await.unwrap()?;
    let count = secret.data?.remove("count")?;
    Some(String::from_utf8(count.0).unwrap())
}

async fn outputs(world: &World) -> Option<Value> {
    let outputs = get(world, "vpc").await.status?.at_provider?.outputs?;
    Some(json!(outputs))
}

#[tokio::test]
async fn what_waits_for_an_approval_hands_out_what_its_state_has_if_it_was_ready_before() {
    for was_ready in [true, false] {
        let script = Script::default();
        let mut object = handing_out(&["a"]);
        if was_ready {
            object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
        }
        let world = moved(&script, object).await;
        until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
        world.settle().await;
        let ready = says(&world, "vpc", "Ready").await;
        let expected = was_ready.then(|| "True Available".to_owned());
        assert_eq!(ready, expected);
        assert_eq!(count(&world).await, was_ready.then(|| "2".to_owned()));
        assert_eq!(outputs(&world).await, was_ready.then(|| json!({"count": 2})));
        assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
        assert_eq!(
            script.with(|stage| stage.applies),
            1,
            "nothing is changed for that"
        );

        if was_ready {
            secrets(&world)
                .delete(CONNECTION, &DeleteParams::default())
                .await
                .unwrap();
            world
                .until("the Secret to be back", async || count(&world).await.is_some())
                .await;
        }
        let plan = report(&world, "vpc").await.plan.unwrap();
        annotate(&world, "vpc", marks::APPROVED, &plan.id).await;
        until_settled(&world, "vpc").await;
        assert_eq!(script.exists("vpc"), ["thing.a"]);
        assert_eq!(count(&world).await.as_deref(), Some("1"));
        world.finish().await;
    }
}

#[tokio::test]
async fn what_was_changed_since_it_was_moved_hands_out_nothing_before_all_is_done() {
    for is_settled_before in [true, false] {
        let script = Script::default();
        let mut object = handing_out(if is_settled_before { &["a", "b"] } else { &["a"] });
        object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
        let world = moved(&script, object).await;
        if is_settled_before {
            until_settled(&world, "vpc").await;
            let fewer = module(&["a"]);
            patch(&world, "vpc", json!({"spec": {"forProvider": {"module": fewer}}})).await;
        }
        until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
        world.settle().await;
        assert_eq!(outputs(&world).await, Some(json!({"count": 2})));

        script.with(|stage| {
            stage.outputs = Some(json!({"count": {"value": 7, "type": "number"}}));
            let halfway = failure(Class::Other, "a pod is left");
            stage.apply_failures.push_back(halfway);
        });
        let plan = report(&world, "vpc").await.plan.unwrap();
        annotate(&world, "vpc", marks::APPROVED, &plan.id).await;
        until(&world, "vpc", "ApprovalNeeded", "False NotNeeded").await;
        // Whoever authors it may not have seen yet that the mark is gone, and says it again.
        annotate(&world, "vpc", marks::WAS_READY, "true").await;
        let other = module(&["c"]);
        patch(&world, "vpc", json!({"spec": {"forProvider": {"module": other}}})).await;
        until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
        for run in ["first", "second"] {
            world.settle().await;
            assert_eq!(count(&world).await.as_deref(), Some("2"), "{run}");
            assert_eq!(outputs(&world).await, Some(json!({"count": 2})), "{run}");
            let plans = script.with(|stage| stage.plans);
            annotate(&world, "vpc", marks::RETRY_REQUESTED, run).await;
            world
                .until("it to be planned", async || {
                    script.with(|stage| stage.plans) > plans
                })
                .await;
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn what_lacks_an_input_serves_as_it_was_and_names_what_is_missing() {
    let script = Script::default();
    let mut object = handing_out(&["a", "b"]);
    object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
    object["spec"]["forProvider"]["varFiles"] =
        json!([{"source": "ConfigMapKey", "configMapKeyRef": {"name": "sizes", "key": "all"}}]);
    let world = moved(&script, object).await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    let words = message(&world, "vpc", "Synced").await;
    assert!(words.contains("sizes"), "{words}");
    assert_eq!(
        says(&world, "vpc", "Ready").await.as_deref(),
        Some("True Available")
    );
    assert_eq!(count(&world).await.as_deref(), Some("2"));
    assert_eq!(
        outputs(&world).await,
        None,
        "what is secret is not known without its inputs"
    );

    let api: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let sizes: ConfigMap = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sizes"}, "data": {"all": "size = 1\n"},
    }))
    .unwrap();
    api.create(&PostParams::default(), &sizes).await.unwrap();
    until_settled(&world, "vpc").await;
    assert_eq!(outputs(&world).await, Some(json!({"count": 2})));
    assert_eq!(script.with(|stage| stage.made.len()), 2);
    world.finish().await;
}

#[tokio::test]
async fn what_is_made_up_is_not_said_to_be_ready_before_that_is_said() {
    for is_simulated in [true, false] {
        let script = Script::default();
        script.with(|stage| stage.is_simulated = is_simulated);
        let world = gone(&script).await;
        script.with(|stage| {
            let unavailable = failure(Class::Other, "there is no such provider");
            stage.plan_failures.push_back(unavailable);
        });
        let mut object = handing_out(&["a", "b"]);
        object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
        create(&world, object).await;
        start_with(&world, &script, no_polls);
        world
            .until("it to be planned", async || {
                script.with(|stage| stage.plan_failures.is_empty())
            })
            .await;
        world.settle().await;
        let ready = says(&world, "vpc", "Ready").await;
        assert_eq!(ready.is_some(), !is_simulated);
        world.finish().await;
    }
}

#[tokio::test]
async fn what_is_taken_up_is_handed_out_once() {
    let script = Script::default();
    let world = gone(&script).await;
    let unavailable = failure(Class::Other, "there is no such provider");
    script.with(|stage| stage.plan_failures.push_back(unavailable));
    start_with(&world, &script, no_polls);
    world.settle().await;
    let mark = world.recorder().mark();
    let mut object = handing_out(&["a", "b"]);
    object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
    create(&world, object).await;
    world
        .until("it to be planned", async || {
            script.with(|stage| stage.plan_failures.is_empty())
        })
        .await;
    world.settle().await;
    assert_eq!(count(&world).await.as_deref(), Some("2"));
    let mut asked = world.recorder().requests_since(mark);
    asked.retain(|entry| {
        let call = &entry.call;
        call.caller == RUNNER && call.resource == "secrets" && call.name == CONNECTION
    });
    assert_eq!(asked.len(), 1, "{asked:#?}");
    world.finish().await;
}

#[tokio::test]
async fn what_lacks_its_provider_config_serves_as_it_was_as_soon_as_that_is_there() {
    let script = Script::default();
    let mut object = handing_out(&["a", "b"]);
    object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
    object["spec"]["providerConfigRef"] = json!({"kind": "ClusterProviderConfig", "name": "late"});
    let world = moved(&script, object).await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    world.settle().await;
    assert_eq!(says(&world, "vpc", "Ready").await, None);

    let unavailable = failure(Class::Other, "there is no such provider");
    script.with(|stage| stage.plan_failures.push_back(unavailable));
    let config: ClusterProviderConfig = serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "ClusterProviderConfig",
        "metadata": {"name": "late"}, "spec": {},
    }))
    .unwrap();
    let configs: Api<ClusterProviderConfig> = Api::all(world.client());
    configs.create(&PostParams::default(), &config).await.unwrap();
    world
        .until("it to be planned", async || {
            script.with(|stage| stage.plan_failures.is_empty())
        })
        .await;
    world.settle().await;
    assert_eq!(
        says(&world, "vpc", "Ready").await.as_deref(),
        Some("True Available")
    );
    assert_eq!(count(&world).await.as_deref(), Some("2"));
    world.finish().await;
}

#[tokio::test]
async fn what_lacks_an_input_and_cannot_hand_out_tells_both_and_serves_when_it_can() {
    let script = Script::default();
    let world = gone(&script).await;
    put_theirs(&world).await;
    let mut object = handing_out(&["a", "b"]);
    object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
    object["spec"]["forProvider"]["varFiles"] =
        json!([{"source": "ConfigMapKey", "configMapKeyRef": {"name": "sizes", "key": "all"}}]);
    create(&world, object).await;
    start_with(&world, &script, no_polls);
    until(&world, "vpc", "Failing", "True InputMissing").await;
    let words = message(&world, "vpc", "Failing").await;
    assert!(
        words.contains("sizes") && words.contains("Certificate c"),
        "{words}"
    );
    assert_eq!(says(&world, "vpc", "Ready").await, None);

    secrets(&world)
        .delete(CONNECTION, &DeleteParams::default())
        .await
        .unwrap();
    until(&world, "vpc", "Ready", "True Available").await;
    world.settle().await;
    assert_eq!(count(&world).await.as_deref(), Some("2"));
    let words = message(&world, "vpc", "Failing").await;
    assert!(
        words.contains("sizes") && !words.contains("Certificate c"),
        "{words}"
    );
    world.finish().await;
}

#[tokio::test]
async fn an_api_that_fails_while_outputs_are_handed_out_takes_no_plan_back() {
    let script = Script::default();
    let mut object = handing_out(&["a"]);
    object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
    let world = moved(&script, object).await;
    until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
    world.settle().await;
    let told = condition(&world, "vpc", "ApprovalNeeded").await.unwrap();
    world.advance(seconds(60)).await;
    let reads = Calls::by(RUNNER)
        .verb(Verb::Get)
        .resource("secrets")
        .name(CONNECTION);
    let fails = world.faults().inject(reads, Times::Once, Fault::fail(503));
    annotate(&world, "vpc", marks::RETRY_REQUESTED, "again").await;
    fails.reached(1).await;
    world.settle().await;
    let after = condition(&world, "vpc", "ApprovalNeeded").await.unwrap();
    assert_eq!(after.status, "True");
    assert_eq!(after.last_transition_time, told.last_transition_time);
    until(&world, "vpc", "Failing", "False NotFailing").await;
    assert_eq!(count(&world).await.as_deref(), Some("2"));
    assert_eq!(
        says(&world, "vpc", "Ready").await.as_deref(),
        Some("True Available")
    );
    world.finish().await;
}

#[tokio::test]
async fn what_cannot_hand_out_is_not_said_to_be_ready_and_its_plan_can_be_approved() {
    let script = Script::default();
    let world = gone(&script).await;
    put_theirs(&world).await;
    let mut object = handing_out(&["a"]);
    object["metadata"]["annotations"][marks::WAS_READY] = json!("true");
    create(&world, object).await;
    start_with(&world, &script, no_polls);
    let mut plans = script.with(|stage| stage.plans);
    for run in ["first", "second"] {
        world
            .until("it to be planned", async || {
                script.with(|stage| stage.plans) > plans
            })
            .await;
        until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
        until(&world, "vpc", "Failing", "True ConnectionSecretFailed").await;
        world.settle().await;
        let words = message(&world, "vpc", "Failing").await;
        assert!(words.contains("Certificate c"), "{run}: {words}");
        assert_eq!(says(&world, "vpc", "Ready").await, None, "{run}");
        assert!(report(&world, "vpc").await.plan.unwrap().awaits_approval, "{run}");
        plans = script.with(|stage| stage.plans);
        annotate(&world, "vpc", marks::RETRY_REQUESTED, run).await;
    }

    secrets(&world)
        .delete(CONNECTION, &DeleteParams::default())
        .await
        .unwrap();
    until(&world, "vpc", "Ready", "True Available").await;
    until(&world, "vpc", "Failing", "False NotFailing").await;
    assert_eq!(count(&world).await.as_deref(), Some("2"));
    let plan = report(&world, "vpc").await.plan.unwrap();
    annotate(&world, "vpc", marks::APPROVED, &plan.id).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    world.finish().await;
}
