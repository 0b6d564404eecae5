//! `capt up` as a user meets it: starting, refusing, stopping, and coming back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
};

use crate::support::{Up, capt, capt_on_a_small_disk, run};
use futures::TryStreamExt;
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, ObjectMeta, PostParams, WatchEvent},
};
use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process},
};
use tempfile::tempdir;
use tokio::sync::mpsc;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn config_map(name: String) -> ConfigMap {
    let data = BTreeMap::from([("key".to_owned(), "value".repeat(100))]);
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..ConfigMap::default()
    }
}

async fn names(client: Client) -> BTreeSet<String> {
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    api.list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .map(ResourceExt::name_any)
        .collect()
}

#[tokio::test]
async fn it_serves_the_kinds_of_capt_to_whoever_has_the_kubeconfig() {
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &[]);
    let data = home.path().join(".local/share/capt");
    assert!(
        up.ready_line.starts_with("capt is ready: https://127.0.0.1:"),
        "{}",
        up.ready_line
    );
    assert!(
        up.ready_line.contains(data.to_str().unwrap()),
        "{}",
        up.ready_line
    );
    assert_eq!(up.kubeconfig, data.join("kubeconfig"));

    let crds: Api<CustomResourceDefinition> = Api::all(up.client().await);
    let found: BTreeSet<String> = crds
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    for crd in capt_api::crds().iter().chain(&capt_api::foreign::crds()) {
        assert!(found.contains(&crd.name_any()), "{} is missing", crd.name_any());
    }
}

#[test]
fn secrets_are_for_their_owner_alone() {
    let home = tempdir().unwrap();
    let data = home.path().join("data");
    // Somebody's directory that others may look into: what is in it must be private by itself.
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let _up = Up::start(home.path(), &["--data-dir", data.to_str().unwrap()]);

    for dir in [&data, &data.join("pki")] {
        for file in fs::read_dir(dir).unwrap() {
            let path = file.unwrap().path();
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&path), expected, "{}", path.display());
        }
    }
    assert!(data.join("kubeconfig").exists());
}

#[test]
fn the_kubeconfig_goes_where_it_is_asked_for_and_replaces_nobody_elses() {
    let home = tempdir().unwrap();
    let path = home.path().join("mine");
    let args = ["--in-memory", "--kubeconfig", path.to_str().unwrap()];
    for _start_and_restart in 0..2 {
        let up = Up::start(home.path(), &args);
        assert_eq!(up.kubeconfig, path);
        assert_eq!(mode(&path), 0o600);
    }

    let foreign = "apiVersion: v1\nkind: Config\nclusters: [{name: production, cluster: {}}]\n";
    fs::write(&path, foreign).unwrap();
    let output = run(
        home.path(),
        &["up", "--in-memory", "--listen", "127.0.0.1:0", args[1], args[2]],
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr.contains("production") && stderr.contains("help: choose another file"),
        "{stderr}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
}

#[test]
fn a_taken_port_is_told_with_a_way_out() {
    let home = tempdir().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let output = run(
        home.path(),
        &["up", "--in-memory", "--listen", &address.to_string()],
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "error: port {} on 127.0.0.1 is taken by another program",
        address.port()
    );
    assert!(
        stderr.contains(&expected) && stderr.contains("--listen 127.0.0.1:0"),
        "{stderr}"
    );
}

#[test]
fn a_taken_data_directory_is_told_with_its_holder_and_a_way_out() {
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &[]);
    let output = run(home.path(), &["up", "--listen", "127.0.0.1:0"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr.contains(&format!("is in use by process {}", up.pid())),
        "{stderr}"
    );
    assert!(stderr.contains("--data-dir"), "{stderr}");
}

#[test]
fn a_directory_that_others_may_write_in_is_refused_with_what_to_do() {
    let home = tempdir().unwrap();
    let dir = home.path().join("shared");
    fs::create_dir(&dir).unwrap();
    let name = dir.to_str().unwrap();
    for args in [
        &["up", "--listen", "127.0.0.1:0", "--data-dir", name][..],
        &["runner", "--engine", "simulated", "--work-dir", name],
    ] {
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        let output = run(home.path(), args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("chmod go-w {name}")), "{stderr}");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "nothing is written there");
        // The remedy is one.
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        let output = run(
            home.path(),
            &["runner", "--engine", "simulated", "--work-dir", name],
        );
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("there is no cluster to talk to"), "{stderr}");
        fs::remove_dir_all(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
    }
}

#[tokio::test]
async fn a_signal_stops_it_with_success_ends_watches_and_everything_is_there_afterwards() {
    let home = tempdir().unwrap();
    for (round, signal) in [Signal::TERM, Signal::INT].into_iter().enumerate() {
        let up = Up::start(home.path(), &[]);
        let client = up.client().await;
        let expected: BTreeSet<String> = (0..round).map(|round| format!("from-round-{round}")).collect();
        let found = names(client.clone()).await;
        assert!(found.is_superset(&expected), "{found:?} after {round} rounds");

        let api: Api<ConfigMap> = Api::namespaced(client, "default");
        let mut watch = std::pin::pin!(api.watch(&kube::api::WatchParams::default(), "0").await.unwrap());
        api.create(&PostParams::default(), &config_map(format!("from-round-{round}")))
            .await
            .unwrap();
        watch.try_next().await.unwrap().expect("the watch has the object");

        up.signal(signal);
        let rest: Vec<WatchEvent<ConfigMap>> = watch.try_collect().await.expect("the watch ends cleanly");
        assert!(
            matches!(rest.last(), Some(WatchEvent::Bookmark(_))),
            "the last word is where to go on: {rest:?}"
        );
        assert_eq!(up.wait().code(), Some(0), "after {signal:?}");
    }
}

#[tokio::test]
async fn every_acknowledged_write_survives_kill_9() {
    const WRITERS: usize = 8;
    const ACKNOWLEDGED_BEFORE_THE_KILL: usize = 200;

    let home = tempdir().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..2 {
        let up = Up::start(home.path(), &[]);
        let client = up.client().await;
        let found = names(client.clone()).await;
        let lost: Vec<&String> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "lost before round {round}: {lost:?}");

        let (acknowledge, mut acknowledgements) = mpsc::unbounded_channel();
        for writer in 0..WRITERS {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
            let acknowledge = acknowledge.clone();
            tokio::spawn(async move {
                for number in 0.. {
                    let name = format!("round-{round}-writer-{writer}-{number}");
                    match api
                        .create(&PostParams::default(), &config_map(name.clone()))
                        .await
                    {
                        Ok(_) => acknowledge.send(name).unwrap(),
                        Err(_killed) => return,
                    }
                }
            });
        }
        drop(acknowledge);
        for _ in 0..ACKNOWLEDGED_BEFORE_THE_KILL {
            acknowledged.insert(acknowledgements.recv().await.expect("writes are acknowledged"));
        }
        up.signal(Signal::KILL);
        // The channel closes when the last writer has found the server gone.
        while let Some(name) = acknowledgements.recv().await {
            acknowledged.insert(name);
        }
        up.wait();
    }
    let up = Up::start(home.path(), &[]);
    let found = names(up.client().await).await;
    let lost: Vec<&String> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
}

#[tokio::test]
async fn a_full_disk_is_told_and_costs_no_acknowledged_write() {
    let home = tempdir().unwrap();
    let stderr = home.path().join("stderr");
    let mut capt = capt_on_a_small_disk(home.path());
    capt.stderr(fs::File::create(&stderr).unwrap());
    let up = Up::start_as(capt, &[]);
    let api: Api<ConfigMap> = Api::namespaced(up.client().await, "default");
    let mut acknowledged = BTreeSet::new();
    for number in 0.. {
        let name = format!("big-{number}");
        let mut big = config_map(name.clone());
        big.data = Some(BTreeMap::from([("key".to_owned(), "x".repeat(900 << 10))]));
        if api.create(&PostParams::default(), &big).await.is_err() {
            break;
        }
        acknowledged.insert(name);
    }
    assert_eq!(up.wait().code(), Some(1));
    let stderr = fs::read_to_string(&stderr).unwrap();
    assert!(
        stderr.contains("error: objects can no longer be saved in") && stderr.contains("help: "),
        "{stderr}"
    );

    let up = Up::start(home.path(), &[]);
    let found = names(up.client().await).await;
    assert!(
        !acknowledged.is_empty() && found.is_superset(&acknowledged),
        "{found:?}"
    );
}

#[test]
fn in_memory_leaves_nothing_behind() {
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &["--in-memory"]);
    assert!(up.ready_line.ends_with("(in memory)"), "{}", up.ready_line);
    assert!(up.kubeconfig.exists());
    up.signal(Signal::TERM);
    assert_eq!(up.wait().code(), Some(0));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once_and_even_then_in_memory_leaves_nothing_behind() {
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &["--in-memory"]);
    let _unfinished = up.unfinished_write().await;
    // Two of a kind could arrive as one.
    up.signal(Signal::TERM);
    up.signal(Signal::INT);
    let code = up.wait().code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_signal_ends_a_start_that_is_under_way() {
    let home = tempdir().unwrap();
    let temporary = home.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    // Whoever reads a pipe waits for its writer, who says nothing here.
    let pipe = home.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut child = capt(home.path())
        .args(["up", "--in-memory", "--listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(&pipe)
        .env("TMPDIR", &temporary)
        .spawn()
        .unwrap();
    // Opening waits for the reader, so from here on the start is under way.
    let _silent = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn a_start_that_fails_leaves_the_kubeconfig_as_it_was() {
    let home = tempdir().unwrap();
    let up = Up::start(home.path(), &[]);
    let path = up.kubeconfig.clone();
    up.signal(Signal::TERM);
    up.wait();
    let before = fs::read_to_string(&path).unwrap();
    fs::write(home.path().join(".local/share/capt/objects.redb"), "broken").unwrap();

    let output = run(home.path(), &["up", "--listen", "127.0.0.1:0"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("the stored objects cannot be used"), "{stderr}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}
