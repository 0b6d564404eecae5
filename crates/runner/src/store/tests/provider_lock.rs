//! The provider versions that were chosen for a state.

use capt_core::tenancy::WatchScope;
use capt_testkit::{Calls, Fault, Times, Verb, World};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;

use super::{place, state};
use crate::{
    engine::ProviderLock,
    store::{Kept, KeptLock, StateStore},
};

const ME: &str = "runner";
const NAME: &str = "providers-tfstate-prod-vpc-capt";
const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";

fn lock(version: &str) -> ProviderLock {
    let constraints = ["~> 1.0".to_owned()].into();
    ProviderLock {
        file: format!("provider \"e.com/some/x\" {{\n  version = \"{version}\"\n}}\n").into_bytes(),
        requirements: [("e.com/some/x".to_owned(), constraints)].into(),
    }
}

fn kept(version: &str, moves: bool) -> Option<KeptLock> {
    let lock = Some(lock(version));
    Some(KeptLock { lock, moves })
}

fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.client(), world.namespace())
}

#[tokio::test]
async fn versions_are_kept_beside_the_state_and_go_with_it() {
    let world = World::new().await;
    let (place, store) = (place(&world), StateStore::new(world.client_for(ME)));
    assert_eq!(store.read_provider_lock(&place).await.unwrap(), None);
    store
        .write(&place, &mut Kept::default(), &state(1, 0))
        .await
        .unwrap();
    for (version, moves) in [("1.0.0", false), ("1.1.0", true), ("1.2.0", false)] {
        store
            .write_provider_lock(&place, &lock(version), moves)
            .await
            .unwrap();
        assert_eq!(
            store.read_provider_lock(&place).await.unwrap(),
            kept(version, moves)
        );
        let secret = secrets(&world).get(NAME).await.unwrap();
        let labels = secret.metadata.labels.unwrap_or_default();
        assert_eq!(labels.contains_key(MOVE), moves);
        assert!(
            !labels.contains_key("tfstate"),
            "Terraform's backend would take it for a state"
        );
        assert_eq!(secret.metadata.finalizers, None);
    }
    store.label_provider_lock(&place, true).await.unwrap();
    assert_eq!(
        store.read_provider_lock(&place).await.unwrap(),
        kept("1.2.0", true)
    );
    // It is no part of the state.
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(1, 0)));

    store.remove(&place).await.unwrap();
    assert_eq!(secrets(&world).get_opt(NAME).await.unwrap(), None);
    store.remove(&place).await.unwrap();
    world.finish().await;
}

#[tokio::test]
async fn what_is_too_large_is_not_kept_and_what_cannot_be_read_is_none() {
    let world = World::new().await;
    let (place, store) = (place(&world), StateStore::new(world.client_for(ME)));
    let mut large = lock("1.0.0");
    large.file.resize(513 << 10, b'#');
    store.write_provider_lock(&place, &large, false).await.unwrap();
    assert_eq!(secrets(&world).get_opt(NAME).await.unwrap(), None);

    store
        .write_provider_lock(&place, &lock("1.0.0"), false)
        .await
        .unwrap();
    let spoilt = Patch::Merge(json!({"stringData": {"requirements.json": "{"}}));
    secrets(&world)
        .patch(NAME, &PatchParams::default(), &spoilt)
        .await
        .unwrap();
    let none = KeptLock {
        lock: None,
        moves: false,
    };
    assert_eq!(store.read_provider_lock(&place).await.unwrap(), Some(none));
    store
        .write_provider_lock(&place, &lock("1.1.0"), false)
        .await
        .unwrap();
    assert_eq!(
        store.read_provider_lock(&place).await.unwrap(),
        kept("1.1.0", false)
    );
    world.finish().await;
}

#[tokio::test]
async fn where_a_watch_tells_of_none_nothing_is_asked() {
    let world = World::new().await;
    let (place, store) = (place(&world), StateStore::new(world.client_for(ME)));
    store
        .write_provider_lock(&place, &lock("1.0.0"), false)
        .await
        .unwrap();
    let calls = async || {
        let mark = world.recorder().mark();
        let read = store.read_provider_lock(&place).await.unwrap();
        (read.is_some(), world.recorder().requests_since(mark).len())
    };
    assert_eq!(calls().await, (true, 1), "no watch has begun");
    store.names().only(&WatchScope::Cluster, &[].into());
    assert_eq!(calls().await, (false, 0));
    store.names().note(&place.namespace, NAME, true);
    assert_eq!(calls().await, (true, 1));
    world.finish().await;
}

#[tokio::test]
async fn a_deletion_whose_answer_is_lost_counts() {
    let world = World::new().await;
    let (place, store) = (place(&world), StateStore::new(world.client_for(ME)));
    store
        .write_provider_lock(&place, &lock("1.0.0"), false)
        .await
        .unwrap();
    let deletion = Calls::by(ME).verb(Verb::Delete);
    world.faults().inject(deletion, Times::Once, Fault::DropAnswer);
    store.remove(&place).await.unwrap();
    assert_eq!(secrets(&world).get_opt(NAME).await.unwrap(), None);
    world.finish().await;
}
