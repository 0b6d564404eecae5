//! What outputs and Secrets tell about a network, and what is said where they do not.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};

use super::*;

#[test]
fn a_deleted_secret_is_told_and_comes_back() {
    let mut world = ready();
    let secrets = std::mem::take(&mut world.snapshot.secrets);
    world.now = minute(100);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/WaitingForSecret");
    assert_eq!(world.verdict("VPCReady"), "True/VPCCreated");
    assert!(
        world
            .message("Ready")
            .contains("the Secret net-vpc-connection is not there")
    );
    let decision = world
        .history
        .iter()
        .rev()
        .find(|decision| !decision.events.is_empty());
    assert_eq!(decision.expect("told").events[0].kind, EventKind::Warning);
    world.snapshot.secrets = secrets;
    world.rest();
    assert!(world.status().ready);
}

#[test]
fn outputs_that_are_missing_or_wrong_are_named() {
    let id = |id: Value| json!({"vpc_id": id, "availability_zones": ["eu-central-1a"]});
    let of = |entries: &[(&str, &str)]| Some(secret_of(entries));
    let subnets = ("private_subnets", r#"["subnet-a"]"#);
    let (wrong, waits) = ("False/OutputInvalid", "False/WaitingForSecret");
    let no_id = "The module has no output vpc_id, or it is null. Add output \"vpc_id\" to it";
    let is_gone = "the Secret net-vpc-connection is not there. Its Workspace writes it; to have it written again: \
                   capt retry captcluster/net -n team";
    let cut = "has no vpc_id, which the module has to tell; to have it written again: capt retry";
    for (outputs, secret, expected, told) in [
        (id(json!(7)), None, wrong, "output vpc_id is a number"),
        (id(Value::Null), of(&[subnets]), wrong, no_id),
        (json!({}), of(&[subnets]), wrong, no_id),
        (json!({}), of(&[("region", "eu-central-1")]), wrong, no_id),
        (
            id(json!("vpc-7")),
            of(&[("vpc_id", "vpc-7")]),
            wrong,
            "no output private_subnets",
        ),
        // What was not written yet, or is sensitive, is nobody's fault.
        (json!({}), None, waits, is_gone),
        (id(Value::Null), None, waits, is_gone),
        (id(json!("vpc-7")), None, waits, is_gone),
        (json!({"region": "eu-central-1"}), None, waits, is_gone),
        // Somebody took keys away that the module tells.
        (json!({}), of(&[]), waits, "has no vpc_id and no private_subnets"),
        (
            id(Value::Null),
            of(&[]),
            waits,
            "has no vpc_id and no private_subnets",
        ),
        (id(json!("vpc-7")), of(&[subnets]), waits, cut),
        // The text of its author's own making may come to tell more.
        (
            json!({}),
            of(&[("vpc_config", "private_subnets = [\"subnet-a\"]")]),
            waits,
            cut,
        ),
    ] {
        let mut world = World::new(fresh());
        world.rest();
        world.make_real();
        let status = world.apply().wta.status.get_or_insert_default();
        status.outputs = serde_json::from_value(outputs.clone()).expect("outputs");
        world.snapshot.secrets = secret.into_iter().collect();
        let keys = world.snapshot.secrets.clone();
        world.rest();
        assert_eq!(world.verdict("Ready"), expected, "{outputs}: {keys:?}");
        let failed = world.verdict("VPCFailed");
        assert_eq!(
            failed.starts_with("True"),
            expected == wrong,
            "{outputs}: {failed}"
        );
        let message = world.message("Ready");
        assert!(message.contains(told), "{outputs}: {message}");
    }
}

/// The Secret of the network, with these entries.
fn secret_of(entries: &[(&str, &str)]) -> SecretSeen {
    let data: BTreeMap<_, _> = entries
        .iter()
        .map(|(key, text)| ((*key).to_owned(), ByteString(text.as_bytes().to_vec())))
        .collect();
    let mut object = Secret {
        data: Some(data),
        ..Secret::default()
    };
    object.metadata.name = Some("net-vpc-connection".to_owned());
    object.metadata.namespace = Some("team".to_owned());
    SecretSeen::of(&object)
}

/// What is sensitive stands in the Secret alone.
#[test]
fn a_secret_that_is_lost_makes_no_module_wrong() {
    let mut world = ready();
    let status = world.apply().wta.status.get_or_insert_default();
    status.outputs.get_or_insert_default().remove("vpc_id");
    world.rest();
    assert!(world.status().ready);
    let subnets = secret_of(&[("private_subnets", r#"["subnet-a"]"#)]);
    for left in [vec![], vec![secret_of(&[])], vec![subnets]] {
        world.snapshot.secrets.clone_from(&left);
        world.rest();
        assert_eq!(world.verdict("Ready"), "False/WaitingForSecret", "{left:?}");
        assert_eq!(world.status().failure_reason, None, "{left:?}");
    }
}

#[test]
fn what_cannot_be_used_any_more_is_told_and_no_failure_of_what_was_ready() {
    let empty: Vec<(&str, Vec<u8>)> =
        vec![("vpc_id", b"vpc-1".to_vec()), ("private_subnets", b"[]".to_vec())];
    let facts = VpcFacts::read(|key| {
        let found = empty.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.as_slice())
    });
    let spoil = |world: &mut World| {
        let spoilt = SecretSeen {
            facts: facts.clone(),
            ..secret("net-vpc-connection", "")
        };
        world.snapshot.secrets = vec![spoilt];
    };
    let mut world = ready();
    spoil(&mut world);
    world.now = minute(100);
    world.rest();
    assert_eq!(world.verdict("Ready"), "False/OutputInvalid");
    assert_eq!(world.verdict("VPCReady"), "True/VPCCreated");
    assert_eq!(world.verdict("VPCFailed"), "False/OutputInvalid");
    assert_eq!(world.status().failure_reason, None);
    assert!(
        world
            .message("Ready")
            .contains("private_subnets that is a list without subnets")
    );
    let mut told = world.history.iter().flat_map(|decision| &decision.events);
    assert!(told.any(|event| event.reason == "OutputInvalid" && event.kind == EventKind::Warning));
    // What never was ready cannot get so.
    let mut new = World::new(fresh());
    new.rest();
    new.make_real();
    spoil(&mut new);
    new.rest();
    assert_eq!(new.verdict("VPCFailed"), "True/OutputInvalid");
}

#[test]
fn what_to_do_about_an_empty_key_is_told_once() {
    let mut world = World::new(fresh());
    world.rest();
    world.make_real();
    world.snapshot.secrets = vec![secret_of(&[
        ("vpc_id", ""),
        ("private_subnets", r#"["subnet-a"]"#),
    ])];
    world.rest();
    assert_eq!(
        world.message("Ready"),
        "The VPC is there, but the Secret net-vpc-connection has a key vpc_id that is empty; give the module outputs of \
         these names"
    );
}

#[test]
fn an_output_that_becomes_wrong_is_told_and_takes_nothing_away() {
    let mut world = ready();
    let status = world.apply().wta.status.get_or_insert_default();
    let outputs = status.outputs.get_or_insert_default();
    outputs.insert("vpc_id".to_owned(), json!(["vpc-7"]));
    world.rest();
    assert_eq!(world.verdict("Ready"), "True/OutputInvalid");
    assert_eq!(world.verdict("VPCFailed"), "False/OutputInvalid");
    let told = "The module's output vpc_id is a list. Make it a text (module of the WorkspaceTemplate vpc)";
    assert_eq!(world.message("Ready"), told);
    assert_eq!(world.status().vpc_id.as_deref(), Some("vpc-7"));
    let mut events = world.history.iter().flat_map(|decision| &decision.events);
    assert!(events.any(|event| event.kind == EventKind::Warning && event.message == told));
}

#[test]
fn an_output_that_is_wrong_takes_nothing_away_from_what_was_moved() {
    let served = ClusterEndpoint {
        host: Some("10.0.0.1".to_owned()),
        port: Some(6443),
    };
    for (endpoint, expected) in [
        (Some(served), ("True/OutputInvalid", "False/OutputInvalid")),
        (None, ("False/OutputInvalid", "True/OutputInvalid")),
    ] {
        let mut world = ready();
        let status = world.apply().wta.status.get_or_insert_default();
        let outputs = status.outputs.get_or_insert_default();
        outputs.insert("vpc_id".to_owned(), json!(["vpc-7"]));
        let config = "vpc_id = \"vpc-7\"\nprivate_subnets = [\"subnet-a\"]";
        world.snapshot.secrets = vec![secret_of(&[("vpc_id", "[\"vpc-7\"]"), ("vpc_config", config)])];
        world.snapshot.captcluster.status = None;
        world.snapshot.cluster.as_mut().expect("a Cluster").endpoint = endpoint.clone();
        world.rest();
        let said = (world.verdict("Ready"), world.verdict("VPCFailed"));
        assert_eq!((&*said.0, &*said.1), expected, "{endpoint:?}");
        assert_eq!(world.status().ready, endpoint.is_some());
    }
}
