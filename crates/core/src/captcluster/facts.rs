//! What is known about a network, in the forms in which modules and Secrets tell it.
//!
//! A connection Secret has every output of a module under its name: texts as they are, everything else as JSON. Besides
//! there is `vpc_config`, which has the same as HCL, to be read by Terraform as a file of variables.

use hcl_edit::{expr::Expression, parser};
use serde_json::Value;

/// Key of the VPC's id.
pub const VPC_ID: &str = "vpc_id";
/// Key of the ids of the private subnets.
pub const PRIVATE_SUBNETS: &str = "private_subnets";
/// Key of the HCL text.
pub const VPC_CONFIG: &str = "vpc_config";

/// What a connection Secret tells about a network. None of it is secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VpcFacts {
    /// Id of the VPC.
    pub vpc_id: Option<String>,
    /// Ids of the private subnets.
    pub private_subnets: Option<Vec<String>>,
    /// There is an HCL text.
    pub has_config: bool,
}

impl VpcFacts {
    /// Reads the values of a Secret, without base64.
    pub fn read<'a>(value: impl Fn(&str) -> Option<&'a [u8]>) -> Self {
        let text = |key: &str| {
            let text = std::str::from_utf8(value(key)?).ok()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let config = text(VPC_CONFIG);
        let from_config = config.as_deref().map(from_hcl).unwrap_or_default();
        Self {
            vpc_id: text(VPC_ID)
                .map(|id| id.trim_matches('"').to_owned())
                .filter(|id| !id.is_empty())
                .or(from_config.vpc_id),
            private_subnets: text(PRIVATE_SUBNETS)
                .and_then(|text| from_json(&text))
                .or(from_config.private_subnets),
            has_config: config.is_some(),
        }
    }

    /// What a control plane needs is there. A text of its author's own making is taken at its word.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.vpc_id.is_some() && (self.private_subnets.is_some() || self.has_config)
    }

    /// Keys that are missing, for people.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let missing = [
            (self.vpc_id.is_none(), VPC_ID),
            (
                self.private_subnets.is_none() && !self.has_config,
                PRIVATE_SUBNETS,
            ),
        ];
        let missing = missing.into_iter().filter(|(is_missing, _)| *is_missing);
        missing.map(|(_, key)| key).collect()
    }

    /// Keys and values of a Secret that tells the same.
    #[must_use]
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let json = |value: Value| value.to_string();
        let mut config = String::new();
        let mut entries = Vec::new();
        if let Some(vpc_id) = &self.vpc_id {
            config.push_str(&format!("vpc_id = {}\n", json(Value::from(vpc_id.as_str()))));
            entries.push((VPC_ID, vpc_id.clone()));
        }
        if let Some(subnets) = &self.private_subnets {
            let quoted: Vec<String> = subnets
                .iter()
                .map(|subnet| json(Value::from(subnet.as_str())))
                .collect();
            config.push_str(&format!("private_subnets = [{}]\n", quoted.join(", ")));
            entries.push((PRIVATE_SUBNETS, json(Value::from(subnets.clone()))));
        }
        entries.push((VPC_CONFIG, config));
        entries
    }
}

fn from_json(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}

fn from_hcl(text: &str) -> VpcFacts {
    let Ok(body) = parser::parse_body(text) else {
        return VpcFacts::default();
    };
    let value = |name: &str| body.get_attribute(name).map(|attribute| &attribute.value);
    VpcFacts {
        vpc_id: value(VPC_ID).and_then(text_of).filter(|id| !id.is_empty()),
        private_subnets: value(PRIVATE_SUBNETS)
            .and_then(Expression::as_array)
            .and_then(|items| items.iter().map(text_of).collect()),
        has_config: true,
    }
}

fn text_of(expression: &Expression) -> Option<String> {
    expression.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(entries: &[(&str, &str)]) -> VpcFacts {
        let entries: BTreeMap<&str, &str> = entries.iter().copied().collect();
        VpcFacts::read(|key| entries.get(key).map(|value| value.as_bytes()))
    }

    #[test]
    fn facts_are_read_in_every_form_that_modules_write_them() {
        let subnets = Some(vec!["subnet-a".to_owned(), "subnet-b".to_owned()]);
        let config = "vpc_id = \"vpc-1\"\nprivate_subnets = [\"subnet-a\", \"subnet-b\"]\n";
        type Row<'a> = (
            &'a [(&'a str, &'a str)],
            Option<&'a str>,
            Option<Vec<String>>,
            bool,
        );
        let table: [Row<'_>; 9] = [
            (&[], None, None, false),
            (&[("vpc_id", "vpc-1")], Some("vpc-1"), None, false),
            (
                &[
                    ("vpc_id", "vpc-1"),
                    ("private_subnets", r#"["subnet-a","subnet-b"]"#),
                ],
                Some("vpc-1"),
                subnets.clone(),
                true,
            ),
            (&[("vpc_config", config)], Some("vpc-1"), subnets.clone(), true),
            (
                &[("vpc_id", "vpc-2"), ("vpc_config", config)],
                Some("vpc-2"),
                subnets,
                true,
            ),
            (&[("vpc_id", " "), ("vpc_config", "not { hcl")], None, None, false),
            (
                &[("vpc_id", "vpc-1"), ("private_subnets", "subnet-a")],
                Some("vpc-1"),
                None,
                false,
            ),
            (&[("vpc_config", "vpc_id = \"vpc-1\"")], Some("vpc-1"), None, true),
            (
                &[("vpc_config", "vpc_id = 7\nprivate_subnets = [1]")],
                None,
                None,
                false,
            ),
        ];
        for (entries, vpc_id, subnets, is_complete) in table {
            let facts = read(entries);
            assert_eq!(facts.vpc_id.as_deref(), vpc_id, "{entries:?}");
            assert_eq!(facts.private_subnets, subnets, "{entries:?}");
            assert_eq!(facts.is_complete(), is_complete, "{entries:?}");
            assert_eq!(facts.missing().is_empty(), is_complete, "{entries:?}");
        }
    }

    #[test]
    fn facts_are_written_in_the_forms_that_modules_read() {
        let facts = VpcFacts {
            vpc_id: Some("vpc-1".to_owned()),
            private_subnets: Some(vec!["subnet-a".to_owned(), "subnet-b".to_owned()]),
            has_config: true,
        };
        let entries: BTreeMap<_, _> = facts.entries().into_iter().collect();
        assert_eq!(entries[VPC_ID], "vpc-1");
        assert_eq!(entries[PRIVATE_SUBNETS], r#"["subnet-a","subnet-b"]"#);
        assert_eq!(
            entries[VPC_CONFIG],
            "vpc_id = \"vpc-1\"\nprivate_subnets = [\"subnet-a\", \"subnet-b\"]\n"
        );
        let written: Vec<_> = entries
            .iter()
            .map(|(key, value)| (*key, value.as_str()))
            .collect();
        assert_eq!(read(&written), facts);
    }
}
