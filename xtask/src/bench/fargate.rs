//! `cargo xtask bench fargate`: many Fargate profiles on many clusters, in virtual time.
//!
//! The controllers and our runner are the real ones; Terraform is simulated, and every operation takes as long as it is
//! told. EKS does one thing at a time with a cluster, so that profiles of a cluster cannot be made faster than one after
//! the other. What is printed is how much longer than that it took, and what it cost in writes. Faster than that would mean
//! that two operations of one cluster ran side by side, and is a failure.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use capt_api::captcontrolplane::{CAPTControlPlaneStatus, FargateProfilePhase as Phase};
use capt_api::endpoint::ApiEndpoint;
use capt_api::foreign::Cluster;
use capt_api::{CAPTCluster, CAPTControlPlane, WorkspaceTemplate};
use capt_controllers::{Credentials, Endpoints, Outside, OwnCredentials};
use capt_core::{controlplane::snapshot::Silence, wta::snapshot::Runner};
use capt_runner::engine::{Engine, Failure};
use capt_runner::simulated::SimulatedEngine;
use capt_testkit::{Process, World};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Args {
    /// How many clusters.
    #[arg(long, default_value_t = 20)]
    clusters: usize,
    /// How many profiles each of them has.
    #[arg(long, default_value_t = 5)]
    profiles: usize,
    /// How long EKS takes for each, in seconds.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
}

/// How much longer than the serial bound it may take.
const GOAL: f64 = 1.02;
/// Status writes that one profile may cost.
const WRITES: f64 = 3.0;
const CAPT: &str = "capt";

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    // Time of a runtime of its own can be turned.
    let measured = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .context("making a runtime")?;
        runtime.block_on(measure(args))
    });
    measured.join().map_err(|_| anyhow!("the bench panicked"))?
}

async fn measure(args: Args) -> anyhow::Result<()> {
    let world = World::embedded_only().await;
    start_controllers(&world);
    start_runner(&world, Some(Duration::from_secs(600)));
    let witness = Witness::start(&world);
    create::<WorkspaceTemplate>(&world, eks_template(args.seconds)).await?;
    create::<WorkspaceTemplate>(&world, profile_template(args.seconds)).await?;
    let names: Vec<String> = (0..args.clusters).map(|number| format!("c{number}")).collect();
    for name in &names {
        create::<Cluster>(&world, cluster(name)).await?;
        create::<CAPTCluster>(&world, network(name)).await?;
        create::<CAPTControlPlane>(&world, control_plane(name, args.profiles)).await?;
    }
    world
        .until("all profiles to be ready", async || {
            witness.are_all(args, Phase::Ready)
        })
        .await;
    println!("| | took | serial bound | ratio | status writes for a profile | the same with progress |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let made = witness.take(args);
    print("made", args, &made)?;
    let none = Patch::Merge(json!({"spec": {"additionalFargateProfiles": []}}));
    let planes: Api<CAPTControlPlane> = Api::namespaced(world.client(), world.namespace());
    for name in &names {
        planes.patch(name, &PatchParams::default(), &none).await?;
    }
    world
        .until("all profiles to be gone", async || witness.are_none(args))
        .await;
    let removed = witness.take(args);
    print("removed", args, &removed)?;
    world.finish().await;
    Ok(())
}

fn print(what: &str, args: Args, figures: &Figures) -> anyhow::Result<()> {
    let bound = args.profiles as f64 * args.seconds as f64;
    let count = (args.clusters * args.profiles) as f64;
    let (ratio, writes) = (figures.seconds / bound, figures.telling as f64 / count);
    println!(
        "| {} profiles of {} clusters {what} | {:.1} s | {bound:.0} s | {ratio:.3} | {writes:.2} | {:.2} |",
        args.clusters * args.profiles,
        args.clusters,
        figures.seconds,
        figures.all as f64 / count,
    );
    ensure!(
        figures.shortest >= bound - 1.0,
        "two operations of one cluster ran side by side"
    );
    if ratio > GOAL {
        eprintln!("the goal is {GOAL}");
    }
    if writes > WRITES {
        eprintln!("the goal is {WRITES} writes");
    }
    Ok(())
}

/// What came of it.
struct Figures {
    /// From the first that anything was done about a profile to the last, over all clusters.
    seconds: f64,
    /// The same of the cluster that needed least.
    shortest: f64,
    /// Status writes that tell anything but progress.
    telling: usize,
    /// Status writes.
    all: usize,
}

/// Looks at every version of every control plane.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<BTreeMap<String, Seen>>>);

#[derive(Default)]
struct Seen {
    status: Option<CAPTControlPlaneStatus>,
    /// When a profile was first being worked on.
    first: Option<Timestamp>,
    /// When anything last changed.
    last: Option<Timestamp>,
    telling: usize,
    all: usize,
}

impl Witness {
    fn start(world: &World) -> Self {
        let witness = Self::default();
        let (book, client) = (witness.clone(), world.client());
        world.start("witness", move |process: Process| {
            let (book, client) = (book.clone(), client.clone());
            async move {
                let api: Api<CAPTControlPlane> = Api::namespaced(client, &process.namespace);
                let events = watcher(api, watcher::Config::default()).applied_objects();
                let mut events = std::pin::pin!(events);
                while let Some(event) = events.next().await {
                    if let Ok(plane) = event {
                        book.look(plane, process.now());
                    }
                }
            }
        });
        witness
    }

    fn look(&self, plane: CAPTControlPlane, now: Timestamp) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = book.entry(plane.metadata.name.unwrap_or_default()).or_default();
        let (before, after) = (seen.status.clone(), plane.status);
        seen.status.clone_from(&after);
        // What the controllers wrote before they let anybody begin. When it is seen here depends on the machine.
        let profiles = after
            .iter()
            .flat_map(|status| status.fargate_profile_statuses.iter().flatten());
        let begun = profiles
            .filter(|one| matches!(one.phase, Some(Phase::Creating | Phase::Deleting)))
            .filter_map(|one| one.since.as_ref());
        seen.first = seen.first.or(begun.map(|since| since.0).min());
        if seen.first.is_none() || before == after {
            return;
        }
        seen.all += 1;
        let apart = |status: Option<CAPTControlPlaneStatus>| {
            let mut status = status.unwrap_or_default();
            status.progress = None;
            status
        };
        let (before, after) = (apart(before), apart(after));
        if before != after {
            seen.telling += 1;
        }
        if before.fargate_profile_statuses != after.fargate_profile_statuses {
            seen.last = Some(now);
        }
    }

    fn count(&self, is_one: impl Fn(Option<Phase>) -> bool) -> (usize, usize) {
        let book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let statuses = book.values().filter_map(|seen| seen.status.as_ref());
        let all: Vec<Option<Phase>> = statuses
            .flat_map(|status| status.fargate_profile_statuses.iter().flatten())
            .map(|one| one.phase)
            .collect();
        (all.len(), all.into_iter().filter(|phase| is_one(*phase)).count())
    }

    fn are_all(&self, args: Args, phase: Phase) -> bool {
        let wanted = args.clusters * args.profiles;
        self.count(|one| one == Some(phase)) == (wanted, wanted)
    }

    fn are_none(&self, args: Args) -> bool {
        let book = self.0.lock().unwrap_or_else(PoisonError::into_inner).len();
        book == args.clusters && self.count(|_| true).0 == 0
    }

    /// What came of it so far, and begins anew.
    fn take(&self, args: Args) -> Figures {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times: Vec<(Timestamp, Timestamp)> = book
            .values()
            .filter_map(|seen| Some((seen.first?, seen.last?)))
            .collect();
        debug_assert_eq!(times.len(), args.clusters);
        let seconds = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64();
        let first = times.iter().map(|(first, _)| *first).min().unwrap_or_default();
        let last = times.iter().map(|(_, last)| *last).max().unwrap_or_default();
        let figures = Figures {
            seconds: seconds(first, last),
            shortest: times
                .iter()
                .map(|(from, to)| seconds(*from, *to))
                .fold(f64::INFINITY, f64::min),
            telling: book.values().map(|seen| seen.telling).sum(),
            all: book.values().map(|seen| seen.all).sum(),
        };
        for seen in book.values_mut() {
            *seen = Seen {
                status: seen.status.take(),
                ..Seen::default()
            };
        }
        figures
    }
}

/// API servers that always answer, and nobody's credentials.
struct Elsewhere;

impl Endpoints for Elsewhere {
    fn ask<'a>(&'a self, _: &'a ApiEndpoint, _: Option<&'a str>) -> BoxFuture<'a, Result<(), Silence>> {
        Box::pin(async { Ok(()) })
    }
}

impl OwnCredentials for Elsewhere {
    fn find(&self) -> BoxFuture<'_, Result<Credentials, String>> {
        Box::pin(async { Err("there are none".to_owned()) })
    }
}

/// Starts the controllers, to which nothing outside is real.
pub(super) fn start_controllers(world: &World) {
    world.start(CAPT, |process: Process| async move {
        let clock = process.clock.clone();
        let ours = Runner::Ours { label: None };
        let mut options = capt_controllers::Options::new(Arc::new(move || clock.now()), ours);
        options.outside = Outside {
            endpoints: Arc::new(Elsewhere),
            credentials: Arc::new(Elsewhere),
        };
        let ended = capt_controllers::run(process.client, options, CancellationToken::new()).await;
        eprintln!("the controllers ended: {ended:?}");
    });
}

/// The simulation for everything.
struct Simulation(Arc<dyn Engine>);

impl capt_runner::Engines for Simulation {
    fn for_workspace(&self, _is_sandbox: bool) -> Result<Arc<dyn Engine>, Failure> {
        Ok(self.0.clone())
    }
}

/// Starts our runner with simulated Terraform, which looks at everything again after a time.
pub(super) fn start_runner(world: &World, poll_interval: Option<Duration>) {
    world.start("runner", move |process: Process| async move {
        let of_world = process.clock.clone();
        let clock: capt_runner::Clock = Arc::new(move || of_world.now());
        let simulation = Simulation(Arc::new(SimulatedEngine::new(1, clock.clone())));
        let mut options = capt_runner::Options::new(Arc::new(simulation), "runner");
        options.clock = clock;
        options.system_namespace.clone_from(&process.namespace);
        // One operation for each cluster, and room for those that look for drift.
        options.parallelism = 256;
        options.poll_interval = poll_interval;
        let ended = capt_runner::run(process.client, options, CancellationToken::new()).await;
        eprintln!("the runner ended: {ended:?}");
    });
}

/// Makes an object.
pub(super) async fn create<K>(world: &World, object: Value) -> anyhow::Result<()>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + DeserializeOwned
        + Serialize
        + Clone
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(world.client(), world.namespace());
    let object: K = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

fn cluster(name: &str) -> Value {
    let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": name});
    json!({
        "metadata": {"name": name},
        "spec": {
            "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "CAPTCluster"),
            "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "CAPTControlPlane"),
        },
    })
}

fn network(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "region": "eu-central-1",
            "existingVpcId": "vpc-0a1b2c",
            "existingSubnetIds": ["subnet-1", "subnet-2"],
        },
    })
}

fn control_plane(name: &str, profiles: usize) -> Value {
    let profiles: Vec<Value> = (0..profiles)
        .map(|number| {
            json!({
                "name": format!("p{number}"),
                "selectors": [{"namespace": format!("n{number}")}],
                "workspaceTemplateRef": {"name": "fargate-profile"},
            })
        })
        .collect();
    json!({
        "metadata": {"name": name},
        "spec": {
            "version": "1.31",
            "workspaceTemplateRef": {"name": "eks"},
            "additionalFargateProfiles": profiles,
        },
    })
}

/// How long it takes to make or remove a resource. A simulation that is told `simulate-seconds` takes them more or less, and
/// here they have to be exact.
fn takes(seconds: u64) -> String {
    ["", "  when = destroy\n"]
        .into_iter()
        .map(|when| {
            format!(
                "  provisioner \"local-exec\" {{\n  {when}  interpreter = [\"sleep\"]\n  command = \"{seconds}\"\n  }}\n"
            )
        })
        .collect()
}

fn template(name: &str, variables: &[&str], rest: &str) -> Value {
    let declared: String = variables
        .iter()
        .map(|name| format!("variable \"{name}\" {{\n  type = string\n}}\n"))
        .collect();
    let vars: Vec<Value> = variables
        .iter()
        .map(|name| json!({"key": name, "value": format!("${{{name}}}")}))
        .collect();
    json!({
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"forProvider": {
            "source": "Inline",
            "module": format!("{declared}{rest}"),
            "vars": vars,
        }}}},
    })
}

fn eks_template(seconds: u64) -> Value {
    let cluster = format!(
        "resource \"terraform_data\" \"cluster\" {{\n  input = var.kubernetes_version\n{}}}\n",
        takes(seconds)
    );
    let outputs = "output \"cluster_name\" {\n  value = var.cluster_name\n}\n\
                output \"cluster_version\" {\n  value = var.kubernetes_version\n}\n\
                output \"cluster_endpoint\" {\n  value = \"https://10.0.0.1:6443\"\n}\n\
                output \"cluster_certificate_authority_data\" {\n  value = base64encode(\"-----BEGIN CERTIFICATE-----\\n\
                x\\n-----END CERTIFICATE-----\\n\")\n}\n\
                output \"kubeconfig\" {\n  value = \"apiVersion: v1\\nclusters: []\\nusers: []\\n\"\n  sensitive = true\n}\n";
    let rest = format!("{cluster}{outputs}");
    template("eks", &["cluster_name", "kubernetes_version"], &rest)
}

fn profile_template(seconds: u64) -> Value {
    let rest = format!(
        "resource \"terraform_data\" \"profile\" {{\n  input = var.selectors\n{}}}\n",
        takes(seconds)
    );
    let variables = ["cluster_name", "profile_name", "selectors", "private_subnets"];
    template("fargate-profile", &variables, &rest)
}
