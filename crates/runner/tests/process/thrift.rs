//! No process that is not needed.

use capt_runner::engine::{Engine as _, EngineKind, Goal, Inputs};

use crate::support::{World, inputs, with_replica};

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
