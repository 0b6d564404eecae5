//! Watches.

use std::time::Duration;

use apiary::store::Retention;
use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, MERGE, WIDGETS, config_map, widget};

#[tokio::test(start_paused = true)]
async fn a_watch_starts_with_what_is_there_and_goes_on() {
    let client = Client::new().await;
    client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    assert_eq!(watch.next_short().await, "ADDED a");
    client
        .post(CONFIG_MAPS, &config_map("b", &json!({})))
        .await
        .expect(201);
    client
        .patch(&format!("{CONFIG_MAPS}/a"), MERGE, &json!({"data": {"k": "v"}}))
        .await
        .expect(200);
    client.delete(&format!("{CONFIG_MAPS}/b")).await.expect(200);
    assert_eq!(watch.next_short().await, "ADDED b");
    let modified = watch.next().await.unwrap();
    assert_eq!(
        (&modified["type"], &modified["object"]["data"]["k"]),
        (&json!("MODIFIED"), &json!("v"))
    );
    let deleted = watch.next().await.unwrap();
    assert_eq!(deleted["type"], "DELETED");
    let revision = |event: &Value| -> u64 {
        event["object"]["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!(
        revision(&deleted) > revision(&modified),
        "a deletion has a revision of its own"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_revision_misses_nothing_after_it() {
    let client = Client::new().await;
    let a = client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    client
        .post(CONFIG_MAPS, &config_map("b", &json!({})))
        .await
        .expect(201);
    let from = a["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}"))
        .await;
    assert_eq!(watch.next_short().await, "ADDED b");
    // A revision of another life of the server: the client must list again.
    let mut lost = client
        .watch("/api/v1/configmaps?watch=1&resourceVersion=99999")
        .await;
    assert_eq!(lost.next().await.unwrap()["object"]["code"], 410);
    assert!(lost.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn watch_list_ends_the_initial_events_with_a_marked_bookmark() {
    let client = Client::new().await;
    client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(watch.next_short().await, "ADDED a");
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["kind"], "ConfigMap");
    assert_eq!(
        bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    client
        .post(CONFIG_MAPS, &config_map("b", &json!({})))
        .await
        .expect(201);
    assert_eq!(watch.next_short().await, "ADDED b");
    let refused = format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=true");
    client.get(&refused).await.refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_tell_an_idle_watch_where_it_is() {
    let client = Client::new().await;
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=150");
    let mut watch = client.watch(&path).await;
    // A write elsewhere moves the revision on.
    client
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "n"}}))
        .await
        .expect(201);
    let mut revisions = Vec::new();
    while let Some(event) = watch.next().await {
        assert_eq!(event["type"], "BOOKMARK");
        let text = event["object"]["metadata"]["resourceVersion"].as_str().unwrap();
        revisions.push(text.parse::<u64>().unwrap());
    }
    assert!(revisions.len() >= 2, "{revisions:?}");
    assert!(revisions.is_sorted());
    assert_eq!(*revisions.last().unwrap(), client.server.revision());
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_after_its_timeout() {
    let client = Client::new().await;
    let started = tokio::time::Instant::now();
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=5"))
        .await;
    assert!(watch.next().await.is_none());
    assert_eq!(started.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_old_revisions_is_told_to_start_anew() {
    let retention = Retention {
        max_bytes: 3000,
        ..Retention::default()
    };
    let client = Client::with_retention(retention).await;
    let first = client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let from = first["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    // This watcher is slow: it reads nothing while much is written.
    let mut slow = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}"))
        .await;
    for index in 0..100 {
        client
            .post(CONFIG_MAPS, &config_map(&format!("b{index}"), &json!({})))
            .await
            .expect(201);
    }
    let error = slow.next().await.unwrap();
    assert_eq!(
        (&error["type"], &error["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert!(slow.next().await.is_none());
    // kube-rs lists again only when it is told inside the stream.
    let mut late = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}"))
        .await;
    let error = late.next().await.unwrap();
    assert_eq!(
        (&error["type"], &error["object"]["reason"]),
        (&json!("ERROR"), &json!("Expired"))
    );
    assert!(late.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_writes_reaches_a_watcher_in_order_and_whole() {
    let client = Client::new().await;
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    for index in 0..1500 {
        client
            .post(CONFIG_MAPS, &config_map(&format!("b{index:04}"), &json!({})))
            .await
            .expect(201);
    }
    for index in 0..1500 {
        assert_eq!(watch.next_short().await, format!("ADDED b{index:04}"));
    }
}

#[tokio::test(start_paused = true)]
async fn objects_come_and_go_as_they_start_and_stop_matching() {
    let client = Client::new().await;
    client
        .post(CONFIG_MAPS, &config_map("a", &json!({})))
        .await
        .expect(201);
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&labelSelector=on%3Dyes"))
        .await;
    let label = |value: &str| json!({"metadata": {"labels": {"on": value}}});
    let path = format!("{CONFIG_MAPS}/a");
    client.patch(&path, MERGE, &label("yes")).await.expect(200);
    client
        .patch(&path, MERGE, &json!({"data": {"k": "v"}}))
        .await
        .expect(200);
    let off = client.patch(&path, MERGE, &label("no")).await.expect(200);
    client.delete(&path).await.expect(200);
    client
        .post(CONFIG_MAPS, &config_map("z", &json!({})))
        .await
        .expect(201);
    assert_eq!(watch.next_short().await, "ADDED a");
    assert_eq!(watch.next_short().await, "MODIFIED a");
    let gone = watch.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(
        gone["object"]["metadata"]["labels"]["on"], "yes",
        "the last version that matched"
    );
    assert_eq!(
        gone["object"]["metadata"]["resourceVersion"],
        off["metadata"]["resourceVersion"]
    );
}

#[tokio::test(start_paused = true)]
async fn tables_and_metadata_can_be_watched() {
    let client = Client::new().await;
    client.install_widgets().await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    client.post(WIDGETS, &widget("b", &json!({}))).await.expect(201);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut watch = client.watch_as(&format!("{WIDGETS}?watch=1"), table).await;
    let first = watch.next().await.unwrap();
    assert_eq!(first["object"]["kind"], "Table");
    assert!(first["object"]["columnDefinitions"].is_array());
    assert_eq!(first["object"]["rows"][0]["cells"][0], "a");
    let second = watch.next().await.unwrap();
    assert!(
        second["object"]["columnDefinitions"].is_null(),
        "columns are sent once"
    );
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let mut watch = client.watch_as(&format!("{WIDGETS}?watch=1"), metadata).await;
    let first = watch.next().await.unwrap();
    assert_eq!(first["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(first["object"].get("spec"), None);
}

#[tokio::test(start_paused = true)]
async fn a_changed_definition_ends_the_watches_of_its_kind() {
    let client = Client::new().await;
    client.install_widgets().await;
    let mut watch = client.watch(&format!("{WIDGETS}?watch=1")).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    client.delete(path).await.expect(200);
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_watches() {
    let client = Client::new().await;
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    tokio::time::timeout(Duration::from_secs(1), client.server.shutdown())
        .await
        .unwrap();
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_steady_flow_of_events_does_not_keep_a_watch_open() {
    let client = Client::new().await;
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=5"))
        .await;
    let mut seen = 0;
    for index in 0..10 {
        client
            .post(CONFIG_MAPS, &config_map(&format!("c{index}"), &json!({})))
            .await
            .expect(201);
        tokio::time::advance(Duration::from_secs(1)).await;
        if watch.next().await.is_none() {
            break;
        }
        seen += 1;
    }
    assert!(seen < 6, "{seen}");
    // The longest possible wish is granted within reason.
    client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&timeoutSeconds=9223372036854775807"
        ))
        .await;
}
