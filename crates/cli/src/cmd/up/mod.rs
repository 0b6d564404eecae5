//! `capt up`: everything on this machine, with nothing to install first.

mod door;
mod install;
mod listen;
mod place;
mod process;
mod ready;
mod running;
mod signals;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use tokio::task::JoinHandle;

pub(crate) use self::running::WritesNotKept;
use self::{listen::ListenAddress, place::Place, ready::Ready, running::Running, signals::Signals};

/// How long a start that was interrupted may take to notice.
const GIVING_UP: Duration = Duration::from_secs(1);

/// Run a Kubernetes API on this machine that knows capt's kinds
///
/// Needs nothing installed. It listens on loopback over TLS, writes a kubeconfig for kubectl and any other
/// Kubernetes client, and keeps every write on disk. When it is ready it prints two lines to stdout: the
/// address, and the `export` that points kubectl at it. It runs until it is interrupted.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  # Start, or start again with the data of last time
  capt up

  # A throw-away API on any free port
  capt up --in-memory --listen 127.0.0.1:0

  # A second one, beside the first
  capt up --data-dir ./lab --listen 127.0.0.1:17443

Then, in another terminal:
  export KUBECONFIG=...   # as printed
  kubectl api-resources
  kubectl apply -f examples/

Interrupt it (Ctrl-C, or SIGTERM) to stop: it finishes what it has begun and exits with 0.
Interrupt it twice to stop at once; no write that it has acknowledged is lost even then.
If the disk takes no more writes, it says so, finishes, and exits with 1.")]
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
}

/// Runs until interrupted.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    process::prepare();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
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
    let running = tokio::select! {
        running = &mut starting => running.context("starting has failed unexpectedly")??,
        signal = signals.next() => {
            give_up(starting).await;
            return Ok(signal.exit_code());
        }
    };
    Ready {
        url: running.url(&args.listen),
        in_memory: args.in_memory,
        place: &place,
    }
    .announce()?;

    let ended = tokio::select! {
        _ = signals.next() => Ok(ExitCode::SUCCESS),
        () = running.writes_not_kept() => Err(WritesNotKept { place: place.dir().to_owned() }),
    };
    match &ended {
        Ok(_) => tracing::info!("stopping; interrupt again to stop at once"),
        Err(_) => tracing::error!("stopping, since writes can no longer be kept"),
    }
    tokio::select! {
        () = running.stop() => Ok(ended?),
        signal = signals.next() => Ok(signal.exit_code()),
    }
}

/// Ends a start, so that it no longer makes files where they are about to be removed.
async fn give_up(starting: JoinHandle<anyhow::Result<Running>>) {
    starting.abort();
    // Whatever it came to, nobody waits for it any more.
    let _ = tokio::time::timeout(GIVING_UP, starting).await;
}
