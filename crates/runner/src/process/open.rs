//! Opening a session: from inputs to a Terraform that can plan.

use std::{fs, io, path::Path, sync::Arc, time::Duration};

use capt_terraform::state::State;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{Failure, Inputs, Link, Module, Opened, StateHome, Told},
    sandbox::LocalModules,
};

use super::{
    TerraformEngine,
    aws_identity::AwsIdentity,
    backend,
    blame::Blame,
    command::{self, Runs},
    environment,
    failure::{self, invalid, machine},
    place,
    prepare::{Opening, prepare},
    recover::StateFiles,
    session::ProcessSession,
    workdir::{self, SRC, WorkDir, make_folder},
};

/// How often it is looked whether an earlier run has ended.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Opens a session.
pub(super) async fn open(engine: &TerraformEngine, inputs: Inputs, link: Link) -> Result<Opened, Failure> {
    let modules = engine.sandbox.local_modules();
    check(&inputs, &modules)?;
    let Some(folder) = WorkDir::of(&engine.root, &inputs.uid) else {
        return Err(invalid(format!("{:?} is no uid", inputs.uid)));
    };
    let lock = wait_for_turn(&folder, &link.cancel).await?;
    let identity = match inputs.inherits_identity {
        true => AwsIdentity::of(&environment::of_process(), Path::exists),
        false => AwsIdentity::default(),
    };
    if inputs.inherits_identity {
        // Without a listener nothing is shown either.
        let _ = link.told.send(Told::Secrets(identity.secrets()));
    }
    let mut runs = Runs {
        engine: engine.about.to_string(),
        supervisor: engine.supervisor.clone(),
        program: engine.program.clone(),
        grace: engine.grace,
        env: environment::environment(&engine.inherited, &identity, &folder, &inputs),
        run_in: SRC.into(),
        reach: engine.reach(&folder, &identity),
        cancel: link.cancel.clone(),
        folder: folder.clone(),
        lock: Arc::new(lock),
    };
    let is_ours = matches!(inputs.state, StateHome::Ours { .. });
    let opening = Arc::new(Opening {
        engine: engine.about.clone(),
        program: engine.program.clone(),
        cli_config: engine.cli_config.clone(),
        mirror: engine.mirror.clone(),
        folder,
        inputs,
        identity,
        modules,
    });
    let this = opening.clone();
    // State comes first: fetching a module may take away the folder in which it was left.
    let (kept, mut found, origins) = runs.aside(move || this.find_state()).await?;
    if let Some(reach) = &mut runs.reach {
        reach.read.extend(origins);
    }
    // What was made with a state of ours goes on with it.
    let has_state = found
        .state
        .as_ref()
        .is_some_and(|(_, file)| State::parse(file).map_or(true, |state| !state.is_empty()));
    let prepared = prepare(&opening, &mut runs, kept, &link, has_state).await;
    let (arguments, provider_lock) = prepared.map_err(|failure| Failure {
        state: found.state.as_ref().map(|(_, file)| file.clone()),
        missing: found.missing.clone(),
        ..failure
    })?;
    let run_in = runs.run_in.strip_prefix(SRC).unwrap_or(&runs.run_in);
    let files = StateFiles::of(&runs.folder, &opening.inputs.terraform_workspace, run_in);
    if !is_ours {
        backend::push(&runs).await?;
        found.missing = backend::missing(&runs, &files).await?;
    }
    Ok(Opened {
        state: found.state,
        missing: found.missing,
        provider_lock,
        is_lost: found.is_lost,
        session: Box::new(ProcessSession {
            runs,
            told: link.told,
            arguments,
            blame: Blame::new(&opening.inputs),
            files,
            is_ours,
            last: found.last,
            planned: None,
            replaced: [].into(),
        }),
    })
}

/// What can be told to be wrong without looking at the module.
fn check(inputs: &Inputs, modules: &LocalModules) -> Result<(), Failure> {
    if let Module::Remote { address, .. } = &inputs.module {
        modules.check(address).map_err(invalid)?;
    }
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

/// Makes the folder, and waits until no other session is open and nothing that an earlier one started still runs.
pub(super) async fn wait_for_turn(folder: &WorkDir, cancel: &CancellationToken) -> Result<fs::File, Failure> {
    let mut session = None;
    loop {
        let (folder, held) = (folder.clone(), session.take());
        let trying = move || {
            make_folder(&folder.path(""))?;
            let held = match held {
                None => folder.try_session_lock()?,
                held => held,
            };
            // Without the lock, another session may be removing folders at this moment.
            if held.is_some() {
                folder.make()?;
            }
            let is_free = folder.try_run_lock()?.is_some();
            Ok((held, is_free))
        };
        let (held, is_free) = command::off_thread(move || on_disk(trying())).await?;
        match held {
            Some(lock) if is_free => return Ok(lock),
            held => session = held,
        }
        tokio::select! {
            () = sleep(LOCK_INTERVAL) => {}
            () = cancel.cancelled() => return Err(failure::cancelled()),
        }
    }
}

pub(super) fn on_disk<T>(done: io::Result<T>) -> Result<T, Failure> {
    done.map_err(|error| machine("use the working folder", &error))
}
