//! What goes wrong is told in a way that helps.

use std::{fs, time::Duration};

use capt_runner::engine::{FailureKind, Goal, InputFile, Inputs, Module, StateHome};
use capt_terraform::{
    diagnostics::Class,
    state::{Source, State},
};

use crate::support::{World, addresses, engine, inputs, outside, program, until, with_replica, write_script};

#[tokio::test]
async fn a_failed_resource_is_tainted_and_replaced() {
    let Some(world) = World::new().await else { return };
    let mark = world.path("works");
    let module = format!(
        "resource \"terraform_data\" \"good\" {{}}\nresource \"terraform_data\" \"bad\" {{\n depends_on = \
         [terraform_data.good]\n provisioner \"local-exec\" {{ command = \"echo nothing works; test -e {}\" }}\n}}\n",
        mark.display()
    );
    let inputs = inputs(&module);
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let failure = session.apply().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Terraform(Class::Other));
    assert!(failure.message.contains("terraform_data.bad") && failure.message.contains("nothing works"));
    assert_eq!(failure.missing, []);
    let kept = failure.state.unwrap();
    drop(session);

    fs::write(mark, "").unwrap();
    let mut session = world.open(&with_replica(inputs, &kept)).await.unwrap();
    assert_eq!(
        session.opened.state.as_ref().map(|(source, _)| *source),
        Some(Source::Replica)
    );
    let planned = session.plan(Goal::Converge).await.unwrap();
    assert!(!planned.plan.is_destructive());
    assert_eq!(planned.plan.changes.len(), 1);
    let state = State::parse(&session.apply().await.unwrap().state).unwrap();
    assert!(state.managed().all(|object| !object.tainted));
}

#[tokio::test]
async fn says_what_is_wrong_with_a_module() {
    let Some(world) = World::new().await else { return };
    let cases = [
        ("resource \"terraform_data\" {{\n", "main.tf"),
        (
            "resource \"terraform_data\" \"x\" { nonsense = 1 }\n",
            "Unsupported argument",
        ),
        ("variable \"must\" {}\n", "must"),
        ("output \"x\" { value = var.nowhere }\n", "undeclared"),
        (
            "resource \"terraform_data\" \"x\" {\n lifecycle { prevent_destroy = 1 + }\n}\n",
            "main.tf",
        ),
        (
            "variable \"x\" { default = 1 }\nresource \"terraform_data\" \"x\" {\n lifecycle {\n precondition {\n condition \
             = var.x == 2\n error_message = \"The world is wrong.\"\n }\n }\n}\n",
            "The world is wrong.",
        ),
    ];
    for (module, words) in cases {
        let failure = match world.open(&inputs(module)).await {
            Err(failure) => failure,
            Ok(mut session) => {
                let failure = session.plan(Goal::Converge).await.unwrap_err();
                let applied = session.apply().await.unwrap_err();
                assert_eq!(
                    applied.kind,
                    FailureKind::InvalidInput,
                    "a failed plan must not be applied"
                );
                failure
            }
        };
        assert_eq!(
            failure.kind,
            FailureKind::Terraform(Class::Configuration),
            "{}",
            failure.message
        );
        assert!(failure.message.contains(words), "{}", failure.message);
        assert!(
            failure
                .diagnostics
                .iter()
                .any(|diagnostic| diagnostic.range.is_some()),
            "{module}"
        );
    }
}

#[tokio::test]
async fn refuses_what_leads_outside() {
    let Some(world) = World::new().await else { return };
    let change: [fn(&mut Inputs); 8] = [
        |inputs| inputs.uid = "../other".to_owned(),
        |inputs| inputs.terraform_workspace = "..".to_owned(),
        |inputs| inputs.entrypoint = "../other".to_owned(),
        |inputs| inputs.entrypoint = "nowhere".to_owned(),
        |inputs| inputs.env.push(("TF_DATA_DIR".to_owned(), "/".to_owned())),
        |inputs| inputs.args.plan.push("-out=/elsewhere".to_owned()),
        |inputs| {
            inputs.files.push(InputFile {
                name: "../x".to_owned(),
                content: Vec::new(),
            });
        },
        |inputs| {
            inputs.module = Module::Remote {
                address: "./x".to_owned(),
                if_not_present: false,
            }
        },
    ];
    for (number, change) in change.into_iter().enumerate() {
        let mut inputs = inputs("");
        change(&mut inputs);
        let failure = world.open(&inputs).await.err().unwrap();
        assert_eq!(
            failure.kind,
            FailureKind::InvalidInput,
            "case {number}: {}",
            failure.message
        );
    }
}

#[tokio::test]
async fn a_plan_for_another_state_is_stale() {
    let Some(world) = World::new().await else { return };
    let inputs = inputs("resource \"terraform_data\" \"x\" {}\noutput \"o\" { value = timestamp() }\n");
    world.converge(&inputs).await;
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let path = world
        .root()
        .join(&inputs.uid)
        .join("state/sandbox/terraform.tfstate");
    let mut state: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    state["serial"] = (state["serial"].as_u64().unwrap() + 1).into();
    fs::write(&path, state.to_string()).unwrap();
    let failure = session.apply().await.unwrap_err();
    assert_eq!(
        failure.kind,
        FailureKind::Terraform(Class::StalePlan),
        "{}",
        failure.message
    );
    assert!(failure.kind.is_transient());
}

#[tokio::test]
async fn a_state_that_could_not_be_written_is_picked_up() {
    let Some(world) = World::new().await else { return };
    let inputs = inputs("resource \"terraform_data\" \"x\" {}\n");
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let applied = session.apply().await.unwrap();
    drop(session);
    let mut state: serde_json::Value = serde_json::from_slice(&applied.state).unwrap();
    state["serial"] = (state["serial"].as_u64().unwrap() + 1).into();
    let mut other = state["resources"][0].clone();
    other["name"] = "left".into();
    state["resources"].as_array_mut().unwrap().push(other);
    let errored = world.root().join(&inputs.uid).join("src/errored.tfstate");
    fs::write(&errored, state.to_string()).unwrap();
    let mut session = world.open(&with_replica(inputs, &applied.state)).await.unwrap();
    let (source, found) = session.opened.state.clone().unwrap();
    assert_eq!(source, Source::ErroredFile);
    assert_eq!(
        addresses(&State::parse(&found).unwrap()),
        ["terraform_data.left", "terraform_data.x"]
    );
    assert!(!errored.exists());
    let planned = session.plan(Goal::Converge).await.unwrap();
    let destroyed: Vec<_> = planned
        .plan
        .destroyed()
        .map(|change| change.address.as_str())
        .collect();
    assert_eq!(destroyed, ["terraform_data.left"]);
}

/// A world in which Terraform is this script. The real one is `$REAL`.
async fn scripted(script: &str) -> Option<World> {
    let real = program()?;
    let folder = tempfile::tempdir().unwrap();
    let outside = outside(folder.path());
    fs::create_dir(&outside).unwrap();
    let path = outside.join("scripted");
    let text = format!(
        "#!/bin/sh\nREAL={}\n[ \"$1\" = version ] && exec $REAL version\n{script}\nexec $REAL \"$@\"\n",
        real.display()
    );
    write_script(&path, &text);
    let engine = engine(folder.path(), &path, Duration::from_secs(20)).await.into();
    Some(World { folder, engine })
}

#[tokio::test]
async fn a_crash_is_told_from_an_error() {
    let scripts = [
        (
            "[ $1 = plan ] && { echo 'panic: runtime error: oh no' >&2; exit 11; }",
            "oh no",
        ),
        ("[ $1 = plan ] && kill -9 $$", "signal 9"),
    ];
    for (script, words) in scripts {
        let Some(world) = scripted(script).await else {
            return;
        };
        let mut session = world.open(&inputs("")).await.unwrap();
        let failure = session.plan(Goal::Converge).await.unwrap_err();
        assert_eq!(
            failure.kind,
            FailureKind::Terraform(Class::Crash),
            "{}",
            failure.message
        );
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_program_that_vanished_is_missed() {
    let Some(world) = scripted("").await else { return };
    let mut session = world.open(&inputs("")).await.unwrap();
    fs::remove_file(world.path("scripted")).unwrap();
    let failure = session.plan(Goal::Converge).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::EngineMissing, "{}", failure.message);
}

#[tokio::test]
async fn a_backend_of_the_user_is_used_as_it_is() {
    let Some(world) = World::counting().await else {
        return;
    };
    let path = world.path("theirs.tfstate");
    let module = "terraform {\n backend \"local\" {}\n}\nresource \"terraform_data\" \"x\" {}\n";
    let mut inputs = inputs(module);
    inputs.state = StateHome::Backend;
    inputs.terraform_workspace = "default".to_owned();
    inputs.files.push(InputFile {
        name: "their.tfbackend".to_owned(),
        content: format!("path = \"{}\"\n", path.display()).into_bytes(),
    });
    inputs
        .args
        .init
        .push("-backend-config=their.tfbackend".to_owned());
    let mut session = world.open(&inputs).await.unwrap();
    assert!(session.opened.state.is_none());
    session.plan(Goal::Converge).await.unwrap();
    let applied = session.apply().await.unwrap();
    drop(session);
    assert_eq!(
        State::parse(&applied.state).unwrap(),
        State::parse(&fs::read(&path).unwrap()).unwrap()
    );
    assert_eq!(world.calls(), ["init", "plan", "show", "show", "apply", "state"]);
    let mut session = world.open(&inputs).await.unwrap();
    assert!(session.plan(Goal::Converge).await.unwrap().plan.is_empty());
    drop(session);
    assert_eq!(world.calls(), ["plan"]);

    // What Terraform could not write there the last time goes there first.
    let mut state: serde_json::Value = serde_json::from_slice(&applied.state).unwrap();
    state["serial"] = (state["serial"].as_u64().unwrap() + 1).into();
    let errored = world.root().join(&inputs.uid).join("src/errored.tfstate");
    fs::write(&errored, state.to_string()).unwrap();
    drop(world.open(&inputs).await.unwrap());
    assert!(!errored.exists());
    let theirs = State::parse(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(theirs.serial, State::parse(&applied.state).unwrap().serial + 1);
}

#[tokio::test]
async fn workspaces_of_one_backend_do_not_know_each_other() {
    let Some(world) = World::new().await else { return };
    let module = format!(
        "terraform {{\n backend \"local\" {{\n workspace_dir = \"{}\"\n }}\n}}\nresource \"terraform_data\" \"x\" {{}}\n",
        world.path("theirs").display()
    );
    for name in ["one", "two", "three"] {
        let mut inputs = inputs(&module);
        inputs.uid = uuid::Uuid::new_v4().to_string();
        inputs.state = StateHome::Backend;
        inputs.terraform_workspace = name.to_owned();
        assert_eq!(
            addresses(&world.converge(&inputs).await),
            ["terraform_data.x"],
            "{name}"
        );
        assert!(world.path("theirs").join(name).join("terraform.tfstate").exists());
    }
}

#[tokio::test]
async fn what_a_backend_of_the_user_lost_is_listed() {
    let Some(world) = World::new().await else { return };
    let path = world.path("theirs.tfstate");
    let module = format!(
        "terraform {{\n backend \"local\" {{\n path = \"{}\"\n }}\n}}\nresource \"terraform_data\" \"x\" {{}}\n",
        path.display()
    );
    let mut inputs = inputs(&module);
    inputs.state = StateHome::Backend;
    inputs.terraform_workspace = "default".to_owned();
    world.converge(&inputs).await;
    assert_eq!(world.open(&inputs).await.unwrap().opened.missing, []);
    // The stream of an apply that was cut short, after the backend had been given its state for the last time.
    let line = serde_json::json!({"@level": "info", "@message": "x", "type": "apply_complete", "hook": {
        "resource": {"addr": "terraform_data.lost"}, "action": "create", "id_key": "id", "id_value": "1"}});
    let output = world.root().join(&inputs.uid).join("run/apply.ndjson");
    fs::write(&output, format!("{line}\n")).unwrap();
    for _ in 0..2 {
        let session = world.open(&inputs).await.unwrap();
        let missing: Vec<_> = session
            .opened
            .missing
            .iter()
            .map(|made| made.address.as_str())
            .collect();
        assert_eq!(missing, ["terraform_data.lost"]);
    }
    // Who applies has been told.
    world.converge(&inputs).await;
    assert_eq!(world.open(&inputs).await.unwrap().opened.missing, []);
}

#[tokio::test]
async fn what_was_dropped_at_the_second_interrupt_is_listed_by_the_next_session() {
    // Terraform says that much when it is told to stop twice, and has not written what it was making.
    let given_up = concat!(
        r#"{"@level":"error","@message":"x","type":"diagnostic","diagnostic":"#,
        r#"{"severity":"error","summary":"operation canceled","detail":""}}"#,
    );
    let started = concat!(
        r#"{"@level":"info","@message":"x","type":"apply_start","hook":"#,
        r#"{"resource":{"addr":"terraform_data.x"},"action":"create"}}"#,
    );
    let script = format!(
        "give_up() {{ echo '{given_up}'; exit 1; }}\n[ $1 = apply ] && {{ trap give_up INT; echo '{started}'; while :; do \
         sleep 0.05; done; }}"
    );
    let Some(world) = scripted(&script).await else {
        return;
    };
    let module = format!(
        "terraform {{\n backend \"local\" {{\n path = \"{}\"\n }}\n}}\nresource \"terraform_data\" \"x\" {{}}\n",
        world.path("theirs.tfstate").display()
    );
    let mut inputs = inputs(&module);
    inputs.state = StateHome::Backend;
    inputs.terraform_workspace = "default".to_owned();
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let output = world.root().join(&inputs.uid).join("run/apply.ndjson");
    let cancel = session.cancel.clone();
    let stop = async {
        let is_making = || fs::read_to_string(&output).is_ok_and(|text| text.contains("apply_start"));
        until("something is made", is_making).await;
        cancel.cancel();
    };
    let (applied, ()) = tokio::join!(session.apply(), stop);
    assert_eq!(applied.unwrap_err().kind, FailureKind::Cancelled);
    drop(session);
    let session = world.open(&inputs).await.unwrap();
    let missing = session.opened.missing.iter();
    let missing: Vec<_> = missing
        .map(|made| (made.address.as_str(), made.unfinished))
        .collect();
    assert_eq!(missing, [("terraform_data.x", true)]);
}

#[tokio::test]
async fn a_replacement_that_was_being_made_is_listed_although_the_state_has_its_predecessor() {
    let started = concat!(
        r#"{"@level":"info","@message":"x","type":"apply_start","hook":"#,
        r#"{"resource":{"addr":"terraform_data.x"},"action":"create"}}"#,
    );
    let script = format!("[ $1 = apply ] && [ -n \"$TF_VAR_die\" ] && {{ echo '{started}'; kill -9 $$; }}");
    let Some(world) = scripted(&script).await else {
        return;
    };
    let module = |trigger: &str| {
        format!(
            "resource \"terraform_data\" \"x\" {{\n triggers_replace = \"{trigger}\"\n lifecycle {{\n \
             create_before_destroy = true\n }}\n}}\n"
        )
    };
    let made = world.converge(&inputs(&module("one"))).await;
    let before = made.managed().next().and_then(|object| object.id.clone());
    let mut other = inputs(&module("two"));
    other.env.push(("TF_VAR_die".to_owned(), "yes".to_owned()));
    let mut session = world.open(&other).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let failure = session.apply().await.unwrap_err();
    assert_eq!(
        failure.kind,
        FailureKind::Terraform(Class::Crash),
        "{}",
        failure.message
    );
    assert_eq!(failure.missing.len(), 1);
    assert_eq!(failure.missing[0].replaces, before);
    drop(session);
    assert_eq!(world.open(&other).await.unwrap().opened.missing, failure.missing);
}

#[tokio::test]
async fn nothing_is_done_without_a_state_that_was_kept() {
    let Some(world) = World::counting().await else {
        return;
    };
    let inputs = inputs("resource \"terraform_data\" \"x\" {}\n");
    for replica in [
        "",
        "{\"version\": 4, \"ser",
        "{\"version\": 9, \"serial\": 1, \"lineage\": \"x\"}",
    ] {
        let failure = world
            .open(&with_replica(inputs.clone(), replica.as_bytes()))
            .await
            .err()
            .unwrap();
        assert_eq!(failure.kind, FailureKind::Machine(Class::Other));
        assert!(failure.message.contains("cannot be read"), "{}", failure.message);
    }
    assert_eq!(world.calls(), [""; 0]);
}

#[tokio::test]
async fn a_backend_that_is_down_may_come_back() {
    let Some(world) = World::new().await else { return };
    // Nobody listens on this port, which is reserved.
    let module =
        "terraform {\n backend \"http\" {\n address = \"http://127.0.0.1:1/state\"\n retry_max = 0\n }\n}\n";
    let mut inputs = inputs(module);
    inputs.state = StateHome::Backend;
    let failure = match world.open(&inputs).await {
        Err(failure) => failure,
        Ok(mut session) => session.plan(Goal::Converge).await.unwrap_err(),
    };
    assert_eq!(
        failure.kind,
        FailureKind::Terraform(Class::Network),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn what_a_simulation_made_up_is_no_state_to_go_on_from() {
    let Some(world) = World::new().await else { return };
    let inputs = inputs("resource \"terraform_data\" \"x\" {}\n");
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let real = String::from_utf8(session.apply().await.unwrap().state).unwrap();
    drop(session);
    let made_up = real.replacen("\"lineage\": \"", "\"lineage\": \"simulated-", 1);
    assert_ne!(made_up, real);
    let other = Inputs {
        uid: "another".to_owned(),
        ..inputs
    };
    let failure = world
        .open(&with_replica(other, made_up.as_bytes()))
        .await
        .err()
        .expect("it is refused");
    assert_eq!(failure.kind, FailureKind::InvalidInput);
}
