//! What others strip from the objects of a living cluster comes back.

use anyhow::ensure;
use capt_api::foreign::marks as foreign_marks;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CLUSTER, CONTROL_PLANE, NETWORK, SECRET};
use super::super::side::{Side, Terraform};
use super::super::story::Story;
use crate::objects::{Kind, PATIENCE, name};

/// What is stripped, one after the other, as Cluster API's own tests of providers do it.
const PARTS: [&str; 3] = ["ownerReferences", "finalizers", "labels"];

/// The type of the Secrets with outputs.
const CONNECTION: &str = "connection.crossplane.io/v1alpha1";

pub(super) async fn stripped(side: &Side) -> anyhow::Result<()> {
    let story = Story::begin(side, "stripped").await?;
    story.make_cluster("stripped", json!({})).await?;
    story.available().await?;
    for part in PARTS {
        let before = graph(&story, part).await?;
        ensure!(!before.is_empty(), "nothing has {part}");
        story.pause(true).await?;
        for (kind, name, value) in &before {
            let nothing = without(value);
            story
                .change(*kind, name, &json!({"metadata": {part: nothing}}))
                .await?;
        }
        story.pause(false).await?;
        until_same(&story, part, &before).await?;
        story.available().await?;
    }
    story.holds(&["vpc", "eks"])?;
    story.end().await
}

/// Nothing, in place of this. The labels by which Terraform finds state are Terraform's own; ours on it go.
fn without(value: &Value) -> Value {
    if value["tfstate"].is_string() {
        json!({foreign_marks::MOVE: null})
    } else {
        Value::Null
    }
}

/// provider-terraform writes a connection Secret once more only when an output changes, and makes it its own only then.
fn is_mended(story: &Story<'_>, object: &Value) -> bool {
    story.side.terraform == Terraform::Ours || object["type"] != CONNECTION
}

/// What everything that moves with a Cluster has of a part of its metadata.
async fn graph(story: &Story<'_>, part: &str) -> anyhow::Result<Vec<(Kind, String, Value)>> {
    let mut found = Vec::new();
    for kind in [CLUSTER, NETWORK, CONTROL_PLANE, APPLY, SECRET] {
        for object in story.list(kind).await? {
            let value = &object["metadata"][part];
            if !value.is_null() && is_mended(story, &object) {
                found.push((kind, name(&object).to_owned(), value.clone()));
            }
        }
    }
    Ok(found)
}

async fn until_same(story: &Story<'_>, part: &str, before: &[(Kind, String, Value)]) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let now = graph(story, part).await?;
        let missing: Vec<_> = before
            .iter()
            .filter(|(kind, name, value)| {
                let same = now.iter().find(|(k, n, _)| k == kind && n == name);
                !same.is_some_and(|(_, _, now)| is_same(now, value))
            })
            .map(|(kind, name, value)| format!("{} {name}: {value}", kind.name()))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        ensure!(
            tokio::time::Instant::now() < deadline,
            "{part} did not come back within {PATIENCE:?}: {missing:?}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

/// Lists may come back in another order.
fn is_same(now: &Value, before: &Value) -> bool {
    match (now, before) {
        (Value::Array(now), Value::Array(before)) => {
            now.len() == before.len() && before.iter().all(|item| now.contains(item))
        }
        _ => now == before,
    }
}
