//! Tests, from sets of paths up to whole requests.

mod build;
mod managers;
mod paths;
mod properties;
mod recorded;
mod requests;
mod values;
