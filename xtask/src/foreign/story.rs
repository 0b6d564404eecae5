//! What most rules begin with: a namespace with its own place for state, a template and one filling of it.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::kinds::{APPLY, CONFIG, NAMESPACE, SECRET, TEMPLATE, WORKSPACE};
use super::ledger::Ledger;
use super::stage::Stage;
use crate::provider_terraform::{STATE_SUFFIX, backend};

/// The name of the template, of its filling and of whatever is made of it.
pub(super) const NAME: &str = "thing";
/// An output that must be seen only where it is asked for.
pub(super) const PASSWORD: &str = "correct-horse-battery-staple";

/// Makes one thing, and writes down that it was made or destroyed.
pub(super) const MODULE: &str = r#"
variable "ledger" { type = string }
variable "colour" { type = string }
variable "size" { type = string }
variable "seconds" { type = string }

resource "terraform_data" "thing" {
  input            = { ledger = var.ledger, colour = var.colour }
  triggers_replace = [var.size]

  provisioner "local-exec" {
    command = "echo made ${self.id} >> '${self.input.ledger}'; sleep ${var.seconds}"
  }

  provisioner "local-exec" {
    when    = destroy
    command = "echo gone ${self.id} >> '${self.input.ledger}'"
  }
}

output "id" { value = terraform_data.thing.id }
output "colour" { value = terraform_data.thing.output.colour }
output "password" {
  value     = "correct-horse-battery-staple"
  sensitive = true
}
"#;

/// One namespace in which a rule is played.
pub(super) struct Story<'a> {
    pub(super) stage: &'a Stage,
    pub(super) namespace: String,
    pub(super) ledger: Ledger,
}

impl<'a> Story<'a> {
    /// Makes the namespace and the template.
    pub(super) async fn begin(stage: &'a Stage, namespace: &str) -> anyhow::Result<Self> {
        Self::begin_with(stage, namespace, MODULE).await
    }

    /// Like [`Self::begin`], with another module.
    pub(super) async fn begin_with(stage: &'a Stage, namespace: &str, module: &str) -> anyhow::Result<Self> {
        let story = Self {
            stage,
            namespace: namespace.to_owned(),
            ledger: Ledger::new(&stage.folder, namespace)?,
        };
        stage
            .objects
            .create(NAMESPACE, "", json!({"metadata": {"name": namespace}}))
            .await?;
        let configuration = backend(&stage.kubeconfig, namespace, STATE_SUFFIX);
        let config = json!({
            "metadata": {"name": "default"},
            "spec": {"credentials": [], "configuration": configuration},
        });
        stage.objects.create(CONFIG, namespace, config).await?;
        stage
            .objects
            .create(TEMPLATE, namespace, template(module))
            .await?;
        Ok(story)
    }

    /// Fills the template. `more` is merged into the object.
    pub(super) async fn apply(&self, variables: &[(&str, &str)], more: Value) -> anyhow::Result<()> {
        let path = self.ledger.path();
        let mut all = BTreeMap::from([
            ("ledger", path.as_str()),
            ("colour", "red"),
            ("size", "small"),
            ("seconds", "0"),
        ]);
        all.extend(variables.iter().copied());
        let mut object = json!({
            "metadata": {"name": NAME},
            "spec": {
                "templateRef": {"name": NAME},
                "variables": all,
                "writeConnectionSecretToRef": {"name": "connection"},
            },
        });
        merge(&mut object, more);
        self.stage.objects.create(APPLY, &self.namespace, object).await?;
        Ok(())
    }

    /// Changes the filling.
    pub(super) async fn change(&self, patch: Value) -> anyhow::Result<()> {
        self.stage
            .objects
            .change(APPLY, &self.namespace, NAME, &patch)
            .await
    }

    /// Gives a variable another value.
    pub(super) async fn set(&self, variable: &str, value: &str) -> anyhow::Result<()> {
        self.change(json!({"spec": {"variables": {variable: value}}}))
            .await
    }

    /// Annotates the filling.
    pub(super) async fn annotate(&self, mark: &str, value: &str) -> anyhow::Result<()> {
        self.change(json!({"metadata": {"annotations": {mark: value}}}))
            .await
    }

    /// Waits until something is true of the filling.
    pub(super) async fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        self.stage
            .objects
            .until(APPLY, &self.namespace, NAME, what, is_so)
            .await
    }

    /// Waits until the Workspace has the newest rendering and Terraform has made it real.
    pub(super) async fn ready(&self) -> anyhow::Result<Value> {
        self.until("it is ready for this rendering", is_ready).await
    }

    /// The same, and this output has this value.
    pub(super) async fn ready_with(&self, output: &str, value: &str) -> anyhow::Result<Value> {
        self.until(&format!("it is ready with {output} = {value}"), |wta| {
            is_ready(wta) && wta["status"]["outputs"][output] == value
        })
        .await
    }

    /// The name of the Workspace.
    pub(super) async fn workspace_name(&self) -> anyhow::Result<String> {
        let wta = self
            .until("it has a Workspace", |wta| {
                wta["status"]["workspaceName"].is_string()
            })
            .await?;
        Ok(wta["status"]["workspaceName"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    /// Waits until something is true of the Workspace.
    pub(super) async fn until_workspace(
        &self,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let name = self.workspace_name().await?;
        self.stage
            .objects
            .until(WORKSPACE, &self.namespace, &name, what, is_so)
            .await
    }

    /// The Workspace as it is.
    pub(super) async fn workspace(&self) -> anyhow::Result<Value> {
        let name = self.workspace_name().await?;
        let found = self.stage.objects.get(WORKSPACE, &self.namespace, &name).await?;
        found.with_context(|| format!("the Workspace {name} is not there"))
    }

    /// The only Secret with state in the namespace that is not Terraform's own empty one.
    pub(super) async fn state(&self) -> anyhow::Result<Option<Value>> {
        let secrets = self.stage.objects.list(SECRET, &self.namespace).await?;
        let mut states = secrets.into_iter().filter(|secret| {
            let labels = &secret["metadata"]["labels"];
            labels["tfstate"] == "true" && labels["tfstateWorkspace"] != "default"
        });
        let first = states.next();
        ensure!(
            states.next().is_none(),
            "there is more than one state in {}",
            self.namespace
        );
        Ok(first)
    }

    /// Deletes the filling and waits until it is gone.
    pub(super) async fn end(&self) -> anyhow::Result<()> {
        self.stage.objects.delete(APPLY, &self.namespace, NAME).await?;
        self.stage.objects.until_gone(APPLY, &self.namespace, NAME).await
    }
}

/// Whether the Workspace has the newest rendering, and Terraform has made it real.
pub(super) fn is_ready(wta: &Value) -> bool {
    let status = &wta["status"];
    status["applied"] == true
        && status["readyRevision"].is_string()
        && status["readyRevision"] == status["lastAppliedRevision"]
        && status["observedGeneration"] == wta["metadata"]["generation"]
}

/// The template around a module.
pub(super) fn template(module: &str) -> Value {
    let filled = ["ledger", "colour", "size", "seconds"]
        .map(|name| json!({"key": name, "value": format!("${{{name}}}")}));
    json!({
        "metadata": {"name": NAME},
        "spec": {
            "variables": [
                {"name": "ledger", "required": true},
                {"name": "colour"},
                {"name": "size", "replaces": true},
                {"name": "seconds"},
            ],
            "template": {"spec": {
                "providerConfigRef": {"kind": "ProviderConfig", "name": "default"},
                "forProvider": {
                    "source": "Inline",
                    "module": module,
                    "vars": filled,
                },
            }},
        },
    })
}

/// Puts one document into another, field by field.
pub(super) fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}
