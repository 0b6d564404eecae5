//! From a template to infrastructure and back, with everything in one process and nothing real made.

use std::{collections::BTreeMap, path::Path, process::Stdio};

use capt_api::{
    WorkspaceTemplate, WorkspaceTemplateApply, foreign::Workspace, marks,
    workspacetemplateapply::WorkspaceTemplateApplyStatus,
};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::support::{Up, awaited, capt};

const NAME: &str = "greeting-world";

struct World {
    home: TempDir,
    up: Up,
    client: Client,
}

impl World {
    async fn start(args: &[&str]) -> Self {
        let home = tempdir().unwrap();
        let up = Up::start(home.path(), args);
        let client = up.client().await;
        Self { home, up, client }
    }

    async fn simulated() -> Self {
        Self::start(&["--in-memory", "--engine", "simulated"]).await
    }

    /// Runs the command line to its end: whether it succeeded, and its answer; if not, with what it said beside that.
    fn capt(&self, args: &[&str]) -> (bool, String) {
        let mut command = capt(self.home.path());
        let output = command
            .env("KUBECONFIG", &self.up.kubeconfig)
            .args(args)
            .output()
            .unwrap();
        let is_well = output.status.success();
        let mut text = String::from_utf8(output.stdout).unwrap();
        if !is_well {
            text += &String::from_utf8(output.stderr).unwrap();
        }
        (is_well, text)
    }

    fn text(&self, args: &[&str]) -> String {
        let (is_well, text) = self.capt(args);
        assert!(is_well, "{args:?}: {text}");
        text
    }

    fn applies(&self) -> Api<WorkspaceTemplateApply> {
        Api::namespaced(self.client.clone(), "default")
    }

    fn templates(&self) -> Api<WorkspaceTemplate> {
        Api::namespaced(self.client.clone(), "default")
    }

    fn workspaces(&self) -> Api<Workspace> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Applies the example, after a change to the apply.
    async fn apply_example(&self, change: impl FnOnce(&mut WorkspaceTemplateApply)) {
        let (template, mut apply) = example();
        change(&mut apply);
        let params = PostParams::default();
        self.templates().create(&params, &template).await.unwrap();
        self.applies().create(&params, &apply).await.unwrap();
    }

    async fn patch(&self, patch: Value) {
        let params = PatchParams::default();
        self.applies()
            .patch(NAME, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Waits until the status of the apply is like this.
    async fn until(
        &self,
        what: &str,
        is: impl Fn(&WorkspaceTemplateApplyStatus) -> bool,
    ) -> WorkspaceTemplateApplyStatus {
        let seen = |apply: Option<&WorkspaceTemplateApply>| {
            apply.and_then(|apply| apply.status.as_ref()).is_some_and(&is)
        };
        let apply = awaited(self.applies(), NAME, what, seen).await;
        apply.unwrap().status.unwrap()
    }

    async fn until_greeting(&self, greeting: &str) -> WorkspaceTemplateApplyStatus {
        self.until(greeting, |status| {
            let told = status
                .outputs
                .as_ref()
                .and_then(|outputs| outputs.get("greeting"));
            told == Some(&json!(greeting)) && is(status, "Ready", "True") && is(status, "Synced", "True")
        })
        .await
    }
}

fn is(status: &WorkspaceTemplateApplyStatus, type_: &str, value: &str) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|condition| condition.type_ == type_ && condition.status == value)
}

fn example() -> (WorkspaceTemplate, WorkspaceTemplateApply) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workspace.yaml");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut documents = documents.into_iter();
    let template = serde_json::from_value(documents.next().unwrap()).unwrap();
    let apply = serde_json::from_value(documents.next().unwrap()).unwrap();
    (template, apply)
}

/// The example with its resource under another name, which destroys the one that is there.
fn renamed() -> Value {
    let (template, _) = example();
    let module = &template.spec.template.spec.for_provider.module;
    let module = module
        .replace("\"terraform_data\" \"greeting\"", "\"terraform_data\" \"salute\"")
        .replace("terraform_data.greeting", "terraform_data.salute");
    json!({"spec": {"template": {"spec": {"forProvider": {"module": module}}}}})
}

#[tokio::test]
async fn a_template_becomes_infrastructure_and_goes_again() {
    let world = World::simulated().await;
    assert!(
        world.up.engine_line.contains("simulated for every Workspace"),
        "{}",
        world.up.engine_line
    );
    world
        .apply_example(|apply| {
            // How far something is, is told of what takes longer than a second or two.
            apply
                .annotations_mut()
                .insert(marks::SIMULATE_SECONDS.to_owned(), "8".to_owned());
        })
        .await;
    let running = world.until("progress", |status| status.progress.is_some()).await;
    assert!(running.progress.unwrap().operation.is_some());
    let status = world.until_greeting("Hello, world!").await;
    assert!(status.applied);
    assert_eq!(status.workspace_name.as_deref(), Some(NAME));

    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), "default");
    let connection = secrets.get(NAME).await.unwrap().data.unwrap();
    assert_eq!(connection["greeting"].0, b"Hello, world!");
    let workspace = world.workspaces().get(NAME).await.unwrap();
    let conditions = workspace.status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|condition| condition.type_ == "Simulated" && condition.status == "True")
    );

    let log = world.text(&["logs", "wtapply/greeting-world"]);
    assert!(
        log.contains("terraform_data.greeting: Creation complete"),
        "{log}"
    );
    assert!(
        world
            .text(&["plan", "wtapply/greeting-world"])
            .contains("no changes")
    );

    let following = capt(world.home.path())
        .env("KUBECONFIG", &world.up.kubeconfig)
        .args(["logs", "workspace/greeting-world", "-f"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    world
        .applies()
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
    awaited(
        world.applies(),
        NAME,
        "gone",
        |apply: Option<&WorkspaceTemplateApply>| apply.is_none(),
    )
    .await;
    let followed = String::from_utf8(following.wait_with_output().unwrap().stdout).unwrap();
    assert!(
        followed.is_empty() || followed.contains("terraform_data.greeting"),
        "{followed}"
    );
    assert_eq!(
        world
            .workspaces()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
    let left = secrets
        .list(&ListParams::default().labels("tfstate=true"))
        .await
        .unwrap();
    assert_eq!(
        left.items.len(),
        0,
        "{:?}",
        left.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn what_would_destroy_waits_until_exactly_that_is_approved() {
    let world = World::simulated().await;
    world.apply_example(|_| {}).await;
    world.until_greeting("Hello, world!").await;
    let params = PatchParams::default();
    world
        .templates()
        .patch("greeting", &params, &Patch::Merge(renamed()))
        .await
        .unwrap();
    world
        .until("an approval is needed", |status| {
            is(status, "ApprovalNeeded", "True")
        })
        .await;

    let plan: Value =
        serde_json::from_str(&world.text(&["plan", "wtapply/greeting-world", "-o", "json"])).unwrap();
    let changes: BTreeMap<&str, &str> = plan["plan"]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            (
                change["address"].as_str().unwrap(),
                change["action"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("terraform_data.greeting", "delete"),
        ("terraform_data.salute", "create"),
    ];
    assert_eq!(changes, expected.into());
    let id = plan["plan"]["id"].as_str().unwrap();
    assert_eq!(
        plan["approve"],
        format!("capt approve wtapply/greeting-world -n default --plan {id}")
    );

    let (is_well, refusal) = world.capt(&["approve", "wtapply/greeting-world", "--plan", "another"]);
    assert!(!is_well && refusal.contains(id), "{refusal}");
    world.text(&["approve", "wtapply/greeting-world", "--plan", id]);
    world
        .until("the approval is used", |status| {
            is(status, "ApprovalNeeded", "False")
        })
        .await;
    let by_then = |log: String| log.contains("terraform_data.salute: Creation complete");
    let report = Api::<k8s_openapi::api::core::v1::ConfigMap>::namespaced(world.client.clone(), "default");
    let name = capt_core::names::run_report("tf.m.upbound.io", NAME);
    awaited(
        report,
        &name,
        "applied",
        |map: Option<&k8s_openapi::api::core::v1::ConfigMap>| {
            let log = map.and_then(|map| map.data.as_ref()?.get("log").cloned());
            log.is_some_and(by_then)
        },
    )
    .await;
}

#[tokio::test]
async fn a_change_can_be_looked_at_before_it_is_made() {
    let world = World::simulated().await;
    world.apply_example(|_| {}).await;
    world.until_greeting("Hello, world!").await;
    let pause = |value: Value| json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": value}}});
    world.patch(pause(json!("true"))).await;
    world
        .until("the pause", |status| is(status, "Paused", "True"))
        .await;
    let to = |name: &str| json!({"spec": {"variables": {"name": name}}});
    world.patch(to("moon")).await;

    let plan: Value =
        serde_json::from_str(&world.text(&["plan", "wtapply/greeting-world", "-o", "json"])).unwrap();
    assert_eq!(plan["plan"]["summary"], "1 to change", "{plan}");
    assert_eq!(plan["plan"]["changes"][0]["address"], "terraform_data.greeting");
    assert_eq!(plan["paused"], true, "{plan}");
    let words = world.text(&["plan", "wtapply/greeting-world"]);
    assert!(
        words.contains("Nothing is applied, because it is paused."),
        "{words}"
    );
    let workspace = world.workspaces().get(NAME).await.unwrap();
    let module = json!(workspace.spec.for_provider);
    assert!(!module.to_string().contains("moon"), "{module}");

    // A template that cannot be rendered cannot be planned.
    world.patch(json!({"spec": {"variables": {"name": null}}})).await;
    let (is_well, refusal) = world.capt(&["plan", "wtapply/greeting-world"]);
    assert!(!is_well && refusal.contains("name"), "{refusal}");

    // Undone, nothing is left of it; made, it is what was shown.
    world.patch(to("world")).await;
    let plan = world.text(&["plan", "wtapply/greeting-world"]);
    assert!(plan.contains("no changes"), "{plan}");
    world.patch(to("moon")).await;
    world.patch(pause(Value::Null)).await;
    world.until_greeting("Hello, moon!").await;
}

#[tokio::test]
async fn what_failed_for_good_is_tried_again_when_somebody_asks() {
    let world = World::simulated().await;
    world
        .apply_example(|apply| {
            let annotations = apply.annotations_mut();
            annotations.insert(
                marks::SIMULATE_FAIL.to_owned(),
                "terraform_data.greeting".to_owned(),
            );
            annotations.insert(
                marks::SIMULATE_FAIL_MESSAGE.to_owned(),
                "out of greetings".to_owned(),
            );
            annotations.insert(marks::SIMULATE_FAIL_TIMES.to_owned(), "1".to_owned());
        })
        .await;
    let status = world
        .until("it fails", |status| is(status, "Synced", "False"))
        .await;
    let synced = status
        .conditions
        .unwrap()
        .into_iter()
        .find(|condition| condition.type_ == "Synced")
        .unwrap();
    assert!(synced.message.contains("out of greetings"), "{}", synced.message);
    assert!(
        synced.message.contains("terraform_data.greeting"),
        "{}",
        synced.message
    );

    world.text(&["retry", "wtapply/greeting-world"]);
    world.until_greeting("Hello, world!").await;
}

#[tokio::test]
async fn a_change_of_a_variable_reaches_the_output() {
    let world = World::simulated().await;
    world.apply_example(|_| {}).await;
    world.until_greeting("Hello, world!").await;
    world
        .patch(json!({"spec": {"variables": {"name": "moon", "language": "de"}}}))
        .await;
    world.until_greeting("Hallo, moon!").await;
}

#[tokio::test]
async fn a_plan_names_the_holes_that_nothing_fills() {
    let world = World::simulated().await;
    world.apply_example(|apply| apply.spec.variables = None).await;
    let (is_well, told) = world.capt(&["plan", "wtapply/greeting-world"]);
    assert!(!is_well);
    assert!(
        told.contains("There is no plan") && told.contains("name"),
        "{told}"
    );
    assert!(told.contains("No variable fills ${name}"), "{told}");
}

#[tokio::test]
async fn without_terraform_only_sandbox_templates_are_simulated() {
    let home = tempdir().unwrap();
    let mut command = capt(home.path());
    command.env("PATH", home.path());
    let up = Up::start_as(command, &["--in-memory"]);
    assert!(
        up.engine_line.contains("simulated for sandbox templates only"),
        "{}",
        up.engine_line
    );
    let client = up.client().await;
    let world = World { home, up, client };
    world.apply_example(|_| {}).await;
    world.until_greeting("Hello, world!").await;

    let (mut template, mut apply) = example();
    template.metadata.name = Some("real".to_owned());
    template.metadata.labels = None;
    apply.metadata.name = Some("real".to_owned());
    apply.spec.template_ref.name = "real".to_owned();
    apply.spec.write_connection_secret_to_ref = None;
    world
        .templates()
        .create(&PostParams::default(), &template)
        .await
        .unwrap();
    world
        .applies()
        .create(&PostParams::default(), &apply)
        .await
        .unwrap();
    let refused = |workspace: Option<&Workspace>| {
        let conditions = workspace.and_then(|workspace| workspace.status.as_ref()?.conditions.clone());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition.reason == "EngineMissing")
    };
    awaited(world.workspaces(), "real", "there is no engine", refused).await;
}

#[tokio::test]
async fn an_operation_that_a_signal_stopped_goes_on_after_the_next_start() {
    let home = tempdir().unwrap();
    let start = || Up::start(home.path(), &["--engine", "simulated", "--grace", "5s"]);
    let up = start();
    let client = up.client().await;
    let world = World {
        home: tempdir().unwrap(),
        up,
        client,
    };
    world
        .apply_example(|apply| {
            apply
                .annotations_mut()
                .insert(marks::SIMULATE_SECONDS.to_owned(), "8".to_owned());
        })
        .await;
    world
        .until("it is made", |status| status.progress.is_some())
        .await;
    world.up.signal(Signal::TERM);
    let World { up, .. } = world;
    assert_eq!(up.wait().code(), Some(0));

    let up = start();
    let client = up.client().await;
    let world = World {
        home: tempdir().unwrap(),
        up,
        client,
    };
    world.until_greeting("Hello, world!").await;
}

#[tokio::test]
async fn a_runner_of_its_own_acts_on_what_is_labelled_for_it_alone() {
    let world = World::start(&["--in-memory", "--workspace-runner", "none"]).await;
    assert!(
        world.up.engine_line.contains("start with --runner"),
        "{}",
        world.up.engine_line
    );
    let workspace = |name: &str, labels: Value| -> Workspace {
        serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1",
            "kind": "Workspace",
            "metadata": {"name": name, "labels": labels},
            "spec": {"forProvider": {"source": "Inline", "module": "output \"x\" {\n  value = 1\n}\n"}},
        }))
        .unwrap()
    };
    let params = PostParams::default();
    world
        .workspaces()
        .create(&params, &workspace("other", json!({})))
        .await
        .unwrap();
    let mut runner = capt(world.home.path())
        .env("KUBECONFIG", &world.up.kubeconfig)
        .args([
            "runner",
            "--name",
            "blue",
            "--engine",
            "simulated",
            "--grace",
            "1s",
        ])
        .spawn()
        .unwrap();
    let blue = workspace("blue", json!({marks::RUNNER: "blue"}));
    world.workspaces().create(&params, &blue).await.unwrap();
    let ready = |workspace: Option<&Workspace>| {
        let conditions = workspace.and_then(|workspace| workspace.status.as_ref()?.conditions.clone());
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    awaited(world.workspaces(), "blue", "ready", ready).await;
    let other = world.workspaces().get("other").await.unwrap();
    assert_eq!(other.status.and_then(|status| status.conditions), None);
    assert_eq!(other.metadata.finalizers, None);

    // Another one that worked in the same directory would take its locks for its own. Neither finds a cluster.
    let another = |args: &[&str]| {
        let mut command = capt(world.home.path());
        command.env("KUBECONFIG", world.home.path().join("nowhere"));
        let output = command
            .args(["runner", "--name", "green", "--engine", "simulated"])
            .args(args)
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let refusal = another(&[]);
    assert!(
        refusal.contains("in use") && refusal.contains(&runner.id().to_string()),
        "{refusal}"
    );
    assert!(refusal.contains("--work-dir"), "{refusal}");
    let elsewhere = world.home.path().join("elsewhere");
    let refusal = another(&["--work-dir", elsewhere.to_str().unwrap()]);
    assert!(!refusal.contains("in use"), "{refusal}");

    rustix::process::kill_process(rustix::process::Pid::from_child(&runner), Signal::TERM).unwrap();
    assert_eq!(runner.wait().unwrap().code(), Some(0));
}
