//! The Kubernetes modules that facts are read from, fetched through the Go module proxy.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

const KUBERNETES_VERSION: &str = "v1.36.3";
const STAGING_VERSION: &str = "v0.36.3";

/// Folders of the unpacked modules.
#[derive(Debug)]
pub(super) struct KubernetesModules {
    kubernetes: PathBuf,
    api: PathBuf,
    apimachinery: PathBuf,
    apiextensions: PathBuf,
}

impl KubernetesModules {
    /// Fetches what is missing from Go's module cache.
    pub(super) fn download() -> Result<Self> {
        Ok(Self {
            kubernetes: download("k8s.io/kubernetes", KUBERNETES_VERSION)?,
            api: download("k8s.io/api", STAGING_VERSION)?,
            apimachinery: download("k8s.io/apimachinery", STAGING_VERSION)?,
            apiextensions: download("k8s.io/apiextensions-apiserver", STAGING_VERSION)?,
        })
    }

    /// The OpenAPI v3 document of a group version.
    pub(super) fn openapi(&self, group: &str, version: &str) -> PathBuf {
        let name = match group {
            "" => format!("api__{version}_openapi.json"),
            group => format!("apis__{group}__{version}_openapi.json"),
        };
        self.kubernetes.join("api/openapi-spec/v3").join(name)
    }

    /// The folder of a Go package, from its protobuf package (`k8s.io.api.core.v1`).
    pub(super) fn package_folder(&self, proto_package: &str) -> Result<PathBuf> {
        let path = proto_package.strip_prefix("k8s.io.").unwrap_or(proto_package);
        let (module, rest) = path
            .split_once('.')
            .with_context(|| format!("odd package {proto_package}"))?;
        let root = match module {
            "api" => &self.api,
            "apimachinery" => &self.apimachinery,
            "apiextensions_apiserver" => &self.apiextensions,
            _ => bail!("no module is known for the package {proto_package}"),
        };
        Ok(root.join(rest.replace('.', "/")))
    }
}

fn download(module: &str, version: &str) -> Result<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", &format!("{module}@{version}")])
        .current_dir(std::env::temp_dir())
        .output()
        .context("cannot run `go`")?;
    if !output.status.success() {
        bail!(
            "`go mod download` of {module}@{version} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let facts: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("unreadable answer from `go`")?;
    let folder = facts["Dir"]
        .as_str()
        .with_context(|| format!("`go` says no folder for {module}@{version}"))?;
    Ok(PathBuf::from(folder))
}
