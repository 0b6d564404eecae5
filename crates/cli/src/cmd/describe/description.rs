//! A description as data, and in words.

use std::{collections::BTreeMap, fmt::Write as _};

use capt_core::graph::age;
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;

use super::{
    At,
    again::{again, is_known},
};
use crate::look::{
    row::Row,
    style::{Colour, Style},
    text,
};

/// The longest text of an error that people are shown; the whole of it is in the log.
const MAX_ERROR: usize = 20;

/// All about one object.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Description {
    pub(super) object: String,
    pub(super) namespace: String,
    pub(super) state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ready: Option<bool>,
    /// Since when it is ready, or is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ready_since: At,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) created_at: At,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since: At,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) waits_for: Vec<Waiting>,
    /// What a person can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) advice: Vec<String>,
    /// What is known about it, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) facts: Vec<Fact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) timeouts: Vec<RunningTimeout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) profiles: Vec<Profile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) conditions: Vec<ConditionLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) operations: Vec<OperationLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<EventLine>,
}

/// Something that is waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Waiting {
    pub(super) object: String,
    pub(super) state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) why: String,
    /// What stands between.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) through: Vec<String>,
}

/// Something that is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// A step that may not take for ever.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunningTimeout {
    pub(super) step: &'static str,
    pub(super) since: Timestamp,
    pub(super) limit: String,
    /// What is left of it, or none if it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<String>,
}

/// A Fargate profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Profile {
    pub(super) name: String,
    pub(super) ready: bool,
    pub(super) phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since: At,
    /// The pods that run on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) selectors: Vec<String>,
    /// The selectors are wanted, and it has others until they are applied.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_other_selectors: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) subnets: Vec<String>,
    /// The role that its pods are run with, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tags: BTreeMap<String, String>,
    /// What it does or waits for, and what to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) apply: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workspace: Option<String>,
}

/// A condition that says something.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConditionLine {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) since: Timestamp,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// An operation that runs or is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OperationLine {
    pub(super) operation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started_at: At,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: At,
    pub(super) result: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: At,
    pub(super) object: String,
    pub(super) reason: String,
    pub(super) is_warning: bool,
    pub(super) count: i32,
    pub(super) message: String,
}

impl Description {
    /// For people.
    pub(super) fn words(&self, now: Timestamp, style: Style) -> String {
        let mut text = style.paint(&self.object, Some(Colour::Bold));
        // Writing to a string cannot fail.
        let _ = writeln!(text, " in {}", self.namespace);
        text.push_str(&self.state_line(now));
        if !self.message.is_empty() {
            // The state is one line above.
            let reason = Some(&self.reason).filter(|reason| !reason.is_empty() && **reason != self.state);
            let before = reason
                .map(|reason| format!("{}: ", text::plain(reason)))
                .unwrap_or_default();
            let lines: Vec<String> = text::lines(&self.message)
                .into_iter()
                .filter(|line| !line.is_empty())
                .collect();
            let _ = writeln!(text, "Why:          {before}{}", lines.join("\n              "));
        }
        for (at, waiting) in self.waits_for.iter().enumerate() {
            let label = if at == 0 {
                match self.ready {
                    Some(true) => "Look at:      ",
                    _ => "Waits for:    ",
                }
            } else {
                "              "
            };
            let why = Some(&waiting.why).filter(|why| !why.is_empty());
            let why = why.map(|why| format!(", {why}")).unwrap_or_default();
            let _ = writeln!(text, "{label}{} ({}){why}", waiting.object, waiting.state);
            if !waiting.through.is_empty() {
                let _ = writeln!(text, "                through {}", waiting.through.join(", "));
            }
        }
        for (at, advice) in self.advice.iter().enumerate() {
            let label = if at == 0 {
                "You can:      "
            } else {
                "              "
            };
            let _ = writeln!(text, "{label}{}", text::plain(advice));
        }
        for fact in &self.facts {
            let label = format!("{}:", fact.name);
            let _ = writeln!(text, "{label:<13} {}", text::plain(&fact.value));
        }
        if let Some(error) = self
            .last_error
            .as_ref()
            .filter(|error| !self.message.contains(*error) && !is_known(error, &self.message))
        {
            let lines = text::lines(&again(error, &self.message));
            let _ = writeln!(text, "\nLast error:");
            for line in lines.iter().take(MAX_ERROR) {
                let _ = writeln!(text, "  {line}");
            }
            if lines.len() > MAX_ERROR {
                let _ = writeln!(text, "  … and {} lines more", lines.len() - MAX_ERROR);
            }
        }
        self.tables(&mut text, now, style);
        text
    }

    fn state_line(&self, now: Timestamp) -> String {
        let mut words = vec![text::plain(&self.state)];
        if let Some(since) = self.since {
            words[0] += &format!(" since {}", age(since, now));
        }
        if let Some(percent) = self.percent {
            words.push(format!("{percent}% done"));
        }
        // Twice the same time would say nothing more.
        let ready_since = self.ready_since.filter(|since| Some(*since) != self.since);
        words.extend(self.ready.map(|ready| {
            let word = if ready { "ready" } else { "not ready" };
            match ready_since {
                Some(since) => format!("{word} for {}", age(since, now)),
                None => word.to_owned(),
            }
        }));
        words.extend(self.created_at.map(|time| format!("{} old", age(time, now))));
        format!("State:        {}\n", words.join(", "))
    }
}
