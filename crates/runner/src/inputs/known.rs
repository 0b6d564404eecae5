//! Provider configurations as watches tell them: many Workspaces name the same few, and each looks at its own again and
//! again.
//!
//! What is known here may be a moment old. That is enough to look at a Workspace, which is woken when a watch tells more;
//! whoever runs something reads.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use capt_core::tenancy::WatchScope;
use futures::future::BoxFuture;
use parking_lot::RwLock;

use super::{
    ApiLookup, ConfigKind, ConfigRef, Lookup,
    lookup::{ConfigFound, Data},
};
use crate::api::CallError;

/// The provider configurations of one kind. Nothing is known of one that cannot be understood.
pub(crate) type Listed = BTreeMap<ConfigRef, Option<ConfigFound>>;

/// What watches told of provider configurations. Cloning shares it.
#[derive(Clone, Default)]
pub(crate) struct KnownConfigs(Arc<RwLock<HashMap<(ConfigKind, WatchScope), Listed>>>);

impl KnownConfigs {
    /// Of this kind there are these and no others in this scope.
    pub(crate) fn only(&self, kind: ConfigKind, scope: &WatchScope, listed: Listed) {
        self.0.write().insert((kind, scope.clone()), listed);
    }

    /// One is there and says this.
    pub(crate) fn note(&self, config: &ConfigRef, content: Option<ConfigFound>) {
        let mut known = self.0.write();
        if let Some((_, listed)) = known.iter_mut().find(|(place, _)| has(place, config)) {
            listed.insert(config.clone(), content);
        }
    }

    /// One is gone.
    pub(crate) fn gone(&self, config: &ConfigRef) {
        let mut known = self.0.write();
        if let Some((_, listed)) = known.iter_mut().find(|(place, _)| has(place, config)) {
            listed.remove(config);
        }
    }

    /// Nothing is known any more of this kind in this scope.
    pub(crate) fn forget(&self, kind: ConfigKind, scope: &WatchScope) {
        self.0.write().remove(&(kind, scope.clone()));
    }

    /// What one says, if that is known, or that there is none.
    fn get(&self, config: &ConfigRef) -> Option<Option<ConfigFound>> {
        let known = self.0.read();
        let (_, listed) = known.iter().find(|(place, _)| has(place, config))?;
        match listed.get(config) {
            None => Some(None),
            Some(content) => content.clone().map(Some),
        }
    }
}

/// Whether a list of this kind and scope has a provider configuration, if it exists.
fn has((kind, scope): &(ConfigKind, WatchScope), config: &ConfigRef) -> bool {
    *kind == config.kind && scope.contains(config.namespace.as_deref().unwrap_or_default())
}

/// Reads provider configurations from what is known, and everything else from an API.
pub(crate) struct Glance<'a> {
    pub(crate) known: &'a KnownConfigs,
    pub(crate) api: &'a ApiLookup,
}

impl Lookup for Glance<'_> {
    fn get_secret<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        self.api.get_secret(namespace, name)
    }

    fn get_config_map<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        self.api.get_config_map(namespace, name)
    }

    fn get_provider_config<'a>(
        &'a self,
        config: &'a ConfigRef,
    ) -> BoxFuture<'a, Result<Option<ConfigFound>, CallError>> {
        match self.known.get(config) {
            Some(content) => Box::pin(async move { Ok(content) }),
            None => self.api.get_provider_config(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use capt_api::foreign::providerconfig::TerraformConfig;

    use super::*;

    #[test]
    fn a_configuration_is_known_to_be_absent_only_once_all_of_its_kind_are_known() {
        let named = |name: &str| ConfigRef {
            kind: ConfigKind::Cluster,
            namespace: None,
            name: name.to_owned(),
        };
        let saying = |text: &str| ConfigFound {
            config: TerraformConfig {
                configuration: Some(text.to_owned()),
                ..TerraformConfig::default()
            },
            allowed_namespaces: None,
        };
        let known = KnownConfigs::default();
        known.note(&named("a"), Some(saying("1")));
        assert_eq!(known.get(&named("a")), None, "not all are known yet");
        known.only(
            ConfigKind::Cluster,
            &WatchScope::Cluster,
            Listed::from([(named("a"), Some(saying("1"))), (named("odd"), None)]),
        );
        assert_eq!(known.get(&named("a")), Some(Some(saying("1"))));
        assert_eq!(known.get(&named("b")), Some(None));
        assert_eq!(known.get(&named("odd")), None, "it has to be read");
        known.note(&named("a"), Some(saying("2")));
        assert_eq!(known.get(&named("a")), Some(Some(saying("2"))));
        known.gone(&named("a"));
        assert_eq!(known.get(&named("a")), Some(None));
        let other = ConfigRef {
            kind: ConfigKind::Legacy,
            ..named("a")
        };
        assert_eq!(known.get(&other), None);
        known.forget(ConfigKind::Cluster, &WatchScope::Cluster);
        assert_eq!(known.get(&named("b")), None);
    }
    #[test]
    fn a_list_of_one_namespace_says_nothing_about_another() {
        let in_namespace = |namespace: &str| ConfigRef {
            kind: ConfigKind::Namespaced,
            namespace: Some(namespace.to_owned()),
            name: "aws".to_owned(),
        };
        let [a, b] = ["a", "b"].map(|namespace| WatchScope::Namespace(namespace.to_owned()));
        let known = KnownConfigs::default();
        let content = Some(ConfigFound::default());
        let listed = Listed::from([(in_namespace("a"), content.clone())]);
        known.only(ConfigKind::Namespaced, &a, listed);
        assert_eq!(known.get(&in_namespace("b")), None, "b was not listed yet");
        known.only(ConfigKind::Namespaced, &b, Listed::new());
        assert_eq!(known.get(&in_namespace("a")), Some(content));
        assert_eq!(known.get(&in_namespace("b")), Some(None));
        known.forget(ConfigKind::Namespaced, &a);
        assert_eq!(known.get(&in_namespace("a")), None);
        assert_eq!(known.get(&in_namespace("b")), Some(None));
    }
}
