//! Each rule in a test that is named after it and fails without it, and what must hold for all of them together.

mod adopting;
mod ahead;
mod answering;
mod approving;
mod bad_input;
mod ending;
mod fargate;
mod life;
mod networks;
mod pausing;
mod properties;
mod time;
mod together;
mod tokens;
mod updates;
mod world;

use std::collections::BTreeMap;

use capt_api::{
    CAPTControlPlane,
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State},
    conditions::find_condition,
    region::Region,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
    jiff::Timestamp,
};
use serde_json::json;

use super::{
    Snapshot,
    progress::Statistics,
    snapshot::{ClusterSeen, Hidden, InfrastructureSeen, SecretSeen},
};
use crate::wta::snapshot::TemplateSeen;

use world::World;

const CA: &str = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a valid time")
}

/// A control plane that was just made and that a Cluster owns, whose infrastructure is ready.
fn fresh() -> Snapshot {
    let spec = json!({
        "version": "1.31",
        "workspaceTemplateRef": {"name": "eks"},
    });
    let mut control_plane = CAPTControlPlane::new("blue", serde_json::from_value(spec).expect("a spec"));
    control_plane.metadata = ObjectMeta {
        name: Some("blue".to_owned()),
        namespace: Some("team".to_owned()),
        uid: Some("cp-1".to_owned()),
        generation: Some(1),
        owner_references: Some(vec![OwnerReference {
            api_version: "cluster.x-k8s.io/v1beta2".to_owned(),
            kind: "Cluster".to_owned(),
            name: "blue".to_owned(),
            uid: "cluster-1".to_owned(),
            ..OwnerReference::default()
        }]),
        ..ObjectMeta::default()
    };
    Snapshot {
        control_plane,
        cluster: Some(ClusterSeen {
            name: "blue".to_owned(),
            control_plane_ref: Some("blue".to_owned()),
            infrastructure_ref: Some(("CAPTCluster".to_owned(), "blue".to_owned())),
            infrastructure_provisioned: true,
            ..ClusterSeen::default()
        }),
        infrastructure: Some(InfrastructureSeen {
            name: "blue".to_owned(),
            region: Some(Region::from("eu-central-1")),
            vpc_workspace_name: Some("blue-vpc".to_owned()),
            provisioned: true,
            ready: true,
            ready_since: Some(at(0)),
            ..InfrastructureSeen::default()
        }),
        template: Some(TemplateSeen {
            namespace: "team".to_owned(),
            revision: "t1".to_owned(),
            ..TemplateSeen::default()
        }),
        peers: Vec::new(),
        profiles: BTreeMap::new(),
        applies: Vec::new(),
        rivals: Vec::new(),
        vpc_secret: Some(SecretSeen {
            name: "blue-vpc-connection".to_owned(),
            data: [
                ("vpc_id".to_owned(), Hidden::new("vpc-1")),
                ("private_subnets".to_owned(), Hidden::new("[\"subnet-a\"]")),
            ]
            .into(),
            ..SecretSeen::default()
        }),
        refused_vpc_secret: None,
        connection: None,
        left_secret: None,
        paused_by: None,
        crd_obstacle: None,
        left: Vec::new(),
        kubeconfig: None,
        user_kubeconfig: None,
        ca: None,
        probe: None,
        token: None,
        token_trouble: None,
        statistics: Statistics::default(),
    }
}

/// One that is ready.
fn living() -> World {
    let mut world = World::new(fresh());
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready), "{:#?}", world.status());
    world
}

/// `status/reason` of a condition.
fn said(status: &CAPTControlPlaneStatus, type_: &str) -> String {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    find_condition(conditions, type_).map_or_else(String::new, |condition| {
        format!("{}/{}", condition.status, condition.reason)
    })
}

/// The message of a condition.
fn message(status: &CAPTControlPlaneStatus, type_: &str) -> String {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    find_condition(conditions, type_).map_or_else(String::new, |condition| condition.message.clone())
}
