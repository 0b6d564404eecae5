//! What an operation leaves for others: outputs, and the mark that something was made.

use std::collections::BTreeMap;

use capt_api::{
    conditions::workspace::WorkspaceConditionType as Type,
    foreign::marks::{EXTERNAL_CREATE_FAILED, EXTERNAL_CREATE_SUCCEEDED},
    marks::DESTROYED,
};
use capt_terraform::diagnostics::Class;
use k8s_openapi::jiff::Timestamp;

use super::super::{Run, failure::own, session::seconds};
use crate::{
    api::words,
    connection,
    engine::Failure,
    workspace::{Handle, is_creation_pending, was_ready_before},
};

impl Run<'_> {
    /// Hands the outputs out.
    pub(super) async fn hand_out(&mut self) -> Result<(), Failure> {
        let Some(state) = &self.state else { return Ok(()) };
        let open = state.outputs.iter().filter(|(_, output)| !output.sensitive);
        // Others compute with outputs, so that one which has a secret in it is left out and never altered: it is in the
        // connection secret.
        let outputs: BTreeMap<_, _> = open
            .filter(|(_, output)| self.gate.value(&output.value) == output.value)
            .map(|(name, output)| (name.clone(), output.value.clone()))
            .collect();
        self.record.standing.outputs = Some(outputs);
        match connection::publish(&self.ctx.client, &self.view, &state.outputs).await {
            Ok(handed) => {
                self.record.connection.version = handed.version;
                Ok(())
            }
            Err(error) => {
                let is_transient = matches!(
                    &error,
                    connection::ConnectionError::Call { source, .. } if source.is_transient()
                );
                let class = match is_transient {
                    true => Class::Network,
                    false => Class::Other,
                };
                Err(own(class, words(&error)))
            }
        }
    }

    /// Whether the state tells of something that was ready before this object was made, and nothing was made since. It
    /// serves while its first change waits for an approval.
    pub(super) fn is_taken_up(&self) -> bool {
        let has_something = self.state.as_ref().is_some_and(|state| !state.is_empty());
        let standing = &self.record.standing;
        // Once all was as it should be here, that is what was handed out.
        let is_first = standing.checksum.is_none() && !self.record.is_changed && was_ready_before(&self.view);
        let ready = standing.condition(Type::Ready);
        has_something && is_first && ready.is_none_or(|ready| ready.status == "True")
    }

    /// Writes down how a creation ended, also one that an earlier runner began and did not live to tell.
    pub(super) async fn settle_creation(&mut self, now: Timestamp) {
        let has_something = self.state.as_ref().is_some_and(|state| !state.is_empty());
        let mut annotations = BTreeMap::new();
        if is_creation_pending(&self.view) {
            let mark = match has_something {
                true => EXTERNAL_CREATE_SUCCEEDED,
                false => EXTERNAL_CREATE_FAILED,
            };
            annotations.insert(mark, Some(seconds(now)));
        }
        // It is not true, and would count when this state is lost.
        if has_something && self.view.deletion.is_none() && self.view.annotations.contains_key(DESTROYED) {
            annotations.insert(DESTROYED, None);
        }
        if annotations.is_empty() {
            return;
        }
        let handle = Handle::new(&self.ctx.client, &self.view);
        match handle.mark(&self.view, &annotations, false).await {
            Ok(view) => self.view = view,
            Err(error) => {
                tracing::warn!(
                    workspace = self.view.name,
                    error = words(&error),
                    "a mark was not written"
                );
            }
        }
    }
}
