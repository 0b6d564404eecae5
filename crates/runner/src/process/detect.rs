//! Which engine a program is.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use capt_terraform::diagnostics::Class;
use tokio::{process::Command, time::timeout};

use crate::engine::{About, EngineKind, Failure, FailureKind};

/// The oldest version of either engine that says everything that is needed.
pub const OLDEST: (u32, u32) = (1, 5);

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a program is no engine.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// There is no such program.
    #[error("there is no program {0:?}; install it, or name the path of one with --engine-path")]
    Missing(PathBuf),
    /// It could not be started.
    #[error("{0:?} could not be started")]
    NotStarted(PathBuf, #[source] std::io::Error),
    /// It did not say its version.
    #[error("{0:?} does not say its version as terraform and tofu do: {1}")]
    Unknown(PathBuf, String),
    /// It is too old.
    #[error(
        "{0} is too old; {major}.{minor} is the oldest version that works: install that or a newer one, or name the \
         path of one with --engine-path, and start the runner anew",
        major = OLDEST.0,
        minor = OLDEST.1
    )]
    TooOld(About),
}

impl DetectError {
    /// The same, as the failure of an operation that needed the engine.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let kind = match self {
            Self::Missing(_) => FailureKind::EngineMissing,
            Self::NotStarted(..) | Self::Unknown(..) => FailureKind::Machine(Class::Crash),
            Self::TooOld(_) => FailureKind::EngineTooOld,
        };
        let mut message = self.to_string();
        if let Self::NotStarted(_, error) = self {
            message.push_str(&format!(": {error}"));
        }
        if let Self::NotStarted(..) | Self::Unknown(..) = self {
            message.push_str("; install it again, or name the path of another, and start again");
        }
        super::failure::new(kind, message)
    }
}

/// The program of this name or path, found as a shell finds it.
#[must_use]
pub fn find_program(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return std::path::absolute(name).ok().filter(|path| path.is_file());
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Asks the program what it is. Its path is returned in full.
pub(super) async fn detect(program: &Path) -> Result<(PathBuf, About), DetectError> {
    let path = find_program(program).ok_or_else(|| DetectError::Missing(program.to_owned()))?;
    let mut command = Command::new(&path);
    // Files of the user could make it do more than answer.
    command
        .arg("version")
        .env_remove("TF_CLI_ARGS")
        .env_remove("TF_CLI_ARGS_version")
        .env("TF_CLI_CONFIG_FILE", "/dev/null")
        .env("CHECKPOINT_DISABLE", "1")
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = match timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(DetectError::NotStarted(path, error)),
        Err(_) => return Err(DetectError::Unknown(path, "it does not answer".to_owned())),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap_or_default();
    let Some((about, version)) = parse(first) else {
        return Err(DetectError::Unknown(path, format!("{first:?}")));
    };
    if version < OLDEST {
        return Err(DetectError::TooOld(about));
    }
    Ok((path, about))
}

/// What the first line of `version` says.
fn parse(line: &str) -> Option<(About, (u32, u32))> {
    let (name, version) = line.trim().split_once(" v")?;
    let kind = match name {
        "Terraform" => EngineKind::Terraform,
        "OpenTofu" => EngineKind::Tofu,
        _ => return None,
    };
    let numbers = numbers(version)?;
    let version = version.to_owned();
    Some((About { kind, version }, numbers))
}

/// The first two numbers of a version.
pub(super) fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_engines_apart() {
        let cases = [
            (
                "Terraform v1.11.4",
                Some((EngineKind::Terraform, "1.11.4", (1, 11))),
            ),
            (
                "OpenTofu v1.10.0-rc1",
                Some((EngineKind::Tofu, "1.10.0-rc1", (1, 10))),
            ),
            (
                "Terraform v0.12.31",
                Some((EngineKind::Terraform, "0.12.31", (0, 12))),
            ),
            ("GNU bash, version 5", None),
            ("Terraform vnext", None),
            ("", None),
        ];
        for (line, expected) in cases {
            let expected = expected.map(|(kind, version, numbers)| {
                let version = version.to_owned();
                (About { kind, version }, numbers)
            });
            assert_eq!(parse(line), expected, "{line}");
        }
    }

    #[tokio::test]
    async fn says_what_is_wrong_with_a_program() {
        let folder = tempfile::tempdir().unwrap();
        // A program that this process itself had open for writing may be busy in what another test starts.
        let script = |name: &str, text: &str| {
            let path = folder.path().join(name);
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "printf %s \"$1\" > \"$2\" && chmod 700 \"$2\"", "sh", text]);
            assert!(command.arg(&path).status().unwrap().success());
            path
        };
        let cases = [
            (
                folder.path().join("none"),
                FailureKind::EngineMissing,
                "none\"; install it, or name the path",
            ),
            (
                script("old", "#!/bin/sh\necho Terraform v1.4.9\n"),
                FailureKind::EngineTooOld,
                "1.5 is the oldest version that works: install that or a newer one, or name the path of one with \
                 --engine-path, and start the runner anew",
            ),
            (
                script("other", "#!/bin/sh\necho hello\n"),
                FailureKind::Machine(Class::Crash),
                "hello",
            ),
            (
                script("broken", "no program"),
                FailureKind::Machine(Class::Crash),
                "could not be started",
            ),
        ];
        for (path, kind, words) in cases {
            let failure = detect(&path).await.unwrap_err().failure();
            assert_eq!(failure.kind, kind, "{path:?}");
            assert!(failure.message.contains(words), "{}", failure.message);
        }
        let good = script("good", "#!/bin/sh\necho OpenTofu v1.9.1\n");
        assert_eq!(detect(&good).await.unwrap().1.kind, EngineKind::Tofu);
    }
}
