//! The objects that a command is about, read from the API.

mod call;
mod report;

use capt_api::{
    WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{ClusterWorkspace, LegacyProviderConfigUsage, ProviderConfigUsage, Workspace},
    marks,
};
use capt_core::render::WorkspaceGroup;
use capt_runner::view::WorkspaceView;
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;

pub(crate) use call::{CallError, call, call_opt};
pub(crate) use report::{Page, ReportPlace};

use crate::{
    access::Cluster,
    target::{Kind, Placed, Target},
};

const FIELD_MANAGER: &str = "capt-cli";
/// Objects that are looked at for a name that may have been meant.
const MANY: u32 = 500;

/// Why there is nothing to talk about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObjectError {
    /// There is no such object.
    #[error("there is no {target} in namespace {namespace}{hint}")]
    Missing {
        /// What was looked for.
        target: Target,
        /// Where.
        namespace: String,
        /// What may have been meant.
        hint: String,
    },
    /// There are two.
    #[error(
        "there is a workspace/{0} in this namespace and another of the whole cluster; write \
         workspace.tf.m.upbound.io/{0} or workspace.tf.upbound.io/{0}"
    )]
    Two(String),
    /// Terraform does not run for it, but for what it is made of.
    #[error("{target} is no wtapply or workspace; see which ones it has: capt tree {0}", target = .0.target)]
    NotRun(Placed),
    /// It is a template, for which nothing runs.
    #[error(
        "{0} is a template, for which Terraform never runs; name a wtapply that uses it: capt get wtapply -A shows them"
    )]
    OnlyATemplate(Target),
    /// The API does not know the kind.
    #[error(
        "this cluster does not know {0}; install capt's kinds: capt manifests crds | kubectl apply --server-side -f -"
    )]
    NoKind(&'static str),
    /// The API did not answer as it should.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// What a command is about: a WorkspaceTemplateApply and its Workspace, as far as they are there.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) apply: Option<WorkspaceTemplateApply>,
    /// The whole spec of the Workspace, to be compared.
    pub(crate) spec: serde_json::Value,
    pub(crate) workspace: Option<WorkspaceView>,
}

/// Whether provider-terraform runs a Workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// This person may not read ProviderConfigUsages.
    Hidden,
}

impl Cluster {
    /// Finds what a command is about.
    pub(crate) async fn subject(&self, target: &Target) -> Result<Subject, ObjectError> {
        match target.kind {
            Kind::Template => Err(ObjectError::OnlyATemplate(target.clone())),
            Kind::Apply => {
                let apply = self.apply(&target.name).await?;
                self.subject_of(apply).await
            }
            Kind::Cluster | Kind::CaptCluster | Kind::ControlPlane => Err(ObjectError::NotRun(
                target.clone().placed(Some(self.namespace.clone())),
            )),
            Kind::Workspace(group) => {
                let (workspace, spec) = self.workspace(group, target).await?;
                let apply = self.apply_of(&workspace).await?;
                Ok(Subject {
                    apply,
                    spec,
                    workspace: Some(workspace),
                })
            }
        }
    }

    /// A WorkspaceTemplateApply and its Workspace.
    pub(crate) async fn subject_of(&self, apply: WorkspaceTemplateApply) -> Result<Subject, ObjectError> {
        let namespace = apply.namespace().unwrap_or_else(|| self.namespace.clone());
        let mut ours = None;
        for (group, name) in places_of(&apply) {
            let found = self.workspace_in(group, &namespace, &name).await?;
            // A namesake that is somebody else's is not what this is about.
            ours = found
                .filter(|(workspace, _)| workspace.labels.get(marks::WTA_UID) == apply.metadata.uid.as_ref());
            if ours.is_some() {
                break;
            }
        }
        let (workspace, spec) = ours.unzip();
        Ok(Subject {
            apply: Some(apply),
            spec: spec.unwrap_or_default(),
            workspace,
        })
    }

    /// The same as it is now.
    pub(crate) async fn refreshed(&self, subject: &Subject) -> Result<Subject, ObjectError> {
        if let Some(apply) = &subject.apply {
            let api: Api<WorkspaceTemplateApply> =
                Api::namespaced(self.client.clone(), &apply.namespace().unwrap_or_default());
            let apply = call_opt(api.get(&apply.name_any())).await?;
            return match apply {
                Some(apply) => self.subject_of(apply).await,
                None => Err(self
                    .missing::<WorkspaceTemplateApply>(Kind::Apply, &subject.target().name)
                    .await),
            };
        }
        match &subject.workspace {
            Some(workspace) => {
                self.subject(&Target {
                    kind: Kind::Workspace(Some(workspace.group)),
                    name: workspace.name.clone(),
                })
                .await
            }
            None => Ok(subject.clone()),
        }
    }

    /// A WorkspaceTemplateApply.
    pub(crate) async fn apply(&self, name: &str) -> Result<WorkspaceTemplateApply, ObjectError> {
        let api: Api<WorkspaceTemplateApply> = Api::namespaced(self.client.clone(), &self.namespace);
        match call_opt(api.get(name)).await? {
            Some(apply) => Ok(apply),
            None => Err(self.missing::<WorkspaceTemplateApply>(Kind::Apply, name).await),
        }
    }

    /// A WorkspaceTemplate.
    pub(crate) async fn template(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<WorkspaceTemplate>, ObjectError> {
        let api: Api<WorkspaceTemplate> = Api::namespaced(self.client.clone(), namespace);
        Ok(call_opt(api.get(name)).await?)
    }

    /// A template of our namespace, and the WorkspaceTemplateApplies that use it. Who may not look into all namespaces
    /// sees those of this one.
    pub(crate) async fn users_of(
        &self,
        template: &str,
    ) -> Result<(WorkspaceTemplate, Vec<WorkspaceTemplateApply>), ObjectError> {
        let Some(found) = self.template(&self.namespace, template).await? else {
            return Err(self.missing::<WorkspaceTemplate>(Kind::Template, template).await);
        };
        let all: Api<WorkspaceTemplateApply> = Api::all(self.client.clone());
        let applies = match call(all.list(&ListParams::default())).await {
            Err(CallError::Refused(_) | CallError::Forbidden(_)) => {
                let here: Api<WorkspaceTemplateApply> = Api::namespaced(self.client.clone(), &self.namespace);
                call(here.list(&ListParams::default())).await?
            }
            answer => answer?,
        };
        let uses = |apply: &WorkspaceTemplateApply| {
            let reference = &apply.spec.template_ref;
            let namespace = reference.namespace.clone().or_else(|| apply.namespace());
            reference.name == template && namespace.as_deref() == Some(self.namespace.as_str())
        };
        Ok((found, applies.items.into_iter().filter(uses).collect()))
    }

    async fn workspace(
        &self,
        group: Option<WorkspaceGroup>,
        target: &Target,
    ) -> Result<(WorkspaceView, serde_json::Value), ObjectError> {
        let name = &target.name;
        let look = |wanted| group.is_none_or(|group| group == wanted);
        let mut found = Vec::new();
        for group in [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped] {
            if look(group) {
                found.extend(self.workspace_in(group, &self.namespace, name).await?);
            }
        }
        match found.pop() {
            None if group == Some(WorkspaceGroup::ClusterScoped) => {
                Err(self.missing::<ClusterWorkspace>(target.kind, name).await)
            }
            None => Err(self.missing::<Workspace>(target.kind, name).await),
            Some(_) if !found.is_empty() => Err(ObjectError::Two(name.clone())),
            Some(only) => Ok(only),
        }
    }

    async fn workspace_in(
        &self,
        group: WorkspaceGroup,
        namespace: &str,
        name: &str,
    ) -> Result<Option<(WorkspaceView, serde_json::Value)>, ObjectError> {
        let client = self.client.clone();
        Ok(match group {
            WorkspaceGroup::Namespaced => {
                let found = call_opt(Api::<Workspace>::namespaced(client, namespace).get(name)).await?;
                found.map(|found| (WorkspaceView::from(&found), json!(found.spec)))
            }
            WorkspaceGroup::ClusterScoped => {
                let found = call_opt(Api::<ClusterWorkspace>::all(client).get(name)).await?;
                found.map(|found| (WorkspaceView::from(&found), json!(found.spec)))
            }
        })
    }

    /// The WorkspaceTemplateApply that a Workspace was made for, if it still is.
    async fn apply_of(
        &self,
        workspace: &WorkspaceView,
    ) -> Result<Option<WorkspaceTemplateApply>, ObjectError> {
        let label = |name: &str| workspace.labels.get(name).filter(|value| !value.is_empty());
        let (Some(namespace), Some(uid)) = (label(marks::WTA_NAMESPACE), label(marks::WTA_UID)) else {
            return Ok(None);
        };
        let api: Api<WorkspaceTemplateApply> = Api::namespaced(self.client.clone(), namespace);
        let applies = call_opt(api.list(&ListParams::default())).await?;
        let mut applies = applies.into_iter().flatten();
        Ok(applies.find(|apply| apply.metadata.uid.as_ref() == Some(uid)))
    }

    /// Whether provider-terraform runs this Workspace. Not everybody may look.
    pub(crate) async fn is_foreign(&self, workspace: &WorkspaceView) -> Result<Foreign, ObjectError> {
        let client = self.client.clone();
        let name = &workspace.uid;
        let used = match (workspace.group, &workspace.namespace) {
            (WorkspaceGroup::Namespaced, Some(namespace)) => {
                let api: Api<ProviderConfigUsage> = Api::namespaced(client, namespace);
                call_opt(api.get_metadata(name))
                    .await
                    .map(|found| found.is_some())
            }
            _ => {
                let api: Api<LegacyProviderConfigUsage> = Api::all(client);
                call_opt(api.get_metadata(name))
                    .await
                    .map(|found| found.is_some())
            }
        };
        match used {
            Ok(true) => Ok(Foreign::Yes),
            Ok(false) => Ok(Foreign::No),
            Err(CallError::Forbidden(_)) => Ok(Foreign::Hidden),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a mark on what carries the wishes of people: the WorkspaceTemplateApply, or a Workspace without one.
    pub(crate) async fn annotate(
        &self,
        subject: &Subject,
        mark: &str,
        value: &str,
    ) -> Result<(), ObjectError> {
        let (patch, params) = marking(mark, value);
        let client = self.client.clone();
        if let Some(apply) = &subject.apply {
            let namespace = apply.namespace().unwrap_or_default();
            let api: Api<WorkspaceTemplateApply> = Api::namespaced(client, &namespace);
            call(api.patch_metadata(&apply.name_any(), &params, &patch)).await?;
        } else if let Some(workspace) = &subject.workspace {
            match &workspace.namespace {
                Some(namespace) => {
                    let api: Api<Workspace> = Api::namespaced(client, namespace);
                    call(api.patch_metadata(&workspace.name, &params, &patch)).await?;
                }
                None => {
                    let api: Api<ClusterWorkspace> = Api::all(client);
                    call(api.patch_metadata(&workspace.name, &params, &patch)).await?;
                }
            }
        }
        Ok(())
    }

    /// Writes a mark on an object, and says whether it is there.
    pub(crate) async fn mark<K>(
        &self,
        api: &Api<K>,
        name: &str,
        mark: &str,
        value: &str,
    ) -> Result<bool, ObjectError>
    where
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let (patch, params) = marking(mark, value);
        Ok(call_opt(api.patch_metadata(name, &params, &patch))
            .await?
            .is_some())
    }

    /// Says that something is not there, and what may have been meant.
    pub(crate) async fn missing<K>(&self, kind: Kind, name: &str) -> ObjectError
    where
        K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let found = match call_opt(api.list_metadata(&ListParams::default().limit(MANY))).await {
            Ok(Some(found)) => found.items,
            Ok(None) => {
                return ObjectError::NoKind(match kind {
                    Kind::Cluster => "Clusters",
                    Kind::CaptCluster => "CAPTClusters",
                    Kind::ControlPlane => "CAPTControlPlanes",
                    Kind::Apply => "WorkspaceTemplateApplies",
                    Kind::Workspace(_) => "Workspaces",
                    Kind::Template => "WorkspaceTemplates",
                });
            }
            // Whoever may not see all of them still learns that this one is not there.
            Err(_) => Vec::new(),
        };
        let is_here =
            |namespace: &Option<String>| namespace.as_ref().is_none_or(|other| *other == self.namespace);
        let (here, elsewhere): (Vec<_>, Vec<_>) = found
            .iter()
            .map(|object| (object.namespace(), object.name_any()))
            .partition(|(namespace, _)| is_here(namespace));
        let names: Vec<String> = here.into_iter().map(|(_, name)| name).collect();
        let others: Vec<String> = elsewhere
            .into_iter()
            .filter(|(_, other)| other == name)
            .filter_map(|(namespace, _)| namespace)
            .collect();
        let hint = match (capt_core::near::near(name, &names), &others[..]) {
            (_, [namespace, ..]) => format!("; there is one in namespace {namespace}: add -n {namespace}"),
            (near, []) if !near.is_empty() => format!("; did you mean {}?", near.join(" or ")),
            _ if names.is_empty() => "; there is none at all".to_owned(),
            _ => format!("; there are {}", some_of(&names)),
        };
        ObjectError::Missing {
            target: Target {
                kind,
                name: name.to_owned(),
            },
            namespace: self.namespace.clone(),
            hint,
        }
    }
}

/// The first few of some names, and how many more there are.
fn some_of(names: &[String]) -> String {
    const FEW: usize = 5;
    let told = names.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(FEW) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

impl Subject {
    /// What a command is about, and where it is.
    pub(crate) fn placed(&self) -> Placed {
        let namespace = match (&self.apply, &self.workspace) {
            (Some(apply), _) => apply.namespace(),
            (None, Some(workspace)) => workspace.namespace.clone(),
            (None, None) => None,
        };
        self.target().placed(namespace)
    }

    /// What a person writes to mean it.
    pub(crate) fn target(&self) -> Target {
        let (kind, name) = match (&self.apply, &self.workspace) {
            (Some(apply), _) => (Kind::Apply, apply.name_any()),
            (None, Some(workspace)) => (Kind::Workspace(None), workspace.name.clone()),
            (None, None) => (Kind::Workspace(None), String::new()),
        };
        Target { kind, name }
    }

    /// The value of a mark where people's wishes are.
    pub(crate) fn mark(&self, mark: &str) -> Option<&String> {
        match (&self.apply, &self.workspace) {
            (Some(apply), _) => apply.annotations().get(mark),
            (None, Some(workspace)) => workspace.annotations.get(mark),
            (None, None) => None,
        }
    }
}

/// How a mark is written.
fn marking(mark: &str, value: &str) -> (Patch<serde_json::Value>, PatchParams) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {mark: value}}}));
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    (patch, params)
}

/// Which Workspace a WorkspaceTemplateApply has, and where it may be. One that is being destroyed is not written down any
/// more, and its name is still told.
fn places_of(apply: &WorkspaceTemplateApply) -> Vec<(WorkspaceGroup, String)> {
    let groups = [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped];
    let recorded = apply
        .annotations()
        .get(marks::WORKSPACE)
        .and_then(|place| place.split_once('/'));
    if let Some((group, name)) = recorded {
        let group = groups.into_iter().find(|known| known.name() == group);
        return group.map(|group| (group, name.to_owned())).into_iter().collect();
    }
    let told = apply
        .status
        .as_ref()
        .and_then(|status| status.workspace_name.as_ref());
    let told = told.filter(|_| apply.metadata.deletion_timestamp.is_some());
    told.map(|name| groups.map(|group| (group, name.clone())).into())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_told_some_names_learns_how_many_more_there_are() {
        let names = |many: usize| (1..=many).map(|at| format!("f{at}")).collect::<Vec<_>>();
        for (many, expected) in [
            (1, "f1"),
            (5, "f1, f2, f3, f4, f5"),
            (7, "f1, f2, f3, f4, f5 and 2 more"),
        ] {
            assert_eq!(some_of(&names(many)), expected);
        }
    }

    #[tokio::test]
    async fn who_may_not_look_who_runs_a_workspace_learns_just_that() {
        let workspace: Workspace = serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "x", "namespace": "team", "uid": "u-1"},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        }))
        .unwrap();
        for (code, expected) in [
            (403, Some(Foreign::Hidden)),
            (404, Some(Foreign::No)),
            (500, None),
        ] {
            let answer = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "no", "reason": "Whatever", "code": code,
            });
            let status = axum::http::StatusCode::from_u16(code).unwrap();
            let router = axum::Router::new().fallback(move || async move { (status, answer.to_string()) });
            let cluster = Cluster {
                client: kube::Client::new(router, "team"),
                namespace: "team".to_owned(),
                url: String::new(),
            };
            let found = cluster.is_foreign(&WorkspaceView::from(&workspace)).await;
            assert_eq!(found.ok(), expected, "{code}");
        }
    }
}
