//! WorkspaceTemplateApplies from their owners' side: which one is an owner's, what it is to be, what became of it, when
//! an edit of its template reaches it, and how it ends.
//!
//! An owner authors only the fields that it has to say something about, so that what a person adds to one of its
//! WorkspaceTemplateApplies stays. It consents to destruction by a mark, and by nothing else.
//!
//! This module must never know what an owner makes, nor what its states are called.

mod again;
mod ending;
mod failure;
mod fields;
mod finding;
mod glance;
mod left;
mod outputs;
mod pausing;
mod release;
mod report;
mod seen;
mod standing;
mod wanted;

pub use again::{is_made_again, words_of_made_again, words_of_workspace_made_again, workspace_made_again};
pub use ending::{End, Fate, cannot_go, destruction_trouble, end, gave_up};
pub(crate) use failure::remembered;
pub(crate) use fields::{Field, to_be_changed};
pub(crate) use finding::name_put_right;
pub use finding::{Found, find};
pub use glance::{PlanGlance, RunGlance, Setback, Trouble, TroubleClass, WorkspaceGlance};
pub use left::{Left, LeftWorkspace, answer, may_end};
pub use outputs::{OutputProblem, list_of_texts, text};
pub(crate) use pausing::{HELD_UP, held_up, paused};
pub use release::{Peer, Released, needs_peers, next_in_line, release};
pub use report::report;
pub use seen::OwnedSeen;
pub(crate) use seen::retry_command;
pub use standing::{Standing, is_without_template, standing};
pub use wanted::{Owner, Role, Wanted};

#[cfg(test)]
mod tests;
