//! What the binary says about itself.

use crate::support::run;

fn stdout(args: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_explains_itself_with_examples() {
    for (args, mentions) in [
        (
            &["--help"][..],
            &[
                "up",
                "get",
                "describe",
                "tree",
                "kubeconfig",
                "migrate",
                "plan",
                "logs",
                "approve",
                "retry",
                "controller",
                "runner",
                "manifests",
                "version",
            ][..],
        ),
        (
            &["up", "--help"],
            &[
                "--data-dir",
                "--listen",
                "127.0.0.1:16443",
                "--kubeconfig",
                "--in-memory",
                "--engine",
                "--engine-path",
                "--workspace-runner",
                "--parallelism",
                "--poll-interval",
                "--grace",
                "--sandbox",
                "[default: off]",
                "--cluster-controller",
                "--own-credentials",
            ],
        ),
        (
            &["get", "--help"],
            &[
                "KIND[/NAME]",
                "--all-namespaces",
                "--watch",
                "--output",
                "--namespace",
            ],
        ),
        (&["describe", "--help"], &["KIND/NAME", "--output", "--namespace"]),
        (&["tree", "--help"], &["KIND/NAME", "--watch", "mermaid"]),
        (
            &["migrate", "--help"],
            &["--dry-run", "--backup", "--output", "[default: all namespaces]"],
        ),
        (&["kubeconfig", "--help"], &["CLUSTER", "--user", "--output"]),
        (
            &["plan", "--help"],
            &["KIND/NAME", "--timeout", "--namespace", "--context", "--output"],
        ),
        (
            &["logs", "--help"],
            &["--follow", "--previous", "--kubeconfig", "--output"],
        ),
        (&["approve", "--help"], &["--plan", "allow-destructive"]),
        (&["retry", "--help"], &["KIND/NAME"]),
        (
            &["controller", "--help"],
            &[
                "--namespace",
                "--own-credentials",
                "--leader-election-namespace",
                "--watch-filter",
                "--cluster-controller",
                "--concurrency",
                "--workspace-api",
                "--leader-elect",
                "--leader-elect-identity",
                "--health-address",
                "--metrics-address",
            ],
        ),
        (
            &["manifests", "controller", "--help"],
            &["--namespace", "--target-namespace", "--image", "--replicas"],
        ),
        (
            &["runner", "--help"],
            &[
                "--name",
                "--work-dir",
                "--engine",
                "--kubeconfig",
                "--namespace",
                "--system-namespace",
                "--own-credentials",
                "--sandbox",
                "[possible values: required, auto, off]",
                "--sandbox-allow",
            ],
        ),
        (&["manifests", "crds", "--help"], &["--foreign", "kubectl apply"]),
    ] {
        let help = stdout(args);
        for mention in mentions.iter().chain(&["Examples:", "--log"]) {
            assert!(
                help.contains(mention),
                "{args:?} does not mention {mention}:\n{help}"
            );
        }
    }
}

#[test]
fn the_version_is_the_same_however_it_is_asked_for() {
    let version = concat!("capt ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(stdout(&["--version"]), version);
    assert_eq!(stdout(&["version"]), version);
}

#[test]
fn the_crds_are_printed_as_yaml_documents() {
    let names = |yaml: &str| -> Vec<String> {
        let crds: Vec<serde_json::Value> = serde_saphyr::from_multiple(yaml).unwrap();
        for crd in &crds {
            assert_eq!(crd["kind"], "CustomResourceDefinition");
        }
        crds.iter()
            .map(|crd| crd["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let own = names(&stdout(&["manifests", "crds"]));
    assert_eq!(own.len(), 6, "{own:?}");
    let with_foreign = names(&stdout(&["manifests", "crds", "--foreign"]));
    assert!(with_foreign.starts_with(&own));
    assert!(
        with_foreign.contains(&"clusters.cluster.x-k8s.io".to_owned()),
        "{with_foreign:?}"
    );
}

#[test]
fn what_runs_the_controllers_is_what_is_kept() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/controller.yaml");
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert_eq!(
        stdout(&["manifests", "controller"]),
        kept,
        "write it anew: capt manifests controller > deploy/controller.yaml"
    );

    let changed = stdout(&[
        "manifests",
        "controller",
        "--target-namespace",
        "ours",
        "--image",
        "x:1",
        "--replicas",
        "3",
        "--",
        "--runner",
        "blue",
    ]);
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&changed).unwrap();
    let deployment = documents.last().unwrap();
    assert_eq!(deployment["metadata"]["namespace"], "ours");
    assert_eq!(deployment["spec"]["replicas"], 3);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "x:1");
    let args: Vec<&str> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|arg| arg.as_str())
        .collect();
    assert_eq!(
        (args[0], &args[args.len() - 2..]),
        ("controller", &["--runner", "blue"][..])
    );
}

#[test]
fn a_runner_has_a_name_that_a_label_may_have() {
    let home = tempfile::tempdir().unwrap();
    for command in [&["runner"][..], &["manifests", "runner"]] {
        let answer = crate::support::capt(home.path())
            .args(command)
            .args(["--name", "a b"])
            .output()
            .unwrap();
        assert_eq!(answer.status.code(), Some(2), "{command:?}");
        let told = String::from_utf8_lossy(&answer.stderr);
        assert!(told.contains("--name"), "{command:?}: {told}");
    }
}

#[test]
fn what_would_not_start_is_not_installed() {
    let home = tempfile::tempdir().unwrap();
    for (what, option, told) in [
        ("controller", "--runer=blue", "--runner"),
        ("controller", "--concurrency=none", "--concurrency"),
        ("controller", "--health-address=0.0.0.0:1", "multiple times"),
        ("runner", "--engine=pulumi", "--engine"),
        ("runner", "--sandbox=on", "--sandbox"),
    ] {
        let answer = crate::support::capt(home.path())
            .args(["manifests", what, "--", option])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(2), "{option}: {error}");
        assert!(answer.stdout.is_empty(), "{option}");
        assert!(error.contains(told), "{option}: {error}");
    }
}

#[test]
fn the_controllers_ask_for_no_rights_to_everything() {
    let documents: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(&stdout(&["manifests", "controller"])).unwrap();
    let rules = documents
        .iter()
        .filter_map(|document| document["rules"].as_array());
    let rules: Vec<&serde_json::Value> = rules.flatten().collect();
    assert!(!rules.is_empty());
    for rule in rules {
        for part in ["apiGroups", "resources", "verbs"] {
            let words = rule[part].as_array().unwrap();
            assert!(
                !words.is_empty() && words.iter().all(|word| word != "*"),
                "{rule}"
            );
        }
        let of_others = [
            "pods",
            "pods/exec",
            "nodes",
            "persistentvolumes",
            "deployments",
            "clusterroles",
        ];
        let resources = rule["resources"].as_array().unwrap();
        assert!(
            resources
                .iter()
                .all(|resource| of_others.iter().all(|other| resource != other)),
            "{rule}"
        );
    }
}

#[test]
fn what_runs_terraform_is_what_is_kept() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/runner.yaml");
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert_eq!(
        stdout(&["manifests", "runner"]),
        kept,
        "write it anew: capt manifests runner > deploy/runner.yaml"
    );

    let changed = stdout(&[
        "manifests",
        "runner",
        "--name",
        "blue",
        "--env-from-secret",
        "aws",
        "--",
        "--parallelism=2",
    ]);
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(&changed).unwrap();
    let deployment = documents.last().unwrap();
    assert_eq!(deployment["metadata"]["name"], "capt-runner-blue");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "aws");
    let args = container["args"].as_array().unwrap();
    assert_eq!(
        (&args[1], args.last().unwrap()),
        (&"--name=blue".into(), &"--parallelism=2".into())
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    use std::process::Stdio;

    let home = tempfile::tempdir().unwrap();
    let mut child = crate::support::capt(home.path())
        .args(["manifests", "crds"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn nonsense_is_refused_with_what_to_write_instead() {
    let home = tempfile::tempdir().unwrap();
    for (args, complaint) in [
        (&["up", "--listen", "16443"][..], "write HOST:PORT"),
        (&["up", "--parallelism", "0"], "write a whole number, 1 or more"),
        (
            &[
                "up",
                "--in-memory",
                "--listen",
                "127.0.0.1:0",
                "--engine-path",
                "/nowhere/terraform",
            ],
            "--engine-path /nowhere/terraform cannot be used",
        ),
        (
            &["controller", "--kubeconfig", "/nowhere/config"],
            "cannot use the kubeconfig /nowhere/config",
        ),
    ] {
        let output = run(home.path(), args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(
            stderr.contains("error:") && stderr.contains(complaint),
            "{stderr}"
        );
    }
}

/// Whatever makes no sense is wrong usage, and nothing is begun.
#[test]
fn arguments_that_contradict_each_other_are_named_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let election = |option: &'static str, value: &'static str| vec!["controller", option, value];
    for (args, complaints) in [
        (
            election("--leader-elect-renew-deadline", "20s"),
            &[
                "--leader-elect-renew-deadline 20s",
                "--leader-elect-lease-duration 15s",
                "the lease longer",
            ][..],
        ),
        (
            election("--leader-elect-retry-period", "10s"),
            &[
                "--leader-elect-retry-period 10s",
                "--leader-elect-renew-deadline 10s",
                "the deadline longer",
            ],
        ),
        (
            election("--leader-elect-lease-duration", "1500ms"),
            &["--leader-elect-lease-duration 1.5s", "whole seconds"],
        ),
        (
            vec!["runner", "--engine", "simulated", "--engine-path", "/bin/tofu"],
            &[
                "--engine simulated",
                "--engine-path /bin/tofu",
                "Leave out one of the two",
            ],
        ),
        (
            vec!["up", "--engine", "simulated", "--engine-path", "/bin/tofu"],
            &[
                "--engine simulated",
                "--engine-path /bin/tofu",
                "Leave out one of the two",
            ],
        ),
        (
            vec!["up", "--sandbox-allow", "/modules"],
            &["--sandbox-allow /modules", "--sandbox off", "leave it out"],
        ),
        (
            vec!["runner", "--sandbox", "off", "--sandbox-allow", "/modules"],
            &["--sandbox-allow /modules", "--sandbox off", "leave it out"],
        ),
        (
            vec!["up", "--runner", "blue", "--workspace-runner", "embedded"],
            &[
                "--runner",
                "--workspace-runner embedded",
                "Leave out one of the two",
            ],
        ),
        (vec!["up", "--runner", "a b"], &["--runner"]),
        (vec!["--log", "=/=", "version"], &["--log", "write a level"]),
    ] {
        let output = run(home.path(), &args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        for complaint in complaints {
            assert!(
                stderr.starts_with("error: ") && stderr.contains(complaint),
                "{args:?} does not say {complaint}: {stderr}"
            );
        }
    }
    let still = [
        "controller",
        "--leader-elect=false",
        "--leader-elect-renew-deadline",
        "20s",
    ];
    let output = run(
        home.path(),
        &[&still[..], &["--kubeconfig", "/nowhere/config"]].concat(),
    );
    assert_eq!(
        output.status.code(),
        Some(1),
        "nobody is elected, so that nothing contradicts"
    );
}

#[test]
fn what_is_not_for_people_is_not_shown_to_them() {
    assert!(!stdout(&["--help"]).contains("supervise"));
}
