//! `cargo xtask bench render`: how many templates are rendered in a second, and whether the cost grows with their size alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use capt_api::workspacetemplate::WorkspaceTemplateSpec;
use capt_core::render::{ForeignNamespaces, RenderInput, WorkspaceGroup, render};
use serde_json::json;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long each size is measured, in seconds.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

/// Resources in the module of each size. Each is twice as large as the one before.
const SIZES: [usize; 7] = [4, 8, 16, 32, 64, 128, 256];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    println!(
        "| resources in the module | its text | renders per second | cost, compared with half the size |"
    );
    println!("| --- | --- | --- | --- |");
    let variables: BTreeMap<String, String> = ["name", "region", "owner", "cidr"]
        .map(|name| {
            (
                name.to_owned(),
                format!("a {name} with \"quotes\" and ${{signs}}"),
            )
        })
        .into();
    let mut before: Option<f64> = None;
    for size in SIZES {
        let (template, bytes) = template(size)?;
        let input = RenderInput {
            template: &template,
            variables: &variables,
            workspace_name: "network",
            namespace: "team-a",
            group: WorkspaceGroup::Namespaced,
            connection_secret: None,
            foreign_namespaces: ForeignNamespaces::Refuse,
        };
        let per_second = measure(&input, Duration::from_secs(args.seconds))?;
        let cost = before.map_or_else(|| "–".to_owned(), |before| format!("{:.2}×", before / per_second));
        println!(
            "| {size} | {:.1} KiB | {per_second:.0} | {cost} |",
            bytes as f64 / 1024.0
        );
        before = Some(per_second);
    }
    Ok(())
}

/// Renders per second, after a little to warm up.
fn measure(input: &RenderInput<'_>, time: Duration) -> anyhow::Result<f64> {
    let rendering = match render(input) {
        Ok(rendering) => rendering,
        Err(problems) => bail!("the template cannot be rendered: {problems:?}"),
    };
    if rendering.filled.is_empty() {
        bail!("nothing was filled, so that nothing would be measured");
    }
    let warm = Instant::now() + time / 10;
    while Instant::now() < warm {
        let _ = black_box(render(black_box(input)));
    }
    let (started, mut count) = (Instant::now(), 0_u64);
    while started.elapsed() < time {
        let _ = black_box(render(black_box(input)));
        count += 1;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// A template whose module has this many resources, and the size of its text.
fn template(resources: usize) -> anyhow::Result<(WorkspaceTemplateSpec, usize)> {
    let mut module = String::from("variable \"region\" {\n  type = string\n}\n");
    for number in 0..resources {
        write!(
            module,
            "\nresource \"terraform_data\" \"part_{number}\" {{\n  input = {{\n    name   = \"${{name}}-{number}\"\n    \
             region = var.region\n    tags   = {{ owner = \"${{owner}}\", part = \"${{var.region}}/{number}\" }}\n  \
             }}\n}}\n\noutput \"part_{number}\" {{\n  value = terraform_data.part_{number}.output\n}}\n"
        )?;
    }
    let bytes = module.len();
    let spec = json!({
        "variables": [{"name": "name", "required": true}, {"name": "cidr", "replaces": true}],
        "template": {"spec": {"forProvider": {
            "source": "Inline",
            "module": module,
            "vars": [{"key": "region", "value": "${region}"}, {"key": "cidr", "value": "${cidr}"}],
        }}},
    });
    let template = serde_json::from_value(spec).context("the template of the bench does not fit its kind")?;
    Ok((template, bytes))
}
