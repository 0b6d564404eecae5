//! Whether our own controller of Clusters works here.
//!
//! Cluster API's own controller and ours must never work on the same objects. Where Cluster API is installed, the
//! definition of Clusters is its own.

use std::sync::Arc;

use capt_api::{foreign::marks as foreign_marks, marks};

use crate::{
    engine::{
        served::{Definition, Definitions},
        wakes::Reader,
    },
    facts::kinds,
    options::ClusterController,
};

/// Label that Cluster API puts on everything that it installs.
const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// Whether it works here, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    is_on: bool,
    why: &'static str,
}

fn verdict(wish: ClusterController, definition: Option<&Definition>) -> Verdict {
    let (is_on, why) = match (wish, definition) {
        (ClusterController::On, _) => (true, "it was asked for"),
        (ClusterController::Off, _) => (false, "it was asked not to"),
        (ClusterController::Auto, None) => (false, "the API does not serve Clusters"),
        (ClusterController::Auto, Some(definition)) if definition.version.is_empty() => (
            false,
            "whose the definition of Clusters is may not be read; --cluster-controller says what to do",
        ),
        (ClusterController::Auto, Some(definition)) => {
            if is_cluster_apis(definition) {
                (false, "the definition of Clusters is Cluster API's own")
            } else {
                (true, "the definition of Clusters is the one that capt installs")
            }
        }
    };
    Verdict { is_on, why }
}

/// Whether a definition of Clusters that could be read is not the one that capt installs.
fn is_cluster_apis(definition: &Definition) -> bool {
    let is_read = !definition.version.is_empty();
    let is_ours = definition.annotations.contains(marks::LEAN_VIEW);
    is_read && (definition.labels.contains_key(PROVIDER) || !is_ours)
}

/// Whether our own controller works here, for somebody who looks again when that changes.
pub(super) fn is_on(wish: ClusterController, definitions: &Definitions, reader: &Reader) -> bool {
    let definition = definitions.get(reader, &kinds::CLUSTER.definition());
    verdict(wish, definition.as_deref()).is_on
}

/// Waits until our own controller works here.
pub(crate) async fn until_on(wish: ClusterController, definitions: &Definitions) {
    let mut changes = definitions.changes();
    loop {
        changes.borrow_and_update();
        let definition = definitions.peek(&kinds::CLUSTER.definition());
        if verdict(wish, definition.as_deref()).is_on {
            return;
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Logs whether our own controller works here, and why, whenever that changes. Never ends.
pub(crate) async fn tell(wish: ClusterController, definitions: Arc<Definitions>) {
    let mut changes = definitions.changes();
    let mut told = None;
    loop {
        changes.borrow_and_update();
        let definition = definitions.peek(&kinds::CLUSTER.definition());
        let verdict = verdict(wish, definition.as_deref());
        if told != Some(verdict) {
            let does = if verdict.is_on { "looks" } else { "does not look" };
            if verdict.is_on && definition.is_some_and(|definition| is_cluster_apis(&definition)) {
                tracing::warn!(
                    "the definition of Clusters is Cluster API's own: where its controller runs too, both write to the same \
                     Clusters for ever; leave it to them with --cluster-controller auto or off"
                );
            }
            tracing::info!(
                contract = foreign_marks::CONTRACT_V1BETA2,
                "capt {does} after Clusters itself: {}",
                verdict.why
            );
            told = Some(verdict);
        }
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn clusters_are_looked_after_only_where_nobody_else_does_or_somebody_says_so() {
        let definition = |label: Option<&str>, is_lean: bool| Definition {
            version: "1".to_owned(),
            labels: label
                .map(|label| (label.to_owned(), "cluster-api".to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
            annotations: is_lean
                .then(|| marks::LEAN_VIEW.to_owned())
                .into_iter()
                .collect::<BTreeSet<_>>(),
        };
        use ClusterController::{Auto, Off, On};
        for (wish, definition, is_on) in [
            (Auto, None, false),
            (Auto, Some(definition(None, true)), true),
            (Auto, Some(definition(None, false)), false),
            (Auto, Some(definition(Some(PROVIDER), false)), false),
            // Somebody installed Cluster API over ours, and the mark stayed.
            (Auto, Some(definition(Some(PROVIDER), true)), false),
            (On, Some(definition(Some(PROVIDER), false)), true),
            (Off, Some(definition(None, true)), false),
            // Only that there is one is known.
            (Auto, Some(Definition::default()), false),
            (On, Some(Definition::default()), true),
        ] {
            let told = verdict(wish, definition.as_ref());
            assert_eq!(told.is_on, is_on, "{wish:?} {definition:?}: {}", told.why);
        }
    }
}
