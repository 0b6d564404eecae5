//! The steps from inputs to a Terraform that can plan: the state that counts, the module, everything beside it, and what
//! has to be installed for it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use capt_terraform::{diagnostics::Class, state::State};

use crate::{
    engine::{
        About as EngineAbout, EngineKind, Failure, FailureKind, Inputs, Link, Module, Phase, ProviderLock,
        StateHome, Told,
    },
    sandbox::LocalModules,
};

use super::{
    args::Arguments,
    aws_identity::AwsIdentity,
    backend,
    command::Runs,
    diary::Diary,
    failure::{self, invalid},
    init::Needs,
    inspect::About,
    install,
    mirror::{self, Mirror},
    open::on_disk,
    place,
    recover::{Found, StateFiles},
    source,
    workdir::{Kept, SRC, WorkDir},
};

/// What a session is opened with, shared by its steps.
pub(super) struct Opening {
    pub(super) engine: EngineAbout,
    pub(super) program: PathBuf,
    pub(super) cli_config: Option<PathBuf>,
    pub(super) mirror: Mirror,
    pub(super) folder: WorkDir,
    pub(super) inputs: Inputs,
    pub(super) identity: AwsIdentity,
    /// Where modules may come from on this machine.
    pub(super) modules: LocalModules,
}

/// Puts everything in its place, and installs what the module needs. Gives the provider versions that count, if they are not
/// those of the inputs.
pub(super) async fn prepare(
    opening: &Arc<Opening>,
    runs: &mut Runs,
    kept: Kept,
    link: &Link,
    has_state: bool,
) -> Result<(Arguments, Option<ProviderLock>), Failure> {
    let tell_phase = || drop(link.told.send(Told::Phase(Phase::Init)));
    let inputs = &opening.inputs;
    let this = opening.clone();
    let (mut kept, must_fetch) = runs.aside(move || this.bring_text(kept)).await?;
    if let Module::Remote { address, .. } = &inputs.module
        && must_fetch
    {
        tell_phase();
        kept = source::fetch(runs, kept, address, opening.modules.clone()).await?;
    }
    let this = opening.clone();
    let mut placed = runs.aside(move || this.place(kept, has_state)).await?;
    runs.run_in = Path::new(SRC).join(&placed.run_in);
    if placed.needs_init {
        tell_phase();
        placed.kept = install::install(opening, runs, &placed, link).await?;
    }
    let Placed {
        kept,
        run_in,
        about,
        arguments,
        ..
    } = placed;
    let this = opening.clone();
    let provider_lock = runs.aside(move || Ok(this.provider_lock(&kept, &run_in))).await?;
    // Init refuses a workspace that is not there yet; everything else makes it. Some backends know no workspaces, and
    // some have names of their own for them.
    if opening.is_ours() || !matches!(about.backend.as_deref(), Some("http" | "cloud" | "remote")) {
        let name = inputs.terraform_workspace.clone();
        runs.env.push(("TF_WORKSPACE".to_owned(), name));
    }
    Ok((arguments, provider_lock))
}

/// Everything is in its place.
pub(super) struct Placed {
    pub(super) kept: Kept,
    /// The folder of the module that Terraform runs in, inside the source and without a link in its path.
    pub(super) run_in: PathBuf,
    pub(super) about: About,
    pub(super) arguments: Arguments,
    /// Something differs from the last time, so that `init` has to run.
    pub(super) needs_init: bool,
}

/// Steps that do nothing but use files, so that they run where they keep nobody from working.
impl Opening {
    fn is_ours(&self) -> bool {
        matches!(self.inputs.state, StateHome::Ours { .. })
    }

    pub(super) fn needs<'a>(&'a self, run_in: &'a Path, arguments: &'a Arguments) -> Needs<'a> {
        Needs {
            engine: &self.engine,
            program: &self.program,
            folder: &self.folder,
            run_in,
            args: arguments,
            is_ours: self.is_ours(),
            files: &self.inputs.files,
            uses_mirror: self.mirror_for(arguments).is_some(),
        }
    }

    /// What is remembered, the state that counts, and the folders that the operator has providers in.
    pub(super) fn find_state(&self) -> Result<(Kept, Found, Vec<PathBuf>), Failure> {
        let (folder, inputs) = (&self.folder, &self.inputs);
        let kept = folder.kept();
        let operator = on_disk(place::home(
            self.cli_config.as_deref(),
            folder,
            inputs,
            &self.identity,
        ))?;
        let origins = operator.map(|text| self.mirror.origins_in(&text));
        let files = StateFiles::of(folder, &inputs.terraform_workspace, &kept.run_in);
        let is_lost = on_disk(Diary::of(folder).begin(&inputs.operation, inputs.cut_short.as_deref()))?;
        let found = match &inputs.state {
            StateHome::Ours { replica, staged } => ours(&files, replica.as_deref(), staged.as_deref())?,
            StateHome::Backend => {
                on_disk(backend::set_aside(folder, &files))?;
                Found::default()
            }
        };
        Ok((kept, Found { is_lost, ..found }, origins.unwrap_or_default()))
    }

    /// Brings the module to its place if it is text. Says whether it has to be fetched.
    fn bring_text(&self, mut kept: Kept) -> Result<(Kept, bool), Failure> {
        let must_fetch = match &self.inputs.module {
            Module::Hcl(_) | Module::Json(_) => {
                on_disk(source::write_text(&self.folder, &mut kept, &self.inputs.module))?;
                false
            }
            Module::Remote {
                address,
                if_not_present,
            } => on_disk(source::must_fetch(
                &self.folder,
                kept.fetched.as_ref(),
                address,
                *if_not_present,
                &self.modules,
            ))?,
        };
        Ok((kept, must_fetch))
    }

    /// Puts everything beside the module in its place.
    fn place(&self, mut kept: Kept, has_state: bool) -> Result<Placed, Failure> {
        let (folder, inputs, is_ours) = (&self.folder, &self.inputs, self.is_ours());
        let subfolder = match &kept.fetched {
            Some(fetched) if matches!(inputs.module, Module::Remote { .. }) => fetched.subfolder.clone(),
            _ => PathBuf::new(),
        };
        let run_in = source::run_in(&subfolder, &inputs.entrypoint)?;
        let Some(run_in) = place::resolve(folder, &run_in) else {
            return Err(invalid(format!(
                "The module has no folder {:?}. Correct the entrypoint.",
                run_in.display().to_string()
            )));
        };
        let var_files = place::var_files(inputs);
        on_disk(place::files(folder, inputs, &mut kept, &run_in, &var_files))?;

        let is_tofu = self.engine.kind == EngineKind::Tofu;
        let about = on_disk(About::of_folder(&folder.files, Path::new(SRC), &run_in, is_tofu))?;
        if !is_ours && about.backend.is_none() && !about.unreadable {
            return Err(invalid(
                "There are settings for a backend, and the module has none, so that its state would be kept nowhere. \
                 Remove them from spec.forProvider.initArgs and spec.backendFile of the provider configuration, and \
                 remove the annotation state-home.",
            ));
        }
        if about.backend.is_some()
            && matches!(inputs.module, Module::Remote { .. })
            && is_ours
            && !has_state
            && let Some(backend) = on_disk(place::backend_of_module(folder, &run_in, inputs, is_tofu))?
        {
            return Err(hidden(&backend));
        }
        on_disk(place::state(folder, inputs, &run_in, &about, is_ours))?;
        place::variables(folder, &run_in, inputs, &about, &var_files)?;
        let arguments = Arguments::new(inputs.args.clone()).map_err(invalid)?;
        if about.may_install() {
            on_disk(self.restore_lock(&mut kept, &run_in))?;
        }
        let needs_init = on_disk(self.needs_init(&mut kept, &run_in, &about, &arguments))?;
        on_disk(folder.keep(&kept))?;
        Ok(Placed {
            kept,
            run_in,
            about,
            arguments,
            needs_init,
        })
    }

    /// Whether anything differs from the last `init`.
    fn needs_init(
        &self,
        kept: &mut Kept,
        run_in: &Path,
        about: &About,
        arguments: &Arguments,
    ) -> io::Result<bool> {
        if about.needs_no_init() && self.inputs.args.init.is_empty() {
            kept.init = None;
            return Ok(false);
        }
        let is_installed = mirror::is_installed(&self.folder.files, self.mirror.folders())?;
        if is_installed && kept.init == Some(self.needs(run_in, arguments).key()?) {
            return Ok(false);
        }
        kept.init = None;
        Ok(true)
    }
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
