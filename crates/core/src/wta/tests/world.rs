//! A tiny world: what becomes of a snapshot when a decision is carried out, and when a runner acts.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{
    foreign::{marks as foreign_marks, workspace::WorkspaceStatus},
    marks,
};
use serde_json::Value;

use super::{
    super::{
        kept,
        policy::grants_destruction,
        snapshot::{KeptSeen, Snapshot, WorkspaceSeen},
    },
    Decided, at, condition, decide,
};
use crate::{
    decision::{Desired, Guard},
    render::WorkspaceGroup,
};

/// More decisions than any way through the rules takes.
const MANY: usize = 20;

/// A world with one WorkspaceTemplateApply in it.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) snapshot: Snapshot,
    /// The object is gone.
    pub(super) is_gone: bool,
    /// Infrastructure that exists, by the name that its state is kept under.
    pub(super) infrastructure: Vec<String>,
    clock: i64,
}

impl World {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        Self {
            snapshot,
            is_gone: false,
            infrastructure: Vec::new(),
            clock: 0,
        }
    }

    pub(super) fn workspace(&self) -> &WorkspaceSeen {
        self.snapshot.workspaces.first().expect("a Workspace")
    }

    pub(super) fn workspace_mut(&mut self) -> &mut WorkspaceSeen {
        Arc::make_mut(self.snapshot.workspaces.first_mut().expect("a Workspace"))
    }

    pub(super) fn decide(&self) -> Decided {
        decide(&self.snapshot, at(self.clock))
    }

    /// Decides and carries it out.
    pub(super) fn step(&mut self) -> Decided {
        self.clock += 1;
        let decision = self.decide();
        self.apply(&decision);
        decision
    }

    /// Decides until there is nothing more to do, without a runner. Gives the last decision that wrote something.
    pub(super) fn calm(&mut self) -> Decided {
        let mut last = Decided::default();
        for _ in 0..MANY {
            if self.is_gone {
                return last;
            }
            let decision = self.step();
            if decision.is_quiet() {
                return last;
            }
            last = decision;
        }
        panic!("this goes on for ever: {last:#?}");
    }

    /// Decides and lets the runner act until nothing changes any more.
    pub(super) fn settle(&mut self) -> Decided {
        let mut last = Decided::default();
        for _ in 0..MANY {
            let decision = self.calm();
            if !decision.is_quiet() {
                last = decision;
            }
            let before = self.snapshot.clone();
            self.run();
            if before == self.snapshot || self.is_gone {
                return last;
            }
        }
        panic!("this goes on for ever: {last:#?}");
    }

    pub(super) fn apply(&mut self, decision: &Decided) {
        for child in &decision.children {
            match child.target.kind.as_str() {
                "Workspace" => self.write_workspace(child),
                _ if child.target.name.ends_with("-rendering") => {
                    let kept = kept::from_fields(&child.fields);
                    assert!(kept.is_some());
                    let uid = "kept".to_owned();
                    assert_eq!(child.guard == Guard::Absent, self.snapshot.kept.is_none());
                    let owner = kept::owner_in_fields(&child.fields);
                    self.snapshot.kept = Some(KeptSeen { uid, owner, kept });
                }
                _ => self.write_state_secret(child),
            }
        }
        for removal in &decision.removals {
            let found = self
                .snapshot
                .workspaces
                .iter()
                .position(|workspace| workspace.uid == removal.uid);
            let index = found.expect("the Workspace is there");
            let workspace = Arc::make_mut(&mut self.snapshot.workspaces[index]);
            assert_eq!(workspace.resource_version, removal.resource_version);
            if workspace.finalizers.is_empty() {
                self.snapshot.workspaces.remove(index);
            } else {
                workspace.deleting = true;
            }
        }
        let metadata = &mut self.snapshot.wta.metadata;
        let finalizers = metadata.finalizers.get_or_insert_default();
        finalizers.extend(decision.own.add_finalizers.iter().cloned());
        finalizers.retain(|name| !decision.own.remove_finalizers.contains(name));
        self.is_gone |= finalizers.is_empty() && metadata.deletion_timestamp.is_some();
        change(
            metadata.annotations.get_or_insert_default(),
            &decision.own.annotations,
        );
        change(metadata.labels.get_or_insert_default(), &decision.own.labels);
        if let Some(status) = &decision.own.status {
            assert_ne!(
                self.snapshot.wta.status.as_ref(),
                Some(status),
                "written although it is the same"
            );
            self.snapshot.wta.status = Some(status.clone());
        }
    }

    fn write_workspace(&mut self, child: &Desired) {
        let group = child
            .target
            .api_version
            .split('/')
            .next()
            .and_then(WorkspaceGroup::from_name);
        let workspaces = &mut self.snapshot.workspaces;
        let index = match &child.guard {
            Guard::Absent => {
                assert!(
                    !workspaces
                        .iter()
                        .any(|workspace| workspace.group == group && workspace.name == child.target.name)
                );
                let new = WorkspaceSeen {
                    group,
                    name: child.target.name.clone(),
                    uid: format!("uid-{}", self.clock),
                    ..WorkspaceSeen::default()
                };
                workspaces.push(Arc::new(new));
                workspaces.len() - 1
            }
            Guard::Uid(uid) => workspaces
                .iter()
                .position(|workspace| workspace.uid == *uid)
                .expect("the Workspace is there"),
        };
        let workspace = Arc::make_mut(&mut workspaces[index]);
        let metadata = &child.fields["metadata"];
        workspace.labels.extend(texts(&metadata["labels"]));
        workspace.annotations.extend(texts(&metadata["annotations"]));
        workspace
            .labels
            .retain(|name, _| !child.strip.labels.contains(name));
        workspace
            .annotations
            .retain(|name, _| !child.strip.annotations.contains(name));
        for finalizer in metadata["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if !workspace.finalizers.iter().any(|name| name == finalizer) {
                assert!(!workspace.deleting, "finalizers cannot be added to what is going");
                workspace.finalizers.push(finalizer.to_owned());
            }
        }
        if workspace.spec != child.fields["spec"] {
            workspace.spec = child.fields["spec"].clone();
            workspace.generation += 1;
        }
        workspace.resource_version = format!("{}{}", workspace.resource_version, self.clock);
    }

    fn write_state_secret(&mut self, child: &Desired) {
        let secrets = &mut self.snapshot.state_secrets;
        let secret = secrets.iter_mut().find(|secret| secret.name == child.target.name);
        let secret = secret.expect("the Secret is there");
        let metadata = &child.fields["metadata"];
        secret.moves = !metadata["labels"][foreign_marks::MOVE].is_null();
        secret.is_held = metadata["finalizers"]
            .as_array()
            .is_some_and(|names| names.iter().any(|name| name == marks::TERRAFORM_STATE_FINALIZER));
    }

    /// A runner that does at once what a Workspace lets it do.
    pub(super) fn run(&mut self) {
        let infrastructure = &mut self.infrastructure;
        self.snapshot.workspaces.retain_mut(|workspace| {
            if workspace.uid == "other" || workspace.uid.starts_with("victim") {
                return true;
            }
            let workspace = Arc::make_mut(workspace);
            let generation = workspace.generation;
            let mut conditions = workspace.status.conditions.clone().unwrap_or_default();
            conditions.retain(|condition| condition.type_ != "Synced");
            let name = workspace
                .annotations
                .get(foreign_marks::EXTERNAL_NAME)
                .cloned()
                .unwrap_or_default();
            if workspace.spec["managementPolicies"] == serde_json::json!([]) {
                conditions.push(condition("Synced", "False", "ReconcilePaused", generation));
            } else if workspace.deleting {
                if grants_destruction(&workspace.spec) {
                    infrastructure.retain(|existing| *existing != name);
                }
                return false;
            } else {
                if workspace.finalizers.is_empty() {
                    workspace
                        .finalizers
                        .push(foreign_marks::CROSSPLANE_FINALIZER.to_owned());
                }
                if !infrastructure.contains(&name) {
                    infrastructure.push(name);
                }
                conditions.retain(|condition| condition.type_ != "Ready");
                conditions.push(condition("Synced", "True", "ReconcileSuccess", generation));
                conditions.push(condition("Ready", "True", "Available", generation));
            }
            workspace.status = WorkspaceStatus {
                conditions: Some(conditions),
                ..WorkspaceStatus::default()
            };
            true
        });
    }

    /// What `kubectl delete workspace` does.
    pub(super) fn delete_workspace(&mut self) {
        if let Some(workspace) = self.snapshot.workspaces.first_mut() {
            if workspace.finalizers.is_empty() {
                self.snapshot.workspaces.remove(0);
            } else {
                Arc::make_mut(workspace).deleting = true;
            }
        }
    }
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn change(marks: &mut BTreeMap<String, String>, changes: &BTreeMap<String, Option<String>>) {
    for (name, value) in changes {
        match value {
            Some(value) => marks.insert(name.clone(), value.clone()),
            None => marks.remove(name),
        };
    }
}
