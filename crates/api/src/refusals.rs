//! What admission must refuse, and what it must not, as data.
//!
//! The same cases are tried on our own evaluation of the rules, on the embedded API and on a real API server, so that
//! all of them can be held to one answer. They live in `testdata/refusals`, one file per kind.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// One attempt to write an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is tried, unique among all cases.
    pub name: String,
    /// How it is tried.
    pub verb: Verb,
    /// A good object, without a namespace. For an update it is created first.
    pub base: Value,
    /// Status that the object has before the update.
    pub status: Option<Value>,
    /// What is written: `base` after the case's change.
    pub changed: Value,
    /// A part of the message that refuses it, or `None` if it must be accepted.
    pub message: Option<String>,
}

/// How a case is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// The changed object is created.
    #[default]
    Create,
    /// The good object is created, and then updated to the changed one.
    Update,
}

/// Why the cases cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file is not what it should be.
    #[error("{file} cannot be read")]
    Yaml {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        source: Box<serde_saphyr::Error>,
    },
    /// A case names a base that its file does not have.
    #[error("{file}: case \"{case}\" names an unknown base")]
    UnknownBase {
        /// The file.
        file: &'static str,
        /// The case.
        case: String,
    },
}

/// All cases, in the order of the files.
///
/// # Errors
/// If a file is not what it should be.
pub fn cases() -> Result<Vec<Case>, ReadError> {
    let mut all = Vec::new();
    for (file, text) in FILES {
        let parsed: File = serde_saphyr::from_str(text).map_err(|source| ReadError::Yaml {
            file,
            source: Box::new(source),
        })?;
        for case in parsed.cases {
            let base = parsed
                .bases
                .get(&case.base)
                .cloned()
                .ok_or_else(|| ReadError::UnknownBase {
                    file,
                    case: case.name.clone(),
                })?;
            let mut changed = base.clone();
            merge(&mut changed, &case.change);
            all.push(Case {
                name: case.name,
                verb: case.verb,
                base,
                status: case.status,
                changed,
                message: case.message,
            });
        }
    }
    Ok(all)
}

const FILES: &[(&str, &str)] = &[
    (
        "captcluster.yaml",
        include_str!("../testdata/refusals/captcluster.yaml"),
    ),
    (
        "captclustertemplate.yaml",
        include_str!("../testdata/refusals/captclustertemplate.yaml"),
    ),
    (
        "captcontrolplane.yaml",
        include_str!("../testdata/refusals/captcontrolplane.yaml"),
    ),
    (
        "captcontrolplanetemplate.yaml",
        include_str!("../testdata/refusals/captcontrolplanetemplate.yaml"),
    ),
    ("fargate.yaml", include_str!("../testdata/refusals/fargate.yaml")),
    (
        "workspacetemplate.yaml",
        include_str!("../testdata/refusals/workspacetemplate.yaml"),
    ),
    (
        "workspacetemplateapply.yaml",
        include_str!("../testdata/refusals/workspacetemplateapply.yaml"),
    ),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    bases: BTreeMap<String, Value>,
    cases: Vec<FileCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCase {
    name: String,
    base: String,
    #[serde(default)]
    verb: Verb,
    #[serde(default)]
    status: Option<Value>,
    /// A JSON merge patch on the base: a null removes a field.
    #[serde(default)]
    change: Value,
    #[serde(default)]
    message: Option<String>,
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        if !patch.is_null() {
            *target = patch.clone();
        }
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(fields) = target {
        for (name, value) in patch {
            if value.is_null() {
                fields.remove(name);
            } else {
                merge(fields.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }
}
