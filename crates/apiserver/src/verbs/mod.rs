//! What can be done to a resource, the same for every kind.
//!
//! Reading: [`get`], [`list`], [`watch`]. Writing: [`create`], [`update`], [`patch`], [`delete`]; these share
//! [`document`] (what a document goes through before it is stored) and [`commit`] (how it is stored).

pub(crate) mod collection;
pub(crate) mod commit;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod document;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod metadata;
pub(crate) mod patch;
pub(crate) mod render;
pub(crate) mod selection;
pub(crate) mod update;
pub(crate) mod watch;

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;

use crate::identity::Identity;
use crate::registry::Resource;
use crate::request::{Form, Query, Target};
use crate::server::Inner;
use crate::store::{Object, ObjectKey};

/// A request to a resource, read and understood.
pub(crate) struct Call {
    pub(crate) server: Arc<Inner>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) target: Target,
    pub(crate) query: Query,
    pub(crate) form: Form,
    pub(crate) identity: Identity,
    pub(crate) user_agent: String,
    pub(crate) media_type: String,
}

impl Call {
    /// Who is recorded as the writer.
    pub(crate) fn manager(&self) -> &str {
        if !self.query.field_manager.is_empty() {
            return &self.query.field_manager;
        }
        let agent = self.user_agent.split('/').next().unwrap_or_default();
        let agent = agent.get(..agent.len().min(128)).unwrap_or_default();
        if agent.is_empty() { "unknown" } else { agent }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.server.clock.now()
    }

    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.target.namespace, &self.target.name)
    }

    pub(crate) fn is_status(&self) -> bool {
        self.target.subresource == "status"
    }

    /// Top-level fields that a write through this endpoint must not change.
    pub(crate) fn reset_fields(&self) -> &'static [&'static str] {
        match (self.is_status(), self.resource.has_status, self.resource.custom().is_some()) {
            (true, _, _) => &["spec", "metadata"],
            (false, true, _) => &["status"],
            (false, false, _) => &[],
        }
    }
}

/// An object in an answer: as it is stored, or as it would be.
#[derive(Debug, Clone)]
pub(crate) enum Document {
    Stored(Arc<Object>),
    Value(Value),
}

impl Document {
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Stored(object) => object.value(),
            Self::Value(value) => value.clone(),
        }
    }
}

/// What a verb answers.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: StatusCode,
    pub(crate) document: Document,
    pub(crate) warnings: Vec<String>,
}
