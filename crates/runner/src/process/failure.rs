//! What went wrong, for whoever asked.

use std::io;

use capt_terraform::{
    diagnostics::{self, Class, classify_text},
    stream::{Diagnostic, Severity},
};

use crate::engine::{Failure, FailureKind};

use super::command::{Ended, Exit};

/// As much as a message is allowed to be long here; who shows it may cut it further.
const MAX_MESSAGE: usize = 16 << 10;

/// A failure of this kind.
pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure {
        kind,
        message: message.into(),
        diagnostics: Vec::new(),
        state: None,
        missing: Vec::new(),
    }
}

/// The inputs are wrong.
pub(super) fn invalid(message: impl Into<String>) -> Failure {
    new(FailureKind::InvalidInput, message)
}

/// The run was cancelled.
pub(super) fn cancelled() -> Failure {
    new(FailureKind::Cancelled, "the operation was cancelled")
}

/// Something on this machine did not work.
pub(super) fn machine(doing: &str, error: &io::Error) -> Failure {
    let (class, advice) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (Class::DiskFull, "; make room on the runner's disk")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (Class::Denied, "; let the runner write to its folder")
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => (
            Class::Settling,
            "; the runner's machine is short of processes or memory",
        ),
        _ => (Class::Other, ""),
    };
    new(
        FailureKind::Machine(class),
        format!("cannot {doing}: {error}{advice}"),
    )
}

/// A command of Terraform that did not succeed.
pub(super) fn command(engine: &str, command: &str, ended: &Ended, said: Vec<Diagnostic>) -> Failure {
    if ended.cancelled {
        return Failure {
            diagnostics: said,
            ..cancelled()
        };
    }
    let crashed = |what: String| {
        let words = crash(&ended.stderr).or_else(|| last_line(&ended.stderr));
        let words = words.map(|words| format!(": {words}")).unwrap_or_default();
        new(
            FailureKind::Terraform(Class::Crash),
            format!("{engine} {command} {what}{words}"),
        )
    };
    let failure = match &ended.exit {
        // So the system ends what takes too much memory, and nothing else that happens to a program by itself does.
        Exit::Signal(9) => crashed(
            "was killed by signal 9; if that was for want of memory, give the runner more of it".to_owned(),
        ),
        Exit::Signal(signal) => crashed(format!("was ended by signal {signal}")),
        Exit::Lost => crashed("was lost: the process that looked after it was killed".to_owned()),
        Exit::NotStarted { errno, problem } => not_started(engine, *errno, problem),
        // A Go program ends so when it breaks down, whatever it had to say before.
        Exit::Code(11 | 2) if crash(&ended.stderr).is_some() => crashed("crashed".to_owned()),
        Exit::Code(_) => errors(engine, command, ended, &said),
    };
    Failure {
        diagnostics: said,
        ..failure
    }
}

/// The diagnostics that are worth telling although nothing failed.
pub(super) fn warnings(said: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let is_warning = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Warning;
    said.into_iter().filter(is_warning).collect()
}

fn not_started(engine: &str, errno: Option<i32>, problem: &str) -> Failure {
    let error = errno.map_or_else(
        || io::Error::other(problem.to_owned()),
        io::Error::from_raw_os_error,
    );
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => new(
            FailureKind::EngineMissing,
            format!(
                "{engine} cannot be started any more: {problem}; install it again, or start the runner anew"
            ),
        ),
        _ => machine(&format!("start {engine}"), &error),
    }
}

fn errors(engine: &str, command: &str, ended: &Ended, said: &[Diagnostic]) -> Failure {
    if let Some(message) = diagnostics::message(said, MAX_MESSAGE) {
        let class = diagnostics::verdict(said).unwrap_or(Class::Other);
        return new(FailureKind::Terraform(class), message);
    }
    let text = ended.stderr.trim();
    if let Some(words) = crash(text) {
        return new(
            FailureKind::Terraform(Class::Crash),
            format!("{engine} {command} crashed: {words}"),
        );
    }
    let message = if text.is_empty() {
        format!("{engine} {command} failed and did not say why")
    } else {
        diagnostics::bounded(&plain(text), MAX_MESSAGE)
    };
    // Terraform breaks lines for people, also between words that belong together.
    let words: Vec<&str> = message.split_whitespace().collect();
    new(FailureKind::Terraform(classify_text(&words.join(" "))), message)
}

/// The text of errors that Terraform printed for people, without the lines that it draws around them.
pub(super) fn plain(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.trim_start_matches(['╷', '│', '╵', ' ']).trim_end());
    let mut out = String::new();
    for line in lines {
        if line.is_empty() && (out.is_empty() || out.ends_with("\n\n")) {
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out.trim().to_owned()
}

/// Why a Go program broke down, if that is what it printed: the line that says so, and not the stacks after it.
fn crash(text: &str) -> Option<String> {
    const SIGNS: [&str; 5] = [
        "panic: ",
        "fatal error: ",
        "runtime error: ",
        "unexpected fault address",
        "runtime: ",
    ];
    let is_signal = |line: &str| {
        let name = line.split(':').next().unwrap_or_default();
        name.len() > 3 && name.starts_with("SIG") && name.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let is_stack = |line: &str| line.starts_with("goroutine ") && line.contains('[');
    let lines = || text.lines().map(str::trim_end);
    let said = lines().find(|line| is_signal(line) || SIGNS.iter().any(|sign| line.starts_with(sign)));
    let before_stack = || {
        let mut before = None;
        for line in lines() {
            if is_stack(line) {
                return before;
            }
            before = Some(line).filter(|line| !line.is_empty()).or(before);
        }
        None
    };
    Some(bounded_line(said.or_else(before_stack)?))
}

fn last_line(text: &str) -> Option<String> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(bounded_line(last.trim()))
}

fn bounded_line(line: &str) -> String {
    const KEPT: usize = 300;
    diagnostics::bounded(line, KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(exit: Exit, stderr: &str) -> Ended {
        Ended {
            exit,
            cancelled: false,
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn a_full_disk_is_called_so_wherever_it_shows() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let failure = machine("write the state", &full);
        assert_eq!(failure.kind, FailureKind::Machine(Class::DiskFull));
        assert!(failure.message.contains("write the state") && failure.message.contains("make room"));
        let said = Diagnostic {
            summary: "Failed to persist state".to_owned(),
            detail: "write x: no space left on device".to_owned(),
            ..Diagnostic::default()
        };
        let failure = command("terraform", "apply", &ended(Exit::Code(1), ""), vec![said]);
        assert_eq!(failure.kind, FailureKind::Terraform(Class::DiskFull));
        let enospc = rustix::io::Errno::NOSPC.raw_os_error();
        let not_started = Exit::NotStarted {
            errno: Some(enospc),
            problem: "x".to_owned(),
        };
        let failure = command("terraform", "plan", &ended(not_started, ""), Vec::new());
        assert_eq!(failure.kind, FailureKind::Machine(Class::DiskFull));
    }

    #[test]
    fn how_it_ended_says_what_it_was() {
        let missing = Exit::NotStarted {
            errno: Some(rustix::io::Errno::NOENT.raw_os_error()),
            problem: "no such file".to_owned(),
        };
        let crash = FailureKind::Terraform(Class::Crash);
        let cases = [
            (
                Exit::Signal(9),
                "",
                crash,
                "signal 9; if that was for want of memory",
            ),
            (Exit::Signal(11), "fault", crash, "was ended by signal 11: fault"),
            (Exit::Lost, "", crash, "lost"),
            (
                Exit::Code(2),
                "panic: nil\n\ngoroutine 1 [running]:\nmain.main()\n",
                crash,
                "crashed: panic: nil",
            ),
            (Exit::Code(1), "panic: nil", crash, "nil"),
            (
                Exit::Code(2),
                "SIGSEGV: segmentation violation\nPC=0x47 m=0 sigcode=0\n\ngoroutine 0 [idle]:\nruntime.futex()\n",
                crash,
                "crashed: SIGSEGV: segmentation violation",
            ),
            (
                Exit::Code(2),
                "fatal error: concurrent map writes\n\ngoroutine 7 [running]:\n",
                crash,
                "crashed: fatal error: concurrent map writes",
            ),
            (
                Exit::Code(11),
                "!!! TERRAFORM CRASH !!!\n\nReport it.\n\nit was nil\ngoroutine 1 [running]:\nmain.main()\n",
                crash,
                "crashed: it was nil",
            ),
            (
                Exit::Code(1),
                "Error: the job says goroutine 7 is stuck\n",
                FailureKind::Terraform(Class::Other),
                "goroutine 7 is stuck",
            ),
            (missing, "", FailureKind::EngineMissing, "install it again"),
            (
                Exit::Code(1),
                "",
                FailureKind::Terraform(Class::Other),
                "did not say why",
            ),
            (
                Exit::Code(1),
                "╷\n│ Error: Failed to download module\n│ \n│ fatal: unable to connect to x: errno=Connection\n│ refused\n╵\n",
                FailureKind::Terraform(Class::Network),
                "errno=Connection\nrefused",
            ),
            (
                Exit::Code(1),
                "╷\n│ Error: dial tcp: connection refused\n│ \n╵\n",
                FailureKind::Terraform(Class::Network),
                "Error: dial tcp: connection refused",
            ),
        ];
        for (exit, stderr, kind, words) in cases {
            let failure = command("terraform", "plan", &ended(exit.clone(), stderr), Vec::new());
            assert_eq!(failure.kind, kind, "{exit:?}");
            assert!(failure.message.contains(words), "{exit:?}: {}", failure.message);
            assert!(!failure.message.contains("main.main"), "{}", failure.message);
        }
        let mut stopped = ended(Exit::Signal(9), "");
        stopped.cancelled = true;
        assert_eq!(
            command("terraform", "plan", &stopped, Vec::new()).kind,
            FailureKind::Cancelled
        );
    }
}
