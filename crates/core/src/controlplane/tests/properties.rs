//! What must hold whatever happens, in whatever order.

use capt_api::{
    captcontrolplane::{ControlPlanePhase as Phase, ControlPlaneState as State},
    marks,
    version::Version,
};
use proptest::prelude::*;
use serde_json::json;

use super::{World, fresh, said, world::Terraform};
use crate::owned::TroubleClass;

/// Something that may happen.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Decide,
    DecideAndCrash(usize),
    Act,
    Terraform(Terraform),
    Answers(bool),
    Pause(bool),
    Infrastructure(bool),
    Template(bool),
    Version(u8),
    Retry,
    Endpoint(u8),
    LoseSecret,
    LoseApply,
    LoseStatus,
    Time(i64),
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening as H;
    prop_oneof![
        4 => Just(H::Decide),
        2 => (0_usize..4).prop_map(H::DecideAndCrash),
        4 => Just(H::Act),
        1 => Just(H::Terraform(Terraform::Works)),
        1 => Just(H::Terraform(Terraform::Hangs)),
        1 => any::<bool>().prop_map(|passes| H::Terraform(Terraform::Fails(if passes {
            TroubleClass::Transient
        } else {
            TroubleClass::Terminal
        }))),
        1 => any::<bool>().prop_map(H::Answers),
        1 => any::<bool>().prop_map(H::Pause),
        1 => any::<bool>().prop_map(H::Infrastructure),
        1 => any::<bool>().prop_map(H::Template),
        1 => (29_u8..35).prop_map(H::Version),
        1 => Just(H::Retry),
        1 => (0_u8..4).prop_map(H::Endpoint),
        1 => Just(H::LoseSecret),
        1 => Just(H::LoseApply),
        1 => Just(H::LoseStatus),
        2 => (1_i64..4000).prop_map(H::Time),
    ]
}

fn happen(world: &mut World, happening: Happening) {
    match happening {
        Happening::Decide => {
            world.step();
        }
        Happening::DecideAndCrash(writes) => {
            let decision = world.decide();
            world.carry_out(&decision, writes);
        }
        Happening::Act => world.act(),
        Happening::Terraform(terraform) => world.terraform = terraform,
        Happening::Answers(answers) => world.answers = answers,
        Happening::Pause(on) => world.snapshot.cluster.as_mut().expect("a Cluster").paused = on,
        Happening::Infrastructure(ready) => {
            let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
            infrastructure.ready = ready;
        }
        Happening::Template(there) => {
            world.snapshot.template = fresh().template.filter(|_| there);
        }
        Happening::Version(minor) => {
            world.edit(|spec| spec.version = Version::from(format!("1.{minor}").as_str()));
        }
        Happening::Retry => world.annotate(marks::RETRY_REQUESTED, "1"),
        Happening::Endpoint(which) => {
            let endpoint = ["https://10.0.0.1:6443", "10.0.0.2", "http://wrong", ""][usize::from(which)];
            world
                .outputs
                .insert("cluster_endpoint".to_owned(), json!(endpoint));
        }
        Happening::LoseSecret => world.snapshot.kubeconfig = None,
        Happening::LoseApply => {
            if !world.snapshot.applies.is_empty() {
                world.snapshot.applies.remove(0);
            }
        }
        Happening::LoseStatus => world.snapshot.control_plane.status = None,
        Happening::Time(seconds) => world.clock += seconds,
    }
}

/// Every field of a status tells the same story.
fn agree(world: &World) -> Result<(), TestCaseError> {
    let Some(status) = &world.snapshot.control_plane.status else {
        return Ok(());
    };
    let Some(state) = status.state else { return Ok(()) };
    let holds = |type_| said(status, type_).starts_with("True");
    // A pause keeps everything but the words about it from changing.
    let is_paused = said(status, "Deleting") == "True/Paused";
    let is_deleting = if is_paused {
        state == State::Deleting
    } else {
        holds("Deleting")
    };
    prop_assert_eq!(status.phase == Some(Phase::Failed), state == State::Failed);
    prop_assert_eq!(status.phase == Some(Phase::Deleting), state == State::Deleting);
    prop_assert_eq!(is_deleting, state == State::Deleting);
    let has_failed = state == State::Failed || said(status, "Deleting") == "True/DeletionFailed";
    prop_assert_eq!(holds("Failed"), has_failed);
    prop_assert_eq!(status.failure_reason.is_some(), has_failed);
    prop_assert_eq!(status.failure_message.is_some(), has_failed);
    prop_assert_eq!(holds("Ready"), status.ready);
    prop_assert_eq!(holds("Creating"), status.phase == Some(Phase::Creating));
    prop_assert_eq!(holds("Initialized"), status.initialized);
    let told = status
        .initialization
        .as_ref()
        .and_then(|one| one.control_plane_initialized);
    prop_assert_eq!(told == Some(true), status.initialized);
    prop_assert!(!status.ready || status.initialized);
    prop_assert!(!holds("Available") || status.ready);
    if matches!(state, State::Ready | State::Degraded) || status.phase == Some(Phase::Ready) {
        prop_assert!(status.ready);
    }
    let progress = status.progress.as_ref();
    let percent = progress
        .and_then(|progress| progress.percent_complete)
        .unwrap_or_default();
    prop_assert!((0..=100).contains(&percent));
    let records = progress
        .and_then(|progress| progress.history.as_ref())
        .map_or(0, Vec::len);
    prop_assert!(records <= 20);
    prop_assert!(
        status
            .conditions
            .as_ref()
            .is_none_or(|conditions| conditions.len() <= 32)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fields_never_disagree_nothing_is_destroyed_and_all_ends_well(
        happenings in prop::collection::vec(happening(), 1..60),
    ) {
        let mut world = World::new(fresh());
        let mut latched = false;
        for happening in happenings {
            happen(&mut world, happening);
            agree(&world)?;
            if matches!(happening, Happening::LoseStatus) {
                latched = false;
            }
            let initialized = world.status().initialized;
            prop_assert!(!latched || initialized, "initialized latches");
            latched = initialized;
            let decision = world.decide();
            prop_assert!(decision.removals.is_empty(), "nothing lives is removed");
            prop_assert!(decision.look_again.is_none_or(|after| !after.is_zero()));
        }
        prop_assert!(world.destroyed.is_empty());
        // Everything is put right, and it comes to rest where it should.
        world.terraform = Terraform::Works;
        world.answers = true;
        world.snapshot.template = fresh().template;
        world.snapshot.cluster.as_mut().expect("a Cluster").paused = false;
        world.snapshot.infrastructure.as_mut().expect("infrastructure").ready = true;
        world.outputs.insert("cluster_endpoint".to_owned(), json!("https://10.0.0.1:6443"));
        world.edit(|spec| spec.version = Version::from("1.35"));
        world.settle();
        prop_assert_eq!(world.status().state, Some(State::Ready), "{:#?}", world.status());
        prop_assert_eq!(world.status().version, Some("1.35".to_owned()));
        agree(&world)?;
        prop_assert!(world.decide().is_quiet());
    }

    #[test]
    fn whatever_happened_it_goes_and_leaves_nothing(
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let mut world = World::new(fresh());
        for happening in happenings {
            happen(&mut world, happening);
        }
        world.snapshot.cluster.as_mut().expect("a Cluster").paused = false;
        let is_held = world.snapshot.control_plane.metadata.finalizers.is_some();
        world.delete();
        if is_held {
            world.step();
            agree(&world)?;
        }
        world.settle();
        prop_assert!(world.is_gone || !is_held);
        prop_assert!(world.snapshot.applies.is_empty() || !is_held);
        prop_assert!(world.snapshot.kubeconfig.is_none());
    }
}
