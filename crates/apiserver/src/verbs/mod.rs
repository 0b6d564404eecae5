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

    /// A request of the server's own.
    pub(crate) fn internal(
        server: Arc<Inner>,
        resource: Arc<Resource>,
        key: &ObjectKey,
        subresource: &str,
    ) -> Self {
        let target = Target {
            group: resource.group.clone(),
            version: resource.version.clone(),
            plural: resource.plural.clone(),
            namespace: key.namespace().to_owned(),
            name: key.name().to_owned(),
            subresource: subresource.to_owned(),
            legacy_watch: false,
        };
        Self {
            server,
            resource,
            target,
            query: Query::default(),
            form: Form::Full,
            user_agent: "apiary".to_owned(),
            media_type: "application/json".to_owned(),
        }
    }

    /// The same request, pointed at another object.
    pub(crate) fn retargeted(&self, target: Target) -> Self {
        Self {
            server: self.server.clone(),
            resource: self.resource.clone(),
            target,
            query: self.query.clone(),
            form: self.form,
            user_agent: self.user_agent.clone(),
            media_type: self.media_type.clone(),
        }
    }

    /// What every answer of a deprecated version warns of.
    pub(crate) fn deprecation(&self) -> &[String] {
        self.resource
            .custom()
            .map_or(&[], |custom| custom.deprecation.as_slice())
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
        match (self.is_status(), self.resource.has_status) {
            (true, _) => &["spec", "metadata"],
            (false, true) => &["status"],
            (false, false) => &[],
        }
    }
}

/// An object in an answer: as it is stored, or as it would be.
#[derive(Debug, Clone)]
pub(crate) enum Document {
    Stored(Arc<Object>),
    Value(Value),
}

/// What a verb answers.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: StatusCode,
    pub(crate) document: Document,
    pub(crate) warnings: Vec<String>,
}
