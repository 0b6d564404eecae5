//! The file in which Terraform keeps the provider versions that it chose, and their checksums.

use std::collections::{BTreeMap, BTreeSet};

use hcl_edit::structure::{Block, Body};

use crate::engine::ProviderRequirements;

use super::{
    address::{ProviderAddress, is_constraint, is_version},
    requirements::Requirements,
};

/// Its name.
pub(in crate::process) const LOCK_FILE: &str = ".terraform.lock.hcl";

/// What is in it, and nothing else: whatever a run wrote into the file, no other text leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::process) struct LockFile(pub(super) BTreeMap<ProviderAddress, LockedProvider>);

/// The version of a provider that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::process) struct LockedProvider {
    pub(super) version: String,
    /// What was asked for then, as the engine writes it.
    pub(super) constraints: Option<String>,
    pub(super) hashes: BTreeSet<String>,
}

impl LockFile {
    /// What is in a file. None if it is no lock file.
    pub(in crate::process) fn parse(file: &[u8]) -> Option<Self> {
        let body: Body = std::str::from_utf8(file).ok()?.parse().ok()?;
        let providers = body.blocks().filter(|block| block.ident.as_str() == "provider");
        Some(Self(providers.filter_map(provider).collect()))
    }

    /// The file, as the engine writes it.
    pub(in crate::process) fn render(&self) -> String {
        let mut text = "# This file is maintained automatically by \"terraform init\".\n\
                        # Manual edits may be lost in future updates.\n"
            .to_owned();
        for (address, locked) in &self.0 {
            text.push_str(&format!("\nprovider \"{address}\" {{\n"));
            match &locked.constraints {
                Some(constraints) => text.push_str(&format!(
                    "  version     = \"{}\"\n  constraints = \"{constraints}\"\n",
                    locked.version
                )),
                None => text.push_str(&format!("  version = \"{}\"\n", locked.version)),
            }
            if !locked.hashes.is_empty() {
                text.push_str("  hashes = [\n");
                for hash in &locked.hashes {
                    text.push_str(&format!("    \"{hash}\",\n"));
                }
                text.push_str("  ]\n");
            }
            text.push_str("}\n");
        }
        text
    }

    pub(in crate::process) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What of it still counts. A version was chosen for the constraints that there were; where these differ by now, it has to
    /// be chosen anew. Nothing counts where the constraints are not known.
    pub(in crate::process) fn restored(
        mut self,
        before: Option<&ProviderRequirements>,
        now: Option<&Requirements>,
    ) -> Self {
        let Some(now) = now else { return Self::default() };
        if let Some(before) = before {
            self.0.retain(|provider, _| match now.get(provider) {
                Some(constraints) => before.get(provider.as_str()) == Some(constraints),
                None => true,
            });
        }
        self
    }

    /// The same with these providers in it.
    pub(in crate::process) fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

fn provider(block: &Block) -> Option<(ProviderAddress, LockedProvider)> {
    let address = ProviderAddress::whole(block.labels.first()?.as_str())?;
    let text = |name: &str| {
        let attribute = block.body.get_attribute(name)?;
        attribute.value.as_str().map(str::to_owned)
    };
    let hashes = block.body.get_attribute("hashes");
    let hashes = hashes.and_then(|attribute| attribute.value.as_array());
    let hashes = hashes.into_iter().flat_map(|hashes| hashes.iter());
    let locked = LockedProvider {
        version: text("version").filter(|version| is_version(version))?,
        constraints: text("constraints").filter(|text| is_constraint(text)),
        hashes: hashes
            .filter_map(|hash| hash.as_str())
            .filter(|hash| is_hash(hash))
            .map(str::to_owned)
            .collect(),
    };
    Some((address, locked))
}

fn is_hash(text: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b":+/=_-".contains(&byte);
    text.len() <= 256 && text.bytes().all(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "example.com/some/fake" {
  version     = "1.1.0"
  constraints = ">= 1.0.0, < 2.0.0"
  hashes = [
    "h1:AHkXaETJ8jhmtWPM5xq17sIDmn0c92TGsWKxSgI1edg=",
    "zh:0000000000000000000000000000000000000000000000000000000000000000",
  ]
}

provider "registry.terraform.io/hashicorp/other" {
  version = "2.0.0"
  hashes = [
    "h1:x",
  ]
}
"#;

    fn constraints(of: &[(&str, &[&str])]) -> ProviderRequirements {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        of.iter()
            .map(|(provider, texts)| ((*provider).to_owned(), owned(texts)))
            .collect()
    }

    fn requirements(of: &[(&str, &[&str])]) -> Requirements {
        constraints(of)
            .into_iter()
            .map(|(provider, texts)| (ProviderAddress::whole(&provider).unwrap(), texts))
            .collect()
    }

    #[test]
    fn it_is_written_as_terraform_writes_it() {
        let lock = LockFile::parse(FILE.as_bytes()).unwrap();
        assert_eq!(lock.0.len(), 2);
        assert_eq!(lock.render(), FILE);
        assert_eq!(LockFile::parse(b"").unwrap(), LockFile::default());
        assert_eq!(LockFile::parse(b"provider {{"), None);
        assert_eq!(LockFile::parse(b"\xff"), None);
    }

    #[test]
    fn nothing_but_locks_is_taken_from_a_file() {
        let text = r#"
            secret = "hidden"
            provider "../../etc/x" { version = "1.0.0" }
            provider "example.com/some/up" { version = "../1" }
            provider "example.com/some/odd" {
              version = "1.0.0"
              constraints = "${file("/etc/passwd")}"
              hashes = ["h1:x", "hid den", 1]
            }
        "#;
        let lock = LockFile::parse(text.as_bytes()).unwrap();
        let names: Vec<&str> = lock.0.keys().map(ProviderAddress::as_str).collect();
        assert_eq!(names, ["example.com/some/odd"]);
        let text = lock.render();
        assert!(!text.contains("hid") && !text.contains("passwd"), "{text}");
        assert!(text.contains("h1:x"), "{text}");
    }

    #[test]
    fn a_version_is_chosen_anew_when_its_constraints_changed() {
        let (fake, other) = ("example.com/some/fake", "registry.terraform.io/hashicorp/other");
        let lock = LockFile::parse(FILE.as_bytes()).unwrap();
        let before = constraints(&[(fake, &[">= 1.0.0"]), (other, &[])]);
        type Asked<'a> = &'a [(&'a str, &'a [&'a str])];
        let cases: [(Asked<'_>, &[&str]); 5] = [
            (&[(fake, &[">= 1.0.0"]), (other, &[])], &[fake, other]),
            (&[(fake, &[">= 1.2.0"]), (other, &[])], &[other]),
            (&[(fake, &[">= 1.0.0", "< 3"]), (other, &["~> 2.0"])], &[]),
            // What only the state has needs the version that made it.
            (&[(other, &[])], &[fake, other]),
            (&[], &[fake, other]),
        ];
        for (now, expected) in cases {
            let restored = lock.clone().restored(Some(&before), Some(&requirements(now)));
            let names: Vec<&str> = restored.0.keys().map(ProviderAddress::as_str).collect();
            assert_eq!(names, expected, "{now:?}");
        }
        let now = requirements(&[(fake, &[]), (other, &[])]);
        // What an earlier runner left behind tells no constraints.
        assert_eq!(lock.clone().restored(None, Some(&now)), lock);
        assert!(lock.clone().restored(Some(&[].into()), Some(&now)).is_empty());
        assert!(lock.restored(Some(&before), None).is_empty());
    }
}
