//! The identity of the runner's own process in AWS.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use capt_runner::{
    engine::{Goal, InputFile},
    sandbox::SandboxMode,
};

use super::{landlock, printed, world};
use crate::support::{inputs, until};

/// The other process of the next test: a runner with an identity of its own, in a namespace that is listed and in one
/// that is not.
#[tokio::test]
async fn runner_with_an_identity() {
    let Some(folder) = env::var_os("CAPT_TEST_IDENTITY") else {
        return;
    };
    let folder = PathBuf::from(folder);
    let world = world(None, SandboxMode::Auto).await;
    for inherits_identity in [false, true] {
        let mut inputs = inputs("");
        inputs.inherits_identity = inherits_identity;
        inputs.files.push(InputFile {
            name: "attack".to_owned(),
            content: format!(
                "env | grep AWS_ | sort
                for file in volume/token .aws/credentials .aws/config .aws/sso/cache/token kubeconfig; do
                    echo $file: $(cat {0}/$file 2>&1 || true)
                done
                echo cache: $(cat $HOME/.aws/sso/cache/token 2>&1)
                [ -n \"$AWS_PROFILE\" ] || exit 1
                touch {1}/ready
                while grep -q first {0}/volume/token; do sleep 0.01; done
                echo rotated: $(cat $AWS_WEB_IDENTITY_TOKEN_FILE)
                echo x > {0}/volume/token && echo WRITTEN",
                folder.display(),
                world.path("").display(),
            )
            .into_bytes(),
        });
        let mut session = world.open(&inputs).await.unwrap();
        let rotate = async {
            if inherits_identity {
                until("it has read the token", || world.path("ready").exists()).await;
                volume(&folder, "second");
            }
        };
        let (planned, ()) = tokio::join!(session.plan(Goal::Converge), rotate);
        planned.unwrap_err();
        println!("{}", printed(&mut session));
    }
}

/// Fills a volume as the kubelet does.
fn volume(folder: &Path, token: &str) {
    let volume = folder.join("volume");
    fs::create_dir_all(volume.join(format!("..{token}"))).unwrap();
    fs::write(volume.join(format!("..{token}/token")), token).unwrap();
    symlink(format!("..{token}"), volume.join("..data_tmp")).unwrap();
    fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
    let _ = symlink("..data/token", volume.join("token"));
}

#[tokio::test]
async fn only_a_listed_namespace_has_the_identity_of_the_runner() {
    if landlock().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    volume(home, "first");
    fs::create_dir_all(home.join(".aws/sso/cache")).unwrap();
    for file in [
        ".aws/credentials",
        ".aws/config",
        ".aws/sso/cache/token",
        "kubeconfig",
    ] {
        fs::write(home.join(file), format!("hunter2 {file}")).unwrap();
    }
    let token = home.join("volume/token");
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "confined::identity::runner_with_an_identity",
            "--nocapture",
        ])
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap())
        .env("CAPT_TEST_IDENTITY", home)
        .env("HOME", home)
        .env("KUBECONFIG", home.join("kubeconfig"))
        .env("AWS_PROFILE", "blue")
        .env("AWS_WEB_IDENTITY_TOKEN_FILE", &token)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = String::from_utf8(output.stdout).unwrap();
    let (without, with) = printed.split_once("AWS_CONFIG_FILE=").unwrap();
    assert!(
        !without.contains("AWS_") && !without.contains("hunter2"),
        "{without}"
    );
    assert_eq!(without.matches("ermission denied").count(), 5, "{without}");
    for expected in [
        "AWS_PROFILE=blue",
        "volume/token: first",
        ".aws/credentials: hunter2 .aws/credentials",
        ".aws/config: hunter2",
        "cache: hunter2",
        "rotated: second",
    ] {
        assert!(with.contains(expected), "{expected}: {with}");
    }
    assert!(
        !with.contains("hunter2 kubeconfig") && !with.contains("WRITTEN"),
        "{with}"
    );
}
