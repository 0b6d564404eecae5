//! Fargate profiles of a control plane: what each is told to be, what became of it, and what a person can do about it.

use std::collections::BTreeMap;

use capt_api::{
    CAPTControlPlane, WorkspaceTemplateApply,
    captcontrolplane::{
        AdditionalFargateProfile, FargateProfilePhase as Phase, FargateProfileStatus, FargateSelector,
    },
};
use capt_core::controlplane::fargate::selectors_hash;
use serde::de::DeserializeOwned;

use super::{advice::placed, description::Profile, going};
use crate::look::view::{Object, View};

/// All profiles that there are or should be.
pub(super) fn of(view: &View<'_>, control_plane: &CAPTControlPlane) -> Vec<Profile> {
    let wanted = control_plane.spec.additional_fargate_profiles.as_deref();
    let wanted = wanted.unwrap_or_default();
    let rows = rows(control_plane);
    let told = rows.iter().map(|row| {
        let wanted = wanted.iter().find(|wanted| wanted.name == row.name);
        one(view, wanted, row)
    });
    // Nothing is told of those that nobody could begin with.
    let is_going = control_plane.metadata.deletion_timestamp.is_some();
    let untold = wanted
        .iter()
        .filter(|wanted| !is_going && rows.iter().all(|row| row.name != wanted.name))
        .map(|wanted| {
            let row = FargateProfileStatus {
                name: wanted.name.clone(),
                phase: Some(Phase::Waiting),
                message: Some("Waiting for the EKS cluster to be ready".to_owned()),
                ..FargateProfileStatus::default()
            };
            one(view, Some(wanted), &row)
        });
    told.chain(untold).collect()
}

/// What a person can do about profiles that do not go on by themselves.
pub(super) fn advice(view: &View<'_>, control_plane: &CAPTControlPlane, namespace: &str) -> Vec<String> {
    let mut advice = Vec::new();
    for row in rows(control_plane) {
        let Some(apply) = &row.workspace_template_apply_name else {
            continue;
        };
        let object = placed(&format!("WorkspaceTemplateApply/{apply}"), namespace);
        let name = &row.name;
        let asked = approval_asked(view, apply).filter(|_| row.phase == Some(Phase::Waiting));
        if let Some(message) = asked.filter(|message| going::is_unplanned(message)) {
            advice.extend(going::unplanned(message));
        } else if asked.is_some() {
            advice.push(format!("look at what it would change: capt plan {object}"));
            advice.push(format!("approve exactly that: capt approve {object} --plan ID"));
        } else if row.failure_message.is_some() {
            advice.push(format!(
                "see what Terraform said about the profile {name}: capt logs {object}"
            ));
        } else if row.phase == Some(Phase::Waiting) {
            advice.push(format!(
                "see to what the profile {name} waits for, as its message says"
            ));
        }
    }
    advice
}

/// Whether a person has to approve what a WorkspaceTemplateApply would do.
pub(super) fn awaits_approval(view: &View<'_>, apply: &str) -> bool {
    approval_asked(view, apply).is_some()
}

/// What a person is asked to approve of a WorkspaceTemplateApply.
fn approval_asked<'a>(view: &View<'a>, apply: &str) -> Option<&'a str> {
    let status = found(view, apply)?.status.as_ref()?;
    let mut conditions = status.conditions.as_deref()?.iter();
    let asked = conditions.find(|one| one.type_ == "ApprovalNeeded" && one.status == "True")?;
    Some(asked.message.as_str())
}

fn rows(control_plane: &CAPTControlPlane) -> &[FargateProfileStatus] {
    let status = control_plane.status.as_ref();
    status
        .and_then(|status| status.fargate_profile_statuses.as_deref())
        .unwrap_or_default()
}

fn found<'a>(view: &View<'a>, apply: &str) -> Option<&'a WorkspaceTemplateApply> {
    match view.object(&format!("WorkspaceTemplateApply/{apply}")) {
        Some(Object::Apply(apply)) => Some(apply),
        _ => None,
    }
}

/// A profile: what its module is told, or else what is wanted, and what became of it.
fn one(view: &View<'_>, wanted: Option<&AdditionalFargateProfile>, status: &FargateProfileStatus) -> Profile {
    let failure = status
        .failure_message
        .clone()
        .or_else(|| status.failure_reason.clone());
    let name = status.workspace_template_apply_name.clone();
    let apply = name.as_deref().and_then(|name| found(view, name));
    let variables = apply
        .and_then(|apply| apply.spec.variables.clone())
        .unwrap_or_default();
    let told: Option<Vec<FargateSelector>> = read(&variables, "selectors");
    let selectors = told.or_else(|| wanted.map(|wanted| wanted.selectors.clone()));
    let observed = status.observed_selectors_hash.as_ref();
    let is_same = |observed: &String| {
        let told = variables.get("selectors");
        told.is_none_or(|told| selectors_hash(told) == *observed)
    };
    let subnets = wanted.and_then(|wanted| wanted.subnet_ids.clone());
    let role = wanted.and_then(|wanted| wanted.pod_execution_role_arn.clone());
    let tags = wanted.and_then(|wanted| wanted.tags.clone());
    Profile {
        name: status.name.clone(),
        ready: status.ready,
        phase: match status.phase {
            Some(phase) => format!("{phase:?}"),
            None if status.ready => "Ready".to_owned(),
            None => "Waiting".to_owned(),
        },
        since: status.since.as_ref().map(|time| time.0),
        selectors: selectors.iter().flatten().map(selector).collect(),
        has_other_selectors: observed.is_some_and(|observed| !is_same(observed)),
        subnets: read(&variables, "private_subnets")
            .or(subnets)
            .unwrap_or_default(),
        role: variables.get("pod_execution_role_arn").cloned().or(role),
        tags: read(&variables, "tags").or(tags).unwrap_or_default(),
        message: status.message.clone().unwrap_or_default(),
        failure,
        apply: name,
        workspace: apply.and_then(|apply| apply.status.as_ref()?.workspace_name.clone()),
    }
}

/// A variable that is a list or a map.
fn read<T: DeserializeOwned>(variables: &BTreeMap<String, String>, name: &str) -> Option<T> {
    serde_json::from_str(variables.get(name)?).ok()
}

/// A selector in one word, such as `jobs{runs-on=fargate}`.
fn selector(selector: &FargateSelector) -> String {
    let namespace = selector.namespace.clone().unwrap_or_default();
    let labels: Vec<String> = selector
        .labels
        .iter()
        .flatten()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if labels.is_empty() {
        namespace
    } else {
        format!("{namespace}{{{}}}", labels.join(","))
    }
}

impl Profile {
    /// Its selectors in one line.
    pub(super) fn selectors(&self) -> String {
        let selectors = self.selectors.join(" ");
        match self.has_other_selectors {
            true => format!("{selectors} (not yet)"),
            false => selectors,
        }
    }

    /// What else its module is told, in one line.
    pub(super) fn settings(&self) -> Option<String> {
        let mut settings = Vec::new();
        if !self.subnets.is_empty() {
            settings.push(format!("subnets {}", self.subnets.join(", ")));
        }
        settings.extend(self.role.as_ref().map(|role| format!("role {role}")));
        if !self.tags.is_empty() {
            let tags: Vec<String> = self
                .tags
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            settings.push(format!("tags {}", tags.join(", ")));
        }
        (!settings.is_empty()).then(|| settings.join("; "))
    }
}
