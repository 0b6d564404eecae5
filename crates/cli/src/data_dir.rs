//! Where data lives if nobody says otherwise.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// The data directory that the platform's conventions give to capt.
pub(crate) fn default() -> anyhow::Result<PathBuf> {
    choose(|variable| std::env::var_os(variable), cfg!(target_os = "macos"))
        .context("cannot tell where to keep data, since HOME is not set; say it with --data-dir")
}

fn choose(environment: impl Fn(&str) -> Option<OsString>, macos: bool) -> Option<PathBuf> {
    // The convention is that a relative path counts as absent.
    let absolute = |variable| {
        environment(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = match absolute("XDG_DATA_HOME") {
        Some(base) => base,
        None => {
            let below_home = if macos {
                "Library/Application Support"
            } else {
                ".local/share"
            };
            absolute("HOME")?.join(Path::new(below_home))
        }
    };
    Some(base.join("capt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_platform() {
        let cases = [
            (Some("/data"), Some("/home/ada"), false, Some("/data/capt")),
            (
                Some("data"),
                Some("/home/ada"),
                false,
                Some("/home/ada/.local/share/capt"),
            ),
            (
                None,
                Some("/home/ada"),
                false,
                Some("/home/ada/.local/share/capt"),
            ),
            (
                None,
                Some("/Users/ada"),
                true,
                Some("/Users/ada/Library/Application Support/capt"),
            ),
            (None, Some(""), false, None),
            (None, None, false, None),
        ];
        for (xdg, home, macos, expected) in cases {
            let environment = |variable: &str| match variable {
                "XDG_DATA_HOME" => xdg.map(OsString::from),
                _ => home.map(OsString::from),
            };
            assert_eq!(
                choose(environment, macos),
                expected.map(PathBuf::from),
                "{xdg:?} {home:?}"
            );
        }
    }
}
