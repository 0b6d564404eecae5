//! What the module of an EKS cluster gets. Lists, maps and objects travel as JSON.

use std::collections::BTreeMap;

use capt_api::{captcontrolplane::CAPTControlPlaneSpec, region::Region, version::Minor};

use super::vpc::Vpc;
use crate::{owned::Field, values};

/// What the Go implementation gave every template.
const ENVIRONMENT: &str = "production";

/// Which fields of a CAPTControlPlane they come from, of those that can be changed.
pub(super) const FIELDS: [Field; 6] = [
    ("kubernetes_version", "spec.version"),
    (
        "endpoint_public_access",
        "spec.controlPlaneConfig.endpointAccess.public",
    ),
    (
        "endpoint_private_access",
        "spec.controlPlaneConfig.endpointAccess.private",
    ),
    (
        "public_access_cidrs",
        "spec.controlPlaneConfig.endpointAccess.publicCIDRs",
    ),
    ("addons", "spec.controlPlaneConfig.addons"),
    ("tags", "spec.additionalTags"),
];

/// What the variables are made of.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// What the user asks for.
    pub spec: &'a CAPTControlPlaneSpec,
    /// The name of the Cluster; adopted clusters keep theirs.
    pub cluster_name: &'a str,
    /// The version to go to.
    pub version: Minor,
    /// The region.
    pub region: &'a Region,
    /// The network, if its facts are known.
    pub vpc: Option<&'a Vpc>,
    /// Variables that the WorkspaceTemplateApply has already.
    pub before: Option<&'a BTreeMap<String, String>>,
}

/// The variables. What is left out is the template's to decide.
#[must_use]
pub fn variables(inputs: &Inputs<'_>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut set = |name: &str, value: String| {
        all.insert(name.to_owned(), value);
    };
    set("cluster_name", inputs.cluster_name.to_owned());
    set("kubernetes_version", inputs.version.to_string());
    set("region", inputs.region.as_str().to_owned());
    set("environment", ENVIRONMENT.to_owned());
    let subnets = inputs.vpc.and_then(|vpc| vpc.private_subnets.as_ref());
    for (name, told) in [
        ("vpc_id", inputs.vpc.map(|vpc| vpc.id.clone())),
        ("private_subnets", subnets.map(values::json)),
    ] {
        // What was known once and is not any more changes nothing.
        let before = || inputs.before.and_then(|before| before.get(name)).cloned();
        if let Some(value) = told.or_else(before) {
            set(name, value);
        }
    }
    let config = inputs.spec.control_plane_config.as_ref();
    if let Some(access) = config.and_then(|config| config.endpoint_access.as_ref()) {
        if let Some(public) = access.public {
            set("endpoint_public_access", public.to_string());
        }
        if let Some(private) = access.private {
            set("endpoint_private_access", private.to_string());
        }
        if let Some(blocks) = &access.public_cidrs {
            set("public_access_cidrs", values::json(blocks));
        }
    }
    if let Some(addons) = config.and_then(|config| config.addons.as_ref()) {
        set("addons", values::json(addons));
    }
    if let Some(tags) = &inputs.spec.additional_tags {
        set("tags", values::json(tags));
        for (key, value) in tags {
            set(&format!("tags_{key}"), value.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> CAPTControlPlaneSpec {
        serde_json::from_str(text).expect("a spec")
    }

    fn made(spec: &CAPTControlPlaneSpec, region: &str, vpc: Option<&Vpc>) -> BTreeMap<String, String> {
        let before = BTreeMap::from([
            ("vpc_id".to_owned(), "vpc-0".to_owned()),
            ("private_subnets".to_owned(), "[\"subnet-0\"]".to_owned()),
            ("other".to_owned(), "1".to_owned()),
        ]);
        variables(&Inputs {
            spec,
            cluster_name: "blue",
            version: Minor { major: 1, minor: 31 },
            region: &Region::from(region),
            vpc,
            before: Some(&before),
        })
    }

    #[test]
    fn everything_that_the_spec_says_reaches_the_module() {
        let spec = spec(
            r#"{
                "version": "v1.31.2",
                "workspaceTemplateRef": {"name": "eks"},
                "additionalTags": {"team": "a", "cost center": "7"},
                "controlPlaneConfig": {
                    "endpointAccess": {"public": true, "private": false, "publicCIDRs": ["203.0.113.0/24"]},
                    "addons": [{"name": "coredns"}, {"name": "vpc-cni", "version": "v1", "configurationValues": "{}"}]
                }
            }"#,
        );
        let vpc = Vpc {
            id: "vpc-1".to_owned(),
            private_subnets: Some(vec!["subnet-a".to_owned(), "subnet-b".to_owned()]),
        };
        let expected = [
            (
                "addons",
                r#"[{"name":"coredns"},{"name":"vpc-cni","version":"v1","configurationValues":"{}"}]"#,
            ),
            ("cluster_name", "blue"),
            ("endpoint_private_access", "false"),
            ("endpoint_public_access", "true"),
            ("environment", "production"),
            ("kubernetes_version", "1.31"),
            ("private_subnets", r#"["subnet-a","subnet-b"]"#),
            ("public_access_cidrs", r#"["203.0.113.0/24"]"#),
            ("region", "us-gov-west-1"),
            ("tags", r#"{"cost center":"7","team":"a"}"#),
            ("tags_cost center", "7"),
            ("tags_team", "a"),
            ("vpc_id", "vpc-1"),
        ];
        let made = made(&spec, "us-gov-west-1", Some(&vpc));
        let parsed: BTreeMap<&str, &str> = made
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        for (name, value) in expected {
            let found = parsed.get(name).copied();
            match serde_json::from_str::<serde_json::Value>(value) {
                Ok(json) if json.is_array() => {
                    let found = found.and_then(|found| serde_json::from_str(found).ok());
                    assert_eq!(found, Some(json), "{name}");
                }
                _ => assert_eq!(found, Some(value), "{name}"),
            }
        }
        assert_eq!(made.len(), expected.len());
    }

    #[test]
    fn what_the_spec_leaves_out_is_the_templates_to_decide_and_what_was_known_stays() {
        let spec = spec(r#"{"version": "1.31", "workspaceTemplateRef": {"name": "eks"}}"#);
        let made = made(&spec, "us-iso-east-1", None);
        let names: Vec<&str> = made.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "cluster_name",
                "environment",
                "kubernetes_version",
                "private_subnets",
                "region",
                "vpc_id"
            ]
        );
        assert_eq!(made["vpc_id"], "vpc-0");
        assert_eq!(made["region"], "us-iso-east-1");
    }
}
