//! Who leads may write, and nobody else.

use http::{Method, Request};
use kube::{Client, client::Body};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tower::service_fn;

/// A write that was not made, or whose answer was not waited for, because another may lead by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process does not lead any more, so it writes nothing")]
pub struct NotLeading;

/// Open until a moment that moves on with every renewal. It closes by itself if nothing moves it.
#[derive(Clone, Debug)]
pub struct Gate {
    until: watch::Receiver<Option<Instant>>,
}

impl Gate {
    /// A gate, and what moves the moment on.
    pub(crate) fn new(until: Instant) -> (watch::Sender<Option<Instant>>, Self) {
        let (sender, receiver) = watch::channel(Some(until));
        (sender, Self { until: receiver })
    }

    /// Whether it is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.until.borrow().is_some_and(|until| Instant::now() < until)
    }

    /// Resolves when it is closed, which it then is for ever.
    pub async fn closed(&self) {
        let mut until = self.until.clone();
        loop {
            let Some(moment) = *until.borrow_and_update() else {
                return;
            };
            tokio::select! {
                () = sleep_until(moment) => {
                    // It may have moved on in the same instant.
                    if !self.is_open() {
                        return;
                    }
                }
                changed = until.changed() => {
                    if changed.is_err() {
                        sleep_until(moment).await;
                        return;
                    }
                }
            }
        }
    }
}

/// The same client, whose writes fail unless the gate is open, and are given up when it closes.
///
/// Reads are not touched: what is known stays known, and nothing comes of it.
#[must_use]
pub fn guarded(client: &Client, gate: &Gate) -> Client {
    let namespace = client.default_namespace().to_owned();
    let (client, gate) = (client.clone(), gate.clone());
    let service = service_fn(move |request: Request<Body>| {
        let (client, gate) = (client.clone(), gate.clone());
        async move {
            if matches!(*request.method(), Method::GET | Method::HEAD) {
                return client.send(request).await;
            }
            let refused = || Err(kube::Error::Service(NotLeading.into()));
            if !gate.is_open() {
                return refused();
            }
            tokio::select! {
                answer = client.send(request) => answer,
                () = gate.closed() => refused(),
            }
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_closes_when_nothing_moves_the_moment_on() {
        let start = Instant::now();
        let (sender, gate) = Gate::new(start + Duration::from_secs(10));
        let closed = tokio::spawn({
            let gate = gate.clone();
            async move {
                gate.closed().await;
                start.elapsed().as_secs()
            }
        });
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert!(gate.is_open());
        sender.send_replace(Some(start + Duration::from_secs(15)));
        assert_eq!(closed.await.unwrap(), 15);
        assert!(!gate.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn it_closes_at_once_when_it_is_told_to_and_in_time_when_nobody_is_left_to_tell() {
        let start = Instant::now();
        let (sender, gate) = Gate::new(start + Duration::from_secs(10));
        sender.send_replace(None);
        gate.closed().await;
        assert_eq!(start.elapsed(), Duration::ZERO);

        let (sender, gate) = Gate::new(start + Duration::from_secs(10));
        drop(sender);
        assert!(gate.is_open());
        gate.closed().await;
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }
}
