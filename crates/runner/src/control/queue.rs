//! Who waits for an operation, the most urgent and then the longest waiting first.

use std::collections::{BTreeMap, HashMap};

use super::key::Key;
use crate::decide::{Priority, What};

/// Who waits for an operation.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    places: HashMap<Key, (Priority, u64)>,
    order: BTreeMap<(Priority, u64), (Key, What)>,
    number: u64,
}

impl Queue {
    /// Lines somebody up. Who waits already keeps the place, unless it became more or less urgent.
    pub(crate) fn push(&mut self, key: &Key, what: What, priority: Priority) {
        let number = match self.places.get(key) {
            Some((known, number)) if *known == priority => *number,
            _ => {
                self.number += 1;
                self.number
            }
        };
        self.remove(key);
        self.places.insert(key.clone(), (priority, number));
        self.order.insert((priority, number), (key.clone(), what));
    }

    /// Takes somebody out.
    pub(crate) fn remove(&mut self, key: &Key) {
        if let Some(place) = self.places.remove(key) {
            self.order.remove(&place);
        }
    }

    /// Takes the first one out for which this holds.
    pub(crate) fn pop(&mut self, is_ready: impl Fn(&Key) -> bool) -> Option<(Key, What, Priority)> {
        let (place, (key, what)) = self
            .order
            .iter()
            .find(|(_, (key, _))| is_ready(key))
            .map(|(place, one)| (*place, one.clone()))?;
        self.remove(&key);
        Some((key, what, place.0))
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }
}

#[cfg(test)]
mod tests {
    use capt_core::render::WorkspaceGroup;

    use super::*;

    fn key(name: &str) -> Key {
        Key {
            group: WorkspaceGroup::Namespaced,
            namespace: Some("ns".to_owned()),
            name: name.to_owned(),
        }
    }

    fn drained(queue: &mut Queue) -> Vec<String> {
        std::iter::from_fn(|| queue.pop(|_| true))
            .map(|(key, ..)| key.name)
            .collect()
    }

    #[test]
    fn urgent_ones_come_first_and_equals_in_their_order() {
        let mut queue = Queue::default();
        queue.push(&key("poll"), What::Converge, Priority::Poll);
        queue.push(&key("new-1"), What::Converge, Priority::Create);
        queue.push(&key("new-2"), What::Converge, Priority::Create);
        queue.push(&key("change"), What::Converge, Priority::User);
        queue.push(&key("gone"), What::Destroy, Priority::Delete);
        assert_eq!(queue.len(), 5);
        assert_eq!(drained(&mut queue), ["gone", "change", "new-1", "new-2", "poll"]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn who_waits_keeps_the_place_until_its_urgency_changes() {
        let mut queue = Queue::default();
        queue.push(&key("a"), What::Converge, Priority::Create);
        queue.push(&key("b"), What::Converge, Priority::Create);
        queue.push(&key("a"), What::Converge, Priority::Create);
        assert_eq!(queue.len(), 2);
        assert_eq!(drained(&mut queue), ["a", "b"]);
        queue.push(&key("a"), What::Converge, Priority::Create);
        queue.push(&key("b"), What::Converge, Priority::Create);
        queue.push(&key("b"), What::Destroy, Priority::Delete);
        assert_eq!(drained(&mut queue), ["b", "a"]);
        queue.push(&key("a"), What::Converge, Priority::Create);
        queue.remove(&key("a"));
        assert_eq!(drained(&mut queue), Vec::<String>::new());
    }

    #[test]
    fn who_is_not_ready_is_passed_by_and_keeps_waiting() {
        let mut queue = Queue::default();
        queue.push(&key("a"), What::Converge, Priority::Create);
        queue.push(&key("b"), What::Converge, Priority::Poll);
        assert_eq!(
            queue.pop(|key| key.name != "a").map(|(key, ..)| key.name),
            Some("b".to_owned())
        );
        assert_eq!(drained(&mut queue), ["a"]);
    }
}
