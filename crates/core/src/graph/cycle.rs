//! Things that wait for each other in a circle, so that none of them can ever be ready.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, Relation};

/// Objects that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("These wait for each other: {}. Remove one of the waits", .ids.join(" -> "))]
pub struct Cycle {
    /// The objects, each of which waits for the next, with the first one again at the end.
    pub ids: Vec<String>,
}

/// Something that happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// It is made.
    Begins,
    /// It is ready.
    Ready,
}

type Happening<'a> = (&'a str, Moment);

impl Graph {
    /// Finds things that wait for each other.
    ///
    /// A part begins when its maker has begun and has all its inputs, and everybody is ready after all that they need.
    /// A circle of needs alone would not find a network that waits for what only a cluster in it can make.
    #[must_use]
    pub fn cycle(&self) -> Option<Cycle> {
        let mut finished = BTreeSet::new();
        for id in self.nodes.keys() {
            let mut way = Vec::new();
            if let Some(cycle) = self.walk((id, Moment::Ready), &mut way, &mut finished) {
                return Some(cycle);
            }
        }
        None
    }

    /// Walks back to what has to happen before, one step at a time and without recursion, so that no graph is too deep.
    fn walk<'a>(
        &'a self,
        start: Happening<'a>,
        way: &mut Vec<(Happening<'a>, Vec<Happening<'a>>)>,
        finished: &mut BTreeSet<Happening<'a>>,
    ) -> Option<Cycle> {
        if finished.contains(&start) {
            return None;
        }
        let mut places = BTreeMap::from([(start, 0)]);
        way.push((start, self.before(start)));
        while let Some((here, open)) = way.last_mut() {
            let here = *here;
            let Some(next) = open.pop() else {
                finished.insert(here);
                places.remove(&here);
                way.pop();
                continue;
            };
            if let Some(place) = places.get(&next) {
                return Some(spelled_out(way.iter().skip(*place).map(|((id, _), _)| *id)));
            }
            if !finished.contains(&next) {
                places.insert(next, way.len());
                way.push((next, self.before(next)));
            }
        }
        None
    }

    /// What has to happen before.
    fn before<'a>(&'a self, (id, moment): Happening<'a>) -> Vec<Happening<'a>> {
        match moment {
            Moment::Ready => {
                let needs = self.needs(id).map(|(needed, _)| (needed, Moment::Ready));
                std::iter::once((id, Moment::Begins)).chain(needs).collect()
            }
            Moment::Begins => self
                .needed_by(id)
                .filter(|(_, relation)| *relation == Relation::Part)
                .flat_map(|(maker, _)| {
                    let inputs = self
                        .needs(maker)
                        .filter(|(_, relation)| *relation == Relation::Input);
                    let inputs = inputs.map(|(input, _)| (input, Moment::Ready));
                    std::iter::once((maker, Moment::Begins)).chain(inputs)
                })
                .collect(),
        }
    }
}

/// Names every object once, and the first one again at the end.
fn spelled_out<'a>(ids: impl Iterator<Item = &'a str>) -> Cycle {
    let mut spelled: Vec<String> = Vec::new();
    for id in ids {
        if spelled.last().map(String::as_str) != Some(id) {
            spelled.push(id.to_owned());
        }
    }
    if spelled.len() > 1 && spelled.first() == spelled.last() {
        spelled.pop();
    }
    spelled.extend(spelled.first().cloned());
    Cycle { ids: spelled }
}
