//! Which objects a Workspace depends on.

use std::{collections::BTreeSet, fmt};

use capt_api::foreign::{
    forprovider::{KeyReference, VarFileSource},
    providerconfig::{CredentialsSource, TerraformConfig},
};
use capt_core::render::WorkspaceGroup;

use super::InputError;
use crate::view::WorkspaceView;

const DEFAULT_CONFIG: &str = "default";

/// A kind of object that values are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

/// An object that values are read from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ObjectKind::Secret => "Secret",
            ObjectKind::ConfigMap => "ConfigMap",
        };
        write!(f, "{kind} {}/{}", self.namespace, self.name)
    }
}

/// One value in an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyRef {
    /// The object.
    pub object: ObjectRef,
    /// The key.
    pub key: String,
    /// The field that names it, for messages.
    pub field: String,
}

/// A kind of provider configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConfigKind {
    /// `ProviderConfig` of `tf.upbound.io`, which is cluster-scoped.
    Legacy,
    /// `ProviderConfig` of `tf.m.upbound.io`, which is namespaced.
    Namespaced,
    /// `ClusterProviderConfig` of `tf.m.upbound.io`.
    Cluster,
}

/// A provider configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigRef {
    /// Its kind.
    pub kind: ConfigKind,
    /// Its namespace, if its kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl ConfigRef {
    /// It is what is meant where none is named, which is not told from naming it: then it need not exist.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.kind != ConfigKind::Namespaced && self.name == DEFAULT_CONFIG
    }
}

impl fmt::Display for ConfigRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, &self.namespace) {
            (ConfigKind::Legacy, _) => write!(f, "ProviderConfig {} of tf.upbound.io", self.name),
            (ConfigKind::Cluster, _) => write!(f, "ClusterProviderConfig {}", self.name),
            (ConfigKind::Namespaced, namespace) => {
                write!(
                    f,
                    "ProviderConfig {}/{}",
                    namespace.as_deref().unwrap_or_default(),
                    self.name
                )
            }
        }
    }
}

/// What a Workspace depends on, before its provider configuration was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Its provider configuration.
    pub config: ConfigRef,
    /// For each of `env`, where its value is, unless it is given in place.
    pub env: Vec<Option<KeyRef>>,
    /// For each of `varFiles`, where it is.
    pub var_files: Vec<KeyRef>,
}

impl Needs {
    /// Every object that a value is read from.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectRef> {
        let keys = self.env.iter().flatten().chain(&self.var_files);
        keys.map(|key| &key.object)
    }
}

/// What a Workspace depends on.
///
/// # Errors
/// If a reference says too little, or leads out of the namespace.
pub fn needs(view: &WorkspaceView) -> Result<Needs, InputError> {
    check_connection_secret(view)?;
    let env = view.for_provider.env.as_deref().unwrap_or_default();
    let env = env.iter().enumerate().map(|(at, variable)| {
        let field = format!("spec.forProvider.env[{at}]");
        // A value that is given in place counts first, then the ConfigMap, then the Secret.
        if variable.value.as_ref().is_some_and(|value| !value.is_empty()) {
            return Ok(None);
        }
        let reference = match (&variable.config_map_key_ref, &variable.secret_key_ref) {
            (Some(key), _) => Some((ObjectKind::ConfigMap, key)),
            (None, Some(key)) => Some((ObjectKind::Secret, key)),
            (None, None) => None,
        };
        let Some((kind, key)) = reference else {
            return Ok(None);
        };
        let field = match kind {
            ObjectKind::ConfigMap => format!("{field}.configMapKeyRef"),
            ObjectKind::Secret => format!("{field}.secretKeyRef"),
        };
        key_ref(view.confined_to(), kind, key, field).map(Some)
    });
    let files = view.for_provider.var_files.as_deref().unwrap_or_default();
    let files = files.iter().enumerate().map(|(at, file)| {
        let field = format!("spec.forProvider.varFiles[{at}]");
        let (kind, key, field) = match file.source {
            VarFileSource::ConfigMapKey => (
                ObjectKind::ConfigMap,
                &file.config_map_key_ref,
                format!("{field}.configMapKeyRef"),
            ),
            VarFileSource::SecretKey => (
                ObjectKind::Secret,
                &file.secret_key_ref,
                format!("{field}.secretKeyRef"),
            ),
        };
        let Some(key) = key else {
            return Err(InputError::Incomplete {
                field,
                missing: "name the object and the key",
            });
        };
        key_ref(view.confined_to(), kind, key, field)
    });
    Ok(Needs {
        config: config_ref(view)?,
        env: env.collect::<Result<_, _>>()?,
        var_files: files.collect::<Result<_, _>>()?,
    })
}

/// For each of the credentials of a provider configuration, where its text is, if that is a Secret.
///
/// # Errors
/// If a reference says too little, or leads out of the namespace of the configuration.
pub fn config_needs(
    config: &ConfigRef,
    content: &TerraformConfig,
) -> Result<Vec<Option<KeyRef>>, InputError> {
    let credentials = content.credentials.as_deref().unwrap_or_default();
    let keys = credentials.iter().enumerate().map(|(at, file)| {
        if file.source != CredentialsSource::Secret {
            return Ok(None);
        }
        let field = format!("spec.credentials[{at}].secretRef of {config}");
        let Some(key) = &file.secret_ref else {
            return Err(InputError::Incomplete {
                field,
                missing: "name the Secret and the key",
            });
        };
        key_ref(config.namespace.as_deref(), ObjectKind::Secret, key, field).map(Some)
    });
    keys.collect()
}

/// Every object that a Workspace depends on, apart from its provider configuration.
pub(super) fn all_objects(needs: &Needs, credentials: &[Option<KeyRef>]) -> BTreeSet<ObjectRef> {
    let credentials = credentials.iter().flatten().map(|key| &key.object);
    needs.objects().chain(credentials).cloned().collect()
}

fn config_ref(view: &WorkspaceView) -> Result<ConfigRef, InputError> {
    let reference = view.provider_config_ref.as_ref();
    let name = reference
        .map(|reference| reference.name.as_str())
        .filter(|name| !name.is_empty())
        .unwrap_or(DEFAULT_CONFIG)
        .to_owned();
    let kind = reference
        .and_then(|reference| reference.kind.as_deref())
        .filter(|kind| !kind.is_empty());
    let kind = match (view.group, kind) {
        (WorkspaceGroup::ClusterScoped, _) => ConfigKind::Legacy,
        (WorkspaceGroup::Namespaced, None | Some("ClusterProviderConfig")) => ConfigKind::Cluster,
        (WorkspaceGroup::Namespaced, Some("ProviderConfig")) => ConfigKind::Namespaced,
        (WorkspaceGroup::Namespaced, Some(other)) => return Err(InputError::ConfigKind(other.to_owned())),
    };
    Ok(ConfigRef {
        namespace: (kind == ConfigKind::Namespaced)
            .then(|| view.namespace.clone())
            .flatten(),
        kind,
        name,
    })
}

/// Outputs stay in the namespace, too.
fn check_connection_secret(view: &WorkspaceView) -> Result<(), InputError> {
    let (Some(own), Some(secret)) = (view.confined_to(), &view.connection_secret_ref) else {
        return Ok(());
    };
    if secret.namespace == own {
        return Ok(());
    }
    Err(InputError::ForeignNamespace {
        object: ObjectRef {
            kind: ObjectKind::Secret,
            namespace: secret.namespace.clone(),
            name: secret.name.clone(),
        },
        field: "spec.writeConnectionSecretToRef".to_owned(),
    })
}

/// `own` is the only namespace that may be read, and the one that is meant where none is named.
fn key_ref(
    own: Option<&str>,
    kind: ObjectKind,
    key: &KeyReference,
    field: String,
) -> Result<KeyRef, InputError> {
    let named = key.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let Some(namespace) = named.or(own) else {
        return Err(InputError::Incomplete {
            field,
            missing: "name the namespace",
        });
    };
    let object = ObjectRef {
        kind,
        namespace: namespace.to_owned(),
        name: key.name.clone(),
    };
    if own.is_some_and(|own| own != namespace) {
        return Err(InputError::ForeignNamespace { object, field });
    }
    Ok(KeyRef {
        object,
        key: key.key.clone(),
        field,
    })
}
