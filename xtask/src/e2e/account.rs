//! The service accounts that capt runs as, installed as people install them: by what `capt manifests` prints.
//!
//! The API server refuses what they have no right to, so a right that is missing shows.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::ApiResource;
use serde_json::{Value, json};

use crate::objects::Objects;
use crate::ours::{self, Profile};
use crate::realkube;

/// How long the API server may take to notice new rights.
const PATIENCE: Duration = Duration::from_secs(30);

/// A part of capt that has a service account.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Controller,
    Runner,
}

impl Part {
    fn word(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Runner => "runner",
        }
    }

    /// The name of its service account.
    pub(crate) fn account(self) -> String {
        format!("capt-{}", self.word())
    }
}

/// Where capt is installed, and the namespaces that it works in.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) namespace: &'a str,
    /// All of them, if none is named.
    pub(crate) tenants: &'a [&'a str],
}

/// Where capt is installed for all namespaces.
pub(crate) const EVERYWHERE: Place<'static> = Place {
    namespace: "capt-system",
    tenants: &[],
};

/// Installs a part of capt, but for its pods, and gives a kubeconfig of its service account.
pub(crate) async fn install(
    objects: &Objects,
    admin: &Path,
    part: Part,
    place: Place<'_>,
) -> anyhow::Result<PathBuf> {
    let tenants = place.tenants.iter().flat_map(|name| ["--namespace", name]);
    let printed = Command::new(ours::build(Profile::Debug)?)
        .args(["manifests", part.word(), "--target-namespace", place.namespace])
        .args(tenants)
        .output()
        .context("running capt manifests")?;
    ensure!(printed.status.success(), "capt manifests {} failed", part.word());
    let documents: Vec<Value> = serde_saphyr::from_multiple(&String::from_utf8(printed.stdout)?)?;
    for document in &documents {
        apply(objects, document).await?;
    }
    let kubeconfig = kubeconfig_of(objects, admin, place.namespace, &part.account()).await?;
    let secrets = match place.tenants {
        [] => vec!["/api/v1/secrets?limit=1".to_owned()],
        tenants => tenants
            .iter()
            .map(|tenant| format!("/api/v1/namespaces/{tenant}/secrets?limit=1"))
            .collect(),
    };
    wait_for_rights(&kubeconfig, &secrets).await?;
    Ok(kubeconfig)
}

/// A kubeconfig of a service account, beside that of the administrator.
pub(crate) async fn kubeconfig_of(
    objects: &Objects,
    admin: &Path,
    namespace: &str,
    account: &str,
) -> anyhow::Result<PathBuf> {
    let token = token(objects, namespace, account).await?;
    // The administrator's is JSON.
    let mut file: Value = serde_json::from_slice(&std::fs::read(admin)?)?;
    file["users"][0]["user"] = json!({"token": token});
    file["contexts"][0]["context"]["namespace"] = json!(namespace);
    let path = admin.with_file_name(format!("{namespace}-{account}.kubeconfig"));
    std::fs::write(&path, file.to_string())?;
    Ok(path)
}

/// Applies a document that `capt manifests` prints.
pub(crate) async fn apply(objects: &Objects, document: &Value) -> anyhow::Result<()> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").context("a document has no kind")?;
    let api_version = text("/apiVersion").context("a document has no apiVersion")?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    };
    let client = objects.client.clone();
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let how = PatchParams {
        field_validation: Some(kube::api::ValidationDirective::Strict),
        ..PatchParams::apply("xtask").force()
    };
    let name = text("/metadata/name").context("a document has no name")?;
    api.patch(name, &how, &Patch::Apply(document))
        .await
        .with_context(|| format!("applying the {kind} {name}"))?;
    Ok(())
}

async fn token(objects: &Objects, namespace: &str, account: &str) -> anyhow::Result<String> {
    let api: Api<ServiceAccount> = Api::namespaced(objects.client.clone(), namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            // Longer than all stories take.
            expiration_seconds: Some(4 * 60 * 60),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let answer = api
        .create_token_request(account, &PostParams::default(), &request)
        .await
        .context("asking for a token")?;
    let token = answer.status.and_then(|status| status.token);
    token.context("the answer has no token")
}

/// Rights that were just given are noticed a moment later.
pub(crate) async fn wait_for_rights(kubeconfig: &Path, paths: &[String]) -> anyhow::Result<()> {
    let client = realkube::client(kubeconfig).await?;
    let asking = async {
        for path in paths {
            while client
                .request_text(http::Request::get(path).body(Vec::new())?)
                .await
                .is_err()
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, asking)
        .await
        .with_context(|| format!("the rights did not arrive in {PATIENCE:?}"))?
}

/// Fails if a log tells of anything that the API server refused, but for what it refuses in these words.
pub(crate) fn check_rights(log: &Path, expected: &[&str]) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(log)?;
    let refused: Vec<&str> = text
        .lines()
        // As the server words it; a message of Terraform's that has the word is none of ours.
        .filter(|line| line.contains("is forbidden: User "))
        .filter(|line| !expected.iter().any(|words| line.contains(words)))
        .take(5)
        .collect();
    ensure!(
        refused.is_empty(),
        "rights are missing in what `capt manifests` prints:\n{}",
        refused.join("\n")
    );
    Ok(())
}
