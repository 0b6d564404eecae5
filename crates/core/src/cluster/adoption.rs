//! What a Cluster refers to becomes its own: it gets an owner reference and the label that everything of a Cluster has.

use capt_api::foreign::marks;
use serde_json::json;

use super::{contract::Contracted, snapshot::Snapshot};
use crate::{
    decision::{Desired, Guard, Strip},
    metadata,
};

/// The version that owner references name.
const API_VERSION: &str = "cluster.x-k8s.io/v1beta2";

/// Another Cluster that the object belongs to. Two Clusters must not share what either may delete.
pub(super) fn other_owner<'a>(snapshot: &Snapshot, object: &'a Contracted) -> Option<&'a str> {
    let owner = metadata::cluster_owner(&object.owners)?;
    // A Cluster that was moved or made again is still the same.
    (Some(owner.name.as_str()) != snapshot.cluster.metadata.name.as_deref()).then_some(owner.name.as_str())
}

/// What has to be written on the object, if anything has.
pub(super) fn adopt(snapshot: &Snapshot, object: &Contracted) -> Option<Desired> {
    let name = snapshot.cluster.metadata.name.as_deref()?;
    let uid = snapshot.cluster.metadata.uid.as_deref()?;
    let is_controller = has_topology(snapshot);
    let is_owned = object.owners.iter().any(|owner| {
        owner.uid == uid
            && owner.name == name
            && owner.kind == "Cluster"
            && owner.api_version == API_VERSION
            && (!is_controller || owner.controller == Some(true))
    });
    let is_labelled = object.labels.get(marks::CLUSTER_NAME).map(String::as_str) == Some(name);
    if is_owned && is_labelled {
        return None;
    }
    let mut owner = json!({"apiVersion": API_VERSION, "kind": "Cluster", "name": name, "uid": uid});
    if is_controller {
        owner["controller"] = json!(true);
    }
    Some(Desired {
        target: object.target.clone(),
        guard: Guard::Uid(object.uid.clone()),
        fields: json!({"metadata": {
            "labels": {marks::CLUSTER_NAME: name},
            "ownerReferences": [owner],
        }}),
        strip: Strip::default(),
        rendered_from: None,
        loss: None,
        is_beside: false,
    })
}

/// Whether the Cluster is made from a ClusterClass.
pub(super) fn has_topology(snapshot: &Snapshot) -> bool {
    snapshot.cluster.spec.rest.contains_key("topology")
}
