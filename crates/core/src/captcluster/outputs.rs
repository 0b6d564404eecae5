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
/// Only a Secret that has every output says that one is not there: what is sensitive stands nowhere else, and one that is
/// late, lost or emptied is written again. One that our runner wrote has all that there are, be that none. What was told once,
/// the module has.
pub(super) fn lacking(
    snapshot: &Snapshot,
    apply: &OwnedSeen,
    outputs: &BTreeMap<String, Value>,
    was_told: bool,
) -> Option<OutputProblem> {
    let is_written = apply
        .run
        .as_ref()
        .is_some_and(|run| !run.is_running && run.worked_since.is_some());
    let has_none = is_written && outputs.is_empty();
    let secret =
        secrets::expected(snapshot, apply).filter(|secret| (secret.has_outputs || has_none) && !was_told)?;
    let id = owned::text(outputs, VPC_ID).err();
    let subnets = owned::list_of_texts(outputs, PRIVATE_SUBNETS).err();
    id.filter(|_| secret.facts.vpc_id.is_none())
        .into_iter()
        .chain(subnets.filter(|_| secret.facts.private_subnets.is_none()))
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
