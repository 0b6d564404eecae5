//! When to put together again what was made piece by piece. What stays stands where there was room while many others came
//! and went, and keeps that from being given back.

/// So few changes are never worth it.
const MANY: usize = 256;

/// How much changed since everything was put together.
#[derive(Debug, Default)]
pub(crate) struct Unsettled {
    /// How many changes.
    now: usize,
    /// How many it were when it was last asked.
    before: usize,
}

impl Unsettled {
    /// Something changed.
    pub(crate) fn note(&mut self) {
        self.now += 1;
    }

    /// Whether so many things should be put together: when nothing happened for a while, and so much before that it is worth
    /// it. Is asked now and then, and reckons with being obeyed.
    pub(crate) fn is_worth_it(&mut self, things: usize) -> bool {
        let is_quiet = self.now == self.before;
        self.before = self.now;
        let is_worth_it = is_quiet && self.now > MANY.max(things / 8);
        if is_worth_it {
            *self = Self::default();
        }
        is_worth_it
    }

    /// Whether anything changed since it was last asked, so that it should be asked once more.
    pub(crate) fn is_pending(&self) -> bool {
        self.now != self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_worth_it_once_after_much_happened_and_then_nothing() {
        let mut unsettled = Unsettled::default();
        assert!(!unsettled.is_worth_it(0));
        for round in 0..2 {
            for _ in 0..=MANY {
                unsettled.note();
            }
            assert!(unsettled.is_pending());
            assert!(!unsettled.is_worth_it(10), "it may go on");
            assert!(unsettled.is_worth_it(10), "round {round}");
            assert!(!unsettled.is_worth_it(10), "it was done");
            assert!(!unsettled.is_pending());
        }
    }

    #[test]
    fn of_very_many_very_many_have_to_change() {
        let mut unsettled = Unsettled::default();
        for _ in 0..2 * MANY {
            unsettled.note();
        }
        for _ in 0..2 {
            assert!(!unsettled.is_worth_it(100 * MANY));
        }
    }
}
