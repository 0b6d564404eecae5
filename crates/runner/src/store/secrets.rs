//! What is kept of a state, and reading it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use capt_api::marks;
use capt_terraform::state::{self, State, UnpackError};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, api::ListParams};

use super::{Before, KeptLock, Names, Place, StoreError};
use crate::api::{CallError, patiently};

/// How long reading is tried.
const READ_PATIENCE: Duration = Duration::from_secs(15);
/// More parts than this are no state: a state is at most a GiB.
const MAX_PARTS: usize = 1024;

/// Keeps states in Secrets.
#[derive(Clone)]
pub struct StateStore {
    client: Client,
    /// Bytes in one Secret.
    pub(super) chunk: usize,
    names: Names,
}

/// What is kept of one state.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The state that counts between runs: the file.
    pub replica: Option<Vec<u8>>,
    /// A copy that a crash left behind, if it is whole.
    pub staged: Option<Vec<u8>>,
    /// Somebody asked for the deletion of a Secret, which our finalizer holds up.
    pub is_deleting: bool,
    /// The Workspace that what is written from now on is the state of (annotation `marks::STATE_OF`).
    pub claim: Option<String>,
    /// Secrets that are made from now on are to be moved together with a Cluster.
    pub moves: bool,
    /// The provider versions that were chosen, if they were read.
    pub provider_lock: Option<KeptLock>,
    /// The Secrets as we saw or wrote them last, by their names.
    pub(super) seen: BTreeMap<String, Seen>,
}

/// A Secret as it was seen last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) resource_version: Option<String>,
    pub(super) finalizers: Vec<String>,
    pub(super) is_deleting: bool,
    /// The Workspace whose state it is, if that is known.
    pub(super) owner: Option<String>,
    /// What was made and the state does not have, as a Workspace left it.
    pub(super) list: Option<String>,
    /// What stands under the key.
    pub(super) data: Vec<u8>,
}

impl From<&Secret> for Seen {
    fn from(secret: &Secret) -> Self {
        let data = secret.data.as_ref().and_then(|data| data.get(state::KEY));
        let annotation = |name: &str| secret.metadata.annotations.as_ref()?.get(name).cloned();
        Self {
            resource_version: secret.metadata.resource_version.clone(),
            finalizers: secret.metadata.finalizers.clone().unwrap_or_default(),
            is_deleting: secret.metadata.deletion_timestamp.is_some(),
            owner: annotation(marks::STATE_OF),
            list: annotation(marks::MISSING_RESOURCES),
            data: data.map(|data| data.0.clone()).unwrap_or_default(),
        }
    }
}

impl Kept {
    /// The Workspace whose state it is, if that was written down.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.seen.values().find_map(|seen| seen.owner.as_deref())
    }

    /// What was made and the state does not have, as a Workspace that went left it.
    pub(crate) fn list(&self) -> Option<&str> {
        self.seen.values().find_map(|seen| seen.list.as_deref())
    }

    /// How many Secrets there are whose names `name` gives for part 0, 1 and so on.
    pub(super) fn count(&self, name: impl Fn(usize) -> String) -> usize {
        // A gap may be left by a crash or by another hand; what lies behind it must go all the same.
        let parts = self.seen.keys().filter_map(|seen| {
            // The name of a first part may end like that of another one.
            let mut parts = [state::part_index(seen), 0].into_iter();
            parts.find(|part| *part < MAX_PARTS && *seen == name(*part))
        });
        parts.max().map_or(0, |last| last + 1)
    }

    fn unpacked(&self, name: impl Fn(usize) -> String) -> Result<Option<Vec<u8>>, UnpackError> {
        let names: Vec<String> = (0..self.count(&name)).map(name).collect();
        let parts = names
            .iter()
            .filter_map(|name| Some((name.as_str(), self.seen.get(name)?.data.as_slice())));
        state::unpack(parts)
    }
}

impl StateStore {
    /// Keeps them where this client leads.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            chunk: state::CHUNK_SIZE,
            names: Names::default(),
        }
    }

    /// Where a watch tells which Secrets with state there are. Until it does, they are searched for.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Reads what is kept.
    ///
    /// # Errors
    /// If the API fails, or what is there is damaged and there is no whole copy.
    pub async fn read(&self, place: &Place) -> Result<Kept, StoreError> {
        self.read_after(place, Before::Perhaps).await
    }

    /// Reads what is kept, by who knows whether anybody held its lock before. Copies are written only by who does, so that
    /// otherwise none is looked for of which no watch tells.
    ///
    /// # Errors
    /// As for reading without knowing.
    pub(crate) async fn read_after(&self, place: &Place, before: Before) -> Result<Kept, StoreError> {
        let first = place.location.secret_name(0);
        let known = self.names.beginning_with(&place.namespace, &first);
        if let Some(known) = known {
            let seen = self.read_known(place, known).await?;
            match self.understood(place, seen, before).await {
                // A watch may not have told of all parts yet.
                Err(StoreError::Damaged { .. }) => {}
                kept => return kept,
            }
        }
        let mut seen = self.search(place).await?;
        match self.understood(place, seen.clone(), Before::Perhaps).await {
            // Labels of some parts may have been lost; their names still say whose they are.
            Err(StoreError::Damaged { .. }) => {}
            kept => return kept,
        }
        self.read_in_order(place, |part| place.location.secret_name(part), &mut seen)
            .await?;
        self.understood(place, seen, Before::Perhaps).await
    }

    /// What these Secrets hold, and the copies beside them.
    async fn understood(
        &self,
        place: &Place,
        mut seen: BTreeMap<String, Seen>,
        before: Before,
    ) -> Result<Kept, StoreError> {
        let location = &place.location;
        let copies = self
            .names
            .beginning_with(&place.namespace, &location.staged_name(0));
        if before == Before::Perhaps || copies.is_none_or(|copies| !copies.is_empty()) {
            self.read_in_order(place, |part| location.staged_name(part), &mut seen)
                .await?;
        }
        let mut kept = Kept {
            seen,
            ..Kept::default()
        };
        kept.is_deleting = kept.seen.values().any(|seen| seen.is_deleting);
        let staged = kept.unpacked(|part| location.staged_name(part));
        // A copy that is cut off or mixed is what a crash leaves that came before the state itself was touched.
        kept.staged = staged.ok().flatten().filter(|file| State::parse(file).is_ok());
        match kept.unpacked(|part| location.secret_name(part)) {
            Ok(file) => kept.replica = file,
            Err(_) if kept.staged.is_some() => {}
            Err(source) => {
                return Err(StoreError::Damaged {
                    namespace: place.namespace.clone(),
                    name: location.secret_name(0),
                    source,
                });
            }
        }
        Ok(kept)
    }

    pub(super) fn api(&self, place: &Place) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &place.namespace)
    }

    /// Reads the first part, whatever is known, and those that a watch told of. If it did not tell of one yet, what is read
    /// is cut off, which is noticed.
    async fn read_known(
        &self,
        place: &Place,
        known: Vec<String>,
    ) -> Result<BTreeMap<String, Seen>, StoreError> {
        let location = &place.location;
        let is_part = |name: &String| *name == location.secret_name(state::part_index(name));
        let mut names: BTreeSet<String> = known.into_iter().filter(is_part).collect();
        names.insert(location.secret_name(0));
        let mut seen = BTreeMap::new();
        for name in names {
            if let Some(secret) = self.read_one(place, &name).await? {
                seen.insert(name, secret);
            }
        }
        Ok(seen)
    }

    /// Searches all Secrets of the namespace.
    async fn search(&self, place: &Place) -> Result<BTreeMap<String, Seen>, StoreError> {
        let api = self.api(place);
        let location = &place.location;
        let labels: Vec<String> = location
            .labels()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let chosen = ListParams::default().labels(&labels.join(","));
        let first = location.secret_name(0);
        let listed = patiently(READ_PATIENCE, || api.list(&chosen))
            .await
            .map_err(failed("reading", place, &first))?;
        let mut seen: BTreeMap<String, Seen> = listed
            .items
            .iter()
            .filter_map(|secret| Some((secret.metadata.name.clone()?, Seen::from(secret))))
            // Whoever copied the labels did not make it a part of this state.
            .filter(|(name, _)| *name == location.secret_name(state::part_index(name)))
            .collect();
        // Labels may have been lost; the name still says whose it is.
        if !seen.contains_key(&first) {
            self.read_in_order(place, |part| location.secret_name(part), &mut seen)
                .await?;
        }
        Ok(seen)
    }

    /// Reads part after part until one is not there.
    async fn read_in_order(
        &self,
        place: &Place,
        name: impl Fn(usize) -> String,
        seen: &mut BTreeMap<String, Seen>,
    ) -> Result<(), StoreError> {
        for part in 0..MAX_PARTS {
            let name = name(part);
            let Some(secret) = self.read_one(place, &name).await? else {
                break;
            };
            seen.insert(name, secret);
        }
        Ok(())
    }

    pub(super) async fn read_one(&self, place: &Place, name: &str) -> Result<Option<Seen>, StoreError> {
        let api = self.api(place);
        let secret = patiently(READ_PATIENCE, || api.get_opt(name))
            .await
            .map_err(failed("reading", place, name))?;
        Ok(secret.as_ref().map(Seen::from))
    }
}

pub(super) fn failed<'a>(
    doing: &'static str,
    place: &'a Place,
    name: &'a str,
) -> impl FnOnce(CallError) -> StoreError + 'a {
    move |source| StoreError::Call {
        doing,
        namespace: place.namespace.clone(),
        name: name.to_owned(),
        source,
    }
}
