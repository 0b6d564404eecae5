//! `capt tree`: what a cluster is made of, and how far it is.

use std::{process::ExitCode, time::Duration};

use capt_core::graph::{dot, mermaid};

use super::{
    Printed,
    one::{self, Found},
    print, print_more,
};
use crate::{
    access::Access,
    look::{
        live::Live,
        style::Style,
        tree::{self, Gathered},
        view::typed,
    },
    target::Target,
};

/// How often ages are drawn anew.
const TICK: Duration = Duration::from_secs(1);

/// Show what a cluster is made of, how far it is, and what it waits for
///
/// The Cluster, its network and its control plane, what these have made for them, and the Secrets that come of it.
/// What an object needs and does not have is shown below it.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  capt tree cluster/demo

  # As it changes
  capt tree cluster/demo -w

  # As a picture
  capt tree cluster/demo -o dot | dot -Tsvg > demo.svg

  # For a program
  capt tree cluster/demo -o json | jq '.made[].state'")]
pub(crate) struct Args {
    /// What to show: cluster/NAME, or captcluster, captcontrolplane, wtapply or workspace
    #[arg(value_name = "KIND/NAME")]
    target: Target,

    /// Draw it anew whenever something changes
    #[arg(short, long, conflicts_with = "format")]
    watch: bool,

    /// Print it for programs, or as a picture
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    format: Option<Format>,

    #[command(flatten)]
    access: Access,
}

/// How a tree is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// A graph for Graphviz, with everything that is used too.
    Dot,
    /// A graph for Mermaid, with everything that is used too.
    Mermaid,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let Found { gathered, scope } = one::find(&cluster, &args.target).await?;
    match args.format {
        Some(Format::Json) => print(&(serde_json::to_string_pretty(&tree::data(&gathered))? + "\n"))?,
        Some(Format::Yaml) => print(&serde_saphyr::to_string(&tree::data(&gathered))?)?,
        Some(Format::Dot) => print(&dot(&gathered.graph()))?,
        Some(Format::Mermaid) => print(&mermaid(&gathered.graph()))?,
        None if args.watch => {
            let live = Live::start(&cluster.client, scope).await?;
            let namespace = &gathered.part.snapshot.namespace;
            return watch(live, namespace, &gathered.root).await;
        }
        None => print(&tree::render(&gathered, Style::of_stdout()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws the tree whenever something changes, until the object is gone.
async fn watch(mut live: Live, namespace: &str, root: &str) -> anyhow::Result<ExitCode> {
    let style = Style::of_stdout();
    let is_screen = style.width.is_some();
    let mut drawn = String::new();
    loop {
        let gathered = Gathered::of(live.gathered(), namespace, root);
        if !gathered.is_there() {
            print(&format!("{} is gone.\n", typed(root)))?;
            return Ok(ExitCode::SUCCESS);
        }
        let picture = tree::render(&gathered, style);
        // Elsewhere than on a screen, a picture in which only ages differ is no news.
        let news = match is_screen {
            true => picture.clone(),
            false => tree::render(
                &Gathered {
                    now: Default::default(),
                    ..gathered.clone()
                },
                style,
            ),
        };
        if news != drawn {
            let text = if is_screen {
                redrawn(&picture, drawn.is_empty())
            } else {
                picture + "\n"
            };
            if print_more(&text)? == Printed::NobodyReads {
                return Ok(ExitCode::SUCCESS);
            }
            drawn = news;
        }
        tokio::select! {
            changed = live.changed() => changed?,
            () = tokio::time::sleep(TICK), if is_screen => {}
        }
    }
}

/// A picture in place of the one that was drawn before.
fn redrawn(picture: &str, is_first: bool) -> String {
    let clear = if is_first { "\u{1b}[2J" } else { "" };
    let lines: String = picture.lines().map(|line| format!("{line}\u{1b}[K\n")).collect();
    format!("{clear}\u{1b}[H{lines}\u{1b}[J")
}
