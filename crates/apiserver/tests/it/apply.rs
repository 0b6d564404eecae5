//! Server-side apply through the API.

use serde_json::{Value, json};

use crate::client::{APPLY, Client, MERGE, WIDGETS, widget};

async fn world() -> (Client, String) {
    let client = Client::new().await;
    client.install_widgets().await;
    (client, format!("{WIDGETS}/a"))
}

fn by(path: &str, manager: &str) -> String {
    format!("{path}?fieldManager={manager}")
}

#[tokio::test(start_paused = true)]
async fn the_first_apply_creates_and_the_same_again_changes_nothing() {
    let (client, path) = world().await;
    let config = widget("a", &json!({"size": 1}));
    let made = client.patch(&by(&path, "x"), APPLY, &config).await.expect(201);
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["metadata"]["managedFields"][0]["operation"], "Apply");
    let revision = client.server.revision();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    assert_eq!(
        client.patch(&by(&path, "x"), APPLY, &config).await.expect(200),
        made
    );
    assert_eq!(client.server.revision(), revision);
}

#[tokio::test(start_paused = true)]
async fn fields_no_longer_applied_vanish_and_equal_values_are_shared() {
    let (client, path) = world().await;
    let both = widget(
        "a",
        &json!({"size": 1, "parts": [{"name": "p", "count": 1}, {"name": "q"}]}),
    );
    client.patch(&by(&path, "x"), APPLY, &both).await.expect(201);
    client
        .patch(&by(&path, "y"), APPLY, &widget("a", &json!({"size": 1})))
        .await
        .expect(200);
    let less = widget("a", &json!({"parts": [{"name": "q"}]}));
    let object = client.patch(&by(&path, "x"), APPLY, &less).await.expect(200);
    assert_eq!(object["spec"]["size"], 1, "y owns it too");
    assert_eq!(object["spec"]["parts"], json!([{"name": "q"}]));
}

#[tokio::test(start_paused = true)]
async fn another_value_is_a_conflict_unless_forced() {
    let (client, path) = world().await;
    client
        .patch(&by(&path, "x"), APPLY, &widget("a", &json!({"size": 1})))
        .await
        .expect(201);
    let other = widget("a", &json!({"size": 2}));
    let answer = client.patch(&by(&path, "y"), APPLY, &other).await;
    let cause = answer.body["details"]["causes"][0].clone();
    let message = answer.refused(409, "Conflict");
    assert_eq!(
        message,
        "Apply failed with 1 conflict: conflict with \"x\": .spec.size"
    );
    assert_eq!(cause["reason"], "FieldManagerConflict");
    assert_eq!(cause["field"], ".spec.size");
    let forced = client
        .patch(&format!("{}&force=true", by(&path, "y")), APPLY, &other)
        .await
        .expect(200);
    assert_eq!(forced["spec"]["size"], 2);
}

#[tokio::test(start_paused = true)]
async fn status_is_ignored_on_the_object_and_the_rest_on_status() {
    let (client, path) = world().await;
    let mut config = widget("a", &json!({"size": 1}));
    config["status"] = json!({"phase": "Up"});
    let made = client.patch(&by(&path, "x"), APPLY, &config).await.expect(201);
    assert_eq!(made["status"], Value::Null);
    config["spec"]["size"] = json!(5);
    let object = client
        .patch(&by(&format!("{path}/status"), "x"), APPLY, &config)
        .await
        .expect(200);
    assert_eq!(
        (&object["spec"]["size"], &object["status"]["phase"]),
        (&json!(1), &json!("Up"))
    );
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        entries.iter().any(|entry| entry["subresource"] == "status"),
        "{entries:?}"
    );
    client
        .patch(
            &by(&format!("{WIDGETS}/none/status"), "x"),
            APPLY,
            &widget("none", &json!({})),
        )
        .await
        .refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn an_apply_needs_a_manager_and_known_fields() {
    let (client, path) = world().await;
    let config = widget("a", &json!({"size": 1}));
    let message = client.patch(&path, APPLY, &config).await.refused(422, "Invalid");
    assert!(
        message.contains("fieldManager: Required value: is required for apply patch"),
        "{message}"
    );
    let odd = widget("a", &json!({"odd": 1}));
    let answer = client.patch(&by(&path, "x"), APPLY, &odd).await;
    assert_eq!(answer.code, 500);
    assert!(
        answer.text.contains(".spec.odd: field not declared in schema"),
        "{}",
        answer.text
    );
    let mut managed = config.clone();
    managed["metadata"]["managedFields"] = json!([{"manager": "z"}]);
    client
        .patch(&by(&path, "x"), APPLY, &managed)
        .await
        .refused(400, "BadRequest");
    client
        .patch(&format!("{path}?force=true"), MERGE, &json!({}))
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn other_writers_take_ownership_of_what_they_change() {
    let (client, path) = world().await;
    client
        .patch(&by(&path, "x"), APPLY, &widget("a", &json!({"size": 1})))
        .await
        .expect(201);
    client
        .patch(&by(&path, "hand"), MERGE, &json!({"spec": {"size": 3}}))
        .await
        .expect(200);
    let answer = client
        .patch(&by(&path, "x"), APPLY, &widget("a", &json!({"size": 1})))
        .await;
    let message = answer.refused(409, "Conflict");
    assert_eq!(
        message,
        "Apply failed with 1 conflict: conflict with \"hand\" using example.com/v1: .spec.size"
    );
}

#[tokio::test(start_paused = true)]
async fn yaml_is_what_the_media_type_says() {
    let (client, path) = world().await;
    let config = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  size: 4\n";
    let made = client
        .raw("PATCH", &by(&path, "x"), APPLY, config)
        .await
        .expect(201);
    assert_eq!(made["spec"]["size"], 4);
}
