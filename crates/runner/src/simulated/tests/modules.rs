use std::path::Path;

use capt_terraform::state::SIMULATED_LINEAGE;

use super::*;
use crate::engine::VarFile;

/// The module of this name that the project ships.
fn sandbox(name: &str) -> World {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../terraform/sandbox")
        .join(name);
    let mut world = World::new("");
    world.inputs.module = Module::Remote {
        address: folder.to_string_lossy().into_owned(),
        if_not_present: true,
    };
    world
}

fn vpc() -> World {
    let mut world = sandbox("vpc");
    for (name, value) in [
        ("cluster_name", "demo"),
        ("region", "eu-west-1"),
        ("vpc_name", "demo"),
    ] {
        world.var(name, value);
    }
    world
}

#[tokio::test(start_paused = true)]
async fn a_folder_of_this_machine_is_read_and_its_outputs_are_those_of_terraform() {
    let mut world = vpc();
    world.apply().await;
    assert_eq!(world.state().resources.len(), 8);
    assert_eq!(
        world.output("availability_zones"),
        json!(["eu-west-1a", "eu-west-1b", "eu-west-1c"])
    );
    // As the real Terraform says for the same variables.
    assert_eq!(world.output("vpc_id"), json!("vpc-9f3b8f43cff220c80"));
    let text = world.output("vpc_config");
    assert!(text.as_str().unwrap().starts_with("vpc_id = \"vpc-"), "{text}");
    assert_eq!(world.output("private_subnets").as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_module_stays_and_a_new_region_replaces() {
    let mut world = vpc();
    world.apply().await;
    assert!(world.plan(Goal::Converge).await.unwrap().plan.is_empty());
    world.var("region", "eu-central-1");
    let planned = world.plan(Goal::Converge).await.unwrap();
    assert!(changes(&planned).contains(&"replace terraform_data.vpc (cannot_update)".to_owned()));
    assert!(changes(&planned).contains(&"create terraform_data.public_subnet[\"eu-central-1a\"]".to_owned()));
    assert!(changes(&planned).contains(
        &"delete terraform_data.public_subnet[\"eu-west-1a\"] (delete_because_each_key)".to_owned()
    ));
}

#[tokio::test(start_paused = true)]
async fn modules_take_the_time_that_they_say() {
    let mut world = vpc();
    world.var("time_scale", "1");
    let begin = tokio::time::Instant::now();
    world.apply().await;
    // The VPC, then subnets, then the gateway.
    assert_eq!(begin.elapsed().as_secs(), 12 + 11 + 120);
    let begin = tokio::time::Instant::now();
    world.run(Goal::Destroy).await.unwrap();
    assert_eq!(begin.elapsed().as_secs(), 60 + 5 + 2);
}

#[tokio::test(start_paused = true)]
async fn modules_fail_where_they_are_told() {
    for (during, goal, left) in [
        ("plan", Goal::Converge, None),
        ("apply", Goal::Converge, Some(7)),
        ("destroy", Goal::Destroy, Some(4)),
    ] {
        let mut world = vpc();
        world.var("fail_at", "public_subnet");
        world.var("fail_during", during);
        if goal == Goal::Destroy {
            world.apply().await;
        }
        let failure = world.run(goal).await.unwrap_err();
        assert!(failure.message.contains("told"), "{during}: {failure}");
        assert!(failure.message.contains("public_subnet"), "{during}: {failure}");
        assert_eq!(
            failure.kind,
            FailureKind::Terraform(Class::Configuration),
            "{during}"
        );
        let resources = world.replica.is_some().then(|| world.state().resources.len());
        assert_eq!(resources, left, "{during}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_name_in_a_file_is_warned_of() {
    let mut world = World::new("variable \"name\" {}\noutput \"name\" { value = var.name }\n");
    world.inputs.var_files.push(VarFile {
        is_json: false,
        content: b"name = \"a\"\nnmae = \"b\"\n".to_vec(),
        label: "a file".to_owned(),
    });
    let planned = world.plan(Goal::Converge).await.unwrap();
    let told: Vec<&str> = planned
        .warnings
        .iter()
        .map(|warning| warning.detail.as_str())
        .collect();
    assert!(
        matches!(told[..], [only] if only.contains("\"nmae\"")),
        "{told:?}"
    );
    world.apply().await;
    assert_eq!(world.output("name"), json!("a"));
}

#[tokio::test(start_paused = true)]
async fn the_other_sandbox_modules_run_too() {
    let mut eks = sandbox("eks");
    eks.inputs.var_files.push(VarFile {
        is_json: true,
        content: serde_json::to_vec(&json!({
            "cluster_name": "demo",
            "kubernetes_version": "1.31",
            "region": "eu-west-1",
            "vpc_id": "vpc-1",
            "private_subnets": ["subnet-1", "subnet-2"],
            "addons": [{"name": "coredns"}],
        }))
        .unwrap(),
        label: "varmap".to_owned(),
    });
    eks.apply().await;
    assert_eq!(eks.state().resources.len(), 4);
    assert_eq!(eks.output("cluster_version"), json!("1.31"));
    assert!(eks.state().outputs["kubeconfig"].sensitive);
    let endpoint = eks.output("cluster_endpoint");
    assert!(
        endpoint
            .as_str()
            .unwrap()
            .ends_with(".gr7.eu-west-1.eks.sandbox.invalid"),
        "{endpoint}"
    );

    let mut fargate = sandbox("fargate-profile");
    fargate.var("cluster_name", "demo");
    fargate.var("profile_name", "default");
    fargate.var("selectors", "[{namespace = \"default\"}]");
    fargate.var("private_subnets", "[\"subnet-1\"]");
    fargate.apply().await;
    assert_eq!(fargate.output("fargate_profile_status"), json!("ACTIVE"));
    for world in [&eks, &fargate] {
        let file = String::from_utf8(world.replica.clone().unwrap()).unwrap();
        let values = file.replacen(SIMULATED_LINEAGE, "", 1);
        assert!(!values.contains("simulated-"), "{file}");
    }
}

#[tokio::test(start_paused = true)]
async fn real_providers_get_made_up_attributes() {
    let mut world = World::new(
        r#"
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "each" {
  count  = 2
  vpc_id = aws_vpc.main.id
}
output "arn" {
  value = aws_vpc.main.arn
}
output "subnets" {
  value = aws_subnet.each[*].id
}
output "beyond" {
  value = uuidv5("dns", "x")
}
"#,
    );
    world.apply().await;
    assert_eq!(world.output("arn"), json!("simulated-main-arn"));
    assert_eq!(world.output("beyond"), json!("simulated-beyond"));
    let subnets = world.output("subnets");
    assert!(subnets[1].as_str().unwrap().starts_with("subnet-"), "{subnets}");
    assert_ne!(subnets[0], subnets[1]);
    assert!(world.plan(Goal::Converge).await.unwrap().plan.is_empty());
}

#[tokio::test(start_paused = true)]
async fn json_modules_are_read() {
    let mut world = World::new("");
    world.inputs.module = Module::Json(
        json!({
            "variable": {"name": {"type": "string"}},
            "locals": {"words": ["a", "b"]},
            "resource": {"terraform_data": {
                "one": {"input": "Hello, ${var.name}!", "triggers_replace": "${length(local.words)}"},
                "two": {"for_each": "${toset(local.words)}", "input": "${each.key}", "depends_on": ["terraform_data.one"]},
            }},
            "output": {"greeting": {"value": "${terraform_data.one.output}", "sensitive": true}},
        })
        .to_string(),
    );
    world.var("name", "world");
    world.apply().await;
    assert_eq!(world.state().resources.len(), 3);
    assert_eq!(world.operations()[0], "create terraform_data.one");
    assert_eq!(world.output("greeting"), json!("Hello, world!"));
    assert!(world.state().outputs["greeting"].sensitive);
}

#[tokio::test(start_paused = true)]
async fn what_would_have_to_be_fetched_is_one_resource() {
    let mut world = World::new("");
    world.inputs.module = Module::Remote {
        address: "git::https://example.com/${x}.git?ref=v1".to_owned(),
        if_not_present: false,
    };
    world.apply().await;
    assert_eq!(world.state().resources.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn bad_modules_and_variables_are_refused_in_words() {
    let required = "variable \"name\" {\n type = string\n}";
    let number = "variable \"size\" {\n type = number\n validation {\n condition = var.size > 1\n error_message = \"too small\"\n }\n}";
    let cycle = "locals {\n a = local.b\n b = local.a\n}";
    for (module, vars, expected) in [
        (
            "resource \"x\" {",
            &[][..],
            "Argument or block definition required",
        ),
        (required, &[], "No value for required variable"),
        (
            required,
            &[("other", "1"), ("name", "x")],
            "Value for undeclared variable",
        ),
        (number, &[("size", "many")], "a number required"),
        (number, &[("size", "1")], "too small"),
        (cycle, &[], "Cycle: local.a, local.b"),
    ] {
        let mut world = World::new(module);
        for (name, value) in vars {
            world.var(name, value);
        }
        let failure = world.run(Goal::Converge).await.unwrap_err();
        assert_eq!(
            failure.kind,
            FailureKind::Terraform(Class::Configuration),
            "{module}"
        );
        assert!(failure.message.contains(expected), "{module}: {failure}");
        assert_eq!(failure.state, None, "{module}");
    }
    let mut gone = World::new("");
    gone.inputs.module = Module::Remote {
        address: "/no/such/folder".to_owned(),
        if_not_present: true,
    };
    let failure = gone.run(Goal::Converge).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ModuleUnavailable);
    assert!(failure.message.contains("/no/such/folder"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn values_that_grow_without_end_are_made_up() {
    let doubled = |step: &str| -> String {
        let chain =
            (1..40).map(|at| format!("  v{at} = {}\n", step.replace('_', &format!("local.v{}", at - 1))));
        let chain: String = chain.collect();
        format!("locals {{\n  v0 = \"x\"\n{chain}}}\noutput \"last\" {{\n  value = local.v39\n}}\n")
    };
    for step in ["[_, _]", "\"${_}${_}${_}\"", "{ a = _, b = _ }"] {
        let mut world = World::new(&doubled(step));
        world.apply().await;
        let file = world.replica.as_ref().unwrap();
        assert!(file.len() < 64 * 1024 * 1024, "{step}: {}", file.len());
        assert!(String::from_utf8_lossy(file).contains("simulated-"), "{step}");
    }
}

#[tokio::test]
async fn what_is_nested_as_deep_as_can_be_read_is_evaluated() {
    let depth = 60;
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("\"${", "1", "}\""),
        ("true ? ", "1", " : 2"),
        ("-", "1", ""),
    ] {
        let value = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
        let mut world = World::new(&format!("output \"deep\" {{\n  value = {value}\n}}\n"));
        // Refused or evaluated, it must end.
        let _ = world.run(Goal::Converge).await;
    }
}
