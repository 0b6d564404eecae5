//! The state file that a simulation writes: version 4, so that everything that reads Terraform's reads it too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The type whose attributes may hold anything, and say so in the file.
pub(super) const TERRAFORM_DATA: &str = "terraform_data";
const DYNAMIC: [&str; 3] = ["input", "output", "triggers_replace"];

/// A state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// Counts the writes.
    pub(super) serial: u64,
    /// Names the history.
    pub(super) lineage: String,
    /// Instances by address.
    pub(super) instances: BTreeMap<String, Instance>,
    /// Outputs by name.
    pub(super) outputs: BTreeMap<String, Output>,
}

/// An instance of a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Instance {
    pub(super) type_: String,
    pub(super) name: String,
    pub(super) key: Option<Value>,
    pub(super) attributes: Map<String, Value>,
    /// Addresses without keys.
    pub(super) dependencies: Vec<String>,
    pub(super) tainted: bool,
    /// The drift that was repaired last.
    pub(super) repaired: Option<String>,
}

/// An output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Output {
    pub(super) value: Value,
    pub(super) sensitive: bool,
}

impl Instance {
    /// Its address without a key.
    pub(super) fn configuration_address(&self) -> String {
        format!("{}.{}", self.type_, self.name)
    }

    /// Its id.
    pub(super) fn id(&self) -> Option<&str> {
        self.attributes.get("id")?.as_str()
    }
}

impl State {
    /// What this file says. Data sources are left out, since they are read again anyway.
    pub(super) fn parse(file: &[u8]) -> Result<Self, serde_json::Error> {
        let file: File = serde_json::from_slice(file)?;
        let mut instances = BTreeMap::new();
        for resource in file.resources {
            if resource.mode != "managed" {
                continue;
            }
            for instance in resource.instances {
                let parsed = Instance {
                    type_: resource.type_.clone(),
                    name: resource.name.clone(),
                    key: instance.index_key,
                    attributes: decoded(&resource.type_, instance.attributes),
                    dependencies: instance.dependencies,
                    tainted: instance.status.as_deref() == Some("tainted"),
                    repaired: instance.private,
                };
                instances.insert(
                    address(&resource.type_, &resource.name, parsed.key.as_ref()),
                    parsed,
                );
            }
        }
        let outputs = file.outputs.into_iter().map(|(name, output)| {
            let sensitive = output.sensitive.unwrap_or_default();
            (
                name,
                Output {
                    value: output.value,
                    sensitive,
                },
            )
        });
        Ok(Self {
            serial: file.serial,
            lineage: file.lineage,
            instances,
            outputs: outputs.collect(),
        })
    }

    /// The file.
    pub(super) fn file(&self) -> Vec<u8> {
        let mut resources: BTreeMap<(&str, &str), FileResource> = BTreeMap::new();
        for instance in self.instances.values() {
            let resource = resources
                .entry((&instance.type_, &instance.name))
                .or_insert_with(|| FileResource {
                    mode: "managed".to_owned(),
                    type_: instance.type_.clone(),
                    name: instance.name.clone(),
                    provider: provider(&instance.type_),
                    instances: Vec::new(),
                });
            resource.instances.push(FileInstance {
                index_key: instance.key.clone(),
                status: instance.tainted.then(|| "tainted".to_owned()),
                schema_version: 0,
                attributes: encoded(&instance.type_, &instance.attributes),
                sensitive_attributes: Vec::new(),
                private: instance.repaired.clone(),
                dependencies: instance.dependencies.clone(),
            });
        }
        let outputs = self.outputs.iter().map(|(name, output)| {
            let output = FileOutput {
                value: output.value.clone(),
                type_: type_of(&output.value),
                sensitive: output.sensitive.then_some(true),
            };
            (name.clone(), output)
        });
        let file = File {
            version: 4,
            terraform_version: "1.11.4".to_owned(),
            serial: self.serial,
            lineage: self.lineage.clone(),
            outputs: outputs.collect(),
            resources: resources.into_values().collect(),
            check_results: None,
        };
        // Text and numbers always become JSON.
        serde_json::to_vec_pretty(&file).unwrap_or_default()
    }
}

/// The address of an instance.
pub(super) fn address(type_: &str, name: &str, key: Option<&Value>) -> String {
    match key {
        None => format!("{type_}.{name}"),
        Some(key) => format!("{type_}.{name}[{key}]"),
    }
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u64,
    #[serde(default)]
    terraform_version: String,
    serial: u64,
    lineage: String,
    #[serde(default)]
    outputs: BTreeMap<String, FileOutput>,
    #[serde(default)]
    resources: Vec<FileResource>,
    check_results: Option<Value>,
}

#[derive(Serialize, Deserialize)]
struct FileOutput {
    value: Value,
    #[serde(rename = "type")]
    type_: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitive: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct FileResource {
    mode: String,
    #[serde(rename = "type")]
    type_: String,
    name: String,
    provider: String,
    #[serde(default)]
    instances: Vec<FileInstance>,
}

#[derive(Serialize, Deserialize)]
struct FileInstance {
    #[serde(skip_serializing_if = "Option::is_none")]
    index_key: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(default)]
    schema_version: u64,
    #[serde(default)]
    attributes: Map<String, Value>,
    #[serde(default)]
    sensitive_attributes: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dependencies: Vec<String>,
}

fn provider(type_: &str) -> String {
    match type_.split('_').next() {
        _ if type_ == TERRAFORM_DATA => "provider[\"terraform.io/builtin/terraform\"]".to_owned(),
        first => format!(
            "provider[\"registry.terraform.io/hashicorp/{}\"]",
            first.unwrap_or(type_)
        ),
    }
}

fn encoded(type_: &str, attributes: &Map<String, Value>) -> Map<String, Value> {
    let mut attributes = attributes.clone();
    if type_ == TERRAFORM_DATA {
        for name in DYNAMIC {
            let value = attributes.remove(name).unwrap_or_default();
            let dynamic = match value {
                Value::Null => Value::Null,
                value => json!({"value": value, "type": type_of(&value)}),
            };
            attributes.insert(name.to_owned(), dynamic);
        }
    }
    attributes
}

fn decoded(type_: &str, mut attributes: Map<String, Value>) -> Map<String, Value> {
    if type_ == TERRAFORM_DATA {
        for name in DYNAMIC {
            if let Some(Value::Object(dynamic)) = attributes.get_mut(name) {
                let value = dynamic.remove("value").unwrap_or_default();
                attributes.insert(name.to_owned(), value);
            }
        }
    }
    attributes
}

/// The type of a value, in the words of state files.
pub(super) fn type_of(value: &Value) -> Value {
    match value {
        Value::Null => json!("dynamic"),
        Value::Bool(_) => json!("bool"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
        Value::Array(items) => json!(["tuple", items.iter().map(type_of).collect::<Vec<_>>()]),
        Value::Object(fields) => {
            let types: Map<String, Value> = fields
                .iter()
                .map(|(name, field)| (name.clone(), type_of(field)))
                .collect();
            json!(["object", types])
        }
    }
}
