//! Nothing that a person can do is said about a part of what was named already.

use super::advice::placed;
use crate::look::{
    once::is_same,
    view::{Object, View},
};

/// What of some advice about an object is news to who was told of others.
pub(super) fn news(
    view: &View<'_>,
    id: &str,
    lines: Vec<String>,
    told: &[&str],
    advice: &[String],
    namespace: &str,
) -> Vec<String> {
    // Logs and tries of a Workspace are those of what made it.
    let own = placed(id, namespace);
    let makers: Vec<String> = view.makers(id).map(|maker| placed(maker, namespace)).collect();
    let is_said_of_maker = |line: &str| {
        let mut renamed = makers.iter().map(|maker| line.replace(&own, maker));
        renamed.any(|line| advice.iter().any(|said| is_same(said, &line)))
    };
    // Another try of an owner is passed down to what it has made.
    let passes_down = |owner: &&str| {
        let retry = format!("capt retry {}", placed(owner, namespace));
        let is_owner = matches!(
            view.object(owner),
            Some(Object::CaptCluster(_) | Object::ControlPlane(_))
        );
        is_owner && advice.iter().any(|line| line.ends_with(&retry)) && view.graph.whole(owner).contains(id)
    };
    let is_retried = told.iter().any(passes_down);
    let is_known = |line: &str| is_said_of_maker(line) || (is_retried && line.contains("capt retry "));
    lines.into_iter().filter(|line| !is_known(line)).collect()
}
