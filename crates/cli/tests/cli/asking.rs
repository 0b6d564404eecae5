//! What a person asks of a cluster, answered by a runner that the test plays.

use std::{path::Path, process::Output};

use capt_api::{
    WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{ProviderConfigUsage, Workspace},
    marks,
};
use capt_core::names;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::support::{Up, awaited, capt};

/// An API in which nobody runs Terraform, and everything in it.
pub(crate) struct World {
    home: TempDir,
    up: Up,
    pub(crate) client: Client,
}

impl World {
    async fn start() -> Self {
        Self::with(&["--in-memory", "--workspace-runner", "none"]).await
    }

    /// An API in which nobody does anything.
    pub(crate) async fn quiet() -> Self {
        Self::with(&["--in-memory", "--api-only"]).await
    }

    async fn with(args: &[&str]) -> Self {
        let home = tempdir().unwrap();
        let up = Up::start(home.path(), args);
        let client = up.client().await;
        Self { home, up, client }
    }

    /// The binary, to be asked something of this API.
    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = capt(self.home.path());
        command.env("KUBECONFIG", &self.up.kubeconfig).args(args);
        command
    }

    pub(crate) fn capt(&self, args: &[&str]) -> Output {
        asked(self.home.path(), Some(&self.up.kubeconfig), args)
    }

    pub(crate) fn text(&self, args: &[&str]) -> String {
        let output = self.capt(args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    pub(crate) fn refusal(&self, args: &[&str]) -> String {
        let output = self.capt(args);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
    }

    fn workspaces(&self) -> Api<Workspace> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn workspace(&self, name: &str) -> Workspace {
        let workspace = json!({
            "apiVersion": "tf.m.upbound.io/v1beta1",
            "kind": "Workspace",
            "metadata": {"name": name},
            "spec": {"forProvider": {"source": "Inline", "module": "output \"x\" {\n  value = 1\n}\n"}},
        });
        let workspace = serde_json::from_value(workspace).unwrap();
        self.workspaces()
            .create(&PostParams::default(), &workspace)
            .await
            .unwrap()
    }

    /// Tells something about a Workspace, as a runner does.
    async fn report(&self, workspace: &Workspace, data: Value) {
        let name = names::run_report("tf.m.upbound.io", &workspace.name_any());
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {marks::RUN_OF: workspace.uid()}},
            "data": data,
        });
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), "default");
        let params = PatchParams::apply("test").force();
        api.patch(&name, &params, &Patch::Apply(map)).await.unwrap();
    }

    /// Does what provider-terraform does when all is well.
    async fn is_run_by_provider_terraform(&self, workspace: &Workspace) {
        let usage = json!({
            "apiVersion": "tf.m.upbound.io/v1beta1",
            "kind": "ProviderConfigUsage",
            "metadata": {"name": workspace.uid()},
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
            "resourceRef": {"apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace", "name": workspace.name_any()},
        });
        let api: Api<ProviderConfigUsage> = Api::namespaced(self.client.clone(), "default");
        let usage = serde_json::from_value(usage).unwrap();
        api.create(&PostParams::default(), &usage).await.unwrap();
        let condition = |type_: &str, reason: &str| {
            json!({
                "type": type_, "status": "True", "reason": reason, "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": workspace.metadata.generation,
            })
        };
        let status = json!({"status": {"conditions": [
            condition("Synced", "ReconcileSuccess"), condition("Ready", "Available"),
        ]}});
        let params = PatchParams::default();
        let patch = Patch::Merge(status);
        self.workspaces()
            .patch_status(&workspace.name_any(), &params, &patch)
            .await
            .unwrap();
    }

    async fn annotation(&self, name: &str, mark: &str) -> Option<String> {
        let workspace = self.workspaces().get(name).await.unwrap();
        workspace.annotations().get(mark).cloned()
    }
}

fn asked(home: &Path, kubeconfig: Option<&Path>, args: &[&str]) -> Output {
    let mut command = capt(home);
    if let Some(kubeconfig) = kubeconfig {
        command.env("KUBECONFIG", kubeconfig);
    }
    command.args(args).output().unwrap()
}

fn plan_waiting(id: &str) -> Value {
    json!({
        "id": id, "summary": "1 to replace", "destructive": true, "awaitsApproval": true, "generation": 1,
        "changes": [{"address": "terraform_data.x", "action": "replace", "reason": "cannot_update"}],
    })
}

#[test]
fn without_a_cluster_it_says_what_to_do() {
    let home = tempdir().unwrap();
    let output = asked(home.path(), None, &["retry", "wtapply/x"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("there is no cluster to talk to"), "{stderr}");
    assert!(stderr.contains("help: start one with `capt up`"), "{stderr}");
}

#[test]
fn what_is_no_object_is_refused_before_anything_is_asked() {
    let home = tempdir().unwrap();
    for (args, expected) in [
        (&["plan", "greeting"][..], "wtapply/greeting"),
        (&["logs", "work/x"], "workspace or workspacetemplate"),
        (&["plan", "wtapply/x", "--timeout", "5"], "duration with a unit"),
        (
            &["up", "--engine", "terrafrom"],
            "possible values: auto, terraform, tofu, simulated",
        ),
        (
            &["up", "--demo", "--workspace-runner", "none"],
            "--demo needs a runner",
        ),
        (&["up", "--parallelism", "0"], "--parallelism"),
        (&["up", "--poll-interval", "10"], "--poll-interval"),
    ] {
        let output = asked(home.path(), None, args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
}

#[test]
fn an_engine_that_is_not_there_is_an_error_at_the_start() {
    let home = tempdir().unwrap();
    let args = [
        "up",
        "--in-memory",
        "--listen",
        "127.0.0.1:0",
        "--engine-path",
        "/no/such/program",
    ];
    let output = asked(home.path(), None, &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("/no/such/program"), "{stderr}");
    assert!(stderr.contains("install it, or name the path of one"), "{stderr}");
}

#[tokio::test]
async fn a_cluster_that_capt_up_left_is_found_without_a_kubeconfig() {
    let home = tempdir().unwrap();
    let _up = Up::start(home.path(), &["--workspace-runner", "none"]);
    let output = asked(home.path(), None, &["retry", "wtapply/nobody"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("there is no wtapply/nobody in namespace default"),
        "{stderr}"
    );
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_may_be_meant() {
    let world = World::start().await;
    world.workspace("network").await;
    for (args, expected) in [
        (&["logs", "workspace/netwrok"][..], "did you mean network?"),
        (
            &["logs", "workspace/network", "-n", "team-a"],
            "there is one in namespace default: add -n default",
        ),
        (&["plan", "wtapply/network"], "there is none at all"),
        (
            &["plan", "workspacetemplate/network"],
            "there is no workspacetemplate/network",
        ),
        (
            &["logs", "workspace/network"],
            "no runner of ours has worked on it",
        ),
    ] {
        let refusal = world.refusal(args);
        assert!(refusal.contains(expected), "{args:?}: {refusal}");
    }
}

#[tokio::test]
async fn logs_are_printed_and_followed_until_the_workspace_is_gone() {
    let world = World::start().await;
    let workspace = world.workspace("network").await;
    let report = json!({"engine": "simulated", "operation": {"kind": "apply"}}).to_string();
    world
        .report(
            &workspace,
            json!({"run.json": report, "log": "one\n", "log.previous": "zero\n", "log.plan": "looked\n"}),
        )
        .await;

    assert_eq!(world.text(&["logs", "workspace/network"]), "one\n");
    assert_eq!(world.text(&["logs", "workspace/network", "--previous"]), "zero\n");
    assert_eq!(world.text(&["logs", "workspace/network", "--plan"]), "looked\n");
    let data: Value =
        serde_json::from_str(&world.text(&["logs", "workspace/network", "-o", "json"])).unwrap();
    assert_eq!(
        (&data["engine"], &data["log"]),
        (&json!("simulated"), &json!("one\n"))
    );
    let data: Value =
        serde_saphyr::from_str(&world.text(&["logs", "workspace/network", "-o", "yaml"])).unwrap();
    assert_eq!(data["operation"]["kind"], "apply");

    let mut following = capt(world.home.path());
    following
        .env("KUBECONFIG", &world.up.kubeconfig)
        .args(["logs", "-f", "workspace/network"])
        .stdout(std::process::Stdio::piped());
    let mut following = following.spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(following.stdout.take().unwrap()));
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    world
        .report(&workspace, json!({"run.json": report, "log": "one\ntwo\n"}))
        .await;
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    world
        .report(
            &workspace,
            json!({"run.json": report, "log": "four\n", "log.previous": "one\ntwo\nthree\n"}),
        )
        .await;
    assert_eq!(lines.next().unwrap().unwrap(), "three");
    assert_eq!(lines.next().unwrap().unwrap(), "four");

    let api: Api<ConfigMap> = Api::namespaced(world.client.clone(), "default");
    let name = names::run_report("tf.m.upbound.io", "network");
    api.delete(&name, &Default::default()).await.unwrap();
    assert!(lines.next().is_none());
    assert!(following.wait().unwrap().success());
}

#[tokio::test]
async fn a_plan_is_asked_for_waited_for_and_told() {
    let world = World::start().await;
    let workspace = world.workspace("network").await;
    let mut asking = capt(world.home.path());
    asking
        .env("KUBECONFIG", &world.up.kubeconfig)
        .args(["plan", "workspace/network"])
        .stdout(std::process::Stdio::piped());
    let asking = asking.spawn().unwrap();

    // The runner sees the question, and answers an older one first.
    let is_asked = |seen: Option<&Workspace>| {
        seen.is_some_and(|workspace| workspace.annotations().contains_key(marks::PLAN_REQUESTED))
    };
    let seen = awaited(world.workspaces(), "network", "asked", is_asked)
        .await
        .unwrap();
    let token = seen.annotations()[marks::PLAN_REQUESTED].clone();
    for answered in ["older", token.as_str()] {
        let report = json!({
            "engine": "terraform 1.11.4", "answered": {marks::PLAN_REQUESTED: answered},
            "plan": plan_waiting(&format!("for-{answered}")),
        });
        world
            .report(&workspace, json!({"run.json": report.to_string()}))
            .await;
    }
    let output = asking.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(
        text,
        format!(
            "workspace/network in default, by terraform 1.11.4\n\
             Plan for-{token}: 1 to replace\n  replace  terraform_data.x (cannot update)\n\
             It waits for an approval. To approve exactly this plan:\n  \
             capt approve workspace/network -n default --plan for-{token}\n"
        )
    );
    assert_eq!(world.annotation("network", marks::APPROVED).await, None);
}

#[tokio::test]
async fn a_plan_that_nobody_makes_is_not_waited_for_forever() {
    let world = World::start().await;
    world.workspace("network").await;
    let output = world.capt(&["plan", "workspace/network", "--timeout", "100ms"]);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(4), "{stdout}{stderr}");
    assert!(
        stdout.contains(
            "none was made within 100ms; what was waited for: no runner has taken the Workspace up"
        ),
        "{stdout}"
    );
    assert!(
        stderr.contains("waiting: no runner has taken the Workspace up"),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_plan_that_will_not_come_is_not_waited_for() {
    let world = World::start().await;
    let applies: Api<WorkspaceTemplateApply> = Api::namespaced(world.client.clone(), "default");
    let templates: Api<WorkspaceTemplate> = Api::namespaced(world.client.clone(), "default");
    let module = "variable \"x\" {\n  type = string\n}\noutput \"x\" {\n  value = var.x\n}\n";
    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplate",
        "metadata": {"name": "network"},
        "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": module}}}},
    });
    templates
        .create(&PostParams::default(), &serde_json::from_value(template).unwrap())
        .await
        .unwrap();
    let unused = world.text(&["plan", "wt/network"]);
    assert!(
        unused.contains("Nothing uses workspacetemplate/network"),
        "{unused}"
    );
    for (name, spec) in [
        ("untemplated", json!({"templateRef": {"name": "none"}})),
        (
            "one",
            json!({"templateRef": {"name": "network"}, "waitForWorkspaces": [{"name": "other"}]}),
        ),
        (
            "other",
            json!({"templateRef": {"name": "network"}, "waitForWorkspaces": [{"name": "one"}]}),
        ),
        (
            "secretless",
            json!({"templateRef": {"name": "network"}, "waitForSecrets": [{"name": "nobodys"}]}),
        ),
    ] {
        let apply = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "WorkspaceTemplateApply",
            "metadata": {"name": name},
            "spec": spec,
        });
        let apply = serde_json::from_value(apply).unwrap();
        applies.create(&PostParams::default(), &apply).await.unwrap();
    }
    for (target, expected) in [
        ("wtapply/untemplated", "There is no plan: "),
        ("wtapply/one", "wait for each other"),
        ("wtapply/secretless", "Nothing that there is makes secret/nobodys"),
        ("wt/network", "wait for each other"),
    ] {
        // As long as it says: it is not waited for at all.
        let output = world.capt(&["plan", target, "--timeout", "1h"]);
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{target}: {stdout}");
        assert!(stdout.contains(expected), "{target}: {stdout}");
    }
    let refusal = world.refusal(&["logs", "wt/network"]);
    assert!(refusal.contains("is a template"), "{refusal}");
}

#[tokio::test]
async fn only_the_plan_that_waits_can_be_approved() {
    let world = World::start().await;
    let workspace = world.workspace("network").await;
    let nothing = world.text(&["approve", "workspace/network"]);
    assert_eq!(nothing, "Nothing of workspace/network waits for an approval.\n");
    let refusal = world.refusal(&["approve", "workspace/network", "--plan", "abc"]);
    assert!(
        refusal.contains("nothing of workspace/network waits"),
        "{refusal}"
    );

    let report = json!({"plan": plan_waiting("abc")}).to_string();
    world.report(&workspace, json!({"run.json": report})).await;
    let shown = world.text(&["approve", "workspace/network"]);
    assert!(
        shown.contains("1 to replace") && shown.contains("--plan abc"),
        "{shown}"
    );
    let refusal = world.refusal(&["approve", "workspace/network", "--plan", "abd"]);
    assert!(
        refusal.contains("plan abd does not wait for an approval; abc does"),
        "{refusal}"
    );
    assert_eq!(world.annotation("network", marks::APPROVED).await, None);

    let mut given = Vec::new();
    for used_up in [None, None, Some(0), Some(0)] {
        // The runner says that the first approval was used, and that the same plan waits again.
        if let Some(used_up) = used_up {
            let value: &String = &given[used_up];
            let report = json!({"plan": plan_waiting("abc"), "answered": {marks::APPROVED: value}});
            world
                .report(&workspace, json!({"run.json": report.to_string()}))
                .await;
        }
        let told = world.text(&["approve", "workspace/network", "--plan", "abc"]);
        assert_eq!(told, "Plan abc of workspace/network is approved.\n");
        given.extend(world.annotation("network", marks::APPROVED).await);
    }
    assert!(given.iter().all(|value| value.starts_with("abc/")), "{given:?}");
    assert_eq!(given[0], given[1], "one that is not used up is enough");
    assert_ne!(given[1], given[2], "one that is used up is not");
    assert_eq!(given[2], given[3]);
}

#[tokio::test]
async fn every_retry_is_a_new_request() {
    let world = World::start().await;
    world.workspace("network").await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let told = world.text(&["retry", "workspace/network"]);
        assert!(
            told.contains("Watch it: capt tree workspace/network -n default -w"),
            "{told}"
        );
        tokens.push(world.annotation("network", marks::RETRY_REQUESTED).await.unwrap());
    }
    assert_ne!(tokens[0], tokens[1]);
}

#[tokio::test]
async fn where_provider_terraform_runs_there_is_no_plan_and_that_is_said() {
    let world = World::start().await;
    let workspace = world.workspace("network").await;
    world.is_run_by_provider_terraform(&workspace).await;
    let told = world.text(&["plan", "workspace/network"]);
    assert!(told.contains("it has no plan step"), "{told}");
    assert_eq!(world.annotation("network", marks::PLAN_REQUESTED).await, None);
}

#[tokio::test]
async fn with_a_foreign_runner_a_rendering_is_shown_and_approved_instead_of_a_plan() {
    let world = World::start().await;
    let module = |words: &str| {
        format!("terraform {{\n  backend \"kubernetes\" {{\n    secret_suffix = \"x\"\n  }}\n}}\n# {words}\n")
    };
    let templates: Api<WorkspaceTemplate> = Api::namespaced(world.client.clone(), "default");
    let applies: Api<WorkspaceTemplateApply> = Api::namespaced(world.client.clone(), "default");
    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplate",
        "metadata": {"name": "network"},
        "spec": {"template": {"spec": {"forProvider": {"source": "Inline", "module": module("one")}}}},
    });
    let apply = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplateApply",
        "metadata": {"name": "network"},
        "spec": {"templateRef": {"name": "network"}},
    });
    let params = PostParams::default();
    templates
        .create(&params, &serde_json::from_value(template).unwrap())
        .await
        .unwrap();
    applies
        .create(&params, &serde_json::from_value(apply).unwrap())
        .await
        .unwrap();
    let is_made = |seen: Option<&Workspace>| seen.is_some();
    let workspace = awaited(world.workspaces(), "network", "made", is_made)
        .await
        .unwrap();
    world.is_run_by_provider_terraform(&workspace).await;
    let is_ready = |seen: Option<&WorkspaceTemplateApply>| {
        seen.is_some_and(|apply| {
            apply
                .status
                .as_ref()
                .is_some_and(|status| status.ready_revision.is_some())
        })
    };
    awaited(applies.clone(), "network", "ready", is_ready).await;
    let told = world.text(&["plan", "wtapply/network"]);
    assert!(
        told.contains("The Workspace is what the template and the variables say"),
        "{told}"
    );

    let patch = json!({"spec": {"template": {"spec": {"forProvider": {"module": module("two")}}}}});
    templates
        .patch("network", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let pending = |seen: Option<&WorkspaceTemplateApply>| {
        seen.is_some_and(|apply| {
            apply
                .status
                .as_ref()
                .is_some_and(|status| status.pending_revision.is_some())
        })
    };
    let held = awaited(applies.clone(), "network", "held", pending)
        .await
        .unwrap();
    let revision = held.status.unwrap().pending_revision.unwrap();
    let told = world.text(&["plan", "wtapply/network"]);
    for expected in [
        "it has no plan step",
        "~ forProvider.module, from line 6:\n      - # one\n      + # two",
        &format!("capt approve wtapply/network -n default --plan {revision}"),
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let refusal = world.refusal(&["approve", "wtapply/network", "--plan", "another"]);
    assert!(refusal.contains(&revision), "{refusal}");
    world.text(&["approve", "wtapply/network", "--plan", &revision]);
    let changed = |seen: Option<&Workspace>| {
        seen.is_some_and(|workspace| workspace.spec.for_provider.module.contains("# two"))
    };
    awaited(world.workspaces(), "network", "changed", changed).await;
}

#[tokio::test]
async fn wishes_about_a_made_workspace_go_to_what_made_it() {
    let world = World::start().await;
    let applies: Api<WorkspaceTemplateApply> = Api::namespaced(world.client.clone(), "default");
    let apply = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "WorkspaceTemplateApply",
        "metadata": {"name": "network-apply"},
        "spec": {"templateRef": {"name": "none"}},
    });
    let apply = serde_json::from_value(apply).unwrap();
    let apply: WorkspaceTemplateApply = applies.create(&PostParams::default(), &apply).await.unwrap();
    world.workspace("network").await;
    let labels = json!({"metadata": {"labels": {
        marks::WTA_NAMESPACE: "default", marks::WTA_NAME: "network-apply", marks::WTA_UID: apply.uid(),
    }}});
    let params = PatchParams::default();
    world
        .workspaces()
        .patch("network", &params, &Patch::Merge(labels))
        .await
        .unwrap();

    let told = world.text(&["retry", "workspace/network"]);
    assert!(told.contains("wtapply/network-apply"), "{told}");
    let apply = applies.get("network-apply").await.unwrap();
    assert!(apply.annotations().contains_key(marks::RETRY_REQUESTED));
}
