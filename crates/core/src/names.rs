//! Names of the objects that we make, derived from the names of those that ask for them.
//!
//! A derived name is never refused for its length: it is cut, and a hash of everything that it was derived from tells
//! it from others that are cut to the same text. It always is a legal object name and a legal label value, if the
//! names that it comes from are legal object names.
//!
//! Names are derived when an object is created and never again; later it is found by its labels. So a function here
//! may be changed without renaming anything that exists.

use sha2::{Digest as _, Sha256};

/// The longest name that is legal everywhere that names end up in: labels, DNS labels, Terraform workspaces.
pub const MAX_LENGTH: usize = 63;

/// Hexadecimal digits of the hash in a name: 48 bits, so that a million names collide with odds of 1 to 500.
const HASH_LENGTH: usize = 12;

/// Names for one object, to be tried in this order.
///
/// Two parents may lead to one plain name: a control plane `a-b` with a profile `c`, and `a` with `b-c`. Plain names
/// are what people expect, so they are kept until the clash happens; then the hash parts the two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChildName {
    plain: Option<String>,
    parted: String,
}

impl ChildName {
    /// The name to use if no other object has it.
    #[must_use]
    pub fn preferred(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.parted)
    }

    /// The name that no other parents lead to.
    #[must_use]
    pub fn parted(&self) -> &str {
        &self.parted
    }

    /// The first name that is not taken by an object of somebody else.
    #[must_use]
    pub fn choose(&self, taken_by_others: impl Fn(&str) -> bool) -> &str {
        match self.plain.as_deref() {
            Some(plain) if !taken_by_others(plain) => plain,
            _ => &self.parted,
        }
    }
}

/// The WorkspaceTemplateApply that makes the VPC of a CAPTCluster.
#[must_use]
pub fn vpc_apply(captcluster: &str) -> ChildName {
    child("vpc-apply", &[captcluster], "vpc")
}

/// The WorkspaceTemplateApply that makes the EKS cluster of a CAPTControlPlane.
#[must_use]
pub fn eks_apply(control_plane: &str) -> ChildName {
    child("eks-apply", &[control_plane], "eks-controlplane-apply")
}

/// The WorkspaceTemplateApply that makes a Fargate profile.
#[must_use]
pub fn fargate_apply(control_plane: &str, profile: &str) -> ChildName {
    child("fargate-apply", &[control_plane, profile], "fargate-apply")
}

/// The Secret with the facts about a VPC.
#[must_use]
pub fn vpc_connection(captcluster: &str) -> ChildName {
    child("vpc-connection", &[captcluster], "vpc-connection")
}

/// The Secret with the facts about an EKS cluster.
#[must_use]
pub fn eks_connection(control_plane: &str) -> ChildName {
    child("eks-connection", &[control_plane], "eks-connection")
}

/// The Secret with the last rendering of a WorkspaceTemplateApply.
#[must_use]
pub fn last_rendering(apply: &str) -> ChildName {
    child("last-rendering", &[apply], "rendering")
}

/// The ConfigMap that says how long operations take with a WorkspaceTemplate.
#[must_use]
pub fn statistics(template: &str) -> String {
    shorten(template, &hash("statistics", &[template]), "statistics")
}

/// The ConfigMap in which our runner tells about a Workspace. It always has a hash: Workspaces of both groups may share
/// a name and meet in one namespace.
#[must_use]
pub fn run_report(group: &str, workspace: &str) -> String {
    shorten(workspace, &hash("run-report", &[group, workspace]), "run")
}

/// Whether an object of this name may be one in which our runner tells about a Workspace.
#[must_use]
pub fn is_run_report(name: &str) -> bool {
    let stem = name.strip_suffix("-run");
    let hash = stem.and_then(|stem| stem.rsplit('-').next());
    hash.is_some_and(|hash| hash.len() == HASH_LENGTH && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The Workspace of a WorkspaceTemplateApply: its name without a trailing `-apply`.
///
/// The namespace is for cluster-scoped Workspaces, whose names the applies of all namespaces compete for.
#[must_use]
pub fn workspace(namespace: &str, apply: &str) -> ChildName {
    let stem = apply
        .strip_suffix("-apply")
        .filter(|stem| !stem.is_empty())
        .unwrap_or(apply);
    let plain = (stem.len() <= MAX_LENGTH).then(|| stem.to_owned());
    ChildName {
        plain,
        parted: shorten(stem, &hash("workspace", &[namespace, apply]), ""),
    }
}

/// The name under which Terraform keeps the state of a Workspace. It always has a hash, because nothing else tells
/// whether a name is taken: two namespaces must never share state.
#[must_use]
pub fn external_name(namespace: &str, workspace: &str) -> String {
    let stem = format!("{namespace}-{workspace}");
    shorten(&stem, &hash("external-name", &[namespace, workspace]), "")
}

/// A name as a label value: as it is, or cut and hashed if it is too long for one.
#[must_use]
pub fn label_value(name: &str) -> String {
    if name.len() <= MAX_LENGTH {
        name.to_owned()
    } else {
        shorten(name, &hash("label", &[name]), "")
    }
}

/// `role` parts children of one parent that are of different sorts, even where their suffixes are alike.
fn child(role: &str, parents: &[&str], suffix: &str) -> ChildName {
    let stem = parents.join("-");
    let plain = format!("{stem}-{suffix}");
    ChildName {
        plain: (plain.len() <= MAX_LENGTH).then_some(plain),
        parted: shorten(&stem, &hash(role, parents), suffix),
    }
}

/// `<stem, cut as needed>-<hash>[-<suffix>]`, at most [`MAX_LENGTH`] long.
fn shorten(stem: &str, hash: &str, suffix: &str) -> String {
    let tail = if suffix.is_empty() {
        format!("-{hash}")
    } else {
        format!("-{hash}-{suffix}")
    };
    let mut room = MAX_LENGTH.saturating_sub(tail.len()).min(stem.len());
    while !stem.is_char_boundary(room) {
        room -= 1;
    }
    let head = stem.get(..room).unwrap_or_default().trim_end_matches(['-', '.']);
    format!("{head}{tail}")
}

/// A hash of all parts with their lengths, so that no other parts give the same input.
fn hash(role: &str, parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in std::iter::once(&role).chain(parts) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher
        .finalize()
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(HASH_LENGTH)
        .map(digit)
        .collect()
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests;
