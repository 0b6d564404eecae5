//! What is wrong with what people write, or with the machine, is told by the whole program: a condition with a reason, a
//! message with what to do, an event, and no loop.

use std::{env, fs, os::unix::fs::PermissionsExt as _, path::Path, path::PathBuf};

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, foreign::Workspace};
use futures::StreamExt as _;
use k8s_openapi::api::events::v1::Event;
use kube::{
    Api, Client, ResourceExt as _,
    api::{PostParams, WatchEvent, WatchParams},
};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::{Up, awaited, capt};

/// The engine of this machine, unless there is none.
fn engine() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .flat_map(|folder| ["terraform", "tofu"].map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        assert!(
            env::var_os("CAPT_REQUIRE_TERRAFORM").is_none_or(|value| value != "1"),
            "there is neither terraform nor tofu, and CAPT_REQUIRE_TERRAFORM=1 asks for one"
        );
        eprintln!("SKIPPED: there is neither terraform nor tofu");
    }
    found
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// An engine that writes down every plan, and crashes or finds the disk full where a module says so.
fn disturbed(folder: &Path, real: &Path) -> PathBuf {
    let path = folder.join("terraform");
    let full = json!({
        "@level": "error", "@message": "Error: Failed to write", "type": "diagnostic",
        "diagnostic": {"severity": "error", "summary": "Failed to save state",
                       "detail": "write terraform.tfstate: no space left on device"},
    });
    let script = format!(
        "if [ \"$1\" = plan ]; then\n\
         \x20 pwd >> '{calls}'\n\
         \x20 grep -qs please-crash main.tf && {{ echo 'panic: runtime error: oh no' >&2; exit 2; }}\n\
         \x20 grep -qs disk-is-full main.tf && {{ echo '{full}'; exit 1; }}\n\
         fi\n\
         exec '{real}' \"$@\"\n",
        calls = folder.join("calls").display(),
        real = real.display(),
    );
    write_script(&path, &script);
    path
}

/// Something that is wrong.
struct Case {
    name: &'static str,
    /// `forProvider` of the template.
    template: Value,
    /// More of the spec of the apply.
    apply: Value,
    /// The condition of the apply, or of its Workspace, written as `Applied=False/TemplateInvalid`.
    says: &'static str,
    /// What the message must have.
    words: &'static str,
}

fn inline(module: &str) -> Value {
    json!({"source": "Inline", "module": module})
}

/// What is wrong before anything runs.
fn of_applies() -> Vec<Case> {
    let case = |name, template, apply, says, words| Case {
        name,
        template,
        apply,
        says,
        words,
    };
    let needs = |reference: Value| {
        let mut template = inline("# empty\n");
        template["env"] = json!([{"name": "TOKEN", "secretKeyRef": reference}]);
        template
    };
    let none = || json!({});
    let mut with_hole = inline("# empty\n");
    with_hole["vars"] = json!([{"key": "region", "value": "${region}"}]);
    let mut bad_json = inline("{\"resource\": ");
    bad_json["inlineFormat"] = json!("JSON");
    vec![
        case(
            "bad-hcl",
            inline("resource \"terraform_data\" {{\n  input = \"${x}\"\n"),
            none(),
            "Applied=False/TemplateInvalid",
            "terraform validate",
        ),
        case(
            "bad-json",
            bad_json,
            none(),
            "Applied=False/TemplateInvalid",
            "terraform validate",
        ),
        case(
            "missing-variable",
            with_hole,
            none(),
            "Applied=False/VariableMissing",
            "set region in the variables",
        ),
        case(
            "open-hole",
            inline("output \"x\" {\n  value = \"${nobody}\"\n}\n"),
            none(),
            "Applied=False/VariableMissing",
            "line 2, column 12: no variable fills ${nobody}; set nobody",
        ),
        case(
            "unknown-variable",
            inline("# empty\n"),
            json!({"variables": {"regoin": "x"}}),
            "VariablesKnown=False/VariableUnknown",
            "regoin, which fills no hole of the template and so changes nothing: correct the name",
        ),
        case(
            "round",
            inline("# empty\n"),
            json!({"waitForWorkspaces": [{"name": "round-and-round"}]}),
            "Waiting=True/DependencyCycle",
            "Remove one of the waits",
        ),
        case(
            "round-and-round",
            inline("# empty\n"),
            json!({"waitForWorkspaces": [{"name": "round"}]}),
            "Waiting=True/DependencyCycle",
            "default/round -> default/round-and-round",
        ),
        case(
            "missing-secret",
            needs(json!({"name": "nowhere", "key": "token"})),
            none(),
            "Applied=True/InputMissing",
            "Secret nowhere (spec.forProvider.env[0] reads it). Make what is missing",
        ),
    ]
}

/// What is wrong when Terraform, or what is to be run, is looked at.
fn of_workspaces() -> Vec<Case> {
    let case = |name, template, says, words| Case {
        name,
        template,
        apply: json!({}),
        says,
        words,
    };
    let mut needs_key = inline("# empty\n");
    needs_key["env"] = json!([{"name": "TOKEN", "secretKeyRef": {"name": "missing-key", "key": "token"}}]);
    vec![
        case(
            "missing-key",
            needs_key,
            "Failing=True/InputMissing",
            "missing-key",
        ),
        case(
            "no-such-argument",
            inline("resource \"terraform_data\" \"x\" {\n  nonsense = 1\n}\n"),
            "Failing=True/Configuration",
            "Mend the module",
        ),
        case(
            "no-such-module",
            json!({"source": "Remote", "module": "git::file:///nowhere/at/all"}),
            "Failing=True/ModuleUnavailable",
            "capt retry",
        ),
        case(
            "backend-down",
            // Nobody listens on this port, which is reserved.
            inline(
                "terraform {\n  backend \"http\" {\n    address   = \"http://127.0.0.1:1/state\"\n    retry_max = \
                 0\n  }\n}\n",
            ),
            "Failing=True/Network",
            "Check the settings of the backend, and that it can be reached",
        ),
        case(
            "disk-full",
            inline("# disk-is-full\n"),
            "Failing=True/DiskFull",
            "Make room",
        ),
        case(
            "crash",
            inline("# please-crash\n"),
            "Failing=True/Crash",
            "capt logs",
        ),
    ]
}

async fn make(client: &Client, case: &Case) {
    let templates: Api<WorkspaceTemplate> = Api::namespaced(client.clone(), "default");
    let template = serde_json::from_value(json!({
        "metadata": {"name": case.name}, "spec": {"template": {"spec": {"forProvider": case.template}}},
    }));
    templates
        .create(&PostParams::default(), &template.unwrap())
        .await
        .unwrap();
    let mut spec = json!({"templateRef": {"name": case.name}});
    let more = case.apply.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(more);
    let apply = serde_json::from_value(json!({"metadata": {"name": case.name}, "spec": spec}));
    applies(client)
        .create(&PostParams::default(), &apply.unwrap())
        .await
        .unwrap();
}

fn applies(client: &Client) -> Api<WorkspaceTemplateApply> {
    Api::namespaced(client.clone(), "default")
}

fn workspaces(client: &Client) -> Api<Workspace> {
    Api::namespaced(client.clone(), "default")
}

/// The message of the condition that an object has to have.
fn message<K: serde::Serialize>(object: &K, says: &str) -> Option<String> {
    let object = serde_json::to_value(object).unwrap();
    let conditions = object["status"]["conditions"].as_array()?;
    let said = conditions.iter().find(|condition| {
        let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
        format!("{}={}/{}", text("type"), text("status"), text("reason")) == says
    })?;
    Some(said["message"].as_str().unwrap_or_default().to_owned())
}

/// Waits until somebody is warned about an object.
async fn until_warned(client: &Client, kind: &str, name: &str) {
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    let told = events.watch(&WatchParams::default(), "0").await.unwrap();
    let about = told.filter_map(|event| async move {
        let (WatchEvent::Added(event) | WatchEvent::Modified(event)) = event.ok()? else {
            return None;
        };
        let regarding = event.regarding.unwrap_or_default();
        let is_about = regarding.kind.as_deref() == Some(kind) && regarding.name.as_deref() == Some(name);
        (is_about && event.type_.as_deref() == Some("Warning")).then_some(())
    });
    let mut about = std::pin::pin!(about);
    let warned = tokio::time::timeout(std::time::Duration::from_secs(60), about.next()).await;
    assert_eq!(warned, Ok(Some(())), "nobody is warned about the {kind} {name}");
}

async fn check<K>(client: &Client, api: Api<K>, kind: &str, case: &Case)
where
    K: kube::Resource
        + Clone
        + serde::de::DeserializeOwned
        + serde::Serialize
        + std::fmt::Debug
        + Send
        + 'static,
{
    let is_told = |object: Option<&K>| object.is_some_and(|object| message(object, case.says).is_some());
    let told = awaited(api, case.name, case.says, is_told).await.unwrap();
    let words = message(&told, case.says).unwrap();
    assert!(words.contains(case.words), "{}: {words}", case.name);
    until_warned(client, kind, case.name).await;
}

#[tokio::test]
async fn what_is_wrong_is_told_with_what_to_do_and_does_not_loop() {
    let Some(real) = engine() else { return };
    let home = tempdir().unwrap();
    let engine = disturbed(home.path(), &real);
    let up = Up::start(
        home.path(),
        &[
            "--in-memory",
            "--poll-interval",
            "0",
            "--engine-path",
            engine.to_str().unwrap(),
        ],
    );
    let client = up.client().await;
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(client.clone(), "default");
    let without_key = serde_json::from_value(json!({"metadata": {"name": "missing-key"}})).unwrap();
    secrets
        .create(&PostParams::default(), &without_key)
        .await
        .unwrap();
    for case in of_applies().iter().chain(&of_workspaces()) {
        make(&client, case).await;
    }
    for case in &of_applies() {
        check(&client, applies(&client), "WorkspaceTemplateApply", case).await;
    }
    for case in &of_workspaces() {
        check(&client, workspaces(&client), "Workspace", case).await;
        // Whoever looks at the apply is told too.
        let apply = applies(&client).get(case.name).await.unwrap();
        assert!(apply.status.is_some(), "{}", case.name);
    }
    // Everything is told by now, and what cannot get better by itself was tried once.
    let calls = fs::read_to_string(home.path().join("calls")).unwrap();
    for name in ["no-such-argument", "disk-full", "crash"] {
        let uid = workspaces(&client).get(name).await.unwrap().uid().unwrap();
        let tries = calls.lines().filter(|line| line.contains(&uid)).count();
        assert_eq!(tries, 1, "{name}:\n{calls}");
    }
}

/// A Terraform that cannot be used is told when the program starts, and on every object that needs it.
#[tokio::test]
async fn a_terraform_that_is_missing_old_or_broken_is_told_on_every_object() {
    let cases = [
        (None, "Failing=True/EngineMissing", "install one of them"),
        (
            Some("echo Terraform v0.11.14\n"),
            "Failing=True/EngineTooOld",
            "is the oldest version that works",
        ),
        (Some("kill -9 $$\n"), "Failing=True/Crash", "install it again"),
    ];
    for (script, says, words) in cases {
        let home = tempdir().unwrap();
        if let Some(script) = script {
            write_script(&home.path().join("terraform"), script);
        }
        let mut command = capt(home.path());
        command.env("PATH", home.path());
        let up = Up::start_as(command, &["--in-memory"]);
        let line = &up.engine_line;
        assert!(line.contains("simulated for sandbox templates only"), "{line}");
        assert_eq!(
            line.contains("neither terraform nor tofu"),
            script.is_none(),
            "{line}"
        );
        let client = up.client().await;
        let case = Case {
            name: "real",
            template: inline("output \"x\" {\n  value = 1\n}\n"),
            apply: json!({}),
            says,
            words,
        };
        make(&client, &case).await;
        check(&client, workspaces(&client), "Workspace", &case).await;
    }
}
