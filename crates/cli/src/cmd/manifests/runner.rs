//! What runs Terraform on a cluster.

use anyhow::bail;
use capt_core::tenancy::NamespaceSet;
use capt_runner::{DURATIONS_CONFIG_MAP, SALT_SECRET};
use serde_json::{Value, json};

use super::{
    installation::{
        CHANGE, FINISH, Installation, LEASES, PART, READ, Rights, Rule, TELL, WRITE, container_security,
        pod_security, yaml as written,
    },
    parsed,
    tenants::{TenantArgs, refuse_system_namespaces},
};
use crate::Command;

/// What `capt runner` is called where it runs.
const PART_NAME: &str = "capt-runner";
/// The name of a runner that is given no other.
const DEFAULT_NAME: &str = "capt";
const HEALTH_PORT: u16 = 8081;
const METRICS_PORT: u16 = 8080;
/// The only folders that can be written. Terraform works below the first, in a folder that the runner makes for itself alone:
/// a volume is open to every user.
const WORK: &str = "/work";
const TEMPORARY: &str = "/tmp";

/// What the runner may do in a namespace: a Workspace may name any Secret and ConfigMap there. It makes no Workspace and
/// deletes none.
const IN_NAMESPACES: &[Rule] = &[
    Rule::new(&[""], &["secrets", "configmaps"], WRITE),
    // The lock of a state is named after its Workspace, so that no name is known before.
    Rule::new(LEASES.0, LEASES.1, &["get", "create", "update", "delete"]),
    Rule::new(&["events.k8s.io"], &["events"], TELL),
    Rule::new(&["tf.m.upbound.io"], &["workspaces"], CHANGE),
    Rule::new(&["tf.m.upbound.io"], &["workspaces/status"], PART),
    Rule::new(&["tf.m.upbound.io"], &["workspaces/finalizers"], FINISH),
    Rule::new(
        &["tf.m.upbound.io"],
        &["providerconfigs", "providerconfigusages"],
        READ,
    ),
];

/// What the runner may do beyond that where it works in all namespaces.
const OF_CLUSTER: &[Rule] = &[
    Rule::new(&["apiextensions.k8s.io"], &["customresourcedefinitions"], READ),
    Rule::new(&[""], &["namespaces"], &["get"]),
    Rule::new(&["tf.m.upbound.io"], &["clusterproviderconfigs"], READ),
    Rule::new(&["tf.upbound.io"], &["workspaces"], CHANGE),
    Rule::new(&["tf.upbound.io"], &["workspaces/status"], PART),
    Rule::new(&["tf.upbound.io"], &["workspaces/finalizers"], FINISH),
    Rule::new(
        &["tf.upbound.io"],
        &["providerconfigs", "providerconfigusages"],
        READ,
    ),
];

/// How it is installed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tenants: TenantArgs,

    /// The image that has capt in it, and terraform or tofu, and git if modules come from there
    #[arg(long, value_name = "IMAGE", default_value = concat!("capt-runner:", env!("CARGO_PKG_VERSION")))]
    image: String,

    /// Name of the runner, as Workspaces are labelled with it
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, value_parser = crate::args::label_value)]
    name: String,

    /// A Secret whose keys become environment variables of the process. Runs get AWS_* of it only in the namespaces of
    /// --own-credentials, an option for `capt runner`
    #[arg(long, value_name = "SECRET")]
    env_from_secret: Option<String>,

    /// Further options for `capt runner`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// The documents.
pub(super) fn yaml(args: &Args) -> anyhow::Result<String> {
    let options = options(args);
    let Command::Runner(runner) = parsed(&options) else {
        bail!("these are no options of capt runner: {}", options.join(" "));
    };
    let namespaces = args.tenants.checked(&runner.namespaces);
    let target = args.tenants.target();
    let home = runner.system_namespace.as_deref().unwrap_or(target);
    refuse_system_namespaces([home]);
    if let Some(secret) = &args.env_from_secret
        && runner.own_credentials.set().is_empty()
    {
        tracing::warn!(
            "runs get no AWS_* of --env-from-secret {secret}, because no namespace may use them: name those that may, with -- \
             --own-credentials NAMESPACE"
        );
    }
    // Several runners share an account only where each may do everything.
    let name = match namespaces {
        NamespaceSet::All => PART_NAME.to_owned(),
        NamespaceSet::Only(_) => instance(args),
    };
    let installation = Installation {
        part: PART_NAME,
        name,
        target,
        namespaces: &namespaces,
    };
    let own = match namespaces {
        NamespaceSet::All => Vec::new(),
        NamespaceSet::Only(_) => own_objects(&installation, home),
    };
    let rules = vec![
        Rule::new(&[""], &["secrets"], &["get", "update"]).named([SALT_SECRET]),
        Rule::new(&[""], &["configmaps"], &["get", "patch"]).named([DURATIONS_CONFIG_MAP]),
    ];
    let mut documents = installation.account(&Rights {
        in_namespaces: IN_NAMESPACES,
        of_cluster: OF_CLUSTER,
        at_home: (!own.is_empty())
            .then(|| (home.to_owned(), rules))
            .into_iter()
            .collect(),
    });
    documents.extend(own);
    documents.push(deployment(args, &options, &installation));
    written(&documents)
}

/// What a runner keeps about itself. It fills these, so that it needs no right to create anything in that namespace.
fn own_objects(installation: &Installation<'_>, home: &str) -> Vec<Value> {
    let object = |kind: &str, name: &str| {
        let metadata = installation.metadata(name, Some(home));
        json!({"apiVersion": "v1", "kind": kind, "metadata": metadata})
    };
    vec![
        object("Secret", SALT_SECRET),
        object("ConfigMap", DURATIONS_CONFIG_MAP),
    ]
}

/// What tells this runner's pods from those of others.
fn instance(args: &Args) -> String {
    match args.name.as_str() {
        DEFAULT_NAME => PART_NAME.to_owned(),
        other => format!("{PART_NAME}-{other}"),
    }
}

/// The arguments of the process.
fn options(args: &Args) -> Vec<String> {
    let mut options = vec![
        "runner".to_owned(),
        format!("--name={}", args.name),
        format!("--work-dir={WORK}/capt"),
        format!("--health-address=0.0.0.0:{HEALTH_PORT}"),
        format!("--metrics-address=0.0.0.0:{METRICS_PORT}"),
    ];
    options.extend(args.tenants.options());
    options.extend(args.options.iter().cloned());
    options
}

fn deployment(args: &Args, options: &[String], installation: &Installation<'_>) -> Value {
    let name = instance(args);
    let mut pod_labels = installation.labels();
    pod_labels["app.kubernetes.io/instance"] = json!(args.name);
    let mut container = json!({
        "name": "runner",
        "image": args.image,
        "command": ["capt"],
        "args": options,
        // Terraform and git look for settings there, and write some.
        "env": [{"name": "HOME", "value": WORK}],
        "ports": [
            {"name": "health", "containerPort": HEALTH_PORT},
            {"name": "metrics", "containerPort": METRICS_PORT},
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}},
        "volumeMounts": [
            {"name": "work", "mountPath": WORK},
            {"name": "temporary", "mountPath": TEMPORARY},
        ],
        "securityContext": container_security(),
    });
    if let Some(secret) = &args.env_from_secret {
        container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": installation.target, "labels": pod_labels},
        "spec": {
            "replicas": 1,
            // Two of one name would wait for each other's locks.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {
                "app.kubernetes.io/name": installation.part,
                "app.kubernetes.io/instance": args.name,
            }},
            "template": {
                "metadata": {"labels": pod_labels},
                "spec": {
                    "serviceAccountName": installation.name,
                    // Terraform gets 90 seconds to stop by itself, and its state is written after that.
                    "terminationGracePeriodSeconds": 120,
                    "securityContext": pod_security(),
                    "containers": [container],
                    "volumes": [
                        {"name": "work", "emptyDir": {}},
                        {"name": "temporary", "emptyDir": {}},
                    ],
                },
            },
        },
    })
}
