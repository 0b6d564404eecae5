//! What a person can do about an object that is paused.

use capt_api::foreign::marks as foreign_marks;

use crate::look::{
    view::{Object, View},
    ways,
};

/// How to go on with an object that is paused.
pub(super) fn ways_on(view: &View<'_>, id: &str) -> Vec<String> {
    let ways = ways::ways_on(view, id);
    if !ways.is_empty() {
        return ways;
    }
    match view.object(id) {
        // What made it says why.
        Some(Object::Workspace(_)) if view.makers(id).next().is_some() => Vec::new(),
        Some(Object::Workspace(_)) => vec![format!(
            "let it be worked on: set its spec.managementPolicies, or take its annotation {} off",
            foreign_marks::CROSSPLANE_PAUSED
        )],
        _ => vec![
            "end the pause of its Cluster or of the object itself, as its condition Paused says".to_owned(),
        ],
    }
}
