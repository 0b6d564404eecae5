//! What a change or the loss of an object would touch.

use std::collections::{BTreeMap, VecDeque};

use super::{Graph, Relation};

/// How an object is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// It is made, rendered or written anew: it follows from what changed.
    Changes,
    /// It needs something that changes.
    Depends,
}

/// An object that is touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Which.
    pub id: String,
    /// How.
    pub touch: Touch,
    /// Through which objects, from the one that changes to this one.
    pub way: Vec<String>,
}

impl Graph {
    /// What a change or the loss of an object would touch, the nearest first.
    #[must_use]
    pub fn impact(&self, origin: &str) -> Vec<Touched> {
        if !self.nodes.contains_key(origin) {
            return Vec::new();
        }
        // What changes, changes all that it makes; whoever needs one of these is touched, and all that need them.
        let mut ways = BTreeMap::from([(origin, (Touch::Changes, vec![origin.to_owned()]))]);
        let mut order = vec![origin];
        self.spread(&mut ways, &mut order, Touch::Changes, |graph, id| {
            let followers = graph
                .needed_by(id)
                .filter(|(_, relation)| *relation == Relation::Input && graph.is_template(id));
            let followers = followers.map(|(follower, _)| follower);
            graph.made_by(id).chain(followers).collect()
        });
        self.spread(&mut ways, &mut order, Touch::Depends, |graph, id| {
            graph.needed_by(id).map(|(who, _)| who).collect()
        });
        let touched = order.into_iter().filter(|id| *id != origin);
        touched
            .filter_map(|id| {
                let (touch, way) = ways.get(id)?.clone();
                let id = id.to_owned();
                Some(Touched { id, touch, way })
            })
            .collect()
    }

    fn spread<'a>(
        &'a self,
        ways: &mut BTreeMap<&'a str, (Touch, Vec<String>)>,
        order: &mut Vec<&'a str>,
        touch: Touch,
        next: impl Fn(&'a Self, &'a str) -> Vec<&'a str>,
    ) {
        let mut open: VecDeque<&str> = order.iter().copied().collect();
        while let Some(id) = open.pop_front() {
            let way = ways.get(id).map(|(_, way)| way.clone()).unwrap_or_default();
            for neighbour in next(self, id) {
                if !ways.contains_key(neighbour) {
                    let mut way = way.clone();
                    way.push(neighbour.to_owned());
                    ways.insert(neighbour, (touch, way));
                    order.push(neighbour);
                    open.push_back(neighbour);
                }
            }
        }
    }

    fn is_template(&self, id: &str) -> bool {
        self.node(id).is_some_and(|node| node.kind == "WorkspaceTemplate")
    }
}
