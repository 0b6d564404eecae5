//! What becomes of each thing that the Go implementation left behind.

use std::collections::BTreeSet;

use capt_api::{WorkspaceTemplateApply, conditions::find_condition, marks};
use capt_core::{
    captcluster::apply_names,
    controlplane::adoption::{Remnant, former_names, names, remnant},
    owned::OwnedSeen,
    wta::owner,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;

use super::{
    legacy::{self, Mark, Marking},
    read::{Left, TEMPLATE_KIND},
    report::{Finding, Report},
};

/// What a WorkspaceTemplateApply is for.
enum Role {
    /// The EKS cluster of a control plane.
    Eks(String),
    /// The VPC of a network.
    Vpc(String),
    /// Something that only the Go implementation made for a control plane.
    Remnant(String, Remnant),
    /// Nobody's.
    Nobodys,
}

/// What becomes of everything.
pub(super) fn report(left: &Left) -> Report {
    let mut report = Report::default();
    for (namespace, name) in &left
        .running
        .iter()
        .filter_map(|place| place.split_once('/'))
        .collect::<Vec<_>>()
    {
        report.first.push(format!(
            "Stop the Go implementation before capt's controllers start: kubectl -n {namespace} scale deployment {name} --replicas 0"
        ));
    }
    if !left.old_crds.is_empty() {
        report.first.push(format!(
            "Install capt's CRDs over those of the Go implementation ({}): capt manifests crds | kubectl apply \
             --server-side --force-conflicts -f -",
            left.old_crds.join(", ")
        ));
    }
    for apply in &left.applies {
        about_apply(&mut report, left, apply);
    }
    for control_plane in &left.control_planes {
        let endpoint = control_plane.spec.control_plane_endpoint.as_ref();
        if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.host.contains("://")) {
            report.taken_over.push(Finding::new(
                &control_plane.metadata,
                "captcontrolplane",
                vec![format!(
                    "its endpoint {} is kept, and written as host and port",
                    endpoint.host
                )],
            ));
        }
    }
    for template in &left.templates {
        if has_finalizer(&template.metadata, marks::LEGACY_WORKSPACETEMPLATE_FINALIZER) {
            report.taken_over.push(Finding::new(
                &template.metadata,
                "workspacetemplate",
                vec![format!(
                    "its finalizer {} is replaced by capt's",
                    marks::LEGACY_WORKSPACETEMPLATE_FINALIZER
                )],
            ));
        }
    }
    for crd in &left.machine_crds {
        report.untouched.push(Finding {
            object: format!("crd/{crd}"),
            namespace: String::new(),
            says: vec!["has no successor in capt; it and its objects stay as they are".to_owned()],
        });
    }
    for misspelt in &left.misspelt {
        match misspelt.in_words() {
            Ok(done) => report.replaced.push(done),
            Err(to_do) => report.first.push(to_do),
        }
    }
    if let Some(old) = &left.template_crd {
        report.replaced.push(format!(
            "The CRD of {} is replaced by that of {TEMPLATE_KIND}, and its {} objects are kept",
            old.kind(),
            old.objects.len()
        ));
    }
    for apply in left.applies.iter().filter(|apply| is_old(apply)) {
        match marking(left, apply) {
            Marking::ToMark(mark) => report.replaced.push(format!(
                "The Workspace {} is marked as made by the Go implementation for {}, whose namespace it writes its outputs to",
                mark.workspace, mark.key
            )),
            Marking::ToDecide(words) => report.first.push(words),
            Marking::Done | Marking::Absent => {}
        }
    }
    report
        .first
        .extend(legacy::to_confirm(&left.applies, &left.workspaces));
    for class in &left.classes {
        report.first.push(format!(
            "Write kind: {TEMPLATE_KIND} in spec.controlPlane of the ClusterClass {class}"
        ));
    }
    report
}

/// The Workspaces that are to be marked as made by the Go implementation.
pub(super) fn marks(left: &Left) -> Vec<Mark> {
    let old = left.applies.iter().filter(|apply| is_old(apply));
    old.filter_map(|apply| match marking(left, apply) {
        Marking::ToMark(mark) => Some(mark),
        _ => None,
    })
    .collect()
}

fn marking(left: &Left, apply: &WorkspaceTemplateApply) -> Marking {
    let name = workspace_name(apply);
    let claims = left
        .applies
        .iter()
        .filter(|other| is_old(other) && workspace_name(other) == name);
    legacy::marking(apply, &name, &left.workspaces, claims.count().saturating_sub(1))
}

fn is_old(apply: &WorkspaceTemplateApply) -> bool {
    has_finalizer(&apply.metadata, marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER)
}

fn about_apply(report: &mut Report, left: &Left, apply: &WorkspaceTemplateApply) {
    let role = role(left, apply);
    if !is_old(apply) {
        // What capt has taken over or made itself needs no word, unless somebody has to approve something.
        approval(report, apply, matches!(role, Role::Nobodys));
        return;
    }
    let mut says = Vec::new();
    let named = |spec: Option<&String>, field: &str| match spec {
        Some(name) if *name == apply.name_any() => format!("stays named in {field}"),
        _ => format!("is named in {field}"),
    };
    let spec_of = |owner: &str| {
        let planes = left.control_planes.iter();
        let mut planes = planes.filter(|one| one.namespace() == apply.namespace());
        planes
            .find(|one| one.name_any() == owner)
            .and_then(|one| one.spec.workspace_template_apply_name.as_ref())
    };
    match &role {
        Role::Eks(owner) => says.push(format!(
            "makes the EKS cluster of captcontrolplane/{owner}, and {}",
            named(spec_of(owner), "its spec.workspaceTemplateApplyName")
        )),
        Role::Vpc(owner) => says.push(format!("makes the VPC of captcluster/{owner}, and is named in its spec")),
        Role::Remnant(owner, Remnant::Kubeconfig) => says.push(format!(
            "prints a kubeconfig for captcontrolplane/{owner}, which capt makes itself; it stays until that goes"
        )),
        Role::Remnant(owner, Remnant::SpotRole) => says.push(format!(
            "looks after a role of the whole AWS account; when captcontrolplane/{owner} goes, the role, its Workspace {} and \
             its state stay",
            workspace_name(apply)
        )),
        Role::Nobodys => says.push("belongs to nothing that capt knows, and goes on by itself".to_owned()),
    }
    let workspace = workspace_name(apply);
    says.push(match marking(left, apply) {
        Marking::Absent => format!("its Workspace {workspace} is not there, and is looked for when the controllers run"),
        Marking::ToDecide(_) => format!("whether the Workspace {workspace} is its own is yours to decide; nothing is made before"),
        Marking::Done | Marking::ToMark(_) => format!(
            "its Workspace {workspace} keeps name, content and state; only managementPolicies are taken over at once"
        ),
    });
    says.push(format!(
        "its finalizer {} is replaced by capt's",
        marks::LEGACY_WORKSPACETEMPLATEAPPLY_FINALIZER
    ));
    let writers = writers(&apply.metadata);
    if !writers.is_empty() {
        says.push(format!(
            "fields that {} wrote become capt's",
            writers.into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    report
        .taken_over
        .push(Finding::new(&apply.metadata, "wtapply", says));
    if !matches!(role, Role::Remnant(_, Remnant::SpotRole)) {
        approval(report, apply, true);
    }
}

/// The first rendering of something that was taken over waits for an approval.
fn approval(report: &mut Report, apply: &WorkspaceTemplateApply, is_to_come: bool) {
    let is_old = is_old(apply);
    let name = apply.name_any();
    let namespace = apply.namespace().unwrap_or_default();
    let status = apply.status.as_ref();
    let conditions = status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    let waits = find_condition(conditions, "ApprovalNeeded").is_some_and(|one| one.status == "True");
    let pending = status
        .and_then(|status| status.pending_revision.as_ref())
        .filter(|_| waits);
    let says = match pending {
        Some(revision) => {
            format!("waits for one: capt approve wtapply/{name} -n {namespace} --plan {revision}")
        }
        None if is_old && is_to_come => {
            "its first change will wait for one; its condition ApprovalNeeded then names the fields that differ, and \
             where capt's runner runs it, capt plan shows what that changes"
                .to_owned()
        }
        None => return,
    };
    report
        .approvals
        .push(Finding::new(&apply.metadata, "wtapply", vec![says]));
}

/// What a WorkspaceTemplateApply is for, as the controllers will find it.
fn role(left: &Left, apply: &WorkspaceTemplateApply) -> Role {
    let name = apply.name_any();
    let recorded = owner::recorded(apply);
    let is_of = |kind: &str, owner: &str| {
        let label = owner::label(kind, owner);
        recorded.as_ref().is_none_or(|recorded| *recorded == label)
    };
    let seen = [OwnedSeen {
        wta: apply.clone(),
        trouble: None,
        workspace: None,
        run: None,
    }];
    for one in left
        .control_planes
        .iter()
        .filter(|one| one.namespace() == apply.namespace())
    {
        let owner = one.name_any();
        if !is_of("CAPTControlPlane", &owner) || !names(one).contains(&name) {
            continue;
        }
        if let Some(remnant) = remnant(&owner, &name) {
            return Role::Remnant(owner, remnant);
        }
        let is_named = one.spec.workspace_template_apply_name.as_ref() == Some(&name);
        if is_named || !former_names(&owner, &seen).is_empty() {
            return Role::Eks(owner);
        }
    }
    for one in left
        .captclusters
        .iter()
        .filter(|one| one.namespace() == apply.namespace())
    {
        let owner = one.name_any();
        if is_of("CAPTCluster", &owner) && apply_names(one).contains(&name) {
            return Role::Vpc(owner);
        }
    }
    Role::Nobodys
}

fn workspace_name(apply: &WorkspaceTemplateApply) -> String {
    let status = apply.status.as_ref();
    let told = status.and_then(|status| status.workspace_name.clone());
    // The Go implementation always names it so, and may not have come to say it.
    told.unwrap_or_else(|| apply.name_any().trim_end_matches("-apply").to_owned())
}

fn has_finalizer(metadata: &ObjectMeta, finalizer: &str) -> bool {
    metadata.finalizers.iter().flatten().any(|one| one == finalizer)
}

/// Programs that wrote the object whole, as the Go implementation does.
fn writers(metadata: &ObjectMeta) -> BTreeSet<String> {
    let entries = metadata.managed_fields.iter().flatten();
    let updates =
        entries.filter(|entry| entry.operation.as_deref() == Some("Update") && entry.subresource.is_none());
    updates
        .filter_map(|entry| entry.manager.clone())
        .filter(|manager| !manager.starts_with("kubectl") && !manager.starts_with("capt-"))
        .collect()
}

#[cfg(test)]
mod tests;
