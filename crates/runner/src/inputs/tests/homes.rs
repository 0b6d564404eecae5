//! Where state lives.

use serde_json::{Value, json};

use super::{Maps, cluster_scoped, loaded, namespaced, refused};
use crate::{
    inputs::{ConfigKind, Home},
    view::WorkspaceView,
};

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: here
contexts:
- {name: here, context: {cluster: ours, user: me}}
- {name: there, context: {cluster: theirs, user: me}}
clusters:
- {name: ours, cluster: {server: 'https://10.0.0.1:6443/'}}
- {name: theirs, cluster: {server: 'https://elsewhere:6443'}}
users:
- {name: me, user: {}}
";

fn terraform(block: &str) -> String {
    format!("terraform {{\n{block}\n}}\nresource \"terraform_data\" \"x\" {{}}\n")
}

fn module(text: &str) -> Value {
    json!({"forProvider": {"module": text}})
}

fn maps(config: Value) -> Maps {
    let mut maps = Maps::default()
        .config(ConfigKind::Cluster, "default", config.clone())
        .config(ConfigKind::Legacy, "default", config.clone())
        .config(ConfigKind::Namespaced, "own", config);
    maps.files.insert("/k".into(), KUBECONFIG.to_owned());
    maps.environment.insert("HOME".to_owned(), "/h".to_owned());
    maps.files.insert("/h/.kube/config".into(), KUBECONFIG.to_owned());
    maps
}

fn home(view: &WorkspaceView, config: Value) -> String {
    match loaded(view, &maps(config)) {
        Ok(prepared) => match prepared.home {
            // The hash in a description is of no interest here.
            Home::Backend(words) => words.rsplit_once(' ').unwrap().0.to_owned(),
            ours @ Home::Ours(_) => ours.name(),
        },
        Err(error) => format!("refused: {error}"),
    }
}

#[test]
fn a_backend_in_the_module_decides() {
    let own = "secret/team/tfstate-team-vpc-abc-capt";
    let cases = [
        ("", own),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"team\"\n}",
            "secret/team/tfstate-team-vpc-abc-s",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"team\"\n in_cluster_config = true\n}",
            "secret/team/tfstate-team-vpc-abc-s",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"team\"\n host = \"https://10.0.0.1:6443\"\n}",
            "secret/team/tfstate-team-vpc-abc-s",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n host = \"https://else:6443\"\n}",
            "backend kubernetes",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n host = var.host\n}",
            "backend kubernetes",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"team\"\n config_path = \"/k\"\n}",
            "backend kubernetes",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"team\"\n config_path = \"~/.kube/config\"\n}",
            "backend kubernetes",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n config_paths = [\"/k\"]\n config_context = \"there\"\n}",
            "backend kubernetes",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"s\"\n config_path = \"/none\"\n}",
            "backend kubernetes",
        ),
        ("backend \"s3\" {\n bucket = \"b\"\n}", "backend s3"),
        ("backend \"local\" {}", own),
        ("backend \"local\" {\n path = \"/data/state\"\n}", own),
        ("backend \"local\" {\n workspace_dir = \"states\"\n}", own),
        (
            "backend \"local\" {\n workspace_dir = \"/data\"\n}",
            "backend local",
        ),
        ("cloud {\n organization = \"o\"\n}", "backend cloud"),
    ];
    for (block, expected) in cases {
        let view = namespaced(module(&terraform(block)));
        assert_eq!(home(&view, json!({})), expected, "{block}");
        // A provider configuration of the same namespace says the same.
        let mut spec = module("");
        spec["forProvider"]["module"] = json!("# nothing");
        spec["providerConfigRef"] = json!({"kind": "ProviderConfig", "name": "own"});
        let configured = home(&namespaced(spec), json!({"configuration": terraform(block)}));
        assert_eq!(configured, expected, "{block}");
    }
}

#[test]
fn json_says_the_same() {
    let own = "secret/team/tfstate-team-vpc-abc-capt";
    let kubernetes = json!({"secret_suffix": "s", "namespace": "team"});
    let cases = [
        (json!({"output": {}}), own),
        (
            json!({"terraform": {"backend": {"kubernetes": kubernetes}}}),
            "secret/team/tfstate-team-vpc-abc-s",
        ),
        (
            json!({"terraform": [{"backend": [{"kubernetes": [kubernetes]}]}]}),
            "secret/team/tfstate-team-vpc-abc-s",
        ),
        (
            json!({"terraform": {"cloud": {"organization": "o"}}}),
            "backend cloud",
        ),
        (json!({"terraform": {"backend": {"s3": {}}}}), "backend s3"),
    ];
    for (text, expected) in cases {
        let mut spec = module(&text.to_string());
        spec["forProvider"]["inlineFormat"] = json!("JSON");
        assert_eq!(home(&namespaced(spec), json!({})), expected, "{text}");
    }
}

#[test]
fn settings_come_from_file_arguments_and_environment_too() {
    let block = terraform("backend \"kubernetes\" {\n secret_suffix = \"s\"\n}");
    let with = |more: Value| {
        let mut spec = module(&block);
        for (name, value) in more.as_object().unwrap() {
            spec["forProvider"][name] = value.clone();
        }
        namespaced(spec)
    };
    let file = |text: &str| json!({"backendFile": text});
    let env = |name: &str, value: &str| json!({"env": [{"name": name, "value": value}]});
    let own = "secret/team/tfstate-team-vpc-abc-s";
    let cases = [
        (with(json!({})), file("namespace = \"team\""), own),
        (
            with(json!({})),
            file("namespace = \"team\"\nsecret_suffix = \"f\""),
            "secret/team/tfstate-team-vpc-abc-f",
        ),
        (
            with(json!({"initArgs": ["-backend-config=namespace=team"]})),
            json!({}),
            own,
        ),
        (
            with(json!({"initArgs": ["-backend-config", "secret_suffix=a"]})),
            file("namespace = \"team\""),
            "secret/team/tfstate-team-vpc-abc-a",
        ),
        // What a file on the runner's machine says is not known.
        (
            with(json!({"initArgs": ["-backend-config=some.tfbackend"]})),
            json!({}),
            "backend kubernetes",
        ),
        (with(env("KUBE_NAMESPACE", "team")), json!({}), own),
        (
            with(env("KUBE_HOST", "https://else")),
            json!({}),
            "backend kubernetes",
        ),
        (
            with(env("KUBE_CONFIG_PATH", "/k")),
            file("namespace = \"team\""),
            "backend kubernetes",
        ),
    ];
    for (view, config, expected) in cases {
        assert_eq!(
            home(&view, config.clone()),
            expected,
            "{:?} {config}",
            view.for_provider
        );
    }
    // A remote module may have any backend; settings for it show that it has one.
    let remote = |spec: Value| namespaced(json!({"forProvider": spec}));
    let source = json!({"source": "Remote", "module": "git::x"});
    assert_eq!(
        home(&remote(source.clone()), json!({})),
        "secret/team/tfstate-team-vpc-abc-capt"
    );
    assert_eq!(home(&remote(source), file("bucket = \"b\"")), "backend of the");
}

#[test]
fn only_an_administrator_can_keep_state_in_another_namespace() {
    let block = terraform("backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"other\"\n}");
    let config = json!({"configuration": block});
    let elsewhere = "secret/other/tfstate-team-vpc-abc-s";
    let own_name = capt_core::names::external_name("team", "vpc");
    let mut named = namespaced(json!({}));
    let mark = (
        capt_api::foreign::marks::EXTERNAL_NAME.to_owned(),
        own_name.clone(),
    );
    named.annotations.extend([mark]);
    assert_eq!(
        home(&named, config.clone()),
        format!("secret/other/tfstate-{own_name}-s")
    );
    assert_eq!(home(&cluster_scoped(json!({})), config.clone()), elsewhere);
    assert_eq!(home(&cluster_scoped(module(&block)), json!({})), elsewhere);
    let own_config = json!({"providerConfigRef": {"kind": "ProviderConfig", "name": "own"}});
    let anywhere = terraform("backend \"kubernetes\" {\n secret_suffix = \"s\"\n}");
    for (view, config) in [
        (namespaced(module(&block)), json!({})),
        (
            namespaced(json!({"forProvider": {"env": [{"name": "KUBE_NAMESPACE", "value": "third"}]}})),
            json!({"configuration": anywhere}),
        ),
        (namespaced(own_config), config.clone()),
        (
            namespaced(json!({"forProvider": {"initArgs": ["-backend-config=namespace=third"]}})),
            config,
        ),
    ] {
        let told = refused(&view, &maps(config));
        assert!(told.contains("a Workspace keeps its state in its own"), "{told}");
    }
}

#[test]
fn a_cluster_scoped_workspace_has_a_home_too() {
    let mut view = cluster_scoped(json!({}));
    assert_eq!(
        home(&view, json!({})),
        "secret/runner-home/tfstate-team-vpc-abc-capt"
    );
    view.labels
        .insert(capt_api::marks::WTA_NAMESPACE.to_owned(), "tenant".to_owned());
    let tenants = "secret/tenant/tfstate-team-vpc-abc-capt";
    assert_eq!(home(&view, json!({})), tenants);
    let mut retained = view.clone();
    retained.labels.clear();
    retained
        .annotations
        .insert(capt_api::marks::STATE_HOME.to_owned(), tenants.to_owned());
    assert_eq!(home(&retained, json!({})), tenants, "what is kept does not move");
    view.annotations.clear();
    assert_eq!(home(&view, json!({})), "secret/tenant/tfstate-vpc-capt");
}

#[test]
fn what_cannot_be_decided_is_refused() {
    let cases = [
        (
            namespaced(module(&terraform(
                "backend \"kubernetes\" {\n secret_suffix = var.s\n namespace = \"team\"\n}",
            ))),
            json!({}),
            "secret_suffix of the backend is not a constant",
        ),
        (
            namespaced(module(&terraform("backend \"s3\" {}"))),
            json!({"configuration": terraform("backend \"s3\" {}")}),
            "both the module and the provider configuration",
        ),
        (
            namespaced(module("terraform {\n backend \"s3\" {\n")),
            json!({}),
            "spec.forProvider.module cannot be read: line",
        ),
        (
            namespaced(json!({})),
            json!({"backendFile": "= x"}),
            "spec.backendFile",
        ),
        (
            namespaced(module(&terraform(
                "backend \"kubernetes\" {\n secret_suffix = \"s-1\"\n namespace = \"team\"\n}",
            ))),
            json!({}),
            "cannot be kept",
        ),
    ];
    for (view, config, words) in cases {
        let told = refused(&view, &maps(config));
        assert!(told.contains(words), "{told}");
    }
    // Terraform explains better what is wrong with a module that has no backend.
    assert_eq!(
        home(&namespaced(module("resource {{{")), json!({})),
        "secret/team/tfstate-team-vpc-abc-capt"
    );
}

#[test]
fn state_that_would_be_looked_for_elsewhere_is_noticed() {
    let home = loaded(&namespaced(json!({})), &Maps::default()).unwrap().home;
    home.check(None).unwrap();
    home.check(Some("")).unwrap();
    home.check(Some(&home.name())).unwrap();
    let moved = home
        .check(Some("secret/team/tfstate-team-vpc-abc-other"))
        .unwrap_err();
    assert!(
        moved.to_string().contains("tfstate-team-vpc-abc-other"),
        "{moved}"
    );

    let described = |bucket: &str| {
        let text = terraform(&format!("backend \"s3\" {{\n bucket = \"{bucket}\"\n}}"));
        loaded(&namespaced(module(&text)), &Maps::default()).unwrap().home
    };
    assert_eq!(described("a"), described("a"));
    assert!(described("a").check(Some(&described("b").name())).is_err());
    assert!(!described("hidden-bucket").name().contains("hidden-bucket"));
}

#[test]
fn what_was_written_down_leads_nowhere_else() {
    let recorded = |mut view: WorkspaceView, written: &str| {
        view.annotations
            .insert(capt_api::marks::STATE_HOME.to_owned(), written.to_owned());
        Home::recorded(&view).map(|place| Home::Ours(place).name())
    };
    let own = "secret/team/tfstate-team-vpc-abc-capt";
    let other = "secret/other/tfstate-team-vpc-abc-capt";
    assert_eq!(recorded(namespaced(json!({})), own).as_deref(), Some(own));
    assert_eq!(recorded(namespaced(json!({})), other), None);
    assert_eq!(recorded(cluster_scoped(json!({})), other).as_deref(), Some(other));
    for wrong in [
        "",
        "backend s3 abc",
        "secret/team",
        "secret/team/tfstate-somebody-capt",
        "secret/team/tfstate-team-vpc-abc",
    ] {
        assert_eq!(recorded(namespaced(json!({})), wrong), None, "{wrong}");
    }
}
