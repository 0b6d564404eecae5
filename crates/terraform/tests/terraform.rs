//! What we read from files that the Terraform on this machine has just written is what Terraform reads from them.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output},
};

use capt_terraform::{
    plan::parse_show,
    redact::{Format, PLACEHOLDER, Redactor, Secrets, sensitive_in_plan, sensitive_in_state},
    state::{Location, State, pack, unpack},
};
use serde_json::Value;

const MODULE: &str = r#"
variable "keys" {
  type    = set(string)
  default = ["plain", "quo\"te", "a.b", "dollar$${x}", "percent%%{x}", "new\nline", "back\\slash", "ünï", "\u00a0\u200b\u0001\u202e", "😀日本", "$", "%%", "$${%%{"]
}
variable "password" {
  type      = string
  sensitive = true
  default   = "hunter22-hunter22"
}
resource "terraform_data" "single" { input = "x" }
resource "terraform_data" "counted" {
  count = 2
  input = { n = count.index }
}
resource "terraform_data" "each" {
  for_each         = var.keys
  triggers_replace = [var.keys]
}
resource "terraform_data" "secret" { input = { p = [var.password] } }
module "child" {
  source   = "./child"
  for_each = toset(["m"])
}
output "password" {
  value     = var.password
  sensitive = true
}
output "id" { value = terraform_data.single.id }
"#;

fn execute(engine: &str, directory: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(engine);
    command.args(arguments).current_dir(directory);
    command
        .env("TF_CLI_CONFIG_FILE", "/dev/null")
        .env("CHECKPOINT_DISABLE", "1")
        .env("TF_IN_AUTOMATION", "1");
    command.env_remove("TF_WORKSPACE").env_remove("TF_DATA_DIR");
    command.output().ok()
}

fn run_with(engine: &str, directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = execute(engine, directory, arguments).unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

#[test]
fn reads_files_as_terraform_does() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let runs = |engine: &&str| execute(engine, directory, &["version"]).is_some();
    let Some(engine) = ["terraform", "tofu"].into_iter().find(runs) else {
        eprintln!("SKIPPED: neither terraform nor tofu is in PATH, so nobody checked what they write");
        return;
    };
    let run = |directory: &Path, arguments: &[&str]| run_with(engine, directory, arguments);
    fs::write(directory.join("main.tf"), MODULE).unwrap();
    fs::create_dir(directory.join("child")).unwrap();
    fs::write(
        directory.join("child/main.tf"),
        "resource \"terraform_data\" \"inner\" {}\n",
    )
    .unwrap();
    run(directory, &["init", "-input=false"]);

    run(directory, &["plan", "-input=false", "-out=first"]);
    let first = run(directory, &["show", "-json", "first"]);
    run(directory, &["plan", "-input=false", "-out=second"]);
    let second = parse_show(&run(directory, &["show", "-json", "second"])).unwrap();
    assert_eq!(parse_show(&first).unwrap().id(), second.id());
    let mut secrets = Secrets::default();
    sensitive_in_plan(&serde_json::from_slice(&first).unwrap(), &mut secrets);
    assert_eq!(Redactor::new(&secrets).text("hunter22-hunter22"), PLACEHOLDER);

    run(directory, &["apply", "-input=false", "first"]);
    let file = fs::read(directory.join("terraform.tfstate")).unwrap();
    let state = State::parse(&file).unwrap();
    let mut addresses: Vec<&str> = state
        .resources
        .iter()
        .map(|resource| resource.address.as_str())
        .collect();
    addresses.sort_unstable();
    let listed = String::from_utf8(run(directory, &["state", "list"])).unwrap();
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    assert_eq!(addresses, listed);

    let shown: Value = serde_json::from_slice(&run(directory, &["show", "-json"])).unwrap();
    let shown = ids(&shown["values"]["root_module"]);
    for resource in &state.resources {
        assert_eq!(
            resource.id.as_ref(),
            shown.get(&resource.address),
            "{}",
            resource.address
        );
    }
    let outputs: BTreeMap<String, Value> =
        serde_json::from_slice(&run(directory, &["output", "-json"])).unwrap();
    for (name, output) in &outputs {
        let ours = &state.outputs[name];
        assert_eq!(
            (&ours.value, ours.sensitive),
            (&output["value"], output["sensitive"] == Value::Bool(true))
        );
    }
    let mut secrets = Secrets::default();
    sensitive_in_state(&serde_json::from_slice(&file).unwrap(), &mut secrets);
    assert_eq!(Redactor::new(&secrets).text("hunter22-hunter22"), PLACEHOLDER);

    let secrets = pack(&Location::new("default", "test").unwrap(), &file);
    let parts = secrets
        .iter()
        .map(|secret| (secret.name.as_str(), secret.data.as_slice()));
    assert_eq!(unpack(parts).unwrap().as_deref(), Some(file.as_slice()));

    run(directory, &["taint", "terraform_data.single"]);
    let tainted = State::parse(&fs::read(directory.join("terraform.tfstate")).unwrap()).unwrap();
    assert!(tainted.serial > state.serial && tainted.lineage == state.lineage);
    assert!(
        tainted
            .resources
            .iter()
            .any(|resource| resource.tainted && resource.address == "terraform_data.single")
    );
    run(directory, &["plan", "-input=false", "-out=third"]);
    let third = parse_show(&run(directory, &["show", "-json", "third"])).unwrap();
    assert!(
        !third.is_destructive() && third.summary().tainted == 1,
        "{}",
        third.text(20)
    );

    run(
        directory,
        &["plan", "-input=false", "-out=fourth", "-var=keys=[\"plain\"]"],
    );
    let fourth = parse_show(&run(directory, &["show", "-json", "fourth"])).unwrap();
    assert!(fourth.is_destructive(), "{}", fourth.text(20));
}

fn ids(module: &Value) -> BTreeMap<String, String> {
    let resources = module["resources"].as_array().into_iter().flatten();
    let mut ids: BTreeMap<String, String> = resources
        .filter_map(|resource| {
            Some((
                resource["address"].as_str()?.to_owned(),
                resource["values"]["id"].as_str()?.to_owned(),
            ))
        })
        .collect();
    for child in module["child_modules"].as_array().into_iter().flatten() {
        ids.extend(self::ids(child));
    }
    ids
}

const SPELLINGS: &str = r#"
variable "text" {}
variable "list" {}
variable "pin" {}
variable "key" {}
variable "json" {}
resource "terraform_data" "all" {
  input = {
    text = var.text, list = var.list, pin = var.pin, key = var.key, json = var.json
    base64 = base64encode("user:${var.text}"), encoded = jsonencode(var.list), url = urlencode(var.text)
  }
  provisioner "local-exec" {
    command = "printenv KEY; printf %s \"$TEXT\" | od -An -tx1 -v | tr -d ' \n'; printf %s \"$LONG\" | base64 -w64; echo pin-$PIN; exit 1"
    environment = { KEY = var.key, TEXT = var.text, LONG = var.list[1].long, PIN = var.pin }
  }
}
output "all" { value = [var.text, var.list, var.pin, var.key] }
"#;

/// What Terraform prints of a file of variables, in plans for people and as JSON, in events, in errors, in its state, and what
/// a program prints that it starts.
#[test]
fn nothing_that_terraform_prints_holds_a_value_of_a_secret() {
    const LONG: &str = "correct-horse-battery-staple-and-more-of-it-so-that-base64-needs-lines";
    let hcl = format!(
        "text = \"a \\\"b${{\"-quoted\"}}\\\\d$${{e}} <f>\" # old\n\
         list = [\"ab1!\", {{ long = \"{LONG}\", n = 10.50 }}]\n\
         pin = 4711e2\n\
         key = <<-EOT\n    line of key\n    MIIEowIBAAKCAQEA7bq1\n    EOT\n\
         json = \"{{\\\"pass\\\": \\\"hunter22\\\"}}\"\n"
    );
    let json = format!(
        r#"{{"text": "a \"b-quoted\\d${{e}} <f>", "list": ["ab1!", {{"long": "{LONG}", "n": 10.50}}], "pin": 4711e2,
           "key": "line of key\nMIIEowIBAAKCAQEA7bq1\n", "json": "{{\"pass\": \"hunter22\"}}"}}"#
    );
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let runs = |engine: &&str| execute(engine, directory, &["version"]).is_some();
    let Some(engine) = ["terraform", "tofu"].into_iter().find(runs) else {
        eprintln!("SKIPPED: neither terraform nor tofu is in PATH, so that this was not checked against one");
        return;
    };
    fs::write(directory.join("main.tf"), SPELLINGS).unwrap();
    run_with(engine, directory, &["init", "-input=false"]);
    let parts = [
        "-quoted",
        "${e}",
        "ab1!",
        "correct-horse",
        "10.5",
        "471100",
        "line of key",
        "MIIEow",
        "hunter22",
        "61202262",
    ];
    let mut printed = String::new();
    for (name, content, format) in [
        ("a.tfvars", &hcl, Format::Hcl),
        ("b.tfvars.json", &json, Format::Json),
    ] {
        fs::write(directory.join(name), content).unwrap();
        let file = format!("-var-file={name}");
        let mut secrets = Secrets::default();
        secrets.variables(content, format);
        let redactor = Redactor::new(&secrets);
        let _ = fs::remove_file(directory.join("terraform.tfstate"));
        for arguments in [
            &["plan", "-no-color", "-out=p", &file][..],
            &["plan", "-json", &file],
            &["show", "-json", "p"],
            &["apply", "-json", "-auto-approve", &file],
            &["apply", "-no-color", "-auto-approve", &file],
            &["output", "-no-color"],
            &["output", "-json"],
            &["state", "pull"],
        ] {
            let output = execute(engine, directory, arguments).unwrap();
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8(text).unwrap();
            let clean = redactor.text(&text);
            for part in parts {
                assert!(
                    !clean.contains(part),
                    "{part} is in what {arguments:?} prints: {clean}"
                );
            }
            printed.push_str(&text);
        }
    }
    for part in parts {
        assert!(printed.contains(part), "{part} is printed nowhere");
    }
}
