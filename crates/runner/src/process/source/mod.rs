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
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;

use crate::engine::{BROKEN_ARCHIVE, Failure, FailureKind, Module};

use super::{
    command::{Exit, Runs},
    digest,
    failure::{self, invalid, machine, plain},
    mirror::LOCK_FILE,
    workdir::{self, Fetched, Kept, WorkDir, make_folder},
};

/// The name under which a module is called by the configuration that fetches it.
const CALL: &str = "module";

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
    if kept.fetched.is_some() {
        // A crash in between must not leave a folder that is taken for the module that was fetched.
        kept.fetched = None;
        folder.keep(kept)?;
        workdir::remove(&folder.src())?;
        make_folder(&folder.src())?;
    }
    workdir::remove(&folder.src().join(other))?;
    workdir::write_if_changed(&folder.src().join(name), text.as_bytes())
}

/// Whether a module has to be fetched to this folder, by what is known of what is there.
pub(super) fn must_fetch(
    src: &Path,
    kept: Option<&Fetched>,
    address: &str,
    if_not_present: bool,
) -> io::Result<bool> {
    let Some(kept) = kept.filter(|kept| kept.address == address) else {
        return Ok(true);
    };
    // An empty module would mean that everything is to be destroyed.
    if fs::read_dir(src)?.next().is_none() {
        return Ok(true);
    }
    if if_not_present || is_commit(address) {
        return Ok(false);
    }
    match local(address) {
        Some(path) => Ok(digest::tree(&path)? != kept.content),
        None => Ok(true),
    }
}

/// Fetches a module, and puts it where the last one was if it is another one.
pub(super) async fn fetch(runs: &Runs, mut kept: Kept, address: &str) -> Result<Kept, Failure> {
    if address.starts_with("./") || address.starts_with("../") {
        return Err(invalid(format!(
            "The module {address:?} is a path that begins nowhere. Name a whole path, or another address that \
             Terraform can fetch."
        )));
    }
    let fetching = runs.folder.fetching();
    let data = fetching.join("data");
    let call = format!("module \"{CALL}\" {{\n  source = {}\n}}\n", quoted(address));
    let mut runs = runs.clone();
    runs.run_in.clone_from(&fetching);
    runs.env
        .push(("TF_DATA_DIR".to_owned(), data.to_string_lossy().into_owned()));
    let fresh = move || {
        workdir::remove(&fetching)?;
        workdir::write(&fetching.join("main.tf"), call.as_bytes())
    };
    let failed = |error| machine("make a folder for the module", &error);
    runs.aside(move || fresh().map_err(failed)).await?;
    let args = ["get", "-no-color"].map(OsString::from);
    let (ended, _) = runs.printed(args.into(), "get.txt").await?;
    let (folder, address) = (runs.folder.clone(), address.to_owned());
    let engine = runs.engine.clone();
    runs.aside(move || {
        let package = data.join("modules").join(CALL);
        // A module that was fetched and makes no sense is told about later, when it is clear where.
        let was_fetched = package.is_dir() && !ended.stderr.contains(&format!("module \"{CALL}\""));
        if ended.cancelled || !(ended.exit == Exit::Code(0) || was_fetched) {
            let failure = failure::command(&engine, "get", &ended, Vec::new());
            let has_copy = kept.fetched.as_ref().is_some_and(|kept| kept.address == address);
            return Err(unavailable(&address, has_copy, failure));
        }
        let subfolder = subfolder(&data, &package, &address);
        swap(&folder, &mut kept, &address, &package, subfolder)
            .map_err(|error| machine("put the module in its place", &error))?;
        Ok(kept)
    })
    .await
}

fn swap(
    folder: &WorkDir,
    kept: &mut Kept,
    address: &str,
    package: &Path,
    subfolder: PathBuf,
) -> io::Result<()> {
    let is_link = fs::symlink_metadata(package)?.is_symlink();
    let content = digest::tree(package)?;
    let fetched = Fetched {
        address: address.to_owned(),
        subfolder,
        content,
        locks: Some(digest::files(package, &|name| name == LOCK_FILE)?),
    };
    // What Terraform and its providers wrote beside a module is not thrown away for the same module.
    let is_there = fs::read_dir(folder.src())?.next().is_some();
    let is_same = |kept: &Fetched| is_there && kept.content == fetched.content;
    if !kept.fetched.as_ref().is_some_and(is_same) {
        let package = if is_link {
            let copy = folder.fetching().join("copy");
            copy_tree(package, &copy)?;
            copy
        } else {
            package.to_owned()
        };
        // A crash in between must not leave a folder that is taken for the module that was fetched.
        kept.fetched = None;
        kept.files.clear();
        folder.keep(kept)?;
        workdir::remove(&folder.src())?;
        fs::rename(package, folder.src())?;
    }
    kept.fetched = Some(fetched);
    folder.keep(kept)?;
    workdir::remove(&folder.fetching())
}

/// Whether an address names a commit, which never changes.
fn is_commit(address: &str) -> bool {
    let Some((_, query)) = address.split_once('?') else {
        return false;
    };
    let reference = query.split('&').find_map(|part| part.strip_prefix("ref="));
    reference.is_some_and(|name| name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The folder of this machine that an address names.
fn local(address: &str) -> Option<PathBuf> {
    let path = address.strip_prefix("file://").unwrap_or(address);
    if !path.starts_with('/') {
        return None;
    }
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let package = path.split_once("//").map_or(path, |(package, _)| package);
    Some(package.into()).filter(|path: &PathBuf| path.is_dir())
}

/// The folder in a package that an address names: as Terraform says, or else as the address says.
fn subfolder(data: &Path, package: &Path, address: &str) -> PathBuf {
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
    let manifest = fs::read(data.join("modules/modules.json")).unwrap_or_default();
    let told = serde_json::from_slice::<Manifest>(&manifest)
        .ok()
        .and_then(|manifest| {
            let entry = manifest.modules.into_iter().find(|entry| entry.key == CALL)?;
            // It is a path from where Terraform ran, or a whole one.
            let dir = data.parent()?.join(entry.dir);
            dir.strip_prefix(package).ok().map(Path::to_owned)
        });
    told.unwrap_or_else(|| {
        let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        rest.split_once("//")
            .map_or_else(PathBuf::new, |(_, folder)| folder.into())
    })
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

/// A copy of a folder with everything in it.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    make_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            copy_tree(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
