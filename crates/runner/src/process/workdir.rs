//! What is kept on disk for one Workspace.
//!
//! | path | what |
//! |---|---|
//! | `src/` | the module; Terraform runs in here, or below |
//! | `data/` | what `init` installed |
//! | `state/<workspace>/` | the state, if it is ours |
//! | `run/` | plan, variables and output of the last run, and which operations there were |
//! | `home/`, `tmp/` | for Terraform and what it starts |
//! | `kept.json` | what is known about all that |
//! | `session.lock`, `run.lock` | held while a session is open, and while Terraform runs |

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::engine::ProviderRequirements;

/// The folder of one Workspace.
#[derive(Clone, Debug)]
pub(super) struct WorkDir {
    root: PathBuf,
}

/// What is remembered from session to session. Whatever is not true any more costs time and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    /// Where Terraform ran, inside `src`.
    pub(super) run_in: PathBuf,
    /// Files that were written beside the module, inside `src`.
    pub(super) files: Vec<PathBuf>,
    /// What the module in `src` was fetched from, if it was fetched.
    pub(super) fetched: Option<Fetched>,
    /// The inputs of the last `init`.
    pub(super) init: Option<String>,
    /// What was asked for when the provider versions were chosen that are locked; empty if that is not known, and none if an
    /// earlier runner chose them.
    pub(super) requirements: Option<ProviderRequirements>,
}

/// A module that was fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fetched {
    /// From where.
    pub(super) address: String,
    /// The folder in it that the address names.
    pub(super) subfolder: PathBuf,
    /// Everything in it.
    pub(super) content: String,
    /// The lock files in it, unless an earlier runner fetched it.
    pub(super) locks: Option<Vec<PathBuf>>,
}

impl WorkDir {
    /// The folder of the Workspace with this uid; nothing is made yet. None if that is no uid.
    pub(super) fn of(root: &Path, uid: &str) -> Option<Self> {
        is_uid(uid).then(|| Self { root: root.join(uid) })
    }

    /// Makes what is missing.
    pub(super) fn make(&self) -> io::Result<()> {
        for part in [
            self.root.clone(),
            self.src(),
            self.data(),
            self.run(),
            self.home(),
            self.tmp(),
        ] {
            make_folder(&part)?;
        }
        Ok(())
    }

    /// All of it.
    pub(super) fn path(&self) -> &Path {
        &self.root
    }

    pub(super) fn src(&self) -> PathBuf {
        self.root.join("src")
    }

    /// Where a module is fetched to before it takes the place of the last one.
    pub(super) fn fetching(&self) -> PathBuf {
        self.root.join("fetching")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(super) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The folder that has one folder for each Terraform workspace.
    pub(super) fn states(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The state file of a Terraform workspace.
    pub(super) fn state(&self, workspace: &str) -> PathBuf {
        self.states().join(workspace).join("terraform.tfstate")
    }

    /// The lock that is held while Terraform runs.
    pub(super) fn run_lock(&self) -> PathBuf {
        self.root.join("run.lock")
    }

    /// The lock that is held while a session is open. None if it is held.
    pub(super) fn try_session_lock(&self) -> io::Result<Option<File>> {
        try_lock(&self.root.join("session.lock"))
    }

    /// What is remembered.
    pub(super) fn kept(&self) -> Kept {
        let file = fs::read(self.root.join("kept.json")).unwrap_or_default();
        serde_json::from_slice(&file).unwrap_or_default()
    }

    /// Remembers.
    pub(super) fn keep(&self, kept: &Kept) -> io::Result<()> {
        let file = serde_json::to_vec(kept)?;
        write_if_changed(&self.root.join("kept.json"), &file)
    }

    /// Removes everything.
    pub(super) fn remove(&self) -> io::Result<()> {
        or_not_there(fs::remove_dir_all(&self.root))
    }
}

/// A name that is safe as that of a folder, as uids are.
pub(super) fn is_uid(text: &str) -> bool {
    let first = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    first && text.len() <= 253 && text.bytes().all(safe)
}

/// The lock on this file, which is made if it is not there. None if somebody else holds it.
pub(super) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Makes a folder, and those above it, that only we can look into.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Replaces a file at once or not at all. It may be gone if the machine fails right after.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, |_| Ok(()))
}

/// The same for a file that must survive a failure of the machine.
pub(super) fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, File::sync_all)
}

fn replace(path: &Path, content: &[u8], settle: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut file = tempfile::Builder::new().prefix(".capt-").tempfile_in(folder)?;
    file.write_all(content)?;
    settle(file.as_file())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Replaces a file if it is not the same already.
pub(super) fn write_if_changed(path: &Path, content: &[u8]) -> io::Result<()> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    if is_file && fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    write(path, content)
}

/// The content of a file, if it is there.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes whatever is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => or_not_there(fs::remove_dir_all(path)),
        _ => or_not_there(fs::remove_file(path)),
    }
}

fn or_not_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_uid_cannot_lead_elsewhere() {
        for good in ["6c2085c7-7f8d-ed8f-1167-18fe477c768b", "a", "w.1_x"] {
            assert!(is_uid(good), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "/a", ".hidden", "a b", "ä"] {
            assert!(!is_uid(bad), "{bad}");
        }
    }

    #[test]
    fn only_we_can_read_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = WorkDir::of(root.path(), "u").unwrap();
        folder.make().unwrap();
        folder.keep(&Kept::default()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&root.path().join("u")), 0o700);
        assert_eq!(mode(&folder.src()), 0o700);
        assert_eq!(mode(&root.path().join("u/kept.json")), 0o600);
    }

    #[test]
    fn one_session_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let folder = WorkDir::of(root.path(), "u").unwrap();
        folder.make().unwrap();
        let held = folder.try_session_lock().unwrap();
        assert!(held.is_some());
        assert!(folder.try_session_lock().unwrap().is_none());
        drop(held);
        assert!(folder.try_session_lock().unwrap().is_some());
    }

    #[test]
    fn remembers() {
        let root = tempfile::tempdir().unwrap();
        let folder = WorkDir::of(root.path(), "u").unwrap();
        folder.make().unwrap();
        assert_eq!(folder.kept(), Kept::default());
        let kept = Kept {
            init: Some("x".to_owned()),
            run_in: "sub".into(),
            ..Kept::default()
        };
        folder.keep(&kept).unwrap();
        assert_eq!(folder.kept(), kept);
        // An earlier runner wrote less down.
        let earlier = r#"{"run_in": "sub", "fetched": {"address": "a", "subfolder": "", "content": "c"}}"#;
        fs::write(root.path().join("u/kept.json"), earlier).unwrap();
        let kept = folder.kept();
        assert_eq!(kept.run_in, PathBuf::from("sub"));
        assert_eq!(kept.fetched.unwrap().locks, None);
        fs::write(root.path().join("u/kept.json"), "{torn").unwrap();
        assert_eq!(folder.kept(), Kept::default());
        folder.remove().unwrap();
        folder.remove().unwrap();
        assert!(!root.path().join("u").exists());
    }
}
