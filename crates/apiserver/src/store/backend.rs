//! Where writes are kept, so that they survive.

use std::sync::Arc;

use super::object::{Object, ObjectKey, ResourceId};

/// One write to keep.
#[derive(Debug, Clone)]
pub enum Record {
    /// The object's new version.
    Put(ResourceId, Arc<Object>),
    /// The object is gone.
    Remove(ResourceId, ObjectKey),
}

/// Why a backend cannot load or keep.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// Another process has it open.
    #[error("the database at {path} is in use by another process")]
    InUse {
        /// The file.
        path: String,
    },
    /// It was written by a version that this one does not understand.
    #[error("the database at {path} has format {found}, this program reads format {known}")]
    UnknownFormat {
        /// The file.
        path: String,
        /// Its format.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// A stored document cannot be read.
    #[error("the stored object {key} is damaged")]
    Damaged {
        /// Which.
        key: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The database failed.
    #[error("cannot {doing} the database at {path}")]
    Failed {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: Box<redb::Error>,
    },
}

/// What a backend holds when it is opened.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The newest revision.
    pub revision: u64,
    /// Every object.
    pub objects: Vec<(ResourceId, Object)>,
}

/// A durable place for writes.
pub trait Backend: Send + 'static {
    /// Reads everything, once, at start.
    fn load(&mut self) -> Result<Loaded, BackendError>;

    /// Keeps a batch of writes, all or none; when it returns they survive a crash of machine or process.
    fn persist(&mut self, revision: u64, batch: &[Record]) -> Result<(), BackendError>;
}
