//! Terraform without Terraform: an engine with no process behind it, for demonstrations and load.
//!
//! It reads the module, evaluates what it can, compares that with the state, and tells of changes in Terraform's own
//! words, so that progress, logs, plans and state are those of a real run. What it cannot evaluate gets a value that
//! says `simulated-`. Nothing real is ever made. The same seed gives the same results; time is Tokio's, so that tests
//! can turn it.
//!
//! | module | for |
//! |---|---|
//! | `source`, `configuration` | what is in the module |
//! | `variables`, `evaluate` | what its expressions come to |
//! | `graph`, `walk`, `compare`, `blueprint` | what has to be done |
//! | `session` | doing it |
//! | `state`, `events` | what is left behind and told |
//! | `behaviour` | being slow, failing, drifting |

mod behaviour;
mod blueprint;
mod compare;
mod configuration;
mod evaluate;
mod events;
mod graph;
mod identity;
mod secrecy;
mod session;
mod source;
mod state;
mod variables;
mod walk;

use std::{collections::BTreeMap, sync::Arc};

use capt_terraform::{
    diagnostics::{Class, message},
    state::{Candidate, Source, newest},
    stream::Diagnostic,
};
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;

use self::{
    behaviour::{Behaviour, Fault, Place, variable_name},
    configuration::Configuration,
    events::Events,
    identity::Identity,
    session::SimulatedSession,
    source::SourceError,
    state::State,
};
use crate::{
    Clock,
    engine::{About, Engine, EngineKind, Failure, FailureKind, Inputs, Link, Opened, Phase, StateHome, Told},
    sandbox::LocalModules,
};

/// Bytes of a message.
const MAX_MESSAGE: usize = 16 * 1024;

/// An engine that makes nothing.
pub struct SimulatedEngine {
    seed: u64,
    clock: Clock,
    memory: Arc<Mutex<Memory>>,
    modules: source::Modules,
    local: LocalModules,
}

/// What outlives a session, by uid of the Workspace.
#[derive(Default)]
struct Memory {
    /// How often it failed as it was told to, and what it was told.
    failures: BTreeMap<String, (String, u32)>,
}

impl SimulatedEngine {
    /// An engine that makes the same things up for the same seed.
    #[must_use]
    pub fn new(seed: u64, clock: Clock) -> Self {
        Self {
            seed,
            clock,
            memory: Arc::default(),
            modules: source::Modules::default(),
            local: LocalModules::Any,
        }
    }

    /// Modules of this machine come from nowhere else than there.
    #[must_use]
    pub fn with_local_modules(self, local: LocalModules) -> Self {
        Self { local, ..self }
    }

    async fn opened(&self, inputs: Inputs, link: Link) -> Result<Opened, Failure> {
        let tell = Tell {
            link,
            clock: self.clock.clone(),
        };
        tell.phase(Phase::Init);
        tell.event(|events| events.log("Simulated: no Terraform runs, and nothing real is made"));
        let configuration = self
            .modules
            .load(&inputs, &self.local)
            .await
            .map_err(|error| no_module(&error))?;
        let behaviour = behaviour(&configuration, &inputs);
        let memory = self.memory.clone();
        if let Some(fault) = fault_at(&memory, &inputs.uid, &behaviour, |fault| {
            fault.place == Place::Init
        }) {
            return Err(tell.failed(&fault, None));
        }
        let found = match &inputs.state {
            StateHome::Ours { replica, staged } => {
                let given = [replica, staged].into_iter().flatten();
                given.into_iter().try_for_each(|file| only_simulated(file))?;
                found(replica.as_deref(), staged.as_deref())
            }
            // What is in a backend may be real, and a simulation cannot look.
            StateHome::Backend => return Err(has_backend()),
        };
        let identity = Identity {
            seed: self.seed,
            workspace: inputs.uid.clone(),
        };
        let state = match &found {
            Some((_, file)) => State::parse(file).map_err(|error| unreadable_state(&error))?,
            None => State {
                lineage: identity.lineage(),
                ..State::default()
            },
        };
        Ok(Opened {
            state: found,
            missing: Vec::new(),
            // Nothing exists but what a state lists.
            is_lost: false,
            provider_lock: None,
            session: Box::new(SimulatedSession {
                configuration,
                behaviour,
                identity,
                state,
                inputs,
                tell,
                memory,
                planned: None,
            }),
        })
    }
}

impl Engine for SimulatedEngine {
    fn about(&self) -> About {
        About {
            kind: EngineKind::Simulated,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn open(&self, inputs: Inputs, link: Link) -> BoxFuture<'_, Result<Opened, Failure>> {
        self.opened(inputs, link).boxed()
    }

    fn forget(&self, uid: &str) -> BoxFuture<'_, ()> {
        let mut memory = self.memory.lock();
        memory.failures.remove(uid);
        futures::future::ready(()).boxed()
    }
}

/// The way back to the caller.
struct Tell {
    link: Link,
    clock: Clock,
}

impl Tell {
    fn phase(&self, phase: Phase) {
        self.tell(Told::Phase(phase));
    }

    fn event(&self, make: impl FnOnce(&Events) -> capt_terraform::stream::Event) {
        let events = Events { now: (self.clock)() };
        self.tell(Told::Event(Box::new(make(&events))));
    }

    /// Who does not listen any more has cancelled, and that is heard elsewhere.
    fn tell(&self, told: Told) {
        let _ = self.link.told.send(told);
    }

    /// A failure that was asked for.
    fn failed(&self, fault: &Fault, state: Option<Vec<u8>>) -> Failure {
        let diagnostic = fault.diagnostic(None);
        self.event(|events| events.diagnostic(&diagnostic));
        failure(FailureKind::Terraform(fault.class()), vec![diagnostic], state)
    }
}

fn failure(kind: FailureKind, diagnostics: Vec<Diagnostic>, state: Option<Vec<u8>>) -> Failure {
    Failure {
        kind,
        message: message(&diagnostics, MAX_MESSAGE).unwrap_or_default(),
        diagnostics,
        state,
        missing: Vec::new(),
    }
}

/// The state that counts.
fn found(replica: Option<&[u8]>, staged: Option<&[u8]>) -> Option<(Source, Vec<u8>)> {
    let candidates = [(Source::Replica, replica), (Source::Staged, staged)];
    let candidates: Vec<Candidate<'_>> = candidates
        .into_iter()
        .filter_map(|(source, file)| Some(Candidate { source, file: file? }))
        .collect();
    let (candidate, _) = newest(&candidates)?;
    Some((candidate.source, candidate.file.to_vec()))
}

/// What the simulation is told, by annotations and else by variables of the module.
fn behaviour(configuration: &Configuration, inputs: &Inputs) -> Behaviour {
    let scope = variables::scope(configuration, inputs).ok();
    Behaviour::read(|mark| {
        let variable = || scope.as_ref()?.text(&format!("var.{}", variable_name(mark)));
        inputs.simulation.get(mark).cloned().or_else(variable)
    })
}

/// The failure that is due here, if one is. Each time that one is, it is counted.
fn fault_at(
    memory: &Mutex<Memory>,
    uid: &str,
    behaviour: &Behaviour,
    is_here: impl FnOnce(&Fault) -> bool,
) -> Option<Fault> {
    let fault = behaviour.fault.clone().filter(is_here)?;
    let told = format!("{fault:?}");
    let mut memory = memory.lock();
    let entry = memory.failures.entry(uid.to_owned()).or_default();
    if entry.0 != told {
        *entry = (told, 0);
    }
    if fault.times.is_some_and(|times| entry.1 >= times) {
        return None;
    }
    entry.1 += 1;
    Some(fault)
}

fn no_module(error: &SourceError) -> Failure {
    let (kind, summary, detail) = match error {
        SourceError::Unreachable { source, .. } => (
            FailureKind::ModuleUnavailable,
            "Could not download module",
            format!("{error}: {source}"),
        ),
        SourceError::Forbidden(_) => (FailureKind::InvalidInput, "Module not allowed", error.to_string()),
        SourceError::Unreadable(unreadable) => (
            FailureKind::Terraform(Class::Configuration),
            "Argument or block definition required",
            unreadable.to_string(),
        ),
    };
    failure(kind, vec![variables::error(summary, detail)], None)
}

/// Whether nothing in this state is real.
fn only_simulated(file: &[u8]) -> Result<(), Failure> {
    match capt_terraform::state::State::parse(file) {
        Ok(state) if state.is_simulated() || state.is_empty() => Ok(()),
        Ok(_) => {
            let detail = "A real Terraform made this state, and a simulation would write made-up things over it. Run this \
                          Workspace with terraform or tofu.";
            let diagnostic = variables::error("The state is real", detail.to_owned());
            Err(failure(FailureKind::InvalidInput, vec![diagnostic], None))
        }
        Err(error) => Err(unreadable_state(&error)),
    }
}

fn has_backend() -> Failure {
    let detail = "A simulation keeps its state in the API and never in a backend. Leave the backend out, or run this \
                  Workspace with terraform or tofu.";
    let diagnostic = variables::error("The state is in a backend", detail.to_owned());
    failure(FailureKind::InvalidInput, vec![diagnostic], None)
}

fn unreadable_state(error: &dyn std::error::Error) -> Failure {
    let detail = format!("A simulation cannot read this state: {error}");
    let diagnostic = variables::error("Unsupported state file format", detail);
    failure(FailureKind::Terraform(Class::Other), vec![diagnostic], None)
}

#[cfg(test)]
mod tests;
