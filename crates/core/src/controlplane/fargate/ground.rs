//! What all profiles of a cluster stand on: an EKS cluster that is up, and the Secrets about it and its network.

use crate::{
    captcluster::facts::PRIVATE_SUBNETS,
    controlplane::{
        connection, eks,
        snapshot::{SecretSeen, Snapshot},
        vpc,
    },
    owned::OwnedSeen,
};

/// Keys that the Secret about an EKS cluster must have.
const KEYS: [&str; 3] = [
    "cluster_name",
    "cluster_endpoint",
    "cluster_certificate_authority_data",
];

/// What profiles stand on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// What the cluster is called in AWS.
    pub cluster_name: String,
    /// The private subnets of its network, if they are told. A profile that names its own does not need them.
    pub private_subnets: Result<Vec<String>, Lack>,
    /// The region, if it is known.
    pub region: Option<String>,
    /// The Secrets that all of this stands in.
    pub secrets: Vec<String>,
}

/// What is missing to stand on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// The cluster itself.
    #[error("Waiting for the EKS cluster to be ready")]
    Cluster,
    /// A Secret or something in it, in words that name both.
    #[error("{0}")]
    Fact(String),
}

/// Looks whether there is anything to stand on. A cluster that was made once is enough: while it is changed, whoever wants to
/// be made waits for its turn, and a change that fails or waits for a person holds up nobody.
///
/// # Errors
///
/// What is missing, by the names of the Secret and the key where it is one.
pub fn look(snapshot: &Snapshot, seen: Option<&OwnedSeen>, region: Option<&str>) -> Result<Ground, Lack> {
    let Some(seen) = seen.filter(|seen| eks::was_ready(seen)) else {
        return Err(Lack::Cluster);
    };
    let spec = &snapshot.control_plane.spec;
    let owner = snapshot
        .control_plane
        .metadata
        .name
        .as_deref()
        .unwrap_or_default();
    let connection = snapshot
        .connection
        .as_ref()
        .filter(|secret| !secret.deleting)
        .ok_or_else(|| {
            let template = snapshot
                .template
                .as_ref()
                .and_then(|template| Some(template.spec.as_ref()?.spec()));
            let names = connection::secret_names(spec, owner, template, Some(seen));
            Lack::Fact(format!(
                "Waiting for the Secret {} with the facts about the EKS cluster. Its Workspace writes it; to have it written \
                 again: {}",
                names.first().map_or("", String::as_str),
                seen.retry_command()
            ))
        })?;
    for key in KEYS {
        if text(connection, key).is_none() {
            return Err(Lack::Fact(format!(
                "The Secret {} has no key {key}. Add it to the outputs of the module of the EKS cluster",
                connection.name
            )));
        }
    }
    let network = snapshot
        .vpc_secret
        .as_ref()
        .filter(|secret| !secret.deleting)
        .ok_or_else(|| {
            let (name, way) = vpc::awaited(snapshot);
            Lack::Fact(format!(
                "Waiting for the Secret {name} with the facts about the network. {way}"
            ))
        })?;
    let facts = vpc::read(network).map_err(|problem| Lack::Fact(problem.to_string()))?;
    Ok(Ground {
        cluster_name: text(connection, KEYS[0]).unwrap_or_default().to_owned(),
        private_subnets: facts
            .private_subnets
            .ok_or_else(|| Lack::Fact(vpc::problem(network, PRIVATE_SUBNETS).to_string())),
        region: region.map(str::to_owned),
        secrets: vec![connection.name.clone(), network.name.clone()],
    })
}

fn text<'a>(secret: &'a SecretSeen, key: &str) -> Option<&'a str> {
    secret.text(key).map(str::trim).filter(|text| !text.is_empty())
}
