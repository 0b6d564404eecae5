//! What is printed once clients can connect.

use std::path::Path;

use super::place::Place;
use crate::cmd;

/// Where the API is, and how to reach it.
pub(super) struct Ready<'a> {
    pub(super) url: String,
    pub(super) engine: &'a str,
    pub(super) in_memory: bool,
    pub(super) place: &'a Place,
}

impl Ready<'_> {
    /// Three lines for people and scripts; the second can be pasted into a shell, and the third does no harm there.
    pub(super) fn announce(&self) -> anyhow::Result<()> {
        let data = match self.in_memory {
            true => "in memory".to_owned(),
            false => format!("data in {}", self.place.dir().display()),
        };
        cmd::print(&format!(
            "capt is ready: {} ({data})\nexport KUBECONFIG={}\n# engine: {}\n",
            self.url,
            quoted(self.place.kubeconfig()),
            self.engine
        ))
    }
}

/// The path as a shell reads it; quoted only if it must be.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted_into_a_shell() {
        let cases = [
            (
                "/home/ada/.local/share/capt/kubeconfig",
                "/home/ada/.local/share/capt/kubeconfig",
            ),
            (
                "/Users/ada/Library/Application Support/capt",
                "'/Users/ada/Library/Application Support/capt'",
            ),
            ("/tmp/it's", r"'/tmp/it'\''s'"),
            ("/tmp/$HOME", "'/tmp/$HOME'"),
        ];
        for (path, expected) in cases {
            assert_eq!(quoted(Path::new(path)), expected);
        }
    }
}
