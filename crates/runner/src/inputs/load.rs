//! Reading everything that a Workspace names.

use std::{collections::BTreeSet, path::Path};

use capt_api::foreign::{
    forprovider::ModuleSource,
    providerconfig::{Credentials, CredentialsSource, TerraformConfig},
};
use capt_terraform::redact::Secrets;
use kube::config::Kubeconfig;

use super::{
    Home, InputError, Lookup, Needs, ObjectKind, Prepared, Surroundings, config_needs,
    home::{self, Kubeconfigs},
    needs::{self, ConfigKind, ConfigRef, KeyRef, ObjectRef},
    prepare::{self, Found},
};
use crate::view::WorkspaceView;

/// Reads everything that a Workspace names, and makes of it what an engine is given.
///
/// # Errors
/// If something is missing, not allowed or wrong.
pub async fn load(
    view: &WorkspaceView,
    lookup: &dyn Lookup,
    surroundings: &Surroundings,
) -> Result<Prepared, InputError> {
    if view.for_provider.source == ModuleSource::Flux {
        return Err(InputError::FluxSource);
    }
    let needs = needs::needs(view)?;
    let config = read_config(view, &needs.config, lookup).await?;
    let keys = config_needs(&needs.config, &config)?;
    let objects = needs::all_objects(&needs, &keys);
    let mut found = read_objects(&objects, lookup).await?;
    found.credentials = read_credentials(&needs, &config, &keys, &found, lookup).await?;
    found.config = config;
    let mut secrets = Secrets::default();
    let env = prepare::environment(view, &needs, &found, &mut secrets)?;
    let asked = home::asked(&view.for_provider, &found.config, needs.config.kind, &env)?;
    if let Some(kubeconfigs) = home::kubeconfigs(view, &asked) {
        found.kubeconfig_server = read_server(&kubeconfigs, lookup).await;
    }
    let (inputs, home) = prepare::prepare(view, &needs, &found, env, secrets, &asked, surroundings)?;
    Ok(prepare::finish(inputs, home, objects))
}

/// Where the state is, if nobody asks for another place than ours: that follows from the module and the provider
/// configuration, whatever else is missing.
pub async fn default_home(
    view: &WorkspaceView,
    lookup: &dyn Lookup,
    surroundings: &Surroundings,
) -> Option<Home> {
    let needs = needs::needs(view).ok()?;
    let config = read_config(view, &needs.config, lookup).await.ok()?;
    let asked = home::asked(&view.for_provider, &config, needs.config.kind, &[]).ok()?;
    if !asked.is_left_to_us() {
        return None;
    }
    home::decide(view, &asked, surroundings, None).ok()
}

async fn read_config(
    view: &WorkspaceView,
    config: &ConfigRef,
    lookup: &dyn Lookup,
) -> Result<TerraformConfig, InputError> {
    let found = lookup
        .get_provider_config(config)
        .await
        .map_err(|source| InputError::Unreadable {
            what: config.to_string(),
            source,
        })?;
    match found {
        Some(found) => match view.tenant().filter(|tenant| !found.allows(tenant)) {
            None => Ok(found.config),
            Some(tenant) => Err(InputError::ConfigNotAllowed {
                config: config.clone(),
                namespace: tenant.to_owned(),
            }),
        },
        None if config.is_default() => Ok(TerraformConfig::default()),
        None => Err(InputError::ConfigMissing(config.clone())),
    }
}

async fn read_objects(objects: &BTreeSet<ObjectRef>, lookup: &dyn Lookup) -> Result<Found, InputError> {
    let mut found = Found::default();
    for object in objects {
        let reading = match object.kind {
            ObjectKind::Secret => lookup.get_secret(&object.namespace, &object.name),
            ObjectKind::ConfigMap => lookup.get_config_map(&object.namespace, &object.name),
        };
        let data = reading.await.map_err(|source| InputError::Unreadable {
            what: object.to_string(),
            source,
        })?;
        if let Some(data) = data {
            found.objects.insert(object.clone(), data);
        }
    }
    Ok(found)
}

async fn read_credentials(
    needs: &Needs,
    config: &TerraformConfig,
    keys: &[Option<KeyRef>],
    found: &Found,
    lookup: &dyn Lookup,
) -> Result<Vec<Vec<u8>>, InputError> {
    let credentials = config.credentials.as_deref().unwrap_or_default();
    let mut texts = Vec::with_capacity(credentials.len());
    for (at, (file, key)) in credentials.iter().zip(keys).enumerate() {
        texts.push(match key {
            Some(key) => found.value(key)?.to_vec(),
            None => {
                let field = format!("spec.credentials[{at}] of {}", needs.config);
                // Tenants write these, and the machine is the runner's.
                let is_local = !matches!(file.source, CredentialsSource::None | CredentialsSource::Secret);
                if is_local && needs.config.kind == ConfigKind::Namespaced {
                    return Err(InputError::CredentialsOfRunner {
                        field,
                        source_of: file.source,
                    });
                }
                read_local(file, field, lookup).await?
            }
        });
    }
    Ok(texts)
}

/// Credentials that are on the runner's machine, or nowhere.
async fn read_local(file: &Credentials, field: String, lookup: &dyn Lookup) -> Result<Vec<u8>, InputError> {
    match file.source {
        CredentialsSource::None | CredentialsSource::Secret => Ok(Vec::new()),
        CredentialsSource::InjectedIdentity => Err(InputError::CredentialsSource { field }),
        CredentialsSource::Environment => {
            let Some(env) = &file.env else {
                return Err(InputError::Incomplete {
                    field,
                    missing: "name the environment variable in env.name",
                });
            };
            let value = lookup.get_environment(&env.name);
            value
                .map(String::into_bytes)
                .ok_or_else(|| InputError::EnvironmentMissing {
                    field,
                    name: env.name.clone(),
                })
        }
        CredentialsSource::Filesystem => {
            let Some(fs) = &file.fs else {
                return Err(InputError::Incomplete {
                    field,
                    missing: "name the file in fs.path",
                });
            };
            let content = lookup.get_file(Path::new(&fs.path)).await;
            content.map_err(|source| InputError::File {
                field,
                path: fs.path.clone(),
                source,
            })
        }
    }
}

/// The address that kubeconfigs lead to, if they can be read. If not, the backend is another one for all we know.
async fn read_server(kubeconfigs: &Kubeconfigs, lookup: &dyn Lookup) -> Option<String> {
    let mut merged = Kubeconfig::default();
    for path in &kubeconfigs.paths {
        let content = match path.strip_prefix("~") {
            Ok(rest) => {
                let home = lookup.get_environment("HOME")?;
                lookup.get_file(&Path::new(&home).join(rest)).await
            }
            Err(_) => lookup.get_file(path).await,
        };
        let content = content.ok()?;
        let text = String::from_utf8(content).ok()?;
        merged = merged.merge(Kubeconfig::from_yaml(&text).ok()?).ok()?;
    }
    let context = kubeconfigs.context.clone().or(merged.current_context)?;
    let contexts = merged.contexts.into_iter();
    let named = contexts
        .filter(|named| named.name == context)
        .find_map(|named| named.context)?;
    let clusters = merged.clusters.into_iter();
    clusters
        .filter(|cluster| cluster.name == named.cluster)
        .find_map(|cluster| cluster.cluster)?
        .server
}
