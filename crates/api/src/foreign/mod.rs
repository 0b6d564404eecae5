//! Lean views of other people's kinds: only what we read or write, and whatever else an object carries survives.
//!
//! Their CRDs, generated from these views, stand in where the originals are not installed; unknown fields are kept,
//! so that an object written for the original is stored whole.

pub mod cluster;
pub mod forprovider;
pub mod marks;
pub mod providerconfig;
pub mod workspace;

pub use cluster::Cluster;
pub use providerconfig::{
    ClusterProviderConfig, LegacyProviderConfig, LegacyProviderConfigUsage, ProviderConfig,
    ProviderConfigUsage,
};
pub use workspace::{ClusterWorkspace, Workspace};

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use serde_json::Value;

use crate::schema;

/// Fields of a foreign object that we neither read nor write, kept as they are.
pub type Rest = BTreeMap<String, Value>;

/// CRDs of the foreign kinds, for use where the originals are not installed.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        schema::finish_foreign_contract(Cluster::crd()),
        schema::finish_foreign(Workspace::crd()),
        schema::finish_foreign(ProviderConfig::crd()),
        schema::finish_foreign(ClusterProviderConfig::crd()),
        schema::finish_foreign(ProviderConfigUsage::crd()),
        schema::finish_foreign(ClusterWorkspace::crd()),
        schema::finish_foreign(LegacyProviderConfig::crd()),
        schema::finish_foreign(LegacyProviderConfigUsage::crd()),
    ]
}
