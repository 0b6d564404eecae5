//! Clusters of one name in two namespaces of one API: nothing of the one is the other's.

use std::collections::BTreeSet;

use capt_api::{captcontrolplane::ControlPlaneState as State, marks};
use capt_testkit::World;
use kube::ResourceExt as _;

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane},
    network::NetworkUser as _,
    runner::Ledger,
    stage::{Neighbour, Setting, User, external_name, start_controllers, start_runner_in},
};

/// The names under which the state of a cluster is kept.
async fn states(user: &impl User) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for name in ["blue-vpc", "blue-eks-controlplane"] {
        let workspace = user.workspace(name).await.unwrap();
        assert_eq!(workspace.labels()[marks::WTA_NAMESPACE], user.home());
        names.insert(external_name(&workspace));
    }
    names
}

#[tokio::test]
async fn clusters_of_one_name_share_nothing_and_go_alone() {
    let world = World::embedded_only().await;
    let (ledger, other) = (Ledger::default(), Neighbour::of(&world, "other").await);
    let setting = Setting {
        everywhere: true,
        ..Setting::default()
    };
    start_controllers(&world, &setting);
    for namespace in [world.namespace(), "other"] {
        start_runner_in(&world, namespace, &ledger);
    }
    world
        .make_cluster_with_network("blue", control_plane("blue"))
        .await;
    other
        .make_cluster_with_network("blue", control_plane("blue"))
        .await;
    world.until_state("blue", State::Ready).await;
    other.until_state("blue", State::Ready).await;
    world.settle().await;
    let (ours, theirs) = (states(&world).await, states(&other).await);
    assert!(ours.is_disjoint(&theirs), "{ours:?} {theirs:?}");
    assert_eq!(ledger.made().len(), 4, "a network and an EKS cluster each");
    let all: BTreeSet<String> = ours.union(&theirs).cloned().collect();
    assert_eq!(ledger.exists().into_iter().collect::<BTreeSet<_>>(), all);
    let uid = other.plane("blue").await.unwrap().uid().unwrap();

    world.delete_cluster("blue").await;
    world.until_cluster_is_gone("blue").await;
    world.settle().await;
    assert_eq!(ledger.destroyed().into_iter().collect::<BTreeSet<_>>(), ours);
    assert_eq!(ledger.exists().into_iter().collect::<BTreeSet<_>>(), theirs);
    assert!(world.secret("blue-kubeconfig").await.is_none());
    let plane = other.plane("blue").await.unwrap();
    assert_eq!(plane.uid().unwrap(), uid);
    assert!(plane.status.unwrap().ready);
    assert_eq!(other.cluster_says("blue", "Available").await, "True/Available");
    assert!(other.secret("blue-kubeconfig").await.is_some());
    assert_eq!(ledger.made().len(), 4);
    world.finish().await;
}
