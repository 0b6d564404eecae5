//! What a Workspace and the objects that it names say, as data for an engine.
//!
//! Reading goes through [`Lookup`], so that the same works over an API, a cache and a map. Everything else is pure.
//! This module must never know Terraform's processes, nor when anything is to be run.
//!
//! | file | question it answers |
//! |---|---|
//! | `needs` | which objects does it depend on? |
//! | `lookup`, `known`, `load` | what do they say? |
//! | `prepare` | what is Terraform told? |
//! | `backend`, `home` | where does its state live? |
//! | `policies` | what may be done to its infrastructure? |
//! | `sensitive` | which of all that must not be seen? |

pub mod backend;
mod error;
mod home;
mod known;
mod load;
pub mod lookup;
mod needs;
mod policies;
mod prepare;
mod sensitive;

pub use error::InputError;
pub use home::SUFFIX;
pub(crate) use known::{Glance, KnownConfigs, Listed};
pub use load::{default_home, load};
pub(crate) use lookup::Configured;
pub use lookup::{ApiLookup, ConfigFound, Data, Lookup};
pub use needs::{ConfigKind, ConfigRef, KeyRef, Needs, ObjectKind, ObjectRef, config_needs, needs};
pub use policies::{Grants, Policies, destroys_on_deletion, policies};
pub(crate) use prepare::asked;
pub use prepare::{BACKEND_FILE, CONFIG_FILE};

use std::collections::{BTreeMap, BTreeSet};

use capt_api::marks;
use capt_core::tenancy::NamespaceSet;
use capt_terraform::state::Location;

use crate::{engine::Inputs, store::Place, view::WorkspaceView};

/// What the runner knows about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The namespace for what belongs to Workspaces that have none.
    pub namespace: String,
    /// The address of the API server that our client talks to, such as `https://10.0.0.1:6443`; to tell whether a
    /// `kubernetes` backend means the same one.
    pub server: Option<String>,
    /// Namespaces whose runs inherit the process's own AWS identity.
    pub own_credentials: NamespaceSet,
}

/// Everything that an operation needs, apart from the state.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What Terraform is told. Its `state` has no copies yet: they are read from `home`.
    pub inputs: Inputs,
    /// Where state lives.
    pub home: Home,
    /// Differs whenever anything that Terraform is told differs. It is derived from secrets too and stays inside.
    pub hash: String,
    /// The objects that all of this was read from.
    pub objects: BTreeSet<ObjectRef>,
}

/// Where state lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// In Secrets that we write.
    Ours(Place),
    /// In a backend of the user's, described in words that change when it does. They hold no secret.
    Backend(String),
}

impl Home {
    /// A name for this place, to be written down at the first run (annotation `marks::STATE_HOME`).
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Ours(place) => format!("secret/{}/{}", place.namespace, place.location.secret_name(0)),
            Self::Backend(words) => words.clone(),
        }
    }

    /// The place that was written down for a Workspace, for when its inputs cannot be read any more.
    ///
    /// Whoever can write the Workspace can write this too, so that it does not lead out of the Workspace's namespace.
    #[must_use]
    pub fn recorded(view: &WorkspaceView) -> Option<Place> {
        let written = view.annotations.get(marks::STATE_HOME)?.strip_prefix("secret/")?;
        let (namespace, secret) = written.split_once('/')?;
        let workspace = view.external_name();
        let suffix = secret
            .strip_prefix("tfstate-")?
            .strip_prefix(workspace)?
            .strip_prefix('-')?;
        if view.namespace.as_deref().is_some_and(|own| own != namespace) {
            return None;
        }
        Some(Place {
            namespace: namespace.to_owned(),
            location: Location::new(workspace, suffix).ok()?,
            labels: BTreeMap::new(),
        })
    }

    /// Whether state is still looked for where it was when `recorded` was written down.
    ///
    /// # Errors
    /// If it is not: then nothing would be found, and everything would be made a second time.
    pub fn check(&self, recorded: Option<&str>) -> Result<(), InputError> {
        let now = self.name();
        match recorded.filter(|recorded| !recorded.is_empty() && *recorded != now) {
            None => Ok(()),
            Some(recorded) => Err(InputError::StateMoved {
                was: recorded.to_owned(),
                now,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
