//! The server as a value: store, registry and clock, and the router over them.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{SharedClock, SystemClock};
use crate::metrics::Metrics;
use crate::openapi::OpenApi;
use crate::registry::Registry;
use crate::store::{BackendError, CommitError, Journal, Retention, State, Store};
use crate::{bootstrap, dispatch, janitor};

/// The table of CustomResourceDefinitions.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Where writes are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Storage {
    /// Nowhere: gone when the server is dropped.
    #[default]
    Memory,
    /// In this redb file and a journal beside it, durable before each answer.
    Redb(PathBuf),
}

/// Everything a server holds at one moment: what another one in memory can start from at once.
#[derive(Clone)]
pub struct Image {
    state: State,
    registry: Arc<Registry>,
}

/// How a server is set up.
#[derive(Clone)]
pub struct Options {
    /// Where writes are kept.
    pub storage: Storage,
    /// Where time comes from.
    pub clock: SharedClock,
    /// How much history watches can go back.
    pub retention: Retention,
    /// What a server in memory starts from; one on disk starts from what is there.
    pub image: Option<Image>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            storage: Storage::Memory,
            clock: Arc::new(SystemClock),
            retention: Retention::default(),
            image: None,
        }
    }
}

/// Why a server could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error("the stored objects cannot be used")]
    Store(#[from] BackendError),
    /// The first objects.
    #[error("cannot write the first objects")]
    Bootstrap(#[source] CommitError),
}

/// A running API server. Cloning shares it.
#[derive(Clone)]
pub struct ApiServer {
    inner: Arc<Inner>,
    tasks: TaskTracker,
}

/// What request handlers share.
pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) clock: SharedClock,
    pub(crate) metrics: Metrics,
    pub(crate) openapi: OpenApi,
    pub(crate) stopping: CancellationToken,
    registry: watch::Sender<Arc<Registry>>,
    refreshing: Mutex<()>,
}

impl ApiServer {
    /// Opens the store and starts the background work. Call it inside a tokio runtime.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let inner = Inner::open(options).await?;
        let tasks = TaskTracker::new();
        tasks.spawn(follow_definitions(inner.clone()));
        tasks.spawn(janitor::run(inner.clone()));
        tasks.close();
        Ok(Self { inner, tasks })
    }

    /// The API as a service: no listening, no authentication.
    pub fn router(&self) -> Router {
        dispatch::router(self.inner.clone())
    }

    /// Everything that is here now.
    #[must_use]
    pub fn image(&self) -> Image {
        Image {
            state: State::clone(&self.inner.store.visible()),
            registry: self.inner.registry(),
        }
    }

    /// The newest visible revision.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.inner.store.visible().revision
    }

    /// Ends watches and background work; requests are still answered. The first half of [`ApiServer::shutdown`].
    pub fn stop_watches(&self) {
        self.inner.stopping.cancel();
    }

    /// Resolves when writes can no longer be kept, because the disk is full or broken. Reads go on.
    pub async fn failed(&self) {
        self.inner.store.failed().await;
    }

    /// Ends watches, stops background work, and finishes accepted writes.
    pub async fn shutdown(&self) {
        self.stop_watches();
        self.tasks.wait().await;
        self.inner.store.close().await;
    }
}

impl Inner {
    /// Opens the store, without any background work.
    pub(crate) async fn open(options: Options) -> Result<Arc<Self>, OpenError> {
        let store = match &options.storage {
            Storage::Memory => {
                let state = options.image.as_ref().map(|image| image.state.clone());
                Store::in_memory(state.unwrap_or_default(), options.retention)
            }
            Storage::Redb(path) => Store::durable(Box::new(Journal::open(path)?), options.retention)?,
        };
        let inner = Arc::new(Self {
            store,
            clock: options.clock,
            metrics: Metrics::default(),
            openapi: OpenApi::default(),
            stopping: CancellationToken::new(),
            registry: watch::Sender::new(match options.image {
                Some(image) => image.registry,
                None => Arc::new(Registry::builtin()),
            }),
            refreshing: Mutex::new(()),
        });
        inner.refresh_registry();
        bootstrap::ensure(&inner).await.map_err(OpenError::Bootstrap)?;
        Ok(inner)
    }

    /// What is served now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.borrow().clone()
    }

    /// Tells of changes in what is served.
    pub(crate) fn registry_changes(&self) -> watch::Receiver<Arc<Registry>> {
        self.registry.subscribe()
    }

    /// Brings the registry up to the visible definitions.
    pub(crate) fn refresh_registry(&self) {
        // The state is read under the lock, so that an older registry never replaces a newer one.
        let _one_at_a_time = self.refreshing.lock();
        let previous = self.registry();
        let newest = self.store.log(&DEFINITIONS.into()).newest();
        if previous.as_of >= newest && previous.generation > 0 {
            return;
        }
        let state = self.store.visible();
        let definitions = state.table(DEFINITIONS);
        let fresh = Registry::with_definitions(&previous, definitions.values(), state.revision);
        self.registry.send_replace(Arc::new(fresh));
    }
}

/// Keeps the registry up to date whatever becomes of the requests that change definitions.
async fn follow_definitions(server: Arc<Inner>) {
    let mut ticks = server.store.log(&DEFINITIONS.into()).ticks();
    loop {
        server.refresh_registry();
        tokio::select! {
            () = server.stopping.cancelled() => return,
            changed = ticks.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}
