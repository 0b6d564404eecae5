//! Taking, renewing and giving back the lock.

use jiff::{SignedDuration, Timestamp};

use super::{DURATION_SECONDS, LockInfo, RENEW_SECONDS};

/// A Lease, as far as it matters here: what it is, and what it is to become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseState {
    /// `spec.holderIdentity`: the id of the lock. Nobody holds it if this is absent or empty.
    pub holder: Option<String>,
    /// `spec.leaseDurationSeconds`.
    pub duration_seconds: Option<u32>,
    /// `spec.acquireTime`.
    pub acquired: Option<Timestamp>,
    /// `spec.renewTime`.
    pub renewed: Option<Timestamp>,
    /// `spec.leaseTransitions`.
    pub transitions: u32,
    /// Terraform's annotation.
    pub info: Option<LockInfo>,
    /// Our annotation: the runner that holds it, and the lock that this is said of.
    pub mark: Option<String>,
}

impl LeaseState {
    /// The runner that holds it, if it is one of ours.
    ///
    /// Plain Terraform leaves annotations that it does not know in place when it breaks a lock and takes it, so a mark
    /// only counts for the lock that it names.
    #[must_use]
    pub fn runner(&self) -> Option<&str> {
        self.mark
            .as_ref()?
            .strip_prefix(self.holder.as_deref()?)?
            .strip_prefix(' ')
    }
}

/// Somebody who wants the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Which runner. No two that run at the same time may have the same name, and one that is started again must have
    /// the name that it had, so that it finds its own locks.
    pub runner: String,
    /// What to write beside the lock; its id names the lock and is new for each operation.
    pub info: LockInfo,
    /// Seconds that it takes at most to stop what is done under the lock, once the lock is lost.
    pub stop_seconds: u32,
}

/// Whether the lock can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Write this, guarded by the resourceVersion that was read; if that succeeds the lock is ours.
    Take {
        /// What the Lease is to be.
        lease: Box<LeaseState>,
        /// Why it can be had.
        because: Taken,
    },
    /// Somebody else has it.
    Held(Box<Holder>),
}

/// Why a lock could be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// There was no Lease; this one is to be created.
    Absent,
    /// Nobody held it.
    Free,
    /// We held it in an earlier life, or already do.
    Own,
    /// Another runner held it and did not renew it. Worth an event.
    Expired {
        /// That runner.
        runner: String,
    },
}

/// Who has the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The id of the lock.
    pub id: String,
    /// The runner, if it is one of ours.
    pub runner: Option<String>,
    /// What Terraform wrote beside it, if it can be read.
    pub info: Option<LockInfo>,
    /// When it can be taken unless it is renewed; absent if it never expires, so that a person must decide.
    pub until: Option<Timestamp>,
}

/// Whether the lock can be had.
///
/// `unchanged_since` is when we first saw the Lease exactly as it is now.
#[must_use]
pub fn acquire(
    lease: Option<&LeaseState>,
    unchanged_since: Timestamp,
    claim: &Claim,
    now: Timestamp,
) -> Decision {
    let Some(lease) = lease else {
        return take(claim, 0, Taken::Absent, now);
    };
    let Some(id) = lease.holder.as_ref().filter(|holder| !holder.is_empty()) else {
        return take(claim, lease.transitions.saturating_add(1), Taken::Free, now);
    };
    let Some(runner) = lease.runner() else {
        return held(lease, id, None);
    };
    if runner == claim.runner {
        return take(
            claim,
            lease.transitions.saturating_add(u32::from(*id != claim.info.id)),
            Taken::Own,
            now,
        );
    }
    let seconds = lease.duration_seconds.unwrap_or(DURATION_SECONDS);
    let until = after(unchanged_since, seconds);
    if now >= until {
        let because = Taken::Expired {
            runner: runner.to_owned(),
        };
        return take(claim, lease.transitions.saturating_add(1), because, now);
    }
    held(lease, id, Some(until))
}

/// What a holder should do about its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing before this time.
    Wait(Timestamp),
    /// Write this, guarded by the resourceVersion that was read.
    Write(Box<LeaseState>),
    /// Stop: somebody else has it or may have it by now.
    Lost,
}

/// What a holder should do about its lock.
///
/// `lease` is the Lease as it was last read, and `renewed` when we last *began* a renewal that succeeded, by our clock.
#[must_use]
pub fn renew(lease: Option<&LeaseState>, claim: &Claim, renewed: Timestamp, now: Timestamp) -> Renewal {
    let ours = |lease: &&LeaseState| {
        lease.holder.as_ref() == Some(&claim.info.id) && lease.runner() == Some(claim.runner.as_str())
    };
    let Some(lease) = lease.filter(ours) else {
        return Renewal::Lost;
    };
    if now >= after(renewed, DURATION_SECONDS) {
        return Renewal::Lost;
    }
    let due = after(renewed, RENEW_SECONDS);
    if now < due {
        return Renewal::Wait(due);
    }
    Renewal::Write(Box::new(LeaseState {
        renewed: Some(now),
        ..lease.clone()
    }))
}

/// The Lease when we are done: as Terraform leaves it. `None` if it is not ours to give back.
#[must_use]
pub fn release(lease: &LeaseState, claim: &Claim) -> Option<LeaseState> {
    let ours = lease.holder.as_ref() == Some(&claim.info.id);
    ours.then(|| LeaseState {
        transitions: lease.transitions,
        ..LeaseState::default()
    })
}

fn take(claim: &Claim, transitions: u32, because: Taken, now: Timestamp) -> Decision {
    let lease = LeaseState {
        holder: Some(claim.info.id.clone()),
        duration_seconds: Some(DURATION_SECONDS.saturating_add(claim.stop_seconds)),
        acquired: Some(now),
        renewed: Some(now),
        transitions,
        info: Some(claim.info.clone()),
        mark: Some(format!("{} {}", claim.info.id, claim.runner)),
    };
    Decision::Take {
        lease: Box::new(lease),
        because,
    }
}

fn held(lease: &LeaseState, id: &str, until: Option<Timestamp>) -> Decision {
    Decision::Held(Box::new(Holder {
        id: id.to_owned(),
        runner: lease.runner().map(str::to_owned),
        info: lease.info.clone(),
        until,
    }))
}

fn after(time: Timestamp, seconds: u32) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(i64::from(seconds)))
        .unwrap_or(Timestamp::MAX)
}
