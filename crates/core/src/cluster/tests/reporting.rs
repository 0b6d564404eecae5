//! What a Cluster says by its conditions.

use super::*;

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
            Referenced::Missing,
            "False/ObjectDoesNotExist",
            "CAPTCluster blue does not exist",
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
            "No such kind",
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
    silent.probe = Some(Probe::default());
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
            "* InfrastructureReady: CAPTCluster blue does not exist\n* ControlPlaneAvailable: No such kind",
        ),
        (
            unknown,
            "Unknown/AvailableUnknown",
            "* ControlPlaneAvailable: No such kind",
        ),
        (
            silent,
            "False/NotAvailable",
            "* RemoteConnectionProbe: The workload cluster was not reached yet",
        ),
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

#[test]
fn a_probe_counts_until_it_is_old() {
    let told = "True/ProbeSucceeded";
    for (last_success, failures, before, expected) in [
        (Some(100), 0, None, told),
        (Some(51), 3, None, told),
        (Some(49), 3, None, "False/ProbeFailed"),
        (None, 0, None, "False/ProbeFailed"),
        (None, 4, Some(told), told),
        (None, 5, Some(told), "False/ProbeFailed"),
    ] {
        let mut snapshot = snapshot();
        if before.is_some() {
            snapshot.probe = Some(Probe {
                last_success: Some(at(0)),
                failures: 0,
            });
            let decision = decide(&snapshot, at(0));
            carry_out(&mut snapshot, &decision);
        }
        snapshot.probe = Some(Probe {
            last_success: last_success.map(at),
            failures,
        });
        let decision = decide(&snapshot, at(100));
        assert_eq!(verdict(&snapshot, &decision, "RemoteConnectionProbe"), expected);
        // Silence is noticed by the clock.
        let is_heard = last_success.is_some() && expected == told;
        assert_eq!(decision.look_again.is_some(), is_heard, "{last_success:?}");
    }
}
