//! Through what an object is paused, and how that ends.

use std::collections::BTreeSet;

use capt_api::{WorkspaceTemplateApply, foreign::marks as foreign_marks};
use capt_core::{
    captcluster::snapshot::owner, controlplane::snapshot::cluster_of, graph::workspace_id,
    render::WorkspaceGroup,
};
use kube::ResourceExt as _;

use super::view::{Object, View, typed};

/// One cause for which nothing is done about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// `spec.paused` of the Cluster of this name, which counts for all that belongs to it.
    Cluster(String),
    /// The annotation on an object, as the graph calls it, which counts for what that makes too.
    Annotation(String),
    /// What a person wrote on a Workspace so that nobody works on it.
    Workspace(WorkspaceGroup, String),
}

impl Pause {
    /// What is paused by it in the first place, as the graph calls it.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Cluster(name) => format!("Cluster/{name}"),
            Self::Annotation(id) => id.clone(),
            Self::Workspace(group, name) => workspace_id(*group, name),
        }
    }

    /// What says that nothing be done.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Cluster(name) => format!("cluster/{name} has spec.paused: true"),
            Self::Annotation(id) => {
                format!("{} has the annotation {}", typed(id), foreign_marks::PAUSED)
            }
            Self::Workspace(_, name) => {
                format!(
                    "workspace/{name} has the annotation {}",
                    foreign_marks::CROSSPLANE_PAUSED
                )
            }
        }
    }

    /// The command that ends it.
    pub(crate) fn end(&self, namespace: &str) -> String {
        match self {
            Self::Cluster(name) => format!(
                "kubectl patch cluster {name} -n {namespace} --type merge -p '{{\"spec\":{{\"paused\":false}}}}'"
            ),
            Self::Annotation(id) => {
                let object = typed(id).replacen('/', " ", 1);
                format!(
                    "kubectl annotate {object} -n {namespace} {}-",
                    foreign_marks::PAUSED
                )
            }
            Self::Workspace(group, name) => {
                let place = match group {
                    WorkspaceGroup::Namespaced => format!(" -n {namespace}"),
                    WorkspaceGroup::ClusterScoped => String::new(),
                };
                format!(
                    "kubectl annotate workspaces.{} {name}{place} {}-",
                    group.name(),
                    foreign_marks::CROSSPLANE_PAUSED
                )
            }
        }
    }

    /// All that nothing is done about because of it, as far as the graph has it.
    pub(super) fn reach(&self, view: &View<'_>) -> BTreeSet<String> {
        let roots = match self {
            // It stops who looks after the Cluster, and nobody else.
            Self::Annotation(id) if id.starts_with("Cluster/") => return BTreeSet::from([id.clone()]),
            Self::Annotation(_) | Self::Workspace(..) => vec![self.place()],
            Self::Cluster(name) => {
                let mut roots = belonging(view, name);
                roots.push(self.place());
                roots
            }
        };
        roots.iter().flat_map(|root| view.graph.whole(root)).collect()
    }
}

/// What says itself that it belongs to a Cluster, whether or not that refers to it.
fn belonging(view: &View<'_>, cluster: &str) -> Vec<String> {
    let snapshot = &view.part.snapshot;
    let networks = snapshot.captclusters.iter();
    let networks = networks.filter(|one| owner(one) == Some(cluster));
    let planes = snapshot.control_planes.iter();
    let planes = planes.filter(|one| cluster_of(one) == Some(cluster));
    let applies = snapshot.applies.iter();
    let applies = applies.filter(|one| cluster_of_apply(one).is_some_and(|name| name == cluster));
    networks
        .map(|one| format!("CAPTCluster/{}", one.name_any()))
        .chain(planes.map(|one| format!("CAPTControlPlane/{}", one.name_any())))
        .chain(applies.map(|one| format!("WorkspaceTemplateApply/{}", one.name_any())))
        .collect()
}

fn cluster_of_apply(apply: &WorkspaceTemplateApply) -> Option<&String> {
    apply.labels().get(foreign_marks::CLUSTER_NAME)
}

/// All that pauses an object, as the controllers see it. None of it, if it is paused by something else, such as a move.
pub(crate) fn pauses(view: &View<'_>, id: &str) -> Vec<Pause> {
    let object = view.object(id);
    let cluster = match &object {
        Some(Object::Cluster(one)) => Some(one.name_any()),
        Some(Object::CaptCluster(one)) => owner(one).map(str::to_owned).or_else(|| referrer(view, id)),
        Some(Object::ControlPlane(one)) => cluster_of(one).map(str::to_owned).or_else(|| referrer(view, id)),
        Some(Object::Apply(one)) => cluster_of_apply(one).cloned(),
        Some(Object::Workspace(_)) | None => None,
    };
    let mut pauses: Vec<Pause> = cluster
        .and_then(|name| of_cluster(view, &name))
        .into_iter()
        .collect();
    pauses.extend(of_annotation(view, id));
    match object {
        Some(Object::Apply(_)) => {
            pauses.extend(view.makers(id).filter_map(|maker| of_annotation(view, maker)));
            let made = view.graph.made_by(id);
            pauses.extend(made.filter_map(|workspace| by_hand(view, workspace)));
        }
        Some(Object::Workspace(_)) => {
            pauses.extend(view.makers(id).flat_map(|maker| self::pauses(view, maker)));
            pauses.extend(by_hand(view, id).filter(|pause| !pauses.contains(pause)));
        }
        _ => {}
    }
    pauses
}

/// What stands still of an object for a cause of its own, although the object may go on, and through what.
pub(crate) fn below(view: &View<'_>, id: &str) -> Vec<(String, Pause)> {
    let parts = view.graph.whole(id).into_iter().filter(|part| part != id);
    let own = |part: String| {
        let pause = of_annotation(view, &part).or_else(|| by_hand(view, &part))?;
        Some((part, pause))
    };
    parts.filter_map(own).collect()
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
    (cluster.spec.paused == Some(true)).then(|| Pause::Cluster(name.to_owned()))
}

fn of_annotation(view: &View<'_>, id: &str) -> Option<Pause> {
    let annotations = view.object(id)?.metadata()?.annotations.as_ref()?;
    let is_paused = annotations.contains_key(foreign_marks::PAUSED);
    is_paused.then(|| Pause::Annotation(id.to_owned()))
}

fn by_hand(view: &View<'_>, id: &str) -> Option<Pause> {
    let Object::Workspace(workspace) = view.object(id)? else {
        return None;
    };
    let is_paused = workspace.paused_by_hand && !workspace.retained;
    is_paused.then(|| Pause::Workspace(workspace.group, workspace.name.clone()))
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
            (
                "workspaces",
                MARK,
                json!({"crossplane.io/paused": "true"}),
                2,
                3,
                "kubectl annotate workspaces.tf.m.upbound.io net-vpc -n team crossplane.io/paused-",
            ),
            (
                "workspaces",
                MARK,
                json!({"crossplane.io/paused": "false"}),
                4,
                4,
                "",
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
    #[test]
    fn what_stands_still_for_a_cause_of_its_own_is_found_below_what_goes_on() {
        let mut objects = objects();
        objects["applies"][0]["metadata"]["annotations"]["cluster.x-k8s.io/paused"] = json!("");
        objects["workspaces"][0]["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
        let part = part(&objects);
        let view = View::new(&part);
        let both = &["WorkspaceTemplateApply/net-vpc", "Workspace/net-vpc"][..];
        for (id, expected) in [
            ("Cluster/blue", both),
            ("CAPTCluster/net", both),
            ("WorkspaceTemplateApply/net-vpc", &both[1..]),
            ("Workspace/net-vpc", &[]),
        ] {
            let mut found: Vec<String> = below(&view, id).into_iter().map(|(part, _)| part).collect();
            found.sort_by_key(|part| part.starts_with("Workspace/"));
            assert_eq!(found, expected, "{id}");
        }
    }
}
