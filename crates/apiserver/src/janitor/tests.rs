//! The janitor at work by hand, so that what happens between its steps is decided here.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::dispatch;
use crate::server::Options;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn janitor() -> Janitor {
    let server = Inner::open(Options::default()).await.unwrap();
    let mut janitor = Janitor::new(server);
    janitor.rescan();
    janitor
}

async fn send(janitor: &Janitor, method: &str, path: &str, body: &Value) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(
            "content-type",
            if method == "PATCH" {
                "application/merge-patch+json"
            } else {
                "application/json"
            },
        )
        .body(Body::from(body.to_string()))
        .unwrap();
    let answer = dispatch::router(janitor.server.clone())
        .oneshot(request)
        .await
        .unwrap();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

async fn make(janitor: &Janitor, name: &str, owners: &Value) -> Value {
    let body = json!({"metadata": {"name": name, "ownerReferences": owners}});
    send(janitor, "POST", CONFIG_MAPS, &body).await
}

fn find(janitor: &Janitor, name: &str) -> Option<Arc<Object>> {
    let state = janitor.server.store.visible();
    state.get("configmaps", &ObjectKey::new("default", name)).cloned()
}

#[tokio::test(start_paused = true)]
async fn a_release_sees_the_dependents_that_were_made_meanwhile() {
    let mut janitor = janitor().await;
    let owner = make(&janitor, "owner", &json!(null)).await;
    janitor.drain().await;
    let uid = &owner["metadata"]["uid"];
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
    make(&janitor, "late", &owners).await;
    let orphan = json!({"propagationPolicy": "Orphan"});
    send(&janitor, "DELETE", &format!("{CONFIG_MAPS}/owner"), &orphan).await;
    let place = ObjectKey::new("default", "owner");
    janitor.queue.insert(Work::Release("configmaps".into(), place));
    janitor.drain().await;
    assert!(find(&janitor, "owner").is_none());
    let late = find(&janitor, "late").expect("it was let go, not collected");
    assert!(late.owners.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_not_tried_again_on_every_write() {
    let mut janitor = janitor().await;
    // This namespace may not be deleted, though its owner is gone.
    let owners = json!([{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "u"}]);
    let change = json!({"metadata": {"ownerReferences": owners}});
    send(&janitor, "PATCH", "/api/v1/namespaces/kube-system", &change).await;
    janitor.drain().await;
    let due = janitor.queue.next_due();
    assert!(due.is_some());
    tokio::time::advance(Duration::from_millis(500)).await;
    make(&janitor, "other", &json!(null)).await;
    janitor.drain().await;
    assert_eq!(janitor.queue.next_due(), due, "it waits");
    tokio::time::advance(Duration::from_millis(500)).await;
    janitor.drain().await;
    assert!(janitor.queue.next_due() > due, "it was tried once more");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_work_between_two_tasks() {
    let mut janitor = janitor().await;
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"}]);
    make(&janitor, "garbage", &owners).await;
    janitor.server.stopping.cancel();
    janitor.drain().await;
    assert!(find(&janitor, "garbage").is_some());
}
