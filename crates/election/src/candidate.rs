//! Waiting for the Lease, and taking it.

use std::{future::Future, pin::pin, time::Duration};

use futures::{StreamExt as _, stream};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client,
    api::PostParams,
    runtime::{WatchStreamExt as _, watcher},
};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    Clock, Leadership, Terms,
    judge::{Sight, Step},
    record,
};

/// Somebody who would lead.
#[derive(Clone)]
pub struct Candidacy {
    pub(crate) api: Api<Lease>,
    pub(crate) name: String,
    pub(crate) identity: String,
    pub(crate) terms: Terms,
    pub(crate) clock: Clock,
}

/// What a call came to that was not made in vain.
pub(crate) enum Answer<T> {
    Done(T),
    /// Somebody else wrote first, or the object is not there, or is there already.
    Outrun,
}

/// Why nothing is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("the API did not answer in time")]
    Late,
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Failed(Box<kube::Error>),
}

impl Candidacy {
    /// For the Lease of this name. The identity is what others see; no two candidates may share it.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: &str,
        name: &str,
        identity: &str,
        terms: Terms,
        clock: Clock,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity: identity.to_owned(),
            terms,
            clock,
        }
    }

    /// Waits until it leads, or is told to stop. Who else leads is told each time that it changes.
    ///
    /// To stop it, cancel `stop` rather than dropping this: a Lease that is just being taken would stay taken.
    pub async fn win(
        &self,
        mut told: impl FnMut(Option<&str>) + Send,
        stop: &CancellationToken,
    ) -> Option<Leadership> {
        // It only wakes: whatever is decided from an old sight is refused by the API.
        let seen = watcher::watch_object(self.api.clone(), &self.name).default_backoff();
        let mut seen = pin!(seen.filter_map(async |event| event.ok()).chain(stream::pending()));
        let mut complaint = Complaint::default();
        let mut last_told = None;
        let mut sight: Option<Sight> = None;
        while !stop.is_cancelled() {
            let Some(known) = &mut sight else {
                let wait = match self.read().await {
                    Ok(Answer::Done(lease)) => {
                        complaint.clear();
                        sight = Some(Sight::new(lease, Instant::now()));
                        continue;
                    }
                    Ok(Answer::Outrun) => self.breath(),
                    Err(error) => self.rest(&mut complaint, &error),
                };
                pause(wait, stop).await;
                continue;
            };
            let holder = known.holder().map(str::to_owned);
            if last_told.as_ref() != Some(&holder) {
                told(holder.as_deref());
                last_told = Some(holder);
            }
            let taken = match known.step(Instant::now()) {
                Step::Wait(left) => {
                    tokio::select! {
                        () = pause(left, stop) => {}
                        Some(lease) = seen.next() => known.update(lease, Instant::now()),
                    }
                    continue;
                }
                Step::Create => record::new(&self.name),
                Step::Take(lease) => *lease,
            };
            let is_new = taken.metadata.resource_version.is_none();
            let taken = record::taken(taken, &self.identity, &self.terms, (self.clock)());
            // What counts is when it was asked for: the API may have written it any time after.
            let asked = Instant::now();
            let wait = match self.write(is_new, &taken).await {
                Ok(Answer::Done(lease)) => return Some(Leadership::begin(self.clone(), lease, asked)),
                Ok(Answer::Outrun) => self.breath(),
                Err(error) => self.rest(&mut complaint, &error),
            };
            sight = None;
            pause(wait, stop).await;
        }
        None
    }

    /// Reads the Lease.
    pub(crate) async fn read(&self) -> Result<Answer<Option<Lease>>, Unanswered> {
        self.call(&[], self.api.get_opt(&self.name)).await
    }

    /// Writes the Lease, if it is still what it was.
    pub(crate) async fn write(&self, is_new: bool, lease: &Lease) -> Result<Answer<Lease>, Unanswered> {
        let params = PostParams::default();
        match is_new {
            true => self.call(&[409], self.api.create(&params, lease)).await,
            false => {
                let call = self.api.replace(&self.name, &params, lease);
                self.call(&[404, 409], call).await
            }
        }
    }

    /// Makes a call, which ends in time for another one before the deadline. The codes say that we were outrun.
    async fn call<T>(
        &self,
        outrun: &[u16],
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<Answer<T>, Unanswered> {
        match timeout(self.terms.deadline / 2, call).await {
            Ok(Ok(answer)) => Ok(Answer::Done(answer)),
            Ok(Err(kube::Error::Api(status))) if outrun.contains(&status.code) => Ok(Answer::Outrun),
            Ok(Err(kube::Error::Api(status))) => Err(Unanswered::Refused(status.message.clone())),
            Ok(Err(error)) => Err(Unanswered::Failed(Box::new(error))),
            Err(_) => Err(Unanswered::Late),
        }
    }

    /// Between two tries of which the first came too late, so that no server is asked without end.
    fn breath(&self) -> Duration {
        self.terms.retry / 20
    }

    fn rest(&self, complaint: &mut Complaint, error: &Unanswered) -> Duration {
        complaint.tell(&self.name, error);
        self.terms.retry
    }
}

/// Waits, unless it is told to stop.
async fn pause(time: Duration, stop: &CancellationToken) {
    // Which of the two it was makes no difference here.
    let _ = timeout(time, stop.cancelled()).await;
}

/// Says what is wrong once, and not with every try.
#[derive(Default)]
pub(crate) struct Complaint {
    last: String,
}

impl Complaint {
    pub(crate) fn tell(&mut self, lease: &str, error: &Unanswered) {
        let text = error.to_string();
        if self.last != text {
            tracing::warn!(lease, error = text, "cannot read or write the Lease; tries again");
            self.last = text;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.last.clear();
    }
}
