//! Connection secrets in a world.

use capt_api::foreign::{Workspace, marks::EXTERNAL_CREATE_SUCCEEDED};
use capt_testkit::{Calls, Fault, Times, Verb, World};
use kube::api::DeleteParams;
use serde_json::json;

use super::*;

const ME: &str = "runner";

fn outputs(pairs: Value) -> BTreeMap<String, Output> {
    let pairs: BTreeMap<String, Value> = serde_json::from_value(pairs).unwrap();
    let output = |value| Output {
        value,
        sensitive: true,
    };
    pairs
        .into_iter()
        .map(|(name, value)| (name, output(value)))
        .collect()
}

/// A Workspace that is there.
async fn workspace(world: &World, name: &str) -> WorkspaceView {
    let api: Api<Workspace> = Api::namespaced(world.client(), world.namespace());
    let workspace = serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1",
        "kind": "Workspace",
        "metadata": {"name": name},
        "spec": {
            "forProvider": {"source": "Inline", "module": "# nothing"},
            "writeConnectionSecretToRef": {"name": "facts"},
        },
    }));
    let created = api
        .create(&PostParams::default(), &workspace.unwrap())
        .await
        .unwrap();
    WorkspaceView::from(&created)
}

fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.client(), world.namespace())
}

async fn publish(
    client: &Client,
    view: &WorkspaceView,
    outputs: &BTreeMap<String, Output>,
) -> Result<Published, ConnectionError> {
    let handed = super::publish(client, view, outputs).await?;
    let is_known = handed.version.is_some();
    assert_eq!(is_known, handed.published != Published::NotAsked);
    Ok(handed.published)
}

async fn texts(world: &World) -> Value {
    let data = secrets(world)
        .get("facts")
        .await
        .unwrap()
        .data
        .unwrap_or_default();
    data.into_iter()
        .map(|(key, value)| (key, Value::String(String::from_utf8(value.0).unwrap())))
        .collect()
}

#[tokio::test]
async fn outputs_are_written_as_crossplane_writes_them() {
    let world = World::new().await;
    let mut view = workspace(&world, "vpc").await;
    let client = world.client_for(ME);
    let first =
        outputs(json!({"id": "vpc-1", "subnets": ["a", "b"], "count": 3, "none": null, "obj": {"b": 1}}));
    assert_eq!(publish(&client, &view, &first).await.unwrap(), Published::Written);
    let secret = secrets(&world).get("facts").await.unwrap();
    assert_eq!(secret.type_.as_deref(), Some("connection.crossplane.io/v1alpha1"));
    let owner = &secret.metadata.owner_references.unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str(), &owner.uid),
        ("Workspace", "vpc", &view.uid)
    );
    assert_eq!(
        (owner.controller, owner.block_owner_deletion),
        (Some(true), Some(true))
    );
    assert_eq!(owner.api_version, "tf.m.upbound.io/v1beta1");
    assert_eq!(
        texts(&world).await,
        json!({"id": "vpc-1", "subnets": "[\"a\",\"b\"]", "count": "3", "none": "null", "obj": "{\"b\":1}"})
    );

    // Nothing is read before the first time, and nothing is written when nothing differs, and what went stays.
    assert_eq!(world.recorder().calls().len(), 1);
    let made = (
        EXTERNAL_CREATE_SUCCEEDED.to_owned(),
        "2026-01-01T00:00:00Z".to_owned(),
    );
    view.annotations.extend([made]);
    assert_eq!(
        publish(&client, &view, &first).await.unwrap(),
        Published::Unchanged
    );
    assert_eq!(
        publish(&client, &view, &outputs(json!({"id": "vpc-1"})))
            .await
            .unwrap(),
        Published::Unchanged
    );
    assert_eq!(
        publish(&client, &view, &outputs(json!({"id": "vpc-2"})))
            .await
            .unwrap(),
        Published::Written
    );
    assert_eq!(texts(&world).await["id"], "vpc-2");
    assert_eq!(texts(&world).await["count"], "3");
    assert_eq!(world.recorder().writes().len(), 2);
    world.finish().await;
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_left_alone() {
    let world = World::new().await;
    let (mine, other) = (workspace(&world, "mine").await, workspace(&world, "other").await);
    let client = world.client_for(ME);
    publish(&client, &other, &outputs(json!({"x": "theirs"})))
        .await
        .unwrap();
    let refused = publish(&client, &mine, &outputs(json!({"x": "ours"})))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("belongs to Workspace other"),
        "{refused}"
    );
    assert_eq!(texts(&world).await["x"], "theirs");

    secrets(&world)
        .delete("facts", &DeleteParams::default())
        .await
        .unwrap();
    let plain: Secret =
        serde_json::from_value(json!({"metadata": {"name": "facts"}, "stringData": {"x": "p"}})).unwrap();
    secrets(&world)
        .create(&PostParams::default(), &plain)
        .await
        .unwrap();
    let refused = publish(&client, &mine, &outputs(json!({"x": "ours"})))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("of type Opaque"), "{refused}");
    assert_eq!(texts(&world).await["x"], "p");
    world.finish().await;
}

#[tokio::test]
async fn a_connection_secret_that_lost_its_owner_is_taken() {
    let world = World::new().await;
    let view = workspace(&world, "vpc").await;
    let orphan: Secret = serde_json::from_value(json!({
        "metadata": {"name": "facts", "labels": {"keep": "me"}},
        "type": SECRET_TYPE,
        "stringData": {"id": "vpc-1"},
    }))
    .unwrap();
    secrets(&world)
        .create(&PostParams::default(), &orphan)
        .await
        .unwrap();
    let published = publish(&world.client(), &view, &outputs(json!({"id": "vpc-1"})))
        .await
        .unwrap();
    assert_eq!(published, Published::Written);
    let secret = secrets(&world).get("facts").await.unwrap();
    assert_eq!(secret.metadata.owner_references.unwrap()[0].uid, view.uid);
    assert_eq!(secret.metadata.labels.unwrap()["keep"], "me");
    world.finish().await;
}

#[tokio::test]
async fn races_and_lost_answers_end_well() {
    let world = World::new().await;
    let view = workspace(&world, "vpc").await;
    let client = world.client_for(ME);
    world
        .faults()
        .inject(Calls::by(ME).verb(Verb::Create), Times::Once, Fault::fail(409));
    publish(&client, &view, &outputs(json!({"id": "1"})))
        .await
        .unwrap();
    world
        .faults()
        .inject(Calls::by(ME).verb(Verb::Patch), Times::Once, Fault::fail(409));
    publish(&client, &view, &outputs(json!({"id": "2"})))
        .await
        .unwrap();
    assert_eq!(texts(&world).await["id"], "2");
    world.finish().await;
}

#[tokio::test]
async fn nobody_asked_nothing_is_written() {
    let world = World::new().await;
    let view = WorkspaceView {
        connection_secret_ref: None,
        ..workspace(&world, "vpc").await
    };
    let published = publish(&world.client_for(ME), &view, &outputs(json!({"id": "1"})))
        .await
        .unwrap();
    assert_eq!(published, Published::NotAsked);
    assert!(world.recorder().calls().is_empty());
    world.finish().await;
}
