//! Whether a Workspace is this runner's, as far as the object itself tells.

use capt_api::marks;
use capt_core::tenancy::NamespaceSet;

use crate::{Which, decide::Whose, view::WorkspaceView};

/// Whose a Workspace is, by its namespace and its labels. Its namespace decides first: a user who may write a Workspace may
/// write its labels, and no label widens what the runner was started for.
pub(crate) fn ownership(which: &Which, namespaces: &NamespaceSet, view: &WorkspaceView) -> Whose {
    let is_within = match view.tenant_namespace() {
        Some(namespace) => namespaces.contains(namespace),
        None => *namespaces == NamespaceSet::All,
    };
    let is_chosen = match which {
        Which::All => true,
        Which::Labelled(name) => view.labels.get(marks::RUNNER) == Some(name),
    };
    if is_within && is_chosen {
        Whose::Ours
    } else {
        Whose::Others
    }
}

/// The labels by which namespaced Workspaces are chosen, in each namespace.
pub(crate) fn namespaced_workspaces(which: &Which) -> Vec<String> {
    match which {
        Which::All => Vec::new(),
        Which::Labelled(name) => vec![format!("{}={name}", marks::RUNNER)],
    }
}

/// The labels by which cluster-scoped Workspaces are chosen. None if there can be none.
pub(crate) fn cluster_scoped_workspaces(which: &Which, namespaces: &NamespaceSet) -> Option<Vec<String>> {
    let mut labels = namespaced_workspaces(which);
    match namespaces {
        NamespaceSet::All => {}
        NamespaceSet::Only(names) if names.is_empty() => return None,
        NamespaceSet::Only(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            labels.push(format!("{} in ({})", marks::WTA_NAMESPACE, names.join(",")));
        }
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::{ClusterWorkspace, Workspace};
    use serde_json::{Value, json};

    use super::*;

    fn object(namespace: Option<&str>, labels: Value) -> Value {
        json!({
            "metadata": {"name": "vpc", "namespace": namespace, "labels": labels},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        })
    }

    fn namespaced(namespace: &str, labels: Value) -> WorkspaceView {
        let object: Workspace = serde_json::from_value(object(Some(namespace), labels)).expect("a Workspace");
        WorkspaceView::from(&object)
    }

    fn cluster_scoped(labels: Value) -> WorkspaceView {
        let object: ClusterWorkspace = serde_json::from_value(object(None, labels)).expect("a Workspace");
        WorkspaceView::from(&object)
    }

    #[test]
    fn a_label_never_widens_what_a_runner_was_started_for() {
        let all = NamespaceSet::All;
        let some = NamespaceSet::only(["a", "b"]);
        let blue = || Which::Labelled("blue".to_owned());
        let runner = |name: &str| json!({(marks::RUNNER): name});
        let of =
            |namespace: &str, name: &str| json!({(marks::RUNNER): name, (marks::WTA_NAMESPACE): namespace});
        for (which, namespaces, view, is_ours) in [
            (Which::All, &all, namespaced("c", json!({})), true),
            (Which::All, &all, cluster_scoped(json!({})), true),
            (Which::All, &some, namespaced("a", json!({})), true),
            (Which::All, &some, namespaced("c", json!({})), false),
            (Which::All, &some, cluster_scoped(json!({})), false),
            (blue(), &all, namespaced("c", runner("blue")), true),
            (blue(), &all, namespaced("c", runner("green")), false),
            (blue(), &all, namespaced("c", json!({})), false),
            (blue(), &all, cluster_scoped(runner("blue")), true),
            (blue(), &some, namespaced("b", runner("blue")), true),
            (blue(), &some, namespaced("b", json!({})), false),
            (blue(), &some, namespaced("c", runner("blue")), false),
            // Only on a cluster-scoped Workspace, which no tenant writes, the label says whose it is.
            (blue(), &some, namespaced("c", of("a", "blue")), false),
            (blue(), &some, namespaced("a", of("c", "blue")), true),
            (blue(), &some, cluster_scoped(of("b", "blue")), true),
            (blue(), &some, cluster_scoped(of("b", "green")), false),
            (blue(), &some, cluster_scoped(of("c", "blue")), false),
            (blue(), &some, cluster_scoped(of("", "blue")), false),
            (blue(), &some, cluster_scoped(runner("blue")), false),
            (
                blue(),
                &NamespaceSet::none(),
                namespaced("a", runner("blue")),
                false,
            ),
        ] {
            let whose = ownership(&which, namespaces, &view);
            let place = (&view.namespace, &view.labels);
            assert_eq!(whose == Whose::Ours, is_ours, "{which:?} {namespaces} {place:?}");
        }
    }
}
