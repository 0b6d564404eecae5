//! The simulation, judged by the real one: each takes the other's state for its own, and they agree about outputs.

use std::{fs, path::Path, sync::Arc};

use capt_runner::{
    engine::{Engine, Goal, Inputs, Link, Module, Planned, StateHome},
    simulated::SimulatedEngine,
};
use capt_terraform::{
    plan::ResourceChange,
    state::{SIMULATED_LINEAGE, State},
    stream::Action,
};
use k8s_openapi::jiff::Timestamp;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::{World, inputs, inputs_of};

/// Everything that a module may have and a simulation should know.
const MODULE: &str = r#"
variable "names" {
  type    = list(string)
  default = ["a", "b"]
}
variable "settings" {
  type = object({
    size = number
    note = optional(string, "none")
  })
  default = { size = 3 }
}
locals {
  upper = [for name in var.names : upper(name)]
  text  = <<-TEXT
    ${join(", ", local.upper)}
      ${var.settings.note}
  TEXT
}
resource "terraform_data" "first" {
  input            = { names = local.upper, size = var.settings.size + 1.5 }
  triggers_replace = [sha256(local.text), length(var.names)]
}
resource "terraform_data" "each" {
  for_each = toset(var.names)
  input    = "${each.key}-${terraform_data.first.output.size}"
}
resource "terraform_data" "count" {
  count = var.settings.size > 2 ? 2 : 0
  input = try(var.settings.missing, format("%02d", count.index))
}
output "text" {
  value = local.text
}
output "each" {
  value = { for key, each in terraform_data.each : key => each.output }
}
output "count" {
  value = terraform_data.count[*].output
}
output "json" {
  value = jsonencode(terraform_data.first.output)
}
output "yaml" {
  value     = yamlencode({ b = [1, { c = true }], a = "x" })
  sensitive = true
}
output "cidr" {
  value = cidrsubnet("10.0.0.0/16", 4, 9)
}
"#;

fn sandbox(world: &World, name: &str, vars: &[(&str, &str)]) -> Inputs {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../terraform/sandbox")
        .join(name);
    let folder = world.path(name);
    fs::create_dir_all(&folder).unwrap();
    let files = fs::read_dir(shipped).unwrap().map(Result::unwrap);
    for file in files.filter(|file| file.file_type().unwrap().is_file()) {
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let mut inputs = inputs_of(Module::Remote {
        address: folder.to_string_lossy().into_owned(),
        if_not_present: true,
    });
    inputs.vars = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    inputs.vars.push(("time_scale".to_owned(), "0".to_owned()));
    inputs
}

fn modules(world: &World) -> Vec<(&'static str, Inputs)> {
    let vpc = [
        ("cluster_name", "demo"),
        ("region", "eu-west-1"),
        ("vpc_name", "demo"),
    ];
    let eks = [
        ("cluster_name", "demo"),
        ("kubernetes_version", "1.31"),
        ("region", "eu-west-1"),
        ("vpc_id", "vpc-1"),
        ("private_subnets", "[\"subnet-1\", \"subnet-2\"]"),
        ("addons", "[{name = \"coredns\"}]"),
    ];
    vec![
        ("everything", inputs(MODULE)),
        ("vpc", sandbox(world, "vpc", &vpc)),
        ("eks", sandbox(world, "eks", &eks)),
    ]
}

/// Neither goes on from the other's state, so that it is handed over under another name.
fn with_state(inputs: &Inputs, file: Vec<u8>, from: &str, to: &str) -> Inputs {
    let mut inputs = inputs.clone();
    let file = String::from_utf8(file).unwrap();
    let lineage = |prefix: &str| format!("\"lineage\": \"{prefix}");
    assert!(file.contains(&lineage(from)), "{file}");
    inputs.state = StateHome::Ours {
        replica: Some(file.replacen(&lineage(from), &lineage(to), 1).into_bytes()),
        staged: None,
    };
    inputs
}

/// Plans with a simulation, and applies if that is asked for.
async fn simulate(inputs: Inputs, applies: bool) -> (Planned, Vec<u8>) {
    let engine = SimulatedEngine::new(0, Arc::new(Timestamp::now));
    let (told, _heard) = mpsc::unbounded_channel();
    let link = Link {
        told,
        cancel: CancellationToken::new(),
    };
    let mut session = engine.open(inputs, link).await.unwrap().session;
    let planned = session.plan(Goal::Converge).await.unwrap();
    let state = match applies {
        true => session.apply().await.unwrap().state,
        false => Vec::new(),
    };
    (planned, state)
}

#[tokio::test]
async fn terraform_takes_over_what_was_simulated() {
    let Some(world) = World::new().await else { return };
    for (name, inputs) in modules(&world) {
        let (_, state) = simulate(inputs.clone(), true).await;
        let mut session = world
            .open(&with_state(&inputs, state, SIMULATED_LINEAGE, ""))
            .await
            .unwrap();
        let planned = session.plan(Goal::Converge).await.unwrap();
        // A simulation does not know whether an object was declared as a map, which is a change in place at most.
        let in_place = |change: &ResourceChange| change.action == Action::Update;
        assert!(
            planned.plan.changes.iter().all(in_place),
            "{name}: {}",
            planned.text
        );
        assert!(
            planned.plan.changes.is_empty() || name != "everything",
            "{name}: {}",
            planned.text
        );
        drop(session);
        world.engine.forget(&inputs.uid).await;
    }
}

#[tokio::test]
async fn a_simulation_finds_nothing_to_change_in_what_terraform_made() {
    let Some(world) = World::new().await else { return };
    for (name, inputs) in modules(&world) {
        let mut session = world.open(&inputs).await.unwrap();
        session.plan(Goal::Converge).await.unwrap();
        let real = session.apply().await.unwrap().state;
        drop(session);
        world.engine.forget(&inputs.uid).await;
        let (planned, _) = simulate(with_state(&inputs, real.clone(), "", SIMULATED_LINEAGE), false).await;
        assert!(planned.plan.is_empty(), "{name}: {}", planned.text);

        let (_, simulated) = simulate(inputs, true).await;
        let (real, simulated) = (State::parse(&real).unwrap(), State::parse(&simulated).unwrap());
        assert_eq!(simulated.outputs, real.outputs, "{name}");
        let addresses = |state: &State| -> Vec<String> {
            let mut addresses: Vec<String> =
                state.managed().map(|resource| resource.address.clone()).collect();
            addresses.sort();
            addresses
        };
        assert_eq!(addresses(&simulated), addresses(&real), "{name}");
    }
}
