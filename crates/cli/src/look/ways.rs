//! How to go on with what is paused, as it is written after "To" or "You can".

use std::collections::BTreeSet;

use super::{
    pause::{Pause, below, pauses},
    view::{View, typed},
};

/// How to go on with an object.
pub(crate) fn ways_on(view: &View<'_>, id: &str) -> Vec<String> {
    let pauses = pauses(view, id);
    let way = |pause: &Pause| way_on(view, pause, "go on", others(view, id));
    pauses.iter().map(way).collect()
}

/// How to go on with what stands still of an object, whether or not that goes on itself.
pub(crate) fn ways_on_below(view: &View<'_>, id: &str) -> Vec<String> {
    let parts = below(view, id).into_iter();
    let way = |(part, pause): (String, Pause)| {
        let go_on = format!("go on with {}", typed(&part));
        way_on(view, &pause, &go_on, others(view, &part))
    };
    parts.map(way).collect()
}

/// How many pauses hold an object up, beside one.
pub(crate) fn others(view: &View<'_>, id: &str) -> usize {
    pauses(view, id).len().saturating_sub(1)
}

/// How to end one pause, and what that lets go on. So many others hold the same up.
pub(crate) fn way_on(view: &View<'_>, pause: &Pause, go_on: &str, others: usize) -> String {
    let deletions = deletions(view, pause);
    let whose = if deletions.len() > 1 { "their" } else { "its" };
    let deletion = format!(
        "deletion of {}, which destroys {whose} infrastructure unless that is to be kept",
        deletions.join(" and ")
    );
    let others = match others {
        0 => None,
        1 => Some("when the other pause has ended too"),
        _ => Some("when the other pauses have ended too"),
    };
    let words = match (others, deletions.is_empty()) {
        (None, true) => go_on.to_owned(),
        (None, false) => format!("go on with the {deletion}"),
        (Some(others), true) => format!("{go_on}, {others}"),
        // What is deleted need not be held up by the others, and may go at once.
        (Some(others), false) => format!("{go_on}, {others}, and with the {deletion}"),
    };
    format!("{words}: {}", pause.end(&view.part.snapshot.namespace))
}

/// What was deleted and goes when a pause ends: of what goes together, that with which the others go.
pub(crate) fn deletions(view: &View<'_>, pause: &Pause) -> Vec<String> {
    let mut ids = pause.reach(view);
    ids.extend(above(view, &pause.place()));
    ids.retain(|id| view.object(id).is_some_and(|object| object.is_going()));
    let is_first = |id: &&String| !view.makers(id).any(|maker| ids.contains(maker));
    ids.iter().filter(is_first).map(|id| typed(id)).collect()
}

/// All that an object is made for. What it is made of goes with it, although nobody said so of that yet.
fn above(view: &View<'_>, id: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![id.to_owned()];
    while let Some(id) = open.pop() {
        let makers = view.makers(&id).map(str::to_owned);
        open.extend(makers.filter(|maker| found.insert(maker.clone())));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::look::testing::{at, part};

    /// A paused Cluster with a network and a control plane, and what these have made.
    fn objects() -> Value {
        let reference = |kind: &str| json!({"apiGroup": "x", "kind": kind, "name": "blue"});
        let apply = |owner: &str, name: &str| {
            json!({
                "metadata": {
                    "name": name,
                    "labels": {"infrastructure.cluster.x-k8s.io/owner": owner, "cluster.x-k8s.io/cluster-name": "blue"},
                    "annotations": {"infrastructure.cluster.x-k8s.io/workspace": format!("tf.m.upbound.io/{name}")},
                },
                "spec": {"templateRef": {"name": "any"}},
            })
        };
        let workspace = |name: &str| json!({"metadata": {"name": name}, "spec": {"forProvider": {"source": "Inline", "module": ""}}});
        json!({
            "clusters": [{
                "metadata": {"name": "blue"},
                "spec": {
                    "paused": true,
                    "infrastructureRef": reference("CAPTCluster"), "controlPlaneRef": reference("CAPTControlPlane"),
                },
            }],
            "captclusters": [{"metadata": {"name": "blue"}, "spec": {"region": "eu-central-1"}}],
            "controlPlanes": [{
                "metadata": {"name": "blue"}, "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
            }],
            "applies": [apply("CAPTCluster.blue", "blue-vpc"), apply("CAPTControlPlane.blue", "blue-eks")],
            "workspaces": [workspace("blue-vpc"), workspace("blue-eks")],
        })
    }

    const BY_CLUSTER: &str =
        "kubectl patch cluster blue -n team --type merge -p '{\"spec\":{\"paused\":false}}'";

    fn destroying(what: &str) -> String {
        format!(
            "go on with the deletion of {what}, which destroys its infrastructure unless that is to be kept"
        )
    }

    #[test]
    fn the_end_of_a_pause_is_told_with_every_deletion_that_it_lets_go_on() {
        for (deleted, expected) in [
            (&[][..], "go on".to_owned()),
            (&[("clusters", 0)], destroying("cluster/blue")),
            (&[("captclusters", 0)], destroying("captcluster/blue")),
            (&[("controlPlanes", 0)], destroying("captcontrolplane/blue")),
            (&[("applies", 1)], destroying("wtapply/blue-eks")),
            (&[("workspaces", 0)], destroying("workspace/blue-vpc")),
            // What goes with something else is not named beside that.
            (
                &[("controlPlanes", 0), ("applies", 1), ("workspaces", 1)],
                destroying("captcontrolplane/blue"),
            ),
            (
                &[("captclusters", 0), ("controlPlanes", 0)],
                destroying("captcluster/blue and captcontrolplane/blue").replace("its", "their"),
            ),
        ] {
            let mut objects = objects();
            for (list, index) in deleted {
                objects[list][index]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
            }
            let part = part(&objects);
            let view = View::new(&part);
            // Whichever of them somebody asks about.
            for id in [
                "Cluster/blue",
                "CAPTCluster/blue",
                "CAPTControlPlane/blue",
                "WorkspaceTemplateApply/blue-vpc",
                "Workspace/blue-eks",
            ] {
                assert_eq!(
                    ways_on(&view, id),
                    [format!("{expected}: {BY_CLUSTER}")],
                    "{deleted:?} {id}"
                );
            }
        }
    }

    #[test]
    fn a_pause_by_annotation_holds_what_its_object_has_made() {
        for (list, index, deleted, expected) in [
            (
                "captclusters",
                0,
                ("workspaces", 0),
                destroying("workspace/blue-vpc"),
            ),
            ("captclusters", 0, ("controlPlanes", 0), "go on".to_owned()),
            ("captclusters", 0, ("clusters", 0), destroying("cluster/blue")),
            // It stops nobody who looks after a part of the Cluster.
            ("clusters", 0, ("controlPlanes", 0), "go on".to_owned()),
            ("clusters", 0, ("clusters", 0), destroying("cluster/blue")),
        ] {
            let mut objects = objects();
            objects["clusters"][0]["spec"]["paused"] = json!(false);
            objects[list][index]["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
            objects[deleted.0][deleted.1]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
            let part = part(&objects);
            let id = if list == "clusters" {
                "Cluster/blue"
            } else {
                "CAPTCluster/blue"
            };
            let ways = ways_on(&View::new(&part), id);
            let [way] = &ways[..] else {
                panic!("{ways:?}");
            };
            assert!(
                way.starts_with(&format!("{expected}: kubectl annotate")),
                "{list} {deleted:?}: {way}"
            );
        }
    }

    #[test]
    fn what_belongs_to_a_cluster_that_does_not_refer_to_it_is_held_too() {
        let mut objects = objects();
        objects["applies"][0]["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "blue"});
        objects["applies"][0]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
        let part = part(&objects);
        assert_eq!(
            ways_on(&View::new(&part), "CAPTControlPlane/blue"),
            [format!("{}: {BY_CLUSTER}", destroying("wtapply/blue-vpc"))]
        );
    }

    #[test]
    fn pauses_that_come_together_all_have_to_end() {
        let mut objects = objects();
        let mark = json!({"cluster.x-k8s.io/paused": ""});
        objects["captclusters"][0]["metadata"]["annotations"] = mark;
        let two = ", when the other pause has ended too: kubectl ";
        let three = ", when the other pauses have ended too: kubectl ";
        objects["applies"][0]["metadata"]["annotations"]["cluster.x-k8s.io/paused"] = json!("");
        let part = part(&objects);
        let view = View::new(&part);
        for (id, count, words) in [
            ("Cluster/blue", 1, "go on: kubectl "),
            ("CAPTCluster/blue", 2, two),
            ("WorkspaceTemplateApply/blue-vpc", 3, three),
            ("CAPTControlPlane/blue", 1, "go on: kubectl "),
        ] {
            let ways = ways_on(&view, id);
            assert_eq!(ways.len(), count, "{id}: {ways:?}");
            assert!(ways.iter().all(|way| way.contains(words)), "{id}: {ways:?}");
        }
        objects["controlPlanes"][0]["metadata"]["deletionTimestamp"] = json!(at(90).to_string());
        let part = self::part(&objects);
        assert_eq!(
            ways_on(&View::new(&part), "CAPTCluster/blue")[0],
            format!(
                "go on, when the other pause has ended too, and with the deletion of captcontrolplane/blue, which destroys its \
                 infrastructure unless that is to be kept: {BY_CLUSTER}"
            ),
            "the other pause does not hold up what is destroyed"
        );
    }
}
