//! Which connection Secrets there are and in which version, so that one that somebody deletes or edits is noticed.
//!
//! Nothing of what is in them is known here.

use std::collections::{HashMap, HashSet};

use capt_core::{render::WorkspaceGroup, tenancy::WatchScope};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::view::{KIND, WorkspaceView};

/// Namespace and name of a Secret.
pub(crate) type Name = (String, String);

/// The connection Secrets that there are, with their versions, once they are known.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    secrets: HashMap<Name, String>,
    /// The scopes whose Secrets are known.
    known: HashSet<WatchScope>,
}

/// The version of a Secret, if it belongs to a Workspace.
pub(crate) fn version_of(metadata: &ObjectMeta) -> Option<String> {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let belongs = owners.iter().any(|owner| {
        let group = owner.api_version.split('/').next().unwrap_or_default();
        let groups = [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped];
        owner.kind == KIND && groups.iter().any(|one| one.name() == group)
    });
    metadata.resource_version.clone().filter(|_| belongs)
}

/// The Secret that a Workspace wants its outputs in.
pub(crate) fn wanted(view: &WorkspaceView) -> Option<Name> {
    let reference = view.connection_secret_ref.as_ref()?;
    Some((reference.namespace.clone(), reference.name.clone()))
}

impl Connections {
    /// In this scope there are these and no others. Returns which of those that were known before are gone or other ones now.
    pub(crate) fn learn(&mut self, scope: &WatchScope, secrets: HashMap<Name, String>) -> Vec<Name> {
        let before = self
            .secrets
            .extract_if(|(namespace, _), _| scope.contains(namespace));
        let before: Vec<(Name, String)> = before.collect();
        self.secrets.extend(secrets);
        self.known.insert(scope.clone());
        let changed = before
            .into_iter()
            .filter(|(name, version)| self.version(name) != Some(version));
        changed.map(|(name, _)| name).collect()
    }

    fn are_known(&self, namespace: &str) -> bool {
        self.known.iter().any(|scope| scope.contains(namespace))
    }

    /// Takes note that a Secret is there, in this version if it belongs to a Workspace, or is gone.
    pub(crate) fn note(&mut self, name: &Name, version: Option<String>) {
        if !self.are_known(&name.0) {
            return;
        }
        match version {
            Some(version) => self.secrets.insert(name.clone(), version),
            None => self.secrets.remove(name),
        };
    }

    /// The version in which a Secret is there, as far as is known.
    pub(crate) fn version(&self, name: &Name) -> Option<&String> {
        self.secrets.get(name)
    }

    /// Whether the Secret that a Workspace wants is not there, as far as is known.
    pub(crate) fn lacks(&self, view: &WorkspaceView) -> bool {
        let name = wanted(view);
        name.is_some_and(|name| self.are_known(&name.0) && self.version(&name).is_none())
    }
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::Workspace;
    use serde_json::json;

    use super::*;

    fn name(name: &str) -> Name {
        ("ns".to_owned(), name.to_owned())
    }

    fn wants(secret: Option<&str>) -> WorkspaceView {
        let reference = secret.map(|name| json!({"name": name}));
        let object: Workspace = serde_json::from_value(json!({
            "apiVersion": "tf.m.upbound.io/v1beta1", "kind": "Workspace",
            "metadata": {"name": "vpc", "namespace": "ns"},
            "spec": {
                "forProvider": {"source": "Inline", "module": ""},
                "writeConnectionSecretToRef": reference,
            },
        }))
        .expect("a Workspace");
        WorkspaceView::from(&object)
    }

    #[test]
    fn only_what_belongs_to_a_workspace_counts() {
        for (api_version, kind, counts) in [
            ("tf.m.upbound.io/v1beta1", "Workspace", true),
            ("tf.upbound.io/v1beta1", "Workspace", true),
            ("tf.upbound.io/v1beta1", "ProviderConfig", false),
            ("example.org/v1", "Workspace", false),
        ] {
            let metadata = serde_json::from_value(json!({
                "resourceVersion": "7",
                "ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": "x", "uid": "u"}],
            }));
            let version = version_of(&metadata.expect("metadata"));
            assert_eq!(version.is_some(), counts, "{api_version} {kind}");
        }
        assert_eq!(version_of(&ObjectMeta::default()), None);
    }

    #[test]
    fn a_secret_is_missed_once_all_are_known() {
        let mut connections = Connections::default();
        let (has, lacks, wants_none) = (wants(Some("a")), wants(Some("b")), wants(None));
        connections.note(&name("b"), Some("1".to_owned()));
        assert!(!connections.lacks(&lacks), "nothing is known yet");
        let all = HashMap::from([(name("a"), "1".to_owned()), (name("c"), "1".to_owned())]);
        assert_eq!(connections.learn(&WatchScope::Cluster, all), Vec::<Name>::new());
        assert!(!connections.lacks(&has) && connections.lacks(&lacks) && !connections.lacks(&wants_none));
        connections.note(&name("b"), Some("2".to_owned()));
        assert_eq!(connections.version(&name("b")).map(String::as_str), Some("2"));
        connections.note(&name("b"), None);
        assert!(connections.lacks(&lacks));
    }

    #[test]
    fn what_changed_while_nobody_looked_is_told() {
        let mut connections = Connections::default();
        let listed = |pairs: &[(&str, &str)]| -> HashMap<Name, String> {
            let named = pairs.iter();
            named
                .map(|(secret, version)| (name(secret), (*version).to_owned()))
                .collect()
        };
        connections.learn(
            &WatchScope::Cluster,
            listed(&[("same", "1"), ("edited", "1"), ("gone", "1")]),
        );
        let mut changed = connections.learn(
            &WatchScope::Cluster,
            listed(&[("same", "1"), ("edited", "2"), ("new", "1")]),
        );
        changed.sort();
        assert_eq!(changed, [name("edited"), name("gone")]);
    }
    #[test]
    fn what_is_known_of_one_namespace_says_nothing_about_another() {
        let [ns, other] = ["ns", "other"].map(|namespace| WatchScope::Namespace(namespace.to_owned()));
        let mut connections = Connections::default();
        let wanted = wants(Some("a"));
        connections.learn(&other, HashMap::new());
        assert!(!connections.lacks(&wanted), "its namespace was not listed yet");
        connections.learn(&ns, HashMap::from([(name("a"), "1".to_owned())]));
        assert_eq!(connections.learn(&other, HashMap::new()), Vec::<Name>::new());
        assert_eq!(connections.version(&name("a")).map(String::as_str), Some("1"));
        assert_eq!(connections.learn(&ns, HashMap::new()), [name("a")]);
        assert!(connections.lacks(&wanted));
    }
}
