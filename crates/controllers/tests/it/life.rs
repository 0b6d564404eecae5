//! A whole life: made, changed, destroyed; and days in which nothing happens.

use std::time::Duration;

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, foreign::marks as foreign_marks};
use capt_core::wta::kept::{KEY, Kept};
use capt_testkit::{Calls, Disturbance, Entry, Events, Fault, Times, Verb};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::stage::{CAPT, Stage, User as _, external_name, policies, template};

#[tokio::test]
async fn a_template_becomes_a_workspace_that_follows_it_and_is_destroyed_on_request() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    let workspace = stage.workspace("blue").await.unwrap();
    let name = external_name(&workspace);
    assert_eq!(stage.ledger.exists(), [&*name]);
    assert!(workspace.owner_references().is_empty());
    assert_eq!(
        policies(&workspace),
        json!(["Observe", "Create", "Update", "LateInitialize"])
    );
    let status = stage.apply("blue").await.unwrap().status.unwrap();
    assert!(status.applied);
    assert_eq!(status.workspace_name.as_deref(), Some("blue"));
    assert_eq!(status.outputs.unwrap()["name"], json!(name));
    assert_eq!(status.ready_revision, status.last_applied_revision);

    let _: WorkspaceTemplateApply = stage
        .patch("blue", json!({"spec": {"variables": {"size": "2"}}}))
        .await;
    stage
        .until("the new size", async || {
            stage.ledger.module(&name).contains("size = \"2\"")
        })
        .await;
    stage.until_ready("blue").await;
    stage.delete_apply("blue").await;
    stage.until_gone("blue").await;
    assert_eq!(stage.ledger.destroyed(), [name]);
    assert!(stage.ledger.exists().is_empty());
    assert!(stage.workspace("blue").await.is_none());
    stage.world.finish().await;
}

#[tokio::test]
async fn a_day_of_rest_costs_nothing() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    for name in ["blue", "red", "green"] {
        stage.make_apply(name, "net").await;
    }
    stage.settle().await;
    assert_eq!(stage.ledger.exists().len(), 3);
    let mark = stage.recorder().mark();
    stage.advance(Duration::from_secs(24 * 3600)).await;
    let requests = stage.recorder().requests_since(mark);
    assert!(requests.is_empty(), "{requests:?}");
}

/// Others may say something about an object too.
#[tokio::test]
async fn a_condition_of_somebody_else_stays_and_costs_nothing() {
    let stage = Stage::new().await;
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    stage.settle().await;
    let mark = stage.recorder().mark();
    let applies: Api<WorkspaceTemplateApply> = stage.api();
    let theirs = Patch::Apply(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplateApply",
        "status": {"conditions": [{
            "type": "CostKnown", "status": "True", "reason": "Counted", "message": "a lot",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }]},
    }));
    applies
        .patch_status("blue", &PatchParams::apply("accountant"), &theirs)
        .await
        .unwrap();
    // This wakes the controllers once more, and changes nothing for them.
    stage.annotate("blue", "example.org/note", Some("x")).await;
    stage.settle().await;
    let writes = stage.recorder().writes_since(mark);
    assert!(writes.iter().all(|entry| entry.call.caller != CAPT), "{writes:?}");
    assert_eq!(stage.says("blue", "CostKnown").await, "True/Counted");
    // What we say later leaves it alone.
    stage.annotate("blue", foreign_marks::PAUSED, Some("")).await;
    stage.until_says("blue", "Paused", "True/Paused").await;
    assert_eq!(stage.says("blue", "CostKnown").await, "True/Counted");
    stage.world.finish().await;
}

/// Also if the controllers could not say, right after they made it, that what they made is theirs to take away.
#[tokio::test]
async fn what_a_later_rendering_leaves_out_goes() {
    for is_claim_lost in [false, true] {
        let stage = Stage::new().await;
        if is_claim_lost {
            // A server that makes nothing by applying with a version, and somebody who writes to what was made.
            let made = Calls::by(CAPT).verb(Verb::Apply).resource("workspaces");
            stage.faults().inject(made, Times::Once, Fault::fail(409));
            let claim = Calls::by(CAPT).verb(Verb::Patch).resource("workspaces");
            stage.faults().inject(claim, Times::Once, Fault::fail(409));
        }
        let mut with_vars = template("net", "small");
        with_vars["spec"]["template"]["spec"]["forProvider"]["vars"] = json!([{"key": "a", "value": "b"}]);
        let _: WorkspaceTemplate = stage.create(with_vars).await;
        stage.make_apply("blue", "net").await;
        stage.until_ready("blue").await;
        let vars = async || {
            let workspace = stage.workspace("blue").await.unwrap();
            workspace.data.pointer("/spec/forProvider/vars").cloned()
        };
        assert_eq!(vars().await, Some(json!([{"key": "a", "value": "b"}])));
        let without = json!({"spec": {"template": {"spec": {"forProvider": {"vars": null}}}}});
        let _: WorkspaceTemplate = stage.patch("net", without).await;
        stage
            .until("the variable to go", async || vars().await.is_none())
            .await;
        stage.world.finish().await;
    }
}

/// A second request right after the first would only add to what the server has no time for.
#[tokio::test]
async fn a_server_in_a_hurry_is_asked_later_and_in_the_same_way() {
    let stage = Stage::embedded().await;
    let made = Calls::by(CAPT).verb(Verb::Apply).resource("workspaces");
    stage.faults().inject(made, Times::Once, Fault::fail(429));
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage.until_ready("blue").await;
    let mut plainly = stage.recorder().writes();
    plainly.retain(|entry| {
        let call = &entry.call;
        call.caller == CAPT && call.verb == Verb::Create && call.resource == "workspaces"
    });
    assert!(plainly.is_empty(), "{plainly:?}");
    stage.world.finish().await;
}

/// What is only noted for later holds nobody up who waits for the object, and is not forgotten.
#[tokio::test]
async fn that_it_is_ready_waits_for_no_note_of_it() {
    let stage = Stage::embedded().await;
    let kept = capt_core::names::last_rendering("blue").parted().to_owned();
    let notes = Calls::by(CAPT).writes().resource("secrets").name(&kept);
    // The first write is what the Workspace is made of.
    stage.faults().inject(notes, Times::Nth(2), Fault::fail(500));
    stage.make_template("net").await;
    stage.make_apply("blue", "net").await;
    stage
        .until("it to be noted", async || {
            let secrets: Api<Secret> = stage.api();
            let data = secrets
                .get_opt(&kept)
                .await
                .unwrap()
                .and_then(|secret| secret.data);
            let bytes = data.and_then(|mut data| data.remove(KEY));
            bytes.is_some_and(|bytes| Kept::from_bytes(&bytes.0).unwrap().was_ready)
        })
        .await;
    let writes = stage.recorder().writes();
    let last = |resource: &str, subresource: &str, name: &str| {
        let is_it = |entry: &Entry| {
            let call = &entry.call;
            (&*call.resource, &*call.subresource, &*call.name) == (resource, subresource, name)
        };
        writes.iter().rposition(is_it).unwrap()
    };
    assert!(last("workspacetemplateapplies", "status", "blue") < last("secrets", "", &kept));
    stage.until_ready("blue").await;
    stage.world.finish().await;
}

/// Somebody else's object of the same name is found before anything is written over it.
#[tokio::test]
async fn a_stale_view_writes_over_nothing() {
    let stage = Stage::embedded().await;
    stage.make_template("net").await;
    stage.settle().await;
    let stale = stage.faults().disturb(
        Events::to(CAPT).resource("workspaces"),
        Times::Every,
        Disturbance::Hold,
    );
    let precious = serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1",
        "kind": "Workspace",
        "metadata": {"name": "blue"},
        "spec": {"forProvider": {"source": "Inline", "module": "precious"}, "managementPolicies": []},
    }))
    .unwrap();
    stage
        .workspaces()
        .create(&PostParams::default(), &precious)
        .await
        .unwrap();
    stage.make_apply("blue", "net").await;
    stage.settle().await;
    let untouched = async || {
        let workspace = stage.workspace("blue").await.unwrap();
        workspace.data.pointer("/spec/forProvider/module") == Some(&json!("precious"))
            && workspace.labels().is_empty()
    };
    assert!(untouched().await);
    stale.release();
    stage.settle().await;
    assert!(untouched().await);
    stage.world.finish().await;
}
