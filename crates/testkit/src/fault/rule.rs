//! How often a rule acts, and whether it did.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// How often a rule acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// On the first match.
    Once,
    /// On the first so many matches.
    First(usize),
    /// On the match with this number, counted from one.
    Nth(usize),
    /// On every match, at least one, until the rule is released.
    Every,
}

impl Times {
    fn is_due(self, matched: usize) -> bool {
        match self {
            Self::Once => matched == 1,
            Self::First(count) => matched <= count,
            Self::Nth(number) => matched == number,
            Self::Every => true,
        }
    }

    fn promised(self) -> usize {
        match self {
            Self::Once | Self::Nth(_) | Self::Every => 1,
            Self::First(count) => count,
        }
    }
}

/// A rule that was added: tells how often it acted, waits for it, and ends it. Cloning shares it.
#[derive(Clone)]
pub struct Rule {
    shared: Arc<Shared>,
}

struct Shared {
    description: String,
    times: Times,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    matched: usize,
    acted: usize,
    released: bool,
    may_miss: bool,
}

impl Rule {
    pub(super) fn new(description: String, times: Times) -> Self {
        let state = watch::Sender::new(State::default());
        Self {
            shared: Arc::new(Shared {
                description,
                times,
                state,
            }),
        }
    }

    /// How often the rule acted.
    #[must_use]
    pub fn acted(&self) -> usize {
        self.shared.state.borrow().acted
    }

    /// Ends the rule. Events that it holds are delivered.
    pub fn release(&self) {
        self.shared.state.send_modify(|state| state.released = true);
    }

    /// Lets the rule end unused without failing the test, for rules that are guesses about what a controller does.
    #[must_use]
    pub fn may_miss(self) -> Self {
        self.shared.state.send_modify(|state| state.may_miss = true);
        self
    }

    /// Waits until the rule has acted so often in all.
    pub async fn reached(&self, acted: usize) {
        self.wait(|state| state.acted >= acted).await;
    }

    pub(crate) async fn released(&self) {
        self.wait(|state| state.released).await;
    }

    async fn wait(&self, condition: impl Fn(&State) -> bool) {
        let mut state = self.shared.state.subscribe();
        // The sender lives in `self`, so the only outcome is success.
        let _ = state.wait_for(condition).await;
    }

    pub(super) fn is_active(&self) -> bool {
        !self.shared.state.borrow().released
    }

    /// Counts a match, and tells whether the rule acts on it, given that it is free to.
    pub(super) fn count(&self, is_free: bool) -> bool {
        let mut acts = false;
        self.shared.state.send_modify(|state| {
            state.matched += 1;
            acts = is_free && self.shared.times.is_due(state.matched);
            state.acted += usize::from(acts);
        });
        acts
    }

    pub(super) fn shortfall(&self) -> Option<String> {
        let state = *self.shared.state.borrow();
        let missed = !state.may_miss && state.acted < self.shared.times.promised();
        missed.then(|| {
            format!(
                "{} (acted {} times on {} matches)",
                self.shared.description, state.acted, state.matched
            )
        })
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shared.description)
    }
}
