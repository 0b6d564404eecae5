//! Kubernetes versions: what the module gets, what is reported, and what is refused.
//!
//! EKS goes up one minor version at a time and never down. Which step comes next follows from what runs and from what
//! the WorkspaceTemplateApply says already, so that a restart or a move in the middle changes nothing.

use capt_api::version::{Minor, Version};

/// What to do about the version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the module gets.
    pub variable: Minor,
    /// What is wrong with what the spec asks for.
    pub verdict: Verdict,
}

/// What can be said about the version that the spec asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs, or is being gone to.
    Fine,
    /// More steps follow this one.
    Walking,
    /// It is below what runs, because somebody lowered it.
    TooLow,
    /// It is below what is gone to at this moment, because somebody lowered it meanwhile.
    TooLate,
    /// It is below what runs, because AWS upgraded the cluster by itself.
    Ahead,
    /// The module tells that this version runs, more than one above the one that it got.
    Doubtful(Minor),
    /// Terraform is done with what the module got, and the module tells that this version below it runs.
    NotReached(Minor),
}

/// What is known about versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// What the spec asks for.
    pub wanted: Minor,
    /// What the module got last: the variable of the WorkspaceTemplateApply, if there is one.
    pub rendered: Option<Minor>,
    /// What runs: the module's output `cluster_version`, if it has one.
    pub running: Option<Minor>,
    /// Terraform is done with what the module got last.
    pub is_settled: bool,
    /// Terraform may be at work on what the module got last.
    pub has_begun: bool,
    /// Terraform failed for good with what the module got last.
    pub has_failed: bool,
    /// The connection Secret tells of another one.
    pub is_disputed: bool,
    /// It was already said that AWS upgraded the cluster by itself.
    pub was_ahead: bool,
}

/// Decides the next step.
#[must_use]
pub fn next(known: &Known) -> Step {
    let Known { wanted, rendered, .. } = *known;
    // A module that does not tell what runs is believed when it is done.
    let running = known.running.or_else(|| rendered.filter(|_| known.is_settled));
    let (Some(running), Some(rendered)) = (running, rendered) else {
        // A cluster that does not exist yet is made in the version that is wanted; one of which nothing is known is
        // left where it is.
        return Step {
            variable: rendered.unwrap_or(wanted),
            verdict: Verdict::Fine,
        };
    };
    // EKS leaves out no version, and nothing that is given to the module can be taken back: more than one step above it
    // was not found by Terraform but written by somebody, as was what the Secret with the same outputs does not have. What
    // is under way may still tell something else.
    let is_a_step = running.minor <= rendered.minor + 1 && known.is_settled && !known.is_disputed;
    if wanted < running && rendered < running && !is_a_step {
        let verdict = match known.is_settled {
            true => Verdict::Doubtful(running),
            false => Verdict::Fine,
        };
        return Step {
            variable: rendered,
            verdict,
        };
    }
    let above = Minor {
        minor: running.minor + 1,
        ..running
    };
    // EKS cannot be told to stop, and going back from what it reaches then would fail, or worse.
    if known.has_begun && !known.is_settled && rendered == above && wanted < rendered {
        return Step {
            variable: rendered,
            verdict: Verdict::TooLate,
        };
    }
    if wanted < running {
        let verdict = if rendered <= wanted || known.was_ahead {
            Verdict::Ahead
        } else {
            Verdict::TooLow
        };
        return Step {
            variable: running,
            verdict,
        };
    }
    // Applying it once more would change nothing, and going on would leave a version out.
    if known.is_settled && running < rendered && rendered <= wanted {
        return Step {
            variable: rendered,
            verdict: Verdict::NotReached(running),
        };
    }
    let one_up = wanted.min(above);
    // A step that is not done yet is not gone beyond, but one that has not begun may be taken back.
    // What failed without one is not in the way of the next.
    let is_in_the_way = rendered > running || !known.has_failed;
    let is_under_way = !known.is_settled && rendered >= running && rendered <= one_up && is_in_the_way;
    let variable = if is_under_way { rendered } else { one_up };
    Step {
        variable,
        verdict: if variable < wanted {
            Verdict::Walking
        } else {
            Verdict::Fine
        },
    }
}

/// Every version from one to a higher one, in order: EKS leaves none out. Of very many only the first and the last are told.
#[must_use]
pub fn way(from: Minor, to: Minor) -> String {
    const TOLD: u32 = 8;
    let told = |minor: u32| Minor { minor, ..from }.to_string();
    let last = from.minor.saturating_add(TOLD);
    if to.minor <= last {
        let steps: Vec<String> = (from.minor..=to.minor).map(told).collect();
        return steps.join(" → ");
    }
    let steps: Vec<String> = (from.minor..last).map(told).collect();
    format!("{} → … → {to}", steps.join(" → "))
}

/// What runs, written as the spec writes versions.
#[must_use]
pub fn in_form_of(spec: &Version, running: Minor) -> String {
    if spec.minor() == Some(running) {
        return spec.as_str().to_owned();
    }
    let prefix = if spec.as_str().starts_with('v') { "v" } else { "" };
    let patch = if spec.as_str().matches('.').count() == 2 {
        ".0"
    } else {
        ""
    };
    format!("{prefix}{running}{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minor(minor: u32) -> Minor {
        Minor { major: 1, minor }
    }

    fn known(wanted: u32, rendered: Option<u32>, running: Option<u32>, is_settled: bool) -> Known {
        Known {
            wanted: minor(wanted),
            rendered: rendered.map(minor),
            running: running.map(minor),
            is_settled,
            has_begun: false,
            has_failed: false,
            is_disputed: false,
            was_ahead: false,
        }
    }

    #[test]
    fn the_next_step_follows_from_what_runs_and_what_was_asked_for() {
        use Verdict::{Ahead, Doubtful, Fine, NotReached, TooLate, TooLow, Walking};
        for (name, known, variable, verdict) in [
            ("a new cluster", known(33, None, None, false), 33, Fine),
            ("it is being made", known(33, Some(31), None, false), 31, Fine),
            ("it runs", known(31, Some(31), Some(31), true), 31, Fine),
            ("one up", known(32, Some(31), Some(31), true), 32, Fine),
            ("several up", known(34, Some(31), Some(31), true), 32, Walking),
            ("under way", known(34, Some(32), Some(31), false), 32, Walking),
            (
                "done, not settled",
                known(34, Some(32), Some(32), false),
                32,
                Walking,
            ),
            ("done", known(34, Some(32), Some(32), true), 33, Walking),
            ("the last one", known(34, Some(33), Some(33), true), 34, Fine),
            ("taken back", known(32, Some(33), Some(32), false), 32, Fine),
            ("lowered", known(30, Some(31), Some(31), true), 31, TooLow),
            (
                "lowered in the middle",
                known(30, Some(32), Some(31), false),
                31,
                TooLow,
            ),
            ("AWS upgraded it", known(31, Some(31), Some(32), true), 32, Ahead),
            (
                "somebody says that AWS did",
                known(31, Some(31), Some(38), true),
                31,
                Doubtful(minor(38)),
            ),
            (
                "something else is under way",
                known(31, Some(31), Some(32), false),
                31,
                Fine,
            ),
            (
                "a person knows that it runs",
                known(38, Some(31), Some(38), true),
                38,
                Fine,
            ),
            (
                "AWS upgraded it, an upgrade is wanted",
                known(33, Some(31), Some(32), true),
                33,
                Fine,
            ),
            (
                "applied, and it does not run",
                known(33, Some(32), Some(31), true),
                32,
                NotReached(minor(31)),
            ),
            (
                "made, and another one runs",
                known(33, Some(33), Some(31), true),
                33,
                NotReached(minor(31)),
            ),
            (
                "applied, does not run, and is taken back",
                known(31, Some(32), Some(31), true),
                31,
                Fine,
            ),
            (
                "the module does not tell",
                known(33, Some(31), None, true),
                32,
                Walking,
            ),
        ] {
            let step = next(&known);
            assert_eq!(
                (step.variable, step.verdict),
                (minor(variable), verdict),
                "{name}"
            );
        }
        let disputed = Known {
            is_disputed: true,
            ..known(31, Some(31), Some(32), true)
        };
        assert_eq!(next(&disputed).variable, minor(31));
        assert_eq!(next(&disputed).verdict, Doubtful(minor(32)));
        for (wanted, known) in [
            (31, known(31, Some(32), Some(31), false)),
            (30, known(30, Some(32), Some(31), false)),
            (32, known(32, Some(33), Some(32), false)),
        ] {
            let begun = Known {
                has_begun: true,
                ..known
            };
            assert_eq!(Some(next(&begun).variable), known.rendered, "{wanted}");
            assert_eq!(next(&begun).verdict, TooLate, "{wanted}");
        }
        let failed = Known {
            has_failed: true,
            ..known(33, Some(31), Some(31), false)
        };
        assert_eq!(next(&failed).variable, minor(32), "a higher version is a way out");
        let failed_step = Known {
            has_failed: true,
            ..known(33, Some(32), Some(31), false)
        };
        assert_eq!(next(&failed_step).variable, minor(32));
        let goes_on = Known {
            has_begun: true,
            ..known(33, Some(32), Some(31), false)
        };
        assert_eq!(next(&goes_on).verdict, Walking);
        let remembered = Known {
            was_ahead: true,
            ..known(31, Some(32), Some(32), true)
        };
        assert_eq!(next(&remembered).verdict, Verdict::Ahead);
    }

    #[test]
    fn a_walk_goes_up_by_one_and_never_down_whatever_interrupts_it() {
        for wanted in 30..=36 {
            for start in 30..=36 {
                let (mut rendered, mut running) = (start, start);
                for round in 0..40 {
                    let is_settled = rendered == running;
                    let step = next(&known(wanted, Some(rendered), Some(running), is_settled));
                    let variable = step.variable.minor;
                    assert!(variable >= running, "never down");
                    assert!(variable <= running + 1, "one at a time");
                    assert_eq!(
                        step,
                        next(&known(wanted, Some(rendered), Some(running), is_settled)),
                        "asked again, the same"
                    );
                    rendered = variable;
                    // Terraform needs every other round.
                    if round % 2 == 1 {
                        running = rendered;
                    }
                }
                assert_eq!(running, wanted.max(start));
            }
        }
    }

    #[test]
    fn a_way_is_told_whole_unless_it_is_very_long() {
        assert_eq!(way(minor(31), minor(33)), "1.31 → 1.32 → 1.33");
        let long = way(minor(31), minor(999));
        assert!(long.starts_with("1.31 → 1.32 → "), "{long}");
        assert!(long.ends_with("1.38 → … → 1.999"), "{long}");
    }

    #[test]
    fn what_runs_is_reported_in_the_form_of_the_spec() {
        for (spec, running, expected) in [
            ("1.31", 31, "1.31"),
            ("v1.31", 31, "v1.31"),
            ("v1.31.2", 31, "v1.31.2"),
            ("1.33", 31, "1.31"),
            ("v1.33", 31, "v1.31"),
            ("v1.33.5", 31, "v1.31.0"),
        ] {
            let spec = Version::from(spec);
            assert_eq!(in_form_of(&spec, minor(running)), expected, "{spec}");
        }
    }
}
