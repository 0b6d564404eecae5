//! From nothing to something, to something else, to nothing.

use capt_runner::engine::{Engine as _, EngineKind, Goal, Phase, Told};
use capt_terraform::{
    plan::Shown,
    state::{Source, State},
    stream::Kind,
};

use crate::support::{World, addresses, inputs, inputs_of, with_replica};

const MODULE: &str = r#"
variable "size" { default = "small" }
resource "terraform_data" "net" {}
resource "terraform_data" "disk" { 
  input            = var.size
  triggers_replace = var.size
  depends_on       = [terraform_data.net]
}
output "size" { value = terraform_data.disk.output }
output "hidden" { 
  value     = "abcdefgh-12345678"
  sensitive = true
}
"#;

#[tokio::test]
async fn creates_updates_replaces_and_destroys() {
    let Some(world) = World::new().await else { return };
    assert!(matches!(
        world.engine.about().kind,
        EngineKind::Terraform | EngineKind::Tofu
    ));

    let first = inputs(MODULE);
    let mut session = world.open(&first).await.unwrap();
    assert!(session.opened.state.is_none() && session.opened.missing.is_empty());
    let planned = session.plan(Goal::Converge).await.unwrap();
    assert_eq!(planned.plan.summary().to_string(), "2 to add");
    assert!(planned.text.contains("terraform_data.disk"), "{}", planned.text);
    assert!(!planned.text.contains("abcdefgh"), "{}", planned.text);
    let applied = session.apply().await.unwrap();
    let heard = session.heard();
    let phases: Vec<Phase> = heard
        .iter()
        .filter_map(|told| match told {
            Told::Phase(phase) => Some(*phase),
            _ => None,
        })
        .collect();
    assert_eq!(phases, [Phase::Plan, Phase::Apply]);
    let told = heard.iter().rev().find_map(|told| match told {
        Told::State(state) => Some(state),
        _ => None,
    });
    assert_eq!(told, Some(&applied.state));
    let summaries =
        |told: &&Told| matches!(told, Told::Event(event) if matches!(event.kind, Kind::ChangeSummary(_)));
    assert_eq!(heard.iter().filter(summaries).count(), 2);
    drop(session);
    let state = State::parse(&applied.state).unwrap();
    assert_eq!(addresses(&state), ["terraform_data.disk", "terraform_data.net"]);
    assert_eq!(state.outputs["size"].value, "small");

    let mut session = world.open(&with_replica(first, &applied.state)).await.unwrap();
    assert_eq!(
        session.opened.state.as_ref().map(|(source, _)| *source),
        Some(Source::Replica)
    );
    let planned = session.plan(Goal::Converge).await.unwrap();
    assert!(planned.plan.is_empty() && planned.text.is_empty(), "{planned:?}");
    assert_eq!(planned.state.as_ref(), Some(&applied.state));
    drop(session);

    let mut second = with_replica(inputs(MODULE), &applied.state);
    second.vars.push(("size".to_owned(), "large".to_owned()));
    let mut session = world.open(&second).await.unwrap();
    let planned = session.plan(Goal::Converge).await.unwrap();
    assert!(planned.plan.is_destructive(), "{}", planned.text);
    let again = session.plan(Goal::Converge).await.unwrap();
    assert_eq!(planned.id, again.id);
    let applied = session.apply().await.unwrap();
    assert_eq!(
        State::parse(&applied.state).unwrap().outputs["size"].value,
        "large"
    );
    drop(session);

    let mut session = world.open(&with_replica(second, &applied.state)).await.unwrap();
    let planned = session.plan(Goal::Destroy).await.unwrap();
    assert_eq!(planned.plan.destroyed().count(), 2);
    let applied = session.apply().await.unwrap();
    assert!(State::parse(&applied.state).unwrap().is_empty());
    drop(session);
    world.engine.forget(&inputs(MODULE).uid).await;
    assert!(!world.root().join(inputs(MODULE).uid).exists());
}

const SECRETIVE: &str = r#"
variable "size" {}
variable "pin" { sensitive = true }
resource "terraform_data" "disk" {
  input            = { size = var.size, pin = var.pin, list = [for n in range(var.size) : "${n}-${var.pin}"] }
  triggers_replace = var.size
}
resource "terraform_data" "copy" {
  input = [terraform_data.disk.id, var.size]
}
output "size" { value = var.size }
output "pin" {
  value     = var.pin
  sensitive = true
}
"#;

#[tokio::test]
async fn a_plan_tells_what_values_were_and_will_be_and_nothing_sensitive() {
    let Some(world) = World::new().await else { return };
    let with = |size: &str, pin: &str| {
        let mut inputs = inputs(SECRETIVE);
        inputs.vars.push(("size".to_owned(), size.to_owned()));
        inputs.vars.push(("pin".to_owned(), pin.to_owned()));
        inputs
    };
    let mut session = world.open(&with("3", "q7Z")).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let applied = session.apply().await.unwrap();
    drop(session);
    let changed = with_replica(with("4", "q8Z"), &applied.state);
    let mut session = world.open(&changed).await.unwrap();
    let plan = session.plan(Goal::Converge).await.unwrap().plan;
    let text = |shown: &Shown| match shown {
        Shown::Text(text) | Shown::Other(text) => text.clone(),
        other => format!("{other:?}"),
    };
    let told: Vec<String> = plan
        .changes
        .iter()
        .flat_map(|change| &change.values)
        .chain(&plan.output_values)
        .map(|value| {
            let forces = if value.forces_replacement { " forces" } else { "" };
            format!(
                "{}: {} → {}{forces}",
                value.path,
                text(&value.before),
                text(&value.after)
            )
        })
        .collect();
    for expected in [
        "triggers_replace: 3 → 4 forces",
        "input.size: 3 → 4",
        "input.pin: Sensitive → Sensitive",
        "size: 3 → 4",
        "pin: Sensitive → Sensitive",
    ] {
        assert!(told.iter().any(|line| line == expected), "{expected}: {told:#?}");
    }
    assert!(
        told.iter()
            .any(|line| line.starts_with("id: ") && line.ends_with("→ Unknown")),
        "{told:#?}"
    );
    let everything = serde_json::to_string(&plan).unwrap();
    assert!(
        !everything.contains("q7Z") && !everything.contains("q8Z"),
        "{everything}"
    );
}

#[tokio::test]
async fn nobody_else_can_read_what_is_kept() {
    use std::{fs, os::unix::fs::MetadataExt as _};
    let Some(world) = World::new().await else { return };
    let inputs = inputs(MODULE);
    world.converge(&inputs).await;
    let folder = world.root().join(&inputs.uid);
    let mut open = vec![folder.clone()];
    let mut files = 0;
    while let Some(path) = open.pop() {
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_symlink() {
            continue;
        }
        assert_eq!(found.mode() & 0o077, 0, "{path:?}");
        match found.is_dir() {
            true => open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
            false => files += 1,
        }
    }
    assert!(files > 3);
    assert!(!folder.join("run/plan").exists());
}

#[tokio::test]
async fn a_plan_is_applied_once() {
    let Some(world) = World::new().await else { return };
    let mut session = world.open(&inputs(MODULE)).await.unwrap();
    assert!(session.apply().await.is_err());
    session.plan(Goal::Converge).await.unwrap();
    session.apply().await.unwrap();
    assert!(session.apply().await.is_err());
}

#[tokio::test]
async fn a_module_may_be_json() {
    let Some(world) = World::new().await else { return };
    let module = r#"{"resource": {"terraform_data": {"x": {"input": 1}}}, "output": {"o": {"value": "y"}}}"#;
    let state = world
        .converge(&inputs_of(capt_runner::engine::Module::Json(module.to_owned())))
        .await;
    assert_eq!(addresses(&state), ["terraform_data.x"]);
    // And back: the file of the other language must not stay.
    let state = world
        .converge(&inputs("resource \"terraform_data\" \"y\" {}"))
        .await;
    assert_eq!(addresses(&state), ["terraform_data.y"]);
}

#[tokio::test]
async fn knows_its_workspace_whatever_it_is_called() {
    let Some(world) = World::new().await else { return };
    let module = "resource \"terraform_data\" \"x\" {}\noutput \"name\" { value = terraform.workspace }\n";
    for name in ["default", "a-b.c_1"] {
        let mut inputs = inputs(module);
        inputs.uid = uuid::Uuid::new_v4().to_string();
        inputs.terraform_workspace = name.to_owned();
        let state = world.converge(&inputs).await;
        assert_eq!(state.outputs["name"].value, name);
        let mut session = world.open(&inputs).await.unwrap();
        assert!(session.plan(Goal::Converge).await.unwrap().plan.is_empty());
    }
}

#[tokio::test]
async fn a_backend_in_the_module_is_overridden() {
    let Some(world) = World::new().await else { return };
    let backends = [
        "backend \"kubernetes\" {\n secret_suffix = \"x\"\n }",
        "backend \"local\" {\n path = \"/nowhere/at/all\"\n }",
        "cloud {\n organization = \"x\"\n workspaces {\n name = \"y\"\n }\n }",
    ];
    for backend in backends {
        let mut inputs = inputs(&format!(
            "terraform {{\n {backend}\n}}\nresource \"terraform_data\" \"x\" {{}}\n"
        ));
        inputs.uid = uuid::Uuid::new_v4().to_string();
        inputs.args.init.push("-backend-config=nowhere".to_owned());
        assert_eq!(
            addresses(&world.converge(&inputs).await),
            ["terraform_data.x"],
            "{backend}"
        );
    }
}

#[tokio::test]
async fn many_at_once() {
    let Some(world) = World::new().await else { return };
    let all = (0..8).map(|number| {
        let mut inputs = inputs(MODULE);
        inputs.uid = uuid::Uuid::new_v4().to_string();
        inputs.vars.push(("size".to_owned(), number.to_string()));
        let world = &world;
        async move { (number, world.converge(&inputs).await) }
    });
    for (number, state) in futures::future::join_all(all).await {
        assert_eq!(state.outputs["size"].value, number.to_string());
    }
}

#[tokio::test]
async fn nothing_is_something_too() {
    let Some(world) = World::new().await else { return };
    let inputs = inputs("");
    let mut session = world.open(&inputs).await.unwrap();
    assert!(session.plan(Goal::Converge).await.unwrap().plan.is_empty());
    let applied = session.apply().await.unwrap();
    assert!(State::parse(&applied.state).unwrap().is_empty());
}
