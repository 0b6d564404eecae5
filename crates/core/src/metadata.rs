//! What the metadata of an object says, for decisions about any kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// API group of Clusters.
pub(crate) const CLUSTER_GROUP: &str = "cluster.x-k8s.io";

/// The value of an annotation.
pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

/// The value of a label.
pub(crate) fn label<'a>(metadata: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(name).map(String::as_str)
}

/// Whether an object has a finalizer.
pub(crate) fn has_finalizer(metadata: &ObjectMeta, name: &str) -> bool {
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|finalizer| finalizer == name)
}

/// Whether an object is going away.
pub(crate) fn is_deleting(metadata: &ObjectMeta) -> bool {
    metadata.deletion_timestamp.is_some()
}

/// The owner reference to a Cluster, of whatever version. It need not be the controller: Cluster API makes itself that
/// only for clusters with a topology, and other owners may stand beside it.
pub(crate) fn cluster_owner(owners: &[OwnerReference]) -> Option<&OwnerReference> {
    owners
        .iter()
        .find(|owner| owner.kind == "Cluster" && group_of(&owner.api_version) == CLUSTER_GROUP)
}

/// The group in an apiVersion.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(api_version: &str, kind: &str, controller: Option<bool>) -> OwnerReference {
        OwnerReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: kind.to_lowercase(),
            uid: "1".to_owned(),
            controller,
            block_owner_deletion: None,
        }
    }

    #[test]
    fn the_cluster_is_found_by_kind_and_group_among_all_owners() {
        let shim = owner("v1", "Secret", Some(true));
        for (owners, is_found) in [
            (vec![], false),
            (vec![shim.clone()], false),
            (
                vec![shim, owner("cluster.x-k8s.io/v1beta2", "Cluster", None)],
                true,
            ),
            (
                vec![owner("cluster.x-k8s.io/v1beta1", "Cluster", Some(true))],
                true,
            ),
            (vec![owner("example.org/v1", "Cluster", Some(true))], false),
            (
                vec![owner("cluster.x-k8s.io/v1beta2", "ClusterClass", Some(true))],
                false,
            ),
        ] {
            assert_eq!(cluster_owner(&owners).is_some(), is_found, "{owners:?}");
        }
    }
}
