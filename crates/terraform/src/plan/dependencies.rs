//! What waits for what, read from the configuration in a plan.
//!
//! Only good enough to guess how long something takes: Terraform does not tell what a local value refers to, so
//! dependencies through those are missing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::PlanError;

/// Which resources each resource waits for, by addresses without keys, from `terraform show -json PLAN`.
///
/// # Errors
/// If it is not JSON.
pub fn dependencies(json: &[u8]) -> Result<BTreeMap<String, Vec<String>>, PlanError> {
    let plan: Value = serde_json::from_slice(json).map_err(PlanError::Json)?;
    let root = Module {
        body: &plan["configuration"]["root_module"],
        call: &Value::Null,
        path: String::new(),
        parent: None,
    };
    let mut found = BTreeMap::new();
    root.collect(&BTreeSet::new(), &mut found);
    Ok(found)
}

/// One call of a module.
struct Module<'a> {
    body: &'a Value,
    call: &'a Value,
    path: String,
    parent: Option<&'a Module<'a>>,
}

impl Module<'_> {
    /// Adds what is in this module. `inherited` is what the whole module waits for.
    fn collect(&self, inherited: &BTreeSet<String>, found: &mut BTreeMap<String, Vec<String>>) {
        for resource in items(&self.body["resources"]) {
            let Some(address) = resource["address"].as_str() else {
                continue;
            };
            let mut waits = inherited.clone();
            self.resolve_all(resource, &mut waits, &mut BTreeSet::new());
            let address = format!("{}{address}", self.path);
            waits.remove(&address);
            found.insert(address, waits.into_iter().collect());
        }
        for (name, call) in self.body["module_calls"].as_object().into_iter().flatten() {
            let mut waits = inherited.clone();
            for key in ["depends_on", "for_each_expression", "count_expression"] {
                self.resolve_all(&call[key], &mut waits, &mut BTreeSet::new());
            }
            self.child(name, call).collect(&waits, found);
        }
    }

    fn child<'a>(&'a self, name: &str, call: &'a Value) -> Module<'a> {
        Module {
            body: &call["module"],
            call,
            path: format!("{}module.{name}.", self.path),
            parent: Some(self),
        }
    }

    /// Adds the resources that anything in this part of the configuration refers to.
    fn resolve_all(&self, part: &Value, waits: &mut BTreeSet<String>, seen: &mut BTreeSet<String>) {
        match part {
            Value::Array(parts) => parts.iter().for_each(|part| match part {
                Value::String(reference) => self.resolve(reference, waits, seen),
                other => self.resolve_all(other, waits, seen),
            }),
            Value::Object(fields) => {
                // Provisioners and constants hold texts that are no references.
                for (name, field) in fields {
                    if name == "references"
                        || name == "depends_on"
                        || field.is_object()
                        || holds_objects(field)
                    {
                        self.resolve_all(field, waits, seen);
                    }
                }
            }
            _ => {}
        }
    }

    fn resolve(&self, reference: &str, waits: &mut BTreeSet<String>, seen: &mut BTreeSet<String>) {
        // The same name means something else in every module, and references may lead in circles.
        if !seen.insert(format!("{} {reference}", self.path)) {
            return;
        }
        let words: Vec<&str> = reference.split(['.', '[']).collect();
        match words[..] {
            ["var", name, ..] => {
                if let Some(parent) = self.parent {
                    parent.resolve_all(&self.call["expressions"][name], waits, seen);
                }
            }
            ["module", name, ref rest @ ..] => {
                let call = &self.body["module_calls"][name];
                let child = self.child(name, call);
                match rest.iter().find_map(|word| call["module"]["outputs"].get(word)) {
                    Some(output) => child.resolve_all(output, waits, seen),
                    None => items(&child.body["resources"]).iter().for_each(|resource| {
                        waits.extend(
                            resource["address"]
                                .as_str()
                                .map(|address| format!("{}{address}", child.path)),
                        );
                    }),
                }
            }
            ["data", kind, name, ..] => self.add(&format!("data.{kind}.{name}"), waits),
            [kind, name, ..] => self.add(&format!("{kind}.{name}"), waits),
            _ => {}
        }
    }

    /// Adds what is a resource and not another word with a dot, such as `each.key`.
    fn add(&self, address: &str, waits: &mut BTreeSet<String>) {
        if items(&self.body["resources"])
            .iter()
            .any(|resource| resource["address"] == *address)
        {
            waits.insert(format!("{}{address}", self.path));
        }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn holds_objects(value: &Value) -> bool {
    items(value)
        .iter()
        .any(|item| item.is_object() || item.is_array())
}
