//! `capt retry`: another try, now.

mod answer;
mod held;
mod looks;
mod nearby;

use std::process::ExitCode;

use capt_api::{
    CAPTCluster, CAPTControlPlane,
    foreign::{Cluster as CapiCluster, marks::MANAGED_BY},
    marks,
};
use capt_core::captcluster::is_externally_managed;
use kube::Api;

use self::{answer::Answer, looks::Seen};
use super::{
    one::missing,
    plan::{self, Stop},
};
use crate::{
    access::{Access, Cluster},
    look::kinds::ids,
    objects::{ObjectError, call_opt},
    output::Output,
    target::{Kind, Placed, Target},
};

/// Try again now
///
/// Whatever failed is tried again at once, also what would not be tried again by itself, and what waits for a
/// while does not wait any longer. What provider-terraform runs is woken. Of a Cluster, both its network and its
/// control plane are tried again. What a control plane has and is well is only looked at.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt retry cluster/demo
  capt retry captcontrolplane/demo
  capt retry wtapply/network
  capt retry workspace/network -n team-a

It is asked for, and not waited for. While an object is paused, nothing is tried; what only another spec can mend, \
such as a version that is too low, fails again.

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
    let answer = match owners.is_empty() {
        true => run_again(&cluster, &args.target, token).await?,
        false => owners_again(&cluster, &args.target, owners, token).await?,
    };
    args.output.answer(&answer, || answer.words())?;
    Ok(ExitCode::SUCCESS)
}

/// Another try of what Terraform runs for.
async fn run_again(cluster: &Cluster, target: &Target, token: String) -> anyhow::Result<Answer> {
    let subject = cluster.subject(target).await?;
    cluster.annotate(&subject, marks::RETRY_REQUESTED, &token).await?;
    let Placed {
        target: asked,
        namespace,
    } = subject.placed();
    let nearby = nearby::of_subject(cluster, &subject).await;
    let mut holdup = held::holdup(nearby, &[held::id(&subject)]);
    let stop = plan::stop(&subject);
    if stop == Some(Stop::Pause) {
        holdup.paused = Some(true);
    }
    let object = target.clone().placed(namespace);
    let mut answer = Answer::new(object, vec![asked.to_string()], token, holdup);
    answer.waits_for_turn = answer.paused != Some(true) && stop == Some(Stop::Turn);
    Ok(answer)
}

/// Another try of a network, a control plane, or both.
async fn owners_again(
    cluster: &Cluster,
    target: &Target,
    owners: Vec<Target>,
    token: String,
) -> anyhow::Result<Answer> {
    let (mut asked, mut left_alone) = (Vec::new(), None);
    for owner in owners {
        if owner.kind == Kind::CaptCluster && cluster.leaves_alone(&owner.name).await? {
            left_alone = Some(LeftAlone(owner.name));
            continue;
        }
        if cluster
            .annotate_owner(&owner, marks::RETRY_REQUESTED, &token)
            .await?
        {
            asked.push(owner);
        } else if target.kind != Kind::Cluster {
            return Err(missing(cluster, owner.kind, &owner.name).await.into());
        }
    }
    if asked.is_empty() {
        let nothing = || NothingOfOurs(target.name.clone()).into();
        return Err(left_alone.map_or_else(nothing, anyhow::Error::from));
    }
    let ids: Vec<String> = asked.iter().flat_map(ids).collect();
    let of = (target.kind == Kind::Cluster).then_some(target.name.as_str());
    let nearby = nearby::of_owners(cluster, &asked, of).await;
    let seen = match asked.iter().find(|owner| owner.kind == Kind::ControlPlane) {
        Some(owner) => cluster.look_at_what_is_well(owner, &nearby.runs, &token).await,
        None => Seen::default(),
    };
    let holdup = held::holdup(nearby, &ids);
    let object = target.clone().placed(Some(cluster.namespace.clone()));
    let asked = asked.iter().map(ToString::to_string).collect();
    Ok(Answer {
        not_reached: seen.unreached().into_iter().cloned().collect(),
        aside: seen.words(),
        looks: seen.looks,
        ..Answer::new(object, asked, token, holdup)
    })
}

/// The network and the control plane of a Cluster, if they are ours.
async fn parts(cluster: &Cluster, name: &str) -> Result<Vec<Target>, anyhow::Error> {
    let api: Api<CapiCluster> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let Some(found) = call_opt(api.get(name)).await? else {
        return Err(missing(cluster, Kind::Cluster, name).await.into());
    };
    let parts = nearby::parts(&found);
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
