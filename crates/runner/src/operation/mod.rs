//! One operation for one Workspace, from the lock to the last word about it.
//!
//! The order is what makes a crash harmless: the lock, the state that an earlier run left behind, the mark that
//! something is about to be made, Terraform, the state, the mark that it was made, the report, and last the status,
//! which says that all of it is done.

mod failure;
mod finish;
mod follow;
mod gate;
mod keep;
mod missing;
mod repeat;
mod session;
mod stop;

use std::{borrow::Cow, sync::Arc, time::Duration};

use capt_api::{marks::RETRY_REQUESTED, run::Operation};
use capt_terraform::{
    diagnostics::Class,
    lock::Taken,
    redact::Secrets,
    state::{Created, State},
    stream::Diagnostic,
};
use k8s_openapi::jiff::Timestamp;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) use failure::{Stage, words as failure_words};
pub(crate) use stop::{Stop, Why};

use crate::{
    api::words,
    context::Context,
    decide::{About, InputFacts, Next, Requests, Running, What, Whose, decide, only_looks},
    engine::{Engine, EngineKind, Failure, FailureKind, Goal, Inputs, Link, StateHome},
    events::News,
    inputs::{self, Home, Prepared},
    report::{self, Page},
    store::{Before, Kept, KeptLock, ListPlace, Lock, LockError, Place, Purpose},
    view::WorkspaceView,
    workspace::{
        Handle, Record, as_it_would_be, belongs_to_another, beside_backend, claim, facts_of, is_paused, kind,
        observe, references_of, requests,
    },
};
use failure::own;
use follow::{Followed, Follower, Note};
use gate::Gate;
use keep::Keeper;

/// An operation to be carried out.
pub(crate) struct Job {
    pub(crate) what: What,
    /// Nobody waits for it, so that nothing is told if nothing is found.
    pub(crate) is_poll: bool,
    pub(crate) view: WorkspaceView,
    pub(crate) record: Record,
    pub(crate) stop: Stop,
}

/// What is known after an operation.
pub(crate) struct Finished {
    pub(crate) view: WorkspaceView,
    pub(crate) record: Record,
}

/// How an operation ended.
pub(crate) enum Ended {
    /// The Workspace with this uid was gone before it began.
    Gone { uid: String },
    /// With this.
    Finished(Box<Finished>),
}

impl From<Finished> for Ended {
    fn from(finished: Finished) -> Self {
        Self::Finished(Box::new(finished))
    }
}

/// An operation that runs.
struct Run<'a> {
    ctx: &'a Context,
    what: What,
    is_poll: bool,
    view: WorkspaceView,
    /// What people had asked for when it began; what they ask for meanwhile is for the next one.
    requests: Requests,
    record: Record,
    stop: Stop,
    about: About,
    gate: Gate,
    started: Timestamp,
    /// What is being done, for messages.
    stage: Stage,
    /// What executes it, once that is known.
    engine: Option<Arc<dyn Engine>>,
    /// Somebody asked for another try.
    is_retry: bool,
    /// It is not the time to change anything.
    only_looks: bool,
    /// The newest state that is known.
    state: Option<State>,
    /// What was made and the state does not have.
    missing: Vec<Created>,
    /// What Terraform warned of. Not redacted.
    warnings: Vec<Diagnostic>,
    /// Where an earlier Workspace left what the state does not have, until it is told about this one.
    left_at: Option<ListPlace>,
}

/// How an operation came out.
enum Verdict {
    /// Everything is as it should be. Says whether something was applied, and whether all of it was new.
    Settled { applied: Option<bool> },
    /// Something is not as it should be, and nothing may be changed.
    Told,
    /// A plan waits for an approval.
    Held { plan: String, summary: String },
    /// A plan was made for a person.
    Planned { plan: String, summary: String },
    /// Everything is gone.
    Destroyed,
    /// What a crash left behind is safe.
    Rescued,
}

/// Carries an operation out. What happened is told on the object and in what is returned.
pub(crate) async fn operate(ctx: &Context, job: Job) -> Ended {
    let Job {
        what,
        is_poll,
        view,
        mut record,
        stop,
    } = job;
    // What was decided was decided about what watches told, which may be old.
    let view = match Handle::new(&ctx.client, &view).read().await {
        Ok(Some(view)) => view,
        Ok(None) => return Ended::Gone { uid: view.uid },
        Err(error) => {
            tracing::warn!(
                workspace = view.name,
                error = words(&error),
                "a Workspace cannot be read"
            );
            record.troubles += 1;
            return Finished { view, record }.into();
        }
    };
    // Watches may be silent for long, and two who run Terraform for one Workspace destroy each other's work.
    let whose = match ctx.whose_now(&view).await {
        Ok(whose) => whose,
        Err(error) => {
            tracing::warn!(
                workspace = view.name,
                error = words(&error),
                "it cannot be told whether provider-terraform uses a Workspace"
            );
            record.troubles += 1;
            return Finished { view, record }.into();
        }
    };
    record.is_ours = Some(whose == Whose::Ours);
    let asked = match what {
        What::Plan => as_it_would_be(&view),
        _ => Ok(Cow::Borrowed(&view)),
    };
    let (prepared, facts) = match asked {
        Ok(asked) => {
            let prepared = inputs::load(&asked, &ctx.lookup, &ctx.surroundings).await;
            let facts = facts_of(ctx, &asked, &prepared);
            (prepared, facts)
        }
        Err(error) => {
            let prepared = Err(error);
            let facts = facts_of(ctx, &view, &prepared);
            (prepared, facts)
        }
    };
    let is_paused = is_paused(&view);
    // What a plan was made of during a pause is not what the Workspace has.
    if !is_paused {
        record.references = references_of(&view, &prepared);
        record.inputs = Some(facts.clone());
    }
    let snapshot = observe(&view, &record, whose, None::<Running>, ctx.common());
    let is_still_so = matches!(decide(&snapshot, ctx.now()), Next::Run(decided, _) if decided == what);
    let job = Job {
        what,
        is_poll,
        view,
        record,
        stop,
    };
    match (prepared, facts) {
        _ if !is_still_so => {}
        (Ok(prepared), InputFacts::Ready { hash, .. }) => {
            let run = Run::new(ctx, job, hash, prepared.inputs.secrets.clone());
            return run.carry_out(prepared).await.into();
        }
        // The conditions go on saying that it is paused, but whoever asks for a plan is told.
        (_, InputFacts::Unresolved { message, .. }) if is_paused => {
            let run = Run::new(ctx, job, String::new(), Secrets::default());
            return run.refuse(message).await.into();
        }
        _ => {}
    }
    Finished {
        view: job.view,
        record: job.record,
    }
    .into()
}

impl<'a> Run<'a> {
    fn new(ctx: &'a Context, mut job: Job, hash: String, secrets: Secrets) -> Self {
        job.record.is_refused = false;
        let requests = requests(&job.view);
        let answered = job.record.memory.as_ref().map(|memory| &memory.answered);
        let is_retry = requests.retry.is_some()
            && requests.retry.as_ref() != answered.and_then(|answered| answered.get(RETRY_REQUESTED));
        let standing = &job.record.standing;
        let memory = job.record.memory.as_ref();
        let made = memory.and_then(|memory| memory.made.as_deref());
        let is_as_made = made.is_some_and(|made| made == inputs::asked(&job.view));
        let was_made = standing.was_made(&hash, job.view.generation, is_as_made);
        let only_looks = memory.is_some_and(|memory| only_looks(&requests, memory, was_made));
        Self {
            only_looks,
            ctx,
            what: job.what,
            is_poll: job.is_poll,
            about: About {
                hash,
                generation: job.view.generation,
            },
            requests,
            is_retry,
            view: job.view,
            record: job.record,
            stop: job.stop,
            gate: Gate::new(secrets),
            started: ctx.now(),
            stage: Stage::Connect,
            engine: None,
            state: None,
            missing: Vec::new(),
            warnings: Vec::new(),
            left_at: None,
        }
    }

    /// Says why nothing can be run.
    async fn refuse(mut self, message: String) -> Finished {
        let followed = Followed {
            report: self.follower(None).report,
            log: String::new(),
            plan_text: None,
            cleaned: report::Changes::new(),
            is_published: false,
        };
        let failure = Failure {
            kind: FailureKind::InvalidInput,
            ..own(Class::Other, message)
        };
        self.finish(Err(failure), Ok(()), Some(followed)).await
    }

    async fn carry_out(mut self, prepared: Prepared) -> Finished {
        let (told_sender, told) = mpsc::unbounded_channel();
        let (notes, noted) = mpsc::unbounded_channel();
        let state_lost = CancellationToken::new();
        let lock_lost = CancellationToken::new();
        let guard = self
            .stop
            .guard(self.ctx.options.timeout, lock_lost.clone(), state_lost.clone());

        let begun = self.begin(&prepared, lock_lost).await;
        let (mut lock, mut keeper, mut inputs) = (None, None, None);
        let result = match begun {
            Ok(begun) => {
                let Begun {
                    lock: taken,
                    place,
                    kept,
                } = begun;
                lock = taken;
                let given = with_state(prepared.inputs, place.is_some(), kept.as_ref());
                let cut_short = self.record.report.cut_short.as_ref();
                inputs = Some(Inputs {
                    operation: self.started.to_string(),
                    cut_short: cut_short.map(|one| one.started_at.unwrap_or_default().to_string()),
                    ..given
                });
                keeper = place
                    .zip(kept)
                    .map(|(place, kept)| Keeper::start(self.ctx.store.clone(), place, kept, state_lost));
                Ok(())
            }
            Err(failure) => Err(failure),
        };
        let follower = self.follower(keeper.as_ref());
        let following = tokio::spawn(follower.follow(told, noted));
        let result = match (result, inputs) {
            (Ok(()), Some(inputs)) => {
                let link = Link {
                    told: told_sender,
                    cancel: self.stop.token(),
                };
                self.execute(inputs, link, keeper.as_ref(), &notes).await
            }
            (Err(failure), _) => {
                drop(told_sender);
                Err(failure)
            }
            (Ok(()), None) => Ok(Verdict::Rescued),
        };
        drop(guard);
        drop(notes);
        let followed = following.await.ok();
        let kept = match keeper {
            Some(keeper) => {
                if let Some(state) = result.as_ref().err().and_then(|failure| failure.state.clone()) {
                    keeper.offers().offer(state);
                }
                keeper.finish().await
            }
            None => Ok(()),
        };
        let finished = self.finish(result, kept, followed).await;
        if let Some(lock) = lock
            && let Err(error) = lock.release().await
        {
            tracing::debug!(error = words(&error), "a lock was not given back, and expires");
        }
        finished
    }

    /// Finds an engine, takes the lock, reads the state.
    async fn begin(&mut self, prepared: &Prepared, lock_lost: CancellationToken) -> Result<Begun, Failure> {
        let is_sandbox = self.view.is_sandbox();
        let engine = self.ctx.options.engines.for_workspace(is_sandbox)?;
        let about = engine.about();
        self.record.report.engine = about.to_string();
        self.engine = Some(engine);
        let Home::Ours(place) = &prepared.home else {
            let beside = beside_backend(&self.view, &self.ctx.options.system_namespace);
            // Only the first operation of a Workspace has something to take over.
            if let Some(at) = beside.filter(|_| self.record.is_unreported) {
                let list = self.ctx.store.read_list(&at).await?;
                self.take_over(list.as_deref(), at);
            }
            return Ok(Begun {
                lock: None,
                place: None,
                kept: None,
            });
        };
        let purpose = Purpose {
            operation: match self.what {
                What::Plan => "OperationTypePlan".to_owned(),
                _ => "OperationTypeApply".to_owned(),
            },
            info: format!("Workspace {}", self.view.name),
            version: about.version,
        };
        let lock = self.lock(place, &purpose, lock_lost).await?;
        if let Taken::Expired { runner } = lock.taken() {
            let note = format!("the lock that the runner {runner} left behind had expired and was taken");
            self.ctx.herald.tell(&self.view, News::LockTaken, &note).await;
        }
        let before = match lock.taken() {
            Taken::Absent if self.record.is_unreported => Before::HardlyEver,
            _ => Before::Perhaps,
        };
        let mut kept = match self.read_own(place, before).await {
            Ok(kept) => kept,
            Err(failure) => {
                let _ = lock.release().await;
                return Err(failure);
            }
        };
        kept.claim = Some(claim(&self.view));
        self.take_over(kept.list(), ListPlace::State(place.clone()));
        kept.moves = self.view.state_moves();
        self.label_provider_lock(place, &kept).await;
        self.learn(kept.replica.as_deref());
        Ok(Begun {
            lock: Some(lock),
            place: Some(place.clone()),
            kept: Some(kept),
        })
    }

    /// Reads the state, unless it is another Workspace's.
    async fn read_own(&self, place: &Place, before: Before) -> Result<Kept, Failure> {
        let mut kept = self.ctx.store.read_after(place, before).await?;
        if !self.is_simulated() {
            kept.provider_lock = self.ctx.store.read_provider_lock(place).await?;
        }
        match belongs_to_another(self.ctx, &self.view, place, &kept).await {
            Ok(None) => Ok(kept),
            Ok(Some(message)) => Err(Failure {
                kind: FailureKind::InvalidInput,
                ..own(Class::Other, message)
            }),
            Err(error) => Err(own(Class::Network, words(&error))),
        }
    }

    /// The provider versions are moved together with the state. If that cannot be written, the next operation writes it.
    async fn label_provider_lock(&self, place: &Place, kept: &Kept) {
        let is_other = |lock: &KeptLock| lock.moves != kept.moves;
        if !kept.provider_lock.as_ref().is_some_and(is_other) {
            return;
        }
        if let Err(error) = self.ctx.store.label_provider_lock(place, kept.moves).await {
            let error = words(&error);
            tracing::warn!(
                workspace = self.view.name,
                error,
                "the provider lock was not labelled"
            );
        }
    }

    /// Takes the lock, and frees it first if a person says so.
    async fn lock(
        &self,
        place: &Place,
        purpose: &Purpose,
        lost: CancellationToken,
    ) -> Result<Lock, LockError> {
        let before = match self.record.is_unreported {
            true => Before::HardlyEver,
            false => Before::Perhaps,
        };
        let refused = match self.ctx.locks.acquire(place, purpose, before, lost.clone()).await {
            Err(LockError::Held {
                namespace,
                lease,
                holder,
            }) => LockError::Held {
                namespace,
                lease,
                holder,
            },
            other => return other,
        };
        let wanted = self.requests.unlock.as_ref();
        let is_wanted = matches!(&refused, LockError::Held { holder, .. } if Some(&holder.id) == wanted);
        if let Some(id) = wanted
            && is_wanted
            && self.ctx.locks.unlock(place, id).await?
        {
            return self
                .ctx
                .locks
                .acquire(place, purpose, Before::Perhaps, lost)
                .await;
        }
        Err(refused)
    }

    fn follower(&mut self, keeper: Option<&Keeper>) -> Follower {
        let mut report = self.record.report.clone();
        self.view.group.name().clone_into(&mut report.group);
        report.workspace.clone_from(&self.view.name);
        report.operation = Some(Operation {
            kind: kind(self.what).to_owned(),
            started_at: Some(self.started),
            generation: self.about.generation,
            inputs: self.about.hash.clone(),
            ..Operation::default()
        });
        report.progress = None;
        report.resources.clear();
        Follower {
            clock: self.ctx.options.clock.clone(),
            page: Page::new(&self.ctx.client, &self.view, &self.ctx.options.system_namespace),
            gate: self.gate.clone(),
            offers: keeper.map(Keeper::offers),
            learned: self.ctx.learned.clone(),
            goal: self.goal(),
            is_plan: self.what == What::Plan,
            attempt: (self.what != What::Plan).then(|| self.attempt()),
            resources: self.state.as_ref().map_or(0, |state| state.managed().count()),
            report,
            is_simulated: self.is_simulated(),
            is_first: std::mem::take(&mut self.record.is_unreported),
            started: self.started,
        }
    }

    /// Which try of the same this is.
    fn attempt(&self) -> i32 {
        let memory = self.record.memory.as_ref();
        let failed = memory.and_then(|memory| memory.failed.as_ref());
        let failed = failed.filter(|failed| failed.what == self.what && failed.about == self.about);
        let count = failed.map_or(0, |failed| failed.count);
        i32::try_from(count).unwrap_or(i32::MAX).saturating_add(1)
    }

    fn goal(&self) -> Goal {
        match self.what {
            What::Destroy => Goal::Destroy,
            What::Plan | What::Converge | What::Rescue => Goal::Converge,
        }
    }

    /// Takes note of a state.
    fn learn(&mut self, file: Option<&[u8]>) {
        let Some(file) = file else { return };
        self.gate.learn(file);
        if let Ok(state) = State::parse(file) {
            self.state = Some(state);
        }
    }

    fn is_simulated(&self) -> bool {
        self.engine
            .as_ref()
            .is_some_and(|engine| engine.about().kind == EngineKind::Simulated)
    }

    fn took(&self) -> Duration {
        Duration::try_from(self.ctx.now().duration_since(self.started)).unwrap_or_default()
    }
}

struct Begun {
    lock: Option<Lock>,
    place: Option<Place>,
    kept: Option<Kept>,
}

fn with_state(mut inputs: Inputs, is_ours: bool, kept: Option<&Kept>) -> Inputs {
    inputs.state = match is_ours {
        true => StateHome::Ours {
            replica: kept.and_then(|kept| kept.replica.clone()),
            staged: kept.and_then(|kept| kept.staged.clone()),
        },
        false => StateHome::Backend,
    };
    let provider_lock = kept.and_then(|kept| kept.provider_lock.clone());
    inputs.provider_lock = provider_lock.and_then(|kept| kept.lock);
    inputs
}
