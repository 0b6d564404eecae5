//! The states of a control plane, and how one leads to another.
//!
//! [`TABLE`] is the only way from state to state. A [`Goal`] says where the facts lead; [`walk`] goes there line by line,
//! so that nothing is skipped and every step is told. Everything else that a status says about how things are is a view
//! of one [`Position`] (see [`super::view`]), so that no two fields can disagree.

use capt_api::captcontrolplane::{ControlPlanePhase as Phase, ControlPlaneState as State};

/// Where the facts lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goal {
    /// The infrastructure is not ready for the first time.
    Pending,
    /// Something that the spec refers to is not there yet.
    Validating,
    /// Terraform makes or changes the EKS cluster.
    Provisioning,
    /// EKS is up, and something around it is not.
    Configuring,
    /// All is well.
    Ready,
    /// It serves, but not wholly as it should.
    Degraded,
    /// A repair is under way.
    Recovering,
    /// It does not serve, and a person must do something.
    Failed(Stage),
    /// It is going away.
    Deleting,
}

/// How far something got before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It had no infrastructure.
    Infrastructure,
    /// It could not be made.
    Validation,
    /// It was being made.
    Provisioning,
    /// It was being set up.
    Configuration,
    /// It served.
    Service,
}

impl Goal {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Pending,
        Self::Validating,
        Self::Provisioning,
        Self::Configuring,
        Self::Ready,
        Self::Degraded,
        Self::Recovering,
        Self::Failed(Stage::Infrastructure),
        Self::Failed(Stage::Validation),
        Self::Failed(Stage::Provisioning),
        Self::Failed(Stage::Configuration),
        Self::Failed(Stage::Service),
        Self::Deleting,
    ];

    /// The state in which a goal is reached.
    #[must_use]
    pub fn state(self) -> State {
        match self {
            Self::Pending => State::Pending,
            Self::Validating => State::Validating,
            Self::Provisioning => State::Provisioning,
            Self::Configuring => State::Configuring,
            Self::Ready => State::Ready,
            Self::Degraded => State::Degraded,
            Self::Recovering => State::Recovering,
            Self::Failed(_) => State::Failed,
            Self::Deleting => State::Deleting,
        }
    }

    fn has_infrastructure(self) -> bool {
        !matches!(self, Self::Pending | Self::Failed(Stage::Infrastructure))
    }

    fn is_valid(self) -> bool {
        self.has_infrastructure() && !matches!(self, Self::Validating | Self::Failed(Stage::Validation))
    }

    fn is_provisioned(self) -> bool {
        self.is_valid() && !matches!(self, Self::Provisioning | Self::Failed(Stage::Provisioning))
    }
}

/// One way from a state to another.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// From here.
    pub from: State,
    /// To there.
    pub to: State,
    /// Why, in words.
    pub because: &'static str,
    /// Whether this is the way to a goal.
    leads_to: fn(Goal) -> bool,
}

const fn line(from: State, to: State, because: &'static str, leads_to: fn(Goal) -> bool) -> Line {
    Line {
        from,
        to,
        because,
        leads_to,
    }
}

/// Why something goes, whatever it was before.
const GOES: &str = "somebody deleted it";

fn is_deletion(goal: Goal) -> bool {
    goal == Goal::Deleting
}

/// Every way from a state to another. Of several that lead to a goal the first is taken.
#[rustfmt::skip]
pub static TABLE: &[Line] = &[
    line(State::Pending, State::Deleting, GOES, is_deletion),
    line(State::Validating, State::Deleting, GOES, is_deletion),
    line(State::Provisioning, State::Deleting, GOES, is_deletion),
    line(State::Configuring, State::Deleting, GOES, is_deletion),
    line(State::Ready, State::Deleting, GOES, is_deletion),
    line(State::Degraded, State::Deleting, GOES, is_deletion),
    line(State::Recovering, State::Deleting, GOES, is_deletion),
    line(State::Failed, State::Deleting, GOES, is_deletion),
    line(State::Deleting, State::Pending, "nobody deleted it, whatever its status said", |goal| goal != Goal::Deleting),

    line(State::Pending, State::Validating, "the infrastructure is ready", Goal::has_infrastructure),
    line(State::Pending, State::Failed, "the infrastructure took too long", |goal| goal == Goal::Failed(Stage::Infrastructure)),

    line(State::Validating, State::Provisioning, "what the spec asks for can be made", Goal::is_valid),
    line(State::Validating, State::Failed, "what the spec asks for cannot be made", |goal| matches!(goal, Goal::Failed(_))),
    line(State::Validating, State::Pending, "there is no infrastructure", |goal| goal == Goal::Pending),

    line(State::Provisioning, State::Configuring, "EKS is up", |goal| matches!(goal, Goal::Configuring | Goal::Ready | Goal::Failed(Stage::Configuration))),
    line(State::Provisioning, State::Degraded, "it serves, and its change is not done", |goal| goal == Goal::Degraded),
    line(State::Provisioning, State::Recovering, "a repair is under way", |goal| goal == Goal::Recovering),
    line(State::Provisioning, State::Validating, "what it refers to is gone before it was made", |goal| goal == Goal::Validating),
    line(State::Provisioning, State::Failed, "it cannot be made", |goal| matches!(goal, Goal::Failed(_))),
    line(State::Provisioning, State::Pending, "the infrastructure is gone before it was made", |goal| goal == Goal::Pending),

    line(State::Configuring, State::Ready, "all of it works", |goal| goal == Goal::Ready),
    line(State::Configuring, State::Degraded, "it serves, but not wholly", |goal| goal == Goal::Degraded),
    line(State::Configuring, State::Recovering, "a repair is under way", |goal| goal == Goal::Recovering),
    line(State::Configuring, State::Failed, "it cannot be set up", |goal| matches!(goal, Goal::Failed(Stage::Configuration | Stage::Service))),
    line(State::Configuring, State::Provisioning, "Terraform has to do something first", |goal| !goal.is_provisioned()),

    line(State::Ready, State::Provisioning, "an update changes what is rendered", |goal| matches!(goal, Goal::Provisioning | Goal::Pending | Goal::Validating)),
    line(State::Ready, State::Configuring, "something around EKS has to be set up again", |goal| goal == Goal::Configuring),
    line(State::Ready, State::Degraded, "it serves, but not wholly", |goal| goal == Goal::Degraded),
    line(State::Ready, State::Recovering, "a repair is under way", |goal| goal == Goal::Recovering),
    line(State::Ready, State::Failed, "it does not serve any more", |goal| matches!(goal, Goal::Failed(_))),

    line(State::Degraded, State::Ready, "all of it works again", |goal| goal == Goal::Ready),
    line(State::Degraded, State::Provisioning, "an update changes what is rendered", |goal| matches!(goal, Goal::Provisioning | Goal::Pending | Goal::Validating)),
    line(State::Degraded, State::Configuring, "something around EKS has to be set up again", |goal| goal == Goal::Configuring),
    line(State::Degraded, State::Recovering, "a repair is under way", |goal| goal == Goal::Recovering),
    line(State::Degraded, State::Failed, "it does not serve any more", |goal| matches!(goal, Goal::Failed(_))),

    line(State::Recovering, State::Failed, "the repair did not help", |goal| matches!(goal, Goal::Failed(_))),
    line(State::Recovering, State::Degraded, "the repair is over, and not all is well", |goal| goal == Goal::Degraded),
    line(State::Recovering, State::Provisioning, "the repair is over", |_| true),

    line(State::Failed, State::Pending, "there is time again to wait for the infrastructure", |goal| goal == Goal::Pending),
    line(State::Failed, State::Recovering, "a repair is under way", |goal| goal == Goal::Recovering),
    line(State::Failed, State::Provisioning, "what made it fail is over", |goal| !matches!(goal, Goal::Failed(_))),
];

/// Goes from a state to a goal, line by line.
#[must_use]
pub fn walk(from: State, goal: Goal) -> Vec<&'static Line> {
    let mut lines = Vec::new();
    let mut state = from;
    // No way is longer than there are states.
    while state != goal.state() && lines.len() < 8 {
        let next = TABLE
            .iter()
            .find(|line| line.from == state && (line.leads_to)(goal));
        let Some(next) = next else { break };
        state = next.to;
        lines.push(next);
    }
    lines
}

/// How a control plane stands: the one value that everything else is a view of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    state: State,
    serves: bool,
    is_initialized: bool,
}

impl Position {
    /// A position in a state. Whether it serves counts only where the state leaves it open.
    #[must_use]
    pub fn new(state: State, serves: bool, was_initialized: bool) -> Self {
        let serves = match state {
            // What goes may serve for a while, and nobody should begin to rely on it.
            State::Pending | State::Validating | State::Failed | State::Deleting => false,
            State::Ready | State::Degraded => true,
            State::Provisioning | State::Configuring | State::Recovering => serves,
        };
        Self {
            state,
            serves,
            is_initialized: was_initialized || serves,
        }
    }

    /// The state.
    #[must_use]
    pub fn state(self) -> State {
        self.state
    }

    /// The state in one of four words.
    #[must_use]
    pub fn phase(self) -> Phase {
        match self.state {
            State::Pending | State::Validating | State::Provisioning => Phase::Creating,
            State::Configuring | State::Recovering if self.serves => Phase::Ready,
            State::Configuring | State::Recovering => Phase::Creating,
            State::Ready | State::Degraded => Phase::Ready,
            State::Failed => Phase::Failed,
            State::Deleting => Phase::Deleting,
        }
    }

    /// Whether it serves, and will go on to.
    #[must_use]
    pub fn is_ready(self) -> bool {
        self.serves
    }

    /// Whether it served once.
    #[must_use]
    pub fn is_initialized(self) -> bool {
        self.is_initialized
    }

    /// Whether it is changed while it serves.
    #[must_use]
    pub fn is_rolling_out(self) -> bool {
        self.serves && self.state == State::Provisioning
    }

    /// Whether it is going away.
    #[must_use]
    pub fn is_deleting(self) -> bool {
        self.state == State::Deleting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 9] = [
        State::Pending,
        State::Validating,
        State::Provisioning,
        State::Configuring,
        State::Ready,
        State::Degraded,
        State::Failed,
        State::Recovering,
        State::Deleting,
    ];

    #[test]
    fn every_goal_is_reached_from_every_state_by_lines_of_the_table_without_going_round() {
        for from in STATES {
            for goal in Goal::ALL {
                let lines = walk(from, goal);
                let mut state = from;
                let mut been = vec![from];
                for line in &lines {
                    assert_eq!(line.from, state, "{from:?} to {goal:?}");
                    state = line.to;
                    assert!(
                        !been.contains(&state),
                        "{from:?} to {goal:?} goes round: {been:?}"
                    );
                    been.push(state);
                }
                assert_eq!(state, goal.state(), "{from:?} to {goal:?}: {been:?}");
            }
        }
    }

    #[test]
    fn the_ways_are_those_of_the_design() {
        use State::{Configuring, Degraded, Failed, Pending, Provisioning, Ready, Validating};
        for (from, goal, expected) in [
            (
                Pending,
                Goal::Ready,
                vec![Validating, Provisioning, Configuring, Ready],
            ),
            (Pending, Goal::Failed(Stage::Infrastructure), vec![Failed]),
            (Pending, Goal::Failed(Stage::Validation), vec![Validating, Failed]),
            (
                Pending,
                Goal::Failed(Stage::Configuration),
                vec![Validating, Provisioning, Configuring, Failed],
            ),
            (Ready, Goal::Provisioning, vec![Provisioning]),
            (Ready, Goal::Degraded, vec![Degraded]),
            (Ready, Goal::Failed(Stage::Service), vec![Failed]),
            (Provisioning, Goal::Degraded, vec![Degraded]),
            (Provisioning, Goal::Ready, vec![Configuring, Ready]),
            (Failed, Goal::Provisioning, vec![Provisioning]),
            (Failed, Goal::Ready, vec![Provisioning, Configuring, Ready]),
            (Failed, Goal::Pending, vec![Pending]),
            (Degraded, Goal::Ready, vec![Ready]),
            (Ready, Goal::Ready, vec![]),
            (Ready, Goal::Deleting, vec![State::Deleting]),
            (Provisioning, Goal::Deleting, vec![State::Deleting]),
        ] {
            let states: Vec<State> = walk(from, goal).iter().map(|line| line.to).collect();
            assert_eq!(states, expected, "{from:?} to {goal:?}");
        }
    }

    #[test]
    fn every_line_is_of_use_and_stands_once() {
        for (index, line) in TABLE.iter().enumerate() {
            let twins = TABLE
                .iter()
                .filter(|other| (other.from, other.to) == (line.from, line.to))
                .count();
            assert_eq!(twins, 1, "{line:?}");
            let is_used = Goal::ALL.into_iter().any(|goal| {
                STATES
                    .into_iter()
                    .any(|from| walk(from, goal).iter().any(|used| std::ptr::eq(*used, line)))
            });
            assert!(is_used, "line {index} is never taken: {line:?}");
        }
    }

    #[test]
    fn the_views_of_a_position_cannot_disagree() {
        for state in STATES {
            for bits in 0..4 {
                let (serves, was_initialized) = (bits & 1 != 0, bits & 2 != 0);
                let position = Position::new(state, serves, was_initialized);
                let at = format!("{position:?}");
                assert_eq!(position.phase() == Phase::Failed, state == State::Failed, "{at}");
                assert!(!position.is_ready() || position.is_initialized(), "{at}");
                assert!(!position.is_ready() || position.phase() != Phase::Failed, "{at}");
                assert!(!was_initialized || position.is_initialized(), "it latches: {at}");
                assert!(
                    !position.is_rolling_out() || position.phase() == Phase::Creating,
                    "{at}"
                );
                assert_eq!(
                    position.phase() == Phase::Deleting,
                    state == State::Deleting,
                    "{at}"
                );
                if position.phase() == Phase::Ready {
                    assert!(position.is_ready(), "{at}");
                }
                if matches!(
                    state,
                    State::Pending | State::Validating | State::Failed | State::Deleting
                ) {
                    assert!(!position.is_ready(), "{at}");
                }
            }
        }
    }
}
