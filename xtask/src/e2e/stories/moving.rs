//! `clusterctl move` from one management cluster to another.

use std::fs;

use anyhow::ensure;
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CONTROL_PLANE, LEASE, NETWORK, TEMPLATE, WORKSPACE};
use super::super::side::Side;
use super::super::story::{NAME, Story};
use super::topology;
use crate::cluster_api::clusterctl;
use crate::objects::{PATIENCE, is, name};

/// Moves everything in the namespace, and gives the story as it goes on over there.
async fn moved<'b>(story: &Story<'_>, to: &'b Side) -> anyhow::Result<Story<'b>> {
    story.prepare(to).await?;
    let (from_config, to_config) = (story.side.kubeconfig(), to.kubeconfig());
    let arguments = [
        "move",
        "--namespace",
        &story.namespace,
        "--kubeconfig",
        &from_config.display().to_string(),
        "--to-kubeconfig",
        &to_config.display().to_string(),
    ];
    if let Err(error) = clusterctl(story.side.folder(), &arguments).await {
        return Err(error.context(story.told().await));
    }
    Ok(story.on(to))
}

/// Fails unless what is left behind can do no harm: Workspaces that nobody may act on and that have no state, with what
/// a runner wrote about them.
async fn is_harmless(story: &Story<'_>) -> anyhow::Result<()> {
    let of_a_workspace = |text: &String| {
        let (kind, name) = text.split_once(' ').unwrap_or_default();
        match kind {
            "Workspace" | "ConfigMap" | "Lease" => true,
            "Secret" => name.ends_with("-connection"),
            _ => false,
        }
    };
    story
        .until_left("at most Workspaces without state", |left| {
            left.iter().all(of_a_workspace)
        })
        .await?;
    for workspace in story.list(WORKSPACE).await? {
        ensure!(
            workspace["spec"]["managementPolicies"] == json!([]),
            "the Workspace {} was left behind, and may be acted on: {}",
            name(&workspace),
            workspace["spec"]["managementPolicies"]
        );
    }
    for lease in story.list(LEASE).await? {
        ensure!(
            lease["spec"]["holderIdentity"]
                .as_str()
                .unwrap_or_default()
                .is_empty(),
            "the lock {} is still held",
            name(&lease)
        );
    }
    Ok(())
}

/// Makes a change over there, and waits until Terraform has made it real.
async fn goes_on(story: &Story<'_>) -> anyhow::Result<()> {
    let tagged = json!({"spec": {"additionalTags": {"colour": "green"}}});
    story.change(CONTROL_PLANE, NAME, &tagged).await?;
    let apply = story.eks().await?;
    let until = story
        .until(APPLY, name(&apply), "it is ready with the new tag", |apply| {
            apply["spec"]["variables"]["tags"]
                .as_str()
                .is_some_and(|tags| tags.contains("green"))
                && apply["status"]["observedGeneration"] == apply["metadata"]["generation"]
                && apply["status"]["readyRevision"].is_string()
                && apply["status"]["readyRevision"] == apply["status"]["lastAppliedRevision"]
        })
        .await;
    match until {
        Ok(_) => Ok(()),
        Err(error) => Err(error.context(story.told().await)),
    }
}

pub(super) async fn at_rest(from: &Side, to: &Side) -> anyhow::Result<()> {
    let story = Story::begin(from, "move-at-rest").await?;
    story.make_cluster("move-at-rest", json!({})).await?;
    let before = story.available().await?;
    let states: Vec<String> = names(&story.states().await?);
    ensure!(
        states.len() == 2,
        "there should be two states, and there are {states:?}"
    );

    let there = moved(&story, to).await?;
    let after = there.available().await?;
    ensure!(
        after["spec"]["controlPlaneEndpoint"] == before["spec"]["controlPlaneEndpoint"],
        "the endpoint is another one: {}",
        after["spec"]["controlPlaneEndpoint"]
    );
    ensure!(
        names(&there.states().await?) == states,
        "the states over there are {:?}, and were {states:?}",
        names(&there.states().await?)
    );
    there.holds(&["vpc", "eks"])?;
    is_harmless(&story).await?;

    goes_on(&there).await?;
    there.holds(&["vpc", "eks"])?;
    there.end().await?;
    is_harmless(&story).await
}

pub(super) async fn with_its_class(from: &Side, to: &Side) -> anyhow::Result<()> {
    let story = Story::begin(from, "move-with-class").await?;
    topology::make_available(&story).await?;
    let there = moved(&story, to).await?;
    there.available().await?;
    there.holds(&["vpc", "eks"])?;
    is_harmless(&story).await?;
    topology::bump(&there).await?;
    there.end().await?;
    is_harmless(&story).await
}

pub(super) async fn in_mid_apply(from: &Side, to: &Side) -> anyhow::Result<()> {
    let story = Story::begin(from, "move-in-mid-apply").await?;
    story.make_cluster("move-in-mid-apply", json!({})).await?;
    story.available().await?;
    let slow = json!({"spec": {"additionalTags": {"slow": "10"}}});
    story.change(CONTROL_PLANE, NAME, &slow).await?;
    begun(&story).await?;

    let there = moved(&story, to).await?;
    there.available().await?;
    there.holds(&["vpc", "eks", "slow"])?;
    is_harmless(&story).await?;
    goes_on(&there).await?;
    there.holds(&["vpc", "eks", "slow"])?;
    there.end().await
}

/// Waits until the slow thing is being made.
async fn begun(story: &Story<'_>) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !fs::read_to_string(story.ledger.path())?.contains("begun slow") {
        if tokio::time::Instant::now() >= deadline {
            let told = story.told().await;
            return Err(anyhow::anyhow!("the slow thing is not begun").context(told));
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    Ok(())
}

pub(super) async fn beside_a_retained_network(from: &Side, to: &Side) -> anyhow::Result<()> {
    let story = Story::begin(from, "move-retained").await?;
    let former = story.with_cluster("green");
    former
        .make_cluster("move-retained", json!({"retainVpcOnDelete": true}))
        .await?;
    former.available().await?;
    former.delete().await?;
    let retained = names(&story.list(WORKSPACE).await?);
    let states = names(&story.states().await?);
    ensure!(
        retained.len() == 1 && states.len() == 1,
        "one Workspace and one state should be retained, and there are {retained:?}, {states:?}"
    );

    story.make_cluster("move-retained", json!({})).await?;
    story.available().await?;
    let there = moved(&story, to).await?;
    there.available().await?;
    let still = names(&story.states().await?);
    ensure!(still == states, "of {states:?}, these are left: {still:?}");
    ensure!(
        names(&story.list(WORKSPACE).await?).contains(&retained[0]),
        "the retained Workspace is gone"
    );
    let over_there = names(&there.states().await?);
    ensure!(
        over_there.len() == 2 && !over_there.contains(&states[0]),
        "the states over there are {over_there:?}; {states:?} should have stayed"
    );
    there.delete().await?;
    let gone = there.ledger.gone()?;
    ensure!(
        gone.iter().filter(|line| line.starts_with("eks ")).count() == 2
            && gone.iter().filter(|line| line.starts_with("vpc ")).count() == 1,
        "both clusters and one network should be destroyed, and these are: {gone:?}"
    );
    Ok(())
}

pub(super) async fn away_from_its_templates(from: &Side, to: &Side) -> anyhow::Result<()> {
    let (namespace, of_templates) = ("move-apart", "move-apart-templates");
    let story = Story::begin_with(from, namespace, of_templates).await?;
    story.make_cluster(of_templates, json!({})).await?;
    story.available().await?;
    let there = moved(&story, to).await?;
    there.available().await?;
    there.holds(&["vpc", "eks"])?;
    ensure!(
        to.objects.list(TEMPLATE, of_templates).await?.is_empty(),
        "the templates should not have moved"
    );
    for kind in [NETWORK, CONTROL_PLANE] {
        there
            .until(kind, NAME, "it is not paused", |object| {
                is(object, "Paused", "False")
            })
            .await?;
    }
    is_harmless(&story).await?;
    there.end().await
}

fn names(objects: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = objects.iter().map(|object| name(object).to_owned()).collect();
    names.sort();
    names
}
