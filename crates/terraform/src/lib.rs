//! What Terraform says and leaves behind, read and judged: its event stream, plans, diagnostics, state and locks.
//!
//! Everything here is a pure function or a plain state machine over bytes and times that the caller hands in. This
//! crate must never know how a process is started, where a file or a Secret comes from, or what time it is: no process,
//! no file, no Kubernetes client, no clock, no async. Nor may it know templates or clusters; a Workspace's run is the
//! largest thing it has a word for.
//!
//! | module | question it answers |
//! |---|---|
//! | [`stream`] | what did this line of `-json` output say? |
//! | [`progress`] | how far is the operation, how long will it take, and when is that worth writing down? |
//! | [`plan`] | what would change, under which name can it be approved, and does it destroy anything? |
//! | [`diagnostics`] | what went wrong, in words, and is it worth trying again? |
//! | [`redact`] | which of these bytes may leave? |
//! | [`state`] | what exists, which copy of it counts, and how is it kept in Secrets? |
//! | [`lock`] | may we act on this state now? |

pub mod diagnostics;
pub mod lock;
pub mod plan;
pub mod progress;
pub mod redact;
pub mod state;
pub mod stream;
