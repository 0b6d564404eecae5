//! Opening a session: from inputs to a Terraform that can plan.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use capt_terraform::{diagnostics::Class, state::State};
use tokio::time::sleep;

use crate::engine::{EngineKind, Failure, FailureKind, Inputs, Link, Module, Opened, Phase, StateHome, Told};

use super::{
    TerraformEngine,
    args::Arguments,
    backend,
    command::Runs,
    environment,
    failure::{self, invalid, machine},
    init::{self, Needs},
    inspect::About,
    listen::Ears,
    place,
    recover::{Found, StateFiles},
    session::ProcessSession,
    source,
    workdir::{self, Kept, WorkDir, make_folder},
};

/// How often it is looked whether an earlier run has ended.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

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
    on_disk(place::home(engine, &runs.folder, &inputs))?;

    // State comes first: fetching a module may take away the folder in which it was left.
    let earlier = runs.folder.src().join(&kept.run_in);
    let files = StateFiles::of(&runs.folder, &inputs.terraform_workspace, &earlier);
    let mut found = match &inputs.state {
        StateHome::Ours { replica, staged } => ours(&files, replica.as_deref(), staged.as_deref())?,
        StateHome::Backend => {
            on_disk(backend::set_aside(&runs.folder, &files))?;
            Found::default()
        }
    };
    // What was made with a state of ours goes on with it.
    let has_state = found
        .state
        .as_ref()
        .is_some_and(|(_, file)| State::parse(file).map_or(true, |state| !state.is_empty()));
    let prepared = prepare(engine, &inputs, &mut runs, &mut kept, &link, has_state).await;
    let arguments = prepared.map_err(|failure| Failure {
        state: found.state.as_ref().map(|(_, file)| file.clone()),
        missing: found.missing.clone(),
        ..failure
    })?;
    let is_ours = matches!(inputs.state, StateHome::Ours { .. });
    let files = StateFiles::of(&runs.folder, &inputs.terraform_workspace, &runs.run_in);
    if !is_ours {
        backend::push(&runs).await?;
        found.missing = backend::missing(&runs, &files).await?;
    }
    Ok(Opened {
        state: found.state,
        missing: found.missing,
        session: Box::new(ProcessSession {
            runs,
            told: link.told,
            arguments,
            files,
            is_ours,
            last: found.last,
            planned: None,
            _lock: lock,
        }),
    })
}

/// Finds the state that counts, and makes it the one that Terraform goes on from.
fn ours(files: &StateFiles, replica: Option<&[u8]>, staged: Option<&[u8]>) -> Result<Found, Failure> {
    // Without it everything would be made a second time.
    if let Some(Err(error)) = replica.map(State::parse) {
        return Err(failure::new(
            FailureKind::Machine(Class::Other),
            format!(
                "The state that was kept cannot be read: {error}. Nothing is done without it. Put back an older one, or \
                 use an engine and a runner that know it."
            ),
        ));
    }
    let found = on_disk(files.find(replica, staged))?;
    if found
        .last
        .state()
        .is_some_and(|state| state.is_simulated() && !state.is_empty())
    {
        return Err(invalid(
            "A simulation made the state of this Workspace, so that nothing in it is real, and Terraform cannot go on from \
             it. Delete the Workspace with the simulated engine first, or make another one."
                .to_owned(),
        ));
    }
    on_disk(files.settle(&found))?;
    Ok(found)
}

/// What can be told to be wrong without looking at the module.
fn check(inputs: &Inputs) -> Result<(), Failure> {
    for file in &inputs.files {
        let is_base = Path::new(&file.name).file_name() == Some(file.name.as_ref());
        if !is_base || place::is_taken(&file.name) {
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
    has_state: bool,
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
                &folder.src(),
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
    if !place::is_inside(&path, &folder.src()) {
        return Err(invalid(format!(
            "The module has no folder {:?}. Correct the entrypoint.",
            run_in.display().to_string()
        )));
    }
    runs.run_in.clone_from(&path);
    let var_files = place::var_files(inputs);
    on_disk(place::files(&folder, inputs, kept, &run_in, &var_files))?;

    let is_tofu = engine.about.kind == EngineKind::Tofu;
    let is_ours = matches!(inputs.state, StateHome::Ours { .. });
    let about = on_disk(About::of_folder(&path, is_tofu))?;
    if !is_ours && about.backend.is_none() && !about.unreadable {
        return Err(invalid(
            "There are settings for a backend, and the module has none, so that its state would be kept nowhere. Remove \
             them from spec.forProvider.initArgs and spec.backendFile of the provider configuration, and remove the \
             annotation state-home.",
        ));
    }
    if about.backend.is_some()
        && matches!(inputs.module, Module::Remote { .. })
        && is_ours
        && !has_state
        && let Some(backend) = on_disk(place::backend_of_module(&path, inputs, is_tofu))?
    {
        return Err(hidden(&backend));
    }
    on_disk(place::state(&folder, inputs, &path, &about, is_ours))?;
    place::variables(&path, inputs, &about, &var_files)?;
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
    // Init refuses a workspace that is not there yet; everything else makes it. Some backends know no workspaces, and
    // some have names of their own for them.
    if is_ours || !matches!(about.backend.as_deref(), Some("http" | "cloud" | "remote")) {
        let name = inputs.terraform_workspace.clone();
        runs.env.push(("TF_WORKSPACE".to_owned(), name));
    }
    Ok(arguments)
}

/// With another state than the one that such a backend may have, everything would be made a second time.
fn hidden(backend: &str) -> Failure {
    failure::new(
        FailureKind::BackendInModule,
        format!(
            "The module has a backend of its own ({backend}), which was not known when the place of the state was \
             chosen, and in which there may be a state. To use it, give one of its settings in spec.forProvider.initArgs \
             (-backend-config=NAME=VALUE) or in spec.backendFile of the provider configuration, and remove the \
             annotation state-home. To keep the state here, remove the backend from the module."
        ),
    )
}

pub(super) fn on_disk<T>(done: io::Result<T>) -> Result<T, Failure> {
    done.map_err(|error| machine("use the working folder", &error))
}
