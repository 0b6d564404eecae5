//! What a control plane has and is well: it is not tried again, but looked at.

use capt_api::{
    WorkspaceTemplateApply,
    conditions::find_condition,
    foreign::{ClusterWorkspace, Workspace, marks::RECONCILE_REQUESTED},
    marks,
};
use capt_runner::view::WorkspaceView;
use kube::{Api, ResourceExt as _};

use super::nearby::Runs;
use crate::{
    access::Cluster,
    objects::{CallError, ObjectError},
    target::Target,
};

/// Workspaces that are well, so that nothing of them is tried again.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Whoever runs them is asked to look at them.
    pub(super) looks: Vec<String>,
    /// This person may not ask for that, or not even find out what to ask for.
    refused: Vec<String>,
    /// Something else came in the way, and what.
    failed: Vec<(String, String)>,
}

impl Seen {
    /// Another try is asked for already, so that nothing which comes in the way of a look is a failure of that.
    fn miss(&mut self, name: String, error: &ObjectError) {
        match error {
            ObjectError::Call(CallError::Forbidden(_)) => self.refused.push(name),
            other => self.failed.push((name, other.to_string())),
        }
    }

    pub(super) fn unreached(&self) -> Vec<&String> {
        let failed = self.failed.iter().map(|(name, _)| name);
        self.refused.iter().chain(failed).collect()
    }

    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        if !self.looks.is_empty() {
            words.push_str(&format!(
                " These are well and only looked at: {}.",
                self.looks.join(", ")
            ));
        }
        if !self.refused.is_empty() {
            words.push_str(&format!(
                " These are not looked at, because you may not read or change them: {}.",
                self.refused.join(", ")
            ));
        }
        for (name, why) in &self.failed {
            words.push_str(&format!(" Not looked at: {name}, because {why}."));
        }
        words
    }
}

/// Whether Terraform did all that is asked for, so that a control plane passes no other try on.
fn is_well(apply: &WorkspaceTemplateApply) -> bool {
    let conditions = apply
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let holds = |type_| {
        let found = find_condition(conditions.unwrap_or_default(), type_);
        found.is_some_and(|condition| condition.status == "True")
    };
    // Nobody looks at what is paused.
    apply.metadata.deletion_timestamp.is_none()
        && !holds("Paused")
        && holds("Synced")
        && holds("Ready")
        && !holds("ApprovalNeeded")
}

impl Cluster {
    /// Asks for a look at what a control plane has and is well. What takes turns is not tried again out of turn: a look tells
    /// what somebody else changed, and that is mended when it is its turn.
    pub(super) async fn look_at_what_is_well(&self, owner: &Target, runs: &Runs, token: &str) -> Seen {
        let mut seen = Seen::default();
        if let Some(error) = &runs.unlisted {
            seen.miss(format!("the wtapplies of {owner}"), error);
        }
        let label = capt_core::wta::owner::label("CAPTControlPlane", &owner.name);
        let is_theirs = |apply: &WorkspaceTemplateApply| apply.labels().get(marks::OWNER) == Some(&label);
        for (apply, workspace) in &runs.read {
            if !is_theirs(apply) || !is_well(apply) {
                continue;
            }
            match workspace {
                Err(error) => seen.miss(format!("wtapply/{}", apply.name_any()), error),
                Ok(None) => {}
                Ok(Some(workspace)) => {
                    let name = format!("workspace/{}", workspace.name);
                    match self.ask_for_look(workspace, token).await {
                        Ok(true) => seen.looks.push(name),
                        Ok(false) => {}
                        Err(error) => seen.miss(name, &error),
                    }
                }
            }
        }
        seen
    }

    /// Asks whoever runs a Workspace to look at it, and says whether it is there.
    async fn ask_for_look(&self, workspace: &WorkspaceView, token: &str) -> Result<bool, ObjectError> {
        let (client, name) = (self.client.clone(), &workspace.name);
        match &workspace.namespace {
            Some(namespace) => {
                let api: Api<Workspace> = Api::namespaced(client, namespace);
                self.mark(&api, name, RECONCILE_REQUESTED, token).await
            }
            None => {
                let api: Api<ClusterWorkspace> = Api::all(client);
                self.mark(&api, name, RECONCILE_REQUESTED, token).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::nearby::of_owners, *};

    /// An API with one WorkspaceTemplateApply that is well and its Workspace, which answers requests of one method whose path
    /// contains a word with a refusal.
    fn refusing(method: &'static str, word: &'static str, code: u16) -> Cluster {
        let condition = |type_| {
            json!({
                "type": type_, "status": "True", "reason": "Whatever", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let apply = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "WorkspaceTemplateApply",
            "metadata": {
                "name": "eks", "namespace": "team", "uid": "u-1",
                "labels": {marks::OWNER: "CAPTControlPlane.blue"},
                "annotations": {marks::WORKSPACE: "tf.m.upbound.io/blue"},
            },
            "spec": {"templateRef": {"name": "eks"}},
            "status": {"conditions": [condition("Synced"), condition("Ready")]},
        });
        let list = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "WorkspaceTemplateApplyList",
            "metadata": {}, "items": [apply],
        });
        let workspace = json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "blue", "namespace": "team", "labels": {marks::WTA_UID: "u-1"}},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
        });
        let refusal = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "no", "reason": "Whatever", "code": code,
        });
        let router = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let path = request.uri().path();
            let (status, answer) = if request.method().as_str() == method && path.contains(word) {
                (code, &refusal)
            } else if path.ends_with("/workspacetemplateapplies") {
                (200, &list)
            } else {
                (200, &workspace)
            };
            let status = axum::http::StatusCode::from_u16(status).unwrap();
            let answer = answer.to_string();
            async move { (status, answer) }
        });
        Cluster {
            client: kube::Client::new(router, "team"),
            namespace: "team".to_owned(),
            url: String::new(),
        }
    }

    #[tokio::test]
    async fn what_cannot_be_looked_at_does_not_undo_another_try_that_is_asked_for() {
        let owner: Target = "captcontrolplane/blue".parse().unwrap();
        /// What is answered to what, then what is looked at, what is not, and what is said.
        type Case = (
            &'static str,
            &'static str,
            u16,
            &'static [&'static str],
            &'static [&'static str],
            &'static str,
        );
        let cases: [Case; 6] = [
            (
                "DELETE",
                "nothing",
                500,
                &["workspace/blue"],
                &[],
                "only looked at: workspace/blue.",
            ),
            (
                "GET",
                "workspacetemplateapplies",
                403,
                &[],
                &["the wtapplies of captcontrolplane/blue"],
                "you may not read or change them: the wtapplies of captcontrolplane/blue.",
            ),
            (
                "GET",
                "workspaces/",
                403,
                &[],
                &["wtapply/eks"],
                "you may not read or change them: wtapply/eks.",
            ),
            (
                "PATCH",
                "workspaces/",
                403,
                &[],
                &["workspace/blue"],
                "you may not read or change them: workspace/blue.",
            ),
            ("PATCH", "workspaces/", 404, &[], &[], ""),
            (
                "PATCH",
                "workspaces/",
                500,
                &[],
                &["workspace/blue"],
                "Not looked at: workspace/blue, because the API refused: no.",
            ),
        ];
        for (method, word, code, looks, unreached, told) in cases {
            let at = format!("{code} for {method} {word}");
            let cluster = refusing(method, word, code);
            let runs = of_owners(&cluster, std::slice::from_ref(&owner), None).await.runs;
            let seen = cluster.look_at_what_is_well(&owner, &runs, "token").await;
            assert_eq!(seen.looks, looks, "{at}");
            assert_eq!(seen.unreached(), unreached, "{at}");
            let words = seen.words();
            assert!(words.ends_with(told), "{at}: {words}");
            assert_eq!(words.is_empty(), told.is_empty(), "{at}: {words}");
        }
    }
}
