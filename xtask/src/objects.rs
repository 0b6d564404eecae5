//! The objects of an API, as plain documents, and waiting for what should become of them.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::StreamExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use serde_json::{Value, json};

/// How long anything may take. Terraform is slow when several of them share two processors.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
}

/// A kind, by group, version, name and plural.
pub(crate) const fn kind(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Kind {
    Kind {
        group,
        version,
        kind,
        plural,
    }
}

impl Kind {
    /// What a client has to know about it.
    pub(crate) fn resource(self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// The group.
    pub(crate) fn group(self) -> &'static str {
        self.group
    }

    /// Group and version.
    pub(crate) fn api_version(self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The name of its CustomResourceDefinition.
    pub(crate) fn definition(self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Its name in `kind`.
    pub(crate) fn name(self) -> &'static str {
        self.kind
    }
}

/// The objects of an API.
#[derive(Clone)]
pub(crate) struct Objects {
    pub(crate) client: kube::Client,
}

impl Objects {
    /// The objects of a kind, in a namespace or in none.
    pub(crate) fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        let resource = kind.resource();
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    /// Makes an object.
    pub(crate) async fn create(
        &self,
        kind: Kind,
        namespace: &str,
        mut object: Value,
    ) -> anyhow::Result<Value> {
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.name());
        let object: DynamicObject = serde_json::from_value(object)?;
        let made = self
            .api(kind, namespace)
            .create(&PostParams::default(), &object)
            .await;
        Ok(serde_json::to_value(
            made.with_context(|| format!("making a {}", kind.name()))?,
        )?)
    }

    /// Changes an object by a merge patch.
    pub(crate) async fn change(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> anyhow::Result<()> {
        self.api(kind, namespace)
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("changing the {} {name}", kind.name()))?;
        Ok(())
    }

    /// Asks for the deletion of an object, as somebody else would.
    pub(crate) async fn delete(&self, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<()> {
        self.delete_with(kind, namespace, name, &DeleteParams::background())
            .await
    }

    /// Like [`Self::delete`], with parameters.
    pub(crate) async fn delete_with(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        parameters: &DeleteParams,
    ) -> anyhow::Result<()> {
        self.api(kind, namespace)
            .delete(name, parameters)
            .await
            .with_context(|| format!("deleting the {} {name}", kind.name()))?;
        Ok(())
    }

    /// An object, if it exists.
    pub(crate) async fn get(&self, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
        let found = self.api(kind, namespace).get_opt(name).await?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// All objects of a kind in a namespace.
    pub(crate) async fn list(&self, kind: Kind, namespace: &str) -> anyhow::Result<Vec<Value>> {
        let found = self
            .api(kind, namespace)
            .list(&ListParams::default())
            .await
            .with_context(|| format!("listing {}s", kind.name()))?;
        found
            .items
            .into_iter()
            .map(|object| {
                let mut object = serde_json::to_value(object)?;
                // Items of a list need not tell their kind.
                object["kind"] = json!(kind.name());
                Ok(object)
            })
            .collect()
    }

    /// Waits until something is true of an object, and gives that object.
    pub(crate) async fn until(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let found = self
            .until_seen(kind, namespace, name, what, |object| object.is_some_and(&is_so))
            .await?;
        found.with_context(|| format!("the {} {name} is gone", kind.name()))
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, kind: Kind, namespace: &str, name: &str) -> anyhow::Result<()> {
        self.until_seen(kind, namespace, name, "it is gone", |object| object.is_none())
            .await?;
        Ok(())
    }

    /// Waits until something is true of an object or of its absence.
    pub(crate) async fn until_seen(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        what: &str,
        is_so: impl Fn(Option<&Value>) -> bool,
    ) -> anyhow::Result<Option<Value>> {
        let mut last = None;
        let watching = async {
            let mut seen = pin!(watcher::watch_object(self.api(kind, namespace), name));
            while let Some(object) = seen.next().await {
                // A broken watch is taken up again by itself.
                let Ok(object) = object else { continue };
                last = object.map(serde_json::to_value).transpose()?;
                if is_so(last.as_ref()) {
                    return Ok(());
                }
            }
            bail!("the watch ended")
        };
        match tokio::time::timeout(PATIENCE, watching).await {
            Ok(result) => {
                result?;
                Ok(last)
            }
            Err(_) => bail!(
                "{} {namespace}/{name}: after {PATIENCE:?} it is still not so that {what}; it is {}",
                kind.name(),
                last.as_ref().map_or_else(|| "not there".to_owned(), summary)
            ),
        }
    }
}

/// The condition of a type.
pub(crate) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == type_)
}

/// Whether a condition has this status.
pub(crate) fn is(object: &Value, type_: &str, status: &str) -> bool {
    condition(object, type_).is_some_and(|condition| condition["status"] == status)
}

/// The name of an object.
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// An object as it is told in a failure.
pub(crate) fn summary(object: &Value) -> String {
    let status = &object["status"];
    let conditions: Vec<String> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|condition| {
            let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
            let message: String = text("message").chars().take(300).collect();
            format!("{}={}/{} {message}", text("type"), text("status"), text("reason"))
        })
        .collect();
    let mut rest = status.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("conditions");
    }
    let metadata = &object["metadata"];
    format!(
        "generation {}, deleted {}, labels {}, annotations {}, finalizers {}, policies {}, conditions [{}], {rest}",
        metadata["generation"],
        metadata["deletionTimestamp"],
        metadata["labels"],
        metadata["annotations"],
        metadata["finalizers"],
        object["spec"]["managementPolicies"],
        conditions.join("; ")
    )
}

/// Puts one document into another, field by field.
pub(crate) fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}
