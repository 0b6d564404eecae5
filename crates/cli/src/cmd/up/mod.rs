//! `capt up`: everything on this machine, with nothing to install first.

mod install;
mod listen;
mod process;
mod ready;
mod signals;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use anyhow::Context;
use apiary::{
    ApiServer, Identity, Options, Storage,
    serve::{
        Authenticator, DataDirLock, Kubeconfig, Limits, Listener, Pki, PkiRequest,
        tls::{self, ServerConfig},
    },
};
use tempfile::TempDir;

use self::{listen::ListenAddress, ready::Ready, signals::Signals};
use crate::data_dir;

/// What the context in the kubeconfig is called.
const CONTEXT: &str = "capt";
const ADMIN_USER: &str = "capt-admin";
const ADMIN_GROUP: &str = "system:masters";

/// Run a Kubernetes API on this machine that knows capt's kinds
///
/// Needs nothing installed. It listens on loopback over TLS, writes a kubeconfig for kubectl and any other
/// Kubernetes client, and keeps every write on disk. When it is ready it prints two lines to stdout: the
/// address, and the `export` that points kubectl at it. It runs until it is interrupted.
#[derive(clap::Args)]
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
Interrupt it twice to stop at once; no write that it has acknowledged is lost even then.")]
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
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    process::prepare();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(up(args))
}

async fn up(args: Args) -> anyhow::Result<()> {
    // Before anything else, so that no signal finds us without a handler.
    let mut signals = Signals::install()?;
    let place = Place::choose(&args)?;
    // Whatever may be refused is tried before the store is touched.
    let _lock = DataDirLock::take(place.dir())?;
    let listener = Listener::bind(args.listen.resolve().await?).await?;
    let door = Door::prepare(&args, &place, listener.local_addr())?;

    let api = ApiServer::open(Options {
        storage: place.storage(&args),
        ..Options::default()
    })
    .await?;
    install::crds(&api).await?;
    let serving = listener.serve(door.tls, door.authenticator, api.router(), &Limits::default());
    Ready {
        url: args.listen.url(serving.local_addr()),
        in_memory: args.in_memory,
        place: &place,
    }
    .announce()?;

    signals.next().await;
    tracing::info!("stopping; interrupt again to stop at once");
    tokio::select! {
        () = async { serving.shutdown().await; api.shutdown().await } => Ok(()),
        signal = signals.next() => std::process::exit(signal.exit_code()),
    }
}

/// How clients get in.
struct Door {
    tls: Arc<ServerConfig>,
    authenticator: Arc<Authenticator>,
}

impl Door {
    /// Makes certificates as needed, and the kubeconfig for a server at `address`.
    fn prepare(args: &Args, place: &Place, address: SocketAddr) -> anyhow::Result<Self> {
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "other machines can reach this address; they need the kubeconfig to get in");
        }
        let request = PkiRequest {
            server_names: args.listen.names(address),
            admin_user: ADMIN_USER.to_owned(),
            admin_group: ADMIN_GROUP.to_owned(),
            now: SystemTime::now(),
        };
        let pki = Pki::load_or_create(&place.dir().join("pki"), &request)?;
        Kubeconfig::for_admin(CONTEXT, args.listen.url(address), &pki).write(place.kubeconfig())?;
        let identity = Identity::authenticated(ADMIN_USER, [ADMIN_GROUP.to_owned()]);
        let authenticator = Arc::new(Authenticator::new(&pki.token, identity));
        Ok(Self {
            tls: tls::server_config(&pki)?,
            authenticator,
        })
    }
}

/// Where things are kept.
struct Place {
    dir: PathBuf,
    kubeconfig: PathBuf,
    /// Removes the directory when it is dropped.
    _temporary: Option<TempDir>,
}

impl Place {
    fn choose(args: &Args) -> anyhow::Result<Self> {
        let (dir, temporary) = match &args.data_dir {
            Some(dir) => (dir.clone(), None),
            None if args.in_memory => {
                let temporary = tempfile::Builder::new().prefix("capt-").tempdir();
                let temporary = temporary.context("cannot make a temporary directory")?;
                (temporary.path().to_owned(), Some(temporary))
            }
            None => (data_dir::default()?, None),
        };
        let dir =
            std::path::absolute(&dir).with_context(|| format!("cannot tell where {} is", dir.display()))?;
        let kubeconfig = match &args.kubeconfig {
            Some(path) => std::path::absolute(path)
                .with_context(|| format!("cannot tell where {} is", path.display()))?,
            None => dir.join("kubeconfig"),
        };
        Ok(Self {
            dir,
            kubeconfig,
            _temporary: temporary,
        })
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn storage(&self, args: &Args) -> Storage {
        match args.in_memory {
            true => Storage::Memory,
            false => Storage::Redb(self.dir.join("objects.redb")),
        }
    }
}
