//! The whole program with runs that are confined.

use std::{fs, process::Stdio};

use capt_api::{foreign::Workspace, marks};
use kube::{Api, api::PostParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    support::{Up, awaited, capt},
    terraform::has_terraform,
};

#[test]
fn a_path_that_cannot_be_allowed_is_refused_at_start() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    fs::create_dir(&work).unwrap();
    for (path, words) in [
        (home.path().join("none"), "cannot be used"),
        (home.path().to_owned(), "the working folders of all others"),
        (work.clone(), "the working folders of all others"),
    ] {
        let output = capt(home.path())
            .env("KUBECONFIG", home.path().join("nowhere"))
            .arg("runner")
            .arg("--work-dir")
            .arg(&work)
            .arg("--sandbox-allow")
            .arg(&path)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains("--sandbox-allow") && error.contains(words),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_run_sees_no_credentials_of_its_runner() {
    if !has_terraform() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let up = Up::start(home.path(), &["--in-memory", "--workspace-runner", "none"]);
    let workspaces: Api<Workspace> = Api::namespaced(up.client().await, "default");
    let mut commands = Vec::new();
    let mut start = |name: &str, mode: &str| {
        let runner = capt(home.path())
            .env("KUBECONFIG", &up.kubeconfig)
            .args(["--log", "info", "runner", "--name", name, "--sandbox", mode])
            .args(["--grace", "1s", "--work-dir"])
            .arg(home.path().join(name))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        commands.push(runner);
    };
    start("free", "off");
    start("confined", "auto");
    let kubeconfig = up.kubeconfig.display();
    let module = format!("output \"stolen\" {{\n  value = try(file(\"{kubeconfig}\"), \"denied\")\n}}\n");
    let mut found = Vec::new();
    for name in ["free", "confined"] {
        let workspace = serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1",
            "kind": "Workspace",
            "metadata": {"name": name, "labels": {marks::RUNNER: name}},
            "spec": {"forProvider": {"source": "Inline", "module": module}},
        }));
        workspaces
            .create(&PostParams::default(), &workspace.unwrap())
            .await
            .unwrap();
        let conditions = |workspace: &Workspace| {
            let status = workspace.status.clone().unwrap_or_default();
            status.conditions.into_iter().flatten().collect::<Vec<_>>()
        };
        let is_ready = |workspace: Option<&Workspace>| {
            let mut conditions = workspace.into_iter().flat_map(conditions);
            conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
        };
        let workspace = awaited(workspaces.clone(), name, "ready", is_ready)
            .await
            .unwrap();
        let sandboxed = conditions(&workspace)
            .into_iter()
            .find(|condition| condition.type_ == "Sandboxed");
        let stolen = workspace.status.unwrap().at_provider.unwrap().outputs.unwrap()["stolen"].clone();
        found.push((sandboxed.unwrap(), stolen));
    }
    let mut logs = Vec::new();
    for runner in commands {
        kill_process(Pid::from_child(&runner), Signal::TERM).unwrap();
        logs.push(String::from_utf8(runner.wait_with_output().unwrap().stderr).unwrap());
    }
    let [(free, stolen), (confined, denied)] = found.as_slice() else {
        unreachable!("there are two");
    };
    assert_eq!(
        (free.status.as_str(), free.reason.as_str()),
        ("False", "Disabled")
    );
    assert!(stolen.as_str().unwrap().contains("client-key-data"), "{stolen}");
    assert!(logs[0].contains("the sandbox is off"), "{}", logs[0]);
    if confined.reason == "Unsupported" {
        eprintln!("SKIPPED: {confined:?}");
        return;
    }
    assert_eq!(
        (confined.status.as_str(), confined.reason.as_str()),
        ("True", "Landlock")
    );
    assert_eq!(denied, "denied");
    let message = confined.message.as_deref().unwrap();
    assert!(logs[1].contains(message), "{}", logs[1]);
}
