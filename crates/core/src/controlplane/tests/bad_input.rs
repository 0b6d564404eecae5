//! What is wrong is said with the field and the fix, and nothing is destroyed.

use capt_api::{CAPTCluster, captcontrolplane::ControlPlaneState as State, region::Region, version::Version};
use serde_json::json;

use super::{
    super::snapshot::{ClusterSeen, Hidden, InfrastructureSeen, SecretSeen},
    World, fresh, living, message, said,
};
use crate::{decision::EventKind, wta::snapshot::TemplateSeen};

type Edit = fn(&mut World);

#[test]
fn what_cannot_be_made_is_told_with_the_field_and_the_fix() {
    let cases: Vec<(&str, Edit, &str, &str, State, Edit)> = vec![
        (
            "a version that is none",
            |world| world.snapshot.control_plane.spec.version = Version::from("latest"),
            "InvalidSpec",
            "spec.version latest",
            State::Failed,
            |world| world.edit(|spec| spec.version = Version::from("1.31")),
        ),
        (
            "another region than the network's",
            |world| {
                let config = json!({"region": "us-east-1"});
                world.snapshot.control_plane.spec.control_plane_config =
                    Some(serde_json::from_value(config).expect("a config"));
            },
            "RegionMismatch",
            "Take it out; then it is eu-central-1",
            State::Failed,
            |world| {
                let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
                infrastructure.region = Some(Region::from("us-east-1"));
            },
        ),
        (
            "no template",
            |world| world.snapshot.template = None,
            "WorkspaceTemplateNotFound",
            "no WorkspaceTemplate eks in namespace team",
            State::Validating,
            |world| world.snapshot.template = fresh().template,
        ),
        (
            "a template elsewhere that is not shared",
            |world| {
                let template = world.snapshot.template.as_mut().expect("a template");
                template.namespace = "other".to_owned();
            },
            "TemplateNotShared",
            "add team to its spec.sharedWith",
            State::Validating,
            |world| {
                world.snapshot.template = Some(TemplateSeen {
                    namespace: "other".to_owned(),
                    shared_with: vec!["team".to_owned()],
                    revision: "t1".to_owned(),
                    ..TemplateSeen::default()
                });
            },
        ),
        (
            "a Cluster with another control plane",
            |world| {
                let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
                cluster.control_plane_ref = Some("green".to_owned());
            },
            "InvalidSpec",
            "has the control plane green",
            State::Failed,
            |world| {
                world.snapshot.cluster = Some(ClusterSeen {
                    control_plane_ref: Some("blue".to_owned()),
                    ..world.snapshot.cluster.clone().expect("a Cluster")
                });
            },
        ),
        (
            "a network whose Secret is not there",
            |world| world.snapshot.vpc_secret = None,
            "SecretError",
            "The CAPTCluster blue sees to it; to have it written again: capt retry captcluster/blue -n team",
            State::Validating,
            |world| world.snapshot.vpc_secret = fresh().vpc_secret,
        ),
        (
            "a network whose Secret lacks a key",
            |world| {
                let secret = world.snapshot.vpc_secret.as_mut().expect("a Secret");
                secret.data.remove("private_subnets");
            },
            "SecretError",
            "blue-vpc-connection has no key private_subnets",
            State::Validating,
            |world| world.snapshot.vpc_secret = fresh().vpc_secret,
        ),
    ];
    for (name, spoil, reason, words, state, mend) in cases {
        let mut world = World::new(fresh());
        spoil(&mut world);
        world.settle();
        assert_eq!(world.status().state, Some(state), "{name}");
        assert_eq!(
            said(&world.status(), "Ready"),
            format!("False/{reason}"),
            "{name}"
        );
        let told = message(&world.status(), "Ready");
        assert!(told.contains(words), "{name}: {told}");
        assert!(world.snapshot.applies.is_empty(), "{name}");
        assert!(
            world.events.iter().any(|event| event.contains(words)),
            "{name}: an event"
        );
        mend(&mut world);
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready), "{name}: mended");
    }
}

#[test]
fn what_the_module_gets_wrong_is_told_with_the_output_and_the_fix() {
    let cases: Vec<(&str, Edit, &str, &str)> = vec![
        (
            "no endpoint",
            |world| {
                world.outputs.remove("cluster_endpoint");
            },
            "OutputInvalid",
            "no output cluster_endpoint",
        ),
        (
            "an endpoint of the wrong type",
            |world| {
                world.outputs.insert("cluster_endpoint".to_owned(), json!(["a"]));
            },
            "OutputInvalid",
            "cluster_endpoint is a list",
        ),
        (
            "an endpoint that is none",
            |world| {
                world
                    .outputs
                    .insert("cluster_endpoint".to_owned(), json!("http://host"));
            },
            "EndpointError",
            "reached by https",
        ),
        (
            "no kubeconfig",
            |world| {
                world.hidden_outputs.clear();
                world.hidden_outputs.insert("other".to_owned(), "1".to_owned());
            },
            "OutputInvalid",
            "no output kubeconfig",
        ),
        (
            "a kubeconfig that runs a program",
            |world| {
                let text = "clusters: []\nusers:\n- user:\n    exec:\n      command: aws\n";
                world
                    .hidden_outputs
                    .insert("kubeconfig".to_owned(), text.to_owned());
            },
            "KubeconfigGenerationFailed",
            "runs a program",
        ),
        (
            "a kubeconfig Secret that is somebody else's",
            |world| {
                world.snapshot.kubeconfig = Some(SecretSeen {
                    name: "blue-kubeconfig".to_owned(),
                    controller: Some(("KubeadmControlPlane/blue".to_owned(), "9".to_owned())),
                    ..SecretSeen::default()
                });
            },
            "SecretError",
            "belongs to KubeadmControlPlane/blue",
        ),
    ];
    for (name, spoil, reason, words) in cases {
        let mut world = World::new(fresh());
        spoil(&mut world);
        world.settle();
        assert_eq!(
            said(&world.status(), "Failed"),
            format!("True/{reason}"),
            "{name}"
        );
        let told = message(&world.status(), "Failed");
        assert!(told.contains(words), "{name}: {told}");
        assert!(!world.status().ready, "{name}");
    }
}

#[test]
fn an_output_that_nothing_hangs_on_is_told_while_the_cluster_serves() {
    let cases = [
        (
            "a version that is none",
            ("cluster_version", json!("banana")),
            "is no Kubernetes version. Make it the text of a version, such as \"1.31\"",
        ),
        (
            "a version of the wrong type",
            ("cluster_version", json!(1.31)),
            "is a number. Make it the text of a version, such as \"1.31\"",
        ),
        (
            "a certificate authority that is none",
            ("cluster_certificate_authority_data", json!("banana")),
            "is no certificate. Make it base64 of a PEM certificate",
        ),
        (
            "a certificate authority of the wrong type",
            ("cluster_certificate_authority_data", json!(7)),
            "is a number. Make it base64 of a PEM certificate",
        ),
    ];
    for (name, (output, value), words) in cases {
        let mut world = living();
        let good = (world.snapshot.ca.clone(), world.snapshot.kubeconfig.clone());
        world.outputs.insert(output.to_owned(), value);
        world.settle();
        assert_eq!(world.status().state, Some(State::Degraded), "{name}");
        assert_eq!(said(&world.status(), "Ready"), "True/OutputInvalid", "{name}");
        let told = message(&world.status(), "Ready");
        let expected = format!("The module's output {output}");
        assert!(told.contains(&expected) && told.contains(words), "{name}: {told}");
        assert!(
            told.contains("of the Workspace blue-eks-controlplane"),
            "{name}: {told}"
        );
        assert!(
            world.events.iter().any(|event| event.contains(words)),
            "{name}: an event"
        );
        assert!(world.status().ready, "{name}");
        assert_eq!(world.status().version.as_deref(), Some("1.31"), "{name}");
        let after = (world.snapshot.ca.clone(), world.snapshot.kubeconfig.clone());
        assert_eq!(after, good, "{name}");
        world.outputs = World::new(fresh()).outputs;
        world.settle();
        assert_eq!(world.status().state, Some(State::Ready), "{name}: mended");
    }
}

#[test]
fn a_mistake_in_the_spec_of_a_cluster_that_serves_degrades_it_and_changes_nothing() {
    let edits: Vec<(&str, Edit, &str)> = vec![
        (
            "version",
            |world| world.edit(|spec| spec.version = Version::from("x")),
            "InvalidSpec",
        ),
        (
            "template",
            |world| world.edit(|spec| spec.workspace_template_ref.name = "other".to_owned()),
            "InvalidSpec",
        ),
    ];
    for (name, edit, reason) in edits {
        let mut world = living();
        let apply = world.apply().wta.spec.clone();
        edit(&mut world);
        world.settle();
        assert_eq!(world.status().state, Some(State::Degraded), "{name}");
        assert_eq!(said(&world.status(), "Ready"), format!("True/{reason}"), "{name}");
        assert!(world.status().ready, "{name}");
        assert_eq!(world.apply().wta.spec, apply, "{name}");
    }
}

#[test]
fn what_was_known_once_and_is_gone_changes_nothing() {
    let mut world = living();
    let apply = world.apply().wta.spec.clone();
    world.snapshot.vpc_secret = None;
    world.snapshot.template = None;
    world.snapshot.infrastructure = None;
    let outputs = world
        .apply_mut()
        .wta
        .status
        .get_or_insert_default()
        .outputs
        .as_mut();
    outputs.expect("outputs").remove("cluster_endpoint");
    world.calm();
    assert_eq!(world.apply().wta.spec, apply);
    assert_eq!(world.status().endpoint.as_deref(), Some("10.0.0.1:6443"));
    assert_eq!(world.status().state, Some(State::Ready));
}

#[test]
fn a_deleted_or_edited_kubeconfig_is_made_again() {
    let mut world = living();
    let good = world.snapshot.kubeconfig.clone();
    world.snapshot.kubeconfig = None;
    world.settle();
    assert_eq!(world.snapshot.kubeconfig, good);
    let secret = world.snapshot.kubeconfig.as_mut().expect("a Secret");
    secret.data.insert("value".to_owned(), Hidden::new("hello"));
    world.settle();
    assert_eq!(world.snapshot.kubeconfig, good);
}

#[test]
fn a_hand_edited_status_is_set_right() {
    let mut world = living();
    let good = world.status();
    let status = world.snapshot.control_plane.status.as_mut().expect("a status");
    status.state = Some(State::Failed);
    status.phase = None;
    status.ready = false;
    status.failure_reason = Some("Nonsense".to_owned());
    status.endpoint = None;
    status.version = Some("9.9".to_owned());
    world.settle();
    let after = world.status();
    assert_eq!(
        (
            after.state,
            after.phase,
            after.ready,
            after.failure_reason,
            after.endpoint,
            after.version
        ),
        (
            good.state,
            good.phase,
            good.ready,
            good.failure_reason,
            good.endpoint,
            good.version
        )
    );
}

#[test]
fn what_somebody_must_see_to_is_a_warning_and_what_takes_a_while_is_none() {
    let kinds = |world: &mut World| {
        let mut kinds = Vec::new();
        for _ in 0..12 {
            let decision = world.step();
            kinds.extend(
                decision
                    .events
                    .into_iter()
                    .map(|event| (event.kind, event.message)),
            );
            world.act();
        }
        kinds
    };
    let mut well = World::new(fresh());
    let told = kinds(&mut well);
    assert!(
        !told.is_empty() && told.iter().all(|(kind, _)| *kind == EventKind::Normal),
        "{told:?}"
    );
    let mut without_template = World::new(fresh());
    without_template.snapshot.template = None;
    let told = kinds(&mut without_template);
    let last = told.last().expect("an event");
    assert!(
        last.0 == EventKind::Warning && last.1.contains("no WorkspaceTemplate eks"),
        "{told:?}"
    );
    let mut silent = World::new(fresh());
    silent.answers = false;
    let told = kinds(&mut silent);
    let last = told.last().expect("an event");
    assert!(
        last.0 == EventKind::Warning && last.1.contains("does not answer"),
        "{told:?}"
    );
    assert!(last.1.contains("write spec.endpointCheck: Optional"), "{told:?}");
}

#[test]
fn an_infrastructure_that_does_not_exist_is_named_with_the_fix() {
    for (kind, expected) in [
        (
            "CAPTCluster",
            "the CAPTCluster net, which does not exist. Make it, or mend spec.infrastructureRef",
        ),
        (
            "OtherCluster",
            "the OtherCluster net: the Cluster blue does not say yet",
        ),
    ] {
        let mut world = World::new(fresh());
        world.snapshot.infrastructure = None;
        let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
        cluster.infrastructure_ref = Some((kind.to_owned(), "net".to_owned()));
        cluster.infrastructure_provisioned = false;
        world.calm();
        let told = message(&world.status(), "Ready");
        assert!(told.contains(expected), "{told}");
    }
}

/// The contract asks for no more of it.
#[test]
fn a_network_that_somebody_else_manages_serves_once_it_is_provisioned() {
    for (managed_by, expected) in [(Some("others"), State::Ready), (None, State::Degraded)] {
        let captcluster: CAPTCluster = serde_json::from_value(json!({
            "metadata": {"name": "blue", "annotations": managed_by.map(|who| json!({"cluster.x-k8s.io/managed-by": who}))},
            "spec": {"region": "eu-central-1"},
            "status": {"initialization": {"provisioned": true}, "vpcWorkspaceName": "blue-vpc"},
        }))
        .expect("a CAPTCluster");
        let mut world = World::new(fresh());
        world.snapshot.infrastructure = Some(InfrastructureSeen::of(&captcluster, None));
        world.settle();
        assert_eq!(world.status().state, Some(expected), "{managed_by:?}");
    }
}

#[test]
fn a_network_that_nothing_is_done_about_is_named_with_the_reason() {
    let (paused, managed) = ("cluster.x-k8s.io/paused", "cluster.x-k8s.io/managed-by");
    for (metadata, expected) in [
        (
            json!({"annotations": {paused: ""}}),
            "which is paused. To end the pause: kubectl annotate captcluster net -n team cluster.x-k8s.io/paused-",
        ),
        (
            json!({"annotations": {managed: "others"}}),
            "which somebody else manages (cluster.x-k8s.io/managed-by)",
        ),
        (
            json!({"labels": {managed: "others"}, "annotations": {paused: ""}}),
            "which somebody else manages (cluster.x-k8s.io/managed-by)",
        ),
        (
            json!({}),
            "Waiting for the CAPTCluster net: a template is missing",
        ),
    ] {
        let mut captcluster: CAPTCluster = serde_json::from_value(json!({
            "metadata": metadata,
            "spec": {"region": "eu-central-1"},
            "status": {"ready": false, "conditions": [{
                "type": "Ready", "status": "False", "reason": "X", "message": "a template is missing",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .expect("a CAPTCluster");
        captcluster.metadata.name = Some("net".to_owned());
        let mut world = World::new(fresh());
        world.snapshot.infrastructure = Some(InfrastructureSeen::of(&captcluster, None));
        let cluster = world.snapshot.cluster.as_mut().expect("a Cluster");
        cluster.infrastructure_provisioned = false;
        world.calm();
        assert_eq!(said(&world.status(), "Ready"), "False/WaitingForVPC");
        let told = message(&world.status(), "Ready");
        assert!(told.contains(expected), "{metadata}: {told}");
    }
}

#[test]
fn a_connection_secret_that_is_somebody_elses_is_given_up_once_the_spec_does_not_ask_for_it() {
    for (type_, controller, is_given_up) in [
        ("Opaque", None, true),
        ("connection.crossplane.io/v1alpha1", None, false),
        ("Opaque", Some("Certificate/web"), true),
        ("connection.crossplane.io/v1alpha1", Some("Workspace/other"), true),
        (
            "connection.crossplane.io/v1alpha1",
            Some("Workspace/blue-eks-controlplane"),
            false,
        ),
    ] {
        let mut world = living();
        world.edit(|spec| spec.connection_secret_name = Some("theirs".to_owned()));
        world.calm();
        let told = |world: &World| {
            let reference = world.apply().wta.spec.write_connection_secret_to_ref.clone();
            reference.expect("a name").name
        };
        assert_eq!(told(&world), "theirs");
        world.snapshot.connection = Some(SecretSeen {
            name: "theirs".to_owned(),
            type_: type_.to_owned(),
            controller: controller.map(|controller| (controller.to_owned(), "uid".to_owned())),
            ..SecretSeen::default()
        });
        world.edit(|spec| spec.connection_secret_name = None);
        world.calm();
        let expected = if is_given_up {
            "blue-eks-connection"
        } else {
            "theirs"
        };
        assert_eq!(told(&world), expected, "{type_} {controller:?}");
        // Nor is a derived name changed for ever, whosever that is.
        if let Some(secret) = &mut world.snapshot.connection {
            expected.clone_into(&mut secret.name);
        }
        world.calm();
        assert_eq!(told(&world), expected, "{type_} {controller:?}");
    }
}

#[test]
fn nothing_is_made_in_the_network_of_another_cluster() {
    for (name, owner, is_told) in [
        ("another Cluster", Some("green"), true),
        ("its own", Some("blue"), false),
        ("nobody yet", None, false),
    ] {
        let mut world = World::new(fresh());
        let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
        infrastructure.cluster = owner.map(str::to_owned);
        world.settle();
        assert_eq!(world.snapshot.applies.is_empty(), is_told, "{name}");
        let status = world.status();
        let expected = if is_told { State::Pending } else { State::Ready };
        assert_eq!(status.state, Some(expected), "{name}");
        let told = message(&status, "Ready");
        let words =
            "CAPTCluster blue belongs to the Cluster green. Name another one in spec.infrastructureRef";
        assert_eq!(told.contains(words), is_told, "{name}: {told}");
    }
    // What serves goes on, whoever claims its network.
    let mut world = super::living();
    let infrastructure = world.snapshot.infrastructure.as_mut().expect("infrastructure");
    infrastructure.cluster = Some("green".to_owned());
    world.settle();
    assert_eq!(world.status().state, Some(State::Ready));
}

#[test]
fn a_name_that_was_written_over_is_put_right_and_told() {
    let mut world = super::living();
    let before = world.events.len();
    world.edit(|spec| spec.workspace_template_apply_name = Some("zzz".to_owned()));
    world.settle();
    let spec = &world.snapshot.control_plane.spec;
    let right = world.apply().name();
    assert_eq!(spec.workspace_template_apply_name.as_deref(), Some(right));
    assert_eq!(world.snapshot.applies.len(), 1, "nothing is made anew");
    assert_eq!(world.status().state, Some(State::Ready));
    let told = &world.events[before..];
    let told: Vec<_> = told.iter().filter(|event| event.contains("zzz")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("InvalidSpec: spec.workspaceTemplateApplyName"),
        "{told:?}"
    );
}

#[test]
fn a_certificate_authority_that_nobody_tells_is_missed_in_words() {
    let mut world = World::new(fresh());
    world.outputs.remove("cluster_certificate_authority_data");
    world.settle();
    let status = world.status();
    assert_eq!(status.state, Some(State::Ready));
    assert_eq!(world.snapshot.ca, None);
    assert_eq!(said(&status, "KubeconfigReady"), "True/KubeconfigGenerated");
    let told = message(&status, "KubeconfigReady");
    for word in ["cluster_certificate_authority_data", "no Secret blue-ca"] {
        assert!(told.contains(word), "{told}");
    }
}

#[test]
fn a_kubeconfig_that_is_not_due_yet_did_not_fail() {
    let mut world = World::new(fresh());
    world.terraform = super::world::Terraform::Hangs;
    world.settle();
    assert_eq!(
        said(&world.status(), "KubeconfigReady"),
        "False/WorkspaceNotReady"
    );
}
