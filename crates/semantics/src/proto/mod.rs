//! Protobuf request bodies, which Go clients send for built-in kinds.
//!
//! A body is an envelope that names its kind, around a message of that kind. The messages are known from a table that
//! is made from Kubernetes' own types, so this module has no code per kind. It never writes protobuf: every client that
//! sends it accepts JSON in return.

mod message;
mod table;
mod wire;

use serde_json::Value;

use crate::builtin;
use table::Table;
use wire::{Reader, Wire};

const ENVELOPE: &[u8] = b"k8s\0";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// Why a protobuf body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtoError {
    /// Not the Kubernetes envelope.
    #[error("the body is not a Kubernetes protobuf message")]
    NoEnvelope,
    /// A kind whose message is not known here.
    #[error("no protobuf message is known for {kind} in {api_version}")]
    UnknownKind {
        /// As the envelope says.
        api_version: String,
        /// As the envelope says.
        kind: String,
    },
    /// Bytes that do not decode.
    #[error("malformed protobuf: {0}")]
    Malformed(String),
}

/// The JSON names of a type's fields that are left out when they are zero: Go's types say so, OpenAPI does not.
pub(crate) fn omitted_fields(type_name: &str) -> Vec<&'static str> {
    let table = Table::get();
    let mut found = Vec::new();
    if let Some(index) = table.index(type_name) {
        table.omitted_fields(index, &mut found);
    }
    found
}

/// Whether the body starts like a Kubernetes protobuf message.
#[must_use]
pub fn is_protobuf(body: &[u8]) -> bool {
    body.starts_with(ENVELOPE)
}

/// Decodes a body into the JSON that the same client would have sent, `apiVersion` and `kind` included. Fields that Go
/// would write as `null` are left out.
pub fn decode(body: &[u8]) -> Result<Value, ProtoError> {
    let envelope = Envelope::read(body.strip_prefix(ENVELOPE).ok_or(ProtoError::NoEnvelope)?)?;
    let table = Table::get();
    let index = type_name(&envelope.api_version, &envelope.kind).and_then(|name| table.index(&name));
    let Some(index) = index else {
        return Err(ProtoError::UnknownKind {
            api_version: envelope.api_version,
            kind: envelope.kind,
        });
    };
    let mut value = message::decode(table, index, envelope.raw)?;
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), envelope.api_version.into());
        fields.insert("kind".to_owned(), envelope.kind.into());
    }
    Ok(value)
}

fn type_name(api_version: &str, kind: &str) -> Option<String> {
    match kind {
        // Every group accepts them under its own version.
        "DeleteOptions" | "Status" => Some(format!("{META}{kind}")),
        _ => {
            let mut kinds = builtin::all().iter().chain(builtin::reviews());
            kinds
                .find(|known| known.kind == kind && known.api_version() == api_version)
                .map(|k| k.type_name.to_owned())
        }
    }
}

/// What stands around every message.
#[derive(Debug, Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, ProtoError> {
        let mut envelope = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match (number, wire) {
                (1, Wire::Bytes(names)) => envelope.read_names(names)?,
                (2, Wire::Bytes(raw)) => envelope.raw = raw,
                (3, Wire::Bytes(encoding)) if !encoding.is_empty() => {
                    return Err(ProtoError::Malformed(
                        "content encodings are not supported".to_owned(),
                    ));
                }
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_names(&mut self, bytes: &[u8]) -> Result<(), ProtoError> {
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match (number, wire) {
                (1, Wire::Bytes(text)) => self.api_version = String::from_utf8_lossy(text).into_owned(),
                (2, Wire::Bytes(text)) => self.kind = String::from_utf8_lossy(text).into_owned(),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
