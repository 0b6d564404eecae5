//! The lines that `terraform … -json` and `tofu … -json` print while they work, as typed events.
//!
//! Nothing a child process prints can make this fail: what is not an event is text, what is an event of a type we do
//! not know is kept as such, and what was cut short is called torn. The reader never knows which command it listens to.

mod action;
mod address;
mod event;
mod lines;
mod parse;
mod wire;

pub use action::Action;
pub use address::configuration_address;
pub use event::{Engine, Event, Kind, Level, Line, Step};
pub use lines::{LineSplitter, MAX_LINE};
pub use parse::parse_line;
pub use wire::{
    Change, ChangeCounts, ChangedOperation, Diagnostic, Hook, OutputLine, Position, ProvisionHook, Range,
    Resource, Severity, Snippet, SnippetValue,
};

#[cfg(test)]
mod tests;
