//! What is remembered of an operation.

use capt_api::{
    foreign::marks::RECONCILE_REQUESTED,
    marks::{APPROVED, IN_TURN, MEND, PLAN_REQUESTED, RETRY_REQUESTED, UNLOCK},
};
use k8s_openapi::jiff::Timestamp;

use super::{
    super::{Run, Verdict},
    End,
};
use crate::{
    decide::{ConnectionFacts, Failed, Held, Looked, Memory, StateFacts, What},
    engine::FailureKind,
    inputs,
};

impl Run<'_> {
    /// Takes note of how it ended.
    pub(super) fn remember(&mut self, end: &End, is_kept: bool, now: Timestamp) {
        let about = self.about.clone();
        let requests = self.requests.clone();
        let memory: &mut Memory = self.record.memory.get_or_insert_default();
        memory.looked = Some(Looked::At(now));
        // As long as nobody looked into a backend, it may hold anything.
        memory.is_unfinished =
            !is_kept || matches!(end, End::Badly(failure) if failure.kind == FailureKind::BackendInModule);
        match end {
            End::Well(Verdict::Settled { .. } | Verdict::Told) => {
                memory.settled = Some(about);
                memory.was_settled = true;
                memory.made = Some(inputs::asked(&self.view));
                memory.held = None;
                memory.failed = None;
                // An approval lasts until everything is as it should be, whether what it names was done, failed halfway
                // and was finished by other plans, or is not needed any more. If the runner ends before this is
                // written, nothing is destroyed twice: the next plan is made from the state that was written, finds
                // nothing to do, and ends here as well.
                if matches!(end, End::Well(Verdict::Settled { .. }))
                    && let Some(approved) = requests.approved
                {
                    memory.answered.insert(APPROVED.to_owned(), approved);
                }
            }
            End::Well(Verdict::Held { plan, .. }) => {
                memory.settled = None;
                memory.failed = None;
                memory.held = Some(Held {
                    plan: plan.clone(),
                    about,
                });
            }
            // A plan that waits and is not what would happen any more has to be made anew.
            End::Well(Verdict::Planned { plan, .. }) => {
                memory.held = memory.held.take().filter(|held| held.plan == *plan);
            }
            End::Badly(_) if self.what == What::Plan => {}
            End::Badly(failure) => {
                // A pause in between makes another generation, and nothing better.
                let before = memory
                    .failed
                    .take()
                    .filter(|failed| failed.about.hash == about.hash);
                let has_acted = self.stage.acts() && matches!(failure.kind, FailureKind::Terraform(_));
                memory.settled = None;
                memory.held = None;
                memory.made = memory.made.take().filter(|_| !self.stage.acts());
                memory.failed = Some(Failed {
                    what: self.what,
                    about,
                    is_transient: failure.kind.is_transient(),
                    has_acted,
                    count: before.map_or(1, |failed| failed.count.saturating_add(1)),
                    at: now,
                });
            }
            End::Well(Verdict::Destroyed | Verdict::Rescued) => {
                memory.failed = None;
                memory.made = None;
            }
            End::Cancelled | End::Interrupted => {
                memory.settled = None;
                memory.made = memory.made.take().filter(|_| !self.stage.acts());
            }
        }
        if matches!(end, End::Well(_) | End::Badly(_)) {
            let answered = match self.what {
                What::Plan => vec![(PLAN_REQUESTED, requests.plan)],
                _ => vec![
                    (RETRY_REQUESTED, requests.retry),
                    (RECONCILE_REQUESTED, requests.look),
                    (UNLOCK, requests.unlock),
                    // What failed is still to be mended, when it is tried again.
                    (
                        MEND,
                        requests
                            .mend
                            .filter(|token| token != IN_TURN && matches!(end, End::Well(_))),
                    ),
                ],
            };
            for (mark, token) in answered {
                let Some(token) = token else { continue };
                memory.answered.insert(mark.to_owned(), token);
            }
        }
        // What a run could not write, the next one writes.
        if self.what == What::Converge {
            self.record.connection.facts = ConnectionFacts::Fine;
        }
        self.record.is_state_doubted = match end {
            End::Badly(failure) => {
                failure.kind == FailureKind::StateMissing
                    || (self.record.is_state_doubted && self.state.is_none())
            }
            _ => false,
        };
        self.record.state = match end {
            End::Well(Verdict::Destroyed) => Some(StateFacts::Nothing),
            _ => None,
        };
        self.record.report.missing = self.still_missing();
        // Where all that is listed is there again, so is what there was no room for.
        if self.record.report.missing.is_empty() {
            self.record.report.more_missing = 0;
        }
    }
}
