//! `capt plan`: what would change, without changing it.

mod answer;
mod depends;
mod difference;
mod judge;
mod template;
mod told;
mod wait;

use std::{process::ExitCode, time::Duration};

use capt_api::marks;
use capt_runner::view::WorkspaceView;

use self::{
    answer::{Answer, Planned, Rendering},
    told::Told,
    wait::Ended,
};
use crate::{
    access::{Access, Cluster},
    args,
    look::text,
    objects::{Foreign, Subject},
    output::Output,
    target::{Kind, Placed, Target},
};

/// Show what would change, without changing it
///
/// Asks the runner for a plan of the Workspace and waits for it. Nothing is applied by that. A plan that deletes
/// or replaces something waits for `capt approve`; any other is applied by itself sooner or later. With
/// provider-terraform, which has no plan step, the difference between the rendering and the Workspace is shown.
///
/// Where nothing happens until you do something, such as when a template is missing or objects wait for each other, it
/// says so at once. What is only a matter of time is waited for, and told on stderr as it changes.
///
/// A change is applied as soon as it is written. To see first what it would do, pause the object, change it, and ask
/// for a plan: it is made of what the object would have.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt plan wtapply/greeting-world

  # Of a Workspace that no template made
  capt plan workspace/network -n team-a

  # What would this change do? Nothing of it is applied until the pause ends
  kubectl annotate wtapply greeting-world cluster.x-k8s.io/paused=true
  kubectl patch wtapply greeting-world --type=merge -p '{\"spec\":{\"variables\":{\"name\":\"moon\"}}}'
  capt plan wtapply/greeting-world
  kubectl annotate wtapply greeting-world cluster.x-k8s.io/paused-

  # Of everything that uses a template
  capt plan workspacetemplate/greeting

  # For a program
  capt plan wtapply/greeting-world -o json | jq .plan.summary

Exit codes:
  0  there is a plan, also if nothing would change
  1  planning failed, or the cluster was not reached
  2  the arguments make no sense
  3  there is no plan until somebody does something; it says what
  4  it did not come within --timeout; it says what was waited for")]
pub(crate) struct Args {
    /// What to plan: wtapply/NAME, workspace/NAME, or workspacetemplate/NAME for all that use it
    #[arg(value_name = "KIND/NAME")]
    target: Target,

    /// How long to wait for the plan
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = args::length)]
    timeout: Duration,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    access: Access,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    if args.target.kind != Kind::Template {
        let subject = cluster.subject(&args.target).await?;
        let answer = plan(&cluster, subject, args.timeout, &mut Told::new()).await?;
        warn(&answer);
        args.output.answer(&answer, || answer.words())?;
        return Ok(answer.exit_code());
    }
    template::run(&cluster, &args).await
}

/// The plan of one Workspace, or why there is none.
async fn plan(
    cluster: &Cluster,
    subject: Subject,
    timeout: Duration,
    told: &mut Told,
) -> anyhow::Result<Answer> {
    let mut answer = Answer::new(&subject);
    if let Some(apply) = &subject.apply {
        answer.unfilled = difference::unfilled(cluster, apply).await?;
    }
    if let Some(workspace) = &subject.workspace {
        match cluster.is_foreign(workspace).await? {
            Foreign::Yes => {
                answer.rendering = Some(rendering(cluster, &subject).await?);
                return Ok(answer);
            }
            // Our runner answers, or nobody does.
            Foreign::Hidden => eprintln!("{}", unseen_usage(workspace)),
            Foreign::No => {}
        }
    }
    let token = uuid::Uuid::new_v4().to_string();
    cluster.annotate(&subject, marks::PLAN_REQUESTED, &token).await?;
    match wait::for_plan(cluster, &subject, &token, timeout, told).await? {
        Ended::Planned(page) => {
            let subject = cluster.refreshed(&subject).await?;
            answer.missing = missing(&subject);
            let stop = stop(&subject);
            answer.paused = stop == Some(Stop::Pause);
            answer.waits_for_turn = stop == Some(Stop::Turn);
            let report = page.report;
            answer.warnings = report.warnings;
            answer.engine = Some(report.engine).filter(|engine| !engine.is_empty());
            let plan = report.plan.unwrap_or_default();
            let needs = plan.awaits_approval.then(|| approve(&subject.placed(), &plan.id));
            answer.plan = Some(Planned {
                approve: needs,
                text: page.plan,
                plan,
            });
        }
        Ended::Unanswered(unanswered) => {
            answer.missing = missing(&cluster.refreshed(&subject).await?);
            answer.why = Some(unanswered.why);
            answer.problem = Some(unanswered.problem);
        }
        Ended::Foreign => {
            let subject = cluster.refreshed(&subject).await?;
            answer.rendering = Some(rendering(cluster, &subject).await?);
        }
    }
    Ok(answer)
}

/// What there is instead of a plan where provider-terraform runs.
async fn rendering(cluster: &Cluster, subject: &Subject) -> anyhow::Result<Rendering> {
    Ok(Rendering {
        changes: difference::of(cluster, subject).await?,
        approve: pending(subject).map(|revision| approve(&subject.placed(), &revision)),
    })
}

/// What is said to somebody who may not look who runs a Workspace.
fn unseen_usage(workspace: &WorkspaceView) -> String {
    format!(
        "You may not get providerconfigusages.{}, so that it is not known whether provider-terraform runs {}; it has no \
         plans, and would not answer.",
        workspace.group.name(),
        text::plain(&workspace.name)
    )
}

/// Tells what must not be missed, also where nobody reads the answer.
fn warn(answer: &Answer) {
    if let Some(warning) = answer.warning() {
        eprintln!("{warning}");
    }
}

/// What may exist and is not in the state, as the runner says it.
fn missing(subject: &Subject) -> Option<String> {
    let conditions = subject.workspace.as_ref()?.status.conditions.as_deref()?;
    let torn = conditions
        .iter()
        .find(|condition| condition.type_ == "StateComplete" && condition.reason == "ResourcesMissing")?;
    torn.message.clone().filter(|_| torn.status == "False")
}

/// Why nothing is applied at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Somebody asked for that.
    Pause,
    /// It is not its turn.
    Turn,
}

/// Why nothing is applied at the moment, if that is so.
pub(super) fn stop(subject: &Subject) -> Option<Stop> {
    let workspace = subject.workspace.as_ref();
    let is_allowed_nothing =
        workspace.is_some_and(|workspace| workspace.policies.as_ref().is_some_and(Vec::is_empty));
    let apply = subject.apply.as_ref();
    match apply {
        Some(apply) if judge::is_paused(apply) => Some(Stop::Pause),
        Some(apply) if judge::waits_for_turn(apply) => Some(Stop::Turn),
        _ => is_allowed_nothing.then_some(Stop::Pause),
    }
}

/// The rendering that waits for an approval, where there are no plans.
pub(super) fn pending(subject: &Subject) -> Option<String> {
    let status = subject.apply.as_ref()?.status.as_ref()?;
    let needed = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "ApprovalNeeded");
    let is_needed = needed.is_some_and(|condition| condition.status == "True");
    status.pending_revision.clone().filter(|_| is_needed)
}

/// What a person types to approve.
pub(super) fn approve(object: &Placed, id: &str) -> String {
    format!("capt approve {object} --plan {id}")
}
