//! Deletion, finalizers, preconditions, collections.

use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, JSON_PATCH, MERGE, WIDGETS, config_map, widget};

#[tokio::test(start_paused = true)]
async fn a_deletion_answers_with_what_kubectl_waits_for() {
    let client = Client::new().await;
    client.install_widgets().await;
    let made = client.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    let answer = client.delete(&format!("{WIDGETS}/a")).await.expect(200);
    assert_eq!(
        answer,
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {
                "name": "a",
                "group": "example.com",
                "kind": "widgets",
                "uid": made["metadata"]["uid"],
            },
        })
    );
    client
        .delete(&format!("{WIDGETS}/a"))
        .await
        .refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let client = Client::new().await;
    client.install_widgets().await;
    let path = format!("{WIDGETS}/a");
    let mut body = widget("a", &json!({}));
    body["metadata"]["finalizers"] = json!(["example.com/one", "example.com/two"]);
    client.post(WIDGETS, &body).await.expect(201);
    let marked = client.delete(&path).await.expect(200);
    assert_eq!(marked["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(marked["metadata"]["generation"], 2);
    assert_eq!(
        client.delete(&path).await.expect(200),
        marked,
        "once more is no change"
    );
    let more = json!({"metadata": {"finalizers": ["example.com/one", "example.com/three"]}});
    let message = client.patch(&path, MERGE, &more).await.refused(422, "Invalid");
    assert!(message.contains("no new finalizers can be added"), "{message}");
    let fewer = json!({"metadata": {"finalizers": ["example.com/two"]}});
    client.patch(&path, MERGE, &fewer).await.expect(200);
    let last = json!([
        {"op": "test", "path": "/metadata/finalizers/0", "value": "example.com/two"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]);
    client.patch(&path, JSON_PATCH, &last).await.expect(200);
    client.get(&path).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn preconditions_guard_against_a_successor() {
    let client = Client::new().await;
    let made = client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let path = format!("{CONFIG_MAPS}/a");
    let with = |preconditions: Value| json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions});
    let message = client
        .request("DELETE", &path, "application/json", &with(json!({"uid": "x"})))
        .await
        .refused(409, "Conflict");
    assert!(
        message.contains("the UID in the precondition (x) does not match"),
        "{message}"
    );
    client
        .request(
            "DELETE",
            &path,
            "application/json",
            &with(json!({"resourceVersion": "1"})),
        )
        .await
        .refused(409, "Conflict");
    let right =
        with(json!({"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}));
    client
        .request("DELETE", &path, "application/json", &right)
        .await
        .expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_deletes_nothing() {
    let client = Client::new().await;
    client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let path = format!("{CONFIG_MAPS}/a");
    client.delete(&format!("{path}?dryRun=All")).await.expect(200);
    client
        .request("DELETE", &path, "application/json", &json!({"dryRun": ["All"]}))
        .await
        .expect(200);
    client.get(&path).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_by_selector() {
    let client = Client::new().await;
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut body = config_map(name, &json!({}));
        body["metadata"]["labels"] = json!({"l": label});
        client.post(CONFIG_MAPS, &body).await.expect(201);
    }
    let gone = client
        .delete(&format!("{CONFIG_MAPS}?labelSelector=l%3Dx"))
        .await
        .expect(200);
    assert_eq!(gone["items"].as_array().unwrap().len(), 2);
    let left = client.get(CONFIG_MAPS).await.expect(200);
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    client
        .delete("/api/v1/configmaps")
        .await
        .refused(405, "MethodNotAllowed");
}

#[tokio::test(start_paused = true)]
async fn odd_delete_options_are_refused() {
    let client = Client::new().await;
    client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let path = format!("{CONFIG_MAPS}/a");
    for body in [json!({"kind": "ConfigMap"}), json!([1])] {
        client
            .request("DELETE", &path, "application/json", &body)
            .await
            .refused(400, "BadRequest");
    }
    for body in [
        json!({"dryRun": ["all"]}),
        json!({"propagationPolicy": "Sometimes"}),
        json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
    ] {
        client
            .request("DELETE", &path, "application/json", &body)
            .await
            .refused(422, "Invalid");
    }
    client.get(&path).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn the_largest_generation_can_still_be_deleted() {
    let client = Client::new().await;
    let mut body = config_map("a", &json!({}));
    body["metadata"]["generation"] = json!(i64::MAX);
    body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(CONFIG_MAPS, &body).await.expect(201);
    let path = format!("{CONFIG_MAPS}/a");
    client.delete(&path).await.expect(200);
    let free = json!({"metadata": {"finalizers": null}});
    client.patch(&path, MERGE, &free).await.expect(200);
    client.get(&path).await.refused(404, "NotFound");
}
