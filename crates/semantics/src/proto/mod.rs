//! Protobuf request bodies, which Go clients send for built-in kinds.

use serde_json::Value;

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

/// Whether the body starts like a Kubernetes protobuf message.
#[must_use]
pub fn is_protobuf(body: &[u8]) -> bool {
    body.starts_with(b"k8s\0")
}

/// Decodes a body into the JSON that the same client would have sent, `apiVersion` and `kind` included.
pub fn decode(_body: &[u8]) -> Result<Value, ProtoError> {
    todo!()
}
