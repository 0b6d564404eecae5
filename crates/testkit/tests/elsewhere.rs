//! The switch: the same world on an API server that is somewhere else, known by a kubeconfig only, in real time.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests, where a panic is a failed test"
)]

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use apiary::{ApiServer, Options};
use capt_api::CAPTCluster;
use capt_testkit::{Calls, Fault, Times, World};
use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::json;
use tokio::net::TcpListener;

/// Serves an API on a thread of its own, for as long as the test process lives.
fn serve_elsewhere() -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let server = ApiServer::open(Options::default()).await.unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            axum::serve(listener, server.router()).await.unwrap();
        });
    });
    receiver.recv().unwrap()
}

fn kubeconfig(address: SocketAddr) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "elsewhere", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "elsewhere", "context": {"cluster": "elsewhere", "user": "me"}}],
        "current-context": "elsewhere",
    });
    std::fs::write(file.path(), config.to_string()).unwrap();
    file
}

#[tokio::test(start_paused = true)]
async fn a_world_can_stand_on_another_server() {
    let kubeconfig = kubeconfig(serve_elsewhere());
    let on_it = || World::builder().on(kubeconfig.path());
    let (one, two) = (on_it().start().await, on_it().start().await);
    assert_ne!(one.namespace(), two.namespace());

    let clusters: Api<CAPTCluster> = Api::default_namespaced(one.client());
    assert!(
        clusters
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty(),
        "the kinds of capt are installed"
    );

    one.faults()
        .inject(Calls::by("demo").writes(), Times::Once, Fault::DropAnswer);
    one.start("demo", |process| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(process.client);
        let map = serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap();
        assert!(maps.create(&PostParams::default(), &map).await.is_err());
        std::future::pending().await
    });
    one.settle().await;
    let has_map = |world: &World| {
        let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
        async move { maps.get_opt("x").await.unwrap().is_some() }
    };
    assert!(has_map(&one).await);
    assert!(!has_map(&two).await);
    let keys: Vec<String> = one.snapshot().await.objects().keys().cloned().collect();
    assert_eq!(keys, [format!("configmaps/{}/x", one.namespace())]);
    one.finish().await;
    two.finish().await;
}

#[tokio::test]
async fn time_cannot_be_owned_there() {
    let kubeconfig = kubeconfig(serve_elsewhere());
    let world = World::builder()
        .without_crds()
        .on(kubeconfig.path())
        .start()
        .await;
    let refused = AssertUnwindSafe(world.advance(Duration::from_secs(1)))
        .catch_unwind()
        .await;
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("begin with World::embedded_only()"), "{message}");
}
