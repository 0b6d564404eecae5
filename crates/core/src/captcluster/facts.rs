//! What is known about a network, in the forms in which modules and Secrets tell it.
//!
//! A connection Secret has every output of a module under its name: texts as they are, everything else as JSON. Besides
//! there is `vpc_config`, which has the same as HCL, to be read by Terraform as a file of variables.

use hcl_edit::{parser, structure::Body};
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
    /// There is an HCL text that can be read.
    pub has_config: bool,
    /// Why a fact that is told cannot be used. There are none of facts that are told in another way too.
    pub faults: Vec<Fault>,
}

/// A key that is there and says nothing that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} {what}")]
pub struct Fault {
    /// The key.
    pub key: &'static str,
    /// The fact that is not known because of it.
    pub fact: &'static str,
    /// What is wrong with it, and what to do. Of a key that is empty, who has to fill it depends on who wrote it.
    pub what: &'static str,
}

impl Fault {
    /// Whether the key only has to be filled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.what == EMPTY
    }
}

const EMPTY: &str = "is empty";
const NO_ID: &str = "is no id of a VPC: make it a text such as vpc-0a1b2c3d";
const NO_LIST: &str = "is no JSON list of texts: write [\"subnet-…\", \"subnet-…\"]";
const NO_SUBNETS: &str = "is a list without subnets: EKS needs some in at least two availability zones";
const NO_HCL: &str = "is no HCL: write vpc_id = \"vpc-…\" and private_subnets = [\"subnet-…\"]";
const NO_ID_IN_HCL: &str = "has a vpc_id that is no text: write vpc_id = \"vpc-…\"";
const NO_LIST_IN_HCL: &str =
    "has private_subnets that are no list of texts: write private_subnets = [\"subnet-…\", \"subnet-…\"]";
const NO_SUBNETS_IN_HCL: &str =
    "has private_subnets without subnets: EKS needs some in at least two availability zones";

/// A fact, or what is wrong with it, or nothing at all.
type Read<T> = Option<Result<T, &'static str>>;

impl VpcFacts {
    /// Reads the values of a Secret, without base64.
    pub fn read<'a>(value: impl Fn(&str) -> Option<&'a [u8]>) -> Self {
        let text = |key: &str| Some(std::str::from_utf8(value(key)?).unwrap_or_default().trim());
        let config = text(VPC_CONFIG).filter(|text| !text.is_empty());
        let body = config.map(parser::parse_body);
        let (id_in_config, subnets_in_config) = match &body {
            Some(Ok(body)) => (id_in(body), subnets_in(body)),
            Some(Err(_)) => (Some(Err(NO_HCL)), Some(Err(NO_HCL))),
            None => (None, None),
        };
        let mut faults = Vec::new();
        let vpc_id = first(
            VPC_ID,
            [(VPC_ID, text(VPC_ID).map(id_of)), (VPC_CONFIG, id_in_config)],
            &mut faults,
        );
        let private_subnets = first(
            PRIVATE_SUBNETS,
            [
                (PRIVATE_SUBNETS, text(PRIVATE_SUBNETS).map(subnets_of)),
                (VPC_CONFIG, subnets_in_config),
            ],
            &mut faults,
        );
        Self {
            vpc_id,
            private_subnets,
            has_config: matches!(body, Some(Ok(_))),
            faults,
        }
    }

    /// What a control plane needs is there. A text of its author's own making is taken at its word.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.vpc_id.is_some()
            && (self.private_subnets.is_some() || (self.has_config && self.fault(PRIVATE_SUBNETS).is_none()))
    }

    /// What is wrong with a fact.
    #[must_use]
    pub fn fault(&self, fact: &str) -> Option<Fault> {
        self.faults.iter().find(|fault| fault.fact == fact).copied()
    }

    /// What is missing or wrong, for people: something that a Secret "has".
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        let needed = [
            (self.vpc_id.is_none(), VPC_ID),
            (
                self.private_subnets.is_none() && !self.is_complete(),
                PRIVATE_SUBNETS,
            ),
        ];
        let lacking = needed.into_iter().filter(|(is_lacking, _)| *is_lacking);
        let mut troubles: Vec<String> = lacking
            .filter_map(|(_, fact)| match self.fault(fact) {
                Some(fault) => Some(format!("a key {} that {}", fault.key, fault.what)),
                None if fact == PRIVATE_SUBNETS && self.has_config => None,
                None => Some(format!("no {fact}")),
            })
            .collect();
        troubles.dedup();
        troubles
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

/// The first place that tells a fact, or what is wrong with the first that should.
fn first<T>(fact: &'static str, places: [(&'static str, Read<T>); 2], faults: &mut Vec<Fault>) -> Option<T> {
    let mut fault = None;
    for (key, read) in places {
        match read {
            Some(Ok(told)) => return Some(told),
            Some(Err(what)) => {
                fault.get_or_insert(Fault { key, fact, what });
            }
            None => {}
        }
    }
    faults.extend(fault);
    None
}

/// A text, which stands there as it is or as JSON. Everything else is the JSON of an output of another type.
fn id_of(text: &str) -> Result<String, &'static str> {
    let id = match serde_json::from_str::<Value>(text) {
        Ok(Value::String(id)) => id,
        Ok(_) => return Err(NO_ID),
        Err(_) => text.trim_matches('"').to_owned(),
    };
    match id.trim() {
        "" => Err(EMPTY),
        id if id.contains(char::is_whitespace) => Err(NO_ID),
        id => Ok(id.to_owned()),
    }
}

fn subnets_of(text: &str) -> Result<Vec<String>, &'static str> {
    if text.is_empty() {
        return Err(EMPTY);
    }
    let subnets: Vec<String> = serde_json::from_str(text).map_err(|_| NO_LIST)?;
    some_subnets(subnets, NO_LIST, NO_SUBNETS)
}

fn some_subnets(
    subnets: Vec<String>,
    not_texts: &'static str,
    none: &'static str,
) -> Result<Vec<String>, &'static str> {
    match subnets.as_slice() {
        [] => Err(none),
        all if all.iter().any(|subnet| subnet.trim().is_empty()) => Err(not_texts),
        _ => Ok(subnets),
    }
}

fn id_in(body: &Body) -> Read<String> {
    let id = body.get_attribute(VPC_ID)?.value.as_str();
    Some(
        id.filter(|id| !id.trim().is_empty())
            .map(str::to_owned)
            .ok_or(NO_ID_IN_HCL),
    )
}

fn subnets_in(body: &Body) -> Read<Vec<String>> {
    let items = body.get_attribute(PRIVATE_SUBNETS)?.value.as_array();
    let texts: Option<Vec<String>> = items.and_then(|items| {
        items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect()
    });
    let subnets = texts.ok_or(NO_LIST_IN_HCL);
    Some(subnets.and_then(|subnets| some_subnets(subnets, NO_LIST_IN_HCL, NO_SUBNETS_IN_HCL)))
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
            assert_eq!(facts.troubles().is_empty(), is_complete, "{entries:?}");
        }
    }

    #[test]
    fn what_is_told_and_cannot_be_used_is_named_with_its_key() {
        type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
        let table: [Row<'_>; 12] = [
            (&[], &["no vpc_id", "no private_subnets"]),
            (
                &[("vpc_id", r#"["a"]"#)],
                &["a key vpc_id that is no id", "no private_subnets"],
            ),
            (
                &[("vpc_id", "5")],
                &["a key vpc_id that is no id", "no private_subnets"],
            ),
            (
                &[("vpc_id", r#"{"a":"b"}"#)],
                &["a key vpc_id that is no id", "no private_subnets"],
            ),
            (
                &[("vpc_id", "hello world")],
                &["a key vpc_id that is no id", "no private_subnets"],
            ),
            (
                &[("vpc_id", "")],
                &["a key vpc_id that is empty", "no private_subnets"],
            ),
            (
                &[("vpc_id", "vpc-1"), ("private_subnets", "[]")],
                &["a key private_subnets that is a list without subnets"],
            ),
            (
                &[("vpc_id", "vpc-1"), ("private_subnets", "[1]")],
                &["a key private_subnets that is no JSON list"],
            ),
            (
                &[(
                    "vpc_config",
                    "vpc_id = \"vpc-1\"\nprivate_subnets = [\"subnet-1\", oops",
                )],
                &["a key vpc_config that is no HCL"],
            ),
            (
                &[("vpc_id", "vpc-1"), ("vpc_config", "not { hcl")],
                &["a key vpc_config that is no HCL"],
            ),
            (
                &[("vpc_config", "vpc_id = \"vpc-1\"\nprivate_subnets = []")],
                &["a key vpc_config that has private_subnets without subnets"],
            ),
            (
                &[
                    ("vpc_id", "5"),
                    (
                        "vpc_config",
                        "vpc_id = \"vpc-1\"\nprivate_subnets = [\"subnet-1\"]",
                    ),
                ],
                &[],
            ),
        ];
        for (entries, expected) in table {
            let troubles = read(entries).troubles();
            assert_eq!(troubles.len(), expected.len(), "{entries:?}: {troubles:?}");
            for (trouble, expected) in troubles.iter().zip(expected) {
                assert!(trouble.starts_with(expected), "{entries:?}: {trouble}");
            }
        }
    }

    #[test]
    fn facts_are_written_in_the_forms_that_modules_read() {
        let facts = VpcFacts {
            vpc_id: Some("vpc-1".to_owned()),
            private_subnets: Some(vec!["subnet-a".to_owned(), "subnet-b".to_owned()]),
            has_config: true,
            faults: Vec::new(),
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
