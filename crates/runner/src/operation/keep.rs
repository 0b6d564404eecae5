//! Keeps every state that Terraform writes, the newest first and none of the last ones lost.

use std::time::Duration;

use capt_terraform::state::State;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{
    api::words,
    engine::{Failure, FailureKind, ProviderLock},
    store::{Kept, Place, StateStore, StoreError},
};

/// Tries of one write, each of which is patient in itself.
const TRIES: u32 = 5;

/// Writes states behind the back of an operation.
pub(crate) struct Keeper {
    offers: Offers,
    task: JoinHandle<Result<(), Failure>>,
    store: StateStore,
    place: Place,
    /// What is made is moved together with a Cluster.
    moves: bool,
}

/// Takes states to be kept. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Offers(mpsc::UnboundedSender<Offer>);

struct Offer {
    file: Vec<u8>,
    kept: Option<oneshot::Sender<Result<(), Failure>>>,
}

impl Keeper {
    /// Begins with what is kept now. `failed` is cancelled if a state cannot be kept, so that nothing more is made.
    pub(crate) fn start(store: StateStore, place: Place, kept: Kept, failed: CancellationToken) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let moves = kept.moves;
        let task = tokio::spawn(keep(store.clone(), place.clone(), kept, receiver, failed));
        Self {
            offers: Offers(sender),
            task,
            store,
            place,
            moves,
        }
    }

    /// Where states are handed in.
    pub(crate) fn offers(&self) -> Offers {
        self.offers.clone()
    }

    /// Keeps this state before anything else happens.
    pub(crate) async fn keep_now(&self, file: Vec<u8>) -> Result<(), Failure> {
        let (sender, receiver) = oneshot::channel();
        let offer = Offer {
            file,
            kept: Some(sender),
        };
        if self.offers.0.send(offer).is_err() {
            return Err(lost());
        }
        receiver.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Keeps the provider versions that were chosen. Without them others may be chosen on another machine, which is no reason to
    /// stop.
    pub(crate) async fn keep_provider_lock(&self, lock: &ProviderLock) {
        let written = self
            .store
            .write_provider_lock(&self.place, lock, self.moves)
            .await;
        if let Err(error) = written {
            let (namespace, error) = (&self.place.namespace, words(&error));
            tracing::warn!(namespace, error, "the provider lock was not kept");
        }
    }

    /// Waits until everything is kept. Nobody may hold [`Offers`] any more.
    pub(crate) async fn finish(self) -> Result<(), Failure> {
        drop(self.offers);
        self.task.await.unwrap_or_else(|_| Err(lost()))
    }
}

impl Offers {
    /// Hands in a state.
    pub(crate) fn offer(&self, file: Vec<u8>) {
        // If nobody takes it any more, the end of the keeper says so.
        let _ = self.0.send(Offer { file, kept: None });
    }
}

async fn keep(
    store: StateStore,
    place: Place,
    mut kept: Kept,
    mut offers: mpsc::UnboundedReceiver<Offer>,
    failed: CancellationToken,
) -> Result<(), Failure> {
    let mut last = Ok(());
    let mut own: Option<Vec<u8>> = None;
    while let Some(offer) = offers.recv().await {
        let mut waiting: Vec<_> = offer.kept.into_iter().collect();
        let mut newest = offer.file;
        while let Ok(offer) = offers.try_recv() {
            waiting.extend(offer.kept);
            if !is_older(&offer.file, &newest) {
                newest = offer.file;
            }
        }
        // The last state of all may be handed in before those that were told on the way.
        let is_superseded = own.as_ref().is_some_and(|own| is_older(&newest, own));
        if !is_superseded && kept.replica.as_ref() != Some(&newest) {
            last = write(&store, &place, &mut kept, &newest).await;
            if last.is_ok() {
                own = Some(newest);
            }
        }
        if last.is_err() {
            failed.cancel();
        }
        for sender in waiting {
            let _ = sender.send(last.clone());
        }
    }
    last
}

/// Whether a state was followed by another one.
fn is_older(file: &[u8], than: &[u8]) -> bool {
    match (State::parse(file), State::parse(than)) {
        (Ok(one), Ok(other)) => one.lineage == other.lineage && one.serial < other.serial,
        _ => false,
    }
}

async fn write(store: &StateStore, place: &Place, kept: &mut Kept, file: &[u8]) -> Result<(), Failure> {
    for attempt in 1.. {
        match store.write(place, kept, file).await {
            Ok(()) => return Ok(()),
            Err(error @ StoreError::Overtaken { .. }) => return Err(error.into()),
            Err(error) if error.is_transient() && attempt < TRIES => {
                tracing::warn!(%error, attempt, "a state could not be kept yet");
                sleep(Duration::from_secs(5)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn lost() -> Failure {
    Failure {
        kind: FailureKind::Machine(capt_terraform::diagnostics::Class::Interrupted),
        message: "the state was not kept, because the runner stopped".to_owned(),
        diagnostics: Vec::new(),
        state: None,
        missing: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use capt_terraform::state::Location;
    use capt_testkit::World;
    use serde_json::json;

    use super::*;

    fn state(serial: u64) -> Vec<u8> {
        let state = json!({
            "version": 4, "terraform_version": "1.11.4", "serial": serial, "lineage": "blue", "outputs": {}, "resources": [],
        });
        state.to_string().into_bytes()
    }

    fn serial(file: Option<Vec<u8>>) -> u64 {
        State::parse(&file.unwrap()).unwrap().serial
    }

    struct Stage {
        world: World,
        store: StateStore,
        place: Place,
        failed: CancellationToken,
    }

    impl Stage {
        async fn new() -> Self {
            let world = World::embedded_only().await;
            Self {
                store: StateStore::new(world.client_for("runner")),
                place: Place {
                    namespace: world.namespace().to_owned(),
                    location: Location::new("blue", "capt").unwrap(),
                    labels: BTreeMap::new(),
                },
                failed: CancellationToken::new(),
                world,
            }
        }

        async fn keeper(&self) -> Keeper {
            let kept = self.store.read(&self.place).await.unwrap();
            Keeper::start(self.store.clone(), self.place.clone(), kept, self.failed.clone())
        }

        async fn kept(&self) -> u64 {
            serial(self.store.read(&self.place).await.unwrap().replica)
        }
    }

    #[tokio::test]
    async fn what_is_told_late_is_not_put_over_what_came_after_it() {
        let stage = Stage::new().await;
        let keeper = stage.keeper().await;
        keeper.keep_now(state(22)).await.unwrap();
        keeper.offers().offer(state(21));
        keeper.finish().await.unwrap();
        assert_eq!(stage.kept().await, 22);

        let keeper = stage.keeper().await;
        keeper.offers().offer(state(24));
        keeper.offers().offer(state(23));
        keeper.finish().await.unwrap();
        assert_eq!(stage.kept().await, 24);
        assert!(!stage.failed.is_cancelled());
        stage.world.finish().await;
    }

    #[tokio::test]
    async fn what_is_older_than_what_another_kept_is_refused() {
        let stage = Stage::new().await;
        let keeper = stage.keeper().await;
        keeper.keep_now(state(22)).await.unwrap();
        keeper.finish().await.unwrap();

        let keeper = stage.keeper().await;
        keeper.offers().offer(state(21));
        keeper.finish().await.unwrap_err();
        assert!(stage.failed.is_cancelled());
        assert_eq!(stage.kept().await, 22);
        stage.world.finish().await;
    }
}
