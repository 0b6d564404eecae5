//! Whether a Cluster can be used: all that speaks for or against it, in one condition.

use capt_api::conditions::{
    ConditionStatus, Word as _,
    cluster::{ClusterCondition as Type, ClusterReason as Reason},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::Value;

use super::deciding::Deciding;

/// What decides, the weightiest first.
const GATES: [Type; 5] = [
    Type::Deleting,
    Type::RemoteConnectionProbe,
    Type::InfrastructureReady,
    Type::ControlPlaneAvailable,
    Type::WorkersAvailable,
];

/// How a condition counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Issue,
    Unknown,
    Fine,
}

/// Says whether the Cluster is available.
pub(super) fn available(deciding: &mut Deciding<'_>) {
    let mut lines = Vec::new();
    let mut worst = Weight::Fine;
    for (type_, is_good_when_true, condition) in gates(deciding) {
        let weight = match condition {
            None => Weight::Unknown,
            Some(condition) => weigh(deciding, condition, is_good_when_true),
        };
        if weight == Weight::Fine {
            continue;
        }
        if worst != Weight::Issue {
            worst = weight;
        }
        lines.push(match condition {
            None => format!("* {type_}: not reported yet"),
            Some(condition) if condition.message.is_empty() => format!("* {type_}: {}", condition.reason),
            Some(condition) => format!("* {type_}: {}", indented(&condition.message)),
        });
    }
    let (status, reason) = match worst {
        Weight::Issue => (ConditionStatus::False, Reason::NotAvailable),
        Weight::Unknown => (ConditionStatus::Unknown, Reason::AvailableUnknown),
        Weight::Fine => (ConditionStatus::True, Reason::Available),
    };
    deciding.say(Type::Available, status, reason, lines.join("\n"));
}

/// The conditions that count: ours, and those that the spec names besides.
fn gates<'a>(deciding: &'a Deciding<'_>) -> Vec<(String, bool, Option<&'a Condition>)> {
    let mut gates: Vec<_> = GATES
        .into_iter()
        .map(|type_| {
            let condition = deciding.condition(type_);
            (type_.as_str().to_owned(), type_ != Type::Deleting, condition)
        })
        // Where nobody probes, nothing is said about it.
        .filter(|(type_, _, condition)| condition.is_some() || *type_ != Type::RemoteConnectionProbe.as_str())
        .collect();
    let more = deciding.snapshot.cluster.spec.rest.get("availabilityGates");
    let status = deciding.snapshot.cluster.status.as_ref();
    for gate in more.and_then(Value::as_array).into_iter().flatten() {
        let Some(type_) = gate.get("conditionType").and_then(Value::as_str) else {
            continue;
        };
        let is_negative = gate.get("polarity").and_then(Value::as_str) == Some("Negative");
        let mut conditions = status
            .into_iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let condition = conditions.find(|condition| condition.type_ == type_);
        gates.push((type_.to_owned(), !is_negative, condition));
    }
    gates
}

fn weigh(deciding: &Deciding<'_>, condition: &Condition, is_good_when_true: bool) -> Weight {
    // What is gone while the Cluster goes is as it should be.
    let is_gone = [Reason::ObjectDeleted, Reason::ObjectDoesNotExist]
        .iter()
        .any(|reason| reason.as_str() == condition.reason);
    if deciding.is_deleting() && is_gone {
        return Weight::Fine;
    }
    match (condition.status.as_str(), is_good_when_true) {
        ("True", true) | ("False", false) => Weight::Fine,
        ("True", false) | ("False", true) => Weight::Issue,
        _ => Weight::Unknown,
    }
}

fn indented(message: &str) -> String {
    if message.contains('\n') {
        format!("\n  {}", message.replace('\n', "\n  "))
    } else {
        message.to_owned()
    }
}
