//! Why a Workspace cannot be run as it is.

use capt_api::foreign::providerconfig::CredentialsSource;
use capt_terraform::{diagnostics::Class, state::LocationError};

use super::needs::{ConfigRef, ObjectRef};
use crate::{
    api::{CallError, words},
    engine::{Failure, FailureKind},
};

/// Why a Workspace cannot be run as it is.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A Secret or a ConfigMap is missing.
    #[error("{object} is not there, but {field} reads its key {key:?}: create it, or change {field}")]
    ObjectMissing {
        /// Which.
        object: ObjectRef,
        /// The key that is read.
        key: String,
        /// The field that names it.
        field: String,
    },
    /// A key is missing.
    #[error("{object} has no key {key:?}, but {field} reads it: add it, or change {field}")]
    KeyMissing {
        /// The object that is there.
        object: ObjectRef,
        /// The key.
        key: String,
        /// The field that names it.
        field: String,
    },
    /// A provider configuration is missing.
    #[error("{0} is not there: create it, or change spec.providerConfigRef")]
    ConfigMissing(ConfigRef),
    /// A kind of provider configuration that does not exist.
    #[error("spec.providerConfigRef.kind is {0:?}: write ProviderConfig or ClusterProviderConfig")]
    ConfigKind(String),
    /// An object in another namespace.
    #[error(
        "{field} names {object}, which is in another namespace: a Workspace reads and writes its own namespace only"
    )]
    ForeignNamespace {
        /// Which.
        object: ObjectRef,
        /// The field that names it.
        field: String,
    },
    /// A reference that says too little.
    #[error("{field} says not enough: {missing}")]
    Incomplete {
        /// The field.
        field: String,
        /// What to add.
        missing: &'static str,
    },
    /// Text was expected.
    #[error("{field} is not text")]
    NotText {
        /// The field.
        field: String,
    },
    /// A file name that is none.
    #[error("{field} is {name:?}, which is no name for a file: write a name without folders")]
    FileName {
        /// The field.
        field: String,
        /// The name.
        name: String,
    },
    /// An environment variable of the runner that is not set.
    #[error("{field} reads the environment variable {name} of the runner, which is not set")]
    EnvironmentMissing {
        /// The field.
        field: String,
        /// The variable.
        name: String,
    },
    /// A file that the runner cannot read.
    #[error("{field} reads the file {path} of the runner's machine, which failed")]
    File {
        /// The field.
        field: String,
        /// The path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A source of credentials that we do not know how to use.
    #[error("{field} is InjectedIdentity, which is no text to write to a file: use None")]
    CredentialsSource {
        /// The field.
        field: String,
    },
    /// Credentials of the runner itself in a configuration that a tenant writes.
    #[error(
        "{field} has the source {}, which a namespaced ProviderConfig may not read: use the source Secret",
        source_name(.source_of)
    )]
    CredentialsOfRunner {
        /// The field.
        field: String,
        /// The source.
        source_of: CredentialsSource,
    },
    /// A provider configuration that does not allow the namespace.
    #[error(
        "{config} does not allow namespace {namespace}: its administrator adds it to the annotation {}, or spec.providerConfigRef names another",
        capt_api::marks::ALLOWED_NAMESPACES
    )]
    ConfigNotAllowed {
        /// The configuration.
        config: ConfigRef,
        /// The namespace.
        namespace: String,
    },
    /// State under a name of another Workspace, in a namespace that several share.
    #[error(
        "the backend keeps state in namespace {namespace:?}, where each Workspace has a name of its own, and the external name of this one is {found:?}: set the annotation crossplane.io/external-name to {expected:?}"
    )]
    ForeignStateName {
        /// The namespace that holds the state.
        namespace: String,
        /// The external name.
        found: String,
        /// The one that is its own.
        expected: String,
    },
    /// Flux is not supported.
    #[error(
        "spec.forProvider.source is Flux, which this runner cannot fetch: use Remote with the address of the repository"
    )]
    FluxSource,
    /// The entrypoint leads out of the module.
    #[error("spec.forProvider.entrypoint is {0:?}, which leads out of the module: write a folder inside it")]
    Entrypoint(String),
    /// Policies that make no sense together.
    #[error(
        "spec.managementPolicies is [{0}], which is no combination that can be carried out: see the accepted ones in the documentation"
    )]
    Policies(String),
    /// Text that is not Terraform's language.
    #[error("{field} cannot be read: {why}")]
    Syntax {
        /// The field.
        field: String,
        /// Why, with the line.
        why: String,
    },
    /// Two backends.
    #[error("both the module and the provider configuration have a backend: remove one of them")]
    TwoBackends,
    /// A setting of a backend that is no constant.
    #[error("{setting} of the backend is not a constant: write its value itself")]
    BackendSetting {
        /// Its name.
        setting: String,
    },
    /// State in another namespace.
    #[error(
        "the backend keeps state in namespace {namespace:?}: a Workspace keeps its state in its own, unless a cluster-scoped provider configuration says otherwise"
    )]
    ForeignState {
        /// That namespace.
        namespace: String,
    },
    /// State cannot be kept under these names.
    #[error("the state cannot be kept under this name")]
    Location(#[source] LocationError),
    /// State would be looked for in another place.
    #[error(
        "the state is kept in {was}, but the configuration now leads to {now}, where there is none: undo that change, or move the state and remove the annotation state-home"
    )]
    StateMoved {
        /// Where it is.
        was: String,
        /// Where it would be looked for.
        now: String,
    },
    /// The API could not be read.
    #[error("{what} could not be read")]
    Unreadable {
        /// What.
        what: String,
        /// Why.
        source: CallError,
    },
}

fn source_name(source: &CredentialsSource) -> &'static str {
    match source {
        CredentialsSource::None => "None",
        CredentialsSource::Secret => "Secret",
        CredentialsSource::InjectedIdentity => "InjectedIdentity",
        CredentialsSource::Environment => "Environment",
        CredentialsSource::Filesystem => "Filesystem",
    }
}

impl InputError {
    /// Whether only time has to pass. Everything else waits for somebody to change an object.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreadable { source, .. } if source.is_transient())
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let kind = if error.is_transient() {
            FailureKind::Machine(Class::Network)
        } else {
            FailureKind::InvalidInput
        };
        Self {
            kind,
            message: words(&error),
            diagnostics: Vec::new(),
            state: None,
            missing: Vec::new(),
        }
    }
}
