//! What somebody deletes by hand is there again, and is told as what it is: no update, and no other state than the truth.

use capt_api::{
    WorkspaceTemplateApply,
    captcontrolplane::{ControlPlaneState as State, OperationRecord},
    foreign::Workspace,
};
use capt_testkit::World;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams},
};

use crate::{
    controlplane::{ControlPlaneUser as _, start_witness},
    costs::{bring_templates, start_simulation, write_cluster},
    stage::{Setting, User as _, start_controllers},
};

/// A cluster with a network, by the templates that a newcomer applies, with our own runner.
async fn living() -> World {
    let world = World::embedded_only().await;
    start_controllers(&world, &Setting::default());
    start_simulation(&world);
    bring_templates(&world).await;
    write_cluster(&world, "blue").await;
    world.until_state("blue", State::Ready).await;
    world.settle().await;
    world
}

async fn history(world: &World) -> Vec<OperationRecord> {
    let progress = world.status("blue").await.progress.unwrap();
    progress.history.unwrap()
}

#[tokio::test]
async fn nothing_that_is_deleted_by_hand_and_comes_back_is_an_update() {
    let world = living().await;
    let states = start_witness(&world);
    world.settle().await;
    let before = history(&world).await;
    assert_eq!(before.len(), 1, "{before:#?}");
    let secrets: Api<Secret> = world.api();
    let applies: Api<WorkspaceTemplateApply> = world.api();
    let parameters = DeleteParams::default();
    let all = secrets.list(&ListParams::default()).await.unwrap();
    let mut losses: Vec<String> = all
        .into_iter()
        .filter(|secret| {
            let type_ = secret.type_.as_deref().unwrap_or_default();
            type_.ends_with("/rendering") || type_.starts_with("connection.crossplane.io")
        })
        .map(|secret| secret.name_any())
        .collect();
    assert_eq!(losses.len(), 4, "{losses:?}");
    losses.sort();
    let is_honest = |state: &State| matches!(state, State::Ready | State::Degraded);
    for name in losses {
        states.lock().clear();
        secrets.delete(&name, &parameters).await.unwrap();
        world.settle().await;
        assert!(
            secrets.get_opt(&name).await.unwrap().is_some(),
            "{name} comes back"
        );
        assert_eq!(history(&world).await, before, "{name}");
        let states = states.lock().clone();
        assert!(states.iter().all(is_honest), "{name}: {states:?}");
        if name.ends_with("-rendering") {
            assert_eq!(states, [], "{name}");
        }
    }
    for name in ["blue-eks-controlplane-apply", "blue-vpc"] {
        states.lock().clear();
        applies.delete(name, &parameters).await.unwrap();
        world.settle().await;
        world.until_state("blue", State::Ready).await;
        assert_eq!(history(&world).await, before, "{name}");
        let states = states.lock().clone();
        assert!(states.iter().all(is_honest), "{name}: {states:?}");
        // Nothing happens to a network by that, so that nobody in it is told.
        let last = (name != "blue-vpc").then_some(&State::Ready);
        assert_eq!(states.last(), last, "{name}");
    }
    let workspaces: Api<Workspace> = world.api();
    for (name, last) in [("blue-eks-controlplane", Some(&State::Ready)), ("blue-vpc", None)] {
        states.lock().clear();
        let old = workspaces.get(name).await.unwrap();
        workspaces.delete(name, &parameters).await.unwrap();
        world.settle().await;
        let new = workspaces.get(name).await.unwrap();
        assert_ne!(new.uid(), old.uid(), "{name}");
        assert_eq!(new.metadata.deletion_timestamp, None, "{name}");
        assert_eq!(history(&world).await, before, "{name}");
        let states = states.lock().clone();
        assert!(states.iter().all(is_honest), "{name}: {states:?}");
        assert_eq!(states.last(), last, "{name}: {states:?}");
    }
    world.finish().await;
}
