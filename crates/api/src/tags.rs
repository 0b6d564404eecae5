//! AWS tags, within the limits that AWS sets.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};

/// Tags by key.
pub type Tags = BTreeMap<String, String>;

/// How many tags AWS lets anything have.
const MOST: usize = 50;

/// Rule for a spec with tags for everything and Fargate profiles with tags of their own: a profile gets both.
pub(crate) const IN_ALL: &str = "!has(self.additionalTags) || !has(self.additionalFargateProfiles) || \
     self.additionalFargateProfiles.all(one, !has(one.tags) || size(self.additionalTags) + \
     size(one.tags.filter(key, !(key in self.additionalTags))) <= 50)";

/// What to do about it.
pub(crate) const IN_ALL_MESSAGE: &str =
    "AWS allows a profile 50 tags, those of additionalTags among them: remove some of either";

/// Schema of an optional [`Tags`] field: AWS takes 50 tags, keys of 128 and values of 256 characters, of letters, digits,
/// blanks and few others.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": MOST,
        "additionalProperties": {
            "type": "string",
            "maxLength": 256,
            "x-kubernetes-validations": [
                {
                    "rule": r"self.matches('^[\\p{L}\\p{N}\\p{Z}_.:/=+@-]*$')",
                    "message": "write tag values of letters, digits, blanks and _ . : / = + - @, AWS takes no others",
                },
                {
                    "rule": "!self.matches('^[aA][wW][sS]:')",
                    "message": "choose tag values that do not start with aws:, AWS keeps those for itself",
                },
            ],
        },
        "x-kubernetes-validations": [
            {
                "rule": "self.all(key, size(key) >= 1 && size(key) <= 128)",
                "message": "write tag keys of 1 to 128 characters",
            },
            {
                "rule": r"self.all(key, key.matches('^[\\p{L}\\p{N}\\p{Z}_.:/=+@-]*$'))",
                "message": "write tag keys of letters, digits, blanks and _ . : / = + - @, AWS takes no others",
            },
            {
                "rule": "self.all(key, !key.matches('^[aA][wW][sS]:'))",
                "message": "choose tag keys that do not start with aws:, AWS keeps those for itself",
            },
        ],
    })
}
