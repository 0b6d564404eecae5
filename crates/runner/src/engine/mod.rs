//! Where an operation executes.
//!
//! An engine is handed everything as data and hands everything back as data, so that nothing above it may assume that
//! there is a process, a disk or a machine behind it. An operation is: open a session, plan, look at the plan, apply
//! exactly that plan. A session holds all that Terraform needs and is dropped in the end; what a crash left behind is
//! found when the next session for the same Workspace is opened.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt, io,
};

use capt_terraform::{
    diagnostics::Class,
    plan::{Plan, PlanId},
    redact::Secrets,
    state::{Created, Source},
    stream::{Diagnostic, Event},
};
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::sandbox::SandboxStatus;

/// Something that executes operations.
pub trait Engine: Send + Sync + 'static {
    /// What it is.
    fn about(&self) -> About;

    /// How far its runs are confined on this machine. None, if it runs nothing.
    fn sandbox(&self) -> Option<SandboxStatus> {
        None
    }

    /// Makes everything ready for Terraform to run with these inputs, and finds the state that counts.
    fn open(&self, inputs: Inputs, link: Link) -> BoxFuture<'_, Result<Opened, Failure>>;

    /// The state files that stand on this machine for a Workspace and that its next session would look at, the Terraform
    /// workspace being `workspace`. None, unless it keeps some between sessions.
    ///
    /// # Errors
    /// If they cannot be read, so that nobody knows what is in them.
    fn left_behind(&self, uid: &str, workspace: &str) -> BoxFuture<'_, io::Result<Vec<StateFile>>> {
        let _ = (uid, workspace);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Forgets everything that was kept for a Workspace on this machine. Called when its infrastructure is gone, or
    /// nobody's business any more, and its state is safe.
    fn forget(&self, uid: &str) -> BoxFuture<'_, ()>;

    /// What stands on this machine for Workspaces whose uids are not among these, and is not in use. None, unless it
    /// keeps something between sessions.
    ///
    /// # Errors
    /// If nobody can tell.
    fn remains(&self, living: &HashSet<String>) -> BoxFuture<'_, io::Result<Vec<Remains>>> {
        let _ = living;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Forgets everything that was kept for a Workspace on this machine, unless it is in use. Says whether it is gone.
    fn forget_idle(&self, uid: &str) -> BoxFuture<'_, bool> {
        let forgetting = self.forget(uid);
        Box::pin(async move {
            forgetting.await;
            true
        })
    }
}

/// A state file, and where it was found.
pub type StateFile = (Source, Vec<u8>);

/// What stands on a machine for a Workspace.
#[derive(Clone)]
pub struct Remains {
    /// Its uid.
    pub uid: String,
    /// State files, each after the Terraform workspace that it is of.
    pub states: Vec<(String, Vec<u8>)>,
    /// Why something may be in here that is nowhere else, whatever the state files say.
    pub unsettled: Option<String>,
}

impl fmt::Debug for Remains {
    /// States hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remains")
            .field("uid", &self.uid)
            .field("states", &self.states.len())
            .field("unsettled", &self.unsettled)
            .finish()
    }
}

/// What an engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Which sort.
    pub kind: EngineKind,
    /// Its version, such as `1.11.4`.
    pub version: String,
}

/// Which sort of engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// HashiCorp's.
    Terraform,
    /// OpenTofu.
    Tofu,
    /// None: results are made up.
    Simulated,
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            EngineKind::Terraform => write!(f, "terraform {}", self.version),
            EngineKind::Tofu => write!(f, "tofu {}", self.version),
            EngineKind::Simulated => f.write_str("simulated"),
        }
    }
}

/// Everything that Terraform is told. Values that are secret are in [`Inputs::secrets`] too.
#[derive(Clone)]
pub struct Inputs {
    /// uid of the Workspace. Names what is kept on this machine between sessions.
    pub uid: String,
    /// Names the operation, in what is kept on this machine.
    pub operation: String,
    /// Names an earlier operation that was cut short: whoever ran it did not live to tell what came of it.
    pub cut_short: Option<String>,
    /// The Terraform workspace (`terraform.workspace`), which is the external name.
    pub terraform_workspace: String,
    /// The module.
    pub module: Module,
    /// The folder to run in, inside the module.
    pub entrypoint: String,
    /// Files to be written beside the module: credentials, provider configuration, backend settings. Base names only.
    pub files: Vec<InputFile>,
    /// Variables as text, read as Terraform reads `-var`. They yield to `var_files`.
    pub vars: Vec<(String, String)>,
    /// Files with variables, in rising order of precedence.
    pub var_files: Vec<VarFile>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// The run inherits the process's own AWS identity: `AWS_*` and the files that these variables name.
    pub inherits_identity: bool,
    /// More arguments for each command.
    pub args: ExtraArgs,
    /// Where state lives.
    pub state: StateHome,
    /// Providers may be shared with other Workspaces.
    pub plugin_cache: bool,
    /// The provider versions that were chosen before. They count unless the module brings a lock file of its own.
    pub provider_lock: Option<ProviderLock>,
    /// Everything in here that must not be seen outside.
    pub secrets: Secrets,
    /// What only a simulation looks at: annotations of the Workspace that tell it how to behave.
    pub simulation: BTreeMap<String, String>,
}

impl fmt::Debug for Inputs {
    /// Values may be secret, names are not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("Inputs")
            .field("uid", &self.uid)
            .field("terraform_workspace", &self.terraform_workspace)
            .field("files", &self.files)
            .field("vars", &names(&self.vars))
            .field("var_files", &self.var_files)
            .field("env", &names(&self.env))
            .field("secrets", &self.secrets)
            .finish_non_exhaustive()
    }
}

/// Constraints for the versions of providers, by their addresses.
pub type ProviderRequirements = BTreeMap<String, BTreeSet<String>>;

/// The provider versions that Terraform chose, and what for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderLock {
    /// The lock file.
    pub file: Vec<u8>,
    /// What the configuration asked for when they were chosen.
    pub requirements: ProviderRequirements,
}

/// The module to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Module {
    /// Its text.
    Hcl(String),
    /// Its text, as JSON.
    Json(String),
    /// An address for Terraform's module installer.
    Remote {
        /// The address.
        address: String,
        /// It need not be fetched again if it is there.
        if_not_present: bool,
    },
}

/// A file to be written beside the module.
#[derive(Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Its base name.
    pub name: String,
    /// What is in it.
    pub content: Vec<u8>,
}

impl fmt::Debug for InputFile {
    /// Content may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputFile({})", self.name)
    }
}

/// What a message says of a module's archive that is there and cannot be unpacked.
pub const BROKEN_ARCHIVE: &str = "the archive is broken or not complete";

/// A file with variables.
#[derive(Clone, PartialEq, Eq)]
pub struct VarFile {
    /// It is JSON and not HCL.
    pub is_json: bool,
    /// What is in it.
    pub content: Vec<u8>,
    /// Where it comes from, for people.
    pub label: String,
}

impl fmt::Debug for VarFile {
    /// Content may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VarFile({}, {} bytes)", self.label, self.content.len())
    }
}

/// More arguments for each command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraArgs {
    /// Of `init`.
    pub init: Vec<String>,
    /// Of `plan`.
    pub plan: Vec<String>,
    /// Of `apply`.
    pub apply: Vec<String>,
    /// Of `destroy`, which is a plan to destroy that is applied.
    pub destroy: Vec<String>,
}

/// Where state lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateHome {
    /// Terraform writes a local file, and the caller keeps what [`Told::State`] tells. A backend in the configuration
    /// is overridden.
    Ours {
        /// The state that the caller has kept.
        replica: Option<Vec<u8>>,
        /// A copy that a crash of the caller left behind.
        staged: Option<Vec<u8>>,
    },
    /// The user's own backend, which is used as it is.
    Backend,
}

/// The way back from a running session to its caller, and the way to stop it.
#[derive(Clone, Debug)]
pub struct Link {
    /// What happens meanwhile.
    pub told: mpsc::UnboundedSender<Told>,
    /// Ends the operation: Terraform is asked to stop, and made to after a while.
    pub cancel: CancellationToken,
}

/// What happens meanwhile.
#[derive(Clone, Debug)]
pub enum Told {
    /// Another part of the operation begins.
    Phase(Phase),
    /// Terraform reported something. Not redacted.
    Event(Box<Event>),
    /// Terraform, or what it started, printed something that is no event. Not redacted.
    Text(String),
    /// Terraform wrote its state: the whole file, complete.
    State(Vec<u8>),
    /// More that must not be seen outside became known: what the configuration or the plan marks as sensitive. Told
    /// before anything that could show it.
    Secrets(Secrets),
}

/// A part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The module is fetched, and modules and providers are installed.
    Init,
    /// A plan is made.
    Plan,
    /// The plan is applied.
    Apply,
}

/// A session that is open, and what was found when it was opened.
pub struct Opened {
    /// The session.
    pub session: Box<dyn Session>,
    /// The state that counts, and where it was found. If that is not [`Source::Replica`], an earlier run was cut
    /// short, and the caller must keep this state before it goes on. None with a backend of the user's.
    pub state: Option<(Source, Vec<u8>)>,
    /// What an earlier run that was cut short had made and the state does not have.
    pub missing: Vec<Created>,
    /// The provider versions that count from now on, if they are not [`Inputs::provider_lock`].
    pub provider_lock: Option<ProviderLock>,
    /// Nothing is known here of [`Inputs::cut_short`], so that `missing` says nothing about it: it ran on another
    /// machine, or this one failed.
    pub is_lost: bool,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To make everything as the configuration says.
    Converge,
    /// To destroy everything.
    Destroy,
}

/// Terraform, ready to run for one Workspace.
pub trait Session: Send {
    /// Plans, and saves the plan.
    fn plan(&mut self, goal: Goal) -> BoxFuture<'_, Result<Planned, Failure>>;

    /// Applies exactly the plan that was made last.
    fn apply(&mut self) -> BoxFuture<'_, Result<Applied, Failure>>;

    /// A person saw to what was missing when the session was opened, so that it is not told again.
    fn settle_missing(&mut self) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }

    /// The state that a backend of the user's has now: the file. None if it has none yet, or if there is no such
    /// backend.
    fn state(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        Box::pin(async { Ok(None) })
    }
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What it would do, and what drifted.
    pub plan: Plan,
    /// What an approval has to name.
    pub id: PlanId,
    /// What it would do, as Terraform tells people. Not redacted. Empty if it would do nothing.
    pub text: String,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// The state after refreshing, if it is known: the file.
    pub state: Option<Vec<u8>>,
}

/// What applying gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The state: the file. With a backend of the user's, what it has.
    pub state: Vec<u8>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// Why an operation did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Which sort of failure.
    pub kind: FailureKind,
    /// What went wrong and what to do, in words. Not redacted.
    pub message: String,
    /// What Terraform said. Not redacted.
    pub diagnostics: Vec<Diagnostic>,
    /// The state that counts after it, if there is one: the file.
    pub state: Option<Vec<u8>>,
    /// What was made and is not in that state.
    pub missing: Vec<Created>,
}

/// Which sort of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// There is no engine that may run this.
    EngineMissing,
    /// The engine is too old.
    EngineTooOld,
    /// The caller cancelled it.
    Cancelled,
    /// The inputs are wrong: an unknown variable, a file name that leads outside.
    InvalidInput,
    /// The module has a backend of its own that the caller did not know of: where state lives has to be decided again.
    BackendInModule,
    /// It would make a second time what may exist and is not in the state.
    WouldRepeat,
    /// Something was made, and there is no state of it.
    StateMissing,
    /// The namespace of the state is being deleted, so that nothing can be kept in it any more.
    NamespaceTerminating,
    /// The module could not be fetched, or providers could not be installed.
    ModuleUnavailable,
    /// Anything that Terraform itself told.
    Terraform(Class),
    /// This machine failed: a disk, a process table.
    Machine(Class),
}

impl FailureKind {
    /// Whether the same may succeed later with nothing changed.
    #[must_use]
    pub fn is_transient(self) -> bool {
        match self {
            Self::Cancelled => true,
            Self::Terraform(class) | Self::Machine(class) => class.is_transient(),
            Self::EngineMissing
            | Self::EngineTooOld
            | Self::InvalidInput
            | Self::BackendInModule
            | Self::WouldRepeat
            | Self::StateMissing
            | Self::NamespaceTerminating
            | Self::ModuleUnavailable => false,
        }
    }
}
