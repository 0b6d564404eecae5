//! Which of the inputs must not leave, and which are public.
//!
//! What comes from a Secret is secret. What is in the clear in an object of the Workspace's own namespace is public, unless
//! its name tells that it should be secret: it may be read there, so that hiding it in a report hides nothing and makes
//! the report unreadable. A ClusterProviderConfig is for those who may not read it, so that its text makes nothing public.

use capt_terraform::redact::{Format, Secrets, is_telling};
use hcl_edit::{
    expr::{Expression, ObjectKey, ObjectValue},
    structure::{Attribute, Block, Body},
    visit::{self, Visit},
};
use serde_json::Value;

use super::backend::constant;

/// A named value that stands in the clear: secret if its name is telling.
pub(super) fn named(secrets: &mut Secrets, name: &str, value: &Value) {
    each(name, value, &mut |value, is_secret| {
        if is_secret {
            secrets.json(value);
        }
    });
}

/// A named value of an object that may be read: secret if its name is telling, and public if it is not.
pub(super) fn public(secrets: &mut Secrets, name: &str, value: &Value) {
    each(name, value, &mut |value, is_secret| match is_secret {
        true => secrets.json(value),
        false => secrets.exempt_json(value),
    });
}

/// The text of a variable of an object that may be read, which may be an expression of Terraform's language.
pub(super) fn public_text(secrets: &mut Secrets, name: &str, text: &str) {
    public(secrets, name, &Value::from(text));
    if text.trim_start().starts_with(['[', '{'])
        && let Some(value) = text.trim().parse().ok().as_ref().and_then(constant)
    {
        public(secrets, name, &value);
    }
}

/// A file of variables of an object that may be read.
pub(super) fn public_variables(secrets: &mut Secrets, text: &str, format: Format) {
    match format {
        Format::Json => {
            if let Ok(value) = serde_json::from_str(text) {
                public(secrets, "", &value);
            }
        }
        Format::Hcl => {
            let is_constant = |attribute: &Attribute| {
                let value = constant(&attribute.value)?;
                Some((attribute.key.as_str().to_owned(), value))
            };
            let body = text.parse::<Body>().unwrap_or_default();
            for (name, value) in body.attributes().filter_map(is_constant) {
                public(secrets, &name, &value);
            }
        }
    }
}

/// Every part of a value that has one name, and whether it is secret by that.
fn each(name: &str, value: &Value, found: &mut dyn FnMut(&Value, bool)) {
    match value {
        _ if is_telling(name) => found(value, true),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| each(name, field, found)),
        Value::Array(items) => items.iter().for_each(|item| each(name, item, found)),
        _ => found(value, false),
    }
}

/// What stands in addresses in a text: `scheme://user:password@host`, and what their queries call secret.
///
/// A quote or a comma may be in a password or end the address. Nobody can tell which, so that both are looked for.
pub(super) fn in_addresses(secrets: &mut Secrets, text: &str) {
    /// What ends an address in whatever text it stands.
    const ENDS: [char; 8] = [' ', '\t', '\n', '\r', '"', '`', '<', '>'];
    /// What ends an address in some texts.
    const MAY_END: [char; 2] = ['\'', ','];
    for (at, separator) in text.match_indices("://") {
        let is_web = text[..at].ends_with("http") || text[..at].ends_with("https");
        let rest = &text[at + separator.len()..];
        let longest = &rest[..rest.find(ENDS).unwrap_or(rest.len())];
        in_address(secrets, longest, is_web);
        if let Some(end) = longest.find(MAY_END) {
            in_address(secrets, &longest[..end], is_web);
        }
    }
}

/// What is secret in what follows the scheme of an address.
fn in_address(secrets: &mut Secrets, address: &str, is_web: bool) {
    /// Settings of addresses of modules that are secret and do not sound like it.
    const SETTINGS: [&str; 1] = ["sshkey"];
    if let Some(user) = user_of(address) {
        match user.split_once(':') {
            Some((_, password)) => {
                // A short one is not told from ordinary words, but with its name it is.
                secrets.value(&format!("{user}@"));
                plain_and_decoded(secrets, password);
            }
            // A token may stand where the name does; a name that everybody uses is none.
            None if is_web => plain_and_decoded(secrets, user),
            None => {}
        }
    }
    let query = address.split_once('?').map_or("", |(_, query)| query);
    for setting in query.split('&') {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        if SETTINGS.contains(&name) || is_telling(name) {
            plain_and_decoded(secrets, value);
        }
    }
}

/// What stands before the host.
fn user_of(address: &str) -> Option<&str> {
    let authority = &address[..address.find(['/', '?', '#']).unwrap_or(address.len())];
    if let Some((user, _)) = authority.rsplit_once('@') {
        return Some(user);
    }
    // What looks like a port and is none is a password with a sign in it that should have been encoded.
    let (_, port) = authority.split_once(':')?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port)
        .then(|| address.rsplit_once('@'))
        .flatten()
        .map(|(user, _)| user)
}

/// A secret as it stands in an address, and as it is meant.
fn plain_and_decoded(secrets: &mut Secrets, text: &str) {
    secrets.value(text);
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    secrets.value(&String::from_utf8_lossy(&decoded));
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

    fn visit_object_item(&mut self, key: &ObjectKey, value: &ObjectValue) {
        if let (Some(name), Some(value)) = (name_of(key), constant(value.expr())) {
            named(self.0, name, &value);
        }
        visit::visit_object_item(self, key, value);
    }
}

fn name_of(key: &ObjectKey) -> Option<&str> {
    match key {
        ObjectKey::Ident(name) => Some(name.as_str()),
        ObjectKey::Expression(Expression::Variable(name)) => Some(name.as_str()),
        ObjectKey::Expression(expression) => expression.as_str(),
    }
}

/// The constants and labels of a module, which may be read: public unless what a constant is for has a telling name.
/// Nothing in it is secret by its name: there `http_tokens = "required"` is a setting.
pub(super) fn exempt_module(secrets: &mut Secrets, text: &str, format: Format) {
    match format {
        Format::Json => {
            if let Ok(value) = serde_json::from_str(text) {
                each("", &value, &mut |value, is_secret| {
                    if !is_secret {
                        secrets.exempt_json(value);
                    }
                });
            }
        }
        Format::Hcl => {
            if let Ok(body) = text.parse::<Body>() {
                Constants(secrets).visit_body(&body);
            }
        }
    }
}

struct Constants<'a>(&'a mut Secrets);

impl Visit for Constants<'_> {
    fn visit_block(&mut self, node: &Block) {
        let labels = node.labels.iter().map(|label| label.as_str());
        labels.clone().for_each(|label| self.0.exempt(label));
        let is_variable = node.ident.as_str() == "variable";
        if !(is_variable && labels.clone().any(is_telling)) {
            visit::visit_block(self, node);
        }
    }

    fn visit_attr(&mut self, node: &Attribute) {
        if !is_telling(node.key.as_str()) {
            visit::visit_attr(self, node);
        }
    }

    fn visit_object_item(&mut self, key: &ObjectKey, value: &ObjectValue) {
        if !name_of(key).is_some_and(is_telling) {
            self.visit_expr(value.expr());
        }
    }

    fn visit_expr(&mut self, node: &Expression) {
        match constant(node) {
            Some(Value::Array(_) | Value::Object(_)) | None => visit::visit_expr(self, node),
            Some(value) => self.0.exempt_json(&value),
        }
    }
}

#[cfg(test)]
mod tests {
    use capt_terraform::redact::Redactor;

    use super::*;

    #[test]
    fn what_is_secret_in_an_address_is_known() {
        for (text, told, expected) in [
            (
                "git::https://user:hunter22@example.com/x.git?ref=v1",
                "fatal: Authentication failed for 'https://user:hunter22@example.com/x.git'",
                "fatal: Authentication failed for 'https://(redacted)example.com/x.git'",
            ),
            (
                "git::https://user:hunter22@example.com/x.git",
                "hunter22 is wrong",
                "(redacted) is wrong",
            ),
            // Short ones only where they stand in the address.
            (
                "source = \"https://u:yes@example.com/a.zip\"",
                "yes: https://u:yes@example.com/a.zip",
                "yes: https://(redacted)example.com/a.zip",
            ),
            (
                "https://user:p%40ssw0rd@example.com/x",
                "p%40ssw0rd p@ssw0rd",
                "(redacted) (redacted)",
            ),
            (
                "git::https://ghp_0123456789@example.com/x.git",
                "https://ghp_0123456789@example.com",
                "https://(redacted)@example.com",
            ),
            (
                "git::ssh://deploy-user@example.com/x.git?sshkey=c2VjcmV0a2V5",
                "ssh://deploy-user@example.com c2VjcmV0a2V5",
                "ssh://deploy-user@example.com (redacted)",
            ),
            ("https://example.com/a@b:c", "a@b:c", "a@b:c"),
            ("https://example.com:8443/a@b:c", "8443/a@b:c", "8443/a@b:c"),
            (
                "git::https://user:hunter,22@example.com/x.git",
                "hunter,22 and https://user:hunter,22@example.com/x.git",
                "(redacted) and https://(redacted)example.com/x.git",
            ),
            (
                "git::https://user:it's2secret@example.com/x.git?api_token=a,b'c-d",
                "it's2secret a,b'c-d",
                "(redacted) (redacted)",
            ),
            (
                "of 'https://user:hunter22@example.com/x?token=abcdefgh', and more",
                "hunter22 abcdefgh",
                "(redacted) (redacted)",
            ),
            (
                "https://user:hun/ter#22@example.com/x",
                "invalid port in https://user:hun/ter#22@example.com/x",
                "invalid port in https://(redacted)example.com/x",
            ),
        ] {
            let mut secrets = Secrets::default();
            in_addresses(&mut secrets, text);
            assert_eq!(Redactor::new(&secrets).text(told), expected, "{text}");
        }
    }

    #[test]
    fn constants_of_a_module_are_public_unless_their_name_tells_otherwise() {
        const HCL: &str = "variable \"zone\" { default = \"public-1\" }\nvariable \"db_password\" { default = \"hidden-1\" }\n\
            resource \"public-2\" \"public-3\" {\n  list = [\"public-4\", lower(\"public-5\"), 47.110]\n  \
            token = \"hidden-2\"\n  secrets = { a = [\"hidden-3\"] }\n  tags = { api_token = \"hidden-4\", (var.x) = \"public-6\" }\n  \
            text = <<EOT\npublic-7\nEOT\n  part = \"hidden-5-${var.x}\"\n}\n";
        const JSON: &str = r#"{"resource": {"x": {"y": {"list": ["public-4", 47.110], "token": "hidden-2", "secrets": {"a": ["hidden-3"]}}}}}"#;
        for (text, format, public) in [
            (
                HCL,
                Format::Hcl,
                vec![
                    "public-1", "public-2", "public-3", "public-4", "public-5", "public-6", "public-7",
                    "47.11",
                ],
            ),
            (JSON, Format::Json, vec!["public-4", "47.11"]),
            ("broken {", Format::Hcl, vec![]),
            ("{", Format::Json, vec![]),
        ] {
            let mut secrets = Secrets::default();
            let hidden = ["hidden-1", "hidden-2", "hidden-3", "hidden-4", "hidden-5-"];
            public
                .iter()
                .chain(&hidden)
                .for_each(|value| secrets.value(value));
            exempt_module(&mut secrets, text, format);
            let redactor = Redactor::new(&secrets);
            for value in public {
                assert_eq!(redactor.text(value), value);
            }
            for value in hidden {
                assert_eq!(redactor.text(value), "(redacted)", "{value} of {text}");
            }
        }
    }
}
