//! Built-in kinds: what a typed server makes of their documents.

use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, config_map};

const SERVICE_ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const NEW_EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

#[tokio::test(start_paused = true)]
async fn items_of_a_list_do_not_say_their_kind() {
    let client = Client::new().await;
    let made = client
        .post(CONFIG_MAPS, &config_map("a", &json!({"kind": "data"})))
        .await
        .expect(201);
    let list = client.get(CONFIG_MAPS).await.expect(200);
    let mut expected = made;
    let fields = expected.as_object_mut().unwrap();
    fields.retain(|name, _| name != "kind" && name != "apiVersion");
    assert_eq!(list["items"], json!([expected]));
}

#[tokio::test(start_paused = true)]
async fn service_accounts_keep_only_the_names_of_secrets() {
    let client = Client::new().await;
    let bare = client
        .post(SERVICE_ACCOUNTS, &json!({"metadata": {"name": "bare"}}))
        .await
        .expect(201);
    assert_eq!(bare.get("secrets"), None);
    let body = json!({"metadata": {"name": "a"}, "secrets": [{"name": "s", "kind": "Secret"}]});
    let made = client.post(SERVICE_ACCOUNTS, &body).await.expect(201);
    assert_eq!(made["secrets"], json!([{"name": "s"}]));
}

#[tokio::test(start_paused = true)]
async fn bytes_and_times_must_be_readable() {
    let client = Client::new().await;
    let secret = |data: &str| json!({"metadata": {"name": "s"}, "data": {"a": data}});
    client
        .post(SECRETS, &secret("%"))
        .await
        .refused(400, "BadRequest");
    let made = client.post(SECRETS, &secret("eB==\n")).await.expect(201);
    assert_eq!(made["data"]["a"], "eA==");
    let lease = |time: &str| json!({"metadata": {"name": "l"}, "spec": {"renewTime": time}});
    client
        .post(LEASES, &lease("2026-01-01T00:00:00Z"))
        .await
        .refused(400, "BadRequest");
    let made = client
        .post(LEASES, &lease("2026-01-01T01:00:00.000001+01:00"))
        .await
        .expect(201);
    assert_eq!(made["spec"]["renewTime"], "2026-01-01T00:00:00.000001Z");
    let owned = &made["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(*owned, json!({"f:spec": {"f:renewTime": {}}}));
}

#[tokio::test(start_paused = true)]
async fn events_show_their_zeros_in_each_form() {
    let client = Client::new().await;
    let body = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"}, "count": 0});
    let old = client.post(EVENTS, &body).await.expect(201);
    assert_eq!(old.get("count"), None);
    assert_eq!(old["source"], json!({}));
    assert_eq!(old.get("eventTime"), Some(&Value::Null));
    assert_eq!(old["reportingComponent"], "");
    let new = client.get(&format!("{NEW_EVENTS}/e")).await.expect(200);
    assert_eq!(new["deprecatedSource"], json!({}));
    assert_eq!(new.get("reportingController"), None);
}
