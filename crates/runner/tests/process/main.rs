//! Terraform as processes, with the real one.
//!
//! A machine that has neither `terraform` nor `tofu` skips all of this and says so, unless `CAPT_REQUIRE_TERRAFORM=1`
//! is set. `CAPT_TEST_ENGINE` names another program. Runs are confined as far as the kernel can; `CAPT_TEST_SANDBOX=off` runs
//! the tests of ordinary life without that, and `required` fails where the kernel cannot.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper of a test may fail the test"
)]

mod backends;
mod confined;
mod crash;
mod failing;
mod lifecycle;
mod mirror;
mod simulation;
mod sources;
mod stopping;
mod support;
mod thrift;
mod variables;
