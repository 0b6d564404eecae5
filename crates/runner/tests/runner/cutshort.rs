//! What an operation was doing when it was cut short is told, and waits for a person, whoever died in whichever order.

use std::time::Duration;

use capt_api::marks;
use capt_runner::engine::Failure;
use capt_terraform::{diagnostics::Class, state::Created};
use capt_testkit::{Fault, Sweep, World};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use crate::{
    script::{Script, failure},
    support::*,
};

/// Everything is killed while the second of three resources is being made.
async fn killed(world: &World, script: &Script) {
    script.with(|stage| {
        stage.delay = seconds(60);
        stage.dies_too = true;
    });
    start_with(world, script, no_polls);
    create(world, workspace("vpc", &["a", "b", "c"])).await;
    world
        .until("something to be made", async || !script.exists("vpc").is_empty())
        .await;
    world.advance(seconds(30)).await;
    world.crash(RUNNER);
    world.advance(Duration::from_millis(500)).await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
}

/// Nothing is made before somebody asks for it, and then everything that is not there.
async fn until_seen_to(world: &World, script: &Script) {
    until(world, "vpc", "StateComplete", "False ResourcesMissing").await;
    until(world, "vpc", "Failing", "True ResourcesMissing").await;
    until(world, "vpc", "Synced", "False ReconcileError").await;
    world.settle().await;
    let heard = events(world, "vpc").await;
    assert!(
        heard.iter().any(|(reason, _)| reason == "StateIncomplete"),
        "{heard:?}"
    );
    // Neither time nor another crash nor another spec changes anything about it.
    world.advance(seconds(3600)).await;
    world.crash(RUNNER);
    let more = json!({"spec": {"forProvider": {"module": module(&["a", "b", "c", "d"])}}});
    patch(world, "vpc", more).await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.with(|stage| (stage.applies, stage.made.len())), (1, 1));
    assert_eq!(
        says(world, "vpc", "StateComplete").await.as_deref(),
        Some("False ResourcesMissing")
    );

    script.with(|stage| stage.ledger.retain(|_, id| id != "lost"));
    annotate(world, "vpc", marks::RETRY_REQUESTED, "seen to").await;
    until_settled(world, "vpc").await;
    until(world, "vpc", "StateComplete", "True Complete").await;
    assert_eq!(script.with(|stage| stage.made.len()), 4);
}

#[tokio::test]
async fn what_was_being_made_when_everything_was_killed_is_listed_and_not_made_again() {
    let world = World::embedded_only().await;
    let script = Script::default();
    killed(&world, &script).await;
    until(&world, "vpc", "StateComplete", "False ResourcesMissing").await;
    let words = message(&world, "vpc", "StateComplete").await;
    assert!(
        words.contains("had made: thing.b (was being made, may exist). Import"),
        "{words}"
    );
    until_seen_to(&world, &script).await;
    world.finish().await;
}

#[tokio::test]
async fn where_the_machine_is_lost_too_everything_is_listed_that_may_exist() {
    // The next runner finds out, or dies before it can tell.
    for deaths in 0..3 {
        let world = World::embedded_only().await;
        let script = Script::default();
        killed(&world, &script).await;
        script.with(|stage| {
            stage.disk.clear();
            stage.output.clear();
            stage.operations.clear();
            stage.opening = seconds(20);
        });
        for _ in 0..deaths {
            world.advance(seconds(10)).await;
            world.crash(RUNNER);
        }
        until(&world, "vpc", "StateComplete", "False ResourcesMissing").await;
        let words = message(&world, "vpc", "StateComplete").await;
        assert!(
            words.contains(
                "what it told is lost, so that nobody knows how much of this it had made: thing.b (was being made, may \
                 exist), thing.c (was going to be made, may exist). Import"
            ),
            "{deaths}: {words}"
        );
        until_seen_to(&world, &script).await;
        world.finish().await;
    }
}

/// A Workspace that keeps its infrastructure when it is deleted.
fn kept(is_backend: bool) -> Value {
    let mut object = workspace("vpc", &["a", "b"]);
    object["spec"]["managementPolicies"] = json!(["Observe", "Create", "Update", "LateInitialize"]);
    if is_backend {
        object["spec"]["forProvider"]["module"] = json!(format!(
            "terraform {{\n  backend \"s3\" {{}}\n}}\n{}",
            module(&["a", "b"])
        ));
    }
    object
}

#[tokio::test]
async fn what_is_listed_stays_listed_when_the_workspace_is_deleted_and_comes_back() {
    // Where the state is, and whether there is one yet.
    for (is_backend, has_state) in [(false, true), (false, false), (true, false)] {
        let case = format!("backend {is_backend}, state {has_state}");
        let world = World::embedded_only().await;
        let script = Script::default();
        script.with(|stage| {
            stage.delay = seconds(60);
            stage.dies_too = true;
        });
        start_with(&world, &script, no_polls);
        create(&world, kept(is_backend)).await;
        world
            .until("something to be made", async || {
                script.with(|stage| stage.applies == 1 && (!stage.made.is_empty() || !has_state))
            })
            .await;
        world.advance(seconds(30)).await;
        world.crash(RUNNER);
        until(&world, "vpc", "StateComplete", "False ResourcesMissing").await;
        annotate(&world, "vpc", marks::PLAN_REQUESTED, "x").await;
        world.settle().await;

        delete(&world, "vpc").await;
        until_gone(&world, "vpc").await;
        let mut again = kept(is_backend);
        // A request of a WorkspaceTemplateApply is passed down to whatever Workspace it has.
        again["metadata"]["annotations"] = json!({(marks::RETRY_REQUESTED): "long ago"});
        create(&world, again).await;
        until(&world, "vpc", "Failing", "True ResourcesMissing").await;
        let words = message(&world, "vpc", "StateComplete").await;
        let lost = match has_state {
            true => "thing.b",
            false => "thing.a",
        };
        assert!(
            words.contains(&format!("{lost} (was being made, may exist)")),
            "{case}: {words}"
        );
        world.crash(RUNNER);
        world.advance(seconds(3600)).await;
        assert_eq!(script.with(|stage| stage.applies), 1, "{case}");

        script.with(|stage| stage.ledger.retain(|_, id| id != "lost"));
        annotate(&world, "vpc", marks::RETRY_REQUESTED, "seen to").await;
        until_settled(&world, "vpc").await;
        until(&world, "vpc", "StateComplete", "True Complete").await;
        assert_eq!(script.with(|stage| stage.made.len()), 2, "{case}");
        // It is over for good.
        let api: Api<Secret> = Api::namespaced(world.client(), world.namespace());
        let secrets = api
            .list(&ListParams::default())
            .await
            .expect("they can be listed");
        for secret in secrets {
            let annotations = secret.metadata.annotations.unwrap_or_default();
            assert!(!annotations.contains_key(marks::MISSING_RESOURCES), "{case}");
        }
        world.finish().await;
    }
}

#[tokio::test]
async fn what_was_asked_for_before_the_crash_is_no_leave_to_make_anything_again() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| {
        stage
            .plan_failures
            .push_back(failure(Class::Configuration, "it makes no sense"));
    });
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until(&world, "vpc", "Failing", "True Configuration").await;
    script.with(|stage| {
        stage.delay = seconds(60);
        stage.dies_too = true;
    });
    annotate(&world, "vpc", marks::RETRY_REQUESTED, "again").await;
    world
        .until("something to be made", async || !script.exists("vpc").is_empty())
        .await;
    world.advance(seconds(30)).await;
    world.crash(RUNNER);
    until(&world, "vpc", "StateComplete", "False ResourcesMissing").await;
    world.advance(seconds(3600)).await;
    assert_eq!(script.with(|stage| stage.applies), 1);
    world.finish().await;
}

#[tokio::test]
async fn what_was_cut_short_is_looked_at_at_once_although_all_was_well_before() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    // Somebody removed it, and a look makes it again.
    script.with(|stage| {
        stage.delay = seconds(60);
        stage.dies_too = true;
        stage.ledger.clear();
        for file in stage.disk.values_mut() {
            let mut state: serde_json::Value = serde_json::from_slice(file).expect("a state");
            state["resources"] = json!([]);
            state["serial"] = json!(99);
            *file = serde_json::to_vec(&state).expect("a file");
        }
    });
    annotate(
        &world,
        "vpc",
        capt_api::foreign::marks::RECONCILE_REQUESTED,
        "now",
    )
    .await;
    world
        .until("it to be applied", async || {
            script.with(|stage| stage.applies) == 2
        })
        .await;
    world.advance(seconds(30)).await;
    world.crash(RUNNER);
    until(&world, "vpc", "StateComplete", "False ResourcesMissing").await;
    assert_eq!(script.with(|stage| stage.applies), 2);
    world.finish().await;
}

fn sweep() -> Sweep {
    Sweep::new(World::builder().embedded_only())
        .faults([Fault::CrashBefore, Fault::CrashAfter])
        .quiet(Duration::from_secs(120))
}

/// Terraform is killed, and then the runner, before and after every write that it makes.
#[test]
fn whenever_the_runner_dies_after_terraform_what_is_held_is_told_and_stays_held() {
    let report = sweep().run_and_check(
        async |world| {
            let script = Script::default();
            let killed = Failure {
                missing: vec![Created {
                    address: "thing.a".to_owned(),
                    id: None,
                    unfinished: true,
                    ..Created::default()
                }],
                ..failure(Class::Crash, "terraform was killed by signal 9")
            };
            script.with(|stage| {
                stage.delay = seconds(5);
                stage.apply_failures.push_back(killed);
            });
            start_with(world, &script, no_polls);
            create(world, workspace("vpc", &["a", "b"])).await;
            until(world, "vpc", "StateComplete", "False ResourcesMissing").await;
            until(world, "vpc", "Synced", "False ReconcileError").await;
            world.advance(seconds(600)).await;
            let failing = condition(world, "vpc", "Failing").await.expect("a condition");
            assert!(
                failing.status == "True" && ["Crash", "ResourcesMissing"].contains(&failing.reason.as_str()),
                "{failing:?}"
            );
            let words = message(world, "vpc", "Failing").await;
            let retry = format!("capt retry workspace/vpc -n {}", world.namespace());
            assert!(
                words.contains("thing.a (was being made, may exist)") && words.ends_with(&retry),
                "{words}"
            );
            assert_eq!(script.with(|stage| stage.made.len()), 0);
            annotate(world, "vpc", marks::RETRY_REQUESTED, "seen to").await;
            until_settled(world, "vpc").await;
            until(world, "vpc", "StateComplete", "True Complete").await;
        },
        async |_| {},
    );
    assert!(report.cases >= 20, "{report:?}");
}

/// The same for a failure that lasts, and for a plan that waits.
#[test]
fn whenever_the_runner_dies_what_waits_for_a_person_says_so() {
    let report = sweep().run_and_check(
        async |world| {
            let script = Script::default();
            script.with(|stage| {
                let failed = failure(Class::Configuration, "it makes no sense");
                stage.plan_failures.extend(vec![failed; 4]);
            });
            start_with(world, &script, no_polls);
            create(world, workspace("vpc", &["a", "b"])).await;
            until(world, "vpc", "Failing", "True Configuration").await;
            until(world, "vpc", "Synced", "False ReconcileError").await;
            world.advance(seconds(600)).await;
            let words = message(world, "vpc", "Synced").await;
            assert_eq!(words, "plan failed: it makes no sense");
            script.with(|stage| stage.plan_failures.clear());
            annotate(world, "vpc", marks::RETRY_REQUESTED, "mended").await;
            until_settled(world, "vpc").await;

            let less = json!({"spec": {"forProvider": {"module": module(&["a"])}}});
            patch(world, "vpc", less).await;
            until(world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
            world.advance(seconds(600)).await;
            assert_eq!(
                says(world, "vpc", "Failing").await.as_deref(),
                Some("False NotFailing")
            );
            assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);
            let plan = report(world, "vpc").await.plan.expect("a plan");
            annotate(world, "vpc", marks::APPROVED, &plan.id).await;
            until_settled(world, "vpc").await;
            assert_eq!(script.exists("vpc"), ["thing.a"]);
            assert_eq!(
                says(world, "vpc", "ApprovalNeeded").await.as_deref(),
                Some("False NotNeeded")
            );
        },
        async |_| {},
    );
    assert!(report.cases >= 30, "{report:?}");
}
