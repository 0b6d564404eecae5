//! The CRDs of capt's kinds, from their Rust structs.

use std::path::Path;

use anyhow::Result;
use capt_api::manifests::{self, Manifest};

use super::Files;

pub(super) fn files() -> Result<Files> {
    let folder = Path::new("deploy/crds");
    let manifests = manifests::crd_files()?;
    Ok(manifests
        .into_iter()
        .map(|Manifest { file_name, yaml }| (folder.join(file_name), yaml.into_bytes()))
        .collect())
}
