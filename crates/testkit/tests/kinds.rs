//! The kinds of capt are there in every world, on whatever API server it stands.

use capt_testkit::World;
use kube::api::{DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, ResourceExt};

#[tokio::test]
async fn a_world_has_the_kinds_of_capt_and_those_it_uses() {
    let world = World::new().await;
    let discovery = Discovery::new(world.client()).run_aggregated().await.unwrap();
    for crd in capt_api::crds().into_iter().chain(capt_api::foreign::crds()) {
        let group = discovery.get(&crd.spec.group).unwrap();
        let (resource, capabilities) = group.recommended_kind(&crd.spec.names.kind).unwrap();
        assert!(
            capabilities.supports_operation(verbs::WATCH),
            "{}",
            crd.name_any()
        );
        let api: Api<DynamicObject> = match capabilities.scope {
            Scope::Cluster => Api::all_with(world.client(), &resource),
            Scope::Namespaced => Api::default_namespaced_with(world.client(), &resource),
        };
        api.list(&ListParams::default()).await.unwrap();
    }
    world.finish().await;
}
