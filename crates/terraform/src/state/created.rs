//! What the stream reported as made and the state does not have.
//!
//! Terraform reports a resource and then writes the state. When it is killed in between, or inside the write, the
//! resource exists and nothing remembers it but the stream.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ResourceInstance, State};
use crate::stream::{Action, Event, Kind, Severity, Step};

/// What Terraform says when it ends although its work has not, because it was told to stop twice.
const GIVEN_UP: &str = "operation canceled";

/// Something that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The id of what it takes the place of, if it takes one; empty if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The provisioner of it that was cut off, if the state has it all the same: Terraform takes that for done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioner: Option<String>,
}

/// Everything that the stream of one run reported as made.
#[derive(Clone, Debug, Default)]
pub struct CreatedSince {
    made: BTreeMap<String, Created>,
    /// The ids of what is replaced, by address; empty if they are not known.
    replaced: BTreeMap<String, String>,
    /// The provisioners that run, by address.
    provisioning: BTreeMap<String, String>,
    /// What could not be made. Terraform knows what there is of it, but may not have written that down yet.
    failed: BTreeSet<String>,
    /// Terraform told why it ends, which it does when its state is written.
    is_over: bool,
}

impl CreatedSince {
    /// Nothing yet. These are the ids of what is going to be replaced, by address; empty if they are not known.
    #[must_use]
    pub fn replacing(replaced: BTreeMap<String, String>) -> Self {
        Self {
            replaced,
            ..Self::default()
        }
    }

    /// Takes note of an event.
    pub fn observe(&mut self, event: &Event) {
        let (step, hook) = match &event.kind {
            Kind::Apply(step, hook) => (step, hook),
            Kind::PlannedChange(change) if change.action == Action::Replace => {
                self.replaced.entry(change.resource.addr.clone()).or_default();
                return;
            }
            Kind::Provision(Step::Started, hook) => {
                let address = hook.resource.addr.clone();
                self.provisioning.insert(address, hook.provisioner.clone());
                return;
            }
            Kind::Provision(Step::Complete | Step::Errored, hook) => {
                self.provisioning.remove(&hook.resource.addr);
                return;
            }
            Kind::Diagnostic(said) => {
                self.is_over |= said.severity == Severity::Error && said.summary != GIVEN_UP;
                return;
            }
            _ => return,
        };
        let address = &hook.resource.addr;
        // What has no id is told by its name, which the state does not have as its id.
        let is_id = hook.id_key.as_deref().is_none_or(|key| key == "id");
        let id = hook.id_value.clone().filter(|id| is_id && !id.is_empty());
        match (step, &hook.action) {
            (Step::Errored, Action::Create) => {
                self.failed.insert(address.clone());
            }
            (Step::Started, Action::Create) => {
                self.failed.remove(address);
                self.make(address, None, true);
            }
            (Step::Complete, Action::Create) => self.make(address, id, false),
            // What goes before a replacement is made is its predecessor, and what goes after that too.
            (Step::Started, Action::Delete) => {
                if let Some(id) = id {
                    self.replaced.insert(address.clone(), id);
                }
            }
            (Step::Complete, Action::Delete) => {
                let same = |made: &Created| made.id.is_some() && made.id == id;
                if self.made.get(address).is_some_and(same) {
                    self.made.remove(address);
                }
                if let Some(id) = id {
                    self.replaced.insert(address.clone(), id);
                }
            }
            _ => {}
        }
    }

    fn make(&mut self, address: &str, id: Option<String>, unfinished: bool) {
        let made = Created {
            address: address.to_owned(),
            id,
            unfinished,
            replaces: self.replaced.get(address).cloned(),
            provisioner: None,
        };
        self.made.insert(address.to_owned(), made);
    }

    /// What of it this state does not have, by address.
    #[must_use]
    pub fn missing_from(&self, state: Option<&State>) -> Vec<Created> {
        let is_settled =
            |made: &Created| made.unfinished && self.is_over && self.failed.contains(&made.address);
        let missing = |made: &Created| match state.filter(|state| made.is_in(state)) {
            None => (!is_settled(made)).then(|| made.clone()),
            Some(state) => self.cut_off(made, state),
        };
        self.made.values().filter_map(missing).collect()
    }

    /// What this state has, if a provisioner of it was cut off and the state does not know that.
    fn cut_off(&self, made: &Created, state: &State) -> Option<Created> {
        let provisioner = self.provisioning.get(&made.address)?;
        let is_it = |object: &&ResourceInstance| {
            object.address == made.address && object.deposed.is_none() && !object.tainted
        };
        let object = state.managed().find(is_it).filter(|_| made.unfinished)?;
        Some(Created {
            id: object.id.clone(),
            provisioner: Some(provisioner.clone()),
            ..made.clone()
        })
    }
}

impl Created {
    /// Whether nobody has to see to it any more, now that this is the state.
    #[must_use]
    pub fn is_settled_by(&self, state: &State) -> bool {
        match self.provisioner {
            None => self.is_in(state),
            // It is over when it is gone, or known to be broken.
            Some(_) => !state
                .managed()
                .any(|object| object.address == self.address && object.id == self.id && !object.tainted),
        }
    }

    /// Whether a state has it.
    #[must_use]
    pub fn is_in(&self, state: &State) -> bool {
        let mut objects = state.managed().filter(|object| object.address == self.address);
        objects.any(|object| match (&self.id, &self.replaces) {
            (Some(_), _) => object.id == self.id,
            // Without an id all that can be said is that the address has something, and that it is not the predecessor.
            (None, None) => object.deposed.is_none(),
            (None, Some(before)) => {
                let is_another = |id: &String| !before.is_empty() && id != before;
                object.deposed.is_none() && object.id.as_ref().is_some_and(is_another)
            }
        })
    }
}
