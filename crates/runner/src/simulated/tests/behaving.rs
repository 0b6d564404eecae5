use std::time::Duration;

use capt_api::marks;
use tokio::time::Instant;

use super::*;

const CHAIN: &str = r#"
resource "terraform_data" "first" {
  input = "1"
}
resource "terraform_data" "second" {
  input = terraform_data.first.output
}
resource "terraform_data" "other" {
  input = "3"
}
output "last" {
  value = terraform_data.second.output
}
"#;

#[tokio::test(start_paused = true)]
async fn a_failure_stops_what_depends_on_it_and_nothing_else() {
    let mut world = World::new(CHAIN);
    world.mark(marks::SIMULATE_FAIL, "terraform_data.first");
    world.mark(marks::SIMULATE_FAIL_MESSAGE, "no such thing");
    let failure = world.run(Goal::Converge).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Terraform(Class::Other));
    assert_eq!(
        failure.diagnostics[0].address.as_deref(),
        Some("terraform_data.first")
    );
    assert!(failure.message.contains("no such thing"), "{failure}");
    assert_eq!(
        world.operations(),
        [
            "failed create terraform_data.first",
            "create terraform_data.other"
        ]
    );
    assert_eq!(failure.state, world.replica);
    assert_eq!(world.state().resources.len(), 1);
    assert!(world.state().outputs.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failure_passes_after_as_many_times_as_it_was_told() {
    let mut world = World::new(CHAIN);
    world.mark(marks::SIMULATE_FAIL, "*");
    world.mark(marks::SIMULATE_FAIL_KIND, "transient");
    world.mark(marks::SIMULATE_FAIL_TIMES, "3");
    for _ in 0..2 {
        let failure = world.run(Goal::Converge).await.unwrap_err();
        assert!(failure.kind.is_transient(), "{failure}");
    }
    world.apply().await;
    assert_eq!(world.state().resources.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn init_and_plan_can_fail() {
    for place in ["init", "plan"] {
        let mut world = World::new(CHAIN);
        world.mark(marks::SIMULATE_FAIL, place);
        world.mark(marks::SIMULATE_FAIL_TIMES, "1");
        let failure = world.run(Goal::Converge).await.unwrap_err();
        assert!(failure.message.contains("told to fail"), "{place}: {failure}");
        assert_eq!(world.replica, None, "{place}");
        world.apply().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_fails_keeps_what_it_needs() {
    let mut world = World::new(CHAIN);
    world.mark(marks::SIMULATE_FAIL, "destroy/terraform_data.second");
    world.apply().await;
    world.run(Goal::Destroy).await.unwrap_err();
    assert_eq!(
        world.operations(),
        [
            "failed delete terraform_data.second",
            "delete terraform_data.other"
        ]
    );
    let left: Vec<String> = world
        .state()
        .managed()
        .map(|resource| resource.address.clone())
        .collect();
    assert_eq!(left, ["terraform_data.first", "terraform_data.second"]);
}

#[tokio::test(start_paused = true)]
async fn slowness_is_told_while_it_lasts() {
    let mut world = World::new(CHAIN);
    world.mark(marks::SIMULATE_SECONDS, "60");
    let begin = Instant::now();
    world.apply().await;
    let took = begin.elapsed();
    // Two in a row, each between three and five quarters of what was asked for.
    assert!(
        took >= Duration::from_secs(90) && took <= Duration::from_secs(150),
        "{took:?}"
    );
    let beats = world
        .events()
        .filter(|event| matches!(event.kind, Kind::Apply(Step::Progress, _)))
        .count();
    assert!(beats >= 12, "{beats}");
}

#[tokio::test(start_paused = true)]
async fn being_cancelled_keeps_what_was_made() {
    let mut world = World::new(CHAIN);
    world.mark(marks::SIMULATE_SECONDS, "60");
    let cancel = world.cancel.clone();
    let (failure, ()) = tokio::join!(world.run(Goal::Converge), async move {
        tokio::time::sleep(Duration::from_secs(85)).await;
        cancel.cancel();
    });
    let failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Cancelled);
    assert_eq!(failure.state, world.replica);
    let made = world.state().resources.len();
    assert!(made > 0 && made < 3, "{made}");
}

#[tokio::test(start_paused = true)]
async fn drift_is_told_and_then_repaired_once_for_each_time() {
    let mut world = World::new(CHAIN);
    world.apply().await;
    for (mark, expected) in [
        ("terraform_data.other", "update terraform_data.other"),
        ("terraform_data.other@again", "update terraform_data.other"),
        ("-terraform_data.other", "create terraform_data.other"),
    ] {
        world.mark(marks::SIMULATE_DRIFT, mark);
        let (planned, _) = world.apply().await;
        assert_eq!(planned.plan.drift.len(), 1, "{mark}");
        assert_eq!(changes(&planned), [expected], "{mark}");
        let told = world
            .events()
            .filter(|event| matches!(event.kind, Kind::ResourceDrift(_)))
            .count();
        assert_eq!(told, 1, "{mark}");
        let (planned, _) = world.apply().await;
        assert!(planned.plan.is_empty() && planned.plan.drift.is_empty(), "{mark}");
    }
}

#[tokio::test(start_paused = true)]
async fn variables_of_the_module_can_say_the_same() {
    let variable = "variable \"simulate_fail\" {\n default = \"terraform_data.first\"\n}\n";
    let mut world = World::new(&format!("{variable}{CHAIN}"));
    let failure = world.run(Goal::Converge).await.unwrap_err();
    assert!(failure.message.contains("terraform_data.first"), "{failure}");
    world.var("simulate_fail", "");
    world.apply().await;
}
