//! Stored objects: the document as bytes, and the few facts about it that are asked for without parsing.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

/// Which table an object is in: `configmaps`, `widgets.example.com`.
pub type ResourceId = Arc<str>;

/// An object's place in its table: namespace (empty if it has none) and name, in listing order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// The key of `namespace`/`name`.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        let mut key = String::with_capacity(namespace.len() + name.len() + 1);
        key.push_str(namespace);
        // NUL sorts before every character a name may have, so that `a/z` precedes `a-b/a` as upstream lists them.
        key.push('\0');
        key.push_str(name);
        Self(key.into())
    }

    /// The namespace; empty for cluster-wide objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.0.split_once('\0').map_or("", |(namespace, _)| namespace)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('\0').map_or(&*self.0, |(_, name)| name)
    }
}

/// Who owns an object, as garbage collection sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRef {
    /// The owner's uid.
    pub uid: Box<str>,
    /// `apiVersion` of the reference.
    pub api_version: Box<str>,
    /// `kind` of the reference.
    pub kind: Box<str>,
    /// `name` of the reference.
    pub name: Box<str>,
    /// Whether foreground deletion of the owner waits for this object.
    pub blocks: bool,
}

/// One version of an object.
#[derive(Debug)]
pub struct Object {
    /// Namespace and name.
    pub key: ObjectKey,
    /// The revision that wrote it: its `resourceVersion`.
    pub revision: u64,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `metadata.labels`, sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// `metadata.ownerReferences`
    pub owners: Box<[OwnerRef]>,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// The document as JSON, `resourceVersion` included.
    pub bytes: Bytes,
    /// Where `apiVersion` and `kind` stand in the bytes.
    type_spans: TypeSpans,
}

/// Where `apiVersion` and `kind` stand in a document, each with the comma that follows. A document has `metadata`,
/// which sorts after both, so both are always followed by something.
#[derive(Debug, Clone, Default)]
struct TypeSpans {
    api_version: Range<u32>,
    kind: Range<u32>,
}

impl Object {
    /// The document.
    #[must_use]
    pub fn value(&self) -> Value {
        // The bytes were written by `Draft`, from a value: they always parse.
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// The document without `apiVersion` and `kind`, in pieces to be joined.
    #[must_use]
    pub fn untyped(&self) -> [&[u8]; 3] {
        let TypeSpans { api_version, kind } = &self.type_spans;
        let at = |offset: u32| offset as usize;
        [
            &self.bytes[..at(api_version.start)],
            &self.bytes[at(api_version.end)..at(kind.start)],
            &self.bytes[at(kind.end)..],
        ]
    }

    /// One label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        let at = self.labels.binary_search_by(|(have, _)| (**have).cmp(key)).ok()?;
        Some(&self.labels[at].1)
    }
}

/// An object about to be written: everything but its revision, which the commit decides.
#[derive(Debug)]
pub struct Draft {
    key: ObjectKey,
    uid: Box<str>,
    labels: Box<[(Box<str>, Box<str>)]>,
    owners: Box<[OwnerRef]>,
    deleting: bool,
    before_revision: Vec<u8>,
    after_revision: Vec<u8>,
    type_spans: TypeSpans,
}

impl Draft {
    /// A draft of a document that has `metadata.name`.
    #[must_use]
    pub fn new(document: &Value) -> Self {
        let metadata = &document["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default();
        let labels = metadata["labels"]
            .as_object()
            .map(label_pairs)
            .unwrap_or_default();
        let owners = metadata["ownerReferences"]
            .as_array()
            .map(|refs| refs.iter().map(owner_ref).collect());
        let (before_revision, after_revision, type_spans) = encode_around_revision(document);
        Self {
            key: ObjectKey::new(text("namespace"), text("name")),
            uid: text("uid").into(),
            labels,
            owners: owners.unwrap_or_default(),
            deleting: metadata["deletionTimestamp"].is_string(),
            before_revision,
            after_revision,
            type_spans,
        }
    }

    /// Where it goes.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The object at `revision`.
    #[must_use]
    pub fn at(self, revision: u64) -> Object {
        let digits = revision.to_string();
        let mut bytes = self.before_revision;
        bytes.reserve_exact(digits.len() + self.after_revision.len());
        bytes.extend_from_slice(digits.as_bytes());
        bytes.extend_from_slice(&self.after_revision);
        Object {
            key: self.key,
            revision,
            uid: self.uid,
            labels: self.labels,
            owners: self.owners,
            deleting: self.deleting,
            bytes: bytes.into(),
            type_spans: self.type_spans,
        }
    }
}

fn label_pairs(labels: &Map<String, Value>) -> Box<[(Box<str>, Box<str>)]> {
    labels
        .iter()
        .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
        .collect()
}

fn owner_ref(reference: &Value) -> OwnerRef {
    let text = |key: &str| reference[key].as_str().unwrap_or_default().into();
    OwnerRef {
        uid: text("uid"),
        api_version: text("apiVersion"),
        kind: text("kind"),
        name: text("name"),
        blocks: reference["blockOwnerDeletion"].as_bool().unwrap_or(false),
    }
}

/// Serialises a document so that only the revision's digits are missing between the two halves.
fn encode_around_revision(document: &Value) -> (Vec<u8>, Vec<u8>, TypeSpans) {
    let mut out = Vec::with_capacity(1024);
    let mut before = Vec::new();
    // Starts of the members in order, as far as they are needed to know where the types stand.
    let mut starts: Vec<(&str, usize)> = Vec::new();
    out.push(b'{');
    let empty = Map::new();
    let fields = document.as_object().unwrap_or(&empty);
    let mut first = true;
    for (name, value) in fields {
        separate(&mut out, &mut first);
        if before.is_empty() {
            starts.push((name, out.len()));
        }
        write_json(&mut out, name);
        out.push(b':');
        if name != "metadata" {
            write_json(&mut out, value);
            continue;
        }
        out.push(b'{');
        let metadata = value.as_object().unwrap_or(&empty);
        let mut first_meta = true;
        for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
            if before.is_empty() && key.as_str() > "resourceVersion" {
                before = revision_field(&mut out, &mut first_meta);
            }
            separate(&mut out, &mut first_meta);
            write_json(&mut out, key);
            out.push(b':');
            write_json(&mut out, value);
        }
        if before.is_empty() {
            before = revision_field(&mut out, &mut first_meta);
        }
        out.push(b'}');
    }
    out.push(b'}');
    (before, out, type_spans(&starts))
}

fn type_spans(starts: &[(&str, usize)]) -> TypeSpans {
    let span = |wanted: &str| {
        let found = starts.windows(2).find(|pair| pair[0].0 == wanted)?;
        Some(u32::try_from(found[0].1).ok()?..u32::try_from(found[1].1).ok()?)
    };
    let api_version = span("apiVersion").unwrap_or_default();
    // Without a kind there is nothing to leave out after the version.
    let kind = span("kind").unwrap_or(api_version.end..api_version.end);
    TypeSpans { api_version, kind }
}

/// Writes the field up to the digits and hands over what has been written; the rest continues in an empty buffer.
fn revision_field(out: &mut Vec<u8>, first: &mut bool) -> Vec<u8> {
    separate(out, first);
    out.extend_from_slice(b"\"resourceVersion\":\"");
    let before = std::mem::take(out);
    out.push(b'"');
    before
}

fn separate(out: &mut Vec<u8>, first: &mut bool) {
    if !std::mem::replace(first, false) {
        out.push(b',');
    }
}

fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Writing a JSON value into memory cannot fail: keys are strings and a Vec takes everything.
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_draft_gets_its_revision_and_nothing_else_changes() {
        let documents = [
            json!({"kind": "A", "metadata": {"name": "a", "uid": "u", "labels": {"x": "y"}}, "spec": {"q": [1, null]}}),
            json!({"metadata": {"name": "a", "annotations": {"quote\"": "\u{0}"}, "resourceVersion": "old"}}),
            json!({"metadata": {"a": 1, "zz": {"resourceVersion": "inner"}}}),
            json!({"metadata": {}}),
            json!({"apiVersion": "v1", "metadata": {"name": "a"}, "z": 1}),
            json!({"apiVersion": "v1", "data": {"kind": "x"}, "kind": "B", "metadata": {"name": "a"}}),
            json!({"aa": 1, "apiVersion": "v1", "kind": "B", "metadata": {"name": "a"}, "spec": {}}),
        ];
        for mut document in documents {
            let object = Draft::new(&document).at(42);
            document["metadata"]["resourceVersion"] = json!("42");
            assert_eq!(object.bytes, serde_json::to_vec(&document).unwrap());
            let fields = document.as_object_mut().unwrap();
            fields.retain(|name, _| name != "kind" && name != "apiVersion");
            assert_eq!(object.untyped().concat(), serde_json::to_vec(&document).unwrap());
        }
    }

    #[test]
    fn keys_order_by_namespace_then_name() {
        let mut keys = [
            ObjectKey::new("a-b", "a"),
            ObjectKey::new("a", "z"),
            ObjectKey::new("", "n"),
        ];
        keys.sort();
        assert_eq!(
            keys.map(|key| format!("{}/{}", key.namespace(), key.name())),
            ["/n", "a/z", "a-b/a"]
        );
    }
}
