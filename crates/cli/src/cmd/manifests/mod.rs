//! `capt manifests`: what a cluster must know to run capt, generated from its source.

mod controller;
mod installation;
mod runner;
mod tenants;

use capt_api::manifests;
use clap::Parser as _;

use super::print;
use crate::{Cli, Command};

/// Print the manifests that a cluster needs
#[derive(clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Print the CRDs of capt's kinds, as YAML documents
    #[command(after_help = "\
Examples:
  # Install capt's kinds on a cluster
  capt manifests crds | kubectl apply --server-side -f -

  # The same where Cluster API and Crossplane are not installed
  capt manifests crds --foreign | kubectl apply --server-side -f -")]
    Crds {
        /// Also print CRDs for the kinds of other projects that capt uses, in the form capt needs them
        #[arg(long)]
        foreign: bool,
    },
    /// Print what runs the controllers on a cluster: namespace, service account, rights and deployment
    #[command(after_help = "\
Examples:
  # Install capt on a cluster that has Cluster API and provider-terraform
  capt manifests crds | kubectl apply --server-side -f -
  capt manifests controller | kubectl apply --server-side -f -

  # For two namespaces, with Roles there and no rights over other Secrets
  capt manifests controller --namespace team-a --namespace team-b | kubectl apply --server-side -f -

  # With an image of your own, and Terraform run by `capt runner --name blue`
  capt manifests controller --image example.test/capt:1.0 -- --runner blue")]
    Controller(controller::Args),
    /// Print what runs Terraform on a cluster: namespace, service account, rights and deployment
    #[command(after_help = "\
Examples:
  # The controllers, and a runner for the Workspaces that they make
  capt manifests controller --image example.test/capt:1.0 -- --runner blue \\
    | kubectl apply --server-side -f -
  capt manifests runner --image example.test/capt-terraform:1.0 --name blue \\
    | kubectl apply --server-side -f -

  # For two namespaces, of which one may use the credentials for AWS in its environment
  capt manifests runner -n team-a -n team-b --env-from-secret aws -- --own-credentials team-a \\
    | kubectl apply --server-side -f -")]
    Runner(runner::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    match &args.what {
        What::Crds { foreign } => print(&crds(*foreign)?),
        What::Controller(args) => print(&controller::yaml(args)?),
        What::Runner(args) => print(&runner::yaml(args)?),
    }
}

fn crds(foreign: bool) -> anyhow::Result<String> {
    let mut files = manifests::crd_files()?;
    if foreign {
        files.extend(manifests::foreign_crd_files()?);
    }
    let documents: Vec<String> = files.into_iter().map(|file| file.yaml).collect();
    Ok(documents.join("---\n"))
}

/// The command of a process that is installed. Ends this process if that one would not start with its arguments, with the words
/// that it would end with: who installs it learns that now and not from a pod that restarts for ever.
fn parsed(arguments: &[String]) -> Command {
    let line = std::iter::once("capt").chain(arguments.iter().map(String::as_str));
    match Cli::try_parse_from(line) {
        Ok(cli) => cli.command,
        Err(problem) => problem.exit(),
    }
}
