//! What is done for a CAPTCluster that lives, is owned, is not paused and is valid.

use capt_api::{
    conditions::{
        Word as _,
        captcluster::{CAPTClusterCondition as Type, CAPTClusterReason as Reason},
    },
    references::WorkspaceTemplateReference,
    workspacestatus::WorkspaceTemplateStatus,
};
use serde_json::json;

use super::{
    again,
    deciding::{Conclusion, Deciding},
    facts::VpcFacts,
    outputs,
    secrets::{self, Written},
    stage::{self, Stage},
    timeouts::Step,
    variables,
};
use crate::{
    decision::{Desired, Event, EventKind, Guard},
    owned::{self, OutputProblem, OwnedSeen, Role, Wanted},
};

/// Makes the network, or says which one is used.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    let spec = &deciding.snapshot.captcluster.spec;
    if let Some(reference) = &spec.vpc_template_ref {
        by_template(deciding, reference);
    } else if let Some(vpc_id) = &spec.existing_vpc_id {
        existing(deciding, vpc_id);
    }
}

/// Uses a VPC that exists, and tells the control plane about it.
fn existing(deciding: &mut Deciding<'_>, vpc_id: &str) {
    let subnets = deciding.snapshot.captcluster.spec.existing_subnet_ids.clone();
    let facts = VpcFacts {
        vpc_id: Some(vpc_id.to_owned()),
        private_subnets: subnets,
        has_config: true,
        faults: Vec::new(),
    };
    let stage = match secrets::written(deciding.snapshot, &deciding.owner, &facts) {
        Written::Taken(secret) => Stage::Failed {
            reason: Reason::InvalidVpcConfig,
            message: format!(
                "spec.connectionSecretName names the Secret {}, which is somebody else's and tells about another \
                 network. Name another one, or delete it",
                secret.name
            ),
        },
        written => {
            if let Written::Write(mut secret) = written {
                if was_deleted(deciding, &secret) {
                    secret.loss = Some(Event {
                        kind: EventKind::Warning,
                        reason: Reason::SecretRestored.as_str().to_owned(),
                        message: format!(
                            "The Secret {} was deleted, and is written again",
                            secret.target.name
                        ),
                    });
                }
                deciding.decision.children.push(*secret);
            }
            let mut message = match &facts.private_subnets {
                Some(_) => format!("The VPC {vpc_id} exists and is used"),
                None => format!(
                    "The VPC {vpc_id} exists and is used. spec.existingSubnetIds is not set, so that a control plane can \
                     be made in it only by a template that finds its subnets"
                ),
            };
            if let Some(secret) = secrets::in_the_way(deciding.snapshot, &deciding.owner) {
                let taken = format!(
                    "The Secret {} is somebody else's, so that what the control plane has to know stands in another one; \
                     delete or rename it where something else looks for it by its name",
                    secret.name
                );
                let ready = deciding.condition(Type::Ready);
                if ready.is_none_or(|ready| !ready.message.contains(&taken)) {
                    deciding.decision.events.push(Event {
                        kind: EventKind::Warning,
                        reason: Reason::SecretTaken.as_str().to_owned(),
                        message: taken.clone(),
                    });
                }
                message = format!("{message}. {taken}");
            }
            Stage::Ready {
                reason: Reason::ExistingVpcUsed,
                message,
            }
        }
    };
    deciding.status.vpc_id = Some(vpc_id.to_owned());
    deciding.status.vpc_workspace_name = None;
    deciding.status.workspace_template_status = None;
    deciding.status.failure_domains = None;
    let is_there = true;
    deciding.conclude(Conclusion {
        is_known: matches!(stage, Stage::Ready { .. }),
        stage,
        is_there,
        is_changing: false,
        made: Reason::ExistingVpcUsed,
    });
}

/// Whether the Secret of a network that exists was there and is gone: the spec is the one that was fulfilled, and there is
/// no other that is ours, or was.
fn was_deleted(deciding: &Deciding<'_>, secret: &Desired) -> bool {
    let snapshot = deciding.snapshot;
    let is_fulfilled = deciding.status.ready
        && deciding.status.observed_generation == snapshot.captcluster.metadata.generation;
    let has_other = secrets::own(snapshot, &deciding.owner).next().is_some()
        || secrets::in_the_way(snapshot, &deciding.owner).is_some();
    is_fulfilled && secret.guard == Guard::Absent && !has_other
}

/// Has a VPC made.
fn by_template(deciding: &mut Deciding<'_>, reference: &WorkspaceTemplateReference) {
    let snapshot = deciding.snapshot;
    let apply = deciding.found.usable();
    let cluster = snapshot.cluster.as_ref();
    if apply.is_none() {
        let stage = if snapshot.template.is_none() {
            // It may be applied a moment later, in whatever order somebody applies things.
            Some(Stage::Waiting {
                reason: Reason::WorkspaceTemplateNotFound,
                message: format!(
                    "There is no WorkspaceTemplate {} in namespace {}. Make it, or mend spec.vpcTemplateRef",
                    reference.name,
                    reference.namespace.as_deref().unwrap_or(deciding.owner.namespace)
                ),
            })
        } else if cluster.is_some_and(|cluster| cluster.deleting) {
            Some(Stage::Waiting {
                reason: Reason::Deleting,
                message: "The Cluster is going away, so that no VPC is made for it".to_owned(),
            })
        } else {
            None
        };
        if let Some(stage) = stage {
            return deciding.conclude(Conclusion::nothing(stage));
        }
    }
    let (wanted, held_back) = wanted(deciding, reference);
    let change = wanted.change(&deciding.owner, apply);
    deciding.decision.children.extend(change);
    let named = snapshot.captcluster.spec.workspace_template_apply_name.as_deref();
    if named != Some(&wanted.name) {
        if let Some(wrong) = named {
            deciding.decision.events.push(Event {
                kind: EventKind::Warning,
                reason: Reason::InvalidVpcConfig.as_str().to_owned(),
                message: owned::name_put_right(wrong, &wanted.name),
            });
        }
        let spec = &mut deciding.decision.own.spec;
        spec.insert("workspaceTemplateApplyName".to_owned(), json!(wanted.name));
    }
    let Some(apply) = apply else {
        let again = again::found_again(deciding, &wanted.name, None);
        let is_again = again.is_some();
        let message =
            again.unwrap_or_else(|| format!("The WorkspaceTemplateApply {} makes the VPC", wanted.name));
        let stage = Stage::Creating {
            reason: Reason::VpcCreating,
            message,
            steps: vec![Step::Vpc],
        };
        return deciding.conclude(Conclusion {
            is_there: is_again,
            is_known: is_again,
            ..Conclusion::nothing(stage)
        });
    };
    let is_other_template = wanted.changes_template(&deciding.owner, apply);
    let mut conclusion = look_at(deciding, apply);
    if is_other_template {
        conclusion.stage = Stage::Failed {
            reason: Reason::InvalidVpcConfig,
            message: format!(
                "The VPC was made from the WorkspaceTemplate {}, and spec.vpcTemplateRef cannot be {}. Bring it back, or \
                 make another CAPTCluster",
                apply.wta.spec.template_ref.name, reference.name
            ),
        };
    }
    if let (Stage::Ready { message, .. }, Some(held_back)) = (&mut conclusion.stage, held_back) {
        *message = format!("{message}. {held_back}");
    }
    deciding.conclude(conclusion);
}

/// What the WorkspaceTemplateApply is to be, and what is held back from it.
pub(super) fn wanted(
    deciding: &Deciding<'_>,
    reference: &WorkspaceTemplateReference,
) -> (Wanted, Option<String>) {
    let snapshot = deciding.snapshot;
    let apply = deciding.found.usable();
    let current = snapshot
        .template
        .as_ref()
        .map(|template| template.revision.as_str());
    let released = owned::release(apply, current, &snapshot.peers);
    let wanted = Wanted {
        name: deciding.found.name().to_owned(),
        role: Role::Vpc,
        template: reference.clone(),
        revision: released.revision,
        variables: variables::variables(
            &snapshot.captcluster,
            deciding.owner.cluster.unwrap_or_default(),
            apply,
        ),
        connection_secret: secrets::to_write(snapshot, apply),
        wait_for_secrets: Vec::new(),
        wait_for_workspaces: Vec::new(),
        // Said from the beginning, so that it holds whoever deletes what, and in which order.
        retain: snapshot.captcluster.spec.retain_vpc_on_delete == Some(true),
        retry: deciding.retry.map(str::to_owned),
    };
    (wanted, released.held_back)
}

/// Reads what became of the WorkspaceTemplateApply.
fn look_at(deciding: &mut Deciding<'_>, apply: &OwnedSeen) -> Conclusion {
    let snapshot = deciding.snapshot;
    let told_outputs = apply
        .wta
        .status
        .as_ref()
        .and_then(|status| status.outputs.clone())
        .unwrap_or_default();
    let output = owned::text(&told_outputs, super::facts::VPC_ID);
    let wrong = output
        .as_ref()
        .err()
        .filter(|problem| matches!(problem, OutputProblem::WrongType { .. }));
    let was_provisioned = deciding.was_provisioned();
    let has_served = deciding.has_served();
    // A Secret of the same name may tell of what somebody else made, or of what lives elsewhere by now.
    let is_made = apply.has_workspace();
    // What else it tells does not make up for an output that is wrong, but what was ready by it stays so.
    let is_trusted = is_made && (has_served || wrong.is_none());
    let secret = secrets::complete(
        snapshot,
        &deciding.owner,
        Some(apply),
        output.as_ref().ok().copied(),
    )
    .filter(|_| is_trusted);
    let told = secret.and_then(|secret| secret.facts.vpc_id.as_deref());
    let vpc_id = output.as_ref().ok().copied().or(told).map(str::to_owned);

    let status = &mut deciding.status;
    let before = status.workspace_template_status.take();
    let report = owned::report(apply, before.as_ref());
    status.vpc_workspace_name = report.workspace_name.clone().or(status.vpc_workspace_name.take());
    // An empty report is not worth a write.
    status.workspace_template_status =
        Some(report).filter(|report| *report != WorkspaceTemplateStatus::default());
    if vpc_id.is_some() || !(is_made || was_provisioned) {
        status.vpc_id.clone_from(&vpc_id);
    }
    let zones = owned::list_of_texts(&told_outputs, "availability_zones");
    if let Ok(zones) = &zones {
        status.failure_domains = outputs::failure_domains(zones);
    }
    // What was ready has not failed because of what is told about it.
    let broken = |message: String| {
        let reason = Reason::OutputInvalid;
        match has_served {
            true => Stage::Waiting { reason, message },
            false => Stage::Failed { reason, message },
        }
    };
    let again = again::found_again(deciding, apply.name(), Some(apply));
    let is_again = again.is_some();
    let is_there = (apply.is("Ready") || is_again) && deciding.status.vpc_id.is_some();
    let in_module = |problem: &OutputProblem| apply.naming_template(&problem.to_string());
    let judged = |rests: Option<String>| match (wrong, secret, vpc_id) {
        (Some(problem), ..) => broken(in_module(problem)),
        (None, Some(_), Some(vpc_id)) => {
            let wrong_zones = match &zones {
                Err(problem @ OutputProblem::WrongType { .. }) => Some(in_module(problem)),
                _ => None,
            };
            let told = [Some(format!("The VPC {vpc_id} is there")), wrong_zones, rests];
            Stage::Ready {
                reason: Reason::VpcCreated,
                message: told.into_iter().flatten().collect::<Vec<_>>().join(". "),
            }
        }
        _ if secrets::is_unusable(snapshot, apply) => broken(format!(
            "The VPC is there, but {}",
            secrets::trouble(snapshot, apply)
        )),
        _ => match outputs::lacking(snapshot, apply, &told_outputs, has_served) {
            Some(problem) => broken(in_module(&problem)),
            None => Stage::Creating {
                reason: Reason::WaitingForSecret,
                message: format!("The VPC is there, but {}", secrets::trouble(snapshot, apply)),
                steps: vec![Step::Secret],
            },
        },
    };
    let stage = stage::of_apply(apply, is_there, again).map_or_else(|stage| stage, judged);
    Conclusion {
        stage,
        is_there,
        is_known: secret.is_some() || is_again,
        is_changing: apply.is_change() && !apply.is_deleting() && !is_again,
        made: Reason::VpcCreated,
    }
}
