//! Watches that keep tables up to date.

use std::{fmt::Debug, pin::pin, time::Duration};

use futures::StreamExt as _;
use kube::{
    Api, Resource,
    runtime::{WatchStreamExt as _, watcher},
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::{
    key::ObjectKey,
    rights::Right,
    table::{Row, Table},
};

/// What is kept of an object, if it can be read.
pub(crate) type Read<K, T> = fn(K) -> Option<T>;

/// Keeps the part of a table up to date that the right names. Never ends: what goes wrong is retried, more and more slowly.
pub(crate) async fn keep_up<K, T>(
    api: Api<K>,
    config: watcher::Config,
    table: &Table<T>,
    read: Read<K, T>,
    right: &Right,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: PartialEq,
{
    keep(api, config, table, read, right, false).await;
}

/// The same, but ends where the API does not let us read. Tells whether everything was read before that.
pub(crate) async fn keep_up_if_allowed<K, T>(
    api: Api<K>,
    config: watcher::Config,
    table: &Table<T>,
    read: Read<K, T>,
    right: &Right,
) -> bool
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: PartialEq,
{
    keep(api, config, table, read, right, true).await
}

/// The same whenever the API lets us read, and hidden while it does not. Never ends.
pub(crate) async fn keep_up_when_allowed<K, T>(
    api: Api<K>,
    config: watcher::Config,
    table: &Table<T>,
    read: Read<K, T>,
    right: &Right,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: PartialEq,
{
    let mut denials = Denials::default();
    loop {
        let began = Instant::now();
        keep_up_if_allowed(api.clone(), config.clone(), table, read, right).await;
        let wait = denials.wait(began.elapsed());
        // A denial that passes is nobody's business where everything was read.
        if !table.is_listed(right.scope()) || denials.are_lasting() {
            table.hide(Some(right.scope()));
        }
        sleep(wait).await;
    }
}

/// How long it is at most before something is asked for again that the API did not let us read.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(600);
/// How long it is at first.
const ASK_AGAIN_AT_FIRST: Duration = Duration::from_millis(500);
/// After so many in a row denials do not pass by themselves.
const MANY: u32 = 6;

/// Times in a row that the API did not let us read.
#[derive(Debug, Default)]
pub(crate) struct Denials(u32);

impl Denials {
    /// How long to wait after another one, before which reading went well for a time.
    pub(crate) fn wait(&mut self, went_well: Duration) -> Duration {
        if went_well > ASK_AGAIN {
            self.0 = 0;
        }
        let wait = ASK_AGAIN_AT_FIRST * 2u32.saturating_pow(self.0.min(16));
        self.0 += 1;
        wait.min(ASK_AGAIN)
    }

    /// Whether there were so many that they will not pass.
    pub(crate) fn are_lasting(&self) -> bool {
        self.0 > MANY
    }
}

async fn keep<K, T>(
    api: Api<K>,
    config: watcher::Config,
    table: &Table<T>,
    read: Read<K, T>,
    right: &Right,
    ends_if_forbidden: bool,
) -> bool
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    T: PartialEq,
{
    let row = |object: K| {
        let key = ObjectKey::of(object.meta());
        let version = version(&object);
        let value = read(object);
        if value.is_none() {
            tracing::warn!(object = %key, "an object cannot be read and is left alone");
        }
        Row { key, version, value }
    };
    let mut events = pin!(watcher(api, config).default_backoff());
    let mut listed = Vec::new();
    let mut is_listed = false;
    let mut is_denied = true;
    while let Some(event) = events.next().await {
        // Each try begins with Init, which proves nothing.
        let has_begun = matches!(&event, Ok(event) if !matches!(event, watcher::Event::Init));
        if is_denied && has_begun {
            is_denied = false;
            right.is_granted();
        }
        match event {
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(object)) => listed.push(row(object)),
            Ok(watcher::Event::InitDone) => {
                is_listed = true;
                table.replace(right.scope(), std::mem::take(&mut listed));
            }
            Ok(watcher::Event::Apply(object)) => {
                if !table.is_confirmed(&ObjectKey::of(object.meta()), version(&object)) {
                    table.apply(row(object));
                }
            }
            Ok(watcher::Event::Delete(object)) => {
                table.delete(ObjectKey::of(object.meta()), version(&object));
            }
            Err(error) if code(&error) == Some(403) => {
                is_denied = true;
                right.is_denied();
                if ends_if_forbidden {
                    break;
                }
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a watch broke");
            }
        }
    }
    is_listed
}

/// What the API answered to a watch that did not begin.
pub(crate) fn code(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// Versions grow, and can be compared within a kind.
pub(crate) fn version<K: Resource>(object: &K) -> u64 {
    let version = object.meta().resource_version.as_deref();
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_is_asked_for_soon_at_first_and_rarely_for_ever() {
        let mut denials = Denials::default();
        let waits: Vec<Duration> = (0..40).map(|_| denials.wait(Duration::ZERO)).collect();
        assert_eq!(waits[0], Duration::from_millis(500));
        assert!(waits.is_sorted());
        assert_eq!(waits[39], ASK_AGAIN);
        assert!(denials.are_lasting());
        // After a time that went well they count anew.
        assert_eq!(denials.wait(ASK_AGAIN * 2), waits[0]);
        assert!(!denials.are_lasting());
    }
}
