//! JSON patch, as the library that Kubernetes uses understands RFC 6902.
//!
//! It differs from the RFC where that library does: `test` for null passes on a missing member, `replace` of a missing
//! member sets it, negative indices count from the end.

use std::borrow::Cow;
use std::io;

use serde_json::{Map, Value};

use super::PatchError;
use crate::strict_json::MAX_DEPTH;

/// How many operations a patch may have.
pub const MAX_OPERATIONS: usize = 10_000;

/// How much a patch's `copy` operations may add up to, as JSON text. A short patch could fill the memory otherwise.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// RFC 6902, with the habits of Kubernetes' implementation: `test` for null passes on a missing path, `replace` of a
/// missing member sets it, and `remove` of a missing path is an error.
pub fn json_patch(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = patch
        .as_array()
        .ok_or_else(|| PatchError::Malformed("a JSON patch must be a list of operations".to_owned()))?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations {
            limit: MAX_OPERATIONS,
            got: operations.len(),
        });
    }
    let operations: Vec<&Map<String, Value>> = operations
        .iter()
        .map(Value::as_object)
        .collect::<Option<_>>()
        .ok_or_else(|| {
            PatchError::Malformed("every operation of a JSON patch must be an object".to_owned())
        })?;
    let mut patched = Patched {
        document: document.clone(),
        copied: 0,
    };
    for operation in operations {
        patched.apply(operation).map_err(PatchError::Unprocessable)?;
    }
    Ok(patched.document)
}

struct Patched {
    document: Value,
    copied: usize,
}

impl Patched {
    fn apply(&mut self, operation: &Map<String, Value>) -> Result<(), String> {
        match operation.get("op").and_then(Value::as_str).unwrap_or("unknown") {
            "add" => {
                let path = member(operation, "add", "path")?;
                self.add(path, operation.get("value").cloned().unwrap_or_default())
                    .map_err(|fault| match fault {
                        Fault::NoParent => {
                            format!(
                                "add operation does not apply: doc is missing path: \"{path}\": missing value"
                            )
                        }
                        Fault::Other(text) => format!("error in add for path: '{path}': {text}"),
                    })
            }
            "remove" => {
                let path = member(operation, "remove", "path")?;
                self.remove(path).map(drop).map_err(|fault| match fault {
                    Fault::NoParent => {
                        format!(
                            "remove operation does not apply: doc is missing path: \"{path}\": missing value"
                        )
                    }
                    Fault::Other(text) => format!("error in remove for path: '{path}': {text}"),
                })
            }
            "replace" => self.replace(operation),
            "move" => self.shift(operation),
            "copy" => self.copy(operation),
            "test" => self.test(operation),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), Fault> {
        check_depth(path, &value)?;
        let (container, key) = parent(&mut self.document, path).ok_or(Fault::NoParent)?;
        match container {
            Container::Object(members) => {
                members.insert(key.into_owned(), value);
            }
            Container::Array(items) if key == "-" => items.push(value),
            Container::Array(items) => {
                // One past the end is a place to add at, and -1 is that place.
                let at = index(&key, items.len() + 1)?;
                items.insert(at, value);
            }
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<Value, Fault> {
        let (container, key) = parent(&mut self.document, path).ok_or(Fault::NoParent)?;
        match container {
            Container::Object(members) => members.remove(&*key).ok_or_else(|| {
                Fault::Other(format!("Unable to remove nonexistent key: {key}: missing value"))
            }),
            Container::Array(items) => {
                let at = index(&key, items.len())?;
                Ok(items.remove(at))
            }
        }
    }

    fn replace(&mut self, operation: &Map<String, Value>) -> Result<(), String> {
        let path = member(operation, "replace", "path")?;
        let value = operation.get("value").cloned().unwrap_or_default();
        if path.is_empty() {
            if !(value.is_object() || value.is_array()) {
                return Err("replace operation value must be object or array".to_owned());
            }
            self.document = value;
            return Ok(());
        }
        check_depth(path, &value).map_err(|fault| fault.text(path))?;
        let missing = |what: &str| {
            format!("replace operation does not apply: doc is missing {what}: {path}: missing value")
        };
        let (container, key) = parent(&mut self.document, path).ok_or_else(|| missing("path"))?;
        match container {
            Container::Object(members) => {
                members.insert(key.into_owned(), value);
            }
            Container::Array(items) => {
                let at = index(&key, items.len()).map_err(|_| missing("key"))?;
                items[at] = value;
            }
        }
        Ok(())
    }

    fn shift(&mut self, operation: &Map<String, Value>) -> Result<(), String> {
        let from = member(operation, "move", "from")?;
        let path = member(operation, "move", "path")?;
        let value = self.remove(from).map_err(|fault| match fault {
            Fault::NoParent => {
                format!("move operation does not apply: doc is missing from path: {from}: missing value")
            }
            Fault::Other(text) => format!("error in move for path: '{from}': {text}"),
        })?;
        self.add(path, value).map_err(|fault| match fault {
            Fault::NoParent => {
                format!(
                    "move operation does not apply: doc is missing destination path: {path}: missing value"
                )
            }
            Fault::Other(text) => format!("error in move for path: '{path}': {text}"),
        })
    }

    fn copy(&mut self, operation: &Map<String, Value>) -> Result<(), String> {
        let from = member(operation, "copy", "from")?;
        let path = member(operation, "copy", "path")?;
        let value = self
            .get(from)
            .map_err(|fault| match fault {
                Fault::NoParent => {
                    format!("copy operation does not apply: doc is missing from path: {from}: missing value")
                }
                Fault::Other(text) => format!("error in copy for from: '{from}': {text}"),
            })?
            .cloned()
            .unwrap_or_default();
        self.copied += text_length(&value);
        if self.copied > MAX_COPIED_BYTES {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit \
                 {MAX_COPIED_BYTES}",
                self.copied
            ));
        }
        self.add(path, value).map_err(|fault| match fault {
            Fault::NoParent => {
                format!(
                    "copy operation does not apply: doc is missing destination path: {path}: missing value"
                )
            }
            Fault::Other(text) => format!("error while adding value during copy: {text}"),
        })
    }

    fn test(&mut self, operation: &Map<String, Value>) -> Result<(), String> {
        let path = member(operation, "test", "path")?;
        let expected = operation.get("value").unwrap_or(&Value::Null);
        let found = if path.is_empty() {
            Some(&self.document)
        } else {
            self.get(path).map_err(|fault| match fault {
                Fault::NoParent => {
                    format!("test operation does not apply: is missing path: {path}: missing value")
                }
                Fault::Other(text) => format!("error in test for path: '{path}': {text}"),
            })?
        };
        if found.unwrap_or(&Value::Null) == expected {
            Ok(())
        } else {
            Err(format!("testing value {path} failed: test failed"))
        }
    }

    /// The value at a path; `None` if only the last member is missing.
    fn get(&mut self, path: &str) -> Result<Option<&Value>, Fault> {
        let (container, key) = parent(&mut self.document, path).ok_or(Fault::NoParent)?;
        match container {
            Container::Object(members) => Ok(members.get(&*key)),
            Container::Array(items) => {
                let at = index(&key, items.len())?;
                Ok(items.get(at))
            }
        }
    }
}

/// Why a place in the document could not be used.
enum Fault {
    /// There is nothing that could contain it.
    NoParent,
    Other(String),
}

impl Fault {
    fn text(self, path: &str) -> String {
        match self {
            Self::NoParent => format!("doc is missing path: {path}: missing value"),
            Self::Other(text) => text,
        }
    }
}

enum Container<'a> {
    Object(&'a mut Map<String, Value>),
    Array(&'a mut Vec<Value>),
}

fn member<'a>(operation: &'a Map<String, Value>, kind: &str, name: &str) -> Result<&'a str, String> {
    operation
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("{kind} operation failed to decode {name}: missing value"))
}

/// What contains the place that the path names, and the last step to it.
fn parent<'a, 'p>(document: &'a mut Value, path: &'p str) -> Option<(Container<'a>, Cow<'p, str>)> {
    // Whatever stands before the first slash is ignored; a path without one names nothing.
    let (_, path) = path.split_once('/')?;
    let (steps, last) = path
        .rsplit_once('/')
        .map_or((None, path), |(steps, last)| (Some(steps), last));
    let mut place = document;
    for step in steps.into_iter().flat_map(|steps| steps.split('/')).map(decode) {
        place = match place {
            Value::Object(members) => members.get_mut(&*step)?,
            Value::Array(items) => {
                let at = index(&step, items.len()).ok()?;
                items.get_mut(at)?
            }
            _ => return None,
        };
    }
    let container = match place {
        Value::Object(members) => Container::Object(members),
        Value::Array(items) => Container::Array(items),
        _ => return None,
    };
    Some((container, decode(last)))
}

fn decode(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

/// The index that a step means in a list with `length` places.
fn index(step: &str, length: usize) -> Result<usize, Fault> {
    let number: i64 = step.parse().map_err(|_| {
        Fault::Other(format!(
            "value was not a proper array index: '{step}': invalid syntax"
        ))
    })?;
    let places = i64::try_from(length).unwrap_or(i64::MAX);
    let at = if number < 0 {
        number.saturating_add(places)
    } else {
        number
    };
    usize::try_from(at).ok().filter(|at| *at < length).ok_or_else(|| {
        Fault::Other(format!(
            "Unable to access invalid index: {number}: invalid index referenced"
        ))
    })
}

/// Refuses to build what is nested too deep to be walked and dropped safely.
fn check_depth(path: &str, value: &Value) -> Result<(), Fault> {
    let above = path.matches('/').count();
    if above <= MAX_DEPTH && fits(value, MAX_DEPTH - above) {
        Ok(())
    } else {
        Err(Fault::Other(format!(
            "the result would exceed the max depth of {MAX_DEPTH}"
        )))
    }
}

fn fits(value: &Value, room: usize) -> bool {
    match value {
        Value::Array(items) => room > 0 && items.iter().all(|item| fits(item, room - 1)),
        Value::Object(members) => room > 0 && members.values().all(|member| fits(member, room - 1)),
        _ => true,
    }
}

/// How long the value is as JSON text.
fn text_length(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and a value has no keys but strings.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
