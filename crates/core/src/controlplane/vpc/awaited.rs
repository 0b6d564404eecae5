//! Which Secret with the facts about the network is waited for, and how it comes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{FIXED_NAME, missing_captcluster, names_to_read};
use crate::{
    captcluster::facts::{PRIVATE_SUBNETS, VPC_ID},
    commands,
    controlplane::snapshot::{LeftAlone, Snapshot},
    names,
};

/// Which Secret is waited for, and who writes it: whoever makes the network.
pub(in crate::controlplane) fn awaited(snapshot: &Snapshot) -> (String, String) {
    let infrastructure = snapshot.infrastructure.as_ref();
    let cluster = snapshot.cluster.as_ref();
    if let (None, Some(missing)) = (infrastructure, cluster.and_then(missing_captcluster)) {
        let name = names::vpc_connection(missing).preferred().to_owned();
        let way = format!("The CAPTCluster {missing} sees to it, and does not exist: make it");
        return (name, way);
    }
    let names = names_to_read(infrastructure, cluster);
    let name = names.into_iter().next().unwrap_or_else(|| FIXED_NAME.to_owned());
    let namespace = snapshot.control_plane.metadata.namespace.as_deref();
    let way = match infrastructure {
        _ if snapshot.refused_vpc_secret.as_deref() == Some(&*name) => {
            let other = infrastructure.map_or_else(String::new, |infrastructure| {
                let captcluster = &infrastructure.name;
                format!(", or name another one in spec.connectionSecretName of the CAPTCluster {captcluster}")
            });
            format!(
                "The one of this name is another cluster's, or tells of another VPC. Delete or rename that{other}"
            )
        }
        None => by_hand(),
        Some(infrastructure) => match infrastructure.left_alone {
            Some(LeftAlone::ExternallyManaged) => by_hand(),
            Some(LeftAlone::Deleted) => format!(
                "The CAPTCluster {} is being deleted, and does not write it any more",
                infrastructure.name
            ),
            Some(LeftAlone::Paused) => format!(
                "The CAPTCluster {} sees to it, and is paused. To end the pause: {}",
                infrastructure.name,
                infrastructure.unpause_command(namespace)
            ),
            None => format!(
                "The CAPTCluster {} sees to it; to have it written again: {}",
                infrastructure.name,
                commands::capt(
                    "retry captcluster",
                    &ObjectMeta {
                        name: Some(infrastructure.name.clone()),
                        namespace: namespace.map(str::to_owned),
                        ..ObjectMeta::default()
                    },
                    ""
                )
            ),
        },
    };
    (name, way)
}

fn by_hand() -> String {
    format!("Make it, with the keys {VPC_ID} and {PRIVATE_SUBNETS}")
}
