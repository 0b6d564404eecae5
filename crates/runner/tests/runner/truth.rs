//! What is said must be so: drift, incomplete states, simulations, missing engines, other people's Workspaces.

use std::time::Duration;

use capt_api::{
    foreign::{ProviderConfigUsage, Workspace},
    marks,
};
use capt_runner::{engine::Failure, sandbox::SandboxStatus};
use capt_terraform::{
    diagnostics::Class,
    state::Created,
    stream::{Diagnostic, Severity},
};
use capt_testkit::{Calls, Disturbance, Events, Fault, Times, Verb, World};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, CustomResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    script::{Script, failure},
    support::*,
};

#[tokio::test]
async fn drift_is_told_before_it_is_repaired() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(says(&world, "vpc", "Drifted").await, None);

    script.with(|stage| {
        stage.drift = vec!["thing.a".to_owned()];
        stage.delay = seconds(60);
        // Somebody deleted it, so that the state loses it and it has to be made again.
        let file = stage.disk.values_mut().next().unwrap();
        let mut state: serde_json::Value = serde_json::from_slice(file).unwrap();
        state["resources"] = json!([]);
        state["serial"] = json!(100);
        *file = serde_json::to_vec(&state).unwrap();
        stage.ledger.clear();
    });
    until(&world, "vpc", "Drifted", "True DriftFound").await;
    assert_eq!(
        script.with(|stage| stage.ledger.len()),
        0,
        "it is not repaired yet"
    );
    let told = report(&world, "vpc").await;
    assert_eq!(told.plan.unwrap().drift[0].address, "thing.a");
    let heard = events(&world, "vpc").await;
    assert!(
        heard.iter().any(|(reason, _)| reason == "DriftFound"),
        "{heard:?}"
    );
    until(&world, "vpc", "Drifted", "False NoDrift").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    world.finish().await;
}

fn lost(address: &str, id: Option<&str>) -> Created {
    Created {
        address: address.to_owned(),
        id: id.map(str::to_owned),
        unfinished: id.is_none(),
        ..Created::default()
    }
}

#[tokio::test]
async fn what_may_exist_and_is_in_no_state_is_not_made_again_before_somebody_asks_for_it() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.missing = vec![lost("thing.a", None)]);
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until(&world, "vpc", "Failing", "True ResourcesMissing").await;
    until(&world, "vpc", "StateComplete", "False ResourcesMissing").await;
    let words = message(&world, "vpc", "Failing").await;
    let retry = format!("capt retry workspace/vpc -n {}", world.namespace());
    assert!(
        words.contains("thing.a (was being made, may exist)") && words.ends_with(&retry),
        "{words}"
    );
    // Neither time nor a restart nor another spec changes anything about it.
    world.advance(seconds(3600)).await;
    world.crash(RUNNER);
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
    patch(&world, "vpc", more).await;
    world.advance(seconds(3600)).await;
    assert!(script.with(|stage| stage.plans) > 2, "it was looked at");
    assert_eq!(script.with(|stage| stage.applies), 0);

    annotate(&world, "vpc", marks::RETRY_REQUESTED, "seen to").await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
    until(&world, "vpc", "StateComplete", "True Complete").await;
    world.finish().await;
}

#[tokio::test]
async fn a_failure_that_passes_is_not_tried_again_where_that_would_make_something_twice() {
    for class in [Class::Network, Class::Interrupted] {
        let world = World::embedded_only().await;
        let script = Script::default();
        start_with(&world, &script, no_polls);
        create(&world, workspace("vpc", &["a"])).await;
        until_settled(&world, "vpc").await;
        let failed = Failure {
            missing: vec![lost("thing.b", Some("b-1"))],
            ..failure(class, "connection reset by peer")
        };
        script.with(|stage| stage.apply_failures.push_back(failed));
        let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
        patch(&world, "vpc", more).await;
        until(&world, "vpc", "Failing", "True ResourcesMissing").await;
        world.advance(seconds(3600)).await;
        assert_eq!(script.with(|stage| stage.applies), 2, "{class:?}");
        assert_eq!(script.exists("vpc"), ["thing.a"], "{class:?}");
        // What is not wanted any more is not made either.
        let less = json!({"spec": {"forProvider": {"module": module(&["a"])}}});
        patch(&world, "vpc", less).await;
        until_settled(&world, "vpc").await;
        world.finish().await;
    }
}

#[tokio::test]
async fn a_replacement_that_was_cut_short_is_not_made_again_although_it_was_approved() {
    // What is known of it: that it was being made, or nothing but what the plan was going to do.
    for is_lost in [false, true] {
        let world = World::embedded_only().await;
        let script = Script::default();
        start_with(&world, &script, no_polls);
        create(&world, workspace("vpc", &["a"])).await;
        until_settled(&world, "vpc").await;
        script.with(|stage| {
            stage.replaces = true;
            stage.delay = seconds(60);
        });
        let vars = json!([{"key": "size", "value": "3"}]);
        let other = json!({"spec": {"forProvider": {"vars": vars}}});
        patch(&world, "vpc", other).await;
        until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
        let plan = report(&world, "vpc").await.plan.expect("a plan");
        annotate(&world, "vpc", marks::APPROVED, &plan.id).await;
        world
            .until("it to be applied", async || {
                script.with(|stage| stage.applies) == 2
            })
            .await;
        world.advance(seconds(30)).await;
        world.crash(RUNNER);
        script.with(|stage| match is_lost {
            true => {
                stage.disk.clear();
                stage.operations.clear();
            }
            false => {
                stage.missing = vec![Created {
                    replaces: Some("id-1".to_owned()),
                    ..lost("thing.a", None)
                }];
            }
        });
        until(&world, "vpc", "Failing", "True ResourcesMissing").await;
        world.advance(seconds(3600)).await;
        assert_eq!(script.with(|stage| stage.applies), 2, "{is_lost}");
        let words = message(&world, "vpc", "StateComplete").await;
        let place = match is_lost {
            true => "in the place of what the state has",
            false => "in the place of [id=id-1]",
        };
        assert!(
            words.contains(&format!("thing.a (was being made {place}, may exist)")),
            "{words}"
        );
        annotate(&world, "vpc", marks::RETRY_REQUESTED, "seen to").await;
        until_settled(&world, "vpc").await;
        assert_eq!(script.with(|stage| stage.made.len()), 2, "{is_lost}");
        until(&world, "vpc", "StateComplete", "True Complete").await;
        world.finish().await;
    }
}

#[tokio::test]
async fn what_terraform_warns_of_is_told() {
    let world = World::embedded_only().await;
    let script = Script::default();
    let warning = Diagnostic {
        severity: Severity::Warning,
        summary: "Value for undeclared variable".to_owned(),
        detail: "There is no variable\nnamed \"tpyo\".".to_owned(),
        ..Diagnostic::default()
    };
    script.with(|stage| stage.warnings = vec![warning.clone(), warning]);
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    let expected = "Value for undeclared variable: There is no variable named \"tpyo\".";
    assert_eq!(report(&world, "vpc").await.warnings, [expected]);
    world
        .until("an event", async || {
            let told = events(&world, "vpc").await;
            told.contains(&("TerraformWarned".to_owned(), expected.to_owned()))
        })
        .await;
    // It is over when nothing is warned of any more.
    script.with(|stage| stage.warnings.clear());
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
    patch(&world, "vpc", more).await;
    until_settled(&world, "vpc").await;
    assert_eq!(report(&world, "vpc").await.warnings, Vec::<String>::new());
    world.finish().await;
}

#[tokio::test]
async fn what_a_torn_state_lacks_is_listed_until_it_is_there_or_somebody_saw_to_it() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.missing = vec![lost("thing.z", Some("vpc-123"))]);
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(
        says(&world, "vpc", "StateComplete").await.as_deref(),
        Some("False ResourcesMissing")
    );
    let words = message(&world, "vpc", "StateComplete").await;
    assert!(words.contains("thing.z [id=vpc-123]"), "{words}");

    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}}),
    )
    .await;
    until_settled(&world, "vpc").await;
    assert_eq!(
        says(&world, "vpc", "StateComplete").await.as_deref(),
        Some("False ResourcesMissing")
    );
    // Who reads about a failure is not sent to try again without having heard of it.
    script.with(|stage| stage.apply_failures.push_back(failure(Class::Crash, "killed")));
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b", "c"])}}});
    patch(&world, "vpc", more).await;
    until(&world, "vpc", "Failing", "True Crash").await;
    let words = message(&world, "vpc", "Failing").await;
    assert!(
        words.contains("thing.z [id=vpc-123]. Import or delete"),
        "{words}"
    );
    let retry = format!("a second time: capt retry workspace/vpc -n {}", world.namespace());
    assert!(words.ends_with(&retry), "{words}");

    annotate(&world, "vpc", marks::RETRY_REQUESTED, "seen to").await;
    until(&world, "vpc", "StateComplete", "True Complete").await;
    world.finish().await;
}

#[tokio::test]
async fn a_simulation_says_that_it_is_one() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.is_simulated = true);
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(
        says(&world, "vpc", "Simulated").await.as_deref(),
        Some("True SimulatedEngine")
    );
    assert_eq!(report(&world, "vpc").await.engine, "simulated");

    script.with(|stage| stage.is_simulated = false);
    annotate(&world, "vpc", marks::RETRY_REQUESTED, "for real").await;
    until(&world, "vpc", "Simulated", "False SimulatedEngine").await;
    world.finish().await;
}

#[tokio::test]
async fn a_condition_has_how_far_runs_are_confined() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.is_simulated = true);
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(says(&world, "vpc", "Sandboxed").await, None);

    script.with(|stage| stage.is_simulated = false);
    annotate(&world, "vpc", marks::RETRY_REQUESTED, "for real").await;
    until(&world, "vpc", "Sandboxed", "True Landlock").await;
    let words = message(&world, "vpc", "Sandboxed").await;
    assert!(
        words.contains("ABI 7") && words.contains("not restricted"),
        "{words}"
    );
    for (status, expected) in [
        (SandboxStatus::Unsupported { abi: 2 }, "False Unsupported"),
        (SandboxStatus::Disabled, "False Disabled"),
    ] {
        script.with(|stage| stage.sandbox = Some(status));
        annotate(&world, "vpc", marks::RETRY_REQUESTED, expected).await;
        until(&world, "vpc", "Sandboxed", expected).await;
        let words = message(&world, "vpc", "Sandboxed").await;
        assert_eq!(words, status.to_string());
    }
    world.finish().await;
}

#[tokio::test]
async fn without_an_engine_it_says_so_and_rests() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.is_absent = true);
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until(&world, "vpc", "Failing", "True EngineMissing").await;
    assert_eq!(says(&world, "vpc", "Ready").await, None);
    let words = message(&world, "vpc", "Failing").await;
    assert!(words.contains("install it"), "{words}");
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(seconds(3600)).await;
    assert!(world.recorder().requests_since(mark).is_empty());
    delete(&world, "vpc").await;
    until_gone(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn a_labelled_runner_leaves_alone_what_is_not_for_it_or_is_used_by_another() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, labelled);
    let labelled = |name: &str, runner: &str| {
        let mut object = workspace(name, &["a"]);
        object["metadata"]["labels"] = json!({(marks::RUNNER): runner});
        object
    };
    create(&world, workspace("nobodys", &["a"])).await;
    create(&world, labelled("greens", "green")).await;
    let usages: Api<ProviderConfigUsage> = Api::namespaced(world.client(), world.namespace());
    // The sign comes first, as it does when provider-terraform ran it before.
    let mut paused = labelled("disputed", "green");
    paused["metadata"]["name"] = json!("disputed");
    let disputed = create(&world, paused).await;
    usages
        .create(&PostParams::default(), &usage_of(&disputed))
        .await
        .unwrap();
    world.settle().await;
    // Nor is it touched by a runner that starts and does not hear of the sign at once.
    let late = Calls::by(RUNNER)
        .resource("providerconfigusages")
        .verb(Verb::List);
    world
        .faults()
        .inject(late, Times::First(2), Fault::Delay(seconds(600)));
    world.crash(RUNNER);
    patch(
        &world,
        "disputed",
        json!({"metadata": {"labels": {(marks::RUNNER): "blue"}}}),
    )
    .await;
    create(&world, labelled("ours", "blue")).await;
    until_settled(&world, "ours").await;
    world.advance(seconds(3600)).await;

    assert_eq!(script.with(|stage| stage.made.clone()), ["ours/thing.a"]);
    for name in ["nobodys", "greens", "disputed"] {
        let object = get(&world, name).await;
        assert!(!is_held(&object) && object.status.is_none(), "{name} was touched");
    }
    let heard = events(&world, "disputed").await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0].0, "UsedByProviderTerraform");

    usages
        .delete(
            disputed.metadata.uid.as_deref().unwrap(),
            &DeleteParams::default(),
        )
        .await
        .unwrap();
    until_settled(&world, "disputed").await;
    world.finish().await;
}

/// What provider-terraform leaves beside a Workspace that it runs.
fn usage_of(object: &Workspace) -> ProviderConfigUsage {
    serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "ProviderConfigUsage",
        "metadata": {"name": object.metadata.uid},
        "providerConfigRef": {"name": "default"},
        "resourceRef": {"apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace", "name": object.metadata.name},
    }))
    .unwrap()
}

#[tokio::test]
async fn whether_another_uses_it_is_asked_once_for_each_operation() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, labelled);
    world.settle().await;
    let mark = world.recorder().mark();
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["labels"] = json!({(marks::RUNNER): "blue"});
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    let asked = world.recorder().requests_since(mark);
    let asked = asked
        .iter()
        .filter(|one| one.call.caller == RUNNER && one.call.resource == "providerconfigusages");
    assert_eq!(asked.count(), 1);
    world.finish().await;
}

#[tokio::test]
async fn no_operation_begins_on_what_another_took_meanwhile_even_if_watches_are_silent() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, labelled);
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["labels"] = json!({(marks::RUNNER): "blue"});
    let created = create(&world, object).await;
    until_settled(&world, "vpc").await;

    let silence = Events::to(RUNNER).resource("providerconfigusages");
    let silence = world.faults().disturb(silence, Times::Every, Disturbance::Hold);
    let usages: Api<ProviderConfigUsage> = Api::namespaced(world.client(), world.namespace());
    let usage = usages.create(&PostParams::default(), &usage_of(&created)).await;
    usage.unwrap();
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
    patch(&world, "vpc", more).await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);

    silence.release();
    let uid = created.metadata.uid.unwrap();
    usages.delete(&uid, &DeleteParams::default()).await.unwrap();
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
    world.finish().await;
}

#[tokio::test]
async fn who_may_not_see_whether_another_uses_it_leaves_it_alone_and_says_so() {
    let world = World::embedded_only().await;
    let script = Script::default();
    let reads = Calls::by(RUNNER).resource("providerconfigusages");
    let denied = world.faults().inject(reads, Times::Every, Fault::fail(403));
    start_with(&world, &script, labelled);
    let mut object = workspace("vpc", &["a"]);
    object["metadata"]["labels"] = json!({(marks::RUNNER): "blue"});
    create(&world, object).await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.with(|stage| stage.plans), 0);
    assert!(!is_held(&get(&world, "vpc").await));
    let told = events(&world, "vpc").await;
    assert!(
        told.iter()
            .any(|(_, note)| note.contains("right to get providerconfigusages")),
        "{told:?}"
    );
    denied.release();
    until_settled(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn what_another_used_is_taken_on_when_the_kind_that_said_so_is_gone() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, labelled);
    let created = create(&world, workspace("vpc", &["a"])).await;
    let usages: Api<ProviderConfigUsage> = Api::namespaced(world.client(), world.namespace());
    let usage = usages.create(&PostParams::default(), &usage_of(&created)).await;
    usage.unwrap();
    let ours = json!({"metadata": {"labels": {(marks::RUNNER): "blue"}}});
    patch(&world, "vpc", ours).await;
    world.settle().await;
    assert!(!is_held(&get(&world, "vpc").await));

    let kinds: Api<CustomResourceDefinition> = Api::all(world.client());
    let name = ProviderConfigUsage::crd_name();
    kinds.delete(name, &DeleteParams::default()).await.unwrap();
    until_settled(&world, "vpc").await;
    world.finish().await;
}

#[tokio::test]
async fn observing_only_changes_nothing() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    patch(
        &world,
        "vpc",
        json!({"spec": {"managementPolicies": ["Observe"], "forProvider": {"module": module(&["a", "b"])}}}),
    )
    .await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(report(&world, "vpc").await.plan.unwrap().summary, "1 to add");

    patch(&world, "vpc", json!({"spec": {"managementPolicies": ["Create"]}})).await;
    until(&world, "vpc", "Failing", "True PoliciesUnsupported").await;
    world.finish().await;
}

async fn outputs(world: &World) -> Option<serde_json::Value> {
    let status = get(world, "vpc").await.status?;
    let outputs = status.at_provider?.outputs?;
    Some(json!(outputs))
}

#[tokio::test]
async fn an_output_that_became_secret_or_is_gone_is_published_no_more() {
    let open =
        json!({"count": {"value": 1, "type": "number"}, "token": {"value": "open-once", "type": "string"}});
    let secret = json!({"token": {"value": "secret-now", "type": "string", "sensitive": true}});
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.outputs = Some(open.clone()));
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(
        outputs(&world).await,
        Some(json!({"count": 1, "token": "open-once"}))
    );

    script.with(|stage| stage.outputs = Some(secret.clone()));
    let change = |resources: &[&str]| json!({"spec": {"forProvider": {"module": module(resources)}}});
    patch(&world, "vpc", change(&["a", "b"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(outputs(&world).await, None);

    // What another runner wrote before goes too, although an apply alone leaves it there.
    script.with(|stage| stage.outputs = Some(open));
    patch(&world, "vpc", change(&["a", "b", "c"])).await;
    until_settled(&world, "vpc").await;
    let old =
        Patch::Merge(json!({"status": {"atProvider": {"outputs": {"token": "open-once", "old": {"x": 1}}}}}));
    let written = workspaces(&world)
        .patch_status("vpc", &PatchParams::default(), &old)
        .await;
    written.expect("it can be written");
    script.with(|stage| stage.outputs = Some(secret));
    patch(&world, "vpc", change(&["a", "b", "c", "d"])).await;
    until_settled(&world, "vpc").await;
    assert_eq!(outputs(&world).await, None);
    world.finish().await;
}

/// Nothing else wakes who waits for something that is missing.
#[tokio::test]
async fn a_status_that_somebody_writes_twice_is_told_again_also_of_what_cannot_begin() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let mut object = workspace("vpc", &["a"]);
    object["spec"]["forProvider"]["env"] =
        json!([{"name": "PASSWORD", "secretKeyRef": {"name": "nowhere", "key": "password"}}]);
    create(&world, object).await;
    until(&world, "vpc", "Failing", "True InputMissing").await;
    world.settle().await;
    let before = get(&world, "vpc").await.status;
    let mut lie = json!({"status": before});
    for condition in lie["status"]["conditions"].as_array_mut().unwrap() {
        condition["status"] = json!("True");
    }
    for _ in 0..2 {
        workspaces(&world)
            .patch_status("vpc", &PatchParams::default(), &Patch::Merge(&lie))
            .await
            .unwrap();
        world.advance(Duration::from_millis(100)).await;
    }
    world.advance(seconds(60)).await;
    assert_eq!(get(&world, "vpc").await.status, before);
    world.finish().await;
}

/// Two of them may run for a moment while one takes the other's place.
#[tokio::test]
async fn a_status_that_another_runner_writes_is_left_alone() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    world.advance(seconds(5)).await;
    let runner = PatchParams {
        field_manager: Some("capt-runner".to_owned()),
        ..PatchParams::default()
    };
    let news = json!({"status": {"atProvider": {"outputs": {"news": "x"}}}});
    let written = workspaces(&world)
        .patch_status("vpc", &runner, &Patch::Merge(news))
        .await
        .unwrap();
    world.advance(seconds(120)).await;
    assert_eq!(get(&world, "vpc").await.status, written.status);
    world.finish().await;
}

/// Whoever waits for the Workspace would take it for one that was never made, or for one that is ready.
#[tokio::test]
async fn a_status_that_somebody_else_writes_is_told_again_without_a_run() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    world.settle().await;
    let before = get(&world, "vpc").await.status;
    let plans = script.with(|stage| stage.plans);
    let with = |change: fn(&mut Value)| {
        let mut status = json!(before);
        change(&mut status);
        json!({"status": status})
    };
    let edits = [
        ("emptied", json!({"status": null})),
        (
            "a condition that says otherwise",
            with(|status| {
                for condition in status["conditions"].as_array_mut().unwrap() {
                    condition["status"] = json!("False");
                    condition["reason"] = json!("Nonsense");
                }
            }),
        ),
        (
            "words beside a condition",
            with(|status| status["conditions"][0]["message"] = json!("nonsense")),
        ),
        (
            "a condition that nobody said anything by",
            with(|status| {
                let mut forged = status["conditions"][0].clone();
                forged["type"] = json!("StateComplete");
                forged["status"] = json!("False");
                status["conditions"].as_array_mut().unwrap().push(forged);
            }),
        ),
        (
            "outputs",
            json!({"status": {"atProvider": {"outputs": {"forged": "x"}}}}),
        ),
    ];
    for (name, edit) in &edits {
        let edited = workspaces(&world)
            .patch_status("vpc", &PatchParams::default(), &Patch::Merge(edit))
            .await
            .unwrap();
        assert_ne!(edited.status, before, "{name}");
        world.settle().await;
        assert_eq!(get(&world, "vpc").await.status, before, "{name}");
        world.advance(seconds(3600)).await;
    }
    assert_eq!(script.with(|stage| stage.plans), plans, "nothing is run");
    assert!(
        events(&world, "vpc")
            .await
            .iter()
            .any(|(reason, _)| reason == "StatusRestored"),
        "people are told"
    );
    // Who writes again and again is not answered as often.
    let mark = world.recorder().mark();
    for _ in 0..20 {
        let edit = Patch::Merge(&edits[1].1);
        workspaces(&world)
            .patch_status("vpc", &PatchParams::default(), &edit)
            .await
            .unwrap();
        world.advance(Duration::from_millis(100)).await;
    }
    let answers = world.recorder().writes_since(mark);
    let answers = answers
        .iter()
        .filter(|entry| entry.call.caller == RUNNER && entry.call.resource == "workspaces")
        .count();
    assert!((1..10).contains(&answers), "{answers}");
    world.advance(seconds(120)).await;
    assert_eq!(
        get(&world, "vpc").await.status,
        before,
        "and it is mended in the end"
    );
    world.finish().await;
}
