//! `capt up`: everything on this machine, with nothing to install first.

mod demo;
mod door;
mod install;
mod place;
mod ready;
mod running;
mod workers;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::running::WritesNotKept;
use self::{place::Place, ready::Ready, running::Running};
use super::{
    cluster_controller::ClusterControllerArgs, engine::EngineArgs, own_credentials::OwnCredentialsArgs,
    process, refuse, signals::Signals,
};
use crate::{args, listen::ListenAddress, ports::PortArgs};

/// How long a start that was interrupted may take to notice.
const GIVING_UP: Duration = Duration::from_secs(1);

/// Run everything on this machine: a Kubernetes API that knows capt's kinds, its controllers, and Terraform
///
/// Needs nothing installed, and Terraform or OpenTofu to make anything real. It listens over TLS, on
/// loopback unless --listen names another address, writes a kubeconfig for kubectl and any other Kubernetes client, and
/// keeps every write on disk. When it is ready it prints three lines to stdout: the address, the `export` that points
/// kubectl at it, and what runs Terraform and why. It runs until it is interrupted.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  # Start, or start again with the data of last time
  capt up

  # A sample cluster, made of nothing real, shown as it comes up
  capt up --demo

  # A throw-away API on any free port
  capt up --in-memory --listen 127.0.0.1:0

  # A second one, beside the first
  capt up --data-dir ./lab --listen 127.0.0.1:17443

  # Make nothing real, whatever is applied
  capt up --engine simulated

  # With OpenTofu, sixteen operations at once, and drift looked for every hour
  capt up --engine tofu --parallelism 16 --poll-interval 1h

Then, in another terminal:
  export KUBECONFIG=...   # as printed
  kubectl apply -f examples/workspace.yaml
  kubectl get wtapply -w

Interrupt it (Ctrl-C, or SIGTERM) to stop: operations of Terraform are asked to stop, what they made is kept, \
and it exits with 0; the next start goes on. Interrupt it twice to stop at once; no write that it has \
acknowledged is lost even then, and what Terraform made is found by the next start. If it cannot go on, such \
as when the disk takes no more writes, it says so, finishes, and exits with 1.")]
#[command(mut_arg("sandbox", |sandbox| sandbox.default_value("off")))]
pub(crate) struct Args {
    /// Directory for objects, certificates and the kubeconfig [default: the platform's data directory, such
    /// as ~/.local/share/capt; with --in-memory, one that is removed at the end]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:16443")]
    listen: ListenAddress,

    /// File to write the kubeconfig to, readable by you alone [default: kubeconfig in the data directory]
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,

    /// Keep objects in memory only: they are gone when it stops
    #[arg(long)]
    in_memory: bool,

    /// Who runs Terraform: embedded is this process; none leaves Workspaces to somebody else, such as
    /// provider-terraform or, with --runner, a capt runner [default: embedded; none with --runner]
    #[arg(long, value_name = "WHO", value_enum)]
    workspace_runner: Option<WorkspaceRunner>,

    /// Workspaces are labelled for `capt runner --name NAME`, which runs them
    #[arg(long, value_name = "NAME", conflicts_with = "api_only", value_parser = args::label_value)]
    runner: Option<String>,

    /// Serve the API and nothing else: no controller and no Terraform acts on what is in it
    #[arg(long)]
    api_only: bool,

    /// Make a sample cluster in the sandbox, show it until it is ready, and say what to try next
    #[arg(long, conflicts_with = "api_only")]
    pub(crate) demo: bool,

    #[command(flatten)]
    own_credentials: OwnCredentialsArgs,

    #[command(flatten)]
    clusters: ClusterControllerArgs,

    #[command(flatten)]
    engine: EngineArgs,

    #[command(flatten)]
    ports: PortArgs,
}

/// Who runs Terraform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum WorkspaceRunner {
    Embedded,
    None,
}

impl Args {
    fn who_runs(&self) -> WorkspaceRunner {
        match self.runner {
            Some(_) => WorkspaceRunner::None,
            None => self.workspace_runner.unwrap_or(WorkspaceRunner::Embedded),
        }
    }

    /// What makes no sense together.
    fn contradiction(&self) -> Option<String> {
        if self.runner.is_some() && self.workspace_runner == Some(WorkspaceRunner::Embedded) {
            let problem = "--runner names a capt runner that runs Terraform, and --workspace-runner embedded says that this \
                           process does. Leave out one of the two";
            return Some(problem.to_owned());
        }
        if self.demo && self.who_runs() == WorkspaceRunner::None {
            let problem = "--demo needs a runner: with --workspace-runner none or --runner nothing here runs Terraform, and \
                           the sample cluster would never become ready. Leave out one of the two";
            return Some(problem.to_owned());
        }
        self.engine.contradiction()
    }
}

/// Runs until interrupted.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    refuse(args.contradiction());
    process::prepare();
    let runtime = super::runtime()?;
    let ended = runtime.block_on(up(args));
    // What must be finished is finished; a name that is still being looked up may not keep us.
    runtime.shutdown_background();
    ended
}

async fn up(args: Args) -> anyhow::Result<ExitCode> {
    // Before anything else, so that no signal finds us without a handler.
    let mut signals = Signals::install()?;
    // Dropped by every way out of here, and the directory of `--in-memory` with it.
    let (place, _temporary) = Place::choose(
        args.data_dir.as_deref(),
        args.kubeconfig.as_deref(),
        args.in_memory,
    )?;

    // A task of its own, since loading is busy for long stretches and signals must be heard meanwhile.
    let mut starting = tokio::spawn(Running::start(args.clone(), place.clone()));
    let mut running = tokio::select! {
        running = &mut starting => running.context("starting has failed unexpectedly")??,
        signal = signals.next() => {
            give_up(starting).await;
            return Ok(signal.exit_code());
        }
    };
    Ready {
        url: running.url(&args.listen),
        engine: running.engine(),
        in_memory: args.in_memory,
        place: &place,
    }
    .announce()?;

    let demo = args
        .demo
        .then(|| AbortOnDropHandle::new(tokio::spawn(tell_failure(running.demo()))));
    let broken = tokio::select! {
        _ = signals.next() => None,
        error = running.broken(&place) => Some(error),
    };
    drop(demo);
    match &broken {
        None => tracing::info!("stopping; interrupt again to stop at once"),
        Some(error) => tracing::error!("stopping: {error}"),
    }
    tokio::select! {
        () = running.stop() => broken.map_or(Ok(ExitCode::SUCCESS), Err),
        signal = signals.next() => Ok(signal.exit_code()),
    }
}

/// A demonstration that fails ends nothing else.
async fn tell_failure(demo: impl Future<Output = anyhow::Result<()>>) {
    if let Err(error) = demo.await {
        tracing::error!("the demonstration failed: {error:#}");
    }
}

/// Ends a start, so that it no longer makes files where they are about to be removed.
async fn give_up(starting: JoinHandle<anyhow::Result<Running>>) {
    starting.abort();
    // Whatever it came to, nobody waits for it any more.
    let _ = tokio::time::timeout(GIVING_UP, starting).await;
}
