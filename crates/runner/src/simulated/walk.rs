//! Comparing a configuration with a state.

use std::collections::{BTreeMap, BTreeSet};

use capt_terraform::{
    plan::ResourceChange,
    stream::{Action, Diagnostic},
};
use hcl::Value;
use serde_json::{Map, Value as Json};

use super::{
    behaviour::{Behaviour, Drifted},
    blueprint::{Blueprint, Step},
    configuration::{Check, Configuration, Expr, Resource},
    evaluate::{Bound, NoValue, Scope, json, placeholder},
    graph::Graph,
    identity::Identity,
    state::{Instance, Output, State, TERRAFORM_DATA, address},
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
                let step = self.step(&instance, computed, &graph, node, &mut blueprint, &mut problems);
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
        self.outputs(&mut blueprint);
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

    /// Compares one instance, and gives its attributes as they will be.
    fn step(
        &self,
        wanted: &Wanted<'_>,
        computed: Option<&BTreeSet<String>>,
        graph: &Graph,
        node: &str,
        blueprint: &mut Blueprint,
        problems: &mut Vec<Diagnostic>,
    ) -> Map<String, Json> {
        let resource = wanted.resource;
        let before = self
            .state
            .instances
            .get(&wanted.address)
            .filter(|_| !resource.is_data);
        let drifted = before.and_then(|before| {
            let drift = self.behaviour.drift.as_ref()?;
            drift.of(&wanted.address, before.repaired.as_deref())
        });
        if let (Some(drifted), Some(before)) = (drifted, before) {
            blueprint
                .drift
                .push((drift_of(&wanted.address, drifted, before), before.clone()));
        }
        let before = before.filter(|_| drifted != Some(Drifted::Deleted));
        problems.extend(self.broken(
            &resource.preconditions,
            &wanted.bound,
            "Resource precondition failed",
        ));

        let mut attributes = self.attributes(wanted, computed, before);
        let (action, reason) = decide(resource, before, &attributes, drifted.is_some());
        if matches!(action, Action::Create | Action::Replace) {
            let id = self
                .identity
                .id(&resource.type_, &wanted.address, self.state.serial);
            attributes.insert("id".to_owned(), Json::from(id));
        }
        if resource.is_data {
            return attributes;
        }
        if action == Action::Replace && resource.prevent_destroy {
            problems.push(cannot_be_destroyed(&wanted.address));
        }
        let mut bound = wanted.bound.clone();
        bound.push(("self", to_hcl(&attributes)));
        let regrets = self.broken(&resource.postconditions, &bound, "Resource postcondition failed");
        if action == Action::Noop {
            problems.extend(regrets);
            return attributes;
        }
        let after = Instance {
            type_: resource.type_.clone(),
            name: resource.name.clone(),
            key: wanted.key.clone(),
            attributes: attributes.clone(),
            dependencies: graph.waits_for[node]
                .iter()
                .filter(|on| !on.starts_with("data."))
                .cloned()
                .collect(),
            tainted: false,
            repaired: self.behaviour.drift.as_ref().map(|drift| drift.token.clone()),
        };
        let paths = before.map_or_else(Vec::new, |before| changed(before, &attributes));
        let deletion = before.map(|before| self.deletion(&wanted.address, before, &mut Vec::new()));
        let sleeps = if action == Action::Update {
            &[][..]
        } else {
            &resource.sleeps
        };
        blueprint.steps.push(Step {
            change: ResourceChange {
                address: wanted.address.clone(),
                resource_type: resource.type_.clone(),
                id: before.and_then(Instance::id).map(str::to_owned),
                replace_paths: if reason == Some("cannot_update") {
                    vec!["triggers_replace".to_owned()]
                } else {
                    Vec::new()
                },
                paths,
                reason: reason.map(str::to_owned),
                action,
                ..ResourceChange::default()
            },
            before: before.cloned(),
            after: Some(after),
            level: graph.levels[node],
            seconds: self
                .seconds(sleeps, &wanted.bound, &wanted.address)
                .unwrap_or_default(),
            deletion_seconds: deletion
                .as_ref()
                .map_or(0.0, |deletion| deletion.deletion_seconds),
            refuses_deletion: deletion.and_then(|deletion| deletion.refuses_deletion),
            regrets,
        });
        attributes
    }

    /// The attributes of an instance: those in the configuration, and those that a provider would fill in.
    fn attributes(
        &self,
        wanted: &Wanted<'_>,
        computed: Option<&BTreeSet<String>>,
        before: Option<&Instance>,
    ) -> Map<String, Json> {
        let resource = wanted.resource;
        let old = |name: &str| before.and_then(|before| before.attributes.get(name)).cloned();
        let mut attributes = Map::new();
        for (name, expr) in &resource.attributes {
            let is_ignored = resource
                .ignores
                .iter()
                .any(|ignored| ignored == name || ignored == "all");
            let value = match old(name).filter(|_| is_ignored) {
                Some(old) => old,
                None => json(&self.value(expr, &wanted.bound, name)).unwrap_or_default(),
            };
            attributes.insert(name.clone(), value);
        }
        if resource.type_ == TERRAFORM_DATA {
            for name in ["input", "triggers_replace"] {
                attributes.entry(name).or_insert(Json::Null);
            }
            attributes.insert("output".to_owned(), attributes["input"].clone());
        }
        for name in computed.into_iter().flatten().map(String::as_str).chain(["id"]) {
            if !attributes.contains_key(name) {
                let made_up = || Json::from(placeholder(&format!("{}-{name}", resource.name)));
                attributes.insert(name.to_owned(), old(name).unwrap_or_else(made_up));
            }
        }
        attributes
    }

    fn broken(&self, checks: &[Check], bound: &[Bound], summary: &str) -> Vec<Diagnostic> {
        let broken = checks
            .iter()
            .filter(|check| self.scope.evaluate_with(&check.condition, bound) == Ok(Value::Bool(false)));
        let told = broken.map(|check| {
            let message = check
                .message
                .as_ref()
                .map(|message| self.value(message, bound, "message"));
            let detail = message.as_ref().and_then(Value::as_str).unwrap_or_default();
            error(summary, detail.to_owned())
        });
        told.collect()
    }

    fn deletion(&self, address: &str, instance: &Instance, problems: &mut Vec<Diagnostic>) -> Step {
        let resource = self
            .configuration
            .resources
            .get(&instance.configuration_address());
        if resource.is_some_and(|resource| resource.prevent_destroy) {
            problems.push(cannot_be_destroyed(address));
        }
        let bound = [("self", to_hcl(&instance.attributes))];
        let sleeps = resource.map_or(&[][..], |resource| &resource.destroy_sleeps);
        let seconds = self.seconds(sleeps, &bound, address);
        Step {
            change: ResourceChange {
                address: address.to_owned(),
                resource_type: instance.type_.clone(),
                action: Action::Delete,
                id: instance.id().map(str::to_owned),
                ..ResourceChange::default()
            },
            before: Some(instance.clone()),
            deletion_seconds: *seconds.as_ref().unwrap_or(&0.0),
            refuses_deletion: seconds.err().map(|detail| Diagnostic {
                address: Some(address.to_owned()),
                ..error("Error in function call", detail)
            }),
            ..Step::default()
        }
    }

    /// How long something takes: what the simulation was told, or else what the module's provisioners wait.
    fn seconds(&self, sleeps: &[Expr], bound: &[Bound], address: &str) -> Result<f64, String> {
        let mut written = 0.0;
        for sleep in sleeps {
            written += match self.scope.evaluate_with(sleep, bound) {
                Ok(Value::String(text)) => text.parse().unwrap_or(0.0),
                Ok(other) => other.as_f64().unwrap_or(0.0),
                Err(NoValue::Refused(message)) => return Err(message),
                Err(NoValue::Unknown) => 0.0,
            };
        }
        let told = self
            .behaviour
            .seconds
            .map(|seconds| seconds * self.identity.pace(address));
        Ok(told.unwrap_or(written).clamp(0.0, 86_400.0))
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

    fn outputs(&self, blueprint: &mut Blueprint) {
        for (name, output) in &self.configuration.outputs {
            let value = json(&self.value(&output.value, &[], name)).unwrap_or_default();
            let after = Output {
                value,
                sensitive: output.sensitive,
            };
            let action = match self.state.outputs.get(name) {
                None => Action::Create,
                Some(before) if *before == after => Action::Noop,
                Some(_) => Action::Update,
            };
            blueprint
                .output_actions
                .insert(name.clone(), (action, output.sensitive));
            blueprint.outputs.insert(name.clone(), after);
        }
        for (name, before) in &self.state.outputs {
            let gone = || (Action::Delete, before.sensitive);
            blueprint.output_actions.entry(name.clone()).or_insert_with(gone);
        }
    }
}

/// What happens to an instance, and why.
fn decide(
    resource: &Resource,
    before: Option<&Instance>,
    attributes: &Map<String, Json>,
    has_drifted: bool,
) -> (Action, Option<&'static str>) {
    let Some(before) = before else {
        return (Action::Create, None);
    };
    if before.tainted {
        return (Action::Replace, Some("tainted"));
    }
    let trigger =
        |attributes: &Map<String, Json>| attributes.get("triggers_replace").cloned().unwrap_or_default();
    if resource.type_ == TERRAFORM_DATA && trigger(&before.attributes) != trigger(attributes) {
        return (Action::Replace, Some("cannot_update"));
    }
    if has_drifted || !changed(before, attributes).is_empty() {
        return (Action::Update, None);
    }
    (Action::Noop, None)
}

/// The names of attributes that differ.
fn changed(before: &Instance, after: &Map<String, Json>) -> Vec<String> {
    let value =
        |attributes: &Map<String, Json>, name: &str| attributes.get(name).cloned().unwrap_or_default();
    let names: BTreeSet<&String> = before.attributes.keys().chain(after.keys()).collect();
    let differ = names
        .into_iter()
        .filter(|name| *name != "id" && value(&before.attributes, name) != value(after, name));
    differ.cloned().collect()
}

fn drift_of(address: &str, drifted: Drifted, before: &Instance) -> ResourceChange {
    ResourceChange {
        address: address.to_owned(),
        resource_type: before.type_.clone(),
        action: match drifted {
            Drifted::Changed => Action::Update,
            Drifted::Deleted => Action::Delete,
        },
        id: before.id().map(str::to_owned),
        ..ResourceChange::default()
    }
}

fn cannot_be_destroyed(address: &str) -> Diagnostic {
    error(
        "Instance cannot be destroyed",
        format!(
            "Resource {address} has lifecycle.prevent_destroy set, but the plan calls for it to be destroyed."
        ),
    )
}

/// The value of a resource: one object, a list, or a map.
fn gathered(instances: Vec<(Option<Json>, Map<String, Json>)>) -> Value {
    let is_single = matches!(&instances[..], [(None, _)]);
    let is_map = instances
        .first()
        .is_some_and(|(key, _)| matches!(key, Some(Json::String(_))));
    let mut values = instances
        .into_iter()
        .map(|(key, attributes)| (key, to_hcl(&attributes)));
    if is_single {
        return values.next().map(|(_, value)| value).unwrap_or_default();
    }
    if is_map {
        let fields = values.filter_map(|(key, value)| Some((key?.as_str()?.to_owned(), value)));
        return Value::Object(fields.collect());
    }
    values.map(|(_, value)| value).collect()
}

fn to_hcl(attributes: &Map<String, Json>) -> Value {
    let fields: BTreeMap<&String, &Json> = attributes.iter().collect();
    serde_json::to_value(fields)
        .and_then(serde_json::from_value)
        .unwrap_or_default()
}
