//! `capt retry`: another try, now.

use std::process::ExitCode;

use capt_api::marks;
use serde_json::json;

use crate::{access::Access, output::Output, target::Target};

/// Try again now
///
/// Whatever failed is tried again at once, also what would not be tried again by itself, and what waits for a
/// while does not wait any longer. With provider-terraform it is woken.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt retry wtapply/network
  capt retry workspace/network -n team-a")]
pub(crate) struct Args {
    /// What to try again: wtapply/NAME or workspace/NAME
    #[arg(value_name = "KIND/NAME")]
    target: Target,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    access: Access,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let subject = cluster.subject(&args.target).await?;
    let token = uuid::Uuid::new_v4().to_string();
    cluster.annotate(&subject, marks::RETRY_REQUESTED, &token).await?;
    let target = subject.target();
    let answer = json!({"object": target.to_string(), "token": token});
    args.output.answer(&answer, || {
        format!("Another try of {target} is asked for. Watch it: capt logs {target} -f\n")
    })?;
    Ok(ExitCode::SUCCESS)
}
