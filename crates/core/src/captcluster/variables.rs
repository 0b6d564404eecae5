//! What the module of a network is given.
//!
//! What names infrastructure is decided once and kept, so that neither a renamed object nor one that was taken over
//! from the Go implementation replaces anything.

use std::collections::BTreeMap;

use capt_api::CAPTCluster;

use crate::{
    owned::{Field, OwnedSeen},
    values,
};

/// Name of the cluster.
pub(super) const CLUSTER_NAME: &str = "cluster_name";
/// Name of the VPC.
pub(super) const VPC_NAME: &str = "vpc_name";
/// AWS region.
pub(super) const REGION: &str = "region";
/// Its block of addresses.
const VPC_CIDR: &str = "vpc_cidr";
/// Where its subnets are.
const AVAILABILITY_ZONES: &str = "availability_zones";
/// Tags of everything.
const TAGS: &str = "tags";
/// What the Go implementation calls every cluster.
const ENVIRONMENT: (&str, &str) = ("environment", "production");

/// Which fields they come from, of those that can be changed.
pub(super) const FIELDS: [Field; 3] = [
    (VPC_CIDR, "spec.vpcConfig.cidr"),
    (AVAILABILITY_ZONES, "spec.vpcConfig.availabilityZones"),
    (TAGS, "spec.additionalTags"),
];

/// Values of the module's variables. What the spec leaves open is left out, so that the template decides.
pub(super) fn variables(
    captcluster: &CAPTCluster,
    cluster: &str,
    apply: Option<&OwnedSeen>,
) -> BTreeMap<String, String> {
    let spec = &captcluster.spec;
    let config = spec.vpc_config.clone().unwrap_or_default();
    let present = |name: &str| present(apply, name).map(str::to_owned);
    let name = captcluster.metadata.name.as_deref().unwrap_or_default();
    let vpc_name = config.name.or_else(|| present(VPC_NAME));
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: String| {
        variables.insert(name.to_owned(), value);
    };
    set(
        CLUSTER_NAME,
        present(CLUSTER_NAME).unwrap_or_else(|| cluster.to_owned()),
    );
    set(REGION, spec.region.to_string());
    set(VPC_NAME, vpc_name.unwrap_or_else(|| format!("{name}-vpc")));
    if let Some(cidr) = config.cidr {
        set(VPC_CIDR, cidr);
    }
    if let Some(zones) = config.availability_zones {
        set(AVAILABILITY_ZONES, values::json(zones));
    }
    if let Some(tags) = spec.additional_tags.as_ref().filter(|tags| !tags.is_empty()) {
        set(TAGS, values::json(tags));
        for (key, value) in tags {
            set(&format!("tags_{key}"), value.clone());
        }
    }
    let (environment, default) = ENVIRONMENT;
    set(
        environment,
        present(environment).unwrap_or_else(|| default.to_owned()),
    );
    variables
}

/// The value that a variable has now.
pub(super) fn present<'a>(apply: Option<&'a OwnedSeen>, name: &str) -> Option<&'a str> {
    let variables = apply?.wta.spec.variables.as_ref()?;
    variables.get(name).map(String::as_str)
}
