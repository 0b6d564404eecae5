//! The table of kinds.
//!
//! Short names, categories, generation and field labels are those of Kubernetes 1.36's registry strategies.

use super::Builtin;
use crate::naming::NameRule;

/// All built-in resources that are stored (reviews are not).
#[must_use]
pub fn all() -> &'static [Builtin] {
    KINDS
}

/// The built-in resources that are only ever created: questions that are answered and forgotten.
#[must_use]
pub fn reviews() -> &'static [Builtin] {
    REVIEWS
}

const ALL: &[&str] = &["all"];
const API_EXTENSIONS: &[&str] = &["api-extensions"];

/// A namespaced kind of a group's `v1` with nothing special.
const fn namespaced(
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    type_name: &'static str,
) -> Builtin {
    Builtin {
        group,
        version: "v1",
        plural,
        singular,
        kind,
        short_names: &[],
        categories: &[],
        namespaced: true,
        has_status: false,
        has_generation: false,
        name_rule: NameRule::DnsSubdomain,
        selectable: &[],
        type_name,
    }
}

/// A cluster-wide kind of a group's `v1` with nothing special.
const fn cluster_wide(
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    type_name: &'static str,
) -> Builtin {
    Builtin {
        namespaced: false,
        ..namespaced(group, plural, singular, kind, type_name)
    }
}

/// A workload: in category `all`, with status and generation.
const fn workload(
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    type_name: &'static str,
) -> Builtin {
    Builtin {
        categories: ALL,
        has_status: true,
        has_generation: true,
        ..namespaced(group, plural, singular, kind, type_name)
    }
}

static KINDS: &[Builtin] = &[
    Builtin {
        short_names: &["ns"],
        has_status: true,
        name_rule: NameRule::DnsLabel,
        selectable: &["status.phase"],
        ..cluster_wide(
            "",
            "namespaces",
            "namespace",
            "Namespace",
            "io.k8s.api.core.v1.Namespace",
        )
    },
    Builtin {
        short_names: &["cm"],
        ..namespaced(
            "",
            "configmaps",
            "configmap",
            "ConfigMap",
            "io.k8s.api.core.v1.ConfigMap",
        )
    },
    Builtin {
        selectable: &["type"],
        ..namespaced("", "secrets", "secret", "Secret", "io.k8s.api.core.v1.Secret")
    },
    Builtin {
        short_names: &["sa"],
        ..namespaced(
            "",
            "serviceaccounts",
            "serviceaccount",
            "ServiceAccount",
            "io.k8s.api.core.v1.ServiceAccount",
        )
    },
    Builtin {
        short_names: &["ev"],
        selectable: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ..namespaced("", "events", "event", "Event", "io.k8s.api.core.v1.Event")
    },
    Builtin {
        short_names: &["no"],
        has_status: true,
        selectable: &["spec.unschedulable"],
        ..cluster_wide("", "nodes", "node", "Node", "io.k8s.api.core.v1.Node")
    },
    Builtin {
        short_names: &["po"],
        selectable: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ..workload("", "pods", "pod", "Pod", "io.k8s.api.core.v1.Pod")
    },
    Builtin {
        short_names: &["svc"],
        categories: ALL,
        has_status: true,
        name_rule: NameRule::DnsLabel,
        selectable: &["spec.clusterIP", "spec.type"],
        ..namespaced("", "services", "service", "Service", "io.k8s.api.core.v1.Service")
    },
    Builtin {
        short_names: &["ep"],
        ..namespaced(
            "",
            "endpoints",
            "endpoints",
            "Endpoints",
            "io.k8s.api.core.v1.Endpoints",
        )
    },
    Builtin {
        short_names: &["pv"],
        has_status: true,
        ..cluster_wide(
            "",
            "persistentvolumes",
            "persistentvolume",
            "PersistentVolume",
            "io.k8s.api.core.v1.PersistentVolume",
        )
    },
    Builtin {
        short_names: &["pvc"],
        has_status: true,
        ..namespaced(
            "",
            "persistentvolumeclaims",
            "persistentvolumeclaim",
            "PersistentVolumeClaim",
            "io.k8s.api.core.v1.PersistentVolumeClaim",
        )
    },
    Builtin {
        short_names: &["rc"],
        selectable: &["status.replicas"],
        ..workload(
            "",
            "replicationcontrollers",
            "replicationcontroller",
            "ReplicationController",
            "io.k8s.api.core.v1.ReplicationController",
        )
    },
    Builtin {
        short_names: &["quota"],
        has_status: true,
        ..namespaced(
            "",
            "resourcequotas",
            "resourcequota",
            "ResourceQuota",
            "io.k8s.api.core.v1.ResourceQuota",
        )
    },
    Builtin {
        short_names: &["limits"],
        ..namespaced(
            "",
            "limitranges",
            "limitrange",
            "LimitRange",
            "io.k8s.api.core.v1.LimitRange",
        )
    },
    Builtin {
        short_names: &["ev"],
        selectable: &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ..namespaced(
            "events.k8s.io",
            "events",
            "event",
            "Event",
            "io.k8s.api.events.v1.Event",
        )
    },
    namespaced(
        "coordination.k8s.io",
        "leases",
        "lease",
        "Lease",
        "io.k8s.api.coordination.v1.Lease",
    ),
    Builtin {
        has_generation: true,
        ..namespaced(
            "discovery.k8s.io",
            "endpointslices",
            "endpointslice",
            "EndpointSlice",
            "io.k8s.api.discovery.v1.EndpointSlice",
        )
    },
    Builtin {
        short_names: &["deploy"],
        ..workload(
            "apps",
            "deployments",
            "deployment",
            "Deployment",
            "io.k8s.api.apps.v1.Deployment",
        )
    },
    Builtin {
        short_names: &["rs"],
        ..workload(
            "apps",
            "replicasets",
            "replicaset",
            "ReplicaSet",
            "io.k8s.api.apps.v1.ReplicaSet",
        )
    },
    Builtin {
        short_names: &["sts"],
        name_rule: NameRule::DnsLabel,
        ..workload(
            "apps",
            "statefulsets",
            "statefulset",
            "StatefulSet",
            "io.k8s.api.apps.v1.StatefulSet",
        )
    },
    Builtin {
        short_names: &["ds"],
        ..workload(
            "apps",
            "daemonsets",
            "daemonset",
            "DaemonSet",
            "io.k8s.api.apps.v1.DaemonSet",
        )
    },
    Builtin {
        selectable: &["status.successful"],
        ..workload("batch", "jobs", "job", "Job", "io.k8s.api.batch.v1.Job")
    },
    Builtin {
        short_names: &["cj"],
        ..workload(
            "batch",
            "cronjobs",
            "cronjob",
            "CronJob",
            "io.k8s.api.batch.v1.CronJob",
        )
    },
    Builtin {
        name_rule: NameRule::PathSegment,
        ..namespaced(
            "rbac.authorization.k8s.io",
            "roles",
            "role",
            "Role",
            "io.k8s.api.rbac.v1.Role",
        )
    },
    Builtin {
        name_rule: NameRule::PathSegment,
        ..namespaced(
            "rbac.authorization.k8s.io",
            "rolebindings",
            "rolebinding",
            "RoleBinding",
            "io.k8s.api.rbac.v1.RoleBinding",
        )
    },
    Builtin {
        name_rule: NameRule::PathSegment,
        ..cluster_wide(
            "rbac.authorization.k8s.io",
            "clusterroles",
            "clusterrole",
            "ClusterRole",
            "io.k8s.api.rbac.v1.ClusterRole",
        )
    },
    Builtin {
        name_rule: NameRule::PathSegment,
        ..cluster_wide(
            "rbac.authorization.k8s.io",
            "clusterrolebindings",
            "clusterrolebinding",
            "ClusterRoleBinding",
            "io.k8s.api.rbac.v1.ClusterRoleBinding",
        )
    },
    Builtin {
        short_names: &["crd", "crds"],
        categories: API_EXTENSIONS,
        has_status: true,
        has_generation: true,
        ..cluster_wide(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "customresourcedefinition",
            "CustomResourceDefinition",
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        )
    },
    Builtin {
        categories: API_EXTENSIONS,
        has_generation: true,
        ..cluster_wide(
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations",
            "validatingwebhookconfiguration",
            "ValidatingWebhookConfiguration",
            "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
        )
    },
    Builtin {
        categories: API_EXTENSIONS,
        has_generation: true,
        ..cluster_wide(
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
            "mutatingwebhookconfiguration",
            "MutatingWebhookConfiguration",
            "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration",
        )
    },
    Builtin {
        short_names: &["pc"],
        has_generation: true,
        ..cluster_wide(
            "scheduling.k8s.io",
            "priorityclasses",
            "priorityclass",
            "PriorityClass",
            "io.k8s.api.scheduling.v1.PriorityClass",
        )
    },
    Builtin {
        short_names: &["sc"],
        ..cluster_wide(
            "storage.k8s.io",
            "storageclasses",
            "storageclass",
            "StorageClass",
            "io.k8s.api.storage.v1.StorageClass",
        )
    },
    Builtin {
        short_names: &["ing"],
        has_status: true,
        has_generation: true,
        ..namespaced(
            "networking.k8s.io",
            "ingresses",
            "ingress",
            "Ingress",
            "io.k8s.api.networking.v1.Ingress",
        )
    },
    Builtin {
        short_names: &["netpol"],
        has_generation: true,
        ..namespaced(
            "networking.k8s.io",
            "networkpolicies",
            "networkpolicy",
            "NetworkPolicy",
            "io.k8s.api.networking.v1.NetworkPolicy",
        )
    },
];

static REVIEWS: &[Builtin] = &[
    cluster_wide(
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "selfsubjectaccessreview",
        "SelfSubjectAccessReview",
        "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
    ),
    cluster_wide(
        "authorization.k8s.io",
        "selfsubjectrulesreviews",
        "selfsubjectrulesreview",
        "SelfSubjectRulesReview",
        "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
    ),
    cluster_wide(
        "authorization.k8s.io",
        "subjectaccessreviews",
        "subjectaccessreview",
        "SubjectAccessReview",
        "io.k8s.api.authorization.v1.SubjectAccessReview",
    ),
    namespaced(
        "authorization.k8s.io",
        "localsubjectaccessreviews",
        "localsubjectaccessreview",
        "LocalSubjectAccessReview",
        "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
    ),
    cluster_wide(
        "authentication.k8s.io",
        "tokenreviews",
        "tokenreview",
        "TokenReview",
        "io.k8s.api.authentication.v1.TokenReview",
    ),
    cluster_wide(
        "authentication.k8s.io",
        "selfsubjectreviews",
        "selfsubjectreview",
        "SelfSubjectReview",
        "io.k8s.api.authentication.v1.SelfSubjectReview",
    ),
];
