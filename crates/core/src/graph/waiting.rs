//! What an object that is not well waits for in the end.

use std::collections::{BTreeMap, VecDeque};

use super::{Graph, Health, Relation};

/// Something that others wait for, and that waits for nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which object.
    pub id: String,
    /// Through which objects, from the one that was asked about to this one.
    pub way: Vec<String>,
}

impl Graph {
    /// What an object waits for in the end, the nearest first: whatever it needs, directly or not, and that is not well
    /// without needing anything else that is not well. The object itself, if nothing else is the matter; none, if it is
    /// well.
    #[must_use]
    pub fn causes(&self, root: &str) -> Vec<Cause> {
        let Some((root, _)) = self
            .nodes
            .get_key_value(root)
            .filter(|(id, _)| self.is_unwell(id))
        else {
            return Vec::new();
        };
        let mut before: BTreeMap<&str, Option<&str>> = BTreeMap::from([(root.as_str(), None)]);
        let mut open = VecDeque::from([root.as_str()]);
        let mut causes = Vec::new();
        while let Some(id) = open.pop_front() {
            let mut is_last = true;
            // What is paused waits for nothing but the end of that, and what it is made of is paused with it. The same holds for
            // what waits for a person's approval.
            let is = |id: &str, status: &str| self.node(id).is_some_and(|node| node.status == status);
            let is_paused = is(id, "Paused") || is(id, "ApprovalNeeded");
            // Who goes waits for nobody's leave to change what goes with it.
            let is_going = is(id, "Deleting");
            let needed = self.needs(id).filter(|(needed, _)| self.is_unwell(needed));
            let needed = needed.filter(|(needed, _)| !(is_going && is(needed, "ApprovalNeeded")));
            // Nor for what it used, which goes after it or is not made for it any more.
            let is_used = |needed: &str| is(needed, "Deleting") || is(needed, "Pending");
            let needed = needed
                .filter(|(needed, relation)| !(is_going && *relation == Relation::Input && is_used(needed)));
            // What nobody made yet is waited for in the one who makes it, who says why he does not.
            let needed =
                needed.filter(|(needed, relation)| *relation != Relation::Part || !self.is_unmade(needed));
            for (needed, _) in needed.filter(|_| !is_paused) {
                is_last = false;
                if !before.contains_key(needed) {
                    before.insert(needed, Some(id));
                    open.push_back(needed);
                }
            }
            if is_last {
                let mut way: Vec<String> =
                    std::iter::successors(Some(id), |id| before.get(id).copied().flatten())
                        .map(str::to_owned)
                        .collect();
                way.reverse();
                causes.push(Cause {
                    id: id.to_owned(),
                    way,
                });
            }
        }
        causes
    }

    /// Whether it is something that capt makes, and that is not there.
    fn is_unmade(&self, id: &str) -> bool {
        self.node(id).is_some_and(|node| {
            let is_made = matches!(node.kind.as_str(), "WorkspaceTemplateApply" | "Workspace");
            is_made && node.created_at.is_none() && matches!(node.status.as_str(), "Missing" | "Pending")
        })
    }

    fn is_unwell(&self, id: &str) -> bool {
        self.node(id)
            .is_some_and(|node| matches!(node.health, Health::Busy | Health::Bad))
    }
}
