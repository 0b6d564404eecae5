//! Renderings, made once for the same template, values and place.
//!
//! Whole renderings are kept only as long as somebody works with them. Of others it is remembered for a while what they were
//! made from: what was applied is kept in a Secret, and need not be made again to know that nothing changed. Of what rests
//! nothing is kept.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use capt_core::{
    render::UnknownVariable,
    wta::{
        Rendered, Snapshot,
        kept::Kept,
        snapshot::Problem,
        source::{self, Inputs},
    },
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::engine::key::ObjectKey;

/// The rendering, and the variables that its template does not know.
type Outcome = (Result<Rendered, Vec<Problem>>, Vec<UnknownVariable>);

/// How many renderings make a generation. Two generations are kept: enough for those that are worked on at a time, because
/// one takes tens of kilobytes.
const GENERATION: usize = 32;

/// The last renderings.
#[derive(Default)]
pub(super) struct Renderings {
    /// Those of the objects that were looked at last.
    last: Mutex<Generations<(Inputs, Outcome)>>,
    /// What is remembered of all that were looked at lately.
    traces: Mutex<Generations<Trace>>,
}

/// What is remembered of a rendering that succeeded.
struct Trace {
    /// Stands for what it was made from.
    inputs: [u64; 2],
    /// All of it but the spec, which its hash stands for.
    rendered: Rendered,
    unknown: Vec<UnknownVariable>,
}

impl Trace {
    fn of(inputs: &Inputs, (rendered, unknown): &Outcome) -> Option<Self> {
        let rendered = rendered.as_ref().ok()?;
        Some(Self {
            inputs: digest(inputs),
            rendered: Rendered {
                spec: Value::Null,
                hash: rendered.hash.clone(),
                guarded_hash: rendered.guarded_hash.clone(),
                revision: rendered.revision.clone(),
                retain: rendered.retain,
                policies: rendered.policies.clone(),
                backend: rendered.backend.clone(),
                elsewhere: rendered.elsewhere.clone(),
            },
            unknown: unknown.clone(),
        })
    }

    /// The rendering, if it was made from this and its spec is the one that is kept.
    fn recall(&self, inputs: &Inputs, kept: &Kept) -> Option<Outcome> {
        if self.rendered.hash != kept.rendering.hash || self.inputs != digest(inputs) {
            return None;
        }
        let rendered = Rendered {
            spec: kept.rendering.spec.clone(),
            ..self.rendered.clone()
        };
        Some((Ok(rendered), self.unknown.clone()))
    }
}

/// Two numbers: that both are the same by chance does not happen.
fn digest(inputs: &Inputs) -> [u64; 2] {
    [0u8, 1].map(|number| {
        let mut hasher = DefaultHasher::new();
        (number, inputs).hash(&mut hasher);
        hasher.finish()
    })
}

impl Renderings {
    /// Renders, unless nothing changed that a rendering depends on.
    pub(super) fn render(&self, key: &ObjectKey, snapshot: &Snapshot) -> Outcome {
        let inputs = source::inputs(snapshot);
        let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
        let recalled = kept.and_then(|kept| self.traces.lock().get(key)?.recall(&inputs, kept));
        if let Some(recalled) = recalled {
            return recalled;
        }
        let before = self.last.lock().take(key);
        let remembered = match before {
            Some(before) if before.0 == inputs => before,
            _ => (inputs, (source::render(snapshot), source::unknown(snapshot))),
        };
        match Trace::of(&remembered.0, &remembered.1) {
            Some(trace) => self.traces.lock().put(key, trace),
            None => {
                self.traces.lock().take(key);
            }
        }
        let rendered = remembered.1.clone();
        let mut last = self.last.lock();
        if last.recent.len() >= GENERATION {
            last.age();
        }
        last.put(key, remembered);
        rendered
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.last.lock().take(key);
        self.traces.lock().take(key);
    }

    /// Forgets what was not used since the last time but one. Tells whether anything is left.
    pub(super) fn age(&self) -> bool {
        let last = self.last.lock().age();
        let traces = self.traces.lock().age();
        last || traces
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
        let older = self.older.remove(key);
        self.recent.remove(key).or(older)
    }

    fn put(&mut self, key: &ObjectKey, value: V) {
        self.older.remove(key);
        self.recent.insert(key.clone(), value);
    }

    /// A value, which is used by that.
    fn get(&mut self, key: &ObjectKey) -> Option<&V> {
        if let Some(value) = self.older.remove(key) {
            self.recent.insert(key.clone(), value);
        }
        self.recent.get(key)
    }

    /// Begins another generation. Tells whether anything is left of the others.
    fn age(&mut self) -> bool {
        self.older = std::mem::take(&mut self.recent);
        !self.older.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_what_is_not_goes_after_a_while() {
        let key = |number: usize| ObjectKey::within("n", &number.to_string());
        let mut last = Generations::default();
        for number in 0..10 {
            last.put(&key(number), number);
            assert_eq!(last.get(&key(0)), Some(&0), "after {number}");
            assert_eq!(last.take(&key(0)), Some(0));
            last.put(&key(0), 0);
            assert!(last.age());
        }
        assert_eq!(last.get(&key(1)), None);
        last.put(&key(9), 90);
        assert_eq!(last.get(&key(9)), Some(&90), "the newer one counts");
        assert_eq!(last.recent.len() + last.older.len(), 2);
        last.age();
        assert!(!last.age());
    }
}
