//! What is kept on disk for one Workspace.
//!
//! | path | what | who writes it |
//! |---|---|---|
//! | `src/` | the module; Terraform runs in here, or below | both |
//! | `fetching/` | where a module is fetched to before it takes the place of the last one | both |
//! | `data/` | what `init` installed | runs |
//! | `state/<workspace>/` | the state, if it is ours | both |
//! | `plan/` | the plan that was made last | runs |
//! | `home/`, `tmp/` | for Terraform and what it starts | both |
//! | `run/` | output of the last run, which operations there were, and the state for a backend that did not take it | the runner |
//! | `good/` | the last whole state of each Terraform workspace | the runner |
//! | `kept.json` | what is known about all that | the runner |
//! | `session.lock`, `run.lock` | held while a session is open, and while Terraform runs | the runner |
//!
//! What runs write to is read and written through [`Folder`] only. A confined run sees none of what the runner alone writes.

use std::{
    fs,
    fs::File,
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{engine::ProviderRequirements, folder::Folder};

pub(super) const SRC: &str = "src";
pub(super) const FETCHING: &str = "fetching";
pub(super) const DATA: &str = "data";
pub(super) const STATES: &str = "state";
pub(super) const PLAN: &str = "plan";
pub(super) const HOME: &str = "home";
pub(super) const TMP: &str = "tmp";
pub(super) const RUN: &str = "run";
pub(super) const GOOD: &str = "good";

/// What a run may write to.
const OF_RUNS: [&str; 7] = [SRC, FETCHING, DATA, STATES, PLAN, HOME, TMP];

const KEPT: &str = "kept.json";
const RUN_LOCK: &str = "run.lock";
const SESSION_LOCK: &str = "session.lock";

/// The plan file of earlier versions, which holds values in the clear.
const FORMER_PLAN: &str = "run/plan";

/// The folder of one Workspace.
#[derive(Clone, Debug)]
pub(super) struct WorkDir {
    root: PathBuf,
    uid: String,
    /// Everything in it.
    pub(super) files: Folder,
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
        is_uid(uid).then(|| Self {
            root: root.to_owned(),
            uid: uid.to_owned(),
            files: Folder::new(root.join(uid)),
        })
    }

    /// Makes what is missing.
    pub(super) fn make(&self) -> io::Result<()> {
        make_folder(&self.files.path(""))?;
        // A confined run is let at these, so that none may be a link that an unconfined one left.
        for part in OF_RUNS {
            self.files.make(part)?;
        }
        self.files.make(RUN)?;
        self.files.remove(FORMER_PLAN)
    }

    /// The whole path of something in it, for Terraform.
    pub(super) fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.files.path(inside)
    }

    /// What a run may write to.
    pub(super) fn of_runs(&self) -> impl Iterator<Item = PathBuf> {
        OF_RUNS.into_iter().map(|part| self.path(part))
    }

    /// The lock that is held while Terraform runs. None if it is held.
    pub(super) fn try_run_lock(&self) -> io::Result<Option<File>> {
        self.files.try_lock(RUN_LOCK)
    }

    /// The whole path of that lock.
    pub(super) fn run_lock(&self) -> PathBuf {
        self.path(RUN_LOCK)
    }

    /// The lock that is held while a session is open. None if it is held.
    pub(super) fn try_session_lock(&self) -> io::Result<Option<File>> {
        self.files.try_lock(SESSION_LOCK)
    }

    /// What is remembered.
    pub(super) fn kept(&self) -> Kept {
        let file = self.files.read(KEPT).ok().flatten().unwrap_or_default();
        let kept: Kept = serde_json::from_slice(&file).unwrap_or_default();
        // An unconfined run may have written it.
        let is_inside = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
        match is_inside(&kept.run_in) && kept.files.iter().all(is_inside) {
            true => kept,
            false => Kept::default(),
        }
    }

    /// Remembers.
    pub(super) fn keep(&self, kept: &Kept) -> io::Result<()> {
        let file = serde_json::to_vec(kept)?;
        self.files.write_if_changed(KEPT, &file)
    }

    /// Removes everything.
    pub(super) fn remove(&self) -> io::Result<()> {
        Folder::new(&self.root).remove(&self.uid)
    }
}

/// The state file of a Terraform workspace.
pub(super) fn state(workspace: &str) -> PathBuf {
    Path::new(STATES).join(workspace).join("terraform.tfstate")
}

/// The copy of the last whole state file of a Terraform workspace.
pub(super) fn good_state(workspace: &str) -> PathBuf {
    Path::new(GOOD).join(format!("{workspace}.tfstate"))
}

/// The same in the folder of an earlier version, where a run could write to it.
pub(super) fn former_good_state(workspace: &str) -> PathBuf {
    state(workspace).with_file_name("good.tfstate")
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

/// Makes a folder, and those above it, that only we can look into.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
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
        assert_eq!(mode(&folder.path(SRC)), 0o700);
        assert_eq!(mode(&root.path().join("u/kept.json")), 0o600);
    }

    #[test]
    fn a_run_writes_nothing_that_only_the_runner_does() {
        let folder = WorkDir::of(Path::new("/runs"), "u").unwrap();
        let own = [RUN, GOOD, KEPT, RUN_LOCK, SESSION_LOCK].map(|part| folder.path(part));
        for part in folder.of_runs() {
            assert!(
                part.starts_with("/runs/u") && part != Path::new("/runs/u"),
                "{part:?}"
            );
            assert!(own.iter().all(|own| !own.starts_with(&part)), "{part:?}");
        }
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
        for forged in [
            r#"{"run_in": "../../other"}"#,
            r#"{"files": ["/etc/passwd"]}"#,
            "{torn",
        ] {
            fs::write(root.path().join("u/kept.json"), forged).unwrap();
            assert_eq!(folder.kept(), Kept::default(), "{forged}");
        }
        assert_eq!(folder.kept(), Kept::default());
        folder.remove().unwrap();
        folder.remove().unwrap();
        assert!(!root.path().join("u").exists());
    }
}
