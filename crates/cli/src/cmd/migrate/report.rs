//! What becomes of what was left behind, as data and in words.

use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::look::text;

/// What becomes of everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// What a person has to do.
    pub(super) first: Vec<String>,
    /// What the controllers take over.
    pub(super) taken_over: Vec<Finding>,
    /// What stays as it is.
    pub(super) untouched: Vec<Finding>,
    /// What needs an approval.
    pub(super) approvals: Vec<Finding>,
    /// What this command does itself.
    pub(super) replaced: Vec<String>,
}

/// What becomes of one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub(super) object: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    pub(super) says: Vec<String>,
}

impl Finding {
    pub(super) fn new(metadata: &ObjectMeta, kind: &str, says: Vec<String>) -> Self {
        Self {
            object: format!("{kind}/{}", metadata.name.as_deref().unwrap_or_default()),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            says,
        }
    }
}

impl Report {
    /// For people.
    pub(super) fn words(&self) -> String {
        if *self == Self::default() {
            return "Nothing of the Go implementation is here that capt has not taken over.\n".to_owned();
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        if !self.first.is_empty() {
            text.push_str("What you have to do:\n");
            for line in &self.first {
                let _ = writeln!(text, "  {}", text::plain(line));
            }
        }
        section(&mut text, "What the controllers take over:", &self.taken_over);
        section(&mut text, "What is not touched:", &self.untouched);
        section(&mut text, "What needs an approval:", &self.approvals);
        if !self.replaced.is_empty() {
            text.push_str("What `capt migrate` does without --dry-run:\n");
            for line in &self.replaced {
                let _ = writeln!(text, "  {}", text::plain(line));
            }
        }
        text
    }
}

fn section(text: &mut String, title: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}");
    for finding in findings {
        let place = match finding.namespace.is_empty() {
            true => String::new(),
            false => format!(" in {}", finding.namespace),
        };
        let _ = writeln!(text, "  {}{}", text::plain(&finding.object), text::plain(&place));
        for line in &finding.says {
            let _ = writeln!(text, "    {}", text::plain(line));
        }
    }
}
