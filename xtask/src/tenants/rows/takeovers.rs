//! T2 and T3: Workspaces outside the namespace are neither adopted nor destroyed.

use anyhow::{Context, ensure};
use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::{Value, json};

use super::super::kinds::{APPLY, CLUSTER_WORKSPACE};
use super::super::stage::{ATTACKER, RUNNER, SYSTEM, Stage, VICTIM};
use super::super::tenant::{THING, Tenant, has_condition, is_run};
use crate::objects::name;

/// T2: a WorkspaceTemplateApply claims the cluster-scoped Workspaces of a platform team, by everything that it can write.
pub(super) async fn of_the_platform(stage: &Stage) -> anyhow::Result<()> {
    let attacker = &stage.attacker;
    attacker.template("net", THING, json!({})).await?;
    let system = Tenant::new(&stage.admin, SYSTEM);
    // What a platform team may have written on a Workspace, none of it for the attacker.
    let others = [
        json!({}),
        json!({marks::RETAINED: "true"}),
        json!({marks::RETAINED: format!("{VICTIM}/prod-2")}),
        json!({marks::ADOPTABLE_BY: format!("{VICTIM}/prod-3")}),
        json!({marks::LEGACY_OF: format!("{VICTIM}/prod-4")}),
    ];
    let workspaces: Vec<String> = (0..others.len()).map(|at| format!("prod-{at}")).collect();
    for (workspace, annotations) in workspaces.iter().zip(&others) {
        make(stage, workspace, annotations.clone()).await?;
    }
    make(
        stage,
        "lent",
        json!({marks::ADOPTABLE_BY: format!("{ATTACKER}/lent")}),
    )
    .await?;
    let mut victims = Vec::new();
    for workspace in &workspaces {
        let made = until_run(stage, workspace).await?;
        let state = system.state(&format!("tf.upbound.io//{workspace}")).await?;
        victims.push((essence(&made), state));
    }
    until_run(stage, "lent").await?;

    for (at, workspace) in workspaces.iter().enumerate() {
        claim(
            attacker,
            workspace,
            workspace,
            marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER,
        )
        .await?;
        let uid = victims[at].0["uid"].clone();
        let status = json!({"workspaceName": workspace, "workspaceUID": uid, "applied": true});
        attacker.change_status(APPLY, workspace, status).await?;
        let other = format!("{workspace}-by-another-name");
        claim(
            attacker,
            &other,
            workspace,
            marks::WORKSPACETEMPLATEAPPLY_FINALIZER,
        )
        .await?;
        for apply in [workspace, &other] {
            attacker
                .until_condition(APPLY, apply, "Applied", "False/WorkspaceNotOurs")
                .await?;
            attacker.delete(APPLY, apply).await?;
            attacker.annotate(APPLY, apply, marks::LET_GO, "true").await?;
            attacker
                .until_condition(APPLY, apply, "Deleting", "True/WorkspaceNotOurs")
                .await?;
        }
    }
    // With the mark of an administrator the same succeeds.
    claim(attacker, "lent", "lent", marks::WORKSPACETEMPLATEAPPLY_FINALIZER).await?;
    attacker.until_applied("lent").await?;
    let lent = workspace(stage, "lent").await?;
    ensure!(
        lent["metadata"]["labels"][marks::WTA_NAMESPACE] == ATTACKER,
        "the attacker did not adopt what it may: {lent}"
    );
    attacker.delete(APPLY, "lent").await?;
    attacker.until_gone(APPLY, "lent").await?;

    for (name, victim) in workspaces.iter().zip(victims) {
        let now = essence(&workspace(stage, name).await?);
        ensure!(now == victim.0, "{name} was {}, and is {now}", victim.0);
        let state = system.state(&format!("tf.upbound.io//{name}")).await?;
        ensure!(state == victim.1, "the state of {name} changed");
    }
    Ok(())
}

/// T3: the same with a Workspace that another tenant retained, and that this tenant adopts afterwards.
pub(super) async fn of_a_tenant(stage: &Stage) -> anyhow::Result<()> {
    let (attacker, victim) = (&stage.attacker, &stage.victim);
    for tenant in [attacker, victim] {
        tenant.template("retained", THING, json!({})).await?;
    }
    let retain = json!({"spec": {"retainWorkspaceOnDelete": true}});
    victim.apply("retained", "retained", retain.clone()).await?;
    victim.until_applied("retained").await?;
    victim.delete(APPLY, "retained").await?;
    victim.until_gone(APPLY, "retained").await?;
    let key = format!("{VICTIM}/retained");
    let all = stage.admin.list(CLUSTER_WORKSPACE, "").await?;
    let retained = all
        .iter()
        .find(|one| one["metadata"]["annotations"][marks::RETAINED] == key)
        .context("the victim retained no Workspace")?;
    let (workspace_name, before) = (name(retained).to_owned(), essence(retained));
    let state_of = format!("tf.upbound.io//{workspace_name}");
    let state = victim.state(&state_of).await?;

    for (apply, finalizer) in [
        ("retained", marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER),
        ("retained-too", marks::WORKSPACETEMPLATEAPPLY_FINALIZER),
    ] {
        claim(attacker, apply, &workspace_name, finalizer).await?;
        attacker
            .until_condition(APPLY, apply, "Applied", "False/WorkspaceNotOurs")
            .await?;
        attacker.delete(APPLY, apply).await?;
        attacker
            .until_condition(APPLY, apply, "Deleting", "True/WorkspaceNotOurs")
            .await?;
    }
    stage.let_time_pass("after-t3").await?;
    let now = essence(&workspace(stage, &workspace_name).await?);
    ensure!(now == before, "the Workspace was {before}, and is {now}");
    ensure!(victim.state(&state_of).await? == state, "its state changed");

    let mut adopt = json!({"metadata": {"annotations": {marks::ADOPT_RETAINED: workspace_name}}});
    crate::objects::merge(&mut adopt, retain);
    victim.apply("retained", "retained", adopt).await?;
    victim.until_applied("retained").await?;
    let adopted = workspace(stage, &workspace_name).await?;
    ensure!(
        adopted["metadata"]["labels"][marks::WTA_NAMESPACE] == VICTIM,
        "the victim does not get back what it retained: {adopted}"
    );
    Ok(())
}

/// A WorkspaceTemplateApply that claims a cluster-scoped Workspace.
async fn claim(attacker: &Tenant, name: &str, workspace: &str, finalizer: &str) -> anyhow::Result<()> {
    let claim = json!({"metadata": {
        "finalizers": [finalizer],
        "annotations": {
            marks::ADOPT_RETAINED: workspace,
            marks::WORKSPACE: format!("{}/{workspace}", CLUSTER_WORKSPACE.group()),
            marks::LEGACY_OF: format!("{ATTACKER}/{name}"),
            marks::ADOPTABLE_BY: format!("{ATTACKER}/{name}"),
        },
    }});
    let template = if workspace.starts_with("prod") || workspace == "lent" {
        "net"
    } else {
        "retained"
    };
    attacker.apply(name, template, claim).await
}

/// A cluster-scoped Workspace that a platform team makes by hand.
async fn make(stage: &Stage, name: &str, annotations: Value) -> anyhow::Result<()> {
    let workspace = json!({
        "metadata": {"name": name, "labels": {marks::RUNNER: RUNNER}, "annotations": annotations},
        "spec": {
            "forProvider": {"source": "Inline", "module": THING},
            "writeConnectionSecretToRef": {"name": format!("{name}-outputs"), "namespace": VICTIM},
        },
    });
    stage.admin.create(CLUSTER_WORKSPACE, "", workspace).await?;
    Ok(())
}

async fn until_run(stage: &Stage, name: &str) -> anyhow::Result<Value> {
    let admin = &stage.admin;
    admin
        .until(CLUSTER_WORKSPACE, "", name, "it is ready", is_run)
        .await
}

async fn workspace(stage: &Stage, name: &str) -> anyhow::Result<Value> {
    let found = stage.admin.get(CLUSTER_WORKSPACE, "", name).await?;
    found.with_context(|| format!("the Workspace {name} is gone"))
}

/// What an attack must not change of a Workspace.
fn essence(workspace: &Value) -> Value {
    let metadata = &workspace["metadata"];
    json!({
        "uid": metadata["uid"],
        "labels": metadata["labels"],
        "marks": [metadata["annotations"][marks::RETAINED], metadata["annotations"][foreign_marks::EXTERNAL_NAME]],
        "spec": workspace["spec"],
        "deleted": metadata["deletionTimestamp"],
        "ready": has_condition(workspace, "Ready", "True/Available"),
    })
}
