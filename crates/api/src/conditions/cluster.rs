//! Conditions of a Cluster, in the words of Cluster API, for where nothing of Cluster API runs.

use super::{ConditionType, words::words};

words! {
    /// Types of conditions of a Cluster.
    ClusterCondition {
        /// The summary: the cluster can be used.
        Available = "Available",
        /// The workload cluster was reached of late.
        RemoteConnectionProbe = "RemoteConnectionProbe",
        /// What the infrastructure says of itself.
        InfrastructureReady = "InfrastructureReady",
        /// The control plane answered once.
        ControlPlaneInitialized = "ControlPlaneInitialized",
        /// What the control plane says of itself.
        ControlPlaneAvailable = "ControlPlaneAvailable",
        /// The workers can be used.
        WorkersAvailable = "WorkersAvailable",
        /// A change of a cluster that serves is under way.
        RollingOut = "RollingOut",
        /// Nothing is done, because somebody asked for that.
        Paused = "Paused",
        /// The object is going away.
        Deleting = "Deleting",
    }
}

words! {
    /// Reasons of conditions of a Cluster. What is mirrored from another object has the reason that stands there.
    ClusterReason {
        /// It can be used.
        Available = "Available",
        /// It cannot be used.
        NotAvailable = "NotAvailable",
        /// Whether it can be used cannot be told.
        AvailableUnknown = "AvailableUnknown",
        /// It is ready.
        Ready = "Ready",
        /// It is not ready.
        NotReady = "NotReady",
        /// It answered once.
        Initialized = "Initialized",
        /// It never answered.
        NotInitialized = "NotInitialized",
        /// The object that the spec names does not exist.
        ObjectDoesNotExist = "ObjectDoesNotExist",
        /// The object that the spec names is gone.
        ObjectDeleted = "ObjectDeleted",
        /// The object that the spec names belongs to another Cluster.
        OwnedByAnotherCluster = "OwnedByAnotherCluster",
        /// The object that the spec names is of a kind that cannot be what it is named as.
        WrongKind = "WrongKind",
        /// The name of the Cluster is too long for a label, which everything of a Cluster has.
        NameTooLong = "NameTooLong",
        /// The object that the spec names cannot be looked up.
        InternalError = "InternalError",
        /// No reason was given.
        NoReasonReported = "NoReasonReported",
        /// There are no workers.
        NoWorkers = "NoWorkers",
        /// The workload cluster was reached.
        ProbeSucceeded = "ProbeSucceeded",
        /// The workload cluster was not reached.
        ProbeFailed = "ProbeFailed",
        /// A change of a cluster that serves is under way.
        RollingOut = "RollingOut",
        /// No change is under way.
        NotRollingOut = "NotRollingOut",
        /// Workers go first.
        WaitingForWorkersDeletion = "WaitingForWorkersDeletion",
        /// The control plane goes before the infrastructure.
        WaitingForControlPlaneDeletion = "WaitingForControlPlaneDeletion",
        /// The infrastructure goes last.
        WaitingForInfrastructureDeletion = "WaitingForInfrastructureDeletion",
        /// All of it is gone.
        DeletionCompleted = "DeletionCompleted",
        /// A CustomResourceDefinition is terminating or unreadable, so that nothing is deleted.
        CrdTerminating = "CRDTerminating",
        /// It is not going away.
        NotDeleting = "NotDeleting",
        /// Nothing is done, because somebody asked for that.
        Paused = "Paused",
        /// Nobody asked for a pause.
        NotPaused = "NotPaused",
    }
}

impl ConditionType for ClusterCondition {
    type Reason = ClusterReason;
}
