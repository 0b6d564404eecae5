//! Endpoints that the Go implementation wrote as URLs.

use serde_json::{Value, json};

use super::{super::super::endpoints::Misspelt, *};

#[test]
fn an_endpoint_is_put_right_also_if_the_control_plane_says_none() {
    for told in [Value::Null, json!({"host": "", "port": 0})] {
        let mut left = Left {
            control_planes: vec![read(json!({
                "metadata": {"name": "demo", "namespace": "team"},
                "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}, "controlPlaneEndpoint": told},
            }))],
            ..Left::default()
        };
        let cluster = read(json!({
            "metadata": {"name": "demo", "namespace": "team"},
            "spec": {
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "demo"},
                "controlPlaneEndpoint": {"host": "https://abc.eks.amazonaws.com", "port": 443},
            },
        }));
        left.misspelt = Misspelt::of(&cluster, &left.control_planes).into_iter().collect();
        assert_eq!(
            report(&left).replaced,
            [
                "The endpoint https://abc.eks.amazonaws.com of the Cluster team/demo is written as host and port: \
              abc.eks.amazonaws.com:443; its control plane has no endpoint, gets one from the outputs of its module, and says \
              EndpointChanged if that is another"
            ],
            "{told}"
        );
    }
}

#[test]
fn an_endpoint_is_left_alone_if_what_the_control_plane_says_cannot_be_read() {
    let mut left = Left {
        control_planes: vec![read(json!({
            "metadata": {"name": "plane", "namespace": "team"},
            "spec": {
                "version": "1.31", "workspaceTemplateRef": {"name": "eks"},
                "controlPlaneEndpoint": {"host": "https://abc.eks.amazonaws.com/api", "port": 443},
            },
        }))],
        ..Left::default()
    };
    let cluster = read(json!({
        "metadata": {"name": "demo", "namespace": "team"},
        "spec": {
            "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": "plane"},
            "controlPlaneEndpoint": {"host": "https://abc.eks.amazonaws.com", "port": 443},
        },
    }));
    left.misspelt = Misspelt::of(&cluster, &left.control_planes).into_iter().collect();
    let report = report(&left);
    assert!(report.replaced.is_empty(), "{:?}", report.replaced);
    assert_eq!(
        report.first,
        [
            "Mend spec.controlPlaneEndpoint of the CAPTControlPlane team/plane, whose host https://abc.eks.amazonaws.com/api cannot \
             be read: it has a path, a query or a user in it, where only a host and a port may be. Until then the Cluster team/demo \
             keeps its endpoint https://abc.eks.amazonaws.com"
        ]
    );
}

#[test]
fn an_endpoint_that_cluster_api_copied_as_a_url_is_put_right_if_it_is_the_same_otherwise() {
    for (host, port, kind, expected) in [
        ("abc.eks.amazonaws.com", 443, "CAPTControlPlane", None),
        (
            "https://abc.eks.amazonaws.com",
            443,
            "CAPTControlPlane",
            Some(Ok(
                "The endpoint https://abc.eks.amazonaws.com of the Cluster team/demo is written as host and port: \
                 abc.eks.amazonaws.com:443",
            )),
        ),
        (
            "https://other.eks.amazonaws.com",
            443,
            "CAPTControlPlane",
            Some(Err(
                "Write the host abc.eks.amazonaws.com and the port 443 into spec.controlPlaneEndpoint of the Cluster team/demo: \
                 it says https://other.eks.amazonaws.com, and its control plane answers elsewhere",
            )),
        ),
        ("https://abc.eks.amazonaws.com", 443, "KubeadmControlPlane", None),
    ] {
        let mut left = left();
        left.workspaces.clear();
        let cluster = read(json!({
            "metadata": {"name": "demo", "namespace": "team"},
            "spec": {
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": kind, "name": "demo"},
                "controlPlaneEndpoint": {"host": host, "port": port},
            },
        }));
        left.misspelt = Misspelt::of(&cluster, &left.control_planes).into_iter().collect();
        let report = report(&left);
        let expected = expected.map(|words| words.map(str::to_owned).map_err(str::to_owned));
        let told = report.replaced.first().cloned().map(Ok);
        let told = told.or_else(|| report.first.first().cloned().map(Err));
        assert_eq!(told, expected, "{host}");
    }
}
