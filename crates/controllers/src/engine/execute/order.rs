//! What of a decision can be written at the same time.

use capt_core::decision::{Decision, Desired};

/// How many of the next objects can be written at the same time: Secrets are read by others, but make nothing happen that
/// another Secret has to be there for.
pub(super) fn written_together(children: &[&Desired]) -> usize {
    let secrets = children.iter().take_while(|desired| is_secret(desired));
    secrets.count().max(1)
}

/// Whether the object itself can be changed while Secrets are written: fields of its spec that we author say what is, and
/// only the status says that everything is there. Marks are another matter: they may have to be there first, or to stay.
pub(super) fn may_be_marked_meanwhile<S>(decision: &Decision<S>, first: &[&Desired]) -> bool {
    decision.own.is_only_spec()
        && decision.removals.is_empty()
        && first.iter().all(|desired| is_secret(desired))
}

fn is_secret(desired: &Desired) -> bool {
    desired.target.kind == "Secret"
}

#[cfg(test)]
mod tests {
    use capt_core::decision::{OwnChange, Removal};
    use serde_json::json;

    use super::{
        super::testing::{desired, target},
        *,
    };

    #[test]
    fn secrets_that_follow_each_other_are_written_together_and_anything_else_alone() {
        for (kinds, expected) in [
            (&["Secret", "Secret", "Workspace"][..], 2),
            (&["Workspace", "Secret"], 1),
            (&["Workspace", "Workspace"], 1),
        ] {
            let all: Vec<Desired> = kinds.iter().map(|kind| desired(kind)).collect();
            let all: Vec<&Desired> = all.iter().collect();
            assert_eq!(written_together(&all), expected, "{kinds:?}");
        }
    }

    #[test]
    fn only_fields_of_the_spec_are_written_while_secrets_are() {
        let spec = OwnChange::<()> {
            spec: [("endpoint".to_owned(), json!("x"))].into(),
            ..OwnChange::default()
        };
        let held = OwnChange {
            add_finalizers: vec!["ours".to_owned()],
            ..spec.clone()
        };
        let noted = OwnChange {
            annotations: [("turn".to_owned(), None)].into(),
            ..spec.clone()
        };
        let removal = Removal {
            target: target("Secret"),
            uid: "u".to_owned(),
            resource_version: "7".to_owned(),
        };
        let (secret, other) = (desired("Secret"), desired("Workspace"));
        for (own, removals, first, expected) in [
            (spec.clone(), vec![], vec![&secret, &secret], true),
            (spec.clone(), vec![], vec![], true),
            (spec.clone(), vec![], vec![&secret, &other], false),
            (spec, vec![removal], vec![&secret], false),
            (held, vec![], vec![&secret], false),
            (noted, vec![], vec![&secret], false),
            (OwnChange::default(), vec![], vec![&secret], false),
        ] {
            let decision = Decision {
                own,
                removals,
                ..Decision::default()
            };
            assert_eq!(
                may_be_marked_meanwhile(&decision, &first),
                expected,
                "{decision:?}"
            );
        }
    }
}
