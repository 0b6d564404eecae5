//! `capt controller` as those who run it meet it: several at once, one that acts, and ports that tell.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use capt_api::{
    CAPTCluster, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster, Workspace, marks::WATCH_FILTER},
    marks,
};
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PostParams},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::support::{Up, awaited, capt};

const LEASE: &str = "capt-controller";

/// An API, and nothing that acts on it.
struct World {
    home: TempDir,
    up: Up,
    client: Client,
}

impl World {
    async fn start() -> Self {
        let home = tempdir().unwrap();
        let up = Up::start(home.path(), &["--in-memory", "--api-only"]);
        let client = up.client().await;
        Self { home, up, client }
    }

    fn controller(&self, args: &[&str]) -> Controller {
        let mut child = capt(self.home.path())
            .env("KUBECONFIG", &self.up.kubeconfig)
            .env("RUST_LOG", "info")
            .arg("controller")
            .args(args)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        let log = Arc::new(Mutex::new(String::new()));
        let kept = log.clone();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&format!("{line}\n"));
                // Nobody may listen any more.
                let _ = sender.send(line);
            }
        });
        Controller { child, lines, log }
    }

    fn candidate(&self, identity: &str) -> Controller {
        self.controller(&[
            "--leader-elect-identity",
            identity,
            "--leader-elect-lease-duration",
            "3s",
            "--leader-elect-renew-deadline",
            "2s",
            "--leader-elect-retry-period",
            "500ms",
            "--runner",
            "blue",
        ])
    }

    async fn until_led_by(&self, holder: &str) {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "default");
        let is_led = |lease: Option<&Lease>| {
            let spec = lease.and_then(|lease| lease.spec.as_ref());
            spec.and_then(|spec| spec.holder_identity.as_deref()) == Some(holder)
        };
        awaited(leases, LEASE, &format!("led by {holder:?}"), is_led).await;
    }
}

/// A running `capt controller`; killed when dropped. Its log is shown if the test fails.
struct Controller {
    child: Child,
    lines: mpsc::Receiver<String>,
    log: Arc<Mutex<String>>,
}

impl Controller {
    fn stop(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// Reads its log up to a line that tells of an address.
    fn address_of(&self, what: &str) -> String {
        let mark = format!("{what} at http://");
        for line in &self.lines {
            if let Some((_, address)) = line.split_once(&mark) {
                return address.trim().to_owned();
            }
        }
        panic!("it ended without telling of {what}");
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("{}", self.log.lock().unwrap());
        }
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

async fn apply_example(client: &Client) {
    apply_example_in(client, "default", json!({})).await;
}

/// Applies the example in a namespace, with these labels on its WorkspaceTemplateApply, and gives that.
async fn apply_example_in(client: &Client, namespace: &str, labels: Value) -> WorkspaceTemplateApply {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workspace.yaml");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    let [template, apply] = &documents[..] else {
        panic!("the example has a template and an apply");
    };
    let (mut template, mut apply) = (template.clone(), apply.clone());
    for object in [&mut template, &mut apply] {
        object["metadata"]["namespace"] = json!(namespace);
    }
    apply["metadata"]["labels"] = labels;
    let template: WorkspaceTemplate = serde_json::from_value(template).unwrap();
    let apply: WorkspaceTemplateApply = serde_json::from_value(apply).unwrap();
    let params = PostParams::default();
    let templates: Api<WorkspaceTemplate> = Api::namespaced(client.clone(), namespace);
    let applies: Api<WorkspaceTemplateApply> = Api::namespaced(client.clone(), namespace);
    templates.create(&params, &template).await.unwrap();
    applies.create(&params, &apply).await.unwrap()
}

#[tokio::test]
async fn of_two_one_acts_and_the_other_takes_over() {
    let world = World::start().await;
    let first = world.candidate("a");
    world.until_led_by("a").await;
    let second = world.candidate("b");
    assert!(first.stop().success());
    world.until_led_by("b").await;

    apply_example(&world.client).await;
    let workspaces: Api<Workspace> = Api::namespaced(world.client.clone(), "default");
    let made = awaited(
        workspaces,
        "greeting-world",
        "made",
        |workspace: Option<&Workspace>| workspace.is_some(),
    );
    let labels = made.await.unwrap().labels().clone();
    assert_eq!(labels.get(marks::RUNNER).map(String::as_str), Some("blue"));

    // Killed, it gives nothing back, and is waited for until its time is over.
    let third = world.candidate("c");
    drop(second);
    world.until_led_by("c").await;
    assert!(third.stop().success());
    world.until_led_by("").await;
}

#[tokio::test]
async fn it_tells_that_it_lives_that_it_is_ready_and_what_it_counts() {
    let world = World::start().await;
    let controller = world.controller(&[
        "--leader-elect=false",
        "--health-address",
        "127.0.0.1:0",
        "--metrics-address",
        "localhost:0",
    ]);
    let health = controller.address_of("health");
    let metrics = controller.address_of("metrics");
    assert!(get(&health, "/healthz").starts_with("HTTP/1.1 200"));
    assert!(get(&health, "/metrics").starts_with("HTTP/1.1 404"));

    apply_example(&world.client).await;
    let applies: Api<WorkspaceTemplateApply> = Api::namespaced(world.client.clone(), "default");
    let is_told = |apply: Option<&WorkspaceTemplateApply>| apply.is_some_and(|apply| apply.status.is_some());
    awaited(applies, "greeting-world", "told about", is_told).await;
    assert!(get(&health, "/readyz").starts_with("HTTP/1.1 200"));
    // It is counted a moment after it was written.
    let counted = loop {
        let counted = get(&metrics, "/metrics");
        if counted.contains("capt_reconciles_total{") {
            break counted;
        }
    };
    assert!(counted.contains("application/openmetrics-text"), "{counted}");
    for line in ["capt_leads 1", "capt_queue_depth{", "capt_build_info{"] {
        assert!(counted.contains(line), "{line}: {counted}");
    }
    let kinds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let removed = "captclusters.infrastructure.cluster.x-k8s.io";
    kinds.delete(removed, &DeleteParams::default()).await.unwrap();
    loop {
        let told = get(&health, "/readyz");
        if told.starts_with("HTTP/1.1 503") {
            assert!(
                told.contains("does not serve CAPTCluster: capt manifests crds"),
                "{told}"
            );
            break;
        }
    }
    // No Lease where nobody is elected.
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), "default");
    assert!(leases.get_opt(LEASE).await.unwrap().is_none());
    assert!(controller.stop().success());
}

#[tokio::test]
async fn what_was_mistyped_is_refused_at_once_or_told() {
    let world = World::start().await;
    for (option, value) in [
        ("--leader-elect-name", "Capt_Controller"),
        ("--leader-election-namespace", "a.b"),
        ("--namespace", "Team"),
        ("--own-credentials", "a.b"),
        ("--watch-filter", "a b"),
        ("--runner", "a/b"),
    ] {
        let mut controller = world.controller(&[option, value]);
        assert_eq!(controller.child.wait().unwrap().code(), Some(2), "{option}");
        let log: Vec<String> = controller.lines.iter().collect();
        assert!(log.join("\n").contains(option), "{option}: {log:?}");
    }
    let controller = world.controller(&["--namespace", "default", "--namespace", "nope"]);
    let is_warning = |line: &String| line.contains("does not exist");
    let warning = controller.lines.iter().find(is_warning).expect("a warning");
    assert!(warning.contains("kubectl create namespace nope"), "{warning}");
    assert!(controller.stop().success());
}

/// What it must leave alone is there first, so that it would be written first.
#[tokio::test]
async fn it_works_only_on_what_it_is_told_to() {
    let ours = json!({WATCH_FILTER: "ours"});
    for (args, theirs, labels) in [
        (["--namespace", "b"], "a", ours.clone()),
        (["--watch-filter", "ours"], "a", json!({WATCH_FILTER: "theirs"})),
    ] {
        let world = World::start().await;
        let namespaces: Api<Namespace> = Api::all(world.client.clone());
        for name in [theirs, "b"] {
            let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            namespaces
                .create(&PostParams::default(), &namespace)
                .await
                .unwrap();
        }
        let before = apply_example_in(&world.client, theirs, labels).await;
        apply_example_in(&world.client, "b", ours.clone()).await;
        let controller =
            world.controller(&[&args[..], &["--leader-elect=false", "--runner", "blue"]].concat());
        let workspaces: Api<Workspace> = Api::namespaced(world.client.clone(), "b");
        let is_made = |workspace: Option<&Workspace>| workspace.is_some();
        awaited(workspaces, "greeting-world", "made", is_made).await;
        assert!(controller.stop().success());
        let applies: Api<WorkspaceTemplateApply> = Api::namespaced(world.client.clone(), theirs);
        let after = applies.get("greeting-world").await.unwrap();
        assert_eq!(after.resource_version(), before.resource_version(), "{args:?}");
        let workspaces: Api<Workspace> = Api::namespaced(world.client.clone(), theirs);
        assert!(
            workspaces.get_opt("greeting-world").await.unwrap().is_none(),
            "{args:?}"
        );
    }
}

#[tokio::test]
async fn it_looks_after_clusters_unless_it_is_told_not_to() {
    for (wish, looks) in [("auto", true), ("off", false)] {
        let world = World::start().await;
        let clusters: Api<Cluster> = Api::namespaced(world.client.clone(), "default");
        let networks: Api<CAPTCluster> = Api::namespaced(world.client.clone(), "default");
        let params = PostParams::default();
        let cluster = json!({
            "metadata": {"name": "blue"},
            "spec": {"infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CAPTCluster", "name": "blue",
            }},
        });
        let network = json!({
            "metadata": {"name": "blue"},
            "spec": {"region": "eu-central-1", "existingVpcId": "vpc-1", "existingSubnetIds": ["subnet-1"]},
        });
        let cluster: Cluster = serde_json::from_value(cluster).unwrap();
        let network: CAPTCluster = serde_json::from_value(network).unwrap();
        let before = clusters.create(&params, &cluster).await.unwrap();
        networks.create(&params, &network).await.unwrap();
        let controller = world.controller(&["--leader-elect=false", "--cluster-controller", wish]);
        let is_told = |network: Option<&CAPTCluster>| {
            network.is_some_and(|network| {
                let is_ready = network.status.as_ref().map(|status| status.ready);
                is_ready == Some(looks)
            })
        };
        let told = awaited(networks, "blue", "told about", is_told).await.unwrap();
        assert_eq!(told.owner_references().len(), usize::from(looks), "{wish}");
        assert!(controller.stop().success());
        let after = clusters.get("blue").await.unwrap();
        let is_written = after.resource_version() != before.resource_version();
        assert_eq!(is_written, looks, "{wish}");
    }
}
