//! What objects are found by, besides their names.

use capt_api::{WorkspaceTemplateApply, marks};
use capt_core::{names, render::WorkspaceGroup, wta::snapshot::WorkspaceSeen};

use super::views::{HeldView, OwnerView, ReportView};
use crate::engine::{key::ObjectKey, table::Index};

/// WorkspaceTemplateApplies by the template that they refer to, as `namespace/name`.
pub(crate) const TEMPLATE: &str = "template";
/// WorkspaceTemplateApplies by the Workspaces that they wait for, as `namespace/name` and, because the name alone does
/// not tell whether a Workspace is in a namespace, as `/name`.
pub(crate) const WAITS_FOR: &str = "waits for";
/// WorkspaceTemplateApplies by the Workspace that they have or would have, as `namespace/name` or `/name`.
pub(crate) const MAKES: &str = "makes";
/// Workspaces by the WorkspaceTemplateApply whose identity they carry, as `namespace/label`.
pub(crate) const IDENTITY: &str = "identity";
/// Owners by the label that they are recorded by, as `namespace/label`.
pub(crate) const LABEL: &str = "label";
/// Secrets by the Terraform workspace whose state they hold, as `namespace/name`.
pub(crate) const STATE_OF: &str = "state of";
/// What our runner tells, by the uid of the Workspace.
pub(crate) const RUN_OF: &str = "run of";

pub(super) const APPLIES: &[Index<WorkspaceTemplateApply>] = &[
    Index {
        name: TEMPLATE,
        values: |key, apply| {
            let reference = &apply.spec.template_ref;
            let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
            vec![within(namespace, &reference.name)]
        },
    },
    Index {
        name: WAITS_FOR,
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
                    let name = names::workspace(key.namespace(), &key.name);
                    vec![within(key.namespace(), name.preferred())]
                }
            }
        },
    },
];

pub(super) const WORKSPACES: &[Index<WorkspaceSeen>] = &[Index {
    name: IDENTITY,
    values: |_, workspace| {
        let label = |name| workspace.labels.get(name);
        match (label(marks::WTA_NAMESPACE), label(marks::WTA_NAME)) {
            (Some(namespace), Some(name)) => vec![within(namespace, name)],
            _ => Vec::new(),
        }
    },
}];

pub(super) const OWNERS: &[Index<OwnerView>] = &[Index {
    name: LABEL,
    values: |key, owner| vec![within(key.namespace(), &owner.label)],
}];

pub(super) const SECRETS: &[Index<HeldView>] = &[Index {
    name: STATE_OF,
    values: |key, secret| {
        let holds = secret.state_of.as_ref();
        holds
            .map(|name| within(key.namespace(), name))
            .into_iter()
            .collect()
    },
}];

pub(super) const REPORTS: &[Index<ReportView>] = &[Index {
    name: RUN_OF,
    values: |_: &ObjectKey, report| vec![report.workspace_uid.clone()],
}];

/// Something in a namespace, in an index.
pub(crate) fn within(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}
