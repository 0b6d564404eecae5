//! The WorkspaceTemplateApply of a profile: what it is told.

use std::collections::BTreeMap;

use capt_api::{
    captcontrolplane::{AdditionalFargateProfile, CAPTControlPlaneSpec},
    marks,
};
use sha2::{Digest as _, Sha256};

use super::{
    Part,
    ground::{Ground, Lack},
    reading::{self, Reading},
};
use crate::{
    controlplane::deciding::Deciding,
    names,
    owned::{self, Found, OwnedSeen, Role, Wanted},
    values,
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
    if let Some(seen) = seen.filter(|seen| seen.is_deleting()) {
        return make_again(deciding, profile, &role, seen);
    }
    let mut part = Part {
        name: profile.name.clone(),
        apply: found.name().to_owned(),
        seen,
        reading: Reading::default(),
        selectors: seen
            .and_then(|seen| seen.wta.spec.variables.as_ref()?.get("selectors"))
            .map(|told| selectors_hash(told)),
        before: before(deciding, profile),
    };
    let was_late = part
        .before
        .as_ref()
        .is_some_and(|before| before.failure_message.is_some());
    part.reading = match (ground, seen) {
        (Err(lack), None) => reading::waiting(lack),
        (
            Ok(Ground {
                private_subnets: Err(lack),
                ..
            }),
            None,
        ) if profile.subnet_ids.is_none() => reading::waiting(lack),
        (Ok(ground), _) => {
            let written = write(deciding, profile, &found, ground, was_late);
            if written.is_another_try
                && let Some(before) = &mut part.before
            {
                before.since = None;
            }
            let reading = reading::read(seen, written.is_change);
            written
                .refusal
                .map_or(reading.clone(), |why| reading.refused(why))
        }
        // What exists stays as it is while nothing is known that it could be changed by.
        (Err(lack), Some(exists)) => {
            deciding.keep_retry_for(seen, was_late);
            let wanted = variables(&snapshot.control_plane.spec, profile, None, seen);
            let is_as_wanted = exists.wta.spec.variables.as_ref() == Some(&wanted);
            let reading = reading::read(seen, false);
            if is_as_wanted {
                reading
            } else {
                reading.held_back(lack)
            }
        }
    };
    part
}

/// One that goes although it is wanted: it is gone before another one is made.
fn make_again<'a>(
    deciding: &mut Deciding<'a>,
    profile: &AdditionalFargateProfile,
    role: &Role,
    seen: &'a OwnedSeen,
) -> Part<'a> {
    let part = Part::going(deciding, seen);
    // Nobody consents to the end of what somebody else deleted, nor does that get a turn to end.
    let is_let_go = seen.annotation(marks::LET_GO) == Some("true");
    if is_let_go {
        super::step_to_end(deciding, seen, role);
    } else {
        deciding.keep_retry_for(Some(seen), super::was_late(deciding, seen));
    }
    let reading = part.reading.made_again();
    Part {
        name: profile.name.clone(),
        reading: Reading {
            wants_turn: reading.wants_turn && is_let_go,
            ..reading
        },
        ..part
    }
}

/// What was written.
#[derive(Default)]
struct Written {
    /// It leads to another rendering, or to another try.
    is_change: bool,
    /// It is another try that a person asked for.
    is_another_try: bool,
    /// Why it cannot be what the spec says.
    refusal: Option<String>,
}

/// Writes what has to be written.
fn write(
    deciding: &mut Deciding<'_>,
    profile: &AdditionalFargateProfile,
    found: &Found<'_>,
    ground: &Ground,
    was_late: bool,
) -> Written {
    let snapshot = deciding.snapshot;
    let seen = found.usable();
    let known = snapshot.profiles.get(&profile.name);
    let template = known.and_then(|known| known.template.as_ref());
    let released = owned::release(
        seen,
        template.map(|template| template.revision.as_str()),
        known.map_or(&[], |known| &known.peers),
    );
    let wanted = Wanted {
        name: found.name().to_owned(),
        role: Role::FargateProfile(profile.name.clone()),
        template: profile.workspace_template_ref.clone(),
        revision: released.revision,
        variables: variables(&snapshot.control_plane.spec, profile, Some(ground), seen),
        connection_secret: None,
        wait_for_secrets: ground.secrets.clone(),
        wait_for_workspaces: Vec::new(),
        retain: false,
        retry: deciding.retry_for(seen, was_late).map(str::to_owned),
    };
    let other = seen.filter(|seen| wanted.changes_template(&deciding.owner, seen));
    // It cannot be made from another template. Where there is nothing to lose, it goes and another one takes its place.
    if let Some(seen) = other.filter(|seen| seen.made_nothing()) {
        super::step_to_end(deciding, seen, &wanted.role);
        return Written {
            is_change: true,
            ..Written::default()
        };
    }
    let refusal = other
        .map(|seen| {
            format!(
                "workspaceTemplateRef cannot be changed while the profile exists: it is made from {}. Write that again, \
                 or give the profile another name",
                seen.wta.spec.template_ref.name
            )
        });
    let Some(change) = wanted.change(&deciding.owner, seen) else {
        return Written {
            refusal,
            ..Written::default()
        };
    };
    let authored = seen.and_then(|seen| seen.annotation(marks::AUTHORED));
    let is_another_try = wanted.retry.is_some();
    let is_change = authored != change.rendered_from.as_deref() || is_another_try;
    deciding.children.push(change);
    Written {
        is_change,
        is_another_try,
        refusal,
    }
}

/// The variables of a profile's module. Where there is nothing to stand on, what was known before counts.
fn variables(
    spec: &CAPTControlPlaneSpec,
    profile: &AdditionalFargateProfile,
    ground: Option<&Ground>,
    seen: Option<&OwnedSeen>,
) -> BTreeMap<String, String> {
    let before = seen.and_then(|seen| seen.wta.spec.variables.as_ref());
    // What exists keeps its cluster: another name would replace it.
    let cluster_name = before
        .and_then(|before| before.get("cluster_name"))
        .or(ground.map(|ground| &ground.cluster_name));
    let told = ground.and_then(|ground| ground.private_subnets.as_ref().ok());
    let subnets = profile.subnet_ids.as_ref().or(told).map(values::json);
    // What was known once and is not any more changes nothing.
    let subnets = subnets.or_else(|| before?.get("private_subnets").cloned());
    let mut all = BTreeMap::from([
        (
            "cluster_name".to_owned(),
            cluster_name.cloned().unwrap_or_default(),
        ),
        ("profile_name".to_owned(), profile.name.clone()),
        ("selectors".to_owned(), values::json(&profile.selectors)),
    ]);
    if let Some(subnets) = subnets {
        all.insert("private_subnets".to_owned(), subnets);
    }
    let region = ground
        .and_then(|ground| ground.region.as_ref())
        .or_else(|| before?.get("region"));
    if let Some(region) = region {
        all.insert("region".to_owned(), region.clone());
    }
    if let Some(role) = &profile.pod_execution_role_arn {
        all.insert("pod_execution_role_arn".to_owned(), role.clone());
    }
    let mut tags = spec.additional_tags.clone().unwrap_or_default();
    tags.extend(profile.tags.clone().unwrap_or_default());
    all.insert("tags".to_owned(), values::json(tags));
    all
}

/// Hash of the selectors that a profile's module is told.
#[must_use]
pub fn selectors_hash(selectors: &str) -> String {
    let digest = Sha256::digest(selectors);
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
