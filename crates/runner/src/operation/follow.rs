//! Follows an operation while it runs: what it prints becomes a log, what it does becomes progress, what it writes is
//! handed on to be kept.
//!
//! Writes are few: a poll that finds nothing writes nothing, the longer an operation takes the rarer they become, and a
//! plan that is carried out at once, makes nothing real, destroys nothing and repairs nothing is told together with what
//! comes of it.

use std::{collections::BTreeMap, time::Duration};

use capt_api::run::{
    LOG_KEY, MissingResource, PLAN_KEY, PLAN_LOG_KEY, PREVIOUS_LOG_KEY, ResourceRow, RunReport,
};
use capt_terraform::{
    diagnostics::bounded,
    plan::{Plan, ResourceChange},
    progress::{Next, Operation, Tracker, Written, next_write},
    state::State,
    stream::{Action, Kind, Step},
};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use super::{gate::Gate, keep::Offers};
use crate::{
    Clock,
    api::words,
    engine::{Goal, Phase, Planned, Told},
    report::{self, Changes, Learned, Log, Page, Room, readable},
};

/// What takes less time than this has no progress that anybody could follow: an operation, or a part of it.
const FIRST_PROGRESS: SignedDuration = SignedDuration::from_secs(1);
/// Logs are written no more often than this.
const LOG_PAUSE: SignedDuration = SignedDuration::from_secs(15);
/// How long an engine may take to fall silent when its session is gone.
const SILENCE: Duration = Duration::from_secs(10);
/// Lines of a plan that Terraform did not put into words.
const MAX_LINES: usize = 200;
/// Failed resources that are listed.
const MAX_FAILED: usize = 20;

/// What an operation tells its follower.
pub(crate) enum Note {
    /// From now on it is told about.
    Publish,
    /// A plan was made.
    Plan {
        /// What it would do.
        planned: Box<Planned>,
        /// It waits for an approval.
        awaits_approval: bool,
        /// What was made before and the state does not have.
        missing: Vec<MissingResource>,
        /// How many more of them are known only by their number.
        more_missing: u32,
        /// Requests of people that are answered, should nobody live to tell the end.
        answered: BTreeMap<String, String>,
        /// Hears when it is told, and everything is known that the plan says is secret.
        told: oneshot::Sender<()>,
    },
}

/// What a follower needs.
pub(crate) struct Follower {
    pub(crate) clock: Clock,
    pub(crate) page: Page,
    pub(crate) gate: Gate,
    pub(crate) offers: Option<Offers>,
    pub(crate) learned: Learned,
    pub(crate) goal: Goal,
    /// It is a plan that somebody asked for, so that nothing is done.
    pub(crate) is_plan: bool,
    /// Which try it is, if it is one.
    pub(crate) attempt: Option<i32>,
    /// Resources in the state at the beginning.
    pub(crate) resources: usize,
    pub(crate) report: RunReport,
    /// Nothing that is made is real.
    pub(crate) is_simulated: bool,
    /// Nothing was ever told before, so that there is nothing to read.
    pub(crate) is_first: bool,
    pub(crate) started: Timestamp,
}

/// What is there in the end.
pub(crate) struct Followed {
    /// The report, up to date.
    pub(crate) report: RunReport,
    /// All that was printed.
    pub(crate) log: String,
    /// The text of a plan that was not told yet.
    pub(crate) plan_text: Option<String>,
    /// Older logs, where something in them was found to be secret since they were written.
    pub(crate) cleaned: Changes,
    /// It was told about, so that its end has to be told too.
    pub(crate) is_published: bool,
}

impl Follower {
    /// Follows until nobody tells anything any more.
    pub(crate) async fn follow(
        self,
        mut told: mpsc::UnboundedReceiver<Told>,
        mut notes: mpsc::UnboundedReceiver<Note>,
    ) -> Followed {
        let mut following = Following::new(self);
        loop {
            let due = following.due();
            tokio::select! {
                biased;
                note = notes.recv() => match note {
                    Some(note) => {
                        // What was told before the note was sent comes before it.
                        while let Ok(one) = told.try_recv() {
                            following.take(one);
                        }
                        following.note(note).await;
                    }
                    None => break,
                },
                () = sleep(due) => following.write().await,
                one = told.recv() => match one {
                    Some(one) => following.take(one),
                    None => break,
                },
            }
        }
        // The session is gone; what it told last may still be on its way.
        while let Ok(Some(one)) = timeout(SILENCE, told.recv()).await {
            following.take(one);
        }
        while let Ok(note) = notes.try_recv() {
            following.note(note).await;
        }
        following.end()
    }
}

struct Following {
    with: Follower,
    log: Log,
    /// With whether what it learns is worth keeping: how long reading takes is not.
    tracker: Option<(Tracker, bool)>,
    /// The plan that is going to be applied, if anything is.
    plan: Option<Plan>,
    /// The text of a plan that was not told yet.
    plan_text: Option<String>,
    /// Logs that others wrote and that stay.
    older: Vec<(&'static str, String)>,
    failed: Vec<ResourceRow>,
    is_published: bool,
    is_log_new: bool,
    log_written: Option<Timestamp>,
    written: Option<Written>,
    /// It was told that it is being prepared.
    is_init_told: bool,
    /// When what is being done began.
    phase_began: Timestamp,
}

impl Following {
    fn new(with: Follower) -> Self {
        Self {
            log: Log::new(match with.is_plan {
                true => Room::PLAN,
                false => Room::OPERATION,
            }),
            phase_began: with.started,
            with,
            tracker: None,
            plan: None,
            plan_text: None,
            older: Vec::new(),
            failed: Vec::new(),
            is_published: false,
            is_log_new: false,
            log_written: None,
            written: None,
            is_init_told: false,
        }
    }

    fn now(&self) -> Timestamp {
        (self.with.clock)()
    }

    fn take(&mut self, told: Told) {
        let now = self.now();
        if let Some(text) = readable(&told) {
            self.log.push(now, &self.with.gate.text(&text));
            self.is_log_new = true;
        }
        match told {
            Told::Phase(phase) => self.begin(phase),
            Told::Event(event) => {
                if let Kind::Apply(Step::Errored, hook) = &event.kind
                    && self.failed.len() < MAX_FAILED
                {
                    self.failed.push(ResourceRow {
                        address: self.with.gate.text(&hook.resource.addr),
                        action: hook.action.as_str().to_owned(),
                        state: "failed".to_owned(),
                        since: Some(now),
                    });
                }
                if let Some((tracker, _)) = &mut self.tracker {
                    tracker.observe(&event, now);
                }
            }
            Told::Text(_) => {}
            Told::Secrets(secrets) => self.with.gate.add(&secrets),
            Told::State(file) => {
                self.with.gate.learn(&file);
                if let Ok(state) = State::parse(&file) {
                    self.with.resources = state.managed().count();
                }
                if let Some(offers) = &self.with.offers {
                    offers.offer(file);
                }
            }
        }
    }

    fn begin(&mut self, phase: Phase) {
        self.teach();
        let operation = match (phase, self.with.goal) {
            (Phase::Init, _) => return,
            (Phase::Plan, _) => Operation::Plan,
            (Phase::Apply, Goal::Converge) => Operation::Apply,
            (Phase::Apply, Goal::Destroy) => Operation::Destroy,
        };
        self.phase_began = self.now();
        let durations = self.with.learned.durations();
        let mut tracker = Tracker::new(operation, self.with.resources, durations);
        if let (Phase::Apply, Some(plan)) = (phase, &self.plan) {
            tracker.expect(plan);
        }
        self.tracker = Some((tracker, operation != Operation::Plan));
    }

    async fn note(&mut self, note: Note) {
        match note {
            Note::Publish => {
                if !self.is_published {
                    self.is_published = true;
                    self.rotate().await;
                }
            }
            Note::Plan {
                planned,
                awaits_approval,
                missing,
                more_missing,
                answered,
                told,
            } => {
                let report = &mut self.with.report;
                (report.missing, report.more_missing) = (missing, more_missing);
                (report.answered, report.cut_short) = (answered, None);
                let redactor = self.with.gate.redactor();
                let generation = self
                    .with
                    .report
                    .operation
                    .as_ref()
                    .map_or(0, |operation| operation.generation);
                let mut plan = report::plan(&planned, generation, &redactor, self.now());
                // To look at a plan that waits does not end the waiting.
                let before = self.with.report.plan.as_ref().filter(|_| self.with.is_plan);
                let waits_already =
                    before.is_some_and(|before| before.awaits_approval && before.id == plan.id);
                plan.awaits_approval = awaits_approval || waits_already;
                self.with.report.plan = Some(plan);
                let text = match planned.text.trim() {
                    "" => planned.plan.text(MAX_LINES),
                    text => text.to_owned(),
                };
                let text = bounded(&redactor.text(&text), report::MAX_PLAN_TEXT);
                if !text.is_empty() {
                    self.log.push(self.now(), &text);
                    self.is_log_new = true;
                }
                self.plan_text = Some(text);
                let is_news = planned.plan.is_destructive() || !planned.plan.drift.is_empty();
                // Should this machine be lost, then the report is all that tells what may exist.
                let is_harmless = self.with.is_simulated || !planned.plan.changes.iter().any(makes);
                let can_wait = !awaits_approval && !self.with.is_plan && !is_news && is_harmless;
                if self.is_published && !can_wait {
                    let changes = self.with_plan();
                    self.send(changes).await;
                }
                self.plan = Some(planned.plan);
                // Nobody waits any more if the operation was given up.
                let _ = told.send(());
            }
        }
    }

    /// The report, with a plan that was not told yet.
    fn with_plan(&mut self) -> Changes {
        let mut changes = report::with_report(&self.with.report, &self.with.gate.redactor());
        changes.extend(self.plan_text.take().map(|text| (PLAN_KEY, Some(text))));
        changes
    }

    /// Makes room for the log of this operation.
    async fn rotate(&mut self) {
        let mut is_there = true;
        let mut changes = match self.with.is_plan {
            true => Changes::from([(PLAN_LOG_KEY, Some(String::new()))]),
            false if self.with.is_first => {
                is_there = false;
                report::with_rotated_log(None)
            }
            false => {
                let found = self.with.page.read().await;
                is_there = !matches!(found, Ok(None));
                let found = found.ok().flatten().unwrap_or_default();
                let previous = found.log.filter(|log| !log.is_empty());
                let previous = previous.map(|log| self.with.gate.text(&log));
                let older = [
                    (PREVIOUS_LOG_KEY, previous.clone()),
                    (PLAN_LOG_KEY, found.plan_log),
                ];
                let older = older.into_iter().filter_map(|(key, log)| Some((key, log?)));
                self.older = older.collect();
                report::with_rotated_log(previous)
            }
        };
        changes.extend(report::with_report(&self.with.report, &self.with.gate.redactor()));
        if is_there {
            self.send(changes).await;
        } else if let Err(error) = self.with.page.write_first(&changes).await {
            tracing::warn!(error = words(&error), "progress could not be told");
        }
    }

    /// How long until the next write is due.
    fn due(&mut self) -> Duration {
        const FAR: Duration = Duration::from_secs(3600);
        if !self.is_published {
            return FAR;
        }
        let now = self.now();
        let until = |time: Timestamp| Duration::try_from(time.duration_since(now)).unwrap_or_default();
        let log = match (self.is_log_new, self.log_written) {
            (false, _) => FAR,
            (true, None) => Duration::from_secs(2),
            (true, Some(last)) => until(last.checked_add(LOG_PAUSE).unwrap_or(Timestamp::MAX)),
        };
        let first = self.first_progress();
        let progress = match &mut self.tracker {
            _ if self.plan_text.is_some() => until(first),
            None if self.is_init_told => FAR,
            None => until(first),
            Some(_) if now < first => until(first),
            Some((tracker, _)) => {
                let progress = tracker.progress(now);
                match next_write(self.written.as_ref(), &progress, self.with.started, now) {
                    Next::Now => Duration::ZERO,
                    Next::At(time) => until(time),
                }
            }
        };
        log.min(progress)
    }

    /// From when on progress is told.
    fn first_progress(&self) -> Timestamp {
        let began = self.phase_began;
        began.checked_add(FIRST_PROGRESS).unwrap_or(began)
    }

    async fn write(&mut self) {
        let now = self.now();
        let mut changes = Changes::new();
        if now >= self.first_progress() && self.plan_text.is_some() {
            changes.extend(self.with_plan());
        }
        if now >= self.first_progress()
            && let Some((tracker, _)) = &mut self.tracker
        {
            let progress = tracker.progress(now);
            if next_write(self.written.as_ref(), &progress, self.with.started, now) == Next::Now {
                let redactor = self.with.gate.redactor();
                let report = &mut self.with.report;
                report.progress = Some(report::progress(&progress, self.with.attempt, &redactor));
                report.resources = report::rows(&progress, &redactor);
                report.resources.extend(self.failed.iter().cloned());
                changes.extend(report::with_report(report, &redactor));
                self.written = Some(Written { at: now, progress });
            }
        }
        // A module that is large or far away is fetched for minutes, and nobody should think that nothing happens.
        if now >= self.first_progress() && self.tracker.is_none() && !self.is_init_told {
            self.is_init_told = true;
            self.with.report.progress = Some(report::preparing(self.with.attempt));
            changes.extend(report::with_report(&self.with.report, &self.with.gate.redactor()));
        }
        let is_log_due = self
            .log_written
            .is_none_or(|last| now.duration_since(last) >= LOG_PAUSE);
        if self.is_log_new && is_log_due {
            let key = log_key(self.with.is_plan);
            changes.insert(key, Some(self.with.gate.text(&self.log.text())));
            self.is_log_new = false;
            self.log_written = Some(now);
        }
        if !changes.is_empty() {
            self.send(changes).await;
        }
    }

    /// What cannot be told now is told later, or in the end.
    async fn send(&self, changes: Changes) {
        if let Err(error) = self.with.page.write(&changes).await {
            tracing::warn!(error = words(&error), "progress could not be told");
        }
    }

    fn teach(&mut self) {
        if let Some((tracker, true)) = self.tracker.take() {
            self.with.learned.learn(&tracker);
        }
    }

    fn end(mut self) -> Followed {
        self.teach();
        let mut report = self.with.report;
        report.progress = None;
        report.resources = self.failed;
        Followed {
            report,
            // Secrets that came up late may stand in earlier lines.
            log: self.with.gate.text(&self.log.text()),
            plan_text: self.plan_text,
            cleaned: cleaned(self.older, &self.with.gate),
            is_published: self.is_published,
        }
    }
}

/// Logs that say something that is known to be secret only now, without it.
fn cleaned(logs: Vec<(&'static str, String)>, gate: &Gate) -> Changes {
    let clean = logs.into_iter().filter_map(|(key, log)| {
        let clean = gate.text(&log);
        (clean != log).then_some((key, Some(clean)))
    });
    clean.collect()
}

/// Whether something new comes of it.
fn makes(change: &ResourceChange) -> bool {
    matches!(change.action, Action::Create | Action::Replace)
}

/// Where the log of an operation is written.
pub(super) fn log_key(is_plan: bool) -> &'static str {
    match is_plan {
        true => PLAN_LOG_KEY,
        false => LOG_KEY,
    }
}
