//! Renderings, made once for the same template, values and place, as long as somebody works with them. Those who rest
//! cost no memory.

use std::collections::HashMap;

use capt_core::{
    render::UnknownVariable,
    wta::{
        Rendered, Snapshot,
        snapshot::Problem,
        source::{self, Inputs},
    },
};
use parking_lot::Mutex;

use crate::engine::key::ObjectKey;

/// The rendering, and the variables that its template does not know.
type Outcome = (Result<Rendered, Vec<Problem>>, Vec<UnknownVariable>);

/// How many renderings make a generation. Two generations are kept: enough for those that are worked on at a time, because
/// one takes tens of kilobytes.
const GENERATION: usize = 32;

/// The last renderings of the objects that were looked at last.
#[derive(Default)]
pub(super) struct Renderings {
    last: Mutex<Generations<(Inputs, Outcome)>>,
}

impl Renderings {
    /// Renders, unless nothing changed that a rendering depends on.
    pub(super) fn render(&self, key: &ObjectKey, snapshot: &Snapshot) -> Outcome {
        let inputs = source::inputs(snapshot);
        let before = self.last.lock().take(key);
        let remembered = match before {
            Some(before) if before.0 == inputs => before,
            _ => (inputs, (source::render(snapshot), source::unknown(snapshot))),
        };
        let rendered = remembered.1.clone();
        self.last.lock().put(key, remembered);
        rendered
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.last.lock().take(key);
    }
}

/// Values that were used lately. What was not used while a whole generation of others was is forgotten.
struct Generations<V> {
    recent: HashMap<ObjectKey, V>,
    older: HashMap<ObjectKey, V>,
}

impl<V> Default for Generations<V> {
    fn default() -> Self {
        Self {
            recent: HashMap::new(),
            older: HashMap::new(),
        }
    }
}

impl<V> Generations<V> {
    fn take(&mut self, key: &ObjectKey) -> Option<V> {
        self.recent.remove(key).or_else(|| self.older.remove(key))
    }

    fn put(&mut self, key: &ObjectKey, value: V) {
        if self.recent.len() >= GENERATION {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key.clone(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_what_is_not_goes_after_a_while() {
        let key = |number: usize| ObjectKey::within("n", &number.to_string());
        let mut last = Generations::default();
        for number in 0..10 * GENERATION {
            last.put(&key(number), number);
            let used = last.take(&key(0));
            assert_eq!(used, Some(0), "after {number}");
            last.put(&key(0), 0);
        }
        assert_eq!(last.take(&key(1)), None);
        assert!(last.recent.len() + last.older.len() <= 2 * GENERATION);
    }
}
