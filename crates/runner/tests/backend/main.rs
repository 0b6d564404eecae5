//! State that we keep and state that plain Terraform keeps with its kubernetes backend are the same state, and the lock
//! of one keeps the other out.
//!
//! Terraform itself is the judge. It talks to the embedded API server over TLS, or to a real one if
//! `CAPT_TEST_KUBECONFIG` names a kubeconfig. A machine that has neither `terraform` nor `tofu` skips all of this and says
//! so, unless `CAPT_REQUIRE_TERRAFORM=1` asks for a failure.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper of a test may fail the test"
)]

mod locks;
mod states;
mod support;
