//! Installing what a module needs: the modules that it calls, its providers as far as the mirror has them, and all the rest.
//!
//! The mirror has to know all constraints for a provider before it can choose a version, so that modules come first. The
//! engine checks afterwards what it is given, by the lock file.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    engine::{Failure, Link, Module, ProviderLock},
    folder::Folder,
};

use super::{
    args::Arguments,
    command::{Exit, Runs},
    init::{self, SETTINGS},
    listen::Ears,
    mirror::{self, LOCK_FILE, LockFile, Mirror, Provided, Requirements, Site, as_text},
    open::on_disk,
    prepare::{Opening, Placed},
    workdir::{HOME, Kept, SRC},
};

/// The configuration of the command line for an `init` that uses the mirror.
const MIRROR_SETTINGS: &str = "mirror.tfrc";
/// The largest lock file that is read.
const MAX_LOCK: u64 = 512 << 10;

/// What is known before anything is installed.
struct Known {
    /// All constraints, if they are known.
    requirements: Option<Requirements>,
    /// The versions that still count. None if the module has a lock file that cannot be read here.
    lock: Option<LockFile>,
}

/// Installs everything, and gives what is to be remembered of it.
pub(super) async fn install(
    opening: &Arc<Opening>,
    runs: &Runs,
    placed: &Placed,
    link: &Link,
) -> Result<Kept, Failure> {
    let Placed {
        kept,
        run_in,
        about,
        arguments,
        ..
    } = placed;
    let brings_lock = opening.brings_lock(kept, run_in);
    let mirror = opening.mirror_for(arguments).filter(|_| about.may_install());
    let (files, path) = (runs.folder.files.clone(), run_in.clone());
    let before = runs.aside(move || Ok(locked(&files, &path))).await?;
    let has_chosen = !brings_lock && before.as_ref().is_some_and(|lock| !lock.is_empty());
    if !about.calls.is_empty() && (mirror.is_some() || has_chosen) {
        get(runs, arguments.upgrades()).await?;
    }
    let (this, about_module, kept_before) = (opening.clone(), about.clone(), kept.clone());
    let (path, upgrades) = (run_in.clone(), arguments.upgrades());
    let known = runs.aside(move || {
        let site = this.site(&path);
        let requirements = on_disk(mirror::of_module(&about_module, &site))?;
        let lock = match (brings_lock, upgrades) {
            (true, _) => before,
            (false, true) => Some(LockFile::default()),
            (false, false) => {
                let asked = kept_before.requirements.as_ref();
                Some(before.unwrap_or_default().restored(asked, requirements.as_ref()))
            }
        };
        Ok(Known { requirements, lock })
    });
    let Known { requirements, lock } = known.await?;
    let provided = match (mirror, &requirements, &lock) {
        (Some(mirror), Some(requirements), Some(lock)) => {
            let none = LockFile::default();
            let chosen = if upgrades { &none } else { lock };
            mirror.provide(runs, requirements, chosen).await?
        }
        _ => None,
    };
    let mut runs = runs.clone();
    if provided.is_some() {
        let settings = runs.folder.path(mirror_settings());
        let settings = settings.to_string_lossy().into_owned();
        runs.env.push(("TF_CLI_CONFIG_FILE".to_owned(), settings));
    }
    let (files, path) = (runs.folder.files.clone(), run_in.clone());
    runs.aside(move || on_disk(set_up(&files, &path, lock, provided, brings_lock)))
        .await?;
    let needs = opening.needs(run_in, arguments);
    init::init(&runs, &needs, Ears::new(link.told.clone())).await?;

    let (this, about, mut kept) = (opening.clone(), about.clone(), kept.clone());
    let (run_in, arguments) = (run_in.clone(), arguments.clone());
    runs.aside(move || {
        // It may have written the versions that it chose.
        kept.init = Some(on_disk(this.needs(&run_in, &arguments).key())?);
        let requirements = on_disk(mirror::of_module(&about, &this.site(&run_in)))?;
        kept.requirements = Some(requirements.map(as_text).unwrap_or_default());
        on_disk(this.folder.keep(&kept))?;
        Ok(kept)
    })
    .await
}

/// Fetches the modules that a module calls. If that fails, so does `init`, which tells why.
async fn get(runs: &Runs, upgrades: bool) -> Result<(), Failure> {
    let mut args: Vec<OsString> = ["get", "-no-color"].map(Into::into).into();
    args.extend(upgrades.then(|| "-update".into()));
    let (ended, _) = runs.printed(args, "get.txt").await?;
    if ended.exit != Exit::Code(0) {
        tracing::debug!(reason = ended.stderr, "modules were not fetched");
    }
    match ended.cancelled {
        true => Err(super::failure::cancelled()),
        false => Ok(()),
    }
}

/// Writes what `init` goes by.
fn set_up(
    files: &Folder,
    run_in: &Path,
    lock: Option<LockFile>,
    provided: Option<Provided>,
    brings_lock: bool,
) -> io::Result<()> {
    let is_changed = provided.is_some() || !brings_lock;
    let mut lock = lock;
    if let Some(provided) = provided {
        files.write(mirror_settings(), provided.settings.as_bytes())?;
        lock = lock.map(|lock| lock.with(provided.lock));
    }
    let Some(lock) = lock.filter(|_| is_changed) else {
        return Ok(());
    };
    let path = lock_file(run_in);
    match lock.is_empty() {
        true => files.remove(path),
        false if locked(files, run_in).as_ref() == Some(&lock) => Ok(()),
        false => files.write(path, lock.render().as_bytes()),
    }
}

/// The versions that are locked in a folder. None if there is no lock file that can be read.
fn locked(files: &Folder, run_in: &Path) -> Option<LockFile> {
    let file = files.read_up_to(lock_file(run_in), MAX_LOCK).ok()??;
    LockFile::parse(&file)
}

/// The lock file of a module, by the path of that inside the source.
fn lock_file(run_in: &Path) -> PathBuf {
    Path::new(SRC).join(run_in).join(LOCK_FILE)
}

fn mirror_settings() -> PathBuf {
    Path::new(HOME).join(MIRROR_SETTINGS)
}

impl Opening {
    /// The mirror, unless the Workspace shares nothing or says itself where providers come from.
    pub(super) fn mirror_for(&self, arguments: &Arguments) -> Option<&Mirror> {
        let inputs = &self.inputs;
        let has_settings = inputs.files.iter().any(|file| file.name == SETTINGS)
            || inputs.env.iter().any(|(name, _)| name == "TF_CLI_CONFIG_FILE");
        let is_used = inputs.plugin_cache && !has_settings && !arguments.names_providers();
        is_used.then_some(&self.mirror)
    }

    /// The module has a lock file of its own.
    fn brings_lock(&self, kept: &Kept, run_in: &Path) -> bool {
        let fetched = kept
            .fetched
            .as_ref()
            .filter(|_| matches!(self.inputs.module, Module::Remote { .. }));
        let is_fetched = fetched.is_some_and(|fetched| match &fetched.locks {
            Some(locks) => locks.contains(&run_in.join(LOCK_FILE)),
            // An earlier runner fetched it, and did not write down what was there before `init`.
            None => !matches!(self.folder.files.kind(lock_file(run_in)), Ok(None)),
        });
        is_fetched || self.inputs.files.iter().any(|file| file.name == LOCK_FILE)
    }

    /// The provider versions that count, if they have to be kept and are not those of the inputs.
    pub(super) fn provider_lock(&self, kept: &Kept, run_in: &Path) -> Option<ProviderLock> {
        let requirements = kept.requirements.clone().filter(|known| !known.is_empty())?;
        let lock = locked(&self.folder.files, run_in)
            .filter(|lock| !lock.is_empty() && !self.brings_lock(kept, run_in))?;
        let before = self.inputs.provider_lock.as_ref();
        let is_kept = before.is_some_and(|before| {
            before.requirements == requirements && LockFile::parse(&before.file).as_ref() == Some(&lock)
        });
        (!is_kept).then(|| ProviderLock {
            file: lock.render().into_bytes(),
            requirements,
        })
    }

    /// Brings the versions back that were chosen before, here or elsewhere.
    pub(super) fn restore_lock(&self, kept: &mut Kept, run_in: &Path) -> io::Result<()> {
        // The last `init` had no use for them.
        let is_of_no_use = kept.requirements.as_ref().is_some_and(BTreeMap::is_empty);
        if is_of_no_use && kept.init.is_some() {
            return Ok(());
        }
        let given = self
            .inputs
            .provider_lock
            .as_ref()
            .filter(|_| !self.brings_lock(kept, run_in));
        let Some((given, lock)) = given.and_then(|given| Some((given, LockFile::parse(&given.file)?))) else {
            return Ok(());
        };
        let files = &self.folder.files;
        if locked(files, run_in).as_ref() != Some(&lock)
            || kept.requirements.as_ref() != Some(&given.requirements)
        {
            files.write(lock_file(run_in), lock.render().as_bytes())?;
            kept.requirements = Some(given.requirements.clone());
        }
        Ok(())
    }

    fn site<'a>(&'a self, run_in: &'a Path) -> Site<'a> {
        Site {
            engine: self.engine.kind,
            files: &self.folder.files,
            run_in,
        }
    }
}
