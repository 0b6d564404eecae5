//! The core of Cluster API, unmodified, and `clusterctl`, on a real Kubernetes API.
//!
//! The manager runs outside of the cluster, and its webhooks are called by address: so admission, defaulting and
//! validation are the real ones. It dies with its handle.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::objects::{Objects, kind};
use crate::realkube::{self, RealKube};
use crate::{peers, provider_terraform};

/// How long the manager may take to get ready.
const PATIENCE: Duration = Duration::from_secs(90);
/// What `clusterctl init` would write on the kinds that it installs; without it, they do not move.
const CLUSTERCTL_LABEL: &str = "clusterctl.cluster.x-k8s.io";

/// A running manager of Cluster API.
pub(crate) struct CoreManager {
    child: Child,
    log: PathBuf,
}

impl CoreManager {
    /// Installs the kinds of Cluster API, starts the manager, and has its webhooks called.
    pub(crate) async fn start(kube: &RealKube, objects: &Objects) -> anyhow::Result<Self> {
        let config = peers::sources("capi")?.join("core/config");
        install_kinds(&objects.client, &config.join("crd/bases")).await?;

        let folder = kube.folder().join("cluster-api");
        fs::create_dir_all(&folder)?;
        let certificate = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
        fs::write(folder.join("tls.crt"), certificate.cert.pem())?;
        fs::write(folder.join("tls.key"), certificate.signing_key.serialize_pem())?;
        let (webhooks, health) = (realkube::free_port()?, realkube::free_port()?);
        let log = folder.join("log");
        let output = File::create(&log)?;
        let child = Command::new(peers::binary("capi")?)
            .arg("--kubeconfig")
            .arg(kube.kubeconfig())
            .arg("--webhook-cert-dir")
            .arg(&folder)
            .arg(format!("--webhook-port={webhooks}"))
            .arg(format!("--health-addr=127.0.0.1:{health}"))
            .args(["--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics"])
            .arg("--feature-gates=ClusterTopology=true")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("starting the manager of Cluster API")?;
        let mut manager = Self { child, log };
        manager.wait_until_ready(health).await?;
        let authority = certificate.cert.pem();
        register_webhooks(
            objects,
            &config.join("webhook/manifests.yaml"),
            webhooks,
            &authority,
        )
        .await?;
        Ok(manager)
    }

    /// Fails, with the end of its log, if it has ended by itself.
    pub(crate) fn check_alive(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!(
                "the manager of Cluster API ended with {status}:\n{}",
                realkube::tail(&self.log)
            ),
        }
    }

    async fn wait_until_ready(&mut self, port: u16) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !answers_ready(port).await {
            self.check_alive()?;
            ensure!(
                Instant::now() < deadline,
                "the manager of Cluster API was not ready in {PATIENCE:?}:\n{}",
                realkube::tail(&self.log)
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}

impl Drop for CoreManager {
    fn drop(&mut self) {
        // What has ended already cannot be killed, and that is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn answers_ready(port: u16) -> bool {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let asking = async {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    asking
        .await
        .is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// Installs the kinds, labelled as `clusterctl init` would label them.
async fn install_kinds(client: &kube::Client, folder: &Path) -> anyhow::Result<()> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .with_context(|| format!("reading {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<_>>()?;
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let mut document: Value =
            serde_saphyr::from_str(&text).with_context(|| format!("reading {}", file.display()))?;
        document["metadata"]["labels"][CLUSTERCTL_LABEL] = json!("");
        provider_terraform::apply_crd(client, &document).await?;
    }
    Ok(())
}

/// Has the manager's webhooks called at its own address, since there is no Service that leads to it.
async fn register_webhooks(
    objects: &Objects,
    manifests: &Path,
    port: u16,
    authority: &str,
) -> anyhow::Result<()> {
    let text = fs::read_to_string(manifests).with_context(|| format!("reading {}", manifests.display()))?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text)?;
    let authority = STANDARD.encode(authority);
    for mut document in documents {
        let (name, plural) = match document["kind"].as_str() {
            Some("MutatingWebhookConfiguration") => {
                ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
            }
            Some("ValidatingWebhookConfiguration") => (
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
            other => bail!("{} holds an unexpected {other:?}", manifests.display()),
        };
        document["metadata"]["name"] = json!("cluster-api");
        for webhook in document["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            webhook["clientConfig"] =
                json!({"url": format!("https://127.0.0.1:{port}{path}"), "caBundle": authority});
        }
        let kind = kind("admissionregistration.k8s.io", "v1", name, plural);
        objects
            .api(kind, "")
            .patch(
                "cluster-api",
                &PatchParams::apply("xtask").force(),
                &Patch::Apply(&document),
            )
            .await
            .with_context(|| format!("registering the {name}"))?;
    }
    Ok(())
}

/// Runs `clusterctl`, and gives what it prints.
pub(crate) async fn clusterctl(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = tokio::process::Command::new(peers::binary("clusterctl")?)
        .args(arguments)
        // It would ask for newer versions of itself, and read somebody's settings.
        .env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true")
        .env("XDG_CONFIG_HOME", folder)
        .env("HOME", folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("running clusterctl")?;
    ensure!(
        output.status.success(),
        "`clusterctl {}` failed: {}{}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
