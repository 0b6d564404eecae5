//! Disturbing the events of a watch on their way to the watcher.

use std::future::pending;
use std::io;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use serde_json::json;
use tower::BoxError;

use crate::call::Call;
use crate::fault::{Disturbance, Faults};
use crate::process::CrashToken;

/// The stream of a watch, with whatever the rules make of its events.
pub(crate) fn disturbed(
    body: UnsyncBoxBody<Bytes, BoxError>,
    watch: Call,
    faults: Faults,
    token: CrashToken,
) -> UnsyncBoxBody<Bytes, BoxError> {
    let lines = Lines {
        source: body.into_data_stream().boxed(),
        buffer: BytesMut::new(),
    };
    let stream = Disturbed {
        lines,
        watch,
        faults,
        token,
        ended: false,
    };
    let frames = stream::unfold(stream, |mut stream| async move {
        let chunk = stream.next().await?;
        Some((chunk, stream))
    });
    StreamBody::new(frames.map_ok(Frame::data)).boxed_unsync()
}

struct Disturbed {
    lines: Lines,
    watch: Call,
    faults: Faults,
    token: CrashToken,
    ended: bool,
}

impl Disturbed {
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        if self.ended {
            return None;
        }
        let token = self.token.clone();
        tokio::select! {
            biased;
            () = token.crashed() => pending().await,
            chunk = self.next_alive() => chunk,
        }
    }

    async fn next_alive(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            let line = match self.lines.next().await? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let event = || serde_json::from_slice(&line).ok();
            let Some((disturbance, rule)) = self.faults.for_event(&self.watch, event) else {
                return Some(Ok(line));
            };
            match disturbance {
                Disturbance::Hold => {
                    rule.released().await;
                    return Some(Ok(line));
                }
                Disturbance::Drop => {}
                Disturbance::Duplicate => return Some(Ok([line.clone(), line].concat().into())),
                Disturbance::Cut => {
                    self.ended = true;
                    return Some(Ok(line.slice(..line.len() / 2)));
                }
                Disturbance::Reset => {
                    self.ended = true;
                    let error = io::Error::new(io::ErrorKind::ConnectionReset, "injected: the watch broke");
                    return Some(Err(error.into()));
                }
                Disturbance::Expire => {
                    self.ended = true;
                    return Some(Ok(expired()));
                }
            }
        }
    }
}

fn expired() -> Bytes {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": "Expired",
        "message": "injected: too old resource version",
        "code": 410,
    });
    format!("{}\n", json!({"type": "ERROR", "object": status})).into()
}

/// Cuts a body into lines, each with its line end.
struct Lines {
    source: BoxStream<'static, Result<Bytes, BoxError>>,
    buffer: BytesMut,
}

impl Lines {
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Some(Ok(self.buffer.split_to(end + 1).freeze()));
            }
            match self.source.next().await {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                Some(Err(error)) => return Some(Err(error)),
                None if self.buffer.is_empty() => return None,
                None => return Some(Ok(self.buffer.split().freeze())),
            }
        }
    }
}
