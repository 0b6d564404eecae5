//! Conditions of a WorkspaceTemplateApply.

use super::{ConditionType, words::words};

words! {
    /// Types of conditions of a WorkspaceTemplateApply. Synced and Ready are the Workspace's, copied as they are.
    WorkspaceTemplateApplyCondition {
        /// The Workspace is what the template and the variables say.
        Applied = "Applied",
        /// The template uses every variable that is given.
        VariablesKnown = "VariablesKnown",
        /// Something must happen before the Workspace is made or changed.
        Waiting = "Waiting",
        /// A person must approve a change.
        ApprovalNeeded = "ApprovalNeeded",
        /// Terraform could be run.
        Synced = "Synced",
        /// The infrastructure is there.
        Ready = "Ready",
        /// Nobody deleted the state. It is said once somebody has.
        StateKept = "StateKept",
        /// Nothing is done, because somebody asked for that.
        Paused = "Paused",
        /// The object is going away.
        Deleting = "Deleting",
    }
}

words! {
    /// Reasons of conditions of a WorkspaceTemplateApply.
    WorkspaceTemplateApplyReason {
        /// The Workspace is what it should be.
        Applied = "Applied",
        /// The template was rendered; the Workspace is not there yet.
        Rendered = "Rendered",
        /// The template does not exist.
        WorkspaceTemplateNotFound = "WorkspaceTemplateNotFound",
        /// The template is gone; its last rendering counts.
        TemplateGone = "TemplateGone",
        /// The template is in another namespace and does not consent.
        TemplateNotShared = "TemplateNotShared",
        /// The template cannot be parsed.
        TemplateInvalid = "TemplateInvalid",
        /// The released revision of the template is not to be had.
        RevisionNotFound = "RevisionNotFound",
        /// No variable fills a hole.
        VariableMissing = "VariableMissing",
        /// A variable does not fit.
        VariableInvalid = "VariableInvalid",
        /// Every variable that is given is used by the template, or declared by it.
        VariablesKnown = "VariablesKnown",
        /// A variable that is given fills no hole of the template and is not declared by it, so that it changes nothing.
        VariableUnknown = "VariableUnknown",
        /// Nothing is waited for.
        NothingToWaitFor = "NothingToWaitFor",
        /// Secrets that are waited for do not exist.
        WaitingForSecrets = "WaitingForSecrets",
        /// Workspaces that are waited for are not ready.
        WaitingForWorkspaces = "WaitingForWorkspaces",
        /// Things wait for each other in a circle.
        DependencyCycle = "DependencyCycle",
        /// It is not its turn.
        WaitingForTurn = "WaitingForTurn",
        /// Others that wait for it must go first.
        WaitingForDependents = "WaitingForDependents",
        /// A secret that was known is missing; its last value counts.
        InputMissing = "InputMissing",
        /// A Secret outside the object's namespace is named.
        OtherNamespace = "OtherNamespace",
        /// A Workspace of another namespace is awaited that is not shared with this one.
        WaitNotShared = "WaitNotShared",
        /// The provider configuration does not allow the namespace.
        ProviderConfigNotAllowed = "ProviderConfigNotAllowed",
        /// The recorded Workspace does not exist, and is of another group than new ones are.
        WorkspaceGroupMismatch = "WorkspaceGroupMismatch",
        /// A CustomResourceDefinition is terminating or unreadable, so that no destruction is granted.
        CrdTerminating = "CRDTerminating",
        /// No approval is needed.
        NotNeeded = "NotNeeded",
        /// A change would destroy or replace something, and nobody approved it.
        DestructiveChange = "DestructiveChange",
        /// The first rendering of something taken over, and nobody approved it.
        AdoptedChange = "AdoptedChange",
        /// The address of the module names no fixed version, so that nobody can know what an update brings.
        ModuleNotPinned = "ModuleNotPinned",
        /// The Workspace carries somebody else's identity.
        WorkspaceNotOurs = "WorkspaceNotOurs",
        /// The Workspace was kept on purpose, and there is no consent to take it back.
        WorkspaceRetained = "WorkspaceRetained",
        /// The Workspace was left here by an object that was moved to another management cluster.
        WorkspaceMovedAway = "WorkspaceMovedAway",
        /// The place of the state was changed, which is refused while there is state.
        StateLocationChanged = "StateLocationChanged",
        /// Somebody deleted a Secret with state, which is there only because it is held.
        StateDeleted = "StateDeleted",
        /// The state is kept.
        StateKept = "StateKept",
        /// State would be lost with a pod: no backend is configured.
        NoDurableState = "NoDurableState",
        /// A creation was cut short, so that the Workspace is made again around its state.
        CreationInterrupted = "CreationInterrupted",
        /// There is nothing to make the Workspace from, which is needed to destroy its infrastructure.
        RenderingLost = "RenderingLost",
        /// The API that Workspaces are served by is not installed, or may not be read.
        WorkspaceApiMissing = "WorkspaceApiMissing",
        /// Nobody can tell whether provider-terraform runs the Workspace, so that it is not given to our runner.
        RunnerUnknown = "RunnerUnknown",
        /// Management policies are switched off in the provider.
        ManagementPoliciesDisabled = "ManagementPoliciesDisabled",
        /// The owner is gone and did not consent to destruction.
        OwnerGone = "OwnerGone",
        /// The owner is of a kind that is not capt's, and did not consent to destruction.
        ConsentMissing = "ConsentMissing",
        /// The owner is going away too, and says when it is this one's turn to go.
        WaitingForOwner = "WaitingForOwner",
        /// The namespace is going away, in which nothing is destroyed.
        NamespaceTerminating = "NamespaceTerminating",
        /// The Workspace is being destroyed.
        Destroying = "Destroying",
        /// The Workspace and its infrastructure are destroyed.
        Destroyed = "Destroyed",
        /// The Workspace and its infrastructure are kept.
        Retained = "Retained",
        /// It is not going away.
        NotDeleting = "NotDeleting",
        /// Nothing is done, because somebody asked for that.
        Paused = "Paused",
        /// A pause was asked for, and a running operation has to finish first.
        Pausing = "Pausing",
        /// Nobody asked for a pause.
        NotPaused = "NotPaused",
    }
}

impl ConditionType for WorkspaceTemplateApplyCondition {
    type Reason = WorkspaceTemplateApplyReason;
}
