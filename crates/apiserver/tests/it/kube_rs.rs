//! kube-rs takes the server for Kubernetes: typed clients, a watcher, a whole controller under a virtual clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::watcher;
use kube::{Client as KubeClient, ResourceExt};

use crate::client::Client;

fn kube_client(client: &Client) -> KubeClient {
    let router = client.server.router();
    let service = tower::ServiceBuilder::new()
        .map_request(|request: http::Request<kube::client::Body>| request.map(axum::body::Body::new))
        .service(router);
    KubeClient::new(service, "default")
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("k".to_owned(), "v".to_owned())])),
        ..ConfigMap::default()
    }
}

#[tokio::test(start_paused = true)]
async fn typed_calls_work() {
    let client = Client::new().await;
    let api: Api<ConfigMap> = Api::default_namespaced(kube_client(&client));
    let made = api
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    let replaced = api.replace("a", &PostParams::default(), &made).await.unwrap();
    assert_eq!(made, replaced);
    let params = PatchParams::apply("me").force();
    api.patch("b", &params, &Patch::Apply(config_map("b")))
        .await
        .unwrap();
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 2);
    assert!(api.get_opt("missing").await.unwrap().is_none());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let error = api.get("a").await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.is_not_found()));
}

#[tokio::test(start_paused = true)]
async fn watchers_of_both_kinds_follow() {
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let client = Client::new().await;
        let api: Api<ConfigMap> = Api::default_namespaced(kube_client(&client));
        api.create(&PostParams::default(), &config_map("a"))
            .await
            .unwrap();
        let mut events = watcher(api.clone(), config).boxed();
        let mut seen = Vec::new();
        while seen.len() < 3 {
            match events.try_next().await.unwrap().unwrap() {
                watcher::Event::Init => {}
                watcher::Event::InitApply(object) => seen.push(format!("init {}", object.name_any())),
                watcher::Event::InitDone => {
                    seen.push("done".to_owned());
                    api.create(&PostParams::default(), &config_map("b"))
                        .await
                        .unwrap();
                }
                watcher::Event::Apply(object) => seen.push(format!("apply {}", object.name_any())),
                watcher::Event::Delete(object) => seen.push(format!("delete {}", object.name_any())),
            }
        }
        assert_eq!(seen, ["init a", "done", "apply b"]);
    }
}

const FINALIZER: &str = "example.com/mirror";

struct Mirror {
    client: KubeClient,
    reconciles: AtomicUsize,
}

/// Keeps a Secret beside every ConfigMap, and removes it by hand before the ConfigMap goes.
async fn mirror(
    object: Arc<ConfigMap>,
    context: Arc<Mirror>,
) -> Result<Action, Box<kube::runtime::finalizer::Error<kube::Error>>> {
    context.reconciles.fetch_add(1, Ordering::Relaxed);
    let maps: Api<ConfigMap> = Api::default_namespaced(context.client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(context.client.clone());
    finalizer(&maps, FINALIZER, object, |event| async {
        match event {
            Event::Apply(object) => {
                let secret = Secret {
                    metadata: ObjectMeta {
                        name: Some(object.name_any()),
                        ..ObjectMeta::default()
                    },
                    string_data: object.data.clone(),
                    ..Secret::default()
                };
                let params = PatchParams::apply("mirror").force();
                secrets
                    .patch(&object.name_any(), &params, &Patch::Apply(secret))
                    .await?;
                Ok(Action::requeue(Duration::from_secs(300)))
            }
            Event::Cleanup(object) => {
                secrets
                    .delete(&object.name_any(), &DeleteParams::default())
                    .await?;
                Ok(Action::await_change())
            }
        }
    })
    .await
    .map_err(Box::new)
}

#[tokio::test(start_paused = true)]
async fn a_whole_controller_runs_a_day_in_no_time() {
    let client = Client::new().await;
    let kube = kube_client(&client);
    let maps: Api<ConfigMap> = Api::default_namespaced(kube.clone());
    let secrets: Api<Secret> = Api::default_namespaced(kube.clone());
    let context = Arc::new(Mirror {
        client: kube,
        reconciles: AtomicUsize::new(0),
    });
    let controller = Controller::new(maps.clone(), watcher::Config::default())
        .run(
            mirror,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            context.clone(),
        )
        .for_each(|_| std::future::ready(()));
    let running = tokio::spawn(controller);
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &config_map(name))
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!(secrets.list(&ListParams::default()).await.unwrap().items.len(), 3);
    let reconciles = context.reconciles.load(Ordering::Relaxed);
    assert!(reconciles > 3 * 280, "{reconciles}");
    let revision = client.server.revision();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(maps.get_opt("a").await.unwrap().is_none());
    assert!(secrets.get_opt("a").await.unwrap().is_none());
    assert!(
        client.server.revision() <= revision + 4,
        "a steady day writes nothing"
    );
    running.abort();
}
