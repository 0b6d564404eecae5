//! What was made and the state does not have: kept whole while it is compared, redacted and cut only when it is told.

use capt_api::run::{MissingResource, RunReport};
use capt_terraform::{
    redact::{PLACEHOLDER, Redactor},
    state::{Created, State},
};

use crate::view::WorkspaceView;

/// Resources that are named in a message.
const MAX_NAMED: usize = 10;
/// Bytes of one list in the report.
const ROOM: usize = 32 * 1024;

/// What is still missing: what was, and what is new, as far as this state does not have it.
pub(crate) fn missing(
    before: &[MissingResource],
    new: &[Created],
    state: Option<&State>,
) -> Vec<MissingResource> {
    let mut all: Vec<MissingResource> = before.to_vec();
    for made in new {
        all.retain(|old| !may_be(&old.address, &made.address) || old.id.is_some() && old.id != made.id);
        all.push(MissingResource {
            address: made.address.clone(),
            id: made.id.clone(),
            unfinished: made.unfinished,
            planned: false,
            replaces: made.replaces.clone(),
            provisioner: made.provisioner.clone(),
        });
    }
    all.retain(|one| !state.is_some_and(|state| made(one).is_settled_by(state)));
    all
}

fn made(one: &MissingResource) -> Created {
    Created {
        address: one.address.clone(),
        id: one.id.clone(),
        unfinished: one.unfinished,
        replaces: one.replaces.clone(),
        provisioner: one.provisioner.clone(),
    }
}

/// Whether an address that was listed may be this one: what was redacted in it may have been anything.
pub(crate) fn may_be(listed: &str, address: &str) -> bool {
    let parts: Vec<&str> = listed.split(PLACEHOLDER).collect();
    let [first, between @ .., last] = parts.as_slice() else {
        return listed == address;
    };
    let Some(mut rest) = address.strip_prefix(first) else {
        return false;
    };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The report as it may leave: nothing secret in its lists, and no more than there is room for.
pub(crate) fn told(report: &RunReport, redactor: &Redactor) -> RunReport {
    let (missing, more) = fitting(&report.missing, redactor, ROOM);
    let cut_short = report.cut_short.clone().map(|mut cut_short| {
        let (making, more) = fitting(&cut_short.making, redactor, ROOM);
        cut_short.making = making;
        cut_short.more = cut_short.more.saturating_add(more);
        cut_short
    });
    RunReport {
        missing,
        more_missing: report.more_missing.saturating_add(more),
        cut_short,
        ..report.clone()
    }
}

/// What of it fits, and how many do not.
fn fitting(all: &[MissingResource], redactor: &Redactor, mut room: usize) -> (Vec<MissingResource>, u32) {
    let mut listed = Vec::new();
    for one in all {
        let one = MissingResource {
            address: redactor.text(&one.address),
            id: one.id.as_ref().map(|id| redactor.text(id)),
            // Half of an id is nobody's, and would be taken for another one.
            replaces: one.replaces.as_ref().map(|id| match redactor.text(id) == *id {
                true => id.clone(),
                false => String::new(),
            }),
            ..one.clone()
        };
        let bytes = serde_json::to_string(&one).map_or(0, |text| text.len() + 1);
        let Some(left) = room.checked_sub(bytes) else {
            break;
        };
        room = left;
        listed.push(one);
    }
    let more = u32::try_from(all.len() - listed.len()).unwrap_or(u32::MAX);
    (listed, more)
}

/// What is missing, by name.
pub(crate) fn missing_names(report: &RunReport) -> String {
    let mut words: Vec<String> = report.missing.iter().take(MAX_NAMED).map(in_words).collect();
    let more = report.missing.len() - words.len() + report.more_missing as usize;
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

/// What is missing, in words, with what a person can do about it: go on in spite of it or, where the Workspace goes, see to
/// it alone.
pub(crate) fn missing_words(report: &RunReport, view: &WorkspaceView) -> String {
    let is_cut_off = |one: &&MissingResource| one.provisioner.is_some();
    let what = if report.missing.iter().all(|one| one.provisioner.is_some()) {
        "Terraform takes a provisioner for done that was not"
    } else if report.missing.iter().any(|one| one.planned) {
        "what it told is lost, so that nobody knows how much of this it had made"
    } else {
        "the state does not have what it had made"
    };
    let mut then = Vec::new();
    if report.missing.iter().any(|one| one.provisioner.is_none()) {
        then.push(match view.deletion {
            None if report.missing.iter().all(|one| one.replaces.is_some()) => {
                "Delete what was made in the place of what the state has, before another try, which would make it a \
                 second time"
            }
            None => "Import or delete them before another try, which would make them a second time",
            Some(_) => {
                "Nothing destroys them, because nobody knows more of them: look for them where the providers of the \
                 module make things, and delete them by hand"
            }
        });
    }
    if view.deletion.is_none() && report.missing.iter().filter(is_cut_off).count() > 0 {
        then.push(
            "Do what a provisioner did not come to do, or have its resource made anew, and then say so",
        );
    }
    let retry = match view.deletion {
        None => format!(": {}", view.command("retry")),
        Some(_) => String::new(),
    };
    format!(
        "an operation was cut short, and {what}: {}. {}{retry}",
        missing_names(report),
        then.join(". ")
    )
}

fn in_words(one: &MissingResource) -> String {
    let place = match one.replaces.as_deref() {
        None => String::new(),
        Some("") => " in the place of what the state has".to_owned(),
        Some(before) => format!(" in the place of [id={before}]"),
    };
    if let Some(provisioner) = &one.provisioner {
        let id = one
            .id
            .as_ref()
            .map(|id| format!(" [id={id}]"))
            .unwrap_or_default();
        return format!("{}{id} (its provisioner {provisioner} was cut off)", one.address);
    }
    match (&one.id, one.unfinished) {
        (None, _) if one.planned => format!("{} (was going to be made{place}, may exist)", one.address),
        (Some(id), _) => format!("{} [id={id}]", one.address),
        (None, true) => format!("{} (was being made{place}, may exist)", one.address),
        (None, false) => one.address.clone(),
    }
}

#[cfg(test)]
mod tests;
