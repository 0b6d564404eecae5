//! What a WorkspaceTemplateApply says about itself.

use capt_api::{
    conditions::{
        ConditionStatus, Word as _, condition, find_condition, set_condition,
        workspacetemplateapply::{
            WorkspaceTemplateApplyCondition as Type, WorkspaceTemplateApplyReason as Reason,
        },
    },
    foreign::workspace::WorkspaceCondition,
    workspacetemplateapply::WorkspaceTemplateApplyStatus,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

use super::{
    deciding::Deciding,
    identity, requests,
    snapshot::{Snapshot, StateSecretSeen, WorkspaceSeen},
    source, waits,
};
use crate::decision::{self, Event, EventKind};

/// The longest message that is shown in a column, in characters.
const MAX_LINE: usize = 256;
/// The longest message about what may be lost: every name in it counts.
const MAX_LOSS: usize = 4096;
/// The longest message that a condition may have.
const MAX_MESSAGE: usize = 32_768;

/// What there is to say. What nothing is said about stays as it was.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    verdicts: Vec<(Type, bool, Reason, String)>,
    /// What is said by this condition is said by it alone.
    pub(super) no_news: Option<Type>,
    /// The Workspace is, or is not, what it should be: the hash of what it is.
    pub(super) applied: Option<Applied>,
    /// Nothing else is wanted than what was observed before.
    pub(super) is_as_observed: bool,
    /// What it does or waits for.
    pub(super) message: Option<String>,
}

/// What a Workspace holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Applied {
    /// It is what the template and the variables say.
    pub(super) is_up_to_date: bool,
    /// Hash of what it holds, if that was rendered.
    pub(super) hash: Option<String>,
    /// Revision of the template that it was rendered from.
    pub(super) revision: Option<String>,
    /// Hash of what it should hold and does not.
    pub(super) pending: Option<String>,
    /// Terraform has made it real.
    pub(super) is_settled: bool,
}

impl Report {
    /// Says something by a condition, in place of what was said by it before.
    pub(super) fn say(&mut self, type_: Type, holds: bool, reason: Reason, message: impl Into<String>) {
        self.verdicts.retain(|(said, ..)| *said != type_);
        self.verdicts.push((type_, holds, reason, message.into()));
    }
}

/// The whole new status.
pub(super) fn status(deciding: &Deciding<'_>, now: Timestamp) -> WorkspaceTemplateApplyStatus {
    let Deciding { snapshot, report, .. } = deciding;
    let old = snapshot.wta.status.clone().unwrap_or_default();
    let mut new = old.clone();
    let workspace = deciding.found.ours();
    let recorded = identity::recorded(snapshot).map(|(_, name)| name.to_owned());
    let is_hidden = identity::hidden(snapshot, deciding.found).is_some();
    new.workspace_name = workspace
        .map(|workspace| workspace.name.clone())
        .or(recorded)
        .or(old.workspace_name.clone().filter(|_| is_hidden));
    if let Some(workspace) = workspace {
        new.workspace_uid = Some(workspace.uid.clone());
    }
    new.progress.clone_from(&snapshot.progress);
    let outputs = workspace.and_then(|workspace| workspace.status.at_provider.as_ref()?.outputs.clone());
    let outputs = outputs.filter(|outputs| !outputs.is_empty());
    // One that is not made yet, or again, says nothing about outputs; one that is made and has none has lost them.
    if outputs.is_some() || workspace.is_some_and(WorkspaceSeen::is_settled) {
        new.outputs = outputs;
    }
    if let Some(applied) = &report.applied {
        new.applied = applied.is_up_to_date;
        new.pending_revision.clone_from(&applied.pending);
        if let Some(hash) = &applied.hash
            && old.last_applied_revision.as_ref() != Some(hash)
        {
            new.last_applied_revision = Some(hash.clone());
            new.last_applied_time = Some(Time(now));
        }
        if let Some(tried) = tried(deciding, &old, applied) {
            new.tried_revision = Some(tried);
        }
        if applied.is_settled && applied.hash.is_some() {
            new.ready_revision.clone_from(&applied.hash);
            new.tried_revision = None;
        }
        if applied.revision.is_some() {
            new.template_revision.clone_from(&applied.revision);
        }
    }
    if report.applied.is_some() || report.is_as_observed {
        new.observed_generation = snapshot.wta.metadata.generation;
    }
    if let Some(said) = &report.message {
        let said = Some(said.clone()).filter(|message| !message.is_empty());
        new.message = said.or_else(|| what_terraform_does(snapshot, workspace));
    }
    let conditions = conditions(deciding, &old, now);
    // One fact in two places: whatever said it last said it for both.
    if let Some(applied) = find_condition(&conditions, Type::Applied.as_str()) {
        new.applied = applied.status == ConditionStatus::True.as_str();
    }
    new.conditions = Some(conditions);
    new
}

/// The rendering that is not real and that Terraform may have got: the one that the Workspace has, or the one before it if this
/// has just been taken back.
fn tried(deciding: &Deciding<'_>, old: &WorkspaceTemplateApplyStatus, applied: &Applied) -> Option<String> {
    let real = old.ready_revision.as_ref()?;
    // What rests gets nothing.
    let synced = deciding.found.ours()?.condition("Synced");
    if synced.is_some_and(|synced| synced.reason == "ReconcilePaused") {
        return None;
    }
    let kept = deciding.kept.map(|kept| &kept.rendering.hash);
    let had = kept.filter(|hash| !hash.is_empty());
    let had = applied.hash.as_ref().or(had);
    had.filter(|hash| *hash != real).cloned()
}

/// A status without the conditions that others wrote. Those are not ours to keep or to take away, and no reason to write.
pub(super) fn our_part(status: &WorkspaceTemplateApplyStatus) -> WorkspaceTemplateApplyStatus {
    let ours = |all: &Vec<Condition>| {
        let known = Type::ALL.iter();
        known
            .filter_map(|type_| find_condition(all, type_.as_str()).cloned())
            .collect()
    };
    WorkspaceTemplateApplyStatus {
        conditions: status.conditions.as_ref().map(ours),
        ..status.clone()
    }
}

/// Where we have nothing to say ourselves: what may be lost, why Terraform failed, or how far it is.
fn what_terraform_does(snapshot: &Snapshot, workspace: Option<&WorkspaceSeen>) -> Option<String> {
    if let Some(torn) = workspace.and_then(torn) {
        return Some(torn);
    }
    if let Some(lost) = workspace.and_then(|workspace| lost(snapshot, workspace)) {
        return Some(lost);
    }
    // What failed before is nothing of what is tried now.
    let is_tried = snapshot
        .progress
        .as_ref()
        .is_some_and(|now| now.attempt.is_some());
    if let Some(failure) = workspace.filter(|_| !is_tried).and_then(failure) {
        return Some(failure);
    }
    if let Some(held) = held_state(snapshot) {
        return Some(held);
    }
    let Some(progress) = snapshot.progress.as_ref() else {
        let unknown = snapshot.unknown_variables.as_slice();
        return told(workspace, "StateComplete", "False")
            .or_else(|| (!unknown.is_empty()).then(|| source::words(unknown)))
            .or_else(|| told(workspace, "Simulated", "True"));
    };
    let mut words = progress.operation.clone()?;
    if let Some(attempt) = progress.attempt.filter(|attempt| *attempt > 1) {
        words.push_str(&format!(", attempt {attempt}"));
    }
    let total = progress.resources_total.filter(|total| *total > 0);
    if let (Some(done), Some(total)) = (progress.resources_done, total) {
        words.push_str(&format!(": {done} of {total} resources"));
    }
    if let Some(current) = &progress.current_resource {
        words.push_str(&format!(", now {current}"));
    }
    Some(words)
}

/// What exists, as far as anybody knows, and is not in the state. Who asks for another try without having heard of it makes
/// it a second time, so that it comes before the failure and says all of its names.
fn torn(workspace: &WorkspaceSeen) -> Option<String> {
    let condition = workspace.condition("StateComplete")?;
    let is_torn = condition.status == "False" && condition.reason == "ResourcesMissing";
    let line = condition.message.as_deref().filter(|_| is_torn)?.lines().next()?;
    (!line.is_empty()).then(|| line.chars().take(MAX_LOSS).collect())
}

/// That nothing is done for want of a state, as long as nothing newer went wrong. Whoever has to put it back needs its
/// name, and whoever cannot needs the whole command.
fn lost(snapshot: &Snapshot, workspace: &WorkspaceSeen) -> Option<String> {
    let message = |type_| workspace.condition(type_)?.message.as_deref();
    let line = message("StateComplete").filter(|_| requests::misses_state(workspace))?;
    if message("Synced") != Some(line) {
        return None;
    }
    let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
    let mut line: String = line.lines().next()?.chars().take(MAX_LOSS).collect();
    if let Some(again) = requests::say_destroyed_again(snapshot, kept) {
        line.push_str(". ");
        line.push_str(&again);
    }
    Some(line)
}

/// That somebody deleted the state, which only our finalizer keeps. Nobody can undo that, and whoever waits for the Secret to
/// go does not know why it stays.
fn held_state(snapshot: &Snapshot) -> Option<String> {
    let going = |secret: &&StateSecretSeen| secret.deleting && secret.is_held;
    let names: Vec<&str> = snapshot
        .state_secrets
        .iter()
        .filter(going)
        .map(|secret| secret.name.as_str())
        .collect();
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "Somebody deleted the {} {} with the state, which stays only because it is held. Save it first, as docs/runner.md \
         tells; then let it go: kubectl patch secret {} -n {} --type merge -p \
         '{{\"metadata\":{{\"finalizers\":null}}}}'. A runner that has a copy writes it again; if none does, put back what you \
         saved",
        waits::plural("Secret", names.len()),
        names.join(", "),
        names.join(" "),
        snapshot.wta.metadata.namespace.as_deref().unwrap_or_default()
    ))
}

/// Says that, or that it is so no more. Nothing else of a Workspace that is ready shows it.
pub(super) fn say_held_state(deciding: &mut Deciding<'_>) {
    let type_ = Type::StateKept;
    let old = deciding.snapshot.wta.status.as_ref();
    let old = old.and_then(|status| find_condition(status.conditions.as_deref()?, type_.as_str()));
    match held_state(deciding.snapshot) {
        Some(held) => deciding.report.say(type_, false, Reason::StateDeleted, held),
        None if old.is_none() => {}
        None if deciding.snapshot.state_secrets.is_empty() => {
            let gone = "Somebody deleted the state, and it is there no more. The Workspace tells what is done about that";
            deciding.report.say(type_, false, Reason::StateDeleted, gone);
        }
        None => deciding.report.say(type_, true, Reason::StateKept, ""),
    }
}

/// The first thing that went wrong, in one line, and what our runner says can be done.
fn failure(workspace: &WorkspaceSeen) -> Option<String> {
    let said = |type_: &str, status: &str| {
        let condition = workspace.condition(type_).filter(|told| told.status == status)?;
        condition.message.as_deref()
    };
    // That it rests is no news of one that was let on since.
    let has_rested = workspace
        .condition("Synced")
        .is_some_and(|synced| synced.reason == "ReconcilePaused" && !workspace.is_current(synced));
    let message = said("Synced", "False").filter(|message| !message.is_empty() && !has_rested)?;
    let mut line = one_line(message).unwrap_or_default();
    let advice = said("Failing", "True").and_then(|told| told.strip_prefix(message));
    if let Some(advice) = advice.map(str::trim).filter(|advice| !advice.is_empty()) {
        line.push_str(if line.ends_with('.') { " " } else { ". " });
        line.push_str(advice);
    }
    Some(line)
}

/// The first paragraph of a message, in one line that is not too long.
pub(super) fn one_line(message: &str) -> Option<String> {
    let paragraph: Vec<&str> = message
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let line = abridged(&paragraph.join(" "));
    (!line.is_empty()).then_some(line)
}

/// A line that is not too long. It begins with what failed and ends with the cause, so that the middle is left out.
fn abridged(line: &str) -> String {
    let length = line.chars().count();
    if length <= MAX_LINE {
        return line.to_owned();
    }
    let half = MAX_LINE / 2;
    let (head, tail) = (line.chars().take(half), line.chars().skip(length - half));
    let head: String = head.collect();
    let tail: String = tail.collect();
    format!("{} … {}", head.trim_end(), tail.trim_start())
}

/// The first line of a condition of the Workspace, if it has this status.
fn told(workspace: Option<&WorkspaceSeen>, type_: &str, status: &str) -> Option<String> {
    let condition = workspace?.condition(type_).filter(|told| told.status == status)?;
    let line = condition.message.as_deref()?.lines().next()?;
    (!line.is_empty()).then(|| line.chars().take(MAX_LINE).collect())
}

fn conditions(deciding: &Deciding<'_>, old: &WorkspaceTemplateApplyStatus, now: Timestamp) -> Vec<Condition> {
    let mut all = old.conditions.clone().unwrap_or_default();
    for (type_, holds, reason, message) in &deciding.report.verdicts {
        let generation = deciding.snapshot.wta.metadata.generation;
        let new = condition(*type_, *holds, *reason, shorten(message), generation, now);
        set_condition(&mut all, new);
    }
    let workspace = deciding.found.ours();
    Type::ALL
        .iter()
        .filter_map(|type_| match type_ {
            Type::Synced | Type::Ready => workspace?.condition(type_.as_str()).map(mirrored),
            own => find_condition(&all, own.as_str()).cloned(),
        })
        .collect()
}

fn mirrored(original: &WorkspaceCondition) -> Condition {
    Condition {
        type_: original.type_.clone(),
        status: original.status.clone(),
        reason: original.reason.clone(),
        message: shorten(original.message.as_deref().unwrap_or_default()),
        last_transition_time: original.last_transition_time.clone(),
        observed_generation: original.observed_generation,
    }
}

fn shorten(message: &str) -> String {
    message.chars().take(MAX_MESSAGE).collect()
}

/// How it is said that a pause waits for what runs.
pub(super) const RUNS_ON: &str = "A running operation finishes first";

/// How it is said of a Workspace that it is made or changed as it should be.
const APPLYING: [Reason; 2] = [Reason::Rendered, Reason::Applied];

/// What people should hear about: every condition that changed, once.
pub(super) fn events(deciding: &Deciding<'_>) -> Vec<Event> {
    let old = deciding.snapshot.wta.status.as_ref();
    let old = old
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    let is_owned = deciding.snapshot.owner.is_some();
    let mut events = Vec::new();
    for (type_, holds, reason, message) in &deciding.report.verdicts {
        let before = find_condition(old, type_.as_str());
        // That something runs may show only after the pause began.
        let is_new = before.is_none_or(|before| {
            before.reason != reason.as_str()
                || (message.contains(RUNS_ON) && !before.message.contains(RUNS_ON))
        });
        let is_calm = matches!(
            reason,
            Reason::NothingToWaitFor
                | Reason::NotNeeded
                | Reason::NotPaused
                | Reason::NotDeleting
                | Reason::VariablesKnown
                | Reason::StateKept
        );
        // That nothing is the matter is news only if something was, and that it goes as it should is told by whoever made
        // the object.
        let was_calm = before.is_none_or(|before| APPLYING.iter().any(|calm| before.reason == calm.as_str()));
        let is_told_by_owner = is_owned && was_calm && APPLYING.contains(reason);
        let is_no_news = deciding.report.no_news == Some(*type_);
        if !is_new || (is_calm && before.is_none()) || is_told_by_owner || is_no_news {
            continue;
        }
        let is_good = match type_ {
            Type::Applied => *holds || *reason == Reason::Rendered,
            Type::VariablesKnown | Type::StateKept => *holds,
            Type::ApprovalNeeded => !*holds,
            _ => true,
        } && !matches!(
            reason,
            Reason::OwnerGone
                | Reason::ConsentMissing
                | Reason::NamespaceTerminating
                | Reason::DependencyCycle
                | Reason::NoDurableState
                | Reason::RenderingLost
                | Reason::WorkspaceNotOurs
                | Reason::WorkspaceApiMissing
                | Reason::WorkspaceGroupMismatch
                | Reason::ProviderConfigNotAllowed
                | Reason::WaitNotShared
                | Reason::CrdTerminating
                | Reason::InputMissing
                | Reason::TemplateGone
        );
        events.push(Event {
            kind: if is_good {
                EventKind::Normal
            } else {
                EventKind::Warning
            },
            reason: reason.as_str().to_owned(),
            message: decision::news(reason.as_str(), message),
        });
    }
    events
}
