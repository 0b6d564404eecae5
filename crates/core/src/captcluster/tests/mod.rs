//! Each rule in a test that is named after it and fails without it, and each defect of the Go implementation in one that
//! shows that it is not here.

mod creating;
mod existing;
mod failing;
mod going;
mod legacy;
mod properties;
mod telling;
mod timing;
mod waiting;
mod world;

use capt_api::{
    captcluster::CAPTClusterStatus,
    conditions::find_condition,
    foreign::{cluster::ClusterEndpoint, marks as foreign_marks},
    marks,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference, Time},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use super::{
    decide,
    facts::VpcFacts,
    secrets::SecretSeen,
    snapshot::{ClusterSeen, SecretName, Snapshot, TemplateSeen},
};
use crate::{
    decision::{Decision, Desired, EventKind, Guard},
    owned::{OwnedSeen, Trouble, TroubleClass, WorkspaceGlance},
};

use world::World;

type Decided = Decision<CAPTClusterStatus>;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a valid time")
}

fn minute(minute: i64) -> Timestamp {
    at(60 * minute)
}

/// A CAPTCluster that a Cluster of another name owns, with a template, just made.
fn fresh() -> Snapshot {
    Snapshot {
        captcluster: serde_json::from_value(json!({
            "metadata": {
                "name": "net", "namespace": "team", "uid": "net-1", "generation": 1,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Secret", "name": "shim", "uid": "shim-1", "controller": true},
                    {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": "blue-1"},
                ],
            },
            "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
        }))
        .expect("a CAPTCluster"),
        cluster: Some(ClusterSeen {
            name: "blue".to_owned(),
            ..ClusterSeen::default()
        }),
        control_planes: Vec::new(),
        applies: Vec::new(),
        template: Some(TemplateSeen {
            revision: "t1".to_owned(),
            names_secret: false,
        }),
        peers: Vec::new(),
        workspace_uid: None,
        paused_by: None,
        crd_obstacle: None,
        left: None,
        workspace_secret: None,
        secrets: Vec::new(),
    }
}

/// One that is held already.
fn held() -> Snapshot {
    let mut snapshot = fresh();
    snapshot.captcluster.metadata.finalizers = Some(vec![marks::CAPTCLUSTER_FINALIZER.to_owned()]);
    snapshot
}

/// One with a VPC that exists.
fn with_existing() -> Snapshot {
    let mut snapshot = held();
    let spec = &mut snapshot.captcluster.spec;
    spec.vpc_template_ref = None;
    spec.existing_vpc_id = Some("vpc-1".to_owned());
    spec.existing_subnet_ids = Some(vec!["subnet-a".to_owned(), "subnet-b".to_owned()]);
    snapshot.template = None;
    snapshot
}

/// One whose VPC is there.
fn ready() -> World {
    let mut world = World::new(fresh());
    world.settle();
    assert!(world.status().ready);
    world
}

fn delete(snapshot: &mut Snapshot) {
    snapshot.captcluster.metadata.deletion_timestamp = Some(Time(at(0)));
}

fn annotate(snapshot: &mut Snapshot, name: &str, value: &str) {
    let annotations = snapshot.captcluster.metadata.annotations.get_or_insert_default();
    annotations.insert(name.to_owned(), value.to_owned());
}

fn status(snapshot: &Snapshot, decision: &Decided) -> CAPTClusterStatus {
    let status = decision
        .own
        .status
        .as_ref()
        .or(snapshot.captcluster.status.as_ref());
    status.cloned().unwrap_or_default()
}

fn condition(snapshot: &Snapshot, decision: &Decided, type_: &str) -> Condition {
    let conditions = status(snapshot, decision).conditions.unwrap_or_default();
    find_condition(&conditions, type_)
        .unwrap_or_else(|| panic!("{type_} is set"))
        .clone()
}

/// `status/reason` of a condition.
fn verdict(snapshot: &Snapshot, decision: &Decided, type_: &str) -> String {
    let found = condition(snapshot, decision, type_);
    format!("{}/{}", found.status, found.reason)
}

/// What a decision writes of a kind.
fn written<'a>(decision: &'a Decided, kind: &str) -> Option<&'a Desired> {
    let mut children = decision.children.iter();
    children.find(|child| child.target.kind == kind)
}

fn variables(decision: &Decided) -> Value {
    let apply = written(decision, "WorkspaceTemplateApply").expect("a WorkspaceTemplateApply is written");
    apply.fields["spec"]["variables"].clone()
}

/// A Secret that tells about a VPC.
fn secret(name: &str, vpc_id: &str) -> SecretSeen {
    SecretSeen {
        namespace: "team".to_owned(),
        name: name.to_owned(),
        uid: format!("{name}-1"),
        resource_version: "3".to_owned(),
        facts: VpcFacts {
            vpc_id: Some(vpc_id.to_owned()),
            private_subnets: Some(vec!["subnet-a".to_owned()]),
            has_config: false,
            faults: Vec::new(),
        },
        has_outputs: true,
        ..SecretSeen::default()
    }
}
