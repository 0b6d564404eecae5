//! What the controllers are told when they start.

use std::{fmt, sync::Arc};

use capt_api::foreign::marks;
use capt_core::{render::WorkspaceGroup, tenancy::NamespaceSet, wta::snapshot::Runner};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::ObjectMeta, jiff::Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    captcontrolplane::{Endpoints, NetworkEndpoints, OwnCredentials, ProcessCredentials},
    engine::rights::Missing,
    metrics::Metrics,
};

/// Tells what time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What the controllers are told when they start.
#[derive(Clone)]
pub struct Options {
    /// What time it is. Waiting is done by the runtime's own clock.
    pub clock: Clock,
    /// Who runs Terraform.
    pub runner: Runner,
    /// The group of new Workspaces, whatever is served. Left out, the namespaced group where it is served.
    pub workspace_api: Option<WorkspaceGroup>,
    /// The namespaces that are watched. Objects of others are read where one of these refers to them, and never written.
    pub namespaces: NamespaceSet,
    /// Namespaces whose tokens may be signed with the process's own AWS identity. They are trusted with every cluster that
    /// this identity reaches.
    pub own_credentials: NamespaceSet,
    /// Only objects with this value in the label `cluster.x-k8s.io/watch-filter` are worked on, and what belongs to
    /// them. Left out, all are.
    pub watch_filter: Option<String>,
    /// Whether Clusters are looked after, too.
    pub cluster_controller: ClusterController,
    /// How many objects of each kind are worked on at a time.
    pub concurrency: Concurrency,
    /// Where everything is counted.
    pub metrics: Metrics,
    /// What is found out elsewhere than from the API.
    pub outside: Outside,
    /// Where it is told that the controllers know all that there is.
    pub readiness: Readiness,
}

/// What is found out elsewhere than from the API.
#[derive(Clone)]
pub struct Outside {
    /// Whether API servers of clusters answer.
    pub endpoints: Arc<dyn Endpoints>,
    /// The credentials for AWS that the process itself has, for clusters whose Workspaces have none.
    pub credentials: Arc<dyn OwnCredentials>,
}

/// Whether Clusters are looked after by our own small controller, which does for them what Cluster API does for the
/// fields that capt needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterController {
    /// Where the CustomResourceDefinition of Clusters is the one that capt installs, and nowhere else.
    #[default]
    Auto,
    /// Always. Nobody else may look after them.
    On,
    /// Never.
    Off,
}

/// How many objects of each kind are worked on at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Clusters.
    pub clusters: usize,
    /// CAPTClusters.
    pub captclusters: usize,
    /// CAPTControlPlanes.
    pub captcontrolplanes: usize,
    /// WorkspaceTemplateApplies.
    pub applies: usize,
    /// WorkspaceTemplates.
    pub templates: usize,
}

impl Concurrency {
    /// The same for every kind.
    #[must_use]
    pub fn of_each(number: usize) -> Self {
        Self {
            clusters: number,
            captclusters: number,
            captcontrolplanes: number,
            applies: number,
            templates: number,
        }
    }
}

impl Default for Concurrency {
    fn default() -> Self {
        Self::of_each(8)
    }
}

/// Tells whether the controllers know all that there is, which they need before they do anything. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Readiness {
    is_ready: watch::Sender<bool>,
    missing: Missing,
    uninstalled: Arc<Mutex<Option<String>>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self {
            is_ready: watch::Sender::new(false),
            missing: Missing::default(),
            uninstalled: Arc::default(),
        }
    }
}

impl Readiness {
    /// Whether they do now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.is_ready.borrow()
    }

    /// Why they can do nothing, in words; none if they can. Rights and kinds that are missing are named.
    #[must_use]
    pub fn why_not(&self) -> Option<String> {
        if self.is_ready() {
            return self.uninstalled.lock().clone();
        }
        let why = "not everything could be read yet";
        Some(match self.missing.words() {
            Some(words) => format!("{why}: {words}"),
            None => why.to_owned(),
        })
    }

    /// Where rights that are missing are told.
    pub(crate) fn missing(&self) -> &Missing {
        &self.missing
    }

    /// Waits until they do.
    pub async fn wait(&self) {
        // It cannot fail: a sender is right here.
        let _ = self.is_ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// Says which kinds are missing.
    pub(crate) fn set_uninstalled(&self, kinds: Option<String>) {
        *self.uninstalled.lock() = kinds;
    }

    pub(crate) fn set(&self, ready: bool) {
        self.is_ready.send_replace(ready);
    }
}

impl Options {
    /// The usual: all namespaces, the group that is served.
    #[must_use]
    pub fn new(clock: Clock, runner: Runner) -> Self {
        Self {
            outside: Outside {
                endpoints: Arc::new(NetworkEndpoints),
                credentials: Arc::new(ProcessCredentials::new(clock.clone())),
            },
            clock,
            runner,
            workspace_api: None,
            namespaces: NamespaceSet::All,
            own_credentials: NamespaceSet::none(),
            watch_filter: None,
            cluster_controller: ClusterController::default(),
            concurrency: Concurrency::default(),
            metrics: Metrics::default(),
            readiness: Readiness::default(),
        }
    }

    /// Whether an object is to be worked on, by its label.
    pub(crate) fn are_for(&self, metadata: &ObjectMeta) -> bool {
        let labels = metadata.labels.as_ref();
        let label = labels.and_then(|labels| labels.get(marks::WATCH_FILTER));
        self.watch_filter
            .as_ref()
            .is_none_or(|filter| label == Some(filter))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("runner", &self.runner)
            .field("workspace_api", &self.workspace_api)
            .field("namespaces", &self.namespaces)
            .field("watch_filter", &self.watch_filter)
            .field("cluster_controller", &self.cluster_controller)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
