//! Which of the inputs must not be seen.
//!
//! What comes from a Secret is secret. What stands in the clear in an object that anybody may read is not, unless its
//! name says that it should have been.

use capt_terraform::redact::Secrets;
use hcl_edit::{
    expr::{Expression, ObjectKey},
    structure::{Attribute, Body},
    visit::{self, Visit},
};
use serde_json::Value;

use super::backend::constant;

/// Whether what is called this is likely to be secret.
pub(super) fn is_telling(name: &str) -> bool {
    const TELLING: [&str; 9] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "private_key",
        "api_key",
        "access_key",
        "credential",
    ];
    /// Ends of names of what only points to a secret.
    const POINTING: [&str; 8] = [
        "_id", "_name", "_arn", "_suffix", "_path", "_file", "_ref", "_version",
    ];
    let name = name.to_ascii_lowercase().replace('-', "_");
    TELLING.iter().any(|word| name.contains(word)) && !POINTING.iter().any(|end| name.ends_with(end))
}

/// A named value that stands in the clear.
pub(super) fn named(secrets: &mut Secrets, name: &str, value: &Value) {
    match value {
        _ if is_telling(name) => secrets.json(value),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| named(secrets, name, field)),
        Value::Array(items) => items.iter().for_each(|item| named(secrets, name, item)),
        _ => {}
    }
}

/// Everything in a text of Terraform's language whose name is telling.
pub(super) fn in_hcl(secrets: &mut Secrets, text: &str) {
    if let Ok(body) = text.parse::<Body>() {
        Named(secrets).visit_body(&body);
    }
}

struct Named<'a>(&'a mut Secrets);

impl Visit for Named<'_> {
    fn visit_attr(&mut self, node: &Attribute) {
        if let Some(value) = constant(&node.value) {
            named(self.0, node.key.as_str(), &value);
        }
        visit::visit_attr(self, node);
    }

    fn visit_object_item(&mut self, key: &ObjectKey, value: &hcl_edit::expr::ObjectValue) {
        let name = match key {
            ObjectKey::Ident(name) => Some(name.as_str()),
            ObjectKey::Expression(Expression::Variable(name)) => Some(name.as_str()),
            ObjectKey::Expression(expression) => expression.as_str(),
        };
        if let (Some(name), Some(value)) = (name, constant(value.expr())) {
            named(self.0, name, &value);
        }
        visit::visit_object_item(self, key, value);
    }
}
