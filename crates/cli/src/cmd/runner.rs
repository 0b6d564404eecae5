//! `capt runner`: the Terraform runner alone, against any cluster.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::Context;
use apiary::serve::DataDirLock;
use capt_api::{
    foreign::{ClusterWorkspace, Workspace},
    marks,
};
use capt_runner::Which;
use kube::{Api, Client, api::ListParams};
use prometheus_client::registry::Registry;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    engine::EngineArgs,
    process, refuse,
    signals::{Signals, StopSignal},
};
use crate::{
    access::Access,
    data_dir,
    ports::{PortArgs, Process, Readiness},
};

/// How long it may take to find out whether there is anything to do, which nobody needs to know.
const GLANCE: Duration = Duration::from_secs(5);

/// Run Terraform for the Workspaces of a cluster
///
/// Acts only on Workspaces that carry the label infrastructure.cluster.x-k8s.io/runner with this runner's name,
/// and never on one that provider-terraform uses. State is kept in Secrets of the cluster, so the working
/// directory may be lost at any time.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  # For the cluster that kubectl talks to
  capt runner

  # In a pod, with the service account's own rights
  capt runner --work-dir /work --name blue

Interrupt it (Ctrl-C, or SIGTERM) to stop: operations of Terraform are asked to stop, and what they made is \
kept. Interrupt it twice to stop at once.")]
#[command(mut_arg("namespace", |namespace| namespace.help(
    "Namespace of what the runner keeps for itself, and of state and reports of Workspaces that belong to no namespace; it \
     runs Workspaces of all namespaces [default: that of the context, else default]"
)))]
pub(crate) struct Args {
    /// Name of this runner, as Workspaces are labelled with it
    #[arg(long, value_name = "NAME", default_value = "capt", value_parser = crate::args::label_value)]
    name: String,

    /// Directory that Terraform works in [default: runner in the platform's data directory]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    #[command(flatten)]
    access: Access,

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
    let cluster = args.access.connect().await?;
    let label = format!("{}={}", marks::RUNNER, args.name);
    tracing::info!(cluster = %cluster.url, "running Terraform for Workspaces with the label {label}");
    if has_any(&cluster.client, &label).await == Some(false) {
        tracing::info!(
            "there is none so far. `capt controller --runner {0}` and `capt up --runner {0}` make them; label others with: \
             kubectl label workspaces.tf.m.upbound.io NAME {label}",
            args.name
        );
    }

    let mut options = args
        .engine
        .options(choice, Which::Labelled(args.name.clone()), identity);
    options.namespace = cluster.namespace;
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

/// Whether there are Workspaces with this label, if that can be told at once.
async fn has_any(client: &Client, label: &str) -> Option<bool> {
    let selected = ListParams::default().labels(label).limit(1);
    let namespaced: Api<Workspace> = Api::all(client.clone());
    let cluster_scoped: Api<ClusterWorkspace> = Api::all(client.clone());
    let both = async {
        tokio::join!(
            namespaced.list_metadata(&selected),
            cluster_scoped.list_metadata(&selected)
        )
    };
    let (namespaced, cluster_scoped) = timeout(GLANCE, both).await.ok()?;
    let counted = |found: kube::Result<usize>| match found {
        Ok(count) => Some(count > 0),
        Err(kube::Error::Api(status)) if status.code == 404 => Some(false),
        Err(_) => None,
    };
    let namespaced = counted(namespaced.map(|list| list.items.len()));
    let cluster_scoped = counted(cluster_scoped.map(|list| list.items.len()));
    Some(namespaced? || cluster_scoped?)
}

/// The same each time in the same working directory, and another one elsewhere, be it on a machine of the same name.
fn identity(name: &str, id: &str) -> String {
    let machine = rustix::system::uname();
    format!("{name}@{}/{id}", machine.nodename().to_string_lossy())
}

/// What tells this working directory from all others. It is made at the first start, whose lock keeps others away.
fn kept_id(work_dir: &Path) -> anyhow::Result<String> {
    let path = work_dir.join("runner-id");
    let kept = match fs::read_to_string(&path) {
        Ok(text) => Uuid::try_parse(text.trim()).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let id = match kept {
        Some(id) => id,
        None => {
            let id = Uuid::new_v4();
            fs::write(&path, format!("{id}\n"))
                .with_context(|| format!("cannot write {}", path.display()))?;
            id
        }
    };
    Ok(id.to_string())
}

#[cfg(test)]
mod tests {
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
