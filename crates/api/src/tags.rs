//! AWS tags, within the limits that AWS sets.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Tags by key.
pub type Tags = BTreeMap<String, String>;

/// How many tags AWS lets anything have.
const MOST: usize = 50;
/// How many characters a value may have.
const LONGEST_VALUE: usize = 256;

/// Rule for a spec with tags for everything and Fargate profiles with tags of their own: a profile gets both.
pub(crate) const IN_ALL: &str = "!has(self.additionalTags) || !has(self.additionalFargateProfiles) || \
     self.additionalFargateProfiles.all(one, !has(one.tags) || size(self.additionalTags) + \
     size(one.tags.filter(key, !(key in self.additionalTags))) <= 50)";

/// What to do about it.
pub(crate) const IN_ALL_MESSAGE: &str =
    "AWS allows a profile 50 tags, those of additionalTags among them: remove some of either";

/// Schema of an optional [`Tags`] field of what EKS makes: AWS takes 50 tags, keys of 128 and values of 256 characters, of
/// letters, digits, blanks and few others.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    let values = json!({
        "type": "string",
        "maxLength": LONGEST_VALUE,
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
    });
    json_schema!({
        "type": "object",
        "maxProperties": MOST,
        "additionalProperties": values,
        "x-kubernetes-validations": [
            long_keys(),
            {
                "rule": r"self.all(key, key.matches('^[\\p{L}\\p{N}\\p{Z}_.:/=+@-]*$'))",
                "message": "write tag keys of letters, digits, blanks and _ . : / = + - @, AWS takes no others",
            },
            keys_of_aws(),
        ],
    })
}

/// Schema of an optional [`Tags`] field of a network. EC2 takes every character.
pub(crate) fn of_network(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": MOST,
        "additionalProperties": {"type": "string", "maxLength": LONGEST_VALUE},
        "x-kubernetes-validations": [long_keys(), keys_of_aws()],
    })
}

fn long_keys() -> Value {
    json!({
        "rule": "self.all(key, size(key) >= 1 && size(key) <= 128)",
        "message": "write tag keys of 1 to 128 characters",
    })
}

fn keys_of_aws() -> Value {
    json!({
        "rule": "self.all(key, !key.matches('^[aA][wW][sS]:'))",
        "message": "choose tag keys that do not start with aws:, AWS keeps those for itself",
    })
}
