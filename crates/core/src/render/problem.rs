//! Why a template cannot be rendered, in words for the person who has to mend it.
//!
//! No problem ever repeats a variable's value, because values may be secret.

use capt_api::conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason;

/// One thing that stands in the way of a rendering.
///
/// Paths are those of the template, unless they say that they are the WorkspaceTemplateApply's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderProblem {
    /// A hole that no variable fills.
    #[error(
        "{path}: no variable fills ${{{hole}}}; set {hole} in the variables, give it a default in the template, or \
         write $${{ where ${{ itself is meant"
    )]
    Unfilled {
        /// Where the hole is.
        path: String,
        /// What stands between its braces.
        hole: String,
    },
    /// A `${` that no brace ends, or with nothing in it.
    #[error("{path}: a hole is not ended or has no name; write ${{name}}, or $${{ where ${{ itself is meant")]
    Broken {
        /// Where the hole is.
        path: String,
    },
    /// A hole in the key of a map, where it would change the shape of the document.
    #[error(
        "{path}: the key has a hole, and keys are not filled; write the key out, or $${{ where ${{ is meant"
    )]
    HoleInKey {
        /// The path of the field whose key it is.
        path: String,
    },
    /// A variable that the template requires has no value.
    #[error(
        "the template requires the variable {name}{}; set it in spec.variables",
        in_brackets(description)
    )]
    Required {
        /// Name of the variable.
        name: String,
        /// What the template says it is for, or nothing.
        description: String,
    },
    /// The module's text cannot be parsed.
    #[error(
        "{path}, line {line}, column {column}: the {language} of the module cannot be parsed: {message}; mend it, \
         and check it with `terraform validate`"
    )]
    Module {
        /// Where the module is.
        path: String,
        /// HCL or JSON.
        language: &'static str,
        /// Line in the module's text, from 1.
        line: usize,
        /// Column in that line, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// A reference to something in another namespace.
    #[error(
        "{path}: a Workspace for namespace {own} uses nothing in namespace {namespace}; remove the namespace, and \
         keep what it names in {own}"
    )]
    ForeignNamespace {
        /// Where the namespace is named.
        path: String,
        /// The namespace named there.
        namespace: String,
        /// The namespace that would be right.
        own: String,
    },
    /// A kind of provider configuration that does not exist.
    #[error(
        "{path}: {kind} is no kind of provider configuration; write ClusterProviderConfig or ProviderConfig"
    )]
    ProviderConfigKind {
        /// Where the kind is named.
        path: String,
        /// What is named there.
        kind: String,
    },
    /// A field that the chosen group of Workspaces does not have and that cannot be left out without harm.
    #[error(
        "{path}: a {group} Workspace cannot publish to a store; remove it, and set writeConnectionSecretToRef"
    )]
    NotInGroup {
        /// The field.
        path: String,
        /// The API group.
        group: &'static str,
    },
    /// A field that must not be empty became so.
    #[error("{path}: the variables leave it empty; give them values that are not empty")]
    Emptied {
        /// The field.
        path: String,
    },
    /// The rendering does not fit into a Kubernetes object.
    #[error(
        "the rendering is larger than {limit} bytes{}; shorten it, or keep what is large in a ConfigMap or Secret and \
         name that in varFiles",
        largest_value(largest)
    )]
    TooLarge {
        /// How large it may be.
        limit: usize,
        /// The variable with the largest value and that value's length, if it is the variables that are large.
        largest: Option<(String, usize)>,
    },
    /// The template's fields cannot be read, which the API server should have refused.
    #[error("spec.template.spec: the template cannot be read: {message}; apply it again")]
    Unreadable {
        /// What the reader says.
        message: String,
    },
}

impl RenderProblem {
    /// The reason that a condition of a WorkspaceTemplateApply gives for it.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Unfilled { .. } | Self::Required { .. } => Reason::VariableMissing,
            Self::Emptied { .. } | Self::TooLarge { largest: Some(_), .. } => Reason::VariableInvalid,
            Self::Broken { .. }
            | Self::HoleInKey { .. }
            | Self::Module { .. }
            | Self::ForeignNamespace { .. }
            | Self::ProviderConfigKind { .. }
            | Self::NotInGroup { .. }
            | Self::TooLarge { largest: None, .. }
            | Self::Unreadable { .. } => Reason::TemplateInvalid,
        }
    }
}

fn in_brackets(description: &str) -> String {
    if description.is_empty() {
        String::new()
    } else {
        format!(" ({description})")
    }
}

fn largest_value(largest: &Option<(String, usize)>) -> String {
    match largest {
        Some((name, length)) => format!(" (the largest value is {name}'s, {length} bytes)"),
        None => String::new(),
    }
}
