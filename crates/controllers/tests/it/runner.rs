//! Plays the part of whoever runs Terraform, as provider-terraform does: it holds a Workspace by a finalizer, does what
//! management policies allow and nothing else, and keeps a book of what exists and what was destroyed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capt_api::foreign::marks;
use capt_testkit::Process;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{WatchStreamExt as _, watcher},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::controlplane;

/// What exists, and what was destroyed.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Book>>, Arc<Notify>);

#[derive(Default)]
struct Book {
    /// Infrastructure by the name that its state is kept under, and the module that it was made from.
    exists: BTreeMap<String, String>,
    destroyed: Vec<String>,
    /// Everything that was ever made, as often as it was.
    made: Vec<String>,
    /// What keeps Terraform from making anything, if anything does.
    obstacle: Option<Obstacle>,
    /// What modules of EKS clusters say otherwise than usual.
    sayings: BTreeMap<String, Value>,
    /// What they say in secret only.
    hidden: BTreeSet<&'static str>,
    /// Versions of Kubernetes that EKS clusters were brought to, in order.
    versions: Vec<String>,
}

/// What keeps Terraform from making anything.
#[derive(Clone)]
pub(crate) enum Obstacle {
    /// It takes and takes.
    Slowness,
    /// It takes and takes with everything that is not there yet.
    SlownessWithNews,
    /// It fails, and says this.
    Trouble(&'static str),
    /// It fails with everything that is not there yet, and says this.
    TroubleWithNews(&'static str),
    /// It makes everything, but writes no Secret.
    NoSecret,
    /// It makes everything, but the id of the VPC is a number.
    WrongOutputs,
}

impl Ledger {
    /// The names of what exists.
    pub(crate) fn exists(&self) -> Vec<String> {
        self.0.lock().exists.keys().cloned().collect()
    }

    /// The names of what was destroyed.
    pub(crate) fn destroyed(&self) -> Vec<String> {
        self.0.lock().destroyed.clone()
    }

    /// Everything that was ever made, as often as it was.
    pub(crate) fn made(&self) -> Vec<String> {
        self.0.lock().made.clone()
    }

    /// Puts an obstacle in the way of Terraform, or takes it away.
    pub(crate) fn obstruct(&self, obstacle: Option<Obstacle>) {
        self.0.lock().obstacle = obstacle;
        self.1.notify_waiters();
    }

    /// Lets modules of EKS clusters say something else than usual. Null is nothing.
    pub(crate) fn say(&self, output: &str, value: Value) {
        self.0.lock().sayings.insert(output.to_owned(), value);
        self.1.notify_waiters();
    }

    /// Lets modules of EKS clusters say something in their connection Secret only.
    pub(crate) fn hide(&self, output: &'static str) {
        self.0.lock().hidden.insert(output);
        self.1.notify_waiters();
    }

    /// Versions of Kubernetes that EKS clusters were brought to, in order.
    pub(crate) fn versions(&self) -> Vec<String> {
        self.0.lock().versions.clone()
    }

    /// The module that something was made from.
    pub(crate) fn module(&self, name: &str) -> String {
        self.0.lock().exists.get(name).cloned().unwrap_or_default()
    }
}

/// The resource of Workspaces of a group.
pub(crate) fn resource(group: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1beta1", "Workspace"))
}

/// Runs Workspaces of both groups that belong to the namespace of the process.
pub(crate) async fn run(process: Process, ledger: Ledger) {
    let (namespaced, cluster_scoped) = (resource("tf.m.upbound.io"), resource("tf.upbound.io"));
    let in_namespace: Api<DynamicObject> =
        Api::namespaced_with(process.client.clone(), &process.namespace, &namespaced);
    let everywhere: Api<DynamicObject> = Api::all_with(process.client.clone(), &cluster_scoped);
    tokio::join!(
        follow(&process, &ledger, in_namespace),
        follow(&process, &ledger, everywhere)
    );
}

async fn follow(process: &Process, ledger: &Ledger, api: Api<DynamicObject>) {
    let events = watcher(api.clone(), watcher::Config::default())
        .default_backoff()
        .applied_objects();
    let mut events = std::pin::pin!(events);
    loop {
        let workspaces = tokio::select! {
            event = events.next() => match event {
                Some(Ok(workspace)) => vec![workspace],
                Some(Err(_)) => continue,
                None => return,
            },
            () = ledger.1.notified() => {
                let all = api.list(&ListParams::default()).await;
                all.map(|all| all.items).unwrap_or_default()
            }
        };
        for workspace in workspaces {
            let of = workspace.labels().get(capt_api::marks::WTA_NAMESPACE);
            if of.is_none_or(|namespace| *namespace == process.namespace) {
                // What changed meanwhile comes again by the watch.
                let _ = act(process, ledger, &api, workspace).await;
            }
        }
    }
}

async fn act(
    process: &Process,
    ledger: &Ledger,
    api: &Api<DynamicObject>,
    workspace: DynamicObject,
) -> kube::Result<()> {
    let name = workspace.name_any();
    let everything = json!(["*"]);
    let policies = workspace
        .data
        .pointer("/spec/managementPolicies")
        .unwrap_or(&everything);
    let allows = |policy: &str| {
        policies
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one == policy || one == "*")
    };
    let annotation = |name: &str| workspace.annotations().get(name).map(String::as_str);
    let external_name = annotation(marks::EXTERNAL_NAME).unwrap_or(&name).to_owned();
    let is_paused = *policies == json!([]) || annotation(marks::CROSSPLANE_PAUSED) == Some("true");
    if is_paused {
        return report(
            process,
            api,
            &workspace,
            &[("Synced", "False", "ReconcilePaused", "")],
            None,
        )
        .await;
    }
    let is_held = workspace
        .finalizers()
        .iter()
        .any(|held| held == marks::CROSSPLANE_FINALIZER);
    if workspace.metadata.deletion_timestamp.is_some() {
        if is_held {
            let is_orphan = workspace.data.pointer("/spec/deletionPolicy") == Some(&json!("Orphan"));
            if allows("Delete") && !is_orphan {
                let mut book = ledger.0.lock();
                if book.exists.remove(&external_name).is_some() {
                    book.destroyed.push(external_name);
                }
            }
            let rest: Vec<&String> = workspace
                .finalizers()
                .iter()
                .filter(|held| *held != marks::CROSSPLANE_FINALIZER)
                .collect();
            set_finalizers(api, &workspace, &json!(rest)).await?;
        }
        return Ok(());
    }
    if !is_held {
        let mut all = workspace.finalizers().to_vec();
        all.push(marks::CROSSPLANE_FINALIZER.to_owned());
        return set_finalizers(api, &workspace, &json!(all)).await;
    }
    let module = workspace.data.pointer("/spec/forProvider/module");
    let module = module.and_then(Value::as_str).unwrap_or_default().to_owned();
    let obstacle = ledger.0.lock().obstacle.clone();
    match obstacle {
        Some(Obstacle::SlownessWithNews | Obstacle::TroubleWithNews(_))
            if ledger.module(&external_name) == module => {}
        Some(Obstacle::Slowness | Obstacle::SlownessWithNews) => {
            let slow = [("Ready", "False", "Creating", "")];
            return report(process, api, &workspace, &slow, None).await;
        }
        Some(Obstacle::Trouble(message) | Obstacle::TroubleWithNews(message)) => {
            let failed = [("Synced", "False", "ReconcileError", message)];
            return report(process, api, &workspace, &failed, None).await;
        }
        Some(Obstacle::NoSecret | Obstacle::WrongOutputs) | None => {}
    }
    let of_eks = {
        let book = ledger.0.lock();
        controlplane::outputs(&module, &book.sayings, &book.hidden)
    };
    if allows("Create") {
        let mut book = ledger.0.lock();
        let version = of_eks
            .as_ref()
            .and_then(|(plain, _)| plain["cluster_version"].as_str());
        if let Some(version) = version
            && book.versions.last().map(String::as_str) != Some(version)
        {
            book.versions.push(version.to_owned());
        }
        if book.exists.insert(external_name.clone(), module).is_none() {
            book.made.push(external_name.clone());
        }
    }
    let vpc_id = match obstacle {
        Some(Obstacle::WrongOutputs) => json!(7),
        _ => json!("vpc-1"),
    };
    let of_network = json!({
        "name": external_name,
        "vpc_id": vpc_id,
        "private_subnets": ["subnet-a", "subnet-b"],
        "availability_zones": ["eu-central-1b", "eu-central-1a"],
    });
    let (outputs, hidden) = of_eks.unwrap_or((of_network, json!({})));
    if obstacle.is_none() {
        let mut all = outputs.clone();
        all.as_object_mut()
            .unwrap()
            .extend(hidden.as_object().unwrap().clone());
        write_secret(process, &workspace, &all).await?;
    }
    let done = [
        ("Synced", "True", "ReconcileSuccess", ""),
        ("Ready", "True", "Available", ""),
    ];
    report(process, api, &workspace, &done, Some(outputs)).await
}

/// Writes the outputs where the Workspace says, as provider-terraform does: texts as they are, all else as JSON.
async fn write_secret(process: &Process, workspace: &DynamicObject, outputs: &Value) -> kube::Result<()> {
    let Some(reference) = workspace.data.pointer("/spec/writeConnectionSecretToRef") else {
        return Ok(());
    };
    let name = reference["name"].as_str().unwrap();
    let namespace = reference["namespace"].as_str().unwrap_or(&process.namespace);
    let texts: BTreeMap<&String, String> = outputs
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| {
            (
                name,
                value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            )
        })
        .collect();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": texts,
    });
    let api: Api<Secret> = Api::namespaced(process.client.clone(), namespace);
    let parameters = PatchParams::apply("runner").force();
    api.patch(name, &parameters, &Patch::Apply(&secret)).await?;
    Ok(())
}

async fn set_finalizers(
    api: &Api<DynamicObject>,
    workspace: &DynamicObject,
    finalizers: &Value,
) -> kube::Result<()> {
    let patch = json!({"metadata": {
        "resourceVersion": workspace.resource_version(),
        "finalizers": finalizers,
    }});
    api.patch(
        &workspace.name_any(),
        &PatchParams::default(),
        &Patch::Merge(&patch),
    )
    .await?;
    Ok(())
}

async fn report(
    process: &Process,
    api: &Api<DynamicObject>,
    workspace: &DynamicObject,
    conditions: &[(&str, &str, &str, &str)],
    outputs: Option<Value>,
) -> kube::Result<()> {
    let generation = workspace.metadata.generation;
    let before = workspace.data.pointer("/status/conditions");
    let mut all = before.and_then(Value::as_array).cloned().unwrap_or_default();
    let told = workspace.data.pointer("/status/atProvider/outputs");
    let mut is_news = outputs.is_some() && told != outputs.as_ref();
    for (type_, status, reason, message) in conditions {
        let same = all.iter().any(|old| {
            old["type"] == *type_
                && old["status"] == *status
                && old["reason"] == *reason
                && old["observedGeneration"] == json!(generation)
        });
        if !same {
            is_news = true;
            all.retain(|old| old["type"] != *type_);
            all.push(json!({
                "type": type_, "status": status, "reason": reason, "message": message,
                "observedGeneration": generation,
                "lastTransitionTime": process.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            }));
        }
    }
    let told = workspace.data.pointer("/status/atProvider/outputs");
    is_news |= outputs.is_some() && outputs.as_ref() != told;
    if is_news {
        let mut status = json!({"conditions": all});
        if let Some(mut outputs) = outputs {
            for name in told
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(name, _)| name)
            {
                if outputs.get(name).is_none() {
                    outputs[name] = Value::Null;
                }
            }
            status["atProvider"] = json!({"outputs": outputs});
        }
        let patch = json!({"metadata": {"resourceVersion": workspace.resource_version()}, "status": status});
        api.patch_status(
            &workspace.name_any(),
            &PatchParams::default(),
            &Patch::Merge(&patch),
        )
        .await?;
    }
    Ok(())
}
