//! Everything that runs between start and stop.

use std::path::PathBuf;

use apiary::{
    ApiServer, Options,
    serve::{DataDirLock, Limits, Listener, Serving},
};

use super::{Args, door::Door, install, listen::ListenAddress, place::Place};

/// A server that clients can use.
pub(super) struct Running {
    api: ApiServer,
    serving: Serving,
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

        let api = ApiServer::open(Options {
            storage: place.storage(args.in_memory),
            ..Options::default()
        })
        .await?;
        install::crds(&api).await?;
        // Only now, so that a start that fails leaves clients with the server that they had.
        door.kubeconfig.write(place.kubeconfig())?;
        let serving = listener.serve(door.tls, door.authenticator, api.router(), &Limits::default());
        Ok(Self {
            api,
            serving,
            _lock: lock,
        })
    }

    /// Where clients reach it.
    pub(super) fn url(&self, listen: &ListenAddress) -> String {
        listen.url(self.serving.local_addr())
    }

    /// Resolves when the disk takes no more writes; what is there can still be read.
    pub(super) async fn writes_not_kept(&self) {
        self.api.failed().await;
    }

    /// Stops in the order that lets clients see an ordinary end: watches first, with their last bookmarks,
    /// then the other requests, and last the store.
    pub(super) async fn stop(&self) {
        self.api.stop_watches();
        self.serving.shutdown().await;
        self.api.shutdown().await;
    }
}
