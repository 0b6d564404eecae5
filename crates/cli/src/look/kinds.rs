//! How the graph calls the kinds that people name.

use capt_core::render::WorkspaceGroup;

use crate::target::{Kind, Target};

/// The kinds in the order in which they are shown.
const ORDER: [(Kind, &str); 7] = [
    (Kind::Cluster, "Cluster"),
    (Kind::CaptCluster, "CAPTCluster"),
    (Kind::ControlPlane, "CAPTControlPlane"),
    (Kind::Apply, "WorkspaceTemplateApply"),
    (Kind::Workspace(Some(WorkspaceGroup::Namespaced)), "Workspace"),
    (
        Kind::Workspace(Some(WorkspaceGroup::ClusterScoped)),
        "ClusterWorkspace",
    ),
    (Kind::Template, "WorkspaceTemplate"),
];

/// The kinds that are asked for. Templates are shown only when they are.
pub(crate) fn shown(wanted: Option<Kind>) -> impl Iterator<Item = &'static str> {
    let is_wanted = move |kind: Kind| match (wanted, kind) {
        (None, Kind::Template) => false,
        (None, _) | (Some(Kind::Workspace(None)), Kind::Workspace(_)) => true,
        (Some(wanted), kind) => wanted == kind,
    };
    ORDER
        .into_iter()
        .filter(move |(kind, _)| is_wanted(*kind))
        .map(|(_, name)| name)
}

/// The kind that is called so.
pub(crate) fn kind(name: &str) -> Option<Kind> {
    let mut kinds = ORDER.into_iter();
    kinds.find(|(_, known)| *known == name).map(|(kind, _)| kind)
}

/// What an object may be called. A Workspace whose group is not said may be of either.
pub(crate) fn ids(target: &Target) -> impl Iterator<Item = String> {
    shown(Some(target.kind)).map(|kind| format!("{kind}/{}", target.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_called_by_its_kind_and_a_workspace_by_its_group() {
        for (target, expected) in [
            ("cluster/a", &["Cluster/a"][..]),
            ("captcluster/a", &["CAPTCluster/a"]),
            ("captcp/a", &["CAPTControlPlane/a"]),
            ("wtapply/a", &["WorkspaceTemplateApply/a"]),
            ("workspace/a", &["Workspace/a", "ClusterWorkspace/a"]),
            ("workspace.tf.upbound.io/a", &["ClusterWorkspace/a"]),
        ] {
            let target: Target = target.parse().unwrap();
            assert_eq!(ids(&target).collect::<Vec<_>>(), expected, "{target}");
        }
    }
}
