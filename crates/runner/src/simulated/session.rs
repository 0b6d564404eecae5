//! Planning and applying.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use capt_terraform::{
    diagnostics::{Class, verdict},
    stream::{ChangedOperation, Diagnostic, Step as Moment},
};
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use super::{
    Memory, Tell,
    behaviour::{Behaviour, Place},
    blueprint::{Blueprint, Operation, OperationKind},
    configuration::Configuration,
    failure, fault_at,
    identity::Identity,
    state::State,
    variables::{self, error},
    walk::Walk,
};
use crate::engine::{Applied, Failure, FailureKind, Goal, Inputs, Phase, Planned, Session, Told};

/// How often an operation that goes on is told of.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Lines of a plan for people.
const PLAN_LINES: usize = 500;

/// A simulation of one Workspace.
pub(super) struct SimulatedSession {
    pub(super) configuration: Arc<Configuration>,
    pub(super) behaviour: Behaviour,
    pub(super) identity: Identity,
    pub(super) state: State,
    pub(super) inputs: Inputs,
    pub(super) tell: Tell,
    pub(super) memory: Arc<Mutex<Memory>>,
    pub(super) planned: Option<(Goal, Blueprint)>,
}

impl Session for SimulatedSession {
    fn plan(&mut self, goal: Goal) -> BoxFuture<'_, Result<Planned, Failure>> {
        let planned = self.plan_now(goal);
        futures::future::ready(planned).boxed()
    }

    fn apply(&mut self) -> BoxFuture<'_, Result<Applied, Failure>> {
        self.apply_now().boxed()
    }
}

impl SimulatedSession {
    fn plan_now(&mut self, goal: Goal) -> Result<Planned, Failure> {
        self.planned = None;
        self.tell.phase(Phase::Plan);
        if self.tell.link.cancel.is_cancelled() {
            return Err(self.cancelled(None));
        }
        for (address, instance) in &self.state.instances {
            for step in [Moment::Started, Moment::Complete] {
                self.tell.event(|events| events.refresh(step, address, instance));
            }
        }
        let is_here = |fault: &super::Fault| fault.place == Place::Plan;
        if let Some(fault) = fault_at(&self.memory, &self.inputs.uid, &self.behaviour, is_here) {
            return Err(self.tell.failed(&fault, None));
        }
        let blueprint = self.compare(goal).map_err(|problems| self.refused(problems))?;
        for (change, instance) in &blueprint.drift {
            self.tell.event(|events| events.drift(change, instance));
        }
        self.tell_changes(&blueprint);
        self.tell
            .event(|events| events.summary(blueprint.counts(ChangedOperation::Plan)));
        self.tell
            .event(|events| events.planned_outputs(&blueprint.output_actions));

        let warnings = variables::undeclared(&self.configuration, &self.inputs);
        for warning in &warnings {
            self.tell.event(|events| events.diagnostic(warning));
        }
        let plan = blueprint.plan();
        let planned = Planned {
            id: plan.id(),
            text: if plan.is_empty() {
                String::new()
            } else {
                plan.text(PLAN_LINES)
            },
            warnings,
            state: (self.state.serial > 0).then(|| self.state.file()),
            plan,
        };
        self.planned = Some((goal, blueprint));
        Ok(planned)
    }

    fn compare(&self, goal: Goal) -> Result<Blueprint, Vec<Diagnostic>> {
        let scope = match (variables::scope(&self.configuration, &self.inputs), goal) {
            (Ok(scope), _) => scope,
            // What is to go needs no values, apart from those that it remembers itself.
            (Err(_), Goal::Destroy) => super::evaluate::Scope::default(),
            (Err(problems), Goal::Converge) => return Err(problems),
        };
        let walk = Walk {
            configuration: &self.configuration,
            state: &self.state,
            behaviour: &self.behaviour,
            identity: &self.identity,
            scope,
        };
        match goal {
            Goal::Converge => walk.converge(),
            Goal::Destroy => walk.destroy(),
        }
    }

    fn tell_changes(&self, blueprint: &Blueprint) {
        for step in &blueprint.steps {
            if let Some(instance) = step.after.as_ref().or(step.before.as_ref()) {
                self.tell.event(|events| events.planned(&step.change, instance));
            }
        }
    }

    async fn apply_now(&mut self) -> Result<Applied, Failure> {
        self.tell.phase(Phase::Apply);
        let Some((goal, blueprint)) = self.planned.take() else {
            let diagnostic = error(
                "Saved plan is stale",
                "There is no plan that was not applied.".to_owned(),
            );
            return Err(failure(
                FailureKind::Terraform(Class::StalePlan),
                vec![diagnostic],
                None,
            ));
        };
        self.tell_changes(&blueprint);
        let mut failed = Failed::default();
        for round in blueprint.rounds(&self.state.clone()) {
            let due: Vec<Operation<'_>> = round
                .into_iter()
                .filter(|operation| !failed.stops(operation))
                .collect();
            self.round(&due, &mut failed).await?;
        }
        if !failed.diagnostics.is_empty() {
            return Err(self.refused(failed.diagnostics));
        }
        if self.state.outputs != blueprint.outputs || self.state.serial == 0 {
            self.state.outputs = blueprint.outputs.clone();
            self.keep();
        }
        let operation = match goal {
            Goal::Converge => ChangedOperation::Apply,
            Goal::Destroy => ChangedOperation::Destroy,
        };
        self.tell
            .event(|events| events.summary(blueprint.counts(operation)));
        self.tell.event(|events| events.outputs(&self.state.outputs));
        Ok(Applied {
            state: self.state.file(),
            warnings: Vec::new(),
        })
    }

    /// Operations that begin together. Each ends in its own time.
    async fn round(&mut self, due: &[Operation<'_>], failed: &mut Failed) -> Result<(), Failure> {
        let begin = Instant::now();
        for operation in due {
            self.tell_step(Moment::Started, operation, 0.0);
        }
        for (at, operations) in timeline(due) {
            tokio::select! {
                biased;
                () = self.tell.link.cancel.cancelled() => return Err(self.cancelled(Some(self.state.file()))),
                () = sleep_until(begin + at) => {}
            }
            let mut has_changed = false;
            for (operation, ends) in operations {
                if ends {
                    has_changed |= self.end(operation, failed);
                } else {
                    self.tell_step(Moment::Progress, operation, at.as_secs_f64());
                }
            }
            if has_changed {
                self.keep();
            }
        }
        Ok(())
    }

    /// Ends an operation, and says whether the state changed.
    fn end(&mut self, operation: &Operation<'_>, failed: &mut Failed) -> bool {
        let step = operation.step;
        let address = &step.change.address;
        let is_deletion = operation.kind == OperationKind::Delete;
        let fault = fault_at(&self.memory, &self.inputs.uid, &self.behaviour, |fault| {
            if is_deletion {
                fault.hits_deletion(address)
            } else {
                fault.hits_change(address)
            }
        });
        let refusal = fault.map(|fault| fault.diagnostic(Some(address)));
        if let Some(diagnostic) = refusal.or_else(|| step.refuses_deletion.clone().filter(|_| is_deletion)) {
            self.tell_step(Moment::Errored, operation, operation.seconds());
            failed.add(operation, diagnostic);
            return false;
        }
        match (&step.after, is_deletion) {
            (Some(after), false) => {
                self.state.instances.insert(address.clone(), after.clone());
                for regret in &step.regrets {
                    failed.add(operation, regret.clone());
                }
            }
            _ => {
                self.state.instances.remove(address);
            }
        }
        self.tell_step(Moment::Complete, operation, operation.seconds());
        true
    }

    fn tell_step(&self, moment: Moment, operation: &Operation<'_>, seconds: f64) {
        let address = &operation.step.change.address;
        if let Some(instance) = operation.instance() {
            let action = operation.kind.action();
            self.tell
                .event(|events| events.apply(moment, address, instance, &action, seconds));
        }
    }

    /// Writes the state.
    fn keep(&mut self) {
        self.state.serial += 1;
        self.tell.tell(Told::State(self.state.file()));
    }

    fn refused(&self, diagnostics: Vec<Diagnostic>) -> Failure {
        for diagnostic in &diagnostics {
            self.tell.event(|events| events.diagnostic(diagnostic));
        }
        let transient = self.behaviour.fault.as_ref().filter(|fault| {
            fault.transient
                && diagnostics
                    .iter()
                    .all(|diagnostic| diagnostic.summary == fault.message)
        });
        let class = transient
            .map(super::Fault::class)
            .or_else(|| verdict(&diagnostics));
        let kind = FailureKind::Terraform(class.unwrap_or(Class::Other));
        failure(
            kind,
            diagnostics,
            (self.state.serial > 0).then(|| self.state.file()),
        )
    }

    fn cancelled(&self, state: Option<Vec<u8>>) -> Failure {
        let diagnostic = error(
            "Operation canceled",
            "The simulation was asked to stop.".to_owned(),
        );
        self.tell.event(|events| events.diagnostic(&diagnostic));
        failure(FailureKind::Cancelled, vec![diagnostic], state)
    }
}

/// What did not succeed.
#[derive(Default)]
struct Failed {
    diagnostics: Vec<Diagnostic>,
    addresses: BTreeSet<String>,
    /// Addresses without keys, that nothing may follow.
    resources: BTreeSet<String>,
    /// What the failed deletions need, and so must stay.
    needed: BTreeSet<String>,
}

impl Failed {
    fn add(&mut self, operation: &Operation<'_>, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
        self.block(operation);
    }

    fn block(&mut self, operation: &Operation<'_>) {
        self.addresses.insert(operation.step.change.address.clone());
        let Some(instance) = operation.instance() else {
            return;
        };
        self.resources.insert(instance.configuration_address());
        if operation.kind == OperationKind::Delete {
            self.needed.extend(instance.dependencies.iter().cloned());
        }
    }

    /// Whether an operation has to wait for something that failed; then whatever waits for it has to as well.
    fn stops(&mut self, operation: &Operation<'_>) -> bool {
        let Some(instance) = operation.instance() else {
            return true;
        };
        let waits_in_vain = match operation.kind {
            OperationKind::Delete => self.needed.contains(&instance.configuration_address()),
            _ => instance.dependencies.iter().any(|on| self.resources.contains(on)),
        };
        let stops = waits_in_vain || self.addresses.contains(&operation.step.change.address);
        if stops {
            self.block(operation);
        }
        stops
    }
}

/// When something happens to operations that begin together: they end, or they are still going on.
fn timeline<'a, 'b>(due: &'b [Operation<'a>]) -> Vec<(Duration, Vec<(&'b Operation<'a>, bool)>)> {
    let mut moments: Vec<(Duration, &Operation<'a>, bool)> = Vec::new();
    for operation in due {
        let end = Duration::from_secs_f64(operation.seconds());
        let beats = (1..).map(|beat| HEARTBEAT * beat).take_while(|at| *at < end);
        moments.extend(beats.map(|at| (at, operation, false)));
        moments.push((end, operation, true));
    }
    moments.sort_by_key(|(at, _, _)| *at);
    let mut timeline: Vec<(Duration, Vec<(&Operation<'a>, bool)>)> = Vec::new();
    for (at, operation, ends) in moments {
        match timeline.last_mut() {
            Some((same, operations)) if *same == at => operations.push((operation, ends)),
            _ => timeline.push((at, vec![(operation, ends)])),
        }
    }
    timeline
}
