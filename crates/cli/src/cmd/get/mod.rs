//! `capt get`: what there is, and how it is with it, in one table.

mod what;

use std::{collections::BTreeMap, process::ExitCode};

use self::what::What;
use super::{Printed, one::missing, print, print_more};
use crate::{
    access::{Access, Cluster},
    look::{
        Gathered, Scope, gather,
        live::Live,
        row::{Columns, Row, rows},
        style::Style,
        table::{Cell, titled, widths, wrapped},
    },
    objects::ObjectError,
    target::Kind,
};

/// Show what there is and how it is with it, in one table
///
/// Clusters, CAPTClusters, CAPTControlPlanes, WorkspaceTemplateApplies and Workspaces: whether each does what it is
/// for, what is going on, how much of it is done, and what it waits for. WorkspaceTemplates are shown when they are asked
/// for.
///
/// Of a message of several lines a table shows the first, and the command of the last; no line is cut. On a terminal it
/// goes on below itself; elsewhere, and with -o wide, each object is one line. -o json and -o yaml have the whole message.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  # Everything in this namespace
  capt get

  # One kind, in all namespaces, with more columns
  capt get clusters -A -o wide

  # One object, and every change of it
  capt get captcontrolplane/demo -w

  # For a program
  capt get clusters -o json | jq '.[] | select(.ready | not) | .name'")]
pub(crate) struct Args {
    /// What to show: cluster, captcluster, captcontrolplane, wtapply, workspace or workspacetemplate, or one of them as
    /// KIND/NAME [default: all of them but templates]
    #[arg(value_name = "KIND[/NAME]")]
    what: Option<What>,

    /// Look in all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,

    /// Go on printing what changes
    #[arg(short, long)]
    watch: bool,

    /// How to print it
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    format: Option<Format>,

    #[command(flatten)]
    access: Access,
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// A table with more columns, and one line for each object.
    Wide,
    /// Only what to type to mean each object.
    Name,
}

/// Watching is for people.
#[derive(Debug, thiserror::Error)]
#[error("-w goes with a table only; leave out -w, or print with -o wide")]
struct NoStream;

pub(crate) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let cluster = args.access.connect().await?;
    let scope = match args.all_namespaces {
        true => Scope::All,
        false => Scope::Namespace(cluster.namespace.clone()),
    };
    let columns = Columns {
        namespace: args.all_namespaces,
        wide: args.format == Some(Format::Wide),
    };
    let kind = args.what.as_ref().map(What::kind);
    let name = args.what.as_ref().and_then(What::name);
    if args.watch {
        if args.format.is_some_and(|format| format != Format::Wide) {
            return Err(NoStream.into());
        }
        let live = Live::start(&cluster.client, scope).await?;
        return watch(live, columns, kind, name).await;
    }
    let gathered = gather(&cluster.client, &scope).await?;
    let found = rows(&gathered, kind, name);
    if let (true, Some(kind), Some(name)) = (found.is_empty(), kind, name) {
        return Err(missing(&cluster, kind, name).await.into());
    }
    match args.format {
        Some(Format::Json) => print(&(serde_json::to_string_pretty(&found)? + "\n"))?,
        Some(Format::Yaml) => print(&serde_saphyr::to_string(&found)?)?,
        Some(Format::Name) => print(
            &found
                .iter()
                .map(|row| format!("{}\n", row.object))
                .collect::<String>(),
        )?,
        None | Some(Format::Wide) if found.is_empty() => {
            print(&nothing(&cluster, &gathered, &scope, kind).await)?;
        }
        None | Some(Format::Wide) => {
            let style = style(columns);
            let header = columns.header();
            let cells = found.iter().map(|row| columns.cells(row, gathered.now));
            let table: Vec<Vec<Cell>> = cells.collect();
            let widths = widths(&table, &widths(std::slice::from_ref(&header), &[]));
            print(&titled(&header, &table, &widths, style))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How a table looks: whoever asks for a wide one wants each object on a line of its own, however long that is.
fn style(columns: Columns) -> Style {
    let style = Style::of_stdout();
    Style {
        width: style.width.filter(|_| !columns.wide),
        ..style
    }
}

/// Prints everything, and then each object whenever something about it changes.
async fn watch(
    mut live: Live,
    columns: Columns,
    kind: Option<Kind>,
    name: Option<&str>,
) -> anyhow::Result<ExitCode> {
    let style = style(columns);
    let mut known: BTreeMap<(String, String), Row> = BTreeMap::new();
    let mut header = Some(columns.header());
    let mut all_widths = widths(header.as_slice(), &[]);
    loop {
        let mut table = Vec::new();
        let gathered = live.gathered();
        let mut now_there = BTreeMap::new();
        for mut row in rows(&gathered, kind, name) {
            // What a table does not show is no change of it.
            row.message.clear();
            let key = (row.namespace.clone(), row.object.clone());
            if known.get(&key) != Some(&row) {
                table.push(columns.cells(&row, gathered.now));
            }
            now_there.insert(key, row);
        }
        for (key, row) in known.into_iter().filter(|(key, _)| !now_there.contains_key(key)) {
            let _ = key;
            let gone = Row {
                state: "Gone".to_owned(),
                ready: None,
                health: None,
                percent: None,
                reason: String::new(),
                line: String::new(),
                ..row
            };
            table.push(columns.cells(&gone, gathered.now));
        }
        known = now_there;
        all_widths = widths(&table, &all_widths);
        let text = match header.take() {
            Some(header) => titled(&header, &table, &all_widths, style),
            None => wrapped(&table, &all_widths, style),
        };
        if print_more(&text)? == Printed::NobodyReads {
            return Ok(ExitCode::SUCCESS);
        }
        live.changed().await?;
    }
}

/// What is said where there is nothing.
async fn nothing(cluster: &Cluster, gathered: &Gathered, scope: &Scope, kind: Option<Kind>) -> String {
    if gathered.is_without_our_kinds {
        return format!("{}\n", ObjectError::NoKind("capt's kinds"));
    }
    let what = kind.map_or("nothing of capt", |kind| match kind {
        Kind::Cluster => "no Cluster",
        Kind::CaptCluster => "no CAPTCluster",
        Kind::ControlPlane => "no CAPTControlPlane",
        Kind::Apply => "no WorkspaceTemplateApply",
        Kind::Workspace(_) => "no Workspace",
        Kind::Template => "no WorkspaceTemplate",
    });
    let Scope::Namespace(namespace) = scope else {
        return format!("There is {what} in any namespace of {}.\n", cluster.url);
    };
    // Whoever may not look elsewhere is told about this namespace only.
    let elsewhere = gather(&cluster.client, &Scope::All).await.unwrap_or_default();
    let mut places: Vec<String> = rows(&elsewhere, kind, None)
        .into_iter()
        .map(|row| row.namespace)
        .filter(|place| !place.is_empty())
        .collect();
    places.dedup();
    match &places[..] {
        [] => format!("There is {what} in namespace {namespace}, nor in any other.\n"),
        [one] => format!("There is {what} in namespace {namespace}, but in {one}: add -n {one}\n"),
        many => {
            let some: Vec<&str> = many.iter().take(5).map(String::as_str).collect();
            format!(
                "There is {what} in namespace {namespace}, but in others, such as {}: add -A\n",
                some.join(", ")
            )
        }
    }
}
