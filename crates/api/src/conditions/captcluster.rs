//! Conditions of a CAPTCluster.

use super::{ConditionType, words::words};

words! {
    /// Types of conditions of a CAPTCluster.
    CAPTClusterCondition {
        /// The summary that Cluster API mirrors: the network is ready for a control plane.
        Ready = "Ready",
        /// There is a VPC to use.
        VpcReady = "VPCReady",
        /// A VPC is being made.
        VpcCreating = "VPCCreating",
        /// The VPC could not be made.
        VpcFailed = "VPCFailed",
        /// No Cluster owns the object yet.
        WaitingForCluster = "WaitingForCluster",
        /// Nothing is done, because somebody asked for that.
        Paused = "Paused",
        /// The object is going away.
        Deleting = "Deleting",
    }
}

words! {
    /// Reasons of conditions of a CAPTCluster.
    CAPTClusterReason {
        /// A VPC that exists already is in use.
        ExistingVpcUsed = "ExistingVPCUsed",
        /// The VPC was made.
        VpcCreated = "VPCCreated",
        /// The VPC is being made.
        VpcCreating = "VPCCreating",
        /// The VPC is being changed, and serves as it is.
        VpcUpdating = "VPCUpdating",
        /// Terraform could not make the VPC.
        VpcCreationFailed = "VPCCreationFailed",
        /// Terraform could not change the VPC, which serves as it is.
        VpcUpdateFailed = "VPCUpdateFailed",
        /// The spec cannot be fulfilled as it is written.
        InvalidVpcConfig = "InvalidVPCConfig",
        /// No Cluster owns the object yet.
        ClusterNotFound = "ClusterNotFound",
        /// A Cluster owns the object.
        ClusterFound = "ClusterFound",
        /// Somebody else manages the infrastructure.
        ExternallyManaged = "ExternallyManaged",
        /// The template that the spec names does not exist.
        WorkspaceTemplateNotFound = "WorkspaceTemplateNotFound",
        /// The template is in another namespace and does not consent.
        TemplateNotShared = "TemplateNotShared",
        /// The Workspace belongs to somebody else.
        WorkspaceNotOurs = "WorkspaceNotOurs",
        /// Something transient went wrong; it is being tried again.
        Retrying = "Retrying",
        /// An output that is needed is missing or of the wrong type.
        OutputInvalid = "OutputInvalid",
        /// The connection Secret is not there or not complete.
        WaitingForSecret = "WaitingForSecret",
        /// The VPC took too long.
        VpcCreationTimeout = "VPCCreationTimeout",
        /// Somebody else's Secret has the name that ours should have.
        SecretTaken = "SecretTaken",
        /// A Secret that somebody deleted is written again.
        SecretRestored = "SecretRestored",
        /// The connection Secret took too long.
        SecretTimeout = "SecretTimeout",
        /// The Workspace took too long.
        WorkspaceReadyTimeout = "WorkspaceReadyTimeout",
        /// A change waits for an approval.
        WaitingForApproval = "WaitingForApproval",
        /// Deletion waits for the control plane.
        WaitingForControlPlane = "WaitingForControlPlane",
        /// Deletion waits for the Workspace.
        WaitingForWorkspace = "WaitingForWorkspace",
        /// The object goes and the VPC stays.
        VpcRetained = "VPCRetained",
        /// The object is going away.
        Deleting = "Deleting",
        /// The VPC cannot be destroyed.
        VpcDeletionFailed = "VPCDeletionFailed",
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

impl ConditionType for CAPTClusterCondition {
    type Reason = CAPTClusterReason;
}
