//! What is said about the objects that a Cluster refers to.

use std::time::Duration;

use capt_api::{
    conditions::{
        ConditionStatus, Word as _,
        cluster::{ClusterCondition as Type, ClusterReason as Reason},
        find_condition,
    },
    foreign::cluster::ContractReference,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{adoption, contract::Role, deciding::Deciding, snapshot::Referenced};
use crate::{names, timing::between};

/// How long something may come after the Cluster that refers to it, in whatever order somebody applies things.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything of a Cluster has its name in a label.
pub(super) fn is_name_too_long(deciding: &Deciding<'_>) -> bool {
    deciding.name().len() > names::MAX_LENGTH
}

/// Says how what a Cluster refers to is.
pub(super) fn report(
    deciding: &mut Deciding<'_>,
    role: Role,
    referenced: &Referenced,
    reference: Option<&ContractReference>,
) {
    let (type_, source, was_initialized, good, bad, field, flag) = match role {
        Role::Infrastructure => (
            Type::InfrastructureReady,
            "Ready",
            deciding.infrastructure_provisioned(),
            Reason::Ready,
            Reason::NotReady,
            "infrastructureRef",
            "provisioned",
        ),
        Role::ControlPlane => (
            Type::ControlPlaneAvailable,
            "Available",
            deciding.control_plane_initialized(),
            Reason::Available,
            Reason::NotAvailable,
            "controlPlaneRef",
            "controlPlaneInitialized",
        ),
    };
    let what = reference.map_or_else(String::new, |reference| {
        format!("{} {}", reference.kind, reference.name)
    });
    match referenced {
        Referenced::Found(object) => {
            let other = adoption::other_owner(deciding.snapshot, object).map(str::to_owned);
            if let Some((is, right)) = object.misfit(role) {
                let message = format!(
                    "spec.{field}.kind is {is}, which cannot be that. Write a {right} there: make another Cluster, or change \
                     the field where that is allowed"
                );
                complain(deciding, type_, false, Reason::WrongKind, message);
            } else if let Some(other) = other {
                let message =
                    format!("{what} belongs to the Cluster {other}. Name another one in spec.{field}");
                complain(deciding, type_, false, Reason::OwnedByAnotherCluster, message);
            } else if is_name_too_long(deciding) {
                let message = format!(
                    "The name of a Cluster becomes a label and may have {} characters. Choose a shorter one",
                    names::MAX_LENGTH
                );
                complain(deciding, type_, false, Reason::NameTooLong, message);
            } else if let Some(original) = object.condition(source) {
                let is_stuck = original.status != "True" && !was_initialized;
                let told = object.paused().filter(|_| is_stuck).map(|why| Condition {
                    message: match original.message.trim_end_matches('.') {
                        "" => format!("{what}: {why}"),
                        said => format!("{said}; {why}"),
                    },
                    ..original.clone()
                });
                deciding.mirror(type_, told.as_ref().unwrap_or(original), good);
            } else if was_initialized {
                deciding.say(type_, true, good, "");
            } else {
                let lacks = format!("{what} does not have status.initialization.{flag}: true yet");
                let message = match object.standstill(role) {
                    Some(why) => format!("{lacks}; {why}"),
                    None => lacks,
                };
                deciding.say(type_, false, bad, message);
            }
        }
        Referenced::Missing if deciding.is_deleting() => {
            deciding.say(type_, false, Reason::ObjectDeleted, format!("{what} is gone"));
        }
        Referenced::Missing if was_initialized => {
            let message = format!("{what} was deleted while the Cluster is there. Make it again");
            complain(deciding, type_, false, Reason::ObjectDeleted, message);
        }
        Referenced::Missing => {
            let message = format!("{what} does not exist. Make it, or mend spec.{field}");
            if is_overdue(deciding, type_, &message) {
                deciding.warn(Reason::ObjectDoesNotExist, &message);
            }
            deciding.say(type_, false, Reason::ObjectDoesNotExist, message);
        }
        Referenced::Unset => {
            let message = if deciding.is_deleting() {
                String::new()
            } else if adoption::has_topology(deciding.snapshot) {
                "spec.topology is looked after by Cluster API's own controllers only; install them".to_owned()
            } else {
                format!("spec.{field} is not set")
            };
            deciding.say(type_, false, Reason::ObjectDoesNotExist, message);
        }
        Referenced::Unresolvable(problem) => {
            let message = format!("spec.{field}: {problem}");
            complain(
                deciding,
                type_,
                ConditionStatus::Unknown,
                Reason::InternalError,
                message,
            );
        }
    }
}

/// Says what is wrong with a reference, and tells people of it once.
fn complain(
    deciding: &mut Deciding<'_>,
    type_: Type,
    status: impl Into<ConditionStatus>,
    reason: Reason,
    message: String,
) {
    if told_before(deciding, type_).is_none_or(|told| told.reason != reason.as_str()) {
        deciding.warn(reason, &message);
    }
    deciding.say(type_, status, reason, message);
}

/// Whether something is missing for so long that people have to be told, or where something else was told before. That is then
/// told by the next look or two.
fn is_overdue(deciding: &mut Deciding<'_>, type_: Type, message: &str) -> bool {
    let (is_same, since) = match told_before(deciding, type_) {
        Some(told) => (told.message == message, told.last_transition_time.0),
        None => (true, deciding.now),
    };
    if !is_same {
        return true;
    }
    let waited = between(since, deciding.now);
    deciding.look_again(PATIENCE.checked_sub(waited).filter(|rest| !rest.is_zero()));
    waited >= PATIENCE && waited < 2 * PATIENCE
}

/// What a condition said before.
fn told_before<'a>(deciding: &Deciding<'a>, type_: Type) -> Option<&'a Condition> {
    let status = deciding.snapshot.cluster.status.as_ref()?;
    find_condition(status.conditions.as_deref()?, type_.as_str())
}
