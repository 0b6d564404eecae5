//! Everything beside the module, in its place: files, variables, and where the state is.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::engine::{Failure, Inputs};

use super::{
    failure::invalid,
    inspect::About,
    mirror::without_cache,
    open::on_disk,
    variables,
    workdir::{self, Kept, WorkDir, make_folder, write_if_changed},
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
pub(super) fn backend_of_module(path: &Path, inputs: &Inputs, is_tofu: bool) -> io::Result<Option<String>> {
    let is_own = |name: &str| name != OVERRIDE_FILE && inputs.files.iter().all(|file| file.name != name);
    let own = About::of_files(path, is_tofu, is_own)?;
    Ok(own.backend.filter(|_| own.keeps_elsewhere))
}

/// Files that are looked for in the home folder. Settings of the command line are in `cli_config`, unless there are own ones.
pub(super) fn home(cli_config: Option<&Path>, folder: &WorkDir, inputs: &Inputs) -> io::Result<()> {
    let home = folder.home();
    let given = |name: &str| inputs.files.iter().find(|file| file.name == name);
    let settings = match (given(".terraformrc"), cli_config) {
        (Some(file), _) => file.content.clone(),
        (None, Some(path)) => without_cache(&String::from_utf8_lossy(&fs::read(path)?)).into_bytes(),
        (None, None) => Vec::new(),
    };
    write_if_changed(&home.join(".terraformrc"), &settings)?;
    let credentials = home.join(".git-credentials");
    let git = match given(".git-credentials") {
        Some(file) => {
            write_if_changed(&credentials, &file.content)?;
            "[credential]\n\thelper = store\n"
        }
        None => {
            workdir::remove(&credentials)?;
            ""
        }
    };
    write_if_changed(&home.join(".gitconfig"), git.as_bytes())
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
    let given = inputs.files.iter().map(|file| &file.name);
    let wanted: Vec<PathBuf> = given.chain(var_files).map(|name| run_in.join(name)).collect();
    for path in kept.files.iter().filter(|path| !wanted.contains(path)) {
        workdir::remove(&folder.src().join(path))?;
    }
    kept.files = wanted;
    run_in.clone_into(&mut kept.run_in);
    folder.keep(kept)?;
    for file in &inputs.files {
        write_if_changed(&folder.src().join(run_in).join(&file.name), &file.content)?;
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
    let replaced = run_in.join(OVERRIDE_FILE);
    let links = [
        (run_in.join("terraform.tfstate.d"), folder.states()),
        (run_in.join("terraform.tfstate"), folder.state("default")),
    ];
    let has_backend = about.backend.is_some();
    if !is_ours || has_backend {
        // With a state in the folder that it runs in, Terraform would not begin to use a backend without moving it there.
        for (link, target) in &links {
            if fs::read_link(link).is_ok_and(|found| found == *target) {
                workdir::remove(link)?;
            }
        }
    }
    if !is_ours {
        return workdir::remove(&replaced);
    }
    let state = folder.state(&inputs.terraform_workspace);
    make_folder(state.parent().unwrap_or(Path::new("/")))?;
    // Without a backend Terraform keeps state in the folder it runs in, and then it need not be initialised for it.
    if !has_backend {
        for (link, target) in links {
            if fs::read_link(&link).is_ok_and(|found| found == target) {
                continue;
            }
            workdir::remove(&link)?;
            symlink(&target, &link)?;
        }
        return workdir::remove(&replaced);
    }
    let path = |path: PathBuf| serde_json::Value::from(path.to_string_lossy().into_owned());
    let text = format!(
        "terraform {{\n  backend \"local\" {{\n    path          = {}\n    workspace_dir = {}\n  }}\n}}\n",
        path(folder.state("default")),
        path(folder.states()),
    );
    write_if_changed(&replaced, text.as_bytes())
}

/// Writes the files with variables.
pub(super) fn variables(
    run_in: &Path,
    inputs: &Inputs,
    about: &About,
    names: &[String],
) -> Result<(), Failure> {
    let text = match inputs.vars.as_slice() {
        [] => None,
        vars => Some(variables::file(vars, about).map_err(invalid)?.into_bytes()),
    };
    let given = inputs.var_files.iter().map(|file| file.content.clone());
    for (name, content) in names.iter().zip(text.into_iter().chain(given)) {
        on_disk(write_if_changed(&run_in.join(name), &content))?;
    }
    Ok(())
}

/// Whether this is a folder that is inside, links followed.
pub(super) fn is_inside(path: &Path, outer: &Path) -> bool {
    match (path.canonicalize(), outer.canonicalize()) {
        (Ok(path), Ok(outer)) => path.is_dir() && path.starts_with(outer),
        _ => false,
    }
}
