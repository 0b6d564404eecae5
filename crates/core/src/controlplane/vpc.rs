//! The facts about the network that a control plane needs, as they stand in a Secret.

mod awaited;

use capt_api::CAPTControlPlane;

pub(super) use awaited::awaited;

use super::snapshot::{ClusterSeen, InfrastructureSeen, SecretSeen};
use crate::{
    captcluster::facts::{Fault, PRIVATE_SUBNETS, VPC_ID, VpcFacts},
    names,
    owned::OwnedSeen,
};

/// The name that the first documents used for every cluster. It is read only if no other is there.
pub const FIXED_NAME: &str = "vpc-connection";

/// The facts about a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vpc {
    /// Its id.
    pub id: String,
    /// Its private subnets, if they are told.
    pub private_subnets: Option<Vec<String>>,
}

/// What is wrong with the Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VpcProblem {
    /// A key is missing.
    #[error("The Secret {secret} has no key {key}, and none vpc_config that says it. {way}")]
    Missing {
        /// The Secret.
        secret: String,
        /// The key.
        key: &'static str,
        /// What to do.
        way: String,
    },
    /// A key cannot be read.
    #[error("The key {key} of the Secret {secret} {what}")]
    Malformed {
        /// The Secret.
        secret: String,
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// The names under which the Secret is looked for, in this order. Only one that [`tells_about`] the network of the
/// CAPTCluster and [`belongs_to`] the control plane is to be used: anybody may have made a Secret of such a name.
#[must_use]
pub fn secret_names(infrastructure: &InfrastructureSeen) -> Vec<String> {
    let derived = names::vpc_connection(&infrastructure.name);
    let known = [
        infrastructure.connection_secret_name.clone(),
        infrastructure.template_connection_secret.clone(),
        Some(derived.preferred().to_owned()),
        Some(derived.parted().to_owned()),
        Some(FIXED_NAME.to_owned()),
    ];
    let mut all = Vec::new();
    for name in known.into_iter().flatten() {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The names under which the Secret is looked for, whatever the infrastructure is. Where that is no CAPTCluster, a person
/// makes the Secret. A CAPTCluster that is not there may come, and until then nobody knows whose network is told about.
#[must_use]
pub fn names_to_read(
    infrastructure: Option<&InfrastructureSeen>,
    cluster: Option<&ClusterSeen>,
) -> Vec<String> {
    match (infrastructure, cluster) {
        (Some(infrastructure), _) => secret_names(infrastructure),
        (None, Some(cluster)) if missing_captcluster(cluster).is_none() => vec![FIXED_NAME.to_owned()],
        (None, _) => Vec::new(),
    }
}

/// The CAPTCluster that a Cluster refers to.
fn missing_captcluster(cluster: &ClusterSeen) -> Option<&str> {
    let (kind, name) = cluster.infrastructure_ref.as_ref()?;
    (kind == "CAPTCluster").then_some(name.as_str())
}

/// The id of the network, if it is known: what the CAPTCluster says, or what the EKS cluster was made in.
#[must_use]
pub fn known_id<'a>(
    infrastructure: Option<&'a InfrastructureSeen>,
    apply: Option<&'a OwnedSeen>,
) -> Option<&'a str> {
    match infrastructure {
        Some(infrastructure) => infrastructure.vpc_id.as_deref(),
        None => apply?
            .wta
            .spec
            .variables
            .as_ref()?
            .get(VPC_ID)
            .map(String::as_str),
    }
}

/// Reads the facts: from plain keys, or from the text under `vpc_config`, as the CAPTCluster does.
///
/// # Errors
///
/// There is no id of a VPC, or something cannot be read. That no subnets are told is no error: a template may find them.
pub fn read(secret: &SecretSeen) -> Result<Vpc, VpcProblem> {
    let facts = VpcFacts::read(|key| secret.text(key).map(str::as_bytes));
    let id = facts.vpc_id.clone().ok_or_else(|| problem(secret, VPC_ID))?;
    match facts.fault(PRIVATE_SUBNETS) {
        Some(fault) => Err(malformed(secret, fault)),
        None => Ok(Vpc {
            id,
            private_subnets: facts.private_subnets,
        }),
    }
}

/// Why a fact cannot be read.
#[must_use]
pub fn problem(secret: &SecretSeen, fact: &'static str) -> VpcProblem {
    let facts = VpcFacts::read(|key| secret.text(key).map(str::as_bytes));
    match facts.fault(fact) {
        Some(fault) => malformed(secret, fault),
        None => VpcProblem::Missing {
            secret: secret.name.clone(),
            key: fact,
            way: way_to_tell(secret, fact),
        },
    }
}

/// What to do for a Secret to tell a fact. That depends on who writes it.
fn way_to_tell(secret: &SecretSeen, fact: &str) -> String {
    let writer = secret.controller.as_ref();
    match writer.and_then(|(writer, _)| writer.split_once('/')) {
        Some(("CAPTCluster", name)) => {
            let field = if fact == PRIVATE_SUBNETS {
                "existingSubnetIds"
            } else {
                "existingVpcId"
            };
            format!("Set spec.{field} of the CAPTCluster {name}, or use a template that finds it by itself")
        }
        Some(("Workspace", name)) => {
            format!("Add it to the outputs of the module, from which the Workspace {name} writes it")
        }
        _ => "Add it".to_owned(),
    }
}

fn malformed(secret: &SecretSeen, fault: Fault) -> VpcProblem {
    VpcProblem::Malformed {
        secret: secret.name.clone(),
        key: fault.key,
        what: match (fault.is_empty(), &secret.controller) {
            (false, _) => fault.what,
            (true, Some(_)) => "is empty: let the module's output of this name tell it",
            (true, None) => "is empty: write there what it should tell",
        },
    }
}

/// Whether a Secret may tell about the network with this id, if that is known: one that tells another id is about another
/// network, whatever it is called.
#[must_use]
pub fn tells_about(secret: &SecretSeen, vpc_id: Option<&str>) -> bool {
    let told = VpcFacts::read(|key| secret.text(key).map(str::as_bytes)).vpc_id;
    told.is_none() || vpc_id.is_none() || told.as_deref() == vpc_id
}

/// Whether a Secret tells the id of a network. Until one does, those of the other names have to be looked at too.
#[must_use]
pub fn tells(secret: &SecretSeen) -> bool {
    VpcFacts::read(|key| secret.text(key).map(str::as_bytes))
        .vpc_id
        .is_some()
}

/// Which of the Secrets that may be used is: the first that [`tells`], or else the first. One of somebody else that happens to
/// have such a name tells nothing, and ours then has another name.
#[must_use]
pub fn pick(mut found: Vec<SecretSeen>) -> Option<SecretSeen> {
    let index = found.iter().position(tells).unwrap_or_default();
    (index < found.len()).then(|| found.swap_remove(index))
}

/// Whether a Secret belongs to no other cluster than a control plane does.
#[must_use]
pub fn belongs_to(secret: &SecretSeen, control_plane: &CAPTControlPlane) -> bool {
    let label = capt_api::foreign::marks::CLUSTER_NAME;
    let own = control_plane
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(label));
    let theirs = secret.labels.get(label);
    theirs.is_none() || theirs == own
}

#[cfg(test)]
mod tests {
    use super::{super::snapshot::Hidden, *};

    fn secret(data: &[(&str, &str)]) -> SecretSeen {
        SecretSeen {
            name: "blue-vpc-connection".to_owned(),
            data: data
                .iter()
                .map(|(key, text)| ((*key).to_owned(), Hidden::new(*text)))
                .collect(),
            ..SecretSeen::default()
        }
    }

    #[test]
    fn facts_are_read_from_plain_keys_and_from_the_text_of_the_first_documents() {
        let expected = Vpc {
            id: "vpc-1".to_owned(),
            private_subnets: Some(vec!["subnet-a".to_owned(), "subnet-b".to_owned()]),
        };
        let config = "vpc_id = \"vpc-1\"\nprivate_subnets = [\"subnet-a\", \"subnet-b\"]\nother = 1\n";
        for data in [
            vec![
                ("vpc_id", "vpc-1"),
                ("private_subnets", "[\"subnet-a\",\"subnet-b\"]"),
            ],
            vec![
                ("vpc_id", "\"vpc-1\"\n"),
                ("private_subnets", "[\"subnet-a\",\"subnet-b\"]"),
            ],
            vec![("vpc_config", config)],
            vec![("vpc_id", "vpc-1"), ("vpc_config", config)],
        ] {
            assert_eq!(read(&secret(&data)), Ok(expected.clone()), "{data:?}");
        }
    }

    #[test]
    fn subnets_need_not_be_told() {
        for data in [
            vec![("vpc_id", "vpc-1")],
            vec![("vpc_id", "vpc-1"), ("vpc_config", "vpc_id = \"vpc-1\"\n")],
        ] {
            let secret = secret(&data);
            assert_eq!(read(&secret).map(|vpc| vpc.private_subnets), Ok(None), "{data:?}");
            let problem = problem(&secret, PRIVATE_SUBNETS).to_string();
            assert!(problem.contains("has no key private_subnets"), "{problem}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_secret_and_key() {
        for (data, words) in [
            (vec![], "has no key vpc_id"),
            (
                vec![("vpc_id", " "), ("private_subnets", "[]")],
                "The key vpc_id of",
            ),
            (
                vec![("vpc_id", "vpc-1"), ("private_subnets", "a,b")],
                "is no JSON list",
            ),
            (vec![("vpc_config", "vpc_id = ")], "is no HCL"),
            (vec![("vpc_config", "vpc_id = 1")], "a vpc_id that is no text"),
            (
                vec![("vpc_config", "vpc_id = \"v\"\nprivate_subnets = \"s\"")],
                "private_subnets that are no list",
            ),
            (
                vec![("vpc_config", "vpc_id = \"v\"\nprivate_subnets = [1]")],
                "private_subnets that are no list",
            ),
        ] {
            let problem = read(&secret(&data)).expect_err(words).to_string();
            assert!(problem.contains(words), "{problem}");
            assert!(problem.contains("blue-vpc-connection"), "{problem}");
        }
    }

    #[test]
    fn who_writes_a_secret_decides_what_to_do_about_what_it_lacks() {
        for (writer, expected) in [
            (
                Some("CAPTCluster/net"),
                "Set spec.existingSubnetIds of the CAPTCluster net,",
            ),
            (
                Some("Workspace/net"),
                "Add it to the outputs of the module, from which the Workspace net",
            ),
            (None, "Add it"),
        ] {
            let mut secret = secret(&[("vpc_id", "vpc-1")]);
            secret.controller = writer.map(|writer| (writer.to_owned(), "1".to_owned()));
            let told = problem(&secret, PRIVATE_SUBNETS).to_string();
            let way = format!("has no key private_subnets, and none vpc_config that says it. {expected}");
            assert!(
                told.contains(&way) && told.ends_with(expected) == (writer.is_none()),
                "{told}"
            );
        }
    }

    #[test]
    fn who_wrote_a_secret_has_to_fill_it() {
        let mut secret = secret(&[("vpc_id", "")]);
        let told = |secret: &SecretSeen| read(secret).expect_err("it is empty").to_string();
        assert_eq!(
            told(&secret),
            "The key vpc_id of the Secret blue-vpc-connection is empty: write there what it should tell"
        );
        secret.controller = Some(("Workspace".to_owned(), "1".to_owned()));
        assert_eq!(
            told(&secret),
            "The key vpc_id of the Secret blue-vpc-connection is empty: let the module's output of this name tell it"
        );
    }

    #[test]
    fn a_secret_about_another_network_is_not_used_whatever_it_is_called() {
        let of = |data: &[(&str, &str)], known| tells_about(&secret(data), known);
        assert!(of(&[("vpc_id", "vpc-1")], Some("vpc-1")));
        assert!(!of(&[("vpc_id", "vpc-2")], Some("vpc-1")));
        assert!(!of(&[("vpc_config", "vpc_id = \"vpc-2\"")], Some("vpc-1")));
        // What is not complete yet, or was not told yet, contradicts nothing.
        assert!(of(&[], Some("vpc-1")));
        assert!(of(&[("vpc_id", "vpc-2")], None));
    }

    #[test]
    fn a_secret_that_tells_nothing_is_in_nobodys_way() {
        let named = |name: &str, data: &[(&str, &str)]| SecretSeen {
            name: name.to_owned(),
            ..secret(data)
        };
        let told = [("vpc_id", "vpc-1")];
        for (name, found, expected) in [
            ("none", vec![], None),
            (
                "nothing is told",
                vec![named("a", &[]), named("b", &[])],
                Some("a"),
            ),
            (
                "the second tells",
                vec![named("a", &[("password", "x")]), named("b", &told)],
                Some("b"),
            ),
            (
                "the first that tells",
                vec![named("a", &told), named("b", &told)],
                Some("a"),
            ),
        ] {
            let picked = pick(found).map(|secret| secret.name);
            assert_eq!(picked.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn what_a_person_makes_is_read_where_no_captcluster_is_meant() {
        let cluster = |kind: Option<&str>| ClusterSeen {
            infrastructure_ref: kind.map(|kind| (kind.to_owned(), "net".to_owned())),
            ..ClusterSeen::default()
        };
        for (cluster, expected) in [
            (Some(cluster(None)), vec![FIXED_NAME]),
            (Some(cluster(Some("OtherCluster"))), vec![FIXED_NAME]),
            (Some(cluster(Some("CAPTCluster"))), vec![]),
            (None, vec![]),
        ] {
            assert_eq!(names_to_read(None, cluster.as_ref()), expected, "{cluster:?}");
        }
        let infrastructure = InfrastructureSeen {
            name: "blue".to_owned(),
            ..InfrastructureSeen::default()
        };
        let names = names_to_read(Some(&infrastructure), None);
        assert_eq!(names, secret_names(&infrastructure));
    }

    #[test]
    fn what_the_spec_names_comes_first_and_the_fixed_name_last() {
        let infrastructure = InfrastructureSeen {
            name: "blue".to_owned(),
            connection_secret_name: Some("mine".to_owned()),
            template_connection_secret: Some("theirs".to_owned()),
            ..InfrastructureSeen::default()
        };
        let names = secret_names(&infrastructure);
        assert_eq!(names[..3], ["mine", "theirs", "blue-vpc-connection"]);
        assert_eq!(names.last().map(String::as_str), Some(FIXED_NAME));
    }
}
