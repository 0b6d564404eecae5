//! What goes wrong, when, and for whom.
//!
//! A rule is a selection ([`Calls`] or [`Events`]), a number of times ([`Times`]) and what happens ([`Fault`] or
//! [`Disturbance`]). Rules are looked at in the order in which they were added: every rule whose selection matches counts
//! the match, and the first one that is due acts. A rule that never acted is a test that tested nothing, so
//! [`Faults::missed`] names it, and a world fails its test for it.

mod action;
mod rule;
mod select;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::call::Call;

pub use action::{Disturbance, Fault};
pub use rule::{Rule, Times};
pub use select::{Calls, EventKind, Events};

/// The rules of one world. Cloning shares them.
#[derive(Clone, Default, Debug)]
pub struct Faults {
    rules: Arc<Mutex<Rules>>,
}

#[derive(Default, Debug)]
struct Rules {
    on_calls: Vec<(Calls, Fault, Rule)>,
    on_events: Vec<(Events, Disturbance, Rule)>,
}

impl Faults {
    /// Adds a rule for calls.
    pub fn inject(&self, calls: Calls, times: Times, fault: Fault) -> Rule {
        let rule = Rule::new(format!("{fault:?} on {calls:?}, {times:?}"), times);
        self.rules.lock().on_calls.push((calls, fault, rule.clone()));
        rule
    }

    /// Adds a rule for the events of watches, also of those that are open already.
    pub fn disturb(&self, events: Events, times: Times, disturbance: Disturbance) -> Rule {
        let rule = Rule::new(format!("{disturbance:?} on {events:?}, {times:?}"), times);
        self.rules
            .lock()
            .on_events
            .push((events, disturbance, rule.clone()));
        rule
    }

    /// Rules that acted less often than they promised.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        let rules = self.rules.lock();
        let on_calls = rules.on_calls.iter().map(|(_, _, rule)| rule);
        let on_events = rules.on_events.iter().map(|(_, _, rule)| rule);
        on_calls.chain(on_events).filter_map(Rule::shortfall).collect()
    }

    /// What happens to this call, if anything.
    pub(crate) fn for_call(&self, call: &Call) -> Option<Fault> {
        let rules = self.rules.lock();
        let mut chosen = None;
        for (calls, fault, rule) in &rules.on_calls {
            if rule.is_active() && calls.matches(call) && rule.count(chosen.is_none()) {
                chosen = Some(fault.clone());
            }
        }
        chosen
    }

    /// What happens to this event, if anything. `event` is asked for only if some rule may care.
    pub(crate) fn for_event(
        &self,
        watch: &Call,
        event: impl FnOnce() -> Option<Value>,
    ) -> Option<(Disturbance, Rule)> {
        let rules = self.rules.lock();
        let may_care =
            |(events, _, rule): &(Events, Disturbance, Rule)| rule.is_active() && events.are_on(watch);
        if !rules.on_events.iter().any(may_care) {
            return None;
        }
        let event = event()?;
        let mut chosen = None;
        for (events, disturbance, rule) in rules.on_events.iter().filter(|entry| may_care(entry)) {
            if events.matches(&event) && rule.count(chosen.is_none()) {
                chosen = Some((*disturbance, rule.clone()));
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests;
