//! The patch formats.

use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, JSON_PATCH, MERGE, STRATEGIC, WIDGETS, config_map, widget};

async fn with_config_map() -> (Client, String) {
    let client = Client::new().await;
    client
        .post(CONFIG_MAPS, &config_map("a", &json!({"k": "1", "l": "2"})))
        .await
        .expect(201);
    (client, format!("{CONFIG_MAPS}/a"))
}

#[tokio::test(start_paused = true)]
async fn a_merge_patch_sets_and_removes() {
    let (client, path) = with_config_map().await;
    let patch = json!({"data": {"k": null, "m": "3"}});
    let patched = client.patch(&path, MERGE, &patch).await.expect(200);
    assert_eq!(patched["data"], json!({"l": "2", "m": "3"}));
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_names_a_version_is_a_lock() {
    let (client, path) = with_config_map().await;
    let stale = json!({"metadata": {"resourceVersion": "1"}, "data": {"k": "9"}});
    client.patch(&path, MERGE, &stale).await.refused(409, "Conflict");
}

#[tokio::test(start_paused = true)]
async fn json_patch_tests_null_against_a_missing_path() {
    let (client, path) = with_config_map().await;
    // This is how kube-rs adds the first finalizer.
    let add = json!([
        {"op": "test", "path": "/metadata/finalizers", "value": null},
        {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/hold"]},
    ]);
    let patched = client.patch(&path, JSON_PATCH, &add).await.expect(200);
    assert_eq!(patched["metadata"]["finalizers"], json!(["example.com/hold"]));
    client
        .patch(&path, JSON_PATCH, &add)
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn strategic_merge_is_for_built_in_kinds() {
    let (client, path) = with_config_map().await;
    let patched = client
        .patch(&path, STRATEGIC, &json!({"data": {"k": null}}))
        .await
        .expect(200);
    assert_eq!(patched["data"], json!({"l": "2"}));
    client.install_widgets().await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    let message = client
        .patch(&format!("{WIDGETS}/a"), STRATEGIC, &json!({}))
        .await
        .refused(415, "UnsupportedMediaType");
    assert!(message.contains("application/merge-patch+json"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn strategic_merge_follows_merge_keys() {
    let client = Client::new().await;
    let pods = "/api/v1/namespaces/default/pods";
    let container = |name: &str, image: &str| json!({"name": name, "image": image});
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [container("a", "1"), container("b", "1")]},
    });
    client.post(pods, &pod).await.expect(201);
    let patch = json!({"spec": {"containers": [{"name": "b", "image": "2"}, container("c", "1")]}});
    let patched = client
        .patch(&format!("{pods}/p"), STRATEGIC, &patch)
        .await
        .expect(200);
    let containers = patched["spec"]["containers"].as_array().unwrap();
    let mut images: Vec<(&Value, &Value)> = containers.iter().map(|c| (&c["name"], &c["image"])).collect();
    images.sort_by_key(|(name, _)| name.to_string());
    assert_eq!(
        images,
        [
            (&json!("a"), &json!("1")),
            (&json!("b"), &json!("2")),
            (&json!("c"), &json!("1"))
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_no_patch_is_refused() {
    let (client, path) = with_config_map().await;
    client
        .patch(&path, "text/plain", &json!({}))
        .await
        .refused(415, "UnsupportedMediaType");
    client
        .patch(&path, JSON_PATCH, &json!({"not": "a list"}))
        .await
        .refused(400, "BadRequest");
    client
        .patch(&path, MERGE, &json!([1]))
        .await
        .refused(400, "BadRequest");
    client
        .patch(&format!("{CONFIG_MAPS}/missing"), MERGE, &json!({}))
        .await
        .refused(404, "NotFound");
    let many: Vec<Value> = (0..10_001)
        .map(|_| json!({"op": "test", "path": "/kind", "value": "ConfigMap"}))
        .collect();
    client
        .patch(&path, JSON_PATCH, &Value::Array(many))
        .await
        .refused(413, "RequestEntityTooLarge");
    let rename = json!({"metadata": {"name": "b"}});
    client
        .patch(&path, MERGE, &rename)
        .await
        .refused(400, "BadRequest");
}
