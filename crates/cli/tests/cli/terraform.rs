//! The whole program with a real Terraform: many at once, killed again and again, stopped in mid-work.
//!
//! A machine that has neither `terraform` nor `tofu` skips all of this and says so, unless `CAPT_REQUIRE_TERRAFORM=1` asks
//! for a failure.

use std::{collections::BTreeSet, env, fs, io::Read as _, path::PathBuf, time::Duration};

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, foreign::Workspace};
use futures::{StreamExt as _, future::join_all};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::{Up, awaited};

/// How often it is killed.
const KILLS: usize = 20;

pub(crate) fn has_terraform() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|folder| {
        ["terraform", "tofu"]
            .iter()
            .any(|name| folder.join(name).is_file())
    });
    if !found {
        assert!(
            env::var_os("CAPT_REQUIRE_TERRAFORM").is_none_or(|value| value != "1"),
            "there is neither terraform nor tofu, and CAPT_REQUIRE_TERRAFORM=1 asks for one"
        );
        eprintln!("SKIPPED: there is neither terraform nor tofu");
    }
    found
}

fn applies(client: &Client) -> Api<WorkspaceTemplateApply> {
    Api::namespaced(client.clone(), "default")
}

async fn template(client: &Client, name: &str, module: &str) {
    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplate",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": module}}}},
    });
    let api: Api<WorkspaceTemplate> = Api::namespaced(client.clone(), "default");
    let template = serde_json::from_value(template).unwrap();
    api.create(&PostParams::default(), &template).await.unwrap();
}

async fn apply(client: &Client, name: &str, template: &str, variables: Value) {
    let apply = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplateApply",
        "metadata": {"name": name},
        "spec": {"templateRef": {"name": template}, "variables": variables},
    });
    let apply = serde_json::from_value(apply).unwrap();
    applies(client)
        .create(&PostParams::default(), &apply)
        .await
        .unwrap();
}

fn is_ready(apply: Option<&WorkspaceTemplateApply>) -> bool {
    let status = apply.and_then(|apply| apply.status.as_ref());
    let mut conditions = status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

async fn until_ready(client: &Client, name: &str) -> WorkspaceTemplateApply {
    awaited(applies(client), name, "ready", is_ready).await.unwrap()
}

async fn delete(client: &Client, name: &str) {
    applies(client)
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
}

async fn until_gone(client: &Client, name: &str) {
    awaited(
        applies(client),
        name,
        "gone",
        |apply: Option<&WorkspaceTemplateApply>| apply.is_none(),
    )
    .await;
}

/// The state Secrets, unpacked.
async fn states(client: &Client) -> Vec<Value> {
    let api: Api<Secret> = Api::namespaced(client.clone(), "default");
    let listed = api
        .list(&ListParams::default().labels("tfstate=true"))
        .await
        .unwrap();
    let packed = listed
        .items
        .into_iter()
        .filter_map(|secret| secret.data?.remove("tfstate"));
    packed
        .map(|packed| {
            let mut text = String::new();
            flate2::read::GzDecoder::new(packed.0.as_slice())
                .read_to_string(&mut text)
                .unwrap();
            serde_json::from_str(&text).unwrap()
        })
        .collect()
}

/// Ids of everything in the states that is whole.
fn ids(states: &[Value]) -> BTreeSet<String> {
    let resources = states
        .iter()
        .flat_map(|state| state["resources"].as_array().unwrap());
    let instances = resources.flat_map(|resource| resource["instances"].as_array().unwrap());
    instances
        .filter(|instance| instance["status"] != "tainted")
        .map(|instance| instance["attributes"]["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Processes whose arguments have this text.
fn processes_with(mark: &str) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let arguments = fs::read(path.join("cmdline")).ok()?;
            String::from_utf8_lossy(&arguments).contains(mark).then_some(path)
        })
        .collect()
}

#[tokio::test]
async fn fifty_at_once_come_and_go() {
    if !has_terraform() {
        return;
    }
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &["--in-memory"]);
    let client = up.client().await;
    let module = "resource \"terraform_data\" \"x\" {\n  input = \"number ${n}\"\n}\n\
                  output \"x\" {\n  value = terraform_data.x.output\n}\n";
    template(&client, "many", module).await;
    let names: Vec<String> = (0..50).map(|number| format!("many-{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        apply(&client, name, "many", json!({"n": number.to_string()})).await;
    }
    let ready = join_all(names.iter().map(|name| until_ready(&client, name))).await;
    for (number, apply) in ready.iter().enumerate() {
        let outputs = apply.status.as_ref().unwrap().outputs.as_ref().unwrap();
        assert_eq!(outputs["x"], format!("number {number}"));
    }
    assert_eq!(ids(&states(&client).await).len(), 50);
    join_all(names.iter().map(|name| delete(&client, name))).await;
    join_all(names.iter().map(|name| until_gone(&client, name))).await;
    assert_eq!(states(&client).await, Vec::<Value>::new());
}

/// Gives every change of what the runner writes, from now on, until the connection breaks.
async fn changes(client: &Client) -> impl futures::Stream<Item = ()> + use<> {
    async fn watch<K>(client: &Client) -> impl futures::Stream<Item = ()> + use<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + serde::de::DeserializeOwned
            + std::fmt::Debug
            + Send
            + 'static,
    {
        let api: Api<K> = Api::namespaced(client.clone(), "default");
        let watched = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
        watched.filter_map(|event| async move {
            matches!(
                event,
                Ok(WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_))
            )
            .then_some(())
        })
    }
    let of_secrets = watch::<Secret>(client).await.boxed();
    let of_reports = watch::<ConfigMap>(client).await.boxed();
    futures::stream::select(of_secrets, of_reports)
}

#[tokio::test]
async fn killed_again_and_again_it_loses_nothing() {
    if !has_terraform() {
        return;
    }
    let home = tempdir().unwrap();
    let data = home.path().join("data");
    let start = || {
        Up::start(
            home.path(),
            &["--data-dir", data.to_str().unwrap(), "--grace", "5s"],
        )
    };
    let mut up = start();
    let mut client = up.client().await;
    let links: String = (0..12)
        .map(|number| {
            let after = match number {
                0 => String::new(),
                later => format!("  depends_on = [terraform_data.link_{}]\n", later - 1),
            };
            format!(
                "resource \"terraform_data\" \"link_{number}\" {{\n{after}  provisioner \"local-exec\" {{\n    \
                 command = \"sleep 0.3\"\n  }}\n}}\n"
            )
        })
        .collect();
    template(&client, "chain", &links).await;
    apply(&client, "chain", "chain", json!({})).await;

    let mut seen = BTreeSet::new();
    for kill in 0..KILLS {
        // A moment is a number of changes, so that it does not depend on how fast this machine is.
        let moment = 1 + (kill * 7) % 11;
        let so_many = changes(&client).await.take(moment).count();
        let calm = tokio::time::timeout(Duration::from_secs(5), so_many)
            .await
            .is_err();
        seen.extend(ids(&states(&client).await));
        up.signal(Signal::KILL);
        up.wait();
        up = start();
        client = up.client().await;
        if calm && is_ready(applies(&client).get_opt("chain").await.unwrap().as_ref()) {
            break;
        }
    }
    until_ready(&client, "chain").await;
    let states = states(&client).await;
    let kept = ids(&states);
    assert_eq!(kept.len(), 12, "{states:?}");
    assert!(
        seen.is_subset(&kept),
        "these were lost: {:?}",
        seen.difference(&kept)
    );

    delete(&client, "chain").await;
    until_gone(&client, "chain").await;
}

#[tokio::test]
async fn deleted_while_it_is_made_it_leaves_nothing() {
    if !has_terraform() {
        return;
    }
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &["--in-memory", "--grace", "10s"]);
    let client = up.client().await;
    // The number is a mark by which the process is found.
    let mark = format!("86400.{}", std::process::id());
    let module = format!(
        "resource \"terraform_data\" \"first\" {{}}\nresource \"terraform_data\" \"endless\" {{\n  depends_on = \
         [terraform_data.first]\n  provisioner \"local-exec\" {{\n    command = \"sleep {mark}\"\n  }}\n}}\n"
    );
    template(&client, "endless", &module).await;
    apply(&client, "endless", "endless", json!({})).await;
    let is_at_work = |apply: Option<&WorkspaceTemplateApply>| {
        let progress = apply.and_then(|apply| apply.status.as_ref()?.progress.as_ref());
        progress
            .is_some_and(|progress| progress.current_resource.as_deref() == Some("terraform_data.endless"))
    };
    awaited(applies(&client), "endless", "at work", is_at_work).await;
    delete(&client, "endless").await;
    until_gone(&client, "endless").await;
    assert_eq!(states(&client).await, Vec::<Value>::new());
    assert_eq!(processes_with(&mark), Vec::<PathBuf>::new());
    let workspaces: Api<Workspace> = Api::namespaced(client.clone(), "default");
    let left = workspaces.list(&ListParams::default()).await.unwrap();
    assert_eq!(
        left.items.iter().map(|left| left.name_any()).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}
