//! The objects of the demonstration.

use anyhow::Context;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use super::{NAMESPACE, Showing};
use crate::objects::call;

const FIELD_MANAGER: &str = "capt-demo";
/// Templates and a cluster, as a newcomer would write them.
const EXAMPLE: &str = include_str!("../../../../../../examples/demo.yaml");
/// What the example calls the facts about the API that plays the EKS cluster.
const SANDBOX_API: &str = "sandbox-api";

/// Makes what is not there yet. A cluster that is there stays as it is: somebody may have changed it.
pub(super) async fn make(client: &Client, api: &Showing) -> anyhow::Result<()> {
    tell_who_plays_the_cluster(client, api).await?;
    for document in documents()? {
        let object: DynamicObject = serde_json::from_value(document)?;
        let name = object.metadata.name.clone().unwrap_or_default();
        let types = object
            .types
            .clone()
            .context("an object of the demonstration has no kind")?;
        let kind = GroupVersionKind::try_from(&types)?;
        let resource = ApiResource::from_gvk(&kind);
        let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &resource);
        let made = match kind.kind.as_str() {
            "WorkspaceTemplate" => call(objects.patch(&name, &params(), &Patch::Apply(&object)))
                .await
                .map(drop),
            _ => create(&objects, &object).await,
        };
        made.with_context(|| format!("cannot make the {} {name} of the demonstration", kind.kind))?;
    }
    Ok(())
}

/// The EKS cluster of the sandbox is played by our own API. Only the token is secret: what is in a Secret is hidden in
/// everything that Terraform says, and the address is worth being seen.
async fn tell_who_plays_the_cluster(client: &Client, api: &Showing) -> anyhow::Result<()> {
    let cluster = json!({"endpoint": api.url, "certificate_authority_data": api.ca_data()});
    let token = json!({"token": api.token.reveal()});
    let metadata = json!({"name": SANDBOX_API, "namespace": NAMESPACE});
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"cluster.tfvars.json": cluster.to_string()},
    });
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "stringData": {"token.tfvars.json": token.to_string()},
    });
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    call(maps.patch(SANDBOX_API, &params(), &Patch::Apply(map))).await?;
    call(secrets.patch(SANDBOX_API, &params(), &Patch::Apply(secret))).await?;
    Ok(())
}

async fn create(
    objects: &Api<DynamicObject>,
    object: &DynamicObject,
) -> Result<(), crate::objects::CallError> {
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let created = async {
        match objects.create(&params, object).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
            created => created.map(drop),
        }
    };
    call(created).await
}

fn params() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force()
}

fn documents() -> anyhow::Result<Vec<Value>> {
    serde_saphyr::from_multiple(EXAMPLE).context("the objects of the demonstration cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_reads_what_is_told_about_the_api() {
        let documents = documents().unwrap();
        let files = documents
            .iter()
            .find_map(|document| document.pointer("/spec/template/spec/forProvider/varFiles"))
            .unwrap();
        for (file, reference, key) in [
            (0, "configMapKeyRef", "cluster.tfvars.json"),
            (1, "secretKeyRef", "token.tfvars.json"),
        ] {
            assert_eq!(files[file][reference], json!({"name": SANDBOX_API, "key": key}));
        }
    }
}
