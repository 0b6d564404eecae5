//! Conditions of a CAPTControlPlane.

use super::{ConditionType, words::words};

words! {
    /// Types of conditions of a CAPTControlPlane.
    CAPTControlPlaneCondition {
        /// The summary that Cluster API mirrors: the control plane can be used.
        Available = "Available",
        /// The control plane serves.
        Ready = "Ready",
        /// The control plane served once.
        Initialized = "Initialized",
        /// The control plane is being made.
        Creating = "Creating",
        /// The control plane does not serve, and a person must do something.
        Failed = "Failed",
        /// A change of a cluster that serves is under way.
        RollingOut = "RollingOut",
        /// The Fargate profiles work.
        FargateProfileReady = "FargateProfileReady",
        /// Fargate profiles are being made.
        FargateProfileCreating = "FargateProfileCreating",
        /// Fargate profiles went wrong.
        FargateProfileFailed = "FargateProfileFailed",
        /// The API server answers.
        EndpointAnswers = "EndpointAnswers",
        /// The kubeconfig is there and valid.
        KubeconfigReady = "KubeconfigReady",
        /// Nothing is done, because somebody asked for that.
        Paused = "Paused",
        /// The object is going away.
        Deleting = "Deleting",
    }
}

words! {
    /// Reasons of conditions of a CAPTControlPlane.
    CAPTControlPlaneReason {
        /// It is being made.
        Creating = "Creating",
        /// It serves.
        Ready = "Ready",
        /// It is not ready.
        NotReady = "NotReady",
        /// It went wrong for good.
        Failed = "Failed",
        /// It did not go wrong.
        NotFailed = "NotFailed",
        /// It can be used.
        Available = "Available",
        /// It cannot be used.
        NotAvailable = "NotAvailable",
        /// It served once.
        Initialized = "Initialized",
        /// It never served.
        NotInitialized = "NotInitialized",
        /// No Cluster owns the object yet.
        WaitingForCluster = "WaitingForCluster",
        /// The infrastructure is not ready yet.
        WaitingForVpc = "WaitingForVPC",
        /// The infrastructure took too long.
        VpcReadyTimeout = "VPCReadyTimeout",
        /// The control plane took too long.
        ControlPlaneTimeout = "ControlPlaneTimeout",
        /// The Workspace took too long.
        WorkspaceReadyTimeout = "WorkspaceReadyTimeout",
        /// The connection Secret took too long.
        SecretTimeout = "SecretTimeout",
        /// An update took too long.
        UpdateTimeout = "UpdateTimeout",
        /// The spec cannot be fulfilled as it is written.
        InvalidSpec = "InvalidSpec",
        /// Things depend on each other in a circle.
        DependencyCycle = "DependencyCycle",
        /// The region differs from the one of the CAPTCluster.
        RegionMismatch = "RegionMismatch",
        /// The version is below what runs.
        VersionTooLow = "VersionTooLow",
        /// AWS upgraded the cluster beyond what the spec says.
        VersionAhead = "VersionAhead",
        /// Terraform is done with an upgrade, and the module still tells the version from before.
        VersionNotReached = "VersionNotReached",
        /// The template that the spec names does not exist.
        WorkspaceTemplateNotFound = "WorkspaceTemplateNotFound",
        /// The template is in another namespace and does not consent.
        TemplateNotShared = "TemplateNotShared",
        /// Terraform failed for good.
        WorkspaceError = "WorkspaceError",
        /// The Workspace is not ready yet.
        WorkspaceNotReady = "WorkspaceNotReady",
        /// The Workspace belongs to somebody else.
        WorkspaceNotOurs = "WorkspaceNotOurs",
        /// Something transient went wrong; it is being tried again.
        Retrying = "Retrying",
        /// A change waits for an approval.
        WaitingForApproval = "WaitingForApproval",
        /// An output that is needed is missing or of the wrong type.
        OutputInvalid = "OutputInvalid",
        /// A Secret is missing or not complete.
        SecretError = "SecretError",
        /// A Secret that somebody deleted is written again.
        SecretRestored = "SecretRestored",
        /// The endpoint cannot be understood.
        EndpointError = "EndpointError",
        /// There is no endpoint yet, or it does not answer.
        EndpointNotReady = "EndpointNotReady",
        /// The endpoint answers.
        EndpointReady = "EndpointReady",
        /// The endpoint is another one than before.
        EndpointChanged = "EndpointChanged",
        /// It is not asked whether the endpoint answers.
        EndpointNotChecked = "EndpointNotChecked",
        /// The kubeconfig was made.
        KubeconfigGenerated = "KubeconfigGenerated",
        /// The kubeconfig could not be made.
        KubeconfigGenerationFailed = "KubeconfigGenerationFailed",
        /// A change of a cluster that serves is under way.
        RollingOut = "RollingOut",
        /// No change is under way.
        NotRollingOut = "NotRollingOut",
        /// A change of a cluster that serves failed.
        UpdateFailed = "UpdateFailed",
        /// A health check says that not all is well.
        Degraded = "Degraded",
        /// A repair is under way.
        Recovering = "Recovering",
        /// All tries to repair are used up.
        RecoveryExhausted = "RecoveryExhausted",
        /// Fargate profiles are being made.
        FargateProfileCreating = "FargateProfileCreating",
        /// The Fargate profiles work.
        FargateProfileReady = "FargateProfileReady",
        /// Fargate profiles went wrong.
        FargateProfileFailed = "FargateProfileFailed",
        /// Something that a Fargate profile depends on is missing, or not as it should be.
        FargateProfileDependencyError = "FargateProfileDependencyError",
        /// A Fargate profile is being removed.
        FargateProfileDeleting = "FargateProfileDeleting",
        /// A Fargate profile was removed.
        FargateProfileDeleted = "FargateProfileDeleted",
        /// There are no Fargate profiles.
        NoFargateProfiles = "NoFargateProfiles",
        /// The object is going away.
        Deleting = "Deleting",
        /// Something of it cannot be destroyed.
        DeletionFailed = "DeletionFailed",
        /// A CustomResourceDefinition is terminating or unreadable, so that no destruction is granted.
        CrdTerminating = "CRDTerminating",
        /// It is not going away.
        NotDeleting = "NotDeleting",
        /// Nothing is done, because somebody asked for that.
        Paused = "Paused",
        /// Nobody asked for a pause.
        NotPaused = "NotPaused",
    }
}

impl ConditionType for CAPTControlPlaneCondition {
    type Reason = CAPTControlPlaneReason;
}
