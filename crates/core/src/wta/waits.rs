//! What has to be there before a Workspace is made, and who has to go before one is destroyed.

use std::collections::BTreeSet;

use capt_api::{conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason, marks};

use super::snapshot::{Awaited, Problem, Snapshot, WaitGraph};

/// Why a Workspace cannot be made yet.
pub(super) fn before_creation(snapshot: &Snapshot) -> Option<Problem> {
    let problem = |reason, message| Some(Problem { reason, message });
    if let Some(cycle) = snapshot.waits.cycle_through(&key(snapshot)) {
        return problem(
            Reason::DependencyCycle,
            format!(
                "These wait for each other: {}. Remove one of the waits",
                cycle.join(" -> ")
            ),
        );
    }
    let secrets = names(&snapshot.awaited_secrets, |secret| !secret.exists);
    let count = snapshot
        .awaited_secrets
        .iter()
        .filter(|secret| !secret.exists)
        .count();
    if count > 0 {
        let (kind, them) = (plural("Secret", count), if count == 1 { "it" } else { "them" });
        return problem(
            Reason::WaitingForSecrets,
            format!("Waiting for the {kind} {secrets}: make {them}, or change spec.waitForSecrets"),
        );
    }
    if snapshot
        .awaited_workspaces
        .iter()
        .any(|workspace| workspace.not_shared)
    {
        let unshared = names(&snapshot.awaited_workspaces, |workspace| workspace.not_shared);
        let own = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
        return problem(
            Reason::WaitNotShared,
            format!(
                "spec.waitForWorkspaces names {unshared}, not shared with this namespace. The owner of a Workspace shares it \
                 by the annotation {}={own} on its WorkspaceTemplateApply",
                marks::SHARED_WITH
            ),
        );
    }
    let workspaces: Vec<String> = snapshot
        .awaited_workspaces
        .iter()
        .filter(|workspace| !workspace.ready)
        .map(|workspace| {
            let state = match workspace {
                Awaited { hidden: true, .. } => {
                    "the controllers may not read it: give them a Role there that allows get, list and watch of it"
                        .to_owned()
                }
                Awaited { trouble: Some(trouble), .. } => format!("it failed: {trouble}"),
                Awaited { exists: true, .. } => "not ready".to_owned(),
                _ => "not found".to_owned(),
            };
            format!("{} ({state})", name(workspace))
        })
        .collect();
    if !workspaces.is_empty() {
        let kind = plural("Workspace", workspaces.len());
        return problem(
            Reason::WaitingForWorkspaces,
            format!("Waiting for the {kind} {}", workspaces.join(", ")),
        );
    }
    None
}

/// A kind of which there are this many.
pub(super) fn plural(kind: &str, count: usize) -> String {
    match count {
        1 => kind.to_owned(),
        _ => format!("{kind}s"),
    }
}

/// What was there when the Workspace was made, and is gone.
pub(super) fn gone_since(snapshot: &Snapshot) -> String {
    let secrets = names(&snapshot.awaited_secrets, |secret| !secret.exists);
    let workspaces = names(&snapshot.awaited_workspaces, |workspace| {
        !workspace.exists && !workspace.hidden && !workspace.not_shared
    });
    [secrets, workspaces]
        .into_iter()
        .filter(|names| !names.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Secrets of other namespaces, which nobody may wait for.
pub(super) fn in_other_namespaces(snapshot: &Snapshot) -> String {
    names(&snapshot.awaited_secrets, |secret| {
        secret.other_namespace.is_some()
    })
}

/// Who waits for the object and must go first. Those that it waits for itself cannot be among them, or nobody could go.
pub(super) fn dependents(snapshot: &Snapshot) -> Vec<String> {
    let own = key(snapshot);
    let needed = snapshot.waits.reachable_from(&own);
    snapshot
        .waits
        .waits_for
        .iter()
        .filter(|(who, whom)| **who != own && whom.contains(&own) && !needed.contains(who.as_str()))
        .map(|(who, _)| who.clone())
        .collect()
}

/// How the object is called in the graph of waits.
pub(super) fn key(snapshot: &Snapshot) -> String {
    let metadata = &snapshot.wta.metadata;
    format!(
        "{}/{}",
        metadata.namespace.as_deref().unwrap_or_default(),
        metadata.name.as_deref().unwrap_or_default()
    )
}

impl WaitGraph {
    /// The shortest way from somebody back to itself, with it at both ends.
    #[must_use]
    pub fn cycle_through(&self, start: &str) -> Option<Vec<String>> {
        let mut ways = vec![vec![start.to_owned()]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                let Some(last) = way.last() else { continue };
                for next in self.waits_for.get(last).into_iter().flatten() {
                    let mut way = way.clone();
                    way.push(next.clone());
                    if next == start {
                        return Some(way);
                    }
                    if seen.insert(next.clone()) {
                        longer.push(way);
                    }
                }
            }
            ways = longer;
        }
        None
    }

    /// Everybody that somebody waits for, directly or not.
    fn reachable_from(&self, start: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(who) = open.pop() {
            for whom in self.waits_for.get(who).into_iter().flatten() {
                if reached.insert(whom.as_str()) {
                    open.push(whom);
                }
            }
        }
        reached
    }
}

fn names(awaited: &[Awaited], wanted: impl Fn(&Awaited) -> bool) -> String {
    awaited
        .iter()
        .filter(|one| wanted(one))
        .map(name)
        .collect::<Vec<_>>()
        .join(", ")
}

fn name(awaited: &Awaited) -> String {
    match &awaited.other_namespace {
        Some(namespace) => format!("{namespace}/{}", awaited.name),
        None => awaited.name.clone(),
    }
}
