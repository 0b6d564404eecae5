//! Conditions of a WorkspaceTemplate.

use super::{ConditionType, words::words};

words! {
    /// Types of conditions of a WorkspaceTemplate.
    WorkspaceTemplateCondition {
        /// The template can be rendered.
        Ready = "Ready",
        /// WorkspaceTemplateApplies use it, so that it is held.
        InUse = "InUse",
    }
}

words! {
    /// Reasons of conditions of a WorkspaceTemplate.
    WorkspaceTemplateReason {
        /// It can be rendered.
        Valid = "Valid",
        /// Its module cannot be parsed.
        InvalidModule = "InvalidModule",
        /// A hole cannot be understood.
        InvalidHole = "InvalidHole",
        /// Somebody uses it.
        Used = "Used",
        /// Nobody uses it.
        Unused = "Unused",
        /// It is to be deleted, and goes when its last user is gone.
        WaitingForUsers = "WaitingForUsers",
    }
}

impl ConditionType for WorkspaceTemplateCondition {
    type Reason = WorkspaceTemplateReason;
}
