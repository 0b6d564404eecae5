//! What becomes of owners, dependents and definitions when things go in unusual order.

use apiary::{ApiServer, Options};
use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::client::{
    CONFIG_MAPS, Client, DEFINITIONS, MERGE, WIDGETS, config_map, widget, widget_definition,
};

const NAMESPACES: &str = "/api/v1/namespaces";

fn reference(owner: &Value, blocks: bool) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocks,
    })
}

fn owned(name: &str, owners: &[Value]) -> Value {
    let mut body = config_map(name, &json!({}));
    body["metadata"]["ownerReferences"] = json!(owners);
    body
}

async fn make(client: &Client, name: &str, owners: &[Value]) -> Value {
    client.post(CONFIG_MAPS, &owned(name, owners)).await.expect(201)
}

async fn set_owners(client: &Client, name: &str, owners: &Value) {
    let change = json!({"metadata": {"ownerReferences": owners}});
    client
        .patch(&format!("{CONFIG_MAPS}/{name}"), MERGE, &change)
        .await
        .expect(200);
}

async fn delete_in_foreground(client: &Client, name: &str) {
    client
        .delete(&format!("{CONFIG_MAPS}/{name}?propagationPolicy=Foreground"))
        .await
        .expect(200);
    client.settle().await;
}

/// The code that a read of the object answers with.
async fn code(client: &Client, path: &str) -> u16 {
    client.get(path).await.code
}

async fn exists(client: &Client, name: &str) -> bool {
    code(client, &format!("{CONFIG_MAPS}/{name}")).await == 200
}

async fn serve_widgets(client: &Client, served: bool) {
    let mut versions = widget_definition()["spec"]["versions"].clone();
    versions[0]["served"] = json!(served);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let change = json!({"spec": {"versions": versions}});
    client.patch(&path, MERGE, &change).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_leaves_what_another_owner_keeps() {
    let client = Client::new().await;
    let going = make(&client, "going", &[]).await;
    let staying = make(&client, "staying", &[]).await;
    make(&client, "own", &[reference(&going, true)]).await;
    make(
        &client,
        "shared",
        &[reference(&going, true), reference(&staying, true)],
    )
    .await;
    delete_in_foreground(&client, "going").await;
    assert!(!exists(&client, "going").await);
    assert!(!exists(&client, "own").await);
    let shared = client.get(&format!("{CONFIG_MAPS}/shared")).await.expect(200);
    assert_eq!(
        shared["metadata"]["ownerReferences"],
        json!([reference(&staying, true)])
    );
    assert_eq!(shared["metadata"].get("deletionTimestamp"), None);
}

#[tokio::test(start_paused = true)]
async fn what_all_owners_wait_for_goes() {
    let client = Client::new().await;
    let mut owners = Vec::new();
    for name in ["one", "two"] {
        let mut body = config_map(name, &json!({}));
        body["metadata"]["finalizers"] = json!(["example.com/hold"]);
        let made = client.post(CONFIG_MAPS, &body).await.expect(201);
        owners.push(reference(&made, true));
    }
    make(&client, "shared", &owners).await;
    // Both are marked before the janitor gets a turn.
    for name in ["one", "two"] {
        client
            .delete(&format!("{CONFIG_MAPS}/{name}?propagationPolicy=Foreground"))
            .await
            .expect(200);
    }
    client.settle().await;
    assert!(!exists(&client, "shared").await);
    let one = client.get(&format!("{CONFIG_MAPS}/one")).await.expect(200);
    assert_eq!(one["metadata"]["finalizers"], json!(["example.com/hold"]));
}

#[tokio::test(start_paused = true)]
async fn owners_of_each_other_do_not_wait_for_each_other() {
    let client = Client::new().await;
    let one = make(&client, "one", &[]).await;
    let two = make(&client, "two", &[reference(&one, true)]).await;
    set_owners(&client, "one", &json!([reference(&two, true)])).await;
    delete_in_foreground(&client, "one").await;
    assert!(!exists(&client, "one").await);
    assert!(!exists(&client, "two").await);
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_goes_on_when_nobody_blocks_it_any_more() {
    let client = Client::new().await;
    for owners_later in [json!(null), json!("unblocked")] {
        let owner = make(&client, "owner", &[]).await;
        let mut held = owned("held", &[reference(&owner, true)]);
        held["metadata"]["finalizers"] = json!(["example.com/hold"]);
        client.post(CONFIG_MAPS, &held).await.expect(201);
        delete_in_foreground(&client, "owner").await;
        assert!(exists(&client, "owner").await);
        let later = if owners_later.is_null() {
            Value::Null
        } else {
            json!([reference(&owner, false)])
        };
        set_owners(&client, "held", &later).await;
        client.settle().await;
        assert!(!exists(&client, "owner").await, "{owners_later}");
        assert!(exists(&client, "held").await);
        let free = json!({"metadata": {"finalizers": null}});
        client
            .patch(&format!("{CONFIG_MAPS}/held"), MERGE, &free)
            .await
            .expect(200);
        client.settle().await;
        assert!(!exists(&client, "held").await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_wide_object_is_never_the_garbage_of_a_namespaced_one() {
    let client = Client::new().await;
    let owner = make(&client, "owner", &[]).await;
    let mut body = json!({"metadata": {"name": "n"}});
    body["metadata"]["ownerReferences"] = json!([reference(&owner, true)]);
    client.post(NAMESPACES, &body).await.expect(201);
    client.settle().await;
    let path = format!("{NAMESPACES}/n");
    let kept = client.get(&path).await.expect(200);
    assert_eq!(kept["status"]["phase"], "Active");
    delete_in_foreground(&client, "owner").await;
    assert!(!exists(&client, "owner").await, "nor does it hold it");
    assert_eq!(client.get(&path).await.expect(200)["status"]["phase"], "Active");
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_serves_nothing_can_go_and_takes_its_objects_with_it() {
    let client = Client::new().await;
    client.install_widgets().await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    serve_widgets(&client, false).await;
    assert_eq!(code(&client, WIDGETS).await, 404);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    client.delete(&path).await.expect(200);
    client.settle().await;
    assert_eq!(code(&client, &path).await, 404);
    client.install_widgets().await;
    assert_eq!(client.get(WIDGETS).await.expect(200)["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_objects_that_are_not_served_can_go() {
    let client = Client::new().await;
    client.install_widgets().await;
    client
        .post(NAMESPACES, &json!({"metadata": {"name": "n"}}))
        .await
        .expect(201);
    let inside = "/apis/example.com/v1/namespaces/n/widgets";
    for (name, finalizers) in [("free", json!([])), ("held", json!(["example.com/hold"]))] {
        let mut body = widget(name, &json!({}));
        body["metadata"]["finalizers"] = finalizers;
        client.post(inside, &body).await.expect(201);
    }
    serve_widgets(&client, false).await;
    client.delete(&format!("{NAMESPACES}/n")).await.expect(200);
    client.settle().await;
    assert_eq!(
        code(&client, &format!("{NAMESPACES}/n")).await,
        200,
        "one object is held"
    );
    serve_widgets(&client, true).await;
    assert_eq!(code(&client, &format!("{inside}/free")).await, 404);
    let free = json!({"metadata": {"finalizers": null}});
    client
        .patch(&format!("{inside}/held"), MERGE, &free)
        .await
        .expect(200);
    client.settle().await;
    assert_eq!(code(&client, &format!("{NAMESPACES}/n")).await, 404);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_definition_reaches_the_dependents_of_its_objects() {
    for served in [true, false] {
        let client = Client::new().await;
        client.install_widgets().await;
        let owner = client.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
        make(&client, "child", &[reference(&owner, false)]).await;
        serve_widgets(&client, served).await;
        client
            .delete(&format!("{DEFINITIONS}/widgets.example.com"))
            .await
            .expect(200);
        client.settle().await;
        assert!(!exists(&client, "child").await, "served: {served}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_janitor_writes_stays_in_the_stored_version() {
    let client = Client::new().await;
    // The first version in order is not the stored one, and knows less.
    let mut definition = widget_definition();
    let mut poorer = definition["spec"]["versions"][0].clone();
    poorer["name"] = json!("v2");
    poorer["storage"] = json!(false);
    let properties = &mut poorer["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    properties.as_object_mut().unwrap().remove("free");
    let versions = definition["spec"]["versions"].as_array_mut().unwrap();
    versions[0]["name"] = json!("v3");
    versions.push(poorer);
    client.post(DEFINITIONS, &definition).await.expect(201);
    let owner = make(&client, "owner", &[]).await;
    let mut child = widget("child", &json!({"free": {"a": 1}}));
    child["apiVersion"] = json!("example.com/v3");
    child["metadata"]["ownerReferences"] = json!([reference(&owner, false)]);
    let path = "/apis/example.com/v3/namespaces/default/widgets";
    client.post(path, &child).await.expect(201);
    client
        .delete(&format!("{CONFIG_MAPS}/owner?propagationPolicy=Orphan"))
        .await
        .expect(200);
    client.settle().await;
    let child = client.get(&format!("{path}/child")).await.expect(200);
    assert_eq!(child["metadata"].get("ownerReferences"), None);
    assert_eq!(child["spec"]["free"], json!({"a": 1}));
    for manager in child["metadata"]["managedFields"].as_array().unwrap() {
        assert_eq!(manager["apiVersion"], "example.com/v3");
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_is_judged_once_its_kind_is_known() {
    let client = Client::new().await;
    let owner = json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "never", "uid": "6f1c7f0e-0000-4000-8000-000000000000"},
    });
    make(&client, "child", &[reference(&owner, false)]).await;
    client.settle().await;
    assert!(exists(&client, "child").await);
    client.install_widgets().await;
    client.settle().await;
    assert!(!exists(&client, "child").await);
}

#[tokio::test(start_paused = true)]
async fn a_refused_name_is_given_once_it_is_free() {
    let client = Client::new().await;
    client.install_widgets().await;
    let mut second = widget_definition();
    second["metadata"]["name"] = json!("gadgets.example.com");
    second["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget", "listKind": "GadgetList"});
    client.post(DEFINITIONS, &second).await.expect(201);
    client.settle().await;
    let gadgets = "/apis/example.com/v1/namespaces/default/gadgets";
    assert_eq!(code(&client, gadgets).await, 404);
    client
        .delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await
        .expect(200);
    client.settle().await;
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let definition = client.get(&path).await.expect(200);
    for condition in definition["status"]["conditions"].as_array().unwrap() {
        assert_eq!(condition["status"], "True", "{condition}");
    }
    assert_eq!(definition["metadata"]["generation"], 1);
    assert_eq!(code(&client, gadgets).await, 200);
}

#[tokio::test(start_paused = true)]
async fn stopping_does_not_wait_for_the_work_that_is_left() {
    let client = Client::new().await;
    client
        .post(NAMESPACES, &json!({"metadata": {"name": "n"}}))
        .await
        .expect(201);
    let inside = format!("{NAMESPACES}/n/configmaps");
    client
        .post(&inside, &config_map("left", &json!({})))
        .await
        .expect(201);
    client.delete(&format!("{NAMESPACES}/n")).await.expect(200);
    let options = Options {
        image: Some(client.server.image()),
        ..Options::default()
    };
    let second = ApiServer::open(options).await.unwrap();
    second.shutdown().await;
    let request = Request::builder()
        .uri(format!("{inside}/left"))
        .body(Body::empty())
        .unwrap();
    let answer = second.router().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
}
