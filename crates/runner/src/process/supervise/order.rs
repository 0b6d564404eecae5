//! What a supervisor is told, and what it tells.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::sandbox::Reach;

/// How the names of the program's environment variables begin in the environment of its supervisor. With their own names
/// they would have a meaning there too: a user may choose `LD_PRELOAD`, and the supervisor is not confined.
const VARIABLE: &str = "CAPT_RUN_";

/// What stands in the place of paths if there are none to be named, because the program is not confined.
const NOT_CONFINED: &str = "-";

/// What to run, and how.
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
    /// What the program may use; none, if it is not confined.
    pub(in crate::process) reach: Option<Reach>,
    /// The folder to run in.
    pub(in crate::process) cwd: PathBuf,
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
        ];
        match &self.reach {
            None => args.push(NOT_CONFINED.into()),
            Some(reach) => {
                for paths in [&reach.read, &reach.write] {
                    args.push(paths.len().to_string().into());
                    args.extend(paths.iter().map(OsString::from));
                }
            }
        }
        args.extend([OsString::from(&self.cwd), OsString::from(&self.program)]);
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
            reach: reach(&mut next)?,
            cwd: next()?.into(),
            program: next()?.into(),
            args: args.collect(),
        })
    }
}

fn reach(next: &mut impl FnMut() -> Result<OsString, &'static str>) -> Result<Option<Reach>, &'static str> {
    let first = next()?;
    if first == NOT_CONFINED {
        return Ok(None);
    }
    let read = paths(&first, next)?;
    let second = next()?;
    let write = paths(&second, next)?;
    Ok(Some(Reach { read, write }))
}

fn paths(
    count: &OsStr,
    next: &mut impl FnMut() -> Result<OsString, &'static str>,
) -> Result<Vec<PathBuf>, &'static str> {
    let count: usize = count
        .to_str()
        .and_then(|text| text.parse().ok())
        .ok_or("the count of paths is no number")?;
    (0..count).map(|_| next().map(PathBuf::from)).collect()
}

/// A variable of the program, in the environment of its supervisor.
pub(in crate::process) fn wrap_variable(name: &str) -> String {
    format!("{VARIABLE}{name}")
}

/// The variables of the program in the environment of its supervisor.
pub(super) fn unwrap_variables(
    all: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    all.into_iter().filter_map(|(name, value)| {
        let name = name.as_bytes().strip_prefix(VARIABLE.as_bytes())?;
        Some((OsString::from_vec(name.to_vec()), value))
    })
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
