//! One Workspace: what is known about it, what it says, and what is done about it short of an operation.

mod candidate;
mod facts;
mod leaving;
mod observe;
mod owner;
mod pass;
mod publish;
mod recall;
mod record;
mod retell;
mod standing;
mod write;

pub(crate) use candidate::as_it_would_be;
pub(crate) use facts::{facts_of, home_of, references_of};
pub(crate) use leaving::{beside_backend, take_over};
pub(crate) use observe::{
    Common, is_creation_pending, is_paused, observe, policy, requests, was_made, was_ready_before,
};
pub(crate) use owner::{belongs_to_another, claim};
pub(crate) use pass::{Passed, Then, Told, pass};
pub(crate) use recall::{kind, outcome};
pub(crate) use record::{Connection, Record, Reference};
pub(crate) use standing::Standing;
pub(crate) use write::Handle;
