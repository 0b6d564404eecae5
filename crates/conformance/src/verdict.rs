//! What is left of the differences between two servers after those that are meant.

use serde_json::{Value, json};

use crate::allowed::Allowed;
use crate::diff::{Difference, compare};
use crate::player::Recorded;

/// The outcome of one scenario.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The steps whose answers differ where they should not.
    pub findings: Vec<Finding>,
    /// The differences that are meant.
    pub excused: Vec<Excused>,
}

/// A step whose answers differ.
#[derive(Debug)]
pub struct Finding {
    /// The step's name.
    pub step: String,
    /// In what they differ.
    pub differences: Vec<Difference>,
}

/// A difference that is meant.
#[derive(Debug)]
pub struct Excused {
    /// The step's name.
    pub step: String,
    /// In what the answers differ.
    pub difference: Difference,
    /// Why they may.
    pub reason: String,
}

/// Compares the answers to a scenario.
pub fn judge(scenario: &str, expected: &[Recorded], actual: &[Recorded], allowed: &Allowed) -> Verdict {
    let nothing = Value::Null;
    let answer = |answers: &[Recorded], step: &str| {
        answers
            .iter()
            .find(|recorded| recorded.step == step)
            .map(|recorded| recorded.answer.clone())
    };
    // Steps that only set the scene are recorded when they fail, so either side may have some of its own.
    let extra = actual
        .iter()
        .filter(|recorded| answer(expected, &recorded.step).is_none());
    let mut verdict = Verdict::default();
    for Recorded { step, .. } in expected.iter().chain(extra) {
        let left = answer(expected, step).unwrap_or_else(|| nothing.clone());
        let right = answer(actual, step).unwrap_or_else(|| nothing.clone());
        let mut differences = Vec::new();
        for difference in differences_of(&left, &right) {
            match allowed.reason(scenario, step, &difference) {
                Some(reason) => {
                    verdict.excused.push(Excused {
                        step: step.clone(),
                        difference,
                        reason: reason.to_owned(),
                    });
                }
                None => differences.push(difference),
            }
        }
        if !differences.is_empty() {
            verdict.findings.push(Finding {
                step: step.clone(),
                differences,
            });
        }
    }
    verdict
}

/// When one server agrees and the other refuses, the fields say nothing more.
fn differences_of(expected: &Value, actual: &Value) -> Vec<Difference> {
    if expected["status"] == actual["status"] {
        return compare(expected, actual);
    }
    let summary = |answer: &Value| match answer {
        Value::Null => None,
        answer => {
            let body = &answer["body"];
            let causes = &body["details"]["causes"];
            Some(json!([answer["status"], body["message"], causes]))
        }
    };
    vec![Difference {
        path: "status".into(),
        expected: summary(expected),
        actual: summary(actual),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(of: &[(&str, Value)]) -> Vec<Recorded> {
        of.iter()
            .map(|(step, answer)| Recorded {
                step: (*step).to_owned(),
                answer: answer.clone(),
            })
            .collect()
    }

    #[test]
    fn findings_name_the_step_and_say_only_what_matters() {
        let agreed = json!({"status": 201, "body": {"spec": {"a": 1, "b": 2}}});
        let refused = json!({"status": 422, "body": {"message": "no", "code": 422}});
        let other = json!({"status": 201, "body": {"spec": {"a": 1, "b": 3}}});
        let cases = [
            (
                "the same",
                vec![("s", agreed.clone())],
                vec![("s", agreed.clone())],
                vec![],
            ),
            (
                "one field",
                vec![("s", agreed.clone())],
                vec![("s", other)],
                vec!["s body.spec.b"],
            ),
            (
                "another outcome",
                vec![("s", agreed.clone())],
                vec![("s", refused.clone())],
                vec!["s status"],
            ),
            ("a step is missing", vec![("s", agreed)], vec![], vec!["s status"]),
            (
                "a scene that failed",
                vec![],
                vec![("setup", refused)],
                vec!["setup status"],
            ),
        ];
        for (name, expected, actual, wanted) in cases {
            let verdict = judge(
                "scenario",
                &answers(&expected),
                &answers(&actual),
                &Allowed::default(),
            );
            let found: Vec<_> = verdict
                .findings
                .iter()
                .flat_map(|finding| {
                    finding
                        .differences
                        .iter()
                        .map(|d| format!("{} {}", finding.step, d.path))
                })
                .collect();
            assert_eq!(found, wanted, "{name}");
        }
    }
}
