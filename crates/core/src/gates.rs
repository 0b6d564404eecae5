//! The gates that every decision passes, in the one order that is safe.
//!
//! Pausing comes before deletion, because `clusterctl move` deletes objects of a paused cluster whose infrastructure
//! must live on. Deletion comes before everything that could stand in its way. An object whose owner is not there is not
//! worked on, and what is not valid is not either.

/// One thing to decide about. A gate that answers ends the decision.
pub trait Gates {
    /// What is decided.
    type Answer;

    /// Somebody asked that nothing be done.
    fn paused(&mut self) -> Option<Self::Answer>;
    /// The object is going away.
    fn deletion(&mut self) -> Option<Self::Answer>;
    /// The object must have an owner and has none.
    fn owner(&mut self) -> Option<Self::Answer>;
    /// What is asked for cannot be done.
    fn validity(&mut self) -> Option<Self::Answer>;
    /// Nothing stands in the way.
    fn work(&mut self) -> Self::Answer;
}

/// Passes the gates in their order.
pub fn pass<G: Gates>(gates: &mut G) -> G::Answer {
    if let Some(answer) = gates.paused() {
        return answer;
    }
    if let Some(answer) = gates.deletion() {
        return answer;
    }
    if let Some(answer) = gates.owner() {
        return answer;
    }
    if let Some(answer) = gates.validity() {
        return answer;
    }
    gates.work()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers at the gates whose places are given, with the place.
    struct Answering(Vec<usize>);

    impl Answering {
        fn at(&self, place: usize) -> Option<usize> {
            self.0.contains(&place).then_some(place)
        }
    }

    impl Gates for Answering {
        type Answer = usize;

        fn paused(&mut self) -> Option<usize> {
            self.at(0)
        }
        fn deletion(&mut self) -> Option<usize> {
            self.at(1)
        }
        fn owner(&mut self) -> Option<usize> {
            self.at(2)
        }
        fn validity(&mut self) -> Option<usize> {
            self.at(3)
        }
        fn work(&mut self) -> usize {
            4
        }
    }

    #[test]
    fn gates_are_passed_in_order_and_the_first_answer_counts() {
        for (answering, expected) in [
            (vec![0, 1, 2, 3], 0),
            (vec![1, 2, 3], 1),
            (vec![2, 3], 2),
            (vec![3], 3),
            (vec![], 4),
        ] {
            assert_eq!(pass(&mut Answering(answering)), expected);
        }
    }
}
