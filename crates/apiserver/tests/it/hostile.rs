//! No request makes the server panic or forget its manners.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, DEFINITIONS, WIDGETS, config_map, widget, widget_definition};

#[tokio::test(start_paused = true)]
async fn malformed_bodies_get_a_status() {
    let client = Client::new().await;
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"text\"",
        b"{\"metadata\":[]}",
        b"k8s\0\xff\xff\xff",
        b"\xff\xfe",
        b"{\"metadata\":{\"name\":\"a\"}} trailing",
    ];
    for body in bodies {
        let answer = client
            .raw("POST", CONFIG_MAPS, "application/json", body.to_vec())
            .await;
        assert_eq!(answer.code, 400, "{body:?}: {}", answer.text);
        assert_eq!(answer.body["kind"], "Status");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(
        client
            .raw("POST", CONFIG_MAPS, "application/json", deep)
            .await
            .code,
        400
    );
    let huge = vec![b' '; 4 << 20];
    client
        .raw("POST", CONFIG_MAPS, "application/json", huge)
        .await
        .refused(413, "RequestEntityTooLarge");
    client
        .raw("POST", CONFIG_MAPS, "application/cbor", "x")
        .await
        .refused(415, "UnsupportedMediaType");
}

#[tokio::test(start_paused = true)]
async fn odd_paths_and_methods_are_answered() {
    let client = Client::new().await;
    for path in [
        "/nowhere",
        "/api/v2",
        "/apis/a/b/c/d/e/f/g",
        "/api/v1/namespaces/default/configmaps/a/odd/path",
    ] {
        assert_eq!(client.get(path).await.code, 404, "{path}");
    }
    client
        .request(
            "POST",
            &format!("{CONFIG_MAPS}/a"),
            "application/json",
            &json!({}),
        )
        .await
        .refused(405, "MethodNotAllowed");
    client
        .request("PUT", CONFIG_MAPS, "application/json", &json!({}))
        .await
        .refused(405, "MethodNotAllowed");
    client
        .get(&format!("{CONFIG_MAPS}/a/status"))
        .await
        .refused(404, "NotFound");
    client
        .get(&format!("{CONFIG_MAPS}?limit=many"))
        .await
        .refused(400, "BadRequest");
    client
        .get(&format!("{CONFIG_MAPS}/a?resourceVersion=x"))
        .await
        .refused(500, "");
}

/// JSON of any shape, with field names that matter sprinkled in.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z./-]{0,8}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("metadata".to_owned()),
        Just("name".to_owned()),
        Just("labels".to_owned()),
        Just("finalizers".to_owned()),
        Just("ownerReferences".to_owned()),
        Just("managedFields".to_owned()),
        Just("fieldsV1".to_owned()),
        Just("spec".to_owned()),
        Just("status".to_owned()),
        Just("versions".to_owned()),
        Just("names".to_owned()),
        Just("schema".to_owned()),
        Just("openAPIV3Schema".to_owned()),
        Just("properties".to_owned()),
        Just("parts".to_owned()),
        Just("data".to_owned()),
        Just("$patch".to_owned()),
        "[a-z]{1,4}",
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

#[tokio::test(start_paused = true)]
async fn nobody_acts_as_somebody_else_by_accident() {
    let client = Client::new().await;
    let request = http::Request::builder()
        .uri(CONFIG_MAPS)
        .header("impersonate-user", "bob")
        .body(axum::body::Body::empty())
        .unwrap();
    let message = client.send(request).await.refused(403, "Forbidden");
    assert!(message.contains("impersonation"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_misspelt_health_check_is_not_healthy() {
    let client = Client::new().await;
    assert_eq!(client.get("/livez/nope").await.code, 404);
    assert_eq!(client.get("/livez/ping").await.code, 200);
    assert!(
        client
            .get("/readyz?verbose")
            .await
            .text
            .ends_with("readyz check passed\n")
    );
}

/// The object whose subresource a path may point at.
fn sub_of(path: &str) -> &str {
    path.trim_end_matches("/status").trim_end_matches("/finalize")
}

/// Lays arbitrary JSON over a good document, so that deep code is reached.
fn laid_over(mut good: Value, odd: &Value) -> Value {
    apiary_semantics::patch::merge_patch(&mut good, odd);
    good
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_documents_never_panic(odd in prop::collection::vec(any_json(), 1..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let client = Client::new().await;
            client.install_widgets().await;
            client.post(CONFIG_MAPS, &config_map("a", &json!({}))).await.expect(201);
            client.post(WIDGETS, &widget("a", &json!({"size": 1}))).await.expect(201);
            client.post("/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await.expect(201);
            for odd in &odd {
                let targets = [
                    (CONFIG_MAPS, config_map("b", &json!({"k": "v"}))),
                    (WIDGETS, widget("b", &json!({"size": 1}))),
                    (DEFINITIONS, widget_definition()),
                    ("/api/v1/namespaces", json!({"metadata": {"name": "m"}})),
                    ("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})),
                    ("/apis/events.k8s.io/v1/namespaces/default/events", json!({"metadata": {"name": "e"}})),
                ];
                for (path, good) in targets {
                    for body in [odd.clone(), laid_over(good, odd)] {
                        let answer = client.post(path, &body).await;
                        prop_assert!(answer.code != 500 || answer.body["reason"].is_null(), "{path} {body}: {}", answer.text);
                    }
                }
                for (path, sub) in [(CONFIG_MAPS, "a"), (WIDGETS, "a"), (WIDGETS, "a/status"), ("/api/v1/namespaces", "n"), ("/api/v1/namespaces", "n/finalize")] {
                    let path = format!("{path}/{sub}");
                    let put = client.put(&path, odd).await;
                    prop_assert!(put.code != 500 || put.body["reason"].is_null(), "PUT {path} {odd}: {}", put.text);
                    for media_type in ["application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json"] {
                        let answer = client.patch(&path, media_type, odd).await;
                        prop_assert!(answer.code != 500 || answer.body["reason"].is_null(), "{media_type} {path} {odd}: {}", answer.text);
                    }
                    let answer = client.patch(&format!("{path}?fieldManager=x&force=true"), "application/apply-patch+yaml", odd).await;
                    prop_assert!(!answer.text.contains("defect"), "apply {path} {odd}: {}", answer.text);
                    let mut options = if odd.is_object() { odd.clone() } else { json!({}) };
                    options["dryRun"] = json!(["All"]);
                    let answer = client.request("DELETE", &path, "application/json", &options).await;
                    prop_assert!(!answer.text.contains("defect"), "delete {path} {odd}: {}", answer.text);
                    client.get(sub_of(&path)).await.expect(200);
                }
            }
            Ok(())
        })?;
    }
}
