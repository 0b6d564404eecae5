//! What Terraform's own files say is secret, and what they say is not.

use serde_json::Value;

use super::{Secrets, is_telling};

/// Sensitive outputs and attributes of a state file. Its other outputs are public, and so are the names of resources.
pub fn sensitive_in_state(state: &Value, secrets: &mut Secrets) {
    for (name, output) in state["outputs"].as_object().into_iter().flatten() {
        if output["sensitive"] == Value::Bool(true) {
            secrets.json(&output["value"]);
        } else {
            exempt_output(name, &output["value"], secrets);
        }
    }
    for resource in items(&state["resources"]) {
        exempt_names(resource, &resource["module"], secrets);
        for instance in items(&resource["instances"]) {
            for path in items(&instance["sensitive_attributes"]) {
                if let Some(value) = at_path(&instance["attributes"], items(path)) {
                    secrets.json(value);
                }
            }
        }
    }
}

/// Sensitive variables, outputs and attributes of `terraform show -json PLAN`, which prints all of them in the clear. Its
/// other outputs are public, and so are the names of resources.
pub fn sensitive_in_plan(plan: &Value, secrets: &mut Secrets) {
    let declared = &plan["configuration"]["root_module"]["variables"];
    for (name, variable) in plan["variables"].as_object().into_iter().flatten() {
        if declared[name.as_str()]["sensitive"] == Value::Bool(true) {
            secrets.json(&variable["value"]);
        }
    }
    let resources = items(&plan["resource_changes"])
        .iter()
        .chain(items(&plan["resource_drift"]));
    for resource in resources {
        exempt_names(resource, &resource["module_address"], secrets);
        marked_change(&resource["change"], secrets);
    }
    for (name, change) in plan["output_changes"].as_object().into_iter().flatten() {
        marked_change(change, secrets);
        for (value, mark) in [("before", "before_sensitive"), ("after", "after_sensitive")] {
            if change[mark] == Value::Bool(false) {
                exempt_output(name, &change[value], secrets);
            }
        }
    }
}

/// An output that is not sensitive stands in the status. One whose name is telling should have been.
fn exempt_output(name: &str, value: &Value, secrets: &mut Secrets) {
    if !is_telling(name) {
        secrets.exempt_json(value);
    }
}

/// Names of resources and modules are from the module's text and make addresses, which would all be the same without them.
/// Keys in brackets are values.
fn exempt_names(resource: &Value, module: &Value, secrets: &mut Secrets) {
    let names = ["type", "name"]
        .iter()
        .filter_map(|field| resource[field].as_str());
    let module = module.as_str().unwrap_or_default();
    let module = module.split('[').flat_map(|part| part.rsplit(']').next());
    let modules = module.flat_map(|part| part.split('.'));
    names.chain(modules).for_each(|name| secrets.exempt(name));
}

fn marked_change(change: &Value, secrets: &mut Secrets) {
    marked(&change["before"], &change["before_sensitive"], secrets);
    marked(&change["after"], &change["after_sensitive"], secrets);
}

/// Collects what a tree of marks of the same shape as the value marks.
fn marked(value: &Value, marks: &Value, secrets: &mut Secrets) {
    match marks {
        Value::Bool(true) => secrets.json(value),
        Value::Array(marks) => {
            for (value, mark) in items(value).iter().zip(marks) {
                marked(value, mark, secrets);
            }
        }
        Value::Object(marks) => {
            for (name, mark) in marks {
                marked(&value[name.as_str()], mark, secrets);
            }
        }
        _ => {}
    }
}

/// What a path of a state file leads to. A step that leads nowhere may be into a set, so the whole set counts.
fn at_path<'a>(value: &'a Value, path: &[Value]) -> Option<&'a Value> {
    let mut value = value;
    for step in path {
        // Attributes of no fixed type are wrapped together with their type.
        let inner = match value.as_object() {
            Some(wrapped) if wrapped.len() == 2 && wrapped.contains_key("type") => wrapped.get("value"),
            _ => None,
        };
        let key = match step["type"].as_str()? {
            "index" => &step["value"]["value"],
            _ => &step["value"],
        };
        match one_step(value, key).or_else(|| one_step(inner?, key)) {
            Some(next) => value = next,
            None => return Some(value),
        }
    }
    Some(value)
}

fn one_step<'a>(value: &'a Value, key: &Value) -> Option<&'a Value> {
    match key {
        Value::String(name) => value.get(name.as_str()),
        Value::Number(index) => value.get(usize::try_from(index.as_u64()?).ok()?),
        _ => None,
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
