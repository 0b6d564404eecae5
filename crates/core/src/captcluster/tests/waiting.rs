//! Who keeps a CAPTCluster from doing anything: somebody else, a pause, the lack of an owner.

use super::*;
use crate::owned::RunGlance;

#[test]
fn what_somebody_else_manages_is_left_alone() {
    let by_label = |snapshot: &mut Snapshot| {
        let labels = snapshot.captcluster.metadata.labels.get_or_insert_default();
        labels.insert(foreign_marks::MANAGED_BY.to_owned(), "others".to_owned());
    };
    let by_annotation = |snapshot: &mut Snapshot| annotate(snapshot, foreign_marks::MANAGED_BY, "");
    let ways: [&dyn Fn(&mut Snapshot); 2] = [&by_label, &by_annotation];
    for manage in ways {
        for mut snapshot in [fresh(), held(), with_existing()] {
            manage(&mut snapshot);
            assert!(decide(&snapshot, at(1)).is_quiet());
        }
        // A hold from before goes with the object, and nothing else does.
        let mut world = ready();
        manage(&mut world.snapshot);
        delete(&mut world.snapshot);
        let decision = decide(&world.snapshot, at(1));
        assert_eq!(decision.own.remove_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
        assert!(decision.children.is_empty() && decision.removals.is_empty());
    }
}

#[test]
fn nothing_is_touched_before_a_cluster_owns_it() {
    let mut unowned = fresh();
    unowned.captcluster.metadata.owner_references = None;
    unowned.cluster = None;
    let mut shimmed = fresh();
    if let Some(owners) = &mut shimmed.captcluster.metadata.owner_references {
        owners.truncate(1);
    }
    shimmed.cluster = None;
    let mut gone = fresh();
    gone.cluster = None;
    let mut existing = with_existing();
    existing.captcluster.metadata.finalizers = None;
    existing.cluster = None;
    for (name, snapshot) in [
        ("no owner", unowned),
        ("only the shim of a topology", shimmed),
        ("an owner that does not exist", gone),
        ("a VPC that exists", existing),
    ] {
        let decision = decide(&snapshot, at(1));
        assert!(
            decision.children.is_empty() && decision.removals.is_empty(),
            "{name}"
        );
        assert!(
            decision.own.add_finalizers.is_empty() && decision.own.spec.is_empty(),
            "{name}"
        );
        assert_eq!(
            verdict(&snapshot, &decision, "WaitingForCluster"),
            "True/ClusterNotFound",
            "{name}"
        );
        // All conditions are there from the first visit on.
        for type_ in ["Ready", "VPCReady", "VPCCreating", "VPCFailed"] {
            assert_eq!(
                verdict(&snapshot, &decision, type_),
                "False/ClusterNotFound",
                "{name}"
            );
        }
        assert_eq!(
            verdict(&snapshot, &decision, "Paused"),
            "False/NotPaused",
            "{name}"
        );
        assert_eq!(decision.events.len(), 1, "{name}: {:?}", decision.events);
    }
}

/// The Go implementation looks for a Cluster of its own name, and calls it an error if there is none.
#[test]
fn the_cluster_is_found_by_owner_reference_whatever_it_is_called() {
    let mut world = World::new(fresh());
    world.rest();
    assert_eq!(world.verdict("WaitingForCluster"), "False/ClusterFound");
    assert_eq!(
        world
            .apply()
            .wta
            .metadata
            .labels
            .as_ref()
            .map(|labels| labels[foreign_marks::CLUSTER_NAME].as_str()),
        Some("blue")
    );
}

#[test]
fn who_may_delete_a_network_is_told_what_becomes_of_the_vpc() {
    let mut retained = fresh();
    retained.captcluster.spec.retain_vpc_on_delete = Some(true);
    let way = "Make it again, or delete this object";
    for (mut snapshot, fate) in [
        (
            fresh(),
            ", which destroys its VPC unless spec.retainVpcOnDelete is true",
        ),
        (retained, ", which leaves its VPC as it is"),
        (with_existing(), ""),
    ] {
        snapshot.cluster = None;
        let decision = decide(&snapshot, at(1));
        let told = condition(&snapshot, &decision, "WaitingForCluster").message;
        assert!(told.ends_with(&format!("{way}{fate}")), "{told}");
    }
}

#[test]
fn what_is_there_stays_when_the_cluster_is_lost() {
    let mut world = ready();
    world.snapshot.cluster = None;
    world.rest();
    assert_eq!(world.verdict("WaitingForCluster"), "True/ClusterNotFound");
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
    assert!(world.status().ready);
}

#[test]
fn pausing_stops_everything_even_deletion() {
    let by_cluster = |snapshot: &mut Snapshot| {
        if let Some(cluster) = &mut snapshot.cluster {
            cluster.paused = true;
        }
    };
    let by_mark = |snapshot: &mut Snapshot| annotate(snapshot, foreign_marks::PAUSED, "");
    let ways: [&dyn Fn(&mut Snapshot); 2] = [&by_cluster, &by_mark];
    for pause in ways {
        let mut unheld = fresh();
        pause(&mut unheld);
        let mut deleting = ready().snapshot;
        pause(&mut deleting);
        delete(&mut deleting);
        let mut changed = ready().snapshot;
        pause(&mut changed);
        changed.captcluster.spec.vpc_template_ref = None;
        annotate(&mut changed, marks::RETRY_REQUESTED, "1");
        for snapshot in [unheld, deleting, changed] {
            let decision = decide(&snapshot, at(9));
            assert!(decision.children.is_empty() && decision.removals.is_empty());
            assert!(decision.own.add_finalizers.is_empty() && decision.own.remove_finalizers.is_empty());
            assert!(decision.own.annotations.is_empty() && decision.own.spec.is_empty());
            assert_eq!(verdict(&snapshot, &decision, "Paused"), "True/Paused");
        }
    }
}

#[test]
fn what_the_end_of_a_pause_does_to_a_network_that_goes_is_said_before_it_ends() {
    let to_keep =
        "ending the pause destroys its VPC. To keep that, first: kubectl patch captcluster net -n team";
    let mut retained = ready().snapshot;
    retained.captcluster.spec.retain_vpc_on_delete = Some(true);
    let mut begun = ready();
    begun.apply().wta.metadata.deletion_timestamp = Some(Time(at(1)));
    begun.apply().workspace.get_or_insert_default().deleting = true;
    for (mut snapshot, expected) in [
        (ready().snapshot, to_keep),
        (begun.snapshot, "the destruction of its VPC has begun"),
        (retained, "its VPC is kept"),
        (with_existing(), "nothing is destroyed"),
    ] {
        annotate(&mut snapshot, foreign_marks::PAUSED, "");
        delete(&mut snapshot);
        let decision = decide(&snapshot, at(9));
        assert_eq!(verdict(&snapshot, &decision, "Deleting"), "True/Paused");
        let told = condition(&snapshot, &decision, "Deleting").message;
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn an_object_that_was_moved_is_left_to_the_other_side() {
    let mut snapshot = ready().snapshot;
    annotate(&mut snapshot, foreign_marks::DELETE_FOR_MOVE, "");
    delete(&mut snapshot);
    assert!(decide(&snapshot, at(1)).is_quiet());
}

#[test]
fn the_object_is_held_before_anything_is_made_or_said() {
    for mut snapshot in [fresh(), with_existing()] {
        snapshot.captcluster.metadata.finalizers = None;
        let decision = decide(&snapshot, at(1));
        assert_eq!(decision.own.add_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
        assert!(decision.children.is_empty() && decision.events.is_empty());
        assert_eq!(decision.own.status, None, "nothing is ready before it is made");
    }
}

#[test]
fn what_was_begun_is_known_by_its_label_when_its_owner_is_stripped() {
    let label = |snapshot: &mut Snapshot| {
        let labels = snapshot.captcluster.metadata.labels.get_or_insert_default();
        labels.insert(foreign_marks::CLUSTER_NAME.to_owned(), "blue".to_owned());
        snapshot.captcluster.metadata.owner_references = None;
    };
    let mut new = fresh();
    label(&mut new);
    assert_eq!(
        super::super::snapshot::owner(&new.captcluster),
        None,
        "nothing was begun"
    );
    let mut begun = held();
    label(&mut begun);
    assert_eq!(super::super::snapshot::owner(&begun.captcluster), Some("blue"));
}

#[test]
fn a_paused_cluster_that_refers_to_it_is_named_before_it_owns_it() {
    let mut snapshot = fresh();
    snapshot.captcluster.metadata.owner_references = None;
    snapshot.cluster = None;
    snapshot.paused_by = Some("blue".to_owned());
    let decision = decide(&snapshot, at(1));
    assert!(decision.children.is_empty() && decision.own.add_finalizers.is_empty());
    assert_eq!(verdict(&snapshot, &decision, "Paused"), "True/Paused");
    let told = condition(&snapshot, &decision, "Paused").message;
    assert!(
        told.contains("the Cluster blue, which refers to this object"),
        "{told}"
    );
}

/// A pause freezes how far a network is. That something runs is no more true when it has come to its end.
#[test]
fn what_was_under_way_when_a_pause_began_is_not_said_to_be_when_nothing_runs_any_more() {
    let running = |is_running| {
        Some(RunGlance {
            is_running,
            is_applying: is_running,
            ..RunGlance::default()
        })
    };
    let held_up = "Nothing runs at present; it goes on when the pause ends";
    let mut making = World::new(held());
    making.rest();
    making.make_workspace();
    making.rest();
    let mut going = ready();
    delete(&mut going.snapshot);
    going.rest();
    for (mut world, type_, words) in [
        (making, "VPCCreating", "makes the VPC"),
        (going, "Deleting", "The VPC is being destroyed"),
    ] {
        let before = world.message(type_);
        assert!(before.contains(words), "{before}");
        world.apply().run = running(true);
        world.snapshot.cluster.as_mut().expect("a Cluster").paused = true;
        world.rest();
        assert_eq!(world.message(type_), before, "it comes to its end");
        let verdict = world.verdict(type_);
        world.apply().run = running(false);
        world.rest();
        let told = world.message(type_);
        assert!(told.starts_with(held_up), "{told}");
        assert_eq!(world.verdict(type_), verdict, "it is frozen");
        world.snapshot.cluster.as_mut().expect("a Cluster").paused = false;
        world.apply().run = running(true);
        world.rest();
        assert_eq!(world.message(type_), before);
    }
}
