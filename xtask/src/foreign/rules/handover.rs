//! The same Workspaces handed from provider-terraform to our runner and back, as `docs/handover.md` says.

use std::time::Duration;

use anyhow::{Context, ensure};
use capt_api::{foreign::marks as foreign_marks, marks};
use capt_core::{render::WorkspaceGroup, wta::snapshot::Runner as Who};
use serde_json::{Value, json};

use super::super::kinds::{
    CLUSTER_CONFIG, CLUSTER_USAGE, CLUSTER_WORKSPACE, CONFIG_MAP, LEASE, TEMPLATE, USAGE, WORKSPACE,
};
use super::super::ledger::Ledger;
use super::super::runner::{self, Runner};
use super::super::stage::{Stage, says};
use super::super::story::{NAME, Story};
use crate::objects::{Kind, condition};
use crate::ours::Profile;
use crate::provider_terraform::{ProviderTerraform, STATE_SUFFIX, backend};

/// A filling, and where its Workspace is.
struct Part<'a> {
    story: Story<'a>,
    workspace: Kind,
    usage: Kind,
    /// The namespace of the Workspace.
    namespace: &'static str,
    /// The namespace of its state.
    state: &'static str,
}

impl Part<'_> {
    async fn workspace(&self) -> anyhow::Result<Value> {
        let name = self.story.workspace_name().await?;
        let found = self
            .story
            .stage
            .objects
            .get(self.workspace, self.namespace, &name)
            .await?;
        found.context("the Workspace is not there")
    }

    async fn pause(&self) -> anyhow::Result<()> {
        self.story.annotate(foreign_marks::PAUSED, "true").await?;
        self.story
            .until("it is paused", |wta| says(wta, "Paused", "True/Paused"))
            .await?;
        Ok(())
    }

    async fn go_on(&self) -> anyhow::Result<()> {
        let patch = json!({"metadata": {"annotations": {(foreign_marks::PAUSED): null}}});
        self.story.change(patch).await
    }

    /// Waits until this runner has looked at the Workspace as it is and found nothing to do.
    async fn settled(&self, runner: Option<&str>) -> anyhow::Result<()> {
        let name = self.story.workspace_name().await?;
        self.story
            .stage
            .objects
            .until(
                self.workspace,
                self.namespace,
                &name,
                "its runner is content",
                |workspace| {
                    let synced = condition(workspace, "Synced");
                    says(workspace, "Synced", "True/ReconcileSuccess")
                        && says(workspace, "Ready", "True/Available")
                        && synced
                            .is_some_and(|it| it["observedGeneration"] == workspace["metadata"]["generation"])
                        && workspace["metadata"]["labels"][marks::RUNNER].as_str() == runner
                },
            )
            .await?;
        Ok(())
    }

    /// Nobody holds the lock of its state.
    async fn is_unlocked(&self) -> anyhow::Result<()> {
        for lease in self.story.stage.objects.list(LEASE, self.state).await? {
            let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
            ensure!(
                holder.is_empty(),
                "{} is still held by {holder}",
                lease["metadata"]["name"]
            );
        }
        Ok(())
    }
}

pub(in super::super) async fn there_and_back(
    stage: &Stage,
    provider: &mut ProviderTerraform,
) -> anyhow::Result<()> {
    let namespaced = Story::begin(stage, "handover").await?;
    // Our runner reads no kubeconfig that a tenant's ProviderConfig names, so that an administrator's one says where state is.
    let config = json!({
        "metadata": {"name": "handover"},
        "spec": {"credentials": [], "configuration": backend(&stage.kubeconfig, "handover", STATE_SUFFIX)},
    });
    stage.objects.create(CLUSTER_CONFIG, "", config).await?;
    let reference = json!({"kind": "ClusterProviderConfig", "name": "handover"});
    let template = json!({"spec": {"template": {"spec": {"providerConfigRef": reference}}}});
    stage
        .objects
        .change(TEMPLATE, "handover", NAME, &template)
        .await?;
    namespaced.apply(&[], json!({})).await?;
    let whole = Story::begin(stage, "handover-cluster").await?;
    let template = json!({"spec": {"template": {"spec": {"providerConfigRef": {"kind": null}}}}});
    stage
        .objects
        .change(TEMPLATE, "handover-cluster", NAME, &template)
        .await?;
    stage
        .run_controllers_for(Who::Foreign, Some(WorkspaceGroup::ClusterScoped))
        .await?;
    whole.apply(&[], json!({})).await?;
    whole.ready().await?;
    stage.run_controllers(Who::Foreign).await?;
    let parts = [
        Part {
            story: namespaced,
            workspace: WORKSPACE,
            usage: USAGE,
            namespace: "handover",
            state: "handover",
        },
        Part {
            story: whole,
            workspace: CLUSTER_WORKSPACE,
            usage: CLUSTER_USAGE,
            namespace: "",
            state: "default",
        },
    ];
    let mut made = Vec::new();
    for part in &parts {
        made.push(part.story.ready().await?["status"]["outputs"]["id"].clone());
    }

    // There.
    for part in &parts {
        part.pause().await?;
    }
    provider.stop().await?;
    for part in &parts {
        let uid = part.workspace().await?["metadata"]["uid"].clone();
        stage
            .objects
            .delete(part.usage, part.namespace, uid.as_str().unwrap_or_default())
            .await?;
    }
    let ours = Who::Ours {
        label: Some(runner::NAME.to_owned()),
    };
    stage.run_controllers(ours).await?;
    let folder = stage.folder.join("runner");
    let runner = Runner::start(&runner::Options {
        kubeconfig: &stage.kubeconfig,
        folder: &folder,
        ledgers: &Ledger::folder(&stage.folder),
        engine: &provider.options().engine,
        parallelism: 2,
        poll_interval: Duration::from_secs(600),
        profile: Profile::Debug,
    })?;
    for part in &parts {
        part.go_on().await?;
    }
    for (part, made) in parts.iter().zip(&made) {
        part.settled(Some(runner::NAME)).await?;
        part.story.set("colour", "blue").await?;
        let wta = part.story.ready_with("colour", "blue").await?;
        ensure!(
            wta["status"]["outputs"]["id"] == *made,
            "it was made again on the way there"
        );
        part.story.ledger.holds_one()?;
        let uid = part.workspace().await?["metadata"]["uid"].clone();
        let reports = stage.objects.list(CONFIG_MAP, &part.story.namespace).await?;
        ensure!(
            reports
                .iter()
                .any(|report| report["metadata"]["labels"][marks::RUN_OF] == uid),
            "our runner tells nothing about it, so that it was not ours"
        );
    }

    // And back.
    for part in &parts {
        part.pause().await?;
    }
    runner.stop().await?;
    for part in &parts {
        part.is_unlocked().await?;
    }
    stage.run_controllers(Who::Foreign).await?;
    provider.start_again()?;
    for part in &parts {
        part.go_on().await?;
    }
    for (part, made) in parts.iter().zip(&made) {
        part.settled(None).await?;
        part.story.set("colour", "green").await?;
        let wta = part.story.ready_with("colour", "green").await?;
        ensure!(
            wta["status"]["outputs"]["id"] == *made,
            "it was made again on the way back"
        );
        part.story.ledger.holds_one()?;
        part.story.end().await?;
        ensure!(
            part.story.ledger.gone()? == part.story.ledger.made()?,
            "what was made is not what was destroyed"
        );
    }
    Ok(())
}
