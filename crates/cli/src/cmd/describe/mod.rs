//! `capt describe`: all about one object: what it does, what it waits for and why, and what a person can do.

mod advice;
mod again;
mod description;
mod details;
mod events;
mod going;
mod once;
mod pausing;
mod profiles;
mod tables;
mod timeouts;

use std::process::ExitCode;

use capt_core::graph::Cause;
use k8s_openapi::jiff::Timestamp;

use self::description::{Description, Waiting};
use super::one;
use crate::{
    access::Access,
    look::{
        row::row,
        style::Style,
        tree::Gathered,
        view::{View, typed},
    },
    output::Output,
    target::Target,
};

/// Things that are waited for and are told.
const MANY_CAUSES: usize = 5;

/// Show all about one object: what it does, what it waits for and why, and what you can do
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt describe cluster/demo
  capt describe captcontrolplane/demo -n team-a

  # For a program
  capt describe cluster/demo -o json | jq .waitsFor")]
pub(crate) struct Args {
    /// What to describe: cluster, captcluster, captcontrolplane, wtapply or workspace
    #[arg(value_name = "KIND/NAME")]
    target: Target,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    access: Access,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let gathered = one::find(&cluster, &args.target).await?.gathered;
    let mut description = described(&gathered);
    let whole = gathered.graph().whole(&gathered.root);
    let view = View::new(&gathered.part);
    let uids = whole
        .into_iter()
        .map(|id| {
            let uid = view.object(&id).and_then(|object| object.uid());
            (id, uid)
        })
        .collect();
    description.events = events::of(&cluster.client, &cluster.namespace, &uids).await?;
    let now = gathered.now;
    args.output
        .answer(&description, || description.words(now, Style::of_stdout()))?;
    Ok(ExitCode::SUCCESS)
}

/// All that the objects say about one of them.
fn described(gathered: &Gathered) -> Description {
    let view = View::new(&gathered.part);
    let id = gathered.root.as_str();
    let namespace = &gathered.part.snapshot.namespace;
    let Some(node) = view.graph.node(id) else {
        return Description::default();
    };
    let causes = view.causes(id);
    let mut description = Description {
        object: typed(id),
        namespace: namespace.clone(),
        state: node.status.clone(),
        ready: view.is_ready(id),
        ready_since: view.ready_since(id),
        percent: view.percent(id),
        created_at: node.created_at,
        since: node.since,
        reason: node.reason.clone(),
        message: match node.message.is_empty() {
            _ if view.awaited(id).is_some() || view.is_left_alone(id) => view.why(id),
            true if view.running(id).is_some() => view.why(id),
            _ => node.message.clone(),
        },
        waits_for: waits_for(&view, id, &causes),
        advice: advice::about(&view, id, &causes, namespace),
        timeouts: timeouts::running(&view, id, gathered.now),
        ..Description::default()
    };
    let mut parts: Vec<&str> = view.graph.made_by(id).collect();
    parts.sort_unstable();
    description.parts = parts
        .into_iter()
        .filter_map(|part| Some(row(&view, namespace, part, view.graph.node(part)?)))
        .collect();
    details::fill(&mut description, &view, id);
    for (_, missing) in advice::torn(&view, id) {
        if !description.message.contains(&missing) {
            description.message = format!("{missing}\n{}", description.message)
                .trim_end()
                .to_owned();
        }
    }
    description
}

/// What is waited for, and through what.
fn waits_for(view: &View<'_>, id: &str, causes: &[Cause]) -> Vec<Waiting> {
    causes
        .iter()
        .filter(|cause| cause.id != id)
        .take(MANY_CAUSES)
        .map(|cause| {
            let between = cause
                .way
                .iter()
                .filter(|one| **one != cause.id && one.as_str() != id);
            Waiting {
                object: typed(&cause.id),
                state: view
                    .graph
                    .node(&cause.id)
                    .map(|node| node.status.clone())
                    .unwrap_or_default(),
                why: view.why(&cause.id),
                through: between.map(|one| typed(one)).collect(),
            }
        })
        .collect()
}

/// The time, as data has it.
type At = Option<Timestamp>;

#[cfg(test)]
mod tests;
