//! Conditions that our runner writes on a Workspace. The types Synced and Ready, and their reasons, are Crossplane's.

use super::{ConditionType, words::words};

words! {
    /// Types of conditions of a Workspace.
    WorkspaceConditionType {
        /// Terraform did what the spec asks for.
        Synced = "Synced",
        /// The infrastructure is there.
        Ready = "Ready",
        /// Something went wrong, and the reason says which sort of thing.
        Failing = "Failing",
        /// Somebody else changed the infrastructure.
        Drifted = "Drifted",
        /// A plan would destroy or replace something, and nobody approved it.
        ApprovalNeeded = "ApprovalNeeded",
        /// The state knows everything that was made.
        StateComplete = "StateComplete",
        /// No Terraform ran: all of it is made up.
        Simulated = "Simulated",
        /// The runner confines what runs for it to its own files.
        Sandboxed = "Sandboxed",
    }
}

words! {
    /// Reasons of conditions of a Workspace.
    WorkspaceReason {
        /// The infrastructure is there.
        Available = "Available",
        /// The infrastructure is being made.
        Creating = "Creating",
        /// The infrastructure is being destroyed.
        Deleting = "Deleting",
        /// The infrastructure is not there.
        Unavailable = "Unavailable",
        /// Terraform did what the spec asks for.
        ReconcileSuccess = "ReconcileSuccess",
        /// It did not.
        ReconcileError = "ReconcileError",
        /// Nothing is done, because somebody asked for that.
        ReconcilePaused = "ReconcilePaused",

        /// Nothing is wrong.
        NotFailing = "NotFailing",
        /// There is no Terraform that may run this.
        EngineMissing = "EngineMissing",
        /// Terraform is too old.
        EngineTooOld = "EngineTooOld",
        /// The set of management policies is not one of those that are known.
        PoliciesUnsupported = "PoliciesUnsupported",
        /// Nothing exists, and nothing may be made.
        NothingToObserve = "NothingToObserve",
        /// A Secret, a ConfigMap, a key of one or a provider configuration is not there.
        InputMissing = "InputMissing",
        /// An input is there and makes no sense.
        InputInvalid = "InputInvalid",
        /// The module has a backend of its own, which nobody named before it was fetched.
        BackendInModule = "BackendInModule",
        /// The module could not be fetched, or its providers could not be installed.
        ModuleUnavailable = "ModuleUnavailable",
        /// Somebody else holds the lock of the state.
        StateLocked = "StateLocked",
        /// The state could not be read or kept.
        StateUnavailable = "StateUnavailable",
        /// The namespace is being deleted, which destroys nothing, and nothing can be made in it any more.
        NamespaceTerminating = "NamespaceTerminating",
        /// The outputs could not be written to the connection secret.
        ConnectionSecretFailed = "ConnectionSecretFailed",
        /// The other side asked to be asked less often.
        Throttled = "Throttled",
        /// The other side was not reached, or failed.
        Network = "Network",
        /// It took too long.
        Timeout = "Timeout",
        /// The other side is not ready for it.
        Settling = "Settling",
        /// The saved plan is older than the state.
        StalePlan = "StalePlan",
        /// It was asked to stop.
        Interrupted = "Interrupted",
        /// Terraform or a provider crashed.
        Crash = "Crash",
        /// Another process was replacing a provider at the same time.
        PluginCache = "PluginCache",
        /// There is no room on the disk.
        DiskFull = "DiskFull",
        /// Who we are is not known or not allowed.
        Denied = "Denied",
        /// The account may not have more of this.
        Quota = "Quota",
        /// The configuration is wrong.
        Configuration = "Configuration",
        /// The module, a provider or the backend is not set up.
        Setup = "Setup",
        /// Something else.
        Other = "Other",

        /// Everything is as the last run left it.
        NoDrift = "NoDrift",
        /// Something is not as the last run left it.
        DriftFound = "DriftFound",

        /// No approval is needed.
        NotNeeded = "NotNeeded",
        /// A plan would destroy or replace something.
        DestructiveChange = "DestructiveChange",

        /// The state knows everything that was made.
        Complete = "Complete",
        /// Something was made that the state does not have.
        ResourcesMissing = "ResourcesMissing",
        /// Something was made, and there is no state of it.
        StateMissing = "StateMissing",

        /// No Terraform ran.
        SimulatedEngine = "SimulatedEngine",

        /// Linux confines runs with Landlock.
        Landlock = "Landlock",
        /// The runner was started without a sandbox.
        Disabled = "Disabled",
        /// The kernel cannot confine runs, or only in part.
        Unsupported = "Unsupported",
    }
}

impl ConditionType for WorkspaceConditionType {
    type Reason = WorkspaceReason;
}
