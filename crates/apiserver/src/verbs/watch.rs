//! GET with `watch`: a stream of changes.
//!
//! A watch pulls from the table's log; nothing is queued for it. If it falls behind the kept history it is told so
//! (410 inside the stream) and ended.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::Call;
use super::render::{document_bytes, partial_metadata, row, table_head, with_warnings};
use super::selection::Selection;
use super::update::current_document;
use crate::metrics::Gauge;
use crate::registry::Registry;
use crate::request::Form;
use crate::status::{ApiError, ApiResult, json_response};
use crate::store::{Draft, Event, EventKind, Log, Object, frame};

/// How often an idle watch is told the current revision.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Upstream ends watches that name no timeout after 30 to 60 minutes.
const MIN_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// No watch is open for longer than this, whatever it asks for.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Events handed to the connection at once.
const BATCH: usize = 512;

pub(crate) fn watch(call: Call) -> ApiResult<Response> {
    call.query.check_list()?;
    let selection = Selection::of(&call)?;
    let state = call.server.store.visible();
    let wanted = call.query.revision().map_err(ApiError::unthought_of)?;
    let with_initial = match call.query.send_initial_events {
        Some(wish) => wish,
        None => wanted.is_none(),
    };
    if let Some(wanted) = wanted
        && with_initial
        && wanted > state.revision
    {
        return Err(ApiError::revision_too_large(wanted, state.revision));
    }
    let log = call.server.store.log(&call.resource.id);
    let cursor = match wanted {
        Some(revision) if !with_initial => revision,
        _ => state.revision,
    };
    let initial: VecDeque<Arc<Object>> = if with_initial {
        let table = state.table(&call.resource.id);
        let found = selection.candidates(&table, None);
        found
            .filter(|object| selection.matches(&call.resource, object))
            .cloned()
            .collect()
    } else {
        VecDeque::new()
    };
    let now = Instant::now();
    let random_half = Duration::from_secs(u64::from(Uuid::new_v4().as_bytes()[0]) * 7);
    let watching = Watching {
        ticks: log.ticks(),
        changes: call.server.registry_changes(),
        _open: call.server.metrics.open_watch(&call.resource),
        log,
        selection,
        initial,
        marks_initial_end: call.query.send_initial_events == Some(true) && call.query.bookmarks,
        cursor,
        columns_sent: false,
        ended: false,
        deadline: now
            + call
                .query
                .timeout
                .unwrap_or(MIN_TIMEOUT + random_half)
                .min(MAX_TIMEOUT),
        next_bookmark: now + BOOKMARK_EVERY,
        call,
    };
    let call = watching.call.retargeted(watching.call.target.clone());
    let frames = stream::unfold(watching, |mut watching| async move {
        let chunk = watching.next_chunk().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), watching))
    });
    Ok(with_warnings(
        &call,
        json_response(StatusCode::OK, Body::from_stream(frames)),
        &[],
    ))
}

/// Waits for a change without taking note of it.
async fn wait_for_change(changes: &mut watch::Receiver<Arc<Registry>>) {
    if changes.changed().await.is_ok() {
        changes.mark_changed();
    }
}

struct Watching {
    call: Call,
    selection: Selection,
    log: Arc<Log>,
    ticks: watch::Receiver<u64>,
    changes: watch::Receiver<Arc<Registry>>,
    initial: VecDeque<Arc<Object>>,
    marks_initial_end: bool,
    cursor: u64,
    columns_sent: bool,
    ended: bool,
    deadline: Instant,
    next_bookmark: Instant,
    _open: Gauge,
}

impl Watching {
    async fn next_chunk(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        if !self.initial.is_empty() {
            return Some(self.initial_chunk());
        }
        if std::mem::take(&mut self.marks_initial_end) {
            return Some(self.bookmark(true));
        }
        loop {
            if self.is_over() {
                return self.end();
            }
            // The order matters: every event up to a visible revision is in the log.
            let visible = self.call.server.store.visible().revision;
            if self.cursor > visible {
                // The client has seen another life of this server, and must start anew.
                return Some(self.expired(visible));
            }
            match self.log.between(self.cursor, visible, BATCH) {
                Err(_) => return Some(self.expired(visible)),
                Ok(events) => {
                    self.cursor = match events.last() {
                        Some(last) if events.len() == BATCH => last.revision(),
                        _ => visible.max(self.cursor),
                    };
                    let chunk = self.chunk(&events);
                    if !chunk.is_empty() {
                        return Some(chunk);
                    }
                    if events.len() == BATCH {
                        continue;
                    }
                }
            }
            let bookmarks = self.call.query.bookmarks;
            tokio::select! {
                biased;
                () = self.call.server.stopping.cancelled() => return self.end(),
                changed = self.ticks.changed() => {
                    if changed.is_err() {
                        return self.end();
                    }
                }
                // What changed is looked at before the next batch.
                _ = wait_for_change(&mut self.changes) => {}
                () = sleep_until(self.deadline) => return self.end(),
                () = sleep_until(self.next_bookmark), if bookmarks => {
                    self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
                    return Some(self.bookmark(false));
                }
            }
        }
    }

    /// Looked at before every batch, so that a steady flow of events does not keep an ended watch alive.
    fn is_over(&mut self) -> bool {
        let changed = self.changes.has_changed().unwrap_or(true);
        if changed {
            self.changes.mark_unchanged();
        }
        self.call.server.stopping.is_cancelled()
            || Instant::now() >= self.deadline
            || (changed && !self.still_served())
    }

    /// Ends cleanly, with a last bookmark so that the client can go on from there.
    fn end(&mut self) -> Option<Bytes> {
        self.ended = true;
        self.call.query.bookmarks.then(|| self.bookmark(false))
    }

    /// A changed definition ends its watches: what they would send is no longer what is served.
    fn still_served(&self) -> bool {
        let resource = &self.call.resource;
        let Some(was) = resource.custom() else { return true };
        let registry = self.changes.borrow();
        let is = registry
            .get(&resource.group, &resource.version, &resource.plural)
            .and_then(|found| found.custom());
        is.is_some_and(|is| {
            is.definition_uid == was.definition_uid && is.definition_generation == was.definition_generation
        })
    }

    fn initial_chunk(&mut self) -> Bytes {
        let mut out = Vec::new();
        for _ in 0..BATCH {
            let Some(object) = self.initial.pop_front() else {
                break;
            };
            self.append(&mut out, EventKind::Added, &object);
        }
        out.into()
    }

    fn chunk(&mut self, events: &[Arc<Event>]) -> Bytes {
        if let [event] = events
            && let Some(frame) = self.shared_frame(event)
        {
            return frame;
        }
        let mut out = Vec::new();
        for event in events {
            match self.shared_frame(event) {
                Some(frame) => out.extend_from_slice(&frame),
                None => self.append_seen(&mut out, event),
            }
        }
        out.into()
    }

    /// The frame that all watchers of the plain form share, if this watcher sees the event as it is.
    fn shared_frame(&self, event: &Event) -> Option<Bytes> {
        let resource = &self.call.resource;
        let plain = self.call.form == Form::Full
            && !resource.is_view()
            && resource
                .custom()
                .is_none_or(|custom| event.revision() >= custom.schema_since)
            && !self.selection.is_selective()
            && self.selection.matches(resource, &event.object);
        plain.then(|| event.frame())
    }

    /// What the event is to this watcher: an object that starts to match appears, one that stops matching goes.
    fn append_seen(&mut self, out: &mut Vec<u8>, event: &Event) {
        let resource = self.call.resource.clone();
        let matches = |object: &Object| self.selection.matches(&resource, object);
        let before = event.previous.as_deref().is_some_and(matches);
        let after = event.kind != EventKind::Deleted && matches(&event.object);
        match (before, after) {
            (false, false) => {}
            (false, true) => self.append(out, EventKind::Added, &event.object),
            (true, true) => self.append(out, EventKind::Modified, &event.object),
            (true, false) => {
                // The last version that matched, at the revision of the change.
                let last = event
                    .previous
                    .as_deref()
                    .map(|object| Draft::new(&object.value()).at(event.revision()));
                if let Some(last) = last {
                    self.append(out, EventKind::Deleted, &last);
                }
            }
        }
    }

    fn append(&mut self, out: &mut Vec<u8>, kind: EventKind, object: &Object) {
        let body: Bytes = match self.call.form {
            Form::Full => document_bytes(&self.call, object),
            Form::Metadata(version) => partial_metadata(version, &current_document(&self.call, object))
                .to_string()
                .into(),
            Form::Table(version) => {
                let document = current_document(&self.call, object);
                let mut table = table_head(&self.call, version, !self.columns_sent);
                self.columns_sent = true;
                table["metadata"] = json!({"resourceVersion": object.revision.to_string()});
                table["rows"] = json!([row(&self.call, version, &document)]);
                table.to_string().into()
            }
        };
        out.extend_from_slice(&frame(kind.as_str(), &body));
    }

    fn bookmark(&self, ends_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.cursor.to_string()});
        if ends_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let resource = &self.call.resource;
        let object: Value = match self.call.form {
            Form::Full => json!({
                "kind": resource.kind,
                "apiVersion": resource.api_version(),
                "metadata": metadata,
            }),
            Form::Metadata(version) => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": version.api_version(),
                "metadata": metadata,
            }),
            Form::Table(version) => {
                let mut table = table_head(&self.call, version, false);
                table["metadata"] = metadata;
                table
            }
        };
        frame("BOOKMARK", object.to_string().as_bytes())
    }

    fn expired(&mut self, visible: u64) -> Bytes {
        self.ended = true;
        let error = ApiError::expired(format!("too old resource version: {} ({visible})", self.cursor));
        frame("ERROR", error.status().to_string().as_bytes())
    }
}
