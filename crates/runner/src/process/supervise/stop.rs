//! Being asked to stop, and making somebody stop.

use std::{
    io::{self, Read as _},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

/// Whether it was asked to stop, and whether that still matters.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    asked: bool,
    ended: bool,
}

impl Stop {
    /// Watches for everything that asks: the end of standard input, and signals.
    pub(super) fn watch() -> io::Result<Self> {
        let stop = Self::default();
        // Signals are listened for before anything is started, so that none of them ends this process instead.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (mut terminate, mut interrupt, mut hangup) = {
            let _inside = runtime.enter();
            (
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            )
        };
        let asked = stop.clone();
        thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            asked.ask();
            // Further signals change nothing, but must not end this process.
            runtime.block_on(std::future::pending::<()>());
        });
        let asked = stop.clone();
        thread::spawn(move || {
            // The runner never writes; it only goes away.
            let mut byte = [0];
            while matches!(io::stdin().read(&mut byte), Ok(1)) {}
            asked.ask();
        });
        Ok(stop)
    }

    /// Asks.
    pub(super) fn ask(&self) {
        self.state().asked = true;
        self.0.changed.notify_all();
    }

    /// Waits for at most so long, and tells whether it was asked to stop.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        self.until(self.state(), until, |state| state.asked).asked
    }

    /// Does this unless it was asked to stop. Nobody can ask in between.
    pub(super) fn unless_asked<T, E>(&self, start: impl FnOnce() -> Result<T, E>) -> Result<Option<T>, E> {
        let state = self.state();
        if state.asked {
            return Ok(None);
        }
        start().map(Some)
    }

    /// Makes this group stop once that is asked for: politely, then less so.
    pub(super) fn climb(&self, group: Pid, grace: Duration) {
        let stop = self.clone();
        thread::spawn(move || stop.climb_now(group, grace));
    }

    fn climb_now(&self, group: Pid, grace: Duration) {
        let mut state = self.state();
        while !state.asked && !state.ended {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // The state stays locked while signals are sent, so that the number is not somebody else's by then.
        let last_chance = (grace / 4).min(Duration::from_secs(5));
        let interrupt_group = || kill_process_group(group, Signal::INT);
        // At the second interrupt Terraform drops what it is doing, but still writes its state.
        let interrupt_again = || kill_process(group, Signal::INT);
        let kill_group = || kill_process_group(group, Signal::KILL);
        let rungs: [(&dyn Fn() -> rustix::io::Result<()>, Duration); 3] = [
            (&interrupt_group, grace),
            (&interrupt_again, last_chance),
            (&kill_group, Duration::ZERO),
        ];
        for (step, patience) in rungs {
            if state.ended {
                return;
            }
            // It may have ended just now.
            let _ = step();
            state = self.until(state, Instant::now() + patience, |state| state.ended);
        }
    }

    /// The leader of the group ended. What is left of its group ends now.
    pub(super) fn ended(&self, group: Pid) {
        let mut state = self.state();
        state.ended = true;
        let _ = kill_process_group(group, Signal::KILL);
        drop(state);
        self.0.changed.notify_all();
    }

    fn until<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        until: Instant,
        done: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if done(&state) || left.is_zero() {
                return state;
            }
            state = self
                .0
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
