//! Where things are: the workspace, the target directory, the peers' binaries.

use std::env;
use std::path::PathBuf;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().map_or_else(|| xtask.clone(), PathBuf::from)
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Where the peers' binaries are kept: `CAPT_PEERS_DIR`, or `peers` in the target directory.
pub(crate) fn peers() -> PathBuf {
    env::var_os("CAPT_PEERS_DIR").map_or_else(|| target().join("peers"), PathBuf::from)
}
