//! `cargo xtask terraform`: formats, validates and tests every Terraform module that the project ships.
//!
//! Any engine will do: one that is named, `terraform` or `tofu` from the PATH, or the OpenTofu among the peers.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail, ensure};

use crate::{peers, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The terraform or tofu to use, instead of the first one found.
    #[arg(long, value_name = "PATH")]
    engine: Option<PathBuf>,
    /// Build OpenTofu when no engine is found, which needs Go and takes minutes.
    #[arg(long, conflicts_with = "engine")]
    build_missing: bool,
}

/// Prints where the engine is that everything here uses, for whoever wants to use the same.
pub(crate) fn print_engine(build_missing: bool) -> anyhow::Result<()> {
    let engine = engine(&Args {
        engine: None,
        build_missing,
    })?;
    println!("{}", engine.display());
    Ok(())
}

/// What is asked of every module, in this order.
///
/// Nothing is kept: the modules have no backend, and tests hold their state in memory.
const CHECKS: &[&[&str]] = &[
    &["fmt", "-check", "-diff", "-recursive"],
    &["init", "-backend=false", "-input=false"],
    &["validate"],
    &["test"],
];

/// Environment variables, by their beginning, that would change what a module does.
const FOREIGN: &[&str] = &["TF_CLI_ARGS", "TF_DATA_DIR", "TF_VAR_", "TF_WORKSPACE"];

/// The name of the peer that is an engine.
pub(crate) const OPENTOFU: &str = "tofu";

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let engine = engine(args)?;
    println!("{}: {}", engine.display(), version(&engine)?);
    let root = workspace::root().join("terraform");
    let modules = modules(&root)?;
    ensure!(!modules.is_empty(), "there is no module under {}", root.display());
    for module in &modules {
        let started = Instant::now();
        check(&engine, module)?;
        let name = module.strip_prefix(&root).unwrap_or(module);
        println!(
            "{} passed in {:.1} s",
            name.display(),
            started.elapsed().as_secs_f32()
        );
    }
    Ok(())
}

fn engine(args: &Args) -> anyhow::Result<PathBuf> {
    if let Some(path) = &args.engine {
        ensure!(path.is_file(), "there is no engine at {}", path.display());
        // A relative path would mean something else in the folder of a module.
        return fs::canonicalize(path).with_context(|| format!("resolving {}", path.display()));
    }
    if args.build_missing && on_path().is_none() {
        peers::ensure_built(&[OPENTOFU])?;
    }
    find_engine()
}

/// The engine that is there: `terraform` or `tofu` from the PATH, or the OpenTofu among the peers.
pub(crate) fn find_engine() -> anyhow::Result<PathBuf> {
    if let Some(found) = on_path() {
        return Ok(found);
    }
    peers::binary(OPENTOFU).context(
        "neither terraform nor tofu is on the PATH: install one, name one with --engine PATH, \
         or have OpenTofu built with --build-missing",
    )
}

fn on_path() -> Option<PathBuf> {
    let search = env::var_os("PATH").unwrap_or_default();
    ["terraform", "tofu"]
        .iter()
        .find_map(|name| find_in(&search, name))
}

/// The first file of that name in the folders of a search path.
fn find_in(search: &OsStr, name: &str) -> Option<PathBuf> {
    env::split_paths(search)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

/// What an engine says that it is.
pub(crate) fn version(engine: &Path) -> anyhow::Result<String> {
    let output = command(engine)
        .arg("version")
        .output()
        .with_context(|| format!("running {}", engine.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // What is wrong with settings of the user may come first.
    match text.lines().find(|line| line.contains(" v")) {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => bail!(
            "`{} version` failed: it is no terraform or tofu",
            engine.display()
        ),
    }
}

/// Every folder below this one that holds Terraform files, in order.
fn modules(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut is_module = false;
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !hidden {
            found.extend(modules(&path)?);
        }
        is_module |= path.extension().is_some_and(|extension| extension == "tf");
    }
    if is_module {
        found.push(folder.to_owned());
    }
    found.sort();
    Ok(found)
}

fn check(engine: &Path, module: &Path) -> anyhow::Result<()> {
    for arguments in CHECKS {
        let shown = arguments.join(" ");
        let output = command(engine)
            .current_dir(module)
            .args(*arguments)
            .arg("-no-color")
            .output()
            .with_context(|| format!("running {} {shown}", engine.display()))?;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stdout));
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            bail!("`{shown}` failed in {}", module.display());
        }
    }
    Ok(())
}

/// An engine that neither asks, nor calls home, nor takes variables and arguments from whoever runs this.
fn command(engine: &Path) -> Command {
    let mut command = Command::new(engine);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if FOREIGN.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    command
        .env("TF_IN_AUTOMATION", "1")
        .env("TF_INPUT", "0")
        .env("CHECKPOINT_DISABLE", "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_found_and_nothing_else() {
        let root = tempfile::tempdir().expect("a folder");
        for file in [
            "b/main.tf",
            "b/tests/b.tftest.hcl",
            "a/nested/main.tf",
            "a/README.md",
            ".hidden/main.tf",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        let found = modules(root.path()).expect("modules");
        assert_eq!(found, [root.path().join("a/nested"), root.path().join("b")]);
    }

    #[test]
    fn an_engine_is_the_first_on_the_path() {
        let root = tempfile::tempdir().expect("a folder");
        let folders = ["empty", "first", "second"].map(|name| root.path().join(name));
        for folder in &folders {
            fs::create_dir(folder).expect("a folder");
        }
        fs::write(folders[1].join("tofu"), "").expect("a file");
        fs::write(folders[2].join("tofu"), "").expect("a file");
        let search = env::join_paths(&folders).expect("a search path");
        assert_eq!(find_in(&search, "tofu"), Some(folders[1].join("tofu")));
        assert_eq!(find_in(&search, "terraform"), None);
    }
}
