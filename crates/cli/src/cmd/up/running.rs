//! Everything that runs between start and stop.

use std::path::PathBuf;

use apiary::{
    ApiServer, Options,
    serve::{DataDirLock, Limits, Listener, Serving},
};

use capt_runner::choose::Choice;
use kube::Client;

use super::{
    Args, WorkspaceRunner, demo,
    door::{Door, Showing},
    install,
    place::Place,
    workers::{Counted, Workers},
};
use crate::{
    listen::ListenAddress,
    ports::{Ports, Readiness},
};

/// A server that clients can use.
pub(super) struct Running {
    api: ApiServer,
    serving: Serving,
    /// On this side of the door: it needs neither a socket nor a certificate.
    client: Client,
    /// What those on the other side have to know.
    showing: Showing,
    /// Nobody works where only the API was asked for.
    workers: Option<Workers>,
    /// Which engine runs Terraform, and why.
    engine: String,
    /// Answer for as long as it runs.
    _ports: Ports,
    /// Held until the store is closed.
    _lock: DataDirLock,
}

/// Why a server stopped that nobody stopped.
#[derive(Debug, thiserror::Error)]
#[error("objects can no longer be saved in {}; every write that was acknowledged is there", place.display())]
pub(crate) struct WritesNotKept {
    /// The data directory.
    pub(crate) place: PathBuf,
}

impl Running {
    /// Starts everything, or leaves everything as it was.
    pub(super) async fn start(args: Args, place: Place) -> anyhow::Result<Self> {
        // Whatever may be refused is tried before the store is touched.
        let lock = DataDirLock::take(place.dir())?;
        let listener = Listener::bind(args.listen.resolve().await?).await?;
        let door = Door::prepare(&args.listen, &place, listener.local_addr())?;
        door.kubeconfig.check(place.kubeconfig())?;
        let choice = choose(&args, &place).await?;
        let counted = Counted::default();
        let ports = args
            .ports
            .open(&readiness(&counted, args.api_only), counted.registry())
            .await?;

        let api = ApiServer::open(Options {
            storage: place.storage(args.in_memory),
            ..Options::default()
        })
        .await?;
        install::crds(&api).await?;
        // Only now, so that a start that fails leaves clients with the server that they had.
        door.kubeconfig.write(place.kubeconfig())?;
        let serving = listener.serve(door.tls, door.authenticator, api.router(), &Limits::default());
        let engine = match &choice {
            _ if args.api_only => "none, and no controllers; only the API runs".to_owned(),
            Some(choice) => choice.why().to_owned(),
            None => match &args.runner {
                Some(name) => format!("none here; Workspaces are labelled for capt runner --name {name}"),
                None => "none here; Workspaces are left to provider-terraform. For a capt runner, start with --runner and \
                         its name"
                    .to_owned(),
            },
        };
        let client = Client::new(api.router(), "default");
        let url = args.listen.url(serving.local_addr());
        let workers = (!args.api_only).then(|| Workers::start(&client, &args, choice, url, &counted));
        Ok(Self {
            api,
            serving,
            client,
            showing: door.showing,
            workers,
            engine,
            _ports: ports,
            _lock: lock,
        })
    }

    /// Which engine runs Terraform, and why, in one line.
    pub(super) fn engine(&self) -> &str {
        &self.engine
    }

    /// Makes the sample cluster and shows it until it is ready.
    pub(super) fn demo(&self) -> impl Future<Output = anyhow::Result<()>> + Send + 'static {
        demo::run(self.client.clone(), self.showing.clone())
    }

    /// Where clients reach it.
    pub(super) fn url(&self, listen: &ListenAddress) -> String {
        listen.url(self.serving.local_addr())
    }

    /// Resolves when it cannot go on: the disk takes no more writes (what is there can still be read), or a part of it
    /// ended by itself.
    pub(super) async fn broken(&mut self, place: &Place) -> anyhow::Error {
        let workers = async {
            match &mut self.workers {
                Some(workers) => workers.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.api.failed() => WritesNotKept { place: place.dir().to_owned() }.into(),
            error = workers => error,
        }
    }

    /// Stops in the order that lets everybody see an ordinary end: whoever works on objects first, then watches, with
    /// their last bookmarks, then the other requests, and last the store.
    pub(super) async fn stop(&mut self) {
        if let Some(workers) = &mut self.workers {
            workers.stop().await;
        }
        self.api.stop_watches();
        self.serving.shutdown().await;
        self.api.shutdown().await;
    }
}

/// The API has a `/readyz` of its own; this one is about those who act on what is in it.
fn readiness(counted: &Counted, api_only: bool) -> Readiness {
    let facts = counted.readiness.clone();
    Readiness::new(move || match api_only || facts.is_ready() {
        true => None,
        false => Some("the controllers have not read everything yet".to_owned()),
    })
}

/// The engine, unless Workspaces are left to somebody else.
async fn choose(args: &Args, place: &Place) -> anyhow::Result<Option<Choice>> {
    match args.who_runs() {
        _ if args.api_only => Ok(None),
        WorkspaceRunner::None => Ok(None),
        WorkspaceRunner::Embedded => args.engine.choose(place.terraform()).await.map(Some),
    }
}
