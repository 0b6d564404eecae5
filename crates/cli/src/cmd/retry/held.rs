//! Pauses that hold another try up.

use capt_core::graph::workspace_id;
use serde::Serialize;

use super::nearby::Nearby;
use crate::{
    look::{
        pause::{Pause, below, pauses},
        view::{View, typed},
        ways::{deletions, others, way_on},
    },
    objects::Subject,
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
    /// What was deleted, and goes when it ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) destroys: Vec<String>,
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

/// What is known of the pauses that hold objects up.
#[derive(Clone, Debug, Default)]
pub(super) struct Holdup {
    pub(super) pauses: Vec<Held>,
    /// Something is paused, also if it is not known through what. None, if that is not known either.
    pub(super) paused: Option<bool>,
    /// What could not be read.
    pub(super) unread: Vec<String>,
}

/// What holds objects up, by what was read around them.
pub(super) fn holdup(nearby: Nearby, ids: &[String]) -> Holdup {
    let view = View::new(&nearby.part);
    let pauses = in_view(&view, ids);
    let unread: Vec<String> = nearby.unread.into_iter().collect();
    // What they say of themselves may be over, and counts only where nothing better is known.
    let says = |id: &String| view.graph.node(id).is_some_and(|node| node.status == "Paused");
    let paused = match unread.is_empty() {
        _ if !pauses.is_empty() => Some(true),
        true => Some(false),
        false => ids.iter().any(says).then_some(true),
    };
    Holdup {
        pauses,
        paused,
        unread,
    }
}

fn in_view(view: &View<'_>, ids: &[String]) -> Vec<Held> {
    let own = |id: &String| {
        let pauses = pauses(view, id).into_iter();
        pauses.map(|pause| (id.clone(), pause)).collect::<Vec<_>>()
    };
    let mut reached: Vec<(String, Pause)> = ids.iter().flat_map(own).collect();
    // The wish is passed down, and stays there.
    for (id, pause) in ids.iter().flat_map(|id| below(view, id)) {
        if !reached.iter().any(|(_, known)| *known == pause) {
            reached.push((id, pause));
        }
    }
    let mut held: Vec<(Pause, Vec<String>)> = Vec::new();
    for (id, pause) in reached {
        match held.iter_mut().find(|(known, _)| *known == pause) {
            Some((_, ids)) => ids.push(id),
            None => held.push((pause, vec![id])),
        }
    }
    let told = |(pause, ids): (Pause, Vec<String>)| Held {
        objects: ids.iter().map(|id| typed(id)).collect(),
        because: pause.source(),
        end: pause.end(&view.part.snapshot.namespace),
        destroys: deletions(view, &pause),
        way_on: {
            let others = ids.iter().map(|id| others(view, id)).max();
            way_on(view, &pause, "go on", others.unwrap_or_default())
        },
    };
    held.into_iter().map(told).collect()
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
        let mut of_parts = objects(false, json!({}));
        of_parts["applies"] = json!([{
            "metadata": {
                "name": "blue-eks", "labels": {"infrastructure.cluster.x-k8s.io/owner": "CAPTControlPlane.blue"},
                "annotations": {
                    "infrastructure.cluster.x-k8s.io/workspace": "tf.m.upbound.io/blue-eks", "cluster.x-k8s.io/paused": "",
                },
            },
            "spec": {"templateRef": {"name": "eks"}},
        }]);
        of_parts["workspaces"] = json!([{
            "metadata": {"name": "blue-eks", "annotations": {"crossplane.io/paused": "true"}},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        }]);
        let by_apply = (
            &["wtapply/blue-eks"][..],
            "wtapply/blue-eks has the annotation cluster.x-k8s.io/paused",
        );
        let by_hand = (
            &["workspace/blue-eks"][..],
            "workspace/blue-eks has the annotation crossplane.io/paused",
        );
        for (objects, expected) in [
            (objects(false, json!({})), vec![]),
            (objects(true, json!({})), vec![by_cluster]),
            (objects(false, mark.clone()), vec![by_mark]),
            (objects(true, mark), vec![by_cluster, by_mark]),
            (of_parts, vec![by_hand, by_apply]),
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
