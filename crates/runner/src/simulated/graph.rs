//! What waits for what.

use std::collections::{BTreeMap, BTreeSet};

use super::configuration::Configuration;

/// Local values and resources, each after everything that it refers to.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// In order.
    pub(super) order: Vec<String>,
    /// The resources that each waits for, directly or not.
    pub(super) waits_for: BTreeMap<String, BTreeSet<String>>,
    /// How many resources have to come before each.
    pub(super) levels: BTreeMap<String, usize>,
}

impl Graph {
    /// The graph of a configuration, or the parts of it that wait for each other.
    pub(super) fn of(configuration: &Configuration) -> Result<Self, Vec<String>> {
        let locals = configuration.locals.keys().map(|name| format!("local.{name}"));
        let nodes: Vec<String> = locals.chain(configuration.resources.keys().cloned()).collect();
        let references: BTreeMap<&str, BTreeSet<String>> = nodes
            .iter()
            .map(|node| (node.as_str(), configuration.references_of(node)))
            .collect();
        let mut graph = Self::default();
        // Each round places what waits for nothing that is not placed; at most as many rounds as the longest chain.
        while graph.order.len() < nodes.len() {
            let ready: Vec<&String> = nodes
                .iter()
                .filter(|node| !graph.levels.contains_key(*node))
                .filter(|node| {
                    references[node.as_str()]
                        .iter()
                        .all(|other| graph.levels.contains_key(other))
                })
                .collect();
            if ready.is_empty() {
                let stuck = nodes.iter().filter(|node| !graph.levels.contains_key(*node));
                return Err(stuck.cloned().collect());
            }
            for node in ready {
                graph.place(node, &references[node.as_str()]);
            }
        }
        Ok(graph)
    }

    fn place(&mut self, node: &str, references: &BTreeSet<String>) {
        let mut waits_for = BTreeSet::new();
        let mut level = 0;
        for other in references {
            let is_resource = !other.starts_with("local.");
            waits_for.extend(self.waits_for[other].iter().cloned());
            if is_resource {
                waits_for.insert(other.clone());
            }
            level = level.max(self.levels[other] + usize::from(is_resource));
        }
        self.order.push(node.to_owned());
        self.waits_for.insert(node.to_owned(), waits_for);
        self.levels.insert(node.to_owned(), level);
    }
}

/// How deep each address lies under those that it depends on, for what is known by its dependencies only.
pub(super) fn depths(dependencies: &[(String, &[String])]) -> BTreeMap<String, usize> {
    let mut depths: BTreeMap<String, usize> = dependencies
        .iter()
        .map(|(address, _)| (address.clone(), 0))
        .collect();
    // A state that was not written by us may have circles, so the rounds are counted.
    for _ in 0..depths.len() {
        let mut is_settled = true;
        for (address, on) in dependencies {
            let depth = on
                .iter()
                .filter_map(|other| depths.get(other))
                .max()
                .map_or(0, |depth| depth + 1);
            if let Some(known) = depths.get_mut(address)
                && depth > *known
            {
                *known = depth;
                is_settled = false;
            }
        }
        if is_settled {
            break;
        }
    }
    depths
}
