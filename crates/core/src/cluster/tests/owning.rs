//! Taking over what a Cluster refers to, and reading it.

use super::*;

#[test]
fn nothing_is_done_before_the_object_is_held() {
    let mut snapshot = snapshot();
    snapshot.cluster.metadata.finalizers = None;
    snapshot.infrastructure = infrastructure(&json!({}), &provisioned());
    let Referenced::Found(object) = &mut snapshot.infrastructure else {
        unreachable!()
    };
    object.owners.clear();
    let decision = decide(&snapshot, at(1));
    assert_eq!(decision.own.add_finalizers, [marks::CLUSTER_FINALIZER]);
    assert!(decision.children.is_empty() && decision.own.spec.is_empty() && decision.events.is_empty());
    carry_out(&mut snapshot, &decision);
    let decision = decide(&snapshot, at(1));
    assert!(decision.own.add_finalizers.is_empty());
    assert_eq!(decision.children.len(), 1);
}

#[test]
fn what_the_cluster_refers_to_gets_an_owner_reference_and_a_label() {
    let strip_owners = |object: &mut Contracted| object.owners.clear();
    let strip_labels = |object: &mut Contracted| object.labels.clear();
    let old_version =
        |object: &mut Contracted| "cluster.x-k8s.io/v1beta1".clone_into(&mut object.owners[0].api_version);
    let old_uid = |object: &mut Contracted| "cluster-0".clone_into(&mut object.owners[0].uid);
    let other_label = |object: &mut Contracted| {
        object
            .labels
            .insert(marks::CLUSTER_NAME.to_owned(), "red".to_owned());
    };
    type Change<'a> = &'a dyn Fn(&mut Contracted);
    let changes: [(&str, Change<'_>); 5] = [
        ("no owner", &strip_owners),
        ("no label", &strip_labels),
        ("an old version", &old_version),
        ("a uid from before a move", &old_uid),
        ("another label", &other_label),
    ];
    for (name, change) in changes {
        let mut snapshot = snapshot();
        for referenced in [&mut snapshot.infrastructure, &mut snapshot.control_plane] {
            let Referenced::Found(object) = referenced else {
                unreachable!()
            };
            change(object);
        }
        let decision = decide(&snapshot, at(1));
        assert_eq!(decision.children.len(), 2, "{name}");
        let child = &decision.children[0];
        assert_eq!(child.guard, Guard::Uid("CAPTCluster-1".to_owned()), "{name}");
        assert_eq!(
            child.fields,
            json!({"metadata": {
                "labels": {marks::CLUSTER_NAME: "blue"},
                "ownerReferences": [{
                    "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "blue", "uid": "cluster-1",
                }],
            }}),
            "{name}"
        );
    }
    assert!(
        decide(&snapshot(), at(1)).children.is_empty(),
        "all is as it should be"
    );
}

#[test]
fn only_a_cluster_with_a_topology_is_the_controller() {
    let mut snapshot = snapshot();
    let rest = &mut snapshot.cluster.spec.rest;
    rest.insert("topology".to_owned(), json!({"class": "quick"}));
    let decision = decide(&snapshot, at(1));
    assert_eq!(
        decision.children[0].fields["metadata"]["ownerReferences"][0]["controller"],
        json!(true)
    );
}

#[test]
fn what_belongs_to_another_cluster_is_left_alone() {
    let mut snapshot = snapshot();
    let Referenced::Found(object) = &mut snapshot.infrastructure else {
        unreachable!()
    };
    "red".clone_into(&mut object.owners[0].name);
    object.is_initialized = true;
    let decision = decide(&snapshot, at(1));
    assert!(decision.children.is_empty());
    assert_eq!(
        verdict(&snapshot, &decision, "InfrastructureReady"),
        "False/OwnedByAnotherCluster"
    );
    assert_eq!(status(&snapshot, &decision).initialization, None);
    delete(&mut snapshot);
    snapshot.control_plane = Referenced::Missing;
    let decision = decide(&snapshot, at(1));
    assert!(decision.removals.is_empty());
    assert_eq!(decision.own.remove_finalizers, [marks::CLUSTER_FINALIZER]);
}

#[test]
fn a_name_that_is_no_label_is_refused_in_words() {
    let mut snapshot = snapshot();
    snapshot.cluster.metadata.name = Some("b".repeat(64));
    for referenced in [&mut snapshot.infrastructure, &mut snapshot.control_plane] {
        let Referenced::Found(object) = referenced else {
            unreachable!()
        };
        object.owners.clear();
    }
    let decision = decide(&snapshot, at(1));
    assert!(decision.children.is_empty());
    assert_eq!(
        verdict(&snapshot, &decision, "InfrastructureReady"),
        "False/NameTooLong"
    );
}

#[test]
fn what_others_wrote_is_neither_repeated_nor_a_reason_to_write() {
    let mut snapshot = snapshot();
    let decision = decide(&snapshot, at(1));
    carry_out(&mut snapshot, &decision);
    let status = snapshot.cluster.status.as_mut().expect("written");
    status.rest.insert("workers".to_owned(), json!({"replicas": 3}));
    status.conditions.as_mut().expect("written").push(Condition {
        type_: "Backups".to_owned(),
        status: "True".to_owned(),
        reason: "Done".to_owned(),
        message: String::new(),
        last_transition_time: Time(at(0)),
        observed_generation: None,
    });
    assert!(decide(&snapshot, at(9)).is_quiet());
    snapshot.infrastructure = Referenced::Missing;
    let written = decide(&snapshot, at(9)).own.status.expect("something changed");
    assert!(written.rest.is_empty());
    assert!(find_condition(&written.conditions.unwrap_or_default(), "Backups").is_none());
}

#[test]
fn an_object_is_read_by_the_contract_whatever_it_holds() {
    let odd = json!({
        "apiVersion": "x/v1", "kind": "Odd",
        "metadata": {"name": "a", "uid": "1", "labels": 7, "ownerReferences": [3, {"kind": "Cluster"}]},
        "spec": {"controlPlaneEndpoint": "text"},
        "status": {
            "initialization": {"provisioned": "true"},
            "failureDomains": {"a": {}},
            "conditions": [{"type": "Ready"}, {"type": "Other", "status": "True"}, 5],
        },
    });
    let read = Contracted::read(&odd, Role::Infrastructure).expect("it has a name, a kind and a uid");
    assert!(!read.is_initialized && read.endpoint.is_none() && read.failure_domains.is_empty());
    assert!(read.owners.is_empty() && read.labels.is_empty());
    let types: Vec<_> = read
        .conditions
        .iter()
        .map(|condition| condition.type_.as_str())
        .collect();
    assert_eq!(types, ["Other"]);
    for pointer in ["apiVersion", "kind"] {
        let mut less = odd.clone();
        less[pointer] = Value::Null;
        assert_eq!(Contracted::read(&less, Role::Infrastructure), None);
    }
    // Each contract has its own flag, and conditions of the transition come first.
    let both = json!({
        "apiVersion": "x/v1", "kind": "Odd", "metadata": {"name": "a", "uid": "1"},
        "status": {
            "initialization": {"provisioned": true},
            "v1beta2": {"conditions": [{"type": "New", "status": "True"}]},
            "conditions": [{"type": "Old", "status": "True"}],
        },
    });
    let infrastructure = Contracted::read(&both, Role::Infrastructure).expect("readable");
    assert!(infrastructure.is_initialized);
    assert_eq!(infrastructure.conditions[0].type_, "New");
    assert!(
        !Contracted::read(&both, Role::ControlPlane)
            .expect("readable")
            .is_initialized
    );
}

#[test]
fn our_own_kinds_are_read_the_same_as_anybody_elses() {
    let conditions = json!([
        {"type": "Ready", "status": "True", "reason": "", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"},
        {"type": "Paused", "status": "False", "reason": "NotPaused", "message": "", "observedGeneration": 4,
         "lastTransitionTime": "2026-01-02T03:04:05Z"},
    ]);
    let endpoint = |host: &str| json!({"host": host, "port": 443});
    let at = |host: &str| {
        json!({
            "version": "1.31", "workspaceTemplateRef": {"name": "eks"}, "controlPlaneEndpoint": endpoint(host),
        })
    };
    let network = |spec: Value, status: Value| object("CAPTCluster", &spec, &status);
    let control_plane = |spec: Value, status: Value| object("CAPTControlPlane", &spec, &status);
    let mut managed = network(json!({"region": "eu-west-1"}), Value::Null);
    managed["metadata"]["annotations"] = json!({marks::MANAGED_BY: ""});
    managed["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    let flags = json!({"provisioned": true, "controlPlaneInitialized": true});
    let networks = [
        managed,
        network(
            json!({"region": "eu-west-1", "controlPlaneEndpoint": endpoint("https://a.example")}),
            json!({"initialization": flags, "conditions": conditions, "failureDomains": [{"name": "a", "controlPlane": true}]}),
        ),
    ];
    let control_planes = [
        control_plane(at(""), json!({})),
        control_plane(
            at("a.example"),
            json!({"initialization": flags, "conditions": conditions}),
        ),
    ];
    for role in [Role::Infrastructure, Role::ControlPlane] {
        for any in &networks {
            let own = serde_json::from_value(any.clone()).expect("a network");
            let any = serde_json::to_value(&own).expect("JSON");
            let read = Contracted::read(&any, role);
            assert_eq!(Contracted::network(&own, role), read, "{any}");
        }
        for any in &control_planes {
            let own = serde_json::from_value(any.clone()).expect("a control plane");
            let any = serde_json::to_value(&own).expect("JSON");
            let read = Contracted::read(&any, role);
            assert_eq!(Contracted::control_plane(&own, role), read, "{any}");
        }
    }
}
