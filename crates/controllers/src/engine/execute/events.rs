//! Events: what people should hear about. A failure to tell them is logged and holds up nothing.
//!
//! An event is named after what it says, so that a repetition is counted on the one that is there, also after a restart.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use capt_core::decision::{Event, EventKind};
use futures::{StreamExt as _, stream};
use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event as Told, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::{SignedDuration, Timestamp},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::{FIELD_MANAGER, Subject};
use crate::engine::call::{CallError, within_deadline};

const REPORTER: &str = "infrastructure.cluster.x-k8s.io/capt";
/// The API takes no longer ones, in bytes.
const MAX_NOTE: usize = 1024;
/// News that come again within this time are the same ones, told twice. Later ones are others: who asks for another try, and
/// hears only that it began, takes it for running.
const SAME_NEWS: SignedDuration = SignedDuration::from_secs(1);
/// That something is still so is not worth another write within this time.
const STILL_SO: SignedDuration = SignedDuration::from_secs(60);

/// How many events wait to be told. Who has another one waits for room.
const WAITING: usize = 4096;
/// How many are told at a time: nobody waits for them, so that they leave the API to what somebody waits for.
const AT_A_TIME: usize = 4;

/// Tells people what happens, while what made it happen goes on.
#[derive(Clone)]
pub(crate) struct Teller {
    queue: mpsc::Sender<Telling>,
    /// How many are not told yet.
    untold: Arc<watch::Sender<usize>>,
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
    pub(crate) fn new(client: Client) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, tellings) = mpsc::channel(WAITING);
        let untold = Arc::new(watch::Sender::new(0));
        let teller = Self {
            queue,
            untold: untold.clone(),
        };
        let next = |mut tellings: mpsc::Receiver<Telling>| async move {
            let telling = tellings.recv().await?;
            Some((telling, tellings))
        };
        let tells = stream::unfold(tellings, next).for_each_concurrent(AT_A_TIME, move |telling| {
            let (client, untold) = (client.clone(), untold.clone());
            async move {
                if let Err(error) = tell(&client, &telling).await {
                    let error: &dyn std::error::Error = &error;
                    let object = telling.event.regarding.as_ref().and_then(|of| of.name.as_deref());
                    tracing::debug!(error, object, "an event was not told");
                }
                untold.send_modify(|untold| *untold -= 1);
            }
        });
        (teller, tells)
    }

    /// Tells people that something happened to an object.
    pub(super) async fn tell(&self, subject: &Subject, event: &Event, now: Timestamp) {
        self.hand_on(SAME_NEWS, subject, event, now).await;
    }

    /// Tells people something about an object that is found again at every look.
    pub(crate) async fn remind(&self, subject: &Subject, event: &Event, now: Timestamp) {
        self.hand_on(STILL_SO, subject, event, now).await;
    }

    async fn hand_on(&self, within: SignedDuration, subject: &Subject, event: &Event, now: Timestamp) {
        let event = written(subject, event, now);
        self.untold.send_modify(|untold| *untold += 1);
        // Nobody listens any more when the controllers stop.
        if self.queue.send(Telling { event, now, within }).await.is_err() {
            self.untold.send_modify(|untold| *untold -= 1);
        }
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

/// How often something was told, with this time, unless it was told so short a time ago.
fn counted(present: &Told, within: SignedDuration, now: Timestamp) -> Option<EventSeries> {
    let (count, last) = match &present.series {
        Some(series) => (series.count, Some(series.last_observed_time.0)),
        None => (1, present.event_time.as_ref().map(|time| time.0)),
    };
    let is_other = last.is_none_or(|last| now.duration_since(last) >= within);
    is_other.then(|| EventSeries {
        count: count.saturating_add(1),
        last_observed_time: MicroTime(now),
    })
}

fn written(subject: &Subject, event: &Event, now: Timestamp) -> Told {
    let target = &subject.target;
    let namespace = target.namespace.as_deref().unwrap_or("default");
    Told {
        metadata: ObjectMeta {
            name: Some(name(subject, event)),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(REPORTER.to_owned()),
        reporting_instance: Some(FIELD_MANAGER.to_owned()),
        action: Some("Reconcile".to_owned()),
        reason: Some(event.reason.clone()),
        note: Some(fitting(&event.message).to_owned()),
        type_: Some(
            match event.kind {
                EventKind::Normal => "Normal",
                EventKind::Warning => "Warning",
            }
            .to_owned(),
        ),
        regarding: Some(ObjectReference {
            api_version: Some(target.api_version.clone()),
            kind: Some(target.kind.clone()),
            name: Some(target.name.clone()),
            namespace: target.namespace.clone(),
            uid: Some(subject.uid.clone()),
            ..ObjectReference::default()
        }),
        ..Told::default()
    }
}

/// As much of a message as the API takes.
fn fitting(message: &str) -> &str {
    let ends = message.char_indices().map(|(at, one)| at + one.len_utf8());
    let end = ends.take_while(|end| *end <= MAX_NOTE).last();
    &message[..end.unwrap_or(0)]
}

fn name(subject: &Subject, event: &Event) -> String {
    let mut hasher = DefaultHasher::new();
    (&subject.uid, &event.reason, &event.message).hash(&mut hasher);
    let mut stem = subject.target.name.clone();
    stem.truncate(200);
    format!("{}.{:016x}", stem.trim_end_matches(['-', '.']), hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_that_come_again_are_counted_and_what_is_still_so_now_and_then() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let told = |series: Option<(i32, i64)>| Told {
            event_time: Some(MicroTime(at(0))),
            series: series.map(|(count, last)| EventSeries {
                count,
                last_observed_time: MicroTime(at(last)),
            }),
            ..Told::default()
        };
        for (series, within, now, expected) in [
            (None, SAME_NEWS, 0, None),
            (None, SAME_NEWS, 2, Some(2)),
            (Some((2, 30)), SAME_NEWS, 32, Some(3)),
            (Some((2, 30)), STILL_SO, 32, None),
            (Some((2, 30)), STILL_SO, 90, Some(3)),
        ] {
            let counted = counted(&told(series), within, at(now)).map(|series| series.count);
            assert_eq!(counted, expected, "{series:?} at {now}");
        }
    }

    #[test]
    fn a_note_is_as_long_as_the_api_takes_it() {
        let subject = Subject::of("v1", "Thing", &ObjectMeta::default());
        for (message, length) in [
            ("x".repeat(MAX_NOTE), MAX_NOTE),
            ("x".repeat(MAX_NOTE + 1), MAX_NOTE),
            (format!("x{}", "é".repeat(MAX_NOTE)), MAX_NOTE - 1),
        ] {
            let event = Event {
                kind: EventKind::Normal,
                reason: "Told".to_owned(),
                message,
            };
            let told = written(&subject, &event, Timestamp::UNIX_EPOCH);
            assert_eq!(told.note.unwrap().len(), length);
        }
    }
}
