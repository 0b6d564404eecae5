//! An open watch: an answer that goes on, one JSON document per line.

use std::time::Duration;

use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

/// How long to wait for an event that the scenario expects.
const PATIENCE: Duration = Duration::from_secs(10);

/// The body of a watch and what was read of it beyond the last event.
pub(crate) struct Watch {
    body: Body,
    unread: Vec<u8>,
}

impl Watch {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body,
            unread: Vec::new(),
        }
    }

    /// The next `count` events, fewer when the stream ends or nothing more comes.
    /// How it stopped short is the last item, so that it shows in a comparison.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            match tokio::time::timeout(PATIENCE, self.next()).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return with(events, "<the stream ended>"),
                Err(_) => return with(events, "<no more events came>"),
            }
        }
        events
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                return Some(serde_json::from_str(&text).unwrap_or(Value::String(text)));
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.unread.extend_from_slice(&data);
            }
        }
    }
}

fn with(mut events: Vec<Value>, end: &str) -> Vec<Value> {
    events.push(end.into());
    events
}
