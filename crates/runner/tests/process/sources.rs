//! Modules that come from elsewhere.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use capt_runner::engine::{FailureKind, Goal, InputFile, Inputs, Module};

use crate::support::{World, addresses, inputs_of};

fn remote(address: impl Into<String>, if_not_present: bool) -> Inputs {
    inputs_of(Module::Remote {
        address: address.into(),
        if_not_present,
    })
}

/// A package with a module in it, a second one in a folder, and that one calls a third beside it.
fn package(world: &World) -> PathBuf {
    let path = world.path("package");
    for (file, text) in [
        ("main.tf", resource("root")),
        (
            "sub/main.tf",
            resource("sub") + "module \"beside\" {\n source = \"../beside\"\n}\n",
        ),
        ("beside/main.tf", resource("beside")),
    ] {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    path
}

fn resource(name: &str) -> String {
    format!("resource \"terraform_data\" \"{name}\" {{}}\n")
}

fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.com",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = command.args(args).current_dir(folder).output().unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit(folder: &Path) -> String {
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "x"]);
    git(folder, &["rev-parse", "HEAD"])
}

#[tokio::test]
async fn a_folder_is_fetched_when_it_changed() {
    let Some(world) = World::counting().await else {
        return;
    };
    let package = package(&world);
    let inputs = remote(package.display().to_string(), false);
    assert_eq!(addresses(&world.converge(&inputs).await), ["terraform_data.root"]);
    assert_eq!(world.calls(), ["get", "plan", "show", "show", "apply"]);
    // Whatever Terraform leaves beside the module stays while the module is the same.
    let beside = world.root().join(&inputs.uid).join("src/left");
    fs::write(&beside, "").unwrap();
    drop(world.open(&inputs).await.unwrap());
    assert!(beside.exists());
    assert_eq!(world.calls(), [""; 0]);
    fs::write(package.join("more.tf"), resource("more")).unwrap();
    assert_eq!(
        addresses(&world.converge(&inputs).await),
        ["terraform_data.more", "terraform_data.root"]
    );
    assert_eq!(world.calls(), ["get", "plan", "show", "show", "apply"]);
    // The package itself is never written to.
    assert!(!package.join("terraform.tfstate.d").exists());
}

#[tokio::test]
async fn git_is_fetched_as_often_as_it_is_asked_for() {
    let Some(world) = World::counting().await else {
        return;
    };
    let package = package(&world);
    git(&package, &["init", "-q", "."]);
    let first = commit(&package);
    let address = format!("git::file://{}//sub", package.display());
    let branch = remote(format!("{address}?ref=main"), false);
    let state = world.converge(&branch).await;
    assert_eq!(
        addresses(&state),
        ["module.beside.terraform_data.beside", "terraform_data.sub"]
    );
    fs::write(package.join("sub/more.tf"), resource("more")).unwrap();
    commit(&package);
    world.calls();

    let kept = remote(format!("{address}?ref=main"), true);
    let mut session = world.open(&kept).await.unwrap();
    assert!(session.plan(Goal::Converge).await.unwrap().plan.is_empty());
    drop(session);
    assert_eq!(world.calls(), ["plan"]);

    let state = world.converge(&branch).await;
    assert_eq!(addresses(&state).len(), 3);
    assert_eq!(world.calls(), ["get", "init", "plan", "show", "show", "apply"]);

    let pinned = remote(format!("{address}?ref={first}"), false);
    assert_eq!(addresses(&world.converge(&pinned).await).len(), 2);
    world.calls();
    drop(world.open(&pinned).await.unwrap());
    assert_eq!(world.calls(), [""; 0]);
}

#[tokio::test]
async fn an_archive_is_unpacked() {
    let Some(world) = World::new().await else { return };
    let package = package(&world);
    let archive = world.path("package.tar.gz");
    let done = Command::new("tar")
        .arg("czf")
        .arg(&archive)
        .arg("-C")
        .arg(&package)
        .arg(".")
        .status();
    assert!(done.unwrap().success());
    let state = world
        .converge(&remote(archive.display().to_string(), false))
        .await;
    assert_eq!(addresses(&state), ["terraform_data.root"]);
}

#[tokio::test]
async fn an_entrypoint_is_a_folder_of_the_module() {
    let Some(world) = World::new().await else { return };
    let package = package(&world);
    std::os::unix::fs::symlink("/", package.join("out")).unwrap();
    let mut inputs = remote(package.display().to_string(), false);
    inputs.entrypoint = "sub".to_owned();
    let state = world.converge(&inputs).await;
    assert_eq!(
        addresses(&state),
        ["module.beside.terraform_data.beside", "terraform_data.sub"]
    );
    for entrypoint in ["out", "none", "../x"] {
        inputs.entrypoint = entrypoint.to_owned();
        let failure = world.open(&inputs).await.err().unwrap();
        assert_eq!(
            failure.kind,
            FailureKind::InvalidInput,
            "{entrypoint}: {}",
            failure.message
        );
    }
}

#[tokio::test]
async fn says_why_a_module_cannot_be_had() {
    let Some(world) = World::new().await else { return };
    let nowhere = world.path("nowhere").display().to_string();
    let git = format!("git::file://{nowhere}");
    for (address, words) in [
        (nowhere.as_str(), "nowhere"),
        (git.as_str(), "does not appear to be a git repository"),
    ] {
        let failure = world.open(&remote(address, false)).await.err().unwrap();
        assert_eq!(
            failure.kind,
            FailureKind::ModuleUnavailable,
            "{}",
            failure.message
        );
        // Terraform breaks its lines where it likes.
        let message = failure.message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains(words) && message.contains(address), "{message}");
    }
}

#[tokio::test]
async fn a_module_that_is_gone_can_still_be_used() {
    let Some(world) = World::new().await else { return };
    let package = package(&world);
    git(&package, &["init", "-q", "."]);
    commit(&package);
    let address = format!("git::file://{}", package.display());
    world.converge(&remote(&address, false)).await;
    fs::remove_dir_all(&package).unwrap();
    let failure = world.open(&remote(&address, false)).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::ModuleUnavailable);
    assert!(failure.message.contains("IfNotPresent"), "{}", failure.message);
    let mut session = world.open(&remote(&address, true)).await.unwrap();
    assert_eq!(
        session
            .plan(Goal::Destroy)
            .await
            .unwrap()
            .plan
            .destroyed()
            .count(),
        1
    );
}

#[tokio::test]
async fn a_module_that_makes_no_sense_is_told_about_with_its_place() {
    let Some(world) = World::new().await else { return };
    let package = package(&world);
    fs::write(package.join("main.tf"), "resource \"terraform_data\" {{\n").unwrap();
    let failure = match world.open(&remote(package.display().to_string(), false)).await {
        Err(failure) => failure,
        Ok(mut session) => session.plan(Goal::Converge).await.unwrap_err(),
    };
    let class = capt_terraform::diagnostics::Class::Configuration;
    assert_eq!(failure.kind, FailureKind::Terraform(class), "{}", failure.message);
    assert!(
        failure
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.range.is_some()),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn from_one_source_to_another() {
    let Some(world) = World::new().await else { return };
    let package = package(&world);
    let text = crate::support::inputs(&resource("text"));
    let fetched = remote(package.display().to_string(), true);
    for _ in 0..2 {
        assert_eq!(addresses(&world.converge(&text).await), ["terraform_data.text"]);
        assert_eq!(
            addresses(&world.converge(&fetched).await),
            ["terraform_data.root"]
        );
    }
}

#[tokio::test]
async fn files_come_and_go() {
    let Some(world) = World::new().await else { return };
    let module = "output \"files\" { value = join(\",\", fileset(path.module, \"*.txt\")) }\noutput \"home\" { value = \
                  fileexists(\"~/.git-credentials\") }\noutput \"env\" { value = pathexpand(\"~\") }\n";
    let mut inputs = crate::support::inputs(module);
    let file = |name: &str| InputFile {
        name: name.to_owned(),
        content: b"https://u:p@x.example\n".to_vec(),
    };
    inputs.files = vec![file("a.txt"), file("b.txt"), file(".git-credentials")];
    let state = world.converge(&inputs).await;
    assert_eq!(state.outputs["files"].value, "a.txt,b.txt");
    assert_eq!(state.outputs["home"].value, true);
    let home = world.root().join(&inputs.uid).join("home");
    assert_eq!(state.outputs["env"].value, home.display().to_string());
    assert!(
        fs::read_to_string(home.join(".gitconfig"))
            .unwrap()
            .contains("helper = store")
    );
    inputs.files = vec![file("b.txt")];
    let state = world.converge(&inputs).await;
    assert_eq!(state.outputs["files"].value, "b.txt");
    assert_eq!(state.outputs["home"].value, false);
}
