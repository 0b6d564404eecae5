//! `capt logs`: what Terraform printed.

mod follow;

use std::process::ExitCode;

use anyhow::Context;
use capt_api::run::RunReport;
use futures::StreamExt as _;
use kube::runtime::{
    WatchStreamExt as _,
    watcher::{self, Event},
};
use serde::Serialize;

use self::follow::Follower;
use super::{Printed, print_more};
use crate::{
    access::{Access, Cluster},
    objects::{Page, Subject},
    output::Output,
    target::{Placed, Target},
};

/// Print what Terraform printed, without its secrets
///
/// It is the log of the running operation, or of the last one. Plans that somebody asks for have a log of their own, so
/// that looking never pushes out what was done. Long logs keep their beginning and their end.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt logs wtapply/greeting-world
  capt logs workspace/greeting-world -f

  # Of the operation before
  capt logs wtapply/greeting-world --previous

  # Of the last `capt plan`
  capt logs wtapply/greeting-world --plan

Exit codes:
  0  it was printed; with -f, until the object was gone
  1  there is none: it says why
  2  the arguments make no sense")]
pub(crate) struct Args {
    /// Whose log: wtapply/NAME or workspace/NAME
    #[arg(value_name = "KIND/NAME")]
    target: Target,

    /// Go on printing until the object is gone
    #[arg(short, long, conflicts_with_all = ["previous", "format"])]
    follow: bool,

    /// Print the log of the operation before
    #[arg(long)]
    previous: bool,

    /// Print the log of the last plan that somebody asked for
    #[arg(long, conflicts_with = "previous")]
    plan: bool,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    access: Access,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoLog {
    /// Nothing runs for it yet.
    #[error("{target} has no Workspace yet: {message}")]
    Workspaceless {
        /// What was asked for.
        target: Target,
        /// What it waits for.
        message: String,
    },
    /// Nobody reported anything.
    #[error("{0} has no log yet: no runner of ours has worked on it")]
    Unreported(Target),
    /// There was no operation before.
    #[error("{0} has no log of an operation before the last one")]
    First(Target),
    /// Nobody asked for a plan.
    #[error("{target} has no log of a plan: nobody asked for one yet, which is done by capt plan {0}", target = .0.target)]
    Unplanned(Placed),
    /// Nothing was done but planning.
    #[error("{target} was only planned so far; see that: capt logs {0} --plan", target = .0.target)]
    OnlyPlanned(Placed),
}

#[derive(Serialize)]
struct Answer<'a> {
    object: String,
    #[serde(flatten)]
    report: &'a RunReport,
    log: &'a str,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let subject = cluster.subject(&args.target).await?;
    if args.follow {
        return follow(&cluster, &subject, args.plan).await;
    }
    let page = page(&cluster, &subject).await?;
    let object = subject.placed();
    let log = chosen(&page, &args, &object)?;
    let answer = Answer {
        object: object.target.to_string(),
        report: &page.report,
        log,
    };
    args.output.answer(&answer, || match log {
        "" => String::new(),
        log => format!("{}\n", log.trim_end_matches('\n')),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The log that is asked for.
fn chosen<'a>(page: &'a Page, args: &Args, object: &Placed) -> Result<&'a str, NoLog> {
    let (log, missing) = match (args.plan, args.previous) {
        (true, _) => (&page.plan_log, NoLog::Unplanned(object.clone())),
        (_, true) => (&page.previous_log, NoLog::First(object.target.clone())),
        _ if page.log.is_none() && page.plan_log.is_some() => (&None, NoLog::OnlyPlanned(object.clone())),
        _ => return Ok(page.log.as_deref().unwrap_or_default()),
    };
    log.as_deref().ok_or(missing)
}

async fn page(cluster: &Cluster, subject: &Subject) -> anyhow::Result<Page> {
    let workspace = subject.workspace.as_ref().ok_or_else(|| no_workspace(subject))?;
    let place = cluster.report_place(workspace).await?;
    let page = cluster.report(&place).await?;
    Ok(page.ok_or_else(|| NoLog::Unreported(subject.target()))?)
}

fn no_workspace(subject: &Subject) -> NoLog {
    let message = subject
        .apply
        .as_ref()
        .and_then(|apply| apply.status.as_ref()?.message.clone());
    NoLog::Workspaceless {
        target: subject.target(),
        message: message
            .filter(|message| !message.is_empty())
            .unwrap_or_else(|| "it is to be made".to_owned()),
    }
}

/// Prints what is there and what is added, until the report is gone, which goes with its Workspace.
async fn follow(cluster: &Cluster, subject: &Subject, is_plan: bool) -> anyhow::Result<ExitCode> {
    let workspace = subject.workspace.as_ref().ok_or_else(|| no_workspace(subject))?;
    let place = cluster.report_place(workspace).await?;
    let named = watcher::Config::default().fields(&format!("metadata.name={}", place.name));
    let mut events = watcher::watcher(cluster.reports(&place), named)
        .default_backoff()
        .boxed();
    let mut follower = Follower::default();
    let (mut was_there, mut is_there) = (false, false);
    while let Some(event) = events.next().await {
        let map = match event {
            // A watch that fell behind lists again, and may find that nothing is left.
            Ok(Event::Init) => {
                is_there = false;
                continue;
            }
            Ok(Event::InitDone) if was_there && !is_there => break,
            Ok(Event::InitDone) => continue,
            Ok(Event::Delete(_)) => break,
            Ok(Event::Apply(map) | Event::InitApply(map)) => map,
            Err(error) => {
                tracing::warn!(%error, "the watch is interrupted and begins again");
                continue;
            }
        };
        let Some(page) = place.read(&map) else {
            // A namesake has taken its place.
            break;
        };
        (was_there, is_there) = (true, true);
        let (log, previous) = match is_plan {
            true => (page.plan_log.as_deref(), None),
            false => (page.log.as_deref(), page.previous_log.as_deref()),
        };
        let new = follower.next(log.unwrap_or_default(), previous);
        if print_more(&new).context("cannot print")? == Printed::NobodyReads {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}
