//! What runs the controllers on a cluster.

use serde_json::{Value, json};

/// What `capt controller` is called where it runs.
const NAME: &str = "capt-controller";
const HEALTH_PORT: u16 = 8081;
const METRICS_PORT: u16 = 8080;

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
const CHANGE: &[&str] = &["get", "list", "watch", "update", "patch"];
const PART: &[&str] = &["get", "update", "patch"];
/// What is asked for by API servers that let only those block a deletion who may finish the owner.
const FINISH: &[&str] = &["update"];

/// What the controllers may do: groups, resources, verbs.
///
/// Nothing here runs Terraform, so no rights over state locks, pods or nodes are needed.
const RULES: &[(&[&str], &[&str], &[&str])] = &[
    (&["apiextensions.k8s.io"], &["customresourcedefinitions"], READ),
    (&[""], &["namespaces"], READ),
    // Connection secrets, kubeconfigs and renderings are ours to write; state has marks of ours.
    (&[""], &["secrets", "configmaps"], WRITE),
    (&["events.k8s.io"], &["events"], &["create", "get", "patch"]),
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
    let documents = [
        namespace(args),
        service_account(args),
        cluster_role(),
        cluster_role_binding(args),
        lease_role(args),
        lease_role_binding(args),
        deployment(args),
    ];
    let documents: Result<Vec<String>, _> = documents.iter().map(serde_saphyr::to_string).collect();
    Ok(documents?.join("---\n"))
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": NAME, "cluster.x-k8s.io/provider": "infrastructure-capt"})
}

fn namespace(args: &Args) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": args.namespace, "labels": labels()},
    })
}

fn service_account(args: &Args) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": args.namespace, "labels": labels()},
    })
}

fn cluster_role() -> Value {
    let rule = |(groups, resources, verbs): &(&[&str], &[&str], &[&str])| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME, "labels": labels()},
        "rules": RULES.iter().map(rule).collect::<Vec<_>>(),
    })
}

fn cluster_role_binding(args: &Args) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME, "labels": labels()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": args.namespace}],
    })
}

/// The lease by which one of several leads.
fn lease_role(args: &Args) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": NAME, "namespace": args.namespace, "labels": labels()},
        "rules": [{
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["get", "list", "watch", "create", "update"],
        }],
    })
}

fn lease_role_binding(args: &Args) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": NAME, "namespace": args.namespace, "labels": labels()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": args.namespace}],
    })
}

fn deployment(args: &Args) -> Value {
    let mut options = vec![
        "controller".to_owned(),
        format!("--health-address=0.0.0.0:{HEALTH_PORT}"),
        format!("--metrics-address=0.0.0.0:{METRICS_PORT}"),
    ];
    options.extend(args.options.iter().cloned());
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
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
    });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": args.namespace, "labels": labels()},
        "spec": {
            "replicas": args.replicas,
            "selector": {"matchLabels": {"app.kubernetes.io/name": NAME}},
            "template": {
                "metadata": {"labels": labels()},
                "spec": {
                    "serviceAccountName": NAME,
                    // Longer than the controllers take to finish what they are writing.
                    "terminationGracePeriodSeconds": 30,
                    "securityContext": {
                        "runAsNonRoot": true,
                        "runAsUser": 65532,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
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
