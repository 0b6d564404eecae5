//! The WorkspaceTemplateApply of a profile: what it is told.

use std::collections::BTreeMap;

use capt_api::{
    captcontrolplane::{AdditionalFargateProfile, CAPTControlPlaneSpec},
    marks,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    Part,
    ground::{Ground, Lack},
    reading::{self, Reading},
};
use crate::{
    controlplane::deciding::Deciding,
    names,
    owned::{self, Found, OwnedSeen, Role, Standing, Wanted, standing},
};

/// Makes a profile what it should be.
pub(super) fn make<'a>(
    deciding: &mut Deciding<'a>,
    profile: &AdditionalFargateProfile,
    ground: &Result<Ground, Lack>,
) -> Part<'a> {
    let snapshot = deciding.snapshot;
    let role = Role::FargateProfile(profile.name.clone());
    let new_name = names::fargate_apply(deciding.owner.name, &profile.name);
    let found = owned::find(&deciding.owner, &role, None, &new_name, &[], &snapshot.applies);
    let seen = found.usable();
    let mut part = Part {
        name: profile.name.clone(),
        apply: found.name().to_owned(),
        seen,
        reading: Reading::default(),
        selectors: Some(hash(profile)),
        before: before(deciding, profile),
    };
    part.reading = match (ground, seen) {
        (Err(lack), None) => reading::waiting(lack),
        (Ok(ground), None) if !ground.is_up => reading::waiting(&Lack::Cluster),
        (
            Ok(Ground {
                private_subnets: Err(lack),
                ..
            }),
            None,
        ) if profile.subnet_ids.is_none() => reading::waiting(lack),
        (Ok(ground), _) => {
            let is_written = write(deciding, profile, &found, ground);
            reading::read(seen, is_written)
        }
        // What exists stays as it is while nothing is known that it could be changed by.
        (Err(_), Some(_)) => reading::read(seen, false),
    };
    part
}

/// Writes what has to be written, and says whether that leads to another rendering.
fn write(
    deciding: &mut Deciding<'_>,
    profile: &AdditionalFargateProfile,
    found: &Found<'_>,
    ground: &Ground,
) -> bool {
    let snapshot = deciding.snapshot;
    let seen = found.usable();
    if seen.is_some_and(OwnedSeen::is_deleting) {
        return false;
    }
    let known = snapshot.profiles.get(&profile.name);
    let template = known.and_then(|known| known.template.as_ref());
    let released = owned::release(
        seen,
        template.map(|template| template.revision.as_str()),
        known.map_or(&[], |known| &known.peers),
    );
    // Those that are well have nothing to try again.
    let is_stuck = seen.is_some_and(|seen| {
        matches!(
            standing(seen),
            Standing::Failed { .. } | Standing::Refused { .. } | Standing::Retrying { .. }
        )
    });
    let wanted = Wanted {
        name: found.name().to_owned(),
        role: Role::FargateProfile(profile.name.clone()),
        template: profile.workspace_template_ref.clone(),
        revision: released.revision,
        variables: variables(&snapshot.control_plane.spec, profile, ground, seen),
        connection_secret: None,
        wait_for_secrets: ground.secrets.clone(),
        wait_for_workspaces: Vec::new(),
        retain: false,
        retry: deciding.retry().filter(|_| is_stuck).map(str::to_owned),
    };
    let Some(change) = wanted.change(&deciding.owner, seen) else {
        return false;
    };
    let authored = seen.and_then(|seen| seen.annotation(marks::AUTHORED));
    let is_written = authored != change.rendered_from.as_deref() || wanted.retry.is_some();
    deciding.children.push(change);
    is_written
}

/// The variables of a profile's module.
fn variables(
    spec: &CAPTControlPlaneSpec,
    profile: &AdditionalFargateProfile,
    ground: &Ground,
    seen: Option<&OwnedSeen>,
) -> BTreeMap<String, String> {
    let before = seen.and_then(|seen| seen.wta.spec.variables.as_ref());
    // What exists keeps its cluster: another name would replace it.
    let cluster_name = before
        .and_then(|before| before.get("cluster_name"))
        .unwrap_or(&ground.cluster_name);
    let told = ground.private_subnets.as_ref().ok();
    let subnets = profile
        .subnet_ids
        .as_ref()
        .or(told)
        .map(|subnets| json!(subnets).to_string());
    // What was known once and is not any more changes nothing.
    let subnets = subnets.or_else(|| before?.get("private_subnets").cloned());
    let mut all = BTreeMap::from([
        ("cluster_name".to_owned(), cluster_name.clone()),
        ("profile_name".to_owned(), profile.name.clone()),
        ("selectors".to_owned(), json!(profile.selectors).to_string()),
    ]);
    if let Some(subnets) = subnets {
        all.insert("private_subnets".to_owned(), subnets);
    }
    let region = ground.region.as_ref().or_else(|| before?.get("region"));
    if let Some(region) = region {
        all.insert("region".to_owned(), region.clone());
    }
    if let Some(role) = &profile.pod_execution_role_arn {
        all.insert("pod_execution_role_arn".to_owned(), role.clone());
    }
    let mut tags = spec.additional_tags.clone().unwrap_or_default();
    tags.extend(profile.tags.clone().unwrap_or_default());
    all.insert("tags".to_owned(), json!(tags).to_string());
    all
}

/// Hash of the selectors of a profile.
fn hash(profile: &AdditionalFargateProfile) -> String {
    let digest = Sha256::digest(json!(profile.selectors).to_string());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn before(
    deciding: &Deciding<'_>,
    profile: &AdditionalFargateProfile,
) -> Option<capt_api::captcontrolplane::FargateProfileStatus> {
    let statuses = deciding
        .status
        .fargate_profile_statuses
        .as_deref()
        .unwrap_or_default();
    statuses
        .iter()
        .find(|status| status.name == profile.name)
        .cloned()
}
