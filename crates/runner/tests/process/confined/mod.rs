//! What a hostile run tries, first without the sandbox, so that it is known to work, and then within.
//!
//! Most of it needs no Terraform: a script takes its place. A kernel without Landlock skips what it cannot do, and says
//! so.

mod attacks;
mod identity;
mod planted;
mod terraform;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use capt_runner::{
    engine::{Goal, InputFile, Told},
    process::TerraformEngine,
    sandbox::{Sandbox, SandboxMode, SandboxStatus},
};

use crate::support::{Running, World, inputs, options, outside, write_script};

/// The uid of another Workspace.
const OTHER: &str = "7f9619ff-8b86-4d01-b42d-00cf4fc964ff";

/// The version of Landlock, if the kernel confines runs as well as these tests ask for.
pub(crate) fn landlock() -> Option<u32> {
    let status = Sandbox::new(SandboxMode::Auto, &[], Path::new("/nowhere/at/all"))
        .unwrap()
        .status();
    match status {
        SandboxStatus::Confined { abi } => Some(abi),
        status => {
            eprintln!("SKIPPED: {status}");
            None
        }
    }
}

/// A machine whose runs are confined in this way.
async fn world(program: Option<&Path>, mode: SandboxMode) -> World {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    let mut options = options(folder.path());
    options.sandbox = Sandbox::new(mode, &[outside(folder.path())], &folder.path().join("root")).unwrap();
    let program = match program {
        Some(program) => program,
        None => {
            let text = "#!/bin/sh\n[ \"$1\" = version ] && { echo Terraform v1.11.4; exit; }\n[ \"$1\" = plan ] \
                        || exit 0\n[ -e attack ] && . ./attack 2>&1\nexit 1\n";
            write_script(&script, text);
            &script
        }
    };
    let engine = TerraformEngine::detect(program, options).await.unwrap().into();
    World { folder, engine }
}

/// What a run prints that executes this in the place of Terraform. `$ROOT` has all working folders.
async fn run(world: &World, script: &str) -> String {
    let mut inputs = inputs("");
    inputs.env = vec![
        ("ROOT".to_owned(), world.root().display().to_string()),
        ("OUTSIDE".to_owned(), world.path("").display().to_string()),
        ("RUNNER".to_owned(), std::process::id().to_string()),
    ];
    inputs.files.push(InputFile {
        name: "attack".to_owned(),
        content: script.as_bytes().to_vec(),
    });
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap_err();
    printed(&mut session)
}

fn printed(session: &mut Running) -> String {
    let heard = session.heard().into_iter();
    let lines = heard.filter_map(|told| match told {
        Told::Text(text) => Some(text.trim_end().to_owned()),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Everything that a run must not have: a file like a kubeconfig, another Workspace, and the provider mirror.
fn victims(world: &World) -> PathBuf {
    let secret = world.folder.path().join("kubeconfig");
    fs::write(&secret, "hunter2").unwrap();
    for path in [
        "state/x/terraform.tfstate",
        "src/main.tf",
        "src/old.tf",
        "home/.aws",
        "run/plan",
    ] {
        let path = world.root().join(OTHER).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "hunter2").unwrap();
    }
    for path in ["mirror/package", "records/package.json", "filling/x/src/main.tf"] {
        let path = world.root().join("plugin-cache").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "hunter2").unwrap();
    }
    secret
}

/// Copies the program for what a shell cannot do to where runs may execute it.
fn probe(world: &World) -> PathBuf {
    let probe = world.path("probe");
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_capt-probe"))
        .arg(&probe)
        .status();
    assert!(copied.unwrap().success());
    probe
}
