//! What an owner sees of what is behind its WorkspaceTemplateApply, at a glance.

use k8s_openapi::jiff::Timestamp;

/// What went wrong with Terraform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Whether it passes by itself.
    pub class: TroubleClass,
    /// What it is, in words that a person can read. Never a secret.
    pub message: String,
}

/// Whether trouble passes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleClass {
    /// The same may succeed later with nothing changed.
    Transient,
    /// Somebody must change something.
    Terminal,
}

/// A Workspace at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceGlance {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// `status.observedGeneration`.
    pub observed_generation: Option<i64>,
    /// `metadata.creationTimestamp`.
    pub created_at: Option<Timestamp>,
    /// It is going away.
    pub deleting: bool,
    /// A person paused it: its annotation `crossplane.io/paused` is `true`.
    pub paused_by_hand: bool,
    /// It says that everything which was begun for it failed and nothing exists: [`crate::wta::snapshot::WorkspaceSeen::made_nothing`].
    pub made_nothing: bool,
    /// What somebody else changed of its infrastructure, if that is not mended yet: the message of its condition
    /// `Drifted`, if that is True.
    pub drift: Option<String>,
    /// Names that, if it waits for a turn: [`crate::wta::snapshot::WorkspaceSeen::drifted_at`].
    pub drifted_at: Option<String>,
}

/// What our runner tells, at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunGlance {
    /// An operation runs: `operation` has no `endedAt`.
    pub is_running: bool,
    /// It makes or changes something: its `kind` is `apply`.
    pub is_applying: bool,
    /// When the running or last operation began: `operation.startedAt`.
    pub started_at: Option<Timestamp>,
    /// When the last operation began, if it changed something or found nothing to change: `operation.startedAt`, if its
    /// `outcome` is `succeeded` and it was no plan.
    pub worked_since: Option<Timestamp>,
    /// The last request for another try that was answered: `refusedRetry`, or `answered` of the annotation
    /// `retry-requested`.
    pub retry_answered: Option<String>,
    /// The running operation, or the last one if that did not succeed, was to end something and make another one in its
    /// place: `plan.destructive` of a plan that it made and that needs no approval any more.
    pub replaces: bool,
    /// Something may exist that the state does not have: there is a list `missing`, or `cutShort`.
    pub is_in_doubt: bool,
    /// What was mended last: `answered` of the annotation `mend`.
    pub mended: Option<String>,
    /// What the running operation is about to do: `plan`, if that was made for the Workspace as it is since the operation
    /// began.
    pub plan: Option<PlanGlance>,
    /// The last operation failed with something that passes by itself: `operation`, if its `outcome` is `failed` and it is
    /// `transient`.
    pub setback: Option<Setback>,
    /// What the last operation failed to destroy with, if that does not pass by itself: the `message` of `operation`, if its
    /// `kind` is `destroy`, its `outcome` is `failed` and it is not `transient`.
    pub failed_end: Option<String>,
}

/// A plan, at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanGlance {
    /// What an approval would name: `id`.
    pub id: String,
    /// How much it adds, changes and destroys: `summary`.
    pub summary: String,
}

/// A failure that passes by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// When: `endedAt`.
    pub at: Timestamp,
    /// How often in a row: `failures`.
    pub count: u32,
    /// What it was: `message`.
    pub message: String,
    /// Something was to be destroyed: `kind` is `destroy`.
    pub is_of_end: bool,
}
