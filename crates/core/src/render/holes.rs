//! The holes of a template, for those who validate one or ask what a rendering would need.

use std::fmt;

use capt_api::workspacetemplate::WorkspaceTemplateSpec;

use super::{
    document::{CONNECTION_SECRET, DOCUMENT, Document, MODULE, ParsedModule, parse_module},
    inline::ModuleHole,
    json::{has_hole, texts},
    leaf::{Piece, pieces},
    path::Path,
    problem::RenderProblem,
};

/// A hole of a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hole {
    /// The name between the braces.
    pub name: String,
    /// The field that it is in.
    pub path: String,
    /// Where in the module's text it is, if it is there.
    pub in_module: Option<ModulePlace>,
}

/// Where in a module's text something is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModulePlace {
    /// The line, from 1.
    pub line: usize,
    /// The column in it, from 1. In a JSON module, that of the string.
    pub column: usize,
    /// The path in a JSON module; empty for HCL.
    pub within: String,
    /// Terraform knows what to do with it, so that it may stay if no variable fills it.
    pub may_stay: bool,
}

impl Hole {
    pub(super) fn in_field(name: &str, path: &Path<'_>) -> Self {
        Self {
            name: name.to_owned(),
            path: path.to_string(),
            in_module: None,
        }
    }

    pub(super) fn in_module(hole: &ModuleHole<'_>) -> Self {
        let place = ModulePlace {
            line: hole.line,
            column: hole.column,
            within: hole.within.to_owned(),
            may_stay: hole.may_stay,
        };
        Self {
            name: hole.name.to_owned(),
            path: MODULE.to_string(),
            in_module: Some(place),
        }
    }
}

impl Hole {
    /// Whether nothing is wrong with it although no variable fills it.
    pub(super) fn may_stay(&self) -> bool {
        self.in_module.as_ref().is_some_and(|place| place.may_stay)
    }

    /// Where it is, in words.
    pub(super) fn place(&self) -> String {
        match &self.in_module {
            Some(place) => format!("{}, line {}, column {}", self.path, place.line, place.column),
            None => self.path.clone(),
        }
    }
}

impl fmt::Display for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${{{}}} in {}", self.name, self.place())
    }
}

/// All holes of a template, those of the module's text last.
///
/// # Errors
///
/// The problems that the template has whatever the variables are: a broken hole, a hole in a key, a module that
/// cannot be parsed.
pub fn holes(template: &WorkspaceTemplateSpec) -> Result<Vec<Hole>, Vec<RenderProblem>> {
    of(template, &parse_module(template))
}

/// All holes of a template whose module was parsed.
pub(super) fn of(
    template: &WorkspaceTemplateSpec,
    module: &ParsedModule,
) -> Result<Vec<Hole>, Vec<RenderProblem>> {
    let document = Document::of(template);
    let (mut holes, mut problems) = (Vec::new(), Vec::new());
    let mut visit = |path: &Path<'_>, text: &str, is_key: bool| {
        if is_key {
            if has_hole(text) {
                problems.push(RenderProblem::HoleInKey {
                    path: path.to_string(),
                });
            }
            return;
        }
        for piece in pieces(text) {
            match piece {
                Piece::Text(_) => {}
                Piece::Hole(name) => holes.push(Hole::in_field(name, path)),
                Piece::Broken => problems.push(RenderProblem::Broken {
                    path: path.to_string(),
                }),
            }
        }
    };
    texts(&document.spec, &DOCUMENT, &mut visit);
    texts(&document.connection_secret, &CONNECTION_SECRET, &mut visit);
    match module {
        None => {}
        Some(Ok(module)) => holes.extend(module.holes().iter().map(Hole::in_module)),
        Some(Err(found)) => problems.extend(found.iter().cloned()),
    }
    if problems.is_empty() {
        Ok(holes)
    } else {
        Err(problems)
    }
}
