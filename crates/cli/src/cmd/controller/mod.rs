//! `capt controller`: the controllers alone, against any cluster.

mod election;
mod term;

use std::{num::NonZeroUsize, process::ExitCode};

use anyhow::Context;
use capt_controllers::{Concurrency, Options};
use capt_core::{render::WorkspaceGroup, wta::snapshot::Runner};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use self::{election::ElectionArgs, term::Standing};
use super::{
    cluster_controller::ClusterControllerArgs,
    engine::clock,
    namespaces::NamespaceArgs,
    own_credentials::OwnCredentialsArgs,
    process, refuse,
    signals::{Signals, StopSignal},
};
use crate::{
    access::Connection,
    args,
    ports::{PortArgs, Process},
};

/// Run the controllers against a cluster
///
/// Several may run at once: one leads and acts, the others stand by and take over when it stops or is lost. Terraform
/// is run by Crossplane's provider-terraform, or by `capt runner`.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  # For the cluster that kubectl talks to
  capt controller

  # Install it: CRDs, service account, rights and deployment
  capt manifests crds | kubectl apply --server-side -f -
  capt manifests controller | kubectl apply --server-side -f -

  # For two namespaces, with Terraform run by `capt runner --name blue`
  capt controller --namespace team-a --namespace team-b --runner blue

Interrupt it (Ctrl-C, or SIGTERM) to stop: what is being written is finished, and the lease is given back. \
Interrupt it twice to stop at once.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) namespaces: NamespaceArgs,

    /// Work only on objects with this value in the label cluster.x-k8s.io/watch-filter. Cluster, CAPTCluster and
    /// CAPTControlPlane need it each; what capt makes for them does not
    #[arg(long, value_name = "VALUE", value_parser = args::label_value)]
    watch_filter: Option<String>,

    /// How many objects of a kind are worked on at a time
    #[arg(long, value_name = "N", default_value = "8", value_parser = args::at_least_one)]
    concurrency: NonZeroUsize,

    /// Which Workspaces are made: those in namespaces (tf.m.upbound.io), or those of the whole cluster
    /// (tf.upbound.io). auto: in namespaces where the cluster knows them
    #[arg(long, value_name = "GROUP", default_value = "auto", value_parser = groups())]
    workspace_api: WorkspaceApi,

    /// Workspaces are labelled for `capt runner --name NAME`, which runs them [default: provider-terraform does]
    #[arg(long, value_name = "NAME", value_parser = args::label_value)]
    runner: Option<String>,

    #[command(flatten)]
    own_credentials: OwnCredentialsArgs,

    #[command(flatten)]
    clusters: ClusterControllerArgs,

    #[command(flatten)]
    connection: Connection,

    #[command(flatten)]
    pub(super) election: ElectionArgs,

    #[command(flatten)]
    ports: PortArgs,
}

/// The group of new Workspaces, if it does not depend on what the cluster knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WorkspaceApi(Option<WorkspaceGroup>);

fn groups() -> impl TypedValueParser<Value = WorkspaceApi> {
    let groups = [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped];
    let words = ["auto", groups[0].name(), groups[1].name()];
    PossibleValuesParser::new(words)
        .map(move |word| WorkspaceApi(groups.into_iter().find(|group| group.name() == word)))
}

/// Runs until interrupted.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    refuse(args.election.contradiction());
    process::prepare();
    let runtime = super::runtime()?;
    let ended = runtime.block_on(until_interrupted(args));
    runtime.shutdown_background();
    ended
}

async fn until_interrupted(args: Args) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::install()?;
    let cluster = args.connection.connect().await?;
    let candidacy = args.election.candidacy(&cluster)?;
    let options = args.options();

    let counted = Process::default();
    let mut registry = Registry::default();
    counted.register(&mut registry);
    options.metrics.register(&mut registry);
    let standing = Standing::new(counted, options.readiness.clone());
    let _ports = args.ports.open(&standing.readiness(), registry).await?;

    let (namespaces, own_credentials) = (&options.namespaces, &options.own_credentials);
    tracing::info!(cluster = %cluster.url, %namespaces, %own_credentials, "running the controllers");
    args.namespaces.warn_of_absent(&cluster.client);
    let stop = CancellationToken::new();
    let working = term::work(cluster.client, options, candidacy, standing, stop.clone());
    let mut working = tokio::spawn(working);
    tokio::select! {
        _ = signals.next() => {}
        ended = &mut working => {
            ended.context("the controllers failed unexpectedly")??;
            anyhow::bail!("the controllers stopped, which they never should");
        }
    }
    tracing::info!("stopping; interrupt again to stop at once");
    stop.cancel();
    tokio::select! {
        ended = working => {
            ended.context("the controllers failed unexpectedly")??;
            Ok(ExitCode::SUCCESS)
        }
        signal = signals.next() => Ok(StopSignal::exit_code(signal)),
    }
}

impl Args {
    /// Whether Workspaces are made that are of the whole cluster, whatever it knows.
    pub(super) fn makes_cluster_scoped(&self) -> bool {
        self.workspace_api.0 == Some(WorkspaceGroup::ClusterScoped)
    }

    fn options(&self) -> Options {
        let runner = match &self.runner {
            Some(name) => Runner::Ours {
                label: Some(name.clone()),
            },
            None => Runner::Foreign,
        };
        Options {
            workspace_api: self.workspace_api.0,
            namespaces: self.namespaces.set(),
            own_credentials: self.own_credentials.set(),
            watch_filter: self.watch_filter.clone(),
            cluster_controller: self.clusters.wanted(),
            concurrency: Concurrency::of_each(self.concurrency.get()),
            ..Options::new(clock(), runner)
        }
    }
}
