//! Events: what people should hear about. Nothing waits for them: what cannot be told is logged, and so is what there is no
//! room for.

use std::sync::Arc;

use capt_core::{
    decision::Event,
    telling::{Reporter, counted, told},
};
use futures::{StreamExt as _, stream};
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event as Told},
    jiff::{SignedDuration, Timestamp},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::{FIELD_MANAGER, Subject};
use crate::{
    engine::call::{CallError, within_deadline},
    metrics::Metrics,
};

const REPORTER: Reporter<'_> = Reporter {
    controller: "infrastructure.cluster.x-k8s.io/capt",
    instance: FIELD_MANAGER,
};
/// News that come again within this time are the same ones, told twice. Later ones are others: who asks for another try, and
/// hears only that it began, takes it for running.
const SAME_NEWS: SignedDuration = SignedDuration::from_secs(1);
/// That something is still so is not worth another write within this time.
const STILL_SO: SignedDuration = SignedDuration::from_secs(60);

/// How many events wait to be told. There is no room for more.
const WAITING: usize = 4096;
/// How many are told at a time: nobody waits for them, so that they leave the API to what somebody waits for.
const AT_A_TIME: usize = 4;

/// Tells people what happens, while what made it happen goes on.
#[derive(Clone)]
pub(crate) struct Teller {
    queue: mpsc::Sender<Telling>,
    /// How many are not told yet.
    untold: Arc<watch::Sender<usize>>,
    metrics: Metrics,
}

/// Something to tell.
struct Telling {
    event: Told,
    now: Timestamp,
    /// It is not told again within this time.
    within: SignedDuration,
}

impl Teller {
    /// One that hands events on, and what tells them for as long as it runs.
    pub(crate) fn new(client: Client, metrics: Metrics) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, tellings) = mpsc::channel(WAITING);
        let untold = Arc::new(watch::Sender::new(0));
        let teller = Self {
            queue,
            untold: untold.clone(),
            metrics: metrics.clone(),
        };
        let next = |mut tellings: mpsc::Receiver<Telling>| async move {
            let telling = tellings.recv().await?;
            Some((telling, tellings))
        };
        let tells = stream::unfold(tellings, next).for_each_concurrent(AT_A_TIME, move |telling| {
            let (client, untold, metrics) = (client.clone(), untold.clone(), metrics.clone());
            async move {
                if let Err(error) = tell(&client, &telling).await {
                    let error: &dyn std::error::Error = &error;
                    let object = telling.event.regarding.as_ref().and_then(|of| of.name.as_deref());
                    tracing::debug!(error, object, "an event was not told");
                }
                untold.send_modify(|untold| *untold -= 1);
                metrics.untold(*untold.borrow());
            }
        });
        (teller, tells)
    }

    /// Tells people that something happened to an object.
    pub(super) fn tell(&self, subject: &Subject, event: &Event, now: Timestamp) {
        self.hand_on(SAME_NEWS, subject, event, now);
    }

    /// Tells people something about an object that is found again at every look.
    pub(crate) fn remind(&self, subject: &Subject, event: &Event, now: Timestamp) {
        self.hand_on(STILL_SO, subject, event, now);
    }

    fn hand_on(&self, within: SignedDuration, subject: &Subject, event: &Event, now: Timestamp) {
        // Nobody listens any more when the controllers stop, and where the API takes no events there are soon too many.
        let Ok(place) = self.queue.try_reserve() else {
            tracing::warn!(
                object = subject.target.name,
                reason = event.reason,
                "an event is not told, for want of room"
            );
            return;
        };
        let event = told(event, about(subject), REPORTER, now);
        self.untold.send_modify(|untold| *untold += 1);
        place.send(Telling { event, now, within });
        self.metrics.untold(*self.untold.borrow());
    }

    /// Waits until everything was told.
    pub(crate) async fn has_told(&self) {
        // It fails only if nobody can tell anything any more.
        let _ = self.untold.subscribe().wait_for(|untold| *untold == 0).await;
    }
}

/// Tells something, unless that was done a short time ago.
async fn tell(client: &Client, telling: &Telling) -> Result<(), CallError> {
    let metadata = &telling.event.metadata;
    let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
    let api: Api<Told> = Api::namespaced(client.clone(), namespace.unwrap_or_default());
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match within_deadline(api.create(&parameters, &telling.event)).await {
        Ok(_) => return Ok(()),
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(error),
    }
    let name = name.unwrap_or_default();
    let present = within_deadline(api.get(name)).await?;
    let Some(series) = counted(&present, telling.within, telling.now) else {
        return Ok(());
    };
    let patch = Patch::Merge(json!({"series": series}));
    within_deadline(api.patch(name, &PatchParams::default(), &patch)).await?;
    Ok(())
}

fn about(subject: &Subject) -> ObjectReference {
    let target = &subject.target;
    ObjectReference {
        api_version: Some(target.api_version.clone()),
        kind: Some(target.kind.clone()),
        name: Some(target.name.clone()),
        namespace: target.namespace.clone(),
        uid: Some(subject.uid.clone()),
        ..ObjectReference::default()
    }
}
