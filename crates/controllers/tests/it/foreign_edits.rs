//! Whatever somebody else does to our objects, and whenever: what they hold is put right, nothing is destroyed and nothing
//! made twice.

use capt_testkit::{Fault, Sweep, World};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::{
    interruptions::QUIET,
    whole_lives::{begin, change},
};

const KINDS: [(&str, &str, &str); 6] = [
    ("infrastructure.cluster.x-k8s.io", "v1beta1", "CAPTCluster"),
    ("controlplane.cluster.x-k8s.io", "v1beta1", "CAPTControlPlane"),
    (
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "WorkspaceTemplateApply",
    ),
    ("tf.m.upbound.io", "v1beta1", "Workspace"),
    ("", "v1", "Secret"),
    ("", "v1", "ConfigMap"),
];

/// Objects of a kind, wherever somebody else finds them.
fn objects(
    client: &Client,
    namespace: &str,
    (group, version, kind): (&str, &str, &str),
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// Somebody does this to all objects of some kinds, as they are at that time.
fn edit(kinds: &[(&'static str, Value)], is_status: bool) -> impl Fn(&World) -> Fault + use<> {
    let kinds = kinds.to_vec();
    move |world: &World| {
        let (client, namespace, kinds) = (world.client(), world.namespace().to_owned(), kinds.clone());
        Fault::meanwhile(move || {
            let (client, namespace, kinds) = (client.clone(), namespace.clone(), kinds.clone());
            async move {
                for (kind, patch) in kinds {
                    let known = KINDS.into_iter().find(|(_, _, known)| *known == kind).unwrap();
                    let api = objects(&client, &namespace, known);
                    let parameters = PatchParams::default();
                    for object in api.list(&ListParams::default()).await.unwrap() {
                        let (name, patch) = (object.name_any(), Patch::Merge(&patch));
                        let edited = match is_status {
                            true => api.patch_status(&name, &parameters, &patch).await,
                            false => api.patch(&name, &parameters, &patch).await,
                        };
                        // What goes at this moment cannot be edited any more.
                        if let Err(error) = edited {
                            assert!(is_gone(&error), "{kind} {name}: {error}");
                        }
                    }
                }
            }
        })
    }
}

fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}

/// Somebody takes this away from everything.
fn strip(field: &'static str) -> impl Fn(&World) -> Fault {
    let kinds = KINDS.map(|(_, _, kind)| (kind, json!({"metadata": {field: null}})));
    edit(&kinds, false)
}

/// Who wrote what, how it went and what was learned from that: what somebody takes away of it is not told again.
fn without_history(key: &str, object: &mut Value) {
    object["metadata"]["managedFields"].take();
    if let Some(history) = object.pointer_mut("/status/progress/history") {
        history.take();
    }
    if key.ends_with("-statistics") {
        object["data"].take();
    }
}

/// Made and changed.
async fn a_life_among_others(world: &World) {
    let ledger = begin(world).await;
    world.settle().await;
    change(world).await;
    world.settle().await;
    assert_eq!(ledger.versions(), ["1.31", "1.32"]);
    assert_eq!(ledger.made().len(), 2, "nothing is made twice");
    assert_eq!(ledger.exists().len(), 2);
    assert!(ledger.destroyed().is_empty());
}

/// What was learned from the templates.
async fn statistics(world: &World) -> Vec<DynamicObject> {
    let maps = objects(&world.client(), world.namespace(), ("", "v1", "ConfigMap"));
    let mut found = maps.list(&ListParams::default()).await.unwrap().items;
    found.retain(|map| map.name_any().ends_with("-statistics"));
    found
}

#[tokio::test]
async fn what_was_learned_gets_its_label_and_its_owner_back() {
    let world = World::embedded_only().await;
    let _ledger = begin(&world).await;
    world.settle().await;
    let learned = statistics(&world).await;
    assert!(!learned.is_empty());
    let maps = objects(&world.client(), world.namespace(), ("", "v1", "ConfigMap"));
    for field in ["labels", "ownerReferences"] {
        for map in &learned {
            let bare = Patch::Merge(json!({"metadata": {(field): null}}));
            maps.patch(&map.name_any(), &PatchParams::default(), &bare)
                .await
                .unwrap();
        }
        world
            .until("what was learned to be whole", async || {
                let now = statistics(&world).await;
                let pairs = now.iter().zip(&learned);
                now.len() == learned.len()
                    && pairs.into_iter().all(|(now, before)| {
                        now.labels() == before.labels() && now.owner_references() == before.owner_references()
                    })
            })
            .await;
    }
    world.finish().await;
}

#[test]
fn what_somebody_strips_at_any_write_comes_back() {
    Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .disregard(without_history)
        .one_in(8)
        .fault("strip labels", strip("labels"))
        .fault("strip owners", strip("ownerReferences"))
        .fault("strip finalizers", strip("finalizers"))
        .run(a_life_among_others);
}

#[test]
fn a_status_that_somebody_edits_at_any_write_is_put_right() {
    let condition = |type_: &str, status: &str| {
        json!({
            "type": type_, "status": status, "reason": "Mood", "message": "by hand",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let ready = json!([condition("Ready", "False")]);
    let both = json!([condition("Ready", "False"), condition("Synced", "False")]);
    let nonsense = [
        (
            "CAPTCluster",
            json!({"status": {"ready": false, "vpcId": "vpc-by-hand", "failureReason": "Fate", "conditions": ready}}),
        ),
        (
            "CAPTControlPlane",
            json!({"status": {
                "ready": false, "phase": "Failed", "state": "Failed", "failureReason": "Fate", "version": "1.99",
                "endpoint": "nowhere:1", "conditions": ready,
            }}),
        ),
        (
            "WorkspaceTemplateApply",
            json!({"status": {"applied": false, "workspaceName": "by-hand", "conditions": both}}),
        ),
        ("Workspace", json!({"status": {"conditions": both}})),
    ];
    let emptied = nonsense.clone().map(|(kind, _)| (kind, json!({"status": null})));
    Sweep::new(World::builder().embedded_only())
        .quiet(QUIET)
        .may_miss()
        .disregard(without_history)
        .one_in(5)
        .fault("edit statuses", edit(&nonsense, true))
        .fault("empty statuses", edit(&emptied, true))
        .run(a_life_among_others);
}
