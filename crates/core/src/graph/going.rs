//! In which order things go.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cycle, Graph, Relation};

impl Graph {
    /// The order in which an object and all that is made for it go, in steps: what goes at the same time, and when that
    /// is gone, what goes next.
    ///
    /// # Errors
    ///
    /// Some of them wait for each other.
    pub fn deletion_order(&self, root: &str) -> Result<Vec<Vec<String>>, Cycle> {
        let whole = self.whole(root);
        let mut waits: BTreeMap<&str, BTreeSet<&str>> =
            whole.iter().map(|id| (id.as_str(), BTreeSet::new())).collect();
        for who in &whole {
            for (whom, relation) in self.needs(who).filter(|(whom, _)| whole.contains(*whom)) {
                let (first, last) = match relation {
                    Relation::Part => (whom, who.as_str()),
                    Relation::Input | Relation::Product => (who.as_str(), whom),
                };
                if first != last {
                    waits.entry(last).or_default().insert(first);
                }
            }
        }
        let mut steps = Vec::new();
        while !waits.is_empty() {
            let step: Vec<&str> = waits
                .iter()
                .filter(|(_, firsts)| firsts.is_empty())
                .map(|(id, _)| *id)
                .collect();
            if step.is_empty() {
                return Err(circle(&waits));
            }
            for id in &step {
                waits.remove(id);
            }
            for firsts in waits.values_mut() {
                firsts.retain(|first| !step.contains(first));
            }
            steps.push(step.into_iter().map(str::to_owned).collect());
        }
        Ok(steps)
    }

    /// Who uses something that would go with an object, and is not made for it: pairs of user and used.
    #[must_use]
    pub fn outsiders(&self, root: &str) -> Vec<(String, String)> {
        let whole = self.whole(root);
        let mut outsiders = Vec::new();
        for used in &whole {
            for (user, relation) in self.needed_by(used) {
                if relation == Relation::Input && !whole.contains(user) {
                    outsiders.push((user.to_owned(), used.clone()));
                }
            }
        }
        outsiders
    }
}

/// A circle among those that wait, every one of which waits for another one of them.
fn circle(waits: &BTreeMap<&str, BTreeSet<&str>>) -> Cycle {
    let mut way: Vec<&str> = waits.keys().take(1).copied().collect();
    while let Some(next) = way
        .last()
        .and_then(|last| waits.get(last))
        .and_then(|firsts| firsts.first())
    {
        if let Some(place) = way.iter().position(|id| id == next) {
            way.drain(..place);
            break;
        }
        way.push(next);
    }
    let mut ids: Vec<String> = way.into_iter().map(str::to_owned).collect();
    ids.extend(ids.first().cloned());
    Cycle { ids }
}
