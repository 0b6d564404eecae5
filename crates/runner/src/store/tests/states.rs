//! Reading, writing and removing state.

use capt_api::marks;
use capt_core::tenancy::WatchScope;
use capt_terraform::state::{Source, State, newest};
use capt_testkit::{Calls, Fault, Times, Verb, World};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{file, large_state, place, state};
use crate::store::{Before, Kept, Place, StateStore, StoreError};

const ME: &str = "runner";

fn store(world: &World) -> StateStore {
    StateStore::new(world.client_for(ME))
}

fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.client(), world.namespace())
}

async fn patch(client: Client, namespace: String, name: String, patch: Value) {
    let api: Api<Secret> = Api::namespaced(client, &namespace);
    let patched = api
        .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await;
    patched.unwrap();
}

async fn names(world: &World) -> Vec<String> {
    let listed = secrets(world).list(&ListParams::default()).await.unwrap();
    listed
        .items
        .into_iter()
        .filter_map(|secret| secret.metadata.name)
        .collect()
}

/// Puts something between the store and its next patch of the Secret.
fn meanwhile(world: &World, place: &Place, verb: Verb, change: &Value) {
    let (client, namespace) = (world.client(), place.namespace.clone());
    let (name, change) = (place.location.secret_name(0), change.clone());
    let act = move || patch(client.clone(), namespace.clone(), name.clone(), change.clone());
    world.faults().inject(
        Calls::by(ME).verb(verb).resource("secrets"),
        Times::Once,
        Fault::meanwhile(act),
    );
}

#[tokio::test]
async fn state_is_kept_as_the_backend_keeps_it() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = store.read(&place).await.unwrap();
    assert_eq!((&kept.replica, &kept.staged), (&None, &None));

    let written = state(1, 2);
    store.write(&place, &mut kept, &written).await.unwrap();

    let secret = secrets(&world).get("tfstate-prod-vpc-capt").await.unwrap();
    assert_eq!(
        json!(secret.metadata.labels),
        json!({
            "app.kubernetes.io/managed-by": "terraform",
            "tfstate": "true",
            "tfstateSecretSuffix": "capt",
            "tfstateWorkspace": "prod-vpc",
        })
    );
    assert_eq!(json!(secret.metadata.annotations), json!({"encoding": "gzip"}));
    assert_eq!(
        secret.metadata.finalizers.as_deref(),
        Some(&[marks::TERRAFORM_STATE_FINALIZER.to_owned()][..])
    );
    assert_eq!(secret.type_.as_deref(), Some("Opaque"));
    assert_eq!(store.read(&place).await.unwrap().replica, Some(written));
    world.finish().await;
}

#[tokio::test]
async fn the_same_state_is_not_written_twice() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    let before = world.recorder().writes().len();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    let mut fresh = store.read(&place).await.unwrap();
    store.write(&place, &mut fresh, &state(1, 1)).await.unwrap();
    assert_eq!(world.recorder().writes().len(), before);
    world.finish().await;
}

#[tokio::test]
async fn what_others_put_on_a_secret_stays() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    let theirs = json!({
        "metadata": {
            "labels": {"clusterctl.cluster.x-k8s.io/move": ""},
            "annotations": {"example.com/note": "x"},
            "finalizers": [marks::TERRAFORM_STATE_FINALIZER, "example.com/hold"],
        },
        "data": {"more": ByteString(b"y".to_vec())},
    });
    // They come in between what we know and what we write.
    meanwhile(&world, &place, Verb::Patch, &theirs);
    store.write(&place, &mut kept, &state(2, 1)).await.unwrap();

    let secret = secrets(&world).get("tfstate-prod-vpc-capt").await.unwrap();
    let metadata = &secret.metadata;
    assert!(
        metadata
            .labels
            .as_ref()
            .unwrap()
            .contains_key("clusterctl.cluster.x-k8s.io/move")
    );
    assert!(
        metadata
            .annotations
            .as_ref()
            .unwrap()
            .contains_key("example.com/note")
    );
    assert_eq!(metadata.finalizers.as_ref().unwrap().len(), 2);
    assert!(secret.data.unwrap().contains_key("more"));
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(2, 1)));
    world.finish().await;
}

#[tokio::test]
async fn a_state_that_somebody_else_wrote_is_not_written_over() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();

    let mut theirs = store.read(&place).await.unwrap();
    StateStore::new(world.client())
        .write(&place, &mut theirs, &state(5, 3))
        .await
        .unwrap();
    let refused = store.write(&place, &mut kept, &state(2, 2)).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::Overtaken { theirs, ours: 2, .. } if theirs == "5"),
        "{refused}"
    );
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(5, 3)));
    world.finish().await;
}

#[tokio::test]
async fn an_older_state_or_one_of_another_history_is_refused() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let other = |serial, resources: &[Value]| file(serial, "another", resources, "");
    let cases = [
        (state(7, 1), state(6, 1), false),
        (state(7, 1), state(7, 2), true),
        (state(7, 1), other(99, &[]), false),
        // Where nothing exists any more, a new history may begin.
        (state(8, 0), other(1, &[]), true),
    ];
    for (present, next, is_accepted) in cases {
        let mut kept = store.read(&place).await.unwrap();
        store.write(&place, &mut kept, &present).await.unwrap();
        let mut kept = store.read(&place).await.unwrap();
        let written = store.write(&place, &mut kept, &next).await;
        assert_eq!(written.is_ok(), is_accepted, "{written:?}");
    }
    world.finish().await;
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_counts() {
    for (verb, first) in [(Verb::Create, None), (Verb::Patch, Some(state(1, 1)))] {
        let world = World::new().await;
        let (place, store) = (place(&world), store(&world));
        let mut kept = Kept::default();
        if let Some(first) = first {
            store.write(&place, &mut kept, &first).await.unwrap();
        }
        world.faults().inject(
            Calls::by(ME).verb(verb).resource("secrets"),
            Times::Once,
            Fault::DropAnswer,
        );
        store.write(&place, &mut kept, &state(2, 1)).await.unwrap();
        // What it knows afterwards is right too: the next write needs no luck.
        store.write(&place, &mut kept, &state(3, 1)).await.unwrap();
        assert_eq!(store.read(&place).await.unwrap().replica, Some(state(3, 1)));
        world.finish().await;
    }
}

#[tokio::test]
async fn an_outage_is_waited_for() {
    let world = World::embedded_only().await;
    let (place, store) = (place(&world), store(&world));
    let calls = || Calls::by(ME).resource("secrets");
    world.faults().inject(calls(), Times::First(4), Fault::fail(503));
    let mut kept = store.read(&place).await.unwrap();
    world.faults().inject(calls(), Times::First(5), Fault::Refuse);
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    world.faults().inject(calls(), Times::Every, Fault::Refuse);
    let failed = store.write(&place, &mut kept, &state(2, 1)).await.unwrap_err();
    assert!(failed.is_transient(), "{failed}");
    world.finish().await;
}

#[tokio::test]
async fn a_large_state_is_several_secrets() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    let large = large_state(1, 5 << 19);
    store.write(&place, &mut kept, &large).await.unwrap();
    assert_eq!(
        names(&world).await,
        [
            "tfstate-prod-vpc-capt",
            "tfstate-prod-vpc-capt-part-1",
            "tfstate-prod-vpc-capt-part-2"
        ]
    );
    let mut kept = store.read(&place).await.unwrap();
    assert!(kept.replica.as_deref() == Some(large.as_slice()));

    store.write(&place, &mut kept, &state(2, 0)).await.unwrap();
    assert_eq!(names(&world).await, ["tfstate-prod-vpc-capt"]);
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(2, 0)));
    world.finish().await;
}

/// Whatever write of a large state is the last one, what is there afterwards is the old state or the new one.
#[tokio::test]
async fn a_crash_between_two_secrets_loses_nothing() {
    let (old, new) = (large_state(1, 3 << 9), large_state(2, 5 << 9));
    let mut crashes = 0;
    loop {
        let world = World::embedded_only().await;
        let place = place(&world);
        let in_kilobytes = |client| {
            let mut store = StateStore::new(client);
            store.chunk = 1 << 10;
            store
        };
        let store = in_kilobytes(world.client_for(ME));
        let mut kept = Kept::default();
        in_kilobytes(world.client())
            .write(&place, &mut kept, &old)
            .await
            .unwrap();
        let mut kept = store.read(&place).await.unwrap();
        let writes = Calls::by(ME).writes();
        let from_here_on = world.faults().inject(
            writes.matching({
                let left = std::sync::atomic::AtomicUsize::new(crashes);
                move |_| {
                    let order = std::sync::atomic::Ordering::SeqCst;
                    left.fetch_update(order, order, |left| left.checked_sub(1))
                        .is_err()
                }
            }),
            Times::Every,
            Fault::fail(403),
        );
        let is_complete = store.write(&place, &mut kept, &new).await.is_ok();
        if is_complete {
            let _ = from_here_on.clone().may_miss();
        }
        let found = in_kilobytes(world.client()).read(&place).await.unwrap();
        let candidates: Vec<_> = [(Source::Replica, &found.replica), (Source::Staged, &found.staged)]
            .into_iter()
            .filter_map(|(source, file)| Some((source, file.as_deref()?)))
            .map(|(source, file)| capt_terraform::state::Candidate { source, file })
            .collect();
        let (best, _) = newest(&candidates).unwrap();
        assert!(best.file == old || best.file == new, "after {crashes} writes");
        // Whatever was left behind, the next run puts it in order.
        from_here_on.release();
        let best = best.file.to_vec();
        let mut found = found;
        store.write(&place, &mut found, &best).await.unwrap();
        let parts = names(&world).await;
        assert!(parts.iter().all(|name| name.starts_with("tfstate-")), "{parts:?}");
        assert!(store.read(&place).await.unwrap().replica == Some(best));
        world.finish().await;
        if is_complete {
            break;
        }
        crashes += 1;
    }
    assert!(
        crashes > 5,
        "{crashes} writes are too few to have tested anything"
    );
}

#[tokio::test]
async fn a_secret_that_lost_its_labels_is_found_and_labelled_again() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    let name = place.location.secret_name(0);
    let bare = json!({"metadata": {"labels": null}});
    patch(world.client(), place.namespace.clone(), name.clone(), bare).await;

    let mut kept = store.read(&place).await.unwrap();
    assert_eq!(kept.replica, Some(state(1, 1)));
    store.write(&place, &mut kept, &state(2, 1)).await.unwrap();
    let labels = secrets(&world).get(&name).await.unwrap().metadata.labels;
    assert_eq!(labels, Some(place.location.labels()));
    world.finish().await;
}

#[tokio::test]
async fn a_part_that_lost_its_labels_is_found_by_its_name() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let large = large_state(1, 5 << 19);
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &large).await.unwrap();
    let name = place.location.secret_name(1);
    let bare = json!({"metadata": {"labels": null}});
    patch(world.client(), place.namespace.clone(), name, bare).await;

    let kept = store.read(&place).await.unwrap();
    assert!(kept.replica.as_deref() == Some(large.as_slice()));
    world.finish().await;
}

#[tokio::test]
async fn a_copied_secret_is_no_part_of_the_state() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    let mut copy = secrets(&world).get(&place.location.secret_name(0)).await.unwrap();
    copy.metadata.name = Some("backup-of-state-1".to_owned());
    copy.metadata.resource_version = None;
    copy.metadata.finalizers = None;
    secrets(&world)
        .create(&kube::api::PostParams::default(), &copy)
        .await
        .unwrap();

    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(1, 1)));
    world.finish().await;
}

#[tokio::test]
async fn deletion_by_another_hand_is_held_up() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    let name = place.location.secret_name(0);
    secrets(&world)
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();

    let mut kept = store.read(&place).await.unwrap();
    assert!(kept.is_deleting);
    store.write(&place, &mut kept, &state(2, 1)).await.unwrap();
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(2, 1)));

    // Even where somebody takes the finalizer off, the next write brings the state back.
    patch(
        world.client(),
        place.namespace.clone(),
        name,
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    assert!(names(&world).await.is_empty());
    store.write(&place, &mut kept, &state(3, 1)).await.unwrap();
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(3, 1)));
    world.finish().await;
}

#[tokio::test]
async fn damage_is_told_unless_there_is_another_copy() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 1)).await.unwrap();
    let whole = secrets(&world).get(&place.location.secret_name(0)).await.unwrap();
    let broken = json!({"data": {"tfstate": ByteString(b"no gzip".to_vec())}});
    patch(
        world.client(),
        place.namespace.clone(),
        place.location.secret_name(0),
        broken,
    )
    .await;
    let damaged = store.read(&place).await.unwrap_err();
    assert!(matches!(damaged, StoreError::Damaged { .. }), "{damaged}");
    assert!(!damaged.is_transient());

    let mut staged = whole.clone();
    staged.metadata = kube::core::ObjectMeta {
        name: Some(place.location.staged_name(0)),
        ..Default::default()
    };
    secrets(&world)
        .create(&kube::api::PostParams::default(), &staged)
        .await
        .unwrap();
    let kept = store.read(&place).await.unwrap();
    assert_eq!((kept.replica, kept.staged), (None, Some(state(1, 1))));
    world.finish().await;
}

/// Who knows that nobody held the lock looks for a copy only if a watch tells of one, or if no watch tells anything.
#[tokio::test]
async fn a_copy_that_nobody_can_have_left_is_not_looked_for() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let copy = (place.namespace.clone(), place.location.staged_name(0));
    let asked = async |before: Before| {
        let mark = world.recorder().mark();
        store.read_after(&place, before).await.unwrap();
        let requests = world.recorder().requests_since(mark);
        requests.iter().any(|one| one.call.name == copy.1)
    };
    assert!(asked(Before::HardlyEver).await, "no watch told anything yet");
    store.names().only(&WatchScope::Cluster, &[].into());
    assert!(!asked(Before::HardlyEver).await);
    assert!(asked(Before::Perhaps).await);
    store.names().note(&copy.0, &copy.1, true);
    assert!(asked(Before::HardlyEver).await);
    world.finish().await;
}

#[tokio::test]
async fn state_goes_only_when_nothing_exists() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 2)).await.unwrap();
    let refused = store.remove(&place).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::NotEmpty { resources: 2, .. }),
        "{refused}"
    );
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(1, 2)));

    store
        .write(&place, &mut kept, &large_state(2, 3 << 19))
        .await
        .unwrap();
    assert_eq!(
        State::parse(kept.replica.as_ref().unwrap())
            .unwrap()
            .managed()
            .count(),
        0
    );
    world
        .faults()
        .inject(Calls::by(ME).verb(Verb::Delete), Times::Once, Fault::DropAnswer);
    store.remove(&place).await.unwrap();
    assert!(names(&world).await.is_empty());
    store.remove(&place).await.unwrap();
    world.finish().await;
}

#[tokio::test]
async fn state_that_came_back_to_life_is_not_removed() {
    let world = World::new().await;
    let (place, store) = (place(&world), store(&world));
    let mut kept = Kept::default();
    store.write(&place, &mut kept, &state(1, 0)).await.unwrap();
    let packed = capt_terraform::state::pack(&place.location, &state(2, 1));
    let change = json!({"data": {"tfstate": ByteString(packed[0].data.clone())}});
    meanwhile(&world, &place, Verb::Patch, &change);
    let refused = store.remove(&place).await.unwrap_err();
    assert!(matches!(refused, StoreError::Overtaken { .. }), "{refused}");
    assert_eq!(store.read(&place).await.unwrap().replica, Some(state(2, 1)));
    world.finish().await;
}

#[tokio::test]
async fn labels_of_the_users_backend_are_written_too() {
    let world = World::new().await;
    let store = store(&world);
    let place = Place {
        labels: [("team".to_owned(), "net".to_owned())].into(),
        ..place(&world)
    };
    store
        .write(&place, &mut Kept::default(), &state(1, 1))
        .await
        .unwrap();
    let secret = secrets(&world).get(&place.location.secret_name(0)).await.unwrap();
    assert_eq!(secret.metadata.labels.unwrap()["team"], "net");
    world.finish().await;
}

#[tokio::test]
async fn where_a_watch_tells_the_names_no_secret_is_searched_for_and_a_gap_is_still_noticed() {
    let world = World::new().await;
    let (place, mut store) = (place(&world), store(&world));
    store.chunk = 1 << 10;
    let written = large_state(1, 16 << 10);
    store.write(&place, &mut Kept::default(), &written).await.unwrap();
    let told = names(&world).await.into_iter();
    let told = told.map(|name| (world.namespace().to_owned(), name)).collect();
    store.names().only(&WatchScope::Cluster, &told);
    let mark = world.recorder().mark();
    assert_eq!(store.read(&place).await.unwrap().replica, Some(written));
    let asked = world.recorder().requests_since(mark);
    assert!(
        asked.iter().all(|entry| entry.call.verb == Verb::Get),
        "{asked:?}"
    );

    // Somebody takes the first part away. What lies behind it is no reason to begin anew.
    let first = place.location.secret_name(0);
    let free = json!({"metadata": {"finalizers": null}});
    patch(world.client(), place.namespace.clone(), first.clone(), free).await;
    secrets(&world)
        .delete(&first, &DeleteParams::default())
        .await
        .unwrap();
    store.names().note(&place.namespace, &first, false);
    let read = store.read(&place).await;
    assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
    world.finish().await;
}

#[tokio::test]
async fn a_part_that_a_watch_did_not_tell_of_yet_is_searched_for_before_anything_is_called_damaged() {
    let world = World::new().await;
    let (place, mut store) = (place(&world), store(&world));
    store.chunk = 1 << 10;
    let written = large_state(1, 16 << 10);
    store.write(&place, &mut Kept::default(), &written).await.unwrap();
    let first = (world.namespace().to_owned(), place.location.secret_name(0));
    for told in [[].into(), [first].into()] {
        store.names().only(&WatchScope::Cluster, &told);
        let read = store.read(&place).await.unwrap();
        assert_eq!(read.replica.as_ref(), Some(&written), "{told:?}");
    }
    store.remove(&place).await.unwrap();
    assert_eq!(names(&world).await, Vec::<String>::new());
    world.finish().await;
}
