//! What a plan is made of, where that is not what the Workspace has.

use std::borrow::Cow;

use capt_api::{
    foreign::{forprovider::ForProvider, workspace::ProviderConfigReference},
    marks,
};
use capt_core::wta::candidate;
use serde::Deserialize;

use super::observe::is_paused;
use crate::{inputs::InputError, view::WorkspaceView};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    for_provider: ForProvider,
    provider_config_ref: Option<ProviderConfigReference>,
}

/// The Workspace as it would be if it were not paused. Only plans may be made of it.
///
/// # Errors
/// If what is written there cannot be read.
pub(crate) fn as_it_would_be(view: &WorkspaceView) -> Result<Cow<'_, WorkspaceView>, InputError> {
    let packed = view.annotations.get(marks::CANDIDATE);
    let Some(packed) = packed.filter(|_| is_paused(view)) else {
        return Ok(Cow::Borrowed(view));
    };
    let spec = candidate::unpack(packed).and_then(|spec| serde_json::from_value::<Spec>(spec).ok());
    let spec = spec.ok_or_else(|| InputError::Incomplete {
        field: format!("the annotation {}", marks::CANDIDATE),
        missing: "it holds no rendering that this runner can read",
    })?;
    Ok(Cow::Owned(WorkspaceView {
        for_provider: spec.for_provider,
        provider_config_ref: spec.provider_config_ref,
        ..view.clone()
    }))
}
