//! A bare writer: it knows what every object will be in the end, and issues only the writes without which it cannot come
//! to that by the rules. It reads nothing, watches nothing and decides nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::fleet::{self, NAMESPACE, collection, post};
use crate::bench::connection::{Connection, Target};
use crate::objects::{Kind, Objects, kind};

/// The kinds that a cluster consists of, in the order in which its objects come to be.
const KINDS: [Kind; 8] = [
    fleet::CLUSTER,
    kind(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "CAPTCluster",
        "captclusters",
    ),
    kind(
        "controlplane.cluster.x-k8s.io",
        "v1beta1",
        "CAPTControlPlane",
        "captcontrolplanes",
    ),
    kind(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "WorkspaceTemplateApply",
        "workspacetemplateapplies",
    ),
    fleet::WORKSPACE,
    kind("", "v1", "Secret", "secrets"),
    kind("", "v1", "ConfigMap", "configmaps"),
    kind("coordination.k8s.io", "v1", "Lease", "leases"),
];

/// A write after the creation of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    /// Of metadata, spec or data.
    Own,
    /// Of the status.
    Status,
}

/// What has to be written on an object after its creation, because others have to see the one before the other, or
/// because another one writes it.
///
/// Something is on this list only if the objects could not come to be what they are without it, by the rules of Cluster
/// API, Crossplane and capt, whoever wrote it. A status is on it where a condition becomes true, or where it is said for the
/// first time what happens: who makes something for twenty minutes has to say so. Progress, reasons and other words are
/// not on it, and neither are events.
fn more(kind: &str, name: &str) -> &'static [More] {
    use More::{Own, Status};
    match kind {
        // The finalizer, before anything is owned; that it is being made; that the infrastructure is there, which the
        // control plane waits for; the address, in the spec; that the control plane is there.
        "Cluster" => &[Own, Status, Status, Own, Status],
        // The owner, which only the Cluster's controller writes; the finalizer and the name of what makes the network,
        // before that is made; that it is being made; that it is there; the Cluster's address, which is known last.
        "CAPTCluster" => &[Own, Own, Status, Status, Status],
        // The owner; the finalizer and the name of what makes it; that it waits for the network; that it is being made;
        // the address, in the spec as the contract has it; that it is there.
        "CAPTControlPlane" => &[Own, Own, Status, Status, Own, Status],
        // The finalizer and the name of the Workspace, before that is made; that it was made; that it is ready.
        "WorkspaceTemplateApply" => &[Own, Status, Status],
        // The runner's finalizer, before anything else; that something is about to be made, without which a crash would
        // make it twice, and the status that says so; that it was made, and the status with what it is.
        "Workspace" => &[Own, Own, Status, Own, Status],
        // It is made when an operation begins, so that a crash is noticed; how the operation ended.
        "ConfigMap" if name.ends_with("-run") => &[Own],
        // It is made before the Workspace; that what it says was reached once, so that a missing input changes nothing.
        "Secret" if name.ends_with("-rendering") => &[Own],
        // The lock is taken, and given back.
        "Lease" => &[Own],
        _ => &[],
    }
}

/// The objects of one cluster, as they are in the end.
pub(super) struct Sample(Vec<Value>);

impl Sample {
    /// Takes the objects of the first cluster as an example of all.
    pub(super) async fn take(objects: &Objects) -> anyhow::Result<Self> {
        let mut found = Vec::new();
        for kind in KINDS {
            for mut object in objects.list(kind, NAMESPACE).await? {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                if name.contains(&fleet::name(0)) {
                    object["apiVersion"] = json!(kind.api_version());
                    found.push(object);
                }
            }
        }
        ensure!(
            found.len() >= 12,
            "a cluster has more than these objects: {}",
            found.len()
        );
        Ok(Self(found))
    }

    /// How many writes one cluster needs, without leases.
    pub(super) fn writes(&self) -> usize {
        let counted = self.0.iter().filter(|object| object["kind"] != "Lease");
        counted
            .map(|object| 1 + more(kind_of(object), name_of(object)).len())
            .sum()
    }

    /// The requests for one cluster, each once and in order.
    fn requests(&self, number: usize, anchor: &Value) -> anyhow::Result<Vec<Write>> {
        let mut writes = Vec::new();
        for object in &self.0 {
            let text = object.to_string().replace(&fleet::name(0), &fleet::name(number));
            let object: Value = serde_json::from_str(&text)?;
            writes.extend(history(&object, anchor)?);
        }
        Ok(writes)
    }
}

fn kind_of(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// A request.
struct Write {
    method: Method,
    path: String,
    body: Bytes,
}

/// The writes that lead to an object.
fn history(object: &Value, anchor: &Value) -> anyhow::Result<Vec<Write>> {
    let collection = collection(object)?;
    let place = format!("{collection}/{}", name_of(object));
    let mut created = object.clone();
    let status = created.as_object_mut().and_then(|fields| fields.remove("status"));
    let metadata = created["metadata"]
        .as_object_mut()
        .context("an object has metadata")?;
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "finalizers",
    ] {
        metadata.remove(field);
    }
    if metadata.contains_key("ownerReferences") {
        // Owners have other identities here, and what has no owner is collected.
        metadata.insert("ownerReferences".to_owned(), json!([anchor]));
    }
    let mut writes = vec![Write {
        method: Method::POST,
        path: collection,
        body: created.to_string().into(),
    }];
    for (number, more) in more(kind_of(object), name_of(object)).iter().enumerate() {
        let (path, patch) = match more {
            More::Own => {
                let marks = json!({"annotations": {"bench/step": number.to_string()}});
                (place.clone(), json!({"metadata": marks}))
            }
            More::Status => {
                let mut status = status.clone().unwrap_or_default();
                // Each differs from the one before, as it would.
                for condition in status["conditions"].as_array_mut().into_iter().flatten() {
                    condition["lastTransitionTime"] = json!(format!("2026-01-01T00:00:0{number}Z"));
                }
                (format!("{place}/status"), json!({"status": status}))
            }
        };
        writes.push(Write {
            method: Method::PATCH,
            path,
            body: patch.to_string().into(),
        });
    }
    Ok(writes)
}

/// Writes so many clusters by so many connections, and tells how long that took.
pub(super) async fn write(
    target: &Target,
    sample: &Arc<Sample>,
    connections: usize,
    clusters: usize,
) -> anyhow::Result<Duration> {
    let anchor = Arc::new(anchor(&mut target.connect().await?).await?);
    let next = Arc::new(AtomicUsize::new(0));
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(target.connect().await?);
    }
    let mut tasks = JoinSet::new();
    let started = Instant::now();
    for mut connection in open {
        let (sample, anchor, next) = (sample.clone(), anchor.clone(), next.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= clusters {
                    return anyhow::Ok(());
                }
                for write in sample.requests(number, &anchor)? {
                    connection
                        .call(write.method, &write.path, Some(write.body))
                        .await?;
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(started.elapsed())
}

/// An object that owns everything, so that nothing is collected.
async fn anchor(connection: &mut Connection) -> anyhow::Result<Value> {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "anchor", "namespace": NAMESPACE},
    });
    post(connection, &map).await?;
    let path = format!("{}/anchor", collection(&map)?);
    let made = connection.call(Method::GET, &path, None).await?;
    let made: Value = serde_json::from_slice(&made)?;
    Ok(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor", "uid": made["metadata"]["uid"]}))
}
