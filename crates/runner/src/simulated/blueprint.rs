//! Everything that one operation would do, known beforehand.

use std::collections::BTreeMap;

use capt_terraform::{
    plan::{AttributeChange, Plan, ResourceChange},
    stream::{Action, ChangeCounts, ChangedOperation, Diagnostic},
};

use super::{
    graph,
    state::{Instance, Output, State},
};

/// What would be done.
#[derive(Clone, Debug, Default)]
pub(super) struct Blueprint {
    /// What happens to each resource that does not stay as it is.
    pub(super) steps: Vec<Step>,
    /// Resources that somebody else changed, and what they were.
    pub(super) drift: Vec<(ResourceChange, Instance)>,
    /// The outputs afterwards.
    pub(super) outputs: BTreeMap<String, Output>,
    /// What happens to outputs, and whether they are secret.
    pub(super) output_actions: BTreeMap<String, (Action, bool)>,
    /// What they were and will be.
    pub(super) output_values: Vec<AttributeChange>,
}

/// What happens to one resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub(super) change: ResourceChange,
    pub(super) before: Option<Instance>,
    pub(super) after: Option<Instance>,
    /// How many resources have to be made before it.
    pub(super) level: usize,
    /// How long it takes to make it.
    pub(super) seconds: f64,
    /// How long it takes to delete it.
    pub(super) deletion_seconds: f64,
    /// Why it cannot be deleted.
    pub(super) refuses_deletion: Option<Diagnostic>,
    /// What turns out to be wrong once it is made.
    pub(super) regrets: Vec<Diagnostic>,
}

/// One operation on one resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'a> {
    pub(super) step: &'a Step,
    pub(super) kind: OperationKind,
}

/// Which operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    Create,
    Update,
    Delete,
}

impl OperationKind {
    /// The word of events.
    pub(super) fn action(self) -> Action {
        match self {
            Self::Create => Action::Create,
            Self::Update => Action::Update,
            Self::Delete => Action::Delete,
        }
    }
}

impl<'a> Operation<'a> {
    /// What it is done to.
    pub(super) fn instance(&self) -> Option<&'a Instance> {
        match self.kind {
            OperationKind::Delete => self.step.before.as_ref(),
            _ => self.step.after.as_ref(),
        }
    }

    /// How long it takes.
    pub(super) fn seconds(&self) -> f64 {
        match self.kind {
            OperationKind::Delete => self.step.deletion_seconds,
            _ => self.step.seconds,
        }
    }
}

impl Blueprint {
    /// The plan that people see.
    pub(super) fn plan(&self) -> Plan {
        let mut changes: Vec<ResourceChange> = self.steps.iter().map(|step| step.change.clone()).collect();
        changes.sort();
        let outputs = self
            .output_actions
            .iter()
            .filter(|(_, (action, _))| *action != Action::Noop);
        Plan {
            changes,
            outputs: outputs
                .map(|(name, (action, _))| (name.clone(), action.clone()))
                .collect(),
            output_values: self.output_values.clone(),
            drift: self.drift.iter().map(|(change, _)| change.clone()).collect(),
            errored: false,
        }
    }

    /// How many of each, as Terraform counts them.
    pub(super) fn counts(&self, operation: ChangedOperation) -> ChangeCounts {
        let count = |actions: &[Action]| {
            self.steps
                .iter()
                .filter(|step| actions.contains(&step.change.action))
                .count() as u64
        };
        ChangeCounts {
            add: count(&[Action::Create, Action::Replace]),
            change: count(&[Action::Update]),
            remove: count(&[Action::Delete, Action::Replace]),
            operation,
            ..ChangeCounts::default()
        }
    }

    /// The operations in the order they are done; those of one round are done at once. What goes goes first, and before
    /// what it depended on.
    pub(super) fn rounds(&self, state: &State) -> Vec<Vec<Operation<'_>>> {
        let instances = state.instances.values();
        let dependencies: Vec<(String, &[String])> = instances
            .map(|instance| (instance.configuration_address(), &instance.dependencies[..]))
            .collect();
        let depths = graph::depths(&dependencies);
        let mut rounds: BTreeMap<(bool, usize), Vec<Operation<'_>>> = BTreeMap::new();
        for step in &self.steps {
            let kinds: &[OperationKind] = match step.change.action {
                Action::Create => &[OperationKind::Create],
                Action::Update => &[OperationKind::Update],
                Action::Delete => &[OperationKind::Delete],
                Action::Replace => &[OperationKind::Delete, OperationKind::Create],
                _ => &[],
            };
            for kind in kinds {
                let is_change = *kind != OperationKind::Delete;
                let depth = step
                    .before
                    .as_ref()
                    .and_then(|before| depths.get(&before.configuration_address()));
                let turn = if is_change {
                    step.level
                } else {
                    usize::MAX - depth.copied().unwrap_or_default()
                };
                let operation = Operation { step, kind: *kind };
                rounds.entry((is_change, turn)).or_default().push(operation);
            }
        }
        rounds.into_values().collect()
    }
}
