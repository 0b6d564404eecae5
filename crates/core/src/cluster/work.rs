//! What is done for a Cluster that lives and is not paused, and what is said about any Cluster.

use capt_api::conditions::{
    ConditionStatus,
    cluster::{ClusterCondition as Type, ClusterReason as Reason},
};

use super::{
    adoption,
    contract::{Contracted, Role},
    deciding::Deciding,
    references,
    snapshot::Referenced,
};

/// The condition of a CAPTControlPlane that says whether its API server answers.
const ENDPOINT_ANSWERS: &str = "EndpointAnswers";
/// The reason by which it says that nobody asks.
const NOT_CHECKED: &str = "EndpointNotChecked";

/// Takes over what the Cluster refers to, and takes from it what it has to give.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    let snapshot = deciding.snapshot;
    match &snapshot.infrastructure {
        // A Cluster without infrastructure must not wait for one; with a topology, it will have one.
        Referenced::Unset if !adoption::has_topology(snapshot) => deciding.latch_infrastructure(None),
        referenced => {
            if let Some(object) = own(deciding, Role::Infrastructure, referenced)
                && (object.is_initialized || deciding.infrastructure_provisioned())
            {
                deciding.take_endpoint(object.endpoint.as_ref());
                let mut domains = object.failure_domains.clone();
                domains.sort_by(|one, other| one.name.cmp(&other.name));
                deciding.status.failure_domains = Some(domains).filter(|domains| !domains.is_empty());
                deciding.latch_infrastructure(Some(object));
            }
        }
    }
    if let Some(object) = own(deciding, Role::ControlPlane, &snapshot.control_plane)
        && (object.is_initialized || deciding.control_plane_initialized())
    {
        deciding.take_endpoint(object.endpoint.as_ref());
        deciding.latch_control_plane(object);
    }
}

/// The object, taken over, if it can be and is not going away.
fn own<'a>(deciding: &mut Deciding<'_>, role: Role, referenced: &'a Referenced) -> Option<&'a Contracted> {
    let object = referenced.found()?;
    if object.misfit(role).is_some() {
        return None;
    }
    if references::is_name_too_long(deciding) || adoption::other_owner(deciding.snapshot, object).is_some() {
        return None;
    }
    let change = adoption::adopt(deciding.snapshot, object);
    deciding.decision.children.extend(change);
    (!object.deleting).then_some(object)
}

/// Says how infrastructure, control plane, workers and connection are.
pub(super) fn report(deciding: &mut Deciding<'_>) {
    let snapshot = deciding.snapshot;
    references::report(
        deciding,
        Role::Infrastructure,
        &snapshot.infrastructure,
        snapshot.cluster.spec.infrastructure_ref.as_ref(),
    );
    references::report(
        deciding,
        Role::ControlPlane,
        &snapshot.control_plane,
        snapshot.cluster.spec.control_plane_ref.as_ref(),
    );
    report_initialized(deciding);
    match snapshot
        .control_plane
        .found()
        .and_then(|object| object.condition("RollingOut"))
    {
        Some(original) => deciding.mirror(Type::RollingOut, original, Reason::RollingOut),
        None => deciding.say(Type::RollingOut, false, Reason::NotRollingOut, ""),
    }
    if snapshot.workers.is_empty() {
        deciding.say(Type::WorkersAvailable, true, Reason::NoWorkers, "");
    } else {
        let message = "Only Cluster API's own controllers look after workers; install them";
        deciding.say(
            Type::WorkersAvailable,
            ConditionStatus::Unknown,
            Reason::AvailableUnknown,
            message,
        );
    }
    report_connection(deciding);
}

fn report_initialized(deciding: &mut Deciding<'_>) {
    let type_ = Type::ControlPlaneInitialized;
    if deciding.control_plane_initialized() {
        return deciding.say(type_, true, Reason::Initialized, "");
    }
    match &deciding.snapshot.control_plane {
        Referenced::Found(_) => {
            let message = "The control plane did not answer yet";
            deciding.say(type_, false, Reason::NotInitialized, message);
        }
        Referenced::Missing | Referenced::Unset => {
            let message = "There is no control plane";
            deciding.say(
                type_,
                ConditionStatus::Unknown,
                Reason::ObjectDoesNotExist,
                message,
            );
        }
        Referenced::Unresolvable(problem) => {
            let problem = problem.clone();
            deciding.say(type_, ConditionStatus::Unknown, Reason::InternalError, problem);
        }
    }
}

/// Says whether the workload cluster is reached, where its control plane says whether it answers: one prober is enough.
fn report_connection(deciding: &mut Deciding<'_>) {
    let type_ = Type::RemoteConnectionProbe;
    let control_plane = deciding.snapshot.control_plane.found();
    let answers = control_plane.and_then(|object| object.condition(ENDPOINT_ANSWERS));
    match answers.map(|answers| (answers.status.as_str(), answers.reason.as_str())) {
        Some(("True", _)) => deciding.say(type_, true, Reason::ProbeSucceeded, ""),
        Some(("False", _)) => {
            let message = answers.map_or("", |answers| answers.message.as_str()).to_owned();
            deciding.say(type_, false, Reason::ProbeFailed, message);
        }
        // Nobody asks, so that nobody can tell, and nothing depends on it.
        None | Some((_, NOT_CHECKED)) => deciding.unsay(type_),
        // Shortly after a start nothing is known, and what was known counts.
        Some(_) if deciding.condition(type_).is_some() => {}
        Some(_) => {
            let message = "The workload cluster was not reached yet";
            deciding.say(type_, false, Reason::ProbeFailed, message);
        }
    }
}
