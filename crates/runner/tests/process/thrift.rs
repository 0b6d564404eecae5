//! No process that is not needed.

use std::{fs::File, process::Command, sync::mpsc, thread, time::Duration};

use capt_runner::{
    engine::{Engine as _, EngineKind, Goal, Inputs},
    process::TerraformEngine,
};
use tokio::sync::oneshot;

use crate::support::{Running, World, inputs, options, program, with_replica};

async fn poll(world: &World, inputs: &Inputs) {
    let mut session = world.open(inputs).await.unwrap();
    assert!(session.plan(Goal::Converge).await.unwrap().plan.is_empty());
}

#[tokio::test]
async fn a_steady_poll_is_one_process() {
    let Some(world) = World::counting().await else {
        return;
    };
    let inputs = inputs("resource \"terraform_data\" \"x\" {}\n");
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let applied = session.apply().await.unwrap();
    drop(session);
    assert_eq!(world.calls(), ["plan", "show", "show", "apply"]);
    poll(&world, &with_replica(inputs, &applied.state)).await;
    assert_eq!(world.calls(), ["plan"]);
}

#[tokio::test]
async fn init_runs_when_what_it_installs_changed() {
    let Some(world) = World::counting().await else {
        return;
    };
    let child = world.path("child");
    std::fs::create_dir(&child).unwrap();
    std::fs::write(child.join("main.tf"), "resource \"terraform_data\" \"y\" {}\n").unwrap();
    let call = format!(
        "module \"child\" {{\n source = \"{}\"\n}}\nvariable \"x\" {{ default = \"\" }}\n",
        child.display()
    );
    let mut inputs = inputs(&call);
    world.converge(&inputs).await;
    assert_eq!(world.calls(), ["init", "plan", "show", "show", "apply"]);
    poll(&world, &inputs).await;
    assert_eq!(world.calls(), ["plan"]);
    inputs.vars.push(("x".to_owned(), "y".to_owned()));
    poll(&world, &inputs).await;
    // OpenTofu lets variables say where modules are.
    let is_tofu = world.engine.about().kind == EngineKind::Tofu;
    let expected: &[&str] = if is_tofu { &["init", "plan"] } else { &["plan"] };
    assert_eq!(world.calls(), expected);
    inputs.module = capt_runner::engine::Module::Hcl(format!("{call}# changed\n"));
    poll(&world, &inputs).await;
    assert_eq!(world.calls(), ["init", "plan"]);
    inputs.args.init.push("-upgrade".to_owned());
    poll(&world, &inputs).await;
    assert_eq!(world.calls(), ["init", "plan"]);
}

#[tokio::test]
async fn a_failed_init_is_done_again() {
    let Some(world) = World::counting().await else {
        return;
    };
    let child = world.path("child");
    let call = format!("module \"child\" {{\n source = \"{}\"\n}}\n", child.display());
    let inputs = inputs(&call);
    assert!(world.open(&inputs).await.is_err());
    std::fs::create_dir(&child).unwrap();
    std::fs::write(child.join("main.tf"), "resource \"terraform_data\" \"y\" {}\n").unwrap();
    world.converge(&inputs).await;
    assert_eq!(world.calls(), ["init", "init", "plan", "show", "show", "apply"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_slow_disk_keeps_nobody_else_from_working() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Whoever reads this file waits until somebody writes to it.
    let slow = folder.path().join("settings");
    assert!(Command::new("mkfifo").arg(&slow).status().unwrap().success());
    let mut options = options(folder.path());
    options.cli_config = Some(slow.clone());
    let engine = TerraformEngine::detect(program, options).await.unwrap();

    let (reads, is_read) = oneshot::channel();
    let (works, has_worked) = mpsc::channel();
    let disk = thread::spawn(move || {
        let file = File::options().write(true).open(slow).unwrap();
        reads.send(()).unwrap();
        let is_free = has_worked.recv_timeout(Duration::from_secs(20)).is_ok();
        drop(file);
        is_free
    });
    let other = async {
        is_read.await.unwrap();
        // If that is too late, nobody listens any more.
        let _ = works.send(());
    };
    let module = inputs("resource \"terraform_data\" \"a\" {}");
    let (opened, ()) = tokio::join!(Running::open(&engine, module), other);
    assert!(disk.join().unwrap(), "nothing else went on while a file was read");
    opened.unwrap();
}
