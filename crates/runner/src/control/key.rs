//! Names a Workspace of either group.

use capt_core::render::WorkspaceGroup;

use crate::view::WorkspaceView;

/// Names a Workspace of either group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) group: WorkspaceGroup,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Key {
    /// The name of this one.
    pub(crate) fn of(view: &WorkspaceView) -> Self {
        Self {
            group: view.group,
            namespace: view.namespace.clone(),
            name: view.name.clone(),
        }
    }
}
