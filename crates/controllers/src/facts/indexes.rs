//! What objects are found by, besides their names, and what of them counts for those who need not know everything.

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    foreign::{Cluster, cluster::ContractReference},
    marks,
};
use capt_core::{
    names,
    render::WorkspaceGroup,
    wta::{owner, snapshot::WorkspaceSeen},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::{
    kinds,
    views::{HeldView, ReportView, TemplateView, WorkerView},
};
use crate::engine::{key::ObjectKey, served::CustomKind, table::Index};

/// WorkspaceTemplateApplies by the template that they refer to, as `namespace/name`.
pub(crate) const TEMPLATE: &str = "template";
/// WorkspaceTemplateApplies by the Workspaces that they wait for, as `namespace/name` and, because the name alone does
/// not tell whether a Workspace is in a namespace, as `/name`.
pub(crate) const WAITS_FOR: &str = "waits for";
/// WorkspaceTemplateApplies by the Workspace that they have or would have, as `namespace/name` or `/name`.
pub(crate) const MAKES: &str = "makes";
/// WorkspaceTemplateApplies by their owners, as `namespace/label`: the one in their label, and those that they refer to.
pub(crate) const OWNER: &str = "owner";
/// WorkspaceTemplateApplies that have an owner, by the template that they refer to, as `namespace/name`.
pub(crate) const SHARES: &str = "shares";
/// The same, by template and the revision of it that is released to them, as `namespace/name@revision`.
pub(crate) const RELEASED: &str = "released";
/// Workspaces by the WorkspaceTemplateApply whose identity they carry, as `namespace/label`.
pub(crate) const IDENTITY: &str = "identity";
/// Owners by the label that they are recorded by, as `namespace/label`.
pub(crate) const LABEL: &str = "label";
/// CAPTControlPlanes and workers by the Cluster that they belong to, as `namespace/name`.
pub(crate) const CLUSTER: &str = "cluster";
/// Clusters by the CAPTCluster that their specs name, as `namespace/name`.
pub(crate) const INFRASTRUCTURE: &str = "infrastructure";
/// Clusters by the CAPTControlPlane that their specs name, as `namespace/name`.
pub(crate) const CONTROL_PLANE: &str = "control plane";
/// CAPTControlPlanes by the WorkspaceTemplateApply that their specs name, as `namespace/name`.
pub(crate) const APPLY: &str = "apply";
/// Secrets by the Terraform workspace whose state they hold, as `namespace/name`.
pub(crate) const STATE_OF: &str = "state of";
/// Secrets by the Workspace whose state our runner says they hold, as `namespace/group/namespace/name`.
pub(crate) const CLAIM: &str = "claim";
/// What our runner tells, by the uid of the Workspace.
pub(crate) const RUN_OF: &str = "run of";

/// For a glance: what the spec is, and whether the object goes away.
pub(crate) const SPEC: &str = "spec";
/// For a glance at an owner: what counts for those that it owns.
pub(crate) const OWNERSHIP: &str = "ownership";
/// For a glance at a Cluster: what it reached once.
pub(crate) const REACHED: &str = "reached";
/// For a glance at a Workspace: what it is, and up to where its status speaks about it.
pub(crate) const OBSERVED: &str = "observed";
/// For a glance at what our runner tells: everything but how far it is.
pub(crate) const RUN: &str = "run";

pub(super) const APPLIES: &[Index<WorkspaceTemplateApply>] = &[
    Index {
        name: TEMPLATE,
        finds: true,
        values: |key, apply| {
            let reference = &apply.spec.template_ref;
            let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
            vec![within(namespace, &reference.name)]
        },
    },
    Index {
        name: WAITS_FOR,
        finds: true,
        values: |key, apply| {
            let references = apply.spec.wait_for_workspaces.iter().flatten();
            references
                .flat_map(|reference| {
                    let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
                    [within(namespace, &reference.name), within("", &reference.name)]
                })
                .collect()
        },
    },
    Index {
        name: MAKES,
        finds: true,
        values: |key, apply| {
            let annotations = apply.metadata.annotations.as_ref();
            let recorded = annotations
                .and_then(|annotations| annotations.get(marks::WORKSPACE))
                .and_then(|recorded| recorded.split_once('/'));
            match recorded {
                Some((group, name)) => match WorkspaceGroup::from_name(group) {
                    Some(WorkspaceGroup::ClusterScoped) => vec![within("", name)],
                    _ => vec![within(key.namespace(), name)],
                },
                None => {
                    let name = names::workspace(key.namespace(), key.name());
                    vec![within(key.namespace(), name.preferred())]
                }
            }
        },
    },
    Index {
        name: OWNER,
        finds: true,
        values: |key, apply| {
            let label = |owner: &OwnerReference| owner::label(&owner.kind, &owner.name);
            let owners = apply.metadata.owner_references.iter().flatten();
            let mut all: Vec<String> = owners
                .map(label)
                .chain(owner::recorded(apply))
                .map(|label| within(key.namespace(), &label))
                .collect();
            all.dedup();
            all
        },
    },
    Index {
        name: SHARES,
        finds: true,
        values: |key, apply| shared_template(key, apply).into_iter().collect(),
    },
    Index {
        name: RELEASED,
        finds: true,
        values: |key, apply| {
            let revision = apply.spec.template_revision.as_deref().unwrap_or_default();
            let template = shared_template(key, apply);
            template
                .map(|template| released(&template, revision))
                .into_iter()
                .collect()
        },
    },
];

/// The template of a WorkspaceTemplateApply that has an owner.
fn shared_template(key: &ObjectKey, apply: &WorkspaceTemplateApply) -> Option<String> {
    owner::recorded(apply)?;
    let reference = &apply.spec.template_ref;
    let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
    Some(within(namespace, &reference.name))
}

/// A revision of a template, in an index.
pub(crate) fn released(template: &str, revision: &str) -> String {
    format!("{template}@{revision}")
}

pub(super) const TEMPLATES: &[Index<TemplateView>] = &[Index {
    name: SPEC,
    finds: false,
    values: |_, view| {
        let metadata = &view.metadata;
        let sandbox = metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(marks::SANDBOX));
        vec![format!(
            "{} {}",
            spec_of(metadata),
            sandbox.map_or("", String::as_str)
        )]
    },
}];

pub(super) const WORKSPACES: &[Index<WorkspaceSeen>] = &[
    Index {
        name: IDENTITY,
        finds: true,
        values: |_, workspace| {
            let label = |name| workspace.labels.get(name);
            match (label(marks::WTA_NAMESPACE), label(marks::WTA_NAME)) {
                (Some(namespace), Some(name)) => vec![within(namespace, name)],
                _ => Vec::new(),
            }
        },
    },
    Index {
        name: OBSERVED,
        finds: false,
        values: |_, workspace| {
            let observed = workspace.status.observed_generation.unwrap_or_default();
            let paused = workspace
                .annotations
                .get(capt_api::foreign::marks::CROSSPLANE_PAUSED);
            let drift = workspace
                .condition("Drifted")
                .filter(|drifted| drifted.status == "True")
                .map(|drifted| (&drifted.last_transition_time, &drifted.message));
            vec![format!(
                "{} {} {observed} {paused:?} {drift:?} {}",
                workspace.uid,
                workspace.generation,
                workspace.drifted_at().is_some(),
            )]
        },
    },
];

pub(super) const CLUSTERS: &[Index<Cluster>] = &[
    Index {
        name: SPEC,
        finds: false,
        values: |_, cluster| {
            let metadata = &cluster.metadata;
            vec![format!("{} {}", spec_of(metadata), has_pause(metadata))]
        },
    },
    Index {
        name: INFRASTRUCTURE,
        finds: true,
        values: |key, cluster| referred_to(key, &cluster.spec.infrastructure_ref, &kinds::CAPTCLUSTER),
    },
    Index {
        name: CONTROL_PLANE,
        finds: true,
        values: |key, cluster| referred_to(key, &cluster.spec.control_plane_ref, &kinds::CAPTCONTROLPLANE),
    },
    Index {
        name: REACHED,
        finds: false,
        values: |_, cluster| {
            let status = cluster.status.as_ref();
            let flags = status.and_then(|status| status.initialization.as_ref());
            let of = |flag: Option<bool>| flag == Some(true);
            let infrastructure = of(flags.and_then(|flags| flags.infrastructure_provisioned));
            let control_plane = of(flags.and_then(|flags| flags.control_plane_initialized));
            vec![format!("{infrastructure} {control_plane}")]
        },
    },
];

pub(super) const CAPTCLUSTERS: &[Index<CAPTCluster>] = &[
    Index {
        name: LABEL,
        finds: true,
        values: |key, _| vec![within(key.namespace(), &owner::label("CAPTCluster", key.name()))],
    },
    Index {
        name: OWNERSHIP,
        finds: false,
        values: |_, object| vec![ownership(&object.metadata)],
    },
];

pub(super) const CAPTCONTROLPLANES: &[Index<CAPTControlPlane>] = &[
    Index {
        name: LABEL,
        finds: true,
        values: |key, _| {
            let label = owner::label("CAPTControlPlane", key.name());
            vec![within(key.namespace(), &label)]
        },
    },
    Index {
        name: OWNERSHIP,
        finds: false,
        values: |_, object| vec![ownership(&object.metadata)],
    },
    Index {
        name: CLUSTER,
        finds: true,
        values: |key, object| {
            let metadata = &object.metadata;
            let owners = metadata.owner_references.iter().flatten();
            let labels = metadata.labels.as_ref();
            let label = labels.and_then(|labels| labels.get(capt_api::foreign::marks::CLUSTER_NAME));
            owners
                .filter(|owner| owner.kind == "Cluster")
                .map(|owner| &owner.name)
                .chain(label)
                .map(|cluster| within(key.namespace(), cluster))
                .collect()
        },
    },
    Index {
        name: APPLY,
        finds: true,
        values: |key, object| {
            let named = object.spec.workspace_template_apply_name.iter();
            named.map(|name| within(key.namespace(), name)).collect()
        },
    },
];

pub(super) const WORKERS: &[Index<WorkerView>] = &[Index {
    name: CLUSTER,
    finds: true,
    values: |key, worker| vec![within(key.namespace(), &worker.cluster)],
}];

pub(super) const SECRETS: &[Index<HeldView>] = &[
    Index {
        name: STATE_OF,
        finds: true,
        values: |key, secret| {
            let holds = secret.state_of.as_ref();
            holds
                .map(|name| within(key.namespace(), name))
                .into_iter()
                .collect()
        },
    },
    Index {
        name: CLAIM,
        finds: true,
        values: |key, secret| {
            let claim = secret.claim.as_ref();
            claim
                .map(|claim| within(key.namespace(), claim))
                .into_iter()
                .collect()
        },
    },
];

pub(super) const REPORTS: &[Index<ReportView>] = &[
    Index {
        name: RUN_OF,
        finds: true,
        values: |_: &ObjectKey, report| vec![report.workspace_uid.clone()],
    },
    Index {
        name: RUN,
        finds: false,
        values: |_, view| {
            let report = &view.report;
            let operation = report.operation.as_ref().map(|operation| {
                let times = (operation.started_at, operation.ended_at);
                format!("{times:?}")
            });
            let plan = report.plan.as_ref();
            let plan = plan.map(|plan| (plan.generation, &plan.id, &plan.summary));
            vec![format!("{operation:?} {plan:?} {:?}", report.answered)]
        },
    },
];

/// Something in a namespace, in an index.
pub(crate) fn within(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// What a Cluster refers to, if it is of a kind.
fn referred_to(key: &ObjectKey, reference: &Option<ContractReference>, kind: &CustomKind) -> Vec<String> {
    reference
        .iter()
        .filter(|reference| reference.kind == kind.kind && reference.api_group == kind.group)
        .map(|reference| within(key.namespace(), &reference.name))
        .collect()
}

/// Changes with the spec, and when an object goes away.
fn spec_of(metadata: &ObjectMeta) -> String {
    format!(
        "{} {} {}",
        metadata.uid.as_deref().unwrap_or_default(),
        metadata.generation.unwrap_or_default(),
        metadata.deletion_timestamp.is_some(),
    )
}

/// Whether an object is paused by itself.
pub(super) fn has_pause(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(capt_api::foreign::marks::PAUSED))
}

/// Changes with what counts for those that an object owns.
fn ownership(metadata: &ObjectMeta) -> String {
    let annotations = metadata.annotations.as_ref();
    let turn = annotations.and_then(|annotations| annotations.get(marks::TURN));
    let is_paused = has_pause(metadata);
    let labels = metadata.labels.as_ref();
    let label = |name: &str| {
        labels
            .and_then(|labels| labels.get(name))
            .map_or("", String::as_str)
    };
    format!(
        "{} {is_paused} {} {} {}",
        metadata.deletion_timestamp.is_some(),
        turn.map_or("", String::as_str),
        label(capt_api::foreign::marks::WATCH_FILTER),
        label(capt_api::foreign::marks::CLUSTER_NAME),
    )
}
