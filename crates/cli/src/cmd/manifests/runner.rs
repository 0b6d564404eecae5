//! What runs Terraform on a cluster.

use serde_json::{Value, json};

use super::check_arguments;
use super::installation::{
    CHANGE, FINISH, Installation, PART, READ, Rule, TELL, WRITE, container_security, pod_security,
    yaml as written,
};

const HEALTH_PORT: u16 = 8081;
const METRICS_PORT: u16 = 8080;
/// Where Terraform works: the only folders that can be written.
const WORK: &str = "/work";
const TEMPORARY: &str = "/tmp";

/// What the runner may do: groups, resources, verbs.
///
/// A Workspace may name Secrets, ConfigMaps and its state in any namespace, so they are needed everywhere. It makes no
/// Workspace and deletes none.
const RULES: &[Rule] = &[
    (&["apiextensions.k8s.io"], &["customresourcedefinitions"], READ),
    (&[""], &["namespaces"], READ),
    (&[""], &["secrets", "configmaps"], WRITE),
    (&["coordination.k8s.io"], &["leases"], WRITE),
    (&["events.k8s.io"], &["events"], TELL),
    (&["tf.m.upbound.io", "tf.upbound.io"], &["workspaces"], CHANGE),
    (
        &["tf.m.upbound.io", "tf.upbound.io"],
        &["workspaces/status"],
        PART,
    ),
    (
        &["tf.m.upbound.io", "tf.upbound.io"],
        &["workspaces/finalizers"],
        FINISH,
    ),
    (
        &["tf.m.upbound.io", "tf.upbound.io"],
        &[
            "providerconfigs",
            "clusterproviderconfigs",
            "providerconfigusages",
        ],
        READ,
    ),
];

/// How it is installed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Namespace to install it in, which is made
    #[arg(short, long, value_name = "NAMESPACE", default_value = "capt-system")]
    namespace: String,

    /// The image that has capt in it, and terraform or tofu, and git if modules come from there
    #[arg(long, value_name = "IMAGE", default_value = concat!("capt-runner:", env!("CARGO_PKG_VERSION")))]
    image: String,

    /// Name of the runner, as Workspaces are labelled with it
    #[arg(long, value_name = "NAME", default_value = "capt", value_parser = crate::args::label_value)]
    name: String,

    /// A Secret whose keys get environment variables of Terraform, such as credentials
    #[arg(long, value_name = "SECRET")]
    env_from_secret: Option<String>,

    /// Further options for `capt runner`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// The documents.
pub(super) fn yaml(args: &Args) -> anyhow::Result<String> {
    let installation = Installation {
        name: "capt-runner",
        namespace: &args.namespace,
        rules: RULES,
        home_rules: &[],
    };
    let mut documents = installation.account();
    documents.push(deployment(args, &installation));
    written(&documents)
}

fn deployment(args: &Args, installation: &Installation<'_>) -> Value {
    // Several runners share an account, and each finds its own pods.
    let name = match args.name.as_str() {
        "capt" => installation.name.to_owned(),
        other => format!("{}-{other}", installation.name),
    };
    let mut pod_labels = installation.labels();
    pod_labels["app.kubernetes.io/instance"] = json!(args.name);
    let mut options = vec![
        "runner".to_owned(),
        format!("--name={}", args.name),
        format!("--work-dir={WORK}"),
        format!("--health-address=0.0.0.0:{HEALTH_PORT}"),
        format!("--metrics-address=0.0.0.0:{METRICS_PORT}"),
    ];
    options.extend(args.options.iter().cloned());
    check_arguments(&options);
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
        "metadata": {"name": name, "namespace": args.namespace, "labels": pod_labels},
        "spec": {
            "replicas": 1,
            // Two of one name would wait for each other's locks.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {
                "app.kubernetes.io/name": installation.name,
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
