//! Objects of any kind, read by the contract v1beta2 of Cluster API.
//!
//! What is missing or of the wrong type is read as not being there: no object can make a decision fail.

use std::collections::BTreeMap;

use capt_api::{
    CAPTCluster, CAPTControlPlane, CONTROL_PLANE_GROUP, INFRASTRUCTURE_GROUP, VERSION,
    captcluster::FailureDomain,
    conditions::Word as _,
    conditions::cluster::ClusterReason,
    endpoint::ApiEndpoint,
    foreign::{cluster::ClusterEndpoint, marks as foreign_marks},
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, OwnerReference, Time},
    jiff::Timestamp,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{captcluster::is_externally_managed, controlplane::endpoint, decision::Target};

/// Our kind of infrastructure.
const NETWORK: &str = "CAPTCluster";
/// Our kind of control plane.
const CONTROL_PLANE: &str = "CAPTControlPlane";

/// What an object is to a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `spec.infrastructureRef` names it.
    Infrastructure,
    /// `spec.controlPlaneRef` names it.
    ControlPlane,
}

impl Role {
    /// The kind of ours that something is, if it is named as something that it cannot be, and the kind that can.
    pub(super) fn misfit(self, kind: &str, group: &str) -> Option<(&'static str, &'static str)> {
        match (self, kind, group) {
            (Self::ControlPlane, NETWORK, INFRASTRUCTURE_GROUP) => Some((NETWORK, CONTROL_PLANE)),
            (Self::Infrastructure, CONTROL_PLANE, CONTROL_PLANE_GROUP) => Some((CONTROL_PLANE, NETWORK)),
            _ => None,
        }
    }
}

/// An object that implements a contract, as far as a Cluster reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contracted {
    /// Which object.
    pub target: Target,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// It is going away.
    pub deleting: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its owners.
    pub owners: Vec<OwnerReference>,
    /// Somebody else than its provider manages it: it has `cluster.x-k8s.io/managed-by`.
    pub is_externally_managed: bool,
    /// `spec.controlPlaneEndpoint`, if host and port are there.
    pub endpoint: Option<ClusterEndpoint>,
    /// `status.initialization.provisioned` of an infrastructure, `status.initialization.controlPlaneInitialized` of a
    /// control plane.
    pub is_initialized: bool,
    /// `status.failureDomains`.
    pub failure_domains: Vec<FailureDomain>,
    /// `status.conditions`.
    pub conditions: Vec<Condition>,
}

impl Contracted {
    /// Reads an object. None if it has no name, no kind or no uid.
    #[must_use]
    pub fn read(object: &Value, role: Role) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let status = object.get("status").unwrap_or(&Value::Null);
        let flag = match role {
            Role::Infrastructure => "provisioned",
            Role::ControlPlane => "controlPlaneInitialized",
        };
        let conditions = status
            .pointer("/v1beta2/conditions")
            .or_else(|| status.get("conditions"));
        Some(Self {
            target: Target {
                api_version: text(object, "apiVersion")?,
                kind: text(object, "kind")?,
                namespace: text(metadata, "namespace"),
                name: text(metadata, "name")?,
            },
            uid: text(metadata, "uid")?,
            resource_version: text(metadata, "resourceVersion").unwrap_or_default(),
            deleting: metadata
                .get("deletionTimestamp")
                .is_some_and(|time| !time.is_null()),
            labels: parsed(metadata.get("labels")).unwrap_or_default(),
            owners: items(metadata.get("ownerReferences"))
                .filter_map(parse)
                .filter(|owner: &OwnerReference| !owner.uid.is_empty())
                .collect(),
            is_externally_managed: is_externally_managed(&ObjectMeta {
                labels: parsed(metadata.get("labels")),
                annotations: parsed(metadata.get("annotations")),
                ..ObjectMeta::default()
            }),
            endpoint: parsed::<ClusterEndpoint>(object.pointer("/spec/controlPlaneEndpoint"))
                .filter(is_valid_endpoint)
                .map(|endpoint| as_meant(&endpoint)),
            is_initialized: status.get("initialization").and_then(|flags| flags.get(flag))
                == Some(&Value::Bool(true)),
            failure_domains: items(status.get("failureDomains")).filter_map(parse).collect(),
            conditions: items(conditions).filter_map(condition).collect(),
        })
    }

    /// A network of ours, as [`Contracted::read`] would read it. None if it has no name or no uid.
    #[must_use]
    pub fn network(object: &CAPTCluster, role: Role) -> Option<Self> {
        let endpoint = object.spec.control_plane_endpoint.as_ref();
        let read = Self::ours(INFRASTRUCTURE_GROUP, NETWORK, &object.metadata, endpoint)?;
        let Some(status) = &object.status else {
            return Some(read);
        };
        let flags = status.initialization.as_ref();
        Some(Self {
            is_initialized: role == Role::Infrastructure
                && flags.and_then(|flags| flags.provisioned) == Some(true),
            failure_domains: status.failure_domains.clone().unwrap_or_default(),
            conditions: with_reasons(status.conditions.as_deref()),
            ..read
        })
    }

    /// A control plane of ours, as [`Contracted::read`] would read it. None if it has no name or no uid.
    #[must_use]
    pub fn control_plane(object: &CAPTControlPlane, role: Role) -> Option<Self> {
        let endpoint = object.spec.control_plane_endpoint.as_ref();
        let read = Self::ours(CONTROL_PLANE_GROUP, CONTROL_PLANE, &object.metadata, endpoint)?;
        let Some(status) = &object.status else {
            return Some(read);
        };
        let flags = status.initialization.as_ref();
        Some(Self {
            is_initialized: role == Role::ControlPlane
                && flags.and_then(|flags| flags.control_plane_initialized) == Some(true),
            conditions: with_reasons(status.conditions.as_deref()),
            ..read
        })
    }

    /// What an object of a kind of ours says besides its status.
    fn ours(group: &str, kind: &str, metadata: &ObjectMeta, endpoint: Option<&ApiEndpoint>) -> Option<Self> {
        let owners = metadata.owner_references.iter().flatten();
        let endpoint = endpoint.map(|endpoint| ClusterEndpoint {
            host: Some(endpoint.host.clone()),
            port: Some(endpoint.port),
        });
        Some(Self {
            target: Target {
                api_version: format!("{group}/{VERSION}"),
                kind: kind.to_owned(),
                namespace: metadata.namespace.clone(),
                name: metadata.name.clone()?,
            },
            uid: metadata.uid.clone()?,
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.clone().unwrap_or_default(),
            owners: owners.filter(|owner| !owner.uid.is_empty()).cloned().collect(),
            is_externally_managed: is_externally_managed(metadata),
            endpoint: endpoint
                .filter(is_valid_endpoint)
                .map(|endpoint| as_meant(&endpoint)),
            is_initialized: false,
            failure_domains: Vec::new(),
            conditions: Vec::new(),
        })
    }

    /// What is wrong with its being named as something, if it cannot be that.
    pub(super) fn misfit(&self, role: Role) -> Option<(&'static str, &'static str)> {
        let (group, _) = self.target.api_version.split_once('/')?;
        role.misfit(&self.target.kind, group)
    }

    /// Whether it is of our kinds, which tell people of themselves.
    pub(super) fn is_ours(&self) -> bool {
        let (group, _) = self.target.api_version.split_once('/').unwrap_or_default();
        let kind = (self.target.kind.as_str(), group);
        kind == (NETWORK, INFRASTRUCTURE_GROUP) || kind == (CONTROL_PLANE, CONTROL_PLANE_GROUP)
    }

    /// Why nothing comes of waiting for it, if it says so.
    pub(super) fn standstill(&self, role: Role) -> Option<String> {
        if self.is_externally_managed && role == Role::Infrastructure {
            return Some(format!(
                "somebody else manages it ({}) and has to set that",
                foreign_marks::MANAGED_BY
            ));
        }
        self.paused()
    }

    /// That it is paused, if it says so.
    pub(super) fn paused(&self) -> Option<String> {
        let paused = self
            .condition("Paused")
            .filter(|paused| paused.status == "True")?;
        Some(match paused.message.as_str() {
            "" => "it is paused".to_owned(),
            why => format!("it is paused: {why}"),
        })
    }

    /// Its condition of a type.
    pub(super) fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }
}

/// An endpoint as it was meant: the Go implementation wrote a URL as the host.
pub(super) fn as_meant(endpoint: &ClusterEndpoint) -> ClusterEndpoint {
    let written = ApiEndpoint {
        host: endpoint.host.clone().unwrap_or_default(),
        port: endpoint.port.unwrap_or_default(),
    };
    match endpoint::stored(&written) {
        Some(meant) => ClusterEndpoint {
            host: Some(meant.host),
            port: Some(meant.port),
        },
        None => endpoint.clone(),
    }
}

/// Whether an endpoint has what it takes to be one.
pub(super) fn is_valid_endpoint(endpoint: &ClusterEndpoint) -> bool {
    endpoint.host.as_deref().is_some_and(|host| !host.is_empty())
        && endpoint.port.is_some_and(|port| port > 0)
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn parse<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn parsed<T: DeserializeOwned>(value: Option<&Value>) -> Option<T> {
    parse(value?)
}

/// Conditions of our own, each with a reason.
fn with_reasons(conditions: Option<&[Condition]>) -> Vec<Condition> {
    let mut conditions = conditions.unwrap_or_default().to_vec();
    for condition in &mut conditions {
        if condition.reason.is_empty() {
            condition.reason = ClusterReason::NoReasonReported.as_str().to_owned();
        }
    }
    conditions
}

/// Reads a condition of which the contract demands no more than type and status.
fn condition(value: &Value) -> Option<Condition> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let time = text("lastTransitionTime").and_then(|text| text.parse().ok());
    Some(Condition {
        type_: text("type")?.to_owned(),
        status: text("status")?.to_owned(),
        reason: text("reason")
            .filter(|reason| !reason.is_empty())
            .unwrap_or(ClusterReason::NoReasonReported.as_str())
            .to_owned(),
        message: text("message").unwrap_or_default().to_owned(),
        last_transition_time: Time(time.unwrap_or(Timestamp::UNIX_EPOCH)),
        observed_generation: value.get("observedGeneration").and_then(Value::as_i64),
    })
}
