//! What holds for all of them together.

use proptest::prelude::*;

use super::{
    world::{fail, say},
    *,
};

/// Something that happens in the world.
#[derive(Clone, Debug)]
enum Happening {
    Decide,
    Time(i64),
    Workspace,
    Real,
    Trouble(bool),
    LoseSecret,
    LoseApply,
    /// Its WorkspaceTemplateApply has another spec, which nobody has seen yet.
    ChangeApply,
    /// Somebody pauses it.
    PauseApply(bool),
    /// Somebody deletes it, and it is not gone yet.
    EndApply,
    Pause(bool),
    LoseCluster(bool),
    ControlPlane(bool),
    Retry,
    Retain(bool),
    WipeStatus,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => Just(Happening::Decide),
        1 => (0i64..40).prop_map(Happening::Time),
        1 => Just(Happening::Workspace),
        2 => Just(Happening::Real),
        1 => any::<bool>().prop_map(Happening::Trouble),
        1 => Just(Happening::LoseSecret),
        1 => Just(Happening::LoseApply),
        1 => Just(Happening::ChangeApply),
        1 => any::<bool>().prop_map(Happening::PauseApply),
        1 => Just(Happening::EndApply),
        1 => any::<bool>().prop_map(Happening::Pause),
        1 => any::<bool>().prop_map(Happening::LoseCluster),
        1 => any::<bool>().prop_map(Happening::ControlPlane),
        1 => Just(Happening::Retry),
        1 => any::<bool>().prop_map(Happening::Retain),
        1 => Just(Happening::WipeStatus),
    ]
}

fn happen(world: &mut World, happening: &Happening) {
    let now = world.now;
    match happening {
        Happening::Decide => {
            world.step();
        }
        Happening::Time(minutes) => world.now = at(now.as_second() - at(0).as_second() + 60 * minutes),
        Happening::Workspace if !world.snapshot.applies.is_empty() => world.make_workspace(),
        Happening::Real if !world.snapshot.applies.is_empty() => {
            world.apply().trouble = None;
            world.make_real();
        }
        Happening::Trouble(is_transient) if !world.snapshot.applies.is_empty() => {
            let class = if *is_transient {
                TroubleClass::Transient
            } else {
                TroubleClass::Terminal
            };
            fail(world.apply(), class, now);
        }
        Happening::LoseSecret => world.snapshot.secrets.clear(),
        Happening::LoseApply => world.snapshot.applies.clear(),
        Happening::ChangeApply if !world.snapshot.applies.is_empty() => {
            *world.apply().wta.metadata.generation.get_or_insert_default() += 1;
        }
        Happening::PauseApply(is_paused) if !world.snapshot.applies.is_empty() => {
            pause_apply(world, *is_paused);
        }
        Happening::EndApply if !world.snapshot.applies.is_empty() => {
            world.apply().wta.metadata.deletion_timestamp = Some(Time(now));
        }
        Happening::Pause(is_paused) => {
            if let Some(cluster) = &mut world.snapshot.cluster {
                cluster.paused = *is_paused;
            }
        }
        Happening::LoseCluster(is_lost) => {
            world.snapshot.cluster = if *is_lost { None } else { fresh().cluster };
        }
        Happening::ControlPlane(is_there) => {
            world.snapshot.control_planes = if *is_there {
                vec!["CAPTControlPlane blue".to_owned()]
            } else {
                Vec::new()
            };
        }
        Happening::Retry => annotate(&mut world.snapshot, marks::RETRY_REQUESTED, "try"),
        Happening::Retain(is_retained) => {
            world.snapshot.captcluster.spec.retain_vpc_on_delete = Some(*is_retained);
        }
        Happening::WipeStatus => world.snapshot.captcluster.status = None,
        Happening::Workspace
        | Happening::Real
        | Happening::Trouble(_)
        | Happening::ChangeApply
        | Happening::PauseApply(_)
        | Happening::EndApply => {}
    }
}

fn pause_apply(world: &mut World, is_paused: bool) {
    let now = world.now;
    let (status, reason) = if is_paused {
        ("True", "Paused")
    } else {
        ("False", "NotPaused")
    };
    say(world.apply(), "Paused", status, reason, now);
    let annotations = world.apply().wta.metadata.annotations.get_or_insert_default();
    match is_paused {
        true => annotations.insert(foreign_marks::PAUSED.to_owned(), String::new()),
        false => annotations.remove(foreign_marks::PAUSED),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happened, it comes to rest; and when the VPC is there and nothing stands in the way, it is ready.
    #[test]
    fn the_end_is_always_the_same(happenings in prop::collection::vec(happening(), 0..30)) {
        let mut world = World::new(fresh());
        for happening in &happenings {
            happen(&mut world, happening);
        }
        world.rest();
        world.snapshot.cluster = fresh().cluster;
        world.rest();
        if !world.snapshot.applies.is_empty() {
            world.apply().trouble = None;
            world.apply().wta.metadata.deletion_timestamp = None;
            pause_apply(&mut world, false);
        }
        world.make_real();
        world.rest();
        let status = world.status();
        prop_assert!(status.ready);
        prop_assert_eq!(world.verdict("Ready"), "True/VPCCreated");
        prop_assert_eq!(status.failure_reason, None);
        prop_assert_eq!(status.pauses, None);
    }

    /// `ready`, the conditions and the contract never disagree, and nothing goes while a control plane stands.
    #[test]
    fn what_is_said_never_disagrees(happenings in prop::collection::vec(happening(), 0..30), is_going in any::<bool>()) {
        let mut world = World::new(fresh());
        for happening in &happenings {
            happen(&mut world, happening);
            if is_going && world.history.len() == 5 {
                delete(&mut world.snapshot);
            }
            let before = world.snapshot.clone();
            let decision = decide(&world.snapshot, world.now);
            let Some(status) = &decision.own.status else { continue };
            let conditions = status.conditions.clone().unwrap_or_default();
            let is = |type_: &str| find_condition(&conditions, type_).is_some_and(|one| one.status == "True");
            prop_assert_eq!(status.ready, is("Ready"));
            prop_assert!(!(is("VPCCreating") && is("VPCFailed")));
            prop_assert!(!(is("VPCCreating") && is("VPCReady")));
            prop_assert!(!(is("VPCFailed") && is("Ready")));
            prop_assert!(!is("Ready") || is("VPCReady"));
            let why = find_condition(&conditions, "Ready").map(|ready| ready.reason.as_str());
            let is_paused = before.cluster.as_ref().is_some_and(|cluster| cluster.paused);
            if why == Some("VPCUpdating") {
                prop_assert!(is("Ready"));
                let is_looked_at = before.cluster.is_some() && !is_paused && !is_going;
                let is_change = before.applies.iter().any(OwnedSeen::is_change);
                prop_assert!(is_change || !decision.children.is_empty() || !is_looked_at);
            }
            let latch = |status: &CAPTClusterStatus| {
                status.initialization.as_ref().and_then(|flags| flags.provisioned) == Some(true)
            };
            let was_provisioned = before.captcluster.status.as_ref().is_some_and(latch);
            let is_provisioned = latch(status);
            prop_assert!(is_provisioned || !was_provisioned, "a latch stays");
            prop_assert!(is_provisioned || !status.ready);
            if is_paused || before.cluster.is_none() && !is_going {
                prop_assert!(decision.children.is_empty() && decision.removals.is_empty());
            }
            if !before.control_planes.is_empty() {
                prop_assert!(decision.removals.is_empty());
            }
            if before.captcluster.spec.retain_vpc_on_delete == Some(true) {
                for child in &decision.children {
                    prop_assert!(child.fields["metadata"]["annotations"].get(marks::LET_GO).is_none());
                }
            }
        }
    }

    /// A decision that was cut short at any write, or carried out twice, leads to the same end.
    #[test]
    fn a_crash_at_any_write_changes_nothing(cuts in prop::collection::vec(0usize..4, 0..12)) {
        let mut world = World::new(fresh());
        for cut in cuts {
            let mut decision = decide(&world.snapshot, world.now);
            if cut < 1 {
                decision.children.clear();
            }
            if cut < 2 {
                let finalizers = std::mem::take(&mut decision.own.add_finalizers);
                decision.own = crate::decision::OwnChange::default();
                if cut == 1 {
                    decision.own.add_finalizers = finalizers;
                }
            }
            if cut < 3 {
                decision.own.status = None;
            }
            world.carry_out(&decision);
        }
        world.settle();
        prop_assert!(world.status().ready);
        prop_assert_eq!(world.snapshot.applies.len(), 1);
    }
}

#[test]
fn a_hand_edited_status_heals() {
    let mut world = ready();
    world.snapshot.captcluster.status = serde_json::from_value(json!({
        "ready": false, "vpcId": "vpc-other", "failureReason": "x",
        "conditions": [{"type": "VPCFailed", "status": "True", "reason": "VPCCreationTimeout", "message": "",
                        "lastTransitionTime": "2024-11-04T00:00:00Z"}],
    }))
    .expect("a status");
    world.rest();
    assert!(world.status().ready);
    assert_eq!(world.status().vpc_id.as_deref(), Some("vpc-7"));
    assert_eq!(world.status().failure_reason, None);
    say(world.apply(), "Ready", "True", "Available", at(0));
}
