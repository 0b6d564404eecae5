//! Comparing a configuration with a state.

mod step;

use std::collections::BTreeSet;

use capt_terraform::{
    plan::{Marked, Sides, whole_change},
    stream::{Action, Diagnostic},
};
use hcl::Value;
use serde_json::Value as Json;

use super::{
    behaviour::Behaviour,
    blueprint::Blueprint,
    compare::gathered,
    configuration::{Configuration, Expr, Resource},
    evaluate::{Bound, Scope, json, placeholder},
    graph::Graph,
    identity::Identity,
    secrecy::Secrecy,
    state::{Instance, Output, State, address},
    variables::error,
};

/// A comparison.
pub(super) struct Walk<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) state: &'a State,
    pub(super) behaviour: &'a Behaviour,
    pub(super) identity: &'a Identity,
    /// Has the variables in the beginning, and everything in the end.
    pub(super) scope: Scope,
}

/// An instance of a resource that is wanted.
struct Wanted<'r> {
    resource: &'r Resource,
    address: String,
    key: Option<Json>,
    bound: Vec<Bound>,
}

impl Walk<'_> {
    /// What has to be done so that everything is as it is wanted.
    pub(super) fn converge(mut self) -> Result<Blueprint, Vec<Diagnostic>> {
        let graph = Graph::of(self.configuration)
            .map_err(|stuck| vec![error(&format!("Cycle: {}", stuck.join(", ")), String::new())])?;
        let secrecy = Secrecy::of(self.configuration, &graph.order);
        let in_use = self.configuration.attributes_in_use();
        let mut blueprint = Blueprint::default();
        let mut wanted = BTreeSet::new();
        let mut problems = Vec::new();
        for node in &graph.order {
            if let Some(name) = node.strip_prefix("local.") {
                let value = self.value(&self.configuration.locals[name], &[], name);
                self.scope.set(node.clone(), value);
                continue;
            }
            let resource = &self.configuration.resources[node];
            let mut values = Vec::new();
            for instance in self.instances(resource) {
                let computed = in_use.get(node);
                let step = self.step(
                    &instance,
                    computed,
                    (&graph, &secrecy),
                    node,
                    &mut blueprint,
                    &mut problems,
                );
                wanted.insert(instance.address);
                values.push((instance.key, step));
            }
            self.scope.set(node.clone(), gathered(values));
        }
        for (address, instance) in &self.state.instances {
            if !wanted.contains(address) {
                let mut step = self.deletion(address, instance, &mut problems);
                step.change.reason = Some(self.why_unwanted(instance).to_owned());
                blueprint.steps.push(step);
            }
        }
        self.outputs(&secrecy, &mut blueprint);
        if problems.is_empty() {
            Ok(blueprint)
        } else {
            Err(problems)
        }
    }

    /// What has to be done so that nothing is left.
    pub(super) fn destroy(self) -> Result<Blueprint, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let steps = self.state.instances.iter();
        let steps = steps
            .map(|(address, instance)| self.deletion(address, instance, &mut problems))
            .collect();
        let outputs = self.state.outputs.iter();
        let blueprint = Blueprint {
            steps,
            output_actions: outputs
                .map(|(name, output)| (name.clone(), (Action::Delete, output.sensitive)))
                .collect(),
            ..Blueprint::default()
        };
        if problems.is_empty() {
            Ok(blueprint)
        } else {
            Err(problems)
        }
    }

    fn value(&self, expr: &Expr, bound: &[Bound], name: &str) -> Value {
        self.scope
            .evaluate_with(expr, bound)
            .unwrap_or_else(|_| Value::from(placeholder(name)))
    }

    /// The instances of a resource. What cannot be counted is one.
    fn instances<'r>(&self, resource: &'r Resource) -> Vec<Wanted<'r>> {
        let instance = |key: Option<Json>, bound: Vec<Bound>| Wanted {
            resource,
            address: address(&resource.type_, &resource.name, key.as_ref()),
            key,
            bound,
        };
        if let Some(count) = &resource.count {
            let count = self.scope.evaluate(count).ok().and_then(|count| match count {
                Value::Bool(flag) => Some(u64::from(flag)),
                other => other.as_u64(),
            });
            let one = |index: u64| {
                let bound = (
                    "count",
                    [("index".to_owned(), Value::from(index))].into_iter().collect(),
                );
                instance(Some(Json::from(index)), vec![bound])
            };
            return (0..count.unwrap_or(1)).map(one).collect();
        }
        let Some(for_each) = &resource.for_each else {
            return vec![instance(None, Vec::new())];
        };
        let one = |(key, value): (String, Value)| {
            let fields = [
                ("key".to_owned(), Value::from(key.as_str())),
                ("value".to_owned(), value),
            ];
            instance(
                Some(Json::from(key)),
                vec![("each", fields.into_iter().collect())],
            )
        };
        match self.scope.evaluate(for_each) {
            Ok(Value::Object(fields)) => fields.into_iter().map(one).collect(),
            Ok(Value::Array(items)) => {
                let keys = items
                    .into_iter()
                    .filter_map(|item| Some((item.as_str()?.to_owned(), item)));
                keys.map(one).collect()
            }
            _ => vec![one(("simulated".to_owned(), Value::from("simulated")))],
        }
    }

    fn why_unwanted(&self, instance: &Instance) -> &'static str {
        match self
            .configuration
            .resources
            .get(&instance.configuration_address())
        {
            None => "delete_because_no_resource_config",
            Some(Resource { count: Some(_), .. }) => "delete_because_count_index",
            Some(Resource {
                for_each: Some(_), ..
            }) => "delete_because_each_key",
            Some(_) => "delete_because_wrong_repetition",
        }
    }

    fn outputs(&self, secrecy: &Secrecy, blueprint: &mut Blueprint) {
        for (name, output) in &self.configuration.outputs {
            let value = json(&self.value(&output.value, &[], name)).unwrap_or_default();
            let after = Output {
                value,
                sensitive: output.sensitive,
            };
            let action = match self.state.outputs.get(name) {
                None if after.value.is_null() => Action::Noop,
                None => Action::Create,
                Some(before) if *before == after => Action::Noop,
                Some(_) => Action::Update,
            };
            if action != Action::Noop {
                let is_secret = output.sensitive || secrecy.is_secret(self.configuration, &output.value);
                let before = self.state.outputs.get(name);
                let sides = Sides {
                    before: before.map_or(&Json::Null, |before| &before.value),
                    after: &after.value,
                    unknown: &Json::Null,
                    before_sensitive: &Json::Bool(is_secret || before.is_some_and(|before| before.sensitive)),
                    after_sensitive: &Json::Bool(is_secret),
                };
                blueprint
                    .output_values
                    .push(whole_change(name, &sides, &Marked::default()));
            }
            blueprint
                .output_actions
                .insert(name.clone(), (action, output.sensitive));
            // Terraform keeps no output that is null.
            if !after.value.is_null() {
                blueprint.outputs.insert(name.clone(), after);
            }
        }
        for (name, before) in &self.state.outputs {
            let gone = || (Action::Delete, before.sensitive);
            blueprint.output_actions.entry(name.clone()).or_insert_with(gone);
        }
    }
}
