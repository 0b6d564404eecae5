//! A runner that was started for two of three namespaces.

use capt_api::{
    foreign::{ClusterWorkspace, Workspace},
    marks,
};
use capt_core::{names, tenancy::NamespaceSet};
use capt_runner::{DURATIONS_CONFIG_MAP, SALT_SECRET};
use capt_testkit::{Call, Calls, Disturbance, Events, Fault, Mark, Times, Verb, World};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{script::Script, support::*};

/// The namespace that the runner was started for, beside the world's own.
const GRANTED: &str = "b";
/// The namespace that it was not started for.
const HOSTILE: &str = "c";

/// A world with three namespaces.
async fn three_namespaces() -> World {
    let world = World::embedded_only().await;
    let api: Api<Namespace> = Api::all(world.client());
    for name in [GRANTED, HOSTILE] {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        api.create(&PostParams::default(), &namespace).await.unwrap();
    }
    world
}

/// A runner for two of them.
fn start_for_two(world: &World, script: &Script) {
    let own = world.namespace().to_owned();
    start_with(world, script, move |options| {
        labelled(options);
        options.namespaces = NamespaceSet::only([own.as_str(), GRANTED]);
    });
}

/// Grants what Roles in the two namespaces grant, to get Namespaces and definitions, and to read ClusterProviderConfigs.
fn grant_roles_only(world: &World) -> capt_testkit::Rule {
    let granted = [world.namespace().to_owned(), GRANTED.to_owned()];
    let is_denied = move |call: &Call| {
        let is_cluster_read = match call.resource.as_str() {
            "namespaces" | "customresourcedefinitions" => call.verb == Verb::Get,
            "clusterproviderconfigs" => !call.verb.is_write(),
            _ => false,
        };
        call.verb != Verb::Other && !granted.contains(&call.namespace) && !is_cluster_read
    };
    world.faults().inject(
        Calls::by(RUNNER).matching(is_denied),
        Times::Every,
        Fault::fail(403),
    )
}

fn labels(of: Option<&str>) -> Value {
    match of {
        None => json!({(marks::RUNNER): "blue"}),
        Some(namespace) => json!({(marks::RUNNER): "blue", (marks::WTA_NAMESPACE): namespace}),
    }
}

async fn create_in(world: &World, namespace: &str, name: &str, labels: Value) -> Workspace {
    let mut object = workspace(name, &["a"]);
    object["metadata"]["labels"] = labels;
    let object: Workspace = serde_json::from_value(object).unwrap();
    let api: Api<Workspace> = Api::namespaced(world.client(), namespace);
    api.create(&PostParams::default(), &object).await.unwrap()
}

async fn create_cluster_scoped(world: &World, name: &str, labels: Value) -> ClusterWorkspace {
    let mut object = workspace(name, &["a"]);
    object["apiVersion"] = json!("tf.upbound.io/v1beta1");
    object["metadata"]["labels"] = labels;
    let object: ClusterWorkspace = serde_json::from_value(object).unwrap();
    let api: Api<ClusterWorkspace> = Api::all(world.client());
    api.create(&PostParams::default(), &object).await.unwrap()
}

async fn until_made(world: &World, script: &Script, name: &str) {
    world
        .until(&format!("{name} to be made"), async || {
            script.exists(name) == ["thing.a"]
        })
        .await;
}

async fn until_settled_in(world: &World, namespace: &str, name: &str) {
    let api: Api<Workspace> = Api::namespaced(world.client(), namespace);
    world
        .until(&format!("{name} to settle"), async || {
            let status = api.get(name).await.unwrap().status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            conditions
                .iter()
                .any(|one| one.type_ == "Ready" && one.status == "True")
        })
        .await;
}

/// What the runner asked about a namespace.
fn requests_in(world: &World, namespace: &str) -> Vec<String> {
    let all = world.recorder().calls();
    let meant = all
        .iter()
        .filter(|one| one.call.caller == RUNNER && one.call.namespace == namespace);
    meant.map(|one| one.call.to_string()).collect()
}

/// What is labelled for the runner is there first. What it may act on is made in the same moment, and is the clock.
#[tokio::test]
async fn a_label_in_a_third_namespace_leads_to_nothing() {
    for has_roles_only in [false, true] {
        let world = three_namespaces().await;
        let denied = has_roles_only.then(|| grant_roles_only(&world));
        let script = Script::default();
        start_for_two(&world, &script);
        let own = world.namespace().to_owned();
        let plain = create_in(&world, HOSTILE, "plain", labels(None)).await;
        let forged = create_in(&world, HOSTILE, "forged", labels(Some(&own))).await;
        let hostile = [plain, forged];
        for object in &hostile {
            assert_eq!(object.labels()[marks::RUNNER], "blue");
        }
        create_in(&world, &own, "own", labels(None)).await;
        // On a namespaced one this label says nothing.
        create_in(&world, GRANTED, "granted", labels(Some(HOSTILE))).await;
        until_settled_in(&world, &own, "own").await;
        until_settled_in(&world, GRANTED, "granted").await;
        assert_eq!(script.exists("own"), ["thing.a"]);

        let api: Api<Workspace> = Api::namespaced(world.client(), HOSTILE);
        for before in hostile {
            let name = before.name_any();
            let after = api.get(&name).await.unwrap();
            assert_eq!(after.resource_version(), before.resource_version(), "{name}");
            assert_eq!(script.exists(&name), Vec::<String>::new());
        }
        assert_eq!(requests_in(&world, HOSTILE), Vec::<String>::new());
        assert!(denied.is_none_or(|denied| denied.acted() > 0));
        world.finish().await;
    }
}

#[tokio::test]
async fn a_cluster_scoped_workspace_is_of_the_namespace_in_its_label_and_what_is_kept_for_it_stays_there() {
    let world = three_namespaces().await;
    let script = Script::default();
    start_for_two(&world, &script);
    let others = [
        create_cluster_scoped(&world, "unowned", labels(None)).await,
        create_cluster_scoped(&world, "hostile", labels(Some(HOSTILE))).await,
    ];
    create_cluster_scoped(&world, "granted", labels(Some(GRANTED))).await;
    until_made(&world, &script, "granted").await;
    world.settle().await;
    let api: Api<ClusterWorkspace> = Api::all(world.client());
    for before in others {
        let name = before.name_any();
        let after = api.get(&name).await.unwrap();
        assert_eq!(after.resource_version(), before.resource_version(), "{name}");
        assert_eq!(script.exists(&name), Vec::<String>::new());
    }
    let states: Api<Secret> = Api::all(world.client());
    let states = states
        .list(&ListParams::default().labels("tfstate=true"))
        .await
        .unwrap();
    let places: Vec<Option<String>> = states.iter().map(|secret| secret.namespace()).collect();
    assert_eq!(places, [Some(GRANTED.to_owned())]);
    let reports: Api<ConfigMap> = Api::namespaced(world.client(), GRANTED);
    reports
        .get(&names::run_report("tf.upbound.io", "granted"))
        .await
        .unwrap();
    world.finish().await;
}

/// An installation with Roles alone brings both objects, empty.
#[tokio::test]
async fn a_runner_that_may_create_nothing_for_itself_fills_what_was_installed() {
    let world = World::embedded_only().await;
    let own = |call: &Call| [SALT_SECRET, DURATIONS_CONFIG_MAP].contains(&call.name.as_str());
    let creations = Calls::by(RUNNER).verb(Verb::Create).matching(own);
    let denied = world.faults().inject(creations, Times::Every, Fault::fail(403));
    let _ = denied.may_miss();
    let secrets: Api<Secret> = Api::namespaced(world.client(), world.namespace());
    let maps: Api<ConfigMap> = Api::namespaced(world.client(), world.namespace());
    let named = |name: &str| json!({"metadata": {"name": name}});
    let params = PostParams::default();
    let secret = serde_json::from_value(named(SALT_SECRET)).unwrap();
    secrets.create(&params, &secret).await.unwrap();
    let map = serde_json::from_value(named(DURATIONS_CONFIG_MAP)).unwrap();
    maps.create(&params, &map).await.unwrap();
    let script = Script::default();
    start(&world, &script);
    create(&world, workspace("vpc", &["a"])).await;
    until_settled(&world, "vpc").await;
    world.settle().await;
    let filled = secrets.get(SALT_SECRET).await.unwrap();
    assert!(filled.data.as_ref().is_some_and(|data| data.contains_key("salt")));
    let map = maps.get(DURATIONS_CONFIG_MAP).await.unwrap();
    assert!(map.data.is_some_and(|data| !data.is_empty()));
    world.crash(RUNNER);
    world.advance(seconds(60)).await;
    world.settle().await;
    let kept = secrets.get(SALT_SECRET).await.unwrap();
    assert_eq!(kept.resource_version(), filled.resource_version());
    world.finish().await;
}

/// How often the runner listed a kind in a namespace since then.
fn lists_in(world: &World, mark: Mark, namespace: &str, resource: &str) -> usize {
    let all = world.recorder().requests_since(mark);
    let meant = all.iter().map(|one| &one.call).filter(|call| {
        call.caller == RUNNER
            && call.verb == Verb::List
            && call.resource == resource
            && call.namespace == namespace
    });
    meant.count()
}

/// A list tells everything about one namespace and nothing about another.
#[tokio::test]
async fn what_is_listed_anew_in_one_namespace_leaves_the_other_as_it_is() {
    let world = three_namespaces().await;
    let script = Script::default();
    start_for_two(&world, &script);
    let own = world.namespace().to_owned();
    for (namespace, name) in [(own.as_str(), "own"), (GRANTED, "granted")] {
        create_in(&world, namespace, name, labels(None)).await;
        until_settled_in(&world, namespace, name).await;
    }
    world.settle().await;
    let mark = world.recorder().mark();
    let touched = Patch::Merge(json!({"metadata": {"annotations": {"example.org/touched": "true"}}}));
    let params = PatchParams::default();
    let workspaces: Api<Workspace> = Api::namespaced(world.client(), GRANTED);
    let secrets: Api<Secret> = Api::namespaced(world.client(), GRANTED);
    for resource in ["workspaces", "secrets"] {
        let events = Events::to(RUNNER).resource(resource).namespace(GRANTED);
        let expired = world.faults().disturb(events, Times::Once, Disturbance::Expire);
        match resource {
            "workspaces" => drop(workspaces.patch("granted", &params, &touched).await.unwrap()),
            _ => drop(
                secrets
                    .patch("tfstate-granted-capt", &params, &touched)
                    .await
                    .unwrap(),
            ),
        }
        world
            .until(&format!("{resource} are listed anew"), async || {
                lists_in(&world, mark, GRANTED, resource) > 0
            })
            .await;
        assert_eq!(expired.acted(), 1, "{resource}");
    }
    world.settle().await;
    let asked = world.recorder().requests_since(mark);
    let of_own = asked
        .iter()
        .filter(|one| one.call.caller == RUNNER && one.call.namespace == own);
    let of_own: Vec<String> = of_own.map(|one| one.call.to_string()).collect();
    assert_eq!(of_own, Vec::<String>::new());
    // What was forgotten would never be looked at for drift.
    let plans = script.with(|stage| stage.plans);
    world.advance(seconds(700)).await;
    world.settle().await;
    assert_eq!(script.with(|stage| stage.plans), plans + 2);
    world.finish().await;
}
