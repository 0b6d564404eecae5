//! The loop: what happens wakes Workspaces, who is awake is looked at, and who needs an operation waits for room.
//!
//! One task owns everything that is known; whoever works with a Workspace borrows what is known about it and brings it
//! back. So nothing is locked, and no Workspace is worked with twice at once.

mod complaint;
mod connections;
mod key;
mod queue;
mod states;
mod stripped;
mod sweep;
mod table;
mod usages;
mod watches;

use std::{collections::HashMap, collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    task::{Id, JoinError, JoinSet},
    time::{Instant, sleep, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    context::Context,
    decide::{Next, Priority, Running, What, Whose, backoff, decide, later},
    inputs::{ObjectKind, ObjectRef},
    operation::{Ended, Finished, Job, Stop, Why, operate},
    view::WorkspaceView,
    workspace::{Passed, Record, Reference, Then, Told, observe, pass},
};
use key::Key;
use queue::Queue;
use states::is_of_state;
use stripped::Stripped;
use table::{Table, Work};
use usages::Usages;
use watches::{Change, Notice};

/// Looks that go on at once. They cost little.
const MAX_LOOKS: usize = 16;
/// A long time.
const FAR: Duration = Duration::from_secs(24 * 3600);

/// Keeps Workspaces applied until it is told to stop.
pub(crate) async fn run(ctx: Arc<Context>, shutdown: CancellationToken) {
    let (watching, notices) = watches::start(&ctx.client, &ctx.options, &ctx.configs);
    let mut control = Control::new(ctx);
    control.until(notices, &shutdown).await;
    drop(watching);
    control.stop().await;
}

struct Control {
    ctx: Arc<Context>,
    table: Table,
    queue: Queue,
    tasks: JoinSet<Done>,
    keys: HashMap<Id, Key>,
    looks: usize,
    operations: usize,
    used: Usages,
    sweeping: Sweeping,
    stripped: Stripped,
}

/// Removing what is left of Workspaces that are gone.
#[derive(Default)]
struct Sweeping {
    /// At most one goes on.
    task: JoinSet<HashSet<String>>,
    /// Something has gone since it began.
    is_wanted: bool,
    /// uids of what was left alone. It is told about once, and not looked at again.
    left: HashSet<String>,
}

/// What a task brings back.
enum Done {
    Look(Box<Passed>),
    Operation(Ended),
}

impl Control {
    fn new(ctx: Arc<Context>) -> Self {
        Self {
            ctx,
            table: Table::default(),
            queue: Queue::default(),
            tasks: JoinSet::new(),
            keys: HashMap::new(),
            looks: 0,
            operations: 0,
            used: Usages::default(),
            sweeping: Sweeping::default(),
            stripped: Stripped::default(),
        }
    }

    async fn until(&mut self, mut notices: mpsc::Receiver<Notice>, shutdown: &CancellationToken) {
        loop {
            self.dispatch();
            let due = self.table.next_due(self.ctx.now()).unwrap_or(FAR);
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                Some(ended) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => self.ended(ended),
                notice = notices.recv() => match notice {
                    Some(notice) => self.notice(notice),
                    None => return,
                },
                Some(swept) = self.sweeping.task.join_next(), if !self.sweeping.task.is_empty() => {
                    self.sweeping.left.extend(swept.unwrap_or_default());
                }
                object = self.stripped.next_left() => self.give_back(&object),
                () = sleep(due) => self.table.wake_due(self.ctx.now()),
            }
        }
    }

    fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Seen(view) => {
                let key = Key::of(&view);
                let bare = self
                    .stripped
                    .named_after(&view, &self.ctx.options.system_namespace);
                if self.table.see(*view) {
                    self.cancel_if_needed(&key);
                }
                for object in bare {
                    self.give_back(&object);
                }
            }
            Notice::Gone(key) => self.gone(&key),
            Notice::Only(group, scope, these) => {
                for key in self.table.others(group, &scope, &these) {
                    self.gone(&key);
                }
                // Somebody may have gone while nobody looked.
                self.sweeping.is_wanted = true;
            }
            Notice::Changed { reference, change } => {
                self.table.changed(&reference);
                if let Reference::Object(object) = &reference
                    && object.kind == ObjectKind::Secret
                {
                    let is_there = change != Change::Gone;
                    if is_of_state(&object.name) {
                        self.ctx
                            .store
                            .names()
                            .note(&object.namespace, &object.name, is_there);
                    }
                    self.table.state_secret(&object.namespace, &object.name, is_there);
                    if let Some(version) = change.version() {
                        self.table
                            .connection_secret(&object.namespace, &object.name, version);
                    }
                }
            }
            Notice::Bare { object, metadata } => {
                if self.stripped.note(&object, metadata.map(|metadata| *metadata)) {
                    self.give_back(&object);
                }
            }
            Notice::Anew(kind, scope) => self.stripped.forget(kind, &scope),
            Notice::OnlyConnections(scope, secrets) => self.table.only_connections(&scope, secrets),
            Notice::OnlyStates(scope, names) => {
                self.ctx.store.names().only(&scope, &names);
                self.table.only_states(scope, names);
            }
            Notice::Unsure => self.table.doubt_inputs(),
            Notice::Used {
                group,
                usage,
                is_used,
            } => {
                self.used.note(group, &usage, is_used);
                self.table.wake_uid(&usage.uid);
            }
            Notice::OnlyUsed(group, scope, usages) => {
                self.used.only(group, scope, usages);
                // Who was found to be used without a watch may be free by now, and nothing else tells of that.
                self.table.wake_all();
            }
        }
    }

    /// Has an object get back what it is found by, if it is of a Workspace that is known.
    fn give_back(&mut self, object: &ObjectRef) {
        let named = self.table.named_by(object, &self.ctx.options.system_namespace);
        self.stripped.begin(&self.ctx, object, &named);
    }

    fn gone(&mut self, key: &Key) {
        self.queue.remove(key);
        // What still runs for it ends by itself and finds nobody to tell.
        self.table.forget(key);
        self.sweeping.is_wanted = true;
    }

    /// Removes what is left of Workspaces that are gone.
    fn sweep(&mut self) {
        if !self.sweeping.is_wanted || !self.sweeping.task.is_empty() {
            return;
        }
        self.sweeping.is_wanted = false;
        let there = self.table.iter().map(|entry| &entry.view.uid);
        let known = there.chain(&self.sweeping.left).cloned().collect();
        self.sweeping.task.spawn(sweep::sweep(self.ctx.clone(), known));
    }

    /// Looks at who is awake, and begins operations while there is room.
    fn dispatch(&mut self) {
        while self.looks < MAX_LOOKS
            && let Some(key) = self.table.next_dirty()
        {
            self.look(key);
        }
        while self.operations < self.ctx.options.parallelism
            && let Some((key, what, priority)) = self.queue.pop(|key| self.table.is_free(key))
        {
            self.operate(key, what, priority);
        }
        self.sweep();
        self.ctx.options.metrics.queued(self.queue.len(), self.operations);
    }

    fn look(&mut self, key: Key) {
        let Some((view, record)) = self.table.lend(&key, Work::Look) else {
            return;
        };
        self.table.set_due(&key, None);
        self.looks += 1;
        let (ctx, told) = (self.ctx.clone(), self.told(&view));
        let handle = self.tasks.spawn(async move {
            let passed = pass(&ctx, view, record, told).await;
            Done::Look(Box::new(passed))
        });
        self.keys.insert(handle.id(), key);
    }

    fn operate(&mut self, key: Key, what: What, priority: Priority) {
        let stop = Stop::default();
        let work = Work::Operation {
            what,
            stop: stop.clone(),
            is_cancelled: false,
        };
        let Some((view, record)) = self.table.lend(&key, work) else {
            return;
        };
        self.operations += 1;
        let ctx = self.ctx.clone();
        let handle = self.tasks.spawn(async move {
            let job = Job {
                what,
                is_poll: priority == Priority::Poll || what == What::Rescue,
                view,
                record,
                stop,
            };
            Done::Operation(operate(&ctx, job).await)
        });
        self.keys.insert(handle.id(), key);
    }

    fn ended(&mut self, ended: Result<(Id, Done), JoinError>) {
        let (id, done) = match ended {
            Ok((id, done)) => (id, Some(done)),
            Err(error) => {
                tracing::error!(%error, "work on a Workspace broke off");
                (error.id(), None)
            }
        };
        let Some(key) = self.keys.remove(&id) else { return };
        let was_operation = match &done {
            Some(Done::Look(_)) => false,
            Some(Done::Operation(_)) => true,
            None => self
                .table
                .get_mut(&key)
                .is_some_and(|entry| matches!(entry.work, Some(Work::Operation { .. }))),
        };
        match was_operation {
            true => self.operations = self.operations.saturating_sub(1),
            false => self.looks = self.looks.saturating_sub(1),
        }
        match done {
            None => {
                self.table.lost(&key);
                self.wait(&key, 7);
            }
            Some(Done::Look(passed)) => {
                let Passed { view, record, then } = *passed;
                if !self.table.give_back(&key, view, record) {
                    self.sweeping.is_wanted = true;
                    return;
                }
                match then {
                    Then::Wait(until) => {
                        self.queue.remove(&key);
                        self.table.set_due(&key, until);
                    }
                    Then::Run(what, priority) => self.queue.push(&key, what, priority),
                }
            }
            Some(Done::Operation(Ended::Gone { uid })) => {
                self.table.lost(&key);
                // A namesake that came meanwhile stays.
                if self
                    .table
                    .get_mut(&key)
                    .is_some_and(|entry| entry.view.uid == uid)
                {
                    self.gone(&key);
                }
            }
            Some(Done::Operation(Ended::Finished(finished))) => {
                let Finished { view, record } = *finished;
                let troubles = record.troubles;
                if !self.table.give_back(&key, view, record) {
                    self.sweeping.is_wanted = true;
                    return;
                }
                match troubles {
                    0 => self.table.wake(&key),
                    _ => self.wait(&key, troubles),
                }
            }
        }
    }

    /// Has a Workspace looked at again after a while.
    fn wait(&mut self, key: &Key, failures: u32) {
        let until = later(self.ctx.now(), backoff(failures, &key.name));
        self.table.set_due(key, Some(until));
    }

    /// Whose a Workspace is, as far as watches tell.
    fn told(&self, view: &WorkspaceView) -> Told {
        Told {
            whose: match self.ctx.whose(view) {
                Whose::Ours if self.used.has(view) => Whose::Disputed,
                whose => whose,
            },
            is_sure: self.used.are_known_of(view),
        }
    }

    /// Stops an operation that must not go on.
    fn cancel_if_needed(&mut self, key: &Key) {
        let common = self.ctx.common();
        let now = self.ctx.now();
        let Some(entry) = self.table.get_mut(key) else {
            return;
        };
        let Some(Work::Operation {
            what,
            stop,
            is_cancelled,
        }) = &mut entry.work
        else {
            return;
        };
        let running = Running {
            what: *what,
            is_cancelled: *is_cancelled,
        };
        let record = Record::new(&entry.view);
        let snapshot = observe(&entry.view, &record, Whose::Ours, Some(running), common);
        if decide(&snapshot, now) == Next::Cancel {
            *is_cancelled = true;
            stop.stop(Why::Unwanted);
        }
    }

    /// Stops everything, and waits for it as long as was granted.
    async fn stop(&mut self) {
        for entry in self.table.iter() {
            if let Some(Work::Operation { stop, .. }) = &entry.work {
                stop.stop(Why::Shutdown);
            }
        }
        let deadline = Instant::now() + self.ctx.options.grace;
        while let Ok(Some(_)) = timeout_at(deadline, self.tasks.join_next()).await {}
        if !self.tasks.is_empty() {
            tracing::error!(left = self.tasks.len(), "operations did not stop in time");
            self.tasks.abort_all();
        }
        self.ctx.learned.keep(true).await;
    }
}
