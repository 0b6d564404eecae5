//! Through what an object is paused, and how that ends.

use capt_api::foreign::marks as foreign_marks;
use capt_core::{captcluster::snapshot::owner, controlplane::snapshot::cluster_of};
use kube::ResourceExt as _;

use super::view::{Object, View, typed};

/// One cause for which nothing is done about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// `spec.paused` of a Cluster, which counts for all that belongs to it.
    Cluster {
        /// Its name.
        name: String,
        /// It is being deleted, which goes on when the pause ends.
        is_going: bool,
    },
    /// The annotation on an object, which counts for what that makes too.
    Annotation {
        /// The object, as the graph calls it.
        id: String,
        /// It is being deleted, which goes on when the pause ends.
        is_going: bool,
    },
}

impl Pause {
    /// What says that nothing be done.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Cluster { name, .. } => format!("cluster/{name} has spec.paused: true"),
            Self::Annotation { id, .. } => {
                format!("{} has the annotation {}", typed(id), foreign_marks::PAUSED)
            }
        }
    }

    /// The command that ends it.
    pub(crate) fn end(&self, namespace: &str) -> String {
        match self {
            Self::Cluster { name, .. } => format!(
                "kubectl patch cluster {name} -n {namespace} --type merge -p '{{\"spec\":{{\"paused\":false}}}}'"
            ),
            Self::Annotation { id, .. } => {
                let object = typed(id).replacen('/', " ", 1);
                format!(
                    "kubectl annotate {object} -n {namespace} {}-",
                    foreign_marks::PAUSED
                )
            }
        }
    }

    /// Whether its end lets a deletion go on.
    fn holds_deletion(&self) -> bool {
        match self {
            Self::Cluster { is_going, .. } | Self::Annotation { is_going, .. } => *is_going,
        }
    }
}

/// How to go on with an object, as it is written after "To" or "You can".
pub(crate) fn ways_on(view: &View<'_>, id: &str) -> Vec<String> {
    let is_going = view.object(id).is_some_and(|object| object.is_going());
    let way_on = |pause: Pause| {
        let go_on = match is_going || pause.holds_deletion() {
            true => "go on with its deletion, which destroys its infrastructure unless that is to be kept",
            false => "go on",
        };
        format!("{go_on}: {}", pause.end(&view.part.snapshot.namespace))
    };
    pauses(view, id).into_iter().map(way_on).collect()
}

/// All that pauses an object, as the controllers see it. None of it, if it is paused by something else, such as a move.
pub(crate) fn pauses(view: &View<'_>, id: &str) -> Vec<Pause> {
    let object = view.object(id);
    let cluster = match &object {
        Some(Object::Cluster(one)) => Some(one.name_any()),
        Some(Object::CaptCluster(one)) => owner(one).map(str::to_owned).or_else(|| referrer(view, id)),
        Some(Object::ControlPlane(one)) => cluster_of(one).map(str::to_owned).or_else(|| referrer(view, id)),
        Some(Object::Apply(one)) => one.labels().get(foreign_marks::CLUSTER_NAME).cloned(),
        Some(Object::Workspace(_)) | None => None,
    };
    let mut pauses: Vec<Pause> = cluster
        .and_then(|name| of_cluster(view, &name))
        .into_iter()
        .collect();
    pauses.extend(of_annotation(view, id));
    match object {
        Some(Object::Apply(_)) => {
            pauses.extend(view.makers(id).filter_map(|maker| of_annotation(view, maker)))
        }
        Some(Object::Workspace(_)) => {
            pauses.extend(view.makers(id).flat_map(|maker| self::pauses(view, maker)))
        }
        _ => {}
    }
    pauses
}

/// A Cluster that refers to an object and will own it.
fn referrer(view: &View<'_>, id: &str) -> Option<String> {
    let mut clusters = view.makers(id).filter_map(|maker| maker.strip_prefix("Cluster/"));
    clusters.next().map(str::to_owned)
}

fn of_cluster(view: &View<'_>, name: &str) -> Option<Pause> {
    let Some(Object::Cluster(cluster)) = view.object(&format!("Cluster/{name}")) else {
        return None;
    };
    (cluster.spec.paused == Some(true)).then(|| Pause::Cluster {
        name: name.to_owned(),
        is_going: cluster.metadata.deletion_timestamp.is_some(),
    })
}

fn of_annotation(view: &View<'_>, id: &str) -> Option<Pause> {
    let metadata = view.object(id)?.metadata()?;
    let annotations = metadata.annotations.as_ref()?;
    annotations
        .contains_key(foreign_marks::PAUSED)
        .then(|| Pause::Annotation {
            id: id.to_owned(),
            is_going: metadata.deletion_timestamp.is_some(),
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::look::testing::part;

    /// A network of a Cluster, and what it has made.
    fn objects() -> Value {
        let of_blue = json!({"cluster.x-k8s.io/cluster-name": "blue", "infrastructure.cluster.x-k8s.io/owner": "CAPTCluster.net"});
        json!({
            "clusters": [{
                "metadata": {"name": "blue"},
                "spec": {
                    "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CAPTCluster", "name": "net"},
                },
            }],
            "captclusters": [{"metadata": {"name": "net"}, "spec": {"region": "eu-central-1"}}],
            "applies": [{
                "metadata": {
                    "name": "net-vpc", "labels": of_blue,
                    "annotations": {"infrastructure.cluster.x-k8s.io/workspace": "tf.m.upbound.io/net-vpc"},
                },
                "spec": {"templateRef": {"name": "vpc"}},
            }],
            "workspaces": [{
                "metadata": {"name": "net-vpc"},
                "spec": {"forProvider": {"source": "Inline", "module": ""}},
            }],
        })
    }

    #[test]
    fn each_pause_is_told_with_the_command_that_ends_it() {
        const MARK: &str = "/metadata/annotations";
        let all = [
            "Cluster/blue",
            "CAPTCluster/net",
            "WorkspaceTemplateApply/net-vpc",
            "Workspace/net-vpc",
        ];
        let by_spec = "kubectl patch cluster blue -n team --type merge -p '{\"spec\":{\"paused\":false}}'";
        for (list, path, value, first, last, end) in [
            ("clusters", "/spec/paused", json!(true), 0, 3, by_spec),
            (
                "clusters",
                MARK,
                json!({"cluster.x-k8s.io/paused": ""}),
                0,
                0,
                "kubectl annotate cluster blue -n team cluster.x-k8s.io/paused-",
            ),
            (
                "captclusters",
                MARK,
                json!({"cluster.x-k8s.io/paused": ""}),
                1,
                3,
                "kubectl annotate captcluster net -n team cluster.x-k8s.io/paused-",
            ),
            (
                "applies",
                "/metadata/annotations/cluster.x-k8s.io~1paused",
                json!("true"),
                2,
                3,
                "kubectl annotate wtapply net-vpc -n team cluster.x-k8s.io/paused-",
            ),
        ] {
            let mut objects = objects();
            let (place, key) = path.rsplit_once('/').unwrap();
            objects[list][0].pointer_mut(place).unwrap()[key.replace("~1", "/")] = value;
            let part = part(&objects);
            let view = View::new(&part);
            for (at, id) in all.into_iter().enumerate() {
                let ends: Vec<String> = pauses(&view, id).iter().map(|pause| pause.end("team")).collect();
                let expected: &[&str] = if (first..=last).contains(&at) { &[end] } else { &[] };
                assert_eq!(ends, expected, "{list} {path}: {id}");
            }
        }
    }
}
