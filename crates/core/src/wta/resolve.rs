//! Which rendering a Workspace should have now, out of the one that was just made and the one that is kept.

use capt_api::{
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks,
    workspacetemplate::WorkspaceTemplateSpec,
};

use super::{
    approval, body,
    deciding::Deciding,
    foreign,
    identity::{self, Found},
    kept::Kept,
    location::{self, Moved, StateLocation},
    owner, policy,
    rendered::Rendered,
    requests,
    snapshot::{Problem, Snapshot, WorkspaceSeen},
    source::{self, Choice},
    turns,
};
use crate::render::WorkspaceGroup;

/// Which rendering counts.
pub(super) struct Resolved {
    /// What the Workspace should have now.
    pub(super) rendering: Rendered,
    /// The template that it was rendered from.
    pub(super) template: Option<WorkspaceTemplateSpec>,
    /// Where its state lives.
    pub(super) location: StateLocation,
    /// The label that says that its module makes nothing real.
    pub(super) sandbox: Option<String>,
    /// Hash of a rendering that it should have, but must not have yet.
    pub(super) pending: Option<String>,
    /// Why that is, or why there is no newer rendering.
    pub(super) problem: Option<Problem>,
    /// Nothing may run.
    pub(super) stops: bool,
}

impl Resolved {
    /// What is to be kept of it.
    pub(super) fn to_kept(
        &self,
        snapshot: &Snapshot,
        before: Option<&Kept>,
        workspace: Option<&WorkspaceSeen>,
    ) -> Kept {
        let is_ready = workspace.is_some_and(|workspace| workspace.is("Ready"));
        // What was made elsewhere stays so until the first change of it was approved.
        let is_unchanged = before.is_some_and(|before| {
            let (old, new) = (&before.rendering, &self.rendering);
            (old.hash.is_empty() || old.hash == new.hash) && body::means_the_same(&old.spec, &new.spec)
        });
        Kept {
            rendering: self.rendering.clone(),
            template: self.template.clone(),
            location: self.location.clone(),
            sandbox: self.sandbox.clone(),
            taken_over: is_unchanged && before.is_some_and(|before| before.taken_over),
            was_ready: is_ready || before.is_some_and(|before| before.was_ready),
            used_approval: approval::used_up(snapshot, before, &self.rendering.hash, self.pending.as_deref()),
            used_destroyed: requests::used_destroyed(snapshot, before, workspace),
        }
    }
}

/// The rendering that was just made, or why there is none.
pub(super) fn fresh<'a>(deciding: &Deciding<'a>) -> Result<&'a Rendered, Problem> {
    let snapshot = deciding.snapshot;
    if owner::is_orphan(snapshot) {
        return Err(Problem {
            reason: Reason::OwnerGone,
            message: "The owner is gone, so that nobody says what is wanted; the last rendering counts"
                .to_owned(),
        });
    }
    match source::choose(snapshot) {
        Choice::Nothing(problem) => Err(problem),
        Choice::Current | Choice::Kept => snapshot.rendering.as_ref().map_err(|problems| Problem {
            reason: problems
                .first()
                .map_or(Reason::TemplateInvalid, |problem| problem.reason),
            message: match problems.as_slice() {
                [] => "The template was not rendered".to_owned(),
                problems => {
                    let mut messages: Vec<String> =
                        problems.iter().map(|problem| problem.message.clone()).collect();
                    // What is missing may be there under another name.
                    if !snapshot.unknown_variables.is_empty() {
                        messages.push(source::words(&snapshot.unknown_variables));
                    }
                    messages.join("; ")
                }
            },
        }),
    }
}

/// What a Workspace held when it was found without a kept rendering.
pub(super) fn baseline(deciding: &Deciding<'_>, workspace: &WorkspaceSeen, is_legacy: bool) -> Kept {
    let mut spec = workspace.spec.clone();
    // Policies that we did not write are the user's: what they forbid stays forbidden.
    let policies = spec
        .get("managementPolicies")
        .filter(|_| is_legacy)
        .and_then(|policies| serde_json::from_value(policies.clone()).ok());
    let retain = policy::is_orphaned(&spec) || (is_legacy && !policy::grants_destruction(&spec));
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("managementPolicies");
    }
    Kept {
        rendering: Rendered {
            spec,
            retain,
            policies,
            ..Rendered::default()
        },
        template: None,
        location: location::of_workspace(deciding.snapshot, workspace),
        sandbox: workspace.labels.get(marks::SANDBOX).cloned(),
        taken_over: is_legacy,
        was_ready: workspace.is("Ready"),
        used_approval: None,
        used_destroyed: None,
    }
}

/// Decides which rendering counts. There must be a fresh or a kept one.
pub(super) fn resolve(
    deciding: &Deciding<'_>,
    group: WorkspaceGroup,
    name: &str,
) -> Result<Resolved, Problem> {
    let snapshot = deciding.snapshot;
    let external_name = location::external_name(snapshot, deciding.found.ours(), name);
    let fresh = fresh(deciding);
    let Some(kept) = deciding.kept else {
        let rendering = fresh?.clone();
        return Ok(Resolved {
            location: location::of(snapshot, &rendering, group, external_name),
            template: chosen_template(deciding),
            sandbox: source::sandbox(snapshot),
            rendering,
            pending: None,
            problem: None,
            stops: false,
        });
    };
    let mut resolved = Resolved {
        rendering: kept.rendering.clone(),
        template: kept.template.clone(),
        location: kept.location.clone(),
        sandbox: source::sandbox(snapshot),
        pending: None,
        problem: None,
        stops: false,
    };
    let wanted = fresh
        .as_ref()
        .ok()
        .map(|fresh| location::of(snapshot, fresh, group, external_name.clone()));
    if resolved.location.config_backend.is_none() {
        resolved.location.config_backend = snapshot
            .readable_config()
            .and_then(|config| config.backend.clone());
    }
    let may_have_state = location::may_have_state(snapshot, deciding.found.ours());
    let moved = if may_have_state {
        location::moved(snapshot, &kept.location, wanted.as_ref())
    } else {
        Moved::No
    };
    let refusal = |message| {
        Some(Problem {
            reason: Reason::StateLocationChanged,
            message,
        })
    };
    if let Moved::ByProviderConfig(message) = moved {
        resolved.stops = true;
        resolved.problem = refusal(message);
        return Ok(resolved);
    }
    let fresh = match fresh {
        Ok(fresh) => fresh,
        Err(problem) => {
            resolved.problem = Some(problem);
            return Ok(resolved);
        }
    };
    if let Moved::ByRendering(message) = moved {
        resolved.pending = Some(fresh.hash.clone());
        resolved.problem = refusal(message);
        return Ok(resolved);
    }
    if is_change(kept, fresh) {
        let mut held = approval::holds_back(snapshot, kept, fresh, deciding.may_be_foreign);
        if let (Some(held), Some(workspace)) = (&mut held, deciding.found.ours())
            && deciding.may_be_foreign
            && !deciding.is_foreign
        {
            held.message = format!("{}. {}", held.message, foreign::unread_usage(workspace));
        }
        let held = held.or_else(|| {
            turns::waits_for(snapshot).map(|message| Problem {
                reason: Reason::WaitingForTurn,
                message,
            })
        });
        let held = held.or_else(|| owner::stops_changes(snapshot));
        if held.is_some() {
            resolved.pending = Some(fresh.hash.clone());
            resolved.problem = held;
            return Ok(resolved);
        }
    }
    if let Some(wanted) = wanted.filter(|_| !may_have_state) {
        resolved.location = wanted;
    }
    resolved.rendering = fresh.clone();
    resolved.template = chosen_template(deciding);
    Ok(resolved)
}

/// Whether a rendering differs from the kept one. What was taken over has no hash, and is compared by what it means.
pub(super) fn is_change(kept: &Kept, fresh: &Rendered) -> bool {
    if kept.rendering.hash.is_empty() {
        !body::means_the_same(&kept.rendering.spec, &fresh.spec)
    } else {
        kept.rendering.hash != fresh.hash
    }
}

fn chosen_template(deciding: &Deciding<'_>) -> Option<WorkspaceTemplateSpec> {
    match source::choose(deciding.snapshot) {
        Choice::Current => deciding
            .snapshot
            .template
            .as_ref()
            .and_then(|template| Some(template.spec.as_ref()?.spec().clone())),
        Choice::Kept | Choice::Nothing(_) => deciding.kept.and_then(|kept| kept.template.clone()),
    }
}

/// The group and the name of the Workspace: what is there, what is remembered, or what a new one gets.
pub(super) fn place(deciding: &Deciding<'_>) -> Option<(WorkspaceGroup, String)> {
    place_of(deciding.snapshot, deciding.found)
}

/// Like [`place`], where there is nothing to decide yet.
pub(super) fn place_of(snapshot: &Snapshot, found: Found<'_>) -> Option<(WorkspaceGroup, String)> {
    if let Some(workspace) = found.namesake() {
        return Some((workspace.group?, workspace.name.clone()));
    }
    let group = new_group(snapshot)?;
    match identity::recorded(snapshot) {
        None => Some((group, identity::new_name(snapshot, group))),
        Some((recorded, _)) if recorded != group => None,
        // What is recorded in the object is a hint. Outside the namespace only names of the object's own follow it.
        Some((_, name)) if group == WorkspaceGroup::Namespaced || identity::is_own_name(snapshot, name) => {
            Some((group, name.to_owned()))
        }
        Some(_) => Some((group, identity::new_name(snapshot, group))),
    }
}

/// The group of new Workspaces, which the operator and the cluster decide.
fn new_group(snapshot: &Snapshot) -> Option<WorkspaceGroup> {
    snapshot.served.preferred.or_else(|| {
        [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped]
            .into_iter()
            .find(|group| snapshot.served.has(*group))
    })
}

/// Why the recorded Workspace, which does not exist, cannot be made: it is of another group than new ones are.
pub(super) fn group_mismatch(snapshot: &Snapshot, found: Found<'_>) -> Option<Problem> {
    let (recorded, name) = identity::recorded(snapshot).filter(|_| found == Found::Absent)?;
    let group = new_group(snapshot).filter(|group| *group != recorded)?;
    Some(Problem {
        reason: Reason::WorkspaceGroupMismatch,
        message: format!(
            "The annotation {} names {}/{name}, which does not exist, and new Workspaces are of the group {}. Start the \
             controllers with --workspace-api {} to have it made, or remove the annotation if nothing was ever made",
            marks::WORKSPACE,
            recorded.name(),
            group.name(),
            recorded.name(),
        ),
    })
}
