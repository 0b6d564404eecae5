//! Another try, as a person asks for it on a control plane: passed on to what is stuck, and to nothing else.
//!
//! What is well would run without its turn. A request that could not be passed on yet is kept until it can be. What is
//! well by itself and whose outputs are nowhere, or tell that an upgrade changed nothing, is stuck too: whoever runs it has to
//! look at it and hand them out again.

use capt_api::{
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlaneState as State},
    conditions::{
        Word as _,
        captcontrolplane::{CAPTControlPlaneCondition as Type, CAPTControlPlaneReason as Reason},
        find_condition,
        workspacetemplateapply::WorkspaceTemplateApplyReason as ApplyReason,
    },
    marks,
};

use super::{
    connection,
    deciding::Deciding,
    kubeconfig::{self, Source},
    setup::{Located, locate},
    snapshot::Snapshot,
    taking,
};
use crate::owned::{OwnedSeen, Standing, gave_up, standing};

/// Whether there is anything to try again. `is_late` says that it takes longer than it may.
fn is_stuck(seen: &OwnedSeen, is_late: bool) -> bool {
    match standing(seen) {
        Standing::Failed { .. } | Standing::Refused { .. } | Standing::Retrying { .. } => true,
        Standing::Working
        | Standing::Waiting {
            reason: ApplyReason::WaitingForTurn,
            ..
        } => is_late,
        Standing::Going { .. } => is_late || seen.trouble.is_some() || gave_up(seen).is_some(),
        Standing::Waiting { .. } | Standing::AwaitsApproval { .. } | Standing::Ready => false,
    }
}

/// Whether the EKS cluster is made, and yet nobody can be told how to reach it, because its connection Secret is not there
/// or not whole.
fn lacks_outputs(snapshot: &Snapshot, eks: &OwnedSeen) -> bool {
    if standing(eks) != Standing::Ready {
        return false;
    }
    let Ok(Located {
        endpoint,
        doubt: None,
    }) = locate(snapshot, eks, true)
    else {
        return true;
    };
    let needed = match kubeconfig::source(&snapshot.control_plane.spec, &endpoint.host) {
        Source::Output => "kubeconfig",
        Source::AwsIam => "cluster_certificate_authority_data",
    };
    connection::output(snapshot, eks, needed).is_err()
}

/// Whether this is why it was said last that it is ready or not.
fn was_said(status: &CAPTControlPlaneStatus, reason: Reason) -> bool {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    find_condition(conditions, Type::Ready.as_str()).is_some_and(|ready| ready.reason == reason.as_str())
}

impl<'a> Deciding<'a> {
    /// What has to be passed on to one of the children.
    pub(super) fn retry_for(&self, seen: Option<&OwnedSeen>, is_late: bool) -> Option<&'a str> {
        let retry = self.retry()?;
        let seen = seen?;
        let is_eks = self.found.usable().is_some_and(|eks| eks.uid() == seen.uid());
        let is_eks_stuck = is_eks && self.tells_too_little(seen) && taking::others_rest(self, seen.name());
        let is_stuck = is_stuck(seen, is_late) || is_eks_stuck;
        is_stuck.then_some(retry)
    }

    /// Keeps the request for the EKS cluster while others are at work: it is well by itself, and would begin at once.
    pub(super) fn hold_back_retry(&mut self, eks: Option<&OwnedSeen>) {
        let waits =
            eks.is_some_and(|eks| self.tells_too_little(eks) && !taking::others_rest(self, eks.name()));
        self.retry_is_kept |= waits;
    }

    fn tells_too_little(&self, eks: &OwnedSeen) -> bool {
        // An upgrade was applied and changed nothing, as it was told.
        lacks_outputs(self.snapshot, eks) || was_said(&self.status, Reason::VersionNotReached)
    }

    /// One that nothing can be passed on to now.
    pub(super) fn keep_retry_for(&mut self, seen: Option<&OwnedSeen>, is_late: bool) {
        self.retry_is_kept |= self.retry_for(seen, is_late).is_some();
    }

    /// Whether the control plane said of itself that something takes too long or went wrong.
    pub(super) fn was_unwell(&self) -> bool {
        matches!(self.status.state, Some(State::Failed | State::Degraded))
    }

    /// Whether the control plane said of itself that a change of it waits for somebody who approves it or ends a pause.
    pub(super) fn waited_for_person(&self) -> bool {
        let waits = [Reason::WaitingForApproval, Reason::Paused];
        waits.into_iter().any(|reason| was_said(&self.status, reason))
    }

    /// Forgets the request where it is passed on by now: it would restart everything for ever. Says whether it did.
    pub(super) fn answer_retry(&mut self) -> bool {
        let is_answered = self.retry().is_some() && !self.retry_is_kept;
        if is_answered {
            let mark = marks::RETRY_REQUESTED.to_owned();
            self.own.annotations.insert(mark, None);
        }
        is_answered
    }
}
