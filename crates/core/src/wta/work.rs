//! What is done for a WorkspaceTemplateApply that lives, is not paused and is valid.

use capt_api::{
    conditions::workspacetemplateapply::{
        WorkspaceTemplateApplyCondition as Type, WorkspaceTemplateApplyReason as Reason,
    },
    foreign::workspace::ManagementPolicy,
};

use super::{
    approval,
    body::{self, Body},
    confinement,
    deciding::Deciding,
    foreign,
    identity::{self, Found},
    kept::Kept,
    moving, owner,
    policy::{self, Allowed},
    resolve::{self, Resolved},
    snapshot::{Problem, WorkspaceSeen},
    source,
    status::Applied,
    turns, waits,
};
use crate::{decision::Removal, render::WorkspaceGroup};

/// What to say about a provider-terraform that was started without management policies.
pub(super) const POLICIES_OFF: &str = "Management policies are switched off in provider-terraform, without which \
                                       nothing protects or pauses the infrastructure. Start it with \
                                       --enable-management-policies";

/// Why nothing can be done.
pub(super) fn invalid(deciding: &Deciding<'_>) -> Option<Problem> {
    let snapshot = deciding.snapshot;
    let problem = |reason, message| Some(Problem { reason, message });
    let permit = |workspace: &WorkspaceSeen, annotation| {
        let group = workspace.group.unwrap_or(WorkspaceGroup::Namespaced);
        identity::permit_command(snapshot, group, &workspace.name, annotation)
    };
    match deciding.found {
        Found::NotOurs(workspace) => {
            return problem(
                Reason::WorkspaceNotOurs,
                format!(
                    "The Workspace {} belongs to another object. Use another name for this one; to have an unused Workspace \
                     adopted, an administrator names this object on it: {}",
                    workspace.name,
                    permit(workspace, capt_api::marks::ADOPTABLE_BY),
                ),
            );
        }
        Found::Several(first, second) => {
            return problem(
                Reason::WorkspaceNotOurs,
                format!(
                    "The Workspaces {} and {} both say that they are this object's. Take the labels from one of them",
                    first.name, second.name
                ),
            );
        }
        Found::Retained(workspace) => {
            return problem(
                Reason::WorkspaceRetained,
                format!(
                    "The Workspace {} is retained. To adopt it with its state: {}",
                    workspace.name,
                    crate::commands::kubectl(
                        "annotate wtapply",
                        &snapshot.wta.metadata,
                        &format!("{}={}", capt_api::marks::ADOPT_RETAINED, workspace.name)
                    ),
                ),
            );
        }
        Found::PerhapsLegacy(workspace) => {
            return problem(
                Reason::WorkspaceNotOurs,
                format!(
                    "The Workspace {} may be this object's from the Go implementation. To adopt it with its state, an \
                     administrator runs capt migrate, or: {}. To make another one: {}",
                    workspace.name,
                    permit(workspace, capt_api::marks::LEGACY_OF),
                    crate::commands::kubectl(
                        "patch wtapply",
                        &snapshot.wta.metadata,
                        r#"--type merge -p '{"metadata":{"finalizers":null}}'"#
                    ),
                ),
            );
        }
        Found::LeftBehind(workspace) => {
            return problem(
                Reason::WorkspaceMovedAway,
                moving::moved_away(snapshot, workspace),
            );
        }
        Found::Absent | Found::Ours(_) | Found::Legacy(_) | Found::TakenBack(_) => {}
    }
    if let Some(group) = identity::hidden(snapshot, deciding.found) {
        return problem(Reason::WorkspaceApiMissing, identity::let_read(group));
    }
    if let Some(mismatch) = resolve::group_mismatch(snapshot, deciding.found) {
        return Some(mismatch);
    }
    match resolve::place(deciding) {
        None => {
            let hidden = [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped]
                .into_iter()
                .find(|group| snapshot.served.hides(*group));
            if let Some(group) = hidden {
                return problem(Reason::WorkspaceApiMissing, identity::let_read(group));
            }
            return problem(
                Reason::WorkspaceApiMissing,
                "No API serves Workspaces: install the CRDs of provider-terraform, or capt's".to_owned(),
            );
        }
        Some((group, _)) if snapshot.served.hides(group) => {
            return problem(Reason::WorkspaceApiMissing, identity::let_read(group));
        }
        Some((group, _)) if !snapshot.served.has(group) => {
            return problem(
                Reason::WorkspaceApiMissing,
                format!(
                    "No API serves Workspaces of the group {}: install its CRDs",
                    group.name()
                ),
            );
        }
        Some(_) => {}
    }
    let elsewhere = waits::in_other_namespaces(snapshot);
    if !elsewhere.is_empty() && deciding.found == Found::Absent {
        return problem(
            Reason::OtherNamespace,
            format!("Only Secrets of this namespace can be waited for, not {elsewhere}"),
        );
    }
    let workspace = deciding.found.ours();
    if workspace.is_some_and(|workspace| deciding.may_be_foreign && foreign::has_policies_off(workspace)) {
        return problem(Reason::ManagementPoliciesDisabled, POLICIES_OFF.to_owned());
    }
    if let Some(workspace) = workspace.filter(|workspace| foreign::is_nobodys(snapshot, workspace)) {
        return problem(
            Reason::RunnerUnknown,
            format!(
                "{}; until then it is not given to our runner",
                foreign::unread_usage(workspace)
            ),
        );
    }
    if workspace.is_none() && snapshot.namespace_terminating {
        return problem(
            Reason::NamespaceTerminating,
            "Nothing can be made in a namespace that goes".to_owned(),
        );
    }
    if let Some(problem) = confinement::check_provider_config(snapshot) {
        return Some(problem);
    }
    if deciding.kept.is_none() && workspace.is_none() {
        return resolve::fresh(deciding).err();
    }
    None
}

/// Says whether the template knows the variables. That it does not keeps nobody from applying the others.
pub(super) fn tell_variables(deciding: &mut Deciding<'_>) {
    let unknown = &deciding.snapshot.unknown_variables;
    if !unknown.is_empty() {
        let message = source::words(unknown);
        deciding
            .report
            .say(Type::VariablesKnown, false, Reason::VariableUnknown, message);
    } else if !matches!(source::choose(deciding.snapshot), source::Choice::Nothing(_)) {
        deciding
            .report
            .say(Type::VariablesKnown, true, Reason::VariablesKnown, "");
    }
}

/// Makes the Workspace, or brings it to what it should be.
pub(super) fn decide(deciding: &mut Deciding<'_>) {
    moving::hold_state(deciding);
    let Some((group, name)) = resolve::place(deciding) else {
        return;
    };
    let workspace = deciding.found.ours();
    if let Some(workspace) = workspace {
        deciding.record_present(workspace);
        if deciding.kept.is_none() {
            return take_over(deciding, workspace);
        }
    }
    let mut resolved = match resolve::resolve(deciding, group, &name) {
        Ok(resolved) => resolved,
        Err(problem) => return refuse(deciding, problem),
    };
    let unconfined = confinement::check(deciding, &resolved.rendering, (group, &name));
    match (workspace, unconfined) {
        (Some(workspace), None) => keep_alive(deciding, workspace, &resolved),
        (None, None) => make(deciding, group, &name, &resolved, false),
        // The Workspace is where an administrator can confirm it, so it is made, and may do nothing.
        (None, problem @ Some(_)) if group == WorkspaceGroup::ClusterScoped => {
            resolved.problem = problem;
            make(deciding, group, &name, &resolved, true);
        }
        (_, Some(problem)) => refuse(deciding, problem),
    }
}

/// Says that nothing can be done.
pub(super) fn refuse(deciding: &mut Deciding<'_>, problem: Problem) {
    deciding.report.applied = Some(Applied {
        is_up_to_date: false,
        ..Applied::default()
    });
    let report = &mut deciding.report;
    report.say(Type::Waiting, false, Reason::NothingToWaitFor, "");
    report.say(Type::ApprovalNeeded, false, Reason::NotNeeded, "");
    deciding.say(Type::Applied, false, problem.reason, problem.message);
}

/// Remembers what a Workspace holds before anything of it is changed, and takes over what may be done to it.
fn take_over(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen) {
    let is_legacy = matches!(deciding.found, Found::Legacy(_));
    let baseline = resolve::baseline(deciding, workspace, is_legacy);
    let allowed = match turns::waits_for(deciding.snapshot) {
        Some(_) if !workspace.is_settled() => Allowed::Nothing,
        _ => Allowed::Life(
            baseline
                .rendering
                .policies
                .clone()
                .or_else(|| template_policies(deciding)),
        ),
    };
    deciding.keep(&baseline);
    let change = Body::restating(deciding, workspace, &allowed).change(workspace, deciding.namespace());
    deciding.children.extend(change);
    // Where only the Secret with the rendering was lost, nothing of what is said about the Workspace is.
    if !is_legacy && is_still_applied(deciding, &baseline) {
        return;
    }
    refuse(
        deciding,
        Problem {
            reason: Reason::Rendered,
            message: "The Workspace is being taken over as it is".to_owned(),
        },
    );
}

/// Whether a Workspace has what was applied last, and nothing else is wanted.
fn is_still_applied(deciding: &Deciding<'_>, baseline: &Kept) -> bool {
    let status = deciding.snapshot.wta.status.as_ref();
    let applied = status.filter(|status| status.applied);
    let applied = applied.and_then(|status| status.last_applied_revision.as_ref());
    let fresh = resolve::fresh(deciding).ok();
    fresh.is_some_and(|fresh| applied == Some(&fresh.hash) && !resolve::is_change(baseline, fresh))
}

fn template_policies(deciding: &Deciding<'_>) -> Option<Vec<ManagementPolicy>> {
    let rendering = deciding.snapshot.rendering.as_ref().ok();
    rendering.and_then(|rendering| rendering.policies.clone())
}

fn make(
    deciding: &mut Deciding<'_>,
    group: WorkspaceGroup,
    name: &str,
    resolved: &Resolved,
    is_unconfined: bool,
) {
    let snapshot = deciding.snapshot;
    let is_first = identity::recorded(snapshot).is_none();
    let waits = if is_first {
        owner::stops_changes(snapshot).or_else(|| waits::before_creation(snapshot))
    } else {
        None
    };
    let turn = turns::waits_for(snapshot).map(|message| Problem {
        reason: Reason::WaitingForTurn,
        message,
    });
    // Nobody will ever give a turn to one whose owner is gone. Its Workspace comes back all the same, because it says where
    // the state is, and rests.
    let rests = turn.is_some() && !is_first && owner::is_orphan(snapshot);
    if let Some(problem) = waits.or(turn.filter(|_| !rests)) {
        deciding.report.say(
            Type::Applied,
            false,
            Reason::Rendered,
            "The Workspace is not made yet",
        );
        deciding.report.applied = Some(applied(resolved, false));
        deciding.say(Type::Waiting, true, problem.reason, problem.message);
        return;
    }
    if !foreign::has_durable_state(deciding, &resolved.rendering) {
        let message = match foreign::unread_config(deciding) {
            Some(unread) => format!("Whether state outlives provider-terraform's pod is not known: {unread}"),
            None => "State would live in a folder of provider-terraform's pod and be lost with it. Configure a backend in \
                     the provider configuration or in the module. If `capt runner` is to run it, start the controllers \
                     with --runner and its name"
                .to_owned(),
        };
        let reason = Reason::NoDurableState;
        return refuse(deciding, Problem { reason, message });
    }
    if resolved.stops {
        return tell(deciding, resolved, false);
    }
    if is_first {
        // The name is written down before there is anything of that name.
        deciding.record(group, name);
    } else {
        let kept = resolved.to_kept(snapshot, deciding.kept, None);
        deciding.keep(&kept);
        let allowed = if rests || is_unconfined {
            Allowed::Nothing
        } else {
            Allowed::Life(resolved.rendering.policies.clone())
        };
        let external_name = resolved.location.external_name.clone();
        let mut body = Body::new(
            deciding,
            None,
            external_name,
            resolved.rendering.spec.clone(),
            &allowed,
        )
        .rendered_from(&resolved.rendering.hash);
        if deciding.is_foreign && deciding.kept.is_some() {
            // Where it finds state and has to add its finalizer first, provider-terraform forgets what it found and
            // says that all is ready only at the next poll, minutes later.
            body = body.held_by_runner();
        }
        deciding
            .children
            .push(body.create(group, deciding.namespace(), name));
    }
    tell(deciding, resolved, false);
}

fn keep_alive(deciding: &mut Deciding<'_>, workspace: &WorkspaceSeen, resolved: &Resolved) {
    let namespace = deciding.namespace();
    if workspace.deleting {
        // Somebody else deleted it. It goes without its infrastructure, and is made again.
        let allowed = Allowed::Life(resolved.rendering.policies.clone());
        let change = Body::restating(deciding, workspace, &allowed).change(workspace, namespace);
        deciding.children.extend(change);
        let message = "The Workspace was deleted by somebody; it is made again when it is gone".to_owned();
        let reason = Reason::Rendered;
        return refuse(deciding, Problem { reason, message });
    }
    if deciding.may_be_foreign
        && foreign::is_wedged(workspace)
        && !policy::grants_destruction(&workspace.spec)
    {
        deciding.removals.push(Removal {
            target: workspace.target(namespace),
            uid: workspace.uid.clone(),
            resource_version: workspace.resource_version.clone(),
        });
        let message =
            "provider-terraform was stopped in the middle of a creation and does not know how that ended. \
                       The Workspace is made again around its state"
                .to_owned();
        let reason = Reason::CreationInterrupted;
        return refuse(deciding, Problem { reason, message });
    }
    let turn = turns::waits_for(deciding.snapshot);
    let has_changed = deciding
        .kept
        .is_some_and(|kept| resolve::is_change(kept, &resolved.rendering));
    let is_done =
        workspace.is_settled() || (!has_changed && turns::only_to_be_seen(deciding.snapshot, workspace));
    let allowed = if resolved.stops || (turn.is_some() && !is_done) {
        Allowed::Nothing
    } else {
        Allowed::Life(resolved.rendering.policies.clone())
    };
    let external_name = resolved.location.external_name.clone();
    let spec = resolved.rendering.spec.clone();
    let body = Body::new(deciding, Some(workspace), external_name, spec, &allowed)
        .rendered_from(&resolved.rendering.hash);
    let change = if has_changed {
        Some(body.write(workspace, namespace))
    } else {
        body.change(workspace, namespace)
    };
    deciding.children.extend(change);
    let kept = resolved.to_kept(deciding.snapshot, deciding.kept, Some(workspace));
    deciding.keep(&kept);
    let is_written = !has_changed && body::covers(&workspace.spec, &resolved.rendering.spec);
    tell(deciding, resolved, is_written);
    if let Some(applied) = &mut deciding.report.applied {
        applied.is_settled = is_written && workspace.is_settled();
    }
    if let Some(message) = turn
        && allowed == Allowed::Nothing
    {
        deciding.say(Type::Waiting, true, Reason::WaitingForTurn, message);
    }
}

fn applied(resolved: &Resolved, is_written: bool) -> Applied {
    let is_known = is_written && !resolved.rendering.hash.is_empty();
    Applied {
        is_up_to_date: is_written && resolved.pending.is_none(),
        hash: is_known.then(|| resolved.rendering.hash.clone()),
        revision: is_known.then(|| resolved.rendering.revision.clone()),
        pending: resolved.pending.clone(),
        is_settled: false,
    }
}

/// What leads to other namespaces and was left so, because the Go implementation let it.
fn exempt(deciding: &Deciding<'_>, resolved: &Resolved) -> String {
    if !source::is_legacy(deciding.snapshot, deciding.found) {
        return String::new();
    }
    let mut places = resolved.rendering.elsewhere.clone();
    let secrets = waits::in_other_namespaces(deciding.snapshot);
    if !secrets.is_empty() {
        let kind = waits::plural("Secret", secrets.matches(", ").count() + 1);
        places.push(format!("the awaited {kind} {secrets}"));
    }
    let template = deciding.snapshot.template.as_ref();
    places.extend(
        template
            .filter(|template| !source::is_shared(deciding.snapshot, template))
            .map(|template| format!("the template in {}", template.namespace)),
    );
    places.join(", ")
}

/// Says what the Workspace has, what it has not, and why.
fn tell(deciding: &mut Deciding<'_>, resolved: &Resolved, is_written: bool) {
    let snapshot = deciding.snapshot;
    let mut applied = applied(resolved, is_written);
    // What is about to replace something real is named, so that nobody takes what is only written again for a change.
    let was_real = deciding.kept.is_some_and(|kept| kept.was_ready);
    if was_real && !is_written && resolved.problem.is_none() && !resolved.rendering.hash.is_empty() {
        applied.pending = Some(resolved.rendering.hash.clone());
    }
    deciding.report.applied = Some(applied);
    let missing = snapshot.missing_inputs.join(", ");
    let gone = waits::gone_since(snapshot);
    let exempt = exempt(deciding, resolved);
    match &resolved.problem {
        Some(problem) => {
            // The last rendering of a template that is gone is all that can be asked for.
            let holds = is_written && problem.reason == Reason::TemplateGone;
            if let Some(applied) = &mut deciding.report.applied {
                applied.is_up_to_date = holds;
            }
            match problem.reason {
                Reason::WaitingForTurn => deciding.report.say(
                    Type::Applied,
                    false,
                    Reason::Rendered,
                    "A change is not applied yet",
                ),
                reason => deciding.say(Type::Applied, holds, reason, problem.message.clone()),
            }
        }
        None if !is_written => deciding.say(
            Type::Applied,
            false,
            Reason::Rendered,
            "The Workspace is being written",
        ),
        None if !missing.is_empty() => {
            let was_ready = deciding.kept.is_some_and(|kept| kept.was_ready);
            let message = if was_ready {
                format!("Inputs are gone, so that nothing can be changed until they are back: {missing}")
            } else {
                format!("Inputs are missing: {missing}. Make what is missing, or change the template")
            };
            deciding.say(Type::Applied, true, Reason::InputMissing, message);
        }
        None => {
            let message = "The Workspace is what it should be";
            deciding.report.say(Type::Applied, true, Reason::Applied, message);
        }
    }
    match &resolved.problem {
        Some(problem) if problem.reason == Reason::WaitingForTurn => {
            deciding.say(
                Type::Waiting,
                true,
                Reason::WaitingForTurn,
                problem.message.clone(),
            );
        }
        _ if is_written && !gone.is_empty() => deciding.report.say(
            Type::Waiting,
            false,
            Reason::InputMissing,
            format!("These were waited for and are gone: {gone}"),
        ),
        _ if !exempt.is_empty() => deciding.report.say(
            Type::Waiting,
            false,
            Reason::OtherNamespace,
            format!("Taken over as it was, this still uses other namespaces: {exempt}"),
        ),
        _ => deciding
            .report
            .say(Type::Waiting, false, Reason::NothingToWaitFor, ""),
    }
    let asks = |reason| matches!(reason, Reason::AdoptedChange | Reason::DestructiveChange);
    let plan = snapshot
        .pending_plan
        .as_ref()
        .and_then(|plan| approval::of_plan(snapshot, deciding.kept, plan));
    match (&resolved.problem, plan) {
        (Some(problem), _) if asks(problem.reason) => {
            deciding.say(
                Type::ApprovalNeeded,
                true,
                problem.reason,
                problem.message.clone(),
            );
        }
        (_, Some(message)) => {
            deciding.say(Type::ApprovalNeeded, true, Reason::DestructiveChange, message);
        }
        _ => deciding
            .report
            .say(Type::ApprovalNeeded, false, Reason::NotNeeded, ""),
    }
}
