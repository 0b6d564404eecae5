//! Backends of the user's, from provider configurations to the state that Terraform keeps there.

use std::{fs, path::Path};

use capt_api::foreign::{Workspace, providerconfig::TerraformConfig};
use capt_runner::{
    CallError,
    engine::Inputs,
    inputs::{ConfigRef, Data, Lookup, Surroundings, load},
    view::WorkspaceView,
};
use capt_terraform::state::State;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::*;

/// One provider configuration, and nothing else.
struct Only(TerraformConfig);

impl Lookup for Only {
    fn get_secret<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        Box::pin(async { Ok(None) })
    }

    fn get_config_map<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        Box::pin(async { Ok(None) })
    }

    fn get_provider_config<'a>(
        &'a self,
        _: &'a ConfigRef,
    ) -> BoxFuture<'a, Result<Option<TerraformConfig>, CallError>> {
        Box::pin(async { Ok(Some(self.0.clone())) })
    }
}

/// What Terraform is told for a Workspace with this `forProvider` and a provider configuration with this spec.
async fn prepared(for_provider: Value, config: Value) -> Inputs {
    let workspace: Workspace = serde_json::from_value(json!({
        "apiVersion": "tf.m.upbound.io/v1beta1",
        "kind": "Workspace",
        "metadata": {"name": "vpc", "namespace": "team", "uid": "u-1"},
        "spec": {"forProvider": for_provider},
    }))
    .unwrap();
    let surroundings = Surroundings {
        namespace: "team".to_owned(),
        server: None,
    };
    let lookup = Only(serde_json::from_value(config).unwrap());
    let view = WorkspaceView::from(&workspace);
    load(&view, &lookup, &surroundings).await.unwrap().inputs
}

fn kept_in(path: &Path) -> State {
    State::parse(&fs::read(path).expect("the state is there")).unwrap()
}

#[tokio::test]
async fn settings_in_a_provider_configuration_say_where_the_backend_is() {
    let Some(world) = World::new().await else { return };
    let theirs = world.path("theirs");
    let inputs = prepared(
        json!({"source": "Inline", "module": "resource \"terraform_data\" \"x\" {}"}),
        json!({
            "configuration": "terraform {\n  backend \"local\" {}\n}\n",
            "backendFile": format!("workspace_dir = \"{}\"\n", theirs.display()),
            "pluginCache": false,
        }),
    )
    .await;
    let made = world.converge(&inputs).await;
    assert_eq!(kept_in(&theirs.join("vpc/terraform.tfstate")), made);
    assert_eq!(addresses(&made), ["terraform_data.x"]);
}
