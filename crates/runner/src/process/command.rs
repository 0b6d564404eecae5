//! Running one command of Terraform, under a supervisor.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout},
    time::{Instant, MissedTickBehavior, interval, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::{engine::Failure, sandbox::Reach};

use super::{
    failure::{self, machine},
    supervise::{Order, Word, wrap_variable},
    tail::Tail,
    workdir::{RUN, WorkDir},
};

/// How often it is looked at what a command has written meanwhile.
const TICK: Duration = Duration::from_millis(100);

/// The last bytes of standard error that are kept.
const KEPT_STDERR: usize = 64 << 10;

/// How supervisors are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supervisor {
    /// The program.
    pub program: PathBuf,
    /// The arguments that make it one.
    pub args: Vec<OsString>,
}

/// All that the commands of one session have in common.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// What people call the engine.
    pub(super) engine: String,
    pub(super) supervisor: Supervisor,
    pub(super) program: PathBuf,
    pub(super) grace: Duration,
    pub(super) folder: WorkDir,
    /// Where Terraform runs, inside that folder.
    pub(super) run_in: PathBuf,
    /// What Terraform may use; none, if it is not confined.
    pub(super) reach: Option<Reach>,
    pub(super) env: Vec<(String, String)>,
    pub(super) cancel: CancellationToken,
    /// Held until nobody uses the folder any more.
    pub(super) lock: Arc<fs::File>,
}

/// Does something that blocks where it keeps nobody from working.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(machine("use the working folder", &io::Error::other(error))))
}

/// Hears what a command writes.
pub(super) trait Listener: Send {
    /// A line of standard output.
    fn stdout(&mut self, line: &[u8]);
    /// A line of standard error.
    fn stderr(&mut self, line: &[u8]);
    /// Some time passed.
    fn tick(&mut self) {}
}

/// What became of a command.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// How it ended.
    pub(super) exit: Exit,
    /// It was asked to stop.
    pub(super) cancelled: bool,
    /// The end of what it wrote to standard error.
    pub(super) stderr: String,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It did not even start.
    NotStarted {
        /// The number of the error.
        errno: Option<i32>,
        /// The error.
        problem: String,
    },
    /// Nobody knows.
    Lost,
}

impl Runs {
    /// Uses files of the folder without keeping anybody from working. If this is dropped, the work goes on to its end
    /// and nobody else gets the folder before.
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let lock = self.lock.clone();
        off_thread(move || {
            let done = work();
            drop(lock);
            done
        })
        .await
    }

    /// Runs Terraform with these arguments. Its standard output goes to a file of this name.
    ///
    /// If this is dropped, Terraform is asked to stop, and whoever opens the next session waits for it.
    pub(super) async fn run(
        &self,
        args: Vec<OsString>,
        output: &str,
        listener: &mut dyn Listener,
    ) -> Result<Ended, Failure> {
        if self.cancel.is_cancelled() {
            return Err(failure::cancelled());
        }
        let files = &self.folder.files;
        let (stdout, stderr) = (output_file(output), output_file("stderr"));
        let order = Order {
            lock: self.folder.run_lock(),
            stdout: files.path(&stdout),
            stderr: files.path(&stderr),
            grace: self.grace,
            reach: self.reach.clone(),
            cwd: files.path(&self.run_in),
            program: self.program.clone(),
            args,
        };
        // What the last command wrote must not be taken for what this one writes.
        for file in [&stdout, &stderr] {
            let removed = files.remove(file);
            removed.map_err(|error| machine("remove the output of the last run", &error))?;
        }
        let mut stdout = Tail::new(files, &stdout);
        let mut stderr = Tail::new(files, &stderr);
        let mut supervised = Supervised::start(self, &order)?;
        let mut kept = Kept::default();
        let mut hear = |listener: &mut dyn Listener, line: &[u8]| {
            kept.push(line);
            listener.stderr(line);
        };
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut cancelled = false;
        let exit = loop {
            tokio::select! {
                exit = supervised.next() => match exit {
                    Some(exit) => break exit,
                    None => continue,
                },
                () = self.cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    supervised.stop();
                }
                _ = ticks.tick() => {
                    let read = stdout
                        .pull(|line| listener.stdout(line))
                        .and_then(|()| stderr.pull(|line| hear(listener, line)));
                    read.map_err(|error| machine("read the output of Terraform", &error))?;
                    listener.tick();
                }
            }
        };
        let (exit, cancelled_before) = match exit {
            Some(Word::Exited { code }) => (Exit::Code(code), false),
            Some(Word::Killed { signal }) => (Exit::Signal(signal), false),
            Some(Word::NotStarted { errno, problem }) => (Exit::NotStarted { errno, problem }, false),
            Some(Word::Cancelled) => (Exit::Lost, true),
            Some(Word::Started { .. }) | None => (self.lost(&mut supervised).await, false),
        };
        supervised.reap().await;
        let read = stdout
            .finish(|line| listener.stdout(line))
            .and_then(|()| stderr.finish(|line| hear(listener, line)));
        read.map_err(|error| machine("read the output of Terraform", &error))?;
        listener.tick();
        Ok(Ended {
            exit,
            cancelled: cancelled || cancelled_before,
            stderr: kept.text(),
        })
    }

    /// The supervisor is gone without a word. If it was killed, what it looked after is ended from here.
    async fn lost(&self, supervised: &mut Supervised) -> Exit {
        let Some(group) = supervised.group else {
            let mut problem = String::new();
            if let Some(stderr) = supervised.child.stderr.take() {
                let _ = stderr.take(4096).read_to_string(&mut problem).await;
            }
            let problem = format!("its supervisor failed: {}", problem.trim());
            return Exit::NotStarted { errno: None, problem };
        };
        // Terraform holds the lock too, so while it is held the number of the group is still that of the group.
        for (signal, patience) in [(Signal::INT, self.grace), (Signal::KILL, self.grace)] {
            let until = Instant::now() + patience;
            if self.is_free() {
                break;
            }
            let _ = kill_process_group(group, signal);
            while !self.is_free() && Instant::now() < until {
                sleep(TICK).await;
            }
        }
        Exit::Lost
    }

    fn is_free(&self) -> bool {
        matches!(self.folder.try_run_lock(), Ok(Some(_)))
    }
}

/// The file that a command writes its output to.
fn output_file(name: &str) -> PathBuf {
    Path::new(RUN).join(name)
}

/// A supervisor that runs.
struct Supervised {
    child: Child,
    words: Lines<BufReader<ChildStdout>>,
    group: Option<Pid>,
}

impl Supervised {
    fn start(runs: &Runs, order: &Order) -> Result<Self, Failure> {
        let mut command = tokio::process::Command::new(&runs.supervisor.program);
        command
            .args(&runs.supervisor.args)
            .args(order.to_args())
            .env_clear()
            .envs(runs.env.iter().map(|(name, value)| (wrap_variable(name), value)))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Its program may be a path that says nothing.
            .arg0("capt")
            // What a terminal sends to the runner is not meant for it.
            .process_group(0);
        let mut child = command
            .spawn()
            .map_err(|error| machine("start the supervisor of Terraform", &error))?;
        let Some(stdout) = child.stdout.take() else {
            return Err(machine(
                "hear the supervisor of Terraform",
                &std::io::Error::other("no pipe"),
            ));
        };
        Ok(Self {
            child,
            words: BufReader::new(stdout).lines(),
            group: None,
        })
    }

    /// Waits for the next word. The last one is returned: nothing, if the supervisor went without one.
    async fn next(&mut self) -> Option<Option<Word>> {
        let Ok(Some(line)) = self.words.next_line().await else {
            return Some(None);
        };
        match serde_json::from_str(&line) {
            Ok(Word::Started { pid }) => {
                self.group = i32::try_from(pid).ok().and_then(Pid::from_raw);
                None
            }
            Ok(word) => Some(Some(word)),
            Err(_) => Some(None),
        }
    }

    /// Asks for the end.
    fn stop(&mut self) {
        drop(self.child.stdin.take());
    }

    async fn reap(&mut self) {
        let _ = self.child.wait().await;
    }
}

/// The end of a text.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Kept {
    fn push(&mut self, line: &[u8]) {
        self.0.extend_from_slice(line);
        self.0.push(b'\n');
        if self.0.len() > 2 * KEPT_STDERR {
            self.0.drain(..self.0.len() - KEPT_STDERR);
        }
    }

    fn text(&self) -> String {
        let start = self.0.len().saturating_sub(KEPT_STDERR);
        String::from_utf8_lossy(&self.0[start..]).into_owned()
    }
}

/// For commands whose output is read as a whole afterwards.
pub(super) struct Deaf;

impl Listener for Deaf {
    fn stdout(&mut self, _line: &[u8]) {}
    fn stderr(&mut self, _line: &[u8]) {}
}

impl Runs {
    /// Runs Terraform with these arguments, and gives what it printed.
    pub(super) async fn printed(
        &self,
        args: Vec<OsString>,
        output: &str,
    ) -> Result<(Ended, Vec<u8>), Failure> {
        let ended = self.run(args, output, &mut Deaf).await?;
        let path = output_file(output);
        let printed = self.folder.files.read(&path);
        // It may hold secrets, and it is of no more use.
        let _ = self.folder.files.remove(&path);
        let printed = printed.map_err(|error| machine("read the output of Terraform", &error))?;
        Ok((ended, printed.unwrap_or_default()))
    }
}
