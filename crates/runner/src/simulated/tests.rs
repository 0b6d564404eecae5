mod behaving;
mod lifecycle;
mod modules;

use std::{collections::BTreeMap, sync::Arc};

use capt_terraform::{
    redact::Secrets,
    state::State as ParsedState,
    stream::{Action, Event, Kind, Step},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::engine::{Applied, ExtraArgs, Goal, Module, Planned, Session};

/// One Workspace, and what is kept of it between operations.
struct World {
    engine: SimulatedEngine,
    inputs: Inputs,
    replica: Option<Vec<u8>>,
    cancel: CancellationToken,
    told: Vec<Told>,
}

impl World {
    fn new(module: &str) -> Self {
        Self {
            engine: SimulatedEngine::new(7, Arc::new(|| Timestamp::UNIX_EPOCH)),
            inputs: Inputs {
                uid: "uid-1".to_owned(),
                operation: String::new(),
                cut_short: None,
                terraform_workspace: "demo".to_owned(),
                module: Module::Hcl(module.to_owned()),
                entrypoint: String::new(),
                files: Vec::new(),
                vars: Vec::new(),
                var_files: Vec::new(),
                env: Vec::new(),
                args: ExtraArgs::default(),
                state: StateHome::Ours {
                    replica: None,
                    staged: None,
                },
                inherits_identity: false,
                plugin_cache: false,
                provider_lock: None,
                secrets: Secrets::default(),
                simulation: BTreeMap::new(),
            },
            replica: None,
            cancel: CancellationToken::new(),
            told: Vec::new(),
        }
    }

    fn module(&mut self, text: &str) {
        self.inputs.module = Module::Hcl(text.to_owned());
    }

    fn var(&mut self, name: &str, value: &str) {
        self.inputs.vars.retain(|(known, _)| known != name);
        self.inputs.vars.push((name.to_owned(), value.to_owned()));
    }

    fn mark(&mut self, mark: &str, value: &str) {
        self.inputs.simulation.insert(mark.to_owned(), value.to_owned());
    }

    async fn open(&mut self) -> Result<(Box<dyn Session>, mpsc::UnboundedReceiver<Told>), Failure> {
        let (told, heard) = mpsc::unbounded_channel();
        let mut inputs = self.inputs.clone();
        if let StateHome::Ours { replica, .. } = &mut inputs.state {
            replica.clone_from(&self.replica);
        }
        let link = Link {
            told,
            cancel: self.cancel.clone(),
        };
        let opened = self.engine.open(inputs, link).await?;
        Ok((opened.session, heard))
    }

    async fn plan(&mut self, goal: Goal) -> Result<Planned, Failure> {
        let (mut session, heard) = self.open().await?;
        let planned = session.plan(goal).await;
        self.hear(heard);
        planned
    }

    async fn run(&mut self, goal: Goal) -> Result<(Planned, Applied), Failure> {
        let (mut session, heard) = self.open().await?;
        let done = match session.plan(goal).await {
            Ok(planned) => session.apply().await.map(|applied| (planned, applied)),
            Err(failure) => Err(failure),
        };
        self.hear(heard);
        done
    }

    async fn apply(&mut self) -> (Planned, Applied) {
        self.run(Goal::Converge).await.unwrap()
    }

    fn hear(&mut self, mut heard: mpsc::UnboundedReceiver<Told>) {
        self.told.clear();
        while let Ok(told) = heard.try_recv() {
            if let Told::State(file) = &told {
                self.replica = Some(file.clone());
            }
            self.told.push(told);
        }
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.told.iter().filter_map(|told| match told {
            Told::Event(event) => Some(&**event),
            _ => None,
        })
    }

    /// What was done to resources: action, address and how it went.
    fn operations(&self) -> Vec<String> {
        self.events()
            .filter_map(|event| match &event.kind {
                Kind::Apply(Step::Complete, hook) => Some(format!("{} {}", hook.action, hook.resource.addr)),
                Kind::Apply(Step::Errored, hook) => {
                    Some(format!("failed {} {}", hook.action, hook.resource.addr))
                }
                _ => None,
            })
            .collect()
    }

    fn state(&self) -> ParsedState {
        ParsedState::parse(self.replica.as_ref().expect("there is no state")).unwrap()
    }

    fn output(&self, name: &str) -> Value {
        self.state().outputs[name].value.clone()
    }
}

fn changes(planned: &Planned) -> Vec<String> {
    let reason = |change: &capt_terraform::plan::ResourceChange| {
        change
            .reason
            .as_ref()
            .map(|reason| format!(" ({reason})"))
            .unwrap_or_default()
    };
    let changes = planned.plan.changes.iter();
    changes
        .map(|change| format!("{} {}{}", change.action, change.address, reason(change)))
        .collect()
}

#[tokio::test]
async fn a_module_is_read_once_for_many_workspaces_and_few_are_remembered() {
    let modules = source::Modules::default();
    let module = |number: usize| format!("locals {{\n  number = {number}\n}}");
    let load = async |inputs: &Inputs| modules.load(inputs, &LocalModules::Any).await;
    let first = load(&World::new(&module(0)).inputs).await.unwrap();
    let again = load(&World::new(&module(0)).inputs).await.unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let other = load(&World::new(&module(1)).inputs).await.unwrap();
    assert!(!Arc::ptr_eq(&first, &other));
    // The same text means something else as JSON.
    let mut json = World::new(&module(0)).inputs;
    json.module = Module::Json(module(0));
    assert!(load(&json).await.is_err());
    for number in 2..20 {
        load(&World::new(&module(number)).inputs).await.unwrap();
    }
    drop((first, again));
    let weak = Arc::downgrade(&other);
    drop(other);
    assert_eq!(weak.strong_count(), 0);
}
