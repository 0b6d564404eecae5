//! Keeps every state that Terraform writes, the newest first and none of the last ones lost.

use std::time::Duration;

use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{Failure, FailureKind},
    store::{Kept, Place, StateStore, StoreError},
};

/// Tries of one write, each of which is patient in itself.
const TRIES: u32 = 5;

/// Writes states behind the back of an operation.
pub(crate) struct Keeper {
    offers: Offers,
    task: JoinHandle<Result<(), Failure>>,
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
        let task = tokio::spawn(keep(store, place, kept, receiver, failed));
        Self {
            offers: Offers(sender),
            task,
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
    while let Some(mut newest) = offers.recv().await {
        let mut waiting: Vec<_> = newest.kept.take().into_iter().collect();
        while let Ok(mut newer) = offers.try_recv() {
            waiting.extend(newer.kept.take());
            newest = newer;
        }
        if kept.replica.as_ref() != Some(&newest.file) {
            last = write(&store, &place, &mut kept, &newest.file).await;
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
