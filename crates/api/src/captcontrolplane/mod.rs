//! CAPTControlPlane: an EKS control plane with its Fargate profiles.

mod dependencies;
mod fargate;
mod health;
mod progress;
mod recovery;
mod spec;
mod status;

pub use dependencies::{DependencyGraph, ResourceNode};
pub use fargate::{AdditionalFargateProfile, FargateProfilePhase, FargateProfileStatus, FargateSelector};
pub use health::{HealthCheck, HealthMetrics, HealthStatus};
pub(crate) use progress::reported_duration;
pub use progress::{OperationRecord, OperationResult, ProgressInfo};
pub use recovery::{
    BackoffConfig, RecoveryAction, RecoveryActionType, RecoveryInfo, RecoveryOutcome, RecoverySpec,
};
pub use spec::{
    Addon, CAPTControlPlane, CAPTControlPlaneSpec, ControlPlaneConfig, ControlPlaneTimeouts, EndpointAccess,
    EndpointCheck, KubeconfigSource, KubeconfigSpec,
};
pub use status::{
    CAPTControlPlaneInitialization, CAPTControlPlaneStatus, ControlPlanePhase, ControlPlaneState,
    ReportedVersion,
};
