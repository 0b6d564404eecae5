//! What is in Secrets, by name.
//!
//! That a Secret is there and which version it has is known by a watch that brings no content. What is in it is asked
//! for once for each version, also by those who ask together, and not at all by who wrote it. It is kept while there is room
//! and somebody uses it, so that those who rest cost no memory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use capt_core::decision::Target;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;

use super::Facts;
use crate::engine::{
    call::within_deadline,
    execute::{Failure, Writes},
    key::ObjectKey,
    wakes::Reader,
};

/// How much is kept, in bytes.
const ROOM: usize = 4 << 20;
/// What every Secret takes besides its content.
const OVERHEAD: usize = 3 << 10;
/// How long something is kept that nobody uses, at least.
const UNUSED: Duration = Duration::from_secs(10);

/// Reads Secrets.
pub(crate) struct Secrets {
    client: Client,
    facts: Arc<Facts>,
    kept: Mutex<Kept>,
    /// What is being asked for, by whoever has the lock.
    asked: Mutex<HashMap<ObjectKey, Arc<tokio::sync::Mutex<()>>>>,
}

impl Secrets {
    /// Nothing is kept yet.
    pub(crate) fn new(client: Client, facts: Arc<Facts>) -> Self {
        Self {
            client,
            facts,
            kept: Mutex::new(Kept::new(ROOM)),
            asked: Mutex::default(),
        }
    }

    /// A Secret, if it is there. Whoever reads it looks again when it changes.
    pub(crate) async fn get(&self, reader: &Reader, key: &ObjectKey) -> Result<Option<Arc<Secret>>, Failure> {
        let Some(held) = self.facts.secrets.get(reader, key) else {
            return Ok(None);
        };
        if let Some(secret) = self.kept.lock().get(key, &held.resource_version) {
            return Ok(Some(secret));
        }
        let turn = self.asked.lock().entry(key.clone()).or_default().clone();
        let _turn = turn.lock().await;
        let known = self.kept.lock().get(key, &held.resource_version);
        let found = match known {
            Some(secret) => Ok(Some(secret)),
            None => self.ask(key).await,
        };
        self.asked.lock().remove(key);
        found
    }

    async fn ask(&self, key: &ObjectKey) -> Result<Option<Arc<Secret>>, Failure> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), key.namespace());
        let found = within_deadline(api.get_opt(key.name()))
            .await
            .map_err(|source| Failure::Call {
                action: "read",
                target: Target {
                    api_version: "v1".to_owned(),
                    kind: "Secret".to_owned(),
                    namespace: key.own_namespace().map(str::to_owned),
                    name: key.name().to_owned(),
                },
                source,
            })?;
        Ok(found.map(|secret| self.keep(key, secret)))
    }

    /// Keeps what was just written, so that who wrote it need not ask for it.
    pub(crate) fn keep_written(&self, written: &mut Writes) {
        for secret in written.secrets.drain(..) {
            let namespace = secret.namespace().unwrap_or_default();
            let key = ObjectKey::within(&namespace, &secret.name_any());
            self.keep(&key, secret);
        }
    }

    fn keep(&self, key: &ObjectKey, mut secret: Secret) -> Arc<Secret> {
        secret.metadata.managed_fields = None;
        let secret = Arc::new(secret);
        self.kept.lock().put(key, &secret);
        secret
    }

    /// Forgets what nobody uses. Never ends.
    pub(crate) async fn forget(self: Arc<Self>) {
        loop {
            tokio::time::sleep(UNUSED).await;
            self.kept.lock().forget();
        }
    }
}

/// Secrets that were read, the last used of them.
struct Kept {
    room: usize,
    used: usize,
    counter: u64,
    /// What the counter was when it was last asked what nobody uses.
    asked_at: u64,
    entries: HashMap<ObjectKey, Entry>,
    /// Who was used when, the longest ago first.
    order: BTreeMap<u64, ObjectKey>,
}

struct Entry {
    secret: Arc<Secret>,
    size: usize,
    used_at: u64,
}

impl Kept {
    fn new(room: usize) -> Self {
        Self {
            room,
            used: 0,
            counter: 0,
            asked_at: 0,
            entries: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    fn get(&mut self, key: &ObjectKey, version: &str) -> Option<Arc<Secret>> {
        let entry = self.entries.get_mut(key)?;
        if entry.secret.metadata.resource_version.as_deref() != Some(version) {
            return None;
        }
        self.order.remove(&entry.used_at);
        self.counter += 1;
        entry.used_at = self.counter;
        self.order.insert(self.counter, key.clone());
        Some(entry.secret.clone())
    }

    fn put(&mut self, key: &ObjectKey, secret: &Arc<Secret>) {
        self.remove(key);
        let values = secret.data.iter().flat_map(BTreeMap::values);
        let size = OVERHEAD + values.map(|value| value.0.len()).sum::<usize>();
        // One that takes most of the room would only drive out the others.
        if size > self.room / 2 {
            return;
        }
        while self.used + size > self.room {
            let Some(oldest) = self.order.values().next().cloned() else {
                return;
            };
            self.remove(&oldest);
        }
        self.counter += 1;
        let entry = Entry {
            secret: secret.clone(),
            size,
            used_at: self.counter,
        };
        self.used += size;
        self.order.insert(self.counter, key.clone());
        self.entries.insert(key.clone(), entry);
    }

    /// Forgets what was not used since the last time.
    fn forget(&mut self) {
        while let Some((used_at, key)) = self.order.first_key_value()
            && *used_at <= self.asked_at
        {
            let key = key.clone();
            self.remove(&key);
        }
        self.asked_at = self.counter;
        self.entries.shrink_to_fit();
    }

    fn remove(&mut self, key: &ObjectKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used_at);
            self.used -= entry.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{ByteString, apimachinery::pkg::apis::meta::v1::ObjectMeta};

    use super::*;

    fn secret(version: &str, length: usize) -> Arc<Secret> {
        Arc::new(Secret {
            metadata: ObjectMeta {
                resource_version: Some(version.to_owned()),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([("a".to_owned(), ByteString(vec![0; length]))])),
            ..Secret::default()
        })
    }

    #[test]
    fn what_was_used_last_is_kept_and_only_in_the_version_that_there_is() {
        let key = |name| ObjectKey::within("n", name);
        let mut kept = Kept::new(3 * (OVERHEAD + 10));
        for name in ["a", "b", "c"] {
            kept.put(&key(name), &secret("1", 10));
        }
        assert!(kept.get(&key("a"), "1").is_some());
        assert!(kept.get(&key("a"), "2").is_none());
        kept.put(&key("d"), &secret("1", 10));
        assert!(kept.get(&key("b"), "1").is_none(), "it was used longest ago");
        for name in ["a", "c", "d"] {
            assert!(kept.get(&key(name), "1").is_some(), "{name}");
        }
        kept.put(&key("a"), &secret("2", 10));
        assert!(kept.get(&key("a"), "2").is_some());
        kept.put(&key("huge"), &secret("1", 1 << 20));
        assert!(kept.get(&key("huge"), "1").is_none());
        assert_eq!((kept.used, kept.order.len()), (3 * (OVERHEAD + 10), 3));
    }
    #[test]
    fn what_nobody_uses_is_forgotten() {
        let key = |name| ObjectKey::within("n", name);
        let mut kept = Kept::new(ROOM);
        kept.put(&key("a"), &secret("1", 10));
        kept.put(&key("b"), &secret("1", 10));
        kept.forget();
        assert!(kept.get(&key("a"), "1").is_some());
        kept.forget();
        assert!(kept.get(&key("b"), "1").is_none());
        assert!(kept.get(&key("a"), "1").is_some());
        kept.forget();
        kept.forget();
        assert_eq!((kept.used, kept.order.len(), kept.entries.len()), (0, 0, 0));
    }
}
