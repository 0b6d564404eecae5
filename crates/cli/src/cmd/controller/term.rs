//! The controllers, at work for as long as this process leads.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use capt_controllers::Options;
use capt_election::{Candidacy, Leadership, guarded};
use kube::Client;
use parking_lot::Mutex;
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::ports::{Process, Readiness};

/// How long the controllers may take to finish what they are writing and to tell what there is still to tell.
const GOODBYE: Duration = Duration::from_secs(12);

/// What this process is doing, for whoever looks after it.
#[derive(Clone)]
pub(super) struct Standing {
    doing: Arc<Mutex<Doing>>,
    facts: capt_controllers::Readiness,
    counted: Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Nothing is known yet, not even whether another one leads.
    Starting,
    /// Another one leads.
    StandingBy,
    Working,
}

impl Standing {
    pub(super) fn new(counted: Process, facts: capt_controllers::Readiness) -> Self {
        Self {
            doing: Arc::new(Mutex::new(Doing::Starting)),
            facts,
            counted,
        }
    }

    /// Who stands by is ready too: it can take over at any time.
    pub(super) fn readiness(&self) -> Readiness {
        let (doing, facts) = (self.doing.clone(), self.facts.clone());
        Readiness::new(move || match *doing.lock() {
            Doing::Starting => Some("the lease could not be read yet".to_owned()),
            Doing::Working => facts.why_not(),
            Doing::StandingBy => None,
        })
    }

    fn set(&self, doing: Doing) {
        *self.doing.lock() = doing;
        self.counted.leads(doing == Doing::Working);
    }
}

/// Works until it is told to stop, whenever it leads.
pub(super) async fn work(
    client: Client,
    options: Options,
    candidacy: Option<Candidacy>,
    standing: Standing,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let Some(candidacy) = candidacy else {
        standing.set(Doing::Working);
        return Ok(capt_controllers::run(client, options, stop).await?);
    };
    while let Some(leadership) = lead(&candidacy, &standing, &stop).await {
        standing.set(Doing::Working);
        let ended = one_term(&client, &options, leadership, &stop).await?;
        if ended == Ended::Stopped {
            break;
        }
        standing.set(Doing::StandingBy);
    }
    Ok(())
}

/// Waits until it leads, or is told to stop.
async fn lead(candidacy: &Candidacy, standing: &Standing, stop: &CancellationToken) -> Option<Leadership> {
    let told = |leader: Option<&str>| {
        if let Some(leader) = leader {
            tracing::info!(leader, "stands by");
            standing.set(Doing::StandingBy);
        }
    };
    let leadership = candidacy.win(told, stop).await?;
    tracing::info!("leads");
    Some(leadership)
}

/// How a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// We were told to stop.
    Stopped,
    /// Somebody else may lead.
    Lost,
}

/// Runs the controllers until they are to stop or must not go on.
async fn one_term(
    client: &Client,
    options: &Options,
    leadership: Leadership,
    stop: &CancellationToken,
) -> anyhow::Result<Ended> {
    let gate = leadership.gate();
    let term = CancellationToken::new();
    let client = guarded(client, &gate);
    let mut running = tokio::spawn(capt_controllers::run(client, options.clone(), term.clone()));
    let ended = tokio::select! {
        ended = &mut running => {
            leadership.release().await;
            ended.context("the controllers failed unexpectedly")??;
            anyhow::bail!("the controllers stopped, which they never should");
        }
        () = gate.closed() => Ended::Lost,
        () = stop.cancelled() => Ended::Stopped,
    };
    term.cancel();
    finish(running).await;
    // Only now: what they were writing had to be finished under it.
    leadership.release().await;
    Ok(ended)
}

/// Lets the controllers finish, for a while.
async fn finish(mut running: JoinHandle<Result<(), capt_controllers::Error>>) {
    match timeout(GOODBYE, &mut running).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => tracing::warn!(%error, "the controllers ended badly"),
        Ok(Err(error)) => tracing::warn!(%error, "the controllers ended in the middle"),
        Err(_) => {
            tracing::warn!("the controllers did not finish in time and are left behind");
            running.abort();
        }
    }
}
