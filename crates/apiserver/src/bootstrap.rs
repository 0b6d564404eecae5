//! The objects that are there from the start.

use serde_json::json;
use uuid::Uuid;

use crate::clock::rfc3339_seconds;
use crate::server::Inner;
use crate::store::{Change, CommitError, Draft, Expect, ObjectKey, Write};

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Makes the namespaces that every cluster has, where they are missing.
pub(crate) async fn ensure(server: &Inner) -> Result<(), CommitError> {
    let now = rfc3339_seconds(server.clock.now());
    for name in NAMESPACES {
        if server
            .store
            .visible()
            .get("namespaces", &ObjectKey::new("", name))
            .is_some()
        {
            continue;
        }
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": name,
                "uid": Uuid::new_v4().to_string(),
                "creationTimestamp": now,
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        let write = Write::Put(Draft::new(&namespace));
        let change = Change {
            resource: "namespaces".into(),
            expect: Expect::Absent,
            write,
            requires: Vec::new(),
        };
        server.store.commit(change).await?;
    }
    Ok(())
}
