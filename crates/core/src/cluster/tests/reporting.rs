//! What a Cluster says by its conditions.

use std::time::Duration;

use super::*;

fn externally_managed() -> Referenced {
    let mut object = object("CAPTCluster", &json!({}), &json!({}));
    object["metadata"]["annotations"] = json!({"cluster.x-k8s.io/managed-by": "others"});
    let read = Contracted::read(&object, Role::Infrastructure);
    Referenced::Found(Box::new(read.expect("readable")))
}

#[test]
fn conditions_mirror_what_the_objects_say() {
    let not_ready = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "VPCCreating",
                           "message": "Being made", "lastTransitionTime": "1970-01-12T13:46:30Z"}]});
    let unexplained = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let table = [
        (
            snapshot(),
            infrastructure(&json!({}), &not_ready),
            "False/VPCCreating",
            "Being made",
        ),
        (
            snapshot(),
            infrastructure(&json!({}), &unexplained),
            "True/Ready",
            "",
        ),
        (
            snapshot(),
            infrastructure(&json!({}), &provisioned()),
            "True/VPCCreated",
            "",
        ),
        (
            latched(),
            infrastructure(&json!({}), &json!({})),
            "True/Ready",
            "",
        ),
        (
            snapshot(),
            infrastructure(&json!({}), &json!({})),
            "False/NotReady",
            "CAPTCluster blue does not have status.initialization.provisioned: true yet",
        ),
        (
            snapshot(),
            infrastructure(
                &json!({}),
                &json!({"conditions": [{"type": "Paused", "status": "True", "message": "Nothing is done"}]}),
            ),
            "False/NotReady",
            "CAPTCluster blue does not have status.initialization.provisioned: true yet; it is paused: Nothing is done",
        ),
        (
            snapshot(),
            infrastructure(
                &json!({}),
                &json!({"conditions": [
                    {"type": "Ready", "status": "False", "reason": "VPCCreating", "message": "Being made"},
                    {"type": "Paused", "status": "True", "message": "Nothing is done"},
                ]}),
            ),
            "False/VPCCreating",
            "Being made; it is paused: Nothing is done",
        ),
        (
            snapshot(),
            infrastructure(
                &json!({}),
                &json!({"conditions": [
                    {"type": "Ready", "status": "False", "reason": "VPCCreating"},
                    {"type": "Paused", "status": "True"},
                ]}),
            ),
            "False/VPCCreating",
            "CAPTCluster blue: it is paused",
        ),
        (
            snapshot(),
            externally_managed(),
            "False/NotReady",
            "CAPTCluster blue does not have status.initialization.provisioned: true yet; somebody else manages it \
             (cluster.x-k8s.io/managed-by) and has to set that",
        ),
        (
            snapshot(),
            Referenced::Missing,
            "False/ObjectDoesNotExist",
            "CAPTCluster blue does not exist. Make it, or mend spec.infrastructureRef",
        ),
        (
            latched(),
            Referenced::Missing,
            "False/ObjectDeleted",
            "CAPTCluster blue was deleted while the Cluster is there. Make it again",
        ),
        (
            snapshot(),
            Referenced::Unresolvable("No such kind".to_owned()),
            "Unknown/InternalError",
            "spec.infrastructureRef: No such kind",
        ),
    ];
    for (mut snapshot, infrastructure, expected, message) in table {
        snapshot.infrastructure = infrastructure;
        let decision = decide(&snapshot, at(1));
        let found = condition(&snapshot, &decision, "InfrastructureReady").expect("set");
        assert_eq!(format!("{}/{}", found.status, found.reason), expected);
        assert_eq!(found.message, message, "{expected}");
        assert_eq!(found.observed_generation, Some(3));
        // The control plane is told about in the same way.
        assert!(!verdict(&snapshot, &decision, "ControlPlaneAvailable").is_empty());
    }
}

#[test]
fn what_is_wrong_with_a_reference_is_told_to_people_once_and_what_comes_a_moment_later_is_not_wrong() {
    let warnings = |snapshot: &Snapshot, decision: &Decision<ClusterStatus>| -> Vec<String> {
        let is_said = condition(snapshot, decision, "InfrastructureReady")
            .expect("set")
            .message;
        let events = decision
            .events
            .iter()
            .filter(|event| event.kind == EventKind::Warning);
        events
            .inspect(|event| assert_eq!(event.message, is_said))
            .map(|event| event.reason.clone())
            .collect()
    };
    let mut wrong = snapshot();
    wrong.infrastructure = Referenced::Unresolvable("No such kind".to_owned());
    let decision = decide(&wrong, at(1));
    assert_eq!(warnings(&wrong, &decision), ["InternalError"]);
    wrong.cluster.status = decision.own.status;
    assert!(warnings(&wrong, &decide(&wrong, at(2))).is_empty());
    let mut missing = snapshot();
    missing.infrastructure = Referenced::Missing;
    let decision = decide(&missing, at(1));
    assert!(warnings(&missing, &decision).is_empty());
    assert_eq!(decision.look_again, Some(Duration::from_secs(10)));
    missing.cluster.status = decision.own.status;
    let decision = decide(&missing, at(11));
    assert_eq!(warnings(&missing, &decision), ["ObjectDoesNotExist"]);
    assert_eq!(decision.look_again, None);
    assert!(warnings(&missing, &decide(&missing, at(30))).is_empty());
    // One that named something that is there has no order to wait for.
    missing.cluster.status = wrong.cluster.status;
    assert_eq!(
        warnings(&missing, &decide(&missing, at(99))),
        ["ObjectDoesNotExist"]
    );
}

#[test]
fn what_is_named_as_something_that_it_cannot_be_is_told_and_never_taken_for_that() {
    let swapped = |is_deleting: bool| {
        let mut snapshot = snapshot();
        snapshot.infrastructure = control_plane(&json!({}), &initialized());
        snapshot.control_plane = infrastructure(&json!({}), &provisioned());
        if is_deleting {
            delete(&mut snapshot);
        }
        snapshot
    };
    let decision = decide(&swapped(false), at(1));
    for (type_, words) in [
        (
            "ControlPlaneAvailable",
            "spec.controlPlaneRef.kind is CAPTCluster",
        ),
        (
            "InfrastructureReady",
            "spec.infrastructureRef.kind is CAPTControlPlane",
        ),
    ] {
        let found = condition(&swapped(false), &decision, type_).expect("set");
        assert_eq!(
            (found.status.as_str(), found.reason.as_str()),
            ("False", "WrongKind")
        );
        assert!(found.message.contains(words), "{}", found.message);
    }
    let status = status(&swapped(false), &decision);
    assert_eq!(status.initialization, None, "nothing is taken from them");
    let going = decide(&swapped(true), at(1));
    assert_eq!(going.own.remove_finalizers, [marks::CLUSTER_FINALIZER]);
    assert!(going.removals.is_empty(), "{:?}", going.removals);
}

#[test]
fn a_mirrored_condition_tells_since_when_and_does_not_jump() {
    let mut snapshot = snapshot();
    snapshot.infrastructure = infrastructure(&json!({}), &provisioned());
    let decision = decide(&snapshot, at(1));
    let found = condition(&snapshot, &decision, "InfrastructureReady").expect("set");
    assert_eq!(found.last_transition_time, Time(at(-10)));
    // One that does not say so began when it was seen first.
    snapshot.infrastructure = infrastructure(
        &json!({}),
        &json!({"conditions": [{"type": "Ready", "status": "False"}]}),
    );
    let decision = decide(&snapshot, at(1));
    carry_out(&mut snapshot, &decision);
    let decision = decide(&snapshot, at(9));
    let found = condition(&snapshot, &decision, "InfrastructureReady").expect("set");
    assert_eq!(found.last_transition_time, Time(at(1)));
}

#[test]
fn available_sums_up_what_speaks_against_it() {
    let ready = {
        let mut snapshot = snapshot();
        snapshot.infrastructure = infrastructure(&json!({}), &provisioned());
        snapshot.control_plane = control_plane(&json!({}), &initialized());
        snapshot
    };
    let mut broken = ready.clone();
    broken.infrastructure = Referenced::Missing;
    broken.control_plane = Referenced::Unresolvable("No such kind".to_owned());
    let mut unknown = ready.clone();
    unknown.control_plane = Referenced::Unresolvable("No such kind".to_owned());
    let mut silent = ready.clone();
    silent.control_plane = answering("False", "EndpointNotReady");
    let mut gated = ready.clone();
    let gates = json!([{"conditionType": "Backups"}, {"conditionType": "Alarms", "polarity": "Negative"}]);
    gated
        .cluster
        .spec
        .rest
        .insert("availabilityGates".to_owned(), gates);
    gated.cluster.status = Some(ClusterStatus {
        conditions: Some(vec![Condition {
            type_: "Alarms".to_owned(),
            status: "True".to_owned(),
            reason: "Burning".to_owned(),
            message: String::new(),
            last_transition_time: Time(at(0)),
            observed_generation: None,
        }]),
        ..ClusterStatus::default()
    });
    for (snapshot, expected, message) in [
        (ready, "True/Available", ""),
        (
            broken,
            "False/NotAvailable",
            "* InfrastructureReady: CAPTCluster blue does not exist. Make it, or mend spec.infrastructureRef\n* ControlPlaneAvailable: spec.controlPlaneRef: No such kind",
        ),
        (
            unknown,
            "Unknown/AvailableUnknown",
            "* ControlPlaneAvailable: spec.controlPlaneRef: No such kind",
        ),
        (silent, "False/NotAvailable", "* RemoteConnectionProbe: refused"),
        (
            gated,
            "False/NotAvailable",
            "* Backups: not reported yet\n* Alarms: Burning",
        ),
    ] {
        let decision = decide(&snapshot, at(1));
        let found = condition(&snapshot, &decision, "Available").expect("set");
        assert_eq!(format!("{}/{}", found.status, found.reason), expected);
        assert_eq!(found.message, message);
    }
}

/// A control plane that answers, or does not.
fn answering(status: &str, reason: &str) -> Referenced {
    let mut told = initialized();
    told["conditions"] = json!([{
        "type": "EndpointAnswers", "status": status, "reason": reason, "message": "refused",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    control_plane(&json!({}), &told)
}

#[test]
fn whether_the_workload_cluster_is_reached_is_known_from_its_control_plane() {
    let silent = control_plane(&json!({}), &initialized());
    for (name, then, expected) in [
        (
            "it answers",
            answering("True", "EndpointReady"),
            Some("True/ProbeSucceeded"),
        ),
        (
            "it is silent",
            answering("False", "EndpointNotReady"),
            Some("False/ProbeFailed"),
        ),
        ("nobody asks", answering("Unknown", "EndpointNotChecked"), None),
        ("it says nothing of it", silent, None),
    ] {
        let mut snapshot = snapshot();
        snapshot.control_plane = then;
        let decision = decide(&snapshot, at(1));
        let found = condition(&snapshot, &decision, "RemoteConnectionProbe");
        let found = found.map(|found| format!("{}/{}", found.status, found.reason));
        assert_eq!(found.as_deref(), expected, "{name}");
        assert_eq!(decision.look_again, None, "{name}");
    }
}

#[test]
fn what_is_not_known_yet_leaves_what_was_known() {
    for (before, expected) in [
        (None, "False/ProbeFailed"),
        (Some(answering("True", "EndpointReady")), "True/ProbeSucceeded"),
        (
            Some(answering("Unknown", "EndpointNotChecked")),
            "False/ProbeFailed",
        ),
    ] {
        let mut snapshot = snapshot();
        if let Some(before) = before {
            snapshot.control_plane = before;
            let decision = decide(&snapshot, at(0));
            carry_out(&mut snapshot, &decision);
        }
        snapshot.control_plane = answering("Unknown", "EndpointNotReady");
        let decision = decide(&snapshot, at(1));
        assert_eq!(verdict(&snapshot, &decision, "RemoteConnectionProbe"), expected);
    }
}
