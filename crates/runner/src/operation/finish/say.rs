//! What is said at the end of an operation: by conditions, by events, in words.

use capt_api::{
    approval,
    conditions::{
        ConditionStatus,
        workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    },
    marks::APPROVED,
};
use k8s_openapi::jiff::Timestamp;

use super::{
    super::{Run, Verdict, failure},
    End,
};
use crate::{
    decide::What,
    engine::FailureKind,
    events::News,
    report::{missing_names, missing_words, told, warnings},
    sandbox::SandboxStatus,
};

impl Run<'_> {
    /// What there is to say, in words that may leave. Only what others wrote is redacted: our own words, a plan's name and
    /// a command have to stay what they are.
    pub(super) fn message(&self, end: &End) -> Option<String> {
        let text = match end {
            End::Badly(failure) => {
                let clean = failure::redacted(failure, &self.gate.redactor());
                let mut text = failure::message(&clean, self.stage);
                if self.what == What::Destroy
                    && let Some(left) = self.state.as_ref().and_then(failure::left)
                {
                    text.push_str("; ");
                    text.push_str(&self.gate.text(&left));
                }
                text
            }
            End::Well(Verdict::Held { plan, summary }) => format!(
                "plan {plan} would destroy or replace something that works ({summary}) and waits for an approval: {}",
                self.how_to_approve(plan)
            ),
            End::Well(Verdict::Planned { plan, summary }) => format!("plan {plan}: {summary}"),
            End::Cancelled if self.what == What::Destroy => {
                "stopped, because what is left is not to be destroyed any more".to_owned()
            }
            End::Cancelled => "stopped, because everything is to be destroyed".to_owned(),
            End::Interrupted => "stopped, because the runner stops".to_owned(),
            End::Well(_) => return None,
        };
        Some(text)
    }

    /// Which sort of thing went wrong, as the report tells it.
    pub(super) fn reason(&self, end: &End) -> Option<Reason> {
        match end {
            End::Badly(failure) if failure.kind == FailureKind::StateMissing => Some(Reason::StateMissing),
            End::Badly(failure) => Some(failure::reason(failure.kind, self.stage)),
            End::Well(_) | End::Cancelled | End::Interrupted => None,
        }
    }

    /// What a person types to approve a plan.
    fn how_to_approve(&self, plan: &str) -> String {
        let mut text = format!("{} --plan {plan}", self.view.command("approve"));
        let answered = self.record.memory.as_ref().map(|memory| &memory.answered);
        let used_up = answered.and_then(|answered| answered.get(APPROVED));
        let given = self.requests.approved.as_deref();
        if approval::is_used_up(given, plan, used_up.map(String::as_str)) {
            text.push_str(". An approval counts once, and the one that it has is used up");
        }
        text
    }

    /// What the status is to say, with why what waits for an approval cannot be used meanwhile, and the generation that
    /// everything was as it should be for before.
    pub(super) fn say(
        &mut self,
        end: &End,
        message: Option<&str>,
        unhanded: Option<&str>,
        settled: Option<i64>,
        now: Timestamp,
    ) {
        use ConditionStatus::{False, True};
        self.say_engine();
        let is_taken_up = self.is_taken_up() && unhanded.is_none();
        let generation = self.about.generation;
        let report = told(&self.record.report, &self.gate.redactor());
        let standing = &mut self.record.standing;
        let text = message.unwrap_or_default();
        match self.record.report.missing.is_empty() {
            _ if matches!(end, End::Badly(failure) if failure.kind == FailureKind::StateMissing) => {
                let verdict = (Type::StateComplete, False, Reason::StateMissing);
                standing.say(verdict, text, generation, now);
            }
            true if self.record.is_state_doubted => {}
            true => standing.take_back((Type::StateComplete, True, Reason::Complete), generation, now),
            false => {
                let words = missing_words(&report, &self.view);
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
                if is_taken_up && standing.condition(Type::Ready).is_none() {
                    standing.say((Type::Ready, True, Reason::Available), "", generation, now);
                }
                // What the spec of an earlier generation asked for may well be there; of this one it is not. A pause
                // is over, and what was so before it is so again.
                let is_paused = standing.has_reason(Type::Synced, Reason::ReconcilePaused);
                let before = settled.filter(|before| is_paused && *before != generation);
                let synced = standing.condition(Type::Synced);
                if let Some(before) = before {
                    standing.say((Type::Synced, True, Reason::ReconcileSuccess), "", before, now);
                } else if is_paused
                    || synced.is_some_and(|synced| synced.observed_generation == Some(generation))
                {
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
                let about = failure::message(failure, self.stage);
                let words = failure::words(reason, text, &about, &report, &self.view);
                standing.say((Type::Failing, True, reason), &words, generation, now);
                // The plan that waited is forgotten with the failure; the next one asks again.
                standing.take_back((Type::ApprovalNeeded, False, Reason::NotNeeded), generation, now);
                standing.observed_generation = Some(generation);
                return;
            }
            End::Well(Verdict::Planned { .. } | Verdict::Destroyed | Verdict::Rescued)
            | End::Cancelled
            | End::Interrupted => return,
        }
        match unhanded {
            Some(words) => {
                let failing = (Type::Failing, True, Reason::ConnectionSecretFailed);
                standing.say(failing, words, generation, now);
            }
            None => standing.take_back((Type::Failing, False, Reason::NotFailing), generation, now),
        }
        standing.observed_generation = Some(generation);
        if matches!(end, End::Well(Verdict::Settled { .. } | Verdict::Told)) {
            standing.checksum = Some(self.about.hash.clone());
            standing.take_back((Type::ApprovalNeeded, False, Reason::NotNeeded), generation, now);
        }
    }

    /// Says whether any of it is real.
    pub(in crate::operation) fn say_engine(&mut self) {
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
        self.set_sandboxed();
    }

    /// Sets how far runs are confined, if a real engine runs them.
    fn set_sandboxed(&mut self) {
        let Some(status) = self.engine.as_ref().and_then(|engine| engine.sandbox()) else {
            return;
        };
        let (value, reason) = match status {
            SandboxStatus::Confined { .. } => (ConditionStatus::True, Reason::Landlock),
            SandboxStatus::Unsupported { .. } => (ConditionStatus::False, Reason::Unsupported),
            SandboxStatus::Disabled => (ConditionStatus::False, Reason::Disabled),
        };
        let condition = (Type::Sandboxed, value, reason);
        let (generation, now) = (self.about.generation, self.ctx.now());
        let standing = &mut self.record.standing;
        standing.say(condition, &status.to_string(), generation, now);
    }

    /// Tells people by events.
    pub(super) async fn tell_people(&self, end: &End, message: Option<&str>) {
        let text = message.unwrap_or_default();
        let herald = &self.ctx.herald;
        let report = told(&self.record.report, &self.gate.redactor());
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
                let note = match self.record.report.missing.is_empty() {
                    true => "everything was destroyed".to_owned(),
                    false => format!(
                        "everything was destroyed that the state had, and not what it never had: {}",
                        missing_names(&report)
                    ),
                };
                herald.tell(&self.view, News::Deleted, &note).await;
            }
            End::Well(Verdict::Held { .. }) => herald.tell(&self.view, News::ApprovalNeeded, text).await,
            End::Well(Verdict::Planned { .. }) => herald.tell(&self.view, News::Planned, text).await,
            End::Badly(_) => herald.tell(&self.view, self.stage.news(), text).await,
            End::Well(Verdict::Settled { applied: None } | Verdict::Told | Verdict::Rescued)
            | End::Cancelled
            | End::Interrupted => {}
        }
        // A poll has nothing new to warn of.
        if !self.is_poll && !self.warnings.is_empty() {
            let warnings = warnings(&self.warnings, &self.gate.redactor());
            herald.tell(&self.view, News::Warned, &warnings.join("\n")).await;
        }
        // Of what is destroyed that is said when it goes.
        let goes = matches!(end, End::Well(Verdict::Destroyed));
        if !self.record.report.missing.is_empty() && !goes {
            let words = missing_words(&report, &self.view);
            herald.tell(&self.view, News::StateIncomplete, &words).await;
        }
    }
}
