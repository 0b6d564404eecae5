//! The name under which a plan is approved.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Plan, ResourceChange};

/// Hexadecimal digits in an id: short enough to type, long enough that nobody makes a second plan of that name.
const DIGITS: usize = 20;

/// The name of a plan.
///
/// Two plans with the same name do the same things to the same objects, so an approval outlives a restart and a new
/// planning. Values take no part, since they may be secret and may differ each time, such as a timestamp; which
/// attributes change does. So that an approval does not cover values that nobody saw, whoever asks for approvals adds
/// what the plan was made from with [`PlanId::made_from`]. Events tell less than a plan file, so ids are only to be
/// compared between plans that were read the same way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PlanId(String);

impl PlanId {
    /// As it is written in an approval.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the same plan made from these inputs, which are given by a digest that tells nobody what they are.
    #[must_use]
    pub fn made_from(&self, inputs: &str) -> Self {
        let mut hash = FieldHash(Sha256::new());
        hash.field("capt plan from inputs 1");
        hash.field(&self.0);
        hash.field(inputs);
        hash.id()
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Plan {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> PlanId {
        let mut hash = FieldHash(Sha256::new());
        hash.field("capt plan 1");
        hash.count(self.changes.len());
        self.changes.iter().for_each(|change| hash.change(change));
        hash.count(self.outputs.len());
        for (name, action) in &self.outputs {
            hash.field(name);
            hash.field(action.as_str());
        }
        hash.id()
    }
}

/// Hashes fields so that no two different lists of fields are the same bytes.
struct FieldHash(Sha256);

impl FieldHash {
    fn change(&mut self, change: &ResourceChange) {
        self.field(&change.address);
        self.field(change.action.as_str());
        for field in [
            &change.deposed,
            &change.previous_address,
            &change.reason,
            &change.id,
        ] {
            self.count(usize::from(field.is_some()));
            self.field(field.as_deref().unwrap_or_default());
        }
        for paths in [&change.paths, &change.replace_paths] {
            self.count(paths.len());
            paths.iter().for_each(|path| self.field(path));
        }
    }

    fn id(self) -> PlanId {
        let digits: String = self
            .0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        PlanId(digits[..DIGITS].to_owned())
    }

    fn field(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_inputs_are_another_plan_and_the_same_ones_the_same() {
        let plan = Plan::default().id();
        assert_eq!(plan.made_from("size 3"), plan.made_from("size 3"));
        assert_ne!(plan.made_from("size 3"), plan.made_from("size 4"));
        assert_ne!(plan.made_from(""), plan);
        assert_eq!(plan.made_from("size 3").as_str().len(), DIGITS);
    }
}
