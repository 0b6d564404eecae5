//! What someone with rights in one namespace does there.

use std::collections::BTreeMap;
use std::io::Read as _;

use anyhow::{Context, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::marks;
use flate2::read::GzDecoder;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::kinds::{APPLY, OF_A_NAMESPACE, SECRET, TEMPLATE, WORKSPACE};
use super::stage::RUNNER;
use crate::objects::{self, Kind, Objects, condition, name};

/// A module that makes one thing, of which only its state tells.
pub(super) const THING: &str = r#"
resource "terraform_data" "thing" { input = "thing" }
output "id" { value = terraform_data.thing.id }
"#;

/// Someone who works in a namespace.
#[derive(Clone)]
pub(super) struct Tenant {
    pub(super) objects: Objects,
    pub(super) namespace: String,
}

impl Tenant {
    /// Someone who works in a namespace with this client.
    pub(super) fn new(objects: &Objects, namespace: &str) -> Self {
        Self {
            objects: objects.clone(),
            namespace: namespace.to_owned(),
        }
    }

    /// Makes an object.
    pub(super) async fn create(&self, kind: Kind, object: Value) -> anyhow::Result<Value> {
        self.objects.create(kind, &self.namespace, object).await
    }

    /// Makes a Secret.
    pub(super) async fn secret(&self, name: &str, data: Value) -> anyhow::Result<()> {
        let secret = json!({"metadata": {"name": name}, "stringData": data});
        self.create(SECRET, secret).await?;
        Ok(())
    }

    /// Makes a WorkspaceTemplate around a module. `spec` is merged into the spec of its Workspaces.
    pub(super) async fn template(&self, name: &str, module: &str, spec: Value) -> anyhow::Result<()> {
        let mut inner = json!({"forProvider": {"source": "Inline", "module": module}});
        objects::merge(&mut inner, spec);
        let template = json!({"metadata": {"name": name}, "spec": {"template": {"spec": inner}}});
        self.create(TEMPLATE, template).await?;
        Ok(())
    }

    /// Makes a WorkspaceTemplateApply of a template; its outputs go to the Secret `NAME-outputs`. `more` is merged into it.
    pub(super) async fn apply(&self, name: &str, template: &str, more: Value) -> anyhow::Result<()> {
        let mut apply = json!({
            "metadata": {"name": name},
            "spec": {
                "templateRef": {"name": template},
                "writeConnectionSecretToRef": {"name": format!("{name}-outputs")},
            },
        });
        objects::merge(&mut apply, more);
        self.create(APPLY, apply).await?;
        Ok(())
    }

    /// Makes a Workspace for the runner; its outputs go to the Secret `NAME-outputs`. `more` is merged into it.
    pub(super) async fn workspace(&self, name: &str, module: &str, more: Value) -> anyhow::Result<()> {
        let mut workspace = json!({
            "metadata": {"name": name, "labels": {marks::RUNNER: RUNNER}},
            "spec": {
                "forProvider": {"source": "Inline", "module": module},
                "writeConnectionSecretToRef": {"name": format!("{name}-outputs")},
            },
        });
        objects::merge(&mut workspace, more);
        self.create(WORKSPACE, workspace).await?;
        Ok(())
    }

    /// Changes an object.
    pub(super) async fn change(&self, kind: Kind, name: &str, patch: Value) -> anyhow::Result<()> {
        self.objects.change(kind, &self.namespace, name, &patch).await
    }

    /// Changes the status of an object.
    pub(super) async fn change_status(&self, kind: Kind, name: &str, status: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({"status": status}));
        self.objects
            .api(kind, &self.namespace)
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .with_context(|| format!("changing the status of the {} {name}", kind.name()))?;
        Ok(())
    }

    /// Annotates an object.
    pub(super) async fn annotate(
        &self,
        kind: Kind,
        name: &str,
        mark: &str,
        value: &str,
    ) -> anyhow::Result<()> {
        self.change(kind, name, json!({"metadata": {"annotations": {mark: value}}}))
            .await
    }

    /// Deletes an object.
    pub(super) async fn delete(&self, kind: Kind, name: &str) -> anyhow::Result<()> {
        self.objects.delete(kind, &self.namespace, name).await
    }

    /// An object, if it exists.
    pub(super) async fn get(&self, kind: Kind, name: &str) -> anyhow::Result<Option<Value>> {
        self.objects.get(kind, &self.namespace, name).await
    }

    /// Waits until something is true of an object.
    pub(super) async fn until(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        self.objects.until(kind, &self.namespace, name, what, is_so).await
    }

    /// Waits until an object is gone.
    pub(super) async fn until_gone(&self, kind: Kind, name: &str) -> anyhow::Result<()> {
        self.objects.until_gone(kind, &self.namespace, name).await
    }

    /// Waits until a condition has this status and reason, written as `False/OtherNamespace`.
    pub(super) async fn until_condition(
        &self,
        kind: Kind,
        name: &str,
        type_: &str,
        expected: &str,
    ) -> anyhow::Result<Value> {
        self.until(kind, name, &format!("{type_} is {expected}"), |object| {
            has_condition(object, type_, expected)
        })
        .await
    }

    /// Waits until Terraform has made what a WorkspaceTemplateApply asks for.
    pub(super) async fn until_applied(&self, name: &str) -> anyhow::Result<Value> {
        self.until(APPLY, name, "it is ready", is_applied).await
    }

    /// Waits until Terraform has made what a Workspace asks for.
    pub(super) async fn until_run(&self, name: &str) -> anyhow::Result<Value> {
        self.until(WORKSPACE, name, "it is ready", is_run).await
    }

    /// The message of the refusal of a Workspace, once the runner refuses it for this reason.
    pub(super) async fn until_refused(&self, name: &str, reason: &str) -> anyhow::Result<String> {
        let workspace = self
            .until_condition(WORKSPACE, name, "Failing", &format!("True/{reason}"))
            .await?;
        let failing = condition(&workspace, "Failing").unwrap_or(&Value::Null);
        Ok(failing["message"].as_str().unwrap_or_default().to_owned())
    }

    /// What a Secret has, decoded.
    pub(super) async fn read(&self, secret: &str) -> anyhow::Result<BTreeMap<String, String>> {
        let found = self.get(SECRET, secret).await?;
        Ok(decoded(&found.with_context(|| {
            format!("there is no Secret {}/{secret}", self.namespace)
        })?))
    }

    /// The Secret with the state of a Workspace, by its annotation.
    pub(super) async fn state(&self, group_namespace_name: &str) -> anyhow::Result<Value> {
        let mut states = self.objects.list(SECRET, &self.namespace).await?;
        states.retain(|secret| secret["metadata"]["annotations"][marks::STATE_OF] == group_namespace_name);
        ensure!(
            states.len() == 1,
            "{} Secrets in {} hold the state of {group_namespace_name}",
            states.len(),
            self.namespace
        );
        let state = states.swap_remove(0);
        Ok(state["data"].clone())
    }

    /// Everything that can be read in the namespace, as one text: what it would take to find a stolen value.
    pub(super) async fn everything(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        for kind in OF_A_NAMESPACE {
            for object in self.objects.list(*kind, &self.namespace).await? {
                text += &format!("\n{} {}: {object}", kind.name(), name(&object));
                if *kind == SECRET {
                    text += &format!(" {:?}", decoded(&object));
                }
            }
        }
        Ok(text)
    }

    /// Fails if a value can be found anywhere in the namespace.
    pub(super) async fn check_absent(&self, value: &str) -> anyhow::Result<()> {
        let everything = self.everything().await?;
        let place = everything.lines().find(|line| {
            [value.to_owned(), STANDARD.encode(value)]
                .iter()
                .any(|text| line.contains(text.as_str()))
        });
        ensure!(
            place.is_none(),
            "{value} is in the namespace {}: {}",
            self.namespace,
            place.unwrap_or_default().chars().take(600).collect::<String>()
        );
        Ok(())
    }

    /// Fails unless a value can be found in the namespace, so that not finding another one means something.
    pub(super) async fn check_present(&self, value: &str) -> anyhow::Result<()> {
        ensure!(
            self.everything().await?.contains(value),
            "{value} is not in the namespace {}",
            self.namespace
        );
        Ok(())
    }
}

/// Whether a condition has this status and reason, written as `False/OtherNamespace`.
pub(super) fn has_condition(object: &Value, type_: &str, expected: &str) -> bool {
    condition(object, type_).is_some_and(|condition| {
        let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("status"), text("reason")) == expected
    })
}

/// Whether Terraform has made what a WorkspaceTemplateApply asks for.
pub(super) fn is_applied(apply: &Value) -> bool {
    let status = &apply["status"];
    status["applied"] == true
        && status["readyRevision"].is_string()
        && status["readyRevision"] == status["lastAppliedRevision"]
        && status["observedGeneration"] == apply["metadata"]["generation"]
}

/// Whether Terraform has made what a Workspace asks for.
pub(super) fn is_run(workspace: &Value) -> bool {
    ["Synced", "Ready"].iter().all(|type_| {
        condition(workspace, type_).is_some_and(|condition| {
            condition["status"] == "True"
                && condition["observedGeneration"] == workspace["metadata"]["generation"]
        })
    })
}

/// What a Secret has, decoded, and unpacked where it is packed.
fn decoded(secret: &Value) -> BTreeMap<String, String> {
    let data = secret["data"].as_object().into_iter().flatten();
    data.map(|(key, value)| {
        let bytes = STANDARD
            .decode(value.as_str().unwrap_or_default())
            .unwrap_or_default();
        let mut unpacked = String::new();
        let text = match GzDecoder::new(bytes.as_slice()).read_to_string(&mut unpacked) {
            Ok(_) => unpacked,
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        (key.clone(), text)
    })
    .collect()
}
