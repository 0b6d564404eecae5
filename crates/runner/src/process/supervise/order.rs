//! What a supervisor is told, and what it tells.

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// What to run, and how. Environment and working directory of the program are those of the supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::process) struct Order {
    /// The file whose lock says that something runs.
    pub(in crate::process) lock: PathBuf,
    /// Where standard output goes. It is a file and no pipe, so that a program outlives the reader of what it says.
    pub(in crate::process) stdout: PathBuf,
    /// Where standard error goes.
    pub(in crate::process) stderr: PathBuf,
    /// How long the program may take to stop when it is asked to.
    pub(in crate::process) grace: Duration,
    /// The program.
    pub(in crate::process) program: PathBuf,
    /// Its arguments.
    pub(in crate::process) args: Vec<OsString>,
}

impl Order {
    /// The order as arguments.
    pub(in crate::process) fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec![
            self.lock.clone().into(),
            self.stdout.clone().into(),
            self.stderr.clone().into(),
            self.grace.as_millis().to_string().into(),
            self.program.clone().into(),
        ];
        args.extend(self.args.iter().cloned());
        args
    }

    /// The order in these arguments.
    pub(super) fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Self, &'static str> {
        let mut args = args.into_iter();
        let mut next = || args.next().ok_or("an argument is missing");
        Ok(Self {
            lock: next()?.into(),
            stdout: next()?.into(),
            stderr: next()?.into(),
            grace: next()?
                .to_str()
                .and_then(|text| text.parse().ok())
                .map(Duration::from_millis)
                .ok_or("the time to stop is no number")?,
            program: next()?.into(),
            args: args.collect(),
        })
    }
}

/// What a supervisor tells, one line each: at most that it started the program, and in the end what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::process) enum Word {
    /// The program runs.
    Started {
        /// Its id, which is that of its group too.
        pid: u32,
    },
    /// The program ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// The program was ended by a signal.
    Killed {
        /// Which.
        signal: i32,
    },
    /// It was not started, since the run was cancelled before.
    Cancelled,
    /// It could not be started.
    NotStarted {
        /// The number of the error, if it has one.
        errno: Option<i32>,
        /// The error.
        problem: String,
    },
}

impl Word {
    /// That it could not be started.
    pub(super) fn not_started(error: &io::Error) -> Self {
        Self::NotStarted {
            errno: error.raw_os_error(),
            problem: error.to_string(),
        }
    }
}
