//! A script in the place of Terraform, which needs no engine to be there.

use std::{
    fs,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    path::{Path, PathBuf},
};

use capt_runner::sandbox::SandboxMode;

use super::{OTHER, landlock, probe, run, victims, world};
use crate::support::{World, inputs, until};

/// Runs an attack without the sandbox and within.
async fn both(script: impl Fn(&World) -> String) -> [String; 2] {
    let mut printed = [const { String::new() }; 2];
    for (mode, printed) in [SandboxMode::Off, SandboxMode::Auto]
        .into_iter()
        .zip(&mut printed)
    {
        let world = world(None, mode).await;
        victims(&world);
        *printed = run(&world, &script(&world)).await;
    }
    printed
}

#[tokio::test]
async fn files_of_others_are_neither_read_nor_written() {
    if landlock().is_none() {
        return;
    }
    let other = format!("$ROOT/{OTHER}");
    for attack in [
        "cat $ROOT/../kubeconfig".to_owned(),
        "cat /proc/$RUNNER/environ".to_owned(),
        "cat /proc/self/environ".to_owned(),
        "cat /proc/$RUNNER/cmdline".to_owned(),
        "ls /proc".to_owned(),
        "ls $ROOT".to_owned(),
        "ls /".to_owned(),
        "ls /tmp".to_owned(),
        format!("cat {other}/state/x/terraform.tfstate"),
        format!("cat {other}/src/main.tf"),
        format!("ls {other}/src"),
        format!("echo x >> {other}/src/main.tf"),
        format!("echo x > {other}/src/new.tf"),
        format!("rm {other}/src/old.tf"),
        format!("mv {other}/src/old.tf here"),
        format!("ln {other}/src/old.tf here"),
        format!("mkdir {other}/data"),
        "ls $ROOT/plugin-cache".to_owned(),
        "echo x > $ROOT/plugin-cache/x".to_owned(),
        "echo x > $ROOT/plugin-cache/mirror/x".to_owned(),
        "echo x > $ROOT/plugin-cache/mirror/package".to_owned(),
        "rm $ROOT/plugin-cache/mirror/package".to_owned(),
        "cat $ROOT/plugin-cache/records/package.json".to_owned(),
        "cat $ROOT/plugin-cache/filling/x/src/main.tf".to_owned(),
        "echo x > $ROOT/x".to_owned(),
        // What is beside its own folders is the runner's alone.
        "ls $TF_DATA_DIR/..".to_owned(),
        "cat $TF_DATA_DIR/../kept.json".to_owned(),
        "cat $TF_DATA_DIR/../run/operations".to_owned(),
        "echo x > $TF_DATA_DIR/../kept.json".to_owned(),
        "echo x > $TF_DATA_DIR/../run/apply.ndjson".to_owned(),
        "mv $TF_DATA_DIR $TF_DATA_DIR.moved".to_owned(),
        "ln -s / $TF_DATA_DIR/../planted".to_owned(),
        "truncate -s 0 $TF_DATA_DIR/../run.lock".to_owned(),
    ] {
        let [free, confined] = both(|_| format!("{attack} && echo TAKEN")).await;
        assert!(free.contains("TAKEN"), "{attack}: {free}");
        assert!(!confined.contains("TAKEN"), "{attack}: {confined}");
        assert!(
            confined.contains("ermission denied") || attack.starts_with("ln "),
            "{attack}: {confined}"
        );
        assert!(!confined.contains("hunter2"), "{attack}: {confined}");
    }
}

#[tokio::test]
async fn packages_of_the_mirror_are_read() {
    let [free, confined] =
        both(|_| "ls $ROOT/plugin-cache/mirror && cat $ROOT/plugin-cache/mirror/package".to_owned()).await;
    assert_eq!(free, "package\nhunter2");
    assert_eq!(confined, free);
}

#[tokio::test]
async fn most_of_etc_is_not_read() {
    if landlock().is_none() {
        return;
    }
    let others = [
        "/etc/shadow",
        "/etc/fstab",
        "/etc/profile",
        "/etc/login.defs",
        "/etc/machine-id",
    ];
    let others: Vec<_> = others.into_iter().filter(|path| fs::read(path).is_ok()).collect();
    assert!(!others.is_empty(), "there is nothing to attack");
    for path in others {
        let [free, confined] = both(|_| format!("cat {path} > /dev/null && echo TAKEN")).await;
        assert_eq!(free, "TAKEN", "{path}");
        assert!(confined.contains("ermission denied"), "{path}: {confined}");
    }
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let Some(abi) = landlock() else { return };
    let name = format!("capt-test-{}", uuid::Uuid::new_v4());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _socket = UnixListener::bind(&socket).unwrap();
    for (attack, since) in [
        ("probe ptrace $RUNNER".to_owned(), 1),
        ("kill -0 $RUNNER && echo TAKEN".to_owned(), 6),
        ("kill -0 $PPID && echo TAKEN".to_owned(), 6),
        (format!("probe abstract {name}"), 6),
        (format!("probe socket {}", socket.display()), 9),
    ] {
        let script = |world: &World| attack.replace("probe", &probe(world).display().to_string());
        let [free, confined] = both(script).await;
        assert!(free.contains("TAKEN"), "{attack}: {free}");
        assert_eq!(
            confined.contains("TAKEN"),
            abi < since,
            "{attack} with ABI {abi}: {confined}"
        );
    }
}

#[tokio::test]
async fn a_supervisor_is_closed_to_what_it_watches_over() {
    let Some(abi) = landlock() else { return };
    let world = world(None, SandboxMode::Auto).await;
    let probe = probe(&world);
    let attack = format!(
        "cat /proc/$PPID/environ /proc/$PPID/maps /proc/$PPID/mem && echo TAKEN; {} ptrace $PPID; echo tried",
        probe.display()
    );
    let printed = run(&world, &attack).await;
    assert!(
        printed.ends_with("tried") && !printed.contains("TAKEN"),
        "{printed}"
    );
    let printed = run(&world, "kill $PPID && echo TAKEN").await;
    assert_eq!(printed.contains("TAKEN"), abi < 6, "{printed}");
}

#[tokio::test]
async fn a_device_is_not_made() {
    if landlock().is_none() {
        return;
    }
    let [free, confined] = both(|_| "mknod dev c 1 5 && echo TAKEN".to_owned()).await;
    if !free.contains("TAKEN") {
        eprintln!("SKIPPED: {free}: nothing makes devices here");
        return;
    }
    assert!(confined.contains("ermission denied"), "{confined}");
}

#[tokio::test]
async fn a_run_lives_as_ever_in_its_own_folders() {
    let world = world(None, SandboxMode::Auto).await;
    probe(&world);
    let printed = run(
        &world,
        "set -e
        for folder in . $HOME $TMPDIR $TF_DATA_DIR; do
            mkdir $folder/sub; echo text > $folder/sub/file; cat $folder/sub/file > /dev/null
            mkfifo $folder/pipe; ln -s sub/file $folder/link; ln $folder/sub/file $folder/hard
            printf '#!/bin/sh\\necho ran\\n' > $folder/program; chmod 700 $folder/program; $folder/program
        done
        mv sub $TMPDIR/moved; mv $TMPDIR/moved $HOME; : > $HOME/moved/file
        rm -r $HOME/moved $HOME/sub
        head -c 8 /dev/urandom | wc -c; cat /etc/passwd > /dev/null; getent hosts localhost > /dev/null
        sleep 60 & kill $!; wait $! || true
        echo kept > $OUTSIDE/file; cat $OUTSIDE/file
        $OUTSIDE/probe listen $TMPDIR/socket
        echo everything works",
    )
    .await;
    assert!(printed.ends_with("kept\nTAKEN\neverything works"), "{printed}");
    assert_eq!(printed.matches("ran").count(), 4, "{printed}");
    assert_eq!(fs::read_to_string(world.path("file")).unwrap(), "kept\n");
}

/// What the process that started this one left open for everything that is started here.
fn left_open() -> Vec<PathBuf> {
    let open = fs::read_dir("/proc/self/fd").unwrap().map(Result::unwrap);
    let foreign = open.filter(|file| {
        let info = Path::new("/proc/self/fdinfo").join(file.file_name());
        let info = fs::read_to_string(info).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.map(|flags| u32::from_str_radix(flags.trim(), 8).unwrap());
        flags.is_some_and(|flags| flags & 0o2_000_000 == 0)
    });
    foreign
        .filter_map(|file| fs::read_link(file.path()).ok())
        .collect()
}

#[tokio::test]
async fn nothing_is_inherited_but_what_a_run_is_given() {
    let world = world(None, SandboxMode::Auto).await;
    let (ready, go) = (world.path("ready"), world.path("go"));
    let attack = run(
        &world,
        "echo $$ $PPID > $OUTSIDE/now; mv $OUTSIDE/now $OUTSIDE/ready
        while [ ! -e $OUTSIDE/go ]; do sleep 0.01; done; echo LD_PRELOAD=$LD_PRELOAD; env | cut -d= -f1 | sort | tr '\\n' ' '",
    );
    let look = async {
        until("it runs", || ready.exists()).await;
        let pids = fs::read_to_string(&ready).unwrap();
        let (run, supervisor) = pids.trim().split_once(' ').unwrap();
        let files: Vec<_> = fs::read_dir(format!("/proc/{run}/fd"))
            .unwrap()
            .map(|file| {
                let file = file.unwrap();
                (file.file_name(), fs::read_link(file.path()).unwrap())
            })
            .collect();
        // A supervisor hides it; only root sees it nevertheless.
        let environment = fs::read_to_string(format!("/proc/{supervisor}/environ"));
        fs::write(&go, "").unwrap();
        (files, environment)
    };
    let (printed, (files, environment)) = tokio::join!(attack, look);
    let folder = world.root().join(inputs("").uid);
    let foreign = left_open();
    for (number, path) in &files {
        if foreign.contains(path) {
            continue;
        }
        // The shell has its own script open.
        let own = ["run.lock", "run/plan.ndjson", "run/stderr", "src/attack"].map(|own| folder.join(own));
        let is_script = *path == world.folder.path().join("script");
        assert!(own.contains(path) || is_script, "{number:?} {path:?}");
    }
    assert!(files.len() >= 3, "{files:?}");
    // None of it means anything to the supervisor, which is not confined.
    match environment {
        Ok(environment) => {
            let names: Vec<_> = environment.split_terminator('\0').collect();
            assert!(
                names.iter().all(|name| name.starts_with("CAPT_RUN_")),
                "{names:?}"
            );
            assert!(
                names.iter().any(|name| name.starts_with("CAPT_RUN_ROOT=")),
                "{names:?}"
            );
        }
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
    for name in ["KUBECONFIG", "AWS_", "CARGO", "CAPT_", "USER"] {
        assert!(!printed.contains(name), "{name}: {printed}");
    }
    assert!(
        printed.contains("TF_DATA_DIR") && printed.contains("OUTSIDE"),
        "{printed}"
    );
}
