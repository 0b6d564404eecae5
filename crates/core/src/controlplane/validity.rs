//! Whether what the spec asks for can be made: one rule per thing that can be wrong, each with the field and the fix.

use capt_api::{
    conditions::captcontrolplane::CAPTControlPlaneReason as Reason, region::Region, version::Minor,
};

use super::{
    judging::{Note, Problem},
    snapshot::{ClusterSeen, Snapshot},
    vpc::{self, Vpc},
};
use crate::{
    captcluster::facts::{PRIVATE_SUBNETS, VPC_ID},
    owned::{Found, OwnedSeen},
    wta::owner,
};

/// What the spec says, once it is known to make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valid {
    /// The version that is wanted.
    pub version: Minor,
    /// The region.
    pub region: Region,
    /// The network, if its facts are known.
    pub vpc: Option<Vpc>,
}

/// Checks what the spec asks for. Looks at nothing that only concerns what exists already.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn check(snapshot: &Snapshot, cluster: &ClusterSeen, found: &Found<'_>) -> Result<Valid, Problem> {
    claims(snapshot, cluster, found)?;
    let version = version(snapshot)?;
    let region = region(snapshot, found.usable())?;
    template(snapshot, found.usable())?;
    let vpc = network(snapshot, found.usable())?;
    Ok(Valid { version, region, vpc })
}

fn wrong(reason: Reason, message: impl Into<String>) -> Problem {
    Problem {
        note: Note::new(reason, message),
        is_passing: false,
    }
}

fn waits(reason: Reason, message: impl Into<String>) -> Problem {
    Problem {
        note: Note::new(reason, message),
        is_passing: true,
    }
}

/// Nobody else says the same of themselves.
fn claims(snapshot: &Snapshot, cluster: &ClusterSeen, found: &Found<'_>) -> Result<(), Problem> {
    let own = snapshot.control_plane.metadata.name.as_deref();
    if let Some(other) = cluster.control_plane_ref.as_deref()
        && Some(other) != own
    {
        return Err(wrong(
            Reason::InvalidSpec,
            format!(
                "The Cluster {} has the control plane {other}. Delete this one, or name it in the Cluster's \
                 spec.controlPlaneRef",
                cluster.name
            ),
        ));
    }
    if let Found::NotOurs { seen, owner } = found {
        return Err(wrong(
            Reason::WorkspaceNotOurs,
            format!(
                "The WorkspaceTemplateApply {} belongs to {}. Name another one in \
                 spec.workspaceTemplateApplyName, or leave that out",
                seen.name(),
                owner::in_words(owner)
            ),
        ));
    }
    if let Found::OtherRole { seen, role } = found {
        return Err(wrong(
            Reason::WorkspaceNotOurs,
            format!(
                "spec.workspaceTemplateApplyName names {}, which this control plane has for something else: {role}. Name \
                 the one of the EKS cluster, or leave that out",
                seen.name()
            ),
        ));
    }
    if let (Found::TakenOver(seen), false) = (found, snapshot.rivals.is_empty()) {
        return Err(wrong(
            Reason::WorkspaceNotOurs,
            format!(
                "The WorkspaceTemplateApply {} is also named by {}. Leave it to one of them, and change \
                 spec.workspaceTemplateApplyName of the others",
                seen.name(),
                snapshot.rivals.join(", ")
            ),
        ));
    }
    Ok(())
}

fn version(snapshot: &Snapshot) -> Result<Minor, Problem> {
    let version = &snapshot.control_plane.spec.version;
    version.minor().ok_or_else(|| {
        wrong(
            Reason::InvalidSpec,
            format!("spec.version {version} is no Kubernetes version. Write it as 1.31, v1.31 or v1.31.2"),
        )
    })
}

/// The region that counts.
///
/// # Errors
///
/// There is none, or two that differ.
pub(super) fn region(snapshot: &Snapshot, seen: Option<&OwnedSeen>) -> Result<Region, Problem> {
    let config = snapshot.control_plane.spec.control_plane_config.as_ref();
    let own = config.and_then(|config| config.region.as_ref());
    let infrastructure = snapshot.infrastructure.as_ref();
    let theirs = infrastructure.and_then(|infrastructure| infrastructure.region.as_ref());
    match (own, theirs) {
        (Some(own), Some(theirs)) if own != theirs => Err(wrong(
            Reason::RegionMismatch,
            format!(
                "spec.controlPlaneConfig.region is {own}, and the CAPTCluster {} is in {theirs}. Take it out; \
                 then it is {theirs}",
                infrastructure.map_or("", |infrastructure| infrastructure.name.as_str())
            ),
        )),
        (Some(region), _) | (None, Some(region)) => Ok(region.clone()),
        (None, None) => {
            // What was known once counts.
            let variables = seen.and_then(|seen| seen.wta.spec.variables.as_ref());
            let before = variables.and_then(|variables| variables.get("region"));
            before.map(|region| Region::from(region.as_str())).ok_or_else(|| {
                wrong(
                    Reason::InvalidSpec,
                    "No region is known. Set spec.controlPlaneConfig.region: the Cluster's infrastructure is no \
                     CAPTCluster that names one",
                )
            })
        }
    }
}

/// A Workspace that exists goes on without its template.
fn template(snapshot: &Snapshot, seen: Option<&OwnedSeen>) -> Result<(), Problem> {
    if seen.is_some_and(OwnedSeen::has_workspace) {
        return Ok(());
    }
    let reference = &snapshot.control_plane.spec.workspace_template_ref;
    let own = snapshot
        .control_plane
        .metadata
        .namespace
        .as_deref()
        .unwrap_or_default();
    let namespace = reference.namespace.as_deref().unwrap_or(own);
    let Some(template) = &snapshot.template else {
        return Err(waits(
            Reason::WorkspaceTemplateNotFound,
            format!(
                "There is no WorkspaceTemplate {} in namespace {namespace}. Make it, or mend \
                 spec.workspaceTemplateRef",
                reference.name
            ),
        ));
    };
    let is_shared =
        template.namespace == own || template.shared_with.iter().any(|name| name == "*" || name == own);
    if !is_shared {
        return Err(waits(
            Reason::TemplateNotShared,
            format!(
                "The WorkspaceTemplate {} in namespace {}, which spec.workspaceTemplateRef names, does not consent: add \
                 {own} to its spec.sharedWith",
                reference.name, template.namespace
            ),
        ));
    }
    Ok(())
}

/// The facts about the network, if the template asks for them or they are there.
fn network(snapshot: &Snapshot, seen: Option<&OwnedSeen>) -> Result<Option<Vpc>, Problem> {
    let is_made = seen.is_some_and(OwnedSeen::has_workspace);
    if let Some(network) = snapshot.infrastructure.as_ref().filter(|_| !is_made)
        && network.owes_workspace()
    {
        let message = format!(
            "Waiting for the CAPTCluster {} to tell which Workspace makes its network",
            network.name
        );
        return Err(waits(Reason::WaitingForVpc, message));
    }
    match &snapshot.vpc_secret {
        Some(secret) => match vpc::read(secret) {
            Ok(vpc) if vpc.private_subnets.is_none() && !is_made && needs(snapshot, &[PRIVATE_SUBNETS]) => {
                let problem = vpc::problem(secret, PRIVATE_SUBNETS);
                Err(waits(Reason::SecretError, problem.to_string()))
            }
            Ok(vpc) => Ok(Some(vpc)),
            Err(problem) if !is_made && needs(snapshot, &NETWORK) => {
                Err(waits(Reason::SecretError, problem.to_string()))
            }
            Err(_) => Ok(None),
        },
        None if is_made || !needs(snapshot, &NETWORK) => Ok(None),
        None => {
            let (name, way) = vpc::awaited(snapshot);
            Err(waits(
                Reason::SecretError,
                format!(
                    "Waiting for the Secret {name}, from which vpc_id and private_subnets are taken. {way}"
                ),
            ))
        }
    }
}

/// The facts about a network that a template may ask for.
const NETWORK: [&str; 2] = [VPC_ID, PRIVATE_SUBNETS];

/// Whether the template asks for one of these variables.
pub(super) fn needs(snapshot: &Snapshot, names: &[&str]) -> bool {
    let template = snapshot
        .template
        .as_ref()
        .and_then(|template| template.spec.as_ref());
    let Some(template) = template else {
        return true;
    };
    let Ok(holes) = template.holes() else {
        return true;
    };
    holes.iter().any(|hole| names.contains(&hole.name.as_str()))
}
