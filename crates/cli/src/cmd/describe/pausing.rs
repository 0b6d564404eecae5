//! What a person can do about an object that is paused.

use capt_api::foreign::marks as foreign_marks;

use crate::look::{
    pause::{Pause, pauses},
    view::{Object, View},
};

/// How to go on with an object that is paused.
pub(super) fn ways_on(view: &View<'_>, id: &str, namespace: &str) -> Vec<String> {
    let pauses = pauses(view, id);
    if !pauses.is_empty() {
        let is_going = is_going(view, id);
        let one = |pause: &Pause| {
            let go_on = match is_going || pause.holds_deletion() {
                true => {
                    "go on with its deletion, which destroys its infrastructure unless that is to be kept"
                }
                false => "go on",
            };
            format!("{go_on}: {}", pause.end(namespace))
        };
        return pauses.iter().map(one).collect();
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

fn is_going(view: &View<'_>, id: &str) -> bool {
    match view.object(id) {
        Some(Object::Cluster(one)) => one.metadata.deletion_timestamp.is_some(),
        Some(Object::CaptCluster(one)) => one.metadata.deletion_timestamp.is_some(),
        Some(Object::ControlPlane(one)) => one.metadata.deletion_timestamp.is_some(),
        Some(Object::Apply(one)) => one.metadata.deletion_timestamp.is_some(),
        Some(Object::Workspace(one)) => one.deleting,
        None => false,
    }
}
