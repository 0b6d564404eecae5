//! One look at a Workspace: finds out what has to be known, and does everything that needs no engine.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{
    conditions::{
        ConditionStatus,
        workspace::{WorkspaceConditionType as Type, WorkspaceReason as Reason},
    },
    foreign::marks::EXTERNAL_NAME,
    marks::{DESTROYED, MOVED_AWAY, RETRY_REQUESTED, STATE_HOME},
    run::RunReport,
};
use capt_terraform::redact::{Redactor, Secrets};
use k8s_openapi::jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{
    facts::{self, facts_of, home_of, references_of},
    observe::{observe, requests, was_made},
    recall::{note_cut_short, recall},
    record::Record,
    retell::retell,
    standing::Standing,
    write::Handle,
};
use crate::{
    Which,
    api::{CallError, words},
    context::Context,
    decide::{
        InputFacts, Look, Memory, NamespaceFacts, Next, Policy, Priority, StateFacts, What, Whose, answered,
        answers_at, backoff, decide, later,
    },
    engine::Engine,
    events::News,
    inputs::{self, Home},
    operation::Stage,
    report::{self, Page},
    store::{Before, Kept, LockError, Purpose, StoreError},
    view::WorkspaceView,
};

/// Whether nothing was ever done for a Workspace by whoever runs such: they all hold it before they do anything.
fn is_untouched(view: &WorkspaceView) -> bool {
    let is_marked = |mark: &str| view.annotations.contains_key(mark);
    view.finalizers.is_empty() && !is_marked(STATE_HOME) && !is_marked(DESTROYED) && !was_made(view)
}

/// Steps of one look. A look that needs more goes in circles.
const MAX_STEPS: usize = 20;

/// What came of a look.
pub(crate) struct Passed {
    pub(crate) view: WorkspaceView,
    pub(crate) record: Record,
    pub(crate) then: Then,
}

/// Whose a Workspace is, as far as watches tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) whose: Whose,
    /// They tell of all that provider-terraform uses.
    pub(crate) is_sure: bool,
}

/// What comes after a look.
pub(crate) enum Then {
    /// Nothing, before this time or before something happens.
    Wait(Option<Timestamp>),
    /// An operation.
    Run(What, Priority),
}

/// Looks at a Workspace.
pub(crate) async fn pass(ctx: &Context, view: WorkspaceView, record: Record, told: Told) -> Passed {
    let mut looking = Looking { ctx, view, record };
    let then = match looking.steps(told).await {
        Ok(Step::Then(then)) => {
            looking.record.troubles = 0;
            looking.not_later_than_told(then)
        }
        Ok(Step::TryAgain) => looking.after_a_while(),
        Err(error) => {
            let workspace = &looking.view.name;
            match error.is_conflict() {
                // Somebody wrote it at the same time, as the controllers do; the next look sees what they wrote.
                true => tracing::debug!(workspace, error = words(&error), "will be tried again"),
                false => tracing::warn!(workspace, error = words(&error), "will be tried again"),
            }
            looking.after_a_while()
        }
    };
    Passed {
        view: looking.view,
        record: looking.record,
        then,
    }
}

/// How a look ends.
enum Step {
    /// With something to do or to wait for.
    Then(Then),
    /// With something that may pass by itself.
    TryAgain,
}

/// A look that goes on.
pub(super) struct Looking<'a> {
    pub(super) ctx: &'a Context,
    pub(super) view: WorkspaceView,
    pub(super) record: Record,
}

impl Looking<'_> {
    /// What is tried again is tried less and less often.
    fn after_a_while(&mut self) -> Then {
        self.record.troubles = self.record.troubles.saturating_add(1);
        let wait = backoff(self.record.troubles, &self.view.uid);
        Then::Wait(Some(later(self.ctx.now(), wait)))
    }

    /// Whose it is. It is asked for where no watch tells and where one was wrong: whoever runs something asks again.
    async fn whose(&mut self, told: Told) -> Result<Whose, CallError> {
        let Told { whose, is_sure } = told;
        let is_shared = matches!(self.ctx.options.which, Which::Labelled(_));
        if !is_shared || whose != Whose::Ours || self.record.is_ours.unwrap_or(is_sure) {
            return Ok(whose);
        }
        match self.ctx.is_used_by_others(&self.view).await {
            Ok(false) => {}
            Ok(true) => return Ok(Whose::Disputed),
            Err(error) => {
                if error.is_forbidden() {
                    let note = "nothing is done, because it cannot be told whether provider-terraform uses this Workspace: \
                                give the runner the right to get providerconfigusages";
                    self.ctx.herald.tell(&self.view, News::CannotConnect, note).await;
                }
                return Err(error);
            }
        }
        self.record.is_ours = Some(true);
        Ok(whose)
    }

    async fn steps(&mut self, told: Told) -> Result<Step, CallError> {
        let whose = self.whose(told).await?;
        self.listen(whose).await?;
        for _ in 0..MAX_STEPS {
            let snapshot = observe(&self.view, &self.record, whose, None, self.ctx.common());
            match decide(&snapshot, self.ctx.now()) {
                Next::Wait(until) => {
                    self.catch_up(whose).await?;
                    return Ok(Step::Then(Then::Wait(until)));
                }
                Next::Run(what, priority) => return Ok(Step::Then(Then::Run(what, priority))),
                Next::LeaveAlone => {
                    let note = "provider-terraform uses this Workspace, so that this runner leaves it alone: delete \
                                its ProviderConfigUsage when provider-terraform does not run it any more";
                    self.ctx.herald.tell(&self.view, News::UsedByOthers, note).await;
                    return Ok(Step::Then(Then::Wait(None)));
                }
                // Nothing runs while a look goes on.
                Next::Cancel => return Ok(Step::Then(Then::Wait(None))),
                Next::Look(look) => self.look(look).await?,
                Next::HandOut => self.hand_out().await?,
                Next::SayAgain => self.say_again().await?,
                Next::TakeUp => self.take_up().await?,
                Next::Pause => self.pause().await?,
                Next::Prepare { external_name, home } => self.prepare(external_name, home).await?,
                Next::Refuse { reason, message } => return self.refuse(reason, &message).await,
                Next::AwaitOthers => {
                    self.say_deleting().await?;
                    return Ok(Step::Then(Then::Wait(None)));
                }
                Next::Forget => {
                    self.let_go(true).await?;
                    return Ok(Step::Then(Then::Wait(None)));
                }
                Next::LetGo { is_destroyed } => {
                    let is_unfinished = snapshot.memory.is_none_or(|memory| memory.is_unfinished);
                    match self.has_more_on_disk(is_unfinished).await {
                        Err((reason, message)) => return self.refuse(reason, &message).await,
                        Ok(true) => {
                            self.record.memory.get_or_insert_default().is_unfinished = true;
                            continue;
                        }
                        Ok(false) => {}
                    }
                    if is_destroyed {
                        self.mark_destroyed().await?;
                    }
                    if is_destroyed && let Err((reason, message)) = self.remove_state().await {
                        return self.refuse(reason, &message).await;
                    }
                    if let Err((reason, message)) = self.leave_missing(is_destroyed).await {
                        return self.refuse(reason, &message).await;
                    }
                    self.let_go(!is_unfinished).await?;
                    return Ok(Step::Then(Then::Wait(None)));
                }
            }
        }
        tracing::error!(workspace = self.view.name, "a look goes in circles");
        Ok(Step::TryAgain)
    }

    /// Has a status written again that somebody wrote who is no runner. What a runner wrote is left alone: one that knows less
    /// must not write over what another one has just found out.
    async fn listen(&mut self, whose: Whose) -> Result<(), CallError> {
        if whose != Whose::Ours {
            self.record.leave_word_to_others(&self.view);
        }
        if !self.record.is_contradicted || self.retells_at() > self.ctx.now() {
            return Ok(());
        }
        let handle = Handle::new(&self.ctx.client, &self.view);
        let is_of_others = handle.is_status_of_others().await?;
        self.record.is_contradicted = false;
        if is_of_others {
            self.record.retold = Some(answered(self.record.retold, self.ctx.now()));
            self.record.told = Standing::read(&self.view.status);
            self.ctx.tell(&self.view, &mut self.record).await?;
            let note = "somebody else wrote into the status, which this runner writes; what the runner knows is written again";
            self.ctx.herald.tell(&self.view, News::StatusRestored, note).await;
        }
        Ok(())
    }

    /// Waits for no longer than until a status is to be written again that somebody else wrote.
    fn not_later_than_told(&self, then: Then) -> Then {
        let again = self.record.is_contradicted.then(|| self.retells_at());
        match then {
            Then::Wait(until) => Then::Wait(until.into_iter().chain(again).min()),
            run => run,
        }
    }

    /// From when on a status that somebody else wrote is written again.
    fn retells_at(&self) -> Timestamp {
        answers_at(self.record.retold, &self.view.uid)
    }

    /// Writes what an operation could not write.
    async fn catch_up(&mut self, whose: Whose) -> Result<(), CallError> {
        match whose {
            Whose::Ours => self.ctx.tell(&self.view, &mut self.record).await,
            Whose::Others | Whose::Disputed => Ok(()),
        }
    }

    async fn look(&mut self, look: Look) -> Result<(), CallError> {
        match look {
            Look::Memory => {
                let page = Page::new(&self.ctx.client, &self.view, &self.ctx.options.system_namespace);
                let found = page.read().await?;
                self.record.is_unreported = found.is_none();
                let mut report = found.unwrap_or_default().report;
                let untold = retell(&report, &self.view, &mut self.record.standing, self.ctx.now());
                self.record.memory = Some(recall(&report, &self.record.standing, self.ctx.start));
                note_cut_short(&mut report);
                self.record.report = report;
                for (news, note) in untold {
                    self.ctx.herald.tell(&self.view, news, &note).await;
                }
            }
            Look::Inputs => {
                let prepared = inputs::load(&self.view, &self.ctx.glance(), &self.ctx.surroundings).await;
                self.record.references = references_of(&self.view, &prepared);
                self.record.inputs = Some(facts_of(self.ctx, &self.view, &prepared));
            }
            Look::State => {
                let prepared = inputs::load(&self.view, &self.ctx.lookup, &self.ctx.surroundings).await;
                self.record.references = references_of(&self.view, &prepared);
                let facts = facts::state_facts(self.ctx, &self.view, &prepared).await;
                self.record.is_state_doubted &= facts == StateFacts::Absent;
                // What exists changes all the time, unless it is going away or nobody can do anything.
                let is_lasting = self.view.deletion.is_some() || self.record.is_state_doubted;
                self.record.state = Some(facts).filter(|_| is_lasting);
            }
            Look::Namespace => {
                let facts = facts::namespace_facts(self.ctx, &self.view).await?;
                if let NamespaceFacts::Unknown(why) = &facts {
                    let workspace = &self.view.name;
                    tracing::warn!(workspace, error = why, "its namespace cannot be read");
                }
                self.record.namespace = Some(facts);
            }
        }
        Ok(())
    }

    async fn pause(&mut self) -> Result<(), CallError> {
        let (generation, now) = (self.view.generation, self.ctx.now());
        let paused = (Type::Synced, ConditionStatus::False, Reason::ReconcilePaused);
        let by_policies = super::policy(&self.view) == Policy::Paused;
        let why = if self.view.annotations.contains_key(MOVED_AWAY) {
            "what it stands for was moved to another management cluster"
        } else if by_policies {
            "spec.managementPolicies is empty: it is paused, or it is not its turn"
        } else {
            "the annotation crossplane.io/paused says so"
        };
        let standing = &mut self.record.standing;
        standing.say(
            paused,
            &format!("nothing is done, because {why}"),
            generation,
            now,
        );
        standing.observed_generation = Some(generation);
        self.ctx.tell(&self.view, &mut self.record).await?;
        let note = format!("nothing is done any more, because {why}");
        self.ctx.herald.tell(&self.view, News::Paused, &note).await;
        Ok(())
    }

    async fn prepare(
        &mut self,
        external_name: Option<String>,
        home: Option<String>,
    ) -> Result<(), CallError> {
        let annotations: BTreeMap<&str, Option<String>> =
            [(EXTERNAL_NAME, external_name), (STATE_HOME, home)]
                .into_iter()
                .filter(|(_, value)| value.is_some())
                .collect();
        let handle = Handle::new(&self.ctx.client, &self.view);
        let is_new = is_untouched(&self.view);
        match handle.mark(&self.view, &annotations, true).await {
            Ok(view) => {
                self.view = view;
                // Nobody ran it before, so that there is nothing to remember.
                if is_new && self.record.memory.is_none() {
                    let report = RunReport::default();
                    self.record.memory = Some(recall(&report, &self.record.standing, self.ctx.start));
                    self.record.is_unreported = true;
                }
            }
            Err(error) if error.is_conflict() => {
                // Somebody wrote meanwhile; what they wrote may matter.
                if let Some(view) = handle.read().await? {
                    self.view = view;
                }
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn refuse(&mut self, reason: Reason, message: &str) -> Result<Step, CallError> {
        let stage = match self.view.deletion {
            Some(_) => Stage::Delete,
            None => Stage::Connect,
        };
        let mut message = format!("{}{message}", stage.prefix());
        if let (Some(why), Stage::Connect) = (&self.record.untaken, stage) {
            message.push_str(&format!("; nor can what was ready before be used: {why}"));
        }
        let (generation, now) = (self.view.generation, self.ctx.now());
        let standing = &mut self.record.standing;
        let error = (Type::Synced, ConditionStatus::False, Reason::ReconcileError);
        standing.say(error, &message, generation, now);
        standing.say(
            (Type::Failing, ConditionStatus::True, reason),
            &message,
            generation,
            now,
        );
        standing.observed_generation = Some(generation);
        self.ctx.tell(&self.view, &mut self.record).await?;
        self.ctx.herald.tell(&self.view, stage.news(), &message).await;
        self.record.is_refused = stage == Stage::Connect;
        // Watches tell when something that is missing appears; only what the API did not answer, or not to us, is asked
        // again.
        if !matches!(reason, Reason::Network | Reason::StateLocked | Reason::Denied) {
            self.refuse_retry().await?;
            return Ok(Step::Then(Then::Wait(None)));
        }
        self.record.inputs = self
            .record
            .inputs
            .take()
            .filter(|facts| matches!(facts, InputFacts::Ready { .. }));
        self.record.state = None;
        self.record.namespace = self
            .record
            .namespace
            .take()
            .filter(|facts| !matches!(facts, NamespaceFacts::Unknown(_)));
        Ok(Step::TryAgain)
    }

    /// Writes down that the try that a person asked for cannot begin, if it is not written down yet: whoever waits for its
    /// end would wait for ever.
    async fn refuse_retry(&mut self) -> Result<(), CallError> {
        let retry = requests(&self.view).retry;
        let is_known = |report: &RunReport| {
            retry.is_none()
                || report.refused_retry == retry
                || report.answered.get(RETRY_REQUESTED) == retry.as_ref()
        };
        if is_known(&self.record.report) {
            return Ok(());
        }
        let page = Page::new(&self.ctx.client, &self.view, &self.ctx.options.system_namespace);
        // Who never reported anything is waited for by nobody.
        let Some(mut found) = page.read().await? else {
            return Ok(());
        };
        if !is_known(&found.report) {
            found.report.refused_retry.clone_from(&retry);
            // What is written there has been through a redactor.
            let redactor = Redactor::new(&Secrets::default());
            page.write(&report::with_report(&found.report, &redactor)).await?;
        }
        self.record.report.refused_retry = retry;
        Ok(())
    }

    /// Says what was so before something was in the way, as the last operation left it.
    async fn say_again(&mut self) -> Result<(), CallError> {
        self.record.is_refused = false;
        let (generation, now) = (self.view.generation, self.ctx.now());
        let has_failed = |memory: &Memory| memory.failed.is_some();
        let standing = &mut self.record.standing;
        if self.record.memory.as_ref().is_some_and(has_failed) {
            retell(&self.record.report, &self.view, standing, now);
        } else {
            let synced = (Type::Synced, ConditionStatus::True, Reason::ReconcileSuccess);
            standing.say(synced, "", generation, now);
            let fine = (Type::Failing, ConditionStatus::False, Reason::NotFailing);
            standing.take_back(fine, generation, now);
        }
        self.ctx.tell(&self.view, &mut self.record).await
    }

    async fn say_deleting(&mut self) -> Result<(), CallError> {
        let deleting = (Type::Ready, ConditionStatus::False, Reason::Deleting);
        let (generation, now) = (self.view.generation, self.ctx.now());
        self.record
            .standing
            .say(deleting, "others have to let go of it first", generation, now);
        self.ctx.tell(&self.view, &mut self.record).await
    }

    /// Whether the engine has a state that lists something and was not kept, although nobody remembers a crash: what
    /// would remember it may be gone already.
    async fn has_more_on_disk(&self, is_known: bool) -> Result<bool, (Reason, String)> {
        let Some(engine) = self.engine().filter(|_| !is_known) else {
            return Ok(false);
        };
        let left = engine
            .left_behind(&self.view.uid, self.view.external_name())
            .await;
        let left = left.map_err(|error| (Reason::StateUnavailable, words(&error)))?;
        if left.is_empty() {
            return Ok(false);
        }
        let prepared = inputs::load(&self.view, &self.ctx.lookup, &self.ctx.surroundings).await;
        let kept = match home_of(&self.view, &prepared) {
            // What counts is in the backend, and what is here is no more than a copy.
            Ok(Some(Home::Backend(_))) => return Ok(false),
            Ok(Some(Home::Ours(place))) => self.ctx.store.read(&place).await.map_err(|error| told(&error))?,
            Ok(None) | Err(_) => Kept::default(),
        };
        Ok(facts::is_more(&kept, &left))
    }

    fn engine(&self) -> Option<Arc<dyn Engine>> {
        let is_sandbox = self.view.is_sandbox();
        self.ctx.options.engines.for_workspace(is_sandbox).ok()
    }

    async fn let_go(&mut self, is_safe: bool) -> Result<(), CallError> {
        if let Some(engine) = self.engine().filter(|_| is_safe) {
            engine.forget(&self.view.uid).await;
        }
        Handle::new(&self.ctx.client, &self.view).let_go().await
    }

    /// Writes down that nothing exists any more, so that nobody misses the state when it is removed.
    async fn mark_destroyed(&mut self) -> Result<(), CallError> {
        if was_made(&self.view) {
            let annotations = BTreeMap::from([(DESTROYED, Some("true".to_owned()))]);
            let handle = Handle::new(&self.ctx.client, &self.view);
            self.view = handle.mark(&self.view, &annotations, false).await?;
        }
        Ok(())
    }

    /// Removes what is kept of a state that lists nothing, and its lock.
    async fn remove_state(&mut self) -> Result<(), (Reason, String)> {
        let prepared = inputs::load(&self.view, &self.ctx.lookup, &self.ctx.surroundings).await;
        let home = home_of(&self.view, &prepared).map_err(|error| (Reason::InputInvalid, words(&error)))?;
        let Some(Home::Ours(place)) = home else {
            return Ok(());
        };
        let purpose = Purpose {
            operation: "OperationTypeApply".to_owned(),
            info: format!("Workspace {}", self.view.name),
            version: String::new(),
        };
        let lock = match self
            .ctx
            .locks
            .acquire(&place, &purpose, Before::Perhaps, CancellationToken::new())
            .await
        {
            Ok(lock) => Some(lock),
            // Where nothing can be made any more, nobody else can take it either.
            Err(LockError::Call { source, .. }) if source.is_namespace_terminating() => None,
            Err(error @ LockError::Held { .. }) => return Err((Reason::StateLocked, words(&error))),
            Err(error) => return Err((Reason::Network, words(&error))),
        };
        if let Err(error) = self.ctx.store.remove(&place).await {
            if let Some(lock) = lock {
                let _ = lock.release().await;
            }
            return Err(told(&error));
        }
        match lock {
            None => Ok(()),
            Some(lock) => lock
                .discard()
                .await
                .map_err(|error| (Reason::Network, words(&error))),
        }
    }
}

fn told(error: &StoreError) -> (Reason, String) {
    let reason = match error.is_transient() {
        true => Reason::Network,
        false => Reason::StateUnavailable,
    };
    (reason, words(error))
}
