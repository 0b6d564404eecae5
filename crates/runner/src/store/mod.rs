//! State in Secrets and its lock, a Lease: exactly where and how Terraform's kubernetes backend would keep them.
//!
//! What is written and in which order is decided in `capt-terraform`; here it is done, guarded so that two who believe
//! to hold the lock cannot both win. This module must never know what a state means beyond its lineage and serial.

mod error;
mod held;
mod lease;
mod list;
mod locks;
mod names;
mod provider_lock;
mod renew;
mod secrets;
#[cfg(test)]
mod tests;
mod write;

pub use error::{LockError, StoreError};
pub use held::Lock;
pub(crate) use list::ListPlace;
pub use locks::{Before, Locks, Purpose};
pub(crate) use names::Names;
pub use provider_lock::KeptLock;
pub use secrets::{Kept, StateStore};

use std::collections::BTreeMap;

use capt_terraform::state::Location;

/// Where the state of one Workspace is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The namespace.
    pub namespace: String,
    /// The names in it.
    pub location: Location,
    /// More labels that the user's backend asks for; it would not find Secrets without them.
    pub labels: BTreeMap<String, String>,
}

impl Place {
    /// All labels of the Secrets.
    #[must_use]
    pub fn all_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.location.labels();
        labels.extend(self.labels.clone());
        labels
    }
}
