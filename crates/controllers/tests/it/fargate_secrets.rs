//! Secrets that profiles stand on: with the names that the original gave them, its form of the network's facts, and two
//! clusters in one namespace.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, captcontrolplane::ControlPlaneState as State,
    foreign::Cluster,
};
use capt_testkit::World;
use serde_json::{Value, json};

use crate::{
    controlplane::{ControlPlaneUser as _, control_plane, text, whole_cluster},
    eks::slow_eks_template,
    fargate::profiles,
    fargate_turns::{begin, make_cluster},
    network::made_network,
    stage::User as _,
};

/// The seed's text.
const VPC_CONFIG: &str = "vpc_id = \"vpc-xxx\"\nprivate_subnets = [\"subnet-xxx\", \"subnet-yyy\"]\n";

/// A network whose module tells nothing but the seed's text, in the Secret of the seed's name.
fn seed_network() -> Value {
    let quoted = serde_json::to_string(VPC_CONFIG).unwrap();
    json!({
        "metadata": {"name": "net"},
        "spec": {
            "writeConnectionSecretToRef": {"name": "vpc-connection"},
            "template": {"spec": {"forProvider": {
                "source": "Inline",
                "module": format!(
                    "resource \"terraform_data\" \"vpc\" {{}}\noutput \"vpc_config\" {{\n  value = {quoted}\n}}\n"
                ),
            }}},
        },
    })
}

async fn told(world: &World, apply: &str) -> (String, Vec<String>) {
    let spec = world.apply(apply).await.unwrap().spec;
    let waits = spec.wait_for_secrets.unwrap().into_iter().map(|one| one.name);
    (
        spec.variables.unwrap()["private_subnets"].clone(),
        waits.collect(),
    )
}

#[tokio::test]
async fn fixed_names_and_text_of_the_seeds_serve_one_cluster_and_never_another() {
    let world = World::embedded_only().await;
    let eks = begin(&world).await;
    let mut template = slow_eks_template();
    template["metadata"]["name"] = json!("seed-eks");
    template["spec"]["writeConnectionSecretToRef"] = json!({"name": "eks-connection"});
    let _: WorkspaceTemplate = world.create(template).await;
    let _: WorkspaceTemplate = world.create(seed_network()).await;
    let mut plane = control_plane("blue");
    plane["spec"]["workspaceTemplateRef"]["name"] = json!("seed-eks");
    plane["spec"]["additionalFargateProfiles"] = profiles(&["a"]);
    let _: Cluster = world.create(whole_cluster("blue")).await;
    let _: CAPTCluster = world.create(made_network("blue")).await;
    let _: CAPTControlPlane = world.create(plane).await;
    // The other has a network that exists, and names of its own.
    make_cluster(&world, "red", profiles(&["a"])).await;
    for name in ["blue", "red"] {
        world.until_state(name, State::Ready).await;
    }
    let secret = world.secret("vpc-connection").await.unwrap();
    assert_eq!(text(&secret, "vpc_config"), VPC_CONFIG);
    let secret = world.secret("eks-connection").await.unwrap();
    assert_eq!(text(&secret, "cluster_name"), "blue");
    let blue = told(&world, "blue-a-fargate-apply").await;
    let names = ["eks-connection", "vpc-connection"].map(str::to_owned).to_vec();
    assert_eq!(blue, (r#"["subnet-xxx","subnet-yyy"]"#.to_owned(), names));
    let red = told(&world, "red-a-fargate-apply").await;
    let names = ["red-eks-connection", "red-vpc-connection"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(red, (r#"["subnet-1","subnet-2"]"#.to_owned(), names));
    assert_eq!(eks.exists(), ["blue", "blue/a", "red", "red/a"]);
    world.delete_plane("blue").await;
    world.until_plane_is_gone("blue").await;
    assert_eq!(eks.exists(), ["red", "red/a"]);
    assert_eq!(world.status("red").await.state, Some(State::Ready));
    eks.was_never_asked_too_much();
    world.finish().await;
}
