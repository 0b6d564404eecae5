//! An engine that does what a test says and keeps a ledger of what exists.
//!
//! The ledger and what stands on its disk outlive the runner, as clouds and disks do.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    io,
    sync::Arc,
    time::Duration,
};

use capt_runner::{
    Engines,
    engine::{
        About, Applied, Engine, EngineKind, Failure, FailureKind, Goal, Inputs, Link, Module, Opened, Phase,
        Planned, ProviderLock, Remains, Session, StateFile, StateHome, Told,
    },
    sandbox::SandboxStatus,
};
use capt_terraform::{
    diagnostics::Class,
    plan::{Plan, ResourceChange},
    state::{Candidate, Created, SIMULATED_LINEAGE, Source, newest},
    stream::{Action, Diagnostic, Line, Severity, parse_line},
};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The engine. Cloning shares everything.
#[derive(Clone, Default)]
pub(crate) struct Script(pub(crate) Arc<Mutex<Stage>>);

/// What the engine does and what came of it.
#[derive(Default)]
pub(crate) struct Stage {
    /// What exists: Terraform workspace, address, id.
    pub(crate) ledger: BTreeMap<(String, String), String>,
    /// Everything that was ever made.
    pub(crate) made: Vec<String>,
    /// State files on the disk, by uid.
    pub(crate) disk: BTreeMap<String, Vec<u8>>,
    /// The Terraform workspaces that they are of, by uid.
    pub(crate) workspaces: BTreeMap<String, String>,
    /// Something on the disk is in no state file.
    pub(crate) is_unsettled: bool,
    /// What the output of the last apply tells and no state has, by uid.
    pub(crate) output: BTreeMap<String, Vec<Created>>,
    /// Operations that ran on this machine, by uid.
    pub(crate) operations: BTreeMap<String, BTreeSet<String>>,
    /// Terraform dies with the runner. What it was making exists.
    pub(crate) dies_too: bool,
    /// Plans that were made.
    pub(crate) plans: usize,
    /// Plans that were applied.
    pub(crate) applies: usize,
    /// Sessions that are open now, and the most that ever were.
    pub(crate) open: usize,
    pub(crate) most_open: usize,
    /// How long it takes to open a session.
    pub(crate) opening: Duration,
    /// How long one resource takes.
    pub(crate) delay: Duration,
    /// What the next plans and applies fail with, by phase.
    pub(crate) plan_failures: VecDeque<Failure>,
    pub(crate) apply_failures: VecDeque<Failure>,
    /// What is printed while applying.
    pub(crate) prints: Vec<String>,
    /// What the next opening says is missing.
    pub(crate) missing: Vec<Created>,
    /// What the next plan says somebody else changed.
    pub(crate) drift: Vec<String>,
    /// What plans warn of.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Outputs that the next applies leave, if not the usual ones. Those that fail leave them too.
    pub(crate) outputs: Option<Value>,
    /// The engine is a simulation.
    pub(crate) is_simulated: bool,
    /// How far runs are confined, if it is another way.
    pub(crate) sandbox: Option<SandboxStatus>,
    /// The module turns out to have a backend of its own.
    pub(crate) has_hidden_backend: bool,
    /// What changes is replaced, and the new one is made first.
    pub(crate) replaces: bool,
    /// The provider versions that are chosen, if any providers are needed.
    pub(crate) provider_lock: Option<ProviderLock>,
    /// The provider versions that sessions were opened with.
    pub(crate) given_locks: Vec<Option<ProviderLock>>,
    /// There is no engine.
    pub(crate) is_absent: bool,
    /// uids that were forgotten.
    pub(crate) forgotten: BTreeSet<String>,
    /// Applies that were told to stop.
    pub(crate) stopped: usize,
    next_id: usize,
}

impl Script {
    /// Changes or reads what the engine does.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Stage) -> T) -> T {
        act(&mut self.0.lock())
    }

    /// What exists in one Terraform workspace.
    pub(crate) fn exists(&self, workspace: &str) -> Vec<String> {
        let all = self.with(|stage| stage.ledger.clone());
        all.into_keys()
            .filter(|(one, _)| one == workspace)
            .map(|(_, address)| address)
            .collect()
    }
}

/// A failure of some class.
pub(crate) fn failure(class: Class, text: &str) -> Failure {
    Failure {
        kind: FailureKind::Terraform(class),
        message: text.to_owned(),
        diagnostics: vec![Diagnostic {
            severity: Severity::Error,
            summary: text.to_owned(),
            ..Diagnostic::default()
        }],
        state: None,
        missing: Vec::new(),
    }
}

impl Engines for Script {
    fn for_workspace(&self, _is_sandbox: bool) -> Result<Arc<dyn Engine>, Failure> {
        if self.with(|stage| stage.is_absent) {
            return Err(Failure {
                kind: FailureKind::EngineMissing,
                message: "there is no terraform here: install it".to_owned(),
                diagnostics: Vec::new(),
                state: None,
                missing: Vec::new(),
            });
        }
        Ok(Arc::new(self.clone()))
    }
}

impl Engine for Script {
    fn about(&self) -> About {
        About {
            kind: match self.with(|stage| stage.is_simulated) {
                true => EngineKind::Simulated,
                false => EngineKind::Terraform,
            },
            version: "1.11.4".to_owned(),
        }
    }

    fn sandbox(&self) -> Option<SandboxStatus> {
        let confined = SandboxStatus::Confined { abi: 7 };
        self.with(|stage| (!stage.is_simulated).then(|| stage.sandbox.unwrap_or(confined)))
    }

    fn open(&self, inputs: Inputs, link: Link) -> BoxFuture<'_, Result<Opened, Failure>> {
        Box::pin(async move {
            let _ = link.told.send(Told::Phase(Phase::Init));
            tokio::time::sleep(self.with(|stage| stage.opening)).await;
            if self.with(|stage| stage.has_hidden_backend) {
                return Err(Failure {
                    kind: FailureKind::BackendInModule,
                    ..failure(Class::Other, "the module has a backend of its own")
                });
            }
            let (replica, staged) = match &inputs.state {
                StateHome::Ours { replica, staged } => (replica.clone(), staged.clone()),
                StateHome::Backend => (None, None),
            };
            let disk = self.with(|stage| stage.disk.get(&inputs.uid).cloned());
            let sources = [
                (Source::Replica, replica),
                (Source::Staged, staged),
                (Source::WorkingFile, disk),
            ];
            let candidates: Vec<Candidate<'_>> = sources
                .iter()
                .filter_map(|(source, file)| {
                    Some(Candidate {
                        source: *source,
                        file: file.as_deref()?,
                    })
                })
                .collect();
            let is_backend = inputs.state == StateHome::Backend;
            let found = newest(&candidates).map(|(candidate, _)| (candidate.source, candidate.file.to_vec()));
            // The same bytes in the replica and on the disk are the replica.
            let found = found.map(|(source, file)| match &sources[0].1 {
                Some(replica) if *replica == file => (Source::Replica, file),
                _ => (source, file),
            });
            let state = match &found {
                Some((_, file)) => serde_json::from_slice(file).expect("a state"),
                None => empty(self.with(|stage| stage.is_simulated)),
            };
            let (missing, is_lost) = self.with(|stage| {
                let workspace = inputs.terraform_workspace.clone();
                stage.workspaces.insert(inputs.uid.clone(), workspace);
                stage.open += 1;
                stage.most_open = stage.most_open.max(stage.open);
                let operations = stage.operations.entry(inputs.uid.clone()).or_default();
                let cut_short = inputs.cut_short.as_ref();
                let is_lost = cut_short.is_some_and(|one| !operations.contains(one));
                operations.insert(inputs.operation.clone());
                let mut missing = std::mem::take(&mut stage.missing);
                missing.extend(stage.output.get(&inputs.uid).into_iter().flatten().cloned());
                (missing, is_lost)
            });
            let provider_lock = self.with(|stage| {
                stage.given_locks.push(inputs.provider_lock.clone());
                stage.provider_lock.clone()
            });
            let provider_lock = provider_lock.filter(|lock| inputs.provider_lock.as_ref() != Some(lock));
            Ok(Opened {
                session: Box::new(Playing {
                    script: self.clone(),
                    inputs,
                    link,
                    state,
                    plan: Plan::default(),
                    making: None,
                }),
                state: found.filter(|_| !is_backend),
                missing,
                is_lost,
                provider_lock,
            })
        })
    }

    fn left_behind(&self, uid: &str, _: &str) -> BoxFuture<'_, io::Result<Vec<StateFile>>> {
        let file = self.with(|stage| stage.disk.get(uid).cloned());
        let left = file.map(|file| (Source::WorkingFile, file));
        Box::pin(async move { Ok(left.into_iter().collect()) })
    }

    fn forget(&self, uid: &str) -> BoxFuture<'_, ()> {
        self.with(|stage| {
            stage.disk.remove(uid);
            stage.forgotten.insert(uid.to_owned());
        });
        Box::pin(async {})
    }

    fn remains(&self, living: &HashSet<String>) -> BoxFuture<'_, io::Result<Vec<Remains>>> {
        let remains = self.with(|stage| {
            let dead = stage.disk.iter().filter(|(uid, _)| !living.contains(*uid));
            dead.map(|(uid, file)| Remains {
                uid: uid.clone(),
                states: vec![(stage.workspaces[uid].clone(), file.clone())],
                unsettled: stage.is_unsettled.then(|| "unsettled".to_owned()),
            })
            .collect()
        });
        Box::pin(async move { Ok(remains) })
    }
}

struct Playing {
    script: Script,
    inputs: Inputs,
    link: Link,
    state: Value,
    plan: Plan,
    making: Option<String>,
}

impl Drop for Playing {
    fn drop(&mut self) {
        let (uid, workspace) = (self.inputs.uid.clone(), self.inputs.terraform_workspace.clone());
        let making = self.making.take();
        self.script.with(|stage| {
            stage.open -= 1;
            if let Some(address) = making.filter(|_| stage.dies_too) {
                stage
                    .ledger
                    .insert((workspace, address.clone()), "lost".to_owned());
                stage.output.entry(uid).or_default().push(Created {
                    address,
                    id: None,
                    unfinished: true,
                    ..Created::default()
                });
            }
        });
    }
}

impl Session for Playing {
    fn plan(&mut self, goal: Goal) -> BoxFuture<'_, Result<Planned, Failure>> {
        Box::pin(async move {
            let _ = self.link.told.send(Told::Phase(Phase::Plan));
            let (failed, drift) = self.script.with(|stage| {
                stage.plans += 1;
                (stage.plan_failures.pop_front(), std::mem::take(&mut stage.drift))
            });
            if let Some(failure) = failed {
                return Err(failure);
            }
            let wanted = match goal {
                Goal::Converge => self.wanted(),
                Goal::Destroy => BTreeMap::new(),
            };
            let has: BTreeMap<String, String> = instances(&self.state);
            let mut changes = Vec::new();
            let change = |address: &str, action| ResourceChange {
                address: address.to_owned(),
                resource_type: "thing".to_owned(),
                action,
                ..ResourceChange::default()
            };
            for (address, input) in &wanted {
                match has.get(address) {
                    None => changes.push(change(address, Action::Create)),
                    Some(old) if old != input => changes.push(change(
                        address,
                        match self.script.with(|stage| stage.replaces) {
                            true => Action::Replace,
                            false => Action::Update,
                        },
                    )),
                    Some(_) => {}
                }
            }
            let targets = self.inputs.args.destroy.iter();
            let targets: Vec<&str> = targets.filter_map(|arg| arg.strip_prefix("-target=")).collect();
            let is_left_out =
                |address: &str| goal == Goal::Destroy && !targets.is_empty() && !targets.contains(&address);
            for address in has.keys().filter(|address| !wanted.contains_key(*address)) {
                if is_left_out(address) {
                    continue;
                }
                changes.push(change(address, Action::Delete));
            }
            let drift = drift
                .iter()
                .map(|address| change(address, Action::Update))
                .collect();
            self.plan = Plan {
                changes,
                drift,
                ..Plan::default()
            };
            let text = match self.plan.is_empty() {
                true => String::new(),
                false => self.plan.text(100),
            };
            Ok(Planned {
                id: self.plan.id(),
                plan: self.plan.clone(),
                text,
                warnings: self.script.with(|stage| stage.warnings.clone()),
                state: (!self.is_backend()).then(|| self.file()),
            })
        })
    }

    fn settle_missing(&mut self) -> BoxFuture<'_, Result<(), Failure>> {
        self.script.with(|stage| stage.output.remove(&self.inputs.uid));
        Box::pin(async { Ok(()) })
    }

    fn state(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        let file = self.is_backend().then(|| {
            let stage = self.script.0.lock();
            stage.disk.get(&self.inputs.uid).cloned()
        });
        Box::pin(async move { Ok(file.flatten()) })
    }

    fn apply(&mut self) -> BoxFuture<'_, Result<Applied, Failure>> {
        Box::pin(async move {
            let _ = self.link.told.send(Told::Phase(Phase::Apply));
            let (delay, prints) = self.script.with(|stage| {
                stage.applies += 1;
                stage.output.remove(&self.inputs.uid);
                (stage.delay, stage.prints.clone())
            });
            for text in prints {
                let _ = self.link.told.send(Told::Text(text));
            }
            for change in &self.plan.changes {
                self.tell(
                    "planned_change",
                    &json!({"change": {"resource": resource(&change.address), "action": change.action}}),
                );
            }
            let changes = self.plan.changes.clone();
            for change in changes {
                let hook = json!({"hook": {"resource": resource(&change.address), "action": change.action}});
                self.tell("apply_start", &hook);
                self.making = Some(change.address.clone()).filter(|_| change.action == Action::Create);
                tokio::select! {
                    biased;
                    () = self.link.cancel.cancelled() => {
                        self.making = None;
                        self.script.with(|stage| stage.stopped += 1);
                        return Err(Failure {
                            kind: FailureKind::Cancelled,
                            message: "stopped".to_owned(),
                            diagnostics: Vec::new(),
                            state: Some(self.file()),
                            missing: Vec::new(),
                        });
                    }
                    () = tokio::time::sleep(delay) => {}
                }
                self.making = None;
                // Who dies before it fails, fails the next time.
                if let Some(mut failure) = self.script.with(|stage| stage.apply_failures.pop_front()) {
                    self.script.with(|stage| {
                        let output = stage.output.entry(self.inputs.uid.clone()).or_default();
                        output.extend(failure.missing.iter().cloned());
                    });
                    self.tell("apply_errored", &hook);
                    if self.script.with(|stage| stage.outputs.is_some()) {
                        self.write_outputs();
                    }
                    failure.state = Some(self.file());
                    return Err(failure);
                }
                self.do_it(&change);
                self.tell("apply_complete", &hook);
            }
            self.write_outputs();
            Ok(Applied {
                state: self.file(),
                warnings: Vec::new(),
            })
        })
    }
}

impl Playing {
    /// What is on the disk stands for a backend of the user's.
    fn is_backend(&self) -> bool {
        self.inputs.state == StateHome::Backend
    }

    /// What the module wants: addresses, and what each is made from.
    fn wanted(&self) -> BTreeMap<String, String> {
        let Module::Hcl(text) = &self.inputs.module else {
            return BTreeMap::new();
        };
        let input = format!("{:?}", (&self.inputs.vars, &self.inputs.env));
        text.lines()
            .filter_map(|line| line.strip_prefix("resource \"thing\" \""))
            .filter_map(|rest| rest.split('"').next())
            .map(|name| (format!("thing.{name}"), input.clone()))
            .collect()
    }

    fn do_it(&mut self, change: &ResourceChange) {
        let key = (self.inputs.terraform_workspace.clone(), change.address.clone());
        let input = self.wanted().remove(&change.address).unwrap_or_default();
        let resources = self.state["resources"].as_array_mut().expect("a list");
        let name = change.address.trim_start_matches("thing.");
        resources.retain(|resource| resource["name"] != name || change.action == Action::Update);
        let id = self.script.with(|stage| match change.action {
            Action::Create => {
                stage.next_id += 1;
                let id = format!("id-{}", stage.next_id);
                assert!(
                    stage.ledger.insert(key.clone(), id.clone()).is_none(),
                    "{key:?} was made twice"
                );
                stage.made.push(format!("{}/{}", key.0, key.1));
                id
            }
            Action::Replace => {
                stage.next_id += 1;
                let id = format!("id-{}", stage.next_id);
                stage.ledger.insert(key.clone(), id.clone());
                stage.made.push(format!("{}/{}", key.0, key.1));
                id
            }
            Action::Delete => stage.ledger.remove(&key).unwrap_or_default(),
            _ => stage.ledger.get(&key).cloned().unwrap_or_default(),
        });
        match change.action {
            Action::Create | Action::Replace => resources.push(json!({
                "mode": "managed", "type": "thing", "name": name,
                "provider": "provider[\"test/thing\"]",
                "instances": [{"schema_version": 0, "attributes": {"id": id, "input": input}}],
            })),
            Action::Update => {
                for resource in resources.iter_mut().filter(|resource| resource["name"] == name) {
                    resource["instances"][0]["attributes"]["input"] = json!(input);
                }
            }
            _ => {}
        }
        self.save();
    }

    fn write_outputs(&mut self) {
        let exists = !self.state["resources"].as_array().expect("a list").is_empty();
        let other = self.script.with(|stage| stage.outputs.clone());
        self.state["outputs"] = match (exists, other) {
            (true, Some(outputs)) => outputs,
            (true, None) => json!({
                "count": {"value": self.state["resources"].as_array().map(Vec::len), "type": "number"},
                "token": {"value": "output-that-is-secret", "type": "string", "sensitive": true},
            }),
            (false, _) => json!({}),
        };
        self.save();
    }

    fn save(&mut self) {
        let serial = self.state["serial"].as_u64().unwrap_or_default();
        self.state["serial"] = json!(serial + 1);
        let file = self.file();
        self.script
            .with(|stage| stage.disk.insert(self.inputs.uid.clone(), file.clone()));
        let _ = self.link.told.send(Told::State(file));
    }

    fn file(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(&self.state).expect("it can be written")
    }

    fn tell(&self, kind: &str, rest: &Value) {
        let mut event = json!({
            "@level": "info", "@message": format!("{kind} of something"), "@module": "terraform.ui", "type": kind,
        });
        for (name, value) in rest.as_object().expect("an object") {
            event[name] = value.clone();
        }
        if let Line::Event(event) = parse_line(event.to_string().as_bytes()) {
            let _ = self.link.told.send(Told::Event(event));
        }
    }
}

fn resource(address: &str) -> Value {
    json!({
        "addr": address, "module": "", "resource": address, "implied_provider": "thing",
        "resource_type": "thing", "resource_name": address.trim_start_matches("thing."), "resource_key": null,
    })
}

fn instances(state: &Value) -> BTreeMap<String, String> {
    let resources = state["resources"].as_array().expect("a list");
    resources
        .iter()
        .map(|resource| {
            let input = resource["instances"][0]["attributes"]["input"]
                .as_str()
                .unwrap_or_default();
            (
                format!("thing.{}", resource["name"].as_str().unwrap_or_default()),
                input.to_owned(),
            )
        })
        .collect()
}

fn empty(is_simulated: bool) -> Value {
    let lineage = match is_simulated {
        true => format!("{SIMULATED_LINEAGE}lineage"),
        false => "lineage".to_owned(),
    };
    json!({
        "version": 4, "terraform_version": "1.11.4", "serial": 0, "lineage": lineage,
        "outputs": {}, "resources": [], "check_results": null,
    })
}
