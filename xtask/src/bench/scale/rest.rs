//! What is asked while nothing happens, in virtual time: ten minutes of it take a moment, and nothing of it depends on the
//! machine. Controllers, runner and server are the real ones, in this process.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, anyhow};
use capt_api::{CAPTCluster, CAPTControlPlane, WorkspaceTemplate, foreign::Cluster};
use capt_testkit::{Verb, World};
use kube::Api;

use super::fleet;
use crate::bench::fargate::{create, start_controllers, start_runner};

/// How many clusters rest.
pub(super) const CLUSTERS: usize = 10;
/// How long.
pub(super) const TIME: Duration = Duration::from_secs(600);

/// How many requests are made, apart from leases and watches.
pub(super) fn requests() -> anyhow::Result<usize> {
    // Time of a runtime of its own can be turned.
    let measured = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .context("making a runtime")?;
        runtime.block_on(measure())
    });
    measured.join().map_err(|_| anyhow!("the bench panicked"))?
}

async fn measure() -> anyhow::Result<usize> {
    let world = World::embedded_only().await;
    start_controllers(&world);
    start_runner(&world, None);
    for mut template in fleet::template_documents()? {
        template["metadata"]["namespace"] = world.namespace().into();
        create::<WorkspaceTemplate>(&world, template).await?;
    }
    let names: Arc<[String]> = (0..CLUSTERS).map(fleet::name).collect();
    for name in names.iter() {
        let [mut cluster, mut network, mut control_plane] = fleet::documents(name);
        for document in [&mut cluster, &mut network, &mut control_plane] {
            document["metadata"]["namespace"] = world.namespace().into();
        }
        create::<Cluster>(&world, cluster).await?;
        create::<CAPTCluster>(&world, network).await?;
        create::<CAPTControlPlane>(&world, control_plane).await?;
    }
    let clusters: Api<Cluster> = Api::namespaced(world.client(), world.namespace());
    world
        .until("the clusters to be ready", async || {
            for name in names.iter() {
                let found = clusters.get(name).await.ok();
                let status = found.and_then(|cluster| cluster.status);
                let flags = status.and_then(|status| status.initialization);
                if flags.is_none_or(|flags| flags.control_plane_initialized != Some(true)) {
                    return false;
                }
            }
            true
        })
        .await;
    world.settle().await;
    let mark = world.recorder().mark();
    world.advance(TIME).await;
    let asked = world.recorder().requests_since(mark);
    let counted = asked
        .iter()
        .filter(|entry| entry.call.verb != Verb::Watch && entry.call.resource != "leases")
        .count();
    world.finish().await;
    Ok(counted)
}
