//! What a scenario file says.
//!
//! `<name>` anywhere in a path, a header or a body stands for a saved value; `<ns>` is the scenario's own namespace,
//! which has the scenario's name and is made before the first step.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A list of steps that tell one story about the API.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// What the scenario shows, in a sentence.
    pub about: String,
    /// Whether the scenario wants a namespace of its own.
    #[serde(default = "yes")]
    pub namespace: bool,
    /// What to do, in order.
    pub steps: Vec<Step>,
}

/// One request (`do`), one kubectl command (`kubectl`), or one look at an open watch (`reads`).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// What the step is called in reports; unique within the scenario.
    pub name: String,
    /// Method and path, such as `GET /api/v1/namespaces/<ns>/configmaps/a`.
    #[serde(rename = "do")]
    pub request: Option<String>,
    /// The body's media type, or a short name for one: `json`, `yaml`, `json-patch`, `merge`, `strategic`, `apply`.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// The `Accept` header; `application/json` when absent, or the short name `table`.
    pub accept: Option<String>,
    /// More headers.
    pub headers: BTreeMap<String, String>,
    /// The body, as data.
    pub body: Option<Value>,
    /// The body, as text that may be no valid JSON.
    pub text: Option<String>,
    /// The body is a ConfigMap of at least this many bytes.
    pub fill: usize,
    /// Repeat the request until its answer is so; only the last answer counts.
    pub until: Option<Until>,
    /// Values to keep for later steps: the name, and a JSON pointer into the answer's body.
    pub save: BTreeMap<String, String>,
    /// Keep only these parts of the answer's body.
    pub pick: Vec<String>,
    /// Hide the values at these parts of the answer's body.
    pub mask: Vec<String>,
    /// Run the step once for each of these values, as `<each>`.
    pub each: Vec<String>,
    /// Leave the answer open as a watch of this name.
    pub opens: Option<String>,
    /// Read from the open watch of this name.
    pub reads: Option<String>,
    /// How many watch events to read.
    pub events: usize,
    /// The arguments of a kubectl command.
    pub kubectl: Option<String>,
    /// Manifests that kubectl gets on its standard input.
    pub stdin: Vec<Value>,
    /// Keep no answer unless it is a failure: the step only sets the scene.
    pub quiet: bool,
}

/// When to stop repeating a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Until {
    /// The HTTP status is this one.
    pub status: Option<u16>,
    /// This part of the body …
    pub at: Option<String>,
    /// … has this value.
    pub is: Option<Value>,
}

/// Why a scenario cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file or folder cannot be read.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// The file is no YAML.
    #[error("{} is no YAML", .0.display())]
    Yaml(PathBuf, #[source] Box<serde_saphyr::Error>),
    /// The file is no scenario.
    #[error("{} is no scenario", .0.display())]
    Shape(PathBuf, #[source] serde_json::Error),
    /// Two steps of a scenario have the same name, or a step has none.
    #[error("{}: step name {:?} is empty or used twice", .0.display(), .1)]
    StepName(PathBuf, String),
}

impl Scenario {
    /// Reads every scenario of a folder, in the order of their names.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, ScenarioError> {
        let entries = std::fs::read_dir(folder).map_err(|error| ScenarioError::Read(folder.into(), error))?;
        let mut paths: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
            .collect();
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// Reads one scenario.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|error| ScenarioError::Read(path.into(), error))?;
        // Only `true` and `false` are booleans: a scenario's `y` is a letter.
        let options = serde_saphyr::options! { strict_booleans: true };
        let value: Value = serde_saphyr::from_str_with_options(&text, options)
            .map_err(|error| ScenarioError::Yaml(path.into(), Box::new(error)))?;
        let mut scenario: Self =
            serde_json::from_value(value).map_err(|error| ScenarioError::Shape(path.into(), error))?;
        scenario.name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        scenario.check_names(path)?;
        Ok(scenario)
    }

    /// Whether any step needs kubectl.
    pub fn needs_kubectl(&self) -> bool {
        self.steps.iter().any(|step| step.kubectl.is_some())
    }

    fn check_names(&self, path: &Path) -> Result<(), ScenarioError> {
        let mut seen = std::collections::BTreeSet::new();
        for step in &self.steps {
            if step.name.is_empty() || !seen.insert(step.name.as_str()) {
                return Err(ScenarioError::StepName(path.into(), step.name.clone()));
            }
        }
        Ok(())
    }
}

fn yes() -> bool {
    true
}
