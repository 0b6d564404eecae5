//! What people ask for: approvals, plans, another try.

use std::sync::Arc;

use capt_api::{
    foreign::marks::RECONCILE_REQUESTED,
    marks,
    run::{LOG_KEY, PLAN_KEY, PLAN_LOG_KEY, PREVIOUS_LOG_KEY},
};
use capt_terraform::diagnostics::Class;
use capt_testkit::World;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    script::{Script, failure},
    support::*,
};

#[tokio::test]
async fn a_plan_that_destroys_waits_for_an_approval_that_names_it() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;

    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["a"])}}}),
    )
    .await;
    until(&world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
    let told = report(&world, "vpc").await;
    let plan = told.plan.unwrap();
    assert!(plan.awaits_approval && plan.destructive, "{plan:?}");
    assert_eq!(plan.changes[0].address, "thing.b");
    let words = message(&world, "vpc", "ApprovalNeeded").await;
    assert!(words.contains(&plan.id), "{words}");
    let synced = condition(&world, "vpc", "Synced").await.unwrap();
    assert_ne!(
        synced.observed_generation,
        get(&world, "vpc").await.metadata.generation,
        "nothing is said about the spec as it is now"
    );
    assert_eq!(
        says(&world, "vpc", "Ready").await.as_deref(),
        Some("True Available")
    );

    let plans = script.with(|stage| stage.plans);
    annotate(&world, "vpc", marks::APPROVED, "another").await;
    world.crash(RUNNER);
    world.advance(seconds(3600)).await;
    assert_eq!(
        script.with(|stage| stage.plans),
        plans,
        "waiting costs nothing, a restart neither"
    );
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);

    annotate(&world, "vpc", marks::APPROVED, &plan.id).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    assert_eq!(
        says(&world, "vpc", "ApprovalNeeded").await.as_deref(),
        Some("False NotNeeded")
    );
    assert!(report(&world, "vpc").await.plan.is_none());
    world.finish().await;
}

/// Takes `thing.b` out of a Workspace that was settled with it, and waits for the plan that asks.
async fn without_b(world: &World) -> String {
    let module = json!({"spec": {"forProvider": {"module": module(&["a"])}}});
    patch(world, "vpc", module).await;
    until(world, "vpc", "ApprovalNeeded", "True DestructiveChange").await;
    report(world, "vpc").await.plan.unwrap().id
}

async fn with_b_again(world: &World) {
    let both = json!({"spec": {"forProvider": {"module": module(&["a", "b"])}}});
    patch(world, "vpc", both).await;
    until_settled(world, "vpc").await;
}

#[tokio::test]
async fn an_approval_counts_once() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;

    let first = without_b(&world).await;
    annotate(&world, "vpc", marks::APPROVED, &first).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    let told = report(&world, "vpc").await;
    assert_eq!(told.answered.get(marks::APPROVED), Some(&first));

    with_b_again(&world).await;
    assert_eq!(without_b(&world).await, first, "it is the same plan");
    let words = message(&world, "vpc", "ApprovalNeeded").await;
    assert!(
        words.contains(&format!("--plan {first}")) && words.contains("used up"),
        "{words}"
    );
    world.crash(RUNNER);
    world.advance(seconds(3600)).await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"]);

    annotate(&world, "vpc", marks::APPROVED, &format!("{first}/again")).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    world.finish().await;
}

#[tokio::test]
async fn an_approval_covers_no_values_that_came_later() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;
    let with_size = async |size: &str| {
        let vars = json!([{"key": "size", "value": size}]);
        let change = json!({"spec": {"forProvider": {"module": module(&["a"]), "vars": vars}}});
        patch(&world, "vpc", change).await;
        let generation = get(&world, "vpc").await.metadata.generation.unwrap();
        world
            .until("a plan of it", async || {
                let plan = report(&world, "vpc").await.plan;
                plan.is_some_and(|plan| plan.awaits_approval && plan.generation == generation)
            })
            .await;
        report(&world, "vpc").await.plan.unwrap()
    };
    let seen = with_size("3").await;
    let edited = with_size("4").await;
    assert_eq!(seen.changes, edited.changes, "the same is done to the same");
    assert_ne!(seen.id, edited.id);
    annotate(&world, "vpc", marks::APPROVED, &seen.id).await;
    world.advance(seconds(600)).await;
    assert_eq!(script.exists("vpc"), ["thing.a", "thing.b"], "nobody saw that");

    // Made anew from the same, it is the same.
    annotate(&world, "vpc", marks::PLAN_REQUESTED, "again").await;
    world
        .until("an answer", async || {
            let answered = report(&world, "vpc").await.answered;
            answered.contains_key(marks::PLAN_REQUESTED)
        })
        .await;
    assert_eq!(report(&world, "vpc").await.plan.unwrap().id, edited.id);
    annotate(&world, "vpc", marks::APPROVED, &edited.id).await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    world.finish().await;
}

#[tokio::test]
async fn an_approval_is_used_up_also_if_nobody_lived_to_write_it_down() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;
    let plan = without_b(&world).await;
    let before = page(&world, "vpc").await.unwrap();
    annotate(&world, "vpc", marks::APPROVED, &plan).await;
    until_settled(&world, "vpc").await;
    let applies = script.with(|stage| stage.applies);

    // What is written is what was written before the plan was applied.
    let api: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let name = before.metadata.name.clone().unwrap();
    let old = Patch::Merge(json!({"data": before.data}));
    api.patch(&name, &PatchParams::default(), &old).await.unwrap();
    assert!(report(&world, "vpc").await.plan.unwrap().awaits_approval);
    world.crash(RUNNER);
    world
        .until("the approval to be used up", async || {
            let answered = report(&world, "vpc").await.answered;
            answered.get(marks::APPROVED) == Some(&plan)
        })
        .await;
    assert_eq!(
        script.with(|stage| stage.applies),
        applies,
        "nothing is done twice"
    );
    with_b_again(&world).await;
    assert_eq!(without_b(&world).await, plan, "it waits again");
    world.finish().await;
}

#[tokio::test]
async fn an_approval_that_turned_out_not_to_be_needed_is_used_up() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;
    annotate(&world, "vpc", marks::APPROVED, "some-plan").await;
    world
        .until("the approval to be used up", async || {
            world.advance(seconds(600)).await;
            let answered = report(&world, "vpc").await.answered;
            answered.get(marks::APPROVED).map(String::as_str) == Some("some-plan")
        })
        .await;
    world.finish().await;
}

#[tokio::test]
async fn who_allows_destruction_is_not_asked() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start(&world, &script);
    let mut object = workspace("vpc", &["a", "b"]);
    object["metadata"]["annotations"] = json!({(marks::ALLOW_DESTRUCTIVE): "true"});
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["a"])}}}),
    )
    .await;
    until_settled(&world, "vpc").await;
    assert_eq!(script.exists("vpc"), ["thing.a"]);
    world.finish().await;
}

#[tokio::test]
async fn a_plan_is_made_for_who_asks_and_changes_nothing() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a", "b"])).await;
    until_settled(&world, "vpc").await;
    let mut object = workspace("new", &["x"]);
    object["spec"]["managementPolicies"] = json!(["Observe"]);
    create(&world, object).await;
    until(&world, "new", "Failing", "True NothingToObserve").await;
    let logs = async |key: &str| page(&world, "vpc").await.unwrap().data.unwrap().get(key).cloned();
    let applied = logs(LOG_KEY).await;
    assert!(
        applied.as_ref().is_some_and(|log| log.contains("--- apply")),
        "{applied:?}"
    );

    annotate(&world, "vpc", marks::PLAN_REQUESTED, "first").await;
    world
        .until("an answer", async || {
            report(&world, "vpc")
                .await
                .answered
                .get(marks::PLAN_REQUESTED)
                .map(String::as_str)
                == Some("first")
        })
        .await;
    let told = report(&world, "vpc").await;
    assert_eq!(told.operation.unwrap().kind, "plan");
    assert_eq!(told.plan.unwrap().summary, "no changes");
    assert_eq!(logs(LOG_KEY).await, applied, "what was done is still told");
    assert_eq!(logs(PREVIOUS_LOG_KEY).await, None);
    let planned = logs(PLAN_LOG_KEY).await.unwrap();
    assert!(
        planned.contains("--- plan") && !planned.contains("--- apply"),
        "{planned}"
    );
    assert_eq!(script.with(|stage| stage.applies), 1);
    let plans = script.with(|stage| stage.plans);
    world.crash(RUNNER);
    world.advance(seconds(600)).await;
    assert_eq!(script.with(|stage| stage.plans), plans, "it is answered once");

    annotate(&world, "new", marks::PLAN_REQUESTED, "what would be made?").await;
    world
        .until("a plan", async || report(&world, "new").await.plan.is_some())
        .await;
    let text = page(&world, "new").await.unwrap().data.unwrap()[PLAN_KEY].clone();
    assert!(text.contains("+ thing.x"), "{text}");
    assert_eq!(script.exists("new"), Vec::<String>::new());
    world.finish().await;
}

/// Whatever cannot get better by itself is tried once, and what to do is said.
#[tokio::test]
async fn no_failure_that_stays_is_a_loop() {
    for (class, reason, advice) in [
        (Class::Configuration, "Configuration", "Mend the module"),
        (Class::Setup, "Setup", "capt retry"),
        (Class::Denied, "Denied", "credentials"),
        (Class::Quota, "Quota", "capt retry"),
        (Class::Crash, "Crash", "capt logs"),
        (Class::DiskFull, "DiskFull", "Make room"),
        (Class::Other, "Other", "capt retry"),
    ] {
        let world = World::embedded_only().await;
        let script = Script::default();
        script.with(|stage| stage.plan_failures.push_back(failure(class, "oh no")));
        start_with(&world, &script, no_polls);
        create(&world, workspace("vpc", &["a"])).await;
        until(&world, "vpc", "Failing", &format!("True {reason}")).await;
        let words = message(&world, "vpc", "Failing").await;
        assert!(words.contains("oh no") && words.contains(advice), "{words}");
        world.advance(seconds(24 * 3600)).await;
        assert_eq!(script.with(|stage| stage.plans), 1, "{reason}");
        world.finish().await;
    }
}

#[tokio::test]
async fn what_cannot_succeed_is_tried_again_only_when_something_changed_or_somebody_asks() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| {
        for _ in 0..3 {
            stage
                .plan_failures
                .push_back(failure(Class::Configuration, "Unsupported argument"));
        }
    });
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until(&world, "vpc", "Failing", "True Configuration").await;
    let words = message(&world, "vpc", "Synced").await;
    assert_eq!(words, "plan failed: Unsupported argument");
    world.advance(seconds(7200)).await;
    world.crash(RUNNER);
    world.advance(seconds(7200)).await;
    assert_eq!(script.with(|stage| stage.plans), 1);

    annotate(&world, "vpc", marks::RETRY_REQUESTED, "1").await;
    world
        .until("another try", async || script.with(|stage| stage.plans == 2))
        .await;
    world.advance(seconds(7200)).await;
    assert_eq!(script.with(|stage| stage.plans), 2);

    patch(
        &world,
        "vpc",
        json!({"spec": {"forProvider": {"module": module(&["b"])}}}),
    )
    .await;
    world
        .until("another try", async || script.with(|stage| stage.plans == 3))
        .await;
    annotate(&world, "vpc", marks::RETRY_REQUESTED, "2").await;
    until_settled(&world, "vpc").await;
    assert_eq!(
        says(&world, "vpc", "Failing").await.as_deref(),
        Some("False NotFailing")
    );
    world.finish().await;
}

#[tokio::test]
async fn what_may_pass_is_tried_again_by_itself_and_told_once() {
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| {
        for _ in 0..8 {
            stage
                .apply_failures
                .push_back(failure(Class::Throttled, "Throttling: Rate exceeded"));
        }
    });
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until(&world, "vpc", "Failing", "True Throttled").await;
    assert_eq!(
        message(&world, "vpc", "Synced").await,
        "create failed: Throttling: Rate exceeded"
    );
    until_settled(&world, "vpc").await;
    assert_eq!(script.with(|stage| stage.applies), 9);
    let heard = events(&world, "vpc").await;
    assert!(
        heard
            .iter()
            .any(|(reason, _)| reason == "CannotCreateExternalResource"),
        "{heard:?}"
    );
    let writes = world.recorder().writes();
    let told = writes.iter().filter(|one| one.call.resource == "events").count();
    assert_eq!(told, 2, "one that it fails, one that it was made");
    world.finish().await;
}

#[tokio::test]
async fn who_asks_in_crossplanes_way_is_answered_once() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    let plans = script.with(|stage| stage.plans);
    annotate(&world, "vpc", RECONCILE_REQUESTED, "2026-01-01T00:00:00Z").await;
    world
        .until("a look", async || script.with(|stage| stage.plans) > plans)
        .await;
    world.crash(RUNNER);
    world.advance(seconds(3600)).await;
    assert_eq!(
        script.with(|stage| stage.plans),
        plans + 1,
        "also after a restart"
    );
    let heard = events(&world, "vpc").await;
    let heard: Vec<_> = heard
        .iter()
        .filter(|(reason, _)| reason == "ReconcileRequestHandled")
        .collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    world.finish().await;
}

#[tokio::test]
async fn what_a_remote_module_was_fetched_from_is_told() {
    let world = World::embedded_only().await;
    let script = Script::default();
    start_with(&world, &script, no_polls);
    let source = "git::https://example.org/vpc.git?ref=v1";
    let mut object = workspace("vpc", &[]);
    object["spec"]["forProvider"] = json!({"source": "Remote", "module": source});
    create(&world, object).await;
    until_settled(&world, "vpc").await;
    let told = async || {
        let status = get(&world, "vpc").await.status.unwrap();
        status.at_provider.and_then(|told| told.remote_source)
    };
    assert_eq!(told().await.as_deref(), Some(source));
    let inline = json!({"spec": {"forProvider": {"source": "Inline", "module": module(&["a"])}}});
    patch(&world, "vpc", inline).await;
    until_settled(&world, "vpc").await;
    assert_eq!(told().await, None, "nothing is fetched any more");
    world.finish().await;
}

/// What is logged on this thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn what_terraform_prints_is_logged_for_who_asked_for_that_and_without_secrets() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let world = World::embedded_only().await;
    let script = Script::default();
    script.with(|stage| stage.prints = vec!["made with output-that-is-secret".to_owned()]);
    start_with(&world, &script, no_polls);
    create(&world, workspace("quiet", &["a"])).await;
    until_settled(&world, "quiet").await;
    let logged = || String::from_utf8_lossy(&lines.0.lock()).into_owned();
    assert!(!logged().contains("made with"), "{}", logged());
    let mut object = workspace("loud", &["a"]);
    object["spec"]["forProvider"]["enableTerraformCLILogging"] = json!(true);
    create(&world, object).await;
    until_settled(&world, "loud").await;
    assert!(logged().contains("made with"), "{}", logged());
    assert!(!logged().contains("output-that-is-secret"), "{}", logged());
    world.finish().await;
}
