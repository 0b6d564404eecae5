//! Worlds for tests of controllers.
//!
//! A [`World`] is a Kubernetes API with the kinds of capt, a clock, and the controllers under test. By default all of it
//! lives in the test's own process and in virtual time, so that a day passes in milliseconds and every test has a world
//! to itself. With `CAPT_TEST_KUBECONFIG` set the same tests run on a real API server.
//!
//! - [`Faults`]: calls fail, hang, lose their answers; watches grow stale, lose events, break; controllers crash before
//!   or after any write and are started again. A fault that never happened fails the test.
//! - [`Recorder`]: every call and what came of it.
//! - [`Snapshot`]: what a world came to, masked so that two runs can be compared.
//! - [`Sweep`] and [`for_each_write_crash`]: the same scenario once for every write and every fault, each run held
//!   against one in which nothing went wrong.
//!
//! This crate must never know what a controller decides or what a kind means: it knows calls, objects and time. It starts
//! no programs; whoever wants a real API server hands it a kubeconfig.

mod call;
mod fault;
mod layer;
mod process;
mod recorder;
mod snapshot;
mod sweep;
mod watch;
mod world;

pub use call::{Call, Verb};
pub use fault::{Calls, Disturbance, EventKind, Events, Fault, Faults, Rule, Times};
pub use layer::{AnswerBody, FaultLayer, FaultService};
pub use process::{CrashToken, Process};
pub use recorder::{Entry, Mark, Recorder};
pub use snapshot::Snapshot;
pub use sweep::{Sweep, SweepReport, for_each_write_crash};
pub use world::{Builder, World};
