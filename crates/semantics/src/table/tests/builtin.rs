use serde_json::{Value, json};

use super::NOW;
use crate::table::{builtin_columns, cells};

/// Headings (those of `-o wide` in parentheses) and cells of an object that is a day old and called `x`.
pub(super) fn row(group: &str, kind: &str, mut object: Value) -> (String, Value) {
    object["metadata"]["name"] = json!("x");
    object["metadata"]["creationTimestamp"] = json!("2024-01-09T00:00:00Z");
    let columns = builtin_columns(group, kind);
    let headings: Vec<String> = columns
        .iter()
        .map(|column| match column.priority {
            0 => column.name.to_uppercase(),
            _ => format!("({})", column.name.to_uppercase()),
        })
        .collect();
    (headings.join("  "), cells(&columns, &object, NOW))
}

pub(super) fn check(group: &str, kind: &str, headings: &str, rows: impl IntoIterator<Item = (Value, Value)>) {
    for (object, expected) in rows {
        let (found, cells) = row(group, kind, object);
        assert_eq!(found, headings, "{kind}");
        assert_eq!(cells, expected, "{kind}");
    }
    // Whatever the document, there is a row.
    for odd in [json!({}), json!({"spec": 1, "status": [], "metadata": {}})] {
        let columns = builtin_columns(group, kind);
        assert_eq!(
            cells(&columns, &odd, NOW).as_array().map(Vec::len),
            Some(columns.len()),
            "{kind}"
        );
    }
}

#[test]
fn small_kinds() {
    check(
        "",
        "Namespace",
        "NAME  STATUS  AGE",
        [(
            json!({"status": {"phase": "Active"}}),
            json!(["x", "Active", "24h"]),
        )],
    );
    check(
        "",
        "ConfigMap",
        "NAME  DATA  AGE",
        [(
            json!({"data": {"a": "1", "b": "2"}, "binaryData": {"c": ""}}),
            json!(["x", 3, "24h"]),
        )],
    );
    check(
        "",
        "Secret",
        "NAME  TYPE  DATA  AGE",
        [(
            json!({"type": "Opaque", "data": {"a": ""}}),
            json!(["x", "Opaque", 1, "24h"]),
        )],
    );
    check(
        "",
        "ServiceAccount",
        "NAME  AGE",
        [(json!({}), json!(["x", "24h"]))],
    );
    check(
        "coordination.k8s.io",
        "Lease",
        "NAME  HOLDER  AGE",
        [
            (
                json!({"spec": {"holderIdentity": "me"}}),
                json!(["x", "me", "24h"]),
            ),
            (json!({}), json!(["x", "", "24h"])),
        ],
    );
    for (group, kind) in [
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
    ] {
        check(
            group,
            kind,
            "NAME  CREATED AT",
            [(json!({}), json!(["x", "2024-01-09T00:00:00Z"]))],
        );
    }
    check(
        "scheduling.k8s.io",
        "PriorityClass",
        "NAME  VALUE  GLOBAL-DEFAULT  AGE  PREEMPTIONPOLICY",
        [(json!({"value": 7}), json!(["x", 7, false, "24h", ""]))],
    );
    check(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "NAME  WEBHOOKS  AGE",
        [(json!({"webhooks": [{}, {}]}), json!(["x", 2, "24h"]))],
    );
    check(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "NAME  VALIDATIONS  PARAMKIND  AGE",
        [
            (
                json!({"spec": {"validations": [{}]}}),
                json!(["x", 1, "<unset>", "24h"]),
            ),
            (
                json!({"spec": {"paramKind": {"apiVersion": "v1", "kind": "K"}}}),
                json!(["x", 0, "v1/K", "24h"]),
            ),
        ],
    );
    check(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "NAME  POLICYNAME  PARAMREF  AGE",
        [
            (
                json!({"spec": {"policyName": "p"}}),
                json!(["x", "p", "<unset>", "24h"]),
            ),
            (
                json!({"spec": {"policyName": "p", "paramRef": {"name": "n"}}}),
                json!(["x", "p", "*/n", "24h"]),
            ),
        ],
    );
    check(
        "apiregistration.k8s.io",
        "APIService",
        "NAME  SERVICE  AVAILABLE  AGE",
        [
            (
                json!({"status": {"conditions": [{"type": "Available", "status": "True"}]}}),
                json!(["x", "Local", "True", "24h"]),
            ),
            (
                json!({
                    "spec": {"service": {"namespace": "n", "name": "s"}},
                    "status": {"conditions": [{"type": "Available", "status": "False", "reason": "Gone"}]},
                }),
                json!(["x", "n/s", "False (Gone)", "24h"]),
            ),
        ],
    );
}

#[test]
fn bindings_name_their_subjects() {
    let binding = json!({
        "roleRef": {"kind": "ClusterRole", "name": "admin"},
        "subjects": [
            {"kind": "User", "name": "u1"}, {"kind": "Group", "name": "g"}, {"kind": "User", "name": "u2"},
            {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
        ],
    });
    check(
        "rbac.authorization.k8s.io",
        "RoleBinding",
        "NAME  ROLE  AGE  (USERS)  (GROUPS)  (SERVICEACCOUNTS)",
        [(
            binding,
            json!(["x", "ClusterRole/admin", "24h", "u1, u2", "g", "n/s"]),
        )],
    );
}

#[test]
fn events_look_alike_in_both_groups() {
    let core = json!({
        "type": "Warning", "reason": "Failed", "message": " it broke\n", "count": 3,
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "2024-01-09T23:00:00Z", "lastTimestamp": "2024-01-09T23:59:00Z",
    });
    let newer = json!({
        "type": "Normal", "reason": "Done", "note": "fine", "regarding": {"kind": "CaptCluster", "name": "c"},
        "reportingController": "capt", "reportingInstance": "capt-0", "eventTime": "2024-01-09T23:50:00.000001Z",
    });
    let series = json!({
        "regarding": {"kind": "Pod"}, "eventTime": "2024-01-09T23:00:00.0Z",
        "series": {"count": 9, "lastObservedTime": "2024-01-09T23:59:30.0Z"}, "reportingComponent": "capt",
    });
    let rows = [
        (
            core,
            json!([
                "60s",
                "Warning",
                "Failed",
                "pod/p",
                "spec.containers{c}",
                "kubelet, n1",
                "it broke",
                "60m",
                3,
                "x"
            ]),
        ),
        (
            newer,
            json!([
                "10m",
                "Normal",
                "Done",
                "captcluster/c",
                "",
                "capt, capt-0",
                "fine",
                "10m",
                1,
                "x"
            ]),
        ),
        (
            series,
            json!(["30s", "", "", "pod", "", "capt", "", "60m", 9, "x"]),
        ),
    ];
    for group in ["", "events.k8s.io"] {
        check(
            group,
            "Event",
            "LAST SEEN  TYPE  REASON  OBJECT  (SUBOBJECT)  (SOURCE)  MESSAGE  (FIRST SEEN)  (COUNT)  (NAME)",
            rows.clone(),
        );
    }
}

#[test]
fn nodes() {
    let node = json!({
        "metadata": {"labels": {
            "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "spare",
        }},
        "spec": {"unschedulable": true},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Linux", "kernelVersion": "6.1", "architecture": "amd64"},
        },
    });
    check(
        "",
        "Node",
        "NAME  STATUS  ROLES  AGE  VERSION  (INTERNAL-IP)  (EXTERNAL-IP)  (OS-IMAGE)  (KERNEL-VERSION)  (CONTAINER-RUNTIME)",
        [
            (
                node,
                json!([
                    "x",
                    "Ready,SchedulingDisabled",
                    "control-plane,spare,worker",
                    "24h",
                    "v1.36.3",
                    "10.0.0.1",
                    "<none>",
                    "Linux",
                    "6.1 (amd64)",
                    "<unknown>",
                ]),
            ),
            (
                json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}),
                json!([
                    "x",
                    "NotReady",
                    "<none>",
                    "24h",
                    "",
                    "<none>",
                    "<none>",
                    "<unknown>",
                    "<unknown>",
                    "<unknown>"
                ]),
            ),
            (
                json!({}),
                json!([
                    "x",
                    "Unknown",
                    "<none>",
                    "24h",
                    "",
                    "<none>",
                    "<none>",
                    "<unknown>",
                    "<unknown>",
                    "<unknown>"
                ]),
            ),
        ],
    );
}

#[test]
fn services_and_endpoints() {
    let service = |spec: Value, status: Value| json!({"spec": spec, "status": status});
    check(
        "",
        "Service",
        "NAME  TYPE  CLUSTER-IP  EXTERNAL-IP  PORT(S)  AGE  (SELECTOR)",
        [
            (
                service(
                    json!({"type": "ClusterIP", "clusterIPs": ["10.0.0.1"], "selector": {"b": "2", "a": "1"},
                           "ports": [{"port": 80, "protocol": "TCP"}, {"port": 53, "nodePort": 30053, "protocol": "UDP"}]}),
                    json!({}),
                ),
                json!([
                    "x",
                    "ClusterIP",
                    "10.0.0.1",
                    "<none>",
                    "80/TCP,53:30053/UDP",
                    "24h",
                    "a=1,b=2"
                ]),
            ),
            (
                service(
                    json!({"type": "NodePort", "externalIPs": ["1.1.1.1", "2.2.2.2"]}),
                    json!({}),
                ),
                json!([
                    "x",
                    "NodePort",
                    "<none>",
                    "1.1.1.1,2.2.2.2",
                    "<none>",
                    "24h",
                    "<none>"
                ]),
            ),
            (
                service(json!({"type": "LoadBalancer"}), json!({})),
                json!([
                    "x",
                    "LoadBalancer",
                    "<none>",
                    "<pending>",
                    "<none>",
                    "24h",
                    "<none>"
                ]),
            ),
            (
                service(
                    json!({"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]}),
                    json!({"loadBalancer": {"ingress": [{"hostname": "lb.example"}, {"ip": "9.9.9.9"}]}}),
                ),
                json!([
                    "x",
                    "LoadBalancer",
                    "<none>",
                    "9.9.9.9,lb.example,1.1.1.1",
                    "<none>",
                    "24h",
                    "<none>"
                ]),
            ),
            (
                service(
                    json!({"type": "ExternalName", "externalName": "e.example"}),
                    json!({}),
                ),
                json!([
                    "x",
                    "ExternalName",
                    "<none>",
                    "e.example",
                    "<none>",
                    "24h",
                    "<none>"
                ]),
            ),
        ],
    );
    let addresses =
        |count: usize| -> Value { (0..count).map(|n| json!({"ip": format!("10.0.0.{n}")})).collect() };
    check(
        "",
        "Endpoints",
        "NAME  ENDPOINTS  AGE",
        [
            (json!({}), json!(["x", "<none>", "24h"])),
            (
                json!({"subsets": [{"addresses": addresses(1)}]}),
                json!(["x", "10.0.0.0", "24h"]),
            ),
            (
                json!({"subsets": [{"addresses": addresses(2), "ports": [{"port": 1}, {"port": 2}]}]}),
                json!(["x", "10.0.0.0:1,10.0.0.1:1,10.0.0.0:2 + 1 more...", "24h"]),
            ),
            (
                json!({"subsets": [{"addresses": [{"ip": "::1"}], "ports": [{"port": 1}]}]}),
                json!(["x", "[::1]:1", "24h"]),
            ),
        ],
    );
    check(
        "discovery.k8s.io",
        "EndpointSlice",
        "NAME  ADDRESSTYPE  PORTS  ENDPOINTS  AGE",
        [
            (
                json!({"addressType": "IPv4"}),
                json!(["x", "IPv4", "<unset>", "<unset>", "24h"]),
            ),
            (
                json!({
                    "addressType": "IPv4", "ports": [{"port": 80}, {"name": "n"}, {}],
                    "endpoints": [{"addresses": ["a", "b"]}, {"addresses": ["c", "d"]}],
                }),
                json!(["x", "IPv4", "80,n,*", "a,b,c + 1 more...", "24h"]),
            ),
        ],
    );
}

#[test]
fn storage() {
    check(
        "",
        "PersistentVolumeClaim",
        "NAME  STATUS  VOLUME  CAPACITY  ACCESS MODES  STORAGECLASS  VOLUMEATTRIBUTESCLASS  AGE  (VOLUMEMODE)",
        [
            (
                json!({"spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}),
                json!(["x", "Pending", "", "", "", "fast", "<unset>", "24h", "<unset>"]),
            ),
            (
                json!({
                    "metadata": {"deletionTimestamp": "2024-01-09T00:00:00Z"},
                    "spec": {"volumeName": "v", "volumeMode": "Filesystem"},
                    "status": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]},
                }),
                json!([
                    "x",
                    "Terminating",
                    "v",
                    "1Gi",
                    "RWO,RWX",
                    "",
                    "<unset>",
                    "24h",
                    "Filesystem"
                ]),
            ),
        ],
    );
    check(
        "",
        "PersistentVolume",
        "NAME  CAPACITY  ACCESS MODES  RECLAIM POLICY  STATUS  CLAIM  STORAGECLASS  VOLUMEATTRIBUTESCLASS  REASON  AGE  \
         (VOLUMEMODE)",
        [(
            json!({
                "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                         "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "n", "name": "c"}},
                "status": {"phase": "Bound"},
            }),
            json!([
                "x", "1Gi", "RWO", "Retain", "Bound", "n/c", "", "<unset>", "", "24h", "<unset>"
            ]),
        )],
    );
    check(
        "storage.k8s.io",
        "StorageClass",
        "NAME  PROVISIONER  RECLAIMPOLICY  VOLUMEBINDINGMODE  ALLOWVOLUMEEXPANSION  AGE",
        [
            (
                json!({"provisioner": "p"}),
                json!(["x", "p", "Delete", "Immediate", false, "24h"]),
            ),
            (
                json!({
                    "metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                    "allowVolumeExpansion": true,
                }),
                json!(["x (default)", "", "Delete", "Immediate", true, "24h"]),
            ),
        ],
    );
}

#[test]
fn workloads() {
    let template =
        json!({"spec": {"containers": [{"name": "a", "image": "i1"}, {"name": "b", "image": "i2"}]}});
    let selector = json!({
        "matchLabels": {"app": "y"},
        "matchExpressions": [
            {"key": "z", "operator": "NotIn", "values": ["2", "1"]}, {"key": "b", "operator": "DoesNotExist"},
        ],
    });
    let shown = "app=y,!b,z notin (1,2)";
    check(
        "apps",
        "Deployment",
        "NAME  READY  UP-TO-DATE  AVAILABLE  AGE  (CONTAINERS)  (IMAGES)  (SELECTOR)",
        [
            (
                json!({"spec": {"replicas": 3, "template": template, "selector": selector},
                       "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}}),
                json!(["x", "2/3", 3, 1, "24h", "a,b", "i1,i2", shown]),
            ),
            (json!({}), json!(["x", "0/1", 0, 0, "24h", "", "", ""])),
        ],
    );
    check(
        "apps",
        "ReplicaSet",
        "NAME  DESIRED  CURRENT  READY  AGE  (CONTAINERS)  (IMAGES)  (SELECTOR)",
        [(
            json!({"spec": {"replicas": 3, "template": template, "selector": selector}, "status": {"replicas": 2}}),
            json!(["x", 3, 2, 0, "24h", "a,b", "i1,i2", shown]),
        )],
    );
    check(
        "apps",
        "StatefulSet",
        "NAME  READY  AGE  (CONTAINERS)  (IMAGES)",
        [(
            json!({"spec": {"replicas": 3, "template": template}}),
            json!(["x", "0/3", "24h", "a,b", "i1,i2"]),
        )],
    );
    check(
        "apps",
        "DaemonSet",
        "NAME  DESIRED  CURRENT  READY  UP-TO-DATE  AVAILABLE  NODE SELECTOR  AGE  (CONTAINERS)  (IMAGES)  (SELECTOR)",
        [(
            json!({"status": {"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
                              "updatedNumberScheduled": 2, "numberAvailable": 1}}),
            json!(["x", 5, 4, 3, 2, 1, "<none>", "24h", "", "", "<none>"]),
        )],
    );
    let job = |conditions: Value| json!({"spec": {"completions": 2}, "status": {"succeeded": 1, "conditions": conditions}});
    check(
        "batch",
        "Job",
        "NAME  STATUS  COMPLETIONS  DURATION  AGE  (CONTAINERS)  (IMAGES)  (SELECTOR)",
        [
            (
                job(json!([{"type": "Complete", "status": "True"}])),
                json!(["x", "Complete", "1/2", "", "24h", "", "", "<none>"]),
            ),
            (
                job(json!([{"type": "Complete", "status": "False"}, {"type": "Failed", "status": "True"}])),
                json!(["x", "Failed", "1/2", "", "24h", "", "", "<none>"]),
            ),
            (
                json!({"spec": {"parallelism": 3}, "status": {"startTime": "2024-01-09T23:59:00Z"}}),
                json!(["x", "Running", "0/1 of 3", "60s", "24h", "", "", "<none>"]),
            ),
            (
                json!({"status": {"startTime": "2024-01-09T00:00:00Z", "completionTime": "2024-01-09T00:00:05Z"}}),
                json!(["x", "Running", "0/1", "5s", "24h", "", "", "<none>"]),
            ),
        ],
    );
    check(
        "batch",
        "CronJob",
        "NAME  SCHEDULE  TIMEZONE  SUSPEND  ACTIVE  LAST SCHEDULE  AGE  (CONTAINERS)  (IMAGES)  (SELECTOR)",
        [(
            json!({"spec": {"schedule": "0 * * * *", "suspend": false}, "status": {"active": [{}]}}),
            json!([
                "x",
                "0 * * * *",
                "<none>",
                "False",
                1,
                "<none>",
                "24h",
                "",
                "",
                "<none>"
            ]),
        )],
    );
}
