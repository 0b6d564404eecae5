//! Providers that Workspaces share.
//!
//! Terraform does not expect others to use its cache at the same time. So whoever may put something into it does that
//! alone, among all runners on this machine; who needs only what somebody else has put there before does not wait for
//! others of the kind, and plans never wait at all.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// Providers that Workspaces share.
#[derive(Clone, Debug)]
pub(super) struct PluginCache {
    pub(super) path: PathBuf,
    filling: Arc<RwLock<()>>,
    filled: Arc<Mutex<HashSet<String>>>,
}

/// The right to use the cache for `init`.
pub(super) struct Turn {
    cache: PluginCache,
    needs: Option<String>,
    _here: Here,
    _elsewhere: File,
}

enum Here {
    Alone { _guard: OwnedRwLockWriteGuard<()> },
    Shared { _guard: OwnedRwLockReadGuard<()> },
}

impl PluginCache {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            filling: Arc::default(),
            filled: Arc::default(),
        }
    }

    /// Waits for a turn. `needs` names what will be installed; nothing, if that is not known.
    pub(super) async fn turn(&self, needs: Option<String>) -> io::Result<Turn> {
        let is_filled = || {
            needs
                .as_ref()
                .is_some_and(|needs| self.filled.lock().contains(needs))
        };
        let here = if is_filled() {
            Here::Shared {
                _guard: self.filling.clone().read_owned().await,
            }
        } else {
            let guard = self.filling.clone().write_owned().await;
            // Somebody else may have been waited for who needed the same.
            match is_filled() {
                true => Here::Shared {
                    _guard: guard.downgrade(),
                },
                false => Here::Alone { _guard: guard },
            }
        };
        let path = self.path.with_extension("lock");
        let is_alone = matches!(here, Here::Alone { .. });
        let elsewhere = tokio::task::spawn_blocking(move || {
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true).mode(0o600);
            let file = options.open(path)?;
            match is_alone {
                true => file.lock()?,
                false => file.lock_shared()?,
            }
            Ok::<_, io::Error>(file)
        });
        Ok(Turn {
            cache: self.clone(),
            needs,
            _here: here,
            _elsewhere: elsewhere.await.map_err(io::Error::other)??,
        })
    }
}

impl Turn {
    /// Everything was installed.
    pub(super) fn done(self) {
        if let Some(needs) = &self.needs {
            self.cache.filled.lock().insert(needs.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_fills_it_is_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PluginCache::new(folder.path().join("cache"));
        let is_shared = |turn: &Turn| {
            let guard = cache.filling.try_read();
            assert_eq!(guard.is_ok(), matches!(turn._here, Here::Shared { .. }));
            guard.is_ok()
        };
        // What is needed, whether it can be had together with others, and whether it succeeds.
        let cases = [
            (Some("aws"), false, true),
            (Some("aws"), true, true),
            (Some("other"), false, false),
            (Some("other"), false, true),
            (Some("other"), true, true),
            (None, false, true),
            (None, false, true),
        ];
        for (needs, expected, succeeds) in cases {
            let turn = cache.turn(needs.map(str::to_owned)).await.unwrap();
            assert_eq!(is_shared(&turn), expected, "{needs:?}");
            if succeeds {
                turn.done();
            }
        }
    }

    #[tokio::test]
    async fn who_waited_for_the_same_shares() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PluginCache::new(folder.path().join("cache"));
        let key = || Some("aws".to_owned());
        let first = cache.turn(key()).await.unwrap();
        let (second, third) = (cache.turn(key()), cache.turn(key()));
        let wait = async {
            let second = second.await.unwrap();
            // It holds its turn while the other one gets its own.
            let third = third.await.unwrap();
            (second, third)
        };
        tokio::join!(wait, async { first.done() });
    }
}
