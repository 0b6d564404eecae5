//! Backends of the user's, from provider configurations to the state that Terraform keeps there.

use std::{fs, path::Path};

use capt_api::foreign::{Workspace, providerconfig::TerraformConfig};
use capt_runner::{
    CallError,
    engine::{FailureKind, Goal, Inputs},
    inputs::{ConfigFound, ConfigRef, Data, Lookup, Surroundings, load},
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
    ) -> BoxFuture<'a, Result<Option<ConfigFound>, CallError>> {
        let found = ConfigFound {
            config: self.0.clone(),
            allowed_namespaces: None,
        };
        Box::pin(async { Ok(Some(found)) })
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
        own_credentials: capt_core::tenancy::NamespaceSet::none(),
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

/// A package whose module has this backend.
fn package(world: &World, backend: &str) -> String {
    let path = world.path("package");
    fs::create_dir_all(&path).unwrap();
    let text = format!("terraform {{\n  {backend}\n}}\nresource \"terraform_data\" \"x\" {{}}\n");
    fs::write(path.join("main.tf"), text).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn a_backend_in_a_module_that_is_fetched_is_not_replaced_by_an_empty_state() {
    let Some(world) = World::new().await else { return };
    let theirs = world.path("theirs");
    let backend = format!(
        "backend \"local\" {{\n workspace_dir = \"{}\"\n }}",
        theirs.display()
    );
    let address = package(&world, &backend);
    let hidden = prepared(json!({"source": "Remote", "module": address}), json!({})).await;
    for _ in 0..2 {
        let failure = world.open(&hidden).await.err().expect("it is refused");
        assert_eq!(failure.kind, FailureKind::BackendInModule);
        assert!(failure.message.contains("initArgs"), "{}", failure.message);
    }

    // As the message says, a setting makes it the backend that counts.
    let argument = format!("-backend-config=workspace_dir={}", theirs.display());
    let told = prepared(
        json!({"source": "Remote", "module": address, "initArgs": [argument]}),
        json!({}),
    )
    .await;
    let made = world.converge(&told).await;
    assert_eq!(kept_in(&theirs.join("vpc/terraform.tfstate")), made);

    // What was made with a state of ours before the module had a backend goes on with it.
    let mut ours = hidden.clone();
    ours.uid = "u-2".to_owned();
    package(&world, "");
    let state = world.converge(&ours).await;
    package(&world, &backend);
    assert_eq!(world.converge(&ours).await, state);
}

#[tokio::test]
async fn a_module_that_is_fetched_may_say_that_its_state_is_local() {
    let Some(world) = World::new().await else { return };
    let address = package(&world, "backend \"local\" {}");
    let inputs = prepared(json!({"source": "Remote", "module": address}), json!({})).await;
    assert_eq!(addresses(&world.converge(&inputs).await), ["terraform_data.x"]);
}

#[tokio::test]
async fn settings_for_a_backend_that_is_not_there_are_refused() {
    let Some(world) = World::new().await else { return };
    let address = package(&world, "");
    let inputs = prepared(
        json!({"source": "Remote", "module": address, "initArgs": ["-backend-config=bucket=b"]}),
        json!({}),
    )
    .await;
    let failure = world.open(&inputs).await.err().expect("it is refused");
    assert_eq!(failure.kind, FailureKind::InvalidInput, "{}", failure.message);
}

#[tokio::test]
async fn a_backend_can_be_asked_for_its_state() {
    let Some(world) = World::new().await else { return };
    let theirs = world.path("theirs");
    let inputs = prepared(
        json!({
            "source": "Inline",
            "module": "resource \"terraform_data\" \"x\" {}\nresource \"terraform_data\" \"y\" {}\n",
            "destroyArgs": ["-target=terraform_data.x"],
        }),
        json!({"configuration": format!(
            "terraform {{\n  backend \"local\" {{\n    workspace_dir = \"{}\"\n  }}\n}}\n", theirs.display()
        )}),
    )
    .await;
    let mut session = world.open(&inputs).await.unwrap();
    assert_eq!(within(session.opened.session.state()).await.unwrap(), None);
    session.plan(Goal::Converge).await.unwrap();
    session.apply().await.unwrap();
    session.plan(Goal::Destroy).await.unwrap();
    session.apply().await.unwrap();
    let plan = session.plan(Goal::Destroy).await.unwrap();
    assert!(plan.plan.is_empty());
    let state = within(session.opened.session.state()).await.unwrap().unwrap();
    assert_eq!(addresses(&State::parse(&state).unwrap()), ["terraform_data.y"]);
}

#[tokio::test]
async fn a_state_of_ours_that_is_new_on_this_machine_is_taken_up_under_a_backend() {
    let Some(world) = World::new().await else { return };
    let text = "terraform {\n  backend \"kubernetes\" {\n    secret_suffix = \"x\"\n  }\n}\nresource \"terraform_data\" \"x\" {}\n";
    let mut first = inputs(text);
    let mut session = world.open(&first).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let made = session.apply().await.unwrap().state;
    first.uid = "u-3".to_owned();
    let mut session = world.open(&with_replica(first, &made)).await.unwrap();
    let planned = session.plan(Goal::Converge).await.unwrap();
    assert!(planned.plan.is_empty(), "{}", planned.text);
}
