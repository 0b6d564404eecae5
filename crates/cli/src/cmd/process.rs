//! What a server process sets up for itself before it opens a file.

use rustix::{
    fs::Mode,
    process::{Resource, Rlimit, getrlimit, setrlimit, umask},
};

/// Makes every file of this process private to its owner, and lets it hold as many as the system allows.
///
/// The store holds Secrets, so no file of ours may depend on how generous the user's shell is.
/// Connections are files too, and the usual soft limit of 1024 is meant for programs that still use `select`.
pub(crate) fn prepare() {
    umask(Mode::RWXG | Mode::RWXO);
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "the limit on open files stays as it is");
    }
}
