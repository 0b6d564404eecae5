//! Creation: what is filled in, what is refused.

use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, WIDGETS, config_map, widget};

#[tokio::test(start_paused = true)]
async fn a_new_object_gets_what_the_server_sets() {
    let client = Client::new().await;
    let body = json!({
        "metadata": {"name": "a", "uid": "mine", "creationTimestamp": null, "selfLink": "x"},
        "data": {"k": "v"},
    });
    let made = client.post(CONFIG_MAPS, &body).await.expect(201);
    assert_eq!(
        (&made["kind"], &made["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
    let metadata = &made["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert_eq!(
        metadata["generation"],
        Value::Null,
        "config maps have no generation"
    );
    assert!(
        metadata["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    assert_eq!(metadata["managedFields"][0]["manager"], "tester");
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await.expect(200), made);
}

#[tokio::test(start_paused = true)]
async fn a_custom_object_is_defaulted_pruned_and_loses_its_status() {
    let client = Client::new().await;
    client.install_widgets().await;
    let mut body = widget("a", &json!({"size": 1, "odd": true, "free": {"any": [1]}}));
    body["status"] = json!({"phase": "Done"});
    let answer = client.post(WIDGETS, &body).await;
    assert_eq!(answer.warnings(), ["299 - \"unknown field \\\"spec.odd\\\"\""]);
    let made = answer.expect(201);
    assert_eq!(
        made["spec"],
        json!({"color": "red", "size": 1, "free": {"any": [1]}})
    );
    assert_eq!(made["status"], Value::Null);
    assert_eq!(made["metadata"]["generation"], 1);
}

#[tokio::test(start_paused = true)]
async fn bad_objects_are_refused_with_the_reason() {
    let client = Client::new().await;
    client.install_widgets().await;
    let cases = [
        (
            json!({"metadata": {"name": "Bad_Name"}}),
            422,
            "Invalid",
            "metadata.name",
        ),
        (
            json!({"metadata": {}}),
            422,
            "Invalid",
            "name or generateName is required",
        ),
        (
            json!({"metadata": {"name": "a", "namespace": "other"}}),
            400,
            "BadRequest",
            "namespace",
        ),
        (
            json!({"metadata": {"name": "a", "resourceVersion": "5"}}),
            500,
            "",
            "should not be set",
        ),
        (
            json!({"metadata": {"name": "a", "labels": {"k": "not ok!"}}}),
            422,
            "Invalid",
            "metadata.labels",
        ),
        (
            json!({"metadata": {"name": "a"}, "data": {"k": 5}}),
            400,
            "BadRequest",
            "data",
        ),
        (
            json!({"kind": "Secret", "metadata": {"name": "a"}}),
            400,
            "BadRequest",
            "Secret",
        ),
        (
            json!({"apiVersion": "v2", "metadata": {"name": "a"}}),
            400,
            "BadRequest",
            "v2",
        ),
    ];
    for (body, code, reason, part) in cases {
        let message = client.post(CONFIG_MAPS, &body).await.refused(code, reason);
        assert!(message.contains(part), "{body}: {message}");
    }
    let cases = [
        (json!({"size": 11}), "spec.size: Invalid value: 11"),
        (
            json!({"color": "blue"}),
            "spec.color: Unsupported value: \"blue\"",
        ),
        (json!({"size": 7}), "size must not be 7: write 6 or 8"),
        (
            json!({"parts": [{"name": "a"}, {"name": "a"}]}),
            "Duplicate value",
        ),
        (json!({"size": "big"}), "spec.size"),
    ];
    for (spec, part) in cases {
        let message = client
            .post(WIDGETS, &widget("a", &spec))
            .await
            .refused(422, "Invalid");
        assert!(message.contains(part), "{spec}: {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_taken_name_is_a_conflict_and_a_missing_namespace_is_not_found() {
    let client = Client::new().await;
    client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let message = client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .refused(409, "AlreadyExists");
    assert_eq!(message, "configmaps \"a\" already exists");
    let elsewhere = "/api/v1/namespaces/nowhere/configmaps";
    let message = client
        .post(elsewhere, &config_map("a", &json!({})))
        .await
        .refused(404, "NotFound");
    assert_eq!(message, "namespaces \"nowhere\" not found");
}

#[tokio::test(start_paused = true)]
async fn names_are_generated_and_do_not_collide() {
    let client = Client::new().await;
    let body = json!({"metadata": {"generateName": "x-"}});
    let mut names = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let made = client.post(CONFIG_MAPS, &body).await.expect(201);
        let name = made["metadata"]["name"].as_str().unwrap().to_owned();
        assert!(name.starts_with("x-") && name.len() == 7, "{name}");
        assert!(names.insert(name));
    }
    let long = json!({"metadata": {"generateName": "y".repeat(100)}});
    let made = client.post(CONFIG_MAPS, &long).await.expect(201);
    assert_eq!(made["metadata"]["name"].as_str().unwrap().len(), 63);
}

#[tokio::test(start_paused = true)]
async fn strict_field_validation_names_every_unknown_and_duplicate_field() {
    let client = Client::new().await;
    let body = r#"{"metadata":{"name":"a"},"odd":1,"data":{"k":"1","k":"2"}}"#;
    let strict = format!("{CONFIG_MAPS}?fieldValidation=Strict");
    let message = client
        .raw("POST", &strict, "application/json", body)
        .await
        .refused(400, "BadRequest");
    assert!(
        message.contains("duplicate field \"data.k\"") && message.contains("unknown field \"odd\""),
        "{message}"
    );
    let warned = client.raw("POST", CONFIG_MAPS, "application/json", body).await;
    assert_eq!(warned.warnings().len(), 2);
    assert_eq!(warned.expect(201)["data"]["k"], "2");
    let ignored = format!("{CONFIG_MAPS}?fieldValidation=Ignore");
    let body = body.replace("\"a\"", "\"b\"");
    assert!(
        client
            .raw("POST", &ignored, "application/json", body)
            .await
            .warnings()
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_as_if_and_writes_nothing() {
    let client = Client::new().await;
    let before = client.server.revision();
    let path = format!("{CONFIG_MAPS}?dryRun=All");
    let made = client.post(&path, &config_map("a", &json!({}))).await.expect(201);
    assert!(made["metadata"]["uid"].is_string());
    assert_eq!(client.server.revision(), before);
    client
        .get(&format!("{CONFIG_MAPS}/a"))
        .await
        .refused(404, "NotFound");
    client
        .post(
            &format!("{CONFIG_MAPS}?dryRun=Some"),
            &config_map("a", &json!({})),
        )
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn secrets_take_plain_text_and_a_default_type() {
    let client = Client::new().await;
    let body = json!({"metadata": {"name": "s"}, "stringData": {"a": "plain"}, "data": {"b": "Yg=="}});
    let made = client
        .post("/api/v1/namespaces/default/secrets", &body)
        .await
        .expect(201);
    assert_eq!(made["data"], json!({"a": "cGxhaW4=", "b": "Yg=="}));
    assert_eq!(made["type"], "Opaque");
    assert_eq!(made.get("stringData"), None);
}

#[tokio::test(start_paused = true)]
async fn yaml_bodies_are_read() {
    let client = Client::new().await;
    let body = "metadata:\n  name: y\ndata:\n  k: v\n";
    let made = client
        .raw("POST", CONFIG_MAPS, "application/yaml", body)
        .await
        .expect(201);
    assert_eq!(made["data"], json!({"k": "v"}));
}

#[tokio::test(start_paused = true)]
async fn a_service_account_needs_nothing_but_a_name() {
    let client = Client::new().await;
    let path = "/api/v1/namespaces/default/serviceaccounts";
    let body = json!({"metadata": {"name": "robot"}});
    let made = client.post(path, &body).await.expect(201);
    assert_eq!(made.get("secrets"), None);
}
