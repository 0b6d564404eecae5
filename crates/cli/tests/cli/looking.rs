//! What a person sees of a cluster, in an API in which nobody does anything by himself.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use capt_api::foreign::ClusterWorkspace;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::asking::World;

impl World {
    pub(crate) fn objects(&self, api_version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    /// Makes an object, and says what is known about it.
    async fn put(&self, plural: &str, object: Value) {
        let text = |name: &str| object[name].as_str().unwrap().to_owned();
        let api = self.objects(&text("apiVersion"), &text("kind"), plural);
        let name = object["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::apply("test").force();
        let patch = Patch::Apply(object.clone());
        api.patch(name, &params, &patch).await.unwrap();
        if object.get("status").is_some() {
            let status = Patch::Merge(json!({"status": object["status"]}));
            let params = PatchParams::default();
            api.patch_status(name, &params, &status).await.unwrap();
        }
    }

    /// A cluster whose control plane is being made.
    async fn cluster(&self) {
        self.put("clusters", json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "demo"},
            "spec": {
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "CAPTCluster", "name": "demo"},
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "demo"},
            },
            "status": {"phase": "Provisioning"},
        }))
        .await;
        self.put("captclusters", json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "CAPTCluster",
            "metadata": {"name": "demo"},
            "spec": {"region": "eu-central-1", "existingVpcId": "vpc-1"},
            "status": {"ready": true, "vpcId": "vpc-1", "conditions": [condition("Ready", "True", "ExistingVPCUsed", "")]},
        }))
        .await;
        self.control_plane("Provisioning", "Terraform is at it").await;
    }

    async fn control_plane(&self, state: &str, message: &str) {
        self.put("captcontrolplanes", json!({
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "CAPTControlPlane",
            "metadata": {"name": "demo"},
            "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
            "status": {
                "ready": state == "Ready", "state": state,
                "conditions": [condition("Ready", if state == "Ready" { "True" } else { "False" }, "WorkspaceNotReady", message)],
            },
        }))
        .await;
    }

    async fn secret(&self, name: &str, data: Value) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data,
        });
        self.put("secrets", secret).await;
    }
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

#[tokio::test]
async fn everything_is_shown_in_one_table() {
    let world = World::quiet().await;
    world.cluster().await;
    let table = world.text(&["get"]);
    let words: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(words[0], ["NAME", "READY", "STATE", "DONE", "AGE", "MESSAGE"]);
    assert_eq!(words[1][..3], ["cluster/demo", "no", "Provisioning"]);
    assert_eq!(words[2][..3], ["captcluster/demo", "yes", "Ready"]);
    assert_eq!(words[3][..3], ["captcontrolplane/demo", "no", "Provisioning"]);
    assert!(
        words[3].ends_with(&["WorkspaceNotReady:", "Terraform", "is", "at", "it"]),
        "{table}"
    );
    assert_eq!(words.len(), 4, "{table}");
    assert!(!table.contains('\u{1b}'), "{table:?}");

    assert_eq!(
        world.text(&["get", "captcp", "-o", "name"]),
        "captcontrolplane/demo\n"
    );
    let everywhere = world.text(&["get", "clusters", "-A", "-o", "wide"]);
    assert!(
        everywhere.starts_with("NAMESPACE") && everywhere.contains("REASON"),
        "{everywhere}"
    );
    let data: Value = serde_json::from_str(&world.text(&["get", "cl/demo", "-o", "json"])).unwrap();
    assert_eq!(
        (&data[0]["name"], &data[0]["ready"]),
        (&json!("demo"), &json!(false))
    );
    let data: Value = serde_saphyr::from_str(&world.text(&["get", "captclusters", "-o", "yaml"])).unwrap();
    assert_eq!(data[0]["state"], "Ready");
}

#[tokio::test]
async fn where_there_is_nothing_that_is_said_and_where_there_is_something() {
    let world = World::quiet().await;
    assert_eq!(
        world.text(&["get"]),
        "There is nothing of capt in namespace default, nor in any other.\n"
    );
    assert_eq!(world.text(&["get", "-o", "json"]), "[]\n");
    world.cluster().await;
    assert_eq!(
        world.text(&["get", "clusters", "-n", "team-a"]),
        "There is no Cluster in namespace team-a, but in default: add -n default\n"
    );
    assert!(
        world
            .text(&["get", "workspaces", "-A"])
            .starts_with("There is no Workspace in any namespace of")
    );
    for (args, expected) in [
        (
            &["get", "cluster/dmeo"][..],
            "there is no cluster/dmeo in namespace default; did you mean demo?",
        ),
        (&["tree", "cluster/demo", "-n", "team-a"], "add -n default"),
        (&["describe", "captcp/none"], "there is no captcontrolplane/none"),
        (&["get", "-w", "-o", "json"], "-w goes with a table only"),
        (&["logs", "cluster/demo"], "capt tree cluster/demo -n default"),
        (
            &["tree", "workspacetemplate/x"],
            "capt plan workspacetemplate/x -n default",
        ),
        (&["describe", "workspace/none"], "there is no workspace/none"),
    ] {
        let refusal = world.refusal(args);
        assert!(refusal.contains(expected), "{args:?}: {refusal}");
    }
}

#[tokio::test]
async fn a_tree_and_a_description_tell_what_is_going_on() {
    let world = World::quiet().await;
    world.cluster().await;
    let tree = world.text(&["tree", "cluster/demo"]);
    assert!(tree.contains("├─ ✔ captcluster/demo"), "{tree}");
    assert!(tree.contains("└─ ◌ captcontrolplane/demo"), "{tree}");
    assert!(
        world
            .text(&["tree", "cluster/demo", "-o", "dot"])
            .starts_with("digraph capt {")
    );
    assert!(
        world
            .text(&["tree", "cluster/demo", "-o", "mermaid"])
            .starts_with("flowchart LR")
    );
    let data: Value = serde_json::from_str(&world.text(&["tree", "cluster/demo", "-o", "json"])).unwrap();
    assert_eq!(data["made"][1]["object"], "captcontrolplane/demo");

    world
        .put(
            "events",
            json!({
                "apiVersion": "v1", "kind": "Event", "metadata": {"name": "demo.1"},
                "involvedObject": {"kind": "CAPTControlPlane", "name": "demo", "namespace": "default"},
                "reason": "StateChanged", "message": "Now it is Provisioning", "type": "Normal",
                "lastTimestamp": "2026-01-01T00:00:00Z",
            }),
        )
        .await;
    let told = world.text(&["describe", "cluster/demo"]);
    for expected in [
        "cluster/demo in default\n",
        "Waits for:    captcontrolplane/demo (Provisioning), WorkspaceNotReady: Terraform is at it\n",
        "Parts:\n",
        "StateChanged   Now it is Provisioning\n",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    let data: Value = serde_json::from_str(&world.text(&["describe", "captcp/demo", "-o", "json"])).unwrap();
    assert_eq!(data["conditions"][0]["reason"], "WorkspaceNotReady");
    assert_eq!(data["events"][0]["reason"], "StateChanged");
}

#[tokio::test]
async fn a_workspace_of_the_whole_cluster_is_found_from_every_namespace() {
    let world = World::quiet().await;
    let workspaces: Api<ClusterWorkspace> = Api::all(world.client.clone());
    let workspace = json!({
        "apiVersion": "tf.upbound.io/v1beta1", "kind": "Workspace", "metadata": {"name": "wide"},
        "spec": {"forProvider": {"source": "Inline", "module": "# nothing"}},
    });
    let workspace = serde_json::from_value(workspace).unwrap();
    workspaces
        .create(&PostParams::default(), &workspace)
        .await
        .unwrap();
    let told = world.text(&["describe", "workspace/wide", "-n", "team-a"]);
    assert!(told.contains("no runner has looked at it yet"), "{told}");
    assert!(
        world
            .text(&["get", "workspaces", "-A"])
            .contains("workspace/wide")
    );
}

#[tokio::test]
async fn changes_are_followed_until_nobody_reads_them() {
    let world = World::quiet().await;
    world.cluster().await;
    let mut getting = world.command(&["get", "captcp", "-w"]);
    let mut getting = getting.stdout(Stdio::piped()).spawn().unwrap();
    let mut drawing = world.command(&["tree", "cluster/demo", "-w"]);
    let mut drawing = drawing.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(getting.stdout.take().unwrap()).lines();
    let mut drawn = BufReader::new(drawing.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("NAME"));
    assert!(lines.next().unwrap().unwrap().contains("Provisioning"));
    assert!(
        drawn
            .by_ref()
            .any(|line| line.unwrap().contains("Terraform is at it"))
    );

    world.control_plane("Configuring", "The kubeconfig is made").await;
    assert!(lines.next().unwrap().unwrap().contains("Configuring"));
    assert!(drawn.by_ref().any(|line| line.unwrap().contains("Configuring")));

    drop(lines);
    let clusters = world.objects("cluster.x-k8s.io/v1beta2", "Cluster", "clusters");
    clusters.delete("demo", &Default::default()).await.unwrap();
    assert_eq!(drawn.last().unwrap().unwrap(), "cluster/demo is gone.");
    assert!(drawing.wait().unwrap().success());
    world.control_plane("Ready", "").await;
    assert!(getting.wait().unwrap().success());
}

#[tokio::test]
async fn a_kubeconfig_is_printed_or_it_is_said_what_it_waits_for() {
    let world = World::quiet().await;
    let refusal = world.refusal(&["kubeconfig", "demo"]);
    assert!(refusal.contains("there is no cluster/demo"), "{refusal}");
    world.cluster().await;
    let refusal = world.refusal(&["kubeconfig", "demo"]);
    assert!(
        refusal.contains(
            "cluster/demo has no kubeconfig yet: captcontrolplane/demo is Provisioning, WorkspaceNotReady"
        ),
        "{refusal}"
    );

    world
        .secret("demo-kubeconfig", json!({"value": "apiVersion: v1\n"}))
        .await;
    assert_eq!(world.text(&["kubeconfig", "cluster/demo"]), "apiVersion: v1\n");
    let refusal = world.refusal(&["kubeconfig", "demo", "--user"]);
    assert!(refusal.contains("leave out --user"), "{refusal}");
    world
        .secret("demo-user-kubeconfig", json!({"value": "for: people\n"}))
        .await;
    assert_eq!(world.text(&["kubeconfig", "demo", "--user"]), "for: people\n");
    world.secret("demo-kubeconfig", json!({"other": "x"})).await;
    let secrets = world.objects("v1", "Secret", "secrets");
    let emptied = Patch::Merge(json!({"data": {"value": null}}));
    secrets
        .patch("demo-kubeconfig", &PatchParams::default(), &emptied)
        .await
        .unwrap();
    assert!(
        world
            .refusal(&["kubeconfig", "demo"])
            .contains("holds no kubeconfig")
    );
}

#[tokio::test]
async fn owners_are_tried_again_alone_or_together() {
    let mark = "infrastructure.cluster.x-k8s.io/retry-requested";
    let world = World::quiet().await;
    world.cluster().await;
    let networks = world.objects(
        "infrastructure.cluster.x-k8s.io/v1beta1",
        "CAPTCluster",
        "captclusters",
    );
    let planes = world.objects(
        "controlplane.cluster.x-k8s.io/v1beta1",
        "CAPTControlPlane",
        "captcontrolplanes",
    );
    let token = async |api: &Api<DynamicObject>| {
        let object = api.get("demo").await.unwrap();
        object.metadata.annotations.unwrap_or_default().get(mark).cloned()
    };
    let told = world.text(&["retry", "captcluster/demo"]);
    assert!(told.contains("captcluster/demo is asked for"), "{told}");
    let first = token(&networks).await;
    assert!(first.is_some());
    assert_eq!(token(&planes).await, None);

    let told = world.text(&["retry", "cluster/demo"]);
    assert!(
        told.contains("captcluster/demo and captcontrolplane/demo"),
        "{told}"
    );
    let second = token(&networks).await;
    assert!(second.is_some() && second != first);
    assert_eq!(token(&planes).await, second);

    let paused = kube::api::Patch::Merge(json!({"spec": {"paused": true}}));
    let clusters = world.objects("cluster.x-k8s.io/v1beta2", "Cluster", "clusters");
    clusters
        .patch("demo", &Default::default(), &paused)
        .await
        .unwrap();
    let told = world.text(&["retry", "captcp/demo"]);
    assert!(
        told.ends_with(
            "\nNothing of captcontrolplane/demo is tried while cluster/demo has spec.paused: true; the wish is kept until then. To \
             go on: kubectl patch cluster demo -n default --type merge -p '{\"spec\":{\"paused\":false}}'\n"
        ),
        "{told}"
    );
    let third = token(&planes).await;
    assert!(third.is_some() && third != second, "it is asked for all the same");
    assert!(
        world
            .refusal(&["retry", "captcp/none"])
            .contains("there is no captcontrolplane/none")
    );
    assert!(
        world
            .refusal(&["retry", "cluster/none"])
            .contains("there is no cluster/none")
    );
}

#[tokio::test]
async fn what_a_control_plane_has_and_is_well_is_looked_at() {
    let look = "crossplane.io/reconcile-requested-at";
    let world = World::quiet().await;
    world.cluster().await;
    for (name, synced) in [("well", "True"), ("failed", "False")] {
        world
            .put(
                "workspacetemplateapplies",
                json!({
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "WorkspaceTemplateApply",
                    "metadata": {
                        "name": name,
                        "labels": {"infrastructure.cluster.x-k8s.io/owner": "CAPTControlPlane.demo"},
                        "annotations": {"infrastructure.cluster.x-k8s.io/workspace": format!("tf.m.upbound.io/{name}")},
                    },
                    "spec": {"templateRef": {"name": "eks"}},
                    "status": {"conditions": [
                        condition("Synced", synced, "ReconcileSuccess", ""),
                        condition("Ready", "True", "Available", ""),
                    ]},
                }),
            )
            .await;
        let applies = world.objects(
            "infrastructure.cluster.x-k8s.io/v1beta1",
            "WorkspaceTemplateApply",
            "workspacetemplateapplies",
        );
        let uid = applies.get(name).await.unwrap().metadata.uid;
        world
            .put(
                "workspaces",
                json!({
                    "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
                    "metadata": {"name": name, "labels": {"infrastructure.cluster.x-k8s.io/wta-uid": uid}},
                    "spec": {"forProvider": {"source": "Inline", "module": "# nothing"}},
                }),
            )
            .await;
    }
    let told = world.text(&["retry", "captcontrolplane/demo"]);
    assert!(
        told.contains("These are well and only looked at: workspace/well."),
        "{told}"
    );
    let workspaces = world.objects("tf.m.upbound.io/v1beta1", "Workspace", "workspaces");
    for (name, is_asked) in [("well", true), ("failed", false)] {
        let annotations = workspaces.get(name).await.unwrap().metadata.annotations;
        assert_eq!(
            annotations.unwrap_or_default().contains_key(look),
            is_asked,
            "{name}"
        );
    }
}
