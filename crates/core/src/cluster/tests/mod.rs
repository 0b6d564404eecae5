//! Each rule in a test that is named after it and fails without it.

mod copying;
mod going;
mod owning;
mod reporting;

use capt_api::{
    conditions::find_condition,
    foreign::{
        Cluster,
        cluster::{ClusterEndpoint, ClusterInitialization, ClusterSpec, ClusterStatus, ContractReference},
        marks,
    },
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use super::{Contracted, Referenced, Role, Snapshot, Worker, decide};
use crate::decision::{Decision, EventKind, Guard, Target};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a valid time")
}

fn reference(kind: &str) -> ContractReference {
    ContractReference {
        api_group: "infrastructure.cluster.x-k8s.io".to_owned(),
        kind: kind.to_owned(),
        name: "blue".to_owned(),
    }
}

/// An object as the API has it, owned by the Cluster.
fn object(kind: &str, spec: &Value, status: &Value) -> Value {
    let group = match kind {
        "CAPTControlPlane" => "controlplane.cluster.x-k8s.io",
        _ => "infrastructure.cluster.x-k8s.io",
    };
    json!({
        "apiVersion": format!("{group}/v1beta1"),
        "kind": kind,
        "metadata": {
            "name": "blue",
            "namespace": "team",
            "uid": format!("{kind}-1"),
            "resourceVersion": "7",
            "labels": {marks::CLUSTER_NAME: "blue"},
            "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": "cluster-1",
            }],
        },
        "spec": spec,
        "status": status,
    })
}

fn infrastructure(spec: &Value, status: &Value) -> Referenced {
    let object = object("CAPTCluster", spec, status);
    Referenced::Found(Box::new(
        Contracted::read(&object, Role::Infrastructure).expect("readable"),
    ))
}

fn control_plane(spec: &Value, status: &Value) -> Referenced {
    let object = object("CAPTControlPlane", spec, status);
    Referenced::Found(Box::new(
        Contracted::read(&object, Role::ControlPlane).expect("readable"),
    ))
}

/// A Cluster that is held, with infrastructure and control plane that are not ready.
fn snapshot() -> Snapshot {
    let mut cluster = Cluster::new(
        "blue",
        ClusterSpec {
            infrastructure_ref: Some(reference("CAPTCluster")),
            control_plane_ref: Some(reference("CAPTControlPlane")),
            ..ClusterSpec::default()
        },
    );
    cluster.metadata = ObjectMeta {
        name: Some("blue".to_owned()),
        namespace: Some("team".to_owned()),
        uid: Some("cluster-1".to_owned()),
        generation: Some(3),
        finalizers: Some(vec![marks::CLUSTER_FINALIZER.to_owned()]),
        ..ObjectMeta::default()
    };
    Snapshot {
        crd_obstacle: None,
        cluster,
        infrastructure: infrastructure(&json!({}), &json!({})),
        control_plane: control_plane(&json!({}), &json!({})),
        workers: Vec::new(),
    }
}

/// One that was provisioned and initialized before.
fn latched() -> Snapshot {
    let mut snapshot = snapshot();
    snapshot.cluster.status = Some(ClusterStatus {
        initialization: Some(ClusterInitialization {
            infrastructure_provisioned: Some(true),
            control_plane_initialized: Some(true),
        }),
        ..ClusterStatus::default()
    });
    snapshot
}

fn provisioned() -> Value {
    json!({
        "initialization": {"provisioned": true},
        "conditions": [{"type": "Ready", "status": "True", "reason": "VPCCreated", "message": "",
                        "lastTransitionTime": "1970-01-12T13:46:30Z"}],
    })
}

fn initialized() -> Value {
    json!({
        "initialization": {"controlPlaneInitialized": true},
        "conditions": [{"type": "Available", "status": "True", "reason": "Available", "message": "",
                        "lastTransitionTime": "1970-01-12T13:46:30Z"}],
    })
}

fn delete(snapshot: &mut Snapshot) {
    snapshot.cluster.metadata.deletion_timestamp = Some(Time(at(0)));
}

fn annotate(snapshot: &mut Snapshot, name: &str) {
    let annotations = snapshot.cluster.metadata.annotations.get_or_insert_default();
    annotations.insert(name.to_owned(), String::new());
}

fn status(snapshot: &Snapshot, decision: &Decision<ClusterStatus>) -> ClusterStatus {
    let status = decision.own.status.as_ref().or(snapshot.cluster.status.as_ref());
    status.cloned().unwrap_or_default()
}

fn condition(snapshot: &Snapshot, decision: &Decision<ClusterStatus>, type_: &str) -> Option<Condition> {
    let conditions = status(snapshot, decision).conditions.unwrap_or_default();
    find_condition(&conditions, type_).cloned()
}

/// `status/reason` of a condition.
fn verdict(snapshot: &Snapshot, decision: &Decision<ClusterStatus>, type_: &str) -> String {
    condition(snapshot, decision, type_)
        .map_or_else(String::new, |found| format!("{}/{}", found.status, found.reason))
}

/// Carries a decision out on the snapshot, as far as it concerns the Cluster itself.
fn carry_out(snapshot: &mut Snapshot, decision: &Decision<ClusterStatus>) {
    let metadata = &mut snapshot.cluster.metadata;
    let finalizers = metadata.finalizers.get_or_insert_default();
    finalizers.extend(decision.own.add_finalizers.iter().cloned());
    if let Some(endpoint) = decision.own.spec.get("controlPlaneEndpoint") {
        let endpoint = serde_json::from_value(endpoint.clone()).expect("an endpoint");
        snapshot.cluster.spec.control_plane_endpoint = Some(endpoint);
    }
    if let Some(status) = &decision.own.status {
        snapshot.cluster.status = Some(status.clone());
    }
}
