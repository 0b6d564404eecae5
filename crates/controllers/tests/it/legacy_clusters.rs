//! A whole cluster that the Go implementation made, with its network, its kubeconfig and the role of the whole account:
//! taken over as it is, changed when somebody approves of it, and destroyed but for the role.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    captcontrolplane::ControlPlaneState as State, foreign::Cluster, marks,
};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

use crate::{
    controlplane::{CA, ControlPlaneUser as _, KUBECONFIG, eks_template, text, whole_cluster},
    controlplane_legacy::{
        EKS_MODULE, Left, SMALL_MODULE, leave, leave_plane, leave_spot_role, owned_by, without_controllers,
    },
    network::{NetworkUser as _, made_network},
    runner::resource,
    stage::{Setting, Stage, User as _, policies, start_controllers, template},
};

const VPC: &str = "blue-vpc";
const EKS: &str = "blue-eks-controlplane-apply";
const PRINTER: &str = "blue-kubeconfig-apply";
const SPOT: [&str; 2] = ["blue-spot-role-check", "blue-spot-role-create"];
/// All Workspaces, in order of their names.
const WORKSPACES: [&str; 5] = [
    "blue-eks-controlplane",
    "blue-kubeconfig",
    "blue-spot-role-check",
    "blue-spot-role-create",
    "blue-vpc",
];

/// The network, as its Cluster's.
async fn leave_network(stage: &Stage, of: Value) -> CAPTCluster {
    let mut network = made_network("blue");
    network["metadata"]["finalizers"] = json!([marks::CAPTCLUSTER_FINALIZER]);
    network["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "blue"});
    network["metadata"]["ownerReferences"] = json!([of]);
    network["spec"]["workspaceTemplateApplyName"] = json!(VPC);
    let network: CAPTCluster = stage.create(network).await;
    let status = json!({"status": {
        "ready": true, "vpcId": "vpc-1",
        "workspaceTemplateStatus": {"ready": true, "lastAppliedRevision": "2025-07-03 07:00:00 +0000 UTC"},
        "conditions": [{
            "type": "VPCReady", "status": "True", "reason": "VPCCreated", "message": "",
            "lastTransitionTime": "2025-07-03T07:00:00Z",
        }],
    }});
    let networks: Api<CAPTCluster> = stage.api();
    networks
        .patch_status("blue", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    network
}

/// What the Go implementation leaves, before our controllers are there.
async fn left_behind() -> Stage {
    let stage = without_controllers().await;
    let here = stage.namespace().to_owned();
    let held = |mut template: Value| {
        template["metadata"]["finalizers"] = json!([marks::LEGACY_WORKSPACETEMPLATE_FINALIZER]);
        template
    };
    let _: WorkspaceTemplate = stage.create(held(template("net", "small"))).await;
    let _: WorkspaceTemplate = stage.create(held(eks_template("eks"))).await;
    // The one template whose place was fixed.
    let printer = serde_json::from_value(held(template("eks-kubeconfig-template", "small"))).unwrap();
    let templates: Api<WorkspaceTemplate> = Api::namespaced(stage.client(), "default");
    templates.create(&PostParams::default(), &printer).await.unwrap();
    let cluster: Cluster = stage.create(whole_cluster("blue")).await;
    let mut of_cluster = owned_by(&cluster);
    of_cluster["apiVersion"] = json!("cluster.x-k8s.io/v1beta1");
    let network = leave_network(&stage, of_cluster.clone()).await;
    let plane = leave_plane(&stage, &[("workspaceTemplateApplyName", json!(EKS))]).await;
    let owned = json!({"metadata": {"ownerReferences": [of_cluster]}});
    let _: CAPTControlPlane = stage.patch("blue", owned).await;
    let of_network = Left {
        name: VPC,
        template: json!({"name": "net", "namespace": here}),
        module: SMALL_MODULE,
        variables: json!({"cluster_name": "blue", "vpc_name": "blue-vpc", "environment": "production"}),
        secret: json!({"name": "blue-vpc-connection", "namespace": here}),
        owner: Some(owned_by(&network)),
    };
    let of_eks = Left {
        name: EKS,
        template: json!({"name": "eks", "namespace": here}),
        module: EKS_MODULE,
        variables: json!({
            "cluster_name": "blue", "kubernetes_version": "1.31", "region": "eu-central-1", "vpc_id": "vpc-1",
        }),
        secret: json!({"name": "blue-eks-connection", "namespace": here}),
        owner: Some(owned_by(&plane)),
    };
    let of_printer = Left {
        name: PRINTER,
        template: json!({"name": "eks-kubeconfig-template", "namespace": "default"}),
        module: SMALL_MODULE,
        variables: json!({"cluster_name": "blue", "region": "eu-central-1", "cluster_endpoint": "https://10.0.0.1:6443"}),
        secret: json!({"name": "blue-outputs-kubeconfig", "namespace": "default"}),
        owner: Some(owned_by(&plane)),
    };
    for left in [of_network, of_eks, of_printer] {
        leave(&stage, left).await;
    }
    for name in SPOT {
        leave_spot_role(&stage, name, &plane).await;
    }
    for (name, type_, data) in [
        ("blue-ca", "Opaque", json!({"tls.crt": CA, "ca.crt": CA})),
        (
            "blue-kubeconfig",
            "cluster.x-k8s.io/secret",
            json!({"value": KUBECONFIG}),
        ),
    ] {
        let _: Secret = stage
            .create(json!({
                "metadata": {"name": name, "ownerReferences": [owned_by(&plane)]},
                "type": type_, "stringData": data,
            }))
            .await;
    }
    stage.settle().await;
    let setting = Setting {
        everywhere: true,
        elsewhere: stage.elsewhere.clone(),
        ..Setting::default()
    };
    start_controllers(&stage, &setting);
    stage
}

fn workspaces(stage: &Stage) -> Api<DynamicObject> {
    Api::all_with(stage.client(), &resource("tf.upbound.io"))
}

/// Somebody approves of the change that an apply waits with.
async fn approve(stage: &Stage, apply: &str) {
    stage
        .until_says(apply, "ApprovalNeeded", "True/AdoptedChange")
        .await;
    let status = stage.apply(apply).await.unwrap().status.unwrap();
    assert!(status.message.unwrap().contains("first change"), "{apply}");
    let pending = status.pending_revision.unwrap();
    stage.annotate(apply, marks::APPROVED, Some(&pending)).await;
}

#[tokio::test]
async fn it_is_taken_over_as_it_is_changed_once_approved_and_destroyed_but_for_the_role() {
    let stage = left_behind().await;
    stage.until_state("blue", State::Ready).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    stage.settle().await;
    // Everything is as it was, and no more than that.
    let found = workspaces(&stage).list(&ListParams::default()).await.unwrap();
    let names: Vec<String> = found.iter().map(kube::ResourceExt::name_any).collect();
    assert_eq!(names, WORKSPACES);
    for workspace in &found {
        assert_ne!(policies(workspace), json!(["*"]), "{}", workspace.name_any());
        assert_ne!(policies(workspace), Value::Null, "{}", workspace.name_any());
    }
    assert_eq!(stage.ledger.made().len(), 5, "nothing is made again");
    assert!(
        stage
            .workspaces()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let applies: Api<WorkspaceTemplateApply> = stage.api();
    assert_eq!(applies.list(&ListParams::default()).await.unwrap().items.len(), 5);
    let network = stage.network("blue").await.unwrap();
    assert_eq!(network.spec.workspace_template_apply_name.as_deref(), Some(VPC));
    let status = network.status.unwrap();
    assert_eq!(status.vpc_id.as_deref(), Some("vpc-1"));
    assert_eq!(status.vpc_workspace_name.as_deref(), Some("blue-vpc"));
    let plane = stage.plane("blue").await.unwrap();
    assert_eq!(plane.spec.control_plane_endpoint.unwrap().host, "10.0.0.1");
    assert_eq!(
        text(&stage.secret("blue-kubeconfig").await.unwrap(), "value"),
        KUBECONFIG
    );
    assert_eq!(stage.cluster_says("blue", "Available").await, "True/Available");

    // The first change of each waits for somebody, who is shown what it is, and then happens once.
    let edited = template("net", "large");
    let _: WorkspaceTemplate = stage.patch("net", json!({"spec": edited["spec"]})).await;
    let _: CAPTControlPlane = stage.patch("blue", json!({"spec": {"version": "1.32"}})).await;
    for (apply, workspace) in [(VPC, "blue-vpc"), (EKS, "blue-eks-controlplane")] {
        stage
            .until_says(apply, "ApprovalNeeded", "True/AdoptedChange")
            .await;
        stage.settle().await;
        let before = stage.ledger.module(workspace);
        assert!(before == SMALL_MODULE || before == EKS_MODULE, "{before}");
        let generation = async || {
            workspaces(&stage)
                .get(workspace)
                .await
                .unwrap()
                .metadata
                .generation
        };
        let held = generation().await;
        approve(&stage, apply).await;
        stage
            .until("the change", async || stage.ledger.module(workspace) != before)
            .await;
        stage.until_ready(apply).await;
        stage.settle().await;
        assert_eq!(generation().await, held.map(|held| held + 1), "{workspace}");
    }
    assert!(stage.ledger.module("blue-vpc").contains("large"));
    assert_eq!(stage.ledger.versions(), ["1.31", "1.32"]);
    stage.until_state("blue", State::Ready).await;
    stage.until_network_says("blue", "Ready", "True/VPCCreated").await;
    assert!(stage.ledger.destroyed().is_empty());
    assert_eq!(stage.ledger.made().len(), 5);

    stage.delete_cluster("blue").await;
    stage.until_cluster_is_gone("blue").await;
    stage.settle().await;
    assert_eq!(
        stage.ledger.destroyed(),
        ["blue-kubeconfig", "blue-eks-controlplane", "blue-vpc"]
    );
    assert_eq!(stage.ledger.exists(), SPOT, "the role is the whole account's");
    let left = workspaces(&stage).list(&ListParams::default()).await.unwrap();
    assert_eq!(left.items.len(), 2);
    for workspace in left {
        assert!(workspace.annotations().contains_key(marks::RETAINED));
    }
    assert!(
        applies
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    for secret in ["blue-ca", "blue-kubeconfig"] {
        assert!(stage.secret(secret).await.is_none(), "{secret}");
    }
    stage.world.finish().await;
}
