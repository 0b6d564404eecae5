//! A Workspace of a tenant reads, writes and keeps state in its own namespace, and learns nothing of the runner's machine.

use capt_api::marks;
use capt_core::{names, tenancy::NamespaceSet};
use serde_json::{Value, json};

use super::{Maps, cluster_scoped, loaded, namespaced, refused};
use crate::{
    inputs::{ConfigKind, Home},
    view::WorkspaceView,
};

/// A cluster-scoped Workspace that a WorkspaceTemplateApply of namespace `team` made.
fn of_team(spec: Value) -> WorkspaceView {
    let mut view = cluster_scoped(spec);
    let label = (marks::WTA_NAMESPACE.to_owned(), "team".to_owned());
    view.labels.extend([label]);
    view
}

/// The same, marked by an administrator as made by the Go implementation.
fn legacy(spec: Value) -> WorkspaceView {
    let mut view = of_team(spec);
    let mark = (marks::LEGACY_OF.to_owned(), "team/vpc-apply".to_owned());
    view.annotations.extend([mark]);
    view
}

fn maps() -> Maps {
    Maps::default()
        .secret("victim", "s", "k", "victims-value")
        .secret("team", "s", "k", "own-value")
        .config(ConfigKind::Legacy, "default", json!({}))
        .config(ConfigKind::Cluster, "default", json!({}))
}

#[test]
fn secrets_of_another_namespace_are_read_by_administrators_only() {
    let key = |namespace: &str| json!({"namespace": namespace, "name": "s", "key": "k"});
    let specs = |namespace: &str| {
        [
            json!({"forProvider": {"env": [{"name": "A", "secretKeyRef": key(namespace)}]}}),
            json!({"forProvider": {"varFiles": [{"source": "SecretKey", "secretKeyRef": key(namespace)}]}}),
        ]
    };
    for (victims, own) in specs("victim").into_iter().zip(specs("team")) {
        // The victim is there, and an administrator's Workspace reads it.
        for view in [cluster_scoped(victims.clone()), legacy(victims.clone())] {
            let inputs = loaded(&view, &maps()).unwrap().inputs;
            let env = inputs.env.into_iter().map(|(_, value)| value.into_bytes());
            let mut read = env.chain(inputs.var_files.into_iter().map(|file| file.content));
            assert_eq!(read.next().as_deref(), Some(&b"victims-value"[..]));
        }
        loaded(&of_team(own), &maps()).unwrap();
        let words = refused(&of_team(victims), &maps());
        assert!(
            words.contains("Secret victim/s") && words.contains("another namespace"),
            "{words}"
        );
    }
}

#[test]
fn outputs_are_written_to_the_own_namespace_only() {
    let spec = |namespace: &str| json!({"forProvider": {}, "writeConnectionSecretToRef": {"namespace": namespace, "name": "out"}});
    for view in [
        cluster_scoped(spec("victim")),
        legacy(spec("victim")),
        of_team(spec("team")),
    ] {
        loaded(&view, &maps()).unwrap();
    }
    let words = refused(&of_team(spec("victim")), &maps());
    assert!(
        words.contains("spec.writeConnectionSecretToRef names Secret victim/out"),
        "{words}"
    );
}

#[test]
fn state_stays_in_the_own_namespace_for_both_groups() {
    let module =
        "terraform {\n backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"kube-system\"\n }\n}";
    let spec = json!({"forProvider": {"module": module}});
    let namespace = |view: &WorkspaceView| match loaded(view, &maps()).unwrap().home {
        Home::Ours(place) => place.namespace,
        Home::Backend(words) => words,
    };
    assert_eq!(namespace(&cluster_scoped(spec.clone())), "kube-system");
    assert_eq!(namespace(&legacy(spec.clone())), "kube-system");
    for view in [of_team(spec.clone()), namespaced(spec)] {
        let words = refused(&view, &maps());
        assert!(
            words.contains("keeps state in namespace \"kube-system\""),
            "{words}"
        );
    }
}

#[test]
fn in_a_namespace_that_several_share_state_has_the_name_of_its_owner() {
    let configuration =
        "terraform {\n backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"states\"\n }\n}";
    let shared = || {
        let config = json!({"configuration": configuration});
        Maps::default()
            .config(ConfigKind::Cluster, "default", config.clone())
            .config(ConfigKind::Legacy, "default", config)
    };
    let own = names::external_name("team", "vpc");
    for (external_name, is_accepted) in [(own.as_str(), true), ("victim-vpc-abc", false), ("vpc", false)] {
        for mut view in [
            namespaced(json!({"forProvider": {}})),
            of_team(json!({"forProvider": {}})),
        ] {
            let mark = (
                capt_api::foreign::marks::EXTERNAL_NAME.to_owned(),
                external_name.to_owned(),
            );
            view.annotations.extend([mark]);
            match loaded(&view, &shared()) {
                Ok(prepared) => assert!(is_accepted && prepared.home.name().starts_with("secret/states/")),
                Err(error) => assert!(!is_accepted && error.to_string().contains(&own), "{error}"),
            }
        }
    }
}

#[test]
fn a_tenant_reads_neither_the_environment_nor_the_files_of_the_runner() {
    for (source, extra) in [
        ("Environment", json!({"env": {"name": "TOKEN"}})),
        ("Filesystem", json!({"fs": {"path": "/token"}})),
        ("InjectedIdentity", json!({})),
    ] {
        let mut credential = json!({"filename": "f", "source": source});
        for (name, value) in extra.as_object().unwrap() {
            credential[name] = value.clone();
        }
        let mut maps = maps()
            .config(
                ConfigKind::Namespaced,
                "own",
                json!({"credentials": [credential.clone()]}),
            )
            .config(
                ConfigKind::Cluster,
                "shared",
                json!({"credentials": [credential]}),
            );
        maps.environment.insert("TOKEN".to_owned(), "runner".to_owned());
        maps.files.insert("/token".into(), "runner".to_owned());
        let using = |kind: &str, name: &str| {
            namespaced(json!({"forProvider": {}, "providerConfigRef": {"kind": kind, "name": name}}))
        };
        // The victim is there: an administrator's configuration reads it.
        if source != "InjectedIdentity" {
            let prepared = loaded(&using("ClusterProviderConfig", "shared"), &maps).unwrap();
            assert_eq!(prepared.inputs.files[0].content, b"runner");
        }
        let words = refused(&using("ProviderConfig", "own"), &maps);
        assert!(words.contains(&format!("has the source {source}")), "{words}");
    }
}

#[test]
fn a_backend_of_a_tenant_does_not_make_the_runner_read_a_kubeconfig() {
    let module = "terraform {\n backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"team\"\n config_path = \"/k\"\n }\n}";
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: o, user: u}}]\n\
                      clusters: [{name: o, cluster: {server: 'https://10.0.0.1:6443'}}]\nusers: [{name: u, user: {}}]\n";
    let mut with_file = maps();
    with_file.files.insert("/k".into(), kubeconfig.to_owned());
    let home = |view: &WorkspaceView, maps: &Maps| loaded(view, maps).unwrap().home;
    let spec = json!({"forProvider": {"module": module}});
    // An administrator's Workspace is recognised as one on this API server.
    assert!(matches!(
        home(&cluster_scoped(spec.clone()), &with_file),
        Home::Ours(_)
    ));
    for view in [namespaced(spec.clone()), of_team(spec)] {
        assert_eq!(
            home(&view, &with_file),
            home(&view, &maps()),
            "the file makes no difference"
        );
    }
}

#[test]
fn a_provider_configuration_is_used_by_the_namespaces_that_it_allows() {
    let spec = || json!({"forProvider": {}});
    for (allowed, is_accepted) in [
        ("team", true),
        ("other, team", true),
        ("*", true),
        ("", false),
        ("other", false),
    ] {
        let mut maps = maps();
        maps.allowed = Some(NamespaceSet::parse(allowed));
        loaded(&cluster_scoped(spec()), &maps).unwrap();
        for view in [namespaced(spec()), of_team(spec()), legacy(spec())] {
            match loaded(&view, &maps) {
                Ok(_) => assert!(is_accepted, "{allowed}"),
                Err(error) => {
                    let words = error.to_string();
                    assert!(
                        !is_accepted && words.contains("does not allow namespace team"),
                        "{words}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_run_inherits_the_identity_of_the_process_where_the_operator_lists_its_namespace() {
    use futures::FutureExt as _;
    for (listed, expected) in [
        (NamespaceSet::none(), false),
        (NamespaceSet::only(["other"]), false),
        (NamespaceSet::only(["team"]), true),
        (NamespaceSet::All, true),
    ] {
        let surroundings = super::super::Surroundings {
            own_credentials: listed,
            ..super::surroundings()
        };
        for view in [
            namespaced(json!({"forProvider": {}})),
            of_team(json!({"forProvider": {}})),
        ] {
            let prepared = super::load(&view, &maps(), &surroundings)
                .now_or_never()
                .unwrap()
                .unwrap();
            assert_eq!(prepared.inputs.inherits_identity, expected);
        }
    }
}
