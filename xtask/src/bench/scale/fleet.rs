//! The clusters of the bench: what people write for one, and when each is ready.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use capt_api::foreign::cluster::ClusterStatus;
use capt_api::foreign::workspace::WorkspaceStatus;
use capt_api::lean::Document;
use capt_api::marks;
use futures::StreamExt as _;
use http::Method;
use kube::Api;
use kube::runtime::watcher::{self, Event};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::bench::connection::{Connection, Target};
use crate::objects::{Kind, Objects, kind};
use crate::workspace;

/// Where everything is.
pub(super) const NAMESPACE: &str = "default";
/// The templates that a newcomer uses, whose clusters exist in name only.
const TEMPLATES: &str = "examples/templates.yaml";
/// What the template of control planes calls the address of a cluster, which nobody would answer on.
const ADDRESS: &str = r#""https://${substr(sha256(var.cluster_name), 0, 16)}.${var.region}.sandbox.invalid""#;
/// How long nothing may get ready. All clusters go on together, so that it takes the longer the more there are.
const PATIENCE: Duration = Duration::from_secs(120);
const PATIENCE_FOR_EACH: Duration = Duration::from_millis(200);

pub(super) const CLUSTER: Kind = kind("cluster.x-k8s.io", "v1beta2", "Cluster", "clusters");
pub(super) const WORKSPACE: Kind = kind("tf.m.upbound.io", "v1beta1", "Workspace", "workspaces");

/// What a cluster is called.
pub(super) fn name(number: usize) -> String {
    format!("c{number:05}")
}

/// Makes the templates that all clusters share. Their addresses refuse connections at once, so that no name is looked
/// up.
pub(super) async fn templates(target: &Target) -> anyhow::Result<()> {
    let mut connection = target.connect().await?;
    for template in template_documents()? {
        post(&mut connection, &template).await?;
    }
    Ok(())
}

/// The templates.
pub(super) fn template_documents() -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(workspace::root().join(TEMPLATES))?;
    anyhow::ensure!(text.contains(ADDRESS), "{TEMPLATES} has another address by now");
    let text = text.replace(ADDRESS, r#""https://127.0.0.1:1""#);
    let mut templates = serde_saphyr::from_multiple::<Value>(&text)?;
    templates.retain(|template| template["metadata"]["name"] != "fargate-profile");
    Ok(templates)
}

/// What people write for one cluster.
pub(super) fn documents(name: &str) -> [Value; 3] {
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": name});
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    let (networks, control_planes) = ("infrastructure.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io");
    [
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata,
            "spec": {
                "infrastructureRef": reference(networks, "CAPTCluster"),
                "controlPlaneRef": reference(control_planes, "CAPTControlPlane"),
            },
        }),
        json!({
            "apiVersion": format!("{networks}/v1beta1"), "kind": "CAPTCluster", "metadata": metadata,
            "spec": {
                "region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"},
                "vpcConfig": {"cidr": "10.20.0.0/16", "availabilityZones": ["eu-central-1a", "eu-central-1b"]},
            },
        }),
        json!({
            "apiVersion": format!("{control_planes}/v1beta1"), "kind": "CAPTControlPlane", "metadata": metadata,
            "spec": {
                "version": "1.31", "workspaceTemplateRef": {"name": "eks"}, "endpointCheck": "Optional",
                "controlPlaneConfig": {"addons": [{"name": "coredns"}, {"name": "vpc-cni"}]},
            },
        }),
    ]
}

/// The address of the objects of a kind.
pub(super) fn collection(object: &Value) -> anyhow::Result<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).context("an object has a kind");
    let (version, kind) = (text(&object["apiVersion"])?, text(&object["kind"])?);
    let plural = match kind.as_str() {
        "WorkspaceTemplateApply" => "workspacetemplateapplies".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    let root = if version.contains('/') { "apis" } else { "api" };
    Ok(format!("/{root}/{version}/namespaces/{NAMESPACE}/{plural}"))
}

/// Makes an object.
pub(super) async fn post(connection: &mut Connection, object: &Value) -> anyhow::Result<()> {
    let body = Bytes::from(object.to_string());
    connection
        .call(Method::POST, &collection(object)?, Some(body))
        .await?;
    Ok(())
}

/// Makes clusters by so many connections, as fast as the server takes them.
pub(super) async fn make(
    target: &Target,
    connections: usize,
    numbers: std::ops::Range<usize>,
) -> anyhow::Result<()> {
    let next = Arc::new(AtomicUsize::new(numbers.start));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let mut connection = target.connect().await?;
        let next = next.clone();
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return anyhow::Ok(());
                }
                for document in documents(&name(number)) {
                    post(&mut connection, &document).await?;
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Makes clusters one after the other, so many in a second.
pub(super) async fn trickle(
    target: &Target,
    numbers: std::ops::Range<usize>,
    rate: f64,
) -> anyhow::Result<()> {
    let mut connection = target.connect().await?;
    let mut clock = tokio::time::interval(Duration::from_secs_f64(1.0 / rate));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    for number in numbers {
        clock.tick().await;
        for document in documents(&name(number)) {
            post(&mut connection, &document).await?;
        }
    }
    Ok(())
}

/// When things happened, by the names of clusters.
#[derive(Default)]
pub(super) struct Times {
    seen: Mutex<Seen>,
    news: Notify,
}

#[derive(Default)]
struct Seen {
    /// The Workspace of the control plane is ready.
    made: HashMap<String, Instant>,
    /// The Cluster is ready.
    ready: HashMap<String, Instant>,
}

impl Times {
    /// Watches Clusters, and Workspaces if they are wanted, from now on. The watches end with the tasks.
    pub(super) fn watch(objects: &Objects, with_workspaces: bool) -> (Arc<Self>, JoinSet<()>) {
        let times = Arc::new(Self::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(objects.clone(), CLUSTER, times.clone()));
        if with_workspaces {
            tasks.spawn(follow(objects.clone(), WORKSPACE, times.clone()));
        }
        (times, tasks)
    }

    fn note(&self, kind: Kind, object: &Document) {
        let now = Instant::now();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        if kind == CLUSTER {
            let status: Option<ClusterStatus> = object.status.read();
            let flags = status
                .and_then(|status| status.initialization)
                .unwrap_or_default();
            if flags.control_plane_initialized == Some(true) && flags.infrastructure_provisioned == Some(true)
            {
                self.seen.lock().ready.entry(name.to_owned()).or_insert(now);
                self.news.notify_waiters();
            }
            return;
        }
        let role = object.metadata.labels.iter().flatten();
        let is_control_plane = role
            .filter(|(label, _)| *label == marks::WTA_NAME)
            .any(|(_, wta)| wta.ends_with("-eks-controlplane-apply"));
        let is_ready = || {
            let status: Option<WorkspaceStatus> = object.status.read();
            let conditions = status.and_then(|status| status.conditions).unwrap_or_default();
            let mut ready = conditions.iter().filter(|condition| condition.type_ == "Ready");
            ready.any(|condition| condition.status == "True")
        };
        if is_control_plane
            && let Some((cluster, _)) = name.split_once('-')
            && is_ready()
        {
            self.seen.lock().made.entry(cluster.to_owned()).or_insert(now);
        }
    }

    /// Waits until these are ready, and tells when the last of them was.
    pub(super) async fn all_ready(&self, numbers: std::ops::Range<usize>) -> anyhow::Result<Instant> {
        let mut waiting: HashSet<String> = numbers.map(name).collect();
        let patience = PATIENCE + PATIENCE_FOR_EACH * u32::try_from(waiting.len()).unwrap_or(u32::MAX);
        let mut last = None;
        let mut progress = Instant::now();
        loop {
            let news = self.news.notified();
            let before = waiting.len();
            {
                let seen = self.seen.lock();
                waiting.retain(|name| match seen.ready.get(name) {
                    Some(at) => {
                        last = last.max(Some(*at));
                        false
                    }
                    None => true,
                });
            }
            if waiting.is_empty() {
                return last.context("there are no clusters to wait for");
            }
            if waiting.len() < before {
                progress = Instant::now();
            }
            if progress.elapsed() > patience {
                let some: Vec<&String> = waiting.iter().take(3).collect();
                bail!("{} clusters do not get ready, such as {some:?}", waiting.len());
            }
            let _ = tokio::time::timeout(Duration::from_millis(100), news).await;
        }
    }

    /// How long after its Workspace each of these Clusters was ready, in order.
    pub(super) fn delays(&self, numbers: std::ops::Range<usize>) -> Vec<Duration> {
        let seen = self.seen.lock();
        let mut delays: Vec<Duration> = numbers
            .map(name)
            .filter_map(|name| {
                Some(
                    seen.ready
                        .get(&name)?
                        .saturating_duration_since(*seen.made.get(&name)?),
                )
            })
            .collect();
        delays.sort_unstable();
        delays
    }
}

/// Follows the objects of a kind and reads no more of them than is asked for: what is measured shares the machine.
async fn follow(objects: Objects, kind: Kind, times: Arc<Times>) {
    let api: Api<Document> = Api::namespaced_with(objects.client.clone(), NAMESPACE, &kind.resource());
    let mut events = pin!(watcher::watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        // A broken watch is taken up again by itself.
        if let Ok(Event::InitApply(object) | Event::Apply(object)) = event {
            times.note(kind, &object);
        }
    }
}
