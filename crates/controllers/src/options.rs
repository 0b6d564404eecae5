//! What the controllers are told when they start.

use std::{fmt, sync::Arc};

use capt_core::{render::WorkspaceGroup, wta::snapshot::Runner};
use k8s_openapi::jiff::Timestamp;

use crate::metrics::Metrics;

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
    /// The only namespace to look at, or all of them.
    pub namespace: Option<String>,
    /// How many objects of a kind are worked on at a time.
    pub concurrency: usize,
    /// Where everything is counted.
    pub metrics: Metrics,
}

impl Options {
    /// The usual: all namespaces, the group that is served.
    #[must_use]
    pub fn new(clock: Clock, runner: Runner) -> Self {
        Self {
            clock,
            runner,
            workspace_api: None,
            namespace: None,
            concurrency: 8,
            metrics: Metrics::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("runner", &self.runner)
            .field("workspace_api", &self.workspace_api)
            .field("namespace", &self.namespace)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
