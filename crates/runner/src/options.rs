//! What a runner is told when it starts.

use std::{fmt, sync::Arc, time::Duration};

use capt_core::tenancy::NamespaceSet;
use k8s_openapi::jiff::Timestamp;

use crate::{
    engine::{Engine, Failure},
    metrics::Metrics,
};

/// What time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Chooses what executes the operations of a Workspace.
pub trait Engines: Send + Sync + 'static {
    /// The engine for a Workspace. `is_sandbox` says that its module makes nothing real.
    ///
    /// # Errors
    /// If there is none that may act on it; the failure says why and what to do.
    fn for_workspace(&self, is_sandbox: bool) -> Result<Arc<dyn Engine>, Failure>;
}

/// Which Workspaces a runner acts on, in its namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All: nobody else acts on Workspaces here.
    All,
    /// Those labelled for the runner of this name, unless somebody else uses them.
    Labelled(String),
}

/// What a runner is told when it starts.
#[derive(Clone)]
pub struct Options {
    /// Chooses engines.
    pub engines: Arc<dyn Engines>,
    /// Which Workspaces to act on.
    pub which: Which,
    /// The namespaces whose Workspaces it acts on. A cluster-scoped one is of the namespace in its label
    /// `infrastructure.cluster.x-k8s.io/wta-namespace`; without that label it is acted on only where this is all namespaces.
    pub namespaces: NamespaceSet,
    /// Namespaces whose runs inherit the process's own AWS identity: `AWS_*` and the files that these variables name.
    pub own_credentials: NamespaceSet,
    /// The runner's own namespace: for what it keeps about itself, and for reports and state of cluster-scoped Workspaces
    /// that are of no namespace.
    pub system_namespace: String,
    /// The address of the API server, such as `https://10.0.0.1:6443`, to tell whether a `kubernetes` backend of a
    /// user's means the same one.
    pub server: Option<String>,
    /// Names this runner, the same each time it is started, and no other that runs at the same time: locks that it left
    /// behind are known by it.
    pub identity: String,
    /// How many operations run at once.
    pub parallelism: usize,
    /// How long after an operation it is looked for drift; never, if it is none.
    pub poll_interval: Option<Duration>,
    /// How long one operation may take before it is asked to stop.
    pub timeout: Duration,
    /// How long operations may take to stop when the runner does. At least what the engine grants Terraform.
    pub grace: Duration,
    /// Spreads what would happen at once otherwise.
    pub seed: u64,
    /// What time it is.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
}

impl Options {
    /// What suits most: everything is acted on, eight operations at once, drift is looked for every ten minutes.
    #[must_use]
    pub fn new(engines: Arc<dyn Engines>, identity: impl Into<String>) -> Self {
        Self {
            engines,
            which: Which::All,
            namespaces: NamespaceSet::All,
            own_credentials: NamespaceSet::none(),
            system_namespace: "default".to_owned(),
            server: None,
            identity: identity.into(),
            parallelism: 8,
            poll_interval: Some(Duration::from_secs(600)),
            timeout: Duration::from_secs(2 * 3600),
            grace: Duration::from_secs(90),
            seed: 0,
            clock: Arc::new(Timestamp::now),
            metrics: Metrics::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("which", &self.which)
            .field("namespaces", &self.namespaces)
            .field("system_namespace", &self.system_namespace)
            .field("identity", &self.identity)
            .field("parallelism", &self.parallelism)
            .field("poll_interval", &self.poll_interval)
            .finish_non_exhaustive()
    }
}
