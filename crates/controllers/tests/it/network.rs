//! Hands for what a user does with Clusters and their networks, and a control plane of somebody else's kind.

use capt_api::{CAPTCluster, conditions::find_condition, foreign::Cluster};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::stage::User;

/// A Cluster with a CAPTCluster of the same name.
pub(crate) fn cluster(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CAPTCluster", "name": name,
        }},
    })
}

/// The same, with a control plane of somebody else's kind.
pub(crate) fn cluster_with_control_plane(name: &str) -> Value {
    let mut cluster = cluster(name);
    cluster["spec"]["controlPlaneRef"] = json!({
        "apiGroup": "controlplane.example.org", "kind": "OtherControlPlane", "name": name,
    });
    cluster
}

/// A network that is made from the template `net`.
pub(crate) fn made_network(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "net"}},
    })
}

/// A network that exists.
pub(crate) fn existing_network(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "region": "eu-central-1",
            "existingVpcId": "vpc-0a1b2c",
            "existingSubnetIds": ["subnet-1", "subnet-2"],
        },
    })
}

/// A kind of control planes that nobody here knows, by the contract.
pub(crate) fn other_control_plane() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {
            "name": "othercontrolplanes.controlplane.example.org",
            "labels": {"cluster.x-k8s.io/v1beta2": "v1alpha1_v1beta1"},
        },
        "spec": {
            "group": "controlplane.example.org",
            "names": {"kind": "OtherControlPlane", "plural": "othercontrolplanes",
                      "singular": "othercontrolplane", "listKind": "OtherControlPlaneList"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }))
    .unwrap()
}

/// What a user does with Clusters and their networks.
pub(crate) trait NetworkUser: User {
    fn control_planes(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("controlplane.example.org", "v1beta1", "OtherControlPlane");
        Api::namespaced_with(self.world().client(), self.home(), &ApiResource::from_gvk(&kind))
    }

    async fn make_control_plane(&self, name: &str) {
        let object = json!({
            "apiVersion": "controlplane.example.org/v1beta1", "kind": "OtherControlPlane",
            "metadata": {"name": name, "finalizers": ["example.org/held"]},
            "spec": {},
        });
        let object = serde_json::from_value(object).unwrap();
        self.control_planes()
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    async fn patch_control_plane(&self, name: &str, patch: Value) {
        let api = self.control_planes();
        let parameters = PatchParams::default();
        api.patch(name, &parameters, &Patch::Merge(&patch)).await.unwrap();
        if patch.get("status").is_some() {
            api.patch_status(name, &parameters, &Patch::Merge(&patch))
                .await
                .unwrap();
        }
    }

    async fn network(&self, name: &str) -> Option<CAPTCluster> {
        self.api().get_opt(name).await.unwrap()
    }

    async fn cluster(&self, name: &str) -> Option<Cluster> {
        self.api().get_opt(name).await.unwrap()
    }

    async fn delete_network(&self, name: &str) {
        let api: Api<CAPTCluster> = self.api();
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    async fn delete_cluster(&self, name: &str) {
        let api: Api<Cluster> = self.api();
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    async fn pause(&self, name: &str, paused: bool) {
        let _: Cluster = self.patch(name, json!({"spec": {"paused": paused}})).await;
    }

    /// Status and reason of a condition of a CAPTCluster, as `True/VPCCreated`.
    async fn network_says(&self, name: &str, type_: &str) -> String {
        let status = self.network(name).await.and_then(|network| network.status);
        said(status.and_then(|status| status.conditions), type_)
    }

    async fn until_network_says(&self, name: &str, type_: &str, what: &str) {
        let wait = format!("the network {name}: {type_}={what}");
        self.world()
            .until(&wait, async || self.network_says(name, type_).await == what)
            .await;
    }

    /// Status and reason of a condition of a Cluster.
    async fn cluster_says(&self, name: &str, type_: &str) -> String {
        let status = self.cluster(name).await.and_then(|cluster| cluster.status);
        said(status.and_then(|status| status.conditions), type_)
    }

    async fn until_cluster_says(&self, name: &str, type_: &str, what: &str) {
        let wait = format!("the Cluster {name}: {type_}={what}");
        self.world()
            .until(&wait, async || self.cluster_says(name, type_).await == what)
            .await;
    }

    async fn until_network_is_gone(&self, name: &str) {
        self.world()
            .until(&format!("the network {name} to be gone"), async || {
                self.network(name).await.is_none()
            })
            .await;
    }

    async fn until_cluster_is_gone(&self, name: &str) {
        self.world()
            .until(&format!("the Cluster {name} to be gone"), async || {
                self.cluster(name).await.is_none()
            })
            .await;
    }
}

impl<T: User> NetworkUser for T {}

fn said(conditions: Option<Vec<Condition>>, type_: &str) -> String {
    let conditions = conditions.unwrap_or_default();
    find_condition(&conditions, type_).map_or_else(String::new, |condition| {
        format!("{}/{}", condition.status, condition.reason)
    })
}
