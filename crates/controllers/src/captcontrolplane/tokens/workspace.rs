//! The credentials that a Workspace runs with: from its environment or its provider configuration, else the process's own,
//! for the namespaces that the operator lends them to.
//!
//! They are read when they are needed and not kept.

use std::sync::Arc;

use capt_api::{
    foreign::{
        forprovider::{ForProvider, KeyReference},
        providerconfig::{
            ClusterProviderConfig, CredentialsSource, LegacyProviderConfig, ProviderConfig, TerraformConfig,
        },
    },
    marks,
};
use capt_core::{
    controlplane::provider::{self, AwsProvider},
    names,
    render::WorkspaceGroup,
    tenancy::NamespaceSet,
    wta::snapshot::WorkspaceSeen,
};
use futures::future::BoxFuture;
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client};
use serde_json::Value;

use super::{
    OwnCredentials, Signers,
    chain::{Machine, told},
    credentials::{Credentials, Profiles},
    sts::{self, Role, StsError},
};
use crate::{
    Clock,
    engine::{
        call::{CallError, within_deadline},
        key::ObjectKey,
    },
    facts::{
        Facts,
        indexes::{self, within},
    },
};

/// The credentials that a Workspace runs with.
pub(in super::super) struct WorkspaceCredentials {
    pub(in super::super) facts: Arc<Facts>,
    pub(in super::super) client: Client,
    pub(in super::super) own: Arc<dyn OwnCredentials>,
    /// The namespaces that may use these.
    pub(in super::super) own_for: NamespaceSet,
    pub(in super::super) clock: Clock,
}

/// Why they cannot be had.
#[derive(Debug, thiserror::Error)]
enum WorkspaceError {
    #[error("there is no Workspace yet")]
    NoWorkspace,
    #[error(
        "neither the Workspace nor its provider configuration has credentials for AWS, and the controllers lend theirs to the \
         namespaces of --own-credentials only. Add credentials to the provider configuration, or start capt controller with \
         --own-credentials {0}"
    )]
    NotOwn(String),
    #[error(
        "{config} does not allow the namespace {namespace}: its administrator adds it to the annotation {}",
        marks::ALLOWED_NAMESPACES
    )]
    NotAllowed { config: String, namespace: String },
    #[error("the provider configuration cannot be read")]
    Config(#[source] CallError),
    #[error("the Secret {0} cannot be read")]
    Secret(String, #[source] CallError),
    #[error("the Secret {secret} has no key {key}, which the credentials are to be taken from")]
    Key { secret: String, key: String },
    #[error("{0} is in another namespace than the Workspace, which may not read it")]
    Foreign(String),
    #[error("the credentials may not take on the role {role}")]
    Role { role: String, source: StsError },
}

impl Signers for WorkspaceCredentials {
    fn find<'a>(
        &'a self,
        namespace: &'a str,
        apply: &'a str,
        region: &'a str,
    ) -> BoxFuture<'a, Result<Credentials, String>> {
        Box::pin(async move {
            let workspace = self
                .workspace(namespace, apply)
                .ok_or_else(|| told(&WorkspaceError::NoWorkspace))?;
            let config = self
                .config(namespace, &workspace)
                .await
                .map_err(|error| told(&error))?;
            let provider = aws_provider(&config, &workspace);
            let found = self.of_workspace(namespace, &workspace, &config, &provider).await;
            let credentials = match found.map_err(|error| told(&error))? {
                Some(credentials) => credentials,
                None if self.own_for.contains(namespace) => self.own.find().await?,
                None => return Err(told(&WorkspaceError::NotOwn(namespace.to_owned()))),
            };
            self.in_role(credentials, &provider, region)
                .await
                .map_err(|error| told(&error))
        })
    }
}

impl WorkspaceCredentials {
    /// The Workspace of a WorkspaceTemplateApply, by its identity labels. Its annotation counts only between several that
    /// carry them: it is the tenant's to write.
    fn workspace(&self, namespace: &str, apply: &str) -> Option<WorkspaceSeen> {
        let identity = within(namespace, &names::label_value(apply));
        let recorded = self.facts.applies.peek(&ObjectKey::within(namespace, apply))?;
        let annotations = recorded.metadata.annotations.as_ref();
        let recorded = annotations.and_then(|annotations| annotations.get(marks::WORKSPACE));
        let mut found: Vec<Arc<WorkspaceSeen>> = Vec::new();
        for group in [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped] {
            let table = self.facts.workspaces_of(group);
            let members = table.peek_members(indexes::IDENTITY, &identity);
            // Labels can be written in any namespace.
            let is_here = |place: &ObjectKey| place.own_namespace().is_none_or(|own| own == namespace);
            let here = members.into_iter().filter(is_here);
            found.extend(here.filter_map(|place| table.peek(&place)));
        }
        let is_recorded = |workspace: &Arc<WorkspaceSeen>| {
            let group = workspace.group.map_or("", WorkspaceGroup::name);
            recorded.is_some_and(|recorded| *recorded == format!("{group}/{}", workspace.name))
        };
        let chosen = match found.as_slice() {
            [one] => Some(one),
            several => several.iter().find(|workspace| is_recorded(workspace)),
        };
        chosen.map(|workspace| (**workspace).clone())
    }

    async fn config(
        &self,
        namespace: &str,
        workspace: &WorkspaceSeen,
    ) -> Result<TerraformConfig, WorkspaceError> {
        let field = |name| {
            let reference = workspace.spec.get("providerConfigRef")?;
            reference
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let name = field("name").unwrap_or("default");
        let client = self.client.clone();
        let of_cluster = |found: Option<(ObjectMeta, TerraformConfig)>, kind: &str| match found {
            None => Ok(TerraformConfig::default()),
            Some((metadata, config)) => {
                let annotations = metadata.annotations.unwrap_or_default();
                let allowed = annotations.get(marks::ALLOWED_NAMESPACES);
                if allowed.is_none_or(|list| NamespaceSet::parse(list).contains(namespace)) {
                    return Ok(config);
                }
                Err(WorkspaceError::NotAllowed {
                    config: format!("{kind} {name}"),
                    namespace: namespace.to_owned(),
                })
            }
        };
        match (workspace.group, field("kind")) {
            (Some(WorkspaceGroup::ClusterScoped), _) => {
                let api: Api<LegacyProviderConfig> = Api::all(client);
                let found = within_deadline(api.get_opt(name)).await;
                let found = found.map_err(WorkspaceError::Config)?;
                of_cluster(
                    found.map(|found| (found.metadata, found.spec.config)),
                    "ProviderConfig",
                )
            }
            (_, Some("ProviderConfig")) => {
                let api: Api<ProviderConfig> = Api::namespaced(client, namespace);
                let found = within_deadline(api.get_opt(name)).await;
                let found = found.map_err(WorkspaceError::Config)?;
                Ok(found.map(|found| found.spec.config).unwrap_or_default())
            }
            _ => {
                let api: Api<ClusterProviderConfig> = Api::all(client);
                let found = within_deadline(api.get_opt(name)).await;
                let found = found.map_err(WorkspaceError::Config)?;
                of_cluster(
                    found.map(|found| (found.metadata, found.spec.config)),
                    "ClusterProviderConfig",
                )
            }
        }
    }

    async fn of_workspace(
        &self,
        namespace: &str,
        workspace: &WorkspaceSeen,
        config: &TerraformConfig,
        provider: &AwsProvider,
    ) -> Result<Option<Credentials>, WorkspaceError> {
        // What the Go implementation made keeps its references to other namespaces, where an administrator says that it did.
        let legacy_of = workspace.annotations.get(marks::LEGACY_OF);
        let is_legacy = legacy_of
            .and_then(|key| key.split_once('/'))
            .is_some_and(|(own, _)| own == namespace);
        let own = (!is_legacy || workspace.group == Some(WorkspaceGroup::Namespaced)).then_some(namespace);
        if let Some(credentials) = self.of_environment(own, workspace).await? {
            return Ok(Some(credentials));
        }
        let kind = workspace
            .spec
            .pointer("/providerConfigRef/kind")
            .and_then(Value::as_str);
        let is_namespaced =
            workspace.group == Some(WorkspaceGroup::Namespaced) && kind == Some("ProviderConfig");
        let of_config = is_namespaced.then_some(namespace);
        let profile = provider.profile.as_deref().unwrap_or("default");
        for file in config.credentials.iter().flatten() {
            // What is in the environment or in a file of whoever runs Terraform is found by the process's own search.
            let (CredentialsSource::Secret, Some(reference)) = (file.source, &file.secret_ref) else {
                continue;
            };
            let text = self.value(of_config, reference).await?;
            if let Some(credentials) = Profiles::read(&text).credentials(profile) {
                return Ok(Some(credentials));
            }
        }
        Ok(None)
    }

    /// What the Workspace itself gives Terraform as its environment.
    async fn of_environment(
        &self,
        namespace: Option<&str>,
        workspace: &WorkspaceSeen,
    ) -> Result<Option<Credentials>, WorkspaceError> {
        let for_provider = workspace.spec.get("forProvider").cloned().unwrap_or_default();
        let Ok(for_provider) = serde_json::from_value::<ForProvider>(for_provider) else {
            return Ok(None);
        };
        let mut lines = String::new();
        for variable in for_provider.env.iter().flatten() {
            if !variable.name.starts_with("AWS_") {
                continue;
            }
            let value = match (&variable.value, &variable.secret_key_ref) {
                (Some(value), _) if !value.is_empty() => value.clone(),
                (_, Some(reference)) => self.value(namespace, reference).await?,
                _ => continue,
            };
            lines.push_str(&format!("{}={}\n", variable.name, value.trim()));
        }
        Ok(Profiles::read(&lines).credentials("default"))
    }

    /// A value in a Secret. `own` is the only namespace that may be read, if there is one.
    async fn value(&self, own: Option<&str>, reference: &KeyReference) -> Result<String, WorkspaceError> {
        let named = reference
            .namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty());
        let namespace = named.or(own).unwrap_or("default");
        let secret = format!("{namespace}/{}", reference.name);
        if own.is_some_and(|own| own != namespace) {
            return Err(WorkspaceError::Foreign(format!("the Secret {secret}")));
        }
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let found = within_deadline(api.get_opt(&reference.name)).await;
        let data = found
            .map_err(|source| WorkspaceError::Secret(secret.clone(), source))?
            .and_then(|found| found.data)
            .unwrap_or_default();
        let value = data.get(&reference.key).map(|bytes| bytes.0.clone());
        value
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| WorkspaceError::Key {
                secret,
                key: reference.key.clone(),
            })
    }

    /// The credentials of the role that the provider takes on, if it does.
    async fn in_role(
        &self,
        credentials: Credentials,
        provider: &AwsProvider,
        region: &str,
    ) -> Result<Credentials, WorkspaceError> {
        let Some(role) = &provider.role else {
            return Ok(credentials);
        };
        let asked = Role {
            arn: role.arn.clone(),
            session: role.session_name.clone().unwrap_or_else(|| "capt".to_owned()),
            external_id: role.external_id.clone(),
        };
        sts::assume_role(&Machine, &credentials, region, &asked, (self.clock)())
            .await
            .map_err(|source| WorkspaceError::Role {
                role: role.arn.clone(),
                source,
            })
    }
}

/// What the Terraform text of a Workspace says about AWS: its provider configuration first, then its module.
fn aws_provider(config: &TerraformConfig, workspace: &WorkspaceSeen) -> AwsProvider {
    let module = workspace
        .spec
        .pointer("/forProvider/module")
        .and_then(Value::as_str);
    let is_inline = workspace
        .spec
        .pointer("/forProvider/source")
        .and_then(Value::as_str)
        == Some("Inline");
    let texts = [config.configuration.as_deref(), module.filter(|_| is_inline)];
    texts
        .into_iter()
        .flatten()
        .find_map(provider::aws)
        .unwrap_or_default()
}
