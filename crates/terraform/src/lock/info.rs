//! What Terraform writes beside a lock.

use serde::{Deserialize, Serialize};

/// Annotation of Terraform's on a Lease that is held.
pub const LOCK_INFO_ANNOTATION: &str = "app.terraform.io/lock-info";

/// Who holds a lock and why, in Terraform's form. All of it is text to us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct LockInfo {
    /// Names the lock; what `force-unlock` wants.
    #[serde(rename = "ID")]
    pub id: String,
    /// What it is for, such as `OperationTypeApply`.
    pub operation: String,
    /// More about it.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// Version of Terraform.
    pub version: String,
    /// When it was taken, in RFC 3339; Terraform refuses to read anything else.
    pub created: String,
    /// Where the state is.
    pub path: String,
}

impl LockInfo {
    /// As it stands in the annotation.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What the annotation says, if it can be read.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
