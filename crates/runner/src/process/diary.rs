//! Which operations ran in a folder, so that it can be told whether what is in it is all that is left of one.
//!
//! Terraform's output is not written to the disk at once, so that after a failure of the machine some of it may be gone:
//! what ran before the machine was last started is not known any more.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::folder::Folder;

use super::workdir::{RUN, WorkDir};

/// Operations that are remembered.
const MAX_OPERATIONS: usize = 20;
/// Names the last start of this machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The operations of one folder.
pub(super) struct Diary {
    folder: Folder,
    path: PathBuf,
    boot: String,
}

impl Diary {
    /// That of this folder.
    pub(super) fn of(folder: &WorkDir) -> Self {
        // Where that cannot be told, the machine is taken for one that does not fail.
        let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
        Self {
            folder: folder.files.clone(),
            path: Path::new(RUN).join("operations"),
            boot: boot.trim().to_owned(),
        }
    }

    /// Notes that an operation begins. Says whether nothing is known of the one that was cut short.
    pub(super) fn begin(&self, operation: &str, cut_short: Option<&str>) -> io::Result<bool> {
        let text = self.folder.read(&self.path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let line = |operation: &str| format!("{operation} {}", self.boot);
        let cut_short = cut_short.map(line);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let is_known = |lines: &[String]| {
            cut_short
                .as_ref()
                .is_none_or(|one| lines.iter().any(|known| known == one))
        };
        let is_lost = !is_known(&lines);
        lines.push(line(operation));
        let mut surplus = lines.len().saturating_sub(MAX_OPERATIONS);
        lines.retain(|known| {
            let is_needed = surplus == 0 || Some(known) == cut_short.as_ref();
            surplus = surplus.saturating_sub(usize::from(!is_needed));
            is_needed
        });
        self.folder
            .write(&self.path, (lines.join("\n") + "\n").as_bytes())?;
        Ok(is_lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diary(folder: &tempfile::TempDir, boot: &str) -> Diary {
        Diary {
            folder: Folder::new(folder.path()),
            path: "operations".into(),
            boot: boot.to_owned(),
        }
    }

    #[test]
    fn what_ran_elsewhere_or_before_the_machine_failed_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let today = diary(&folder, "today");
        assert!(!today.begin("1", None).unwrap());
        assert!(!today.begin("2", Some("1")).unwrap());
        // However often that is asked.
        assert!(!today.begin("3", Some("1")).unwrap());
        assert!(today.begin("4", Some("elsewhere")).unwrap());
        assert!(today.begin("5", Some("elsewhere")).unwrap());
        assert!(diary(&folder, "tomorrow").begin("6", Some("5")).unwrap());
        assert!(
            diary(&tempfile::tempdir().unwrap(), "today")
                .begin("7", Some("5"))
                .unwrap()
        );
    }

    #[test]
    fn it_does_not_grow_and_forgets_nothing_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let diary = diary(&folder, "today");
        diary.begin("first", None).unwrap();
        for number in 0..3 * MAX_OPERATIONS {
            assert!(!diary.begin(&number.to_string(), Some("first")).unwrap());
        }
        let text = fs::read_to_string(folder.path().join("operations")).unwrap();
        assert_eq!(text.lines().count(), MAX_OPERATIONS);
        for number in 0..MAX_OPERATIONS {
            diary.begin(&number.to_string(), None).unwrap();
        }
        assert!(diary.begin("last", Some("first")).unwrap());
    }
}
