//! The end of an operation: what is remembered, reported and said.

mod remember;
mod report;
mod say;
mod settle;

use capt_api::{
    conditions::workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    foreign::marks::RECONCILE_REQUESTED,
    marks::{APPROVED, RETRY_REQUESTED},
    run::PlanReport,
};
use capt_terraform::diagnostics::Class;

use super::{Finished, Run, Stage, Verdict, Why, failure, follow::Followed};
use crate::{
    api::words,
    decide::{ConnectionFacts, What},
    engine::{Failure, FailureKind},
    events::News,
    workspace::{Standing, outcome},
};

/// How an operation ended.
enum End {
    /// As it should.
    Well(Verdict),
    /// With a failure.
    Badly(Box<Failure>),
    /// Because it was to be destroyed instead, or not to be destroyed any more.
    Cancelled,
    /// Because the runner stops.
    Interrupted,
}

impl End {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Well(_) => outcome::SUCCEEDED,
            Self::Badly(_) => outcome::FAILED,
            Self::Cancelled => outcome::CANCELLED,
            Self::Interrupted => outcome::INTERRUPTED,
        }
    }
}

impl Run<'_> {
    /// Says everything that there is to say.
    pub(super) async fn finish(
        mut self,
        result: Result<Verdict, Failure>,
        kept: Result<(), Failure>,
        followed: Option<Followed>,
    ) -> Finished {
        let is_kept = kept.is_ok();
        let mut end = self.judge(result, kept);
        let has_outputs = match &end {
            End::Well(Verdict::Settled { .. } | Verdict::Told) => true,
            End::Well(Verdict::Held { .. }) => self.is_taken_up(),
            _ => false,
        };
        let (mut unhanded, mut is_tried_again) = (None, false);
        if has_outputs && let Err(failure) = self.hand_out().await {
            match end {
                // The plan can be approved all the same.
                End::Well(Verdict::Held { .. }) => {
                    let clean = failure::redacted(&failure, &self.gate.redactor());
                    unhanded = Some(failure::message(&clean, Stage::Publish));
                    is_tried_again = failure.kind.is_transient();
                }
                _ => {
                    self.stage = Stage::Publish;
                    end = End::Badly(Box::new(failure));
                }
            }
        }
        let now = self.ctx.now();
        self.ctx
            .options
            .metrics
            .ended(crate::workspace::kind(self.what), end.outcome(), self.took());
        self.settle_creation(now).await;
        let message = self.message(&end);
        let looked_for = self.asked_look(&end);
        if let Some(followed) = &followed {
            self.print(&followed.log);
        }
        let is_quiet =
            self.is_old_news(&end) && followed.as_ref().is_none_or(|followed| !followed.is_published);
        let settled = self.settled_generation();
        let is_at_leisure = self.is_poll || looked_for.is_some() || self.is_another_try();
        self.remember(&end, is_kept, now);
        if is_tried_again {
            self.record.connection.facts = ConnectionFacts::Doubted;
        }
        if let (false, Some(followed)) = (is_quiet, followed) {
            let is_reported = self
                .report(&end, is_kept, message.as_deref(), followed, now)
                .await;
            self.end_takeover(is_reported).await;
        }
        self.say(&end, message.as_deref(), unhanded.as_deref(), settled, now);
        // Somebody else may have written into the status, which nothing but a look at leisure can tell from our own words
        // that come late.
        if is_at_leisure && Standing::read(&self.view.status).fields() != self.record.standing.fields() {
            self.record.told.forget_conditions();
        }
        if let Err(error) = self.ctx.tell(&self.view, &mut self.record).await {
            tracing::warn!(
                workspace = self.view.name,
                error = words(&error),
                "a status was not written"
            );
        }
        self.tell_people(&end, message.as_deref()).await;
        if let Some(words) = &unhanded {
            self.ctx
                .herald
                .tell(&self.view, Stage::Publish.news(), words)
                .await;
        }
        if let Some(token) = looked_for {
            let note = format!("it was looked at, as was asked for at {token}");
            self.ctx.herald.tell(&self.view, News::Looked, &note).await;
        }
        self.ctx.learned.keep(false).await;
        // What is left of it is told by others, who do not know what is secret.
        self.record.report = crate::report::told(&self.record.report, &self.gate.redactor());
        Finished {
            view: self.view,
            record: self.record,
        }
    }

    /// The generation of the Workspace in which everything was last as it should be, if anybody remembers one.
    pub(super) fn settled_generation(&self) -> Option<i64> {
        let memory = self.record.memory.as_ref()?;
        memory.settled.as_ref().map(|about| about.generation)
    }

    /// What an earlier Workspace left is told about this one now, and need not be left any more.
    async fn end_takeover(&mut self, is_reported: bool) {
        let Some(at) = self.left_at.take().filter(|_| is_reported) else {
            return;
        };
        if let Err(error) = self.ctx.store.clear_list(&at).await {
            tracing::warn!(
                workspace = self.view.name,
                error = words(&error),
                "a list was not taken away"
            );
        }
    }

    /// Whether somebody asked for another try, and this is it.
    fn is_another_try(&self) -> bool {
        let answered = self.record.memory.as_ref().map(|memory| &memory.answered);
        let before = answered.and_then(|answered| answered.get(RETRY_REQUESTED));
        self.requests.retry.is_some() && self.requests.retry.as_ref() != before
    }

    /// The wish for a look that is fulfilled by this end.
    fn asked_look(&self, end: &End) -> Option<String> {
        let is_look = matches!(self.what, What::Converge) && matches!(end, End::Well(_) | End::Badly(_));
        let answered = self.record.memory.as_ref().map(|memory| &memory.answered);
        let before = answered.and_then(|answered| answered.get(RECONCILE_REQUESTED));
        let asked = self.requests.look.as_ref().filter(|asked| Some(*asked) != before);
        asked.filter(|_| is_look).cloned()
    }

    /// Writes what Terraform printed to the runner's own log, for who asked for that. It passed the redactor.
    fn print(&self, log: &str) {
        if self.view.for_provider.enable_terraform_cli_logging == Some(true) && !log.is_empty() {
            tracing::info!(
                workspace = self.view.name,
                namespace = self.view.namespace,
                operation = crate::workspace::kind(self.what),
                "Terraform printed:\n{log}"
            );
        }
    }

    /// Whether nobody waits for this end, and it is the same as the last time.
    fn is_old_news(&self, end: &End) -> bool {
        let Some(memory) = self.record.memory.as_ref().filter(|_| self.is_poll) else {
            return false;
        };
        match end {
            End::Well(Verdict::Settled { applied: None }) => {
                memory.settled.is_some()
                    && !self.is_outdated(self.record.report.plan.as_ref())
                    && !self.ends_an_approval()
            }
            End::Well(Verdict::Told) => memory.settled.is_some(),
            End::Well(Verdict::Rescued) => true,
            End::Well(Verdict::Held { plan, .. }) => {
                memory.held.as_ref().is_some_and(|held| held.plan == *plan)
            }
            _ => false,
        }
    }

    /// Whether there is an approval of which it was not told yet that it counts no more.
    fn ends_an_approval(&self) -> bool {
        let told = self.record.report.answered.get(APPROVED);
        self.requests.approved.is_some() && self.requests.approved.as_ref() != told
    }

    /// Whether a plan speaks of what is not so any more, now that there is nothing to do.
    fn is_outdated(&self, plan: Option<&PlanReport>) -> bool {
        let is_drifted = self.record.standing.has_reason(Type::Drifted, Reason::DriftFound);
        plan.is_some_and(|plan| plan.awaits_approval || (!plan.drift.is_empty() && !is_drifted))
    }

    /// Why an operation ended is known better here than where it ended.
    fn judge(&self, result: Result<Verdict, Failure>, kept: Result<(), Failure>) -> End {
        let failure = match (result, kept) {
            (Ok(verdict), Ok(())) => return End::Well(verdict),
            (Ok(_), Err(failure)) => failure,
            (Err(failure), _) if failure.kind != FailureKind::Cancelled => failure,
            (Err(failure), kept) => match (self.stop.why(), kept) {
                (Some(Why::Unwanted), _) => return End::Cancelled,
                (Some(Why::Shutdown), _) => return End::Interrupted,
                (Some(Why::Timeout), _) => Failure {
                    message: format!("it took longer than {} s and was stopped", self.took().as_secs()),
                    kind: FailureKind::Terraform(Class::Timeout),
                    diagnostics: Vec::new(),
                    ..failure
                },
                (Some(Why::LockLost), _) => Failure {
                    message: "the lock of the state was lost, and the operation was stopped".to_owned(),
                    kind: FailureKind::Terraform(Class::Locked),
                    diagnostics: Vec::new(),
                    ..failure
                },
                (Some(Why::StateLost), Err(failure)) => failure,
                (Some(Why::StateLost) | None, _) => failure,
            },
        };
        End::Badly(Box::new(failure))
    }
}
