//! Whether what a plan depends on is being made, or is made by nobody.

use std::collections::BTreeSet;

use capt_api::WorkspaceTemplateApply;
use kube::ResourceExt as _;

use super::judge::{Verdict, doubted};
use crate::{
    access::Cluster,
    look::{
        Scope, gather,
        tree::Gathered,
        view::{View, typed},
    },
};

/// Things that are told.
const MANY: usize = 3;

/// Judges an object that waits for others.
pub(super) async fn judge(cluster: &Cluster, apply: &WorkspaceTemplateApply, message: &str) -> Verdict {
    let namespace = apply.namespace().unwrap_or_default();
    // Who may not look at everything waits.
    let Ok(everything) = gather(&cluster.client, &Scope::Namespace(namespace.clone())).await else {
        return Verdict::Waiting(message.to_owned());
    };
    let root = format!("WorkspaceTemplateApply/{}", apply.name_any());
    of_causes(&Gathered::of(everything, &namespace, &root), message)
}

/// What nobody makes will not come, and all else may.
fn of_causes(gathered: &Gathered, message: &str) -> Verdict {
    let view = View::new(&gathered.part);
    let causes = all_causes(&view, &gathered.root);
    let others = || {
        causes
            .iter()
            .filter_map(|id| Some((typed(id), view.graph.node(id)?, id)))
    };
    let missing: Vec<String> = others()
        .filter(|(_, node, _)| node.status == "Missing")
        .map(|(typed, ..)| typed)
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return doubted(format!(
            "{message}. Nothing that there is makes {missing}: make it"
        ));
    }
    let states: Vec<String> = others()
        .take(MANY)
        .map(|(typed, node, id)| match view.why(id) {
            why if why.is_empty() => format!("{typed} is {}", node.status),
            why => format!("{typed} is {}, {why}", node.status),
        })
        .collect();
    Verdict::Waiting(match states.is_empty() {
        true => message.to_owned(),
        false => format!("{message}; {}", states.join("; ")),
    })
}

/// What an object waits for in the end, and what those wait for that have to make that.
fn all_causes(view: &View<'_>, root: &str) -> Vec<String> {
    let mut known = BTreeSet::from([root.to_owned()]);
    let mut open = vec![root.to_owned()];
    let mut causes = Vec::new();
    while let Some(id) = open.pop() {
        for cause in view.causes(&id) {
            if !known.insert(cause.id.clone()) {
                continue;
            }
            let makers = view.makers(&cause.id).map(str::to_owned);
            open.extend(makers.filter(|maker| known.insert(maker.clone())));
            causes.push(cause.id);
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::look::testing::{at, condition, part};

    fn waiting(objects: &Value) -> Verdict {
        let mut objects = objects.clone();
        let waiting = json!({
            "metadata": {"name": "app"},
            "spec": {"templateRef": {"name": "app"}, "waitForSecrets": [{"name": "keys"}]},
            "status": {"applied": false, "conditions": [condition("Waiting", "True", "WaitingForSecrets", "")]},
        });
        match objects["applies"].as_array_mut() {
            Some(applies) => applies.push(waiting),
            None => objects["applies"] = json!([waiting]),
        }
        objects["templates"] = json!([{
            "metadata": {"name": "app"},
            "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": ""}}}},
        }]);
        let gathered = Gathered {
            part: part(&objects),
            root: "WorkspaceTemplateApply/app".to_owned(),
            now: at(0),
        };
        of_causes(&gathered, "Waiting for the Secrets keys")
    }

    #[test]
    fn what_nobody_makes_is_not_waited_for() {
        match waiting(&json!({})) {
            Verdict::Unless { problem, .. } => assert_eq!(
                problem.problem,
                "Waiting for the Secrets keys. Nothing that there is makes secret/keys: make it"
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_being_made_is_waited_for() {
        let maker = json!({
            "metadata": {"name": "keys"},
            "spec": {"templateRef": {"name": "app"}, "writeConnectionSecretToRef": {"name": "keys"}},
            "status": {"applied": true, "conditions": [condition("Ready", "False", "Creating", "at it")]},
        });
        match waiting(&json!({"applies": [maker]})) {
            Verdict::Waiting(reason) => {
                assert!(reason.starts_with("Waiting for the Secrets keys; "), "{reason}");
                assert!(reason.contains("wtapply/keys is Working"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}
