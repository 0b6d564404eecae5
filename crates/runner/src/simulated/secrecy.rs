//! What of a configuration is secret: sensitive variables, what `sensitive` is called on, and whatever is made of those.
//!
//! More may be taken for secret than is: who refers to a resource of which a part is secret is taken to use that part.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::configuration::{Configuration, Expr, Resource};

/// What of a configuration is secret.
#[derive(Debug, Default)]
pub(super) struct Secrecy {
    /// Local values and resources of which something is secret.
    nodes: BTreeSet<String>,
    /// The attributes that are, by the address of their resource.
    attributes: BTreeMap<String, BTreeSet<String>>,
}

impl Secrecy {
    /// That of a configuration whose parts are handed in each after those that it refers to.
    pub(super) fn of(configuration: &Configuration, order: &[String]) -> Self {
        let mut secrecy = Self::default();
        for node in order {
            let is_secret = match (node.strip_prefix("local."), configuration.resources.get(node)) {
                (Some(name), _) => secrecy.is_secret(configuration, &configuration.locals[name]),
                (None, Some(resource)) => {
                    let attributes = secrecy.of_resource(configuration, resource);
                    let has_some = !attributes.is_empty();
                    secrecy.attributes.insert(node.clone(), attributes);
                    has_some
                }
                (None, None) => false,
            };
            if is_secret {
                secrecy.nodes.insert(node.clone());
            }
        }
        secrecy
    }

    /// Whether something secret goes into an expression.
    pub(super) fn is_secret(&self, configuration: &Configuration, expr: &Expr) -> bool {
        let is_secret = |reference: &Vec<String>| match &reference[..] {
            [var, name, ..] if var == "var" => configuration
                .variables
                .get(name)
                .is_some_and(|variable| variable.sensitive),
            reference => configuration
                .node(reference)
                .is_some_and(|node| self.nodes.contains(&node)),
        };
        expr.hides || expr.references.iter().any(is_secret)
    }

    fn of_resource(&self, configuration: &Configuration, resource: &Resource) -> BTreeSet<String> {
        let mut repeats = resource.count.iter().chain(&resource.for_each);
        let is_all = repeats.any(|expr| self.is_secret(configuration, expr));
        let attributes = resource.attributes.iter();
        let secret = attributes.filter(|(_, expr)| is_all || self.is_secret(configuration, expr));
        let mut names: BTreeSet<String> = secret.map(|(name, _)| name.clone()).collect();
        if names.contains("input") {
            names.insert("output".to_owned());
        }
        names
    }

    /// Marks on the attributes of a resource, as a plan has them.
    pub(super) fn marks(&self, node: &str) -> Value {
        let names = self.attributes.get(node).into_iter().flatten();
        let marks: Map<String, Value> = names.map(|name| (name.clone(), Value::Bool(true))).collect();
        Value::Object(marks)
    }
}
