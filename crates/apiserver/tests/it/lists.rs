//! Lists: selectors, pages, tables, metadata only.

use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, WIDGETS, config_map, widget};

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

async fn ten() -> Client {
    let client = Client::new().await;
    for index in 0..10 {
        let mut body = config_map(&format!("c{index}"), &json!({}));
        body["metadata"]["labels"] = json!({"parity": if index % 2 == 0 { "even" } else { "odd" }});
        client.post(CONFIG_MAPS, &body).await.expect(201);
    }
    client
}

#[tokio::test(start_paused = true)]
async fn pages_come_from_one_snapshot_whatever_is_written_meanwhile() {
    let client = ten().await;
    let first = client.get(&format!("{CONFIG_MAPS}?limit=4")).await.expect(200);
    assert_eq!(names(&first), ["c0", "c1", "c2", "c3"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 6);
    client.delete(&format!("{CONFIG_MAPS}/c5")).await.expect(200);
    client
        .post(CONFIG_MAPS, &config_map("c4a", &json!({})))
        .await
        .expect(201);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = client
        .get(&format!("{CONFIG_MAPS}?limit=4&continue={token}"))
        .await
        .expect(200);
    assert_eq!(names(&second), ["c4", "c5", "c6", "c7"]);
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let token = second["metadata"]["continue"].as_str().unwrap();
    let third = client
        .get(&format!("{CONFIG_MAPS}?limit=4&continue={token}"))
        .await
        .expect(200);
    assert_eq!(names(&third), ["c8", "c9"]);
    assert_eq!(third["metadata"].get("continue"), None);
    client
        .get(&format!("{CONFIG_MAPS}?continue=nonsense"))
        .await
        .refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn a_page_token_outlives_history_only_as_an_expiry() {
    let retention = apiary::store::Retention {
        max_bytes: 2000,
        ..Default::default()
    };
    let client = Client::with_retention(retention).await;
    for index in 0..4 {
        client
            .post(CONFIG_MAPS, &config_map(&format!("c{index}"), &json!({})))
            .await
            .expect(201);
    }
    let first = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.expect(200);
    for index in 0..20 {
        client
            .post(CONFIG_MAPS, &config_map(&format!("d{index}"), &json!({})))
            .await
            .expect(201);
    }
    let token = first["metadata"]["continue"].as_str().unwrap();
    client
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"))
        .await
        .refused(410, "Expired");
}

#[tokio::test(start_paused = true)]
async fn selectors_select() {
    let client = ten().await;
    let list = |query: &'static str| {
        let client = &client;
        async move { client.get(&format!("{CONFIG_MAPS}?{query}")).await }
    };
    assert_eq!(
        names(&list("labelSelector=parity%3Deven").await.expect(200)),
        ["c0", "c2", "c4", "c6", "c8"]
    );
    assert_eq!(
        names(&list("labelSelector=parity%20notin%20(even)").await.expect(200)).len(),
        5
    );
    assert_eq!(names(&list("labelSelector=!parity").await.expect(200)).len(), 0);
    assert_eq!(
        names(&list("fieldSelector=metadata.name%3Dc3").await.expect(200)),
        ["c3"]
    );
    assert_eq!(
        names(&list("fieldSelector=metadata.name!%3Dc3").await.expect(200)).len(),
        9
    );
    list("labelSelector=a%20b").await.refused(400, "BadRequest");
    let message = list("fieldSelector=data.k%3Dx").await.refused(400, "BadRequest");
    assert!(message.contains("is not a known field selector"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn custom_kinds_are_selected_by_their_selectable_fields() {
    let client = Client::new().await;
    client.install_widgets().await;
    for (name, color) in [("a", "red"), ("b", "green")] {
        client
            .post(WIDGETS, &widget(name, &json!({"color": color})))
            .await
            .expect(201);
    }
    let path = format!("{WIDGETS}?fieldSelector=spec.color%3Dgreen");
    assert_eq!(names(&client.get(&path).await.expect(200)), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn resource_versions_of_lists_mean_what_they_say() {
    let client = ten().await;
    let all = client.get("/api/v1/configmaps").await.expect(200);
    assert_eq!(names(&all).len(), 10);
    let revision: u64 = all["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    client.delete(&format!("{CONFIG_MAPS}/c0")).await.expect(200);
    let exact = format!("{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    assert_eq!(names(&client.get(&exact).await.expect(200)).len(), 10);
    let newer = format!("{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=NotOlderThan");
    assert_eq!(names(&client.get(&newer).await.expect(200)).len(), 9);
    let future = format!("{CONFIG_MAPS}?resourceVersion={}", revision + 1000);
    let answer = client.get(&future).await;
    assert_eq!(answer.headers["retry-after"], "1");
    answer.refused(504, "Timeout");
    for query in [
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "sendInitialEvents=true",
        "resourceVersionMatch=Odd&resourceVersion=1",
    ] {
        client
            .get(&format!("{CONFIG_MAPS}?{query}"))
            .await
            .refused(422, "Invalid");
    }
}

#[tokio::test(start_paused = true)]
async fn tables_have_columns_even_without_rows() {
    let client = Client::new().await;
    client.install_widgets().await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let empty = client.get_as(WIDGETS, accept).await.expect(200);
    assert_eq!(empty["kind"], "Table");
    assert_eq!(empty["rows"], json!([]));
    let headings: Vec<&Value> = empty["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["name"])
        .collect();
    assert_eq!(headings, [&json!("Name"), &json!("Color"), &json!("Size")]);
    client
        .post(WIDGETS, &widget("a", &json!({"size": 3})))
        .await
        .expect(201);
    let table = client.get_as(WIDGETS, accept).await.expect(200);
    assert_eq!(table["rows"][0]["cells"], json!(["a", "red", 3]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let bare = client
        .get_as(&format!("{WIDGETS}/a?includeObject=None"), accept)
        .await
        .expect(200);
    assert_eq!(bare["rows"][0]["object"], Value::Null);
    client
        .get_as(&format!("{WIDGETS}?includeObject=Some"), accept)
        .await
        .refused(400, "BadRequest");
    let older = client
        .get_as(WIDGETS, "application/json;as=Table;v=v1beta1;g=meta.k8s.io")
        .await
        .expect(200);
    assert_eq!(older["apiVersion"], "meta.k8s.io/v1beta1");
    assert_eq!(older["rows"][0]["object"]["apiVersion"], "meta.k8s.io/v1beta1");
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_can_be_asked_for() {
    let client = ten().await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = client.get_as(CONFIG_MAPS, accept).await.expect(200);
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!(list["items"][0].get("data"), None);
    client
        .get_as(CONFIG_MAPS, "text/html")
        .await
        .refused(406, "NotAcceptable");
}

#[tokio::test(start_paused = true)]
async fn events_are_one_store_with_two_views() {
    let client = Client::new().await;
    let body = json!({
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Because",
        "message": "text",
        "type": "Normal",
    });
    client
        .post("/api/v1/namespaces/default/events", &body)
        .await
        .expect(201);
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let shown = client.get(&format!("{path}/e")).await.expect(200);
    assert_eq!(
        (&shown["apiVersion"], &shown["note"]),
        (&json!("events.k8s.io/v1"), &json!("text"))
    );
    assert_eq!(shown["regarding"]["name"], "p");
    let selected = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp,type%3DNormal";
    assert_eq!(names(&client.get(selected).await.expect(200)), ["e"]);
    let newer = json!({
        "metadata": {"name": "f"},
        "regarding": {"kind": "Pod", "name": "q"},
        "reason": "Because",
        "note": "more",
        "type": "Warning",
        "action": "Binding",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "x",
        "reportingInstance": "y",
    });
    client.post(path, &newer).await.expect(201);
    let core = client
        .get("/api/v1/namespaces/default/events/f")
        .await
        .expect(200);
    assert_eq!(
        (&core["message"], &core["involvedObject"]["name"]),
        (&json!("more"), &json!("q"))
    );
    client
        .patch(
            &format!("{path}/f"),
            "application/merge-patch+json",
            &json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}),
        )
        .await
        .expect(200);
    let old = tokio::time::Duration::from_secs(2 * 3600);
    tokio::time::sleep(old).await;
    assert_eq!(
        names(&client.get("/api/v1/events").await.expect(200)).len(),
        0,
        "events expire"
    );
}

#[tokio::test(start_paused = true)]
async fn a_token_is_good_for_its_own_list_only() {
    let client = ten().await;
    let first = client.get(&format!("{CONFIG_MAPS}?limit=4")).await.expect(200);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let elsewhere = format!("/api/v1/namespaces/kube-system/configmaps?continue={token}");
    client.get(&elsewhere).await.refused(400, "BadRequest");
    // {"v":"meta.k8s.io/v1","rv":99999999,"start":"default/c0"}
    let future = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OTksInN0YXJ0IjoiZGVmYXVsdC9jMCJ9";
    client
        .get(&format!("{CONFIG_MAPS}?continue={future}"))
        .await
        .refused(400, "BadRequest");
}
