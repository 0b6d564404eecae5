//! What is known about the packages in the mirror, and when they were last used. Runs cannot see it.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    address::{ProviderAddress, is_version},
    lockfile::LockedProvider,
    package,
};
use crate::folder::Folder;

/// The folder of the packages.
const PACKAGES: &str = "mirror";

/// How long a use that was noted counts as the last one.
const NOTED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// What was not used for so long may go.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The folders of the mirror.
#[derive(Clone, Debug)]
pub(in crate::process) struct Folders {
    base: PathBuf,
}

/// What is known about the package of one version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The checksum of what is in the package.
    pub(super) content: String,
    /// The checksums that its origin gives for this version on all platforms.
    pub(super) origin: BTreeSet<String>,
}

impl Record {
    /// Whether the package is what a lock names. The checksum of its archive is among those of its origin, so that a lock with
    /// all of these names it too.
    pub(super) fn is_named_by(&self, locked: &LockedProvider) -> bool {
        let hashes = &locked.hashes;
        hashes.is_empty()
            || hashes.contains(&self.content)
            || (!self.origin.is_empty() && self.origin.is_subset(hashes))
    }

    /// The lock of this package: what was locked before, and its checksum, without which the engine would not take it.
    pub(super) fn lock(&self, version: &str, before: Option<&LockedProvider>) -> LockedProvider {
        let mut locked = before.cloned().unwrap_or_else(|| LockedProvider {
            version: version.to_owned(),
            constraints: None,
            hashes: self.origin.clone(),
        });
        locked.hashes.insert(self.content.clone());
        locked
    }
}

impl Folders {
    pub(super) fn new(base: PathBuf) -> Self {
        Self { base }
    }

    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// All of it.
    pub(super) fn files(&self) -> Folder {
        Folder::new(&self.base)
    }

    /// The mirror itself, which runs read.
    pub(in crate::process) fn packages(&self) -> PathBuf {
        self.base.join(PACKAGES)
    }

    /// Where packages come from that are not in it yet.
    pub(super) fn filling(&self) -> PathBuf {
        self.base.join("filling")
    }

    /// The folder of a version, with one package for this machine, inside of all.
    pub(super) fn version(&self, provider: &ProviderAddress, version: &str) -> PathBuf {
        Path::new(PACKAGES).join(provider.path()).join(version)
    }

    /// The packages of a provider, as paths inside of the mirror.
    pub(super) fn packages_of(&self, provider: &ProviderAddress) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for version in entries(&self.packages(), &provider.path())? {
            found.extend(entries(&self.packages(), &version)?);
        }
        Ok(found)
    }

    fn records(&self, provider: &ProviderAddress) -> PathBuf {
        Path::new("records").join(provider.path())
    }

    fn record(&self, provider: &ProviderAddress, version: &str) -> PathBuf {
        self.records(provider).join(format!("{version}.json"))
    }

    /// What is known about a package, if it is there.
    pub(super) fn held(&self, provider: &ProviderAddress, version: &str) -> io::Result<Option<Record>> {
        // The folder of the version comes before the package.
        if entries(&self.packages(), &provider.path().join(version))?.is_empty() {
            return Ok(None);
        }
        let file = self.files().read(self.record(provider, version))?;
        Ok(file.and_then(|file| serde_json::from_slice(&file).ok()))
    }

    /// Writes down what is known about a package, before it is put into its place.
    pub(super) fn note(&self, provider: &ProviderAddress, version: &str, record: &Record) -> io::Result<()> {
        self.files()
            .write_durably(self.record(provider, version), &serde_json::to_vec(record)?)
    }

    /// Notes that a package is used.
    pub(super) fn touch(&self, provider: &ProviderAddress, version: &str, now: SystemTime) {
        let path = self.base.join(self.record(provider, version));
        let is_new = modified(&path).is_some_and(|at| at + NOTED_FOR > now);
        if !is_new && let Ok(file) = File::options().write(true).open(path) {
            let _ = file.set_modified(now);
        }
    }

    /// Removes the versions of a provider that were not used for long.
    pub(super) fn prune(&self, provider: &ProviderAddress, now: SystemTime) -> io::Result<()> {
        let (files, trash) = (self.files(), Path::new("removing").join(provider.path()));
        for entry in fs::read_dir(self.base.join(self.records(provider)))? {
            let path = entry?.path();
            let version = path.file_stem().and_then(|name| name.to_str());
            let Some(version) = version.filter(|version| is_version(version)) else {
                continue;
            };
            if modified(&path).is_some_and(|at| at + KEPT_FOR < now) {
                package::remove(&files, &self.version(provider, version), &trash)?;
                files.remove(self.record(provider, version))?;
            }
        }
        Ok(())
    }

    /// The provider and the version whose package a path names. None if it leads elsewhere.
    pub(super) fn named_by(&self, path: &Path) -> Option<(ProviderAddress, String)> {
        let path = path.strip_prefix(self.packages()).ok()?;
        let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
        let (provider, version) = match parts?.as_slice() {
            [host, namespace, name, version, _platform] => (format!("{host}/{namespace}/{name}"), *version),
            _ => return None,
        };
        let provider = ProviderAddress::whole(&provider)?;
        is_version(version).then(|| (provider, version.to_owned()))
    }

    /// Whether a path leads to where runs of earlier versions of the runner wrote.
    pub(super) fn is_forsaken(&self, path: &Path) -> bool {
        path.starts_with(&self.base) && !path.starts_with(self.packages())
    }
}

/// What is in a folder, as paths from above it.
fn entries(above: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(above.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(folder.join(entry?.file_name()))).collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(hashes: &[&str]) -> BTreeSet<String> {
        hashes.iter().map(|hash| (*hash).to_owned()).collect()
    }

    fn locked(hashes: &[&str]) -> LockedProvider {
        LockedProvider {
            version: "1.0.0".to_owned(),
            constraints: None,
            hashes: set(hashes),
        }
    }

    #[test]
    fn a_package_is_used_only_by_a_lock_that_names_it() {
        let known = Record {
            content: "h1:a".to_owned(),
            origin: set(&["zh:1", "zh:2"]),
        };
        let unknown = Record {
            origin: set(&[]),
            ..known.clone()
        };
        let cases: [(&Record, &[&str], bool); 8] = [
            (&known, &[], true),
            (&known, &["h1:a"], true),
            (&known, &["h1:b", "h1:a"], true),
            (&known, &["h1:b"], false),
            // The lock was made on another platform.
            (&known, &["h1:b", "zh:1", "zh:2"], true),
            // Which of them is for this platform is not known.
            (&known, &["zh:1"], false),
            (&known, &["zh:3"], false),
            (&unknown, &["zh:1", "zh:2"], false),
        ];
        for (record, hashes, expected) in cases {
            assert_eq!(record.is_named_by(&locked(hashes)), expected, "{hashes:?}");
        }
        let lock = known.lock("1.0.0", Some(&locked(&["zh:1", "zh:2", "h1:b"])));
        assert_eq!(lock.hashes, set(&["h1:a", "h1:b", "zh:1", "zh:2"]));
        assert_eq!(known.lock("1.0.0", None), locked(&["h1:a", "zh:1", "zh:2"]));
    }

    #[test]
    fn what_is_not_used_goes() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::new(root.path().to_owned());
        let provider = ProviderAddress::whole("example.com/some/fake").unwrap();
        let start = SystemTime::now();
        for version in ["1.0.0", "1.1.0"] {
            folders.note(&provider, version, &Record::default()).unwrap();
            assert_eq!(folders.held(&provider, version).unwrap(), None, "{version}");
            let package = root
                .path()
                .join(folders.version(&provider, version))
                .join("linux_amd64");
            fs::create_dir_all(&package).unwrap();
            assert!(folders.held(&provider, version).unwrap().is_some(), "{version}");
            let named = folders.named_by(&package).unwrap();
            assert_eq!(named, (provider.clone(), version.to_owned()));
        }
        let mut packages = folders.packages_of(&provider).unwrap();
        packages.sort();
        let path = |version: &str| PathBuf::from(format!("example.com/some/fake/{version}/linux_amd64"));
        assert_eq!(packages, [path("1.0.0"), path("1.1.0")]);
        let held = || ["1.0.0", "1.1.0"].map(|version| folders.held(&provider, version).unwrap().is_some());
        folders.touch(&provider, "1.1.0", start + KEPT_FOR);
        folders.prune(&provider, start + KEPT_FOR / 2).unwrap();
        assert_eq!(held(), [true, true]);
        folders.prune(&provider, start + KEPT_FOR * 3 / 2).unwrap();
        assert_eq!(held(), [false, true]);
        assert!(!root.path().join(folders.version(&provider, "1.0.0")).exists());
        assert!(!root.path().join(folders.record(&provider, "1.0.0")).exists());
    }

    #[test]
    fn paths_elsewhere_name_nothing() {
        let folders = Folders::new("/base".into());
        for path in [
            "/base/example.com/a/b/1.0.0/linux",
            "/base/mirror/x",
            "/base/mirror/e.com/a/b/../x",
            "/x",
        ] {
            assert_eq!(folders.named_by(Path::new(path)), None, "{path}");
        }
        assert!(folders.is_forsaken(Path::new("/base/example.com/a/b/1.0.0/linux")));
        assert!(!folders.is_forsaken(Path::new("/base/mirror/example.com")));
        assert!(!folders.is_forsaken(Path::new("/other")));
    }
}
