//! How all profiles are told about: the list in the status, three conditions, and an event for every change.

use capt_api::{
    captcontrolplane::{FargateProfilePhase as Phase, FargateProfileStatus},
    conditions::{
        Word as _,
        captcontrolplane::{CAPTControlPlaneCondition as Type, CAPTControlPlaneReason as Reason},
    },
    marks,
};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};

use super::{Part, reading::Reading};
use crate::{
    controlplane::{
        deciding::Deciding,
        judging::{Note, Profiles},
        taking::Turns,
        turns::{self, Need},
        view::Said,
    },
    decision::EventKind,
    metadata,
};

/// How long it may take until it is told that something is under way.
const A_MOMENT: SignedDuration = SignedDuration::from_secs(2);

/// The longest message of something that is tried again, in characters.
const MAX_SETBACK: usize = 512;

/// Says what became of all profiles.
pub(super) fn tell(deciding: &mut Deciding<'_>, parts: &[Part<'_>], turns: &Turns) -> Profiles {
    let before = deciding.status.fargate_profile_statuses.take();
    let_go(deciding);
    if parts.is_empty() && before.is_none() {
        return Profiles::Done;
    }
    let before = before.unwrap_or_default();
    let all: Vec<FargateProfileStatus> = parts.iter().map(|part| status(deciding, part, turns)).collect();
    for (part, new) in parts.iter().zip(&all) {
        let old = before.iter().find(|old| old.name == new.name);
        announce(deciding, old, new, &part.reading);
    }
    for gone in before
        .iter()
        .filter(|old| all.iter().all(|new| new.name != old.name))
    {
        let message = format!("Fargate profile {}: it is gone", gone.name);
        deciding.tell(EventKind::Normal, Reason::FargateProfileDeleted, &message);
    }
    let profiles = say(deciding, parts, &all);
    let wanted = deciding
        .snapshot
        .control_plane
        .spec
        .additional_fargate_profiles
        .as_deref();
    let wanted = wanted.map_or(0, <[_]>::len);
    let ready = all
        .iter()
        .filter(|one| one.ready && one.phase != Some(Phase::Deleting))
        .count();
    // Nobody counts what is not to be any more.
    let counts = wanted > 0 && !(deciding.is_deleting() && all.is_empty());
    deciding.status.fargate_profiles_ready = counts.then(|| format!("{ready}/{wanted}"));
    let is_old = deciding.was_initialized();
    let listed = parts
        .iter()
        .zip(all)
        .filter(|(part, _)| part.reading.is_begun || is_old);
    deciding.status.fargate_profile_statuses = Some(listed.map(|(_, status)| status).collect());
    profiles
}

/// The status of one profile.
fn status(deciding: &Deciding<'_>, part: &Part<'_>, turns: &Turns) -> FargateProfileStatus {
    let reading = &part.reading;
    let has_turn = turns.is_of(&part.apply);
    let is_running = part
        .seen
        .and_then(|seen| seen.run.as_ref())
        .is_some_and(|run| run.is_running);
    let is_queued = reading.wants_turn && !has_turn && !is_running && !reading.is_late;
    let (phase, message) = if is_queued {
        (Phase::Queued, place(part, turns))
    } else {
        (reading.phase, reading.message.clone())
    };
    let before = part.before.as_ref();
    let since = before
        .filter(|before| before.phase == Some(phase))
        .and_then(|before| before.since.clone());
    let is_done = phase == Phase::Ready;
    FargateProfileStatus {
        name: part.name.clone(),
        ready: reading.ready,
        workspace_template_apply_name: Some(part.apply.clone()),
        phase: Some(phase),
        since: Some(since.unwrap_or(Time(began(deciding, part, phase)))),
        message: Some(message),
        observed_selectors_hash: part
            .selectors
            .clone()
            .filter(|_| is_done)
            .or_else(|| before?.observed_selectors_hash.clone()),
        failure_reason: reading
            .failure
            .as_ref()
            .map(|_| Reason::FargateProfileFailed.as_str().to_owned()),
        failure_message: reading.failure.clone(),
    }
}

/// When a phase began that is told now. That something is under way may be told a moment after its WorkspaceTemplateApply was
/// made or deleted; what was so longer ago has waited since then.
fn began(deciding: &Deciding<'_>, part: &Part<'_>, phase: Phase) -> Timestamp {
    let metadata = part.seen.map(|seen| &seen.wta.metadata);
    let mark = match phase {
        Phase::Creating => metadata.and_then(|metadata| metadata.creation_timestamp.as_ref()),
        Phase::Deleting => metadata.and_then(|metadata| metadata.deletion_timestamp.as_ref()),
        _ => None,
    };
    let is_recent = |mark: &Timestamp| {
        let ago = deciding.now.duration_since(*mark);
        !ago.is_negative() && ago <= A_MOMENT
    };
    mark.map(|mark| mark.0).filter(is_recent).unwrap_or(deciding.now)
}

/// Its place in the queue, and what it waits for.
fn place(part: &Part<'_>, turns: &Turns) -> String {
    let workspace = part.seen.and_then(|seen| seen.workspace.as_ref());
    let drift = workspace.and_then(|workspace| workspace.drift.as_deref());
    let (what, need) = match drift {
        _ if part.reading.phase == Phase::Deleting => ("It is to be removed. ".to_owned(), Need::Deletion),
        Some(drift) => (
            format!("Somebody changed or removed it elsewhere: {drift}. "),
            Need::Work,
        ),
        None => (String::new(), Need::Work),
    };
    let setback = part.seen.and_then(|seen| turns::setback(seen, need));
    let tried = setback.map(|setback| setback.message.chars().take(MAX_SETBACK).collect::<String>());
    if let (Some(until), Some(tried)) = (turns.resting.get(&part.apply), &tried) {
        return format!(
            "{what}EKS does one thing at a time: it was tried, and is tried again from {until:.0} on: {tried}"
        );
    }
    let tried = tried.map_or_else(String::new, |tried| {
        format!(". It was tried, and is tried again: {tried}")
    });
    format!("{what}{}{tried}", turns.place(&part.apply))
}

/// Tells a change of one profile.
fn announce(
    deciding: &mut Deciding<'_>,
    old: Option<&FargateProfileStatus>,
    new: &FargateProfileStatus,
    reading: &Reading,
) {
    let old_failure = old.and_then(|old| old.failure_message.as_ref());
    if let Some(failure) = new
        .failure_message
        .as_ref()
        .filter(|new| old_failure != Some(*new))
    {
        let message = format!("Fargate profile {}: {failure}", new.name);
        deciding.tell(EventKind::Warning, Reason::FargateProfileFailed, &message);
        return;
    }
    if reading.is_lacking {
        let is_news = old.is_none_or(|old| old.phase != new.phase || old.message != new.message);
        if is_news {
            let lack = new.message.as_deref().unwrap_or_default();
            let message = format!("Fargate profile {}: {lack}", new.name);
            deciding.tell(
                EventKind::Warning,
                Reason::FargateProfileDependencyError,
                &message,
            );
        }
        return;
    }
    let (from, Some(to)) = (old.and_then(|old| old.phase), new.phase) else {
        return;
    };
    // What nobody has begun with is told by a condition.
    if from == Some(to) || (from.is_none() && to == Phase::Waiting) {
        return;
    }
    let reason = match to {
        Phase::Waiting if reading.awaits_approval => Reason::WaitingForApproval,
        Phase::Queued if reading.phase == Phase::Deleting => Reason::FargateProfileDeleting,
        Phase::Ready => Reason::FargateProfileReady,
        Phase::Failed => Reason::FargateProfileFailed,
        Phase::Deleting => Reason::FargateProfileDeleting,
        Phase::Waiting | Phase::Queued | Phase::Creating | Phase::Updating => Reason::FargateProfileCreating,
    };
    let text = new.message.as_deref().unwrap_or_default();
    let message = match from {
        Some(from) => format!("Fargate profile {}: {from:?} -> {to:?}: {text}", new.name),
        None => format!("Fargate profile {}: {to:?}: {text}", new.name),
    };
    deciding.tell(EventKind::Normal, reason, &message);
}

/// Says it by conditions, and says how all of them stand together.
fn say(deciding: &mut Deciding<'_>, parts: &[Part<'_>], all: &[FargateProfileStatus]) -> Profiles {
    let rows: Vec<Row<'_>> = parts.iter().map(|part| &part.reading).zip(all).collect();
    let has_failed = |(_, one): &Row<'_>| one.failure_message.is_some();
    let is_outstanding = |row: &Row<'_>| !has_failed(row) && row.1.phase != Some(Phase::Ready);
    // One that takes too long is still being made.
    let is_late = |(reading, one): &Row<'_>| {
        reading.is_late && matches!(one.phase, Some(Phase::Creating | Phase::Updating))
    };
    let is_made = |row: &Row<'_>| {
        let is_under_way = is_outstanding(row) || is_late(row);
        is_under_way && !row.0.is_going && !row.0.awaits_approval && !deciding.is_deleting()
    };
    let failed = list(&rows, has_failed, |one| one.failure_message.as_deref());
    let outstanding = list(&rows, is_outstanding, |one| one.message.as_deref());
    let made = list(&rows, is_made, |one| one.message.as_deref());
    let asks = rows
        .iter()
        .any(|row| is_outstanding(row) && row.0.awaits_approval);
    let goes = deciding.is_deleting() || rows.iter().any(|(reading, _)| reading.is_going);
    let mut wanted = rows
        .iter()
        .filter(|(reading, _)| !reading.is_going && !deciding.is_deleting())
        .peekable();
    let any_wanted = wanted.peek().is_some();
    let troubled = list(
        &rows,
        |row| has_failed(row) && !row.0.is_going,
        |one| one.failure_message.as_deref(),
    );
    let is_well = wanted.all(|(_, one)| one.ready) && troubled.is_none() && !deciding.is_deleting();

    let otherwise = if failed.is_some() {
        Reason::FargateProfileFailed
    } else if made.is_some() {
        Reason::FargateProfileCreating
    } else if deciding.is_deleting() || (goes && any_wanted) {
        Reason::FargateProfileDeleting
    } else if any_wanted {
        Reason::FargateProfileReady
    } else {
        Reason::NoFargateProfiles
    };
    let outstanding_reason = if made.is_some() {
        Reason::FargateProfileCreating
    } else if asks {
        Reason::WaitingForApproval
    } else {
        Reason::FargateProfileDeleting
    };
    let well = if deciding.is_deleting() {
        "The Fargate profiles go with the control plane"
    } else if any_wanted {
        "All Fargate profiles are ready"
    } else {
        "There are no Fargate profiles"
    };
    // What cannot be removed is no reason why something that is wanted is not there.
    let wanted_first = troubled.as_deref().or(made.as_deref()).filter(|_| !is_well);
    let why = wanted_first
        .or(failed.as_deref())
        .or(outstanding.as_deref())
        .unwrap_or(well);
    let said = |type_, status: bool, reason, message: &str| Said {
        type_,
        status: status.into(),
        note: Note::new(reason, message),
    };
    let ready = match otherwise {
        _ if is_well && any_wanted => Reason::FargateProfileReady,
        _ if is_well => Reason::NoFargateProfiles,
        _ if troubled.is_none() && made.is_some() => Reason::FargateProfileCreating,
        reason => reason,
    };
    deciding.say(said(Type::FargateProfileReady, is_well, ready, why));
    let creating = if made.is_some() {
        Reason::FargateProfileCreating
    } else {
        otherwise
    };
    deciding.say(said(
        Type::FargateProfileCreating,
        made.is_some(),
        creating,
        made.as_deref().unwrap_or_default(),
    ));
    deciding.say(said(
        Type::FargateProfileFailed,
        failed.is_some(),
        otherwise,
        failed.as_deref().unwrap_or_default(),
    ));
    match (failed, outstanding) {
        (Some(message), _) => Profiles::Failed(message),
        (None, Some(message)) => Profiles::Outstanding(Note::new(outstanding_reason, message)),
        (None, None) => Profiles::Done,
    }
}

/// A profile as it was read, and as it is told.
type Row<'a> = (&'a Reading, &'a FargateProfileStatus);

/// Those that something is true of, with what there is to say about each.
fn list(
    rows: &[Row<'_>],
    is_one: impl Fn(&Row<'_>) -> bool,
    message: impl Fn(&FargateProfileStatus) -> Option<&str>,
) -> Option<String> {
    let lines: Vec<String> = rows
        .iter()
        .filter(|row| is_one(row))
        .map(|(_, one)| format!("{}: {}", one.name, message(one).unwrap_or_default()))
        .collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Lets go of the object as far as profiles are concerned, once there are none to remove.
fn let_go(deciding: &mut Deciding<'_>) {
    let control_plane = &deciding.snapshot.control_plane;
    let is_held = metadata::has_finalizer(&control_plane.metadata, marks::FARGATE_PROFILES_FINALIZER);
    let is_wanted = !deciding.is_deleting()
        && control_plane
            .spec
            .additional_fargate_profiles
            .as_ref()
            .is_some_and(|profiles| !profiles.is_empty());
    let any = !super::unwanted(deciding, &[]).is_empty() || !deciding.snapshot.left.is_empty();
    // The last hold stays until everything is gone.
    let is_last = !metadata::has_finalizer(&control_plane.metadata, marks::CAPTCONTROLPLANE_FINALIZER);
    if is_held && !is_wanted && !any && !is_last {
        let finalizers = &mut deciding.own.remove_finalizers;
        finalizers.push(marks::FARGATE_PROFILES_FINALIZER.to_owned());
    }
}
