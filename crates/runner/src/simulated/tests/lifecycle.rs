use capt_terraform::plan::Shown;

use super::*;

const GREETING: &str = r#"
variable "name" {
  type = string
}
variable "language" {
  type    = string
  default = "en"
}
resource "terraform_data" "greeting" {
  input = "${var.language == "de" ? "Hallo" : "Hello"}, ${var.name}!"
}
resource "terraform_data" "echo" {
  input            = terraform_data.greeting.output
  triggers_replace = [var.language]
}
output "greeting" {
  value = terraform_data.echo.output
}
output "secret" {
  value     = "s3cret"
  sensitive = true
}
"#;

async fn greeted() -> World {
    let mut world = World::new(GREETING);
    world.var("name", "world");
    world.apply().await;
    world
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_made_in_order_and_leaves_a_state() {
    let mut world = World::new(GREETING);
    world.var("name", "world");
    let (planned, applied) = world.apply().await;

    assert_eq!(
        changes(&planned),
        ["create terraform_data.echo", "create terraform_data.greeting"]
    );
    assert!(planned.text.contains("2 to add"), "{}", planned.text);
    assert_eq!(
        world.operations(),
        ["create terraform_data.greeting", "create terraform_data.echo"]
    );
    let state = world.state();
    assert_eq!(state.resources.len(), 2);
    assert_eq!(state.resources[0].dependencies, ["terraform_data.greeting"]);
    assert_eq!(world.output("greeting"), json!("Hello, world!"));
    assert!(state.outputs["secret"].sensitive);
    assert_eq!(applied.state, world.replica.clone().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_sensitive_output_is_in_the_state_and_in_no_event() {
    let world = greeted().await;
    assert_eq!(world.output("secret"), json!("s3cret"));
    let shown: Vec<String> = world.events().map(|event| format!("{event:?}")).collect();
    assert!(shown.iter().any(|event| event.contains("Hello, world!")));
    assert!(!shown.iter().any(|event| event.contains("s3cret")));
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_null_is_left_out_of_the_state_and_of_what_is_told() {
    let mut world = World::new(
        r#"
        variable "name" {
          type    = string
          default = null
        }
        output "name" {
          value = var.name
        }
        output "always" {
          value = "x"
        }
        "#,
    );
    let names = |world: &World| world.state().outputs.into_keys().collect::<Vec<_>>();
    let (planned, _) = world.apply().await;
    assert_eq!(names(&world), ["always"]);
    let told: Vec<&String> = planned.plan.outputs.keys().collect();
    assert_eq!(told, ["always"]);

    world.var("name", "blue");
    world.apply().await;
    assert_eq!(names(&world), ["always", "name"]);

    world.inputs.vars.clear();
    world.apply().await;
    assert_eq!(names(&world), ["always"]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_tells_values_unless_they_are_made_of_something_secret() {
    let module = |size: u32| {
        format!(
            r#"
variable "password" {{
  sensitive = true
}}
locals {{
  login = "admin:${{var.password}}"
}}
resource "terraform_data" "door" {{
  input            = {{ size = {size} }}
  triggers_replace = {size}
}}
resource "terraform_data" "lock" {{
  input = [{size}, local.login]
}}
resource "terraform_data" "copy" {{
  input = "${{terraform_data.lock.id}} {size}"
}}
resource "terraform_data" "hidden" {{
  input = sensitive("swordfish {size}")
}}
output "size" {{
  value = {size}
}}
output "login" {{
  value     = "{size} ${{local.login}}"
  sensitive = true
}}
"#
        )
    };
    let mut world = World::new(&module(3));
    world.var("password", "hunter2");
    world.apply().await;
    world.module(&module(4));
    world.var("password", "hunter3");
    let plan = world.plan(Goal::Converge).await.unwrap().plan;
    let values: Vec<(&str, bool, &Shown, &Shown)> = plan
        .changes
        .iter()
        .flat_map(|change| &change.values)
        .chain(&plan.output_values)
        .map(|value| {
            (
                value.path.as_str(),
                value.forces_replacement,
                &value.before,
                &value.after,
            )
        })
        .collect();
    let other = |text: &str| Shown::Other(text.to_owned());
    let (three, four) = (other("3"), other("4"));
    for expected in [
        ("triggers_replace", true, &three, &four),
        ("input.size", false, &three, &four),
        ("size", false, &three, &four),
        ("login", false, &Shown::Sensitive, &Shown::Sensitive),
    ] {
        assert!(values.contains(&expected), "{expected:?} {values:?}");
    }
    let told = serde_json::to_string(&plan).unwrap();
    assert!(!told.contains("hunter") && !told.contains("swordfish"), "{told}");
    let inputs = values.iter().filter(|(path, ..)| *path == "input");
    assert!(inputs.clone().count() == 3 && inputs.clone().all(|value| *value.3 == Shown::Sensitive));
}

#[tokio::test(start_paused = true)]
async fn a_second_run_changes_nothing_and_writes_nothing() {
    let mut world = greeted().await;
    let serial = world.state().serial;
    let (planned, _) = world.apply().await;
    assert!(planned.plan.is_empty());
    assert_eq!(planned.text, "");
    assert_eq!(world.operations(), Vec::<String>::new());
    assert!(!world.told.iter().any(|told| matches!(told, Told::State(_))));
    assert_eq!(world.state().serial, serial);
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_apart() {
    let mut world = greeted().await;
    world.var("name", "moon");
    let (planned, _) = world.apply().await;
    assert_eq!(
        changes(&planned),
        ["update terraform_data.echo", "update terraform_data.greeting"]
    );
    assert!(!planned.plan.is_destructive());

    world.var("language", "de");
    let planned = world.plan(Goal::Converge).await.unwrap();
    assert_eq!(
        changes(&planned),
        [
            "replace terraform_data.echo (cannot_update)",
            "update terraform_data.greeting"
        ]
    );
    assert!(planned.plan.is_destructive());

    world.module(
        &GREETING
            .replace("\"echo\"", "\"repeat\"")
            .replace("data.echo", "data.repeat"),
    );
    let (planned, _) = world.apply().await;
    assert_eq!(
        changes(&planned),
        [
            "delete terraform_data.echo (delete_because_no_resource_config)",
            "update terraform_data.greeting",
            "create terraform_data.repeat",
        ]
        .map(str::to_owned)
        .to_vec()
    );
    assert_eq!(world.output("greeting"), json!("Hallo, moon!"));
}

#[tokio::test(start_paused = true)]
async fn a_replacement_is_a_deletion_and_a_creation_with_another_id() {
    let mut world = greeted().await;
    let id = |world: &World| {
        let state = world.state();
        state
            .managed()
            .find(|resource| resource.address.ends_with("echo"))
            .unwrap()
            .id
            .clone()
    };
    let before = id(&world);
    world.var("language", "de");
    world.apply().await;
    assert_eq!(
        world.operations(),
        [
            "delete terraform_data.echo",
            "update terraform_data.greeting",
            "create terraform_data.echo"
        ]
    );
    assert_ne!(id(&world), before);
}

#[tokio::test(start_paused = true)]
async fn destruction_goes_backwards_and_leaves_an_empty_state() {
    let mut world = greeted().await;
    let lineage = world.state().lineage;
    let (planned, _) = world.run(Goal::Destroy).await.unwrap();
    assert_eq!(planned.plan.outputs.len(), 2);
    assert_eq!(
        world.operations(),
        ["delete terraform_data.echo", "delete terraform_data.greeting"]
    );
    let state = world.state();
    assert!(state.is_empty() && state.outputs.is_empty());
    assert_eq!(state.lineage, lineage);
}

#[tokio::test(start_paused = true)]
async fn destruction_needs_no_variables() {
    let mut world = greeted().await;
    world.inputs.vars.clear();
    assert!(world.plan(Goal::Converge).await.is_err());
    world.run(Goal::Destroy).await.unwrap();
    assert!(world.state().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_and_another_gives_another() {
    let first = greeted().await;
    let second = greeted().await;
    assert_eq!(first.replica, second.replica);

    let mut third = World::new(GREETING);
    third.engine = SimulatedEngine::new(8, Arc::new(|| Timestamp::UNIX_EPOCH));
    third.var("name", "world");
    third.apply().await;
    assert_ne!(first.state().lineage, third.state().lineage);
    assert_ne!(first.state().resources[0].id, third.state().resources[0].id);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_known_by_the_same_id_until_something_changes() {
    let mut world = greeted().await;
    world.var("language", "de");
    let one = world.plan(Goal::Converge).await.unwrap().id;
    let again = world.plan(Goal::Converge).await.unwrap().id;
    world.var("language", "en");
    world.var("name", "moon");
    let other = world.plan(Goal::Converge).await.unwrap().id;
    assert_eq!(one, again);
    assert_ne!(one, other);
}

#[tokio::test(start_paused = true)]
async fn a_newer_copy_that_a_crash_left_behind_counts() {
    let mut world = greeted().await;
    let old = world.replica.clone();
    world.var("name", "moon");
    world.apply().await;
    world.inputs.state = StateHome::Ours {
        replica: None,
        staged: world.replica.clone(),
    };
    world.replica = old;
    let (told, _heard) = mpsc::unbounded_channel();
    let mut inputs = world.inputs.clone();
    if let StateHome::Ours { replica, .. } = &mut inputs.state {
        replica.clone_from(&world.replica);
    }
    let link = Link {
        told,
        cancel: CancellationToken::new(),
    };
    let opened = world.engine.open(inputs, link).await.unwrap();
    assert_eq!(opened.state.map(|(source, _)| source), Some(Source::Staged));
}

#[tokio::test(start_paused = true)]
async fn what_may_be_real_is_left_alone() {
    let mut world = World::new(GREETING);
    world.var("name", "world");
    world.inputs.state = StateHome::Backend;
    let failure = world.plan(Goal::Converge).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidInput);

    let mut world = World::new(GREETING);
    world.var("name", "world");
    world.apply().await;
    let simulated = String::from_utf8(world.replica.clone().unwrap()).unwrap();
    let real = simulated.replacen("\"simulated-", "\"", 1);
    assert_ne!(real, simulated);
    world.replica = Some(real.into_bytes());
    let failure = world.plan(Goal::Converge).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidInput);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_applied_once() {
    let mut world = World::new(GREETING);
    world.var("name", "world");
    let (mut session, _heard) = world.open().await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    session.apply().await.unwrap();
    let failure = session.apply().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Terraform(Class::StalePlan));
}

#[tokio::test(start_paused = true)]
async fn what_is_protected_is_not_destroyed() {
    let text = "resource \"terraform_data\" \"kept\" {\n lifecycle {\n prevent_destroy = true\n }\n}";
    let mut world = World::new(text);
    world.apply().await;
    let replaced = text.replacen('{', "{\n triggers_replace = 1", 1);
    for (goal, text) in [(Goal::Destroy, text), (Goal::Converge, replaced.as_str())] {
        world.module(text);
        let failure = world.plan(goal).await.unwrap_err();
        assert_eq!(
            failure.kind,
            FailureKind::Terraform(Class::Configuration),
            "{goal:?}"
        );
        assert!(failure.message.contains("prevent_destroy"), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_counts_what_is_told() {
    use capt_terraform::progress::{Durations, Operation, Tracker};
    let mut world = World::new(GREETING);
    world.var("name", "world");
    world.apply().await;
    let mut tracker = Tracker::new(Operation::Apply, 0, Durations::default());
    for event in world.events() {
        tracker.observe(event, Timestamp::UNIX_EPOCH);
    }
    let progress = tracker.progress(Timestamp::UNIX_EPOCH);
    assert_eq!((progress.done, progress.total, progress.failed), (2, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn events_tell_the_plan_that_is_returned() {
    let mut world = greeted().await;
    world.var("language", "de");
    let planned = world.plan(Goal::Converge).await.unwrap();
    let told = capt_terraform::plan::Plan::from_events(world.events());
    let short = |plan: &capt_terraform::plan::Plan| -> Vec<(String, Action)> {
        plan.changes
            .iter()
            .map(|change| (change.address.clone(), change.action.clone()))
            .collect()
    };
    assert_eq!(short(&told), short(&planned.plan));
    assert_eq!(told.outputs, planned.plan.outputs);
}
