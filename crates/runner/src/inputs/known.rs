//! Provider configurations as watches tell them: many Workspaces name the same few, and each looks at its own again and
//! again.
//!
//! What is known here may be a moment old. That is enough to look at a Workspace, which is woken when a watch tells more;
//! whoever runs something reads.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

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
pub(crate) struct KnownConfigs(Arc<RwLock<HashMap<ConfigKind, Listed>>>);

impl KnownConfigs {
    /// Of this kind there are these and no others.
    pub(crate) fn only(&self, kind: ConfigKind, listed: Listed) {
        self.0.write().insert(kind, listed);
    }

    /// One is there and says this.
    pub(crate) fn note(&self, config: &ConfigRef, content: Option<ConfigFound>) {
        if let Some(listed) = self.0.write().get_mut(&config.kind) {
            listed.insert(config.clone(), content);
        }
    }

    /// One is gone.
    pub(crate) fn gone(&self, config: &ConfigRef) {
        if let Some(listed) = self.0.write().get_mut(&config.kind) {
            listed.remove(config);
        }
    }

    /// Nothing is known any more of this kind.
    pub(crate) fn forget(&self, kind: ConfigKind) {
        self.0.write().remove(&kind);
    }

    /// What one says, if that is known, or that there is none.
    fn get(&self, config: &ConfigRef) -> Option<Option<ConfigFound>> {
        let known = self.0.read();
        match known.get(&config.kind)?.get(config) {
            None => Some(None),
            Some(content) => content.clone().map(Some),
        }
    }
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
        known.forget(ConfigKind::Cluster);
        assert_eq!(known.get(&named("b")), None);
    }
}
