//! A template that was read once, for all who render it or ask what it holds.

use std::sync::OnceLock;

use capt_api::workspacetemplate::WorkspaceTemplateSpec;

use super::{
    RenderInput, Rendering,
    document::{ParsedModule, parse_module},
    fill,
    hash::revision,
    holes::{self, Hole},
    problem::RenderProblem,
};

/// A template, with all that follows from it alone and takes long to find out, which is found out when somebody asks.
#[derive(Clone, Debug)]
pub struct Template {
    spec: WorkspaceTemplateSpec,
    revision: String,
    module: OnceLock<ParsedModule>,
    holes: OnceLock<Result<Vec<Hole>, Vec<RenderProblem>>>,
}

/// The rest of it follows from the spec.
impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.spec == other.spec
    }
}

impl Template {
    /// Reads a template.
    #[must_use]
    pub fn read(spec: WorkspaceTemplateSpec) -> Self {
        Self {
            revision: revision(&spec),
            module: OnceLock::new(),
            holes: OnceLock::new(),
            spec,
        }
    }

    fn module(&self) -> &ParsedModule {
        self.module.get_or_init(|| parse_module(&self.spec))
    }

    /// What it was read from.
    #[must_use]
    pub const fn spec(&self) -> &WorkspaceTemplateSpec {
        &self.spec
    }

    /// Its [`revision`].
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Its [`holes`](super::holes()).
    ///
    /// # Errors
    ///
    /// Those of the function.
    pub fn holes(&self) -> Result<&[Hole], &[RenderProblem]> {
        let holes = self.holes.get_or_init(|| holes::of(&self.spec, self.module()));
        match holes {
            Ok(holes) => Ok(holes),
            Err(problems) => Err(problems),
        }
    }

    /// Renders it, in the place of the template in the input.
    ///
    /// # Errors
    ///
    /// Those of [`render`](super::render()).
    pub fn render(&self, input: RenderInput<'_>) -> Result<Rendering, Vec<RenderProblem>> {
        let input = RenderInput {
            template: &self.spec,
            ..input
        };
        fill(&input, self.module(), &self.revision)
    }
}
