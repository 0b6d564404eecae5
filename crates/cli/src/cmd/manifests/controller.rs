//! What runs the controllers on a cluster.

use anyhow::bail;
use capt_core::tenancy::NamespaceSet;
use serde_json::{Value, json};

use super::{
    installation::{
        CHANGE, FINISH, Installation, LEASES, PART, READ, Rights, Rule, TELL, WRITE, container_security,
        pod_security, yaml as written,
    },
    parsed,
    tenants::{TenantArgs, refuse_system_namespaces},
};
use crate::{Command, cmd::refuse};

/// What `capt controller` is called where it runs.
const NAME: &str = "capt-controller";
const HEALTH_PORT: u16 = 8081;
const METRICS_PORT: u16 = 8080;

/// What the controllers may do in a namespace.
///
/// Nothing here runs Terraform, so no rights over state locks, pods or nodes are needed.
const IN_NAMESPACES: &[Rule] = &[
    // Connection secrets, kubeconfigs and renderings are ours to write; state has marks of ours.
    Rule::new(&[""], &["secrets", "configmaps"], WRITE),
    Rule::new(&["events.k8s.io"], &["events"], TELL),
    Rule::new(
        &["infrastructure.cluster.x-k8s.io"],
        &["captclusters", "workspacetemplates", "workspacetemplateapplies"],
        WRITE,
    ),
    Rule::new(&["controlplane.cluster.x-k8s.io"], &["captcontrolplanes"], WRITE),
    Rule::new(
        &["infrastructure.cluster.x-k8s.io"],
        &[
            "captclusters/status",
            "workspacetemplates/status",
            "workspacetemplateapplies/status",
        ],
        PART,
    ),
    Rule::new(
        &["infrastructure.cluster.x-k8s.io"],
        &[
            "captclusters/finalizers",
            "workspacetemplates/finalizers",
            "workspacetemplateapplies/finalizers",
        ],
        FINISH,
    ),
    Rule::new(
        &["controlplane.cluster.x-k8s.io"],
        &["captcontrolplanes/status"],
        PART,
    ),
    Rule::new(
        &["controlplane.cluster.x-k8s.io"],
        &["captcontrolplanes/finalizers"],
        FINISH,
    ),
    Rule::new(&["tf.m.upbound.io"], &["workspaces"], WRITE),
    Rule::new(
        &["tf.m.upbound.io"],
        &["providerconfigs", "providerconfigusages"],
        READ,
    ),
    // Written only where no Cluster API runs and capt stands in for it.
    Rule::new(&["cluster.x-k8s.io"], &["clusters"], CHANGE),
    Rule::new(&["cluster.x-k8s.io"], &["clusters/status"], PART),
    Rule::new(&["cluster.x-k8s.io"], &["clusters/finalizers"], FINISH),
    Rule::new(
        &["cluster.x-k8s.io"],
        &["machines", "machinesets", "machinedeployments", "machinepools"],
        &["get", "list", "watch", "delete"],
    ),
];

/// What the controllers may do beyond that where they work in all namespaces.
const OF_CLUSTER: &[Rule] = &[
    Rule::new(&["apiextensions.k8s.io"], &["customresourcedefinitions"], READ),
    Rule::new(&[""], &["namespaces"], READ),
    Rule::new(&["tf.m.upbound.io"], &["clusterproviderconfigs"], READ),
    Rule::new(&["tf.upbound.io"], &["workspaces"], WRITE),
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
    let options = options(args);
    let Command::Controller(controller) = parsed(&options) else {
        bail!("these are no options of capt controller: {}", options.join(" "));
    };
    let namespaces = args.tenants.checked(&controller.namespaces);
    refuse((namespaces != NamespaceSet::All && controller.makes_cluster_scoped()).then(|| {
        "--workspace-api tf.upbound.io makes Workspaces of the whole cluster, which no Role grants. Leave out one of \
         --workspace-api and --namespace"
            .to_owned()
    }));
    let target = args.tenants.target();
    let installation = Installation {
        part: NAME,
        name: NAME.to_owned(),
        target,
        namespaces: &namespaces,
    };
    let lease_namespace = controller.election.lease_namespace().unwrap_or(target);
    refuse_system_namespaces([lease_namespace]);
    let lease = controller.election.lease_name().map(|name| {
        // The verb `create` cannot be limited to a name.
        let make = Rule::new(LEASES.0, LEASES.1, &["create"]);
        let hold = Rule::new(LEASES.0, LEASES.1, &["get", "list", "watch", "update"]).named([name]);
        (lease_namespace.to_owned(), vec![make, hold])
    });
    let mut documents = installation.account(&Rights {
        in_namespaces: IN_NAMESPACES,
        of_cluster: OF_CLUSTER,
        at_home: lease.into_iter().collect(),
    });
    documents.push(deployment(args, &options, &installation));
    written(&documents)
}

/// The arguments of the process.
fn options(args: &Args) -> Vec<String> {
    let mut options = vec![
        "controller".to_owned(),
        format!("--health-address=0.0.0.0:{HEALTH_PORT}"),
        format!("--metrics-address=0.0.0.0:{METRICS_PORT}"),
    ];
    options.extend(args.tenants.options());
    options.extend(args.options.iter().cloned());
    options
}

fn deployment(args: &Args, options: &[String], installation: &Installation<'_>) -> Value {
    let labels = installation.labels();
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
        "metadata": installation.metadata(NAME, Some(installation.target)),
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
