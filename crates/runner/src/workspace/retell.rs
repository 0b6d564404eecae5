//! What the report of the last operation says and the status does not, because the runner ended between the two.
//!
//! The report is written first. Without this, what waits for a person would wait and nobody would be told.

use capt_api::{
    conditions::{
        ConditionStatus, Word as _,
        workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    },
    run::{Operation, RunReport},
};
use k8s_openapi::jiff::Timestamp;

use super::{
    observe::is_paused,
    recall::{kind, outcome},
    standing::Standing,
};
use crate::{
    decide::What,
    events::News,
    operation::{Stage, failure_words},
    report::missing_words,
    view::WorkspaceView,
};

/// Makes the status say it. Gives what people were not told either.
pub(crate) fn retell(
    report: &RunReport,
    view: &WorkspaceView,
    standing: &mut Standing,
    now: Timestamp,
) -> Vec<(News, String)> {
    let Some(operation) = report.operation.as_ref().filter(|one| one.outcome.is_some()) else {
        return Vec::new();
    };
    let mut telling = Telling {
        report,
        operation,
        view,
        standing,
        now,
        news: Vec::new(),
    };
    telling.missing();
    let is_ours = [What::Converge, What::Destroy, What::Rescue]
        .into_iter()
        .any(|what| kind(what) == operation.kind);
    match operation.outcome.as_deref() {
        Some(outcome::FAILED) if is_ours => telling.failure(),
        Some(outcome::SUCCEEDED) if operation.kind == kind(What::Converge) => telling.success(),
        _ => {}
    }
    telling.news
}

struct Telling<'a> {
    report: &'a RunReport,
    operation: &'a Operation,
    view: &'a WorkspaceView,
    standing: &'a mut Standing,
    now: Timestamp,
    news: Vec<(News, String)>,
}

impl Telling<'_> {
    fn say(&mut self, verdict: (Type, ConditionStatus, Reason), message: &str) {
        self.standing
            .say(verdict, message, self.operation.generation, self.now);
    }

    fn missing(&mut self) {
        let missing = &self.report.missing;
        let is_listed = self
            .standing
            .has_reason(Type::StateComplete, Reason::ResourcesMissing);
        match (missing.is_empty(), is_listed) {
            // The status may tell of a later operation, whose report was not written.
            (true, true) if self.is_older(Type::StateComplete, "False") => {}
            (true, true) => {
                let complete = (Type::StateComplete, ConditionStatus::True, Reason::Complete);
                self.say(complete, "");
            }
            (false, false) => {
                let words = missing_words(self.report, self.view);
                let verdict = (
                    Type::StateComplete,
                    ConditionStatus::False,
                    Reason::ResourcesMissing,
                );
                self.say(verdict, &words);
                self.news.push((News::StateIncomplete, words));
            }
            (true, false) | (false, true) => {}
        }
    }

    fn failure(&mut self) {
        let text = self.operation.message.as_deref().unwrap_or_default();
        let told = self.operation.reason.as_deref().and_then(Reason::from_word);
        let told = told.unwrap_or(Reason::Other);
        if self.is_told(text) || self.is_older(Type::Synced, "True") {
            return;
        }
        // A pause goes on being told as long as it lasts.
        if !is_paused(self.view) {
            let error = (Type::Synced, ConditionStatus::False, Reason::ReconcileError);
            self.say(error, text);
        }
        let reason = match told {
            Reason::StateMissing => {
                let verdict = (Type::StateComplete, ConditionStatus::False, Reason::StateMissing);
                self.say(verdict, text);
                Reason::StateUnavailable
            }
            reason => reason,
        };
        let words = failure_words(reason, text, text, self.report, self.view);
        self.say((Type::Failing, ConditionStatus::True, reason), &words);
        self.standing.observed_generation = Some(self.operation.generation);
        if let Some(stage) = Stage::of(text) {
            self.news.push((stage.news(), text.to_owned()));
        }
    }

    /// Whether the status says that it failed with these words.
    fn is_told(&self, text: &str) -> bool {
        let says = |type_: Type, status: &str| {
            let condition = self.standing.condition(type_);
            condition.filter(|condition| condition.status == status)
        };
        let is_failing = says(Type::Failing, "True")
            .is_some_and(|failing| failing.message.as_deref().unwrap_or_default().starts_with(text));
        let is_said = says(Type::Synced, "False").is_some_and(|synced| {
            synced.message.as_deref().unwrap_or_default() == text
                || synced.reason == Reason::ReconcilePaused.as_str()
        });
        is_failing && is_said
    }

    /// Whether the operation ended before a condition came to this, so that the condition is the newer one.
    fn is_older(&self, type_: Type, status: &str) -> bool {
        let condition = self.standing.condition(type_);
        let since = condition.filter(|condition| condition.status == status);
        let ended = self.operation.ended_at.map(Timestamp::as_second);
        since.is_some_and(|since| ended.is_some_and(|ended| ended < since.last_transition_time.0.as_second()))
    }

    /// What was settled is found again by the next look, as it is not remembered as settled. What rests is not.
    fn success(&mut self) {
        use ConditionStatus::{False, True};
        let Some(plan) = &self.report.plan else {
            if self.standing.has_reason(Type::Drifted, Reason::DriftFound)
                && !self.is_older(Type::Drifted, "True")
            {
                self.say((Type::Drifted, False, Reason::NoDrift), "");
            }
            return;
        };
        let needs = self
            .standing
            .has_reason(Type::ApprovalNeeded, Reason::DestructiveChange);
        if !plan.awaits_approval || needs || is_paused(self.view) {
            return;
        }
        let text = self.operation.message.clone().unwrap_or_default();
        let generation = self.operation.generation;
        self.say((Type::ApprovalNeeded, True, Reason::DestructiveChange), &text);
        let synced = self.standing.condition(Type::Synced);
        if synced.is_some_and(|synced| synced.observed_generation == Some(generation)) {
            self.say((Type::Synced, False, Reason::ReconcileError), &text);
        }
        let fine = (Type::Failing, False, Reason::NotFailing);
        self.standing.take_back(fine, generation, self.now);
        self.standing.observed_generation = Some(generation);
        self.news.push((News::ApprovalNeeded, text));
    }
}

#[cfg(test)]
mod tests;
