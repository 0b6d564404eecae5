//! The events that Terraform would print.

use std::collections::BTreeMap;

use capt_terraform::{
    plan::ResourceChange,
    stream::{
        Action, Change, ChangeCounts, ChangedOperation, Diagnostic, Event, Hook, Kind, Level, OutputLine,
        Resource, Severity, Step,
    },
};
use jiff::Timestamp;
use serde_json::Value;

use super::state::{Instance, Output};

/// Makes events that happen now.
pub(super) struct Events {
    pub(super) now: Timestamp,
}

impl Events {
    fn event(&self, level: Level, message: String, kind: Kind) -> Event {
        Event {
            level,
            message,
            at: Some(self.now),
            kind,
        }
    }

    /// Free text.
    pub(super) fn log(&self, message: impl Into<String>) -> Event {
        self.event(Level::Info, message.into(), Kind::Log { state: None })
    }

    /// A resource is read.
    pub(super) fn refresh(&self, step: Step, address: &str, instance: &Instance) -> Event {
        let words = match step {
            Step::Started => "Refreshing state...",
            _ => "Refresh complete",
        };
        let hook = Hook {
            resource: resource(address, instance),
            id_key: Some("id".to_owned()),
            id_value: instance.id().map(str::to_owned),
            ..Hook::default()
        };
        self.event(
            Level::Info,
            format!("{address}: {words}"),
            Kind::Refresh(step, Box::new(hook)),
        )
    }

    /// A change that is meant to be made.
    pub(super) fn planned(&self, change: &ResourceChange, instance: &Instance) -> Event {
        let message = format!("{}: Plan to {}", change.address, change.action);
        self.event(
            Level::Info,
            message,
            Kind::PlannedChange(Box::new(wire(change, instance))),
        )
    }

    /// A change that somebody else made.
    pub(super) fn drift(&self, change: &ResourceChange, instance: &Instance) -> Event {
        let message = format!("{}: Drift detected ({})", change.address, change.action);
        self.event(
            Level::Info,
            message,
            Kind::ResourceDrift(Box::new(wire(change, instance))),
        )
    }

    /// How many of each.
    pub(super) fn summary(&self, counts: ChangeCounts) -> Event {
        let (add, change, remove) = (counts.add, counts.change, counts.remove);
        let message = match counts.operation {
            ChangedOperation::Destroy => format!("Destroy complete! Resources: {remove} destroyed."),
            ChangedOperation::Apply => {
                format!("Apply complete! Resources: {add} added, {change} changed, {remove} destroyed.")
            }
            _ => format!("Plan: {add} to add, {change} to change, {remove} to destroy."),
        };
        self.event(Level::Info, message, Kind::ChangeSummary(counts))
    }

    /// The outputs as a plan tells them.
    pub(super) fn planned_outputs(&self, outputs: &BTreeMap<String, (Action, bool)>) -> Event {
        let lines = outputs.iter().map(|(name, (action, sensitive))| {
            let line = OutputLine {
                sensitive: *sensitive,
                action: Some(action.clone()),
                value: None,
            };
            (name.clone(), line)
        });
        self.event(
            Level::Info,
            format!("Outputs: {}", outputs.len()),
            Kind::Outputs(lines.collect()),
        )
    }

    /// The outputs as an apply tells them.
    pub(super) fn outputs(&self, outputs: &BTreeMap<String, Output>) -> Event {
        let lines = outputs.iter().map(|(name, output)| {
            let line = OutputLine {
                sensitive: output.sensitive,
                action: None,
                value: (!output.sensitive).then(|| output.value.clone()),
            };
            (name.clone(), line)
        });
        self.event(
            Level::Info,
            format!("Outputs: {}", outputs.len()),
            Kind::Outputs(lines.collect()),
        )
    }

    /// A step in the life of an operation.
    pub(super) fn apply(
        &self,
        step: Step,
        address: &str,
        instance: &Instance,
        action: &Action,
        seconds: f64,
    ) -> Event {
        let (doing, done) = match action {
            Action::Create => ("Creating", "Creation"),
            Action::Delete => ("Destroying", "Destruction"),
            _ => ("Modifying", "Modifications"),
        };
        let id = instance
            .id()
            .filter(|_| step == Step::Complete || *action != Action::Create);
        let shown = id.map(|id| format!(" [id={id}]")).unwrap_or_default();
        let seconds = seconds.round();
        let message = match step {
            Step::Started => format!("{address}: {doing}...{shown}"),
            Step::Progress => format!(
                "{address}: Still {}... [{seconds}s elapsed]",
                doing.to_lowercase()
            ),
            Step::Complete => format!("{address}: {done} complete after {seconds}s{shown}"),
            Step::Errored => format!("{address}: {done} errored after {seconds}s"),
        };
        let hook = Hook {
            resource: resource(address, instance),
            action: action.clone(),
            id_key: id.map(|_| "id".to_owned()),
            id_value: id.map(str::to_owned),
            elapsed_seconds: (step != Step::Started).then_some(seconds),
        };
        let level = if step == Step::Errored {
            Level::Error
        } else {
            Level::Info
        };
        self.event(level, message, Kind::Apply(step, Box::new(hook)))
    }

    /// An error or a warning.
    pub(super) fn diagnostic(&self, diagnostic: &Diagnostic) -> Event {
        let (level, word) = match diagnostic.severity {
            Severity::Warning => (Level::Warn, "Warning"),
            _ => (Level::Error, "Error"),
        };
        let message = format!("{word}: {}", diagnostic.summary);
        self.event(level, message, Kind::Diagnostic(Box::new(diagnostic.clone())))
    }
}

fn wire(change: &ResourceChange, instance: &Instance) -> Change {
    Change {
        resource: resource(&change.address, instance),
        previous_resource: None,
        action: change.action.clone(),
        reason: change.reason.clone(),
    }
}

fn resource(address: &str, instance: &Instance) -> Resource {
    Resource {
        addr: address.to_owned(),
        module: String::new(),
        resource_type: instance.type_.clone(),
        resource_name: instance.name.clone(),
        resource_key: instance.key.clone().filter(|key| *key != Value::Null),
    }
}
