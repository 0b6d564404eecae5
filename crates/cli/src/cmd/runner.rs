//! `capt runner`: the Terraform runner alone, against any cluster.

use std::{
    fmt::Debug,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use apiary::serve::{DataDirLock, private_file};
use capt_api::{
    foreign::{ClusterWorkspace, Workspace},
    marks,
};
use capt_core::tenancy::NamespaceSet;
use capt_runner::Which;
use kube::{Api, Client, Resource, api::ListParams};
use prometheus_client::registry::Registry;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    engine::EngineArgs,
    namespaces::NamespaceArgs,
    own_credentials::OwnCredentialsArgs,
    process, refuse,
    signals::{Signals, StopSignal},
};
use crate::{
    access::Connection,
    args, data_dir,
    ports::{PortArgs, Process, Readiness},
};

/// How long it may take to find out whether there is anything to do, which nobody needs to know.
const GLANCE: Duration = Duration::from_secs(5);

/// Run Terraform for the Workspaces of a cluster
///
/// Acts only on Workspaces that carry the label infrastructure.cluster.x-k8s.io/runner with this runner's name, in
/// the namespaces of --namespace, and never on one that provider-terraform uses. A cluster-scoped Workspace belongs to
/// the namespace in its label infrastructure.cluster.x-k8s.io/wta-namespace. State is kept in Secrets of the cluster, so the working
/// directory may be lost at any time.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  # For the cluster that kubectl talks to
  capt runner

  # In a pod, with the service account's own rights
  capt runner --work-dir /work/capt --name blue

  # For two namespaces, of which one may use this machine's AWS identity
  capt runner --namespace team-a --namespace team-b --own-credentials team-a

Interrupt it (Ctrl-C, or SIGTERM) to stop: operations of Terraform are asked to stop, and what they made is \
kept. Interrupt it twice to stop at once.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) namespaces: NamespaceArgs,

    /// Name of this runner, as Workspaces are labelled with it
    #[arg(long, value_name = "NAME", default_value = "capt", value_parser = args::label_value)]
    name: String,

    /// Directory that Terraform works in [default: runner in the platform's data directory]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Namespace of what the runner keeps about itself, and of state and reports of cluster-scoped Workspaces that are of
    /// no namespace [default: that of the service account or context, else default]
    #[arg(long, value_name = "NAMESPACE", value_parser = args::namespace)]
    pub(super) system_namespace: Option<String>,

    #[command(flatten)]
    pub(super) own_credentials: OwnCredentialsArgs,

    #[command(flatten)]
    connection: Connection,

    #[command(flatten)]
    engine: EngineArgs,

    #[command(flatten)]
    ports: PortArgs,
}

/// Runs until interrupted.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    refuse(args.engine.contradiction());
    process::prepare();
    let runtime = super::runtime()?;
    let ended = runtime.block_on(until_interrupted(args));
    runtime.shutdown_background();
    ended
}

async fn until_interrupted(args: Args) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::install()?;
    let work_dir = match args.work_dir {
        Some(dir) => std::path::absolute(dir).context("cannot tell where the working directory is")?,
        None => data_dir::default()?.join("runner"),
    };
    // Two that worked there would each take the other's locks for its own.
    let _lock = DataDirLock::take(&work_dir)?;
    let identity = identity(&args.name, &kept_id(&work_dir)?);
    let choice = args.engine.choose(work_dir).await?;
    tracing::info!("engine: {}", choice.why());
    let cluster = args.connection.connect().await?;
    let label = format!("{}={}", marks::RUNNER, args.name);
    let (namespaces, own_credentials) = (args.namespaces.set(), args.own_credentials.set());
    tracing::info!(
        cluster = %cluster.url,
        %namespaces,
        %own_credentials,
        "running Terraform for Workspaces with the label {label}"
    );
    args.namespaces.warn_of_absent(&cluster.client);
    if has_any(&cluster.client, &label, &namespaces).await == Some(false) {
        tracing::info!(
            "there is none so far. `capt controller --runner {0}` and `capt up --runner {0}` make them; label others with: \
             kubectl label workspaces.tf.m.upbound.io NAME {label}",
            args.name
        );
    }

    let mut options = args
        .engine
        .options(choice, Which::Labelled(args.name.clone()), identity);
    options.namespaces = namespaces;
    options.own_credentials = own_credentials;
    options.system_namespace = args.system_namespace.unwrap_or(cluster.namespace);
    options.server = Some(cluster.url);
    let counted = Process::default();
    counted.leads(true);
    let mut registry = Registry::default();
    counted.register(&mut registry);
    options.metrics.register(&mut registry);
    let _ports = args.ports.open(&Readiness::new(|| None), registry).await?;
    let stop = CancellationToken::new();
    let mut running = tokio::spawn(capt_runner::run(cluster.client, options, stop.clone()));
    tokio::select! {
        _ = signals.next() => {}
        ended = &mut running => {
            ended.context("the runner failed unexpectedly")??;
            anyhow::bail!("the runner stopped, which it never should");
        }
    }
    tracing::info!("stopping; interrupt again to stop at once");
    stop.cancel();
    tokio::select! {
        ended = running => {
            ended.context("the runner failed unexpectedly")??;
            Ok(ExitCode::SUCCESS)
        }
        signal = signals.next() => Ok(StopSignal::exit_code(signal)),
    }
}

/// Whether there are Workspaces with this label, if that is known at once. Those of the whole cluster count only for a runner
/// that works in all namespaces.
async fn has_any(client: &Client, label: &str, namespaces: &NamespaceSet) -> Option<bool> {
    let selected = ListParams::default().labels(label).limit(1);
    let lists = async {
        for scope in namespaces.scopes() {
            let api: Api<Workspace> = match scope.namespace() {
                Some(namespace) => Api::namespaced(client.clone(), namespace),
                None => Api::all(client.clone()),
            };
            if has_one(&api, &selected).await? {
                return Some(true);
            }
        }
        let cluster_scoped: Api<ClusterWorkspace> = Api::all(client.clone());
        match namespaces {
            NamespaceSet::All => has_one(&cluster_scoped, &selected).await,
            NamespaceSet::Only(_) => Some(false),
        }
    };
    timeout(GLANCE, lists).await.ok()?
}

async fn has_one<K>(api: &Api<K>, selected: &ListParams) -> Option<bool>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    match api.list_metadata(selected).await {
        Ok(list) => Some(!list.items.is_empty()),
        Err(kube::Error::Api(status)) if status.code == 404 => Some(false),
        Err(_) => None,
    }
}

/// The same each time in the same working directory, and another one elsewhere, be it on a machine of the same name.
fn identity(name: &str, id: &str) -> String {
    let machine = rustix::system::uname();
    format!("{name}@{}/{id}", machine.nodename().to_string_lossy())
}

/// What tells this working directory from all others. It is made at the first start, whose lock keeps others away.
fn kept_id(work_dir: &Path) -> anyhow::Result<String> {
    let path = work_dir.join("runner-id");
    let kept = private_file::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let id = match kept.and_then(|text| Uuid::try_parse(text.trim()).ok()) {
        Some(id) => id,
        None => {
            let id = Uuid::new_v4();
            private_file::write(&path, format!("{id}\n").as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
            id
        }
    };
    Ok(id.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_working_directory_keeps_its_id_and_no_other_has_it() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let id = kept_id(one.path()).unwrap();
        assert_eq!(kept_id(one.path()).unwrap(), id);
        assert_ne!(kept_id(other.path()).unwrap(), id);
        assert_ne!(identity("a", &id), identity("b", &id));

        fs::write(one.path().join("runner-id"), "torn").unwrap();
        let new = kept_id(one.path()).unwrap();
        assert_ne!(new, "torn");
        assert_eq!(kept_id(one.path()).unwrap(), new);
    }
}
