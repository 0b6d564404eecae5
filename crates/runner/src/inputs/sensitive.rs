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
}
