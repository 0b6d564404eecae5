//! What runs the controllers on a cluster.

use serde_json::{Value, json};

use super::check_arguments;
use super::installation::{
    CHANGE, FINISH, Installation, LEASE, PART, READ, Rule, TELL, WRITE, container_security, pod_security,
    yaml as written,
};

/// What `capt controller` is called where it runs.
const NAME: &str = "capt-controller";
const HEALTH_PORT: u16 = 8081;
const METRICS_PORT: u16 = 8080;

/// What the controllers may do: groups, resources, verbs.
///
/// Nothing here runs Terraform, so no rights over state locks, pods or nodes are needed.
const RULES: &[Rule] = &[
    (&["apiextensions.k8s.io"], &["customresourcedefinitions"], READ),
    (&[""], &["namespaces"], READ),
    // Connection secrets, kubeconfigs and renderings are ours to write; state has marks of ours.
    (&[""], &["secrets", "configmaps"], WRITE),
    (&["events.k8s.io"], &["events"], TELL),
    (
        &["infrastructure.cluster.x-k8s.io"],
        &["captclusters", "workspacetemplates", "workspacetemplateapplies"],
        WRITE,
    ),
    (&["controlplane.cluster.x-k8s.io"], &["captcontrolplanes"], WRITE),
    (
        &["infrastructure.cluster.x-k8s.io"],
        &[
            "captclusters/status",
            "workspacetemplates/status",
            "workspacetemplateapplies/status",
        ],
        PART,
    ),
    (
        &["infrastructure.cluster.x-k8s.io"],
        &[
            "captclusters/finalizers",
            "workspacetemplates/finalizers",
            "workspacetemplateapplies/finalizers",
        ],
        FINISH,
    ),
    (
        &["controlplane.cluster.x-k8s.io"],
        &["captcontrolplanes/status"],
        PART,
    ),
    (
        &["controlplane.cluster.x-k8s.io"],
        &["captcontrolplanes/finalizers"],
        FINISH,
    ),
    (&["tf.m.upbound.io", "tf.upbound.io"], &["workspaces"], WRITE),
    (
        &["tf.m.upbound.io", "tf.upbound.io"],
        &[
            "providerconfigs",
            "clusterproviderconfigs",
            "providerconfigusages",
        ],
        READ,
    ),
    // Written only where no Cluster API runs and capt stands in for it.
    (&["cluster.x-k8s.io"], &["clusters"], CHANGE),
    (&["cluster.x-k8s.io"], &["clusters/status"], PART),
    (&["cluster.x-k8s.io"], &["clusters/finalizers"], FINISH),
    (
        &["cluster.x-k8s.io"],
        &["machines", "machinesets", "machinedeployments", "machinepools"],
        &["get", "list", "watch", "delete"],
    ),
];

/// The lease by which one of several leads.
const HOME_RULES: &[Rule] = &[(&["coordination.k8s.io"], &["leases"], LEASE)];

/// How it is installed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Namespace to install it in, which is made
    #[arg(short, long, value_name = "NAMESPACE", default_value = "capt-system")]
    namespace: String,

    /// The image that has capt in it
    #[arg(long, value_name = "IMAGE", default_value = concat!("capt:", env!("CARGO_PKG_VERSION")))]
    image: String,

    /// How many run; one of them acts
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=9))]
    replicas: u16,

    /// Further options for `capt controller`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// The documents.
pub(super) fn yaml(args: &Args) -> anyhow::Result<String> {
    let installation = Installation {
        name: NAME,
        namespace: &args.namespace,
        rules: RULES,
        home_rules: HOME_RULES,
    };
    let mut documents = installation.account();
    documents.push(deployment(args, &installation.labels()));
    written(&documents)
}

fn deployment(args: &Args, labels: &Value) -> Value {
    let mut options = vec![
        "controller".to_owned(),
        format!("--health-address=0.0.0.0:{HEALTH_PORT}"),
        format!("--metrics-address=0.0.0.0:{METRICS_PORT}"),
    ];
    options.extend(args.options.iter().cloned());
    check_arguments(&options);
    let container = json!({
        "name": "controller",
        "image": args.image,
        "command": ["capt"],
        "args": options,
        "ports": [
            {"name": "health", "containerPort": HEALTH_PORT},
            {"name": "metrics", "containerPort": METRICS_PORT},
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": container_security(),
    });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": args.namespace, "labels": labels},
        "spec": {
            "replicas": args.replicas,
            "selector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": NAME,
                    // Longer than the controllers take to finish what they are writing.
                    "terminationGracePeriodSeconds": 30,
                    "securityContext": pod_security(),
                    "topologySpreadConstraints": [{
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
                    }],
                    "containers": [container],
                },
            },
        },
    })
}
