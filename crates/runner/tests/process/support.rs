//! What the tests have in common.

use std::{
    env, fs,
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use capt_runner::{
    engine::{
        Applied, Engine as _, ExtraArgs, Failure, Goal, Inputs, Link, Module, Opened, Planned, StateHome,
        Told,
    },
    process::{Options, Supervisor, TerraformEngine, find_program},
    sandbox::{Sandbox, SandboxMode},
};
use capt_terraform::{redact::Secrets, state::State};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// A machine with an engine on it.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) engine: Arc<TerraformEngine>,
}

/// The program to test with. None, loudly, if there is none.
pub(crate) fn program() -> Option<PathBuf> {
    let named = env::var_os("CAPT_TEST_ENGINE").map(PathBuf::from);
    let candidates = match named {
        Some(name) => vec![name],
        None => vec!["terraform".into(), "tofu".into()],
    };
    let found = candidates.iter().find_map(|name| find_program(name));
    if found.is_none() {
        assert!(
            env::var_os("CAPT_REQUIRE_TERRAFORM").is_none_or(|value| value != "1"),
            "there is neither terraform nor tofu, and CAPT_REQUIRE_TERRAFORM=1 asks for one"
        );
        eprintln!("SKIPPED: neither terraform nor tofu is in PATH, so nobody checked how they are run");
    }
    found
}

impl World {
    /// A machine, or nothing if there is no engine to test with.
    pub(crate) async fn new() -> Option<Self> {
        Self::with_grace(Duration::from_secs(20)).await
    }

    /// One that lets Terraform take so long to stop.
    pub(crate) async fn with_grace(grace: Duration) -> Option<Self> {
        let program = program()?;
        Some(Self::with_program(&program, grace).await)
    }

    /// One on which every start of Terraform is noted in the file `calls`.
    pub(crate) async fn counting() -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        let outside = outside(folder.path());
        fs::create_dir(&outside).unwrap();
        let calls = outside.join("calls");
        let script = outside.join("counted");
        let text = format!(
            "#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n",
            calls.display(),
            program.display()
        );
        write_script(&script, &text);
        Some(Self::build(folder, &script, Duration::from_secs(20)).await)
    }

    async fn with_program(program: &Path, grace: Duration) -> Self {
        Self::build(tempfile::tempdir().unwrap(), program, grace).await
    }

    async fn build(folder: TempDir, program: &Path, grace: Duration) -> Self {
        let engine = engine(folder.path(), program, grace).await;
        let engine = Arc::new(engine);
        Self { folder, engine }
    }

    /// The commands that were run since the last time, without `version`.
    pub(crate) fn calls(&self) -> Vec<String> {
        let path = self.path("calls");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        text.lines()
            .map(first)
            .filter(|command| command != "version")
            .collect()
    }

    /// Where everything is kept that belongs to Workspaces.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// A path on it that all runs may read and write.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        outside(self.folder.path()).join(name)
    }

    /// Opens a session.
    pub(crate) async fn open(&self, inputs: &Inputs) -> Result<Running, Failure> {
        Running::open(&self.engine, inputs.clone()).await
    }

    /// Plans and applies, and gives the state.
    pub(crate) async fn converge(&self, inputs: &Inputs) -> State {
        let mut session = self.open(inputs).await.unwrap();
        session.plan(Goal::Converge).await.unwrap();
        let applied = session.apply().await.unwrap();
        State::parse(&applied.state).unwrap()
    }
}

/// Writes a program. It is another process that does, since one that this process had open for writing may still be
/// open in whatever another test has just started, and then it cannot be run.
pub(crate) fn write_script(path: &Path, text: &str) {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "printf %s \"$1\" > \"$2\" && chmod 700 \"$2\"", "sh", text]);
    assert!(command.arg(path).status().unwrap().success());
}

/// An engine that keeps its files in this folder.
pub(crate) async fn engine(folder: &Path, program: &Path, grace: Duration) -> TerraformEngine {
    let mut options = options(folder);
    options.grace = grace;
    TerraformEngine::detect(program, options).await.unwrap()
}

/// What all runs of a machine with this folder may read and write.
pub(crate) fn outside(folder: &Path) -> PathBuf {
    folder.join("outside")
}

/// Options for an engine that keeps its files in this folder. Its runs are confined, unless `CAPT_TEST_SANDBOX` says how
/// far they are.
pub(crate) fn options(folder: &Path) -> Options {
    let root = folder.join("root");
    let outside = outside(folder);
    fs::create_dir_all(&outside).unwrap();
    let mode = env::var("CAPT_TEST_SANDBOX").map_or(SandboxMode::Auto, |mode| mode.parse().unwrap());
    let sandbox = Sandbox::new(mode, &[outside], &root).unwrap();
    let mut options = Options::new(root).unwrap();
    options.sandbox = sandbox;
    options.supervisor = Supervisor {
        program: env!("CARGO_BIN_EXE_capt-supervise").into(),
        args: Vec::new(),
    };
    options
}

/// An open session, and what was told.
pub(crate) struct Running {
    pub(crate) opened: Opened,
    pub(crate) told: mpsc::UnboundedReceiver<Told>,
    pub(crate) cancel: CancellationToken,
}

impl Running {
    pub(crate) async fn open(engine: &TerraformEngine, inputs: Inputs) -> Result<Self, Failure> {
        let (sender, told) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let link = Link {
            told: sender,
            cancel: cancel.clone(),
        };
        let opened = within(engine.open(inputs, link)).await?;
        Ok(Self { opened, told, cancel })
    }

    pub(crate) async fn plan(&mut self, goal: Goal) -> Result<Planned, Failure> {
        within(self.opened.session.plan(goal)).await
    }

    pub(crate) async fn apply(&mut self) -> Result<Applied, Failure> {
        within(self.opened.session.apply()).await
    }

    /// Everything that was told up to now.
    pub(crate) fn heard(&mut self) -> Vec<Told> {
        let mut heard = Vec::new();
        while let Ok(told) = self.told.try_recv() {
            heard.push(told);
        }
        heard
    }
}

/// Gives up after a while.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it takes too long")
}

/// Waits until it is true.
pub(crate) async fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Inputs with this module and nothing else.
pub(crate) fn inputs(module: &str) -> Inputs {
    inputs_of(Module::Hcl(module.to_owned()))
}

/// Inputs with this module and nothing else.
pub(crate) fn inputs_of(module: Module) -> Inputs {
    Inputs {
        uid: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff".to_owned(),
        operation: String::new(),
        cut_short: None,
        terraform_workspace: "sandbox".to_owned(),
        module,
        entrypoint: String::new(),
        files: Vec::new(),
        vars: Vec::new(),
        var_files: Vec::new(),
        env: Vec::new(),
        args: ExtraArgs::default(),
        state: StateHome::Ours {
            replica: None,
            staged: None,
        },
        inherits_identity: false,
        plugin_cache: false,
        provider_lock: None,
        secrets: Secrets::default(),
        simulation: [].into(),
    }
}

/// The same inputs with the state that the caller has kept.
pub(crate) fn with_replica(mut inputs: Inputs, file: &[u8]) -> Inputs {
    inputs.state = StateHome::Ours {
        replica: Some(file.to_vec()),
        staged: None,
    };
    inputs
}

/// The addresses in a state.
pub(crate) fn addresses(state: &State) -> Vec<&str> {
    let mut addresses: Vec<&str> = state.managed().map(|object| object.address.as_str()).collect();
    addresses.sort_unstable();
    addresses
}

/// Command lines of processes that contain this text, by id.
pub(crate) fn processes(text: &str) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(text) {
            found.push((pid, line));
        }
    }
    found
}
