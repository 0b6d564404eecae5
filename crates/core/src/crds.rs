//! CustomResourceDefinitions that stand in the way of destruction.
//!
//! Deleting one deletes its objects, which must not be taken for the wish to destroy what they made. So nothing is granted while
//! one of ours, or that of Clusters, is terminating, and none where that cannot be read.

use std::time::Duration;

/// The definitions that are asked for before destruction is granted.
pub const GUARDED: [&str; 5] = [
    "workspacetemplateapplies.infrastructure.cluster.x-k8s.io",
    "workspacetemplates.infrastructure.cluster.x-k8s.io",
    "captclusters.infrastructure.cluster.x-k8s.io",
    "captcontrolplanes.controlplane.cluster.x-k8s.io",
    "clusters.cluster.x-k8s.io",
];

/// How long until a deletion that a definition holds up is decided again. Definitions are not always watched.
pub const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// Why a definition stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrdObstacle {
    /// It is being deleted.
    Terminating(String),
    /// It may not be read.
    Unreadable(String),
}

impl CrdObstacle {
    /// What stands in the way, and what to do about a definition that may not be read.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Terminating(name) => format!(
                "CustomResourceDefinition {name} is being deleted, which destroys no infrastructure: docs/runner.md, \"When a \
                 CustomResourceDefinition is deleted\", says how to save the objects"
            ),
            Self::Unreadable(name) => format!(
                "CustomResourceDefinition {name} cannot be read, so nothing is destroyed. Allow the controllers to get it: capt \
                 manifests controller prints the rule"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use capt_api::crds;

    use super::*;

    #[test]
    fn every_kind_of_ours_that_owns_infrastructure_is_guarded() {
        for crd in crds() {
            let name = crd.metadata.name.unwrap_or_default();
            // Templates of a ClusterClass own nothing.
            if !name.starts_with("captclustertemplates.") && !name.starts_with("captcontrolplanetemplates.") {
                assert!(GUARDED.contains(&name.as_str()), "{name}");
            }
        }
    }
}
