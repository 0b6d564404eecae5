//! The same scenario once for every write and every fault.
//!
//! A first run in which nothing goes wrong is the reference: its writes are the places where something can go wrong, and
//! what it came to is what every other run must come to. Each run has a runtime and a world of its own.
//!
//! Most of the time of a run goes into installing kinds, so a sweep's worlds should have only those that it needs.

mod outcome;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Builder as RuntimeBuilder;

use self::outcome::Outcome;
use crate::fault::{Calls, Fault, Rule, Times};
use crate::world::{Builder, World};

/// The environment variable that picks one case, as the report of a failure writes it.
const ONLY: &str = "CAPT_TEST_CASE";
/// The environment variable that asks for every case of every sweep.
const HOW_MANY: &str = "CAPT_SWEEP";
/// Longer than the longest backoff of a controller, so that a run is not judged before it tried again.
const QUIET: Duration = Duration::from_secs(600);

/// Crashes the controllers of a scenario before and after every write that they make, and fails unless every run comes
/// to what an undisturbed one comes to.
///
/// The scenario starts its controllers, acts, and settles in between. It must not hold handles to the world's clock or
/// runtime beyond its own end.
///
/// # Panics
/// If there is nothing to disturb, or a run comes to something else; the message says which case, and how to run it alone.
pub fn for_each_write_crash(world: Builder, scenario: impl AsyncFn(&World)) -> SweepReport {
    Sweep::new(world)
        .faults([Fault::CrashBefore, Fault::CrashAfter])
        .run(scenario)
}

/// Which faults to try at every write, and in what world.
#[derive(Clone)]
pub struct Sweep {
    world: Builder,
    faults: Vec<Planned>,
    quiet: Duration,
    may_miss: bool,
    one_in: usize,
    disregard: Edit,
}

/// Takes away from an object, which is given with its key, what does not count.
type Edit = Arc<dyn Fn(&str, &mut Value)>;

/// A fault that is made anew for each world.
#[derive(Clone)]
struct Planned {
    name: String,
    make: Arc<dyn Fn(&World) -> Fault>,
}

/// How many cases were tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepReport {
    /// The writes of the undisturbed run, as `caller: Verb resource namespace/name`.
    pub writes: Vec<String>,
    /// Runs with a fault.
    pub cases: usize,
}

impl Sweep {
    /// A sweep with no faults yet, in worlds set up like this, but always in this process.
    #[must_use]
    pub fn new(world: Builder) -> Self {
        Self {
            world,
            faults: Vec::new(),
            quiet: QUIET,
            may_miss: false,
            one_in: 1,
            disregard: Arc::new(|_, _| {}),
        }
    }

    /// With these faults as well.
    #[must_use]
    pub fn faults(self, faults: impl IntoIterator<Item = Fault>) -> Self {
        faults.into_iter().fold(self, |sweep, fault| {
            sweep.fault(&format!("{fault:?}"), move |_| fault.clone())
        })
    }

    /// With a fault that needs something of the world, such as a client for somebody who interferes.
    #[must_use]
    pub fn fault(mut self, name: &str, make: impl Fn(&World) -> Fault + 'static) -> Self {
        self.faults.push(Planned {
            name: name.to_owned(),
            make: Arc::new(make),
        });
        self
    }

    /// A run is judged when nothing has changed for so long; ten minutes by default.
    #[must_use]
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// For controllers that race each other: one of their runs may need a write less than another, so that the fault at
    /// the last one finds nothing to act on. In some run each fault must act all the same.
    #[must_use]
    pub fn may_miss(mut self) -> Self {
        self.may_miss = true;
        self
    }

    /// What tells how an object came to be what it is, and so may differ from run to run: `edit` takes it away before
    /// [`Sweep::run`] compares.
    #[must_use]
    pub fn disregard(mut self, edit: impl Fn(&str, &mut Value) + 'static) -> Self {
        self.disregard = Arc::new(edit);
        self
    }

    /// For long lives: tries one case in so many, unless the variable `CAPT_SWEEP` says `all`.
    #[must_use]
    pub fn one_in(mut self, many: usize) -> Self {
        self.one_in = many.max(1);
        self
    }

    /// Runs the scenario undisturbed, then once for every write and fault. Every run must come to the same.
    ///
    /// # Panics
    /// If there is nothing to disturb, a fault never happens in any run, or a run comes to something else; the message says
    /// which case, and how to run it alone.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a scenario is most often a closure written in place"
    )]
    pub fn run(self, scenario: impl AsyncFn(&World)) -> SweepReport {
        let reference = self.in_world(async |world| self.outcome(world, &scenario, None).await);
        self.each_case(&reference, |case| {
            let outcome = self.in_world(async |world| self.outcome(world, &scenario, Some(case)).await);
            Judged {
                acted: outcome.acted,
                wrong: reference.compare(&outcome),
            }
        })
    }

    /// Runs the scenario undisturbed, then once for every write and fault. What every disturbed run comes to is judged by
    /// `check`, which panics if it is not right: for faults that are meant to change the outcome, such as a deletion.
    ///
    /// # Panics
    /// If there is nothing to disturb, a fault never happens in any run, or a check does; the message says which case, and how
    /// to run it alone.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a scenario is most often a closure written in place"
    )]
    pub fn run_and_check(self, scenario: impl AsyncFn(&World), check: impl AsyncFn(&World)) -> SweepReport {
        let reference = self.in_world(async |world| self.outcome(world, &scenario, None).await);
        self.each_case(&reference, |case| {
            self.in_world(async |world| {
                let outcome = self.outcome(world, &scenario, Some(case)).await;
                check(world).await;
                Judged {
                    acted: outcome.acted,
                    wrong: outcome.misses(),
                }
            })
        })
    }

    fn in_world<T>(&self, visit: impl AsyncFnOnce(&World) -> T) -> T {
        let runtime = RuntimeBuilder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        let runtime = runtime.unwrap_or_else(|error| panic!("cannot make a runtime: {error}"));
        runtime.block_on(async {
            let world = self.world.clone().embedded_only().start().await;
            let seen = visit(&world).await;
            world.finish().await;
            seen
        })
    }

    async fn outcome(&self, world: &World, scenario: &impl AsyncFn(&World), case: Option<&Case>) -> Outcome {
        let rule: Option<Rule> = case.map(|case| {
            let calls = Calls::by(&case.caller).writes();
            // A miss is told by the outcome, which knows the case.
            world
                .faults()
                .inject(calls, Times::Nth(case.number), (case.fault.make)(world))
                .may_miss()
        });
        scenario(world).await;
        world.settle_for(self.quiet).await;
        let acted = rule.as_ref().is_some_and(|rule| rule.acted() > 0);
        Outcome {
            end: world.snapshot().await.masked().edited(self.disregard.as_ref()),
            writes: world.recorder().writes(),
            acted,
            missed: !self.may_miss && rule.is_some() && !acted,
        }
    }

    fn each_case(&self, reference: &Outcome, run: impl Fn(&Case) -> Judged) -> SweepReport {
        let only = env::var(ONLY).ok();
        let is_asked_for = only.is_some() || env::var(HOW_MANY).is_ok_and(|many| many == "all");
        let step = if is_asked_for { 1 } else { self.one_in };
        let chosen: Vec<Case> = choose(self.cases(reference), only.as_deref())
            .into_iter()
            .step_by(step)
            .collect();
        let cases = chosen.len();
        let mut failures = Vec::new();
        let mut acted = BTreeSet::new();
        for case in chosen {
            // A run may also fail by itself, and then the case must be named too.
            let judged = catch_unwind(AssertUnwindSafe(|| run(&case)));
            let wrong = match judged {
                Ok(judged) => {
                    acted.extend(judged.acted.then(|| case.fault.name.clone()));
                    judged.wrong
                }
                Err(panic) => vec![message(panic.as_ref())],
            };
            if !wrong.is_empty() {
                failures.push(format!(
                    "{ONLY}=\"{case}\" ({})\n  {}",
                    case.write,
                    wrong.join("\n  ")
                ));
            }
        }
        assert!(
            failures.is_empty(),
            "{} of {cases} cases went wrong:\n{}",
            failures.len(),
            failures.join("\n")
        );
        if only.is_none() {
            self.each_fault_acted(&acted, cases);
        }
        SweepReport {
            writes: reference
                .writes
                .iter()
                .map(|entry| entry.call.to_string())
                .collect(),
            cases,
        }
    }

    /// A fault that never happened was not survived.
    fn each_fault_acted(&self, acted: &BTreeSet<String>, cases: usize) {
        let names = self.faults.iter().map(|fault| fault.name.as_str());
        let idle: Vec<&str> = names.filter(|name| !acted.contains(*name)).collect();
        assert!(
            idle.is_empty(),
            "none of {cases} cases had these faults happen: {}. Try more of them, or another scenario",
            idle.join(", ")
        );
    }

    /// Every fault at every write of the undisturbed run. A sweep of nothing would pass whatever is wrong.
    fn cases(&self, reference: &Outcome) -> Vec<Case> {
        assert!(!self.faults.is_empty(), "the sweep has no faults to try");
        assert!(
            !reference.writes.is_empty(),
            "the undisturbed run made no writes, so there is nothing to disturb: does the scenario start its controllers?"
        );
        let mut counts = BTreeMap::<&str, usize>::new();
        let mut cases = Vec::new();
        for entry in &reference.writes {
            let number = counts.entry(&entry.call.caller).or_default();
            *number += 1;
            if outcome::is_told(entry) {
                continue;
            }
            cases.extend(self.faults.iter().map(|fault| Case {
                caller: entry.call.caller.clone(),
                number: *number,
                write: entry.call.to_string(),
                fault: fault.clone(),
            }));
        }
        cases
    }
}

impl fmt::Debug for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.faults.iter().map(|fault| fault.name.as_str()).collect();
        f.debug_struct("Sweep")
            .field("faults", &names)
            .finish_non_exhaustive()
    }
}

/// What a run with a fault came to.
struct Judged {
    /// The fault happened.
    acted: bool,
    /// What is wrong.
    wrong: Vec<String>,
}

/// A fault at the so-manieth write of a caller.
struct Case {
    caller: String,
    number: usize,
    write: String,
    fault: Planned,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{} {}", self.caller, self.number, self.fault.name)
    }
}

/// All cases, or the one that somebody wants to run alone.
fn choose(cases: Vec<Case>, only: Option<&str>) -> Vec<Case> {
    let Some(only) = only else { return cases };
    let known: Vec<String> = cases.iter().map(Case::to_string).collect();
    assert!(
        known.iter().any(|case| case == only),
        "{ONLY}={only:?} is no case of this sweep, which has:\n  {}\nRun only the test that the case belongs to.",
        known.join("\n  ")
    );
    cases
        .into_iter()
        .filter(|case| case.to_string() == only)
        .collect()
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panicked")
        .to_owned()
}

#[cfg(test)]
mod tests;
