//! R1: who may view a namespace, and read no Secret in it, finds no value of one in plans, logs, reports and events.

use anyhow::{Context, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::super::accounts::{self, is_forbidden};
use super::super::kinds::{CONFIG_MAP, CORE_EVENT, SECRET};
use super::super::stage::{Stage, VICTIM};

const HCL: &str = r#"
commented = "value-after-a-comment" # of the database
listed    = ["value-in-a-list-1", "value-in-a-list-2"]
one_line  = { user = "value-in-an-object", nested = { key = "value with \"quotes\" inside" } }
db_pass   = "Zk9q"
"#;
const JSON: &str = r#"{"number": 918273645546, "text": "value\twith\u00e4 escapes", "deep": [{"a": ["value-deep-in-json"]}]}"#;

/// Text that only a value of the Secret has, which no report may have.
const HIDDEN: &[&str] = &[
    "value-after-a-comment",
    "value-in-a-list-1",
    "value-in-a-list-2",
    "value-in-an-object",
    "quotes",
    "Zk9q",
    "918273645546",
    "escapes",
    "value-deep-in-json",
];
/// A value that is no secret, beside which the others are printed.
const PUBLIC: &str = "a-public-word-beside-it";

/// A module that prints its variables: in plans, in logs, in warnings and in outputs.
const MODULE: &str = r#"
variable "commented" { type = string }
variable "listed" { type = list(string) }
variable "one_line" { type = any }
variable "db_pass" { type = string }
variable "number" { type = number }
variable "text" { type = string }
variable "deep" { type = any }
variable "public" { type = string }

locals {
  all = [var.commented, var.listed, var.one_line, var.db_pass, var.number, var.text, var.deep]
}

resource "terraform_data" "printed" {
  input = { public = var.public, all = local.all, encoded = base64encode(jsonencode(local.all)) }

  provisioner "local-exec" {
    command = "echo \"$PUBLIC $ALL\"; echo \"$PUBLIC $PLAIN\""
    environment = {
      PUBLIC = var.public
      ALL    = jsonencode(local.all)
      PLAIN  = join(" ", [var.commented, var.listed[0], var.listed[1], var.one_line.user, var.one_line.nested.key, var.db_pass, var.number, var.text, var.deep[0].a[0]])
    }
  }
}

check "printed" {
  assert {
    condition     = var.public == ""
    error_message = "${var.public} ${jsonencode(local.all)} pass=${var.db_pass}"
  }
}

output "all" {
  value     = local.all
  sensitive = true
}
"#;

pub(super) async fn play(stage: &Stage) -> anyhow::Result<()> {
    let victim = &stage.victim;
    victim
        .secret("variables", json!({"hcl": HCL, "json": JSON}))
        .await?;
    let key = |key: &str| json!({"namespace": VICTIM, "name": "variables", "key": key});
    let more = json!({"spec": {"forProvider": {
        "vars": [{"key": "public", "value": PUBLIC}],
        "varFiles": [
            {"source": "SecretKey", "secretKeyRef": key("hcl"), "format": "HCL"},
            {"source": "SecretKey", "secretKeyRef": key("json"), "format": "JSON"},
        ],
    }}});
    victim.workspace("secretive", MODULE, more).await?;
    let workspace = victim.until_run("secretive").await?;
    // The values reached Terraform.
    let outputs = victim.read("secretive-outputs").await?;
    let outputs = outputs.get("all").context("there is no output")?;
    let missing: Vec<_> = HIDDEN.iter().filter(|value| !outputs.contains(**value)).collect();
    ensure!(missing.is_empty(), "Terraform has no {missing:?}: {outputs}");

    let viewer = accounts::viewer(&stage.admin, &stage.kubeconfig()).await?;
    let secrets = viewer.get(SECRET, VICTIM, "variables").await;
    ensure!(is_forbidden(&secrets), "the viewer reads Secrets");
    let mut texts = vec![workspace.to_string()];
    for kind in [CONFIG_MAP, CORE_EVENT] {
        let objects = viewer.list(kind, VICTIM).await?;
        texts.extend(objects.iter().map(Value::to_string));
    }
    let log = texts
        .iter()
        .find(|text| text.contains(PUBLIC) && text.contains("log"));
    ensure!(log.is_some(), "the viewer sees no log of it: {texts:?}");
    for value in HIDDEN {
        for form in [(*value).to_owned(), STANDARD.encode(value)] {
            let place = texts.iter().find(|text| text.contains(&form));
            ensure!(place.is_none(), "the viewer sees {form} in {place:?}");
        }
    }
    Ok(())
}
