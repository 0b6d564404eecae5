//! Cluster-scoped Workspaces that the Go implementation made, and the mark by which the controllers adopt them.
//!
//! Whatever a WorkspaceTemplateApply says is its namespace's to write. So a Workspace is marked by itself only where it says on
//! its own side that it belongs there; otherwise an administrator decides.

use std::fmt::Write as _;

use anyhow::Context as _;
use capt_api::{WorkspaceTemplateApply, foreign::ClusterWorkspace, marks};
use capt_core::{names, wta::foreign_references};
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use crate::objects::call;

const FIELD_MANAGER: &str = "capt-cli";

/// What is known of a cluster-scoped Workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) created: Option<Timestamp>,
    /// The WorkspaceTemplateApply in its identity labels, as namespace and label value.
    pub(super) identity: Option<(String, String)>,
    /// `namespace/name` of the WorkspaceTemplateApply that it is marked for.
    pub(super) legacy_of: Option<String>,
    pub(super) is_retained: bool,
    /// The namespace that it writes its outputs to.
    pub(super) outputs_to: Option<String>,
    /// Fields that lead out of the namespace in its identity labels.
    pub(super) foreign: Vec<String>,
}

impl Candidate {
    pub(super) fn of(workspace: &ClusterWorkspace) -> Self {
        let label = |name: &str| workspace.labels().get(name).cloned();
        let annotation = |name: &str| workspace.annotations().get(name).cloned();
        let identity = label(marks::WTA_NAMESPACE).zip(label(marks::WTA_NAME));
        let spec = serde_json::to_value(&workspace.spec).unwrap_or_default();
        let foreign = identity
            .as_ref()
            .map(|(namespace, _)| foreign_references(&spec, namespace));
        let outputs = workspace.spec.write_connection_secret_to_ref.as_ref();
        Self {
            name: workspace.name_any(),
            uid: workspace.uid().unwrap_or_default(),
            created: workspace.creation_timestamp().map(|time| time.0),
            legacy_of: annotation(marks::LEGACY_OF),
            is_retained: annotation(marks::RETAINED).is_some(),
            outputs_to: outputs.and_then(|secret| secret.namespace.clone()),
            foreign: foreign.unwrap_or_default(),
            identity,
        }
    }

    /// The command by which an administrator marks it.
    fn mark_command(&self, key: &str) -> String {
        format!(
            "kubectl annotate workspaces.tf.upbound.io {} {}={key}",
            self.name,
            marks::LEGACY_OF
        )
    }
}

/// What becomes of the Workspace of a WorkspaceTemplateApply that the Go implementation made.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Marking {
    /// It is marked, or adopted, already.
    Done,
    /// There is none of that name.
    Absent,
    /// This command marks it.
    ToMark(Mark),
    /// Only an administrator can say whether it is the object's: why, and the command.
    ToDecide(String),
}

/// A mark to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) workspace: String,
    uid: String,
    /// `namespace/name` of the WorkspaceTemplateApply.
    pub(super) key: String,
}

/// Decides about the Workspace of a WorkspaceTemplateApply. `claims` is how many others claim the same Workspace.
pub(super) fn marking(
    apply: &WorkspaceTemplateApply,
    name: &str,
    candidates: &[Candidate],
    claims: usize,
) -> Marking {
    let namespace = apply.namespace().unwrap_or_default();
    let key = format!("{namespace}/{}", apply.name_any());
    let Some(found) = candidates.iter().find(|one| one.name == name) else {
        return Marking::Absent;
    };
    let own = (namespace.clone(), names::label_value(&apply.name_any()));
    if found.legacy_of.as_ref() == Some(&key) || found.identity.as_ref() == Some(&own) {
        return Marking::Done;
    }
    let is_older = found
        .created
        .zip(apply.creation_timestamp())
        .is_some_and(|(workspace, apply)| workspace < apply.0);
    let doubt = if found.identity.is_some() || found.is_retained || found.legacy_of.is_some() {
        Some("it carries the marks of another object")
    } else if found.outputs_to.as_ref() != Some(&namespace) {
        Some("it does not write its outputs to this namespace")
    } else if is_older {
        Some("it is older than the WorkspaceTemplateApply")
    } else if claims > 0 {
        Some("several WorkspaceTemplateApplies claim it")
    } else {
        None
    };
    match doubt {
        None => Marking::ToMark(Mark {
            workspace: found.name.clone(),
            uid: found.uid.clone(),
            key,
        }),
        Some(doubt) => Marking::ToDecide(format!(
            "Decide whether the Go implementation made the Workspace {name} for wtapply/{} in {namespace}, because {doubt}. To \
             have it adopted: {}",
            apply.name_any(),
            found.mark_command(&key)
        )),
    }
}

/// What an administrator has to confirm of Workspaces that were moved: their references to other namespaces.
pub(super) fn to_confirm(applies: &[WorkspaceTemplateApply], candidates: &[Candidate]) -> Vec<String> {
    let mut found = Vec::new();
    for apply in applies {
        let namespace = apply.namespace().unwrap_or_default();
        let own = (namespace.clone(), names::label_value(&apply.name_any()));
        let key = format!("{namespace}/{}", apply.name_any());
        let is_open = |one: &&Candidate| {
            one.identity.as_ref() == Some(&own)
                && !one.foreign.is_empty()
                && one.legacy_of.as_ref() != Some(&key)
        };
        for one in candidates.iter().filter(is_open) {
            found.push(format!(
                "Decide whether the Workspace {} of wtapply/{} in {namespace} may use other namespaces: {}. If the Go \
                 implementation made it: {}",
                one.name,
                apply.name_any(),
                one.foreign.join(", "),
                one.mark_command(&key)
            ));
        }
    }
    found
}

/// Writes the marks, and says what was done.
pub(super) async fn mark(client: &Client, all: &[Mark]) -> anyhow::Result<String> {
    let mut done = String::new();
    let api: Api<ClusterWorkspace> = Api::all(client.clone());
    for one in all {
        let patch = json!({"metadata": {"uid": one.uid, "annotations": {marks::LEGACY_OF: one.key}}});
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        call(api.patch(&one.workspace, &parameters, &Patch::Merge(patch)))
            .await
            .with_context(|| format!("cannot mark the Workspace {}", one.workspace))?;
        // Writing to a string cannot fail.
        let _ = writeln!(
            done,
            "The Workspace {} is marked as made for {}.",
            one.workspace, one.key
        );
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn apply(created: &str) -> WorkspaceTemplateApply {
        serde_json::from_value(json!({
            "metadata": {"name": "demo-vpc", "namespace": "team", "creationTimestamp": created},
            "spec": {"templateRef": {"name": "x"}},
        }))
        .unwrap()
    }

    fn workspace(metadata: &Value, outputs_to: &str) -> Candidate {
        let mut object = json!({
            "apiVersion": "tf.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "demo-vpc", "uid": "1", "creationTimestamp": "2025-01-02T00:00:00Z"},
            "spec": {
                "forProvider": {"source": "Inline", "module": "x"},
                "writeConnectionSecretToRef": {"namespace": outputs_to, "name": "s"},
            },
        });
        for (field, value) in metadata.as_object().unwrap() {
            object["metadata"][field] = value.clone();
        }
        Candidate::of(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_workspace_is_marked_only_where_it_proves_by_itself_whose_it_is() {
        let before = "2025-01-01T00:00:00Z";
        let after = "2025-01-03T00:00:00Z";
        let of_team = json!({marks::WTA_NAMESPACE: "team", marks::WTA_NAME: "demo-vpc"});
        let of_other = json!({marks::WTA_NAMESPACE: "other", marks::WTA_NAME: "demo-vpc"});
        for (created, metadata, outputs_to, claims, expected) in [
            (before, json!({}), "team", 0, "mark"),
            (before, json!({}), "team", 1, "several"),
            (before, json!({}), "other", 0, "outputs"),
            (after, json!({}), "team", 0, "older"),
            (before, json!({"labels": of_other}), "team", 0, "marks of another"),
            (
                before,
                json!({"annotations": {marks::RETAINED: "other/x"}}),
                "team",
                0,
                "marks of another",
            ),
            (
                before,
                json!({"annotations": {marks::LEGACY_OF: "other/x"}}),
                "team",
                0,
                "marks of another",
            ),
            (
                before,
                json!({"annotations": {marks::LEGACY_OF: "team/demo-vpc"}}),
                "other",
                0,
                "done",
            ),
            (before, json!({"labels": of_team}), "other", 0, "done"),
        ] {
            let found = marking(
                &apply(created),
                "demo-vpc",
                &[workspace(&metadata, outputs_to)],
                claims,
            );
            let words = match &found {
                Marking::ToMark(mark) => format!("mark {} {}", mark.workspace, mark.key),
                Marking::ToDecide(words) => words.clone(),
                Marking::Done => "done".to_owned(),
                Marking::Absent => "absent".to_owned(),
            };
            assert!(
                words.contains(expected),
                "{metadata} {outputs_to} {claims}: {words}"
            );
            if let Marking::ToDecide(words) = found {
                let command = format!(
                    "workspaces.tf.upbound.io demo-vpc {}=team/demo-vpc",
                    marks::LEGACY_OF
                );
                assert!(words.ends_with(&command), "{words}");
            }
        }
        assert_eq!(marking(&apply(before), "absent", &[], 0), Marking::Absent);
    }

    #[test]
    fn references_of_a_moved_workspace_are_asked_about() {
        let of_team = json!({marks::WTA_NAMESPACE: "team", marks::WTA_NAME: "demo-vpc"});
        let asked = |metadata: &Value, outputs_to: &str| {
            to_confirm(
                &[apply("2025-01-01T00:00:00Z")],
                &[workspace(metadata, outputs_to)],
            )
        };
        let found = asked(&json!({"labels": of_team}), "shared");
        assert!(
            found.len() == 1 && found[0].contains("spec.writeConnectionSecretToRef.namespace (shared)"),
            "{found:?}"
        );
        let marked = json!({"labels": of_team, "annotations": {marks::LEGACY_OF: "team/demo-vpc"}});
        assert!(asked(&marked, "shared").is_empty());
        assert!(asked(&json!({"labels": of_team}), "team").is_empty());
        assert!(asked(&json!({}), "shared").is_empty());
    }
}
