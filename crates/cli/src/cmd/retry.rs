//! `capt retry`: another try, now.

use std::process::ExitCode;

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplateApply,
    conditions::find_condition,
    foreign::{
        Cluster as CapiCluster, ClusterWorkspace, Workspace,
        marks::{MANAGED_BY, RECONCILE_REQUESTED},
    },
    marks,
};
use capt_core::captcluster::is_externally_managed;
use capt_runner::view::WorkspaceView;
use kube::{Api, ResourceExt as _, api::ListParams};
use serde_json::json;

use super::{
    one::missing,
    plan::{self, Stop},
};
use crate::{
    access::{Access, Cluster},
    objects::{CallError, ObjectError, call, call_opt},
    output::Output,
    target::{Kind, Placed, Target},
};

/// Try again now
///
/// Whatever failed is tried again at once, also what would not be tried again by itself, and what waits for a
/// while does not wait any longer. With provider-terraform it is woken. Of a Cluster, both its network and its
/// control plane are tried again. What a control plane has and is well is only looked at.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt retry cluster/demo
  capt retry captcontrolplane/demo
  capt retry wtapply/network
  capt retry workspace/network -n team-a

It is asked for, and not waited for. While an object is paused, nothing is tried; what only another spec can mend, such
as a version that is too low, fails again.

Exit codes:
  0  it is asked for
  1  it is not: there is no such object, or nothing of it is capt's
  2  the arguments make no sense")]
pub(crate) struct Args {
    /// What to try again: cluster, captcluster, captcontrolplane, wtapply or workspace
    #[arg(value_name = "KIND/NAME")]
    target: Target,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    access: Access,
}

/// Nothing of it can be tried again.
#[derive(Debug, thiserror::Error)]
#[error(
    "cluster/{0} refers to no CAPTCluster and no CAPTControlPlane that exist; nothing of it is capt's to try again"
)]
struct NothingOfOurs(String);

/// Somebody else manages it.
#[derive(Debug, thiserror::Error)]
#[error(
    "captcluster/{0} is managed by somebody else ({MANAGED_BY}) and left alone, so that nothing of it is tried again"
)]
struct LeftAlone(String);

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let token = uuid::Uuid::new_v4().to_string();
    let owners = match args.target.kind {
        Kind::Cluster => parts(&cluster, &args.target.name).await?,
        Kind::CaptCluster | Kind::ControlPlane => vec![args.target.clone()],
        Kind::Apply | Kind::Workspace(_) | Kind::Template => Vec::new(),
    };
    if owners.is_empty() {
        let subject = cluster.subject(&args.target).await?;
        cluster.annotate(&subject, marks::RETRY_REQUESTED, &token).await?;
        let object = subject.placed();
        let target = &object.target;
        let stop = plan::stop(&subject);
        let mut answer = json!({
            "object": target.to_string(),
            "token": token,
            "paused": stop == Some(Stop::Pause),
        });
        if stop == Some(Stop::Turn) {
            answer["waitsForTurn"] = json!(true);
        }
        args.output.answer(&answer, || words(&object, stop))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut asked, mut seen) = (Vec::new(), Seen::default());
    for owner in &owners {
        if owner.kind == Kind::CaptCluster && cluster.leaves_alone(&owner.name).await? {
            if args.target.kind == Kind::Cluster {
                continue;
            }
            return Err(LeftAlone(owner.name.clone()).into());
        }
        if cluster
            .annotate_owner(owner, marks::RETRY_REQUESTED, &token)
            .await?
        {
            asked.push(owner.to_string());
            if owner.kind == Kind::ControlPlane {
                cluster.look_at_what_is_well(owner, &token, &mut seen).await;
            }
        } else if args.target.kind != Kind::Cluster {
            return Err(missing(&cluster, owner.kind, &owner.name).await.into());
        }
    }
    if asked.is_empty() {
        return Err(NothingOfOurs(args.target.name).into());
    }
    let mut answer = json!({"object": args.target.to_string(), "asked": asked, "token": token});
    if !seen.looks.is_empty() {
        answer["looks"] = json!(seen.looks);
    }
    let unreached = seen.unreached();
    if !unreached.is_empty() {
        answer["notReached"] = json!(unreached);
    }
    args.output.answer(&answer, || {
        format!(
            "Another try of {} is asked for.{} Watch it: capt tree {} -w\n",
            asked.join(" and "),
            seen.words(),
            args.target.clone().placed(Some(cluster.namespace.clone()))
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Workspaces that are well, so that nothing of them is tried again.
#[derive(Debug, Default)]
struct Seen {
    /// Whoever runs them is asked to look at them.
    looks: Vec<String>,
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

    fn unreached(&self) -> Vec<&String> {
        let failed = self.failed.iter().map(|(name, _)| name);
        self.refused.iter().chain(failed).collect()
    }

    fn words(&self) -> String {
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
    apply.metadata.deletion_timestamp.is_none()
        && holds("Synced")
        && holds("Ready")
        && !holds("ApprovalNeeded")
}

/// What is told to whoever asked for another try.
fn words(object: &Placed, stop: Option<Stop>) -> String {
    let asked = format!("Another try of {} is asked for.", object.target);
    match stop {
        Some(Stop::Pause) => format!(
            "{asked} It is paused, and nothing is tried before that ends; see: capt describe {object}\n"
        ),
        Some(Stop::Turn) => {
            format!("{asked} It waits for its turn, and is tried then; see: capt describe {object}\n")
        }
        None => format!("{asked} Watch it: capt logs {object} -f\n"),
    }
}

/// The network and the control plane of a Cluster, if they are ours.
async fn parts(cluster: &Cluster, name: &str) -> Result<Vec<Target>, anyhow::Error> {
    let api: Api<CapiCluster> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let Some(found) = call_opt(api.get(name)).await? else {
        return Err(missing(cluster, Kind::Cluster, name).await.into());
    };
    let references = [&found.spec.infrastructure_ref, &found.spec.control_plane_ref];
    let parts: Vec<Target> = references
        .into_iter()
        .flatten()
        .filter_map(|reference| {
            let kind = match reference.kind.as_str() {
                "CAPTCluster" => Kind::CaptCluster,
                "CAPTControlPlane" => Kind::ControlPlane,
                _ => return None,
            };
            Some(Target {
                kind,
                name: reference.name.clone(),
            })
        })
        .collect();
    if parts.is_empty() {
        return Err(NothingOfOurs(name.to_owned()).into());
    }
    Ok(parts)
}

impl Cluster {
    /// Whether somebody else manages a CAPTCluster.
    async fn leaves_alone(&self, name: &str) -> Result<bool, ObjectError> {
        let api: Api<CAPTCluster> = Api::namespaced(self.client.clone(), &self.namespace);
        let found = call_opt(api.get_metadata(name)).await?;
        Ok(found.is_some_and(|found| is_externally_managed(&found.metadata)))
    }

    /// Asks for a look at what a control plane has and is well. What takes turns is not tried again out of turn: a look tells
    /// what somebody else changed, and that is mended when it is its turn.
    async fn look_at_what_is_well(&self, owner: &Target, token: &str, seen: &mut Seen) {
        let api: Api<WorkspaceTemplateApply> = Api::namespaced(self.client.clone(), &self.namespace);
        let label = capt_core::wta::owner::label("CAPTControlPlane", &owner.name);
        let theirs = ListParams::default().labels(&format!("{}={label}", marks::OWNER));
        let applies = match call(api.list(&theirs)).await {
            Ok(found) => found.items,
            Err(error) => return seen.miss(format!("the wtapplies of {owner}"), &error.into()),
        };
        for apply in applies.into_iter().filter(is_well) {
            let mut name = format!("wtapply/{}", apply.name_any());
            let asked = async {
                let Some(workspace) = self.subject_of(apply).await?.workspace else {
                    return Ok(false);
                };
                name = format!("workspace/{}", workspace.name);
                self.ask_for_look(&workspace, token).await
            };
            match asked.await {
                Ok(true) => seen.looks.push(name),
                Ok(false) => {}
                Err(error) => seen.miss(name, &error),
            }
        }
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

    /// Writes a mark on a CAPTCluster or a CAPTControlPlane, and says whether it is there.
    async fn annotate_owner(&self, owner: &Target, mark: &str, value: &str) -> Result<bool, ObjectError> {
        let client = self.client.clone();
        let marked = match owner.kind {
            Kind::CaptCluster => {
                let api: Api<CAPTCluster> = Api::namespaced(client, &self.namespace);
                self.mark(&api, &owner.name, mark, value).await?
            }
            _ => {
                let api: Api<CAPTControlPlane> = Api::namespaced(client, &self.namespace);
                self.mark(&api, &owner.name, mark, value).await?
            }
        };
        Ok(marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_for_another_try_is_told_when_it_comes() {
        let object = "workspace/x"
            .parse::<Target>()
            .unwrap()
            .placed(Some("team".to_owned()));
        for (stop, expected) in [
            (None, "Watch it: capt logs workspace/x -n team -f"),
            (
                Some(Stop::Pause),
                "It is paused, and nothing is tried before that ends; see: capt describe",
            ),
            (
                Some(Stop::Turn),
                "It waits for its turn, and is tried then; see: capt describe",
            ),
        ] {
            let told = words(&object, stop);
            assert!(told.contains(expected), "{told}");
        }
    }

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
            let mut seen = Seen::default();
            refusing(method, word, code)
                .look_at_what_is_well(&owner, "token", &mut seen)
                .await;
            assert_eq!(seen.looks, looks, "{at}");
            assert_eq!(seen.unreached(), unreached, "{at}");
            let words = seen.words();
            assert!(words.ends_with(told), "{at}: {words}");
            assert_eq!(words.is_empty(), told.is_empty(), "{at}: {words}");
        }
    }
}
