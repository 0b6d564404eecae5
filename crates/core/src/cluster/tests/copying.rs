//! What a Cluster takes from what it refers to.

use super::*;

#[test]
fn the_first_valid_endpoint_is_copied_and_never_another() {
    let host = |name: &str| json!({"controlPlaneEndpoint": {"host": name, "port": 443}});
    let own = |name: &str, port| {
        Some(ClusterEndpoint {
            host: Some(name.to_owned()),
            port: Some(port),
        })
    };
    let table = [
        // (the Cluster's, the infrastructure's, the control plane's, both ready, what is written)
        (None, json!({}), host("cp"), true, Some("cp")),
        (None, host("infra"), host("cp"), true, Some("infra")),
        (None, json!({}), host("cp"), false, None),
        (own("mine", 6443), host("infra"), host("cp"), true, None),
        (own("", 6443), host("infra"), host("cp"), true, Some("infra")),
        // As the Go implementation writes it.
        (None, json!({}), host("https://cp"), true, Some("cp")),
        (own("https://cp", 443), json!({}), host("cp"), true, Some("cp")),
        (own("https://cp", 443), json!({}), host("other"), true, None),
        (
            own("https://cp", 443),
            host("infra"),
            host("cp"),
            true,
            Some("cp"),
        ),
        (own("mine", 0), json!({}), host("cp"), true, Some("cp")),
        (
            None,
            json!({}),
            json!({"controlPlaneEndpoint": {"host": "", "port": 443}}),
            true,
            None,
        ),
        (
            None,
            json!({}),
            json!({"controlPlaneEndpoint": {"host": "cp", "port": 0}}),
            true,
            None,
        ),
        (
            None,
            json!({}),
            json!({"controlPlaneEndpoint": {"host": 7}}),
            true,
            None,
        ),
    ];
    for (own, infra, plane, are_ready, expected) in table {
        let mut snapshot = snapshot();
        snapshot.cluster.spec.control_plane_endpoint = own.clone();
        let case = format!("{own:?} {infra} {plane} {are_ready}");
        let ready = |flags: Value| if are_ready { flags } else { json!({}) };
        snapshot.infrastructure = infrastructure(&infra, &ready(provisioned()));
        snapshot.control_plane = control_plane(&plane, &ready(initialized()));
        let decision = decide(&snapshot, at(1));
        let written = decision.own.spec.get("controlPlaneEndpoint");
        assert_eq!(
            written.and_then(|endpoint| endpoint["host"].as_str()),
            expected,
            "{case}"
        );
    }
}

#[test]
fn failure_domains_are_copied_in_order_and_every_time() {
    let domains = |names: &[&str]| {
        let mut status = provisioned();
        status["failureDomains"] = names.iter().map(|name| json!({"name": name})).collect();
        status
    };
    let mut snapshot = snapshot();
    for (names, expected) in [
        (
            &["eu-central-1b", "eu-central-1a"][..],
            &["eu-central-1a", "eu-central-1b"][..],
        ),
        (&["eu-central-1c"], &["eu-central-1c"]),
        (&[], &[]),
    ] {
        snapshot.infrastructure = infrastructure(&json!({}), &domains(names));
        let decision = decide(&snapshot, at(1));
        let copied: Vec<String> = status(&snapshot, &decision)
            .failure_domains
            .into_iter()
            .flatten()
            .map(|domain| domain.name)
            .collect();
        assert_eq!(copied, expected);
        carry_out(&mut snapshot, &decision);
    }
}

fn told(decision: &Decision<ClusterStatus>) -> Vec<String> {
    let reasons = decision.events.iter().map(|event| event.reason.clone());
    reasons.collect()
}

/// The same of a kind that is not ours, which may tell nobody anything.
fn of_another_kind(referenced: Referenced) -> Referenced {
    match referenced {
        Referenced::Found(mut object) => {
            object.target.kind = "OtherThing".to_owned();
            Referenced::Found(object)
        }
        other => other,
    }
}

#[test]
fn what_our_own_kinds_tell_of_themselves_is_not_told_again() {
    let mut snapshot = snapshot();
    snapshot.infrastructure = infrastructure(&json!({}), &provisioned());
    snapshot.control_plane = control_plane(&json!({}), &initialized());
    assert_eq!(told(&decide(&snapshot, at(1))), [""; 0]);
    snapshot.control_plane = of_another_kind(snapshot.control_plane);
    assert_eq!(told(&decide(&snapshot, at(1))), ["ControlPlaneInitialized"]);
}

#[test]
fn what_was_ready_once_stays_so_and_is_told_once() {
    let mut snapshot = snapshot();
    snapshot.infrastructure = of_another_kind(infrastructure(&json!({}), &provisioned()));
    snapshot.control_plane = of_another_kind(control_plane(&json!({}), &initialized()));
    let decision = decide(&snapshot, at(1));
    assert_eq!(
        told(&decision),
        ["InfrastructureReady", "ControlPlaneInitialized"]
    );
    assert!(
        decision
            .events
            .iter()
            .all(|event| event.kind == EventKind::Normal)
    );
    carry_out(&mut snapshot, &decision);
    snapshot.infrastructure = infrastructure(&json!({}), &json!({"initialization": {"provisioned": false}}));
    snapshot.control_plane = control_plane(&json!({}), &json!({}));
    let decision = decide(&snapshot, at(2));
    assert_eq!(told(&decision), [""; 0]);
    let flags = status(&snapshot, &decision).initialization.expect("latched");
    assert_eq!(flags.infrastructure_provisioned, Some(true));
    assert_eq!(flags.control_plane_initialized, Some(true));
    assert_eq!(
        verdict(&snapshot, &decision, "ControlPlaneInitialized"),
        "True/Initialized"
    );
}

#[test]
fn nothing_is_taken_from_what_is_going_away() {
    let mut snapshot = snapshot();
    for referenced in [&mut snapshot.infrastructure, &mut snapshot.control_plane] {
        let Referenced::Found(object) = referenced else {
            unreachable!()
        };
        object.is_initialized = true;
        object.deleting = true;
    }
    let decision = decide(&snapshot, at(1));
    assert_eq!(status(&snapshot, &decision).initialization, None);
}

#[test]
fn without_an_infrastructure_nobody_waits_for_one() {
    let mut snapshot = snapshot();
    snapshot.cluster.spec.infrastructure_ref = None;
    snapshot.infrastructure = Referenced::Unset;
    let flags = |snapshot: &Snapshot| {
        let decision = decide(snapshot, at(1));
        let flags = status(snapshot, &decision).initialization;
        flags.and_then(|flags| flags.infrastructure_provisioned)
    };
    assert_eq!(flags(&snapshot), Some(true));
    // A topology will bring one.
    let rest = &mut snapshot.cluster.spec.rest;
    rest.insert("topology".to_owned(), json!({}));
    assert_eq!(flags(&snapshot), None);
}

#[test]
fn the_phase_says_how_far_it_is() {
    let endpoint = json!({"controlPlaneEndpoint": {"host": "cp", "port": 443}});
    let bare = {
        let mut snapshot = snapshot();
        snapshot.cluster.spec.infrastructure_ref = None;
        snapshot.cluster.spec.control_plane_ref = None;
        snapshot.infrastructure = Referenced::Unset;
        snapshot.control_plane = Referenced::Unset;
        snapshot
    };
    let mut without_endpoint = snapshot();
    without_endpoint.infrastructure = infrastructure(&json!({}), &provisioned());
    let mut without_infrastructure = snapshot();
    without_infrastructure.control_plane = control_plane(&endpoint, &initialized());
    let mut whole = without_endpoint.clone();
    whole.control_plane = control_plane(&endpoint, &initialized());
    let mut deleting = whole.clone();
    delete(&mut deleting);
    for (name, snapshot, phase) in [
        ("no references", bare, "Pending"),
        ("references", snapshot(), "Provisioning"),
        ("no endpoint", without_endpoint, "Provisioning"),
        ("no infrastructure", without_infrastructure, "Provisioning"),
        ("both", whole, "Provisioned"),
        ("deleting", deleting, "Deleting"),
    ] {
        let decision = decide(&snapshot, at(1));
        assert_eq!(
            status(&snapshot, &decision).phase.as_deref(),
            Some(phase),
            "{name}"
        );
    }
}
