//! Whether the API server of a cluster answers, and what becomes of it if it does not.

use capt_api::captcontrolplane::{ControlPlaneState as State, EndpointCheck};
use serde_json::json;

use super::{
    super::{setup, wants},
    World, at, fresh, living, message, said,
};

#[test]
fn a_private_endpoint_may_be_silent_and_holds_nothing_back() {
    for by_spec in [true, false] {
        let mut world = World::new(fresh());
        if by_spec {
            world.snapshot.control_plane.spec.endpoint_check = Some(EndpointCheck::Optional);
        } else {
            let config = json!({"endpointAccess": {"public": false, "private": true}});
            world.snapshot.control_plane.spec.control_plane_config =
                Some(serde_json::from_value(config).expect("a config"));
        }
        world.answers = false;
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready));
        assert_eq!(
            said(&world.status(), "EndpointAnswers"),
            "Unknown/EndpointNotChecked"
        );
        assert_eq!(said(&world.status(), "Available"), "True/Available");
        world.answers = true;
        world.settle();
        assert_eq!(said(&world.status(), "EndpointAnswers"), "True/EndpointReady");
    }
}

#[test]
fn silence_is_no_news_then_degrades_then_fails_and_ends_when_it_answers() {
    let mut world = living();
    world.answers = false;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready), "a moment is no news");
    assert_eq!(world.decide().look_again, Some(setup::PATIENCE));
    world.clock += 50;
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
    assert!(world.status().ready);
    assert_eq!(said(&world.status(), "Available"), "False/EndpointNotReady");
    world.clock += 250;
    world.settle();
    let status = world.status();
    assert_eq!(
        (status.state, status.ready, status.initialized),
        (Some(State::Failed), false, true)
    );
    assert_eq!(said(&status, "Available"), "False/EndpointNotReady");
    world.answers = true;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    // Nobody asked for a while: that proves nothing.
    world.clock += 3600;
    assert!(world.decide().own.status.is_none_or(|status| status.ready));
}

#[test]
fn what_was_said_about_an_api_server_counts_after_a_restart_until_somebody_asked() {
    let restart = |world: &mut World| {
        world.snapshot.probe = None;
        let decision = world.decide();
        assert!(decision.is_quiet(), "{decision:#?}");
    };
    let mut world = living();
    restart(&mut world);
    world.answers = false;
    world.settle();
    world.clock += 60;
    world.settle();
    assert_eq!(world.status().state, Some(State::Degraded));
    restart(&mut world);
    world.settle();
    assert_eq!(
        world.status().state,
        Some(State::Degraded),
        "its silence did not begin anew"
    );
    world.clock += 260;
    world.settle();
    assert_eq!(world.status().state, Some(State::Failed));
    restart(&mut world);
    world.settle();
    assert_eq!(world.status().state, Some(State::Failed));
    world.snapshot.probe = None;
    world.answers = true;
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
    // One that never served is not taken to do so because it was said to answer.
    let mut new = World::new(fresh());
    new.hidden_outputs.clear();
    new.settle();
    assert_eq!(said(&new.status(), "EndpointAnswers"), "True/EndpointReady");
    new.snapshot.probe = None;
    new.calm();
    assert_eq!(said(&new.status(), "EndpointAnswers"), "Unknown/EndpointNotReady");
}

#[test]
fn nobody_is_said_to_answer_who_never_did() {
    let silent = |world: &mut World| {
        world.answers = false;
        world.settle();
        assert_eq!(
            said(&world.status(), "EndpointAnswers"),
            "Unknown/EndpointNotReady"
        );
        world.clock += 50;
        world.settle();
        assert_eq!(world.status().state, Some(State::Degraded));
    };
    let mut unchecked = World::new(fresh());
    unchecked.answers = false;
    unchecked.snapshot.control_plane.spec.endpoint_check = Some(EndpointCheck::Optional);
    unchecked.settle();
    assert_eq!(unchecked.status().state, Some(State::Ready));
    unchecked.snapshot.control_plane.spec.endpoint_check = Some(EndpointCheck::Required);
    unchecked.snapshot.probe = None;
    silent(&mut unchecked);
    // What served elsewhere, and was never asked from here.
    let mut taken_over = living();
    taken_over.snapshot.probe = None;
    let status = taken_over
        .snapshot
        .control_plane
        .status
        .as_mut()
        .expect("a status");
    let conditions = status.conditions.as_mut().expect("conditions");
    conditions.retain(|condition| condition.type_ != "EndpointAnswers");
    silent(&mut taken_over);
}

#[test]
fn a_spoilt_endpoint_leaves_what_served_as_it_was_told_before() {
    for spoilt in [json!("bad bad"), json!(5), json!(["a"]), json!("")] {
        for check in [EndpointCheck::Required, EndpointCheck::Optional] {
            let mut world = living();
            world.snapshot.control_plane.spec.endpoint_check = Some(check);
            world.settle();
            let before = world.status().endpoint;
            world
                .outputs
                .insert("cluster_endpoint".to_owned(), spoilt.clone());
            world.settle();
            let status = world.status();
            assert_eq!(status.state, Some(State::Degraded), "{spoilt}");
            assert_eq!(said(&status, "Available"), "True/Available", "{spoilt}");
            assert_eq!(said(&status, "EndpointAnswers"), "True/EndpointReady", "{spoilt}");
            assert_eq!(status.endpoint, before, "{spoilt}");
            let told = message(&status, "Ready");
            assert!(told.contains("output cluster_endpoint"), "{told}");
            assert!(told.contains("until then"), "{told}");
            // A move takes the spec with it and leaves the status.
            let endpoint = &world.snapshot.control_plane.spec.control_plane_endpoint;
            let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
            cluster.endpoint.clone_from(endpoint);
            world.snapshot.control_plane.status = None;
            assert!(wants(&world.snapshot, at(0)).probe.is_some(), "{spoilt}");
            world.settle();
            assert_eq!(world.status().state, Some(State::Degraded), "{spoilt}");
            world.outputs.remove("cluster_endpoint");
            world.settle();
            assert_eq!(
                world.status().state,
                Some(State::Ready),
                "what was told once, the module has"
            );
        }
    }
}

#[test]
fn a_new_endpoint_has_to_answer_itself() {
    let mut world = living();
    let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
    cluster
        .endpoint
        .clone_from(&world.snapshot.control_plane.spec.control_plane_endpoint);
    world
        .outputs
        .insert("cluster_endpoint".to_owned(), json!("https://10.0.0.9:6443"));
    world.answers = false;
    world.settle();
    let status = world.status();
    assert_eq!(said(&status, "EndpointAnswers"), "Unknown/EndpointNotReady");
    let told = message(&status, "Ready");
    assert!(
        told.contains("the API server is told to be at 10.0.0.9:6443"),
        "{told}"
    );
    assert!(
        told.ends_with("of the Cluster blue when it answers there"),
        "{told}"
    );
    world.answers = true;
    world.settle();
    assert_eq!(said(&world.status(), "EndpointAnswers"), "True/EndpointReady");
    let told = message(&world.status(), "Ready");
    assert!(told.ends_with("of the Cluster blue"), "{told}");
}
