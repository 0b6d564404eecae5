//! A module as far as a simulation understands it: variables, locals, resources and outputs.
//!
//! Nothing is evaluated here. What a simulation has no use for, such as nested blocks of a resource and calls of other
//! modules, is left out.

mod expression;
mod json;
mod read;
mod types;

pub(super) use expression::Expr;
pub(super) use read::{Unreadable, read};
pub(super) use types::Type;

use std::collections::{BTreeMap, BTreeSet};

/// What is in a module.
#[derive(Clone, Debug, Default)]
pub(super) struct Configuration {
    /// Variables by name.
    pub(super) variables: BTreeMap<String, Variable>,
    /// Local values by name.
    pub(super) locals: BTreeMap<String, Expr>,
    /// Resources and data sources by address, without keys.
    pub(super) resources: BTreeMap<String, Resource>,
    /// Outputs by name.
    pub(super) outputs: BTreeMap<String, Output>,
}

/// A variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Variable {
    pub(super) type_: Type,
    pub(super) default: Option<Expr>,
    pub(super) validations: Vec<Check>,
    pub(super) sensitive: bool,
}

/// Something that has to be true.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) condition: Expr,
    pub(super) message: Option<Expr>,
}

/// A resource or a data source.
#[derive(Clone, Debug, Default)]
pub(super) struct Resource {
    pub(super) is_data: bool,
    pub(super) type_: String,
    pub(super) name: String,
    pub(super) attributes: Vec<(String, Expr)>,
    pub(super) count: Option<Expr>,
    pub(super) for_each: Option<Expr>,
    pub(super) depends_on: Vec<Vec<String>>,
    pub(super) preconditions: Vec<Check>,
    pub(super) postconditions: Vec<Check>,
    pub(super) prevent_destroy: bool,
    pub(super) ignores: Vec<String>,
    /// Arguments of provisioners that run `sleep` when it is made.
    pub(super) sleeps: Vec<Expr>,
    /// Arguments of provisioners that run `sleep` when it is deleted.
    pub(super) destroy_sleeps: Vec<Expr>,
}

/// An output.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) value: Expr,
    pub(super) sensitive: bool,
}

impl Configuration {
    /// The part of the graph that a reference leads to: `local.x`, or the address of a resource.
    pub(super) fn node(&self, reference: &[String]) -> Option<String> {
        let words: Vec<&str> = reference.iter().map(String::as_str).collect();
        let node = match words[..] {
            ["local", name, ..] => return self.locals.contains_key(name).then(|| format!("local.{name}")),
            ["data", kind, name, ..] => format!("data.{kind}.{name}"),
            [kind, name, ..] => format!("{kind}.{name}"),
            _ => return None,
        };
        self.resources.contains_key(&node).then_some(node)
    }

    /// What a part of the graph refers to directly.
    pub(super) fn references_of(&self, node: &str) -> BTreeSet<String> {
        let expressions: Vec<&Expr> = match (node.strip_prefix("local."), self.resources.get(node)) {
            (Some(name), _) => self.locals.get(name).into_iter().collect(),
            (None, Some(resource)) => resource.expressions().collect(),
            (None, None) => Vec::new(),
        };
        let written = self
            .resources
            .get(node)
            .into_iter()
            .flat_map(|resource| &resource.depends_on);
        expressions
            .iter()
            .flat_map(|expression| &expression.references)
            .chain(written)
            .filter_map(|reference| self.node(reference))
            .filter(|other| other != node)
            .collect()
    }

    /// The attributes of each resource that anything refers to, so that those that a provider would compute exist.
    pub(super) fn attributes_in_use(&self) -> BTreeMap<String, BTreeSet<String>> {
        let resources = self.resources.values().flat_map(Resource::expressions);
        let outputs = self.outputs.values().map(|output| &output.value);
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for reference in self
            .locals
            .values()
            .chain(resources)
            .chain(outputs)
            .flat_map(|e| &e.references)
        {
            let Some(node) = self.node(reference) else {
                continue;
            };
            let depth = node.split('.').count();
            if let Some(attribute) = reference.get(depth) {
                found.entry(node).or_default().insert(attribute.clone());
            }
        }
        found
    }
}

impl Resource {
    /// Everything in it that waits for something else. What is only looked at when it is deleted does not.
    fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let checks = self
            .preconditions
            .iter()
            .chain(&self.postconditions)
            .map(|check| &check.condition);
        let attributes = self.attributes.iter().map(|(_, value)| value);
        attributes
            .chain(&self.count)
            .chain(&self.for_each)
            .chain(&self.sleeps)
            .chain(checks)
    }
}
