//! How much a plan would do.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::stream::Action;

/// How much a plan would do. Unlike Terraform's own counts, a replacement is counted once, as such.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Summary {
    /// Resources made.
    pub add: u32,
    /// Resources changed in place.
    pub change: u32,
    /// Resources deleted and made again.
    pub replace: u32,
    /// Resources deleted.
    pub destroy: u32,
    /// Resources imported.
    pub import: u32,
    /// Resources dropped from the state.
    pub forget: u32,
    /// Resources that only get another address.
    pub moved: u32,
    /// How many of those replaced or deleted were broken anyway.
    pub tainted: u32,
    /// Outputs that change.
    pub outputs: u32,
}

impl Plan {
    /// How much it would do.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            outputs: u32::try_from(self.outputs.len()).unwrap_or(u32::MAX),
            ..Summary::default()
        };
        for change in &self.changes {
            let count = match change.action {
                Action::Create => &mut summary.add,
                Action::Update => &mut summary.change,
                Action::Replace => &mut summary.replace,
                Action::Delete => &mut summary.destroy,
                Action::Import => &mut summary.import,
                Action::Forget => &mut summary.forget,
                Action::Move => &mut summary.moved,
                Action::Noop | Action::Read | Action::Other(_) => continue,
            };
            *count += 1;
            if change.is_tainted() {
                summary.tainted += 1;
            }
        }
        summary
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.add, "to add"),
            (self.change, "to change"),
            (self.replace, "to replace"),
            (self.destroy, "to destroy"),
            (self.import, "to import"),
            (self.forget, "to forget"),
            (self.moved, "to move"),
        ];
        let mut words: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        if words.is_empty() {
            words.push(match self.outputs {
                0 => "no changes".to_owned(),
                1 => "1 output to change".to_owned(),
                many => format!("{many} outputs to change"),
            });
        }
        f.write_str(&words.join(", "))?;
        if self.tainted > 0 {
            write!(f, " ({} tainted)", self.tainted)?;
        }
        Ok(())
    }
}
