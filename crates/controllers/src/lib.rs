//! The controllers: they watch, put what they see into a snapshot, let `capt-core` decide, and carry the decision out.
//!
//! One reconcile always is the same five steps: observe, decide, apply, record, and wait for the next fact. This crate
//! must never decide anything by itself, and must never know how Terraform is run or where the API server comes from.

mod captcluster;
mod captcontrolplane;
mod cluster;
mod engine;
mod facts;
mod grants;
mod metrics;
mod options;
mod overlooked;
mod rollout;
mod workspacetemplate;
mod workspacetemplateapply;

pub use captcontrolplane::{Credentials, Endpoints, NetworkEndpoints, OwnCredentials, ProcessCredentials};
pub use metrics::Metrics;
pub use options::{Clock, ClusterController, Concurrency, Options, Outside, Readiness};

use std::{sync::Arc, time::Duration};

use capt_api::lean::Document;
use capt_core::decision::Target;
use kube::Client;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::{
    captcluster::CaptClusters,
    captcontrolplane::ControlPlanes,
    cluster::{Clusters, switch},
    engine::{
        controller::Worker,
        execute::{Executor, Teller},
        queue::Queue,
        wakes::Wakes,
    },
    facts::{Facts, installed, secrets::Secrets},
    workspacetemplate::Templates,
    workspacetemplateapply::Applies,
};

/// How long what is still to be told may take when the controllers stop.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why the controllers stopped before they were told to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that must run for ever ended.
    #[error("{0} ended by itself")]
    Ended(&'static str),
}

/// Runs the controllers until they are told to stop.
///
/// # Errors
///
/// If a part of them ends by itself. What goes wrong with one object or one call is not an error here: it is tried again.
pub async fn run(client: Client, options: Options, stop: CancellationToken) -> Result<(), Error> {
    // In the order of their places in `facts`.
    let queues: [Arc<Queue>; 5] = Default::default();
    let wakes = Wakes::new(queues.to_vec());
    let facts = Arc::new(Facts::new(
        &wakes,
        &client,
        &options.namespaces,
        options.readiness.missing(),
    ));
    let mut watches = facts.watch(&client, options.cluster_controller);
    // Nothing is decided from half of the facts.
    tokio::select! {
        () = facts.are_known() => {}
        () = stop.cancelled() => return Ok(()),
        _ = watches.join_next() => return Err(Error::Ended("a watch")),
    }
    watches.spawn(switch::tell(
        options.cluster_controller,
        facts.definitions.clone(),
    ));
    let readiness = options.readiness.clone();
    readiness.set_uninstalled(installed::missing(&facts.definitions));
    watches.spawn(installed::tell(facts.definitions.clone(), readiness));
    watches.spawn(rollout::drive(facts.clone()));
    watches.spawn(facts.clone().pack());
    options.readiness.set(true);
    let secrets = Arc::new(Secrets::new(client.clone(), facts.clone()));
    watches.spawn(secrets.clone().forget());
    let (teller, tells) = Teller::new(client.clone(), options.metrics.clone());
    watches.spawn(tells);
    let learns = facts.clone();
    let witness = Arc::new(move |target: &Target, answer: &Document| learns.learn(target, answer));
    let hands = Hands {
        secrets,
        executor: Executor::new(client.clone(), teller.clone(), witness),
        facts,
        client,
        options: options.clone(),
    };
    let metrics = &options.metrics;
    let _told = metrics.until_dropped();
    let [applies, templates, clusters, captclusters, control_planes] = queues;
    let applies = Worker::new(Applies::new(hands.clone()), applies, metrics.clone());
    let templates = Worker::new(Templates::new(hands.clone()), templates, metrics.clone());
    let clusters = Worker::new(Clusters::new(hands.clone()), clusters, metrics.clone());
    let captclusters = Worker::new(CaptClusters::new(hands.clone()), captclusters, metrics.clone());
    let control_planes = Worker::new(ControlPlanes::new(hands), control_planes, metrics.clone());
    let concurrency = options.concurrency;
    let work = async {
        tokio::join!(
            applies.work(concurrency.applies, stop.clone()),
            templates.work(concurrency.templates, stop.clone()),
            clusters.work(concurrency.clusters, stop.clone()),
            captclusters.work(concurrency.captclusters, stop.clone()),
            control_planes.work(concurrency.captcontrolplanes, stop.clone()),
        );
        let _ = timeout(LAST_WORDS, teller.has_told()).await;
    };
    let ended = tokio::select! {
        () = work => Ok(()),
        _ = watches.join_next() => Err(Error::Ended("a watch")),
    };
    options.readiness.set(false);
    ended
}

/// What every controller has to work with.
#[derive(Clone)]
pub(crate) struct Hands {
    pub(crate) facts: Arc<Facts>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) executor: Executor,
    pub(crate) client: Client,
    pub(crate) options: Options,
}
