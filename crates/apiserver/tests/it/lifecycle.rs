//! Garbage collection and namespaces.

use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, MERGE, config_map};

fn owned_by(name: &str, owner: &Value) -> Value {
    let mut body = config_map(name, &json!({}));
    body["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": true,
    }]);
    body
}

async fn exists(client: &Client, name: &str) -> bool {
    client.get(&format!("{CONFIG_MAPS}/{name}")).await.code == 200
}

#[tokio::test(start_paused = true)]
async fn dependents_go_after_their_last_owner() {
    let client = Client::new().await;
    let one = client
        .post(CONFIG_MAPS, &config_map("one", &json!({})))
        .await
        .expect(201);
    let two = client
        .post(CONFIG_MAPS, &config_map("two", &json!({})))
        .await
        .expect(201);
    client
        .post(CONFIG_MAPS, &owned_by("child", &one))
        .await
        .expect(201);
    let mut both = owned_by("shared", &one);
    let second = owned_by("x", &two)["metadata"]["ownerReferences"][0].clone();
    both["metadata"]["ownerReferences"]
        .as_array_mut()
        .unwrap()
        .push(second);
    client.post(CONFIG_MAPS, &both).await.expect(201);
    let child = client.get(&format!("{CONFIG_MAPS}/child")).await.expect(200);
    client
        .post(CONFIG_MAPS, &owned_by("grandchild", &child))
        .await
        .expect(201);
    client.settle().await;
    assert!(exists(&client, "grandchild").await);
    client.delete(&format!("{CONFIG_MAPS}/one")).await.expect(200);
    client.settle().await;
    assert!(!exists(&client, "child").await);
    assert!(!exists(&client, "grandchild").await);
    assert!(exists(&client, "shared").await, "its second owner is there");
    client.delete(&format!("{CONFIG_MAPS}/two")).await.expect(200);
    client.settle().await;
    assert!(!exists(&client, "shared").await);
}

#[tokio::test(start_paused = true)]
async fn an_owner_made_again_is_another_owner() {
    let client = Client::new().await;
    let one = client
        .post(CONFIG_MAPS, &config_map("one", &json!({})))
        .await
        .expect(201);
    client.delete(&format!("{CONFIG_MAPS}/one")).await.expect(200);
    client
        .post(CONFIG_MAPS, &config_map("one", &json!({})))
        .await
        .expect(201);
    client
        .post(CONFIG_MAPS, &owned_by("late", &one))
        .await
        .expect(201);
    client.settle().await;
    assert!(!exists(&client, "late").await);
}

#[tokio::test(start_paused = true)]
async fn owners_of_unknown_kinds_are_left_alone() {
    let client = Client::new().await;
    let mut body = config_map("a", &json!({}));
    body["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "nowhere.io/v1", "kind": "Thing", "name": "t", "uid": "u"}]);
    client.post(CONFIG_MAPS, &body).await.expect(201);
    client.settle().await;
    assert!(exists(&client, "a").await);
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_waits_and_orphaning_lets_go() {
    let client = Client::new().await;
    let owner = client
        .post(CONFIG_MAPS, &config_map("owner", &json!({})))
        .await
        .expect(201);
    let mut child = owned_by("child", &owner);
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(CONFIG_MAPS, &child).await.expect(201);
    let path = format!("{CONFIG_MAPS}/owner?propagationPolicy=Foreground");
    let marked = client.delete(&path).await.expect(200);
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    client.settle().await;
    assert!(exists(&client, "owner").await);
    client
        .patch(
            &format!("{CONFIG_MAPS}/child"),
            MERGE,
            &json!({"metadata": {"finalizers": null}}),
        )
        .await
        .expect(200);
    client.settle().await;
    assert!(!exists(&client, "child").await);
    assert!(!exists(&client, "owner").await);

    let owner = client
        .post(CONFIG_MAPS, &config_map("owner", &json!({})))
        .await
        .expect(201);
    client
        .post(CONFIG_MAPS, &owned_by("child", &owner))
        .await
        .expect(201);
    client
        .delete(&format!("{CONFIG_MAPS}/owner?propagationPolicy=Orphan"))
        .await
        .expect(200);
    client.settle().await;
    assert!(!exists(&client, "owner").await);
    let child = client.get(&format!("{CONFIG_MAPS}/child")).await.expect(200);
    assert_eq!(child["metadata"].get("ownerReferences"), None);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_content_with_it() {
    let client = Client::new().await;
    let made = client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "n"}}))
        .await
        .expect(201);
    assert_eq!(made["status"]["phase"], "Active");
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "n");
    let inside = "/api/v1/namespaces/n/configmaps";
    let mut held = config_map("held", &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(inside, &held).await.expect(201);
    client
        .post(inside, &config_map("free", &json!({})))
        .await
        .expect(201);
    let marked = client.delete("/api/v1/namespaces/n").await.expect(200);
    assert_eq!(marked["status"]["phase"], "Terminating");
    client.settle().await;
    let answer = client.post(inside, &config_map("new", &json!({}))).await;
    assert_eq!(
        answer.body["details"]["causes"][0]["reason"],
        "NamespaceTerminating"
    );
    answer.refused(403, "Forbidden");
    client
        .get(&format!("{inside}/free"))
        .await
        .refused(404, "NotFound");
    client.get("/api/v1/namespaces/n").await.expect(200);
    client
        .patch(
            &format!("{inside}/held"),
            MERGE,
            &json!({"metadata": {"finalizers": null}}),
        )
        .await
        .expect(200);
    client.settle().await;
    client.get("/api/v1/namespaces/n").await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn every_cluster_has_its_first_namespaces() {
    let client = Client::new().await;
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        client
            .get(&format!("/api/v1/namespaces/{name}"))
            .await
            .expect(200);
    }
}
