//! Holding the Lease.

use k8s_openapi::api::coordination::v1::Lease;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    Candidacy, Gate,
    candidate::{Answer, Complaint},
    record,
};

/// The Lease, held and renewed until it is given back or lost. Dropped, it is no longer renewed.
#[derive(Debug)]
pub struct Leadership {
    gate: Gate,
    stop: CancellationToken,
    renewing: AbortOnDropHandle<()>,
}

impl Leadership {
    pub(crate) fn begin(candidacy: Candidacy, lease: Lease, asked: Instant) -> Self {
        let (until, gate) = Gate::new(asked + candidacy.terms.deadline);
        let stop = CancellationToken::new();
        let held = Held {
            candidacy,
            lease,
            renewed: asked,
            until,
        };
        let renewing = tokio::spawn(held.renew(stop.clone()));
        Self {
            gate,
            stop,
            renewing: AbortOnDropHandle::new(renewing),
        }
    }

    /// Open for as long as it leads.
    #[must_use]
    pub fn gate(&self) -> Gate {
        self.gate.clone()
    }

    /// Gives the Lease back, so that another can take it at once. Nothing may be written any more.
    pub async fn release(self) {
        self.stop.cancel();
        // A task that fails leaves the gate to close by itself, and the Lease to run out.
        let _ = self.renewing.await;
    }
}

/// What the one who renews it knows.
struct Held {
    candidacy: Candidacy,
    lease: Lease,
    /// When the last renewal that succeeded was asked for.
    renewed: Instant,
    until: watch::Sender<Option<Instant>>,
}

/// What a try came to.
enum Try {
    Renewed,
    /// The API has another version of it, or none.
    Unsure,
    Failed,
    Lost,
}

impl Held {
    async fn renew(mut self, stop: CancellationToken) {
        let mut complaint = Complaint::default();
        let mut outcome = Try::Renewed;
        loop {
            let rest = self.candidacy.terms.retry;
            let deadline = self.renewed + self.candidacy.terms.deadline;
            let next = async {
                if !matches!(outcome, Try::Unsure) {
                    sleep(rest).await;
                }
                let is_sure = !matches!(outcome, Try::Unsure);
                self.attempt(is_sure, &mut complaint).await
            };
            let tried = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                tried = timeout_at(deadline, next) => Some(tried.unwrap_or(Try::Lost)),
            };
            match tried {
                None => return self.give_back().await,
                Some(Try::Lost) => {
                    self.until.send_replace(None);
                    tracing::warn!(lease = self.candidacy.name, "does not lead any more");
                    return;
                }
                Some(tried) => outcome = tried,
            }
            if matches!(outcome, Try::Renewed) {
                complaint.clear();
                self.until
                    .send_replace(Some(self.renewed + self.candidacy.terms.deadline));
            }
        }
    }

    async fn attempt(&mut self, is_sure: bool, complaint: &mut Complaint) -> Try {
        let candidacy = &self.candidacy;
        let asked = Instant::now();
        if !is_sure {
            match candidacy.read().await {
                Ok(Answer::Done(Some(lease))) => {
                    if record::holder(&lease) != Some(&candidacy.identity) {
                        return Try::Lost;
                    }
                    self.lease = lease;
                }
                // Whoever removed it may have let another one begin, whom nothing would hold back.
                Ok(Answer::Done(None) | Answer::Outrun) => return Try::Lost,
                Err(error) => {
                    complaint.tell(&candidacy.name, &error);
                    sleep(candidacy.terms.retry).await;
                    return Try::Unsure;
                }
            }
        }
        let renewed = record::renewed(self.lease.clone(), &candidacy.terms, (candidacy.clock)());
        match candidacy.write(false, &renewed).await {
            Ok(Answer::Done(lease)) => {
                self.lease = lease;
                self.renewed = asked;
                Try::Renewed
            }
            Ok(Answer::Outrun) => Try::Unsure,
            Err(error) => {
                complaint.tell(&candidacy.name, &error);
                Try::Failed
            }
        }
    }

    async fn give_back(self) {
        self.until.send_replace(None);
        let candidacy = &self.candidacy;
        let mut lease = self.lease;
        // A renewal that was under way may have been written all the same; then it is ours in another version.
        for _ in 0..2 {
            let free = record::given_back(lease, (candidacy.clock)());
            match candidacy.write(false, &free).await {
                Ok(Answer::Done(_)) => return,
                Ok(Answer::Outrun) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot give the Lease back; it runs out by itself");
                    return;
                }
            }
            match candidacy.read().await {
                Ok(Answer::Done(Some(found))) if record::holder(&found) == Some(&candidacy.identity) => {
                    lease = found;
                }
                _ => return,
            }
        }
    }
}
