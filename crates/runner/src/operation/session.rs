//! The part of an operation in which Terraform runs.

use std::collections::BTreeMap;

use capt_api::{
    conditions::{
        ConditionStatus,
        workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    },
    foreign::{forprovider::ModuleSource, marks::EXTERNAL_CREATE_PENDING},
    marks::{DESTROYED, MEND, RETRY_REQUESTED, WAS_READY},
    run::PlanReport,
};
use capt_terraform::{
    diagnostics::Class,
    state::{Source, State},
    stream::Action,
};
use tokio::sync::{mpsc, oneshot};

use super::{Note, Run, Stage, Verdict, failure::own, keep::Keeper, missing};
use crate::{
    api::words,
    decide::{AfterPlan, PlanFacts, Policy, What, after_plan},
    engine::{Engine, Failure, FailureKind, Goal, Inputs, Link, Planned, Session},
    events::News,
    inputs::Grants,
    report,
    workspace::{Handle, policy, was_made, was_ready_before},
};

impl Run<'_> {
    /// Runs Terraform as far as it may go.
    pub(super) async fn execute(
        &mut self,
        inputs: Inputs,
        link: Link,
        keeper: Option<&Keeper>,
        notes: &mpsc::UnboundedSender<Note>,
    ) -> Result<Verdict, Failure> {
        let Some(engine) = self.engine.clone() else {
            return Err(own(Class::Other, "no engine was chosen"));
        };
        if !self.is_poll {
            self.publish(notes);
        }
        let outcome = self
            .in_session(engine.as_ref(), inputs, link, keeper, notes)
            .await;
        if let Err(failure) = &outcome {
            self.learn(failure.state.as_deref());
            self.missing.extend(failure.missing.iter().cloned());
        }
        outcome
    }

    async fn in_session(
        &mut self,
        engine: &dyn Engine,
        inputs: Inputs,
        link: Link,
        keeper: Option<&Keeper>,
        notes: &mpsc::UnboundedSender<Note>,
    ) -> Result<Verdict, Failure> {
        self.stage = match self.what {
            What::Destroy => Stage::Delete,
            _ => Stage::Observe,
        };
        if self.what == What::Destroy {
            self.say_destroying().await;
        }
        let opened = match engine.open(inputs, link).await {
            // Nothing was ever done with it, so that nothing of ours is lost.
            Err(failure)
                if failure.kind == FailureKind::BackendInModule && matches!(self.what, What::Rescue) =>
            {
                return Ok(Verdict::Rescued);
            }
            opened => opened?,
        };
        let mut session = opened.session;
        let for_provider = &self.view.for_provider;
        self.record.standing.remote_source =
            (for_provider.source == ModuleSource::Remote).then(|| self.gate.text(&for_provider.module));
        self.see_missing(session.as_mut(), opened.missing, opened.is_lost)
            .await?;
        let had_state = self.state.is_some();
        if let Some((source, file)) = opened.state {
            self.learn(Some(&file));
            if source != Source::Replica
                && let Some(keeper) = keeper
            {
                keeper.keep_now(file).await?;
                if !had_state && was_made(&self.view) {
                    let note = "there was no state in its Secret, and it was written there again from the working folder";
                    self.ctx.herald.tell(&self.view, News::StateRestored, note).await;
                }
            }
        }
        // A plan may be made of what the Workspace does not have.
        if let Some((keeper, lock)) = keeper.zip(opened.provider_lock)
            && self.what != What::Plan
        {
            keeper.keep_provider_lock(&lock).await;
        }
        if keeper.is_some() {
            self.check_state()?;
        }
        match self.what {
            What::Rescue => Ok(Verdict::Rescued),
            What::Plan => self.plan_for_a_person(session.as_mut(), notes).await,
            What::Converge => self.converge(session.as_mut(), keeper, notes).await,
            What::Destroy => self.destroy(session.as_mut(), keeper, notes).await,
        }
    }

    /// Makes a plan. Its name also says what it was made from, so that an approval covers no values that nobody saw.
    async fn plan(&mut self, session: &mut dyn Session, goal: Goal) -> Result<Planned, Failure> {
        let planned = session.plan(goal).await?;
        self.warnings.extend(planned.warnings.iter().cloned());
        Ok(Planned {
            id: planned.id.made_from(&self.about.hash),
            ..planned
        })
    }

    async fn plan_for_a_person(
        &mut self,
        session: &mut dyn Session,
        notes: &mpsc::UnboundedSender<Note>,
    ) -> Result<Verdict, Failure> {
        let planned = self.plan(session, Goal::Converge).await?;
        self.learn(planned.state.as_deref());
        self.show(&planned, false, notes).await;
        Ok(Verdict::Planned {
            plan: planned.id.as_str().to_owned(),
            summary: planned.plan.summary().to_string(),
        })
    }

    async fn converge(
        &mut self,
        session: &mut dyn Session,
        keeper: Option<&Keeper>,
        notes: &mpsc::UnboundedSender<Note>,
    ) -> Result<Verdict, Failure> {
        let planned = self.plan(session, Goal::Converge).await?;
        self.learn(planned.state.as_deref());
        if self.needs_state(&planned) {
            self.ask_backend(session).await?;
        }
        let Policy::Granted(grants) = policy(&self.view) else {
            return Ok(Verdict::Told);
        };
        let answered = self.record.memory.as_ref().map(|memory| &memory.answered);
        let grants = Grants {
            update: grants.update && !self.only_looks,
            ..grants
        };
        let after = after_plan(
            grants,
            &self.requests,
            answered.unwrap_or(&BTreeMap::new()),
            PlanFacts {
                // What somebody else removed is no news of what was never made.
                exists: self.exists(&planned) || self.only_looks,
                is_empty: planned.plan.is_empty(),
                is_destructive: planned.plan.is_destructive(),
                id: planned.id.as_str(),
            },
        );
        let is_something = !planned.plan.is_empty() || !planned.plan.drift.is_empty();
        if is_something && !self.is_known(&planned, after) {
            self.publish(notes);
            self.show(&planned, after == AfterPlan::Hold, notes).await;
        }
        self.say_drift(&planned).await;
        match after {
            AfterPlan::Settle => Ok(Verdict::Settled { applied: None }),
            AfterPlan::Tell => Ok(Verdict::Told),
            AfterPlan::Refuse => {
                self.stage = Stage::FindNothing;
                let words =
                    "nothing exists yet, and spec.managementPolicies does not let it be made: add Create";
                Err(own(Class::Configuration, words))
            }
            AfterPlan::Hold => Ok(Verdict::Held {
                plan: planned.id.as_str().to_owned(),
                summary: planned.plan.summary().to_string(),
            }),
            AfterPlan::Apply { creates } => {
                self.stage = match creates {
                    true => Stage::Create,
                    false => Stage::Update,
                };
                self.check_repetition(&planned)?;
                if creates {
                    self.announce_creation().await?;
                }
                self.end_take_up().await?;
                self.apply(session, keeper).await?;
                Ok(Verdict::Settled {
                    applied: Some(creates),
                })
            }
        }
    }

    async fn destroy(
        &mut self,
        session: &mut dyn Session,
        keeper: Option<&Keeper>,
        notes: &mpsc::UnboundedSender<Note>,
    ) -> Result<Verdict, Failure> {
        let planned = self.plan(session, Goal::Destroy).await?;
        if !planned.plan.is_empty() {
            self.show(&planned, false, notes).await;
            self.apply(session, keeper).await?;
        }
        // An empty plan may be one that was told to leave something out.
        self.ask_backend(session).await?;
        if !self.is_simulated() {
            self.check_state()?;
        }
        let left = self.state.as_ref().filter(|state| !state.is_empty());
        match left {
            None => Ok(Verdict::Destroyed),
            Some(state) => Err(own(
                Class::Other,
                format!(
                    "Terraform ended well, and yet the state lists {} resources",
                    state.managed().count()
                ),
            )),
        }
    }

    async fn apply(&mut self, session: &mut dyn Session, keeper: Option<&Keeper>) -> Result<(), Failure> {
        self.end_pause();
        if self.record.told.has_reason(Type::Synced, Reason::ReconcilePaused) {
            self.say_engine();
            let told = self.ctx.tell(&self.view, &mut self.record).await;
            told.map_err(|error| own(Class::Network, words(&error)))?;
        }
        let applied = session.apply().await?;
        self.warnings.extend(applied.warnings);
        self.learn(Some(&applied.state));
        if let Some(keeper) = keeper {
            keeper.keep_now(applied.state).await?;
        }
        Ok(())
    }

    /// Takes back that nothing is done. Nothing may be done before that is told: a status that says so is proof that nothing
    /// runs.
    fn end_pause(&mut self) {
        let settled = self.settled_generation();
        self.record.standing.end_pause(settled, self.ctx.now());
    }

    /// Something that was made and has no state would be made a second time, or forgotten.
    fn check_state(&self) -> Result<(), Failure> {
        let leaves_alone = self.what == What::Rescue && self.view.deletion.is_some();
        if self.state.is_some() || leaves_alone || !was_made(&self.view) {
            return Ok(());
        }
        let told = self.record.standing.condition(Type::StateComplete);
        let told = told.filter(|_| {
            self.record
                .standing
                .has_reason(Type::StateComplete, Reason::StateMissing)
        });
        let since = told.map_or_else(|| self.ctx.now(), |told| told.last_transition_time.0);
        Err(Failure {
            kind: FailureKind::StateMissing,
            ..own(Class::Other, missing::words(&self.view, &seconds(since)))
        })
    }

    /// Whether a plan alone does not say enough: whether anything exists, and what is to be handed out.
    fn needs_state(&self, planned: &Planned) -> bool {
        !planned.plan.is_empty()
            || self.record.standing.outputs.is_none()
            || self.view.connection_secret_ref.is_some()
    }

    /// Finds out what a backend of the user's has, unless the state is known already.
    async fn ask_backend(&mut self, session: &mut dyn Session) -> Result<(), Failure> {
        if self.state.is_some() {
            return Ok(());
        }
        let Some(file) = session.state().await? else {
            return Ok(());
        };
        self.learn(Some(&file));
        match self.state {
            Some(_) => Ok(()),
            None => Err(own(
                Class::Other,
                "the state that the backend has cannot be read by this runner",
            )),
        }
    }

    /// Says that something is about to be made, before it is.
    async fn announce_creation(&mut self) -> Result<(), Failure> {
        let now = self.ctx.now();
        // Whoever passes the mark down does so for as long as a state is said to be missing, and so that is taken back
        // first.
        let missing = (Type::StateComplete, Reason::StateMissing);
        if self.record.standing.has_reason(missing.0, missing.1) {
            let complete = (Type::StateComplete, ConditionStatus::True, Reason::Complete);
            self.record
                .standing
                .take_back(complete, self.about.generation, now);
            self.tell_early().await;
        }
        let annotations = BTreeMap::from([(EXTERNAL_CREATE_PENDING, Some(seconds(now))), (DESTROYED, None)]);
        let handle = Handle::new(&self.ctx.client, &self.view);
        match handle.mark(&self.view, &annotations, false).await {
            Ok(view) => self.view = view,
            Err(error) => return Err(own(Class::Network, words(&error))),
        }
        let ready = (Type::Ready, ConditionStatus::False, Reason::Creating);
        self.record.standing.say(ready, "", self.about.generation, now);
        self.end_pause();
        self.tell_early().await;
        Ok(())
    }

    /// What the state tells is not what was ready before any more, once something is changed: that may end halfway.
    async fn end_take_up(&mut self) -> Result<(), Failure> {
        self.record.is_changed = true;
        if !was_ready_before(&self.view) {
            return Ok(());
        }
        let handle = Handle::new(&self.ctx.client, &self.view);
        let annotations = BTreeMap::from([(WAS_READY, None)]);
        match handle.mark(&self.view, &annotations, false).await {
            Ok(view) => self.view = view,
            Err(error) => return Err(own(Class::Network, words(&error))),
        }
        Ok(())
    }

    /// Says that everything is being destroyed. What failed before is no trouble of that any more.
    async fn say_destroying(&mut self) {
        let (generation, now) = (self.about.generation, self.ctx.now());
        let standing = &mut self.record.standing;
        let ready = (Type::Ready, ConditionStatus::False, Reason::Deleting);
        standing.say(ready, "", generation, now);
        // A pause that is over was no trouble.
        if standing.has_reason(Type::Synced, Reason::ReconcilePaused) {
            let synced = (Type::Synced, ConditionStatus::True, Reason::ReconcileSuccess);
            standing.say(synced, "", generation, now);
        }
        let synced = standing.condition(Type::Synced);
        let trouble = synced.filter(|synced| synced.status == ConditionStatus::False.as_str());
        let trouble = trouble.and_then(|synced| synced.message.as_deref());
        if trouble.is_some_and(|trouble| Stage::of(trouble) != Some(Stage::Delete)) {
            let error = (Type::Synced, ConditionStatus::False, Reason::ReconcileError);
            standing.say(error, "", generation, now);
            let fine = (Type::Failing, ConditionStatus::False, Reason::NotFailing);
            standing.take_back(fine, generation, now);
        }
        self.tell_early().await;
    }

    /// Says what somebody else changed, before it is repaired.
    async fn say_drift(&mut self, planned: &Planned) {
        let (generation, now) = (self.about.generation, self.ctx.now());
        let is_only_told = self.only_looks && !planned.plan.is_empty();
        if planned.plan.drift.is_empty() && !is_only_told {
            let none = (Type::Drifted, ConditionStatus::False, Reason::NoDrift);
            self.record.standing.take_back(none, generation, now);
            return;
        }
        let message = match planned.plan.drift.is_empty() {
            true if self.record.standing.checksum.as_ref() != Some(&self.about.hash) => format!(
                "a Secret or ConfigMap that it reads says something else than before, which is applied when it is its turn: \
                 {}",
                planned.plan.summary()
            ),
            true => planned.plan.summary().to_string(),
            false => report::drift(&planned.plan, &self.gate.redactor()),
        };
        let memory = self.record.memory.as_ref().filter(|_| is_only_told);
        let mended = memory.and_then(|memory| memory.answered.get(MEND));
        let standing = &mut self.record.standing;
        standing.say_drifted(&message, mended.map(String::as_str), generation, now);
        self.ctx.options.metrics.drift();
        self.tell_early().await;
        self.ctx.herald.tell(&self.view, News::Drift, &message).await;
    }

    /// Writes the status in the middle of an operation. If that fails, its end says it.
    async fn tell_early(&mut self) {
        self.say_engine();
        if let Err(error) = self.ctx.tell(&self.view, &mut self.record).await {
            tracing::warn!(
                workspace = self.view.name,
                error = words(&error),
                "a status was not written"
            );
        }
    }

    fn publish(&self, notes: &mpsc::UnboundedSender<Note>) {
        let _ = notes.send(Note::Publish);
    }

    /// Tells what a plan would do, before anything else is said or done about it.
    async fn show(&self, planned: &Planned, awaits_approval: bool, notes: &mpsc::UnboundedSender<Note>) {
        let (told, hears) = oneshot::channel();
        let mut answered = self
            .record
            .memory
            .as_ref()
            .map(|memory| memory.answered.clone())
            .unwrap_or_default();
        // Should the runner not live to tell the end, then what is made now was not there to be seen to.
        if let Some(retry) = self
            .requests
            .retry
            .clone()
            .filter(|_| self.what == What::Converge)
        {
            answered.insert(RETRY_REQUESTED.to_owned(), retry);
        }
        let note = Note::Plan {
            planned: Box::new(planned.clone()),
            awaits_approval,
            missing: self.still_missing(),
            more_missing: self.record.report.more_missing,
            answered,
            told,
        };
        if notes.send(note).is_ok() {
            let _ = hears.await;
        }
    }

    /// Whether nobody waits for this plan, nothing comes of it, and the last one was the same.
    fn is_known(&self, planned: &Planned, after: AfterPlan) -> bool {
        let told = self.record.report.plan.as_ref();
        let addresses = |told: &PlanReport| {
            told.drift
                .iter()
                .map(|one| one.address.clone())
                .collect::<Vec<_>>()
        };
        let new = report::plan(
            planned,
            self.about.generation,
            &self.gate.redactor(),
            self.ctx.now(),
        );
        self.is_poll
            && !matches!(after, AfterPlan::Apply { .. })
            && told.is_some_and(|told| told.id == new.id && addresses(told) == addresses(&new))
    }

    /// Whether anything exists, by the state or, where there is none yet, by the plan.
    fn exists(&self, planned: &Planned) -> bool {
        match &self.state {
            Some(state) => has_something(state),
            None => {
                let is_new = |action: &Action| matches!(action, Action::Create | Action::Read);
                planned.plan.changes.iter().any(|change| !is_new(&change.action))
            }
        }
    }
}

fn has_something(state: &State) -> bool {
    !state.is_empty() || !state.outputs.is_empty()
}

/// As Crossplane writes times into annotations.
pub(super) fn seconds(time: k8s_openapi::jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
