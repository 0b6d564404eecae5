//! Which template is rendered, and what counts when it cannot be.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{
    conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, references::SecretReference,
};

use super::{
    identity::{self, Found},
    owner,
    rendered::Rendered,
    resolve,
    snapshot::{Problem, Snapshot, TemplateSeen},
};
use crate::render::{self, ForeignNamespaces, RenderInput, Template, UnknownVariable, WorkspaceGroup};

/// How many unknown variables are named.
const MANY: usize = 10;

/// The template to render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The template as it is now.
    Current,
    /// The template that is kept with the last rendering, because its revision is the released one.
    Kept,
    /// None: the last rendering counts, if there is one.
    Nothing(Problem),
}

/// Chooses the template to render. Looks at everything but the rendering.
#[must_use]
pub fn choose(snapshot: &Snapshot) -> Choice {
    let reference = &snapshot.wta.spec.template_ref;
    let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
    let nothing = |reason, message| Choice::Nothing(Problem { reason, message });
    let namespace = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    let Some(template) = &snapshot.template else {
        let elsewhere = match reference.namespace.as_deref() {
            Some(other) if other != namespace => format!(" in namespace {other}"),
            _ => String::new(),
        };
        let name = &reference.name;
        return match kept {
            Some(_) => nothing(
                Reason::TemplateGone,
                format!(
                    "The WorkspaceTemplate {name}{elsewhere} is gone; its last rendering counts, and no change reaches the Workspace before it is there again"
                ),
            ),
            None => nothing(
                Reason::WorkspaceTemplateNotFound,
                format!("There is no WorkspaceTemplate {name}{elsewhere}. Make it, or mend spec.templateRef"),
            ),
        };
    };
    if template.hidden {
        return nothing(
            Reason::TemplateNotShared,
            format!(
                "The controllers may not read the WorkspaceTemplate {0} in namespace {1}: give them a Role there that \
                 allows get, list and watch of the workspacetemplates named {0}",
                reference.name, template.namespace
            ),
        );
    }
    if !is_shared(snapshot, template) && !is_legacy(snapshot, identity::find(snapshot)) {
        return nothing(
            Reason::TemplateNotShared,
            format!(
                "The WorkspaceTemplate {} in namespace {} does not consent: add {namespace} to its spec.sharedWith",
                reference.name, template.namespace
            ),
        );
    }
    match snapshot.wta.spec.template_revision.as_deref() {
        None => Choice::Current,
        Some(released) if released == template.revision => Choice::Current,
        Some(released) => match kept {
            Some(kept) if kept.rendering.revision == released && kept.template.is_some() => Choice::Kept,
            _ => nothing(
                Reason::RevisionNotFound,
                match owner::recorded(&snapshot.wta) {
                    Some(_) => format!(
                        "The owner released revision {released} of the WorkspaceTemplate {}, which is {} now",
                        reference.name, template.revision
                    ),
                    None => format!(
                        "spec.templateRevision asks for revision {released} of the WorkspaceTemplate {}, which is {1} \
                         now: write {1}, or leave it out to follow the template",
                        reference.name, template.revision
                    ),
                },
            ),
        },
    }
}

/// The label that says that the module makes nothing real: the template's, or what is remembered of it.
pub(super) fn sandbox(snapshot: &Snapshot) -> Option<String> {
    let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
    match (choose(snapshot), &snapshot.template) {
        (Choice::Current | Choice::Kept, Some(template)) => template.sandbox.clone(),
        _ => kept.and_then(|kept| kept.sandbox.clone()),
    }
}

/// Whether a template may be used from the object's namespace.
pub(super) fn is_shared(snapshot: &Snapshot, template: &TemplateSeen) -> bool {
    let namespace = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
    template.namespace == namespace
        || template
            .shared_with
            .iter()
            .any(|name| name == "*" || name == namespace)
}

/// Everything that a rendering depends on. What has the same inputs has the same rendering, and the same variables that
/// are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inputs {
    /// Revision of the template, if there is one to render.
    revision: Option<String>,
    variables: Option<BTreeMap<String, String>>,
    place: Option<(WorkspaceGroup, String)>,
    namespace: Option<String>,
    connection_secret: Option<SecretReference>,
    is_legacy: bool,
    owner: Option<String>,
}

/// What the rendering of a snapshot depends on.
#[must_use]
pub fn inputs(snapshot: &Snapshot) -> Inputs {
    let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
    let revision = match choose(snapshot) {
        Choice::Current => snapshot
            .template
            .as_ref()
            .map(|template| template.revision.clone()),
        Choice::Kept => kept.map(|kept| kept.rendering.revision.clone()),
        Choice::Nothing(_) => None,
    };
    let found = identity::find(snapshot);
    let spec = &snapshot.wta.spec;
    Inputs {
        revision,
        variables: spec.variables.clone(),
        place: resolve::place_of(snapshot, found),
        namespace: snapshot.wta.metadata.namespace.clone(),
        connection_secret: spec.write_connection_secret_to_ref.clone(),
        is_legacy: is_legacy(snapshot, found),
        owner: owner::recorded(&snapshot.wta),
    }
}

/// Whether an administrator says that the Go implementation made the Workspace, whose references to other namespaces stay.
pub(super) fn is_legacy(snapshot: &Snapshot, found: Found<'_>) -> bool {
    let workspace = found.ours();
    workspace.is_some_and(|workspace| identity::is_marked_legacy(snapshot, workspace))
}

/// Renders the template that [`choose`] names, for the place that the Workspace has or will have. This is the one field
/// of a snapshot that follows from the others.
///
/// # Errors
///
/// Everything that stands in the way. Without a template there is nothing to say here.
pub fn render(snapshot: &Snapshot) -> Result<Rendered, Vec<Problem>> {
    let template = chosen(snapshot);
    let found = identity::find(snapshot);
    let place = resolve::place_of(snapshot, found);
    let (Some(template), Some((group, name))) = (template, place) else {
        return Err(Vec::new());
    };
    let spec = &snapshot.wta.spec;
    let no_variables = BTreeMap::new();
    let input = RenderInput {
        template: template.spec(),
        variables: spec.variables.as_ref().unwrap_or(&no_variables),
        workspace_name: &name,
        namespace: snapshot.wta.metadata.namespace.as_deref().unwrap_or_default(),
        group,
        connection_secret: spec.write_connection_secret_to_ref.as_ref(),
        foreign_namespaces: if is_legacy(snapshot, found) {
            ForeignNamespaces::Report
        } else {
            ForeignNamespaces::Refuse
        },
    };
    match template.render(input) {
        Ok(rendering) => Ok(Rendered::from(&rendering)),
        Err(problems) => Err(problems
            .iter()
            .map(|problem| Problem {
                reason: problem.reason(),
                message: problem.to_string(),
            })
            .collect()),
    }
}

/// The template that [`choose`] names.
fn chosen(snapshot: &Snapshot) -> Option<Arc<Template>> {
    match choose(snapshot) {
        Choice::Current => snapshot.template.as_ref()?.spec.clone(),
        Choice::Kept => {
            let kept = snapshot.kept.as_ref()?.kept.as_ref()?;
            Some(Arc::new(Template::read(kept.template.clone()?)))
        }
        Choice::Nothing(_) => None,
    }
}

/// The variables of an object that the template does not know which [`choose`] names. Owners of our own kinds give every
/// variable that a template may want, so that what those give is never unknown.
#[must_use]
pub fn unknown(snapshot: &Snapshot) -> Vec<UnknownVariable> {
    let wta = &snapshot.wta;
    let is_ours = owner::recorded(wta).is_some() && owner::silent(wta).is_none();
    let variables = wta.spec.variables.as_ref().filter(|_| !is_ours);
    match variables.and_then(|variables| Some((chosen(snapshot)?, variables))) {
        Some((template, variables)) => render::unknown(&template, variables),
        None => Vec::new(),
    }
}

/// What to say about variables that the template does not know.
pub(super) fn words(unknown: &[UnknownVariable]) -> String {
    let names: Vec<String> = unknown
        .iter()
        .take(MANY)
        .map(|one| match &one.meant {
            Some(meant) => format!("{} (did you mean {meant}?)", one.name),
            None => one.name.clone(),
        })
        .collect();
    let more = match unknown.len().saturating_sub(MANY) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (what, way_out) = match unknown {
        [_] => (
            "fills no hole of the template and so changes nothing",
            "correct the name, or remove it",
        ),
        _ => (
            "fill no hole of the template and so change nothing",
            "correct the names, or remove them",
        ),
    };
    format!(
        "spec.variables has {}{more}, which {what}: {way_out}",
        names.join(", ")
    )
}
