//! Nothing that a person can do is said twice: not in the same words, and not with the same command.

use super::text;

/// Each thing once, in the place where it was said first. Of two that say the same the longer one says more, such as what is
/// destroyed by it.
pub(crate) fn each(lines: Vec<String>) -> Vec<String> {
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

/// Whether two things to do are the same: by their commands, or by their words if they have none.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
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
