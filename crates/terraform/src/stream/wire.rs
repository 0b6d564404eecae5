//! The payloads of events, as they are on the wire.
//!
//! Every field may be missing: other versions and other programs leave some out, and half a fact beats none.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Action;

/// A resource instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resource {
    /// Whole address, with module and key.
    pub addr: String,
    /// Address of the module; empty at the root.
    pub module: String,
    /// Type, such as `aws_vpc`.
    pub resource_type: String,
    /// Name in the configuration.
    pub resource_name: String,
    /// Key of `for_each` or index of `count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_key: Option<Value>,
}

/// A change that is planned, or that happened outside Terraform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// What is changed.
    pub resource: Resource,
    /// Where it was before, if it moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_resource: Option<Resource>,
    /// How it changes.
    pub action: Action,
    /// Why, such as `tainted` or `cannot_update`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A step in the life of one operation on one resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// What is operated on.
    pub resource: Resource,
    /// The operation; [`Action::Noop`] where the event has none.
    pub action: Action,
    /// Name of the attribute that identifies it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_key: Option<String>,
    /// Value of that attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_value: Option<String>,
    /// Seconds since the start, rounded to whole ones by Terraform; the times of events tell more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_seconds: Option<f64>,
}

/// A step in the life of one provisioner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProvisionHook {
    /// What is provisioned.
    pub resource: Resource,
    /// Kind of provisioner, such as `local-exec`.
    pub provisioner: String,
    /// One line that it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// What a summary counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeCounts {
    /// Resources made; a replacement counts here and in `remove`.
    pub add: u64,
    /// Resources changed in place.
    pub change: u64,
    /// Resources imported.
    pub import: u64,
    /// Resources deleted.
    pub remove: u64,
    /// Resources dropped from the state; only OpenTofu counts them.
    pub forget: u64,
    /// Whether this was planned or done.
    pub operation: ChangedOperation,
}

/// What a summary is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedOperation {
    /// What would be done. A failed plan prints one too, with zeroes.
    #[default]
    Plan,
    /// What was done by an apply that succeeded.
    Apply,
    /// What was done by a destroy that succeeded.
    Destroy,
    /// A word of a newer Terraform.
    #[serde(other)]
    Other,
}

/// An output, as far as the stream shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputLine {
    /// Its value is a secret.
    pub sensitive: bool,
    /// How a plan changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Its value after an apply; absent if it is sensitive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The operation fails.
    #[default]
    Error,
    /// The operation goes on.
    Warning,
    /// A word of a newer Terraform.
    #[serde(other)]
    Other,
}

/// What went wrong, in Terraform's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// Any number of lines. May hold secrets that Terraform itself would not print elsewhere.
    pub detail: String,
    /// The resource it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The place in the configuration it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// The source text at that place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Snippet>,
}

/// A place in the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Range {
    /// File, relative to the module.
    pub filename: String,
    /// Where it starts.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
}

/// A point in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    /// From 1.
    pub line: u64,
    /// From 1.
    pub column: u64,
    /// From 0.
    pub byte: u64,
}

/// The source text that a diagnostic is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snippet {
    /// The block that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The text.
    pub code: String,
    /// Its first line.
    pub start_line: u64,
    /// What the expressions in it were at that time.
    pub values: Vec<SnippetValue>,
}

/// One expression of a snippet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SnippetValue {
    /// The expression.
    pub traversal: String,
    /// What is known about it, such as `is true`.
    pub statement: String,
}
