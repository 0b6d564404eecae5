//! Who waits for whom.

use std::collections::BTreeSet;

use capt_api::WorkspaceTemplateApply;
use capt_core::wta::snapshot::WaitGraph;

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
            .collect()
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
