//! Teaching the API capt's kinds.

use std::collections::BTreeMap;

use anyhow::Context;
use apiary::ApiServer;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::Value;

const FIELD_MANAGER: &str = "capt-install";

/// Applies every CRD that capt needs and that is not yet as it should be: its own, and those of other
/// people's kinds that it uses.
pub(super) async fn crds(server: &ApiServer) -> anyhow::Result<()> {
    let client = Client::new(server.router(), "default");
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let params = PatchParams::apply(FIELD_MANAGER).force();

    let listed = api
        .list(&ListParams::default())
        .await
        .context("cannot list the CRDs")?;
    let installed: BTreeMap<String, CustomResourceDefinition> =
        listed.into_iter().map(|crd| (crd.name_any(), crd)).collect();
    for wanted in capt_api::crds().into_iter().chain(capt_api::foreign::crds()) {
        let name = wanted.name_any();
        if let Some(found) = installed.get(&name)
            && covers(&serde_json::to_value(found)?, &serde_json::to_value(&wanted)?)
        {
            continue;
        }
        api.patch(&name, &params, &Patch::Apply(wanted))
            .await
            .with_context(|| format!("cannot install the CRD {name}"))?;
        tracing::debug!(name, "installed a CRD");
    }
    Ok(())
}

/// Whether `found` says everything that `wanted` says; it may say more, such as what the server fills in.
fn covers(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| found.get(key).is_some_and(|found| covers(found, wanted))),
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len()
                && found
                    .iter()
                    .zip(wanted)
                    .all(|(found, wanted)| covers(found, wanted))
        }
        (found, wanted) => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use apiary::Options;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn everything_is_installed_and_a_second_time_nothing_is_written() {
        let server = ApiServer::open(Options::default()).await.unwrap();
        crds(&server).await.unwrap();
        let revision = server.revision();

        crds(&server).await.unwrap();
        assert_eq!(server.revision(), revision);
        server.shutdown().await;
    }

    #[tokio::test]
    async fn what_somebody_changed_is_put_right() {
        let server = ApiServer::open(Options::default()).await.unwrap();
        crds(&server).await.unwrap();
        let api: Api<CustomResourceDefinition> = Api::all(Client::new(server.router(), "default"));
        let wanted = &capt_api::crds()[0];
        let name = wanted.name_any();
        let vandalism = json!({"spec": {"names": {"shortNames": ["vandal"]}}});
        api.patch(&name, &PatchParams::default(), &Patch::Merge(vandalism))
            .await
            .unwrap();

        crds(&server).await.unwrap();
        assert_eq!(
            api.get(&name).await.unwrap().spec.names.short_names,
            wanted.spec.names.short_names
        );
        server.shutdown().await;
    }

    #[test]
    fn more_than_wanted_is_enough_and_anything_else_is_not() {
        let found = json!({"a": 1, "list": [{"b": 1, "filled-in": true}]});
        for (wanted, expected) in [
            (json!({}), true),
            (json!({"a": 1}), true),
            (json!({"list": [{"b": 1}]}), true),
            (json!({"a": 2}), false),
            (json!({"c": 1}), false),
            (json!({"list": []}), false),
            (json!({"list": [{"b": 1}, {"b": 1}]}), false),
        ] {
            assert_eq!(covers(&found, &wanted), expected, "{wanted}");
        }
    }
}
