//! Variables that a template does not know, which are mistakes of whoever wrote them more often than not.

use std::collections::{BTreeMap, BTreeSet};

use super::{template::Template, values::WORKSPACE_NAME};
use crate::near::near;

/// A variable that fills no hole of a template and is not declared by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVariable {
    /// Its name.
    pub name: String,
    /// A variable of the template that has no value and may have been meant.
    pub meant: Option<String>,
}

/// The variables that a template does not know. None if its holes cannot be told, because then it cannot be rendered
/// anyway.
#[must_use]
pub fn unknown(template: &Template, variables: &BTreeMap<String, String>) -> Vec<UnknownVariable> {
    if variables.is_empty() {
        return Vec::new();
    }
    let Ok(holes) = template.holes() else {
        return Vec::new();
    };
    let declared = template.spec().variables.iter().flatten();
    let known: BTreeSet<String> = holes
        .iter()
        .map(|hole| hole.name.clone())
        .chain(declared.map(|variable| variable.name.clone()))
        .chain([WORKSPACE_NAME.to_owned()])
        .collect();
    let open: Vec<String> = known
        .iter()
        .filter(|name| *name != WORKSPACE_NAME && !variables.contains_key(*name))
        .cloned()
        .collect();
    let strangers = variables.keys().filter(|name| !known.contains(*name));
    strangers
        .map(|name| UnknownVariable {
            name: name.clone(),
            meant: near(name, &open).into_iter().next(),
        })
        .collect()
}
