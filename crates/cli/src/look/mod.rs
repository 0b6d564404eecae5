//! What is going on in a cluster: gathered from its API, judged by `capt-core`, and told in a few words.
//!
//! Nothing here writes anything. Texts that come from objects pass [`text`] before they reach a terminal.

mod absent;
pub(crate) mod awaited;
mod gather;
mod group;
pub(crate) mod kinds;
pub(crate) mod live;
mod object;
pub(crate) mod once;
pub(crate) mod pause;
pub(crate) mod row;
pub(crate) mod style;
pub(crate) mod table;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod text;
pub(crate) mod tree;
pub(crate) mod view;
pub(crate) mod ways;

pub(crate) use self::{
    gather::{Scope, gather, list},
    group::{Gathered, Part},
};
