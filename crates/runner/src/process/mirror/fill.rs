//! Getting a package that is not in the mirror yet.
//!
//! The engine installs it for a configuration that asks for one provider and has nothing else in it, in a folder that no run
//! sees. What tenants say comes in as the address of the provider and as constraints for its version, and in no other way.

use std::{
    fs, io,
    os::unix::fs::symlink,
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
    package, plain,
    records::Record,
    settings::Settings,
};
use crate::{
    engine::{Failure, FailureKind},
    process::{
        command::{Exit, Runs},
        digest::Digest,
        environment,
        failure::{self, machine},
        open::wait_for_turn,
        workdir::{self, WorkDir, make_folder, write},
    },
};

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
        run_in: folder.src(),
        env: environment::of_runner(&mirror.inherited, &folder),
        folder: folder.clone(),
        lock: Arc::new(lock),
        ..runs.clone()
    };
    let (this, folders, provider) = (folder.clone(), mirror.folders.clone(), ask.provider.clone());
    let text = settings.for_filling(&cache(&folder));
    let set_up = move || {
        set_up(&this, &configuration, &text)
            .and_then(|()| link_packages(&cache(&this), &folders, &provider))
            .map_err(|error| failed(&error))
    };
    filler.aside(set_up).await?;
    let args = ["init", "-input=false", "-no-color"].map(Into::into);
    let (ended, _) = filler.printed(args.into(), "init.txt").await?;
    let is_installed = ended.exit == Exit::Code(0) && !ended.cancelled;
    let (this, folders, ask) = (folder, mirror.folders.clone(), ask.clone());
    let done = filler.aside(move || {
        let taken = match is_installed {
            true => take(&this, &folders, &ask)
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
    write(&folder.src().join("main.tf.json"), configuration.as_bytes())?;
    write(&folder.home().join(".terraformrc"), settings.as_bytes())
}

/// The folder in which the engine finds packages that need not be fetched.
fn cache(folder: &WorkDir) -> PathBuf {
    folder.tmp().join("cache")
}

/// What is in the mirror is not fetched once more. Which versions there are is known to their origin alone, so that one that
/// was withdrawn is not chosen.
fn link_packages(cache: &Path, folders: &Folders, provider: &ProviderAddress) -> io::Result<()> {
    make_folder(cache)?;
    for package in folders.packages_of(provider)? {
        let link = cache.join(&package);
        make_folder(link.parent().unwrap_or(cache))?;
        symlink(folders.packages().join(package), link)?;
    }
    Ok(())
}

/// Removes all but the locks.
fn clear(folder: &WorkDir) -> io::Result<()> {
    for part in [
        folder.src(),
        folder.data(),
        folder.home(),
        folder.tmp(),
        folder.run(),
    ] {
        workdir::remove(&part)?;
    }
    Ok(())
}

/// Takes what was installed into the mirror.
fn take(folder: &WorkDir, folders: &Folders, ask: &Ask) -> io::Result<String> {
    let provider = &ask.provider;
    let file = plain::read(&folder.src().join(LOCK_FILE), MAX_LOCK)?.unwrap_or_default();
    let locked = LockFile::parse(&file).and_then(|mut lock| lock.0.remove(provider));
    let locked = locked.ok_or_else(|| wrong("no version was chosen"))?;
    let now = SystemTime::now();
    let version = folder
        .data()
        .join("providers")
        .join(provider.path())
        .join(&locked.version);
    let platforms: Vec<PathBuf> = fs::read_dir(version)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    let [installed] = platforms.as_slice() else {
        return Err(wrong("not one package was installed"));
    };
    let package = installed.canonicalize()?;
    let held = folders.held(provider, &locked.version)?;
    if held.is_none() || !package.starts_with(folders.packages().canonicalize()?) {
        let content = package::checksum(&package)?;
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
                let own = own_copy(&package, folder)?;
                package::seal(&own)?;
                folders.note(provider, &locked.version, &record)?;
                let platform = installed.file_name().unwrap_or_default();
                package::place(&own, &folders.version(provider, &locked.version).join(platform))?;
            }
        }
    }
    folders.touch(provider, &locked.version, now);
    folders.prune(provider, now)?;
    Ok(locked.version)
}

/// The package itself if it was fetched, or else a copy: it is the operator's.
fn own_copy(package: &Path, folder: &WorkDir) -> io::Result<PathBuf> {
    if package.starts_with(folder.tmp().canonicalize()?) {
        return Ok(package.to_owned());
    }
    let copy = folder.tmp().join("package");
    package::copy(package, &copy)?;
    Ok(copy)
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
