//! Renderings, made once for the same template, values and place.

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

/// The last rendering of every object.
#[derive(Default)]
pub(super) struct Renderings {
    last: Mutex<HashMap<ObjectKey, (Inputs, Outcome)>>,
}

impl Renderings {
    /// Renders, unless nothing changed that a rendering depends on.
    pub(super) fn render(&self, key: &ObjectKey, snapshot: &Snapshot) -> Outcome {
        let inputs = source::inputs(snapshot);
        if let Some((before, rendered)) = self.last.lock().get(key)
            && *before == inputs
        {
            return rendered.clone();
        }
        let rendered = (source::render(snapshot), source::unknown(snapshot));
        let remembered = (inputs, rendered.clone());
        self.last.lock().insert(key.clone(), remembered);
        rendered
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.last.lock().remove(key);
    }
}
