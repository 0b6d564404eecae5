//! `capt migrate`: what the Go implementation left behind, and what becomes of it.

mod endpoints;
mod find;
mod legacy;
mod place;
mod read;
mod replace;
mod report;

use std::{path::PathBuf, process::ExitCode};

use super::print;
use crate::{access::Access, output::Output};

/// Show what the Go implementation of capt left behind, and take over what only this command can
///
/// Objects are found, referred to and taken over by the controllers, which keep all names, Workspaces and state; this
/// command shows in advance what they will do. Its own work is three things: cluster-scoped Workspaces are marked as made by
/// the Go implementation, without which the controllers do not adopt them; the CRD of CaptControlPlaneTemplate, whose
/// kind is written otherwise than capt's and cannot be changed, is replaced, and its objects are kept; and where a Cluster
/// has `https://HOST` as the host of its endpoint, HOST is written. Run it as an administrator, and again after such a
/// Cluster was moved to another management cluster.
#[derive(Clone, clap::Args)]
#[command(mut_arg("namespace", |namespace| namespace.help(
    "Only this namespace, and the CRD, which all share [default: all namespaces]"
)))]
#[command(after_help = "\
Examples:
  # What would happen? Nothing is changed
  capt migrate --dry-run

  # The same for one team
  capt migrate --dry-run -n team

  # Mark Workspaces, replace the CRD and keep what is in it, write endpoints as they should be
  capt migrate --backup templates.yaml

Stop the Go implementation before you start capt's controllers: two of them must never work on the same objects.")]
pub(crate) struct Args {
    /// Only show what would happen
    #[arg(long)]
    dry_run: bool,

    /// File to keep the objects of the replaced CRD in; it must not exist yet
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    backup: Option<PathBuf>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    access: Access,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let scope = place::scope(&cluster.client, args.access.named_namespace()).await?;
    let left = read::left(&cluster.client, &scope).await?;
    let report = find::report(&left);
    args.output.answer(&report, || report.words())?;
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let mut told = String::new();
    if let Some(old) = &left.template_crd {
        told = replace::replace(&cluster.client, old, args.backup.as_deref()).await?;
    }
    told.push_str(&legacy::mark(&cluster.client, &find::marks(&left)).await?);
    told.push_str(&endpoints::put_right(&cluster.client, &left.misspelt).await?);
    if told.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    // What was asked for as data stays data.
    match args.output.format {
        None => print(&told)?,
        Some(_) => eprint!("{told}"),
    }
    Ok(ExitCode::SUCCESS)
}
