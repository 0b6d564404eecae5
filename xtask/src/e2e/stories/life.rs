//! From its making to its end.

use anyhow::{Context, ensure};
use capt_api::foreign::marks as foreign_marks;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CLUSTER, CONTROL_PLANE, NETWORK, SECRET, WORKSPACE};
use super::super::side::Side;
use super::super::story::{NAME, Story, VERSION, belongs_to_cluster};
use crate::objects::{is, name};

/// Cluster API finds the kinds by the labels of their CRDs, and takes the objects for the Cluster's.
pub(super) async fn recognised(side: &Side) -> anyhow::Result<()> {
    let story = Story::begin(side, "recognised").await?;
    story.make_cluster("recognised", json!({})).await?;
    for kind in [NETWORK, CONTROL_PLANE] {
        story
            .until(kind, NAME, "it belongs to the Cluster", belongs_to_cluster)
            .await?;
    }
    story
        .until(CLUSTER, NAME, "its phase is Provisioning or more", |cluster| {
            matches!(
                cluster["status"]["phase"].as_str(),
                Some("Provisioning" | "Provisioned")
            )
        })
        .await?;
    Ok(())
}

/// What Cluster API knows of the cluster is what capt found out.
pub(super) async fn available(side: &Side, namespace: &str) -> anyhow::Result<()> {
    let story = Story::begin(side, namespace).await?;
    story.make_cluster(namespace, json!({})).await?;
    let cluster = story.available().await?;
    story.holds(&["vpc", "eks"])?;

    let endpoint = &cluster["spec"]["controlPlaneEndpoint"];
    let host = endpoint["host"].as_str().unwrap_or_default();
    ensure!(
        side.access.server == format!("https://{host}:{}", endpoint["port"]),
        "the Cluster's endpoint is {endpoint}, and the server is at {}",
        side.access.server
    );
    let initialization = &cluster["status"]["initialization"];
    ensure!(
        initialization["infrastructureProvisioned"] == true
            && initialization["controlPlaneInitialized"] == true,
        "the Cluster says {initialization}"
    );
    let domains = cluster["status"]["failureDomains"].as_array();
    ensure!(
        domains.is_some_and(|domains| domains.len() == 3),
        "there should be three failure domains, and there are {domains:?}"
    );
    for type_ in [
        "RemoteConnectionProbe",
        "InfrastructureReady",
        "ControlPlaneAvailable",
    ] {
        ensure!(is(&cluster, type_, "True"), "{type_} is not true");
    }
    let control_plane = story
        .until(CONTROL_PLANE, NAME, "it is ready", |object| {
            object["status"]["ready"] == true
        })
        .await?;
    ensure!(
        control_plane["status"]["version"] == VERSION,
        "the control plane says that its version is {}",
        control_plane["status"]["version"]
    );
    let secrets = story.list(SECRET).await?;
    let kubeconfig = secrets
        .iter()
        .find(|secret| name(secret) == format!("{NAME}-kubeconfig"))
        .context("there is no kubeconfig")?;
    ensure!(
        kubeconfig["type"] == "cluster.x-k8s.io/secret"
            && kubeconfig["metadata"]["labels"][foreign_marks::CLUSTER_NAME] == NAME
            && kubeconfig["data"]["value"].is_string(),
        "the kubeconfig is not as Cluster API wants it"
    );
    Ok(())
}

/// A pause reaches everything, and changes wait until it ends.
pub(super) async fn paused(side: &Side, namespace: &str) -> anyhow::Result<()> {
    let story = Story::begin(side, namespace).await?;
    story.make_cluster(namespace, json!({})).await?;
    story.available().await?;
    story.pause(true).await?;
    for kind in [NETWORK, CONTROL_PLANE] {
        story
            .until(kind, NAME, "it is paused", |object| is(object, "Paused", "True"))
            .await?;
    }
    let mut before = Vec::new();
    for apply in story.list(APPLY).await? {
        let resting = story
            .until(APPLY, name(&apply), "it is paused", |object| {
                is(object, "Paused", "True")
            })
            .await?;
        let workspace = resting["status"]["workspaceName"].as_str().unwrap_or_default();
        let workspace = story
            .until(WORKSPACE, workspace, "nobody may act on it", |workspace| {
                workspace["spec"]["managementPolicies"] == json!([]) && is(workspace, "Synced", "False")
            })
            .await?;
        before.push(workspace);
    }
    ensure!(before.len() == 2, "there should be two Workspaces");

    let tagged = json!({"spec": {"additionalTags": {"colour": "red"}}});
    story.change(CONTROL_PLANE, NAME, &tagged).await?;
    story
        .until(CONTROL_PLANE, NAME, "the change was seen and held", |object| {
            paused_generation(object) == object["metadata"]["generation"]
        })
        .await?;
    for workspace in &before {
        let now = story
            .until(WORKSPACE, name(workspace), "it is there", |_| true)
            .await?;
        ensure!(
            now["spec"] == workspace["spec"],
            "the Workspace {} was changed during the pause",
            name(workspace)
        );
    }

    story.pause(false).await?;
    for workspace in &before {
        story
            .until(WORKSPACE, name(workspace), "it goes on", |object| {
                object["spec"]["managementPolicies"] != json!([])
                    && is(object, "Synced", "True")
                    && is(object, "Ready", "True")
            })
            .await?;
    }
    let eks = before.iter().find(|workspace| name(workspace).contains("eks"));
    let eks = eks.context("no Workspace is called after eks")?;
    story
        .until(WORKSPACE, name(eks), "it has the new tag", |object| {
            object["spec"]["forProvider"].to_string().contains("colour")
        })
        .await?;
    story.available().await?;
    story.holds(&["vpc", "eks"])
}

/// The generation that the condition `Paused` was written for.
fn paused_generation(object: &Value) -> Value {
    crate::objects::condition(object, "Paused")
        .map_or(Value::Null, |paused| paused["observedGeneration"].clone())
}

/// The control plane goes, then the network, and nothing is left.
pub(super) async fn deleted(side: &Side, namespace: &str) -> anyhow::Result<()> {
    let story = Story::begin(side, namespace).await?;
    story.make_cluster(namespace, json!({})).await?;
    story.available().await?;
    story.end().await
}
