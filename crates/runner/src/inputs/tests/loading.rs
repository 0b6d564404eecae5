//! Environment, variables, files, provider configurations.

use serde_json::json;

use super::{Maps, cluster_scoped, loaded, namespaced, refused};
use crate::{
    engine::{Failure, FailureKind, Module},
    inputs::{BACKEND_FILE, CONFIG_FILE, ConfigKind, Home},
};

#[test]
fn everything_that_a_workspace_names_reaches_terraform() {
    let view = namespaced(json!({
        "forProvider": {
            "module": "variable \"a\" {}",
            "entrypoint": "sub/folder",
            "env": [
                {"name": "PLAIN", "value": "p"},
                {"name": "EMPTY"},
                {"name": "FROM_MAP", "configMapKeyRef": {"name": "settings", "key": "m"}},
                {"name": "FROM_SECRET", "secretKeyRef": {"name": "creds", "key": "s"}},
            ],
            "vars": [{"key": "b", "value": "2"}, {"key": "a", "value": "1"}],
            "varFiles": [
                {"source": "ConfigMapKey", "configMapKeyRef": {"name": "settings", "key": "tfvars"}},
                {"source": "SecretKey", "format": "JSON", "secretKeyRef": {"name": "creds", "key": "json"}},
            ],
            "varmap": {"list": [1, 2]},
            "initArgs": ["-upgrade"], "planArgs": ["-refresh=false"],
            "applyArgs": ["-parallelism=2"], "destroyArgs": ["-parallelism=1"],
        },
        "providerConfigRef": {"kind": "ProviderConfig", "name": "aws"},
    }));
    let maps = Maps::default()
        .config_map("team", "settings", "m", "from-map")
        .config_map("team", "settings", "tfvars", "c = 3")
        .secret("team", "creds", "s", "hidden-value")
        .secret("team", "creds", "json", "{\"d\": 4}")
        .secret("team", "aws", "ini", "[default]\n")
        .config(
            ConfigKind::Namespaced,
            "aws",
            json!({
                "credentials": [
                    {"filename": "sub/aws.ini", "source": "Secret", "secretRef": {"name": "aws", "key": "ini"}},
                    {"filename": "empty", "source": "None"},
                ],
                "configuration": "provider \"aws\" {}",
                "pluginCache": false,
            }),
        );
    let prepared = loaded(&view, &maps).unwrap();
    let inputs = prepared.inputs;
    assert_eq!(inputs.uid, "u-1");
    assert_eq!(inputs.terraform_workspace, "team-vpc-abc");
    assert_eq!(inputs.module, Module::Hcl("variable \"a\" {}".to_owned()));
    assert_eq!(inputs.entrypoint, "sub/folder");
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    assert_eq!(
        inputs.env,
        pairs(&[
            ("PLAIN", "p"),
            ("EMPTY", ""),
            ("FROM_MAP", "from-map"),
            ("FROM_SECRET", "hidden-value")
        ])
    );
    assert_eq!(inputs.vars, pairs(&[("b", "2"), ("a", "1")]));
    let files: Vec<(bool, &[u8])> = inputs
        .var_files
        .iter()
        .map(|file| (file.is_json, file.content.as_slice()))
        .collect();
    assert_eq!(
        files,
        [
            (false, &b"c = 3"[..]),
            (true, b"{\"d\": 4}"),
            (true, b"{\"list\":[1,2]}")
        ]
    );
    let files: Vec<(&str, &[u8])> = inputs
        .files
        .iter()
        .map(|file| (file.name.as_str(), file.content.as_slice()))
        .collect();
    assert_eq!(
        files,
        [
            ("aws.ini", &b"[default]\n"[..]),
            ("empty", b""),
            (CONFIG_FILE, b"provider \"aws\" {}")
        ]
    );
    assert_eq!(inputs.args.init, ["-upgrade"]);
    assert_eq!(inputs.args.plan, ["-refresh=false"]);
    assert_eq!(inputs.args.apply, ["-parallelism=2"]);
    assert_eq!(inputs.args.destroy, ["-parallelism=1"]);
    assert!(!inputs.plugin_cache);
    let objects: Vec<String> = prepared.objects.iter().map(ToString::to_string).collect();
    assert_eq!(
        objects,
        ["Secret team/aws", "Secret team/creds", "ConfigMap team/settings"]
    );
}

#[test]
fn a_value_in_place_counts_before_a_config_map_and_that_before_a_secret() {
    let both = json!({
        "name": "X",
        "configMapKeyRef": {"name": "o", "key": "k"},
        "secretKeyRef": {"name": "o", "key": "k"},
    });
    let mut all = both.clone();
    all["value"] = json!("in place");
    let mut empty = both.clone();
    empty["value"] = json!("");
    let maps = Maps::default()
        .config_map("team", "o", "k", "map")
        .secret("team", "o", "k", "secret");
    for (env, value) in [(both, "map"), (all, "in place"), (empty, "map")] {
        let view = namespaced(json!({"forProvider": {"env": [env.clone()]}}));
        assert_eq!(loaded(&view, &maps).unwrap().inputs.env[0].1, value, "{env}");
    }
}

#[test]
fn modules_are_told_apart() {
    let cases = [
        (
            json!({"source": "Inline", "module": "{}", "inlineFormat": "JSON"}),
            Module::Json("{}".to_owned()),
        ),
        (
            json!({"source": "Inline", "module": "a", "inlineFormat": "HCL"}),
            Module::Hcl("a".to_owned()),
        ),
        (
            json!({"source": "Remote", "module": "git::https://x", "remotePullPolicy": "IfNotPresent"}),
            Module::Remote {
                address: "git::https://x".to_owned(),
                if_not_present: true,
            },
        ),
        (
            json!({"source": "Remote", "module": "./x"}),
            Module::Remote {
                address: "./x".to_owned(),
                if_not_present: false,
            },
        ),
    ];
    for (for_provider, module) in cases {
        let view = namespaced(json!({"forProvider": for_provider}));
        assert_eq!(loaded(&view, &Maps::default()).unwrap().inputs.module, module);
    }
}

#[test]
fn what_is_missing_is_named() {
    let secret = |key: &str| json!({"name": "X", "secretKeyRef": {"name": "creds", "key": key}});
    let cases = [
        (
            json!({"forProvider": {"env": [secret("k")]}}),
            "Secret team/creds is not there, but spec.forProvider.env[0].secretKeyRef reads its key \"k\"",
        ),
        (
            json!({"forProvider": {"env": [
                {"name": "Y", "configMapKeyRef": {"name": "there", "key": "other"}},
            ]}}),
            "ConfigMap team/there has no key \"other\", but spec.forProvider.env[0].configMapKeyRef reads it",
        ),
        (
            json!({"forProvider": {"varFiles": [
                {"source": "SecretKey", "secretKeyRef": {"name": "creds", "key": "k"}},
            ]}}),
            "Secret team/creds is not there, but spec.forProvider.varFiles[0].secretKeyRef reads its key \"k\"",
        ),
        (
            json!({"providerConfigRef": {"kind": "ProviderConfig", "name": "aws"}}),
            "ProviderConfig team/aws is not there",
        ),
        (
            json!({"providerConfigRef": {"kind": "ProviderConfig", "name": "default"}}),
            "ProviderConfig team/default is not there",
        ),
        (
            json!({"providerConfigRef": {"name": "aws"}}),
            "ClusterProviderConfig aws is not there",
        ),
        (
            json!({"providerConfigRef": {"kind": "Other", "name": "aws"}}),
            "is \"Other\": write ProviderConfig or",
        ),
    ];
    let maps = Maps::default().config_map("team", "there", "k", "v");
    for (spec, words) in cases {
        let told = refused(&namespaced(spec), &maps);
        assert!(told.contains(words), "{told}");
    }
    let told = refused(
        &cluster_scoped(json!({"providerConfigRef": {"name": "aws"}})),
        &maps,
    );
    assert!(
        told.contains("ProviderConfig aws of tf.upbound.io is not there"),
        "{told}"
    );
}

#[test]
fn the_default_configuration_need_not_exist() {
    let specs = [
        json!({}),
        json!({"providerConfigRef": {"name": "default"}}),
        json!({"providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"}}),
    ];
    for spec in specs {
        loaded(&namespaced(spec), &Maps::default()).unwrap();
    }
    loaded(&cluster_scoped(json!({})), &Maps::default()).unwrap();
    // If it is there, it counts.
    let maps = Maps::default().config(ConfigKind::Cluster, "default", json!({"configuration": "# here"}));
    assert_eq!(
        loaded(&namespaced(json!({})), &maps).unwrap().inputs.files.len(),
        1
    );
}

#[test]
fn a_namespaced_workspace_reads_its_own_namespace_only() {
    let maps = Maps::default()
        .secret("other", "creds", "k", "stolen")
        .secret("team", "creds", "k", "own")
        .config(
            ConfigKind::Namespaced,
            "aws",
            json!({"credentials": [{
                "filename": "f", "source": "Secret",
                "secretRef": {"namespace": "other", "name": "creds", "key": "k"},
            }]}),
        )
        .config(
            ConfigKind::Cluster,
            "shared",
            json!({"credentials": [{
                "filename": "f", "source": "Secret",
                "secretRef": {"namespace": "other", "name": "creds", "key": "k"},
            }]}),
        );
    let key = |namespace: &str| json!({"namespace": namespace, "name": "creds", "key": "k"});
    for spec in [
        json!({"forProvider": {"env": [{"name": "X", "secretKeyRef": key("other")}]}}),
        json!({"forProvider": {"varFiles": [{"source": "SecretKey", "secretKeyRef": key("other")}]}}),
        json!({"providerConfigRef": {"kind": "ProviderConfig", "name": "aws"}}),
    ] {
        let told = refused(&namespaced(spec), &maps);
        assert!(
            told.contains("Secret other/creds, which is in another namespace"),
            "{told}"
        );
    }
    let own = namespaced(json!({"forProvider": {"env": [{"name": "X", "secretKeyRef": key("team")}]}}));
    assert_eq!(loaded(&own, &maps).unwrap().inputs.env[0].1, "own");
    // Who writes a ClusterProviderConfig may read everything anyway.
    let shared =
        namespaced(json!({"providerConfigRef": {"kind": "ClusterProviderConfig", "name": "shared"}}));
    assert_eq!(loaded(&shared, &maps).unwrap().inputs.files[0].content, b"stolen");
}

#[test]
fn a_cluster_scoped_workspace_must_say_which_namespace_it_reads() {
    let env = |key| json!({"forProvider": {"env": [{"name": "X", "secretKeyRef": key}]}});
    let maps = Maps::default().secret("anywhere", "creds", "k", "v");
    let told = refused(&cluster_scoped(env(json!({"name": "creds", "key": "k"}))), &maps);
    assert!(told.contains("name the namespace"), "{told}");
    let view = cluster_scoped(env(json!({"namespace": "anywhere", "name": "creds", "key": "k"})));
    assert_eq!(loaded(&view, &maps).unwrap().inputs.env[0].1, "v");
}

#[test]
fn credentials_come_from_the_runners_machine_too() {
    let mut maps = Maps::default().config(
        ConfigKind::Cluster,
        "default",
        json!({"credentials": [
            {"filename": "a", "source": "Environment", "env": {"name": "CREDS"}},
            {"filename": "b", "source": "Filesystem", "fs": {"path": "/etc/creds"}},
        ]}),
    );
    let view = namespaced(json!({}));
    let told = refused(&view, &maps);
    assert!(
        told.contains("the environment variable CREDS of the runner, which is not set"),
        "{told}"
    );
    maps.environment.insert("CREDS".to_owned(), "from-env".to_owned());
    let told = refused(&view, &maps);
    assert!(
        told.contains("the file /etc/creds of the runner's machine"),
        "{told}"
    );
    maps.files.insert("/etc/creds".into(), "from-file".to_owned());
    let files = loaded(&view, &maps).unwrap().inputs.files;
    assert_eq!(
        (files[0].content.as_slice(), files[1].content.as_slice()),
        (&b"from-env"[..], &b"from-file"[..])
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let config = |content| Maps::default().config(ConfigKind::Cluster, "default", content);
    let cases = [
        (
            json!({"forProvider": {"source": "Flux", "module": "GitRepository::a/b"}}),
            Maps::default(),
            "use Remote",
        ),
        (
            json!({"forProvider": {"entrypoint": "../up"}}),
            Maps::default(),
            "a folder inside it",
        ),
        (
            json!({"forProvider": {"entrypoint": "/etc"}}),
            Maps::default(),
            "a folder inside it",
        ),
        (
            json!({"forProvider": {"env": [{"name": "A=B", "value": "x"}]}}),
            Maps::default(),
            "env[0] is not text",
        ),
        (
            json!({}),
            config(json!({"credentials": [{"filename": "..", "source": "None"}]})),
            "no name for a file",
        ),
        (
            json!({}),
            config(json!({"credentials": [{"filename": "x", "source": "InjectedIdentity"}]})),
            "use None",
        ),
        (
            json!({}),
            config(json!({"credentials": [{"filename": "x", "source": "Secret"}]})),
            "name the Secret and the key",
        ),
    ];
    for (spec, maps, words) in cases {
        let error = loaded(&namespaced(spec), &maps).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.is_transient());
        assert_eq!(Failure::from(error).kind, FailureKind::InvalidInput);
    }
}

#[test]
fn the_hash_differs_whenever_anything_does() {
    let with = |for_provider| namespaced(json!({"forProvider": for_provider}));
    let maps = |value: &str| {
        Maps::default().secret("team", "creds", "k", value).config(
            ConfigKind::Cluster,
            "default",
            json!({"configuration": "# 1"}),
        )
    };
    let env = json!([{"name": "X", "secretKeyRef": {"name": "creds", "key": "k"}}]);
    let base = json!({"env": env});
    let hash = |for_provider, maps: &Maps| loaded(&with(for_provider), maps).unwrap().hash;
    let first = hash(base.clone(), &maps("v"));
    assert_eq!(hash(base.clone(), &maps("v")), first);
    let mut seen = vec![first, hash(base, &maps("w"))];
    for change in [
        json!({"env": env, "vars": [{"key": "a", "value": "bc"}]}),
        json!({"env": env, "vars": [{"key": "ab", "value": "c"}]}),
        json!({"env": env, "varmap": {"a": "bc"}}),
        json!({"env": env, "entrypoint": "x"}),
        json!({"env": env, "planArgs": ["x"]}),
        json!({"env": env, "applyArgs": ["x"]}),
        json!({"env": env, "module": "# other"}),
        json!({"env": env, "module": "# other", "inlineFormat": "JSON"}),
        json!({"env": [{"name": "X", "value": "v"}, {"name": "Y", "value": ""}]}),
    ] {
        seen.push(hash(change, &maps("v")));
    }
    let other_config = maps("v").config(ConfigKind::Cluster, "default", json!({"configuration": "# 2"}));
    seen.push(hash(json!({"env": env}), &other_config));
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn settings_of_a_backend_reach_terraform_only_if_it_uses_one() {
    let maps = |kind: &str| {
        Maps::default().config(
            ConfigKind::Cluster,
            "default",
            json!({
                "configuration": format!("terraform {{\n  backend \"{kind}\" {{}}\n}}"),
                "backendFile": "bucket = \"b\"",
            }),
        )
    };
    let view = namespaced(json!({"forProvider": {
        "initArgs": ["-backend-config=x=y", "-upgrade", "-backend-config", "z=1", "--backend-config=q=1"],
    }}));
    let prepared = loaded(&view, &maps("s3")).unwrap();
    assert!(matches!(prepared.home, Home::Backend(_)));
    assert_eq!(prepared.inputs.files.last().unwrap().name, BACKEND_FILE);
    assert_eq!(
        prepared.inputs.args.init[0],
        format!("-backend-config={BACKEND_FILE}")
    );
    assert_eq!(prepared.inputs.args.init.len(), 6);

    let view = cluster_scoped(
        serde_json::to_value(json!({"forProvider": {
            "initArgs": ["-backend-config=x=y", "-upgrade", "-backend-config", "z=1", "--backend-config=q=1"],
        }}))
        .unwrap(),
    );
    let legacy = Maps::default().config(
        ConfigKind::Legacy,
        "default",
        json!({"configuration": "terraform {\n  backend \"kubernetes\" {}\n}", "backendFile": "secret_suffix = \"b\""}),
    );
    let prepared = loaded(&view, &legacy).unwrap();
    assert!(matches!(prepared.home, Home::Ours(_)));
    assert_eq!(prepared.inputs.files.last().unwrap().name, CONFIG_FILE);
    assert_eq!(prepared.inputs.args.init, ["-upgrade"]);
}
