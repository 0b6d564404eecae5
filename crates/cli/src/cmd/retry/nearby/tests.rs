//! An API that remembers what was asked of it, and refuses some of it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::{
    cmd::retry::held::{Holdup, holdup},
    look::kinds::ids,
};

const NAMESPACE: &str = "team";

/// A Cluster whose network and control plane have made something.
#[derive(Clone)]
struct World {
    /// Changes of objects, by the ends of their paths.
    changes: Vec<(&'static str, &'static str, Value)>,
    /// The ends of paths that nobody may read.
    hidden: Vec<&'static str>,
}

impl World {
    /// An object or a list, by the end of its path.
    fn answer(&self, path: &str, query: &str) -> Option<Value> {
        let owner = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": "u"}]);
        let reference = |kind: &str| json!({"apiGroup": "x", "kind": kind, "name": "blue"});
        let apply = |kind: &str, name: &str| {
            json!({
                "metadata": {
                    "name": name, "namespace": NAMESPACE, "uid": format!("uid-of-{name}"),
                    "labels": {marks::OWNER: format!("{kind}.blue"), foreign_marks::CLUSTER_NAME: "blue"},
                    "annotations": {marks::WORKSPACE: format!("tf.m.upbound.io/{name}")},
                },
                "spec": {"templateRef": {"name": "any"}},
            })
        };
        let workspace = |name: &str| {
            json!({
                "metadata": {
                    "name": name, "namespace": NAMESPACE, "uid": "w", "generation": 1,
                    "labels": {marks::WTA_UID: format!("uid-of-{name}"), marks::WTA_NAMESPACE: NAMESPACE},
                },
                "spec": {"forProvider": {"source": "Inline", "module": ""}},
            })
        };
        let object = |end: &str| {
            let mut object = match end {
                "clusters/blue" => json!({
                    "metadata": {"name": "blue", "namespace": NAMESPACE},
                    "spec": {"infrastructureRef": reference("CAPTCluster"), "controlPlaneRef": reference("CAPTControlPlane")},
                }),
                "captclusters/blue" => json!({
                    "metadata": {"name": "blue", "namespace": NAMESPACE, "ownerReferences": owner},
                    "spec": {"region": "eu-central-1"},
                }),
                "captcontrolplanes/blue" => json!({
                    "metadata": {"name": "blue", "namespace": NAMESPACE, "ownerReferences": owner},
                    "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
                }),
                "workspacetemplateapplies/vpc" => apply("CAPTCluster", "vpc"),
                "workspacetemplateapplies/eks" => apply("CAPTControlPlane", "eks"),
                "workspaces/vpc" => workspace("vpc"),
                "workspaces/eks" => workspace("eks"),
                _ => return None,
            };
            for (_, pointer, value) in self.changes.iter().filter(|(changed, ..)| *changed == end) {
                let (place, key) = pointer.rsplit_once('/')?;
                object.pointer_mut(place)?[key.replace('~', "/")] = value.clone();
            }
            Some(object)
        };
        let list = |ends: &[&str]| {
            let items: Vec<Value> = ends.iter().filter_map(|end| object(end)).collect();
            json!({"metadata": {}, "items": items})
        };
        let (_, end) = path.split_once(&format!("/namespaces/{NAMESPACE}/"))?;
        match end {
            "clusters" => Some(list(&["clusters/blue"])),
            "workspacetemplateapplies" => {
                let is_asked_for = |word: &str| query.contains(word) || query.contains("cluster-name");
                let ends = [
                    ("CAPTCluster.", "workspacetemplateapplies/vpc"),
                    ("CAPTControlPlane.", "workspacetemplateapplies/eks"),
                ];
                let ends = ends.iter().filter(|(word, _)| is_asked_for(word));
                Some(list(&ends.map(|(_, end)| *end).collect::<Vec<_>>()))
            }
            end => object(end),
        }
    }

    /// The API, and all that is asked of it.
    fn serve(self) -> (Cluster, Arc<Mutex<Vec<String>>>) {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&asked);
        let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let path = request.uri().path().to_owned();
            let query = request.uri().query().unwrap_or_default().to_owned();
            heard.lock().unwrap().push(match request.method().as_str() {
                "GET" => path.clone(),
                method => format!("{method} {path}"),
            });
            let (code, answer) = match self.answer(&path, &query) {
                _ if self.hidden.iter().any(|end| path.ends_with(end)) => (403, json!({})),
                Some(answer) => (200, answer),
                None => (404, json!({})),
            };
            let answer = match code {
                200 => answer,
                code => json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no",
                    "reason": "Whatever", "code": code,
                }),
            };
            let status = axum::http::StatusCode::from_u16(code).unwrap();
            async move { (status, answer.to_string()) }
        });
        let cluster = Cluster {
            client: kube::Client::new(router, NAMESPACE),
            namespace: NAMESPACE.to_owned(),
            url: String::new(),
        };
        (cluster, asked)
    }

    /// What holds a target up, and all that was asked for to know it.
    async fn holdup(self, target: &str) -> (Holdup, Vec<String>) {
        let (cluster, asked) = self.serve();
        let target: Target = target.parse().unwrap();
        let of = (target.kind == Kind::Cluster).then_some("blue");
        let owners: Vec<Target> = match target.kind {
            Kind::Cluster => ["captcluster/blue", "captcontrolplane/blue"]
                .map(|owner| owner.parse().unwrap())
                .into(),
            _ => vec![target.clone()],
        };
        let found = match target.kind {
            Kind::Apply => {
                let subject = cluster.subject(&target).await.unwrap();
                holdup(
                    of_subject(&cluster, &subject).await,
                    &ids(&target).collect::<Vec<_>>(),
                )
            }
            _ => holdup(
                of_owners(&cluster, &owners, of).await,
                &owners.iter().flat_map(ids).collect::<Vec<_>>(),
            ),
        };
        let asked = asked.lock().unwrap().clone();
        (found, asked)
    }
}

const ALL: [&str; 4] = [
    "cluster/blue",
    "captcluster/blue",
    "captcontrolplane/blue",
    "wtapply/eks",
];

#[tokio::test]
async fn only_what_may_hold_it_up_is_read() {
    for (target, most) in ALL.into_iter().zip([6, 4, 4, 4]) {
        let world = World {
            changes: vec![],
            hidden: vec![],
        };
        let (found, asked) = world.holdup(target).await;
        assert_eq!((found.paused, found.unread.len()), (Some(false), 0), "{target}");
        assert!(asked.len() <= most, "{target}: {asked:?}");
        let is_list =
            |path: &&String| !path.ends_with("blue") && !path.ends_with("eks") && !path.ends_with("vpc");
        let lists: Vec<&String> = asked.iter().filter(is_list).collect();
        assert!(
            lists
                .iter()
                .all(|path| path.ends_with("/workspacetemplateapplies"))
                && lists.len() <= 1,
            "{target}: {asked:?}"
        );
    }
}

#[tokio::test]
async fn whoever_is_tried_again_is_read_once() {
    let well = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "Any", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let well = json!({"conditions": [well("Synced"), well("Ready")]});
    for target in ["cluster/blue", "captcontrolplane/blue"] {
        let world = World {
            changes: vec![("workspacetemplateapplies/eks", "/status", well.clone())],
            hidden: vec![],
        };
        let (cluster, asked) = world.serve();
        let target: Target = target.parse().unwrap();
        let owners = match target.kind {
            Kind::Cluster => crate::cmd::retry::parts(&cluster, "blue").await.unwrap(),
            _ => vec![target.clone()],
        };
        let answer = crate::cmd::retry::owners_again(&cluster, &target, owners, "token".to_owned())
            .await
            .unwrap();
        assert_eq!(answer.looks, ["workspace/eks"], "{target}");
        let asked = asked.lock().unwrap().clone();
        let count = |end: &str| asked.iter().filter(|path| path.ends_with(end)).count();
        assert_eq!(count("/workspacetemplateapplies"), 1, "{target}: {asked:?}");
        // Read, and marked.
        assert_eq!(count("/workspaces/eks"), 2, "{target}: {asked:?}");
    }
}

#[tokio::test]
async fn every_pause_is_found_by_what_is_read() {
    let mark = || json!({"cluster.x-k8s.io/paused": ""});
    let annotations = "/metadata/annotations";
    let cases: [(&str, &str, Value, [bool; 4]); 6] = [
        (
            "clusters/blue",
            "/spec/paused",
            json!(true),
            [true, true, true, true],
        ),
        (
            "captclusters/blue",
            annotations,
            mark(),
            [true, true, false, false],
        ),
        (
            "captcontrolplanes/blue",
            annotations,
            mark(),
            [true, false, true, true],
        ),
        (
            "workspacetemplateapplies/eks",
            "/metadata/annotations/cluster.x-k8s.io~paused",
            json!(""),
            [true, false, true, true],
        ),
        (
            "workspaces/eks",
            annotations,
            json!({"crossplane.io/paused": "true"}),
            [true, false, true, true],
        ),
        (
            "workspaces/vpc",
            annotations,
            json!({"crossplane.io/paused": "true"}),
            [true, true, false, false],
        ),
    ];
    for (object, pointer, value, expected) in cases {
        for (target, is_paused) in ALL.into_iter().zip(expected) {
            let world = World {
                changes: vec![(object, pointer, value.clone())],
                hidden: vec![],
            };
            let (found, _) = world.holdup(target).await;
            assert_eq!(found.paused, Some(is_paused), "{object} {pointer}: {target}");
            assert_eq!(
                found.pauses.len(),
                usize::from(is_paused),
                "{object} {pointer}: {target}"
            );
        }
    }
}

#[tokio::test]
async fn a_deletion_elsewhere_in_a_paused_cluster_is_found_too() {
    for deleted in [
        "captcontrolplanes/blue",
        "workspacetemplateapplies/eks",
        "workspaces/eks",
    ] {
        for target in ALL {
            let world = World {
                changes: vec![
                    ("clusters/blue", "/spec/paused", json!(true)),
                    (
                        deleted,
                        "/metadata/deletionTimestamp",
                        json!("2026-01-01T00:00:00Z"),
                    ),
                ],
                hidden: vec![],
            };
            let (found, _) = world.holdup(target).await;
            let ways: Vec<&str> = found.pauses.iter().map(|held| held.way_on.as_str()).collect();
            assert!(
                ways.len() == 1
                    && ways[0].contains("which destroys its infrastructure")
                    && found.pauses[0].destroys.len() == 1,
                "{deleted} {target}: {ways:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_not_called_well() {
    for (hidden, target, expected) in [
        ("/clusters/blue", "captcluster/blue", "cluster/blue"),
        ("/captclusters/blue", "captcluster/blue", "captcluster/blue"),
        ("captcontrolplanes/blue", "wtapply/eks", "captcontrolplane/blue"),
        (
            "/workspacetemplateapplies",
            "captcontrolplane/blue",
            "the wtapplies of captcontrolplane/blue",
        ),
        (
            "workspaces/vpc",
            "captcluster/blue",
            "the workspace of wtapply/vpc",
        ),
    ] {
        let world = World {
            changes: vec![],
            hidden: vec![hidden],
        };
        let (found, _) = world.holdup(target).await;
        assert_eq!(
            (found.paused, found.unread),
            (None, vec![expected.to_owned()]),
            "{hidden}"
        );
    }
}
