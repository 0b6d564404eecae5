//! Pauses that hold another try up.

use capt_api::foreign::marks::CROSSPLANE_PAUSED;
use capt_core::graph::workspace_id;
use capt_runner::view::WorkspaceView;
use serde::Serialize;

use crate::{
    access::Cluster,
    look::{
        Scope, gather,
        pause::{Pause, pauses},
        view::{View, typed},
        ways::way_on,
    },
    objects::Subject,
    target::Target,
};

/// A pause, and what of that which is to be tried again it reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Held {
    pub(super) objects: Vec<String>,
    /// What says that nothing be done.
    pub(super) because: String,
    /// The command that ends it.
    pub(super) end: String,
    /// The same in words.
    #[serde(skip)]
    pub(super) way_on: String,
}

/// How the graph calls what Terraform runs for.
pub(super) fn id(subject: &Subject) -> String {
    match (&subject.apply, &subject.workspace) {
        (None, Some(workspace)) => workspace_id(workspace.group, &workspace.name),
        _ => format!("WorkspaceTemplateApply/{}", subject.target().name),
    }
}

/// What pauses objects of a namespace. Another try is asked for already: who may not look at all of that is told less.
pub(super) async fn of_objects(cluster: &Cluster, namespace: Option<&str>, ids: &[String]) -> Vec<Held> {
    let Some(namespace) = namespace else {
        return Vec::new();
    };
    let scope = Scope::Namespace(namespace.to_owned());
    let Ok(mut everything) = gather(&cluster.client, &scope).await else {
        return Vec::new();
    };
    let part = everything.namespaces.remove(namespace).unwrap_or_default();
    in_view(&View::new(&part), ids)
}

fn in_view(view: &View<'_>, ids: &[String]) -> Vec<Held> {
    let of_each: Vec<(&String, Vec<Pause>)> = ids.iter().map(|id| (id, pauses(view, id))).collect();
    let mut all: Vec<&Pause> = Vec::new();
    for pause in of_each.iter().flat_map(|(_, pauses)| pauses) {
        if !all.contains(&pause) {
            all.push(pause);
        }
    }
    let held = |pause: &Pause| {
        let reached = || of_each.iter().filter(|(_, pauses)| pauses.contains(pause));
        let most = reached().map(|(_, pauses)| pauses.len()).max();
        Held {
            objects: reached().map(|(id, _)| typed(id)).collect(),
            because: pause.source(),
            end: pause.end(&view.part.snapshot.namespace),
            way_on: way_on(view, pause, most.unwrap_or_default().saturating_sub(1)),
        }
    };
    all.into_iter().map(held).collect()
}

/// What a person wrote on the Workspace of an object so that nobody works on it.
pub(super) fn by_hand(object: &Target, workspace: &WorkspaceView) -> Option<Held> {
    let value = workspace.annotations.get(CROSSPLANE_PAUSED)?;
    (value == "true").then(|| {
        let place = workspace
            .namespace
            .as_ref()
            .map(|namespace| format!(" -n {namespace}"));
        let end = format!(
            "kubectl annotate workspaces.{} {}{} {CROSSPLANE_PAUSED}-",
            workspace.group.name(),
            workspace.name,
            place.unwrap_or_default()
        );
        Held {
            objects: vec![object.to_string()],
            because: format!(
                "workspace/{} has the annotation {CROSSPLANE_PAUSED}",
                workspace.name
            ),
            way_on: format!("go on: {end}"),
            end,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::look::testing::part;

    #[test]
    fn each_pause_is_told_once_with_all_that_it_reaches() {
        let reference = |kind: &str| json!({"apiGroup": "x", "kind": kind, "name": "blue"});
        let objects = |spec_paused: bool, network: Value| {
            json!({
                "clusters": [{
                    "metadata": {"name": "blue"},
                    "spec": {
                        "paused": spec_paused,
                        "infrastructureRef": reference("CAPTCluster"), "controlPlaneRef": reference("CAPTControlPlane"),
                    },
                }],
                "captclusters": [{
                    "metadata": {"name": "blue", "annotations": network}, "spec": {"region": "eu-central-1"},
                }],
                "controlPlanes": [{
                    "metadata": {"name": "blue"},
                    "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
                }],
            })
        };
        let mark = json!({"cluster.x-k8s.io/paused": ""});
        let by_cluster = (
            &["captcluster/blue", "captcontrolplane/blue"][..],
            "cluster/blue has spec.paused: true",
        );
        let by_mark = (
            &["captcluster/blue"][..],
            "captcluster/blue has the annotation cluster.x-k8s.io/paused",
        );
        for (objects, expected) in [
            (objects(false, json!({})), vec![]),
            (objects(true, json!({})), vec![by_cluster]),
            (objects(false, mark.clone()), vec![by_mark]),
            (objects(true, mark), vec![by_cluster, by_mark]),
        ] {
            let part = part(&objects);
            let ids = ["CAPTCluster/blue", "CAPTControlPlane/blue"].map(str::to_owned);
            let found = in_view(&View::new(&part), &ids);
            let found: Vec<(Vec<&str>, &str)> = found
                .iter()
                .map(|held| {
                    (
                        held.objects.iter().map(String::as_str).collect(),
                        held.because.as_str(),
                    )
                })
                .collect();
            let expected: Vec<(Vec<&str>, &str)> = expected
                .into_iter()
                .map(|(objects, because)| (objects.to_vec(), because))
                .collect();
            assert_eq!(found, expected);
        }
    }
}
