//! What is written before anything is said of it.

use capt_api::captcontrolplane::ControlPlaneState as State;

use super::{
    super::snapshot::{Hidden, SecretSeen},
    World, fresh, said,
    world::Terraform,
};

/// What the Workspace of this uid wrote about its outputs.
fn outputs_of(world: &World, uid: &str) -> SecretSeen {
    let mut all = world.hidden_outputs.clone();
    let open = world.outputs.iter();
    all.extend(open.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
    SecretSeen {
        name: "blue-eks-connection".to_owned(),
        controller: Some(("Workspace/blue-eks-controlplane".to_owned(), uid.to_owned())),
        data: all
            .iter()
            .map(|(key, text)| (key.clone(), Hidden::new(text)))
            .collect(),
        ..SecretSeen::default()
    }
}

#[test]
fn what_lets_others_in_is_written_while_the_workspace_is_not_ready_yet_and_said_when_it_is() {
    let mut world = World::new(fresh());
    world.terraform = Terraform::Hangs;
    world.settle();
    let status = world.apply_mut().wta.status.as_mut().expect("a status");
    status.workspace_uid = Some("workspace-2".to_owned());

    world.snapshot.connection = Some(outputs_of(&world, "workspace-1"));
    let decision = world.decide();
    assert!(
        decision.children.is_empty() && decision.own.spec.is_empty(),
        "{decision:#?}"
    );

    world.snapshot.connection = Some(outputs_of(&world, "workspace-2"));
    let decision = world.step();
    let names: Vec<&str> = decision
        .children
        .iter()
        .map(|child| child.target.name.as_str())
        .collect();
    assert_eq!(names, ["blue-kubeconfig", "blue-ca"]);
    assert!(decision.own.spec.contains_key("controlPlaneEndpoint"));
    assert!(decision.own.tells_progress, "it may wait for the rest");
    let status = world.status();
    assert_eq!(status.state, Some(State::Provisioning));
    assert_eq!((status.endpoint.as_deref(), status.ready), (None, false));
    assert_eq!(said(&status, "KubeconfigReady"), "False/WorkspaceNotReady");
    let decision = world.decide();
    assert!(decision.is_quiet(), "once is enough: {decision:#?}");

    world.terraform = Terraform::Works;
    world.act();
    world.probe();
    let decision = world.decide();
    assert!(
        decision.children.is_empty() && decision.own.spec.is_empty(),
        "{decision:#?}"
    );
    let status = decision.own.status.expect("a status");
    assert_eq!(status.state, Some(State::Ready));
}

/// Our own write of the address is no change that anybody made.
#[test]
fn what_took_too_long_does_not_begin_anew_because_its_address_is_known() {
    let mut world = World::new(fresh());
    world.terraform = Terraform::Hangs;
    world.settle();
    world.pass(40);
    world.calm();
    assert_eq!(world.status().state, Some(State::Failed));
    let status = world.apply_mut().wta.status.as_mut().expect("a status");
    status.workspace_uid = Some("workspace-1".to_owned());
    world.snapshot.connection = Some(outputs_of(&world, "workspace-1"));
    let decision = world.step();
    assert!(
        !decision.own.tells_progress,
        "the generation is told with the write"
    );
    assert!(world.snapshot.control_plane.spec.control_plane_endpoint.is_some());
    assert_eq!(world.status().state, Some(State::Failed));
    let generation = world.snapshot.control_plane.metadata.generation;
    assert_eq!(world.status().observed_generation, generation);
}
