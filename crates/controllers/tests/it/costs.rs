//! What a whole cluster costs the API: how often something is written and read until it is ready, by the controllers and by
//! our own runner.
//!
//! Counts, not times: under virtual time nothing is late, so that what is written here is what would be written on an idle
//! machine.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{CAPTCluster, CAPTControlPlane, WorkspaceTemplate, foreign::Cluster};
use capt_runner::{
    Engines,
    engine::{Engine, Failure},
    simulated::SimulatedEngine,
};
use capt_testkit::{Entry, Process, Verb, World};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    controlplane::whole_cluster,
    stage::{RUNNER, Setting, User as _, start_controllers},
};

const TEMPLATES: &str = include_str!("../../../../examples/templates.yaml");

/// The simulation for everything.
struct Simulation(Arc<dyn Engine>);

impl Engines for Simulation {
    fn for_workspace(&self, _is_sandbox: bool) -> Result<Arc<dyn Engine>, Failure> {
        Ok(self.0.clone())
    }
}

/// Our runner with simulated Terraform, which takes no time.
fn start_runner(world: &World) {
    world.start(RUNNER, |process: Process| async move {
        let of_world = process.clock.clone();
        let clock: capt_runner::Clock = Arc::new(move || of_world.now());
        let simulation = Simulation(Arc::new(SimulatedEngine::new(1, clock.clone())));
        let mut options = capt_runner::Options::new(Arc::new(simulation), "runner-1");
        options.clock = clock;
        options.namespace.clone_from(&process.namespace);
        options.poll_interval = None;
        let ended = capt_runner::run(process.client, options, CancellationToken::new()).await;
        panic!("the runner ended: {ended:?}");
    });
}

/// Makes a cluster as a newcomer would, and gives everything that was asked of the API until it rested.
async fn cost_of_a_cluster() -> Vec<Entry> {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_runner(&world);
    for template in serde_saphyr::from_multiple::<Value>(TEMPLATES).unwrap() {
        let mut template = template;
        template["metadata"]["namespace"] = json!(world.namespace());
        let _: WorkspaceTemplate = world.create(template).await;
    }
    world.settle().await;
    let mark = world.recorder().mark();
    let _: Cluster = world.create(whole_cluster("blue")).await;
    let _: CAPTCluster = world
        .create(json!({
            "metadata": {"name": "blue"},
            "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
        }))
        .await;
    let _: CAPTControlPlane = world
        .create(json!({
            "metadata": {"name": "blue"},
            "spec": {
                "version": "1.31", "workspaceTemplateRef": {"name": "eks"}, "endpointCheck": "Optional",
            },
        }))
        .await;
    world
        .until("the cluster to be ready", async || {
            let cluster: Cluster = world.api().get("blue").await.unwrap();
            let flags = cluster.status.and_then(|status| status.initialization);
            flags.is_some_and(|flags| flags.control_plane_initialized == Some(true))
        })
        .await;
    world.settle().await;
    let asked = world.recorder().requests_since(mark);
    world.finish().await;
    asked
}

/// How often each was asked, by who asked, what, and the kind.
fn counted(asked: &[&Entry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in asked {
        let call = &entry.call;
        let line = format!("{} {:?} {}", call.caller, call.verb, call.qualified_resource());
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Templates are written once however many clusters there are, and so are what is learned from operations and how long they
/// take.
fn is_shared(entry: &Entry) -> bool {
    let call = &entry.call;
    let is_learned = call.name.ends_with("-statistics") || call.name.ends_with("-durations");
    call.resource == "workspacetemplates" || (call.resource == "configmaps" && is_learned)
}

#[tokio::test]
async fn a_cluster_costs_few_writes_and_fewer_reads() {
    let asked = cost_of_a_cluster().await;
    let is_of_cluster = |entry: &&Entry| entry.call.resource != "events" && !is_shared(entry);
    let (writes, reads): (Vec<&Entry>, Vec<&Entry>) = asked
        .iter()
        .filter(is_of_cluster)
        .partition(|entry| entry.call.is_write());
    let (told, read) = (counted(&writes), counted(&reads));
    // What people write besides are three.
    assert!(writes.len() <= 54, "{} writes: {told:#?}", writes.len());
    assert!(reads.len() <= 26, "{} reads: {read:#?}", reads.len());
    // Nothing is searched for: that would cost the more the more clusters there are.
    let searches = reads.iter().filter(|entry| entry.call.verb == Verb::List);
    assert_eq!(searches.count(), 0, "{read:#?}");
    for (line, most) in [
        ("capt Apply clusters/status", 4),
        ("capt Apply captclusters/status", 3),
        ("capt Apply captcontrolplanes/status", 4),
        ("capt Apply workspacetemplateapplies/status", 4),
        ("runner Apply workspaces/status", 4),
        ("runner Patch configmaps", 2),
    ] {
        let count = told.get(line).copied().unwrap_or_default();
        assert!(count <= most, "{line}: {count}, {told:#?}");
    }
}
