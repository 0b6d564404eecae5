//! A VPC that exists already.

use super::{world::text_in, *};

/// The Go implementation writes the id into its own status and tells nobody.
#[test]
fn an_existing_vpc_really_reaches_the_control_plane() {
    let decision = decide(&with_existing(), at(1));
    let secret = written(&decision, "Secret").expect("it is written by us");
    assert_eq!(secret.target.name, "net-vpc-connection");
    assert_eq!(secret.target.namespace.as_deref(), Some("team"));
    assert_eq!(text_in(secret, "vpc_id"), "vpc-1");
    assert_eq!(text_in(secret, "private_subnets"), r#"["subnet-a","subnet-b"]"#);
    assert_eq!(
        text_in(secret, "vpc_config"),
        "vpc_id = \"vpc-1\"\nprivate_subnets = [\"subnet-a\", \"subnet-b\"]\n"
    );
    let metadata = &secret.fields["metadata"];
    assert_eq!(metadata["labels"][foreign_marks::CLUSTER_NAME], "blue");
    assert_eq!(metadata["ownerReferences"][0]["uid"], "net-1");
    assert!(written(&decision, "WorkspaceTemplateApply").is_none());
    let status = status(&with_existing(), &decision);
    assert!(status.ready);
    assert_eq!(status.vpc_id.as_deref(), Some("vpc-1"));
    assert_eq!(
        status.initialization.and_then(|flags| flags.provisioned),
        Some(true)
    );
    assert_eq!(
        verdict(&with_existing(), &decision, "VPCReady"),
        "True/ExistingVPCUsed"
    );
}

#[test]
fn the_secret_is_written_once_and_mended_when_it_is_changed() {
    let mut world = World::new(with_existing());
    world.rest();
    assert!(world.step().is_quiet());
    type Change = fn(&mut SecretSeen);
    let changes: [(&str, Change); 4] = [
        ("other facts", |secret| secret.facts.private_subnets = None),
        ("another form", |secret| secret.is_as_written = false),
        ("no label", |secret| secret.cluster = None),
        ("an owner from before a move", |secret| {
            "net-0".clone_into(&mut secret.owners[0].uid)
        }),
    ];
    for (name, change) in changes {
        let mut world = World::new(with_existing());
        world.rest();
        change(&mut world.snapshot.secrets[0]);
        let decision = world.step();
        let secret = written(&decision, "Secret").unwrap_or_else(|| panic!("{name}: it is mended"));
        assert_eq!(secret.guard, Guard::Uid("secret-1".to_owned()), "{name}");
    }
    // A deleted one comes back.
    world.snapshot.secrets.clear();
    assert!(written(&world.step(), "Secret").is_some());
}

#[test]
fn a_secret_of_somebody_else_is_never_overwritten() {
    // Another name is found for ours.
    let mut snapshot = with_existing();
    snapshot.secrets = vec![secret("net-vpc-connection", "vpc-9")];
    let decision = decide(&snapshot, at(1));
    let written_name = &written(&decision, "Secret").expect("written").target.name;
    assert_eq!(written_name, crate::names::vpc_connection("net").parted());
    let told = condition(&snapshot, &decision, "Ready").message;
    assert!(
        told.contains("The Secret net-vpc-connection is somebody else's"),
        "{told}"
    );

    // That is told once, also if it turns up later.
    let mut world = World::new(with_existing());
    world.rest();
    world.snapshot.secrets[0].owners.clear();
    world.rest();
    world.rest();
    let events = world.history.iter().flat_map(|decision| &decision.events);
    let told: Vec<EventKind> = events
        .filter(|event| event.reason == "SecretTaken")
        .map(|event| event.kind)
        .collect();
    assert_eq!(told, [EventKind::Warning]);

    // One that the spec names is used if it tells the same, and refused if not.
    let mut snapshot = with_existing();
    snapshot.captcluster.spec.connection_secret_name = Some("facts".to_owned());
    snapshot.captcluster.spec.existing_subnet_ids = None;
    for (vpc_id, expected) in [
        ("vpc-1", "True/ExistingVPCUsed"),
        ("vpc-9", "False/InvalidVPCConfig"),
    ] {
        snapshot.secrets = vec![secret("facts", vpc_id)];
        let decision = decide(&snapshot, at(1));
        assert!(written(&decision, "Secret").is_none());
        assert_eq!(verdict(&snapshot, &decision, "Ready"), expected);
    }
}

#[test]
fn a_secret_that_somebody_deletes_is_written_again_and_that_is_told_once() {
    let mut world = World::new(with_existing());
    world.rest();
    let told = |world: &World| {
        let children = world.history.iter().flat_map(|decision| &decision.children);
        let losses = children.filter_map(|child| child.loss.as_ref());
        let restored = losses.filter(|event| event.reason == "SecretRestored");
        restored
            .map(|event| (event.kind, event.message.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&world), [], "the first one is no other");
    world.snapshot.secrets.clear();
    world.rest();
    world.rest();
    let message = "The Secret net-vpc-connection was deleted, and is written again";
    assert_eq!(told(&world), [(EventKind::Warning, message.to_owned())]);
    assert_eq!(world.snapshot.secrets.len(), 1);
    // Another name is no loss.
    let captcluster = &mut world.snapshot.captcluster;
    captcluster.spec.connection_secret_name = Some("facts".to_owned());
    captcluster.metadata.generation = captcluster.metadata.generation.map(|generation| generation + 1);
    world.rest();
    assert_eq!(told(&world).len(), 1);
}

#[test]
fn without_subnets_it_is_ready_and_says_what_that_means() {
    let mut snapshot = with_existing();
    snapshot.captcluster.spec.existing_subnet_ids = None;
    let decision = decide(&snapshot, at(1));
    let secret = written(&decision, "Secret").expect("written");
    assert!(secret.fields["data"].get("private_subnets").is_none());
    let ready = condition(&snapshot, &decision, "Ready");
    assert_eq!(ready.status, "True");
    assert!(
        ready.message.contains("spec.existingSubnetIds is not set"),
        "{}",
        ready.message
    );
}

#[test]
fn our_secret_goes_with_the_object_and_the_vpc_stays() {
    let mut world = World::new(with_existing());
    world.rest();
    world.snapshot.secrets.push(secret("vpc-connection", "vpc-1"));
    delete(&mut world.snapshot);
    let decision = world.step();
    let gone: Vec<&str> = decision
        .removals
        .iter()
        .map(|one| one.target.name.as_str())
        .collect();
    assert_eq!(gone, ["net-vpc-connection"]);
    assert_eq!(decision.own.remove_finalizers, [marks::CAPTCLUSTER_FINALIZER]);
}
