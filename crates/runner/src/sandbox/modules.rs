//! Which folders of this machine modules may come from.

use std::path::{Component, Path, PathBuf};

use crate::folder::Folder;

/// Which folders of this machine modules may come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LocalModules {
    /// Any.
    #[default]
    Any,
    /// Those below one of these paths, in which no link is left.
    Below(Vec<PathBuf>),
}

impl LocalModules {
    /// Refuses an address that means a path of this machine from which no module may come, with what to do.
    ///
    /// # Errors
    /// If it is refused.
    pub(crate) fn check(&self, address: &str) -> Result<(), String> {
        let Some(path) = local_path(address) else {
            return Ok(());
        };
        if self.find(Path::new(path)).is_some() {
            return Ok(());
        }
        Err(format!(
            "The module {address:?} is a path of the runner's machine that runs may not read. Start the runner with \
             --sandbox-allow {path}, or name an address that Terraform downloads from."
        ))
    }

    /// The folder from which a path is reached without a link, and the rest of the path. None, if no module may come
    /// from there.
    pub(crate) fn find(&self, path: &Path) -> Option<(Folder, PathBuf)> {
        let path = resolve(path)?;
        let allowed = match self {
            Self::Any => &vec![PathBuf::from("/")],
            Self::Below(allowed) => allowed,
        };
        allowed.iter().find_map(|allowed| {
            let rest = path.strip_prefix(allowed).ok()?;
            Some((Folder::new(allowed), rest.to_owned()))
        })
    }
}

/// A path without links, as far as it exists. None, if what does not exist leads back.
pub(crate) fn resolve(path: &Path) -> Option<PathBuf> {
    for existing in path.ancestors() {
        let Ok(resolved) = (match existing.as_os_str().is_empty() {
            true => Path::new(".").canonicalize(),
            false => existing.canonicalize(),
        }) else {
            continue;
        };
        let rest = path.strip_prefix(existing).ok()?;
        let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
        return is_plain.then(|| resolved.join(rest));
    }
    None
}

/// The path of this machine that an address means to Terraform's installer: a plain one, or one for a program such as
/// git.
fn local_path(address: &str) -> Option<&str> {
    let mut rest = address;
    let mut has_getter = false;
    while let Some((getter, inner)) = rest.split_once("::") {
        let is_name = !getter.is_empty() && getter.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name {
            break;
        }
        (rest, has_getter) = (inner, true);
    }
    let path = match rest.split_once(':') {
        Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => {
            path.strip_prefix("//").unwrap_or(path)
        }
        _ if rest.starts_with(['/', '~', '.']) => rest,
        // With a getter, whatever names no host is a path: user@host:path does, and so does a scheme.
        _ if has_getter && !names_host(rest) => rest,
        _ => return None,
    };
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    // A second pair of slashes begins the folder inside the package.
    Some(path.split_once("//").map_or(path, |(package, _)| package))
}

fn names_host(address: &str) -> bool {
    let before_path = address.split('/').next().unwrap_or_default();
    // Some getters expand names of well-known hosts.
    let hosts = ["github.com", "gitlab.com", "bitbucket.org"];
    before_path.contains(':') || hosts.contains(&before_path)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn tells_paths_of_this_machine_from_other_addresses() {
        for (address, expected) in [
            ("/modules/vpc", Some("/modules/vpc")),
            ("/modules//vpc?ref=v1", Some("/modules")),
            ("~/modules", Some("~/modules")),
            ("./modules", Some("./modules")),
            ("../modules", Some("../modules")),
            (".", Some(".")),
            ("file:///modules//vpc", Some("/modules")),
            ("FILE:///modules", Some("/modules")),
            ("file:/modules", Some("/modules")),
            ("file::/modules", Some("/modules")),
            ("git::/modules", Some("/modules")),
            ("git::file:///modules?ref=v1", Some("/modules")),
            ("git::../other/src", Some("../other/src")),
            ("git::other/src", Some("other/src")),
            ("hg::~/modules", Some("~/modules")),
            ("git::file::/modules", Some("/modules")),
            ("git::https://example.com/vpc.git", None),
            ("git::ssh://git@example.com/vpc.git", None),
            ("git::git@example.com:org/vpc.git", None),
            ("git::github.com/org/vpc", None),
            ("git@github.com:org/vpc.git", None),
            ("github.com/org/vpc", None),
            ("https://example.com/vpc.zip", None),
            ("s3::https://s3.amazonaws.com/bucket/vpc.zip", None),
            ("hashicorp/vpc/aws", None),
            ("example.com:8080/org/vpc/aws", None),
        ] {
            assert_eq!(local_path(address), expected, "{address}");
        }
    }

    #[test]
    fn only_what_is_below_an_allowed_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["open/vpc", "secret/vpc"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink(root.join("secret"), root.join("open/out")).unwrap();
        symlink(root.join("open/vpc"), root.join("in")).unwrap();
        let modules = LocalModules::Below(vec![root.join("open")]);
        for (path, expected) in [
            ("open/vpc", Some("vpc")),
            ("open", Some("")),
            ("in", Some("vpc")),
            ("open/none/yet", Some("none/yet")),
            ("open/../open/vpc", Some("vpc")),
            ("secret/vpc", None),
            ("open/out/vpc", None),
            ("open/out", None),
            ("open/../secret", None),
            ("open/none/../../secret", None),
            ("opened", None),
        ] {
            let path = root.join(path);
            let found = modules.find(&path).map(|(_, rest)| rest);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{path:?}");
            assert_eq!(
                modules.check(&path.display().to_string()).is_ok(),
                expected.is_some()
            );
        }
        for address in ["~/vpc", "git::other", "git::file:///etc/ssl", "./open"] {
            let refused = modules.check(address).unwrap_err();
            assert!(refused.contains("--sandbox-allow"), "{refused}");
            assert_eq!(LocalModules::Any.check(address), Ok(()));
        }
    }
}
