//! Templates: edited, deleted, released and shared.

use std::time::Duration;

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, marks};
use capt_testkit::{Calls, Fault, Times, World};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::stage::{CAPT, Setting, Stage, User as _, apply, external_name, template};

async fn edit(stage: &Stage, text: &str) {
    let _: WorkspaceTemplate = stage
        .patch("net", json!({"spec": template("net", text)["spec"]}))
        .await;
}

async fn revision(stage: &Stage) -> String {
    let api: Api<WorkspaceTemplate> = stage.api();
    stage
        .until("a revision of the template as it is", async || {
            let template = api.get("net").await.unwrap();
            let status = template.status.unwrap_or_default();
            status.revision.is_some() && status.observed_generation == template.metadata.generation
        })
        .await;
    api.get("net").await.unwrap().status.unwrap().revision.unwrap()
}

#[tokio::test]
async fn an_edit_reaches_everybody_at_once_but_those_who_wait_for_its_release() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    let released = revision(&stage).await;
    stage.make_apply("free", "net").await;
    let mut bound = apply("bound", "net");
    bound["spec"]["templateRevision"] = json!(released);
    let _: WorkspaceTemplateApply = stage.create(bound).await;
    stage.until_ready("free").await;
    stage.until_ready("bound").await;
    let free = external_name(&stage.workspace("free").await.unwrap());
    let bound = external_name(&stage.workspace("bound").await.unwrap());
    edit(&stage, "large").await;
    let newer = revision(&stage).await;
    assert_ne!(released, newer);
    stage
        .until("the edit", async || stage.ledger.module(&free).contains("large"))
        .await;
    stage.settle().await;
    assert!(stage.ledger.module(&bound).contains("small"));
    // Variables still reach it, in the released revision.
    let larger = json!({"spec": {"variables": {"size": "2"}}});
    let _: WorkspaceTemplateApply = stage.patch("bound", larger).await;
    stage
        .until("the variable", async || {
            stage.ledger.module(&bound).contains("size = \"2\"")
        })
        .await;
    assert!(stage.ledger.module(&bound).contains("small"));
    let release = json!({"spec": {"templateRevision": newer}});
    let _: WorkspaceTemplateApply = stage.patch("bound", release).await;
    stage
        .until("the release", async || {
            stage.ledger.module(&bound).contains("large")
        })
        .await;
    stage.world.finish().await;
}

#[tokio::test]
async fn a_template_in_use_is_held_and_goes_on_rendering() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    let name = external_name(&stage.workspace("blue").await.unwrap());
    let templates: Api<WorkspaceTemplate> = stage.api();
    templates.delete("net", &DeleteParams::default()).await.unwrap();
    stage.settle().await;
    let held = templates.get_opt("net").await.unwrap().expect("it is held");
    assert_eq!(held.finalizers(), [marks::WORKSPACETEMPLATE_FINALIZER]);
    assert_eq!(held.status.unwrap().users, Some(1));
    let larger = json!({"spec": {"variables": {"size": "2"}}});
    let _: WorkspaceTemplateApply = stage.patch("blue", larger).await;
    stage
        .until("the variable", async || {
            stage.ledger.module(&name).contains("size = \"2\"")
        })
        .await;
    stage.delete_apply("blue").await;
    stage.until_gone("blue").await;
    stage
        .until("the template to be gone", async || {
            templates.get_opt("net").await.unwrap().is_none()
        })
        .await;
    assert_eq!(stage.ledger.destroyed(), [name]);
    stage.world.finish().await;
}

#[tokio::test]
async fn a_template_that_is_gone_leaves_its_last_rendering_and_can_be_destroyed() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    stage.settle().await;
    let name = external_name(&stage.workspace("blue").await.unwrap());
    let templates: Api<WorkspaceTemplate> = stage.api();
    // By force, and nobody holds it again.
    let held_again = Calls::by(CAPT).resource("workspacetemplates").writes();
    let rule = stage.faults().inject(held_again, Times::Every, Fault::fail(503));
    let _ = rule.may_miss();
    templates.delete("net", &DeleteParams::default()).await.unwrap();
    let force = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    templates
        .patch("net", &PatchParams::default(), &force)
        .await
        .unwrap();
    stage.until_says("blue", "Applied", "True/TemplateGone").await;
    stage.delete_workspace("blue").await;
    stage
        .until("another Workspace", async || {
            let now = stage.workspace("blue").await;
            now.is_some_and(|now| now.metadata.deletion_timestamp.is_none() && external_name(&now) == name)
        })
        .await;
    assert!(stage.ledger.module(&name).contains("small"));
    stage.delete_apply("blue").await;
    stage.until_gone("blue").await;
    assert_eq!(stage.ledger.destroyed(), [name]);
    stage.world.finish().await;
}

/// A namespace with a template in it, and an apply of that template in the world's own.
async fn refer_to_library(stage: &Stage) -> Api<WorkspaceTemplate> {
    let namespaces: Api<Namespace> = Api::all(stage.client());
    let library: Namespace = serde_json::from_value(json!({"metadata": {"name": "library"}})).unwrap();
    namespaces.create(&PostParams::default(), &library).await.unwrap();
    let templates: Api<WorkspaceTemplate> = Api::namespaced(stage.client(), "library");
    let shared: WorkspaceTemplate = serde_json::from_value(template("net", "small")).unwrap();
    templates.create(&PostParams::default(), &shared).await.unwrap();
    let mut foreign: Value = apply("blue", "net");
    foreign["spec"]["templateRef"]["namespace"] = json!("library");
    let _: WorkspaceTemplateApply = stage.create(foreign).await;
    templates
}

async fn patch_shared(templates: &Api<WorkspaceTemplate>, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    templates
        .patch("net", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

/// Also for controllers that look at one namespace only: they watch just this one beside it.
#[tokio::test]
async fn a_template_of_another_namespace_needs_its_consent() {
    for everywhere in [true, false] {
        let setting = Setting {
            everywhere,
            ..Setting::default()
        };
        let stage = Stage::set(World::embedded_only().await, &setting);
        let templates = refer_to_library(&stage).await;
        stage
            .until_says("blue", "Applied", "False/TemplateNotShared")
            .await;
        stage.settle().await;
        assert!(stage.workspace("blue").await.is_none());
        patch_shared(&templates, json!({"sharedWith": [stage.namespace()]})).await;
        stage.until_ready("blue").await;
        let name = external_name(&stage.workspace("blue").await.unwrap());
        patch_shared(&templates, template("net", "large")["spec"].clone()).await;
        stage
            .until("the edit", async || stage.ledger.module(&name).contains("large"))
            .await;
        // It is held by whoever sees all of its users.
        stage.settle().await;
        let held = !templates.get("net").await.unwrap().finalizers().is_empty();
        assert_eq!(held, everywhere);
        stage.world.finish().await;
    }
}

/// A restart must not say for a moment that a template is gone which was not read yet.
#[tokio::test]
async fn what_is_not_known_yet_is_not_gone() {
    let stage = Stage::embedded().await;
    let templates = refer_to_library(&stage).await;
    patch_shared(&templates, json!({"sharedWith": ["*"]})).await;
    stage.until_ready("blue").await;
    stage.settle().await;
    let in_library = Calls::by(CAPT)
        .resource("workspacetemplates")
        .namespace("library");
    stage.faults().inject(
        in_library,
        Times::Once,
        Fault::DelayAnswer(Duration::from_secs(10)),
    );
    let mark = stage.recorder().mark();
    stage.world.crash(CAPT);
    stage.settle().await;
    let writes = stage.recorder().writes_since(mark);
    assert!(writes.iter().all(|entry| entry.call.caller != CAPT), "{writes:?}");
    stage.world.finish().await;
}

#[tokio::test]
async fn a_template_that_may_not_be_read_is_told_with_what_to_do() {
    let stage = Stage::embedded().await;
    let in_library = Calls::by(CAPT)
        .resource("workspacetemplates")
        .namespace("library");
    let forbidden = stage.faults().inject(in_library, Times::Every, Fault::fail(403));
    let templates = refer_to_library(&stage).await;
    patch_shared(&templates, json!({"sharedWith": ["*"]})).await;
    stage
        .until_says("blue", "Applied", "False/TemplateNotShared")
        .await;
    let message = stage
        .apply("blue")
        .await
        .unwrap()
        .status
        .unwrap()
        .message
        .unwrap();
    assert!(message.contains("a Role there"), "{message}");
    forbidden.release();
    stage.until_ready("blue").await;
    stage.world.finish().await;
}

#[tokio::test]
async fn a_hole_that_nothing_fills_is_named() {
    let stage = Stage::new().await;
    let mut with_hole = template("net", "small");
    with_hole["spec"]["template"]["spec"]["forProvider"]["vars"] =
        json!([{"key": "region", "value": "${region}"}]);
    let _: WorkspaceTemplate = stage.create(with_hole).await;
    stage.make_apply("blue", "net").await;
    stage.until_says("blue", "Applied", "False/VariableMissing").await;
    let status = stage.apply("blue").await.unwrap().status.unwrap();
    assert!(status.message.unwrap().contains("region"));
    let filled = json!({"spec": {"variables": {"region": "mars"}}});
    let _: WorkspaceTemplateApply = stage.patch("blue", filled).await;
    stage.until_ready("blue").await;
    stage.world.finish().await;
}
