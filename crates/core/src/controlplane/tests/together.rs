//! Control planes together with the real decisions about their WorkspaceTemplateApplies, and a runner that does what a
//! Workspace lets it do.

mod adopted;
mod healed;
mod outlived;
mod removed;
mod turns;

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{
    captcontrolplane::{ControlPlaneState as State, FargateProfilePhase as Phase},
    foreign::{
        marks as foreign_marks,
        workspace::{AtProvider, WorkspaceCondition, WorkspaceStatus},
    },
    marks,
    version::Version,
    workspacetemplateapply::WorkspaceTemplateApplyStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::{World, at, ending::add_child, fresh, message, said};
use crate::{
    controlplane::names_left,
    decision::{Decision, Desired, Guard},
    metadata,
    owned::{
        Left, LeftWorkspace, OwnedSeen, Role, RunGlance, Setback, Standing, Trouble, TroubleClass,
        WorkspaceGlance, standing,
    },
    render::WorkspaceGroup,
    wta::{
        self, Rendered, kept,
        policy::grants_destruction,
        snapshot::{
            KeptSeen, OwnerSeen, Runner, Served, Serving, Snapshot, TemplateSeen, WaitGraph, WorkspaceSeen,
        },
    },
};

/// A control plane, its WorkspaceTemplateApplies, their Workspaces, and infrastructure.
struct Together {
    world: World,
    applies: BTreeMap<String, Snapshot>,
    /// Infrastructure that exists, by the name that its state is kept under, and its version.
    infrastructure: BTreeMap<String, Option<String>>,
    /// Names of what was made or changed, in order.
    operations: Vec<String>,
    /// Names of those whose module is broken.
    broken: Vec<String>,
    /// Names of those that AWS has no time for.
    throttled: Vec<String>,
    /// Names of those that somebody changed by hand.
    drifted: Vec<String>,
    /// What was mended, by name.
    mended: BTreeMap<String, String>,
    /// Names of those whose module does not come to an end.
    slow: Vec<String>,
    uids: usize,
}

impl Together {
    fn new() -> Self {
        Self {
            world: World::new(fresh()),
            applies: BTreeMap::new(),
            infrastructure: BTreeMap::new(),
            operations: Vec::new(),
            broken: Vec::new(),
            throttled: Vec::new(),
            drifted: Vec::new(),
            mended: BTreeMap::new(),
            slow: Vec::new(),
            uids: 0,
        }
    }

    /// Everybody acts once.
    fn act(&mut self) {
        if !self.world.is_gone {
            self.world.step();
        }
        self.decide_applies();
        self.run();
        self.mirror();
        self.world.probe();
        self.connect();
    }

    /// Everybody acts so often, while somebody tries again and again.
    fn settle_busy(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.act();
        }
    }

    fn settle(&mut self) {
        for _ in 0..60 {
            let before = (self.world.snapshot.clone(), self.infrastructure.clone());
            self.act();
            if before == (self.world.snapshot.clone(), self.infrastructure.clone()) {
                return;
            }
        }
        panic!("this goes on for ever: {:#?}", self.world.step());
    }

    /// The controller of WorkspaceTemplateApplies.
    fn decide_applies(&mut self) {
        let control_plane = &self.world.snapshot.control_plane.metadata;
        let owner = OwnerSeen {
            deleting: control_plane.deletion_timestamp.is_some(),
            paused: metadata::annotation(control_plane, foreign_marks::PAUSED).is_some(),
            takes_turns: true,
            turn: control_plane
                .annotations
                .as_ref()
                .and_then(|annotations| annotations.get(marks::TURN).cloned()),
            cluster: None,
        };
        for seen in &mut self.world.snapshot.applies {
            let snapshot = self
                .applies
                .entry(seen.name().to_owned())
                .or_insert_with(|| empty(seen));
            snapshot.wta = seen.wta.clone();
            snapshot.owner = Some(owner.clone());
            snapshot.rendering = Ok(rendered(seen));
            let decision = wta::decide(snapshot, at(self.world.clock));
            self.uids += 1;
            carry_out(snapshot, &decision, &format!("ws-{}", self.uids));
            seen.wta = snapshot.wta.clone();
        }
        self.world.snapshot.applies.retain(|seen| {
            let is_held = seen
                .wta
                .metadata
                .finalizers
                .as_ref()
                .is_some_and(|names| !names.is_empty());
            !seen.is_deleting() || is_held
        });
    }

    /// A runner that does at once what a Workspace lets it do, with one Workspace at a time.
    fn run(&mut self) {
        let mut operating = Vec::new();
        for (name, snapshot) in &mut self.applies {
            let infrastructure = &mut self.infrastructure;
            let operations = &mut self.operations;
            let is_broken = self.broken.contains(name) || self.throttled.contains(name);
            let is_slow = self.slow.contains(name);
            let drifted = &mut self.drifted;
            let mended = &mut self.mended;
            snapshot.workspaces.retain_mut(|workspace| {
                let workspace = Arc::make_mut(workspace);
                let rendered = workspace.spec["version"].as_str().map(str::to_owned);
                let state = workspace
                    .annotations
                    .get(foreign_marks::EXTERNAL_NAME)
                    .cloned()
                    .unwrap_or_default();
                let generation = workspace.generation;
                let said = |type_: &str, holds: bool, reason: &str| WorkspaceCondition {
                    type_: type_.to_owned(),
                    status: if holds { "True" } else { "False" }.to_owned(),
                    reason: reason.to_owned(),
                    message: None,
                    last_transition_time: Time(at(0)),
                    observed_generation: Some(generation),
                };
                let was_ready = workspace.is("Ready");
                if workspace.spec["managementPolicies"] == json!([]) {
                    let paused = said("Synced", false, "ReconcilePaused");
                    workspace.status.conditions = Some(vec![paused, said("Ready", was_ready, "Available")]);
                    return true;
                }
                if workspace.deleting {
                    if grants_destruction(&workspace.spec) && infrastructure.remove(&state).is_some() {
                        operating.push(name.clone());
                        operations.push(format!("destroy {name}"));
                    }
                    return false;
                }
                if workspace.finalizers.is_empty() {
                    let finalizer = foreign_marks::CROSSPLANE_FINALIZER.to_owned();
                    workspace.finalizers.push(finalizer);
                }
                if is_slow && infrastructure.get(&state) != Some(&rendered) {
                    operating.push(name.clone());
                    workspace.status.conditions = Some(vec![
                        said("Synced", true, "ReconcileSuccess"),
                        said("Ready", false, "Creating"),
                    ]);
                    return true;
                }
                if is_broken {
                    operating.push(name.clone());
                    operations.push(format!("fail {name}"));
                    workspace.status.conditions = Some(vec![said("Synced", false, "ReconcileError")]);
                    return true;
                }
                let mend = workspace.annotations.get(marks::MEND).cloned();
                let mend = mend.filter(|token| token != marks::IN_TURN && mended.get(name) != Some(token));
                if let Some(token) = mend {
                    mended.insert(name.clone(), token);
                    drifted.retain(|one| one != name);
                    operating.push(name.clone());
                    operations.push(format!("mend {name}"));
                }
                if infrastructure.get(&state) != Some(&rendered) {
                    infrastructure.insert(state, rendered.clone());
                    operating.push(name.clone());
                    operations.push(format!("apply {name}"));
                }
                workspace.status = WorkspaceStatus {
                    conditions: Some(vec![
                        said("Synced", true, "ReconcileSuccess"),
                        said("Ready", true, "Available"),
                        said("Drifted", drifted.contains(name), "DriftFound"),
                    ]),
                    at_provider: Some(AtProvider {
                        outputs: Some(
                            [
                                ("cluster_endpoint".to_owned(), json!("https://10.0.0.1:6443")),
                                ("cluster_version".to_owned(), json!(rendered)),
                            ]
                            .into(),
                        ),
                        ..AtProvider::default()
                    }),
                    ..WorkspaceStatus::default()
                };
                true
            });
        }
        assert!(operating.len() <= 1, "at once: {operating:?}");
    }

    /// What the control plane sees of the Workspaces.
    fn mirror(&mut self) {
        let snapshot = &self.world.snapshot;
        let names = names_left(&snapshot.control_plane, &snapshot.applies);
        let left = names.into_iter().filter_map(|name| {
            let workspaces = &self.applies.get(&name)?.workspaces;
            let left = workspaces.iter().map(|one| LeftWorkspace::of(one, "default"));
            (!workspaces.is_empty()).then(|| Left {
                workspaces: left.collect(),
                apply: name,
            })
        });
        self.world.snapshot.left = left.collect();
        for seen in &mut self.world.snapshot.applies {
            let workspace = self
                .applies
                .get(seen.name())
                .and_then(|snapshot| snapshot.workspaces.first());
            seen.workspace = workspace.map(|workspace| WorkspaceGlance {
                name: workspace.name.clone(),
                generation: workspace.generation,
                observed_generation: None,
                created_at: Some(at(0)),
                deleting: workspace.deleting,
                paused_by_hand: false,
                made_nothing: false,
                drift: workspace.drifted_at(),
                drifted_at: workspace.drifted_at(),
            });
            if let Some(mended) = self.mended.get(seen.name()) {
                seen.run.get_or_insert_default().mended = Some(mended.clone());
            }
            let has_failed = seen
                .condition("Synced")
                .is_some_and(|synced| synced.reason == "ReconcileError");
            let is_throttled = self.throttled.iter().any(|name| name == seen.name());
            seen.trouble = has_failed.then(|| Trouble {
                class: if is_throttled {
                    TroubleClass::Transient
                } else {
                    TroubleClass::Terminal
                },
                message: "no subnets".to_owned(),
            });
            if is_throttled && has_failed {
                seen.run = Some(RunGlance {
                    setback: Some(Setback {
                        at: at(self.world.clock),
                        count: 1,
                        message: "TooManyRequestsException".to_owned(),
                        is_of_end: false,
                    }),
                    ..RunGlance::default()
                });
            }
        }
    }

    fn connect(&mut self) {
        let facts = [
            ("kubeconfig", "clusters: []\nusers: []\n"),
            ("cluster_name", "blue"),
            ("cluster_endpoint", "https://10.0.0.1:6443"),
            ("cluster_certificate_authority_data", &STANDARD.encode(super::CA)),
        ];
        self.world.snapshot.connection = self.infrastructure.keys().next().map(|_| super::SecretSeen {
            name: "blue-eks-connection".to_owned(),
            data: facts
                .map(|(key, value)| (key.to_owned(), super::Hidden::new(value)))
                .into(),
            ..super::SecretSeen::default()
        });
    }
}

fn empty(seen: &OwnedSeen) -> Snapshot {
    Snapshot {
        wta: seen.wta.clone(),
        namespace_terminating: false,
        crd_obstacle: None,
        cluster: None,
        owner: None,
        template: Some(TemplateSeen {
            namespace: "team".to_owned(),
            revision: "t1".to_owned(),
            ..TemplateSeen::default()
        }),
        rendering: Err(Vec::new()),
        kept: None,
        workspaces: Vec::new(),
        served: Served {
            namespaced: Serving::Yes,
            ..Served::default()
        },
        awaited_secrets: Vec::new(),
        awaited_workspaces: Vec::new(),
        waits: WaitGraph::default(),
        unknown_variables: Vec::new(),
        missing_inputs: Vec::new(),
        runner: Runner::Ours { label: None },
        provider_config: None,
        state_secrets: Vec::new(),
        pending_plan: None,
        used_approval: None,
        progress: None,
    }
}

fn rendered(seen: &OwnedSeen) -> Rendered {
    let variables = seen.wta.spec.variables.clone().unwrap_or_default();
    Rendered {
        spec: json!({
            "forProvider": {"source": "Inline", "module": json!(variables).to_string()},
            "version": variables.get("kubernetes_version"),
        }),
        hash: json!(variables).to_string(),
        revision: "t1".to_owned(),
        ..Rendered::default()
    }
}

fn carry_out(snapshot: &mut Snapshot, decision: &Decision<WorkspaceTemplateApplyStatus>, uid: &str) {
    for child in &decision.children {
        if child.target.kind == "Workspace" {
            write_workspace(snapshot, child, uid);
        } else {
            snapshot.kept = Some(KeptSeen {
                uid: "kept".to_owned(),
                owner: kept::owner_in_fields(&child.fields),
                kept: kept::from_fields(&child.fields),
            });
        }
    }
    for removal in &decision.removals {
        let found = snapshot
            .workspaces
            .iter_mut()
            .find(|workspace| workspace.uid == removal.uid);
        Arc::make_mut(found.expect("it is there")).deleting = true;
    }
    let metadata = &mut snapshot.wta.metadata;
    let finalizers = metadata.finalizers.get_or_insert_default();
    finalizers.extend(decision.own.add_finalizers.iter().cloned());
    finalizers.retain(|name| !decision.own.remove_finalizers.contains(name));
    for (marks, changes) in [
        (&mut metadata.annotations, &decision.own.annotations),
        (&mut metadata.labels, &decision.own.labels),
    ] {
        let marks = marks.get_or_insert_default();
        for (name, value) in changes {
            match value {
                Some(value) => marks.insert(name.clone(), value.clone()),
                None => marks.remove(name),
            };
        }
    }
    if let Some(status) = &decision.own.status {
        snapshot.wta.status = Some(status.clone());
    }
}

fn write_workspace(snapshot: &mut Snapshot, child: &Desired, uid: &str) {
    let workspaces = &mut snapshot.workspaces;
    let index = match &child.guard {
        Guard::Absent => {
            let made = WorkspaceSeen {
                group: Some(WorkspaceGroup::Namespaced),
                name: child.target.name.clone(),
                uid: uid.to_owned(),
                ..WorkspaceSeen::default()
            };
            workspaces.push(Arc::new(made));
            workspaces.len() - 1
        }
        Guard::Uid(uid) => {
            let found = workspaces.iter().position(|workspace| workspace.uid == *uid);
            found.expect("it is there")
        }
    };
    let workspace = Arc::make_mut(&mut workspaces[index]);
    let texts = |value: &Value| -> BTreeMap<String, String> {
        serde_json::from_value(value.clone()).unwrap_or_default()
    };
    let metadata = &child.fields["metadata"];
    workspace.labels.extend(texts(&metadata["labels"]));
    workspace.annotations.extend(texts(&metadata["annotations"]));
    if let Ok(finalizers) = serde_json::from_value::<Vec<String>>(metadata["finalizers"].clone()) {
        workspace.finalizers = finalizers;
    }
    if workspace.spec != child.fields["spec"] {
        workspace.spec = child.fields["spec"].clone();
        workspace.generation += 1;
    }
    workspace.resource_version.push('1');
}

#[test]
fn a_cluster_comes_up_is_upgraded_step_by_step_and_goes_with_the_real_rules_of_both() {
    let mut all = Together::new();
    all.settle();
    let status = all.world.status();
    assert_eq!(status.state, Some(State::Ready), "{status:#?}");
    assert_eq!(all.operations, ["apply blue-eks-controlplane-apply"]);
    assert!(all.world.decide().is_quiet());
    all.world.edit(|spec| spec.version = Version::from("1.33"));
    all.settle();
    assert_eq!(all.world.status().state, Some(State::Ready));
    assert_eq!(all.world.status().version.as_deref(), Some("1.33"));
    assert_eq!(
        all.operations.len(),
        3,
        "one minor at a time: {:?}",
        all.operations
    );
    all.world.delete();
    all.settle();
    assert!(all.world.is_gone);
    assert!(all.infrastructure.is_empty(), "nothing is left");
    assert_eq!(
        all.operations.last().map(String::as_str),
        Some("destroy blue-eks-controlplane-apply")
    );
}

/// Whoever hears first of a pause and of its end, nothing is made of it that was not there before.
#[test]
fn a_pause_brings_everything_to_rest_and_leaves_no_trace_but_that_there_was_one() {
    for owner_hears_first in [true, false] {
        let mut all = Together::new();
        all.settle();
        for name in ["a", "b"] {
            let role = Role::FargateProfile(name.to_owned());
            add_child(&mut all.world, &format!("blue-{name}-fargate-apply"), role);
        }
        all.settle();
        let before = all.world.status();
        assert_eq!(before.state, Some(State::Ready));
        let (operations, events) = (all.operations.len(), all.world.events.len());
        for paused in [true, false] {
            pause(&mut all, owner_hears_first, paused);
            for round in 0..10 {
                all.act();
                if round == 2 {
                    pause(&mut all, !owner_hears_first, paused);
                }
                let status = all.world.status();
                assert_eq!(status.state, Some(State::Ready), "paused {paused}, round {round}");
                assert!(status.ready);
                for seen in &all.world.snapshot.applies {
                    assert!(
                        !seen.is("Waiting"),
                        "paused {paused}, round {round}: {}",
                        seen.name()
                    );
                }
            }
            all.settle();
            let expected = if paused { "True/Paused" } else { "False/NotPaused" };
            assert_eq!(said(&all.world.status(), "Paused"), expected);
            for (name, snapshot) in &all.applies {
                let workspace = &snapshot.workspaces[0];
                assert_eq!(workspace.is_settled(), !paused, "{name}");
            }
        }
        assert_eq!(all.operations.len(), operations, "{:?}", all.operations);
        assert_eq!(
            all.world.events[events..],
            [
                "Paused: Nothing is done, because the Cluster has spec.paused: true",
                "NotPaused: The pause is over"
            ]
        );
        let mut after = all.world.status();
        let history = after
            .progress
            .as_mut()
            .and_then(|progress| progress.history.as_mut());
        let pause = history.and_then(Vec::pop).expect("the pause is remembered");
        assert_eq!(pause.operation, super::super::progress::PAUSED);
        let set_apart = |status: &mut capt_api::captcontrolplane::CAPTControlPlaneStatus| {
            let conditions = status.conditions.get_or_insert_default();
            conditions.retain(|condition| condition.type_ != "Paused");
        };
        let mut before = before;
        set_apart(&mut before);
        set_apart(&mut after);
        assert_eq!(after, before);
    }
}

/// What had been said about keeping it went with what somebody deleted. Where the owner is deleted a moment later, before it
/// could make that again, a person has to say what becomes of it.
/// What somebody hears of a pause: the control plane, or its WorkspaceTemplateApplies.
fn pause(all: &mut Together, owner: bool, paused: bool) {
    if owner {
        all.world.snapshot.cluster.as_mut().expect("a Cluster").paused = paused;
    } else {
        for snapshot in all.applies.values_mut() {
            snapshot.cluster = Some(wta::snapshot::ClusterSeen { paused });
        }
    }
}
