//! Elections on an API in this process, in virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say so and stop"
)]

use std::{sync::Arc, time::Duration};

use capt_election::{Candidacy, Gate, Leadership, Terms, guarded};
use capt_testkit::{Calls, Fault, Times, Verb, World};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, PostParams},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

const NAME: &str = "leader";

fn candidacy(world: &World, who: &str) -> Candidacy {
    let clock = world.clock();
    let client = world.client_for(who);
    Candidacy::new(
        client,
        "default",
        NAME,
        who,
        Terms::default(),
        Arc::new(move || clock.now()),
    )
}

async fn win(world: &World, who: &str) -> Leadership {
    let stop = CancellationToken::new();
    candidacy(world, who).win(|_| {}, &stop).await.unwrap()
}

fn winning(world: &World, who: &str) -> JoinHandle<(Leadership, Instant)> {
    let candidacy = candidacy(world, who);
    tokio::spawn(async move {
        let stop = CancellationToken::new();
        (candidacy.win(|_| {}, &stop).await.unwrap(), Instant::now())
    })
}

fn leases(world: &World) -> Api<Lease> {
    Api::namespaced(world.client(), "default")
}

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_leads_at_once_when_the_lease_is_given_back() {
    let world = World::embedded_only().await;
    let first = win(&world, "a").await;
    let second = winning(&world, "b");
    world.advance(Duration::from_secs(60)).await;
    assert!(!second.is_finished() && first.gate().is_open());

    let before = Instant::now();
    let gate = first.gate();
    first.release().await;
    assert!(!gate.is_open());
    let (leadership, at) = second.await.unwrap();
    assert!(at - before < Duration::from_secs(1), "{:?}", at - before);
    let spec = leases(&world).get(NAME).await.unwrap().spec.unwrap();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some("b"), Some(1))
    );
    leadership.release().await;
    world.finish().await;
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_one_that_died_is_taken_when_it_ran_out_and_not_before() {
    let world = World::embedded_only().await;
    let first = win(&world, "a").await;
    let second = winning(&world, "b");
    world.advance(Duration::from_secs(31)).await;
    let died = Instant::now();
    drop(first);
    let (_leadership, at) = second.await.unwrap();
    let waited = (at - died).as_secs();
    assert!((13..=16).contains(&waited), "{waited}");
    world.finish().await;
}

/// Every way in which a leader can lose touch with the API, and whether it is given the Lease back in the end.
#[tokio::test(start_paused = true)]
async fn one_that_cannot_renew_stops_before_another_begins() {
    for fault in [
        Fault::Hang,
        Fault::Refuse,
        Fault::fail(503),
        Fault::fail(403),
        Fault::DelayAnswer(Duration::from_secs(60)),
    ] {
        let world = World::embedded_only().await;
        let first = win(&world, "a").await;
        let second = winning(&world, "b");
        world.advance(Duration::from_secs(10)).await;
        let cut = world.faults().inject(
            Calls::by("a")
                .resource("leases")
                .verb(Verb::Update)
                .verb(Verb::Get),
            Times::Every,
            fault.clone(),
        );
        first.gate().closed().await;
        let stopped = Instant::now();
        assert!(!second.is_finished(), "{fault:?}");
        let (leadership, began) = second.await.unwrap();
        assert!(
            began - stopped >= Duration::from_secs(4),
            "{fault:?}: {:?}",
            began - stopped
        );
        assert!(leadership.gate().is_open());
        cut.release();
        // It does not begin to lead again because the API answers again.
        world.advance(Duration::from_secs(60)).await;
        assert!(
            !first.gate().is_open() && leadership.gate().is_open(),
            "{fault:?}"
        );
        world.finish().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_answer_was_lost_is_no_loss() {
    let world = World::embedded_only().await;
    let first = win(&world, "a").await;
    let renewals = Calls::by("a").resource("leases").verb(Verb::Update);
    world
        .faults()
        .inject(renewals, Times::First(3), Fault::DropAnswer);
    world.advance(Duration::from_secs(60)).await;
    assert!(first.gate().is_open());
    first.release().await;
    let spec = leases(&world).get(NAME).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""));
    world.finish().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_is_told_to_stop_while_it_takes_the_lease_gives_it_back() {
    let world = World::embedded_only().await;
    let taking = Calls::by("a").resource("leases").verb(Verb::Create);
    world
        .faults()
        .inject(taking, Times::Once, Fault::DelayAnswer(Duration::from_secs(1)));
    let (candidacy, stop) = (candidacy(&world, "a"), CancellationToken::new());
    let stopping = stop.clone();
    let winning = tokio::spawn(async move { candidacy.win(|_| {}, &stopping).await });
    sleep(Duration::from_millis(500)).await;
    stop.cancel();
    winning
        .await
        .unwrap()
        .expect("it was taken already")
        .release()
        .await;
    let spec = leases(&world).get(NAME).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some(""));

    // Who only waits stops at once.
    let _leader = win(&world, "b").await;
    assert!(self::candidacy(&world, "a").win(|_| {}, &stop).await.is_none());
    world.finish().await;
}

#[tokio::test(start_paused = true)]
async fn of_many_who_reach_for_it_at_once_one_leads() {
    let world = World::embedded_only().await;
    let mut candidates: Vec<_> = (0..5).map(|n| winning(&world, &format!("c{n}"))).collect();
    world.advance(Duration::from_secs(5)).await;
    assert_eq!(
        candidates
            .iter()
            .filter(|candidate| candidate.is_finished())
            .count(),
        1
    );
    // Each of the others has its turn as those before it go.
    while !candidates.is_empty() {
        let at = candidates.iter().position(JoinHandle::is_finished).unwrap();
        let (leadership, _) = candidates.swap_remove(at).await.unwrap();
        leadership.release().await;
        world.advance(Duration::from_secs(1)).await;
        let leading = candidates
            .iter()
            .filter(|candidate| candidate.is_finished())
            .count();
        assert_eq!(leading, candidates.len().min(1));
    }
    world.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_deletes_ends_the_leadership() {
    let world = World::embedded_only().await;
    let first = win(&world, "a").await;
    leases(&world)
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
    timeout(Duration::from_secs(5), first.gate().closed())
        .await
        .unwrap();
    assert!(win(&world, "b").await.gate().is_open());
    world.finish().await;
}

#[tokio::test(start_paused = true)]
async fn one_name_does_not_make_two_leaders() {
    let world = World::embedded_only().await;
    let first = win(&world, "a").await;
    let namesake = winning(&world, "a");
    world.advance(Duration::from_secs(60)).await;
    assert!(first.gate().is_open() && !namesake.is_finished());
    namesake.abort();
    world.finish().await;
}

#[tokio::test(start_paused = true)]
async fn writes_pass_only_while_it_leads_and_reads_always() {
    let world = World::embedded_only().await;
    let first = win(&world, "a").await;
    let maps: Api<ConfigMap> = Api::namespaced(guarded(&world.client(), &first.gate()), "default");
    maps.create(&PostParams::default(), &map("before")).await.unwrap();
    first.release().await;
    assert!(maps.get_opt("before").await.unwrap().is_some());
    let refused = maps
        .create(&PostParams::default(), &map("after"))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("does not lead"), "{refused}");
    assert!(maps.get_opt("after").await.unwrap().is_none());
    world.finish().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_under_way_when_it_stops_leading_is_given_up() {
    let world = World::embedded_only().await;
    let first = win(&world, "a").await;
    let slow = Calls::by("slow").resource("configmaps");
    world
        .faults()
        .inject(slow, Times::Once, Fault::Delay(Duration::from_secs(30)));
    let gate: Gate = first.gate();
    let maps: Api<ConfigMap> = Api::namespaced(guarded(&world.client_for("slow"), &gate), "default");
    let writing = tokio::spawn(async move { maps.create(&PostParams::default(), &map("late")).await });
    sleep(Duration::from_secs(1)).await;
    let before = Instant::now();
    drop(first);
    let refused = writing.await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("does not lead"), "{refused}");
    assert!(before.elapsed() <= Terms::default().deadline);
    world.advance(Duration::from_secs(60)).await;
    let plain: Api<ConfigMap> = Api::namespaced(world.client(), "default");
    assert!(plain.get_opt("late").await.unwrap().is_none());
    world.finish().await;
}
