//! Nothing that a person can do is said twice: not in the same words, not with the same command, and not about a part of what was
//! named already.

use super::advice::placed;
use crate::look::{
    text,
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

/// Each thing once, in the place where it was said first. Of two that say the same the longer one says more, such as what is
/// destroyed by it.
pub(super) fn each(lines: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        match kept.iter_mut().find(|other| is_same(other, &line)) {
            Some(other) if other.len() < line.len() => *other = line,
            Some(_) => {}
            None => kept.push(line),
        }
    }
    kept
}

fn is_same(one: &str, other: &str) -> bool {
    let commands = |line: &str| -> Vec<String> {
        let found = text::commands(line).into_iter();
        found
            .map(|range| line[range].trim_end_matches(['.', ' ']).to_owned())
            .collect()
    };
    let (ours, theirs) = (commands(one), commands(other));
    if !ours.is_empty() || !theirs.is_empty() {
        return ours == theirs;
    }
    let (one, other) = (one.trim_end_matches('.'), other.trim_end_matches('.'));
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    long.strip_prefix(short)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_said_once_and_as_fully_as_anywhere() {
        for (lines, expected) in [
            (&["wait.", "wait"][..], &["wait."][..]),
            (
                &["mend it", "wait", "mend it; it is noticed"],
                &["mend it; it is noticed", "wait"],
            ),
            (
                &[
                    "see it: capt logs wtapply/x -n team",
                    "see x: capt logs wtapply/x -n team.",
                ],
                &["see it: capt logs wtapply/x -n team"],
            ),
            (
                &[
                    "go on: kubectl patch cluster x",
                    "go on, which destroys it: kubectl patch cluster x",
                ],
                &["go on, which destroys it: kubectl patch cluster x"],
            ),
            (
                &[
                    "try again: capt retry wtapply/x",
                    "try again: capt retry wtapply/y",
                ],
                &[
                    "try again: capt retry wtapply/x",
                    "try again: capt retry wtapply/y",
                ],
            ),
        ] {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(each(lines), expected);
        }
    }
}
