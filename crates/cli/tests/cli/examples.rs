//! Every example that makes a cluster, applied as a newcomer does it.

use std::path::Path;

use capt_api::{WorkspaceTemplateApply, foreign::Cluster};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use tempfile::tempdir;

use crate::support::{Up, awaited};

const EXAMPLES: [&str; 5] = ["templates", "cluster", "existing-vpc", "fargate", "clusterclass"];

/// Applies all objects of an example, and gives the names of its Clusters.
pub(crate) async fn apply(client: &Client, example: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{example}.yaml"));
    let text = std::fs::read_to_string(file).unwrap();
    let objects: Vec<DynamicObject> = serde_saphyr::from_multiple(&text).unwrap();
    let mut clusters = Vec::new();
    for object in objects {
        let kind = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
        let resource = ApiResource::from_gvk(&kind);
        let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
        let parameters = PatchParams::apply("test");
        let made = api
            .patch(&object.name_any(), &parameters, &Patch::Apply(&object))
            .await;
        made.unwrap_or_else(|error| panic!("{example}: {error}"));
        if kind.kind == "Cluster" {
            clusters.push(object.name_any());
        }
    }
    clusters
}

fn is_available(cluster: Option<&Cluster>) -> bool {
    let status = cluster.and_then(|cluster| cluster.status.as_ref());
    let mut conditions = status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Available" && condition.status == "True")
}

#[tokio::test]
async fn clusters_of_all_examples_come_up_and_go() {
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &["--in-memory", "--engine", "simulated"]);
    let client = up.client().await;
    let mut names = Vec::new();
    for example in EXAMPLES {
        names.extend(apply(&client, example).await);
    }
    assert_eq!(names.len(), 3, "{names:?}");
    let clusters: Api<Cluster> = Api::namespaced(client.clone(), "default");
    for name in &names {
        awaited(clusters.clone(), name, "available", is_available).await;
    }
    for name in &names {
        clusters.delete(name, &DeleteParams::default()).await.unwrap();
    }
    for name in &names {
        let gone = |cluster: Option<&Cluster>| cluster.is_none();
        awaited(clusters.clone(), name, "gone", gone).await;
    }
    let applies: Api<WorkspaceTemplateApply> = Api::namespaced(client, "default");
    assert!(
        applies
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
}
