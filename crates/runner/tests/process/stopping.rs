//! Whatever ends a run, nothing of it is left.

use std::{fs, time::Duration};

use capt_runner::engine::{Engine as _, FailureKind, Goal};
use capt_terraform::{diagnostics::Class, state::State};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{World, inputs, processes, until};

/// A module whose second resource runs a command, which can be found by this mark, until it is ended.
fn endless(mark: &str, before: &str) -> String {
    format!(
        "resource \"terraform_data\" \"first\" {{}}\nresource \"terraform_data\" \"x\" {{\n depends_on = \
         [terraform_data.first]\n provisioner \"local-exec\" {{ command = \"{before} sleep 3600; : {mark}\" }}\n}}\n"
    )
}

fn mark() -> String {
    format!("mark-{}", uuid::Uuid::new_v4())
}

fn supervisors(world: &World) -> Vec<(i32, String)> {
    processes(&world.folder.path().display().to_string())
}

async fn nothing_is_left(world: &World, mark: &str) {
    until("nothing is left", || {
        processes(mark).is_empty() && supervisors(world).is_empty()
    })
    .await;
}

#[tokio::test]
async fn cancelling_leaves_nothing_but_a_state() {
    let Some(world) = World::new().await else { return };
    let mark = mark();
    let mut session = world.open(&inputs(&endless(&mark, ""))).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let cancel = session.cancel.clone();
    let stop = async {
        until("the command runs", || !processes(&mark).is_empty()).await;
        cancel.cancel();
    };
    let (applied, ()) = tokio::join!(session.apply(), stop);
    // By the time that it is told everything has ended.
    assert_eq!(processes(&mark), []);
    assert_eq!(supervisors(&world), []);
    let failure = applied.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Cancelled);
    let state = State::parse(&failure.state.unwrap()).unwrap();
    let tainted: Vec<_> = state
        .managed()
        .map(|object| (object.address.as_str(), object.tainted))
        .collect();
    assert_eq!(
        tainted,
        [("terraform_data.first", false), ("terraform_data.x", true)]
    );
    assert_eq!(failure.missing, []);
}

#[tokio::test]
async fn who_does_not_stop_is_made_to() {
    let Some(world) = World::with_grace(Duration::from_millis(300)).await else {
        return;
    };
    let mark = mark();
    let mut session = world
        .open(&inputs(&endless(&mark, "trap '' INT TERM;")))
        .await
        .unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let cancel = session.cancel.clone();
    let stop = async {
        until("the command runs", || !processes(&mark).is_empty()).await;
        cancel.cancel();
    };
    let (applied, ()) = tokio::join!(session.apply(), stop);
    assert_eq!(applied.unwrap_err().kind, FailureKind::Cancelled);
    assert_eq!(processes(&mark), []);
    assert_eq!(supervisors(&world), []);
}

#[tokio::test]
async fn what_goes_its_own_way_is_found() {
    let Some(world) = World::new().await else { return };
    let mark = mark();
    let module = format!(
        "resource \"terraform_data\" \"x\" {{\n provisioner \"local-exec\" {{ command = \"setsid sh -c 'sleep 3600; : \
         {mark}' >/dev/null 2>&1 &\" }}\n}}\n"
    );
    world.converge(&inputs(&module)).await;
    assert_eq!(processes(&mark), []);
}

#[tokio::test]
async fn a_dropped_run_ends_before_the_next_session() {
    let Some(world) = World::new().await else { return };
    let mark = mark();
    let inputs = inputs(&endless(&mark, ""));
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    tokio::select! {
        applied = session.apply() => panic!("it ended: {applied:?}"),
        () = until("the command runs", || !processes(&mark).is_empty()) => {}
    }
    drop(session);
    let session = world.open(&inputs).await.unwrap();
    assert_eq!(processes(&mark), []);
    let (_, state) = session.opened.state.as_ref().unwrap();
    assert_eq!(State::parse(state).unwrap().managed().count(), 2);
    assert_eq!(session.opened.missing, []);
    nothing_is_left(&world, &mark).await;
}

#[tokio::test]
async fn sessions_of_one_workspace_take_turns() {
    let Some(world) = World::new().await else { return };
    let inputs = inputs("");
    let first = world.open(&inputs).await.unwrap();
    let second = world.open(&inputs);
    tokio::pin!(second);
    let early = tokio::select! {
        biased;
        _ = &mut second => true,
        () = tokio::task::yield_now() => false,
    };
    assert!(!early);
    drop(first);
    second.await.unwrap();
}

#[tokio::test]
async fn a_killed_supervisor_takes_nobody_with_it_unseen() {
    let Some(world) = World::new().await else { return };
    let mark = mark();
    let mut session = world.open(&inputs(&endless(&mark, ""))).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let kill = async {
        until("the command runs", || !processes(&mark).is_empty()).await;
        let (pid, _) = supervisors(&world)
            .into_iter()
            .find(|(_, line)| line.contains("run.lock"))
            .unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    };
    let (applied, ()) = tokio::join!(session.apply(), kill);
    let failure = applied.unwrap_err();
    assert_eq!(
        failure.kind,
        FailureKind::Terraform(Class::Crash),
        "{}",
        failure.message
    );
    assert_eq!(processes(&mark), []);
    assert_eq!(
        State::parse(&failure.state.unwrap()).unwrap().managed().count(),
        2
    );
}

#[tokio::test]
async fn no_zombie_is_left() {
    let Some(world) = World::new().await else { return };
    world
        .converge(&inputs("resource \"terraform_data\" \"x\" {}\n"))
        .await;
    let is_zombie = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.to_owned())
            .unwrap_or_default();
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        fields.first() == Some(&"Z") && fields.get(1) == Some(&std::process::id().to_string().as_str())
    };
    until("no child of this process is a zombie", || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        !all.into_iter()
            .any(|entry| is_zombie(&entry.file_name().to_string_lossy()))
    })
    .await;
}

#[tokio::test]
async fn folders_of_nobody_are_found_and_those_in_use_are_not() {
    let Some(world) = World::new().await else { return };
    let mut inputs = inputs("resource \"terraform_data\" \"a\" {}");
    let mut uids = Vec::new();
    for _ in 0..3 {
        inputs.uid = uuid::Uuid::new_v4().to_string();
        uids.push(inputs.uid.clone());
        world.converge(&inputs).await;
    }
    // The last one is in use, and the first one is known.
    let open = world.open(&inputs).await.unwrap();
    let living = [uids[0].clone()].into();
    let found = world.engine.remains(&living).await.unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.uid.as_str(), one.unsettled.as_deref()))
        .collect();
    assert_eq!(found, [(uids[1].as_str(), None)]);
    assert!(!world.engine.forget_idle(&uids[2]).await);
    drop(open);
    assert!(world.engine.forget_idle(&uids[2]).await);
    let exists = |uid: &String| world.root().join(uid).exists();
    assert_eq!(uids.iter().map(exists).collect::<Vec<_>>(), [true, true, false]);
    let states = &world.engine.remains(&living).await.unwrap()[0].states;
    assert!(!states.is_empty() && states.iter().all(|(workspace, _)| workspace == "sandbox"));
}
