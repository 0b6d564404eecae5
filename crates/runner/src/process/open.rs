//! Opening a session: from inputs to a Terraform that can plan.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::sleep;

use crate::engine::{EngineKind, Failure, Inputs, Link, Module, Opened, Phase, StateHome, Told};

use super::{
    TerraformEngine,
    args::Arguments,
    command::{Exit, Runs},
    environment,
    failure::{self, invalid, machine},
    init::{self, Needs},
    inspect::About,
    listen::Ears,
    recover::{Found, StateFiles},
    session::ProcessSession,
    source, variables,
    workdir::{self, Kept, WorkDir, make_folder, write_if_changed},
};

/// How often it is looked whether an earlier run has ended.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// The file that puts the state where the runner looks for it. Its name makes it replace what the module says.
const OVERRIDE_FILE: &str = "zz_capt_override.tf";

/// Opens a session.
pub(super) async fn open(engine: &TerraformEngine, inputs: Inputs, link: Link) -> Result<Opened, Failure> {
    check(&inputs)?;
    let Some(folder) = WorkDir::of(&engine.root, &inputs.uid) else {
        return Err(invalid(format!("{:?} is no uid", inputs.uid)));
    };
    on_disk(folder.make())?;
    let lock = wait_for_turn(&folder, &link).await?;
    let mut kept = folder.kept();

    let cache = inputs.plugin_cache.then_some(&engine.cache);
    if let Some(cache) = cache {
        on_disk(make_folder(&cache.path))?;
    }
    let cache_path = cache.map(|cache| cache.path.to_string_lossy().into_owned());
    let mut runs = Runs {
        engine: engine.about.to_string(),
        supervisor: engine.supervisor.clone(),
        program: engine.program.clone(),
        grace: engine.grace,
        env: environment::environment(&engine.inherited, &folder, cache_path.as_deref(), &inputs),
        run_in: folder.src(),
        cancel: link.cancel.clone(),
        folder,
    };
    on_disk(write_home(engine, &runs.folder, &inputs))?;

    // State comes first: fetching a module may take away the folder in which it was left.
    let earlier = runs.folder.src().join(&kept.run_in);
    let files = StateFiles::of(&runs.folder, &inputs.terraform_workspace, &earlier);
    let found = match &inputs.state {
        StateHome::Ours { replica, staged } => {
            let found = on_disk(files.find(replica.as_deref(), staged.as_deref()))?;
            on_disk(files.settle(&found))?;
            found
        }
        StateHome::Backend => Found::default(),
    };
    let opened = prepare(engine, &inputs, &mut runs, &mut kept, &link).await;
    let arguments = opened.map_err(|failure| Failure {
        state: found.state.as_ref().map(|(_, file)| file.clone()),
        missing: found.missing.clone(),
        ..failure
    })?;
    let is_ours = matches!(inputs.state, StateHome::Ours { .. });
    let files = StateFiles::of(&runs.folder, &inputs.terraform_workspace, &runs.run_in);
    Ok(Opened {
        state: found.state,
        missing: found.missing,
        session: Box::new(ProcessSession {
            runs,
            told: link.told,
            arguments,
            state: is_ours.then_some(files),
            last: found.last,
            planned: None,
            _lock: lock,
        }),
    })
}

/// What can be told to be wrong without looking at the module.
fn check(inputs: &Inputs) -> Result<(), Failure> {
    for file in &inputs.files {
        let is_base = Path::new(&file.name).file_name() == Some(file.name.as_ref());
        let is_ours =
            [OVERRIDE_FILE, "terraform.tfstate", "terraform.tfstate.d"].contains(&file.name.as_str());
        if !is_base || is_ours {
            return Err(invalid(format!(
                "A file cannot be called {:?}. Give it a plain name that the runner does not use.",
                file.name
            )));
        }
    }
    if let Some(name) = environment::taken(&inputs.env) {
        return Err(invalid(format!(
            "The environment variable {name} cannot be set: the runner decides about it."
        )));
    }
    if !workdir::is_uid(&inputs.terraform_workspace) {
        return Err(invalid(format!(
            "{:?} cannot be the name of a Terraform workspace. Use letters, digits, dots, dashes and underscores in \
             the external name.",
            inputs.terraform_workspace
        )));
    }
    Ok(())
}

/// Waits until no other session is open and nothing that an earlier one started still runs.
async fn wait_for_turn(folder: &WorkDir, link: &Link) -> Result<fs::File, Failure> {
    let mut session = None;
    loop {
        if session.is_none() {
            session = on_disk(folder.try_session_lock())?;
        }
        let is_free = on_disk(workdir::try_lock(&folder.run_lock()))?.is_some();
        match session.take_if(|_| is_free) {
            Some(lock) => return Ok(lock),
            None => tokio::select! {
                () = sleep(LOCK_INTERVAL) => {}
                () = link.cancel.cancelled() => return Err(failure::cancelled()),
            },
        }
    }
}

/// Puts everything in its place, and installs what the module needs.
async fn prepare(
    engine: &TerraformEngine,
    inputs: &Inputs,
    runs: &mut Runs,
    kept: &mut Kept,
    link: &Link,
) -> Result<Arguments, Failure> {
    let tell_phase = || drop(link.told.send(Told::Phase(Phase::Init)));
    let folder = runs.folder.clone();
    let mut subfolder = PathBuf::new();
    match &inputs.module {
        Module::Hcl(_) | Module::Json(_) => on_disk(source::write_text(&folder, kept, &inputs.module))?,
        Module::Remote {
            address,
            if_not_present,
        } => {
            if on_disk(source::must_fetch(
                kept.fetched.as_ref(),
                address,
                *if_not_present,
            ))? {
                tell_phase();
                source::fetch(runs, kept, address).await?;
            }
            if let Some(fetched) = &kept.fetched {
                subfolder.clone_from(&fetched.subfolder);
            }
        }
    }
    let run_in = source::run_in(&subfolder, &inputs.entrypoint)?;
    let path = folder.src().join(&run_in);
    if !is_inside(&path, &folder.src()) {
        return Err(invalid(format!(
            "The module has no folder {:?}. Correct the entrypoint.",
            run_in.display().to_string()
        )));
    }
    runs.run_in.clone_from(&path);
    let var_files = var_files(inputs);
    on_disk(write_files(&folder, inputs, kept, &run_in, &var_files))?;

    let is_tofu = engine.about.kind == EngineKind::Tofu;
    let is_ours = matches!(inputs.state, StateHome::Ours { .. });
    let about = on_disk(About::of_folder(&path, is_tofu))?;
    on_disk(place_state(&folder, inputs, &path, &about, is_ours))?;
    // Some backends know no workspaces.
    if is_ours || about.backend.as_deref() != Some("http") {
        runs.env
            .push(("TF_WORKSPACE".to_owned(), inputs.terraform_workspace.clone()));
    }
    write_variables(&path, inputs, &about, &var_files)?;
    let arguments = Arguments::new(inputs.args.clone()).map_err(invalid)?;

    let needs = Needs {
        engine: &engine.about,
        program: &engine.program,
        folder: &folder,
        run_in: &path,
        args: &arguments,
        is_ours,
        files: &inputs.files,
        uses_cache: inputs.plugin_cache,
    };
    if !about.needs_no_init() || !inputs.args.init.is_empty() {
        let is_new = kept.init != Some(on_disk(needs.key())?);
        if is_new {
            tell_phase();
            kept.init = None;
            on_disk(folder.keep(kept))?;
            let cache = inputs.plugin_cache.then_some(&engine.cache);
            init::init(runs, &needs, &about, cache, Ears::new(link.told.clone())).await?;
            // It may have written the versions that it chose.
            kept.init = Some(on_disk(needs.key())?);
        }
    } else {
        kept.init = None;
    }
    on_disk(folder.keep(kept))?;
    if !is_ours {
        push_errored(runs).await?;
    }
    Ok(arguments)
}

/// A state that Terraform could not give to the user's backend the last time belongs there.
async fn push_errored(runs: &Runs) -> Result<(), Failure> {
    let path = runs.run_in.join(capt_terraform::state::ERRORED_STATE_FILE);
    if !path.exists() {
        return Ok(());
    }
    let args = ["state".into(), "push".into(), path.clone().into()];
    let (ended, _) = runs.printed(args.into(), "push.txt").await?;
    if ended.exit != Exit::Code(0) {
        return Err(failure::command(&runs.engine, "state push", &ended, Vec::new()));
    }
    on_disk(workdir::remove(&path))
}

/// Files that are looked for in the home folder.
fn write_home(engine: &TerraformEngine, folder: &WorkDir, inputs: &Inputs) -> io::Result<()> {
    let home = folder.home();
    let given = |name: &str| inputs.files.iter().find(|file| file.name == name);
    let settings = match (given(".terraformrc"), &engine.cli_config) {
        (Some(file), _) => file.content.clone(),
        (None, Some(path)) => fs::read(path)?,
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
fn var_files(inputs: &Inputs) -> Vec<String> {
    let text = (!inputs.vars.is_empty()).then_some("");
    let ends = inputs
        .var_files
        .iter()
        .map(|file| if file.is_json { ".json" } else { "" });
    let all = text.into_iter().chain(ends).enumerate();
    all.map(|(number, end)| format!("~capt-{number:04}.auto.tfvars{end}"))
        .collect()
}

/// Files beside the module. Those of the last session that are not wanted any more go.
fn write_files(
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
fn place_state(
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
    if !is_ours {
        for (link, target) in links {
            if fs::read_link(&link).is_ok_and(|found| found == target) {
                workdir::remove(&link)?;
            }
        }
        return workdir::remove(&replaced);
    }
    let state = folder.state(&inputs.terraform_workspace);
    make_folder(state.parent().unwrap_or(Path::new("/")))?;
    // Without a backend Terraform keeps state in the folder it runs in, and then it need not be initialised for it.
    for (link, target) in links {
        if fs::read_link(&link).is_ok_and(|found| found == target) {
            continue;
        }
        workdir::remove(&link)?;
        symlink(&target, &link)?;
    }
    if about.backend.is_none() {
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
fn write_variables(run_in: &Path, inputs: &Inputs, about: &About, names: &[String]) -> Result<(), Failure> {
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
fn is_inside(path: &Path, outer: &Path) -> bool {
    match (path.canonicalize(), outer.canonicalize()) {
        (Ok(path), Ok(outer)) => path.is_dir() && path.starts_with(outer),
        _ => false,
    }
}

fn on_disk<T>(done: io::Result<T>) -> Result<T, Failure> {
    done.map_err(|error| machine("use the working folder", &error))
}
