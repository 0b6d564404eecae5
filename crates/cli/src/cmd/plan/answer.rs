//! A plan in words and as data.

use std::{fmt::Write as _, process::ExitCode};

use capt_api::run::{ChangedValue, PlanReport, PlannedChange};
use serde::Serialize;

use super::judge::Why;
use crate::{look::text, objects::Subject};

/// Lines of changes that people are shown.
const MANY: usize = 100;

/// What came of asking for a plan.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// What it is about.
    object: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// What runs Terraform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) engine: Option<String>,
    /// Nothing of it is applied, because somebody asked for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) paused: bool,
    /// Nothing of it is applied before it is its turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) waits_for_turn: bool,
    /// Why there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// What sort of problem that is.
    #[serde(rename = "problemKind", skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<Why>,
    /// What may exist and is not in the state, as the runner says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<String>,
    /// What Terraform warned of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    /// Holes of the template that no variable fills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unfilled: Vec<String>,
    #[serde(flatten)]
    pub(super) plan: Option<Planned>,
    /// Where there is no plan step: what would become of the Workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rendering: Option<Rendering>,
}

/// A plan.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Planned {
    pub(super) plan: PlanReport,
    /// As Terraform tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The command that approves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) approve: Option<String>,
}

/// How the rendering differs from the Workspace.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rendering {
    pub(super) changes: Vec<String>,
    /// The command that approves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) approve: Option<String>,
}

impl Answer {
    pub(super) fn new(subject: &Subject) -> Self {
        Self {
            object: subject.target().to_string(),
            namespace: subject.placed().namespace,
            workspace: subject.workspace.as_ref().map(|workspace| workspace.name.clone()),
            ..Self::default()
        }
    }

    /// What is told beside the answer, because it must not be missed.
    pub(super) fn warning(&self) -> Option<String> {
        let missing = self.missing.as_ref()?;
        Some(format!("warning: {}: {}", self.object, text::plain(missing)))
    }

    /// There is a plan, or what stands for one.
    pub(super) fn is_plan(&self) -> bool {
        self.problem.is_none()
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        match self.is_plan() {
            true => ExitCode::SUCCESS,
            false => exit_code(self.why),
        }
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        let mut text = self.head();
        // Writing to a string cannot fail.
        if let Some(problem) = &self.problem {
            let _ = writeln!(text, "There is no plan: {problem}");
        }
        for hole in &self.unfilled {
            let _ = writeln!(text, "No variable fills {hole}");
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "Warning: {}", text::plain(warning));
        }
        if let Some(Planned { plan, approve, .. }) = &self.plan {
            let _ = writeln!(text, "Plan {}: {}", plan.id, plan.summary);
            lines(&mut text, &plan.changes, "");
            lines(&mut text, &plan.drift, ", done by somebody else");
            for output in &plan.outputs {
                let _ = writeln!(text, "  output   {}", value(output));
            }
            match approve {
                Some(command) => {
                    let _ = writeln!(
                        text,
                        "It waits for an approval. To approve exactly this plan:\n  {command}"
                    );
                }
                None if plan.changes.is_empty() => {}
                None if plan.destructive => text.push_str("It will wait for an approval.\n"),
                None if self.missing.is_some() => text.push_str(
                    "It needs no approval, but it would make a second time what exists and is not in the state: see \
                     to that first.\n",
                ),
                None => text.push_str("It needs no approval.\n"),
            }
        }
        if self.paused {
            text.push_str("Nothing is applied, because it is paused.\n");
        }
        if self.waits_for_turn {
            text.push_str("Nothing is applied before it is its turn.\n");
        }
        if let Some(rendering) = &self.rendering {
            text.push_str(
                "provider-terraform runs this Workspace, and it has no plan step: what Terraform would do is not known.\n",
            );
            match rendering.changes.is_empty() {
                true => text.push_str("The Workspace is what the template and the variables say.\n"),
                false => text.push_str("What is rendered differs from the Workspace:\n"),
            }
            for change in &rendering.changes {
                let _ = writeln!(text, "  {change}");
            }
            if let Some(command) = &rendering.approve {
                let _ = writeln!(
                    text,
                    "It waits for an approval. To approve exactly this rendering:\n  {command}"
                );
            }
        }
        text
    }

    fn head(&self) -> String {
        let mut head = self.object.clone();
        if let Some(namespace) = &self.namespace {
            let _ = write!(head, " in {namespace}");
        }
        if let Some(engine) = &self.engine {
            let _ = write!(head, ", by {engine}");
        }
        head + "\n"
    }
}

/// What the shell is told where there is no plan.
pub(super) fn exit_code(why: Option<Why>) -> ExitCode {
    ExitCode::from(match why {
        Some(Why::Stuck) => 3,
        Some(Why::Late) => 4,
        Some(Why::Failed) | None => 1,
    })
}

fn lines(text: &mut String, changes: &[PlannedChange], who: &str) {
    for change in changes.iter().take(MANY) {
        let reason = change
            .reason
            .as_ref()
            .map(|reason| format!(" ({})", reason.replace('_', " ")));
        // Where there are values, they name the attributes.
        let names = !change.paths.is_empty() && change.values.is_empty();
        let paths = names.then(|| format!(": {}", change.paths.join(", ")));
        let (reason, paths) = (reason.unwrap_or_default(), paths.unwrap_or_default());
        let _ = writeln!(
            text,
            "  {:<8} {}{who}{reason}{paths}",
            change.action, change.address
        );
        for changed in &change.values {
            let _ = writeln!(text, "             {}", value(changed));
        }
        if change.more_values > 0 && !change.values.is_empty() {
            let _ = writeln!(text, "             … and {} more", change.more_values);
        }
    }
    if changes.len() > MANY {
        let _ = writeln!(text, "  … and {} more", changes.len() - MANY);
    }
}

/// How a value changes, as one line that no terminal obeys.
fn value(changed: &ChangedValue) -> String {
    let words = match (&changed.before, &changed.after) {
        (Some(before), Some(after)) => format!("~ {}: {before} → {after}", changed.path),
        (Some(before), None) => format!("- {}: {before}", changed.path),
        (None, Some(after)) => format!("+ {}: {after}", changed.path),
        (None, None) => format!("~ {}", changed.path),
    };
    let forces = match changed.forces_replacement {
        true => " (forces replacement)",
        false => "",
    };
    text::plain(&words) + forces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_with_what_it_does_and_how_to_approve_it() {
        let change = |address: &str, action: &str, reason: Option<&str>| PlannedChange {
            address: address.to_owned(),
            action: action.to_owned(),
            reason: reason.map(str::to_owned),
            paths: vec!["input".to_owned()],
            ..PlannedChange::default()
        };
        let answer = Answer {
            object: "wtapply/greeting".to_owned(),
            namespace: Some("default".to_owned()),
            engine: Some("terraform 1.11.4".to_owned()),
            plan: Some(Planned {
                plan: PlanReport {
                    id: "abc".to_owned(),
                    summary: "1 to replace".to_owned(),
                    awaits_approval: true,
                    changes: vec![change("terraform_data.x", "replace", Some("cannot_update"))],
                    drift: vec![change("terraform_data.y", "update", None)],
                    ..PlanReport::default()
                },
                text: None,
                approve: Some("capt approve wtapply/greeting --plan abc".to_owned()),
            }),
            ..Answer::default()
        };
        assert_eq!(
            answer.words(),
            "wtapply/greeting in default, by terraform 1.11.4\n\
             Plan abc: 1 to replace\n  \
               replace  terraform_data.x (cannot update): input\n  \
               update   terraform_data.y, done by somebody else: input\n\
             It waits for an approval. To approve exactly this plan:\n  \
               capt approve wtapply/greeting --plan abc\n"
        );
        let data = serde_json::to_value(&answer).unwrap();
        assert_eq!(data["plan"]["id"], "abc");
        assert_eq!(data["approve"], "capt approve wtapply/greeting --plan abc");
    }

    #[test]
    fn values_are_told_line_by_line() {
        let value =
            |path: &str, before: Option<&str>, after: Option<&str>, forces_replacement| ChangedValue {
                path: path.to_owned(),
                before: before.map(str::to_owned),
                after: after.map(str::to_owned),
                forces_replacement,
            };
        let change = PlannedChange {
            address: "terraform_data.x".to_owned(),
            action: "replace".to_owned(),
            reason: Some("cannot_update".to_owned()),
            paths: vec!["size".to_owned(), "tags.a".to_owned()],
            values: vec![
                value("size", Some("3"), Some("4"), true),
                value("id", Some("\"x\""), Some("(known after apply)"), false),
                value("tags.a", Some("\"\u{1b}[2J\""), None, false),
                value("tags.b", None, Some("(sensitive value)"), false),
            ],
            more_values: 2,
            ..PlannedChange::default()
        };
        let answer = Answer {
            object: "wtapply/x".to_owned(),
            plan: Some(Planned {
                plan: PlanReport {
                    id: "abc".to_owned(),
                    summary: "1 to replace".to_owned(),
                    destructive: true,
                    changes: vec![change],
                    outputs: vec![value("name", Some("\"a\""), Some("\"b\""), false)],
                    ..PlanReport::default()
                },
                ..Planned::default()
            }),
            ..Answer::default()
        };
        assert_eq!(
            answer.words(),
            "wtapply/x\n\
             Plan abc: 1 to replace\n  \
               replace  terraform_data.x (cannot update)\n             \
                 ~ size: 3 → 4 (forces replacement)\n             \
                 ~ id: \"x\" → (known after apply)\n             \
                 - tags.a: \" [2J\"\n             \
                 + tags.b: (sensitive value)\n             \
                 … and 2 more\n  \
               output   ~ name: \"a\" → \"b\"\n\
             It will wait for an approval.\n"
        );
    }

    #[test]
    fn a_plan_during_a_pause_says_what_comes_of_it() {
        let change = |action: &str| PlannedChange {
            address: "terraform_data.x".to_owned(),
            action: action.to_owned(),
            ..PlannedChange::default()
        };
        for (action, destructive, paused, expected) in [
            (
                "create",
                false,
                true,
                "It needs no approval.\nNothing is applied, because it is paused.\n",
            ),
            (
                "replace",
                true,
                true,
                "It will wait for an approval.\nNothing is applied, because it is paused.\n",
            ),
            (
                "update",
                false,
                false,
                "It needs no approval.\nNothing is applied before it is its turn.\n",
            ),
        ] {
            let plan = PlanReport {
                changes: vec![change(action)],
                destructive,
                ..PlanReport::default()
            };
            let answer = Answer {
                paused,
                waits_for_turn: !paused,
                plan: Some(Planned {
                    plan,
                    ..Planned::default()
                }),
                ..Answer::default()
            };
            assert!(answer.words().ends_with(expected), "{}", answer.words());
        }
    }

    #[test]
    fn a_plan_that_makes_something_a_second_time_is_not_said_to_need_nothing() {
        let answer = |missing: Option<&str>| Answer {
            object: "wtapply/x".to_owned(),
            missing: missing.map(str::to_owned),
            plan: Some(Planned {
                plan: PlanReport {
                    changes: vec![PlannedChange::default()],
                    ..PlanReport::default()
                },
                ..Planned::default()
            }),
            ..Answer::default()
        };
        let torn = answer(Some("the state does not have terraform_data.b"));
        assert!(torn.words().contains("a second time"), "{}", torn.words());
        assert!(!torn.words().contains("no approval."), "{}", torn.words());
        assert_eq!(
            torn.warning().as_deref(),
            Some("warning: wtapply/x: the state does not have terraform_data.b")
        );
        let whole = answer(None);
        assert!(
            whole.words().contains("It needs no approval.\n"),
            "{}",
            whole.words()
        );
        assert_eq!(whole.warning(), None);
    }

    #[test]
    fn what_terraform_warns_of_is_told() {
        let answer = Answer {
            warnings: vec!["Value for undeclared variable: tpyo".to_owned()],
            plan: Some(Planned::default()),
            ..Answer::default()
        };
        let words = answer.words();
        assert!(
            words.contains("\nWarning: Value for undeclared variable: tpyo\n"),
            "{words}"
        );
        let data = serde_json::to_value(&answer).unwrap();
        assert_eq!(data["warnings"][0], "Value for undeclared variable: tpyo");
    }

    #[test]
    fn without_a_plan_it_says_why_and_fails() {
        let answer = Answer {
            problem: Some("no variable fills name".to_owned()),
            unfilled: vec!["${name} in spec.x".to_owned()],
            ..Answer::default()
        };
        assert!(
            answer
                .words()
                .contains("There is no plan: no variable fills name\nNo variable fills ${name} in spec.x\n")
        );
        assert!(!answer.is_plan());
    }

    #[test]
    fn the_shell_learns_why_there_is_no_plan() {
        for (why, expected) in [
            (None, 1),
            (Some(Why::Failed), 1),
            (Some(Why::Stuck), 3),
            (Some(Why::Late), 4),
        ] {
            let code = format!("{:?}", exit_code(why));
            assert_eq!(code, format!("{:?}", ExitCode::from(expected)), "{why:?}");
        }
    }

    #[test]
    fn a_foreign_runner_is_told_to_have_no_plans() {
        let answer = Answer {
            rendering: Some(Rendering {
                changes: vec!["~ x: 1 → 2".to_owned()],
                approve: None,
            }),
            ..Answer::default()
        };
        let words = answer.words();
        assert!(
            words.contains("no plan step") && words.contains("~ x: 1 → 2"),
            "{words}"
        );
    }
}
