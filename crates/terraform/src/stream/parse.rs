//! From a line to an event.

use jiff::Timestamp;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

use super::{Engine, Event, Kind, Level, Line, Step};

/// What one line says. Never fails: a line that is no event is text.
#[must_use]
pub fn parse_line(line: &[u8]) -> Line {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match serde_json::from_slice::<Map<String, Value>>(line) {
        Ok(object) if is_event(&object) => Line::Event(Box::new(event(object, line))),
        Ok(_) => Line::Text(lossy(line)),
        // Terraform starts every event with this key, so nothing else is mistaken for the beginning of one.
        Err(_) if line.starts_with(b"{\"@") => Line::Torn(lossy(line)),
        Err(_) => Line::Text(lossy(line)),
    }
}

fn lossy(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn is_event(object: &Map<String, Value>) -> bool {
    object.contains_key("@message") || object.contains_key("@level")
}

fn event(mut object: Map<String, Value>, line: &[u8]) -> Event {
    let level = match object.get("@level").and_then(Value::as_str) {
        Some("error") => Level::Error,
        Some("warn") => Level::Warn,
        Some("debug" | "trace") => Level::Debug,
        _ => Level::Info,
    };
    let at = object
        .get("@timestamp")
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<Timestamp>().ok());
    let message = take_text(&mut object, "@message");
    let name = take_text(&mut object, "type");
    Event {
        level,
        message,
        at,
        kind: kind(name, object, line),
    }
}

fn kind(name: String, mut object: Map<String, Value>, line: &[u8]) -> Kind {
    let known = match name.as_str() {
        "version" => version(&mut object),
        "log" => Some(Kind::Log {
            state: emergency_state(&object, line),
        }),
        "diagnostic" => payload(&mut object, "diagnostic").map(Kind::Diagnostic),
        "planned_change" => payload(&mut object, "change").map(Kind::PlannedChange),
        "resource_drift" => payload(&mut object, "change").map(Kind::ResourceDrift),
        "change_summary" => payload(&mut object, "changes").map(Kind::ChangeSummary),
        "outputs" => payload(&mut object, "outputs").map(Kind::Outputs),
        "init_output" => Some(Kind::Init {
            code: take_text(&mut object, "message_code"),
        }),
        "state_lock_acquire" => Some(Kind::StateLock { acquiring: true }),
        "state_lock_release" => Some(Kind::StateLock { acquiring: false }),
        // OpenTofu has words of its own for these two.
        "ephemeral_action_started" => hook(&mut object, Step::Started, Kind::Ephemeral),
        "ephemeral_action_complete" => hook(&mut object, Step::Complete, Kind::Ephemeral),
        other => stepped(other, &mut object),
    };
    known.unwrap_or(Kind::Unknown { name })
}

fn stepped(name: &str, object: &mut Map<String, Value>) -> Option<Kind> {
    if name.starts_with("test_") {
        return Some(Kind::Test {
            name: name.to_owned(),
        });
    }
    let (family, step) = name.rsplit_once('_')?;
    let step = match step {
        "start" => Step::Started,
        "progress" => Step::Progress,
        "complete" => Step::Complete,
        "errored" => Step::Errored,
        _ => return None,
    };
    match family {
        "apply" => hook(object, step, Kind::Apply),
        "refresh" => hook(object, step, Kind::Refresh),
        "ephemeral_op" => hook(object, step, Kind::Ephemeral),
        "provision" => hook(object, step, Kind::Provision),
        _ => None,
    }
}

fn hook<T: DeserializeOwned>(
    object: &mut Map<String, Value>,
    step: Step,
    kind: impl FnOnce(Step, Box<T>) -> Kind,
) -> Option<Kind> {
    payload(object, "hook").map(|hook| kind(step, hook))
}

fn version(object: &mut Map<String, Value>) -> Option<Kind> {
    let ui = take_text(object, "ui");
    [("terraform", Engine::Terraform), ("tofu", Engine::OpenTofu)]
        .into_iter()
        .find_map(|(key, engine)| {
            let version = object.get(key)?.as_str()?.to_owned();
            Some(Kind::Version {
                engine,
                version,
                ui: ui.clone(),
            })
        })
}

/// The state byte for byte: numbers in it may be longer than ours.
fn emergency_state(object: &Map<String, Value>, line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Dump {
        state: Box<RawValue>,
    }
    object.get("state")?;
    let dump: Dump = serde_json::from_slice(line).ok()?;
    Some(dump.state.get().to_owned())
}

fn payload<T: DeserializeOwned>(object: &mut Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(object.remove(key)?).ok()
}

fn take_text(object: &mut Map<String, Value>, key: &str) -> String {
    match object.remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}
