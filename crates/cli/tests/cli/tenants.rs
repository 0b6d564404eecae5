//! Namespaces as tenants: what is printed for them, and what a process that was started for some leaves alone.

use std::{collections::BTreeSet, process::Output};

use capt_api::{foreign::Workspace, marks};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Namespace};
use kube::{Api, CustomResourceExt as _, ResourceExt as _, api::PostParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::{Up, awaited, capt, run};

fn answer(args: &[&str]) -> Output {
    run(tempdir().unwrap().path(), args)
}

fn documents(args: &[&str]) -> Vec<Value> {
    let output = answer(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    serde_saphyr::from_multiple(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

fn of_kind<'a>(documents: &'a [Value], kind: &str) -> Vec<&'a Value> {
    documents
        .iter()
        .filter(|document| document["kind"] == kind)
        .collect()
}

fn words(value: &Value) -> BTreeSet<&str> {
    let words = value.as_array().map(Vec::as_slice).unwrap_or_default();
    words.iter().filter_map(Value::as_str).collect()
}

fn rules(role: &Value) -> &[Value] {
    role["rules"].as_array().unwrap()
}

fn role_in<'a>(documents: &'a [Value], namespace: &str) -> &'a Value {
    let roles = of_kind(documents, "Role");
    let mut roles = roles
        .into_iter()
        .filter(|role| role["metadata"]["namespace"] == namespace);
    let role = roles.next().expect(namespace);
    assert_eq!(roles.next(), None, "{namespace}");
    role
}

/// The definitions that may be read with `get`. None without names in the rule means all.
fn readable_definitions(role: &Value) -> Option<BTreeSet<&str>> {
    let rule = rules(role)
        .iter()
        .find(|rule| words(&rule["resources"]).contains("customresourcedefinitions"))
        .expect("definitions can be read");
    assert!(words(&rule["verbs"]).contains("get"), "{rule}");
    (!rule["resourceNames"].is_null()).then(|| words(&rule["resourceNames"]))
}

#[test]
fn named_namespaces_get_roles_and_nothing_grants_what_is_in_others() {
    for part in ["controller", "runner"] {
        let documents = documents(&["manifests", part, "-n", "a", "--namespace", "b"]);
        let [namespace] = of_kind(&documents, "Namespace")[..] else {
            panic!("tenants have their namespaces");
        };
        assert_eq!(namespace["metadata"]["name"], "capt-system");
        let [cluster_role] = of_kind(&documents, "ClusterRole")[..] else {
            panic!("one ClusterRole");
        };
        for rule in rules(cluster_role) {
            let (resources, verbs) = (words(&rule["resources"]), words(&rule["verbs"]));
            let is_read = verbs.is_subset(&["get", "list", "watch"].into());
            let is_of_the_cluster = resources.is_subset(
                &[
                    "customresourcedefinitions",
                    "namespaces",
                    "clusterproviderconfigs",
                ]
                .into(),
            );
            let is_named = !rule["resourceNames"].is_null() || resources.contains("clusterproviderconfigs");
            assert!(is_read && is_of_the_cluster && is_named, "{part}: {rule}");
        }
        let roles = of_kind(&documents, "Role").into_iter();
        let places: BTreeSet<&str> = roles
            .filter_map(|role| role["metadata"]["namespace"].as_str())
            .collect();
        assert_eq!(places, ["a", "b", "capt-system"].into(), "{part}");
        for tenant in ["a", "b"] {
            let rules = rules(role_in(&documents, tenant));
            for resource in ["secrets", "configmaps", "workspaces", "events"] {
                let grants = |rule: &Value| words(&rule["resources"]).contains(resource);
                assert!(rules.iter().any(grants), "{part} {tenant}: {resource}");
            }
        }
        for rule in rules(role_in(&documents, "capt-system")) {
            let is_creation = words(&rule["verbs"]) == ["create"].into();
            let is_lease = words(&rule["resources"]) == ["leases"].into();
            assert!(
                !rule["resourceNames"].is_null() || (is_creation && is_lease),
                "{part}: {rule}"
            );
        }
        let deployment = documents.last().unwrap();
        let args = words(&deployment["spec"]["template"]["spec"]["containers"][0]["args"]);
        assert!(
            args.is_superset(&["--namespace=a", "--namespace=b"].into()),
            "{args:?}"
        );
        for binding in ["RoleBinding", "ClusterRoleBinding"] {
            for binding in of_kind(&documents, binding) {
                let account = &deployment["spec"]["template"]["spec"]["serviceAccountName"];
                assert_eq!(binding["subjects"][0]["name"], *account);
                assert_eq!(binding["subjects"][0]["namespace"], "capt-system");
            }
        }
    }
}

/// A definition that is being deleted grants nothing, and is asked for before anything is destroyed.
#[test]
fn definitions_can_be_read_with_and_without_named_namespaces() {
    let needed = [
        capt_api::CAPTCluster::crd_name(),
        capt_api::CAPTControlPlane::crd_name(),
        capt_api::WorkspaceTemplate::crd_name(),
        capt_api::WorkspaceTemplateApply::crd_name(),
        capt_api::foreign::Cluster::crd_name(),
    ];
    for part in ["controller", "runner"] {
        let all = documents(&["manifests", part]);
        assert_eq!(readable_definitions(of_kind(&all, "ClusterRole")[0]), None);
        let some = documents(&["manifests", part, "-n", "a"]);
        let names = readable_definitions(of_kind(&some, "ClusterRole")[0]).unwrap();
        assert!(names.is_superset(&needed.into()), "{part}: {names:?}");
    }
}

#[test]
fn the_lease_is_granted_by_its_name_where_it_is() {
    let moved = documents(&[
        "manifests",
        "controller",
        "--",
        "--leader-election-namespace=ops",
        "--leader-elect-name=blue",
    ]);
    let [create, hold] = rules(role_in(&moved, "ops")) else {
        panic!("two rules");
    };
    assert_eq!(words(&create["verbs"]), ["create"].into());
    assert_eq!(words(&hold["resourceNames"]), ["blue"].into());
    assert!(!words(&hold["verbs"]).contains("delete"));
    let none = documents(&["manifests", "controller", "--", "--leader-elect=false"]);
    assert!(of_kind(&none, "Role").is_empty());
}

#[test]
fn rights_that_would_be_missing_or_too_many_are_refused() {
    for (args, message) in [
        (&["controller", "-n", "kube-system"][..], "kube-system"),
        (&["runner", "--target-namespace", "kube-system"], "kube-system"),
        (
            &["controller", "--", "--leader-election-namespace=kube-system"],
            "kube-system",
        ),
        (
            &["runner", "-n", "a", "--", "--system-namespace=kube-node-lease"],
            "kube-node-lease",
        ),
        (
            &["controller", "-n", "a", "--", "--workspace-api=tf.upbound.io"],
            "Leave out one of",
        ),
        (&["controller", "--", "--namespace=a"], "--namespace after --"),
        (&["runner", "-n", "a", "--", "-n", "b"], "--namespace after --"),
    ] {
        let output = answer(&[&["manifests"], args].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(
            stderr.starts_with("error: ") && stderr.contains(message),
            "{args:?}: {stderr}"
        );
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn credentials_in_the_environment_that_no_namespace_may_use_are_warned_of() {
    let secret = ["manifests", "runner", "--env-from-secret", "aws"];
    let stderr = |args: &[&str]| String::from_utf8(answer(args).stderr).unwrap();
    let warning = stderr(&secret);
    assert!(
        warning.contains("--env-from-secret aws") && warning.contains("--own-credentials"),
        "{warning}"
    );
    let granted = stderr(&[&secret[..], &["--", "--own-credentials", "a"]].concat());
    assert_eq!(granted, "");
}

/// An API with namespaces, and nothing that acts on it.
async fn api_with_namespaces(home: &std::path::Path, names: &[&str]) -> (Up, kube::Client) {
    let up = Up::start(home, &["--in-memory", "--api-only"]);
    let client = up.client().await;
    let api: Api<Namespace> = Api::all(client.clone());
    for name in names {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        api.create(&PostParams::default(), &namespace).await.unwrap();
    }
    (up, client)
}

/// What is labelled for it elsewhere is there first.
#[tokio::test]
async fn a_runner_for_two_namespaces_leaves_the_third_alone() {
    let home = tempdir().unwrap();
    let (up, client) = api_with_namespaces(home.path(), &["a", "b", "c"]).await;
    let workspace = |name: &str| -> Workspace {
        serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {marks::RUNNER: "blue", marks::WTA_NAMESPACE: "a"}},
            "spec": {"forProvider": {"source": "Inline", "module": "output \"x\" {\n  value = 1\n}\n"}},
        }))
        .unwrap()
    };
    let of = |namespace: &str| -> Api<Workspace> { Api::namespaced(client.clone(), namespace) };
    let mut before = None;
    for namespace in ["c", "a", "b"] {
        let created = of(namespace)
            .create(&PostParams::default(), &workspace("vpc"))
            .await
            .unwrap();
        before.get_or_insert(created);
    }
    let mut runner = capt(home.path())
        .env("KUBECONFIG", &up.kubeconfig)
        .args([
            "runner",
            "--name",
            "blue",
            "--engine",
            "simulated",
            "--grace",
            "1s",
        ])
        .args(["-n", "a", "-n", "b", "--system-namespace", "default"])
        .spawn()
        .unwrap();
    let is_ready = |workspace: Option<&Workspace>| {
        let conditions = workspace.and_then(|workspace| workspace.status.as_ref()?.conditions.clone());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    for namespace in ["a", "b"] {
        awaited(of(namespace), "vpc", "ready", is_ready).await;
    }
    let after = of("c").get("vpc").await.unwrap();
    let before = before.unwrap();
    assert_eq!(before.namespace().as_deref(), Some("c"));
    assert_eq!(after.resource_version(), before.resource_version());
    kill_process(Pid::from_child(&runner), Signal::TERM).unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn the_lease_is_where_the_context_is_whatever_is_worked_in() {
    let home = tempdir().unwrap();
    let (up, client) = api_with_namespaces(home.path(), &["a", "ops"]).await;
    for (args, place) in [
        (&["--namespace", "a"][..], "default"),
        (&["--namespace", "a", "--leader-election-namespace", "ops"], "ops"),
    ] {
        let mut controller = capt(home.path())
            .env("KUBECONFIG", &up.kubeconfig)
            .arg("controller")
            .args(args)
            .spawn()
            .unwrap();
        let leases: Api<Lease> = Api::namespaced(client.clone(), place);
        awaited(leases, "capt-controller", "there", |lease: Option<&Lease>| {
            lease.is_some()
        })
        .await;
        kill_process(Pid::from_child(&controller), Signal::TERM).unwrap();
        assert_eq!(controller.wait().unwrap().code(), Some(0));
    }
    let leases: Api<Lease> = Api::namespaced(client, "a");
    assert_eq!(leases.get_opt("capt-controller").await.unwrap().map(|_| ()), None);
}
