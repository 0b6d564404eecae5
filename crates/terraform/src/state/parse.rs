//! Reading a state file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// How the name of a history begins in which nothing is real.
pub const SIMULATED_LINEAGE: &str = "simulated-";

/// Why a state file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It is not whole: Terraform writes the file in place, so a reader, or a kill, can come in between.
    #[error("the state file is not complete")]
    Torn(#[source] serde_json::Error),
    /// It is of a kind that this program is too old for, or too new.
    #[error("the state file has version {0}, and only version 4 is known")]
    Version(u64),
}

/// What a state file says. Attributes are not kept, apart from ids: they are full of secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Counts the writes.
    pub serial: u64,
    /// Names the history that the serial belongs to.
    pub lineage: String,
    /// The Terraform that wrote it.
    pub terraform_version: String,
    /// Everything in it, managed or read, in the order of the file.
    pub resources: Vec<ResourceInstance>,
    /// The outputs of the root module.
    pub outputs: BTreeMap<String, Output>,
}

/// One object of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceInstance {
    /// Its address, with module and key.
    pub address: String,
    /// Its type.
    pub resource_type: String,
    /// It is ours to make and to delete, and not only read.
    pub managed: bool,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Its creation failed half-way.
    pub tainted: bool,
    /// It is the leftover with this key of an unfinished replacement.
    pub deposed: Option<String>,
    /// The resources that it depends on, without keys.
    pub dependencies: Vec<String>,
}

/// One output.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Its value.
    pub value: Value,
    /// Its value is a secret.
    pub sensitive: bool,
}

impl State {
    /// What this file says.
    ///
    /// # Errors
    /// If it is not whole, or not of a version that we know.
    pub fn parse(file: &[u8]) -> Result<Self, StateError> {
        let file: File = serde_json::from_slice(file).map_err(StateError::Torn)?;
        if file.version != 4 {
            return Err(StateError::Version(file.version));
        }
        Ok(Self {
            serial: file.serial,
            lineage: file.lineage,
            terraform_version: file.terraform_version,
            resources: file.resources.iter().flat_map(instances).collect(),
            outputs: file.outputs,
        })
    }

    /// The objects that are ours, which is what a destroy would delete.
    pub fn managed(&self) -> impl Iterator<Item = &ResourceInstance> {
        self.resources.iter().filter(|resource| resource.managed)
    }

    /// A simulation made it, so that nothing in it is real.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.lineage.starts_with(SIMULATED_LINEAGE)
    }

    /// Nothing of ours exists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.managed().next().is_none()
    }
}

#[derive(Deserialize)]
struct File {
    version: u64,
    #[serde(default)]
    terraform_version: String,
    serial: u64,
    lineage: String,
    #[serde(default)]
    outputs: BTreeMap<String, Output>,
    #[serde(default)]
    resources: Vec<FileResource>,
}

#[derive(Deserialize)]
struct FileResource {
    #[serde(default)]
    module: String,
    mode: String,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
    #[serde(default)]
    instances: Vec<FileInstance>,
}

#[derive(Deserialize)]
struct FileInstance {
    index_key: Option<Value>,
    status: Option<String>,
    deposed: Option<String>,
    #[serde(default)]
    attributes: Value,
    #[serde(default)]
    attributes_flat: Value,
    #[serde(default)]
    dependencies: Vec<String>,
}

fn instances(resource: &FileResource) -> impl Iterator<Item = ResourceInstance> {
    let mut base = String::new();
    if !resource.module.is_empty() {
        base.push_str(&resource.module);
        base.push('.');
    }
    if resource.mode == "data" {
        base.push_str("data.");
    }
    base.push_str(&format!("{}.{}", resource.resource_type, resource.name));
    resource.instances.iter().map(move |instance| ResourceInstance {
        address: format!("{base}{}", key(instance.index_key.as_ref())),
        resource_type: resource.resource_type.clone(),
        managed: resource.mode == "managed",
        id: instance.attributes["id"]
            .as_str()
            .or(instance.attributes_flat["id"].as_str())
            .map(str::to_owned),
        tainted: instance.status.as_deref() == Some("tainted"),
        deposed: instance.deposed.clone().filter(|key| !key.is_empty()),
        dependencies: instance.dependencies.clone(),
    })
}

/// As Terraform prints keys: text is quoted as in its own language.
fn key(key: Option<&Value>) -> String {
    match key {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => format!("[\"{}\"]", escaped(text)),
        Some(other) => format!("[{other}]"),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Doubled, so that it does not begin a template.
            '$' | '%' if chars.peek() == Some(&'{') => out.extend([char, char]),
            char if is_printable(char) => out.push(char),
            char if u32::from(char) < 0x1_0000 => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => out.push_str(&format!("\\U{:08x}", u32::from(char))),
        }
    }
    out
}

/// What Go calls printable, as far as it can be told without its tables: no space but the plain one, nothing invisible.
fn is_printable(char: char) -> bool {
    let invisible = matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}');
    char == ' ' || !(char.is_control() || char.is_whitespace() || invisible)
}
