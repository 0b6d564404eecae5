//! Replaces what differs between any two runs by the name of the step in which it was first seen.
//!
//! A value keeps its name through the scenario, so that answers still show whether two uids or resource versions
//! are the same one: an update that changes nothing must not get a new version.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// The names that values have got so far.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    step: String,
    names: HashMap<String, String>,
    named_in_step: HashMap<&'static str, usize>,
}

impl Mask {
    /// Values first seen from here on are named after this step.
    pub(crate) fn enter(&mut self, step: &str) {
        self.step = step.to_owned();
        self.named_in_step.clear();
    }

    /// Masks a document in place.
    pub(crate) fn document(&mut self, value: &mut Value) {
        if let Value::Object(event) = value
            && event.get("type").is_some_and(|kind| kind == "BOOKMARK")
            && let Some(version) = event
                .get_mut("object")
                .and_then(|o| o.pointer_mut("/metadata/resourceVersion"))
        {
            *version = "<bookmark>".into();
        }
        self.value(value);
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                let is_list = members.contains_key("items") || members.contains_key("rows");
                if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
                    self.metadata(metadata, is_list);
                }
                sort_causes(members);
                if let Some(Value::Array(rows)) = members.get_mut("rows") {
                    rows.iter_mut().for_each(mask_ages);
                }
                members.values_mut().for_each(|member| self.value(member));
                if members.keys().any(|key| UID.is_match(key)) {
                    *members = std::mem::take(members)
                        .into_iter()
                        .map(|(key, value)| (self.text(&key), value))
                        .collect();
                }
            }
            _ => {}
        }
    }

    fn metadata(&mut self, metadata: &mut serde_json::Map<String, Value>, is_list: bool) {
        if let Some(Value::String(version)) = metadata.get_mut("resourceVersion") {
            let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
            if is_number && is_list {
                // A list's version counts the writes of the whole server, of which we make only some.
                *version = "<list>".into();
            } else if is_number {
                *version = self.name("version", version);
            }
        }
        if let Some(Value::String(token)) = metadata.get_mut("continue")
            && !token.is_empty()
        {
            *token = "<continue>".into();
        }
        if let Some(Value::String(prefix)) = metadata.get("generateName") {
            let prefix = prefix.clone();
            if let Some(Value::String(name)) = metadata.get_mut("name")
                && name.starts_with(&prefix)
                && name.len() > prefix.len()
            {
                let suffix = "?".repeat(name.len() - prefix.len());
                *name = format!("{prefix}{suffix}");
            }
        }
        if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
            // The server orders entries by a time in seconds, so the order depends on when the clock ticked.
            entries.sort_by_key(|entry| {
                let text = |key: &str| {
                    entry
                        .get(key)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                (
                    text("operation"),
                    text("manager"),
                    text("subresource"),
                    text("apiVersion"),
                )
            });
        }
    }

    /// Masks uids and times in a text, and objects that a message repeats with its fields in an order of its own.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let text = ECHO.replace_all(text, "Invalid value: \"<the object>\":");
        let text = UID.replace_all(&text, |found: &Captures<'_>| self.name("uid", &found[0]));
        TIME.replace_all(&text, |found: &Captures<'_>| mask_time(found))
            .into_owned()
    }

    /// Masks the output of kubectl, in which causes come in any order and columns are as wide as their longest value.
    pub(crate) fn output(&mut self, text: &str) -> Vec<String> {
        let mut lines: Vec<_> = text.lines().map(|line| self.line(line)).collect();
        for causes in lines.chunk_by_mut(|one, next| one.starts_with("* ") && next.starts_with("* ")) {
            causes.sort();
        }
        lines
    }

    fn line(&mut self, line: &str) -> String {
        let line = self.text(line);
        let line = VERSION_LINE.replace_all(&line, |found: &Captures<'_>| {
            format!("{}{}", &found[1], self.name("version", &found[2]))
        });
        let line = AGE.replace_all(&line, "$1<age>");
        let line = SERVER.replace_all(&line, "<server>");
        let line = SCRATCH.replace_all(&line, "<scratch>");
        GAP.replace_all(&line, "$1  ").trim_end().to_owned()
    }

    fn name(&mut self, kind: &'static str, value: &str) -> String {
        if let Some(name) = self.names.get(&format!("{kind} {value}")) {
            return name.clone();
        }
        let count = self.named_in_step.entry(kind).or_insert(0);
        *count += 1;
        let name = match *count {
            1 => format!("<{kind} of {}>", self.step),
            more => format!("<{kind} {more} of {}>", self.step),
        };
        self.names.insert(format!("{kind} {value}"), name.clone());
        name
    }
}

/// The server walks maps in an order of chance when it collects what is wrong with an object.
fn sort_causes(status: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(causes)) = status
        .get_mut("details")
        .and_then(|details| details.get_mut("causes"))
    else {
        return;
    };
    causes.sort_by_key(|cause| (cause["field"].to_string(), cause["message"].to_string()));
    if let Some(Value::String(message)) = status.get_mut("message")
        && let Some((head, _)) = message.split_once(" is invalid: [")
    {
        *message = format!("{head} is invalid: [<the causes>]");
    }
}

fn mask_ages(row: &mut Value) {
    let Some(Value::Array(cells)) = row.get_mut("cells") else {
        return;
    };
    for cell in cells {
        if cell.as_str().is_some_and(|text| WHOLE_AGE.is_match(text)) {
            *cell = "<age>".into();
        }
    }
}

/// Scenarios write times before 2010 themselves, and those must come back as they went in.
fn mask_time(found: &Captures<'_>) -> String {
    if found[1] < *"2010" {
        return found[0].to_owned();
    }
    let name = if found.get(2).is_some() {
        "<fine time>"
    } else {
        "<time>"
    };
    name.to_owned()
}

static UID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static ECHO: LazyLock<Regex> = LazyLock::new(|| regex(r#"Invalid value: "(?:\{.*\}|map\[.*\])":"#));
static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(\d{4})-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"));
static WHOLE_AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\d+[smhdy])+$"));
static AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"(\s)(?:\d+[smhd])+\b"));
static VERSION_LINE: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(resourceVersion"?: "|Resource Version:\s+)(\d+)"#));
static SERVER: LazyLock<Regex> = LazyLock::new(|| regex(r"https://127\.0\.0\.1:\d+"));
static SCRATCH: LazyLock<Regex> = LazyLock::new(|| regex(r"/tmp/(?:LIVE|MERGED)-\d+"));
static GAP: LazyLock<Regex> = LazyLock::new(|| regex(r"(\S) {2,}"));

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants that the tests compile"
)]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

#[cfg(test)]
mod tests;
