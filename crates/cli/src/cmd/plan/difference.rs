//! How what is rendered now differs from a Workspace, for runners that have no plan step.

use std::collections::{BTreeMap, BTreeSet};

use capt_api::WorkspaceTemplateApply;
use capt_core::{
    render::{self, ForeignNamespaces, RenderInput},
    wta::is_default,
};
use kube::ResourceExt as _;
use serde_json::Value;

use crate::{
    access::Cluster,
    objects::{ObjectError, Subject},
};

/// Differences that are told.
const MANY: usize = 100;

/// The holes of the template that no variable fills.
pub(super) async fn unfilled(
    cluster: &Cluster,
    apply: &WorkspaceTemplateApply,
) -> Result<Vec<String>, ObjectError> {
    let reference = &apply.spec.template_ref;
    let namespace = reference
        .namespace
        .clone()
        .or_else(|| apply.namespace())
        .unwrap_or_default();
    let Some(template) = cluster.template(&namespace, &reference.name).await? else {
        return Ok(Vec::new());
    };
    let variables = apply.spec.variables.clone().unwrap_or_default();
    // Problems that the template has by itself are told by its conditions.
    let holes = render::unfilled(&template.spec, &variables).unwrap_or_default();
    Ok(holes.iter().map(ToString::to_string).collect())
}

/// How the rendering differs from the Workspace.
pub(super) async fn of(cluster: &Cluster, subject: &Subject) -> Result<Vec<String>, ObjectError> {
    let (Some(apply), Some(workspace)) = (&subject.apply, &subject.workspace) else {
        return Ok(Vec::new());
    };
    let reference = &apply.spec.template_ref;
    let namespace = apply.namespace().unwrap_or_default();
    let home = reference.namespace.as_ref().unwrap_or(&namespace);
    let Some(template) = cluster.template(home, &reference.name).await? else {
        return Ok(vec![format!(
            "The WorkspaceTemplate {} is gone; its last rendering counts",
            reference.name
        )]);
    };
    let variables = apply.spec.variables.clone().unwrap_or_default();
    let rendered = render::render(&RenderInput {
        template: &template.spec,
        variables: &variables,
        workspace_name: &workspace.name,
        namespace: &namespace,
        group: workspace.group,
        connection_secret: apply.spec.write_connection_secret_to_ref.as_ref(),
        foreign_namespaces: ForeignNamespaces::Report,
    });
    match rendered {
        Ok(rendering) => {
            let rendered = serde_json::to_value(&rendering.spec).unwrap_or_default();
            let mut present = subject.spec.clone();
            // What a runner may do is no part of a rendering.
            if let Some(fields) = present.as_object_mut() {
                fields.remove("managementPolicies");
            }
            Ok(differences(&present, &rendered))
        }
        Err(problems) => Ok(problems
            .iter()
            .map(|problem| format!("It cannot be rendered: {problem}"))
            .collect()),
    }
}

/// What is different, path by path.
fn differences(before: &Value, after: &Value) -> Vec<String> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    leaves(before, "", &mut old);
    leaves(after, "", &mut new);
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let lines = paths
        .into_iter()
        .filter_map(|path| match (old.get(path), new.get(path)) {
            (Some(old), Some(new)) if old == new => None,
            (Some(old), Some(new)) => Some(changed(path, old, new)),
            (Some(old), None) => (!is_default(path, old)).then(|| format!("- {path}: {old}")),
            (None, Some(new)) => (!is_default(path, new)).then(|| format!("+ {path}: {new}")),
            (None, None) => None,
        });
    lines.take(MANY).collect()
}

fn leaves<'a>(value: &'a Value, path: &str, found: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                leaves(field, &format!("{path}{dot}{name}"), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                leaves(item, &format!("{path}[{at}]"), found);
            }
        }
        Value::Null => {}
        leaf => {
            found.insert(path.to_owned(), leaf);
        }
    }
}

/// Of long texts only the lines that differ are shown.
fn changed(path: &str, old: &Value, new: &Value) -> String {
    let lines = |value: &Value| {
        value
            .as_str()
            .filter(|text| text.contains('\n'))
            .map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let (Some(old_lines), Some(new_lines)) = (lines(old), lines(new)) else {
        return format!("~ {path}: {old} → {new}");
    };
    let same = |one: &[String], other: &[String]| one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let first = same(&old_lines, &new_lines);
    let reversed = |lines: &[String]| lines[first..].iter().rev().cloned().collect::<Vec<_>>();
    let last = same(&reversed(&old_lines), &reversed(&new_lines));
    let mut text = format!("~ {path}, from line {}:", first + 1);
    for (mark, lines) in [('-', &old_lines), ('+', &new_lines)] {
        for line in &lines[first..lines.len() - last] {
            text.push_str(&format!("\n      {mark} {line}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_told_path_by_path() {
        let before = json!({"a": 1, "b": [{"c": "x"}], "gone": true, "text": "1\n2\n3\n4\n"});
        let after = json!({"a": 1, "b": [{"c": "y"}], "new": {"d": 2}, "text": "1\n2\nthree\n4\n"});
        assert_eq!(
            differences(&before, &after),
            [
                "~ b[0].c: \"x\" → \"y\"",
                "- gone: true",
                "+ new.d: 2",
                "~ text, from line 3:\n      - 3\n      + three",
            ]
        );
        assert_eq!(differences(&before, &before), Vec::<String>::new());
        let defaults = json!({"forProvider": {"entrypoint": ""}, "deletionPolicy": "Delete"});
        assert_eq!(differences(&defaults, &json!({})), Vec::<String>::new());
    }
}
