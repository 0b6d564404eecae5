//! Killed at any moment, nothing that was written is lost, and what was not written is listed.
//!
//! `CAPT_CRASH_ROUNDS` says how often, `CAPT_CRASH_SEED` with which moments.

use std::{
    collections::BTreeSet,
    env,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use capt_runner::engine::{Engine as _, FailureKind, Goal, Inputs, Link, Told};
use capt_terraform::{
    diagnostics::Class,
    state::{Created, State},
    stream::{Action, Kind, Line, Step, parse_line},
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::{Running, World, engine, inputs, processes, program, until, with_replica};

/// Resources that are made one after the other, so that there are many moments.
const CHAIN: usize = 12;

fn chain() -> Inputs {
    let mut module = String::new();
    for number in 0..CHAIN {
        let after = match number {
            0 => String::new(),
            number => format!(" depends_on = [terraform_data.r{}]\n", number - 1),
        };
        module.push_str(&format!(
            "resource \"terraform_data\" \"r{number}\" {{\n{after} provisioner \"local-exec\" {{ command = \"sleep \
             0.02\" }}\n}}\n"
        ));
    }
    inputs(&module)
}

/// Moments from a seed: how long after the first resource is being made.
fn moments() -> impl Iterator<Item = Duration> {
    let number = |name: &str, otherwise: u64| {
        env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(otherwise)
    };
    let mut seed = number("CAPT_CRASH_SEED", 7);
    let rounds = number("CAPT_CRASH_ROUNDS", 2);
    (0..rounds).map(move |_| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros((seed >> 33) % 600_000)
    })
}

fn ids(state: &State) -> BTreeSet<String> {
    state.managed().filter_map(|object| object.id.clone()).collect()
}

/// What was reported as made.
fn made(heard: &[Told]) -> BTreeSet<String> {
    let complete = heard.iter().filter_map(|told| match told {
        Told::Event(event) => match &event.kind {
            Kind::Apply(Step::Complete, hook) if hook.action == Action::Create => hook.id_value.clone(),
            _ => None,
        },
        _ => None,
    });
    complete.collect()
}

fn listed(missing: &[Created]) -> BTreeSet<String> {
    missing.iter().filter_map(|made| made.id.clone()).collect()
}

/// The same inputs with the state that the caller has kept. OpenTofu writes it seldom, so there may be none.
fn kept(inputs: Inputs, state: Option<Vec<u8>>) -> Inputs {
    match state {
        Some(state) => with_replica(inputs, &state),
        None => inputs,
    }
}

/// Nothing that was told is lost.
fn check(kept: Option<&[u8]>, heard: &[Told], missing: &[Created]) {
    let kept = kept.map(|kept| State::parse(kept).unwrap()).unwrap_or_default();
    for told in heard {
        if let Told::State(state) = told {
            let told = State::parse(state).unwrap();
            assert!(ids(&told).is_subset(&ids(&kept)), "{told:?} is not in {kept:?}");
        }
    }
    let known: BTreeSet<String> = ids(&kept).union(&listed(missing)).cloned().collect();
    assert!(
        made(heard).is_subset(&known),
        "{:?} is not in {known:?}",
        made(heard)
    );
}

/// Goes on until everything is there.
async fn finish(world: &World, inputs: &Inputs) {
    let mut session = world.open(inputs).await.unwrap();
    if !session.plan(Goal::Converge).await.unwrap().plan.is_empty() {
        session.apply().await.unwrap();
    }
    drop(session);
    let mut session = world.open(inputs).await.unwrap();
    assert!(session.plan(Goal::Converge).await.unwrap().plan.is_empty());
    let (_, state) = session.opened.state.as_ref().unwrap();
    assert_eq!(
        State::parse(state)
            .unwrap()
            .managed()
            .filter(|object| !object.tainted)
            .count(),
        CHAIN
    );
}

/// Waits until something is being made, and then this long.
async fn moment(world: &World, after: Duration) {
    let output = world.root().join(chain().uid).join("run/apply.ndjson");
    let is_making = || std::fs::read_to_string(&output).is_ok_and(|text| text.contains("apply_start"));
    until("something is made", is_making).await;
    tokio::time::sleep(after).await;
}

fn terraform(world: &World) -> Option<Pid> {
    let mark = world.folder.path().display().to_string();
    let all = processes(&mark);
    let (pid, _) = all
        .iter()
        .find(|(_, line)| line.contains(" apply ") && !line.contains("run.lock"))?;
    Pid::from_raw(*pid)
}

#[tokio::test]
async fn terraform_is_killed() {
    for after in moments() {
        let Some(world) = World::new().await else { return };
        let inputs = chain();
        let mut session = world.open(&inputs).await.unwrap();
        session.plan(Goal::Converge).await.unwrap();
        let kill = async {
            moment(&world, after).await;
            if let Some(pid) = terraform(&world) {
                let _ = kill_process(pid, Signal::KILL);
            }
        };
        let (applied, ()) = tokio::join!(session.apply(), kill);
        let (state, missing) = match applied {
            Ok(applied) => (Some(applied.state), Vec::new()),
            Err(failure) => {
                assert_eq!(
                    failure.kind,
                    FailureKind::Terraform(Class::Crash),
                    "{}",
                    failure.message
                );
                (failure.state, failure.missing)
            }
        };
        check(state.as_deref(), &session.heard(), &missing);
        drop(session);
        // Whoever comes next finds the same.
        let session = world.open(&inputs).await.unwrap();
        assert_eq!(
            session.opened.state.as_ref().map(|(_, file)| file),
            state.as_ref()
        );
        assert_eq!(session.opened.missing, missing);
        drop(session);
        finish(&world, &kept(inputs, state)).await;
    }
}

/// The other process of the next test: a runner that applies until it is killed.
#[tokio::test]
async fn runner_process() {
    let Some(folder) = env::var_os("CAPT_TEST_RUNNER") else {
        return;
    };
    let Some(program) = program() else { return };
    let engine = engine(Path::new(&folder), &program, Duration::from_secs(20)).await;
    let (told, _heard) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let mut opened = engine.open(chain(), Link { told, cancel }).await.unwrap();
    opened.session.plan(Goal::Converge).await.unwrap();
    opened.session.apply().await.unwrap();
}

#[tokio::test]
async fn the_runner_is_killed() {
    for after in moments() {
        let Some(world) = World::new().await else { return };
        let mut runner = Command::new(env::current_exe().unwrap())
            .args(["--exact", "crash::runner_process", "--nocapture"])
            .env("CAPT_TEST_RUNNER", world.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        moment(&world, after).await;
        runner.kill().unwrap();
        runner.wait().unwrap();
        // The next one waits until what the dead one started has ended.
        let session: Running = world.open(&chain()).await.unwrap();
        assert_eq!(terraform(&world), None);
        let state = session.opened.state.as_ref().map(|(_, file)| file.clone());
        // It was asked to stop and could write everything down, so that nobody has to see to anything.
        assert_eq!(session.opened.missing, []);
        drop(session);
        finish(&world, &kept(chain(), state)).await;
    }
}

/// What an apply began to make, and of which nobody ever heard more.
fn in_flight(world: &World) -> BTreeSet<String> {
    let output = world.root().join(chain().uid).join("run/apply.ndjson");
    let text = std::fs::read_to_string(output).unwrap_or_default();
    let mut open = BTreeSet::new();
    for line in text.lines() {
        let Line::Event(event) = parse_line(line.as_bytes()) else {
            continue;
        };
        match &event.kind {
            Kind::Apply(Step::Started, hook) => open.insert(hook.resource.addr.clone()),
            Kind::Apply(Step::Complete, hook) => open.remove(&hook.resource.addr),
            _ => continue,
        };
    }
    open
}

/// Starts a runner in another process, and kills it and some of what it started after a while.
async fn kill_runner_and(world: &World, after: Duration, is_killed: impl Fn(&str) -> bool) {
    let mut runner = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::runner_process", "--nocapture"])
        .env("CAPT_TEST_RUNNER", world.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    moment(world, after).await;
    let mark = world.folder.path().display().to_string();
    let all = processes(&mark);
    // The supervisor first, so that it cannot ask anybody to stop.
    let (supervisors, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, line)| line.contains("run.lock"));
    for (pid, _) in supervisors {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    for (pid, _) in others.into_iter().filter(|(_, line)| is_killed(line)) {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
    runner.kill().unwrap();
    runner.wait().unwrap();
}

#[tokio::test]
async fn the_runner_and_terraform_are_killed() {
    for after in moments() {
        let Some(world) = World::new().await else { return };
        kill_runner_and(&world, after, |_| true).await;
        let in_flight = in_flight(&world);
        // However often somebody looks.
        for _ in 0..2 {
            let session: Running = world.open(&chain()).await.unwrap();
            let missing = &session.opened.missing;
            let unfinished: BTreeSet<String> = missing
                .iter()
                .filter(|made| made.unfinished)
                .map(|made| made.address.clone())
                .collect();
            assert_eq!(unfinished, in_flight);
        }
        let mut session = world.open(&chain()).await.unwrap();
        session.opened.session.settle_missing().await.unwrap();
        drop(session);
        let session: Running = world.open(&chain()).await.unwrap();
        assert_eq!(session.opened.missing, []);
    }
}

#[tokio::test]
async fn terraform_survives_its_runner_and_its_supervisor() {
    for after in moments() {
        let Some(world) = World::new().await else { return };
        kill_runner_and(&world, after, |_| false).await;
        // The next one waits until it has ended.
        let session: Running = world.open(&chain()).await.unwrap();
        assert_eq!(terraform(&world), None);
        assert_eq!(session.opened.missing, []);
        let state = session.opened.state.as_ref().map(|(_, file)| file.clone());
        drop(session);
        finish(&world, &kept(chain(), state)).await;
    }
}

#[tokio::test]
async fn an_operation_that_ran_elsewhere_is_lost() {
    let Some(world) = World::new().await else { return };
    let named = |operation: &str, cut_short: Option<&str>| Inputs {
        operation: operation.to_owned(),
        cut_short: cut_short.map(str::to_owned),
        ..inputs("")
    };
    let is_lost = async |inputs: Inputs| world.open(&inputs).await.unwrap().opened.is_lost;
    assert!(!is_lost(named("1", None)).await);
    assert!(!is_lost(named("2", Some("1"))).await);
    assert!(is_lost(named("3", Some("elsewhere"))).await);
}

#[tokio::test]
async fn everything_is_killed() {
    for after in moments() {
        let Some(world) = World::new().await else { return };
        let mut session = world.open(&chain()).await.unwrap();
        session.plan(Goal::Converge).await.unwrap();
        let kill = async {
            moment(&world, after).await;
            let mark = world.folder.path().display().to_string();
            // The supervisor first, so that it tells nothing, and then whatever it looked after.
            for (pid, _) in processes(&mark) {
                let _ = kill_process_group(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
        };
        let (applied, ()) = tokio::join!(session.apply(), kill);
        let (state, missing) = match applied {
            Ok(applied) => (Some(applied.state), Vec::new()),
            Err(failure) => (failure.state, failure.missing),
        };
        check(state.as_deref(), &session.heard(), &missing);
        drop(session);
        finish(&world, &kept(chain(), state)).await;
    }
}
