//! A tiny world: what becomes of a snapshot when a decision is carried out, and when Terraform acts.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{
    WorkspaceTemplateApply,
    captcontrolplane::CAPTControlPlaneStatus,
    conditions::set_condition,
    marks,
    workspacetemplateapply::{WorkspaceProgress, WorkspaceTemplateApplySpec},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use serde_json::{Value, json};

use super::{
    super::{
        Snapshot, decide,
        snapshot::{Hidden, Probe, SecretSeen, Silence},
    },
    CA, at,
};
use crate::{
    decision::{Decision, Desired, Guard},
    owned::{OwnedSeen, Trouble, TroubleClass, WorkspaceGlance},
};

pub(super) type Decided = Decision<CAPTControlPlaneStatus>;

/// More decisions than any way through the rules takes.
const MANY: usize = 30;

/// How Terraform fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terraform {
    Works,
    Hangs,
    Fails(TroubleClass),
}

/// A world with one CAPTControlPlane in it.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) snapshot: Snapshot,
    pub(super) is_gone: bool,
    pub(super) terraform: Terraform,
    /// Those for which it fails, whatever it does for the others.
    pub(super) fails_for: Vec<String>,
    /// Destroying takes longer than anybody looks.
    pub(super) goes_slowly: bool,
    /// What the module says; also the version, if that is not in it.
    pub(super) outputs: BTreeMap<String, Value>,
    /// What it says and is sensitive.
    pub(super) hidden_outputs: BTreeMap<String, String>,
    /// The API server answers.
    pub(super) answers: bool,
    /// Every state that was gone through, and why.
    pub(super) events: Vec<String>,
    /// Names of what was destroyed, in order.
    pub(super) destroyed: Vec<String>,
    /// Seconds since the beginning.
    pub(super) clock: i64,
    made: usize,
    /// The spec of each WorkspaceTemplateApply as it was last authored, by uid.
    authored: BTreeMap<String, Value>,
}

impl World {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            is_gone: false,
            terraform: Terraform::Works,
            goes_slowly: false,
            fails_for: Vec::new(),
            outputs: BTreeMap::from([
                ("cluster_endpoint".to_owned(), json!("https://10.0.0.1:6443")),
                (
                    "cluster_certificate_authority_data".to_owned(),
                    json!(STANDARD.encode(CA)),
                ),
            ]),
            hidden_outputs: BTreeMap::from([(
                "kubeconfig".to_owned(),
                "clusters: []\nusers: []\n".to_owned(),
            )]),
            answers: true,
            events: Vec::new(),
            destroyed: Vec::new(),
            clock: 0,
            made: 0,
            authored: BTreeMap::new(),
        }
    }

    pub(super) fn status(&self) -> CAPTControlPlaneStatus {
        self.snapshot.control_plane.status.clone().unwrap_or_default()
    }

    pub(super) fn apply(&self) -> &OwnedSeen {
        self.snapshot.applies.first().expect("a WorkspaceTemplateApply")
    }

    pub(super) fn apply_mut(&mut self) -> &mut OwnedSeen {
        self.snapshot
            .applies
            .first_mut()
            .expect("a WorkspaceTemplateApply")
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let variables = self.apply().wta.spec.variables.as_ref()?;
        variables.get(name).map(String::as_str)
    }

    pub(super) fn decide(&self) -> Decided {
        decide(&self.snapshot, at(self.clock))
    }

    /// Decides and carries it out.
    pub(super) fn step(&mut self) -> Decided {
        let decision = self.decide();
        self.carry_out(&decision, usize::MAX);
        decision
    }

    /// Decides until there is nothing more to do, while nobody else acts.
    pub(super) fn calm(&mut self) {
        for _ in 0..MANY {
            if self.is_gone || self.step().is_quiet() {
                return;
            }
        }
        panic!("this goes on for ever: {:#?}", self.step());
    }

    /// Decides and lets everybody act until nothing changes any more.
    pub(super) fn settle(&mut self) {
        for _ in 0..MANY {
            self.calm();
            let before = self.snapshot.clone();
            self.act();
            if before == self.snapshot || self.is_gone {
                return;
            }
        }
        panic!("this goes on for ever");
    }

    pub(super) fn pass(&mut self, minutes: i64) {
        self.clock += 60 * minutes;
    }

    /// Carries out the first so many writes of a decision. Gives how many it has.
    pub(super) fn carry_out(&mut self, decision: &Decided, limit: usize) -> usize {
        let mut writes = 0;
        let mut goes_on = || {
            writes += 1;
            writes <= limit
        };
        for child in &decision.children {
            if goes_on() {
                match child.target.kind.as_str() {
                    "WorkspaceTemplateApply" => self.write_apply(child),
                    _ => self.write_secret(child),
                }
                let loss = child.loss.iter();
                self.events
                    .extend(loss.map(|event| format!("{}: {}", event.reason, event.message)));
            }
        }
        let mut goes_on = || {
            writes += 1;
            writes <= limit
        };
        for removal in &decision.removals {
            if goes_on() {
                self.remove(&removal.target.kind, &removal.uid, &removal.resource_version);
            }
        }
        let own = &decision.own;
        let has_metadata = !own.add_finalizers.is_empty()
            || !own.remove_finalizers.is_empty()
            || !own.annotations.is_empty()
            || !own.spec.is_empty();
        if has_metadata && goes_on() {
            self.write_own(decision);
        }
        if let Some(status) = &own.status
            && goes_on()
        {
            assert_ne!(
                self.snapshot.control_plane.status.as_ref(),
                Some(status),
                "written although it is the same"
            );
            self.snapshot.control_plane.status = Some(status.clone());
            let events = decision.events.iter();
            self.events
                .extend(events.map(|event| format!("{}: {}", event.reason, event.message)));
        }
        writes
    }

    fn write_own(&mut self, decision: &Decided) {
        let control_plane = &mut self.snapshot.control_plane;
        let metadata = &mut control_plane.metadata;
        let finalizers = metadata.finalizers.get_or_insert_default();
        finalizers.extend(decision.own.add_finalizers.iter().cloned());
        finalizers.retain(|name| !decision.own.remove_finalizers.contains(name));
        self.is_gone |= finalizers.is_empty() && metadata.deletion_timestamp.is_some();
        let annotations = metadata.annotations.get_or_insert_default();
        for (name, value) in &decision.own.annotations {
            if name == marks::TURN {
                assert!(decision.own.only_if_unchanged, "a turn is guarded");
            }
            match value {
                Some(value) => annotations.insert(name.clone(), value.clone()),
                None => annotations.remove(name),
            };
        }
        if !decision.own.spec.is_empty() {
            let mut spec = serde_json::to_value(&control_plane.spec).expect("a spec");
            for (name, value) in &decision.own.spec {
                spec[name] = value.clone();
            }
            control_plane.spec = serde_json::from_value(spec).expect("a spec");
            metadata.generation = metadata.generation.map(|generation| generation + 1);
        }
    }

    fn write_apply(&mut self, child: &Desired) {
        self.made += 1;
        let uid = format!("wta-{}", self.made);
        let applies = &mut self.snapshot.applies;
        let position = applies.iter().position(|seen| seen.name() == child.target.name);
        let index = match (&child.guard, position) {
            (Guard::Absent, None) => {
                let spec: WorkspaceTemplateApplySpec =
                    serde_json::from_value(child.fields["spec"].clone()).expect("a whole spec");
                let mut wta = WorkspaceTemplateApply::new(&child.target.name, spec);
                wta.metadata.namespace.clone_from(&child.target.namespace);
                wta.metadata.uid = Some(uid);
                applies.push(OwnedSeen {
                    wta,
                    trouble: None,
                    workspace: None,
                    run: None,
                });
                applies.len() - 1
            }
            (Guard::Uid(uid), Some(index)) => {
                assert_eq!(applies[index].uid(), uid);
                index
            }
            (guard, position) => panic!("{guard:?} {position:?}"),
        };
        let seen = &mut applies[index];
        let mut spec = serde_json::to_value(&seen.wta.spec).expect("a spec");
        let before = spec.clone();
        let new = &child.fields["spec"];
        let authored = self.authored.insert(seen.uid().to_owned(), new.clone());
        retract(&mut spec, &authored.unwrap_or_default(), new);
        merge(&mut spec, new);
        seen.wta.spec = serde_json::from_value(spec.clone()).expect("a spec");
        let metadata = &mut seen.wta.metadata;
        if spec != before || metadata.generation.is_none() {
            metadata.generation = Some(metadata.generation.unwrap_or_default() + 1);
        }
        metadata.resource_version = Some(format!("{}", self.made));
        let written = &child.fields["metadata"];
        metadata
            .labels
            .get_or_insert_default()
            .extend(texts(&written["labels"]));
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.extend(texts(&written["annotations"]));
        annotations.retain(|name, _| !child.strip.annotations.contains(name));
        metadata.owner_references =
            serde_json::from_value(written["ownerReferences"].clone()).expect("references");
    }

    fn write_secret(&mut self, child: &Desired) {
        let secret = SecretSeen {
            name: child.target.name.clone(),
            uid: format!("secret {}", child.target.name),
            resource_version: "1".to_owned(),
            type_: child.fields["type"].as_str().unwrap_or_default().to_owned(),
            deleting: false,
            labels: texts(&child.fields["metadata"]["labels"]),
            annotations: texts(&child.fields["metadata"]["annotations"]),
            controller: Some(("CAPTControlPlane/blue".to_owned(), "cp-1".to_owned())),
            data: texts(&child.fields["data"])
                .into_iter()
                .map(|(key, value)| {
                    let text = STANDARD.decode(value).expect("base64");
                    (key, Hidden::new(String::from_utf8(text).expect("text")))
                })
                .collect(),
        };
        let place = self.secret(&child.target.name);
        assert_eq!(child.guard == Guard::Absent, place.is_none());
        *place = Some(secret);
    }

    pub(super) fn secret(&mut self, name: &str) -> &mut Option<SecretSeen> {
        match name {
            "blue-kubeconfig" => &mut self.snapshot.kubeconfig,
            "blue-user-kubeconfig" => &mut self.snapshot.user_kubeconfig,
            "blue-ca" => &mut self.snapshot.ca,
            other => panic!("a Secret that nobody asked for: {other}"),
        }
    }

    fn remove(&mut self, kind: &str, uid: &str, resource_version: &str) {
        if kind == "Secret" {
            let name = uid.strip_prefix("secret ").expect("one of ours").to_owned();
            *self.secret(&name) = None;
            return;
        }
        let seen = self.snapshot.applies.iter_mut().find(|seen| seen.uid() == uid);
        let metadata = &mut seen.expect("it is there").wta.metadata;
        assert_eq!(metadata.resource_version.as_deref(), Some(resource_version));
        metadata.deletion_timestamp = Some(Time(at(self.clock)));
    }

    /// What the controller of WorkspaceTemplateApplies, Terraform and the probers do next.
    pub(super) fn act(&mut self) {
        self.probe();
        let turn = self
            .snapshot
            .control_plane
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(marks::TURN).cloned());
        let running = self
            .snapshot
            .applies
            .iter()
            .filter(|seen| is_running(seen))
            .count();
        assert!(running <= 1, "two operate at once");
        let mut index = 0;
        while index < self.snapshot.applies.len() {
            let name = self.snapshot.applies[index].name().to_owned();
            let has_turn = turn.as_ref() == Some(&name);
            if self.snapshot.applies[index].is_deleting() {
                let seen = &self.snapshot.applies[index];
                let retains = seen.wta.spec.retain_workspace_on_delete == Some(true);
                let is_let_go = seen.annotation(marks::LET_GO) == Some("true");
                let is_stuck = has_turn && self.fails_for.contains(&name);
                let hangs = has_turn && !is_stuck && self.goes_slowly;
                if retains || !seen.has_workspace() || !is_let_go || (has_turn && !is_stuck && !hangs) {
                    if is_let_go && !retains && seen.has_workspace() {
                        self.destroyed.push(name);
                    }
                    self.snapshot.applies.remove(index);
                    continue;
                }
                self.hold_up(index, is_stuck, hangs);
            } else {
                self.act_on(index, has_turn);
            }
            index += 1;
        }
    }

    /// One that goes, and either cannot be destroyed, takes its time, or is paused until it is its turn.
    fn hold_up(&mut self, index: usize, is_stuck: bool, hangs: bool) {
        let now = at(self.clock);
        let seen = &mut self.snapshot.applies[index];
        if let Some(workspace) = &mut seen.workspace {
            workspace.deleting = is_stuck;
        }
        seen.trouble = is_stuck.then(|| Trouble {
            class: TroubleClass::Terminal,
            message: "pods are left".to_owned(),
        });
        let (going, synced) = if is_stuck {
            ("Destroying", "ReconcileError")
        } else if hangs {
            ("Destroying", "ReconcileSuccess")
        } else {
            ("WaitingForTurn", "ReconcilePaused")
        };
        say(seen, "Deleting", true, going, now);
        say(seen, "Synced", hangs, synced, now);
    }

    fn act_on(&mut self, index: usize, has_turn: bool) {
        let is_broken = self
            .fails_for
            .iter()
            .any(|name| name == self.snapshot.applies[index].name());
        let terraform = if is_broken {
            Terraform::Fails(TroubleClass::Terminal)
        } else {
            self.terraform
        };
        let (now, outputs) = (at(self.clock), self.outputs.clone());
        let seen = &mut self.snapshot.applies[index];
        let hash = json!(seen.wta.spec.variables).to_string();
        let generation = seen.wta.metadata.generation;
        let version = seen
            .wta
            .spec
            .variables
            .as_ref()
            .and_then(|variables| variables.get("kubernetes_version").cloned());
        let status = seen.wta.status.get_or_insert_default();
        let is_settled = status.ready_revision.as_ref() == Some(&hash);
        status.observed_generation = generation;
        status
            .template_revision
            .clone_from(&seen.wta.spec.template_revision);
        let needs = !is_settled || seen.trouble.is_some();
        let mut said: Vec<(&str, bool, &str)> = Vec::new();
        if needs && !has_turn {
            status.applied = false;
            said.push(("Applied", false, "Rendered"));
            said.push(("Waiting", true, "WaitingForTurn"));
            if seen.workspace.is_some() {
                seen.trouble = None;
                said.push(("Synced", false, "ReconcilePaused"));
            }
        } else {
            said.push(("Applied", true, "Applied"));
            said.push(("Waiting", false, "NothingToWaitFor"));
            status.applied = true;
            status.workspace_name = Some("blue-eks-controlplane".to_owned());
            status.last_applied_revision = Some(hash.clone());
            status.pending_revision = None;
            let created_at = seen.workspace.as_ref().and_then(|workspace| workspace.created_at);
            seen.workspace = Some(WorkspaceGlance {
                name: "blue-eks-controlplane".to_owned(),
                generation: 1,
                observed_generation: None,
                created_at: created_at.or(Some(now)),
                deleting: false,
                paused_by_hand: false,
                made_nothing: false,
                drift: None,
                drifted_at: None,
            });
            match terraform {
                Terraform::Hangs => {
                    status.progress = Some(WorkspaceProgress {
                        percent_complete: Some(50),
                        ..WorkspaceProgress::default()
                    });
                    if needs {
                        seen.trouble = None;
                        said.push(("Synced", true, "ReconcileSuccess"));
                        said.push(("Ready", false, "Creating"));
                    }
                }
                Terraform::Works => {
                    seen.trouble = None;
                    status.progress = None;
                    status.ready_revision = Some(hash);
                    let mut outputs = outputs;
                    outputs
                        .entry("cluster_version".to_owned())
                        .or_insert(json!(version));
                    status.outputs = Some(outputs);
                    said.push(("Synced", true, "ReconcileSuccess"));
                    said.push(("Ready", true, "Available"));
                }
                Terraform::Fails(class) => {
                    seen.trouble = Some(Trouble {
                        class,
                        message: "no subnets".to_owned(),
                    });
                    said.push(("Synced", false, "ReconcileError"));
                }
            }
        }
        for (type_, holds, reason) in said {
            say(&mut self.snapshot.applies[index], type_, holds, reason, now);
        }
        if self.snapshot.applies[index].is("Ready") && !self.hidden_outputs.is_empty() {
            self.snapshot.connection = Some(SecretSeen {
                name: "blue-eks-connection".to_owned(),
                data: self
                    .hidden_outputs
                    .iter()
                    .map(|(key, value)| (key.clone(), Hidden::new(value)))
                    .collect(),
                ..SecretSeen::default()
            });
        }
    }

    pub(super) fn probe(&mut self) {
        let wish = super::super::wants(&self.snapshot, at(self.clock)).probe;
        let before = self.snapshot.probe.take();
        self.snapshot.probe = wish.map(|wish| {
            let since = before.and_then(|before| before.silence).map(|(since, _)| since);
            let refused = || Silence::Nobody("refused".to_owned());
            Probe {
                endpoint: wish.endpoint,
                seen_at: at(self.clock),
                silence: (!self.answers).then(|| (since.unwrap_or(at(self.clock)), refused())),
            }
        });
    }

    pub(super) fn delete(&mut self) {
        let metadata: &mut ObjectMeta = &mut self.snapshot.control_plane.metadata;
        metadata.deletion_timestamp = Some(Time(at(self.clock)));
    }

    pub(super) fn annotate(&mut self, name: &str, value: &str) {
        let metadata = &mut self.snapshot.control_plane.metadata;
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(name.to_owned(), value.to_owned());
    }

    /// What a person does with `kubectl edit`.
    pub(super) fn edit(
        &mut self,
        change: impl FnOnce(&mut capt_api::captcontrolplane::CAPTControlPlaneSpec),
    ) {
        change(&mut self.snapshot.control_plane.spec);
        let metadata = &mut self.snapshot.control_plane.metadata;
        metadata.generation = metadata.generation.map(|generation| generation + 1);
    }
}

fn is_running(seen: &OwnedSeen) -> bool {
    seen.has_workspace() && !seen.holds() && seen.is("Applied") && !seen.is_deleting()
}

pub(super) fn say(
    seen: &mut OwnedSeen,
    type_: &str,
    holds: bool,
    reason: &str,
    now: k8s_openapi::jiff::Timestamp,
) {
    let conditions = seen
        .wta
        .status
        .get_or_insert_default()
        .conditions
        .get_or_insert_default();
    set_condition(
        conditions,
        Condition {
            type_: type_.to_owned(),
            status: if holds { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: format!("about {type_}"),
            last_transition_time: Time(now),
            observed_generation: Some(1),
        },
    );
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// What was authored before and is left out goes, and what others wrote stays.
fn retract(from: &mut Value, before: &Value, new: &Value) {
    let (Value::Object(from), Value::Object(before)) = (from, before) else {
        return;
    };
    for (name, before) in before {
        match (from.get_mut(name), new.get(name)) {
            (_, None) => {
                from.remove(name);
            }
            (Some(from), Some(new)) => retract(from, before, new),
            (None, Some(_)) => {}
        }
    }
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}
