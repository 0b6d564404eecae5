//! A VPC by a template, from nothing to ready.

use super::{
    world::{fail, say},
    *,
};

#[test]
fn a_vpc_is_made_by_a_workspacetemplateapply() {
    let decision = decide(&held(), at(1));
    let apply = written(&decision, "WorkspaceTemplateApply").expect("it is made");
    assert_eq!(
        (apply.target.name.as_str(), &apply.guard),
        ("net-vpc", &Guard::Absent)
    );
    assert_eq!(
        apply.fields["spec"],
        json!({
            "templateRef": {"name": "vpc"},
            "templateRevision": "t1",
            "variables": {
                "cluster_name": "blue",
                "region": "eu-central-1",
                "vpc_name": "net-vpc",
                "environment": "production",
            },
            "writeConnectionSecretToRef": {"name": "net-vpc-connection", "namespace": "team"},
        })
    );
    let metadata = &apply.fields["metadata"];
    assert_eq!(metadata["labels"][marks::OWNER], "CAPTCluster.net");
    assert_eq!(metadata["labels"][marks::ROLE], "vpc");
    assert_eq!(metadata["labels"][foreign_marks::CLUSTER_NAME], "blue");
    assert_eq!(metadata["ownerReferences"][0]["uid"], "net-1");
    // The reference is stored at once.
    assert_eq!(decision.own.spec["workspaceTemplateApplyName"], "net-vpc");
    let mut world = World::new(held());
    world.rest();
    for (type_, expected) in [
        ("VPCCreating", "True/VPCCreating"),
        ("VPCReady", "False/VPCCreating"),
        ("VPCFailed", "False/VPCCreating"),
        ("Ready", "False/VPCCreating"),
        ("WaitingForCluster", "False/ClusterFound"),
        ("Deleting", "False/NotDeleting"),
    ] {
        assert_eq!(world.verdict(type_), expected, "{type_}");
    }
}

#[test]
fn everything_that_the_spec_says_reaches_the_module() {
    let mut snapshot = held();
    snapshot.captcluster.spec = serde_json::from_value(json!({
        "region": "us-gov-west-1",
        "vpcTemplateRef": {"name": "vpc", "namespace": "shared"},
        "vpcConfig": {
            "name": "core", "cidr": "10.9.0.0/16", "availabilityZones": ["us-gov-west-1a", "us-gov-west-1b"],
        },
        "additionalTags": {"team": "platform", "cost": "7"},
        "retainVpcOnDelete": true,
        "connectionSecretName": "facts",
    }))
    .expect("a spec");
    let decision = decide(&snapshot, at(1));
    assert_eq!(
        variables(&decision),
        json!({
            "cluster_name": "blue",
            "region": "us-gov-west-1",
            "vpc_name": "core",
            "vpc_cidr": "10.9.0.0/16",
            "availability_zones": r#"["us-gov-west-1a","us-gov-west-1b"]"#,
            "tags": r#"{"cost":"7","team":"platform"}"#,
            "tags_team": "platform",
            "tags_cost": "7",
            "environment": "production",
        })
    );
    let spec = &written(&decision, "WorkspaceTemplateApply").expect("made").fields["spec"];
    // The template is used where the spec says that it is.
    assert_eq!(spec["templateRef"], json!({"name": "vpc", "namespace": "shared"}));
    assert_eq!(spec["writeConnectionSecretToRef"]["name"], "facts");
    assert_eq!(spec["retainWorkspaceOnDelete"], true);
}

/// What the Secret is called is kept with the Workspace when somebody deletes the WorkspaceTemplateApply.
#[test]
fn one_that_is_made_again_writes_to_the_secret_that_its_workspace_wrote() {
    let parted = crate::names::vpc_connection("net").parted().to_owned();
    for name in ["net-vpc-connection", parted.as_str()] {
        let mut world = World::new(held());
        if name == parted {
            world.snapshot.secrets.push(secret("net-vpc-connection", "vpc-9"));
        }
        world.settle();
        let told = |world: &World| {
            let reference = world.snapshot.applies[0]
                .wta
                .spec
                .write_connection_secret_to_ref
                .clone();
            reference.map(|reference| reference.name)
        };
        assert_eq!(told(&world).as_deref(), Some(name));
        world.snapshot.applies.clear();
        world.rest();
        assert_eq!(told(&world).as_deref(), Some(name));
    }
}

/// Somebody may strip what says where the outputs are written; the Secret still says whose it is.
#[test]
fn a_secret_of_the_own_workspace_is_not_taken() {
    let owner = |uid: &str| {
        let reference = json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace", "name": "net-vpc", "uid": uid,
        });
        serde_json::from_value(reference).expect("a reference")
    };
    let parted = crate::names::vpc_connection("net").parted().to_owned();
    for (uid, expected) in [
        ("workspace-1", "net-vpc-connection"),
        ("another", parted.as_str()),
    ] {
        let mut snapshot = held();
        snapshot.workspace_uid = Some("workspace-1".to_owned());
        let mut present = secret("net-vpc-connection", "vpc-7");
        present.owners = vec![owner(uid)];
        snapshot.secrets.push(present);
        let decision = decide(&snapshot, at(0));
        let name = &decision.children[0].fields["spec"]["writeConnectionSecretToRef"]["name"];
        assert_eq!(name, expected, "{uid}");
    }
}

#[test]
fn the_connection_secret_is_named_by_spec_by_template_or_by_rule() {
    type Change = fn(&mut Snapshot);
    let by_spec: Change =
        |snapshot| snapshot.captcluster.spec.connection_secret_name = Some("facts".to_owned());
    let by_template: Change = |snapshot| {
        if let Some(template) = &mut snapshot.template {
            template.names_secret = true;
        }
    };
    let by_both: Change = |snapshot| {
        snapshot.captcluster.spec.connection_secret_name = Some("facts".to_owned());
        if let Some(template) = &mut snapshot.template {
            template.names_secret = true;
        }
    };
    let taken: Change = |snapshot| snapshot.secrets.push(secret("net-vpc-connection", "vpc-9"));
    let parted = crate::names::vpc_connection("net").parted().to_owned();
    for (change, expected) in [
        ((|_| {}) as Change, Some("net-vpc-connection")),
        (by_spec, Some("facts")),
        (by_template, None),
        (by_both, Some("facts")),
        (taken, Some(parted.as_str())),
    ] {
        let mut snapshot = held();
        change(&mut snapshot);
        let decision = decide(&snapshot, at(1));
        let spec = &written(&decision, "WorkspaceTemplateApply").expect("made").fields["spec"];
        assert_eq!(spec["writeConnectionSecretToRef"]["name"].as_str(), expected);
    }
}

#[test]
fn a_chosen_secret_name_is_kept() {
    let mut world = ready();
    assert!(
        world
            .snapshot
            .secrets
            .iter()
            .any(|secret| secret.name == "net-vpc-connection")
    );
    world.rest();
    world.snapshot.template = None;
    assert!(world.step().is_quiet(), "also without a template");
}

#[test]
fn a_name_that_is_somebody_elses_is_given_up_once_the_spec_does_not_ask_for_it() {
    for (type_, is_given_up) in [("Opaque", true), ("connection.crossplane.io/v1alpha1", false)] {
        let mut world = World::new(fresh());
        world.snapshot.captcluster.spec.connection_secret_name = Some("theirs".to_owned());
        world.snapshot.secrets.push(SecretSeen {
            type_: type_.to_owned(),
            ..secret("theirs", "vpc-9")
        });
        let told = |world: &mut World| {
            let reference = world.apply().wta.spec.write_connection_secret_to_ref.clone();
            reference.expect("a name").name
        };
        world.rest();
        assert_eq!(told(&mut world), "theirs", "the spec asks for it");
        world.snapshot.captcluster.spec.connection_secret_name = None;
        world.rest();
        let expected = if is_given_up {
            "net-vpc-connection"
        } else {
            "theirs"
        };
        assert_eq!(told(&mut world), expected);
    }
}

#[test]
fn a_secret_that_the_template_named_stays_its_own_when_the_template_is_gone() {
    let mut world = World::new(fresh());
    if let Some(template) = &mut world.snapshot.template {
        template.names_secret = true;
    }
    world.settle();
    world.snapshot.template = None;
    assert!(world.step().is_quiet());
    assert_eq!(world.apply().wta.spec.write_connection_secret_to_ref, None);
}

#[test]
fn a_ready_workspace_and_a_complete_secret_make_it_ready() {
    let world = ready();
    let status = world.status();
    assert!(status.ready);
    assert_eq!(status.vpc_id.as_deref(), Some("vpc-7"));
    assert_eq!(status.vpc_workspace_name.as_deref(), Some("net-vpc"));
    assert_eq!(
        status.initialization.and_then(|flags| flags.provisioned),
        Some(true)
    );
    assert_eq!((status.failure_reason, status.failure_message), (None, None));
    let report = status.workspace_template_status.expect("a report");
    assert!(report.ready);
    assert_eq!(report.workspace_name.as_deref(), Some("net-vpc"));
    assert_eq!(report.outputs.expect("outputs")["vpc_id"], "vpc-7");
    for (type_, expected) in [
        ("Ready", "True/VPCCreated"),
        ("VPCReady", "True/VPCCreated"),
        ("VPCCreating", "False/VPCCreated"),
        ("VPCFailed", "False/VPCCreated"),
    ] {
        assert_eq!(world.verdict(type_), expected, "{type_}");
    }
}

/// The Go implementation never fills them, and has them as a map.
#[test]
fn failure_domains_are_the_zones_in_the_outputs() {
    let mut world = ready();
    let names = |world: &World| -> Vec<String> {
        let domains = world.status().failure_domains.unwrap_or_default();
        domains.into_iter().map(|domain| domain.name).collect()
    };
    assert_eq!(names(&world), ["eu-central-1a", "eu-central-1b"]);
    for (zones, expected) in [
        (json!(r#"["c", "b", "b"]"#), vec!["b", "c"]),
        (json!([""]), vec![]),
    ] {
        let status = world.apply().wta.status.get_or_insert_default();
        let outputs = status.outputs.get_or_insert_default();
        outputs.insert("availability_zones".to_owned(), zones);
        world.rest();
        assert_eq!(names(&world), expected);
    }
    // What cannot be read changes nothing and is told.
    let status = world.apply().wta.status.get_or_insert_default();
    let outputs = status.outputs.get_or_insert_default();
    outputs.insert("availability_zones".to_owned(), json!(7));
    world.rest();
    let ready = condition(&world.snapshot, &Decided::default(), "Ready");
    assert_eq!(ready.status, "True");
    assert!(
        ready.message.contains("output availability_zones is a number"),
        "{}",
        ready.message
    );
}

#[test]
fn the_vpc_is_known_from_outputs_or_from_the_secret() {
    for (output, told, expected) in [
        (json!("vpc-7"), "vpc-7", Ok("vpc-7")),
        (Value::Null, "vpc-8", Ok("vpc-8")),
        (json!(7), "vpc-8", Err("False/OutputInvalid")),
        (json!(["vpc-8"]), "vpc-8", Err("False/OutputInvalid")),
        (json!("vpc-7"), "vpc-8", Err("False/WaitingForSecret")),
    ] {
        let mut world = World::new(fresh());
        world.rest();
        world.make_real();
        let status = world.apply().wta.status.get_or_insert_default();
        let outputs = status.outputs.get_or_insert_default();
        outputs.insert("vpc_id".to_owned(), output.clone());
        world.snapshot.secrets = vec![secret("net-vpc-connection", told)];
        world.rest();
        match expected {
            Ok(vpc_id) => assert_eq!(world.status().vpc_id.as_deref(), Some(vpc_id), "{output}"),
            Err(verdict) => assert_eq!(world.verdict("Ready"), verdict, "{output}"),
        }
    }
}

#[test]
fn the_fixed_name_of_old_is_read_unless_it_is_another_clusters() {
    let mine = |_: &mut SecretSeen| {};
    let labelled = |secret: &mut SecretSeen| secret.cluster = Some("red".to_owned());
    let owned = |secret: &mut SecretSeen| {
        secret.owners.push(OwnerReference {
            kind: "CAPTCluster".to_owned(),
            name: "other".to_owned(),
            ..OwnerReference::default()
        });
    };
    type Change<'a> = &'a dyn Fn(&mut SecretSeen);
    let changes: [(Change<'_>, bool); 3] = [(&mine, true), (&labelled, false), (&owned, false)];
    for (change, is_ready) in changes {
        let mut world = World::new(fresh());
        world.rest();
        world.make_real();
        let mut fixed = secret("vpc-connection", "vpc-7");
        change(&mut fixed);
        world.snapshot.secrets = vec![fixed];
        world.rest();
        assert_eq!(world.status().ready, is_ready);
    }
}

#[test]
fn the_endpoint_of_the_cluster_is_shown() {
    let endpoint = |host: &str, port| {
        Some(ClusterEndpoint {
            host: Some(host.to_owned()),
            port: Some(port),
        })
    };
    for (endpoint, expected) in [
        (None, None),
        (endpoint("10.0.0.1", 6443), Some("10.0.0.1:6443")),
        (endpoint("fd00::1", 443), Some("[fd00::1]:443")),
        // As the Go implementation wrote it.
        (
            endpoint("https://a.eks.amazonaws.com", 443),
            Some("a.eks.amazonaws.com:443"),
        ),
        (endpoint("no host", 443), None),
        (endpoint("", 443), None),
        (endpoint("host", 0), None),
    ] {
        let mut world = World::new(fresh());
        if let Some(cluster) = &mut world.snapshot.cluster {
            cluster.endpoint = endpoint;
        }
        world.rest();
        assert_eq!(world.status().endpoint.as_deref(), expected);
    }
}

#[test]
fn a_change_of_the_spec_reaches_the_workspacetemplateapply_and_what_serves_goes_on() {
    let mut world = ready();
    world.snapshot.captcluster.spec.additional_tags =
        serde_json::from_value(json!({"team": "new"})).expect("tags");
    *world
        .snapshot
        .captcluster
        .metadata
        .generation
        .get_or_insert_default() += 1;
    let decision = world.step();
    assert_eq!(variables(&decision)["tags"], r#"{"team":"new"}"#);
    world.rest();
    // Its WorkspaceTemplateApply has not looked at it yet.
    assert_eq!(world.verdict("Ready"), "True/VPCUpdating");
    assert_eq!(world.verdict("VPCReady"), "True/VPCCreated");
    assert_eq!(world.verdict("VPCCreating"), "False/VPCCreating");
    world.make_real();
    world.rest();
    assert_eq!(world.verdict("Ready"), "True/VPCCreated");
}

/// What serves is not changed because nobody looks after it.
#[test]
fn a_network_that_only_rests_or_is_referred_to_anew_is_not_said_to_be_changed() {
    let now = at(0);
    let mut paused = ready();
    say(paused.apply(), "Paused", "True", "Paused", now);
    let annotations = paused.apply().wta.metadata.annotations.get_or_insert_default();
    annotations.insert("cluster.x-k8s.io/paused".to_owned(), String::new());
    paused.rest();
    assert_eq!(paused.verdict("Ready"), "True/VPCCreated");
    let told = paused.message("Ready");
    assert!(
        told.starts_with("The VPC vpc-7 is there. ") && told.contains("about Paused"),
        "{told}"
    );
    paused.apply().wta.metadata.generation = Some(99);
    paused.rest();
    assert_eq!(paused.verdict("Ready"), "True/VPCUpdating");
    let told = paused.message("Ready");
    assert!(
        told.starts_with("The change of the VPC waits, because the WorkspaceTemplateApply ")
            && told.contains("kubectl annotate wtapply ")
            && told.ends_with(" cluster.x-k8s.io/paused-"),
        "{told}"
    );
    let mut going = ready();
    going.apply().wta.metadata.deletion_timestamp = Some(Time(now));
    going.rest();
    assert_eq!(going.verdict("Ready"), "True/VPCCreated");
    assert!(going.message("Ready").contains("it is made again"));
    let mut changed = ready();
    changed.apply().wta.metadata.generation = Some(99);
    changed.rest();
    assert_eq!(changed.verdict("Ready"), "True/VPCUpdating");
    assert!(changed.message("Ready").ends_with("changes the VPC"));
    let mut retried = ready();
    say(retried.apply(), "Ready", "False", "Creating", now);
    retried.rest();
    assert_ne!(
        retried.verdict("Ready"),
        "True/VPCUpdating",
        "nothing else is wanted"
    );
    let mut flickering = ready();
    fail(flickering.apply(), TroubleClass::Transient, now);
    flickering.rest();
    assert_eq!(flickering.verdict("Ready"), "True/Retrying");
}

/// The Go implementation writes the whole spec over what people added, in every pass.
#[test]
fn what_a_person_adds_to_the_workspacetemplateapply_stays() {
    let mut world = ready();
    let spec = &mut world.apply().wta.spec;
    spec.wait_for_secrets = Some(serde_json::from_value(json!([{"name": "mine"}])).expect("waits"));
    assert!(world.step().is_quiet());
}

#[test]
fn an_edit_of_the_template_is_released_in_its_turn() {
    let mut world = ready();
    if let Some(template) = &mut world.snapshot.template {
        "t2".clone_into(&mut template.revision);
    }
    world.snapshot.peers = vec![crate::owned::Peer {
        key: "team/a-vpc".to_owned(),
        released: Some("t1".to_owned()),
        is_ready: true,
        was_ready: true,
        ..crate::owned::Peer::default()
    }];
    let decision = world.step();
    assert!(decision.children.is_empty());
    let ready = condition(&world.snapshot, &decision, "Ready");
    assert!(ready.message.contains("others get it first"), "{}", ready.message);
    world.snapshot.peers.clear();
    let decision = world.step();
    let apply = written(&decision, "WorkspaceTemplateApply").expect("released");
    assert_eq!(apply.fields["spec"]["templateRevision"], "t2");
}

#[test]
fn a_settled_object_costs_nothing() {
    let mut world = ready();
    for minutes in [1, 60, 100_000] {
        world.now = minute(minutes);
        let decision = world.step();
        assert!(decision.is_quiet() && decision.look_again.is_none());
    }
}

#[test]
fn conditions_of_others_are_neither_repeated_nor_a_reason_to_write() {
    let mut world = ready();
    let status = world.snapshot.captcluster.status.get_or_insert_default();
    status.conditions.get_or_insert_default().push(Condition {
        type_: "Backups".to_owned(),
        status: "True".to_owned(),
        reason: "Done".to_owned(),
        message: String::new(),
        last_transition_time: Time(at(0)),
        observed_generation: None,
    });
    assert!(world.step().is_quiet());
}

#[test]
fn every_transition_is_told_once() {
    let mut world = World::new(fresh());
    world.settle();
    let told: Vec<&str> = world
        .history
        .iter()
        .flat_map(|decision| &decision.events)
        .map(|event| event.reason.as_str())
        .collect();
    assert_eq!(told, ["VPCCreating", "VPCCreated"]);
}

#[test]
fn no_write_is_wasted() {
    let mut world = World::new(fresh());
    world.settle();
    let writes = |decision: &Decided| {
        let own = &decision.own;
        let is_marked = !own.add_finalizers.is_empty() || !own.spec.is_empty() || !own.annotations.is_empty();
        decision.children.len() + usize::from(is_marked) + usize::from(own.status.is_some())
    };
    let total: usize = world.history.iter().map(writes).sum();
    // Held and named, the child, that it is being made, and that it is there.
    assert_eq!(total, 4);
}

#[test]
fn the_secrets_to_read_are_known_before_anything_is_decided() {
    let mut world = ready();
    world.snapshot.captcluster.spec.connection_secret_name = Some("facts".to_owned());
    let snapshot = &world.snapshot;
    let apply = crate::captcluster::apply_of(&snapshot.captcluster, &snapshot.applies);
    assert_eq!(apply.map(OwnedSeen::name), Some("net-vpc"));
    let elsewhere = SecretName {
        namespace: "default".to_owned(),
        name: "net-vpc-vpc-connection".to_owned(),
    };
    let names = crate::captcluster::secrets_to_read(&snapshot.captcluster, apply, Some(&elsewhere));
    let names: Vec<String> = names
        .iter()
        .map(|one| format!("{}/{}", one.namespace, one.name))
        .collect();
    assert_eq!(
        names,
        [
            "team/facts".to_owned(),
            "default/net-vpc-vpc-connection".to_owned(),
            "team/net-vpc-connection".to_owned(),
            format!("team/{}", crate::names::vpc_connection("net").parted()),
            "team/vpc-connection".to_owned(),
        ]
    );
}
