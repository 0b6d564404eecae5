//! The controllers and the Terraform runner, beside the API in the same process.

use std::time::Duration;

use capt_core::{tenancy::NamespaceSet, wta::snapshot::Runner};
use capt_runner::{Which, choose::Choice};
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Args;
use crate::{cmd::engine::clock, ports::Process};

/// How long anything may take to stop after it should have.
const PATIENCE: Duration = Duration::from_secs(12);
/// The runner of an API of our own is the only one, and always the same.
const IDENTITY: &str = "capt-up";

/// A part of us that was to run until it is stopped ended by itself.
#[derive(Debug, thiserror::Error)]
#[error("the {0} stopped, which they never should")]
pub(crate) struct WorkerEnded(&'static str);

/// What works on the objects.
pub(super) struct Workers {
    controllers: Worker,
    runner: Option<Worker>,
}

/// What they count.
#[derive(Clone, Default)]
pub(super) struct Counted {
    controllers: capt_controllers::Metrics,
    runner: capt_runner::Metrics,
    process: Process,
    /// Whether the controllers know all that there is.
    pub(super) readiness: capt_controllers::Readiness,
}

impl Counted {
    /// All of it, for whoever reads it.
    pub(super) fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        self.process.leads(true);
        self.process.register(&mut registry);
        self.controllers.register(&mut registry);
        self.runner.register(&mut registry);
        registry
    }
}

struct Worker {
    name: &'static str,
    task: JoinHandle<anyhow::Result<()>>,
    stop: CancellationToken,
    /// How long it may take to stop.
    grace: Duration,
}

impl Workers {
    /// Starts the controllers, and the runner if there is an engine for one; else Workspaces are for the runner that the
    /// arguments name, or for provider-terraform. `url` is where clients reach the API.
    pub(super) fn start(
        client: &Client,
        args: &Args,
        choice: Option<Choice>,
        url: String,
        counted: &Counted,
    ) -> Self {
        let who_runs = match (&choice, args.runner.clone()) {
            (Some(_), _) => Runner::Ours { label: None },
            (None, Some(name)) => Runner::Ours { label: Some(name) },
            (None, None) => Runner::Foreign,
        };
        // Everything here is one user's.
        let own_credentials = args.own_credentials.named().unwrap_or(NamespaceSet::All);
        let options = capt_controllers::Options {
            cluster_controller: args.clusters.wanted(),
            own_credentials: own_credentials.clone(),
            metrics: counted.controllers.clone(),
            readiness: counted.readiness.clone(),
            ..capt_controllers::Options::new(clock(), who_runs)
        };
        let stop = CancellationToken::new();
        let controllers = capt_controllers::run(client.clone(), options, stop.clone());
        let controllers = Worker {
            name: "controllers",
            task: tokio::spawn(async move { Ok(controllers.await?) }),
            stop,
            grace: PATIENCE,
        };
        let runner = choice.map(|choice| {
            let mut options = args.engine.options(choice, Which::All, IDENTITY.to_owned());
            options.own_credentials = own_credentials;
            options.server = Some(url);
            options.metrics = counted.runner.clone();
            let grace = options.grace + PATIENCE;
            let stop = CancellationToken::new();
            let runner = capt_runner::run(client.clone(), options, stop.clone());
            Worker {
                name: "operations of Terraform",
                task: tokio::spawn(async move { Ok(runner.await?) }),
                stop,
                grace,
            }
        });
        Self { controllers, runner }
    }

    /// Resolves when one of them ends although nobody stopped it.
    pub(super) async fn ended(&mut self) -> anyhow::Error {
        let runner = async {
            match &mut self.runner {
                Some(runner) => runner.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            error = self.controllers.ended() => error,
            error = runner => error,
        }
    }

    /// Stops them: Terraform first, since the controllers and the API have to tell of its end.
    pub(super) async fn stop(&mut self) {
        if let Some(runner) = &mut self.runner {
            runner.stop().await;
        }
        self.controllers.stop().await;
    }
}

impl Worker {
    async fn ended(&mut self) -> anyhow::Error {
        let ended = WorkerEnded(self.name);
        match (&mut self.task).await {
            Ok(Ok(())) => ended.into(),
            Ok(Err(error)) => error.context(ended),
            Err(panic) => anyhow::Error::from(panic).context(ended),
        }
    }

    async fn stop(&mut self) {
        self.stop.cancel();
        if self.task.is_finished() {
            return;
        }
        if tokio::time::timeout(self.grace, &mut self.task).await.is_err() {
            tracing::error!("the {} did not stop in time and are left behind", self.name);
            self.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(task: JoinHandle<anyhow::Result<()>>) -> Worker {
        Worker {
            name: "controllers",
            task,
            stop: CancellationToken::new(),
            grace: Duration::from_secs(1),
        }
    }

    #[tokio::test]
    async fn a_part_that_ends_by_itself_is_told_with_its_reason() {
        let ended = tokio::spawn(async { Ok(()) });
        let failed = tokio::spawn(async { Err(anyhow::anyhow!("no watch")) });
        let panicked = tokio::spawn(async { panic!("a bug") });
        for (task, expected) in [
            (ended, None),
            (failed, Some("no watch")),
            (panicked, Some("a bug")),
        ] {
            let error = worker(task).ended().await;
            assert_eq!(
                error.to_string(),
                "the controllers stopped, which they never should"
            );
            let cause = error.chain().nth(1).map(ToString::to_string);
            assert_eq!(cause.is_some(), expected.is_some());
            assert!(cause.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_does_not_stop_is_left_behind() {
        let mut stubborn = worker(tokio::spawn(std::future::pending()));
        stubborn.stop().await;
        assert!(stubborn.task.await.is_err_and(|error| error.is_cancelled()));
    }
}
