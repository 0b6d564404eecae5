//! A world: an API, a clock, faults, a record, and the controllers that live in it.

mod builder;
mod embedded;
mod real;
mod time;

use std::time::Duration;

use apiary::clock::SharedClock;
use kube::Client;
use tokio::time::{Instant, sleep};
use tower::{Layer, service_fn};

use crate::fault::Faults;
use crate::layer::FaultLayer;
use crate::process::{CrashToken, Process, Processes, starting};
use crate::recorder::Recorder;
use crate::snapshot::Snapshot;

pub use builder::Builder;
use embedded::Embedded;

/// How long a crashed controller stays away.
const RESTART_AFTER: Duration = Duration::from_secs(1);
/// How long nothing may change before the world counts as settled.
const QUIET: Duration = Duration::from_secs(20);
/// When it is clear that a world never settles.
const NEVER: Duration = Duration::from_secs(3600);
/// The same three for a real API server, where time is precious.
const REAL_QUIET: Duration = Duration::from_secs(2);
const REAL_NEVER: Duration = Duration::from_secs(120);
const REAL_STEP: Duration = Duration::from_millis(50);

/// A world for one test.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use capt_testkit::{Calls, Fault, Times, Verb, World};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
///
/// let world = World::builder().without_crds().start().await;
/// world.faults().inject(Calls::by("demo").verb(Verb::Get), Times::Once, Fault::fail(503));
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(world.client_for("demo"));
/// assert!(maps.get_opt("x").await.is_err());
/// assert!(maps.get_opt("x").await.unwrap().is_none());
/// world.finish().await;
/// # });
/// ```
///
/// Dropping a world fails the test if a rule of its [`faults`](World::faults) missed or a controller ended.
pub struct World {
    embedded: Option<Embedded>,
    client: Client,
    namespace: String,
    clock: SharedClock,
    faults: Faults,
    recorder: Recorder,
    processes: Processes,
}

impl World {
    /// A world with the kinds of capt in it.
    ///
    /// If `CAPT_TEST_KUBECONFIG` names a kubeconfig it is on that API server, in a namespace of its own and in real time;
    /// else it is in this process and in virtual time.
    pub async fn new() -> Self {
        Self::builder().start().await
    }

    /// The same, but always in this process, for tests that own time or the server's inside.
    pub async fn embedded_only() -> Self {
        Self::builder().embedded_only().start().await
    }

    /// For a world that is set up otherwise.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client that nothing stands in the way of and nobody records: the test's own hands.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A client of `caller`, through the faults and the recorder.
    #[must_use]
    pub fn client_for(&self, caller: &str) -> Client {
        let layer = FaultLayer::new(caller, &self.faults, &self.recorder, &CrashToken::default());
        interposed(&self.client, &layer)
    }

    /// Starts a controller. If it crashes it is started again, with nothing but what the API has.
    ///
    /// A controller that ends by itself, or panics, fails the test.
    pub fn start<C, F>(&self, name: &str, controller: C)
    where
        C: Fn(Process) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let (client, clock, namespace) = (self.client.clone(), self.clock.clone(), self.namespace.clone());
        let (faults, recorder, caller) = (self.faults.clone(), self.recorder.clone(), name.to_owned());
        let prepare = move |token: &CrashToken, restarts| {
            let layer = FaultLayer::new(&caller, &faults, &recorder, token);
            let client = interposed(&client, &layer);
            Process {
                client,
                clock: clock.clone(),
                namespace: namespace.clone(),
                restarts,
            }
        };
        self.processes
            .start(name, RESTART_AFTER, starting(prepare, controller));
    }

    /// Kills a controller, which starts again a second later.
    pub fn crash(&self, name: &str) {
        self.processes.crash(name);
    }

    /// Kills a controller for good.
    pub fn stop(&self, name: &str) {
        self.processes.stop(name);
    }

    /// The namespace of this test.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What time it is in the world.
    #[must_use]
    pub fn clock(&self) -> SharedClock {
        self.clock.clone()
    }

    /// The rules about what goes wrong.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What was asked of the API, other than by [`World::client`].
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The newest revision of the API, as lists and [`Fault::AsOf`](crate::Fault::AsOf) count them.
    ///
    /// # Panics
    /// On a real API server, which does not tell it.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.must_be_embedded("the revision").revision()
    }

    /// All objects, but for events, leases and the stage itself.
    ///
    /// # Panics
    /// If the API cannot be read.
    pub async fn snapshot(&self) -> Snapshot {
        let namespace = self.embedded.is_none().then_some(self.namespace.as_str());
        let taken = Snapshot::take(&self.client, namespace).await;
        taken.unwrap_or_else(|error| panic!("cannot read the world: {error}"))
    }

    /// Lets time pass. Everything that is due meanwhile happens, in order.
    ///
    /// # Panics
    /// On a real API server: such a test must say [`World::embedded_only`].
    pub async fn advance(&self, time: Duration) {
        self.must_be_embedded("passing time");
        // Unlike `tokio::time::advance`, sleeping stops at every timer on the way.
        sleep(time).await;
        self.check_controllers();
    }

    /// Lets time pass until nothing has changed for 20 seconds.
    ///
    /// # Panics
    /// If that never happens, with the last writes, or if a controller ended.
    pub async fn settle(&self) {
        self.settle_for(QUIET).await;
    }

    /// Lets time pass until nothing has changed for so long, which on a real API server is 2 seconds at most.
    ///
    /// Quiet means: the API's objects do not change, leases apart, and no call is under way, hung ones apart. Whoever
    /// waits longer than `quiet` before the next try is not waited for. On a real API server only what goes through this
    /// world's recorder is seen: wait for the work of others, such as its garbage collector, with [`World::until`].
    ///
    /// # Panics
    /// If that never happens, with the last writes, or if a controller ended.
    pub async fn settle_for(&self, quiet: Duration) {
        let (quiet, never, step) = match self.embedded {
            Some(_) => (
                quiet,
                NEVER.max(quiet * 4),
                (quiet / 20).min(Duration::from_secs(1)),
            ),
            None => (quiet.min(REAL_QUIET), REAL_NEVER, REAL_STEP),
        };
        let started = Instant::now();
        let (mut seen, mut since) = (self.progress(), Instant::now());
        loop {
            sleep(step).await;
            self.check_controllers();
            let now = self.progress();
            if now != seen || self.recorder.in_flight() > 0 {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() >= quiet {
                return;
            }
            assert!(
                started.elapsed() < never,
                "the world does not settle; the last writes are:\n{}",
                self.tail()
            );
        }
    }

    /// Lets time pass until `condition` holds, looking again every second (every 50 ms on a real API server).
    ///
    /// # Panics
    /// If it does not hold within an hour (two minutes on a real API server).
    pub async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let (never, step) = match self.embedded {
            Some(_) => (NEVER, Duration::from_secs(1)),
            None => (REAL_NEVER, REAL_STEP),
        };
        let started = Instant::now();
        while !condition().await {
            assert!(
                started.elapsed() < never,
                "waited in vain for {what}; the last writes are:\n{}",
                self.tail()
            );
            sleep(step).await;
            self.check_controllers();
        }
    }

    /// Ends the world: stops its controllers, cleans up on a real API server, and fails the test if a rule missed.
    pub async fn finish(self) {
        self.processes.stop_all();
        match &self.embedded {
            Some(embedded) => embedded.shutdown().await,
            None => real::clean_up(&self.client, &self.namespace).await,
        }
    }

    /// Changes whenever an object changes, leases apart.
    fn progress(&self) -> u64 {
        let seen_by_recorder = self.recorder.revisions() as u64;
        match &self.embedded {
            Some(embedded) => embedded
                .revision()
                .saturating_sub(self.recorder.lease_revisions() as u64),
            None => seen_by_recorder,
        }
    }

    fn check_controllers(&self) {
        let failures = self.processes.failures();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    fn must_be_embedded(&self, what: &str) -> &Embedded {
        let embedded = self.embedded.as_ref();
        embedded.unwrap_or_else(|| panic!("{what} needs the embedded API: begin with World::embedded_only()"))
    }

    fn tail(&self) -> String {
        let writes = self.recorder.writes();
        let last: Vec<String> = writes
            .iter()
            .rev()
            .take(10)
            .rev()
            .map(ToString::to_string)
            .collect();
        last.join("\n")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.processes.stop_all();
        if std::thread::panicking() {
            return;
        }
        self.check_controllers();
        let missed = self.faults.missed();
        assert!(
            missed.is_empty(),
            "these faults never happened, so nothing was tested:\n{}",
            missed.join("\n")
        );
    }
}

fn interposed(client: &Client, layer: &FaultLayer) -> Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let through = service_fn(move |request| {
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(layer.layer(through), namespace)
}
