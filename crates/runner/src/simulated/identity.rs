//! Ids that look random and are not: the same seed gives the same ones.

use capt_terraform::state::SIMULATED_LINEAGE;
use sha2::{Digest as _, Sha256};

use super::state::TERRAFORM_DATA;

/// Where ids come from.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) seed: u64,
    pub(super) workspace: String,
}

impl Identity {
    /// The name of the history that begins with the first state.
    pub(super) fn lineage(&self) -> String {
        format!("{SIMULATED_LINEAGE}{}", uuid(&self.digest(&["lineage"])))
    }

    /// The id of a resource that is made when the state has this serial.
    pub(super) fn id(&self, type_: &str, address: &str, serial: u64) -> String {
        let digest = self.digest(&["id", address, &serial.to_string()]);
        if type_ == TERRAFORM_DATA {
            return uuid(&digest);
        }
        let word = type_.rsplit('_').next().unwrap_or(type_);
        format!("{word}-{}", &digest[..17])
    }

    /// A number from 0.75 to 1.25, so that things do not all take the same time.
    pub(super) fn pace(&self, address: &str) -> f64 {
        let digest = self.digest(&["pace", address]);
        let number = u32::from_str_radix(&digest[..8], 16).unwrap_or_default();
        0.75 + f64::from(number) / f64::from(u32::MAX) / 2.0
    }

    fn digest(&self, words: &[&str]) -> String {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_be_bytes());
        for word in [self.workspace.as_str()].iter().chain(words) {
            hash.update((word.len() as u64).to_be_bytes());
            hash.update(word.as_bytes());
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn uuid(digest: &str) -> String {
    let part = |from: usize, to: usize| &digest[from..to];
    format!(
        "{}-{}-4{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}
