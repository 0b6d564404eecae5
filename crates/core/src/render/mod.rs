//! Rendering: a template and values become the spec of a Workspace.
//!
//! A value takes the place of a hole inside one text and can do nothing else: it adds no field, no item, no block, and
//! is never read as a template. The same input always gives the same rendering, down to the byte.
//!
//! Holes are of two kinds. In the fields of a template, every `${name}` is one, and one that no variable fills is a
//! problem; `$${` stands for `${`. In the text of an inline module, `${…}` is Terraform's first, and only a bare name in
//! a string that nothing in the module binds is a hole; Terraform has no meaning for such a name, so that one that no
//! variable fills is a problem too.
//!
//! This module must never know where templates and values come from, nor what becomes of a rendering.

mod document;
mod group;
mod hash;
mod hcl;
mod holes;
mod inline;
mod json;
mod jsontext;
mod leaf;
mod path;
mod problem;
mod template;
mod unknown;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use capt_api::{
    references::SecretReference,
    workspacetemplate::{WorkspaceBlueprint, WorkspaceTemplateSpec},
};
use serde_json::{Value, json};

use self::{
    document::{CONNECTION_SECRET, DOCUMENT, Document, ParsedModule, parse_module},
    group::{ConnectionSecret, Target},
    hash::{hash, to_value},
    json::Filling,
    values::Values,
};

pub use self::{
    group::{Facts, ForeignNamespaces, ForeignReference, RenderedSpec, WorkspaceGroup},
    hash::revision,
    holes::{Hole, ModulePlace, holes},
    problem::RenderProblem,
    template::Template,
    unknown::{UnknownVariable, unknown},
    values::WORKSPACE_NAME,
};

/// How many bytes of JSON a rendering may have. It is kept in a Secret, which holds 1 MiB, together with a little else.
pub const MAX_BYTES: usize = 960 * 1024;

/// Everything that a rendering depends on.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// The template to fill.
    pub template: &'a WorkspaceTemplateSpec,
    /// Values of variables by name. Lists, maps and objects are JSON.
    pub variables: &'a BTreeMap<String, String>,
    /// Name of the Workspace.
    pub workspace_name: &'a str,
    /// Namespace of the WorkspaceTemplateApply, and of the Workspace if it has one.
    pub namespace: &'a str,
    /// The group of Workspaces to render for.
    pub group: WorkspaceGroup,
    /// The Secret that the WorkspaceTemplateApply names for the outputs. It wins over the template's, and has no holes.
    pub connection_secret: Option<&'a SecretReference>,
    /// What becomes of references to other namespaces.
    pub foreign_namespaces: ForeignNamespaces,
}

/// A template that is filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendering {
    /// The spec of the Workspace, without management policies.
    pub spec: RenderedSpec,
    /// What the template says besides.
    pub facts: Facts,
    /// Hash of the group and the spec: what an approval names, and what tells one rendering from another.
    pub hash: String,
    /// Hash of everything that the rendering was made from: the template's revision, the target, and the values that
    /// filled a hole. Values that fill none do not change it.
    pub inputs_hash: String,
    /// Like `inputs_hash`, but of values only those of variables that are declared to replace infrastructure. Where
    /// nobody can plan, a change of it waits for an approval.
    pub guarded_hash: String,
    /// Revision of the template.
    pub template_revision: String,
    /// The holes that were filled.
    pub filled: Vec<Hole>,
}

/// Renders a template.
///
/// # Errors
///
/// Everything that stands in the way, not only the first of it.
pub fn render(input: &RenderInput<'_>) -> Result<Rendering, Vec<RenderProblem>> {
    fill(input, &parse_module(input.template), &revision(input.template))
}

/// Renders a template whose module was parsed and whose revision is known.
fn fill(
    input: &RenderInput<'_>,
    module: &ParsedModule,
    template_revision: &str,
) -> Result<Rendering, Vec<RenderProblem>> {
    let declared = input.template.variables.as_deref().unwrap_or_default();
    let values = Values::gather(declared, input.variables, input.workspace_name);
    let mut problems = values.missing(declared);

    let mut document = Document::of(input.template);
    let mut filling = Filling::new(&values, MAX_BYTES);
    filling.document(&mut document.spec, &DOCUMENT);
    filling.document(&mut document.connection_secret, &CONNECTION_SECRET);
    let Filling {
        mut filled,
        mut too_large,
        problems: found,
        ..
    } = filling;
    problems.extend(found);
    let module_text = match module {
        None => None,
        Some(Ok(module)) => {
            for hole in module.holes().iter().map(Hole::in_module) {
                if values.get(&hole.name).is_some() {
                    filled.push(hole);
                } else if !hole.may_stay() {
                    problems.push(RenderProblem::Unfilled {
                        path: hole.place(),
                        hole: hole.name,
                    });
                }
            }
            let text = module.fill(|name| values.get(name), MAX_BYTES);
            too_large |= text.is_none();
            text
        }
        Some(Err(found)) => {
            problems.extend(found.iter().cloned());
            None
        }
    };
    tell_once(&mut problems);
    if let Some(text) = module_text {
        document.set_module(text);
    }
    if too_large {
        problems.push(too_large_problem(&values));
    }
    if !problems.is_empty() {
        return Err(problems);
    }

    let (spec, facts) = fit(document, input)?;
    let rendered = to_value(&spec);
    if rendered.to_string().len() > MAX_BYTES {
        return Err(vec![too_large_problem(&values)]);
    }
    let used: BTreeSet<&str> = filled.iter().map(|hole| hole.name.as_str()).collect();
    let replaces: BTreeSet<&str> = declared
        .iter()
        .filter(|variable| variable.replaces == Some(true))
        .map(|variable| &*variable.name)
        .collect();
    let guarded: BTreeSet<&str> = used.intersection(&replaces).copied().collect();
    Ok(Rendering {
        hash: hash(
            "rendering",
            &json!({"group": input.group.name(), "spec": rendered}),
        ),
        inputs_hash: hash("inputs", &inputs(input, template_revision, &values, &used)),
        guarded_hash: hash("guarded", &inputs(input, template_revision, &values, &guarded)),
        template_revision: template_revision.to_owned(),
        spec,
        facts,
        filled,
    })
}

/// A variable that is missing is told once, not once more for every hole that waits for it.
fn tell_once(problems: &mut Vec<RenderProblem>) {
    let mut told = BTreeSet::new();
    problems.retain(|problem| match problem {
        RenderProblem::Required { name, .. } | RenderProblem::Unfilled { hole: name, .. } => {
            told.insert(name.clone())
        }
        _ => true,
    });
}

/// The holes of a template that these variables leave open, so that it cannot be rendered.
///
/// # Errors
///
/// Those of [`holes()`].
pub fn unfilled(
    template: &WorkspaceTemplateSpec,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Hole>, Vec<RenderProblem>> {
    let declared = template.variables.as_deref().unwrap_or_default();
    let values = Values::gather(declared, variables, "");
    let mut holes = holes(template)?;
    holes.retain(|hole| values.get(&hole.name).is_none() && !hole.may_stay());
    Ok(holes)
}

/// Names the largest value only if it has a good part in it.
fn too_large_problem(values: &Values<'_>) -> RenderProblem {
    RenderProblem::TooLarge {
        limit: MAX_BYTES,
        largest: values.largest(MAX_BYTES / 16),
    }
}

/// Reads the filled document back and fits it to the group.
fn fit(document: Document, input: &RenderInput<'_>) -> Result<(RenderedSpec, Facts), Vec<RenderProblem>> {
    let unreadable = |error: serde_json::Error| {
        vec![RenderProblem::Unreadable {
            message: error.to_string(),
        }]
    };
    let mut blueprint: WorkspaceBlueprint = serde_json::from_value(document.spec).map_err(unreadable)?;
    let of_template: Option<SecretReference> =
        serde_json::from_value(document.connection_secret).map_err(unreadable)?;
    let named =
        |secret: Option<SecretReference>, path| secret.map(|secret| ConnectionSecret { secret, path });
    let of_apply = "the WorkspaceTemplateApply's spec.writeConnectionSecretToRef";
    // The Go implementation knows the inner one only, so that it comes before the outer.
    let secret = named(input.connection_secret.cloned(), of_apply)
        .or_else(|| {
            named(
                blueprint.write_connection_secret_to_ref.take(),
                "spec.template.spec.writeConnectionSecretToRef",
            )
        })
        .or_else(|| named(of_template, "spec.writeConnectionSecretToRef"));
    let target = Target {
        group: input.group,
        namespace: input.namespace,
        foreign_namespaces: input.foreign_namespaces,
    };
    group::fit(blueprint, secret, target)
}

fn inputs(input: &RenderInput<'_>, revision: &str, values: &Values<'_>, used: &BTreeSet<&str>) -> Value {
    let values: BTreeMap<&str, &str> = used
        .iter()
        .filter_map(|name| Some((*name, values.get(name)?)))
        .collect();
    json!({
        "revision": revision,
        "workspace": input.workspace_name,
        "namespace": input.namespace,
        "group": input.group.name(),
        "connectionSecret": input.connection_secret,
        "values": values,
    })
}

#[cfg(test)]
mod tests;
