//! What Terraform is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path},
};

use capt_api::foreign::{
    forprovider::{FileFormat, ForProvider, ModuleSource, RemotePullPolicy},
    providerconfig::TerraformConfig,
};
use capt_terraform::redact::{Format, Secrets};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{
    ConfigKind, Home, InputError, Needs, ObjectKind, Prepared, Surroundings,
    home::{self, Asked},
    lookup::Data,
    needs::{KeyRef, ObjectRef},
    sensitive,
};
use crate::{
    engine::{ExtraArgs, InputFile, Inputs, Module, StateHome, VarFile},
    view::WorkspaceView,
};

/// The file with the text of the provider configuration.
pub const CONFIG_FILE: &str = "crossplane-provider-config.tf";
/// The file with settings of the backend.
pub const BACKEND_FILE: &str = "crossplane.remote.tfbackend";
/// Annotation of kubectl with the whole object, which tells a simulation nothing new.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Everything that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Secrets and ConfigMaps that are there.
    pub(super) objects: BTreeMap<ObjectRef, Data>,
    /// The provider configuration; empty if nobody named one.
    pub(super) config: TerraformConfig,
    /// The text of each of its credentials.
    pub(super) credentials: Vec<Vec<u8>>,
    /// The address that the kubeconfigs of a kubernetes backend lead to.
    pub(super) kubeconfig_server: Option<String>,
}

impl Found {
    /// The value that a field reads.
    pub(super) fn value(&self, key: &KeyRef) -> Result<&[u8], InputError> {
        let Some(data) = self.objects.get(&key.object) else {
            return Err(InputError::ObjectMissing {
                object: key.object.clone(),
                key: key.key.clone(),
                field: key.field.clone(),
            });
        };
        data.get(&key.key)
            .map(Vec::as_slice)
            .ok_or_else(|| InputError::KeyMissing {
                object: key.object.clone(),
                key: key.key.clone(),
                field: key.field.clone(),
            })
    }
}

/// The environment of Terraform, and what of it is secret.
pub(super) fn environment(
    view: &WorkspaceView,
    needs: &Needs,
    found: &Found,
    secrets: &mut Secrets,
) -> Result<Vec<(String, String)>, InputError> {
    let given = view.for_provider.env.as_deref().unwrap_or_default();
    let mut env = Vec::with_capacity(given.len());
    for (at, (variable, key)) in given.iter().zip(&needs.env).enumerate() {
        let value = match key {
            None => {
                let value = variable.value.clone().unwrap_or_default();
                sensitive::public_text(secrets, &variable.name, &value);
                value
            }
            Some(key) => {
                let value = found.value(key)?.to_vec();
                let value = String::from_utf8(value).map_err(|_| InputError::NotText {
                    field: key.field.clone(),
                })?;
                match key.object.kind {
                    ObjectKind::Secret => secrets.file(&value),
                    ObjectKind::ConfigMap => sensitive::public_text(secrets, &variable.name, &value),
                }
                value
            }
        };
        if variable.name.contains(['=', '\0']) || value.contains('\0') {
            return Err(InputError::NotText {
                field: format!("spec.forProvider.env[{at}]"),
            });
        }
        env.push((variable.name.clone(), value));
    }
    Ok(env)
}

/// Puts together what an engine is given.
pub(super) fn prepare(
    view: &WorkspaceView,
    needs: &Needs,
    found: &Found,
    env: Vec<(String, String)>,
    mut secrets: Secrets,
    asked: &Asked,
    surroundings: &Surroundings,
) -> Result<(Inputs, Home), InputError> {
    let for_provider = &view.for_provider;
    let home = home::decide(view, asked, surroundings, found.kubeconfig_server.as_deref())?;
    let is_ours = matches!(home, Home::Ours(_));
    let vars = for_provider.vars.iter().flatten();
    let vars: Vec<(String, String)> = vars.map(|var| (var.key.clone(), var.value.clone())).collect();
    for (name, value) in &vars {
        sensitive::public_text(&mut secrets, name, value);
    }
    exempt_own(view, needs, found, &mut secrets);
    let configuration = [&found.config.configuration, &found.config.backend_file];
    let told = [&for_provider.module]
        .into_iter()
        .chain(configuration.into_iter().flatten())
        .chain(vars.iter().chain(&env).map(|(_, value)| value));
    for text in told {
        sensitive::in_addresses(&mut secrets, text);
    }
    let inputs = Inputs {
        uid: view.uid.clone(),
        operation: String::new(),
        cut_short: None,
        terraform_workspace: view.external_name().to_owned(),
        module: module(for_provider)?,
        entrypoint: entrypoint(for_provider)?,
        files: files(found, is_ours, &mut secrets)?,
        vars,
        var_files: var_files(for_provider, needs, found, &mut secrets)?,
        env,
        args: arguments(for_provider, &found.config, is_ours),
        state: if is_ours {
            StateHome::Ours {
                replica: None,
                staged: None,
            }
        } else {
            StateHome::Backend
        },
        inherits_identity: surroundings
            .own_credentials
            .contains(view.home_namespace(&surroundings.namespace)),
        plugin_cache: found.config.plugin_cache.unwrap_or(true),
        provider_lock: None,
        secrets,
        simulation: view
            .annotations
            .iter()
            .filter(|(name, _)| *name != LAST_APPLIED)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    };
    Ok((inputs, home))
}

/// Exempts what may be read beside a report: the Workspace's names, its module, and the text of a provider configuration
/// of its namespace.
fn exempt_own(view: &WorkspaceView, needs: &Needs, found: &Found, secrets: &mut Secrets) {
    let names = [&view.name, &view.uid, view.external_name()];
    names
        .into_iter()
        .chain(view.namespace.as_deref())
        .for_each(|name| secrets.exempt(name));
    let for_provider = &view.for_provider;
    match (for_provider.source, for_provider.inline_format) {
        (ModuleSource::Inline, Some(FileFormat::JSON)) => {
            sensitive::exempt_module(secrets, &for_provider.module, Format::Json);
        }
        (ModuleSource::Inline, _) => sensitive::exempt_module(secrets, &for_provider.module, Format::Hcl),
        (ModuleSource::Remote | ModuleSource::Flux, _) => secrets.exempt(&for_provider.module),
    }
    let configuration = found.config.configuration.as_deref();
    if let Some(text) = configuration.filter(|_| needs.config.kind == ConfigKind::Namespaced) {
        sensitive::exempt_module(secrets, text, Format::Hcl);
    }
}

/// The whole, with a hash.
pub(super) fn finish(inputs: Inputs, home: Home, objects: BTreeSet<ObjectRef>) -> Prepared {
    Prepared {
        hash: hash(&inputs, &home),
        inputs,
        home,
        objects,
    }
}

fn module(for_provider: &ForProvider) -> Result<Module, InputError> {
    let text = for_provider.module.clone();
    Ok(match (for_provider.source, for_provider.inline_format) {
        (ModuleSource::Flux, _) => return Err(InputError::FluxSource),
        (ModuleSource::Inline, Some(FileFormat::JSON)) => Module::Json(text),
        (ModuleSource::Inline, _) => Module::Hcl(text),
        (ModuleSource::Remote, _) => Module::Remote {
            // A block of YAML ends with a line break, which no address means.
            address: text.trim().to_owned(),
            if_not_present: for_provider.remote_pull_policy == Some(RemotePullPolicy::IfNotPresent),
        },
    })
}

fn entrypoint(for_provider: &ForProvider) -> Result<String, InputError> {
    let folder = for_provider.entrypoint.clone().unwrap_or_default();
    let stays_inside = Path::new(&folder)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays_inside && !folder.contains('\0') {
        Ok(folder)
    } else {
        Err(InputError::Entrypoint(folder))
    }
}

fn files(found: &Found, is_ours: bool, secrets: &mut Secrets) -> Result<Vec<InputFile>, InputError> {
    let mut files = Vec::new();
    let credentials = found.config.credentials.as_deref().unwrap_or_default();
    for (at, (file, content)) in credentials.iter().zip(&found.credentials).enumerate() {
        let name = Path::new(&file.filename)
            .file_name()
            .and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| !name.contains('\0')) else {
            return Err(InputError::FileName {
                field: format!("spec.credentials[{at}].filename of the provider configuration"),
                name: file.filename.clone(),
            });
        };
        secrets.file(&String::from_utf8_lossy(content));
        files.push(InputFile {
            name: name.to_owned(),
            content: content.clone(),
        });
    }
    if let Some(text) = found
        .config
        .configuration
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        sensitive::in_hcl(secrets, text);
        files.push(InputFile {
            name: CONFIG_FILE.to_owned(),
            content: text.as_bytes().to_vec(),
        });
    }
    if let Some(text) = found
        .config
        .backend_file
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        sensitive::in_hcl(secrets, text);
        // State that is ours has no backend that these settings could be for.
        if !is_ours {
            files.push(InputFile {
                name: BACKEND_FILE.to_owned(),
                content: text.as_bytes().to_vec(),
            });
        }
    }
    Ok(files)
}

/// In rising order of precedence: the files, then `varmap`.
fn var_files(
    for_provider: &ForProvider,
    needs: &Needs,
    found: &Found,
    secrets: &mut Secrets,
) -> Result<Vec<VarFile>, InputError> {
    let given = for_provider.var_files.as_deref().unwrap_or_default();
    let mut files = Vec::with_capacity(given.len() + 1);
    for (at, (file, key)) in given.iter().zip(&needs.var_files).enumerate() {
        let content = found.value(key)?.to_vec();
        let format = match file.format {
            Some(FileFormat::JSON) => Format::Json,
            Some(FileFormat::HCL) | None => Format::Hcl,
        };
        let text = String::from_utf8_lossy(&content);
        match key.object.kind {
            ObjectKind::Secret => secrets.variables(&text, format),
            ObjectKind::ConfigMap => sensitive::public_variables(secrets, &text, format),
        }
        sensitive::in_addresses(secrets, &text);
        files.push(VarFile {
            is_json: format == Format::Json,
            content,
            label: format!(
                "spec.forProvider.varFiles[{at}] ({}, key {})",
                key.object, key.key
            ),
        });
    }
    if let Some(varmap) = for_provider.varmap.as_ref().filter(|varmap| !varmap.is_empty()) {
        let varmap: Map<String, Value> = varmap.clone().into_iter().collect();
        let varmap = Value::Object(varmap);
        sensitive::public(secrets, "", &varmap);
        files.push(VarFile {
            is_json: true,
            content: varmap.to_string().into_bytes(),
            label: "spec.forProvider.varmap".to_owned(),
        });
    }
    Ok(files)
}

fn arguments(for_provider: &ForProvider, config: &TerraformConfig, is_ours: bool) -> ExtraArgs {
    let mut init = for_provider.init_args.clone().unwrap_or_default();
    if !is_ours
        && config
            .backend_file
            .as_deref()
            .is_some_and(|text| !text.is_empty())
    {
        // What the Workspace says itself comes later, and counts more.
        init.insert(0, format!("{}={BACKEND_FILE}", home::BACKEND_ARGUMENT));
    }
    if is_ours {
        // Settings of a backend that is not used would be refused.
        let mut is_value = false;
        init.retain(|argument| {
            let drop = is_value || home::backend_argument(argument).is_some();
            is_value = !is_value && home::backend_argument(argument) == Some("");
            !drop
        });
    }
    ExtraArgs {
        init,
        plan: for_provider.plan_args.clone().unwrap_or_default(),
        apply: for_provider.apply_args.clone().unwrap_or_default(),
        destroy: for_provider.destroy_args.clone().unwrap_or_default(),
    }
}

/// A hash of everything that Terraform is told. Every part goes in with its length, so that no two differ only in where
/// one ends.
fn hash(inputs: &Inputs, home: &Home) -> String {
    let mut hasher = Hasher(Sha256::new());
    hasher.text(&inputs.uid);
    hasher.text(&inputs.terraform_workspace);
    match &inputs.module {
        Module::Hcl(text) => hasher.texts(["hcl", text]),
        Module::Json(text) => hasher.texts(["json", text]),
        Module::Remote {
            address,
            if_not_present,
        } => hasher.texts(["remote", address, &if_not_present.to_string()]),
    }
    hasher.text(&inputs.entrypoint);
    hasher.count(inputs.files.len());
    for file in &inputs.files {
        hasher.text(&file.name);
        hasher.bytes(&file.content);
    }
    for pairs in [&inputs.vars, &inputs.env] {
        hasher.count(pairs.len());
        for (name, value) in pairs {
            hasher.texts([name, value]);
        }
    }
    hasher.count(inputs.var_files.len());
    for file in &inputs.var_files {
        hasher.count(usize::from(file.is_json));
        hasher.bytes(&file.content);
    }
    let args = &inputs.args;
    for list in [&args.init, &args.plan, &args.apply, &args.destroy] {
        hasher.count(list.len());
        for argument in list {
            hasher.text(argument);
        }
    }
    hasher.count(usize::from(inputs.plugin_cache));
    hasher.count(usize::from(inputs.inherits_identity));
    hasher.text(&home.name());
    hasher.finish()
}

/// A hash of what the spec of a Workspace asks for: whatever the Secrets and ConfigMaps say that it names, and whatever may
/// be done about it at the moment.
pub(crate) fn asked(view: &WorkspaceView) -> String {
    let mut hasher = Hasher(Sha256::new());
    let config = &view.provider_config_ref;
    for part in [serde_json::to_vec(&view.for_provider), serde_json::to_vec(config)] {
        hasher.bytes(&part.unwrap_or_default());
    }
    hasher.finish()
}

struct Hasher(Sha256);

impl Hasher {
    fn finish(self) -> String {
        let bytes = self.0.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn texts<const N: usize>(&mut self, texts: [&str; N]) {
        for text in texts {
            self.text(text);
        }
    }
}
