//! What the module of a network tells by its outputs, and what it does not.

use std::collections::BTreeMap;

use capt_api::captcluster::FailureDomain;
use serde_json::Value;

use super::{
    facts::{PRIVATE_SUBNETS, VPC_ID},
    secrets,
    snapshot::Snapshot,
};
use crate::owned::{self, OutputProblem, OwnedSeen};

/// How many zones a Cluster may have.
const MAX_ZONES: usize = 100;

/// The output that the module of a network that is there does not have, and without which no control plane can be made.
///
/// Outputs and Secret arrive after the Workspace says that it is ready, so that nothing is the module's fault before any of
/// them did. A Secret that was there and is lost may be the only one to tell what is sensitive, and comes back.
pub(super) fn lacking(
    snapshot: &Snapshot,
    apply: &OwnedSeen,
    outputs: &BTreeMap<String, Value>,
    was_provisioned: bool,
) -> Option<OutputProblem> {
    let told = secrets::expected(snapshot, apply).map(|secret| &secret.facts);
    let is_id_untold = match told {
        Some(facts) => facts.vpc_id.is_none(),
        None => !was_provisioned && outputs.values().any(|value| !value.is_null()),
    };
    let are_subnets_untold = told.is_some_and(|facts| facts.private_subnets.is_none() && !facts.has_config);
    let id = owned::text(outputs, VPC_ID).err();
    let subnets = owned::list_of_texts(outputs, PRIVATE_SUBNETS).err();
    id.filter(|_| is_id_untold)
        .into_iter()
        .chain(subnets.filter(|_| are_subnets_untold))
        .find(|problem| matches!(problem, OutputProblem::Missing { .. }))
}

/// Zones in the form of the contract.
pub(super) fn failure_domains(zones: &[String]) -> Option<Vec<FailureDomain>> {
    let mut names: Vec<&String> = zones.iter().filter(|zone| !zone.is_empty()).collect();
    names.sort();
    names.dedup();
    names.truncate(MAX_ZONES);
    let domains = names.into_iter().map(|name| FailureDomain {
        name: name.clone(),
        control_plane: None,
        attributes: None,
    });
    let domains: Vec<FailureDomain> = domains.collect();
    (!domains.is_empty()).then_some(domains)
}
