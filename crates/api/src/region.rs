//! Names of AWS regions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// An AWS region, such as `eu-central-1`, `us-gov-west-1` or `us-iso-east-1`.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("maxLength" = 32, "x-kubernetes-validations" = [json!({
    "rule": "self.matches('^[a-z]{2,4}(-[a-z]+){1,3}-[0-9]{1,2}$')",
    "message": "write the name of an AWS region, such as eu-central-1, us-gov-west-1 or us-iso-east-1 \
                (an availability zone such as eu-central-1a is no region)",
})]))]
pub struct Region(pub String);

impl Region {
    /// The name as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Region {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}
