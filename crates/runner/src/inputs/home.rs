//! Where the state of a Workspace lives.
//!
//! Terraform's kubernetes backend on our own API server is not used as a backend: we keep the same Secrets ourselves,
//! and more often. Every other backend is used as it is.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use capt_api::foreign::{
    forprovider::{FileFormat, ForProvider, ModuleSource},
    providerconfig::TerraformConfig,
};
use capt_core::names;
use capt_terraform::state::Location;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    ConfigKind, Home, InputError, Surroundings,
    backend::{self, Backend},
};
use crate::{store::Place, view::WorkspaceView};

/// The suffix of the Secrets where no configuration names one.
pub const SUFFIX: &str = "capt";
/// The argument of `init` that sets a setting of a backend, or names a file with some.
pub(super) const BACKEND_ARGUMENT: &str = "-backend-config";
/// The namespace that the kubernetes backend uses where none is named.
const BACKEND_NAMESPACE: &str = "default";

/// The backend that a configuration asks for, with everything that is set for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// What is asked for; nothing if it is left to us.
    backend: Option<Backend>,
    /// Settings were given that only the module, which was not read, knows the backend of.
    is_unknown: bool,
    /// Only a cluster's administrator can have written it.
    is_trusted: bool,
}

impl Asked {
    /// Nobody asks for a backend.
    pub(super) fn is_left_to_us(&self) -> bool {
        self.backend.is_none() && !self.is_unknown
    }
}

/// Which backend the configuration asks for. `env` is the environment that Terraform gets.
pub(super) fn asked(
    for_provider: &ForProvider,
    config: &TerraformConfig,
    kind: ConfigKind,
    env: &[(String, String)],
) -> Result<Asked, InputError> {
    let module = match (for_provider.source, for_provider.inline_format) {
        (ModuleSource::Inline, Some(FileFormat::JSON)) => {
            backend::of_json(&for_provider.module, "spec.forProvider.module")?
        }
        (ModuleSource::Inline, _) => backend::of_hcl(&for_provider.module, "spec.forProvider.module")?,
        _ => None,
    };
    let configured = match config.configuration.as_deref() {
        Some(text) => backend::of_hcl(text, "spec.configuration of the provider configuration")?,
        None => None,
    };
    let file = config.backend_file.as_deref().unwrap_or_default();
    let mut more = backend::settings_of_file(file, "spec.backendFile of the provider configuration")?;
    let arguments = arguments(for_provider);
    let names_a_file = arguments.iter().any(Option::is_none);
    let set_by_arguments = !arguments.is_empty();
    more.extend(
        arguments
            .into_iter()
            .flatten()
            .map(|(name, value)| (name, Some(Value::String(value)))),
    );
    let mut is_trusted = module.is_none() && !set_by_arguments && kind != ConfigKind::Namespaced;
    let backend = match (module, configured) {
        (Some(_), Some(_)) => return Err(InputError::TwoBackends),
        (module, configured) => module.or(configured),
    };
    let is_remote = for_provider.source == ModuleSource::Remote;
    let is_unknown = names_a_file || (backend.is_none() && is_remote && !more.is_empty());
    let backend = backend.map(|mut backend| {
        backend.settings.extend(more);
        if backend.kind == "kubernetes" {
            is_trusted &= !defaults_from(env, &mut backend.settings);
        }
        backend
    });
    Ok(Asked {
        backend,
        is_unknown,
        is_trusted,
    })
}

/// Kubeconfigs, and the context in them, that tell which API server is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kubeconfigs {
    pub(super) paths: Vec<PathBuf>,
    pub(super) context: Option<String>,
}

/// The kubeconfigs that have to be read before it is known whether the backend is on our own API server. A tenant that names a
/// file of the runner's machine learns nothing about it.
pub(super) fn kubeconfigs(view: &WorkspaceView, asked: &Asked) -> Option<Kubeconfigs> {
    let backend = asked
        .backend
        .as_ref()
        .filter(|backend| backend.kind == "kubernetes")?;
    let is_readable = asked.is_trusted || view.confined_to().is_none();
    if text(backend, "host").is_some() || !is_readable {
        return None;
    }
    let paths = kubeconfig_paths(backend);
    (!paths.is_empty()).then(|| Kubeconfigs {
        paths,
        context: text(backend, "config_context").map(str::to_owned),
    })
}

fn kubeconfig_paths(backend: &Backend) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = match backend.settings.get("config_paths") {
        Some(Some(Value::Array(paths))) => paths
            .iter()
            .filter_map(Value::as_str)
            .map(PathBuf::from)
            .collect(),
        Some(Some(Value::String(paths))) => paths.split(':').map(PathBuf::from).collect(),
        _ => Vec::new(),
    };
    paths.extend(text(backend, "config_path").map(PathBuf::from));
    paths
}

/// Where state lives. `kubeconfig_server` is the address that the kubeconfigs of the backend lead to.
pub(super) fn decide(
    view: &WorkspaceView,
    asked: &Asked,
    surroundings: &Surroundings,
    kubeconfig_server: Option<&str>,
) -> Result<Home, InputError> {
    let ours = |namespace: &str, suffix: &str, labels| {
        let location = Location::new(view.external_name(), suffix).map_err(InputError::Location)?;
        Ok(Home::Ours(Place {
            namespace: namespace.to_owned(),
            location,
            labels,
        }))
    };
    // What was kept stays where it is, although a label goes or the runner moves to another namespace.
    let recorded = Home::recorded(view);
    let home_namespace = match &recorded {
        Some(place) => place.namespace.as_str(),
        None => view.home_namespace(&surroundings.namespace),
    };
    let backend = match &asked.backend {
        Some(backend) => backend,
        None if asked.is_unknown => return Ok(Home::Backend("backend of the module".to_owned())),
        None => return ours(home_namespace, SUFFIX, BTreeMap::new()),
    };
    match backend.kind.as_str() {
        "local" if is_in_working_directory(backend) => ours(home_namespace, SUFFIX, BTreeMap::new()),
        "kubernetes" if !asked.is_unknown && is_same_server(backend, surroundings, kubeconfig_server) => {
            let namespace = constant(backend, "namespace")?.unwrap_or(BACKEND_NAMESPACE);
            check_namespace(view, asked, namespace)?;
            let suffix = constant(backend, "secret_suffix")?.unwrap_or_default();
            ours(namespace, suffix, labels(backend))
        }
        _ => Ok(Home::Backend(described(backend))),
    }
}

/// Whether state of a Workspace may be in a namespace. Where an administrator has several share one, each keeps its state under
/// the name that follows from its own namespace and name: under any other it would find what another one made.
fn check_namespace(view: &WorkspaceView, asked: &Asked, namespace: &str) -> Result<(), InputError> {
    let Some(own) = view.confined_to().filter(|own| *own != namespace) else {
        return Ok(());
    };
    if !asked.is_trusted {
        return Err(InputError::ForeignState {
            namespace: namespace.to_owned(),
        });
    }
    let expected = names::external_name(own, &view.name);
    if view.external_name() != expected {
        return Err(InputError::ForeignStateName {
            namespace: namespace.to_owned(),
            found: view.external_name().to_owned(),
            expected,
        });
    }
    Ok(())
}

/// Whether a local backend keeps state in the working directory, which is ours and may be lost at any time. Its `path`
/// is for Terraform's default workspace, and a Workspace always has one of its own.
fn is_in_working_directory(backend: &Backend) -> bool {
    let folder = text(backend, "workspace_dir").unwrap_or_default();
    !Path::new(folder).is_absolute()
}

/// Whether a kubernetes backend is on the API server that our client talks to. Where it does not say which it means,
/// it means the one that whoever runs Terraform is given, which is ours.
fn is_same_server(backend: &Backend, surroundings: &Surroundings, kubeconfig_server: Option<&str>) -> bool {
    let named = match text(backend, "host") {
        Some(host) => Some(host),
        None if !kubeconfig_paths(backend).is_empty() => kubeconfig_server,
        None => return backend.settings.get("host").is_none_or(Option::is_some),
    };
    match (named, surroundings.server.as_deref()) {
        (Some(named), Some(ours)) => address(named) == address(ours),
        _ => false,
    }
}

fn address(server: &str) -> String {
    let server = server.trim_end_matches('/').to_ascii_lowercase();
    match server.split_once("://") {
        Some((_, rest)) if rest.contains(':') => rest.to_owned(),
        Some(("http", rest)) => format!("{rest}:80"),
        Some((_, rest)) => format!("{rest}:443"),
        None => server,
    }
}

fn labels(backend: &Backend) -> BTreeMap<String, String> {
    let labels = backend.settings.get("labels").and_then(Option::as_ref);
    labels
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// A setting that must be known to find the state.
fn constant<'a>(backend: &'a Backend, name: &str) -> Result<Option<&'a str>, InputError> {
    match backend.settings.get(name) {
        Some(None) => Err(InputError::BackendSetting {
            setting: name.to_owned(),
        }),
        _ => Ok(text(backend, name)),
    }
}

fn text<'a>(backend: &'a Backend, name: &str) -> Option<&'a str> {
    let value = backend.settings.get(name)?.as_ref()?;
    value.as_str().filter(|text| !text.is_empty())
}

/// Words that change when the backend does. Its settings may be secret, so that only a hash of them is told.
fn described(backend: &Backend) -> String {
    let mut hasher = Sha256::new();
    for (name, value) in &backend.settings {
        let value = value.as_ref().map(Value::to_string).unwrap_or_default();
        for part in [name, &value] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
    }
    let hash: String = hasher
        .finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("backend {} {hash}", backend.kind)
}

/// What `init` is told about the backend; `None` for a file, which is not read.
fn arguments(for_provider: &ForProvider) -> Vec<Option<(String, String)>> {
    let mut arguments = for_provider.init_args.iter().flatten();
    let mut found = Vec::new();
    while let Some(argument) = arguments.next() {
        let Some(rest) = backend_argument(argument) else {
            continue;
        };
        let value = match rest.strip_prefix('=') {
            Some(value) => value,
            None => arguments.next().map_or("", String::as_str),
        };
        found.push(
            value
                .split_once('=')
                .map(|(name, value)| (name.trim().to_owned(), value.trim().trim_matches('"').to_owned())),
        );
    }
    found
}

/// What follows the name of the argument, if it is that one: nothing, or `=` and its value.
pub(super) fn backend_argument(argument: &str) -> Option<&str> {
    let argument = argument
        .strip_prefix('-')
        .filter(|rest| rest.starts_with('-'))
        .unwrap_or(argument);
    let rest = argument.strip_prefix(BACKEND_ARGUMENT)?;
    (rest.is_empty() || rest.starts_with('=')).then_some(rest)
}

/// The backend takes settings that it is not told from the environment. True if it takes any.
fn defaults_from(env: &[(String, String)], settings: &mut BTreeMap<String, Option<Value>>) -> bool {
    let mut takes_any = false;
    for (setting, variable) in [
        ("namespace", "KUBE_NAMESPACE"),
        ("host", "KUBE_HOST"),
        ("config_path", "KUBE_CONFIG_PATH"),
        ("config_paths", "KUBE_CONFIG_PATHS"),
        ("config_context", "KUBE_CTX"),
    ] {
        let value = env
            .iter()
            .rev()
            .find(|(name, value)| name == variable && !value.is_empty());
        if let Some((_, value)) = value {
            settings.entry(setting.to_owned()).or_insert_with(|| {
                takes_any = true;
                Some(Value::String(value.clone()))
            });
        }
    }
    takes_any
}
