//! The process between the runner and Terraform.
//!
//! A run belongs to a supervisor: it starts Terraform in a process group of its own, and when its standard input is
//! closed, be it that the run is cancelled or that the runner was killed, it asks Terraform to stop and makes it stop
//! after a while. In the end nothing that was started is left. It holds the lock of the working directory for as long,
//! and so does Terraform, whose standard input is the lock file: whoever comes next can tell that somebody still runs.
//!
//! A program may be confined. Then a thread of the supervisor confines itself and starts the program, so that nothing of
//! ours runs between the two, and the other threads still see all processes. The supervisor shares nothing else with the
//! program: variables that are meant for the program have other names in the supervisor's environment.
//!
//! It knows a program and its files, and must never know what the program is for.

mod order;
mod stop;
mod sweep;

use std::{
    env,
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::{
        fs::OpenOptionsExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::Path,
    process::{Child, Command, ExitCode},
    thread,
    time::Duration,
};

use rustix::{
    fs::OFlags,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};

use crate::sandbox::{self, Reach};

pub(super) use order::{Order, Word, wrap_variable};
use stop::Stop;

/// How often a lock that somebody else holds is looked at.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// What `capt supervise` does. The arguments are those after that word.
///
/// What becomes of the program is told on standard output, so the exit code only says whether that worked.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let order = match Order::from_args(args) {
        Ok(order) => order,
        Err(problem) => {
            eprintln!("capt supervise is started by the runner and not by people: {problem}");
            return ExitCode::FAILURE;
        }
    };
    sandbox::hide_memory();
    // State and plans hold secrets, and Terraform would make them readable for everybody.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let word = match supervise(&order) {
        Ok(word) => word,
        Err(error) => Word::not_started(&error),
    };
    say(&word);
    ExitCode::SUCCESS
}

fn supervise(order: &Order) -> io::Result<Word> {
    sweep::adopt_orphans()?;
    let stop = Stop::watch()?;
    let Some(lock) = lock(order, &stop)? else {
        return Ok(Word::Cancelled);
    };
    let stdout = fresh(&order.stdout)?;
    let stderr = fresh(&order.stderr)?;
    let mut command = Command::new(&order.program);
    command
        .args(&order.args)
        .env_clear()
        .envs(order::unwrap_variables(env::vars_os()))
        .current_dir(&order.cwd)
        .stdin(lock.try_clone()?)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    let Some(mut child) = stop.unless_asked(|| start(&mut command, order.reach.as_ref()))? else {
        return Ok(Word::Cancelled);
    };
    drop(command);
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return Err(io::Error::other("a process without an id"));
    };
    say(&Word::Started { pid: child.id() });
    stop.climb(pid, order.grace);
    let word = wait(&mut child, pid, &stop);
    sweep::everything();
    drop(lock);
    word
}

/// Starts the program, confined to what it may use.
fn start(command: &mut Command, reach: Option<&Reach>) -> io::Result<Child> {
    let Some(reach) = reach else {
        return command.spawn();
    };
    let confined = || {
        sandbox::restrict_thread(reach)?;
        command.spawn()
    };
    let started = thread::scope(|scope| scope.spawn(confined).join());
    started.unwrap_or_else(|_| Err(io::Error::other("the thread that starts the program failed")))
}

/// Waits for the end, and ends the group while its number cannot belong to anybody else yet.
fn wait(child: &mut Child, pid: Pid, stop: &Stop) -> io::Result<Word> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    stop.ended(pid);
    let status = child.wait()?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Word::Exited { code },
        (None, signal) => Word::Killed {
            signal: signal.unwrap_or_default(),
        },
    })
}

/// The lock of the working directory. A supervisor whose runner died may still be ending its Terraform.
fn lock(order: &Order, stop: &Stop) -> io::Result<Option<File>> {
    let file = own_file().read(true).truncate(false).open(&order.lock)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if stop.wait(LOCK_INTERVAL) {
            return Ok(None);
        }
    }
}

fn fresh(path: &Path) -> io::Result<File> {
    own_file().truncate(true).open(path)
}

/// A file that only the runner and its supervisors open.
fn own_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .create(true)
        .write(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options
}

/// The runner may be gone, and then nobody needs to hear it.
fn say(word: &Word) {
    let Ok(mut line) = serde_json::to_vec(word) else {
        return;
    };
    line.push(b'\n');
    let mut stdout = io::stdout();
    let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests;
