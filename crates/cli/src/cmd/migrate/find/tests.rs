//! Objects as the Go implementation leaves them.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{super::legacy::Candidate, *};

mod endpoints;

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn apply(name: &str, owner: Option<(&str, &str)>, variables: &Value) -> WorkspaceTemplateApply {
    let owners = owner.map(|(kind, name)| {
        json!([{"apiVersion": "x/v1beta1", "kind": kind, "name": name, "uid": "1", "controller": true}])
    });
    read(json!({
        "metadata": {
            "name": name, "namespace": "team", "finalizers": [marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER],
            "ownerReferences": owners,
            "managedFields": [
                {"manager": "manager", "operation": "Update"},
                {"manager": "manager-of-status", "operation": "Update", "subresource": "status"},
                {"manager": "kubectl-client-side-apply", "operation": "Update"},
            ],
        },
        "spec": {"templateRef": {"name": "x", "namespace": "team"}, "variables": variables},
        "status": {"applied": true, "workspaceName": name.trim_end_matches("-apply")},
    }))
}

/// A cluster `demo` as the Go implementation leaves it.
fn left() -> Left {
    Left {
        captclusters: vec![read(json!({
            "metadata": {"name": "demo", "namespace": "team"},
            "spec": {"region": "eu-central-1", "vpcTemplateRef": {"name": "vpc"}},
        }))],
        control_planes: vec![read(json!({
            "metadata": {"name": "demo", "namespace": "team"},
            "spec": {
                "version": "1.31", "workspaceTemplateRef": {"name": "eks"},
                "workspaceTemplateApplyName": "demo-eks-controlplane-apply",
                "controlPlaneEndpoint": {"host": "https://abc.eks.amazonaws.com", "port": 443},
            },
        }))],
        applies: vec![
            apply(
                "demo-vpc",
                Some(("CAPTCluster", "demo")),
                &json!({"cluster_name": "demo"}),
            ),
            apply(
                "demo-eks-controlplane-apply",
                Some(("CAPTControlPlane", "demo")),
                &json!({"cluster_name": "demo", "kubernetes_version": "1.31"}),
            ),
            apply(
                "demo-kubeconfig-apply",
                Some(("CAPTControlPlane", "demo")),
                &json!({}),
            ),
            apply(
                "demo-spot-role-create",
                Some(("CAPTControlPlane", "demo")),
                &json!({}),
            ),
            apply("somebody-elses", None, &json!({})),
        ],
        workspaces: ["demo-vpc", "demo-eks-controlplane", "demo-spot-role-create"]
            .map(|name| Candidate {
                name: name.to_owned(),
                outputs_to: Some("team".to_owned()),
                ..Candidate::default()
            })
            .to_vec(),
        ..Left::default()
    }
}

fn told(report: &Report, object: &str) -> String {
    let all = report
        .taken_over
        .iter()
        .chain(&report.untouched)
        .chain(&report.approvals);
    let says = all
        .filter(|finding| finding.object == object)
        .flat_map(|finding| &finding.says);
    says.cloned().collect::<Vec<_>>().join("\n")
}

#[test]
fn what_lost_the_name_of_its_workspace_is_promised_no_more_than_is_known() {
    let mut left = left();
    let apply = left.applies.first_mut().unwrap();
    apply.status = None;
    let said = told(&report(&left), "wtapply/demo-vpc");
    assert!(said.contains("keeps name"), "{said}");
    // What does not say by itself that it belongs there is an administrator's to decide.
    left.workspaces[0].outputs_to = Some("other".to_owned());
    let report = report(&left);
    let said = told(&report, "wtapply/demo-vpc");
    assert!(
        said.contains("yours to decide") && !said.contains("keeps name"),
        "{said}"
    );
    assert!(
        report.first[0].contains("legacy-of=team/demo-vpc"),
        "{:?}",
        report.first
    );
    let marked: Vec<String> = marks(&left).into_iter().map(|mark| mark.workspace).collect();
    assert_eq!(marked, ["demo-eks-controlplane", "demo-spot-role-create"]);
}

#[test]
fn everything_that_was_left_behind_is_found_and_told_what_becomes_of_it() {
    let report = report(&left());
    for (object, expected) in [
        (
            "wtapply/demo-eks-controlplane-apply",
            "makes the EKS cluster of captcontrolplane/demo, and stays named in its spec.workspaceTemplateApplyName",
        ),
        (
            "wtapply/demo-eks-controlplane-apply",
            "its Workspace demo-eks-controlplane keeps name, content and state",
        ),
        (
            "wtapply/demo-eks-controlplane-apply",
            "fields that manager wrote become capt's",
        ),
        (
            "wtapply/demo-eks-controlplane-apply",
            "its first change will wait for one",
        ),
        ("wtapply/demo-vpc", "makes the VPC of captcluster/demo"),
        (
            "wtapply/demo-kubeconfig-apply",
            "its Workspace demo-kubeconfig is not there",
        ),
        (
            "wtapply/demo-spot-role-create",
            "Workspace demo-spot-role-create and its state stay",
        ),
        ("wtapply/somebody-elses", "belongs to nothing that capt knows"),
        ("captcontrolplane/demo", "https://abc.eks.amazonaws.com is kept"),
    ] {
        let told = told(&report, object);
        assert!(told.contains(expected), "{object}: {expected}\n{told}");
    }
    let is_spot = |finding: &Finding| finding.object.contains("spot");
    assert!(report.taken_over.iter().any(is_spot));
    assert!(!report.untouched.iter().chain(&report.approvals).any(is_spot));
}

#[test]
fn every_naming_scheme_is_known_and_no_namesake_of_another_is_taken() {
    let eks = json!({"cluster_name": "demo", "kubernetes_version": "1.31"});
    let of_other = Some(("CAPTControlPlane", "other"));
    for (name, owner, variables, is_eks) in [
        ("demo-apply", None, eks.clone(), true),
        ("demo-eks-controlplane-apply", None, eks.clone(), true),
        ("demo-eks-controlplane-apply", None, json!({}), false),
        ("demo-eks-controlplane-apply", of_other, eks.clone(), false),
        ("other-apply", None, eks, false),
    ] {
        let mut left = left();
        left.control_planes[0].spec.workspace_template_apply_name = None;
        left.applies = vec![apply(name, owner, &variables)];
        let says = told(&report(&left), &format!("wtapply/{name}"));
        assert_eq!(
            says.contains("makes the EKS cluster"),
            is_eks,
            "{name} {owner:?} {variables}: {says}"
        );
    }
}

#[test]
fn what_waits_for_an_approval_is_told_with_the_command() {
    let mut left = left();
    left.applies.truncate(1);
    left.applies[0].metadata.finalizers = None;
    left.applies[0].status = Some(read(json!({
        "applied": true, "pendingRevision": "abc",
        "conditions": [{
            "type": "ApprovalNeeded", "status": "True", "reason": "AdoptedChange", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    })));
    let report = report(&left);
    assert_eq!(
        told(&report, "wtapply/demo-vpc"),
        "waits for one: capt approve wtapply/demo-vpc -n team --plan abc"
    );
    left.applies[0].status = None;
    left.control_planes.clear();
    assert_eq!(super::report(&left), Report::default());
}

#[test]
fn what_a_person_has_to_do_comes_first() {
    let left = Left {
        running: vec!["capt-system/appthrust-capt-controller-manager".to_owned()],
        old_crds: vec!["captclusters.infrastructure.cluster.x-k8s.io".to_owned()],
        classes: vec!["team/eks".to_owned()],
        machine_crds: vec!["captmachines.infrastructure.cluster.x-k8s.io".to_owned()],
        ..Left::default()
    };
    let words = report(&left).words();
    for expected in [
        "kubectl -n capt-system scale deployment appthrust-capt-controller-manager --replicas 0",
        "capt manifests crds | kubectl apply",
        "ClusterClass team/eks",
        "crd/captmachines.infrastructure.cluster.x-k8s.io\n    has no successor",
    ] {
        assert!(words.contains(expected), "{expected}\n{words}");
    }
}
