//! What of a CAPTCluster's spec cannot be done.
//!
//! The API refuses most of it; what it let pass before it knew better, or what was changed by deleting and making an
//! object again, is found here.

use capt_api::{captcluster::CAPTClusterSpec, conditions::captcluster::CAPTClusterReason as Reason};

use super::{deciding::Deciding, secrets, variables};
use crate::{owned::Found, wta::owner};

/// Why nothing can be done, and what to do about it.
pub(super) fn problem(deciding: &Deciding<'_>) -> Option<(Reason, String)> {
    let spec = &deciding.snapshot.captcluster.spec;
    let message = contradiction(spec)
        .or_else(|| illegible(spec))
        .or_else(|| changed(deciding));
    if let Some(message) = message {
        return Some((Reason::InvalidVpcConfig, message));
    }
    if let Found::NotOurs { seen, owner } = &deciding.found {
        let message = format!(
            "spec.workspaceTemplateApplyName names {}, which belongs to {}. Name another one, or remove the field",
            seen.name(),
            owner::in_words(owner)
        );
        return Some((Reason::WorkspaceNotOurs, message));
    }
    if let Found::OtherRole { seen, role } = &deciding.found {
        let message = format!(
            "spec.workspaceTemplateApplyName names {}, which is for something else: {role}. Name another one, or remove \
             the field",
            seen.name()
        );
        return Some((Reason::WorkspaceNotOurs, message));
    }
    None
}

fn contradiction(spec: &CAPTClusterSpec) -> Option<String> {
    let config = spec.vpc_config.clone().unwrap_or_default();
    let has_template = spec.vpc_template_ref.is_some();
    let problem = match (&spec.vpc_template_ref, &spec.existing_vpc_id) {
        (Some(_), Some(_)) => "spec.vpcTemplateRef and spec.existingVpcId are both set. Remove one of them",
        (None, None) => "Neither spec.vpcTemplateRef nor spec.existingVpcId is set. Set one of them",
        _ if !has_template && spec.retain_vpc_on_delete == Some(true) => {
            "spec.retainVpcOnDelete is set, and a VPC that exists already is always kept. Remove it"
        }
        _ if has_template && spec.existing_subnet_ids.is_some() => {
            "spec.existingSubnetIds is set without spec.existingVpcId. Remove it"
        }
        _ if !has_template && (config.cidr.is_some() || config.availability_zones.is_some()) => {
            "spec.vpcConfig has a cidr or availabilityZones, and the VPC exists already. Remove them"
        }
        _ => return None,
    };
    Some(problem.to_owned())
}

fn illegible(spec: &CAPTClusterSpec) -> Option<String> {
    let region = spec.region.as_str();
    if !is_region(region) {
        return Some(format!(
            "spec.region is {region:?}, which is no AWS region. Write one such as eu-central-1"
        ));
    }
    if let Some(id) = spec.existing_vpc_id.as_deref().filter(|id| !is_id(id, "vpc-")) {
        return Some(format!(
            "spec.existingVpcId is {id:?}, which is no id of a VPC. Write one such as vpc-0a1b2c3d"
        ));
    }
    let mut subnets = spec.existing_subnet_ids.iter().flatten();
    if let Some(id) = subnets.find(|id| !is_id(id, "subnet-")) {
        return Some(format!(
            "spec.existingSubnetIds has {id:?}, which is no id of a subnet. Write ones such as subnet-0a1b2c3d"
        ));
    }
    let config = spec.vpc_config.as_ref();
    let mut zones = config
        .into_iter()
        .flat_map(|config| config.availability_zones.iter().flatten());
    let zone = zones.find(|zone| !zone.starts_with(region))?;
    Some(format!(
        "spec.vpcConfig.availabilityZones has {zone}, which is not in {region}. Write zones of that region"
    ))
}

const NAME: &str = "spec.vpcConfig.name";

/// What may not be changed, because infrastructure was made of it.
fn changed(deciding: &Deciding<'_>) -> Option<String> {
    let snapshot = deciding.snapshot;
    let spec = &snapshot.captcluster.spec;
    let apply = deciding.found.usable().filter(|apply| apply.has_workspace());
    if spec.existing_vpc_id.is_some() {
        if let (Found::Ours(_), Some(apply)) = (&deciding.found, apply) {
            return Some(format!(
                "The VPC was made by the WorkspaceTemplateApply {}, and spec.existingVpcId names one that exists. Bring \
                 back spec.vpcTemplateRef, or make another CAPTCluster",
                apply.name()
            ));
        }
        // Admission keeps the id as it is, so that a Secret which tells another one was written to.
        return None;
    }
    if let Some(told) = secrets::own(snapshot, &deciding.owner).find_map(|secret| secret.facts.vpc_id.clone())
    {
        return Some(format!(
            "The VPC is {told}, which existed before. Bring back spec.existingVpcId, or make another CAPTCluster"
        ));
    }
    let name = spec.vpc_config.as_ref().and_then(|config| config.name.as_deref());
    for (field, variable, wanted) in [
        ("spec.region", variables::REGION, Some(spec.region.as_str())),
        (NAME, variables::VPC_NAME, name),
    ] {
        let made_with = variables::present(apply, variable);
        if let (Some(made_with), Some(wanted)) = (made_with, wanted)
            && made_with != wanted
        {
            return Some(format!(
                "{field} was {made_with} when the VPC was made and cannot be {wanted}. Bring it back{}, or make another \
                 CAPTCluster",
                if field == NAME { " or take it out" } else { "" }
            ));
        }
    }
    None
}

/// Two to four letters, one to three words, and a number: `eu-central-1`, `us-gov-west-1`.
fn is_region(region: &str) -> bool {
    let parts: Vec<&str> = region.split('-').collect();
    let [first, words @ .., number] = parts.as_slice() else {
        return false;
    };
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word(first)
        && (2..=4).contains(&first.len())
        && (1..=3).contains(&words.len())
        && words.iter().all(|word| is_word(word))
        && (1..=2).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_id(id: &str, prefix: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|rest| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_of_all_partitions_are_known_by_their_form() {
        for (region, expected) in [
            ("eu-central-1", true),
            ("us-gov-west-1", true),
            ("us-iso-east-1", true),
            ("us-isob-east-1", true),
            ("ap-southeast-12", true),
            ("eu-central-1a", false),
            ("eu-central", false),
            ("eu", false),
            ("", false),
            ("EU-central-1", false),
            ("eu--1", false),
            ("e-central-1", false),
            ("eu-a-b-c-d-1", false),
        ] {
            assert_eq!(is_region(region), expected, "{region}");
        }
    }

    #[test]
    fn ids_are_known_by_their_form() {
        for (id, expected) in [
            ("vpc-0a1b", true),
            ("vpc-", false),
            ("vpc-0A", false),
            ("0a1b", false),
            ("vpc-\"", false),
        ] {
            assert_eq!(is_id(id, "vpc-"), expected, "{id}");
        }
    }
}
