//! A line, an event, and the kinds of events.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Change, ChangeCounts, Diagnostic, Hook, OutputLine, ProvisionHook};

/// One line of output.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// An event of the stream.
    Event(Box<Event>),
    /// Text of something else: a plugin, a crash, a program that has no `-json`.
    Text(String),
    /// The beginning of an event whose rest never came.
    Torn(String),
}

/// One event of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// How loud it is.
    pub level: Level,
    /// The same in words, for people.
    pub message: String,
    /// When it was printed, by the clock of the child process.
    pub at: Option<Timestamp>,
    /// What it says.
    pub kind: Kind,
}

/// How loud an event is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// For the curious.
    Debug,
    /// As it should be.
    #[default]
    Info,
    /// Worth a look.
    Warn,
    /// It failed.
    Error,
}

/// What an event says.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The first line: who is speaking.
    Version {
        /// The program.
        engine: Engine,
        /// Its version.
        version: String,
        /// Version of the stream's format.
        ui: String,
    },
    /// Free text.
    Log {
        /// A state file that could be written nowhere else, as JSON. It holds secrets and must be rescued.
        state: Option<String>,
    },
    /// An error or a warning.
    Diagnostic(Box<Diagnostic>),
    /// A change that is meant to be made.
    PlannedChange(Box<Change>),
    /// A change that somebody else made.
    ResourceDrift(Box<Change>),
    /// How many of each.
    ChangeSummary(ChangeCounts),
    /// The outputs.
    Outputs(BTreeMap<String, OutputLine>),
    /// An operation on a resource, or the read of a data source.
    Apply(Step, Box<Hook>),
    /// The read of a resource that exists.
    Refresh(Step, Box<Hook>),
    /// A provisioner.
    Provision(Step, Box<ProvisionHook>),
    /// An operation on an ephemeral resource.
    Ephemeral(Step, Box<Hook>),
    /// Waiting for the lock of the state, or giving it back.
    StateLock {
        /// It is being waited for.
        acquiring: bool,
    },
    /// A step of `init`.
    Init {
        /// Which step.
        code: String,
    },
    /// An event of `terraform test`.
    Test {
        /// Its type.
        name: String,
    },
    /// A type that we do not know, or a known one with a payload that makes no sense.
    Unknown {
        /// Its type.
        name: String,
    },
}

/// Who is speaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// HashiCorp Terraform.
    Terraform,
    /// OpenTofu.
    OpenTofu,
}

/// Where in its life an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It begins.
    Started,
    /// It goes on.
    Progress,
    /// It succeeded.
    Complete,
    /// It failed; a diagnostic with the cause follows later.
    Errored,
}
