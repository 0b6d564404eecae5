//! Everything that a decision about a Workspace depends on, as plain data.

use std::{collections::BTreeMap, time::Duration};

use capt_api::conditions::workspace::WorkspaceReason;
use k8s_openapi::jiff::Timestamp;

use super::timing::Answers;
use crate::inputs::Grants;

/// What is known when it is decided about a Workspace. What nobody has looked at yet is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// Its uid.
    pub(crate) uid: String,
    /// Its name.
    pub(crate) name: String,
    /// Generation of its spec.
    pub(crate) generation: i64,
    /// It is going away.
    pub(crate) is_deleting: bool,
    /// Its finalizers.
    pub(crate) finalizers: Vec<String>,
    /// The Terraform workspace, if one was chosen.
    pub(crate) external_name: Option<String>,
    /// Where its state was when it was first run.
    pub(crate) home: Option<String>,
    /// Its user paused it by annotation.
    pub(crate) is_paused: bool,
    /// What it stands for was moved to another management cluster, with its state.
    pub(crate) is_moved_away: bool,
    /// Whoever made it chooses the Terraform workspace.
    pub(crate) is_named_by_maker: bool,
    /// Its status was last told that nothing can be done, by a look and not by something that ran.
    pub(crate) is_refused: bool,
    /// What it stands for was kept on purpose when what it belonged to went.
    pub(crate) is_retained: bool,
    /// What may be done.
    pub(crate) policies: Policy,
    /// What people ask for.
    pub(crate) requests: Requests,
    /// Whether we act on it.
    pub(crate) whose: Whose,
    /// Its status says that it is paused, and of which generation.
    pub(crate) said_paused: Option<i64>,
    /// How often it is looked for drift, if at all.
    pub(crate) poll: Option<Duration>,
    /// What runs for it now.
    pub(crate) running: Option<Running>,
    /// What is remembered about earlier operations.
    pub(crate) memory: Option<Memory>,
    /// What Terraform would be told.
    pub(crate) inputs: Option<InputFacts>,
    /// What exists, as far as the state tells.
    pub(crate) state: Option<StateFacts>,
    /// Something was made for it, by whatever runner, and nobody says that it is destroyed.
    pub(crate) was_made: bool,
    /// What it stands for was ready before this object was made, and nobody looked yet what its state tells.
    pub(crate) is_to_be_taken_up: bool,
    /// The same, and that was told.
    pub(crate) is_taken_up: bool,
    /// Somebody else held it and may have kept its state where only its module, which was not fetched, knows.
    pub(crate) is_unread: bool,
    /// Its state may be gone from where it was kept.
    pub(crate) is_state_doubted: bool,
    /// Whether its connection Secret is as it should be.
    pub(crate) connection: ConnectionFacts,
    /// When somebody else's change of it was last answered, and how often in a row.
    pub(crate) rewritten: Option<Answers>,
    /// The last run could not write it.
    pub(crate) is_connection_refused: bool,
    /// What becomes of its namespace.
    pub(crate) namespace: Option<NamespaceFacts>,
    /// Parts this runner's times from those of others.
    pub(crate) seed: u64,
}

/// What a Workspace lets a runner do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Nothing.
    Paused,
    /// What it says means nothing: why, and what to do.
    Unsupported(String),
    /// These; `delete` says whether everything is destroyed in the end.
    Granted(Grants),
}

impl Default for Policy {
    fn default() -> Self {
        Self::Granted(Grants {
            create: true,
            update: true,
            delete: true,
        })
    }
}

/// Whether we act on a Workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Whose {
    /// It is ours.
    #[default]
    Ours,
    /// It is for another runner.
    Others,
    /// It is labelled for us, and yet provider-terraform uses it.
    Disputed,
}

/// What people ask for by annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    /// A plan.
    pub(crate) plan: Option<String>,
    /// Another try.
    pub(crate) retry: Option<String>,
    /// When what somebody else changed is mended, where that has to wait for its turn.
    pub(crate) mend: Option<String>,
    /// To free the lock with this id.
    pub(crate) unlock: Option<String>,
    /// A look, in Crossplane's way of asking.
    pub(crate) look: Option<String>,
    /// The approval as it was written, which names a plan.
    pub(crate) approved: Option<String>,
    /// No approvals are needed.
    pub(crate) allow_destructive: bool,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// Make a plan for a person, and leave it at that.
    Plan,
    /// Make everything as the configuration says.
    Converge,
    /// Destroy everything.
    Destroy,
    /// Bring what a crash left behind into safety, and do nothing else.
    Rescue,
}

/// An operation that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    /// Which.
    pub(crate) what: What,
    /// It was told to stop.
    pub(crate) is_cancelled: bool,
}

/// What is remembered about earlier operations, also across restarts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    /// Terraform was asked, and everything was as these inputs say.
    pub(crate) settled: Option<About>,
    /// A plan waits for an approval.
    pub(crate) held: Option<Held>,
    /// The last operation failed.
    pub(crate) failed: Option<Failed>,
    /// The last requests that were answered, and the last approval that was used up, by annotation.
    pub(crate) answered: BTreeMap<String, String>,
    /// When it was looked at last.
    pub(crate) looked: Option<Looked>,
    /// An operation began and nobody knows how it ended.
    pub(crate) is_unfinished: bool,
    /// It was settled at some time.
    pub(crate) was_settled: bool,
    /// Hash of what the spec asked for when all of it was made, if nothing was begun since and not brought to its end.
    pub(crate) made: Option<String>,
}

/// What an operation was about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// Hash of what Terraform was told.
    pub(crate) hash: String,
    /// Generation of the spec.
    pub(crate) generation: i64,
}

/// A plan that waits for an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// What the approval has to name.
    pub(crate) plan: String,
    /// What it was made for.
    pub(crate) about: About,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    /// What failed.
    pub(crate) what: What,
    /// What it was about.
    pub(crate) about: About,
    /// Trying again may help.
    pub(crate) is_transient: bool,
    /// Terraform failed in making or changing something, not in finding out what to do.
    pub(crate) has_acted: bool,
    /// How often in a row.
    pub(crate) count: u32,
    /// When.
    pub(crate) at: Timestamp,
}

/// A look at the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// When an operation ended.
    At(Timestamp),
    /// This runner started then, and the last look was some time before.
    BeforeStart(Timestamp),
}

/// What Terraform would be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputFacts {
    /// Everything is there.
    Ready {
        /// Hash of all of it.
        hash: String,
        /// Names the place where the state is kept.
        home: String,
    },
    /// Something is missing or makes no sense.
    Unresolved {
        /// One word.
        reason: WorkspaceReason,
        /// What, and what to do.
        message: String,
    },
}

/// What exists, as far as the state tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StateFacts {
    /// There is no state.
    Absent,
    /// Nothing: the state is empty.
    Nothing,
    /// Something.
    Something,
    /// The state is in a backend of the user's, and only Terraform can tell.
    Elsewhere,
    /// It cannot be told.
    Unknown {
        /// One word.
        reason: WorkspaceReason,
        /// Why, and what to do.
        message: String,
    },
}

/// Whether a connection Secret is as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConnectionFacts {
    /// It is, or there is none.
    #[default]
    Fine,
    /// Somebody changed or removed it.
    Doubted,
    /// The same, and only Terraform can tell what belongs into it.
    OnlyByRun,
}

/// What becomes of the namespace of a Workspace that is going away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamespaceFacts {
    /// Nothing, or nothing that the Workspace goes with.
    Stays,
    /// It is being deleted, and everything in it with it.
    Goes,
    /// It cannot be told: why.
    Unknown(String),
}
