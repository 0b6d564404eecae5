//! Decisions for tests.

use capt_core::decision::{Desired, Guard, Strip, Target};
use serde_json::json;

/// Which object, by its kind.
pub(super) fn target(kind: &str) -> Target {
    Target {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        namespace: None,
        name: "x".to_owned(),
    }
}

/// An object that must exist, by its kind.
pub(super) fn desired(kind: &str) -> Desired {
    Desired {
        target: target(kind),
        guard: Guard::Absent,
        fields: json!({}),
        strip: Strip::default(),
        rendered_from: None,
        loss: None,
        is_beside: false,
    }
}
