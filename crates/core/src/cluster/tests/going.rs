//! Pausing and deletion.

use super::*;
use crate::crds::{self, CrdObstacle};

#[test]
fn pausing_stops_everything_even_deletion() {
    let by_spec = |snapshot: &mut Snapshot| snapshot.cluster.spec.paused = Some(true);
    let by_mark = |snapshot: &mut Snapshot| annotate(snapshot, marks::PAUSED);
    let ways: [&dyn Fn(&mut Snapshot); 2] = [&by_spec, &by_mark];
    for pause in ways {
        let mut snapshot = snapshot();
        pause(&mut snapshot);
        delete(&mut snapshot);
        let Referenced::Found(object) = &mut snapshot.infrastructure else {
            unreachable!()
        };
        object.owners.clear();
        object.is_initialized = true;
        let decision = decide(&snapshot, at(1));
        assert!(decision.removals.is_empty() && decision.children.is_empty());
        assert!(decision.own.remove_finalizers.is_empty() && decision.own.spec.is_empty());
        assert_eq!(verdict(&snapshot, &decision, "Paused"), "True/Paused");
        assert_eq!(status(&snapshot, &decision).phase, None);
        assert_eq!(verdict(&snapshot, &decision, "Deleting"), "True/Paused");
    }
    let decision = decide(&snapshot(), at(1));
    assert_eq!(verdict(&snapshot(), &decision, "Paused"), "False/NotPaused");
}

#[test]
fn a_cluster_that_was_moved_is_left_to_the_other_side() {
    let mut snapshot = snapshot();
    annotate(&mut snapshot, marks::DELETE_FOR_MOVE);
    delete(&mut snapshot);
    assert!(decide(&snapshot, at(1)).is_quiet());
}

#[test]
fn a_cluster_that_nobody_holds_is_left_to_go() {
    let mut snapshot = snapshot();
    snapshot.cluster.metadata.finalizers = Some(vec!["example.org/other".to_owned()]);
    delete(&mut snapshot);
    assert!(decide(&snapshot, at(1)).is_quiet());
}

#[test]
fn workers_go_before_the_control_plane_and_that_before_the_infrastructure() {
    let mut snapshot = snapshot();
    delete(&mut snapshot);
    let worker = |name: &str, owned_by_cluster| Worker {
        target: Target {
            api_version: "cluster.x-k8s.io/v1beta2".to_owned(),
            kind: "MachineDeployment".to_owned(),
            namespace: Some("team".to_owned()),
            name: name.to_owned(),
        },
        uid: name.to_owned(),
        resource_version: "1".to_owned(),
        deleting: false,
        owned_by_cluster,
    };
    let gone = |decision: &Decision<ClusterStatus>| {
        let removals = decision.removals.iter();
        removals
            .map(|removal| (removal.target.kind.clone(), removal.uid.clone()))
            .collect::<Vec<_>>()
    };
    let pair = |kind: &str, uid: &str| (kind.to_owned(), uid.to_owned());

    snapshot.workers = vec![worker("a", true), worker("b", false)];
    let decision = decide(&snapshot, at(1));
    assert_eq!(gone(&decision), [pair("MachineDeployment", "a")]);
    let found = condition(&snapshot, &decision, "Deleting").expect("set");
    assert_eq!(found.reason, "WaitingForWorkersDeletion");
    assert_eq!(
        found.message,
        "Waiting for MachineDeployment a, MachineDeployment b to go"
    );

    snapshot.workers.clear();
    let decision = decide(&snapshot, at(1));
    assert_eq!(gone(&decision), [pair("CAPTControlPlane", "CAPTControlPlane-1")]);
    assert_eq!(decision.removals[0].resource_version, "7");
    assert_eq!(
        verdict(&snapshot, &decision, "Deleting"),
        "True/WaitingForControlPlaneDeletion"
    );

    let Referenced::Found(object) = &mut snapshot.control_plane else {
        unreachable!()
    };
    object.deleting = true;
    let decision = decide(&snapshot, at(1));
    assert!(gone(&decision).is_empty(), "it is waited for");
    assert!(decision.own.remove_finalizers.is_empty());

    snapshot.control_plane = Referenced::Missing;
    let decision = decide(&snapshot, at(1));
    assert_eq!(gone(&decision), [pair("CAPTCluster", "CAPTCluster-1")]);
    assert!(decision.own.remove_finalizers.is_empty());
    // Nobody has to make it again, whether it served or not.
    let found = condition(&snapshot, &decision, "ControlPlaneAvailable").expect("set");
    assert_eq!(
        (found.reason.as_str(), found.message.as_str()),
        ("ObjectDeleted", "CAPTControlPlane blue is gone")
    );

    snapshot.infrastructure = Referenced::Missing;
    let decision = decide(&snapshot, at(1));
    assert_eq!(decision.own.remove_finalizers, [marks::CLUSTER_FINALIZER]);
    assert!(
        decision.own.status.is_none(),
        "nobody can write the status of what is gone"
    );
    assert!(decision.events.iter().any(|event| event.reason == "Deleted"));
}

#[test]
fn what_cannot_go_is_told_and_what_it_does_meanwhile_is_not() {
    for (reason, is_told) in [("Deleting", false), ("DeletionFailed", true)] {
        let mut snapshot = snapshot();
        delete(&mut snapshot);
        let Referenced::Found(object) = &mut snapshot.control_plane else {
            unreachable!()
        };
        object.deleting = true;
        object.conditions.push(Condition {
            type_: "Deleting".to_owned(),
            status: "True".to_owned(),
            reason: reason.to_owned(),
            message: "pods are left".to_owned(),
            last_transition_time: Time(at(0)),
            observed_generation: None,
        });
        let decision = decide(&snapshot, at(1));
        let found = condition(&snapshot, &decision, "Deleting").expect("set");
        assert_eq!(found.reason, "WaitingForControlPlaneDeletion");
        assert_eq!(
            found.message.contains("pods are left"),
            is_told,
            "{}",
            found.message
        );
    }
}

#[test]
fn nothing_goes_while_it_is_unknown_whether_the_control_plane_is_gone() {
    let mut snapshot = snapshot();
    delete(&mut snapshot);
    snapshot.control_plane = Referenced::Unresolvable("No such kind".to_owned());
    let decision = decide(&snapshot, at(1));
    assert!(decision.removals.is_empty() && decision.own.remove_finalizers.is_empty());
    assert_eq!(verdict(&snapshot, &decision, "Deleting"), "True/InternalError");
}

#[test]
fn what_is_gone_while_the_cluster_goes_is_no_issue() {
    let mut snapshot = latched();
    delete(&mut snapshot);
    snapshot.control_plane = Referenced::Missing;
    let decision = decide(&snapshot, at(1));
    let found = condition(&snapshot, &decision, "Available").expect("set");
    assert!(
        !found.message.contains("ControlPlaneAvailable"),
        "{}",
        found.message
    );
    assert!(
        found.message.contains("* Deleting: Waiting for"),
        "{}",
        found.message
    );
}

#[test]
fn a_terminating_definition_removes_nothing_and_is_asked_for_again() {
    let mut snapshot = snapshot();
    delete(&mut snapshot);
    assert!(
        !decide(&snapshot, at(1)).removals.is_empty(),
        "there is something to remove"
    );
    snapshot.crd_obstacle = Some(CrdObstacle::Terminating("x.example.com".to_owned()));
    let decision = decide(&snapshot, at(1));
    assert_eq!(verdict(&snapshot, &decision, "Deleting"), "True/CRDTerminating");
    assert!(decision.removals.is_empty() && decision.own.remove_finalizers.is_empty());
    assert_eq!(decision.look_again, Some(crds::LOOK_AGAIN));
}
