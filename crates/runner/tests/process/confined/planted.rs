//! What a run leaves for the runner to find.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    path::Path,
};

use capt_runner::{
    engine::{Engine as _, Goal, InputFile, Inputs, StateHome},
    sandbox::SandboxMode,
};
use capt_terraform::state::State;

use super::{run, world};
use crate::support::inputs;

/// A state like those of the runner, later than any of its own.
fn state(serial: u64, name: &str) -> Vec<u8> {
    serde_json::to_vec(&serde_json::json!({"version": 4, "serial": serial, "lineage": "a",
        "terraform_version": "1.11.4", "outputs": {}, "resources": [{"mode": "managed", "type": "terraform_data",
            "name": name, "provider": "provider[\"terraform.io/builtin/terraform\"]",
            "instances": [{"schema_version": 0, "attributes": {"id": name}}]}]}))
    .unwrap()
}

#[tokio::test]
async fn a_planted_link_gives_nothing_away_and_nothing_is_written_through_it() {
    // The run that plants them is free to do so at each place; the runner is careful wherever it looks.
    let world = world(None, SandboxMode::Off).await;
    let victim = world.folder.path().join("victim");
    fs::create_dir_all(victim.join("folder")).unwrap();
    let secret = victim.join("secret");
    fs::write(&secret, state(99, "victim")).unwrap();
    let own = state(1, "own");
    let inputs = |state: StateHome| Inputs {
        state,
        files: vec![InputFile {
            name: "beside.txt".to_owned(),
            content: b"new".to_vec(),
        }],
        vars: vec![("x".to_owned(), "y".to_owned())],
        ..inputs("variable \"x\" {}\n")
    };
    let ours = || StateHome::Ours {
        replica: Some(own.clone()),
        staged: None,
    };
    drop(world.open(&inputs(ours())).await.unwrap());
    let folder = world.root().join(inputs(ours()).uid);
    let files = [
        "state/sandbox/terraform.tfstate",
        "state/sandbox/good.tfstate",
        "state/default/terraform.tfstate",
        "src/errored.tfstate",
        "src/main.tf",
        "src/planted.tf",
        "src/zz_capt_override.tf",
        "src/beside.txt",
        "src/~capt-0000.auto.tfvars",
        "home/.terraformrc",
        "home/.gitconfig",
        "home/.git-credentials",
        "plan/plan",
        "run/apply.ndjson",
        "run/apply.replaced.json",
        "run/errored.tfstate",
        "run/operations",
        "run/plan",
        "run/plan.ndjson",
        "run/stderr",
        "good/sandbox.tfstate",
        "kept.json",
    ];
    let folders = ["data", "tmp", "fetching", "home/.aws", "good"];
    let plant = |paths: &[&str], target: &Path| {
        for path in paths {
            let path = folder.join(path);
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, &path).unwrap();
            assert!(path.metadata().is_ok(), "{path:?} leads nowhere");
        }
    };
    let is_unharmed = || {
        assert_eq!(fs::read(&secret).unwrap(), state(99, "victim"));
        let mut names: Vec<_> = fs::read_dir(&victim)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["folder", "secret"]);
        assert_eq!(fs::read_dir(victim.join("folder")).unwrap().count(), 0);
    };
    for state in [ours(), StateHome::Backend] {
        for folder in folders.map(|path| folder.join(path)) {
            let _ = fs::remove_file(folder);
        }
        plant(&files, &secret);
        plant(&folders, &victim.join("folder"));
        let left = world
            .engine
            .left_behind(&inputs(ours()).uid, "sandbox")
            .await
            .unwrap();
        assert!(left.is_empty(), "{left:?}");
        let remains = world.engine.remains(&[].into()).await.unwrap();
        assert!(remains.iter().all(|one| one.states.is_empty()), "{remains:?}");
        match world.open(&inputs(state)).await {
            Ok(mut session) => {
                let found = session
                    .opened
                    .state
                    .as_ref()
                    .map(|(_, file)| State::parse(file).unwrap());
                let found = found.map(|state| state.serial);
                assert!(found.is_none_or(|serial| serial == 1), "{found:?}");
                assert_eq!(session.opened.missing, []);
                let failure = session.plan(Goal::Converge).await.unwrap_err();
                assert!(!format!("{failure:?}{:?}", session.heard()).contains("victim"));
            }
            Err(failure) => assert!(!format!("{failure:?}").contains("victim"), "{failure:?}"),
        }
        is_unharmed();
    }
    // Each place was looked at: what belongs there is there.
    fs::remove_file(folder.join("good")).unwrap();
    plant(&files, &secret);
    drop(world.open(&inputs(ours())).await.unwrap());
    for (path, expected) in [
        ("src/main.tf", &b"variable \"x\" {}\n"[..]),
        ("src/beside.txt", b"new"),
        ("state/sandbox/terraform.tfstate", &own),
    ] {
        let path = folder.join(path);
        assert!(path.symlink_metadata().unwrap().is_file(), "{path:?}");
        assert_eq!(fs::read(&path).unwrap(), expected, "{path:?}");
    }
    world.engine.forget(&inputs(ours()).uid).await;
    assert!(!folder.exists());
    is_unharmed();
}

#[tokio::test]
async fn nothing_that_a_run_leaves_keeps_the_runner_waiting() {
    let world = world(None, SandboxMode::Auto).await;
    let printed = run(
        &world,
        "for path in errored.tfstate planted.tf ../state/sandbox/terraform.tfstate ../home/.gitconfig ../plan/plan; do
            rm -rf $path; mkfifo $path || echo FAILED; done; echo planted",
    )
    .await;
    assert_eq!(printed, "planted");
    let planted = world.root().join(inputs("").uid).join("src/planted.tf");
    let mode = fs::symlink_metadata(&planted).unwrap().mode();
    assert_eq!(mode & 0o170_000, 0o010_000, "it is a pipe");
    assert_eq!(run(&world, "echo goes on").await, "goes on");
}
