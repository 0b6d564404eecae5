//! What a whole cluster costs the API: how often something is written and read until it is ready, by the controllers and by
//! our own runner.
//!
//! Counts, not times: under virtual time nothing is late, so that what is written here is what would be written on an idle
//! machine.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use capt_api::{CAPTCluster, CAPTControlPlane, WorkspaceTemplate, foreign::Cluster};
use capt_runner::{
    Engines,
    engine::{Engine, Failure},
    simulated::SimulatedEngine,
};
use capt_testkit::{Calls, Entry, Fault, Process, Times, Verb, World};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    controlplane::whole_cluster,
    stage::{CAPT, RUNNER, Setting, User as _, start_controllers},
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
pub(crate) fn start_simulation(world: &World) {
    world.start(RUNNER, |process: Process| async move {
        let of_world = process.clock.clone();
        let clock: capt_runner::Clock = Arc::new(move || of_world.now());
        let simulation = Simulation(Arc::new(SimulatedEngine::new(1, clock.clone())));
        let mut options = capt_runner::Options::new(Arc::new(simulation), "runner-1");
        options.clock = clock;
        options.system_namespace.clone_from(&process.namespace);
        options.poll_interval = None;
        let ended = capt_runner::run(process.client, options, CancellationToken::new()).await;
        panic!("the runner ended: {ended:?}");
    });
}

/// The templates of the examples.
pub(crate) async fn bring_templates(world: &World) {
    for template in serde_saphyr::from_multiple::<Value>(TEMPLATES).unwrap() {
        let mut template = template;
        template["metadata"]["namespace"] = json!(world.namespace());
        let _: WorkspaceTemplate = world.create(template).await;
    }
}

/// Writes what people write of a cluster that is made from them.
pub(crate) async fn write_cluster(world: &World, name: &str) {
    write_network(world, name).await;
    write_control_plane(world, name).await;
}

/// The Cluster and its network.
pub(crate) async fn write_network(world: &World, name: &str) {
    let _: Cluster = world.create(whole_cluster(name)).await;
    let _: CAPTCluster = world
        .create(json!({
            "metadata": {"name": name},
            "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
        }))
        .await;
}

/// Its control plane.
pub(crate) async fn write_control_plane(world: &World, name: &str) {
    let _: CAPTControlPlane = world
        .create(json!({
            "metadata": {"name": name},
            "spec": {
                "version": "1.31", "workspaceTemplateRef": {"name": "eks"}, "endpointCheck": "Optional",
            },
        }))
        .await;
}

/// Makes clusters as a newcomer would, on a server that takes so long for everything, and gives all that was asked of the
/// API until they rested.
async fn cost_of(names: &[&str], each_call: Duration) -> Vec<Entry> {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_simulation(&world);
    bring_templates(&world).await;
    world.settle().await;
    if !each_call.is_zero() {
        for caller in [CAPT, RUNNER] {
            let calls = Calls::by(caller).matching(|call| call.verb != Verb::Watch);
            world
                .faults()
                .inject(calls, Times::Every, Fault::DelayAnswer(each_call));
        }
    }
    let mark = world.recorder().mark();
    for name in names {
        write_cluster(&world, name).await;
    }
    world
        .until("the clusters to be ready", async || {
            for name in names {
                let cluster: Cluster = world.api().get(name).await.unwrap();
                let flags = cluster.status.and_then(|status| status.initialization);
                if flags.is_none_or(|flags| flags.control_plane_initialized != Some(true)) {
                    return false;
                }
            }
            true
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

/// What was written and what was read for the clusters themselves, by the controllers and the runner.
fn parted(asked: &[Entry]) -> (Vec<&Entry>, Vec<&Entry>) {
    let is_of_cluster = |entry: &&Entry| entry.call.resource != "events" && !is_shared(entry);
    let of_clusters = asked.iter().filter(is_of_cluster);
    of_clusters.partition(|entry| entry.call.is_write())
}

/// How often people were told something.
fn events(asked: &[Entry]) -> usize {
    asked
        .iter()
        .filter(|entry| entry.call.resource == "events")
        .count()
}

#[tokio::test]
async fn a_cluster_costs_few_writes_and_fewer_reads() {
    let asked = cost_of(&["blue"], Duration::ZERO).await;
    let (writes, reads) = parted(&asked);
    let (told, read) = (counted(&writes), counted(&reads));
    // What people write besides are three.
    assert!(writes.len() <= 52, "{} writes: {told:#?}", writes.len());
    // What an operation reads before it begins, and what is in Secrets that somebody else writes.
    assert!(reads.len() <= 8, "{} reads: {read:#?}", reads.len());
    assert!(events(&asked) <= 6, "{} events", events(&asked));
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

#[tokio::test]
async fn clusters_on_a_slow_server_cost_only_the_words_that_tell_so() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let asked = cost_of(&names, Duration::from_millis(200)).await;
    let (writes, reads) = parted(&asked);
    let (told, read) = (counted(&writes), counted(&reads));
    assert!(
        writes.len() <= 59 * names.len(),
        "{} writes: {told:#?}",
        writes.len()
    );
    assert!(reads.len() <= 8 * names.len(), "{} reads: {read:#?}", reads.len());
    // What was told of each: twice of the network, once of each Workspace, and twice of the control plane.
    assert!(events(&asked) <= 6 * names.len(), "{} events", events(&asked));
    for (line, most) in [
        // State says at once that it moves, and how far an operation is is told only if that takes long.
        // Its certificate authority is among them.
        ("capt Apply secrets", 6),
        ("runner Patch configmaps", 2),
        ("capt Apply captclusters/status", 4),
        ("capt Apply workspacetemplateapplies/status", 6),
    ] {
        let count = told.get(line).copied().unwrap_or_default();
        assert!(count <= most * names.len(), "{line}: {count}, {told:#?}");
    }
}
