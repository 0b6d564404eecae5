//! When an edit of a template reaches an owner's WorkspaceTemplateApply.
//!
//! A template that many use is rolled out to one of them first and then to a few at a time, and goes no further when it
//! fails somewhere. Every owner decides for itself, by an order that all of them compute alike, so that nobody has to
//! coordinate them.

use super::{
    seen::OwnedSeen,
    standing::{Standing, standing},
};

/// How many get an edit at the same time, after the first one is done with it.
const FEW: usize = 3;

/// Another WorkspaceTemplateApply with an owner that uses the same template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// `namespace/name`.
    pub key: String,
    /// The revision that is released to it: `spec.templateRevision`.
    pub released: Option<String>,
    /// It is [`Standing::Ready`].
    pub is_ready: bool,
    /// It was ready once, so that there is something to lose.
    pub was_ready: bool,
    /// It is [`Standing::Failed`] or [`Standing::Refused`].
    pub has_failed: bool,
    /// It gets nothing new and does nothing now: it is paused or going, or waits for a person.
    pub is_idle: bool,
}

impl Peer {
    /// A WorkspaceTemplateApply as a peer of others.
    #[must_use]
    pub fn of(seen: &OwnedSeen) -> Self {
        let standing = standing(seen);
        let namespace = seen.wta.metadata.namespace.as_deref().unwrap_or_default();
        Self {
            key: format!("{namespace}/{}", seen.name()),
            released: seen.wta.spec.template_revision.clone(),
            is_ready: standing == Standing::Ready,
            was_ready: was_ready(seen),
            has_failed: matches!(standing, Standing::Failed { .. } | Standing::Refused { .. }),
            is_idle: matches!(
                standing,
                Standing::Going { .. } | Standing::AwaitsApproval { .. } | Standing::Waiting { .. }
            ),
        }
    }
}

/// Which revision counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// The revision to write.
    pub revision: Option<String>,
    /// Why it is not the current one.
    pub held_back: Option<String>,
}

/// Decides which revision of its template a WorkspaceTemplateApply gets. `current` is the template's revision now, if
/// there is a template; `peers` are all others with an owner that use it.
#[must_use]
pub fn release(own: Option<&OwnedSeen>, current: Option<&str>, peers: &[Peer]) -> Released {
    let released = own.and_then(|own| own.wta.spec.template_revision.clone());
    let Some(current) = current else {
        return Released {
            revision: released,
            held_back: None,
        };
    };
    let now = Released {
        revision: Some(current.to_owned()),
        held_back: None,
    };
    let (Some(own), Some(before)) = (own, released) else {
        return now;
    };
    if before == current || has_nothing_to_lose(own, &before) {
        return now;
    }
    let own = Peer::of(own);
    match stands_in_the_way(&own, current, peers) {
        None => now,
        Some(why) => Released {
            revision: Some(before),
            held_back: Some(format!("Revision {current} of the template waits: {why}")),
        },
    }
}

/// Whether [`release()`] looks at peers. It need not be told any otherwise, which saves looking at everybody for everybody.
#[must_use]
pub fn needs_peers(own: Option<&OwnedSeen>, current: Option<&str>) -> bool {
    let (Some(own), Some(current)) = (own, current) else {
        return false;
    };
    let released = own.wta.spec.template_revision.as_deref();
    released.is_some_and(|released| released != current && !has_nothing_to_lose(own, released))
}

/// Who gets the current revision of a template next: those whose owners have to decide again when one of its users
/// changes. All others would only find that they still have to wait.
#[must_use]
pub fn next_in_line<'a>(current: &str, users: &'a [Peer]) -> Vec<&'a str> {
    let has_it = |peer: &&Peer| peer.released.as_deref() == Some(current);
    if users.iter().filter(has_it).any(|peer| peer.has_failed) {
        return Vec::new();
    }
    let mut waiting: Vec<&str> = users
        .iter()
        .filter(|peer| !has_it(peer) && !peer.is_idle)
        .map(|peer| peer.key.as_str())
        .collect();
    waiting.sort_unstable();
    waiting.truncate(room(current, users.iter()));
    waiting
}

/// An edit may be what repairs it, and the revision that it waits for may not be to be had any more.
fn has_nothing_to_lose(own: &OwnedSeen, released: &str) -> bool {
    let status = own.wta.status.as_ref();
    let rendered = status.and_then(|status| status.template_revision.as_deref());
    let has_failed = matches!(standing(own), Standing::Failed { .. } | Standing::Refused { .. });
    !was_ready(own) || has_failed || rendered.is_some_and(|rendered| rendered != released)
}

fn was_ready(seen: &OwnedSeen) -> bool {
    let status = seen.wta.status.as_ref();
    seen.holds() || status.is_some_and(|status| status.ready_revision.is_some())
}

/// How many may get a revision now.
fn room<'a>(current: &str, others: impl Iterator<Item = &'a Peer> + Clone) -> usize {
    let mut has_it = others
        .clone()
        .filter(|peer| peer.released.as_deref() == Some(current));
    let most = if has_it.any(|peer| peer.is_ready) { FEW } else { 1 };
    most.saturating_sub(others.filter(|peer| is_busy(current, peer)).count())
}

/// Whether a revision is being rolled out to somebody who has something to lose.
fn is_busy(current: &str, peer: &Peer) -> bool {
    peer.released.as_deref() == Some(current) && peer.was_ready && !peer.is_ready && !peer.is_idle
}

fn stands_in_the_way(own: &Peer, current: &str, peers: &[Peer]) -> Option<String> {
    let has_it = |peer: &&Peer| peer.released.as_deref() == Some(current);
    let others = || peers.iter().filter(|peer| peer.key != own.key);
    if let Some(failed) = others().filter(has_it).find(|peer| peer.has_failed) {
        return Some(format!(
            "it failed for {}. Mend the template, or what stands in its way there",
            failed.key
        ));
    }
    let room = room(current, others());
    let ahead = others().filter(|peer| !has_it(peer) && !peer.is_idle && peer.key < own.key);
    // Who and how many these are changes with every one of them, and would be told by everybody.
    (ahead.count() >= room).then(|| "others get it first, one and then a few at a time".to_owned())
}
