//! Getting a package that is not in the mirror yet.
//!
//! The engine installs it for a configuration that asks for one provider and has nothing else in it, in a folder that no run
//! sees. What tenants say comes in as the address of the provider and as constraints for its version, and in no other way.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use capt_terraform::diagnostics::Class;
use serde_json::json;

use super::{
    Ask, Folders, Mirror, ProviderAddress, Version,
    address::is_constraint,
    lockfile::{LOCK_FILE, LockFile},
    package,
    records::Record,
    settings::Settings,
};
use crate::{
    engine::{Failure, FailureKind},
    folder::{EntryKind, Folder},
    process::{
        command::{Exit, Runs},
        digest::Digest,
        environment,
        failure::{self, machine},
        init::SETTINGS,
        open::wait_for_turn,
        workdir::{DATA, HOME, RUN, SRC, TMP, WorkDir},
    },
};

/// The folder in which the engine finds packages that need not be fetched, in that for what is temporary.
const CACHE: &str = "cache";

/// The most that is read of a lock file.
const MAX_LOCK: u64 = 1 << 20;

/// Gets a package, and gives its version. The caller holds the turn of the provider in this process; other processes wait here.
pub(super) async fn fill(
    mirror: &Mirror,
    runs: &Runs,
    settings: &Settings,
    ask: &Ask,
) -> Result<String, Failure> {
    let configuration = configuration(ask).ok_or_else(|| {
        let problem = format!(
            "the constraints for the version of {} are not understood",
            ask.provider
        );
        failure::new(FailureKind::Terraform(Class::Other), problem)
    })?;
    let mut digest = Digest::default();
    digest.field(ask.provider.as_str().as_bytes());
    let folder = WorkDir::of(&mirror.folders.filling(), &digest.text());
    let folder = folder.ok_or_else(|| failed(&io::ErrorKind::InvalidFilename.into()))?;
    let lock = wait_for_turn(&folder, &runs.cancel).await?;
    let filler = Runs {
        run_in: SRC.into(),
        env: environment::of_runner(&mirror.operator.inherited, &folder),
        reach: mirror.reach(settings, &folder),
        folder: folder.clone(),
        lock: Arc::new(lock),
        ..runs.clone()
    };
    let (this, folders, provider) = (folder.clone(), mirror.folders.clone(), ask.provider.clone());
    let text = settings.for_filling(&folder.path(cache()));
    let set_up = move || {
        set_up(&this, &configuration, &text)
            .and_then(|()| link_packages(&this, &folders, &provider))
            .map_err(|error| failed(&error))
    };
    filler.aside(set_up).await?;
    let args = ["init", "-input=false", "-no-color"].map(Into::into);
    let (ended, _) = filler.printed(args.into(), "init.txt").await?;
    let is_installed = ended.exit == Exit::Code(0) && !ended.cancelled;
    let (this, folders, ask) = (folder, mirror.folders.clone(), ask.clone());
    let origins: Vec<PathBuf> = settings.folders().map(Path::to_owned).collect();
    let done = filler.aside(move || {
        let taken = match is_installed {
            true => take(&this, &folders, &ask, &origins)
                .map(Some)
                .map_err(|error| failed(&error)),
            false => Ok(None),
        };
        // What is left of it is of no use, and may be large.
        let cleared = clear(&this).map_err(|error| failed(&error));
        taken.and_then(|taken| cleared.map(|()| taken))
    });
    match done.await? {
        Some(version) => Ok(version),
        None => Err(failure::command(&runs.engine, "init", &ended, Vec::new())),
    }
}

/// A configuration that asks for this provider and for nothing else.
fn configuration(ask: &Ask) -> Option<String> {
    let version = match &ask.version {
        Version::Locked(version) => format!("= {version}"),
        Version::Asked(constraints) => constraints.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let mut required = json!({"source": ask.provider.as_str()});
    if !version.is_empty() {
        required["version"] = version.as_str().into();
    }
    let configuration = json!({"terraform": {"required_providers": {"provider": required}}});
    is_constraint(&version).then(|| configuration.to_string())
}

fn set_up(folder: &WorkDir, configuration: &str, settings: &str) -> io::Result<()> {
    clear(folder)?;
    folder.make()?;
    let files = &folder.files;
    files.write(Path::new(SRC).join("main.tf.json"), configuration.as_bytes())?;
    files.write(Path::new(HOME).join(SETTINGS), settings.as_bytes())
}

fn cache() -> PathBuf {
    Path::new(TMP).join(CACHE)
}

/// What is in the mirror is not fetched once more. Which versions there are is known to their origin alone, so that one that
/// was withdrawn is not chosen.
fn link_packages(folder: &WorkDir, folders: &Folders, provider: &ProviderAddress) -> io::Result<()> {
    folder.files.make(cache())?;
    for package in folders.packages_of(provider)? {
        let link = cache().join(&package);
        folder.files.make(link.parent().unwrap_or(Path::new(TMP)))?;
        folder.files.link(&folders.packages().join(package), link)?;
    }
    Ok(())
}

/// Removes all but the locks.
fn clear(folder: &WorkDir) -> io::Result<()> {
    let parts = [SRC, DATA, HOME, TMP, RUN];
    parts.into_iter().try_for_each(|part| folder.files.remove(part))
}

/// Where the package is that was installed.
enum Installed {
    /// In the folder in which it was installed.
    Here(PathBuf),
    /// In the mirror, inside of it.
    Mirror(PathBuf),
    /// In a folder of the operator's.
    Operator(Folder),
}

/// Takes what was installed into the mirror.
fn take(folder: &WorkDir, folders: &Folders, ask: &Ask, origins: &[PathBuf]) -> io::Result<String> {
    let provider = &ask.provider;
    let file = folder
        .files
        .read_up_to(Path::new(SRC).join(LOCK_FILE), MAX_LOCK)?;
    let locked = LockFile::parse(&file.unwrap_or_default()).and_then(|mut lock| lock.0.remove(provider));
    let locked = locked.ok_or_else(|| wrong("no version was chosen"))?;
    let now = SystemTime::now();
    let version = Path::new(DATA)
        .join("providers")
        .join(provider.path())
        .join(&locked.version);
    let platforms = folder.files.list(&version)?;
    let [(platform, _)] = platforms.as_slice() else {
        return Err(wrong("not one package was installed"));
    };
    let installed = find(folder, version.join(platform), folders, origins)?;
    let held = folders.held(provider, &locked.version)?;
    if held.is_none() || !matches!(installed, Installed::Mirror(_)) {
        let content = match &installed {
            Installed::Here(at) => package::checksum(&folder.files, at)?,
            Installed::Mirror(at) => package::checksum(&Folder::new(folders.packages()), at)?,
            Installed::Operator(origin) => package::checksum(origin, Path::new(""))?,
        };
        if !locked.hashes.contains(&content) {
            return Err(wrong("the package is not the one that was installed"));
        }
        match held {
            // The package would change under the runs that use it.
            Some(held) if held.content != content => {
                return Err(wrong("the same version is another package by now"));
            }
            Some(_) => {}
            None => {
                let origin = locked.hashes.iter().filter(|hash| hash.starts_with("zh:"));
                let record = Record {
                    content,
                    origin: origin.cloned().collect(),
                };
                let own = own_copy(&installed, folder)?;
                folders.note(provider, &locked.version, &record)?;
                if let Some(own) = own {
                    package::seal(&folder.files, &own)?;
                    let own = folder.path(own);
                    let own = own.strip_prefix(folders.base()).map_err(io::Error::other)?;
                    let at = folders.version(provider, &locked.version).join(platform);
                    package::place(&folders.files(), own, &at)?;
                }
            }
        }
    }
    folders.touch(provider, &locked.version, now);
    folders.prune(provider, now)?;
    Ok(locked.version)
}

/// Follows the links that the engine makes: from what is installed to the cache, and from there to where it took a package from.
/// No other link is followed.
fn find(folder: &WorkDir, at: PathBuf, folders: &Folders, origins: &[PathBuf]) -> io::Result<Installed> {
    let mut at = at;
    for _ in 0..2 {
        let target = match folder.files.kind(&at)? {
            Some(EntryKind::Folder) => return Ok(Installed::Here(at)),
            Some(EntryKind::Link) => folder.files.read_link(&at)?.unwrap_or_default(),
            Some(EntryKind::File | EntryKind::Other) | None => break,
        };
        if folders.named_by(&target).is_some() {
            let inside = target
                .strip_prefix(folders.packages())
                .map_err(io::Error::other)?;
            return Ok(Installed::Mirror(inside.to_owned()));
        }
        match target.strip_prefix(folder.path(cache())) {
            Ok(inside) => at = cache().join(inside),
            Err(_) => return from_operator(&target, origins),
        }
    }
    Err(wrong("the package is not where it was installed"))
}

/// A package of the operator's, whose links the operator made.
fn from_operator(target: &Path, origins: &[PathBuf]) -> io::Result<Installed> {
    let target = target.canonicalize()?;
    let is_inside = |origin: &PathBuf| {
        origin
            .canonicalize()
            .is_ok_and(|origin| target.starts_with(origin))
    };
    match origins.iter().any(is_inside) {
        true => Ok(Installed::Operator(Folder::new(target))),
        false => Err(wrong("the package is not where providers come from")),
    }
}

/// The package itself if it was fetched, or else a copy: it is the operator's. None if it is in its place.
fn own_copy(installed: &Installed, folder: &WorkDir) -> io::Result<Option<PathBuf>> {
    match installed {
        Installed::Here(at) => Ok(Some(at.clone())),
        Installed::Mirror(_) => Ok(None),
        Installed::Operator(origin) => {
            let copy = Path::new(TMP).join("package");
            folder.files.copy_from(origin, Path::new(""), &copy)?;
            Ok(Some(copy))
        }
    }
}

fn failed(error: &io::Error) -> Failure {
    machine("put a provider into the mirror", error)
}

fn wrong(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_asks_for_one_provider_and_nothing_else() {
        let ask = |version: Version| Ask {
            provider: ProviderAddress::whole("example.com/some/fake").unwrap(),
            version,
            locked: None,
            is_needed: true,
        };
        let asked = |texts: &[&str]| {
            ask(Version::Asked(
                texts.iter().map(|text| (*text).to_owned()).collect(),
            ))
        };
        let of = |version: &str| {
            format!(
                "{{\"terraform\":{{\"required_providers\":{{\"provider\":{{\"source\":\"example.com/some/fake\"{version}}}}}}}}}"
            )
        };
        let locked = ask(Version::Locked("1.0.0".to_owned()));
        let cases = [
            (asked(&[]), Some(of(""))),
            (
                asked(&["< 2.0", ">= 1.0"]),
                Some(of(",\"version\":\"< 2.0, >= 1.0\"")),
            ),
            (locked, Some(of(",\"version\":\"= 1.0.0\""))),
            (asked(&["${file(\"/etc/passwd\")}"]), None),
        ];
        for (ask, expected) in cases {
            assert_eq!(configuration(&ask), expected);
        }
    }
}
