//! PUT and `/status`.

use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, WIDGETS, config_map, widget};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

#[tokio::test(start_paused = true)]
async fn a_no_op_write_changes_nothing_at_all() {
    let client = Client::new().await;
    client.install_widgets().await;
    let made = client
        .post(WIDGETS, &widget("a", &json!({"size": 1})))
        .await
        .expect(201);
    let revision = client.server.revision();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let path = format!("{WIDGETS}/a");
    assert_eq!(client.put(&path, &made).await.expect(200), made);
    assert_eq!(
        client.put(&format!("{path}/status"), &made).await.expect(200),
        made
    );
    let patch = json!({"spec": {"size": 1}});
    let patched = client
        .patch(&path, "application/merge-patch+json", &patch)
        .await
        .expect(200);
    assert_eq!(patched, made);
    assert_eq!(client.server.revision(), revision);
}

#[tokio::test(start_paused = true)]
async fn generation_counts_changes_of_substance_only() {
    let client = Client::new().await;
    client.install_widgets().await;
    let path = format!("{WIDGETS}/a");
    let mut object = client
        .post(WIDGETS, &widget("a", &json!({"size": 1})))
        .await
        .expect(201);
    object["metadata"]["labels"] = json!({"x": "y"});
    let mut object = client.put(&path, &object).await.expect(200);
    assert_eq!(object["metadata"]["generation"], 1);
    object["spec"]["size"] = json!(2);
    let mut object = client.put(&path, &object).await.expect(200);
    assert_eq!(object["metadata"]["generation"], 2);
    object["status"] = json!({"phase": "Up"});
    object["spec"]["size"] = json!(9);
    object["metadata"]["labels"] = json!({});
    let object = client.put(&format!("{path}/status"), &object).await.expect(200);
    assert_eq!(object["metadata"]["generation"], 2);
    assert_eq!(object["spec"]["size"], 2, "spec is ignored on /status");
    assert_eq!(
        object["metadata"]["labels"]["x"], "y",
        "metadata is ignored on /status"
    );
    assert_eq!(object["status"]["phase"], "Up");
    let mut object = object;
    object["status"] = json!({"phase": "Down"});
    let object = client.put(&path, &object).await.expect(200);
    assert_eq!(
        object["status"]["phase"], "Up",
        "status is ignored on the object itself"
    );
}

#[tokio::test(start_paused = true)]
async fn updates_need_the_current_version() {
    let client = Client::new().await;
    client.install_widgets().await;
    let path = format!("{WIDGETS}/a");
    let made = client
        .post(WIDGETS, &widget("a", &json!({"size": 1})))
        .await
        .expect(201);
    let mut blind = widget("a", &json!({"size": 2}));
    let message = client.put(&path, &blind).await.refused(422, "Invalid");
    assert!(
        message.contains("metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
        "{message}"
    );
    blind["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    client.put(&path, &blind).await.expect(200);
    let message = client.put(&path, &blind).await.refused(409, "Conflict");
    assert!(message.contains("the object has been modified"), "{message}");
    client
        .put(&format!("{WIDGETS}/missing"), &widget("missing", &json!({})))
        .await
        .refused(404, "NotFound");
    client
        .put(&path, &widget("b", &json!({})))
        .await
        .refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_may_be_replaced_blindly_but_their_identity_stays() {
    let client = Client::new().await;
    let made = client
        .post(CONFIG_MAPS, &config_map("a", &json!({"k": "1"})))
        .await
        .expect(201);
    let path = format!("{CONFIG_MAPS}/a");
    let replaced = client
        .put(&path, &config_map("a", &json!({"k": "2"})))
        .await
        .expect(200);
    for field in ["uid", "creationTimestamp", "name", "namespace"] {
        assert_eq!(replaced["metadata"][field], made["metadata"][field], "{field}");
    }
    let mut other = config_map("a", &json!({}));
    other["metadata"]["uid"] = json!("somebody-else");
    client.put(&path, &other).await.refused(409, "Conflict");
}

#[tokio::test(start_paused = true)]
async fn of_lease_holders_racing_with_put_exactly_one_wins() {
    let client = Client::new().await;
    let lease = |holder: &str| json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": holder}});
    let made = client.post(LEASES, &lease("nobody")).await.expect(201);
    let path = format!("{LEASES}/l");
    let mut codes = Vec::new();
    for holder in ["a", "b", "c"] {
        let mut wish = lease(holder);
        wish["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
        codes.push(client.put(&path, &wish).await.code);
    }
    assert_eq!(codes, [200, 409, 409]);
    assert_eq!(client.get(&path).await.expect(200)["spec"]["holderIdentity"], "a");
}

#[tokio::test(start_paused = true)]
async fn transition_rules_see_the_old_object_and_unchanged_faults_pass() {
    let client = Client::new().await;
    client.install_widgets().await;
    let path = format!("{WIDGETS}/a");
    let mut object = client
        .post(WIDGETS, &widget("a", &json!({"size": 9})))
        .await
        .expect(201);
    object["spec"] = json!({});
    let message = client.put(&path, &object).await.refused(422, "Invalid");
    assert!(message.contains("size may not be removed"), "{message}");

    // Tighten the schema: what is stored is now wrong, but may stay as it is.
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let tighten = json!([{
        "op": "replace",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum",
        "value": 5,
    }]);
    client
        .patch(definition, "application/json-patch+json", &tighten)
        .await
        .expect(200);
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    client
        .patch(&path, "application/merge-patch+json", &label)
        .await
        .expect(200);
    let worse = json!({"spec": {"size": 8}});
    let message = client
        .patch(&path, "application/merge-patch+json", &worse)
        .await
        .refused(422, "Invalid");
    assert!(message.contains("spec.size"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn immutable_config_maps_and_secrets_stay_as_they_are() {
    let client = Client::new().await;
    let mut body = config_map("a", &json!({"k": "1"}));
    body["immutable"] = json!(true);
    client.post(CONFIG_MAPS, &body).await.expect(201);
    body["data"] = json!({"k": "2"});
    let message = client
        .put(&format!("{CONFIG_MAPS}/a"), &body)
        .await
        .refused(422, "Invalid");
    assert!(
        message.contains("data: Forbidden: field is immutable when `immutable` is set"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn new_defaults_show_on_old_objects() {
    let client = Client::new().await;
    client.install_widgets().await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let add = json!([{
        "op": "add",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/shape",
        "value": {"type": "string", "default": "round"},
    }]);
    client
        .patch(definition, "application/json-patch+json", &add)
        .await
        .expect(200);
    let shown = client.get(&format!("{WIDGETS}/a")).await.expect(200);
    assert_eq!(shown["spec"]["shape"], "round");
    assert_eq!(
        client.get(WIDGETS).await.expect(200)["items"][0]["spec"]["shape"],
        "round"
    );
    assert_eq!(shown["status"], Value::Null);
}
