//! The Secret that tells about a network: what it is called, which one is read, and the one that is written for a
//! network that exists.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{CAPTCluster, foreign::marks as foreign_marks};
use k8s_openapi::{
    api::core::v1::Secret,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use serde_json::{Map, Value, json};

use super::{
    facts::{VPC_CONFIG, VpcFacts},
    snapshot::{SecretName, Snapshot},
};
use crate::{
    commands,
    decision::{Desired, Guard, Removal, Strip, Target},
    names::{self, ChildName},
    owned::{OwnedSeen, Owner},
};

/// What the Secret is called in the documents of the Go implementation, whatever the cluster.
const FIXED_NAME: &str = "vpc-connection";

/// A Secret that may tell about a network, without anything that is secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretSeen {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
    /// Its type.
    pub type_: String,
    /// The Cluster in its label `cluster.x-k8s.io/cluster-name`.
    pub cluster: Option<String>,
    /// Its owners.
    pub owners: Vec<OwnerReference>,
    /// What it tells.
    pub facts: VpcFacts,
    /// The entries are written as [`VpcFacts::entries`] writes them.
    pub is_as_written: bool,
    /// It has keys, and no `vpc_config` among them, so that every fact has a key of its own.
    pub has_outputs: bool,
}

impl SecretSeen {
    /// What counts of a Secret.
    #[must_use]
    pub fn of(secret: &Secret) -> Self {
        let metadata = secret.metadata.clone();
        let value = |key: &str| {
            let value = secret.data.as_ref()?.get(key)?;
            Some(value.0.as_slice())
        };
        let facts = VpcFacts::read(value);
        let keys = secret.data.as_ref();
        let labels = metadata.labels.unwrap_or_default();
        Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            type_: secret.type_.clone().unwrap_or_default(),
            cluster: labels.get(foreign_marks::CLUSTER_NAME).cloned(),
            owners: metadata.owner_references.unwrap_or_default(),
            is_as_written: facts
                .entries()
                .iter()
                .all(|(key, text)| value(key) == Some(text.as_bytes())),
            has_outputs: keys.is_some_and(|keys| !keys.is_empty() && !keys.contains_key(VPC_CONFIG)),
            facts,
        }
    }

    /// Whether a CAPTCluster wrote it.
    pub(super) fn is_written_by(&self, owner: &Owner<'_>) -> bool {
        self.owners
            .iter()
            .any(|one| one.kind == owner.kind && one.name == owner.name)
    }

    /// Whether the Workspace of this uid wrote it.
    fn is_written_by_workspace(&self, uid: Option<&str>) -> bool {
        let is_it = |one: &OwnerReference| one.kind == "Workspace" && Some(one.uid.as_str()) == uid;
        self.owners.iter().any(is_it)
    }

    /// Whether it tells about the network of another cluster.
    fn is_of_another(&self, owner: &Owner<'_>, vpc_id: Option<&str>) -> bool {
        let is_labelled = self.cluster.is_some() && self.cluster.as_deref() != owner.cluster;
        let is_owned = self
            .owners
            .iter()
            .any(|one| one.kind == owner.kind && one.name != owner.name);
        let told = self.facts.vpc_id.as_deref();
        is_labelled || is_owned || (told.is_some() && vpc_id.is_some() && told != vpc_id)
    }
}

/// Secrets that may tell about a network, the most likely first.
#[must_use]
pub fn secrets_to_read(
    captcluster: &CAPTCluster,
    apply: Option<&OwnedSeen>,
    workspace_secret: Option<&SecretName>,
) -> Vec<SecretName> {
    let namespace = captcluster.metadata.namespace.as_deref().unwrap_or_default();
    let name = captcluster.metadata.name.as_deref().unwrap_or_default();
    let here = |name: &str| SecretName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let own = names::vpc_connection(name);
    let mut all = Vec::new();
    all.extend(captcluster.spec.connection_secret_name.as_deref().map(here));
    all.extend(workspace_secret.cloned());
    all.extend(apply.and_then(of_apply).map(here));
    all.extend([own.preferred(), own.parted(), FIXED_NAME].map(here));
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|one| seen.insert(one.clone()));
    all
}

/// The first Secret that tells all about a network, if there is one. `vpc_id` is the network's, if it is known.
pub(super) fn complete<'a>(
    snapshot: &'a Snapshot,
    owner: &Owner<'_>,
    apply: Option<&OwnedSeen>,
    vpc_id: Option<&str>,
) -> Option<&'a SecretSeen> {
    let wanted = secrets_to_read(&snapshot.captcluster, apply, snapshot.workspace_secret.as_ref());
    wanted
        .iter()
        .filter_map(|name| at(snapshot, name))
        .find(|secret| secret.facts.is_complete() && !secret.is_of_another(owner, vpc_id))
}

/// The Secret that should tell all about a network.
fn expected_name(snapshot: &Snapshot, apply: &OwnedSeen) -> Option<SecretName> {
    let workspace = snapshot.workspace_secret.as_ref();
    let wanted = secrets_to_read(&snapshot.captcluster, Some(apply), workspace);
    wanted.into_iter().next()
}

/// The same, if it is there.
pub(super) fn expected<'a>(snapshot: &'a Snapshot, apply: &OwnedSeen) -> Option<&'a SecretSeen> {
    expected_name(snapshot, apply).and_then(|name| at(snapshot, &name))
}

/// What is missing for a Secret to tell all about a network, in words, and what to do.
pub(super) fn trouble(snapshot: &Snapshot, apply: &OwnedSeen) -> String {
    let Some(expected) = expected_name(snapshot, apply) else {
        return String::new();
    };
    match at(snapshot, &expected) {
        None => format!(
            "the Secret {} is not there. Its Workspace writes it; to have it written again: {}",
            expected.name,
            apply.retry_command()
        ),
        Some(secret) if secret.facts.troubles().is_empty() => format!(
            "the Secret {} tells of another VPC than the output vpc_id, or is another cluster's; let Terraform look again: {}",
            expected.name,
            commands::capt(
                "retry workspace",
                &ObjectMeta {
                    name: Some(apply.workspace_name().to_owned()),
                    namespace: snapshot.captcluster.metadata.namespace.clone(),
                    ..ObjectMeta::default()
                },
                ""
            ),
        ),
        Some(secret) if secret.facts.faults.is_empty() => format!(
            "the Secret {} has {}, which the module has to tell; to have it written again: {}",
            expected.name,
            secret.facts.troubles().join(" and "),
            apply.retry_command()
        ),
        Some(secret) => format!(
            "the Secret {} has {}; give the module outputs of these names",
            expected.name,
            secret.facts.troubles().join(" and ")
        ),
    }
}

/// What the expected Secret tells cannot be used, and waiting does not help.
pub(super) fn is_unusable(snapshot: &Snapshot, apply: &OwnedSeen) -> bool {
    expected(snapshot, apply).is_some_and(|secret| !secret.facts.faults.is_empty())
}

fn at<'a>(snapshot: &'a Snapshot, name: &SecretName) -> Option<&'a SecretSeen> {
    let mut secrets = snapshot.secrets.iter();
    secrets.find(|secret| secret.namespace == name.namespace && secret.name == name.name)
}

/// The Secret that a WorkspaceTemplateApply says to write to.
fn of_apply(apply: &OwnedSeen) -> Option<&str> {
    let reference = apply.wta.spec.write_connection_secret_to_ref.as_ref()?;
    Some(reference.name.as_str())
}

/// The Secret that the WorkspaceTemplateApply is told to write to; none if the template decides. A name that was chosen
/// once is kept, also when somebody deleted the WorkspaceTemplateApply: then its Workspace still has it. One that turned out
/// to be somebody else's is given up.
pub(super) fn to_write(snapshot: &Snapshot, apply: Option<&OwnedSeen>) -> Option<String> {
    let captcluster = &snapshot.captcluster;
    if let Some(named) = &captcluster.spec.connection_secret_name {
        return Some(named.clone());
    }
    let present = apply
        .and_then(of_apply)
        .filter(|name| !apply.is_some_and(|apply| is_taken(snapshot, apply, name)))
        .map(str::to_owned);
    match &snapshot.template {
        Some(template) if template.names_secret => None,
        None => present,
        Some(_) => present
            .or_else(|| {
                let of_workspace = of_workspace(snapshot)?;
                let is_taken = apply.is_some_and(|apply| is_taken(snapshot, apply, &of_workspace));
                (!is_taken).then_some(of_workspace)
            })
            .or_else(|| Some(free_name(snapshot))),
    }
}

/// Whether a Secret of this name exists and is somebody else's, and there is a better name: a derived one stays, or it would
/// be chosen anew for ever.
fn is_taken(snapshot: &Snapshot, apply: &OwnedSeen, name: &str) -> bool {
    let own = own_name(snapshot);
    if name == own.preferred() || name == own.parted() {
        return false;
    }
    let namespace = snapshot
        .captcluster
        .metadata
        .namespace
        .as_deref()
        .unwrap_or_default();
    let place = SecretName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    at(snapshot, &place).is_some_and(|secret| {
        let mut owners = secret.owners.iter();
        let controller = owners.find(|owner| owner.controller == Some(true));
        let controller = controller.map(|owner| (owner.kind.as_str(), owner.name.as_str()));
        apply.cannot_write_to(&secret.type_, controller)
    })
}

/// The Secret that the Workspace of the network writes, if that is one that a WorkspaceTemplateApply may name.
fn of_workspace(snapshot: &Snapshot) -> Option<String> {
    let namespace = snapshot.captcluster.metadata.namespace.as_deref();
    let secret = snapshot.workspace_secret.as_ref();
    let here = secret.filter(|secret| Some(secret.namespace.as_str()) == namespace);
    here.map(|secret| secret.name.clone())
}

/// A name that no Secret has yet, except for the one that the Workspace of the network wrote.
fn free_name(snapshot: &Snapshot) -> String {
    let metadata = &snapshot.captcluster.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    own_name(snapshot)
        .choose(|name| {
            let mut secrets = snapshot.secrets.iter();
            secrets.any(|secret| {
                let is_ours = secret.is_written_by_workspace(snapshot.workspace_uid.as_deref());
                secret.namespace == namespace && secret.name == name && !is_ours
            })
        })
        .to_owned()
}

fn own_name(snapshot: &Snapshot) -> ChildName {
    names::vpc_connection(snapshot.captcluster.metadata.name.as_deref().unwrap_or_default())
}

/// The Secret of a network that exists.
pub(super) enum Written<'a> {
    /// It tells what it should.
    Done,
    /// It has to be written.
    Write(Box<Desired>),
    /// Somebody else's Secret has the name that the spec asks for, and tells something else.
    Taken(&'a SecretSeen),
}

/// What has to be done for a network that exists to be known.
pub(super) fn written<'a>(snapshot: &'a Snapshot, owner: &Owner<'_>, facts: &VpcFacts) -> Written<'a> {
    let here = |name: &str| {
        let mut secrets = snapshot.secrets.iter();
        secrets.find(|secret| secret.namespace == owner.namespace && secret.name == name)
    };
    let named = snapshot.captcluster.spec.connection_secret_name.as_deref();
    let name = match named {
        Some(named) => named.to_owned(),
        None => own_name(snapshot)
            .choose(|name| here(name).is_some_and(|secret| !secret.is_written_by(owner)))
            .to_owned(),
    };
    let present = here(&name);
    match present {
        Some(secret) if !secret.is_written_by(owner) => {
            let tells_enough = secret.facts.vpc_id == facts.vpc_id
                && (facts.private_subnets.is_none() || secret.facts.private_subnets == facts.private_subnets);
            return if tells_enough {
                Written::Done
            } else {
                Written::Taken(secret)
            };
        }
        Some(secret) if is_right(secret, owner, facts) => return Written::Done,
        _ => {}
    }
    let entries = facts.entries();
    let data: Map<String, Value> = entries
        .iter()
        .map(|(key, text)| ((*key).to_owned(), json!(STANDARD.encode(text))))
        .collect();
    Written::Write(Box::new(Desired {
        target: target(owner, &name),
        guard: present.map_or(Guard::Absent, |secret| Guard::Uid(secret.uid.clone())),
        fields: json!({
            "metadata": {"labels": owner.labels(), "ownerReferences": [owner.reference()]},
            "data": data,
        }),
        strip: Strip::default(),
        rendered_from: None,
        loss: None,
        is_beside: false,
    }))
}

/// The Secret of somebody else that has the name which the one of a network that exists should have, if there is one: ours then
/// has another name.
pub(super) fn in_the_way<'a>(snapshot: &'a Snapshot, owner: &Owner<'_>) -> Option<&'a SecretSeen> {
    if snapshot.captcluster.spec.connection_secret_name.is_some() {
        return None;
    }
    let name = SecretName {
        namespace: owner.namespace.to_owned(),
        name: own_name(snapshot).preferred().to_owned(),
    };
    at(snapshot, &name).filter(|secret| !secret.is_written_by(owner))
}

fn is_right(secret: &SecretSeen, owner: &Owner<'_>, facts: &VpcFacts) -> bool {
    let told = (&secret.facts.vpc_id, &secret.facts.private_subnets);
    secret.is_as_written
        && told == (&facts.vpc_id, &facts.private_subnets)
        && secret.cluster.as_deref() == owner.cluster
        && secret.owners.iter().any(|one| one.uid == owner.uid)
}

/// Secrets that a CAPTCluster wrote, which go with it.
pub(super) fn own<'a>(snapshot: &'a Snapshot, owner: &Owner<'_>) -> impl Iterator<Item = &'a SecretSeen> {
    let uid = owner.uid.to_owned();
    let secrets = snapshot.secrets.iter();
    secrets.filter(move |secret| secret.owners.iter().any(|one| one.uid == uid))
}

pub(super) fn removal(secret: &SecretSeen, owner: &Owner<'_>) -> Removal {
    Removal {
        target: target(owner, &secret.name),
        uid: secret.uid.clone(),
        resource_version: secret.resource_version.clone(),
    }
}

fn target(owner: &Owner<'_>, name: &str) -> Target {
    Target {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: Some(owner.namespace.to_owned()),
        name: name.to_owned(),
    }
}
