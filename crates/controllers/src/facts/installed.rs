//! Whether capt's own kinds are installed.

use std::sync::Arc;

use super::kinds;
use crate::{
    engine::served::{CustomKind, Definitions},
    options::Readiness,
};

/// Which of capt's own kinds the API does not serve, and how they get there; none if it serves all.
pub(crate) fn missing(definitions: &Definitions) -> Option<String> {
    let is_missing = |kind: &&CustomKind| definitions.peek(&kind.definition()).is_none();
    let names: Vec<&str> = kinds::OWN
        .iter()
        .filter(is_missing)
        .map(|kind| kind.kind)
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "the API does not serve {}: capt manifests crds | kubectl apply --server-side -f -",
            names.join(", ")
        )
    })
}

/// Says whenever it changes whether capt's own kinds are installed. Never ends.
pub(crate) async fn tell(definitions: Arc<Definitions>, readiness: Readiness) {
    let mut changes = definitions.changes();
    let mut told = None;
    loop {
        changes.borrow_and_update();
        let missing = missing(&definitions);
        readiness.set_uninstalled(missing.clone());
        if missing != told {
            match &missing {
                Some(missing) => {
                    tracing::warn!("nothing can be done without capt's own kinds, and {missing}")
                }
                None => tracing::info!("the API serves all of capt's own kinds"),
            }
            told = missing;
        }
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
