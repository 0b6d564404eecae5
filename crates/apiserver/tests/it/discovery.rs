//! Discovery, health, reviews.

use serde_json::{Value, json};

use crate::client::Client;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

#[tokio::test(start_paused = true)]
async fn aggregated_discovery_echoes_its_media_type() {
    let client = Client::new().await;
    client.install_widgets().await;
    let answer = client.get_as("/apis", AGGREGATED).await;
    let media_type = answer.headers["content-type"].to_str().unwrap().to_owned();
    assert_eq!(
        media_type,
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    let list = answer.expect(200);
    let group = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["metadata"]["name"] == "example.com")
        .unwrap();
    let widgets = &group["versions"][0]["resources"][0];
    assert_eq!(widgets["resource"], "widgets");
    assert_eq!(widgets["shortNames"], json!(["wd"]));
    assert_eq!(widgets["categories"], json!(["all"]));
    assert_eq!(widgets["subresources"][0]["subresource"], "status");
}

#[tokio::test(start_paused = true)]
async fn older_discovery_works_too() {
    let client = Client::new().await;
    client.install_widgets().await;
    assert_eq!(client.get("/api").await.expect(200)["versions"], json!(["v1"]));
    let groups = client.get("/apis").await.expect(200);
    assert!(
        groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .any(|group| group["name"] == "example.com")
    );
    let list = client.get("/apis/example.com/v1").await.expect(200);
    let names: Vec<&Value> = list["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["name"])
        .collect();
    assert_eq!(names, [&json!("widgets"), &json!("widgets/status")]);
    assert_eq!(
        client.get("/apis/example.com").await.expect(200)["preferredVersion"]["version"],
        "v1"
    );
    assert_eq!(client.get("/apis/nowhere.io").await.code, 404);
    assert_eq!(client.get("/apis/nowhere.io/v1/things").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn the_version_is_one_that_current_clients_accept() {
    let client = Client::new().await;
    let version = client.get("/version").await.expect(200);
    assert_eq!(
        (&version["major"], &version["minor"]),
        (&json!("1"), &json!("36"))
    );
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(client.get(path).await.text, "ok");
    }
    assert_eq!(client.get("/openapi/v2").await.code, 406);
}

#[tokio::test(start_paused = true)]
async fn reviews_are_answered_and_not_stored() {
    let client = Client::new().await;
    let before = client.server.revision();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let body = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    assert_eq!(
        client.post(path, &body).await.expect(201)["status"]["allowed"],
        true
    );
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let who = client.post(path, &json!({})).await.expect(201);
    assert_eq!(who["status"]["userInfo"]["username"], "system:admin");
    assert_eq!(client.server.revision(), before);
    client.get(path).await.refused(405, "MethodNotAllowed");
}

#[tokio::test(start_paused = true)]
async fn metrics_count_requests_and_objects() {
    let client = Client::new().await;
    client.get("/api/v1/namespaces").await.expect(200);
    let text = client.get("/metrics").await.text;
    assert!(
        text.contains(r#"apiserver_request_total{verb="list",resource="namespaces",code="200"} 1"#),
        "{text}"
    );
    assert!(
        text.contains(r#"apiserver_storage_objects{resource="namespaces"} 4"#),
        "{text}"
    );
}
