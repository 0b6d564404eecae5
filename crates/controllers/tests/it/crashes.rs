//! Whatever is interrupted is carried on: the same end, however and wherever the controllers die on the way.

use std::time::Duration;

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, foreign::Workspace};
use capt_testkit::{Builder, Fault, Sweep, World};
use kube::CustomResourceExt as _;
use serde_json::json;

use crate::stage::{Setting, User as _, apply, start_controllers, start_runner};

/// Only what is needed, so that many worlds are made quickly.
fn small() -> Builder {
    World::builder()
        .embedded_only()
        .without_crds()
        .crd(WorkspaceTemplate::crd())
        .crd(WorkspaceTemplateApply::crd())
        .crd(Workspace::crd())
}

/// Longer than the first tries of whatever fails.
const QUIET: Duration = Duration::from_secs(60);

/// Made, changed, its Workspace lost, destroyed.
async fn a_whole_life(world: &World) {
    start_controllers(world, &Setting::default());
    let ledger = start_runner(world);
    world.make_template("net").await;
    world.make_apply("blue", "net").await;
    world.until_ready("blue").await;
    world.settle().await;
    let before = ledger.exists();
    let larger = json!({"spec": {"variables": {"size": "2"}}});
    let _: WorkspaceTemplateApply = world.patch("blue", larger).await;
    world.settle().await;
    world.delete_workspace("blue").await;
    world.settle().await;
    world.until_ready("blue").await;
    assert_eq!(ledger.exists(), before, "its state is found again");
    assert!(ledger.module(&before[0]).contains("size = \"2\""));
    assert!(ledger.destroyed().is_empty());
    world.delete_apply("blue").await;
    world.until_gone("blue").await;
    world.settle().await;
    assert_eq!(ledger.destroyed(), before);
    assert_eq!(ledger.made(), before, "nothing is made twice");
}

/// What is left when everything is gone.
async fn only_the_template_is_left(world: &World) {
    let left = world.snapshot().await;
    let ours: Vec<&String> = left
        .objects()
        .keys()
        .filter(|key| {
            key.contains("upbound.io") || key.contains("workspacetemplate") || key.contains("rendering")
        })
        .collect();
    assert_eq!(
        ours,
        ["workspacetemplates.infrastructure.cluster.x-k8s.io/test/net"]
    );
}

/// Made, and retained when it goes.
async fn a_retained_life(world: &World) {
    start_controllers(world, &Setting::default());
    let ledger = start_runner(world);
    world.make_template("net").await;
    let mut kept = apply("kept", "net");
    kept["spec"]["retainWorkspaceOnDelete"] = json!(true);
    let _: WorkspaceTemplateApply = world.create(kept).await;
    world.until_ready("kept").await;
    world.settle().await;
    world.delete_apply("kept").await;
    world.until_gone("kept").await;
    world.settle().await;
    assert_eq!(ledger.exists().len(), 1);
    assert!(ledger.destroyed().is_empty());
}

/// A Workspace may be made once more than needed, because the one before went before that could be written down. It then
/// makes nothing.
#[test]
fn a_crash_at_any_write_changes_nothing() {
    let crashes = [Fault::CrashBefore, Fault::CrashAfter];
    let report = Sweep::new(small())
        .quiet(QUIET)
        .faults(crashes)
        .run_and_check(a_whole_life, only_the_template_is_left);
    assert!(report.writes.len() > 20, "{:#?}", report.writes);
}

#[test]
fn a_crash_at_any_write_loses_nothing_that_is_retained() {
    Sweep::new(small())
        .quiet(QUIET)
        .faults([Fault::CrashBefore, Fault::CrashAfter])
        .run(a_retained_life);
}

#[test]
fn a_fault_at_any_write_changes_nothing() {
    Sweep::new(small())
        .quiet(QUIET)
        .faults([Fault::fail(409), Fault::DropAnswer])
        .run_and_check(a_whole_life, only_the_template_is_left);
}
