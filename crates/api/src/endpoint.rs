//! Where an API server answers.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Where the cluster's API server answers.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiEndpoint {
    /// Host name or IP address, without a scheme.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new("!self.contains('/')").message(
        "write the bare host name or IP address: no https:// before it, no path after it"))]
    pub host: String,

    /// TCP port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}
