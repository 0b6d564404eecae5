//! Whether a Workspace is this runner's, as far as the object itself tells.

use capt_api::marks;
use capt_core::tenancy::NamespaceSet;

use crate::{Which, decide::Whose, view::WorkspaceView};

/// Whose a Workspace is, by its namespace and its labels. Its namespace decides first: a user who may write a Workspace may
/// write its labels, and no label widens what the runner was started for.
pub(crate) fn ownership(which: &Which, namespaces: &NamespaceSet, view: &WorkspaceView) -> Whose {
    let is_within = match view.tenant() {
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

    /// A Workspace with these labels, in a namespace or cluster-scoped.
    fn view(namespace: Option<&str>, labels: &Value) -> WorkspaceView {
        let object = json!({
            "metadata": {"name": "vpc", "namespace": namespace, "labels": labels},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        });
        match namespace {
            Some(_) => WorkspaceView::from(&serde_json::from_value::<Workspace>(object).expect("one")),
            None => WorkspaceView::from(&serde_json::from_value::<ClusterWorkspace>(object).expect("one")),
        }
    }

    #[test]
    fn a_label_never_widens_what_a_runner_was_started_for() {
        let all = NamespaceSet::All;
        let some = NamespaceSet::only(["a", "b"]);
        let blue = || Which::Labelled("blue".to_owned());
        let runner = |name: &str| json!({(marks::RUNNER): name});
        let of =
            |namespace: &str, name: &str| json!({(marks::RUNNER): name, (marks::WTA_NAMESPACE): namespace});
        for (which, namespaces, namespace, labels, is_ours) in [
            (Which::All, &all, Some("c"), json!({}), true),
            (Which::All, &all, None, json!({}), true),
            (Which::All, &some, Some("a"), json!({}), true),
            (Which::All, &some, Some("c"), json!({}), false),
            (Which::All, &some, None, json!({}), false),
            (blue(), &all, Some("c"), runner("blue"), true),
            (blue(), &all, Some("c"), runner("green"), false),
            (blue(), &all, Some("c"), json!({}), false),
            (blue(), &all, None, runner("blue"), true),
            (blue(), &some, Some("b"), runner("blue"), true),
            (blue(), &some, Some("b"), json!({}), false),
            (blue(), &some, Some("c"), runner("blue"), false),
            // Only on a cluster-scoped Workspace, which no tenant writes, the label says whose it is.
            (blue(), &some, Some("c"), of("a", "blue"), false),
            (blue(), &some, Some("a"), of("c", "blue"), true),
            (blue(), &some, None, of("b", "blue"), true),
            (blue(), &some, None, of("b", "green"), false),
            (blue(), &some, None, of("c", "blue"), false),
            (blue(), &some, None, of("", "blue"), false),
            (blue(), &some, None, runner("blue"), false),
            (blue(), &NamespaceSet::none(), Some("a"), runner("blue"), false),
        ] {
            let whose = ownership(&which, namespaces, &view(namespace, &labels));
            assert_eq!(
                whose == Whose::Ours,
                is_ours,
                "{which:?} {namespaces} {namespace:?} {labels}"
            );
        }
    }

    #[test]
    fn cluster_scoped_workspaces_are_chosen_by_runner_and_namespace() {
        let blue = Which::Labelled("blue".to_owned());
        let some = NamespaceSet::only(["a", "b"]);
        let within = "infrastructure.cluster.x-k8s.io/wta-namespace in (a,b)";
        let runner = "infrastructure.cluster.x-k8s.io/runner=blue";
        for (which, namespaces, expected) in [
            (&Which::All, &NamespaceSet::All, Some(vec![])),
            (&Which::All, &some, Some(vec![within])),
            (&blue, &NamespaceSet::All, Some(vec![runner])),
            (&blue, &some, Some(vec![runner, within])),
            (&blue, &NamespaceSet::none(), None),
        ] {
            let labels = cluster_scoped_workspaces(which, namespaces);
            let expected = expected.map(|labels| labels.into_iter().map(str::to_owned).collect());
            assert_eq!(labels, expected, "{which:?} {namespaces}");
        }
    }
}
