//! Kubeconfigs with a token that AWS honours.

use std::time::Duration;

use capt_api::captcontrolplane::ControlPlaneState as State;
use serde_json::json;

use super::{
    super::{
        kubeconfig,
        snapshot::{Hidden, SecretSeen, Token},
        wants,
    },
    World, at, fresh, message, said,
    world::say,
};
use crate::decision::EventKind;

fn eks() -> World {
    let mut world = World::new(fresh());
    let endpoint = json!("https://ABC.gr7.eu-central-1.eks.amazonaws.com");
    world.outputs.insert("cluster_endpoint".to_owned(), endpoint);
    world.hidden_outputs.clear();
    world
}

fn issue(world: &mut World, value: &str) {
    world.snapshot.token = Some(Token {
        value: Hidden::new(value),
        expires_at: at(world.clock + 15 * 60),
    });
}

fn token(world: &World) -> Option<String> {
    let secret = world.snapshot.kubeconfig.as_ref()?;
    secret.text(kubeconfig::TOKEN_FILE).map(str::to_owned)
}

#[test]
fn a_cluster_is_not_ready_before_there_is_a_token_and_it_says_so() {
    let mut world = eks();
    world.settle();
    assert_eq!(world.status().state, Some(State::Configuring));
    assert_eq!(
        said(&world.status(), "KubeconfigReady"),
        "False/KubeconfigGenerationFailed"
    );
    let wish = wants(&world.snapshot, at(3)).token.expect("a wish");
    assert_eq!(
        (wish.cluster_name.as_str(), wish.region.as_str()),
        ("blue", "eu-central-1")
    );
    assert_eq!(wish.by, at(3), "at once");
    world.snapshot.token_trouble = Some("no credentials".to_owned());
    world.settle();
    assert!(message(&world.status(), "KubeconfigReady").contains("no credentials"));
    issue(&mut world, "t-1");
    world.snapshot.token_trouble = None;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(token(&world).as_deref(), Some("t-1"));
    assert!(world.snapshot.user_kubeconfig.is_some() && world.snapshot.ca.is_some());
    let text = serde_json::to_string(&world.status()).expect("a status");
    assert!(!text.contains("t-1"), "never in the status");
    assert!(!world.events.join(" ").contains("t-1"));
}

#[test]
fn no_moment_is_without_a_valid_token() {
    let mut world = eks();
    world.settle();
    issue(&mut world, "t-0");
    world.settle();
    for round in 1..20 {
        let wish = wants(&world.snapshot, at(world.clock)).token.expect("a wish");
        let decision = world.decide();
        assert!(decision.is_quiet(), "nothing is written before it is due");
        let due = decision.look_again.expect("a time to look again");
        assert_eq!(at(world.clock) + due, wish.by);
        assert!(due > Duration::from_secs(60));
        world.clock += i64::try_from(due.as_secs()).expect("small");
        // A restart at any time: the Secret is all that there is.
        world.snapshot.token = None;
        world.probe();
        let wish = wants(&world.snapshot, at(world.clock)).token.expect("a wish");
        assert!(wish.by <= at(world.clock), "it is due");
        assert!(
            world.decide().is_quiet(),
            "the old one stays until another is there"
        );
        let value = format!("t-{round}");
        issue(&mut world, &value);
        world.settle();
        assert_eq!(token(&world), Some(value));
        assert_eq!(world.status().state, Some(State::Ready));
    }
}

#[test]
fn a_token_that_cannot_be_renewed_is_used_until_it_ends() {
    let mut world = eks();
    world.settle();
    issue(&mut world, "t-1");
    world.settle();
    world.pass(10);
    world.snapshot.token_trouble = Some("denied".to_owned());
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    assert_eq!(
        said(&world.status(), "KubeconfigReady"),
        "True/KubeconfigGenerationFailed"
    );
    assert_eq!(world.decide().look_again, Some(Duration::from_secs(5 * 60)));
    world.pass(5);
    world.settle();
    assert_eq!(world.status().state, Some(State::Configuring));
    assert!(
        world.status().ready,
        "that nobody gets in does not stop it from serving"
    );
    assert_eq!(
        said(&world.status(), "KubeconfigReady"),
        "False/KubeconfigGenerationFailed"
    );
}

#[test]
fn a_token_is_renewed_in_a_pause_too_and_nothing_else_is() {
    let mut world = eks();
    world.settle();
    issue(&mut world, "t-1");
    world.settle();
    world.snapshot.cluster.as_mut().expect("a Cluster").paused = true;
    world.calm();
    world.snapshot.ca = None;
    world.pass(10);
    issue(&mut world, "t-2");
    let decision = world.step();
    assert_eq!(decision.children.len(), 1);
    assert_eq!(token(&world).as_deref(), Some("t-2"));
    assert!(world.snapshot.ca.is_none(), "everything else waits");
}

#[test]
fn a_token_that_ends_in_a_pause_before_the_cluster_was_ready_is_told() {
    let mut world = eks();
    world.answers = false;
    world.settle();
    issue(&mut world, "t-1");
    world.settle();
    assert_eq!(world.status().state, Some(State::Configuring));
    let told = |world: &World| said(&world.status(), "KubeconfigReady");
    assert_eq!(told(&world), "True/KubeconfigGenerated");
    world.snapshot.cluster.as_mut().expect("a Cluster").paused = true;
    say(world.apply_mut(), "Synced", false, "ReconcilePaused", at(0));
    world.calm();
    let wish = wants(&world.snapshot, at(world.clock)).token;
    assert!(wish.is_some(), "it is renewed in a pause too");

    // Whoever issues tokens began anew, and cannot.
    world.snapshot.token = None;
    assert!(world.decide().look_again.is_some());
    world.pass(15);
    world.calm();
    assert_eq!(told(&world), "False/KubeconfigGenerationFailed");
    assert_eq!(world.status().state, Some(State::Configuring));
    issue(&mut world, "t-2");
    world.calm();
    assert_eq!(told(&world), "True/KubeconfigGenerated");
    assert_eq!(token(&world).as_deref(), Some("t-2"));
}

#[test]
fn an_output_that_is_no_certificate_is_refused() {
    let mut world = eks();
    let key = "cluster_certificate_authority_data".to_owned();
    for (value, reason) in [(json!("%%%"), "OutputInvalid"), (json!(7), "OutputInvalid")] {
        world.outputs.insert(key.clone(), value);
        issue(&mut world, "t-1");
        world.settle();
        assert_eq!(said(&world.status(), "Failed"), format!("True/{reason}"));
        assert!(message(&world.status(), "Failed").contains(&key));
        world.apply_mut().wta.status = None;
    }
}

#[test]
fn a_certificate_authority_that_was_known_once_stays_and_tokens_go_on() {
    let key = "cluster_certificate_authority_data".to_owned();
    for (name, value) in [("spoilt", Some(json!("%%%"))), ("gone", None)] {
        let mut world = eks();
        // Its Secret is there: what is in neither, the module does not tell.
        world.hidden_outputs.insert("other".to_owned(), "1".to_owned());
        issue(&mut world, "t-1");
        world.settle();
        let before = world.snapshot.clone();
        match value {
            Some(value) => world.outputs.insert(key.clone(), value),
            None => world.outputs.remove(&key),
        };
        world.pass(10);
        issue(&mut world, "t-2");
        world.settle();
        assert_eq!(world.status().state, Some(State::Degraded), "{name}");
        assert_eq!(
            said(&world.status(), "KubeconfigReady"),
            "False/OutputInvalid",
            "{name}"
        );
        assert_eq!(token(&world).as_deref(), Some("t-2"), "{name}");
        assert_eq!(world.snapshot.user_kubeconfig, before.user_kubeconfig, "{name}");
        assert_eq!(world.snapshot.ca, before.ca, "{name}");
        let of = |secret: &Option<SecretSeen>| {
            let secret = secret.as_ref().expect("a kubeconfig");
            let text = secret.text(kubeconfig::RELATIVE).expect("a text");
            text.to_owned()
        };
        assert_eq!(of(&world.snapshot.kubeconfig), of(&before.kubeconfig), "{name}");
    }
}

#[test]
fn a_secret_that_somebody_deletes_is_written_again_and_that_is_told_once() {
    type Lose = fn(&mut World);
    let cases: [(&str, bool, Lose); 4] = [
        ("blue-kubeconfig", true, |world| world.snapshot.kubeconfig = None),
        ("blue-ca", true, |world| world.snapshot.ca = None),
        ("blue-user-kubeconfig", true, |world| {
            world.snapshot.user_kubeconfig = None;
        }),
        ("blue-ca", false, |world| world.snapshot.ca = None),
    ];
    for (name, is_eks, lose) in cases {
        let mut world = if is_eks { eks() } else { World::new(fresh()) };
        issue(&mut world, "t-1");
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready), "{name}");
        assert!(!world.events.join(" ").contains("SecretRestored"), "{name}");
        lose(&mut world);
        let mut told = Vec::new();
        for _ in 0..5 {
            let children = world.step().children.into_iter();
            let losses = children.filter_map(|child| child.loss);
            told.extend(losses.map(|event| (event.kind, event.message)));
        }
        let message = format!("The Secret {name} was deleted, and is written again");
        let warned: Vec<_> = told.iter().filter(|(_, told)| *told == message).collect();
        assert_eq!(warned, [&(EventKind::Warning, message)], "{told:?}");
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready), "{name}");
        let snapshot = &world.snapshot;
        assert!(snapshot.kubeconfig.is_some() && snapshot.ca.is_some(), "{name}");
        assert_eq!(snapshot.user_kubeconfig.is_some(), is_eks, "{name}");
    }
}

/// The token that was issued went with a restart, and another takes a moment.
#[test]
fn a_kubeconfig_that_cannot_be_written_again_yet_is_not_said_to_be() {
    let mut world = eks();
    issue(&mut world, "t-1");
    world.settle();
    world.snapshot.kubeconfig = None;
    world.snapshot.token = None;
    world.events.clear();
    for _ in 0..3 {
        world.step();
    }
    let deleted = "The Secret blue-kubeconfig was deleted, and is written again";
    let told: Vec<&String> = world
        .events
        .iter()
        .filter(|event| event.contains(deleted))
        .collect();
    let expected = format!("SecretError: {deleted} when what it says is known");
    assert_eq!(told, [&expected]);
    issue(&mut world, "t-2");
    world.settle();
    assert!(world.snapshot.kubeconfig.is_some());
    let told = world.events.iter().filter(|event| event.contains(deleted));
    assert_eq!(told.count(), 1, "{:?}", world.events);
}

#[test]
fn a_certificate_authority_that_the_module_tells_later_is_no_loss() {
    let mut world = World::new(fresh());
    let output = "cluster_certificate_authority_data";
    let told = world.outputs.remove(output).expect("it is told");
    world.settle();
    assert_eq!(
        (world.status().state, &world.snapshot.ca),
        (Some(State::Ready), &None)
    );
    world.outputs.insert(output.to_owned(), told.clone());
    let status = world.apply_mut().wta.status.get_or_insert_default();
    status
        .outputs
        .get_or_insert_default()
        .insert(output.to_owned(), told);
    let decision = world.step();
    assert!(world.snapshot.ca.is_some());
    assert_eq!(decision.events, []);
}

#[test]
fn a_certificate_authority_that_changes_is_written_again_with_the_kubeconfigs() {
    let mut world = eks();
    issue(&mut world, "t-1");
    world.settle();
    let ca = "-----BEGIN CERTIFICATE-----\nanother\n-----END CERTIFICATE-----\n";
    let output = json!(kubeconfig::ca_data(ca));
    let name = "cluster_certificate_authority_data".to_owned();
    let status = world.apply_mut().wta.status.get_or_insert_default();
    let outputs = status.outputs.get_or_insert_default();
    outputs.insert(name.clone(), output.clone());
    world.outputs.insert(name, output);
    world.settle();
    let snapshot = &world.snapshot;
    let written = snapshot.ca.as_ref().and_then(|secret| secret.text("ca.crt"));
    assert_eq!(written, Some(ca));
    for secret in [&snapshot.kubeconfig, &snapshot.user_kubeconfig] {
        let text = secret.as_ref().and_then(|secret| secret.text("value"));
        let text = text.expect("a kubeconfig");
        assert!(text.contains(&kubeconfig::ca_data(ca)), "{text}");
    }
    assert_eq!(world.status().state, Some(State::Ready));
}
