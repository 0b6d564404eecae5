//! `capt kubeconfig`: the way into a cluster.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use capt_api::{conditions::find_condition, marks};
use capt_core::controlplane::kubeconfig::{VALUE, secret_name, user_secret_name};
use k8s_openapi::{api::core::v1::Secret, jiff::Timestamp};
use kube::{Api, ResourceExt as _};

use super::{one::missing, print};
use crate::{
    access::{Access, Cluster},
    look::{
        text,
        tree::{Gathered, gather, summary},
        view::{Object, View},
    },
    objects::call_opt,
    target::{Kind, Target, TargetError},
};

/// Print the kubeconfig of a cluster
///
/// It is the one that Cluster API uses, from the Secret CLUSTER-kubeconfig. The token in it may be short-lived and is
/// renewed in the Secret; --user prints one that logs in with your own credentials by the AWS command line.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt kubeconfig demo > demo.kubeconfig
  kubectl --kubeconfig demo.kubeconfig get namespaces

  # With your own AWS credentials, readable by you alone
  capt kubeconfig demo --user -o demo.kubeconfig")]
pub(crate) struct Args {
    /// The Cluster, as NAME or cluster/NAME
    #[arg(value_name = "CLUSTER", value_parser = cluster_name)]
    cluster: String,

    /// Print the one for people, which asks the AWS command line for a token each time
    #[arg(long)]
    user: bool,

    /// Write it to this file, readable by you alone
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    access: Access,
}

/// Why there is no kubeconfig.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoKubeconfig {
    /// It is not written yet.
    #[error("cluster/{cluster} has no kubeconfig yet: {why}")]
    NotYet {
        /// Whose.
        cluster: String,
        /// What is waited for.
        why: String,
    },
    /// There is one for programs only.
    #[error(
        "cluster/{0} has no kubeconfig for people, since it does not log in by AWS; leave out --user to have the one \
         that there is"
    )]
    NotForPeople(String),
    /// The Secret is there and holds none.
    #[error("the Secret {0} holds no kubeconfig under the key {VALUE}")]
    Incomplete(String),
}

fn cluster_name(written: &str) -> Result<String, TargetError> {
    if !written.contains('/') {
        return Ok(written.to_owned());
    }
    match written.parse()? {
        Target {
            kind: Kind::Cluster,
            name,
        } => Ok(name),
        Target { name, .. } => Err(TargetError::NotAPair(format!("cluster/{name}"))),
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let secret = match args.user {
        true => user_secret_name(&args.cluster),
        false => secret_name(&args.cluster),
    };
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let Some(found) = call_opt(secrets.get(&secret)).await? else {
        return Err(why_not(&cluster, &args, &secrets).await?);
    };
    let value = found.data.as_ref().and_then(|data| data.get(VALUE));
    let value = value.filter(|value| !value.0.is_empty());
    let value = value.and_then(|value| String::from_utf8(value.0.clone()).ok());
    let Some(kubeconfig) = value else {
        return Err(NoKubeconfig::Incomplete(secret).into());
    };
    if let Some(note) = found
        .annotations()
        .get(marks::TOKEN_EXPIRES)
        .and_then(|end| ends(end))
    {
        eprintln!("{note}");
    }
    match &args.output {
        None => print(&kubeconfig)?,
        Some(path) => {
            write(path, &kubeconfig)
                .with_context(|| format!("cannot write the kubeconfig to {}", path.display()))?;
            print(&format!(
                "Wrote the kubeconfig of cluster/{} to {}\n",
                args.cluster,
                path.display()
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What has to be known about a token that ends.
fn ends(written: &str) -> Option<String> {
    let end: Timestamp = written.parse().ok()?;
    Some(format!(
        "note: the token in it is good until {end}; print it again after that, or use --user"
    ))
}

/// Writes a file that only its owner reads, whole or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

async fn why_not(cluster: &Cluster, args: &Args, secrets: &Api<Secret>) -> anyhow::Result<anyhow::Error> {
    let gathered = gather(&cluster.client, &cluster.namespace, &args.cluster).await?;
    if !gathered.is_there() {
        return Ok(missing(cluster, Kind::Cluster, &args.cluster).await.into());
    }
    if args.user
        && call_opt(secrets.get_metadata(&secret_name(&args.cluster)))
            .await?
            .is_some()
    {
        return Ok(NoKubeconfig::NotForPeople(args.cluster.clone()).into());
    }
    let why = waits_for(&gathered);
    let cluster = args.cluster.clone();
    Ok(NoKubeconfig::NotYet { cluster, why }.into())
}

/// What the kubeconfig of a Cluster waits for.
fn waits_for(gathered: &Gathered) -> String {
    let view = View::new(&gathered.part);
    let Some(Object::Cluster(cluster)) = view.object(&gathered.root) else {
        return String::new();
    };
    let Some(reference) = &cluster.spec.control_plane_ref else {
        return "it names no control plane in spec.controlPlaneRef".to_owned();
    };
    let id = format!("{}/{}", reference.kind, reference.name);
    let Some(Object::ControlPlane(control_plane)) = view.object(&id) else {
        return match reference.kind.as_str() {
            "CAPTControlPlane" => format!(
                "its control plane, captcontrolplane/{}, is not there",
                reference.name
            ),
            other => format!("its control plane is a {other}, which is not capt's to look after"),
        };
    };
    let conditions = control_plane
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let kubeconfig = find_condition(conditions.unwrap_or_default(), "KubeconfigReady")
        .filter(|condition| condition.status == "False" && !condition.message.is_empty());
    if let Some(condition) = kubeconfig {
        return text::first_line(&condition.message);
    }
    if let Some(cause) = summary(&view, &id).lines().next() {
        return cause.to_owned();
    }
    let state = view.graph.node(&id).map(|node| node.status.as_str());
    let why = Some(view.why(&id)).filter(|why| !why.is_empty());
    let why = why.map(|why| format!(", {why}")).unwrap_or_default();
    format!(
        "captcontrolplane/{} is {}{why}",
        reference.name,
        state.unwrap_or("Unknown")
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_cluster_is_named_with_or_without_its_kind() {
        for (written, expected) in [
            ("demo", Some("demo")),
            ("cluster/demo", Some("demo")),
            ("cl/demo", Some("demo")),
            ("wtapply/demo", None),
            ("cluster/", None),
        ] {
            assert_eq!(cluster_name(written).ok().as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn a_file_is_for_its_owner_alone_also_when_it_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, "old").unwrap();
        write(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
