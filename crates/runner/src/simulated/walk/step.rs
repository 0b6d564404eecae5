//! What becomes of one instance.

use std::collections::BTreeSet;

use capt_terraform::{
    plan::ResourceChange,
    stream::{Action, Diagnostic},
};
use hcl::Value;
use serde_json::{Map, Value as Json};

use super::{
    super::{
        behaviour::Drifted,
        blueprint::{Blueprint, Step},
        compare::{cannot_be_destroyed, changed, decide, drift_of, to_hcl, values},
        configuration::{Check, Expr},
        evaluate::{Bound, NoValue, json, placeholder},
        graph::Graph,
        secrecy::Secrecy,
        state::{Instance, TERRAFORM_DATA},
        variables::error,
    },
    Walk, Wanted,
};

impl Walk<'_> {
    /// Compares one instance, and gives its attributes as they will be.
    pub(super) fn step(
        &self,
        wanted: &Wanted<'_>,
        computed: Option<&BTreeSet<String>>,
        (graph, secrecy): (&Graph, &Secrecy),
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
        let replace_paths = match reason {
            Some("cannot_update") => vec!["triggers_replace".to_owned()],
            _ => Vec::new(),
        };
        let values = values(before, &after, &secrecy.marks(node), &action, &replace_paths);
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
                replace_paths,
                values,
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

    pub(super) fn deletion(
        &self,
        address: &str,
        instance: &Instance,
        problems: &mut Vec<Diagnostic>,
    ) -> Step {
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
}
