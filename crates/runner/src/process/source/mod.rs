//! Getting the module to where Terraform runs.
//!
//! Text is written. Anything else is fetched by Terraform's own installer, as a module that a small configuration
//! calls: that way everything works that works in a `module` block, and no provider is needed for it. It goes to a
//! fresh folder and takes the place of the last one only when it is complete and differs.
//!
//! | pull policy | address | when it is fetched |
//! |---|---|---|
//! | any | another one than last time | always |
//! | `IfNotPresent` | the same | never |
//! | `Always` | a commit of git | never: it cannot change |
//! | `Always` | a folder of this machine | when something in it differs |
//! | `Always` | anything else | whenever a session is opened |

use std::{
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;

use crate::{
    engine::{BROKEN_ARCHIVE, Failure, FailureKind, Module},
    folder::{EntryKind, Folder},
    sandbox::LocalModules,
};

use super::{
    command::{Exit, Runs},
    digest,
    failure::{self, invalid, machine, plain},
    mirror::LOCK_FILE,
    workdir::{FETCHING, Fetched, Kept, SRC, WorkDir},
};

/// The name under which a module is called by the configuration that fetches it.
const CALL: &str = "module";

/// Where Terraform puts what it fetches, in the folder that it fetches to.
const DATA: &str = "data";

/// Where it puts the package of that module.
const PACKAGE: &str = "data/modules/module";

/// The folder in `src` that the module's address and the entrypoint lead to.
///
/// # Errors
/// If it leads outside.
pub(super) fn run_in(subfolder: &Path, entrypoint: &str) -> Result<PathBuf, Failure> {
    let mut path = PathBuf::new();
    for part in subfolder.components().chain(Path::new(entrypoint).components()) {
        match part {
            Component::Normal(part) => path.push(part),
            // An entrypoint that begins with a slash means the module's own root.
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(invalid(format!(
                    "The entrypoint {entrypoint:?} leads out of the module. Name a folder inside it."
                )));
            }
        }
    }
    Ok(path)
}

/// Writes a module that is given as text.
pub(super) fn write_text(folder: &WorkDir, kept: &mut Kept, module: &Module) -> io::Result<()> {
    let (name, other, text) = match module {
        Module::Hcl(text) => ("main.tf", "main.tf.json", text),
        Module::Json(text) => ("main.tf.json", "main.tf", text),
        Module::Remote { .. } => return Ok(()),
    };
    let (files, src) = (&folder.files, Path::new(SRC));
    if kept.fetched.is_some() {
        // A crash in between must not leave a folder that is taken for the module that was fetched.
        kept.fetched = None;
        folder.keep(kept)?;
        files.remove(src)?;
        files.make(src)?;
    }
    files.remove(src.join(other))?;
    files.write_if_changed(src.join(name), text.as_bytes())
}

/// Whether a module has to be fetched to this folder, by what is known of what is there.
pub(super) fn must_fetch(
    folder: &WorkDir,
    kept: Option<&Fetched>,
    address: &str,
    if_not_present: bool,
    modules: &LocalModules,
) -> io::Result<bool> {
    let Some(kept) = kept.filter(|kept| kept.address == address) else {
        return Ok(true);
    };
    // An empty module would mean that everything is to be destroyed.
    if folder.files.list(SRC)?.is_empty() {
        return Ok(true);
    }
    if if_not_present || is_commit(address) {
        return Ok(false);
    }
    match local(address, modules)? {
        Some((package, at)) => Ok(digest::tree(&package, &at)? != kept.content),
        None => Ok(true),
    }
}

/// Fetches a module, and puts it where the last one was if it is another one.
pub(super) async fn fetch(
    runs: &Runs,
    mut kept: Kept,
    address: &str,
    modules: LocalModules,
) -> Result<Kept, Failure> {
    if address.starts_with("./") || address.starts_with("../") {
        return Err(invalid(format!(
            "The module {address:?} is a path that begins nowhere. Name a whole path, or another address that \
             Terraform can fetch."
        )));
    }
    let fetching = Path::new(FETCHING);
    let data = runs.folder.path(fetching.join(DATA));
    let call = format!("module \"{CALL}\" {{\n  source = {}\n}}\n", quoted(address));
    let mut runs = runs.clone();
    runs.run_in = fetching.to_owned();
    runs.env
        .push(("TF_DATA_DIR".to_owned(), data.to_string_lossy().into_owned()));
    let files = runs.folder.files.clone();
    let fresh = move || {
        files.remove(fetching)?;
        files.write(fetching.join("main.tf"), call.as_bytes())
    };
    let failed = |error| machine("make a folder for the module", &error);
    runs.aside(move || fresh().map_err(failed)).await?;
    let args = ["get", "-no-color"].map(OsString::from);
    let (ended, _) = runs.printed(args.into(), "get.txt").await?;
    let (folder, address) = (runs.folder.clone(), address.to_owned());
    let engine = runs.engine.clone();
    let failed = |error| machine("put the module in its place", &error);
    runs.aside(move || {
        let package = package(&folder, &address, &modules).map_err(failed)?;
        // A module that was fetched and makes no sense is told about later, when it is clear where.
        let package = package.filter(|_| {
            let is_fetched =
                ended.exit == Exit::Code(0) || !ended.stderr.contains(&format!("module \"{CALL}\""));
            is_fetched && !ended.cancelled
        });
        let Some(package) = package else {
            let failure = failure::command(&engine, "get", &ended, Vec::new());
            let has_copy = kept.fetched.as_ref().is_some_and(|kept| kept.address == address);
            return Err(unavailable(&address, has_copy, failure));
        };
        let subfolder = subfolder(&folder, &address).map_err(failed)?;
        swap(&folder, &mut kept, &address, &package, subfolder).map_err(failed)?;
        Ok(kept)
    })
    .await
}

/// Where a package that was fetched is.
enum Package {
    /// In the folder that it was fetched to.
    Fetched,
    /// It is a folder of this machine, and Terraform made nothing but a link to it.
    Local(Folder, PathBuf),
}

/// The package that was fetched, if there is one. A link is not asked where it leads to.
fn package(folder: &WorkDir, address: &str, modules: &LocalModules) -> io::Result<Option<Package>> {
    match folder.files.kind(Path::new(FETCHING).join(PACKAGE))? {
        Some(EntryKind::Folder) => Ok(Some(Package::Fetched)),
        Some(EntryKind::Link) => {
            let local = local(address, modules)?;
            Ok(local.map(|(folder, at)| Package::Local(folder, at)))
        }
        Some(EntryKind::File | EntryKind::Other) | None => Ok(None),
    }
}

fn swap(
    folder: &WorkDir,
    kept: &mut Kept,
    address: &str,
    package: &Package,
    subfolder: PathBuf,
) -> io::Result<()> {
    let files = &folder.files;
    let fetched_to = Path::new(FETCHING).join(PACKAGE);
    let (source, at) = match package {
        Package::Fetched => (files, &fetched_to),
        Package::Local(local, at) => (local, at),
    };
    let fetched = Fetched {
        address: address.to_owned(),
        subfolder,
        content: digest::tree(source, at)?,
        locks: Some(digest::files(source, at, &|name| name == LOCK_FILE)?),
    };
    // What Terraform and its providers wrote beside a module is not thrown away for the same module.
    let is_there = !files.list(SRC)?.is_empty();
    let is_same = |kept: &Fetched| is_there && kept.content == fetched.content;
    if !kept.fetched.as_ref().is_some_and(is_same) {
        let package = match package {
            Package::Fetched => fetched_to,
            Package::Local(local, at) => {
                let copy = Path::new(FETCHING).join("copy");
                files.copy_from(local, at, &copy)?;
                copy
            }
        };
        // A crash in between must not leave a folder that is taken for the module that was fetched.
        kept.fetched = None;
        kept.files.clear();
        folder.keep(kept)?;
        files.remove(SRC)?;
        files.rename(package, SRC)?;
    }
    kept.fetched = Some(fetched);
    folder.keep(kept)?;
    files.remove(FETCHING)
}

/// Whether an address names a commit, which never changes.
fn is_commit(address: &str) -> bool {
    let Some((_, query)) = address.split_once('?') else {
        return false;
    };
    let reference = query.split('&').find_map(|part| part.strip_prefix("ref="));
    reference.is_some_and(|name| name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The folder of this machine that an address names, if modules may come from there.
fn local(address: &str, modules: &LocalModules) -> io::Result<Option<(Folder, PathBuf)>> {
    let path = address.strip_prefix("file::").unwrap_or(address);
    let path = path.strip_prefix("file://").unwrap_or(path);
    if !path.starts_with('/') {
        return Ok(None);
    }
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let package = path.split_once("//").map_or(path, |(package, _)| package);
    match modules.find(Path::new(package)) {
        Some((folder, at)) if folder.has_folder(&at)? => Ok(Some((folder, at))),
        _ => Ok(None),
    }
}

/// The folder in a package that an address names: as Terraform says, or else as the address says.
fn subfolder(folder: &WorkDir, address: &str) -> io::Result<PathBuf> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Manifest {
        modules: Vec<Entry>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Entry {
        key: String,
        dir: PathBuf,
    }
    let fetching = Path::new(FETCHING);
    let manifest = folder.files.read(fetching.join("data/modules/modules.json"))?;
    let told = serde_json::from_slice::<Manifest>(&manifest.unwrap_or_default())
        .ok()
        .and_then(|manifest| {
            let entry = manifest.modules.into_iter().find(|entry| entry.key == CALL)?;
            // It is a path from where Terraform ran, or a whole one.
            let dir = folder.path(fetching).join(entry.dir);
            let package = folder.path(fetching.join(PACKAGE));
            dir.strip_prefix(package).ok().map(Path::to_owned)
        });
    Ok(told.unwrap_or_else(|| {
        let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        rest.split_once("//")
            .map_or_else(PathBuf::new, |(_, folder)| folder.into())
    }))
}

fn unavailable(address: &str, has_copy: bool, failure: Failure) -> Failure {
    let advice = if has_copy {
        " (With remotePullPolicy: IfNotPresent the copy that was fetched last is used.)"
    } else {
        ""
    };
    let mut words = cause(&plain(&failure.message));
    let is_broken = is_broken(address, &words);
    if is_broken {
        words = format!("{BROKEN_ARCHIVE}: {words}");
    }
    let kind = match failure.kind {
        FailureKind::Terraform(_) if is_broken => FailureKind::ModuleUnavailable,
        FailureKind::Terraform(class) if class.is_transient() => failure.kind,
        FailureKind::Terraform(_) => FailureKind::ModuleUnavailable,
        kind => kind,
    };
    let message = format!("The module {address:?} cannot be fetched: {words}{advice}");
    Failure {
        kind,
        message,
        ..failure
    }
}

/// Whether an archive was fetched and cannot be unpacked, which no further try changes. What ends too soon may also have
/// been cut off on its way, unless it is on this machine.
fn is_broken(address: &str, words: &str) -> bool {
    let words = words.to_lowercase();
    let broken = [
        "gzip: invalid",
        "zip: not a valid",
        "invalid tar header",
        "bzip2 data invalid",
        "xz: ",
        "zlib: ",
        "flate: corrupt",
        "checksum error",
    ];
    let is_here = address.starts_with('/') || address.starts_with("file://");
    broken.iter().any(|one| words.contains(one)) || (is_here && words.contains("unexpected eof"))
}

/// Why a module cannot be fetched, in one line: what Terraform prints about it without the call that is ours, the
/// address that is told anyway, and the breaks of lines.
fn cause(printed: &str) -> String {
    let mut words = printed
        .lines()
        .map(str::trim)
        .filter(|line| {
            !(line.is_empty() || line.starts_with("on main.tf line") || line.starts_with("1: module"))
        })
        .collect::<Vec<_>>()
        .join(" ");
    if let Some(at) = words.find("Error: ") {
        words.drain(..at + "Error: ".len());
    }
    let told = words
        .find("error downloading '")
        .and_then(|at| words[at..].find("': ").map(|end| at + end + 3));
    if let Some(start) = told {
        words.drain(..start);
    }
    // Where git works is nothing that anybody could do something about.
    let cloning = words.find("Cloning into '");
    if let Some((start, length)) = cloning.and_then(|at| Some((at, words[at..].find("'... ")? + 5))) {
        words.drain(start..start + length);
    }
    words
}

/// An address between quotes, so that it means itself.
fn quoted(address: &str) -> String {
    let escaped = address
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{}\"", escaped.replace("${", "$${").replace("%{", "%%{"))
}

#[cfg(test)]
mod tests;
