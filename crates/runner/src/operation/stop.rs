//! Stopping an operation, and knowing why it was stopped.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

/// Why an operation was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its Workspace is to be destroyed, or is not to be destroyed any more.
    Unwanted,
    /// The runner stops.
    Shutdown,
    /// It took too long.
    Timeout,
    /// Somebody else may have the lock by now.
    LockLost,
    /// A state could not be kept.
    StateLost,
}

/// Stops an operation. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    token: CancellationToken,
    why: Arc<Mutex<Option<Why>>>,
}

impl Stop {
    /// Stops it. The first reason counts.
    pub(crate) fn stop(&self, why: Why) {
        self.why.lock().get_or_insert(why);
        self.token.cancel();
    }

    /// Why it was stopped, if it was.
    pub(crate) fn why(&self) -> Option<Why> {
        *self.why.lock()
    }

    /// What an engine listens to.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Stops it when one of these happens, until what is returned is dropped.
    pub(crate) fn guard(
        &self,
        limit: Duration,
        lock_lost: CancellationToken,
        state_lost: CancellationToken,
    ) -> Guard {
        let stop = self.clone();
        Guard(tokio::spawn(async move {
            let why = tokio::select! {
                () = sleep(limit) => Why::Timeout,
                () = lock_lost.cancelled() => Why::LockLost,
                () = state_lost.cancelled() => Why::StateLost,
            };
            stop.stop(why);
        }))
    }
}

/// Looks out for reasons to stop.
pub(crate) struct Guard(JoinHandle<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort();
    }
}
