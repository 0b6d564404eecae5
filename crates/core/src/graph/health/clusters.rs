//! Clusters, their networks and their control planes.

use capt_api::{
    CAPTCluster, CAPTControlPlane, captcontrolplane::ControlPlaneState, conditions::find_condition,
    foreign::Cluster,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{Health, Node, Said, going_or_paused, is_true, node, turned};
use crate::{
    captcluster::{is_externally_managed, serves},
    controlplane::progress::PAUSED,
};

/// Why a network that serves is about to be another one, or would be if a person said so.
const CHANGING: [&str; 3] = ["VPCUpdating", "Retrying", "WaitingForApproval"];

/// Reasons by which a network that serves says that a change of it is refused or failed.
const REFUSED: [&str; 6] = [
    "InvalidVPCConfig",
    "OutputInvalid",
    "WorkspaceTemplateNotFound",
    "TemplateNotShared",
    "VPCUpdateFailed",
    "WorkspaceNotOurs",
];

pub(in crate::graph) fn cluster(cluster: &Cluster) -> Node {
    let status = cluster.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let available = find_condition(conditions, "Available");
    let said = going_or_paused(&cluster.metadata, conditions).unwrap_or_else(|| {
        if is_true(available) {
            Said {
                word: "Available",
                health: Health::Good,
                why: available,
                since: turned(available),
            }
        } else {
            Said {
                word: status.phase.as_deref().unwrap_or("Pending"),
                health: Health::Busy,
                why: cause(conditions).or(available),
                since: None,
            }
        }
    });
    node("Cluster", &cluster.metadata, &said)
}

/// What keeps a Cluster from being available, the first that others follow from: a cluster that is not made is not reached.
fn cause(conditions: &[Condition]) -> Option<&Condition> {
    let causes = [
        "InfrastructureReady",
        "ControlPlaneAvailable",
        "WorkersAvailable",
        "RemoteConnectionProbe",
    ];
    let mut found = causes
        .into_iter()
        .filter_map(|type_| find_condition(conditions, type_));
    found.find(|condition| condition.status != "True")
}

pub(in crate::graph) fn captcluster(captcluster: &CAPTCluster) -> Node {
    let status = captcluster.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let said = going_or_paused(&captcluster.metadata, conditions).unwrap_or_else(|| {
        let ready = find_condition(conditions, "Ready");
        let failed = find_condition(conditions, "VPCFailed");
        // Who else manages it need not know our conditions, and what we said before it took over counts no more.
        let is_served = is_externally_managed(&captcluster.metadata) && serves(captcluster);
        let (ready, failed) = match is_served && !is_true(ready) {
            true => (None, None),
            false => (ready, failed),
        };
        let is_ready = ready.map_or_else(|| serves(captcluster), |ready| is_true(Some(ready)));
        let (word, health, why, since) = match (is_ready, is_true(failed)) {
            (true, false) if ready.is_some_and(|ready| CHANGING.contains(&ready.reason.as_str())) => {
                ("Ready", Health::Busy, ready, ready)
            }
            // It serves as it is, and what somebody wants of it cannot be done.
            (true, false) if ready.is_some_and(|ready| REFUSED.contains(&ready.reason.as_str())) => {
                ("Degraded", Health::Bad, ready, None)
            }
            (true, false) => ("Ready", Health::Good, ready, ready),
            // It serves, and a change of it failed.
            (true, true) => ("Degraded", Health::Bad, failed, failed),
            (false, is_failed) if status.failure_reason.is_some() => {
                ("Failed", Health::Bad, ready, failed.filter(|_| is_failed))
            }
            (false, _) => ("NotReady", Health::Busy, ready, ready),
        };
        Said {
            word,
            health,
            why,
            since: turned(since),
        }
    });
    node("CAPTCluster", &captcluster.metadata, &said)
}

pub(in crate::graph) fn control_plane(control_plane: &CAPTControlPlane) -> Node {
    let status = control_plane.status.clone().unwrap_or_default();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let said = going_or_paused(&control_plane.metadata, conditions).unwrap_or_else(|| {
        let (word, health) = match status.state {
            None | Some(ControlPlaneState::Pending) => ("Pending", Health::Busy),
            Some(ControlPlaneState::Validating) => ("Validating", Health::Busy),
            Some(ControlPlaneState::Provisioning) => ("Provisioning", Health::Busy),
            Some(ControlPlaneState::Configuring) => ("Configuring", Health::Busy),
            Some(ControlPlaneState::Ready) => ("Ready", Health::Good),
            Some(ControlPlaneState::Degraded) => ("Degraded", Health::Bad),
            Some(ControlPlaneState::Recovering) => ("Recovering", Health::Busy),
            Some(ControlPlaneState::Failed) => ("Failed", Health::Bad),
            Some(ControlPlaneState::Deleting) => ("Deleting", Health::Busy),
        };
        // Where it serves and yet something is the matter, the summary says only that it can be used.
        let ready = find_condition(conditions, "Ready");
        let why = ready.or_else(|| find_condition(conditions, "Available"));
        // Conditions have fewer turns than there are states.
        let state = match status.state {
            Some(ControlPlaneState::Ready) => ready,
            Some(ControlPlaneState::Failed) => find_condition(conditions, "Failed"),
            Some(ControlPlaneState::Provisioning) => find_condition(conditions, "RollingOut"),
            _ => None,
        };
        let since = turned(state.filter(|state| is_true(Some(state))));
        // It is ready all through a change of it.
        let changed = status
            .progress
            .iter()
            .flat_map(|progress| progress.history.iter().flatten())
            .filter(|record| record.operation != PAUSED && status.state == Some(ControlPlaneState::Ready))
            .filter_map(|record| record.end_time.as_ref().map(|time| time.0))
            .max();
        Said {
            word,
            health,
            why,
            since: since.map(|since| changed.map_or(since, |changed| changed.max(since))),
        }
    });
    node("CAPTControlPlane", &control_plane.metadata, &said)
}
