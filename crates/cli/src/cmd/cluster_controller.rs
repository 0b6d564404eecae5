//! Whether Clusters are looked after, too.

use capt_controllers::ClusterController;

/// Who looks after Clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Wanted {
    /// capt, where the CRD of Clusters is the one that capt installs; else Cluster API
    Auto,
    /// capt, whatever else is installed
    On,
    /// Cluster API
    Off,
}

/// Who looks after Clusters.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ClusterControllerArgs {
    /// Whether capt looks after Cluster objects, as Cluster API's own manager does where it is installed: owner
    /// references, endpoint, phase, conditions and the order of deletion
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto")]
    cluster_controller: Wanted,
}

impl ClusterControllerArgs {
    /// What the controllers are told.
    pub(crate) fn wanted(self) -> ClusterController {
        match self.cluster_controller {
            Wanted::Auto => ClusterController::Auto,
            Wanted::On => ClusterController::On,
            Wanted::Off => ClusterController::Off,
        }
    }
}
