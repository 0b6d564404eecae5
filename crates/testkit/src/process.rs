//! Controllers as processes that can die and be started again.
//!
//! A process is a task with a client of its own. When it dies, the task is aborted, and every call and every watch of
//! its client stays unanswered for ever, so that tasks which it had started on the side can do no harm: as with a real
//! process, nothing that it held in memory reaches anybody.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use apiary::clock::SharedClock;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The life of one process: once crashed, for ever.
#[derive(Clone, Default)]
pub struct CrashToken {
    dead: CancellationToken,
}

impl CrashToken {
    /// Kills the process.
    pub fn crash(&self) {
        self.dead.cancel();
    }

    /// Waits for the process to die.
    pub async fn crashed(&self) {
        self.dead.cancelled().await;
    }

    /// Whether it is dead.
    #[must_use]
    pub fn is_crashed(&self) -> bool {
        self.dead.is_cancelled()
    }
}

impl fmt::Debug for CrashToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_crashed() {
            "CrashToken(dead)"
        } else {
            "CrashToken(alive)"
        })
    }
}

/// What a controller is given when it starts.
#[derive(Clone)]
pub struct Process {
    /// Its client, through the recorder and the faults. Its default namespace is the world's.
    pub client: Client,
    /// The world's clock.
    pub clock: SharedClock,
    /// The world's namespace.
    pub namespace: String,
    /// How often it has been started before.
    pub restarts: usize,
}

impl Process {
    /// The time now, in the world.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

type Start = Arc<dyn Fn(CrashToken, usize) -> BoxFuture<'static, ()> + Send + Sync>;

/// The controllers of a world, each watched by a task that starts it again when it crashes.
#[derive(Default)]
pub(crate) struct Processes {
    running: Mutex<Vec<Running>>,
    failures: Arc<Mutex<Vec<String>>>,
}

struct Running {
    name: String,
    life: Arc<Mutex<CrashToken>>,
    supervisor: JoinHandle<()>,
}

impl Processes {
    pub(crate) fn start(&self, name: &str, restart_after: Duration, start: Start) {
        let life = Arc::new(Mutex::new(CrashToken::default()));
        let failures = self.failures.clone();
        let supervisor = tokio::spawn(supervise(
            name.to_owned(),
            life.clone(),
            restart_after,
            start,
            failures,
        ));
        self.running.lock().push(Running {
            name: name.to_owned(),
            life,
            supervisor,
        });
    }

    /// Kills the process, which starts again.
    pub(crate) fn crash(&self, name: &str) {
        self.find(name, |running| running.life.lock().crash());
    }

    /// Kills the process for good.
    pub(crate) fn stop(&self, name: &str) {
        self.find(name, Running::stop);
        self.running.lock().retain(|running| running.name != name);
    }

    pub(crate) fn stop_all(&self) {
        self.running.lock().drain(..).for_each(|running| running.stop());
    }

    /// Controllers that ended without being told to.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.lock().clone()
    }

    fn find(&self, name: &str, act: impl Fn(&Running)) {
        let running = self.running.lock();
        let found = running.iter().find(|running| running.name == name);
        act(found.unwrap_or_else(|| panic!("no controller called {name} was started")));
    }
}

impl Running {
    fn stop(&self) {
        // The supervisor first, or it would start the process again.
        self.supervisor.abort();
        self.life.lock().crash();
    }
}

/// Aborts a task that nobody waits for any more.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn supervise(
    name: String,
    life: Arc<Mutex<CrashToken>>,
    restart_after: Duration,
    start: Start,
    failures: Arc<Mutex<Vec<String>>>,
) {
    for restarts in 0.. {
        let token = life.lock().clone();
        let mut main = AbortOnDrop(tokio::spawn(start(token.clone(), restarts)));
        tokio::select! {
            biased;
            () = token.crashed() => {}
            outcome = &mut main.0 => {
                let why = match outcome {
                    Ok(()) => "ended by itself".to_owned(),
                    Err(error) => format!("failed: {error}"),
                };
                failures.lock().push(format!("controller {name} {why}"));
                return;
            }
        }
        drop(main);
        tracing::debug!(name, restarts, "crashed");
        *life.lock() = CrashToken::default();
        tokio::time::sleep(restart_after).await;
    }
}

/// Makes a start function of a controller and of what prepares its process.
pub(crate) fn starting<C, F>(
    prepare: impl Fn(&CrashToken, usize) -> Process + Send + Sync + 'static,
    controller: C,
) -> Start
where
    C: Fn(Process) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |token, restarts| controller(prepare(&token, restarts)).boxed())
}
