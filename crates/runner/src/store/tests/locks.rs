//! Taking, holding and losing locks.

use std::time::Duration;

use capt_terraform::{
    diagnostics::Class,
    lock::{LOCK_INFO_ANNOTATION, Taken},
};
use capt_testkit::{Calls, Fault, Times, World};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{clock, place};
use crate::{
    engine::{Failure, FailureKind},
    store::{Before, Locks, Purpose},
};

const LEASE: &str = "lock-tfstate-prod-vpc-capt";

fn locks(world: &World, runner: &str) -> Locks {
    Locks::new(world.client_for(runner), runner, clock(world))
}

fn purpose() -> Purpose {
    Purpose {
        operation: "OperationTypeApply".to_owned(),
        info: "Workspace test/vpc".to_owned(),
        version: "1.11.4".to_owned(),
    }
}

fn leases(world: &World) -> Api<Lease> {
    Api::namespaced(world.client(), world.namespace())
}

/// A lock as Terraform takes it.
fn lock_of_terraform() -> Lease {
    serde_json::from_value(json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": LEASE,
            "annotations": {LOCK_INFO_ANNOTATION: json!({
                "ID": "abc", "Operation": "OperationTypeApply", "Who": "ann@laptop", "Created": "2029-12-31T23:00:00Z",
            }).to_string()},
        },
        "spec": {"holderIdentity": "abc"},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_lock_is_seen_by_terraform_and_given_back_as_terraform_does() {
    let world = World::new().await;
    let (place, locks) = (place(&world), locks(&world, "one"));
    let lock = locks
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(*lock.taken(), Taken::Absent);

    let lease = leases(&world).get(LEASE).await.unwrap();
    let spec = lease.spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(lock.id()));
    let info: serde_json::Value =
        serde_json::from_str(&lease.metadata.annotations.unwrap()[LOCK_INFO_ANNOTATION]).unwrap();
    assert_eq!(info["ID"], lock.id());
    assert_eq!(info["Operation"], "OperationTypeApply");
    assert_eq!(lease.metadata.labels, Some(place.location.labels()));

    lock.release().await.unwrap();
    let lease = leases(&world).get(LEASE).await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity, None);
    assert_eq!(lease.metadata.annotations.unwrap_or_default(), Default::default());

    let lock = locks
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(*lock.taken(), Taken::Free);
    lock.discard().await.unwrap();
    assert!(leases(&world).get_opt(LEASE).await.unwrap().is_none());
    world.finish().await;
}

#[tokio::test]
async fn a_lock_that_somebody_wrote_to_is_given_back_all_the_same() {
    let world = World::embedded_only().await;
    let (place, locks) = (place(&world), locks(&world, "one"));
    let lock = locks
        .acquire(&place, &purpose(), Before::HardlyEver, CancellationToken::new())
        .await
        .unwrap();
    let note = Patch::Merge(json!({"metadata": {"annotations": {"note": "hands off"}}}));
    leases(&world)
        .patch(LEASE, &PatchParams::default(), &note)
        .await
        .unwrap();

    lock.release().await.unwrap();
    let lease = leases(&world).get(LEASE).await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity, None);
    assert_eq!(lease.metadata.annotations.unwrap()["note"], "hands off");
    world.finish().await;
}

#[tokio::test]
async fn a_lock_of_terraform_is_never_taken_but_can_be_freed_by_name() {
    let world = World::embedded_only().await;
    let (place, locks) = (place(&world), locks(&world, "one"));
    leases(&world)
        .create(&PostParams::default(), &lock_of_terraform())
        .await
        .unwrap();

    for before in [Before::Perhaps, Before::HardlyEver] {
        let held = locks
            .acquire(&place, &purpose(), before, CancellationToken::new())
            .await
            .unwrap_err();
        assert_eq!(held.until(), None);
        let failure = Failure::from(held);
        assert_eq!(failure.kind, FailureKind::Terraform(Class::Locked));
        for word in [
            "ann@laptop",
            "2029-12-31T23:00:00Z",
            "abc",
            &format!("delete lease {LEASE}"),
        ] {
            assert!(
                failure.message.contains(word),
                "{word} is not in: {}",
                failure.message
            );
        }
        world.advance(Duration::from_secs(86_400)).await;
    }

    assert!(!locks.unlock(&place, "another").await.unwrap());
    assert!(locks.unlock(&place, "abc").await.unwrap());
    let lock = locks
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(*lock.taken(), Taken::Free);
    world.finish().await;
}

#[tokio::test]
async fn a_lock_that_is_renewed_is_kept_and_one_that_is_not_expires() {
    let world = World::embedded_only().await;
    let place = place(&world);
    let (one, two) = (locks(&world, "one"), locks(&world, "two"));
    let lost = CancellationToken::new();
    let lock = one
        .acquire(&place, &purpose(), Before::Perhaps, lost.clone())
        .await
        .unwrap();
    for _ in 0..10 {
        let held = two
            .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
            .await
            .unwrap_err();
        assert!(held.until().is_some());
        assert!(held.to_string().contains("the runner one"), "{held}");
        world.advance(Duration::from_secs(60)).await;
    }
    assert!(!lost.is_cancelled());

    // The process dies.
    drop(lock);
    let held = two
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap_err();
    assert!(held.until().is_some());
    // It may take a while until a holder notices, and has stopped.
    world.advance(Duration::from_secs(31)).await;
    two.acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap_err();
    world.advance(Duration::from_secs(30)).await;
    let lock = two
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(
        *lock.taken(),
        Taken::Expired {
            runner: "one".to_owned()
        }
    );
    world.finish().await;
}

#[tokio::test]
async fn a_runner_that_is_started_again_finds_its_own_lock() {
    let world = World::new().await;
    let place = place(&world);
    let before = locks(&world, "one")
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    drop(before);
    let after = locks(&world, "one")
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(*after.taken(), Taken::Own);
    world.finish().await;
}

#[tokio::test]
async fn two_workspaces_of_one_runner_do_not_share_a_lock() {
    let world = World::new().await;
    let (place, locks) = (place(&world), locks(&world, "one"));
    let lock = locks
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    let held = locks
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap_err();
    assert!(held.to_string().contains("Workspace test/vpc"), "{held}");
    lock.release().await.unwrap();
    locks
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    world.finish().await;
}

#[tokio::test]
async fn losing_a_lock_ends_the_operation() {
    for taken_by_another in [false, true] {
        let world = World::embedded_only().await;
        let (place, locks) = (place(&world), locks(&world, "one"));
        let lost = CancellationToken::new();
        let lock = locks
            .acquire(&place, &purpose(), Before::Perhaps, lost.clone())
            .await
            .unwrap();
        leases(&world)
            .delete(LEASE, &DeleteParams::default())
            .await
            .unwrap();
        if taken_by_another {
            leases(&world)
                .create(&PostParams::default(), &lock_of_terraform())
                .await
                .unwrap();
        }
        world.advance(Duration::from_secs(12)).await;
        assert!(lost.is_cancelled());
        // What is not ours is not given back.
        lock.release().await.unwrap();
        let lease = leases(&world).get_opt(LEASE).await.unwrap();
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        assert_eq!(holder.is_some(), taken_by_another);
        world.finish().await;
    }
}

#[tokio::test]
async fn a_short_outage_does_not_lose_a_lock_and_a_long_one_does() {
    for (seconds, is_lost) in [(15, false), (40, true)] {
        let world = World::embedded_only().await;
        let (place, locks) = (place(&world), locks(&world, "one"));
        let lost = CancellationToken::new();
        let _lock = locks
            .acquire(&place, &purpose(), Before::Perhaps, lost.clone())
            .await
            .unwrap();
        let outage = world
            .faults()
            .inject(Calls::by("one"), Times::Every, Fault::Refuse);
        world.advance(Duration::from_secs(seconds)).await;
        outage.release();
        world.advance(Duration::from_secs(60)).await;
        assert_eq!(lost.is_cancelled(), is_lost, "after {seconds} seconds");
        world.finish().await;
    }
}

#[tokio::test]
async fn a_lock_is_taken_even_if_answers_are_lost() {
    let world = World::new().await;
    let (place, locks) = (place(&world), locks(&world, "one"));
    world.faults().inject(
        Calls::by("one").resource("leases"),
        Times::Nth(2),
        Fault::DropAnswer,
    );
    let lock = locks
        .acquire(&place, &purpose(), Before::Perhaps, CancellationToken::new())
        .await
        .unwrap();
    let lease = leases(&world).get(LEASE).await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity.as_deref(), Some(lock.id()));
    world.finish().await;
}
