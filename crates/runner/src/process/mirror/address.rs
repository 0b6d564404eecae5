//! Addresses of providers.

use std::{fmt, path::PathBuf};

use crate::engine::EngineKind;

/// Where the providers are that need no installation.
const BUILT_IN: &str = "terraform.io/builtin/";

/// The address of a provider that can be installed: `host/namespace/type`, in lower case. It is safe as a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::process) struct ProviderAddress(String);

impl ProviderAddress {
    /// The address that a `source` means to an engine. None if it is built in or no engine would take it.
    pub(in crate::process) fn parse(source: &str, engine: EngineKind) -> Option<Self> {
        let host = match engine {
            EngineKind::Terraform | EngineKind::Simulated => "registry.terraform.io",
            EngineKind::Tofu => "registry.opentofu.org",
        };
        let source = source.to_lowercase();
        let parts: Vec<&str> = source.split('/').collect();
        let (host, namespace, name) = match parts.as_slice() {
            [name] => (host, "hashicorp", *name),
            [namespace, name] => (host, *namespace, *name),
            [host, namespace, name] => (*host, *namespace, *name),
            _ => return None,
        };
        let is_safe = is_host(host) && is_name(namespace) && is_name(name);
        let address = format!("{host}/{namespace}/{name}");
        (is_safe && !is_built_in(&address)).then_some(Self(address))
    }

    /// The address in a lock file, which is always a whole one.
    pub(in crate::process) fn whole(address: &str) -> Option<Self> {
        let parsed = Self::parse(address, EngineKind::Terraform)?;
        (parsed.0 == address).then_some(parsed)
    }

    pub(in crate::process) fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder of its versions in a mirror.
    pub(super) fn path(&self) -> PathBuf {
        self.0.split('/').collect()
    }
}

impl fmt::Display for ProviderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a provider of this source is a part of the engine.
pub(in crate::process) fn is_built_in(source: &str) -> bool {
    source.starts_with(BUILT_IN)
}

/// Whether this is a version, and safe as a name of a file.
pub(super) fn is_version(text: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    text.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
        && text.len() <= 128
        && text.bytes().all(safe)
}

/// Whether these may be constraints for versions, and nothing else.
pub(super) fn is_constraint(text: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b" .,<>=!~+-".contains(&byte);
    text.bytes().all(safe)
}

fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "443"));
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner)
    };
    name.split('.').all(is_label) && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let first = text.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphanumeric()) && text.len() <= 128 && text.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_means_what_it_means_to_the_engine() {
        let cases = [
            (
                "aws",
                EngineKind::Terraform,
                Some("registry.terraform.io/hashicorp/aws"),
            ),
            (
                "aws",
                EngineKind::Tofu,
                Some("registry.opentofu.org/hashicorp/aws"),
            ),
            (
                "Hashicorp/AWS",
                EngineKind::Terraform,
                Some("registry.terraform.io/hashicorp/aws"),
            ),
            (
                "example.com:8443/some/x_y",
                EngineKind::Terraform,
                Some("example.com:8443/some/x_y"),
            ),
            ("terraform.io/builtin/terraform", EngineKind::Terraform, None),
            ("../../etc", EngineKind::Terraform, None),
            ("example.com/../x", EngineKind::Terraform, None),
            ("a..b/some/x", EngineKind::Terraform, None),
            ("example.com/some/x/y", EngineKind::Terraform, None),
            ("example.com/some/", EngineKind::Terraform, None),
            ("example.com/so me/x", EngineKind::Terraform, None),
            ("example.com:/some/x", EngineKind::Terraform, None),
            ("", EngineKind::Terraform, None),
        ];
        for (source, engine, expected) in cases {
            let address = ProviderAddress::parse(source, engine);
            assert_eq!(
                address.as_ref().map(ProviderAddress::as_str),
                expected,
                "{source}"
            );
        }
        assert!(ProviderAddress::whole("registry.terraform.io/hashicorp/aws").is_some());
        assert_eq!(ProviderAddress::whole("hashicorp/aws"), None);
    }

    #[test]
    fn nothing_but_versions_becomes_a_path() {
        for (text, expected) in [
            ("1.2.3", true),
            ("0.1.0-beta1+x", true),
            ("", false),
            ("..", false),
            ("1/2", false),
            ("v1", false),
        ] {
            assert_eq!(is_version(text), expected, "{text}");
        }
        for (text, expected) in [(">= 1.0, < 2.0, != 1.5", true), ("~> 5.0", true), ("${x}", false)] {
            assert_eq!(is_constraint(text), expected, "{text}");
        }
    }
}
