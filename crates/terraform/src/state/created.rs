//! What the stream reported as made and the state does not have.
//!
//! Terraform reports a resource and then writes the state. When it is killed in between, or inside the write, the
//! resource exists and nothing remembers it but the stream.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::State;
use crate::stream::{Action, Event, Kind, Severity, Step};

/// What Terraform says when it ends although its work has not, because it was told to stop twice.
const GIVEN_UP: &str = "operation canceled";

/// Something that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    /// Its address.
    pub address: String,
    /// Its id, if it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// It was still being made when the stream ended, so that it may exist or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
}

/// Everything that the stream of one run reported as made.
#[derive(Clone, Debug, Default)]
pub struct CreatedSince {
    made: BTreeMap<String, Created>,
    /// What could not be made. Terraform knows what there is of it, but may not have written that down yet.
    failed: BTreeSet<String>,
    /// Terraform told why it ends, which it does when its state is written.
    is_over: bool,
}

impl CreatedSince {
    /// Takes note of an event.
    pub fn observe(&mut self, event: &Event) {
        let (step, hook) = match &event.kind {
            Kind::Apply(step, hook) => (step, hook),
            Kind::Diagnostic(said) => {
                self.is_over |= said.severity == Severity::Error && said.summary != GIVEN_UP;
                return;
            }
            _ => return,
        };
        let address = &hook.resource.addr;
        match (step, &hook.action) {
            (Step::Errored, Action::Create) => {
                self.failed.insert(address.clone());
            }
            (Step::Started, Action::Create) => {
                self.failed.remove(address);
                self.made.insert(
                    address.clone(),
                    Created {
                        address: address.clone(),
                        id: None,
                        unfinished: true,
                    },
                );
            }
            (Step::Complete, Action::Create) => {
                let id = hook.id_value.clone();
                self.made.insert(
                    address.clone(),
                    Created {
                        address: address.clone(),
                        id,
                        unfinished: false,
                    },
                );
            }
            // Before a replacement's creation this removes nothing; after it, it is the predecessor that goes.
            (Step::Complete, Action::Delete) => {
                let same = |made: &Created| made.id.is_some() && made.id == hook.id_value;
                if self.made.get(address).is_some_and(same) {
                    self.made.remove(address);
                }
            }
            _ => {}
        }
    }

    /// What of it this state does not have, by address.
    #[must_use]
    pub fn missing_from(&self, state: Option<&State>) -> Vec<Created> {
        let has = |made: &Created| {
            let mut objects = state
                .into_iter()
                .flat_map(State::managed)
                .filter(|object| object.address == made.address);
            // Without an id all that can be said is that the address has something.
            objects.any(|object| made.id.is_none() || object.id == made.id)
        };
        let is_settled =
            |made: &Created| made.unfinished && self.is_over && self.failed.contains(&made.address);
        self.made
            .values()
            .filter(|made| !has(made) && !is_settled(made))
            .cloned()
            .collect()
    }
}
