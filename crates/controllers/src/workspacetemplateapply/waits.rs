//! Who waits for whom.

use std::collections::BTreeSet;

use capt_api::{WorkspaceTemplateApply, marks};
use capt_core::{
    render::WorkspaceGroup,
    tenancy::NamespaceSet,
    wta::snapshot::{WaitGraph, WorkspaceSeen},
};
use kube::ResourceExt as _;

use crate::{
    engine::{key::ObjectKey, table::Table, wakes::Reader},
    facts::indexes::{MAKES, WAITS_FOR},
};

/// More than anybody can oversee; a graph that is larger is not followed to its end.
const MANY: usize = 1000;

/// Who waits for whom, as far as it can be reached from an object in either direction.
pub(super) fn graph(applies: &Table<WorkspaceTemplateApply>, reader: &Reader, key: &ObjectKey) -> WaitGraph {
    let mut graph = WaitGraph::default();
    let walk = Walk { applies, reader };
    walk.everywhere(key, |who| {
        let whom = walk.awaited_by(who);
        if !whom.is_empty() {
            let names = whom.iter().map(ToString::to_string);
            graph.waits_for.entry(who.to_string()).or_default().extend(names);
        }
        whom
    });
    walk.everywhere(key, |whom| {
        let waiting = walk.waiting_for(whom);
        for who in &waiting {
            let awaited = graph.waits_for.entry(who.to_string()).or_default();
            awaited.insert(whom.to_string());
        }
        waiting
    });
    graph
}

/// Whether a Workspace of another namespace, or of none, may be awaited from a namespace.
pub(super) fn is_shared(workspace: &WorkspaceSeen, namespace: &str) -> bool {
    let shared_with = workspace.annotations.get(marks::SHARED_WITH);
    let is_own = workspace.group == Some(WorkspaceGroup::ClusterScoped)
        && workspace.labels.get(marks::WTA_NAMESPACE).map(String::as_str) == Some(namespace);
    is_own || shared_with.is_some_and(|list| NamespaceSet::parse(list).contains(namespace))
}

struct Walk<'a> {
    applies: &'a Table<WorkspaceTemplateApply>,
    reader: &'a Reader,
}

impl Walk<'_> {
    fn everywhere(&self, start: &ObjectKey, mut next: impl FnMut(&ObjectKey) -> BTreeSet<ObjectKey>) {
        let mut seen = BTreeSet::new();
        let mut open = vec![start.clone()];
        while let Some(key) = open.pop() {
            if seen.len() < MANY && seen.insert(key.clone()) {
                open.extend(next(&key));
            }
        }
    }

    /// Those whose Workspaces an object waits for.
    fn awaited_by(&self, who: &ObjectKey) -> BTreeSet<ObjectKey> {
        let places = self.applies.values(self.reader, WAITS_FOR, who);
        // Each Workspace has two: in a namespace, and outside of all. The first that somebody makes is meant.
        places
            .chunks(2)
            .filter_map(|places| {
                places
                    .iter()
                    .map(|place| self.applies.members(self.reader, MAKES, place))
                    .find(|makers| !makers.is_empty())
            })
            .flatten()
            .filter(|whom| self.consents(whom, who))
            .collect()
    }

    /// Whether a WorkspaceTemplateApply lets another one wait for its Workspace: those of its own namespace, and of those that
    /// its annotation names.
    fn consents(&self, whom: &ObjectKey, who: &ObjectKey) -> bool {
        whom.namespace() == who.namespace()
            || self.applies.get(self.reader, whom).is_some_and(|apply| {
                let shared_with = apply.annotations().get(marks::SHARED_WITH);
                shared_with.is_some_and(|list| NamespaceSet::parse(list).contains(who.namespace()))
            })
    }

    /// Those that wait for the Workspace of an object.
    fn waiting_for(&self, whom: &ObjectKey) -> BTreeSet<ObjectKey> {
        let places = self.applies.values(self.reader, MAKES, whom);
        places
            .iter()
            .flat_map(|place| self.applies.members(self.reader, WAITS_FOR, place))
            .filter(|who| self.awaited_by(who).contains(whom))
            .collect()
    }
}
