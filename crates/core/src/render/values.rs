//! What fills the holes of one rendering.

use std::collections::BTreeMap;

use capt_api::workspacetemplate::VariableDeclaration;

use super::problem::RenderProblem;

/// The variable that always is the name of the Workspace.
pub const WORKSPACE_NAME: &str = "WORKSPACE_NAME";

/// The value of every variable: what was given, else the template's default.
#[derive(Clone, Debug, Default)]
pub(super) struct Values<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Values<'a> {
    pub(super) fn gather(
        declared: &'a [VariableDeclaration],
        given: &'a BTreeMap<String, String>,
        workspace_name: &'a str,
    ) -> Self {
        let defaults = declared
            .iter()
            .filter_map(|variable| Some((variable.name.as_str(), variable.default.as_deref()?)));
        let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Self(
            defaults
                .chain(given)
                .chain([(WORKSPACE_NAME, workspace_name)])
                .collect(),
        )
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    /// The variable with the longest value, if that is longer than `least`.
    pub(super) fn largest(&self, least: usize) -> Option<(String, usize)> {
        let (name, value) = self.0.iter().max_by_key(|(_, value)| value.len())?;
        (value.len() > least).then(|| ((*name).to_owned(), value.len()))
    }

    /// Problems for the required variables that have no value.
    pub(super) fn missing(&self, declared: &[VariableDeclaration]) -> Vec<RenderProblem> {
        declared
            .iter()
            .filter(|variable| variable.required == Some(true) && self.get(&variable.name).is_none())
            .map(|variable| RenderProblem::Required {
                name: variable.name.clone(),
                description: variable.description.clone().unwrap_or_default(),
            })
            .collect()
    }
}
