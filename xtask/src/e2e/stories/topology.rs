//! Clusters made from a ClusterClass.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::super::kinds::{
    APPLY, CLUSTER, CLUSTER_CLASS, CONTROL_PLANE, CONTROL_PLANE_TEMPLATE, NETWORK, NETWORK_TEMPLATE,
    WORKSPACE,
};
use super::super::operator;
use super::super::side::{Side, Terraform};
use super::super::story::{NAME, Story, VERSION};
use crate::objects::{Kind, PATIENCE, is, name};

const CLASS: &str = "eks";
/// The templates that the class has later.
const NEXT_CLASS: &str = "eks-red";
/// The version that the Cluster is asked for later.
const NEXT: &str = "v1.34.0";
/// How long nothing may be written once everything has settled.
const STILL: Duration = Duration::from_secs(30);

fn class() -> Value {
    let reference =
        |kind: Kind| json!({"apiVersion": kind.api_version(), "kind": kind.name(), "name": CLASS});
    json!({
        "metadata": {"name": CLASS},
        "spec": {
            "infrastructure": {"templateRef": reference(NETWORK_TEMPLATE)},
            "controlPlane": {"templateRef": reference(CONTROL_PLANE_TEMPLATE)},
        },
    })
}

fn network_template() -> Value {
    json!({
        "metadata": {"name": CLASS},
        "spec": {"template": {"spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}}}},
    })
}

fn control_plane_template() -> Value {
    json!({
        "metadata": {"name": CLASS},
        "spec": {"template": {
            "metadata": {"labels": {"team": "platform"}},
            "spec": {"workspaceTemplateRef": {"name": "eks"}, "endpointCheck": "Required"},
        }},
    })
}

fn cluster() -> Value {
    json!({
        "metadata": {"name": NAME},
        "spec": {"topology": {"classRef": {"name": CLASS}, "version": VERSION}},
    })
}

/// The only object of a kind.
async fn only(story: &Story<'_>, kind: Kind) -> anyhow::Result<Value> {
    let mut found = story.list(kind).await?;
    ensure!(found.len() == 1, "there are {} {}s", found.len(), kind.name());
    found.pop().context("there is none")
}

/// Makes a class and a Cluster of it, and waits until that is available.
pub(super) async fn make_available(story: &Story<'_>) -> anyhow::Result<()> {
    story.create(NETWORK_TEMPLATE, network_template()).await?;
    story
        .create(CONTROL_PLANE_TEMPLATE, control_plane_template())
        .await?;
    story.create(CLUSTER_CLASS, class()).await?;
    story.create(CLUSTER, cluster()).await?;
    story.available().await?;
    story.holds(&["vpc", "eks"])
}

/// Asks the Cluster for the next version, and waits until the control plane has it.
pub(super) async fn bump(story: &Story<'_>) -> anyhow::Result<()> {
    let bump = json!({"spec": {"topology": {"version": NEXT}}});
    let before = workspace_of_eks(story).await?;
    story.change(CLUSTER, NAME, &bump).await?;
    if story.side.terraform == Terraform::Foreign {
        approve_the_upgrade(story, &before).await?;
    }
    let control_plane = only(story, CONTROL_PLANE).await?;
    let reached = story
        .until(
            CONTROL_PLANE,
            name(&control_plane),
            "it has the next version",
            |object| object["spec"]["version"] == NEXT && object["status"]["version"] == NEXT,
        )
        .await;
    if let Err(error) = reached {
        return Err(error.context(story.told().await));
    }
    story
        .until(CLUSTER, NAME, "its topology is reconciled", |cluster| {
            is(cluster, "TopologyReconciled", "True") && is(cluster, "Available", "True")
        })
        .await?;
    story.holds(&["vpc", "eks"])
}

/// The Workspace of the control plane, as it is now.
async fn workspace_of_eks(story: &Story<'_>) -> anyhow::Result<Value> {
    let eks = story.eks().await?;
    let workspace = eks["status"]["workspaceName"].as_str().unwrap_or_default();
    story.until(WORKSPACE, workspace, "it is there", |_| true).await
}

/// Waits until the upgrade is held back, sees that nothing has begun, and approves it.
async fn approve_the_upgrade(story: &Story<'_>, before: &Value) -> anyhow::Result<()> {
    let eks = story.eks().await?;
    let held = story
        .until(APPLY, name(&eks), "the upgrade is held back", |apply| {
            is(apply, "ApprovalNeeded", "True")
                && apply["status"]["pendingRevision"].is_string()
                && apply["status"]["observedGeneration"] == apply["metadata"]["generation"]
        })
        .await;
    if let Err(error) = held {
        return Err(error.context(story.told().await));
    }
    let now = workspace_of_eks(story).await?;
    ensure!(
        now["spec"]["forProvider"] == before["spec"]["forProvider"],
        "the Workspace {} was changed without an approval",
        name(&now)
    );
    let cluster = story.until(CLUSTER, NAME, "it is there", |_| true).await?;
    ensure!(
        is(&cluster, "Available", "True"),
        "a cluster that serves is not available because an upgrade of it waits"
    );
    operator::approve(story, name(&eks)).await
}

pub(super) async fn version_bump(side: &Side) -> anyhow::Result<()> {
    let story = Story::begin(side, "topology").await?;
    make_available(&story).await?;
    let control_plane = only(&story, CONTROL_PLANE).await?;
    ensure!(
        control_plane["metadata"]["labels"]["team"] == "platform",
        "the label of the template did not reach the control plane"
    );
    settled(&story).await?;

    bump(&story).await?;
    let outputs = &story.eks().await?["status"]["outputs"];
    ensure!(outputs["cluster_version"] == "1.34", "Terraform says {outputs}");
    settled(&story).await?;

    // Cluster API looks at an edited template only when it looks at the Cluster next, but at an edited class at once.
    for (kind, mut template) in [
        (NETWORK_TEMPLATE, network_template()),
        (CONTROL_PLANE_TEMPLATE, control_plane_template()),
    ] {
        template["metadata"]["name"] = json!(NEXT_CLASS);
        template["spec"]["template"]["spec"]["additionalTags"] = json!({"colour": "red"});
        story.create(kind, template).await?;
    }
    let other = json!({"templateRef": {"name": NEXT_CLASS}});
    let change = json!({"spec": {"infrastructure": other, "controlPlane": other}});
    story.change(CLUSTER_CLASS, CLASS, &change).await?;
    for kind in [NETWORK, CONTROL_PLANE] {
        let object = only(&story, kind).await?;
        story
            .until(kind, name(&object), "it has the tag of its template", |object| {
                object["spec"]["additionalTags"]["colour"] == "red" && object["status"]["ready"] == true
            })
            .await?;
    }
    settled(&story).await?;
    story.end().await
}

/// Waits until nothing is written any more, and fails if something is written after that.
async fn settled(story: &Story<'_>) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut before = versions(story).await?;
    loop {
        tokio::time::sleep(STILL).await;
        let now = versions(story).await?;
        let changed: Vec<_> = now
            .iter()
            .filter(|(object, version)| before.get(*object) != Some(version))
            .map(|(object, _)| object.clone())
            .chain(before.keys().filter(|object| !now.contains_key(*object)).cloned())
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        ensure!(
            tokio::time::Instant::now() < deadline,
            "objects are still being written: {changed:?}"
        );
        before = now;
    }
}

async fn versions(story: &Story<'_>) -> anyhow::Result<BTreeMap<String, String>> {
    let mut all = story.everything().await?;
    for kind in [CLUSTER_CLASS, NETWORK_TEMPLATE, CONTROL_PLANE_TEMPLATE] {
        let found = story.list(kind).await?.into_iter();
        all.extend(found.map(|object| (kind, object)));
    }
    Ok(all
        .iter()
        .map(|(kind, object)| {
            let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            (format!("{} {}", kind.name(), name(object)), version.to_owned())
        })
        .collect())
}

/// What our schema refuses, Cluster API says on the Cluster.
pub(super) async fn wrong_template(side: &Side) -> anyhow::Result<()> {
    let story = Story::begin(side, "wrong-class").await?;
    let mut both = network_template();
    both["spec"]["template"]["spec"]["existingVpcId"] = json!("vpc-0a1b2c3d");
    let refused = story.create(NETWORK_TEMPLATE, both).await;
    ensure!(
        refused.is_err_and(|error| format!("{error:#}").contains("remove vpcTemplateRef or existingVpcId")),
        "a template with two sources of a VPC was taken"
    );
    // A template may leave out what a patch fills in; without the patch, the object cannot be made.
    let without =
        json!({"metadata": {"name": CLASS}, "spec": {"template": {"spec": {"region": "eu-central-1"}}}});
    story.create(NETWORK_TEMPLATE, without).await?;
    story
        .create(CONTROL_PLANE_TEMPLATE, control_plane_template())
        .await?;
    story.create(CLUSTER_CLASS, class()).await?;
    story.create(CLUSTER, cluster()).await?;
    story
        .until(CLUSTER, NAME, "it says what is missing", |cluster| {
            is(cluster, "TopologyReconciled", "False")
                && cluster["status"].to_string().contains("set vpcTemplateRef")
        })
        .await?;
    ensure!(
        story.list(NETWORK).await?.is_empty(),
        "a CAPTCluster was made from a template that lacks something"
    );
    Ok(())
}
