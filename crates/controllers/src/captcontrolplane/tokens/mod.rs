//! Keeps tokens for API servers of clusters: issued when decisions want them, renewed by themselves long before they end,
//! and whoever read one is woken when there is another.
//!
//! A token stays until another is there. A try that failed is made again, and told.
//!
//! This module must never know where a token is written, and never prints one.

mod chain;
mod credentials;
mod presign;
mod signing;
mod sts;
mod workspace;

pub use chain::{OwnCredentials, ProcessCredentials};
pub use credentials::Credentials;
pub(super) use workspace::WorkspaceCredentials;

use std::{collections::HashMap, sync::Arc, time::Duration};

use capt_core::controlplane::{TokenWish, kubeconfig::renew_by, snapshot::Token};
use futures::future::BoxFuture;
use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::{
    Clock,
    engine::{
        key::ObjectKey,
        queue::Queue,
        table::{Row, Table},
        wakes::{Reader, Wakes},
    },
};

/// How many tokens are issued at the same time.
const AT_ONCE: usize = 16;
/// How long it may take to find credentials.
const DEADLINE: Duration = Duration::from_secs(20);
/// How long to wait after a try that failed, and at most after many.
const PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Finds the credentials to sign with.
pub(super) trait Signers: Send + Sync {
    /// The credentials of a WorkspaceTemplateApply in a namespace, or why there are none, in words that stay the same for
    /// the same cause. Never a secret.
    fn find<'a>(
        &'a self,
        namespace: &'a str,
        apply: &'a str,
        region: &'a str,
    ) -> BoxFuture<'a, Result<Credentials, String>>;
}

/// Keeps tokens.
pub(super) struct Issuer {
    signers: Arc<dyn Signers>,
    clock: Clock,
    queue: Queue,
    wishes: Mutex<HashMap<ObjectKey, Wish>>,
    issued: Table<Issued>,
}

struct Wish {
    wish: TokenWish,
    failures: u32,
    /// Before this nothing is tried again.
    not_before: Instant,
}

impl Wish {
    fn is_for(&self, other: &TokenWish) -> bool {
        let TokenWish {
            cluster_name,
            region,
            apply,
            by: _,
        } = &self.wish;
        *cluster_name == other.cluster_name && *region == other.region && *apply == other.apply
    }
}

/// What came of the last tries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Issued {
    /// The last token.
    pub(super) token: Option<Token>,
    /// Why there is no newer one.
    pub(super) trouble: Option<String>,
}

impl Issuer {
    pub(super) fn new(signers: Arc<dyn Signers>, clock: Clock, wakes: &Arc<Wakes>) -> Self {
        Self {
            signers,
            clock,
            queue: Queue::default(),
            wishes: Mutex::default(),
            issued: Table::new("issued tokens", wakes, &[]),
        }
    }

    /// Says what an object wants from now on; what it wanted before is forgotten.
    pub(super) fn wish(&self, key: &ObjectKey, wish: Option<TokenWish>) {
        let Some(wish) = wish else {
            if self.wishes.lock().remove(key).is_some() {
                self.issued.delete(key.clone(), 0);
            }
            return;
        };
        let until = self.until(wish.by);
        let mut wishes = self.wishes.lock();
        let pause = match wishes.get_mut(key) {
            Some(known) if known.is_for(&wish) => {
                known.wish = wish;
                known.not_before.saturating_duration_since(Instant::now())
            }
            _ => {
                let wish = Wish {
                    wish,
                    failures: 0,
                    not_before: Instant::now(),
                };
                wishes.insert(key.clone(), wish);
                self.issued.delete(key.clone(), 0);
                Duration::ZERO
            }
        };
        drop(wishes);
        self.queue.wake_after(key, until.max(pause));
    }

    /// What was issued for an object.
    pub(super) fn issued(&self, reader: &Reader, key: &ObjectKey) -> Issued {
        self.issued
            .get(reader, key)
            .map(|issued| (*issued).clone())
            .unwrap_or_default()
    }

    /// Keeps issuing. Never ends.
    pub(super) async fn run(self: Arc<Self>) {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let mut issuing = JoinSet::new();
        loop {
            let slot = slots.clone().acquire_owned().await;
            let key = self.queue.next().await;
            while issuing.try_join_next().is_some() {}
            let issuer = self.clone();
            issuing.spawn(async move {
                let _slot = slot;
                issuer.issue(&key).await;
                issuer.queue.done(&key);
            });
        }
    }

    async fn issue(&self, key: &ObjectKey) {
        let Some(wish) = self.wishes.lock().get(key).map(|known| known.wish.clone()) else {
            return;
        };
        let before = self.issued.peek(key);
        let before = before.as_ref().and_then(|issued| issued.token.clone());
        let early = self.until(self.renewal(before.as_ref(), &wish));
        if !early.is_zero() {
            self.queue.wake_after(key, early);
            return;
        }
        let finding = self.signers.find(key.namespace(), &wish.apply, &wish.region);
        let found = timeout(DEADLINE, finding).await;
        let found = found.unwrap_or_else(|_| {
            Err(format!(
                "no credentials were found within {} seconds",
                DEADLINE.as_secs()
            ))
        });
        let issued = match found {
            Ok(credentials) => Issued {
                token: Some(presign::token(
                    &credentials,
                    &wish.cluster_name,
                    &wish.region,
                    (self.clock)(),
                )),
                trouble: None,
            },
            Err(trouble) => Issued {
                token: before,
                trouble: Some(trouble),
            },
        };
        self.put(key, &wish, issued);
    }

    fn put(&self, key: &ObjectKey, wish: &TokenWish, issued: Issued) {
        let next = {
            let mut wishes = self.wishes.lock();
            let Some(known) = wishes.get_mut(key).filter(|known| known.is_for(wish)) else {
                return;
            };
            if issued.trouble.is_some() {
                let pause = PAUSE.saturating_mul(2u32.saturating_pow(known.failures));
                let pause = pause.min(LONGEST_PAUSE);
                known.failures = known.failures.saturating_add(1);
                known.not_before = Instant::now() + pause;
                pause
            } else {
                known.failures = 0;
                // Credentials that are about to end give a token that is due at once.
                let pause = self
                    .until(renew_by(issued.token.as_ref(), (self.clock)()))
                    .max(PAUSE);
                known.not_before = Instant::now() + PAUSE;
                pause
            }
        };
        self.issued.apply(Row {
            key: key.clone(),
            version: 0,
            value: Some(issued),
        });
        self.queue.wake_after(key, next);
    }

    /// When the next token is due: of what was issued and what is wished, the later. A wish may have been made before the
    /// last token was known.
    fn renewal(&self, token: Option<&Token>, wish: &TokenWish) -> Timestamp {
        match token {
            Some(token) => renew_by(Some(token), (self.clock)()).max(wish.by),
            None => wish.by,
        }
    }

    fn until(&self, time: Timestamp) -> Duration {
        let left = time.duration_since((self.clock)());
        Duration::try_from(left).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
