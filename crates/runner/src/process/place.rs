//! Everything beside the module, in its place: files, variables, and where the state is.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    engine::{Failure, Inputs},
    folder::EntryKind,
};

use super::{
    aws_identity::AwsIdentity,
    failure::invalid,
    inspect::About,
    mirror::without_cache,
    open::on_disk,
    variables,
    workdir::{self, HOME, Kept, SRC, STATES, WorkDir},
};

/// The file that puts the state where the runner looks for it. Its name makes it replace what the module says.
const OVERRIDE_FILE: &str = "zz_capt_override.tf";

/// How the names of files with variables begin: after all letters, so that they count more than the module's own.
const VAR_FILES: &str = "~capt-";

/// Whether the runner needs a file of this name for itself.
pub(super) fn is_taken(name: &str) -> bool {
    [OVERRIDE_FILE, "terraform.tfstate", "terraform.tfstate.d"].contains(&name) || name.starts_with(VAR_FILES)
}

/// The backend that a module has in its own files and that leads out of the folder it runs in.
pub(super) fn backend_of_module(
    folder: &WorkDir,
    run_in: &Path,
    inputs: &Inputs,
    is_tofu: bool,
) -> io::Result<Option<String>> {
    let is_own = |name: &str| name != OVERRIDE_FILE && inputs.files.iter().all(|file| file.name != name);
    let own = About::of_files(&folder.files, Path::new(SRC), run_in, is_tofu, is_own)?;
    Ok(own.backend.filter(|_| own.keeps_elsewhere))
}

/// Files that are looked for in the home folder. Settings of the command line are in `cli_config`, unless there are own ones. Gives
/// that of the operator if it is used.
pub(super) fn home(
    cli_config: Option<&Path>,
    folder: &WorkDir,
    inputs: &Inputs,
    identity: &AwsIdentity,
) -> io::Result<Option<String>> {
    let home = Path::new(HOME);
    let files = &folder.files;
    let given = |name: &str| inputs.files.iter().find(|file| file.name == name);
    let own = given(".terraformrc").map(|file| file.content.as_slice());
    let operator = match (own, cli_config) {
        (None, Some(path)) => Some(without_cache(&String::from_utf8_lossy(&fs::read(path)?))),
        _ => None,
    };
    let settings = own
        .or(operator.as_ref().map(String::as_bytes))
        .unwrap_or_default();
    files.write_if_changed(home.join(".terraformrc"), settings)?;
    let credentials = home.join(".git-credentials");
    let git = match given(".git-credentials") {
        Some(file) => {
            files.write_if_changed(&credentials, &file.content)?;
            "[credential]\n\thelper = store\n"
        }
        None => {
            files.remove(&credentials)?;
            ""
        }
    };
    files.write_if_changed(home.join(".gitconfig"), git.as_bytes())?;
    let sso = home.join(".aws/sso");
    match &identity.sso_cache {
        Some(cache) => {
            files.make(&sso)?;
            files.link(cache, sso.join("cache"))?;
        }
        // A run may have a folder of its own there.
        None if files.kind(sso.join("cache"))? == Some(EntryKind::Link) => files.remove(sso.join("cache"))?,
        None => {}
    }
    Ok(operator)
}

/// The names of the files with variables: one for those that are given as text, if there are any, and the others.
///
/// Terraform reads them by itself, for each command and after all others, in the order of their names.
pub(super) fn var_files(inputs: &Inputs) -> Vec<String> {
    let text = (!inputs.vars.is_empty()).then_some("");
    let ends = inputs
        .var_files
        .iter()
        .map(|file| if file.is_json { ".json" } else { "" });
    let all = text.into_iter().chain(ends).enumerate();
    all.map(|(number, end)| format!("{VAR_FILES}{number:04}.auto.tfvars{end}"))
        .collect()
}

/// Files beside the module. Those of the last session that are not wanted any more go.
pub(super) fn files(
    folder: &WorkDir,
    inputs: &Inputs,
    kept: &mut Kept,
    run_in: &Path,
    var_files: &[String],
) -> io::Result<()> {
    let src = Path::new(SRC);
    let given = inputs.files.iter().map(|file| &file.name);
    let wanted: Vec<PathBuf> = given.chain(var_files).map(|name| run_in.join(name)).collect();
    for path in kept.files.iter().filter(|path| !wanted.contains(path)) {
        folder.files.remove(src.join(path))?;
    }
    kept.files = wanted;
    run_in.clone_into(&mut kept.run_in);
    folder.keep(kept)?;
    for file in &inputs.files {
        let path = src.join(run_in).join(&file.name);
        folder.files.write_if_changed(path, &file.content)?;
    }
    Ok(())
}

/// Makes Terraform keep its state where the runner looks for it, or where the user says.
pub(super) fn state(
    folder: &WorkDir,
    inputs: &Inputs,
    run_in: &Path,
    about: &About,
    is_ours: bool,
) -> io::Result<()> {
    let (files, run_in) = (&folder.files, Path::new(SRC).join(run_in));
    let replaced = run_in.join(OVERRIDE_FILE);
    let (states, default) = (folder.path(STATES), folder.path(workdir::state("default")));
    // For Terraform only: the runner reads nothing through them.
    let links = [
        (run_in.join("terraform.tfstate.d"), &states),
        (run_in.join("terraform.tfstate"), &default),
    ];
    let has_backend = about.backend.is_some();
    if !is_ours || has_backend {
        // With a state in the folder that it runs in, Terraform would not begin to use a backend without moving it there.
        for (link, target) in &links {
            if files.read_link(link)?.as_ref() == Some(*target) {
                files.remove(link)?;
            }
        }
    }
    if !is_ours {
        return files.remove(&replaced);
    }
    let state = workdir::state(&inputs.terraform_workspace);
    files.make(state.parent().unwrap_or(Path::new(STATES)))?;
    // Without a backend Terraform keeps state in the folder it runs in, and then it need not be initialised for it.
    if !has_backend {
        for (link, target) in links {
            files.link(target, link)?;
        }
        return files.remove(&replaced);
    }
    let path = |path: &Path| serde_json::Value::from(path.to_string_lossy().into_owned());
    let text = format!(
        "terraform {{\n  backend \"local\" {{\n    path          = {}\n    workspace_dir = {}\n  }}\n}}\n",
        path(&default),
        path(&states),
    );
    files.write_if_changed(&replaced, text.as_bytes())
}

/// Writes the files with variables.
pub(super) fn variables(
    folder: &WorkDir,
    run_in: &Path,
    inputs: &Inputs,
    about: &About,
    names: &[String],
) -> Result<(), Failure> {
    let text = match inputs.vars.as_slice() {
        [] => None,
        vars => Some(variables::file(vars, about).map_err(invalid)?.into_bytes()),
    };
    let run_in = Path::new(SRC).join(run_in);
    let given = inputs.var_files.iter().map(|file| file.content.clone());
    for (name, content) in names.iter().zip(text.into_iter().chain(given)) {
        on_disk(folder.files.write_if_changed(run_in.join(name), &content))?;
    }
    Ok(())
}

/// The folder of the module that a path leads to, as a path without links. None if it leads out of the module.
pub(super) fn resolve(folder: &WorkDir, run_in: &Path) -> Option<PathBuf> {
    let src = folder.path(SRC).canonicalize().ok()?;
    let found = src.join(run_in).canonicalize().ok()?;
    let inside = found.strip_prefix(src).ok()?;
    found.is_dir().then(|| inside.to_owned())
}
