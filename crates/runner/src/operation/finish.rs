//! The end of an operation: what is remembered, reported and said.

use std::collections::BTreeMap;

use capt_api::{
    approval,
    conditions::{
        ConditionStatus,
        workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    },
    foreign::marks::{EXTERNAL_CREATE_FAILED, EXTERNAL_CREATE_SUCCEEDED, RECONCILE_REQUESTED},
    marks::{APPROVED, PLAN_REQUESTED, RETRY_REQUESTED},
    run::{LOG_KEY, PlanReport, RunReport},
};
use capt_terraform::diagnostics::Class;
use k8s_openapi::jiff::Timestamp;

use super::{
    Finished, Run, Stage, Verdict, Why,
    failure::{self, own},
    follow::Followed,
    session::seconds,
};
use crate::{
    api::words,
    connection,
    decide::{Failed, Held, Looked, Memory, StateFacts, What},
    engine::{Failure, FailureKind},
    events::News,
    report::{self, Page},
    workspace::{Handle, is_creation_pending, outcome},
};

/// How an operation ended.
enum End {
    /// As it should.
    Well(Verdict),
    /// With a failure.
    Badly(Box<Failure>),
    /// Because it was to be destroyed instead.
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
        if let End::Well(Verdict::Settled { .. } | Verdict::Told) = &end
            && let Err(failure) = self.hand_out().await
        {
            self.stage = Stage::Publish;
            end = End::Badly(Box::new(failure));
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
        self.remember(&end, is_kept, now);
        if let (false, Some(followed)) = (is_quiet, followed) {
            self.report(&end, is_kept, message.as_deref(), followed, now)
                .await;
        }
        self.say(&end, message.as_deref(), now);
        if let Err(error) = self.ctx.tell(&self.view, &mut self.record).await {
            tracing::warn!(
                workspace = self.view.name,
                error = words(&error),
                "a status was not written"
            );
        }
        self.tell_people(&end, message.as_deref()).await;
        if let Some(token) = looked_for {
            let note = format!("it was looked at, as was asked for at {token}");
            self.ctx.herald.tell(&self.view, News::Looked, &note).await;
        }
        self.ctx.learned.keep(false).await;
        Finished {
            view: self.view,
            record: self.record,
        }
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
                (Some(Why::Deletion), _) => return End::Cancelled,
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

    /// Hands the outputs out.
    async fn hand_out(&mut self) -> Result<(), Failure> {
        let Some(state) = &self.state else { return Ok(()) };
        let open = state.outputs.iter().filter(|(_, output)| !output.sensitive);
        // Others compute with outputs, so that one which has a secret in it is left out and never altered: it is in the
        // connection secret.
        let outputs: BTreeMap<_, _> = open
            .filter(|(_, output)| self.gate.value(&output.value) == output.value)
            .map(|(name, output)| (name.clone(), output.value.clone()))
            .collect();
        self.record.standing.outputs = Some(outputs);
        match connection::publish(&self.ctx.client, &self.view, &state.outputs).await {
            Ok(_) => Ok(()),
            Err(error) => {
                let is_transient = matches!(
                    &error,
                    connection::ConnectionError::Call { source, .. } if source.is_transient()
                );
                let class = match is_transient {
                    true => Class::Network,
                    false => Class::Other,
                };
                Err(own(class, words(&error)))
            }
        }
    }

    /// Writes down how a creation ended, also one that an earlier runner began and did not live to tell.
    async fn settle_creation(&mut self, now: Timestamp) {
        if !is_creation_pending(&self.view) {
            return;
        }
        let has_something = self.state.as_ref().is_some_and(|state| !state.is_empty());
        let mark = match has_something {
            true => EXTERNAL_CREATE_SUCCEEDED,
            false => EXTERNAL_CREATE_FAILED,
        };
        let annotations = BTreeMap::from([(mark, Some(seconds(now)))]);
        let handle = Handle::new(&self.ctx.client, &self.view);
        match handle.mark(&self.view, &annotations, false).await {
            Ok(view) => self.view = view,
            Err(error) => {
                tracing::warn!(
                    workspace = self.view.name,
                    error = words(&error),
                    "a mark was not written"
                );
            }
        }
    }

    fn message(&self, end: &End) -> Option<String> {
        let text = match end {
            End::Badly(failure) => {
                let mut text = failure::message(failure, self.stage);
                if self.what == What::Destroy
                    && let Some(left) = self.state.as_ref().and_then(failure::left)
                {
                    text.push_str("; ");
                    text.push_str(&left);
                }
                text
            }
            End::Well(Verdict::Held { plan, summary }) => format!(
                "plan {plan} would destroy or replace something that works ({summary}) and waits for an approval: {}",
                self.how_to_approve(plan)
            ),
            End::Well(Verdict::Planned { plan, summary }) => format!("plan {plan}: {summary}"),
            End::Cancelled => "stopped, because everything is to be destroyed".to_owned(),
            End::Interrupted => "stopped, because the runner stops".to_owned(),
            End::Well(_) => return None,
        };
        Some(self.gate.text(&text))
    }

    /// What a person types to approve a plan.
    fn how_to_approve(&self, plan: &str) -> String {
        let mut text = format!("capt approve workspace/{}", self.view.name);
        if let Some(namespace) = &self.view.namespace {
            text.push_str(&format!(" -n {namespace}"));
        }
        text.push_str(&format!(" --plan {plan}"));
        let answered = self.record.memory.as_ref().map(|memory| &memory.answered);
        let used_up = answered.and_then(|answered| answered.get(APPROVED));
        let given = self.requests.approved.as_deref();
        if approval::is_used_up(given, plan, used_up.map(String::as_str)) {
            text.push_str(". An approval counts once, and the one that it has is used up");
        }
        text
    }

    fn remember(&mut self, end: &End, is_kept: bool, now: Timestamp) {
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
                let before = memory.failed.take().filter(|failed| failed.about == about);
                memory.settled = None;
                memory.held = None;
                memory.failed = Some(Failed {
                    what: self.what,
                    about,
                    is_transient: failure.kind.is_transient(),
                    count: before.map_or(1, |failed| failed.count.saturating_add(1)),
                    at: now,
                });
            }
            End::Well(Verdict::Destroyed | Verdict::Rescued) => memory.failed = None,
            End::Cancelled | End::Interrupted => memory.settled = None,
        }
        if matches!(end, End::Well(_) | End::Badly(_)) {
            let answered = match self.what {
                What::Plan => vec![(PLAN_REQUESTED, requests.plan)],
                _ => vec![
                    (RETRY_REQUESTED, requests.retry),
                    (RECONCILE_REQUESTED, requests.look),
                ],
            };
            for (mark, token) in answered {
                let Some(token) = token else { continue };
                if mark == RETRY_REQUESTED {
                    self.record.report.missing.clear();
                }
                memory.answered.insert(mark.to_owned(), token);
            }
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
        self.record.report.missing =
            report::missing(&self.record.report.missing, &self.missing, self.state.as_ref());
    }

    async fn report(
        &mut self,
        end: &End,
        is_kept: bool,
        message: Option<&str>,
        followed: Followed,
        now: Timestamp,
    ) {
        let memory = self.record.memory.clone().unwrap_or_default();
        let mut report = RunReport {
            missing: self.record.report.missing.clone(),
            answered: memory.answered.clone(),
            ..followed.report
        };
        if let Some(operation) = &mut report.operation {
            operation.ended_at = is_kept.then_some(now);
            operation.outcome = Some(end.outcome().to_owned());
            operation.message = message.map(str::to_owned);
            if let (End::Badly(_), Some(failed)) = (end, &memory.failed) {
                operation.failures = failed.count;
                operation.transient = failed.is_transient;
            }
        }
        let is_over = match end {
            End::Well(Verdict::Settled { applied: Some(_) } | Verdict::Destroyed) => true,
            // What somebody else changed goes on being told, although it is no reason to do anything.
            End::Well(Verdict::Settled { applied: None }) => self.is_outdated(report.plan.as_ref()),
            _ => false,
        };
        if is_over {
            report.plan = None;
        }
        if let Some(plan) = &mut report.plan {
            plan.awaits_approval = memory.held.as_ref().is_some_and(|held| held.plan == plan.id);
        }
        let page = Page::new(&self.ctx.client, &self.view, &self.ctx.options.namespace);
        let mut changes = match followed.is_published {
            true => report::Changes::new(),
            false => {
                let before = page.read().await.ok().flatten().and_then(|found| found.log);
                report::with_rotated_log(before.filter(|log| !log.is_empty()))
            }
        };
        changes.extend(report::with_report(&report));
        changes.insert(LOG_KEY, Some(followed.log));
        let told = std::mem::replace(&mut self.record.report, report);
        if let Err(error) = page.write(&changes).await {
            // It is tried again at the next end.
            self.record.report.answered = told.answered;
            tracing::warn!(
                workspace = self.view.name,
                error = words(&error),
                "a report was not written"
            );
        }
    }

    /// What the status is to say.
    fn say(&mut self, end: &End, message: Option<&str>, now: Timestamp) {
        use ConditionStatus::{False, True};
        self.say_engine();
        let generation = self.about.generation;
        let missing = &self.record.report.missing;
        let standing = &mut self.record.standing;
        let text = message.unwrap_or_default();
        match missing.is_empty() {
            _ if matches!(end, End::Badly(failure) if failure.kind == FailureKind::StateMissing) => {
                let verdict = (Type::StateComplete, False, Reason::StateMissing);
                standing.say(verdict, text, generation, now);
            }
            true if self.record.is_state_doubted => {}
            true => standing.take_back((Type::StateComplete, True, Reason::Complete), generation, now),
            false => {
                let words = self.gate.text(&report::missing_words(missing));
                let verdict = (Type::StateComplete, False, Reason::ResourcesMissing);
                standing.say(verdict, &words, generation, now);
            }
        }
        match end {
            End::Well(Verdict::Settled { applied }) => {
                standing.say(
                    (Type::Synced, True, Reason::ReconcileSuccess),
                    "",
                    generation,
                    now,
                );
                standing.say((Type::Ready, True, Reason::Available), "", generation, now);
                if applied.is_some() {
                    standing.take_back((Type::Drifted, False, Reason::NoDrift), generation, now);
                }
            }
            End::Well(Verdict::Told) => {
                standing.say(
                    (Type::Synced, True, Reason::ReconcileSuccess),
                    "",
                    generation,
                    now,
                );
            }
            End::Well(Verdict::Held { .. }) => {
                standing.say(
                    (Type::ApprovalNeeded, True, Reason::DestructiveChange),
                    text,
                    generation,
                    now,
                );
                // What the spec of an earlier generation asked for may well be there; of this one it is not.
                let synced = standing.condition(Type::Synced);
                if synced.is_some_and(|synced| synced.observed_generation == Some(generation)) {
                    standing.say(
                        (Type::Synced, False, Reason::ReconcileError),
                        text,
                        generation,
                        now,
                    );
                }
            }
            End::Badly(_) if self.what == What::Plan => return,
            End::Badly(failure) => {
                let reason = failure::reason(failure.kind, self.stage);
                standing.say(
                    (Type::Synced, False, Reason::ReconcileError),
                    text,
                    generation,
                    now,
                );
                let words = failure::with_advice(reason, text);
                standing.say((Type::Failing, True, reason), &words, generation, now);
                standing.observed_generation = Some(generation);
                return;
            }
            End::Well(Verdict::Planned { .. } | Verdict::Destroyed | Verdict::Rescued)
            | End::Cancelled
            | End::Interrupted => return,
        }
        standing.take_back((Type::Failing, False, Reason::NotFailing), generation, now);
        standing.observed_generation = Some(generation);
        if matches!(end, End::Well(Verdict::Settled { .. } | Verdict::Told)) {
            standing.checksum = Some(self.about.hash.clone());
            standing.take_back((Type::ApprovalNeeded, False, Reason::NotNeeded), generation, now);
        }
    }

    /// Says whether any of it is real.
    pub(super) fn say_engine(&mut self) {
        let is_simulated = self.is_simulated();
        let (generation, now) = (self.about.generation, self.ctx.now());
        let standing = &mut self.record.standing;
        match is_simulated {
            true => standing.say(
                (Type::Simulated, ConditionStatus::True, Reason::SimulatedEngine),
                "no Terraform ran: the results are made up, and nothing real exists",
                generation,
                now,
            ),
            false if self.engine.is_some() => standing.take_back(
                (Type::Simulated, ConditionStatus::False, Reason::SimulatedEngine),
                generation,
                now,
            ),
            false => {}
        }
    }

    async fn tell_people(&self, end: &End, message: Option<&str>) {
        let text = message.unwrap_or_default();
        let herald = &self.ctx.herald;
        match end {
            End::Well(Verdict::Settled { applied: Some(true) }) => {
                herald
                    .tell(&self.view, News::Created, "everything was made")
                    .await;
            }
            End::Well(Verdict::Settled { applied: Some(false) }) => {
                let note = format!("everything was changed to generation {}", self.about.generation);
                herald.tell(&self.view, News::Updated, &note).await;
            }
            End::Well(Verdict::Destroyed) => {
                herald
                    .tell(&self.view, News::Deleted, "everything was destroyed")
                    .await;
            }
            End::Well(Verdict::Held { .. }) => herald.tell(&self.view, News::ApprovalNeeded, text).await,
            End::Well(Verdict::Planned { .. }) => herald.tell(&self.view, News::Planned, text).await,
            End::Badly(_) => herald.tell(&self.view, self.stage.news(), text).await,
            End::Well(Verdict::Settled { applied: None } | Verdict::Told | Verdict::Rescued)
            | End::Cancelled
            | End::Interrupted => {}
        }
        if !self.record.report.missing.is_empty() {
            let words = self
                .gate
                .text(&report::missing_words(&self.record.report.missing));
            herald.tell(&self.view, News::StateIncomplete, &words).await;
        }
    }
}
