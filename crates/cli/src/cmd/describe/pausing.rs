//! What a person can do about an object that is paused.

use super::MANY_CAUSES;
use crate::look::{
    pause,
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
        Some(Object::Workspace(_)) => {
            vec!["let it be worked on: set its spec.managementPolicies".to_owned()]
        }
        _ => vec![
            "end the pause of its Cluster or of the object itself, as its condition Paused says".to_owned(),
        ],
    }
}

/// How to go on with what somebody paused of an object, whatever the object says of itself.
pub(super) fn of_parts(view: &View<'_>, id: &str) -> Vec<String> {
    let is_by_hand = |pause: &pause::Pause| matches!(pause, pause::Pause::Workspace(..));
    // A Workspace that goes does not say that it is paused.
    let is_workspace = matches!(view.object(id), Some(Object::Workspace(_)));
    let is_stopped = is_workspace && pause::pauses(view, id).iter().any(is_by_hand);
    let own = is_stopped.then(|| ways::ways_on(view, id));
    let below = ways::ways_on_below(view, id).into_iter().take(MANY_CAUSES);
    own.into_iter().flatten().chain(below).collect()
}
