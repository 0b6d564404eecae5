//! Plays the same requests against two Kubernetes API servers and compares the answers.
//!
//! A [`Scenario`] is a file with a list of steps: a request, or a kubectl command, and what of its answer to keep.
//! A [`Player`] plays it against one server and gives back the answers with everything that must differ between two
//! runs (uids, resource versions, times) replaced by names of where they were first seen.
//! [`judge`] then finds the fields in which two servers disagree, and [`Allowed`] says which of those are meant.
//!
//! The answers of a real kube-apiserver are kept as [`golden`] files, so that the embedded server can be checked
//! where no real one is at hand.
//! Nothing here knows which server is which, nor how to start one.

mod allowed;
mod diff;
pub mod golden;
mod head;
mod kubectl;
mod mask;
mod pick;
mod player;
mod scenario;
mod verdict;
mod watch;

pub use allowed::{Allowed, AllowedError, Exception};
pub use diff::{Difference, compare};
pub use kubectl::Kubectl;
pub use player::{PlayError, Player, Recorded};
pub use scenario::{Scenario, ScenarioError, Step, Until};
pub use verdict::{Excused, Finding, Verdict, judge};
