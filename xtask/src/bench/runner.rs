//! `cargo xtask bench runner`: our runner and provider-terraform keep the same Workspaces on a server of their own each.
//!
//! Both run the same Terraform, keep state in Secrets, and work on eight Workspaces at a time. Time on processors is that
//! of the runner and of every process that it started.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use capt_api::marks;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::watcher::{self, Event};
use serde_json::{Value, json};

use super::{memory, processes};
use crate::foreign::runner::{self as ours, Runner};
use crate::ours::Profile;
use crate::provider_terraform::{self, ProviderTerraform};
use crate::realkube::{self, RealKube};
use crate::{peers, terraform};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many Workspaces.
    #[arg(long, default_value_t = 100)]
    workspaces: usize,
    /// How often steady Workspaces are looked at while that is measured, in seconds.
    #[arg(long, default_value_t = 60)]
    poll: u64,
    /// The terraform or tofu to use, instead of the first one found.
    #[arg(long, value_name = "PATH")]
    engine: Option<PathBuf>,
    /// Measure a build of ours that is not optimised, to try the bench itself.
    #[arg(long)]
    debug: bool,
    /// Measure memory only, which takes no time but that of the applies.
    #[arg(long)]
    memory: bool,
}

/// How many Workspaces are worked on at a time.
const PARALLELISM: usize = 8;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// An interval that never comes to its end here.
const NEVER: Duration = Duration::from_secs(24 * 3600);

const MODULE: &str = r#"
variable "text" { type = string }
resource "terraform_data" "thing" { input = var.text }
output "text" { value = terraform_data.thing.output }
"#;

/// What was measured.
struct Figures {
    first_wall: Duration,
    first_cpu: Duration,
    all_wall: Duration,
    all_cpu: Duration,
    idle_mib: f64,
    peak_mib: f64,
    poll: Option<Poll>,
}

/// What a steady poll of one Workspace costs.
struct Poll {
    wall: Duration,
    cpu: Duration,
    processes: f64,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    peers::ensure_built(&["etcd", "kube-apiserver", "provider-terraform"])?;
    let engine = match &args.engine {
        Some(path) => fs::canonicalize(path).with_context(|| format!("resolving {}", path.display()))?,
        None => terraform::find_engine()?,
    };
    let profile = if args.debug {
        Profile::Debug
    } else {
        Profile::Release
    };
    crate::ours::build(profile)?;
    eprintln!("measuring capt runner …");
    let mine = measure(args, &engine, Side::Ours(profile)).await?;
    eprintln!("measuring provider-terraform …");
    let theirs = measure(args, &engine, Side::Foreign).await?;
    print(args.workspaces, &mine, &theirs);
    Ok(())
}

fn print(count: usize, mine: &Figures, theirs: &Figures) {
    println!("| | capt runner | provider-terraform | |");
    println!("| --- | --- | --- | --- |");
    let row = |what: &str, mine: f64, theirs: f64, unit: &str| {
        println!(
            "| {what} | {mine:.2} {unit} | {theirs:.2} {unit} | {:.1}× |",
            theirs / mine
        );
    };
    let time = |what: &str, mine: Duration, theirs: Duration| {
        row(what, mine.as_secs_f64(), theirs.as_secs_f64(), "s");
    };
    if let (Some(mine), Some(theirs)) = (&mine.poll, &theirs.poll) {
        time("steady poll of a Workspace, processor time", mine.cpu, theirs.cpu);
        time(
            "steady poll of a Workspace, time in Terraform",
            mine.wall,
            theirs.wall,
        );
        row(
            "steady poll of a Workspace, processes",
            mine.processes,
            theirs.processes,
            "",
        );
    }
    time("first apply, until ready", mine.first_wall, theirs.first_wall);
    time("first apply, processor time", mine.first_cpu, theirs.first_cpu);
    let applies = format!("{count} applies, {PARALLELISM} at a time");
    time(
        &format!("{applies}, until all are ready"),
        mine.all_wall,
        theirs.all_wall,
    );
    time(
        &format!("{applies}, processor time"),
        mine.all_cpu,
        theirs.all_cpu,
    );
    row(
        &format!("memory of the runner, {count} Workspaces at rest"),
        mine.idle_mib,
        theirs.idle_mib,
        "MiB",
    );
    row(
        "memory of the runner and all that it runs, at most",
        mine.peak_mib,
        theirs.peak_mib,
        "MiB",
    );
}

/// Who is measured.
#[derive(Clone, Copy)]
enum Side {
    Ours(Profile),
    Foreign,
}

/// One of the two, running.
enum Running {
    Ours(Runner),
    Foreign(ProviderTerraform),
}

impl Running {
    fn start(side: Side, kube: &RealKube, engine: &Path, poll_interval: Duration) -> anyhow::Result<Self> {
        Ok(match side {
            Side::Ours(profile) => Self::Ours(Runner::start(&ours::Options {
                kubeconfig: &kube.kubeconfig(),
                folder: &kube.folder().join("runner"),
                ledgers: &kube.folder().join("ledgers"),
                engine,
                parallelism: PARALLELISM,
                poll_interval,
                profile,
            })?),
            Side::Foreign => {
                let mut options = provider_terraform::Options::new(engine.to_owned());
                options.parallelism = PARALLELISM;
                options.poll_interval = poll_interval;
                Self::Foreign(ProviderTerraform::start(kube, options)?)
            }
        })
    }

    fn pid(&self) -> anyhow::Result<u32> {
        match self {
            Self::Ours(runner) => Ok(runner.pid()),
            Self::Foreign(provider) => provider.pid().context("provider-terraform does not run"),
        }
    }

    fn log(&self, kube: &RealKube) -> PathBuf {
        match self {
            Self::Ours(_) => kube.folder().join("runner/log"),
            Self::Foreign(provider) => provider.log(),
        }
    }

    async fn stop(self) -> anyhow::Result<()> {
        match self {
            Self::Ours(runner) => runner.stop().await,
            Self::Foreign(mut provider) => provider.stop().await,
        }
    }
}

async fn measure(args: &Args, engine: &Path, side: Side) -> anyhow::Result<Figures> {
    let kube = RealKube::start(false).await?;
    provider_terraform::install(&kube).await?;
    let workspaces = Workspaces {
        client: realkube::client(&kube.kubeconfig()).await?,
    };

    let running = Running::start(side, &kube, engine, NEVER)?;
    let pid = running.pid()?;
    // What is done once only is no part of what is measured.
    workspaces.make(&["warm-up".to_owned()]).await?;
    quiet(pid).await?;

    let (started, before) = (Instant::now(), processes::cpu(pid));
    workspaces.make(&["first".to_owned()]).await?;
    let first_wall = started.elapsed();
    quiet(pid).await?;
    let first_cpu = processes::cpu(pid).saturating_sub(before);

    let names: Vec<String> = (0..args.workspaces)
        .map(|number| format!("thing-{number}"))
        .collect();
    let (started, before) = (Instant::now(), processes::cpu(pid));
    let peak = tokio::spawn(peak_memory(pid));
    workspaces.make(&names).await?;
    let all_wall = started.elapsed();
    quiet(pid).await?;
    let all_cpu = processes::cpu(pid).saturating_sub(before);
    peak.abort();
    let peak_mib = PEAK.load(std::sync::atomic::Ordering::Relaxed) as f64 / 1024.0;
    let idle_mib =
        memory::resident(&[pid]).context("the system does not tell how much memory a process has")?;
    running.stop().await?;
    let poll = match args.memory {
        true => None,
        false => Some(polls(args, engine, side, &kube).await?),
    };
    Ok(Figures {
        first_wall,
        first_cpu,
        all_wall,
        all_cpu,
        idle_mib,
        peak_mib,
        poll,
    })
}

/// What it costs to look at Workspaces that are as they should be.
async fn polls(args: &Args, engine: &Path, side: Side, kube: &RealKube) -> anyhow::Result<Poll> {
    let timed = Timed::write(kube.folder(), engine)?;
    let poll = Duration::from_secs(args.poll);
    let running = Running::start(side, kube, &timed.program, poll)?;
    let pid = running.pid()?;
    // Everything is looked at once after a start, which is no steady poll.
    tokio::time::sleep(poll + poll / 2).await;
    let (before, seen) = (processes::cpu(pid), timed.read()?.len());
    tokio::time::sleep(2 * poll).await;
    let cpu = processes::cpu(pid).saturating_sub(before);
    let runs = timed.read()?.split_off(seen);
    let polls = runs.iter().filter(|run| run.command == "plan").count();
    ensure!(
        polls >= args.workspaces,
        "only {polls} polls in {:?}: it does not keep up, so that --poll must be longer; it said last:\n{}",
        2 * poll,
        realkube::tail(&running.log(kube))
    );
    running.stop().await?;
    let each = f64::from(u32::try_from(polls)?);
    Ok(Poll {
        wall: runs.iter().map(|run| run.took).sum::<Duration>().div_f64(each),
        cpu: cpu.div_f64(each),
        processes: f64::from(u32::try_from(runs.len())?) / each,
    })
}

/// The most memory that was seen, in KiB.
static PEAK: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

async fn peak_memory(pid: u32) {
    PEAK.store(0, std::sync::atomic::Ordering::Relaxed);
    loop {
        let all: f64 = processes::tree(pid)
            .into_iter()
            .filter_map(|pid| memory::resident(&[pid]))
            .sum();
        PEAK.fetch_max((all * 1024.0) as u64, std::sync::atomic::Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until a runner runs nothing, and has not for a while.
async fn quiet(pid: u32) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut still = 0;
    while still < 20 {
        ensure!(Instant::now() < deadline, "it never rests");
        still = if processes::tree(pid).len() == 1 {
            still + 1
        } else {
            0
        };
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// The Workspaces of the bench.
struct Workspaces {
    client: kube::Client,
}

impl Workspaces {
    fn api(&self) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: "tf.m.upbound.io".to_owned(),
            version: "v1beta1".to_owned(),
            api_version: "tf.m.upbound.io/v1beta1".to_owned(),
            kind: "Workspace".to_owned(),
            plural: "workspaces".to_owned(),
        };
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    /// Makes Workspaces at once, and waits until all of them are ready.
    async fn make(&self, names: &[String]) -> anyhow::Result<()> {
        let api = self.api();
        futures::stream::iter(names)
            .map(|name| {
                let api = api.clone();
                async move {
                    let object: DynamicObject = serde_json::from_value(workspace(name))?;
                    api.create(&PostParams::default(), &object).await?;
                    anyhow::Ok(())
                }
            })
            .buffer_unordered(PARALLELISM)
            .try_collect::<()>()
            .await?;
        let mut waiting: std::collections::HashSet<&str> = names.iter().map(String::as_str).collect();
        let watching = async {
            let mut events = pin!(watcher::watcher(api, watcher::Config::default()));
            while let Some(event) = events.next().await {
                let (Ok(Event::InitApply(object)) | Ok(Event::Apply(object))) = event else {
                    continue;
                };
                if is_ready(&serde_json::to_value(&object)?) {
                    waiting.remove(object.metadata.name.as_deref().unwrap_or_default());
                }
                if waiting.is_empty() {
                    break;
                }
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(PATIENCE, watching)
            .await
            .with_context(|| format!("not all Workspaces are ready after {PATIENCE:?}"))?
    }
}

fn workspace(name: &str) -> Value {
    json!({
        "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
        "metadata": {"name": name, "namespace": "default", "labels": {(marks::RUNNER): ours::NAME}},
        "spec": {
            "managementPolicies": ["Observe", "Create", "Update", "LateInitialize"],
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
            "forProvider": {"source": "Inline", "module": MODULE, "vars": [{"key": "text", "value": name}]},
        },
    })
}

fn is_ready(workspace: &Value) -> bool {
    let conditions = workspace["status"]["conditions"].as_array();
    let is = |type_: &str| {
        conditions.is_some_and(|all| all.iter().any(|it| it["type"] == type_ && it["status"] == "True"))
    };
    is("Synced") && is("Ready")
}

/// A Terraform that writes down what it did and how long that took.
struct Timed {
    program: PathBuf,
    log: PathBuf,
}

struct Run {
    command: String,
    took: Duration,
}

impl Timed {
    fn write(folder: &Path, engine: &Path) -> anyhow::Result<Self> {
        let (program, log) = (folder.join("timed-terraform"), folder.join("timed-terraform.log"));
        let (engine, to) = (engine.display(), log.display());
        let script = format!(
            "#!/bin/bash\nbegan=$EPOCHREALTIME\n'{engine}' \"$@\"\nended=$?\necho \"$1 $began $EPOCHREALTIME\" >> \
             '{to}'\nexit $ended\n"
        );
        fs::write(&program, script)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        fs::write(&log, "")?;
        Ok(Self { program, log })
    }

    fn read(&self) -> anyhow::Result<Vec<Run>> {
        let text = fs::read_to_string(&self.log)?;
        let run = |line: &str| {
            let mut words = line.split_whitespace();
            let command = words.next()?.to_owned();
            let (began, ended): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let took = Duration::try_from_secs_f64(ended - began).ok()?;
            Some(Run { command, took })
        };
        Ok(text.lines().filter_map(run).collect())
    }
}
