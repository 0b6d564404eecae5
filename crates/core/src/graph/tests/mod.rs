//! Each rule in a test that is named after it and fails without it.

mod building;
mod cycles;
mod picture;
mod telling;
mod waiting;
mod walking;

use capt_api::{WorkspaceTemplateApply, foreign::marks as foreign_marks, marks};
use k8s_openapi::jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::render::WorkspaceGroup;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a valid time")
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a whole object")
}

fn metadata(name: &str, more: &Value) -> Value {
    let mut metadata = json!({
        "name": name, "namespace": "team", "uid": format!("{name}-uid"),
        "creationTimestamp": at(0).to_string(),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        metadata[key] = value.clone();
    }
    metadata
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": at(60).to_string(),
    })
}

fn ready(reason: &str) -> Value {
    json!([
        condition("Synced", "True", "ReconcileSuccess", ""),
        condition("Ready", "True", reason, ""),
    ])
}

/// A WorkspaceTemplateApply that is ready, with an owner.
fn apply(name: &str, owner: &str, spec: &Value) -> WorkspaceTemplateApply {
    let mut whole = json!({"templateRef": {"name": "vpc"}});
    for (key, value) in spec.as_object().into_iter().flatten() {
        whole[key] = value.clone();
    }
    let workspace = name.trim_end_matches("-apply");
    read(json!({
        "metadata": metadata(name, &json!({
            "labels": {marks::OWNER: owner, foreign_marks::CLUSTER_NAME: "blue"},
            "annotations": {marks::WORKSPACE: format!("tf.m.upbound.io/{workspace}")},
        })),
        "spec": whole,
        "status": {"applied": true, "workspaceName": workspace, "conditions": ready("Available")},
    }))
}

fn workspace(name: &str, spec: Value) -> WorkspaceSeen {
    WorkspaceSeen {
        generation: Some(1),
        paused_by_hand: false,
        group: WorkspaceGroup::Namespaced,
        name: name.to_owned(),
        labels: BTreeMap::default(),
        deleting: false,
        retained: false,
        created_at: Some(at(0)),
        spec,
        conditions: read(ready("Available")),
        is_tried: false,
    }
}

fn secret(name: &str, controller: (&str, &str)) -> SecretSeen {
    SecretSeen {
        name: name.to_owned(),
        created_at: Some(at(0)),
        controller: Some((controller.0.to_owned(), controller.1.to_owned())),
    }
}

/// A cluster with a network, a control plane and a Fargate profile, all of it ready.
fn demo() -> Snapshot {
    let owner = json!({"ownerReferences": [{
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": "blue-uid",
    }]});
    let writes = |name: &str| json!({"writeConnectionSecretToRef": {"name": name}});
    let mut eks = writes("plane-eks-connection");
    eks["forProvider"] = json!({"varFiles": [{"secretKeyRef": {"name": "net-vpc-connection"}}]});
    Snapshot {
        namespace: "team".to_owned(),
        clusters: vec![read(json!({
            "metadata": metadata("blue", &Value::Null),
            "spec": {
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CAPTCluster", "name": "net"},
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "plane"},
            },
            "status": {"phase": "Provisioned", "conditions": [condition("Available", "True", "Available", "")]},
        }))],
        captclusters: vec![read(json!({
            "metadata": metadata("net", &owner),
            "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
            "status": {"ready": true, "conditions": [condition("Ready", "True", "VPCCreated", "")]},
        }))],
        control_planes: vec![read(json!({
            "metadata": metadata("plane", &owner),
            "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
            "status": {"ready": true, "state": "Ready", "conditions": [condition("Ready", "True", "Ready", "")]},
        }))],
        applies: vec![
            apply("net-vpc", "CAPTCluster.net", &json!({})),
            apply(
                "plane-eks-controlplane-apply",
                "CAPTControlPlane.plane",
                &json!({"templateRef": {"name": "eks", "namespace": "shared"},
                       "waitForSecrets": [{"name": "net-vpc-connection"}]}),
            ),
            apply(
                "plane-web-fargate-apply",
                "CAPTControlPlane.plane",
                &json!({"templateRef": {"name": "fargate"}, "waitForSecrets": [{"name": "plane-eks-connection"}]}),
            ),
        ],
        templates: Vec::new(),
        workspaces: vec![
            workspace("net-vpc", writes("net-vpc-connection")),
            workspace("plane-eks-controlplane", eks),
            workspace("plane-web-fargate", json!({})),
        ],
        secrets: vec![
            secret("net-vpc-connection", ("Workspace", "net-vpc")),
            secret("plane-eks-connection", ("Workspace", "plane-eks-controlplane")),
            secret("blue-kubeconfig", ("CAPTControlPlane", "plane")),
        ],
    }
}

fn ids<'a>(pairs: impl Iterator<Item = (&'a str, Relation)>) -> Vec<(&'a str, Relation)> {
    let mut ids: Vec<_> = pairs.collect();
    ids.sort_unstable();
    ids
}
