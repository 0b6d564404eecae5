//! AWS tags, within the limits that AWS sets.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};

/// Tags by key.
pub type Tags = BTreeMap<String, String>;

/// Schema of an optional [`Tags`] field: AWS takes 50 tags, keys of 128 and values of 256 characters.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 50,
        "additionalProperties": {"type": "string", "maxLength": 256},
        "x-kubernetes-validations": [
            {
                "rule": "self.all(key, size(key) >= 1 && size(key) <= 128)",
                "message": "write tag keys of 1 to 128 characters",
            },
            {
                "rule": "self.all(key, !key.startsWith('aws:') && !key.startsWith('AWS:') && !key.startsWith('Aws:'))",
                "message": "choose tag keys that do not start with aws:, AWS keeps those for itself",
            },
        ],
    })
}
